"""What can be done with a file on the page: fill gaps, remove noise, forecast, write a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._messages import check_found
from .._watch import tell
from ..io import FileError, Table, write
from ..io.signal_files import Given, check_continues, times_of
from ..signals.component_series import SignalComponents
from ..signals.filling import impute, keep_samples
from ..signals.forecasting import forecast
from ..signals.recovery import recover
from ..signals.recovery_result import Recovery
from ..signals.tables import bands_table, components_table, forecast_table, table_like
from ..views import labels_of, plot_samples
from ..views.content import Picture
from .limits import LIMITS
from .runs import Download, Outcome
from .uploads import Upload

TASKS = ("impute", "recover", "forecast")


@dataclass(frozen=True)
class Job:
    """What the user asks for.

    Attributes
    ----------
    upload : Upload
    columns : sequence of int
        Positions of columns; none for the whole array.
    task : str
        One of `TASKS`.
    steps : int
        Of a forecast.
    robust : bool
        Find gross errors first.
    """

    upload: Upload
    columns: Sequence[int]
    task: str
    steps: int = 1
    robust: bool = False

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise FileError(f"the task is {self.task!r}, but one of {', '.join(TASKS)} is expected")
        if self.task == "forecast" and not 1 <= self.steps <= LIMITS.steps:
            raise FileError(
                f"steps is {self.steps}, but a number from 1 to {LIMITS.steps} is expected"
            )

    def run(self, folder: Path) -> Outcome:
        """Do it, and write the files into the folder."""
        given = self.upload.given(self.columns)
        folder.mkdir()
        if self.task == "forecast":
            return self._forecast(given, folder)
        return self._fill(given, folder)

    def _fill(self, given: Given, folder: Path) -> Outcome:
        options: dict[str, Any] = {"robust": self.robust, "dt": given.dt}
        if self.upload.reading.irregular:
            options["times"] = times_of(given, self.upload.path.name)
        found, parts = self._found(given.samples, channels=given.channels, **options)
        band = "its 95% band" if _is_series(found) else "its standard errors"
        pictures = {
            "signal": Picture(
                found.plot,
                f"The signal and its samples, with {band}",
                f"Samples, gaps, the signal and {band}.",
                int(np.size(found.signal)),
            )
        }
        ending = "filled" if self.task == "impute" else "recovered"
        whole = table_like(given.table, found.signal)
        files = {"table": self._file(folder, ending, f"the {ending} file", whole)}
        if _is_series(found):
            bands = bands_table(found, given.table)
            files["bands"] = self._file(folder, "bands", "values with errors and intervals", bands)
        if parts is not None:
            pictures["components"] = Picture(
                parts.plot,
                f"The components of the signal: {', '.join(parts)}",
                "What the signal is made of, and the rest.",
                int(np.size(found.signal)) * len(parts),
            )
            table = components_table(parts, given.table)
            files["components"] = self._file(folder, "components", "the components", table)
        flags = ["--robust"] if self.robust else []
        command = self.upload.command(self.task, self.columns, files["table"].path.name, *flags)
        return Outcome(repr(found), pictures, files, command, found)

    def _found(self, samples: Any, **options: Any) -> tuple[Recovery, SignalComponents | None]:
        """Return the signal, and its components; these have no samples in them."""
        nothing_missing = np.all(np.isfinite(np.asarray(samples)))
        if self.task == "impute" and nothing_missing and not self.robust:
            return impute(samples, **options), None
        found = recover(samples, **options)
        check_found(np.asarray(found.signal)[~found.left])
        tell("components")
        return found if self.task == "recover" else keep_samples(found), _components(found)

    def _forecast(self, given: Given, folder: Path) -> Outcome:
        check_continues(given)
        if self.upload.reading.irregular:
            raise FileError("a forecast needs regular times: read the file without --irregular")
        ahead = forecast(given.samples, self.steps, channels=given.channels)
        check_found(ahead.mean)
        picture = Picture(
            ahead.plot,
            f"The last samples, and a forecast of {self.steps} steps with its intervals",
            f"The last samples, the forecast and its {ahead.level:.0%} intervals.",
            len(ahead.samples) + self.steps,
        )
        table = forecast_table(ahead, given.table)
        file = self._file(folder, "forecast", "the forecast", table)
        flag = f"--steps={self.steps}"
        command = self.upload.command(self.task, self.columns, file.path.name, flag)
        return Outcome(repr(ahead), {"forecast": picture}, {"table": file}, command, ahead)

    def _file(self, folder: Path, ending: str, title: str, table: Table) -> Download:
        suffix = ".csv" if table.values.ndim <= 2 else ".npy"
        path = folder / f"{self.upload.stem}-{ending}{suffix}"
        write(path, table)
        return Download(f"Download {title} ({suffix[1:].upper()})", path)


def report(outcome: Outcome, folder: Path, stem: str) -> Outcome:
    """Write the report of what a run has found."""
    tell("writing the report")
    folder.mkdir()
    path = folder / f"{stem}-report.html"
    outcome.found.write_report(path, command=outcome.command)
    return Outcome(files={"report": Download("Download the report (HTML)", path)})


def samples_picture(given: Given) -> Picture:
    """Return the picture of samples and gaps."""
    values = np.asarray(given.samples)

    def draw(figure: Any) -> Any:
        labels = labels_of(given.samples, given.channels)
        return plot_samples(values, channels=given.channels, labels=labels, ax=figure)

    return Picture(draw, "The samples and their gaps", "Samples and gaps.", int(values.size))


def _components(found: Recovery) -> SignalComponents | None:
    """The components of series; None if the signal cannot be divided."""
    if not _is_series(found):
        return None  # images have none that can be drawn
    try:
        return found.components()
    except ValueError:  # several channels without modes
        return None


def _is_series(found: Recovery) -> bool:
    return np.ndim(found.signal) == 1 + (found.channels is not None)
