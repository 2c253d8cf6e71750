"""The folder of a run in patches: what was done already, so that a rerun continues there."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from .._array import NDArray
from ..io.archives import Archive
from ..io.atomic import check_new_folder, new_file
from ..io.table import FileError

PIECES = Archive("patch", 1, "recover_patches keeps")
_VERSION = 2  # of the folder, as of checkpoints


@dataclass(frozen=True)
class PatchRow:
    """What is known about a patch; one row of the table.

    Attributes
    ----------
    patch : int
        Its number.
    start : str
        Its first sample along each axis.
    missing : int
        Number of missing values.
    status : str
        "recovered", "complete" (nothing was missing, so it was copied), "empty" (all values are
        missing, so they stay missing) or "failed" with the reason.
    kind : str
        Which estimate was returned, as `Recovery.kind`.
    rank : int
    sigma : float
        Standard deviation of the noise; NaN if it is not known.
    stderr : float
        Root mean square of the standard errors of the values that were filled.
    gap : float
        Certified gap of the convex solution, where that is the estimate; else NaN.
    seconds : float

    Examples
    --------
    >>> from structrank.distributed.work_folder import PatchRow
    >>> PatchRow(0, "0 0", 0, "complete").rank
    0
    """

    patch: int
    start: str
    missing: int
    status: str
    kind: str = ""
    rank: int = 0
    sigma: float = float("nan")
    stderr: float = float("nan")
    gap: float = float("nan")
    seconds: float = 0.0


class WorkFolder:
    """Files beside the target, each complete or absent; they are removed when all is done.

    Parameters
    ----------
    target : Path
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f"{target.name}.work")
        self.table = target.with_name(f"{target.stem}_patches.csv")

    def begin(self, settings: dict[str, Any], *, force: bool) -> None:
        """Begin a run, or continue one with the same settings.

        Raises
        ------
        FileError
            The target exists, or a run with other settings was begun.
        """
        settings = json.loads(json.dumps({"version": _VERSION, **settings}))
        if force:
            shutil.rmtree(self.path, ignore_errors=True)
        if (self.path / "run.json").exists():
            self._check_same(settings)
            return
        check_new_folder(self.target, force=force, is_ours=_is_zarr)
        for part in ("patches", "blocks"):
            (self.path / part).mkdir(parents=True, exist_ok=True)
        with new_file(self.path / "run.json", [".json"], force=True) as partial:
            partial.write_text(json.dumps(settings))

    def _check_same(self, settings: dict[str, Any]) -> None:
        try:
            begun = dict(json.loads((self.path / "run.json").read_text()))
        except (ValueError, TypeError, RecursionError) as error:
            raise FileError(
                f"{self.path / 'run.json'} was changed ({error}): use --force (force=True) to "
                "begin anew"
            ) from error
        for name, value in settings.items():
            if begun.get(name) != value:
                raise FileError(
                    f"{self.path} has a run that was begun with {name} {begun.get(name)}, but "
                    f"{name} {value} is given: pass the same, or use --force (force=True) to begin "
                    "anew"
                )

    def counts(self) -> NDArray | None:
        """The number of missing values in every patch, if they were counted."""
        kept = _kept(self.path / "missing.npz")
        return None if kept is None else kept[1]["counts"]

    def keep_counts(self, counts: NDArray) -> None:
        """Keep the numbers of missing values."""
        PIECES.write(self.path / "missing.npz", {}, {"counts": counts}, force=True)

    def patch(self, k: int) -> Path:
        """The file of a patch that was recovered."""
        return self.path / "patches" / f"{k}.npz"

    def keep_patch(self, row: PatchRow, **arrays: NDArray) -> None:
        """Keep what was found for a patch."""
        PIECES.write(self.patch(row.patch), {"row": asdict(row)}, arrays, force=True)

    def is_kept(self, k: int) -> bool:
        """Whether a patch was recovered, and its file is whole and unchanged."""
        return _kept(self.patch(k)) is not None

    def found(self, k: int) -> tuple[PatchRow, dict[str, NDArray]]:
        """The row and the values of a patch that was recovered."""
        header, arrays = PIECES.read(self.patch(k))
        return PatchRow(**header["row"]), arrays

    def block(self, i: int) -> Path:
        """The mark of a block that was written; it has the number of values still missing."""
        return self.path / "blocks" / str(i)

    def keep_table(self, rows: Sequence[PatchRow]) -> None:
        """Write the table of all patches beside the target."""
        with (
            new_file(self.table, [".csv"], force=True) as partial,
            partial.open("w", newline="", encoding="utf-8") as stream,
        ):
            writer = csv.writer(stream)
            names = [entry.name for entry in fields(PatchRow)]
            writer.writerow(names)
            writer.writerows([getattr(row, name) for name in names] for row in rows)

    def remove(self) -> None:
        """Remove the folder, when all is done."""
        shutil.rmtree(self.path)


def _kept(path: Path) -> tuple[dict[str, Any], dict[str, NDArray]] | None:
    """What a file holds; None if there is none, or if it was damaged, since it is made again."""
    try:
        return PIECES.read(path)
    except FileError:
        return None


def _is_zarr(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("zarr.json", ".zarray", ".zgroup"))
