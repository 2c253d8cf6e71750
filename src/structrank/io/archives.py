"""NPZ files with a header: arrays and what JSON can hold, a format and its version, no pickles."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .._array import NDArray
from .arrays import check_npz
from .atomic import check_new_file, new_file
from .fingerprints import fingerprint_of
from .limits import SizeLimit
from .places import check_regular
from .table import FileError

OWN = ("header", "digest")  # what else a file holds beside its arrays


@dataclass(frozen=True)
class Archive:
    """A kind of file: what it holds, and which versions of it can be read.

    Attributes
    ----------
    name : str
        What it is called in errors: "checkpoint", for example.
    version : int
        Raised when an older release could no longer read the file.
    source : str
        What writes such a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structrank.io.archives import Archive
    >>> notes = Archive("note", 1, "this example")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     notes.write(Path(folder) / "a.npz", {"k": 3}, {"x": np.arange(2)})
    ...     header, arrays = notes.read(Path(folder) / "a.npz")
    >>> header["k"], arrays["x"]
    (3, array([0, 1]))
    """

    name: str
    version: int
    source: str
    suffixes: ClassVar[tuple[str, ...]] = (".npz",)

    def check(self, path: Path, *, force: bool = False) -> None:
        """Raise a FileError unless `path` can be written.

        Parameters
        ----------
        path : Path
        force : bool
            Whether an existing file may be replaced.
        """
        check_new_file(path, self.suffixes, force=force)

    def write(
        self,
        path: Path,
        header: Mapping[str, Any],
        arrays: Mapping[str, NDArray],
        *,
        force: bool = False,
    ) -> None:
        """Write a file whole or not at all.

        Parameters
        ----------
        path : Path
        header : mapping
            What JSON can hold.
        arrays : mapping of str to array
        force : bool
            Replace an existing file.
        """
        text = json.dumps({"format": self._format, "version": self.version, **header})
        own: dict[str, Any] = {"header": np.array(text), "digest": np.array(_digest(text, arrays))}
        with new_file(path, self.suffixes, force=force) as partial:
            np.savez(partial, **own, **arrays)  # type: ignore[arg-type]

    def read(self, path: Path) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Read the header and the arrays, or raise a FileError.

        Parameters
        ----------
        path : Path
        """
        with self.opened(path) as (header, file):
            arrays = {name: file[f"{name}.npy"] for name in file.files if name not in OWN}
            if str(file["digest.npy"]) != _digest(str(file["header.npy"]), arrays):
                raise FileError(f"{path} was changed after it was written: choose another file")
            return header, arrays

    @contextmanager
    def opened(self, path: Path) -> Iterator[tuple[dict[str, Any], Any]]:
        """Open a file: its header, and a mapping of its arrays, which are not read yet.

        Parameters
        ----------
        path : Path
        """
        try:
            check_regular(path)
            check_npz(path, SizeLimit())
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                header = json.loads(str(file["header.npy"]))
                self._check_header(path, header)
                yield header, file
        except FileNotFoundError as error:
            raise FileError(f"{path} does not exist: give the file that {self.source}") from error
        except FileError:
            raise
        except (OSError, ValueError, KeyError, EOFError, TypeError) as error:
            raise self._broken(path, error) from error
        except (zipfile.BadZipFile, zlib.error, AttributeError, RuntimeError) as error:
            raise self._broken(path, error) from error

    @property
    def _format(self) -> str:
        return f"structrank {self.name}"

    def _check_header(self, path: Path, header: Any) -> None:
        if not isinstance(header, dict) or header.get("format") != self._format:
            raise FileError(f"{path} is not a {self.name} of structrank: choose another file")
        if header["version"] > self.version:
            raise FileError(
                f"{path} has version {header['version']} of the {self.name} format, but this "
                f"release reads versions up to {self.version}: use the release that wrote it"
            )

    def _broken(self, path: Path, error: Exception) -> FileError:
        return FileError(
            f"{path} is no complete {self.name} of structrank ({error}): it was truncated or "
            "written by something else, choose another file"
        )


def _digest(header: str, arrays: Mapping[str, NDArray]) -> str:
    """A hash of all that a file holds."""
    return fingerprint_of(f"{header} {list(arrays)}", *arrays.values())
