"""The folder of a run in patches: what was done already, so that a rerun continues there."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from .._array import NDArray
from ..io.atomic import check_new_folder, new_file
from ..io.table import FileError

_VERSION = 1  # of the folder, as of checkpoints


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
        begun = json.loads((self.path / "run.json").read_text())
        for name, value in settings.items():
            if begun.get(name) != value:
                raise FileError(
                    f"{self.path} has a run that was begun with {name} {begun.get(name)}, but "
                    f"{name} {value} is given: pass the same, or use --force (force=True) to begin "
                    "anew"
                )

    def counts(self) -> NDArray | None:
        """The number of missing values in every patch, if they were counted."""
        path = self.path / "missing.npy"
        return np.load(path, allow_pickle=False) if path.exists() else None

    def keep_counts(self, counts: NDArray) -> None:
        """Keep the numbers of missing values."""
        with new_file(self.path / "missing.npy", [".npy"], force=True) as partial:
            np.save(partial, counts)

    def patch(self, k: int) -> Path:
        """The file of a patch that was recovered."""
        return self.path / "patches" / f"{k}.npz"

    def keep_patch(self, row: PatchRow, **arrays: NDArray) -> None:
        """Keep what was found for a patch."""
        with new_file(self.patch(row.patch), [".npz"], force=True) as partial:
            np.savez(partial, row=np.array(json.dumps(asdict(row))), **arrays)  # type: ignore[arg-type]

    def row(self, k: int) -> PatchRow:
        """The row of a patch that was recovered."""
        with np.load(self.patch(k), allow_pickle=False) as file:
            return PatchRow(**json.loads(str(file["row"])))

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


def _is_zarr(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("zarr.json", ".zarray", ".zgroup"))
