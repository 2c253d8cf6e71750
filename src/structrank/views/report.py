"""One page that shows what was found: pictures, settings, certificate, modes, how to cite."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import __version__
from .. import views as plotting
from .._array import to_numpy
from ..io.atomic import check_new_file, new_file
from ..io.containers import unwrap
from ..signals.spectrum import modes_table
from ..solvers.driver import Status
from . import require_matplotlib
from .page import about, page, picture, table, text

if TYPE_CHECKING:
    from ..modal.modes import Modes
    from ..signals.forecasting import Forecast
    from ..signals.recovery import Recovery
    from ..solvers.driver import Result

PAGES = (".html", ".htm")
STDERR = "_stderr"  # end of the names of columns with standard errors
MIDNIGHT = " 00:00:00"
STOPPED = {
    Status.SOLVED: "until the certified gap was small",
    Status.SMALL_STEP: "until a further one changed next to nothing",
    Status.SMALL_CHANGE: "until the objective changed by next to nothing",
    Status.MAX_ITERATIONS: "the most that were allowed, before it came to rest",
    Status.MAX_TIME: "until the time allowed was over, before it came to rest",
    Status.FINISHED: "until it was done",
    Status.CALLBACK: "until it was stopped",
    Status.INTERRUPTED: "until it was interrupted, before it came to rest",
}
ESTIMATES = {
    "refit": "fit of the modes",
    "convex": "convex solution",
    "average": "average of local fits",
}
NOT_CERTIFIED = {
    "refit": "The signal shown is the fit of the modes found there, without the shrinkage of the "
    "nuclear norm. The certificate is that of the convex solution, not of this fit.",
    "average": "The signal shown is an average of fits of short windows, which predicted samples "
    "that were left out better. The certificate is that of the convex solution, not of this fit.",
}
MOST_ROWS = 60  # of a table
PACKAGES = ("numpy", "scipy", "matplotlib")
PAPER = (
    "A. W. Yu, W. Ma, Y. Yu, J. G. Carbonell and S. Sra. Efficient Structured Matrix Rank "
    "Minimization. Advances in Neural Information Processing Systems 27 (NIPS 2014)."
)


def check_report(path: str | PathLike[str], *, force: bool = False) -> None:
    """An error unless `write_report` can begin: to be asked before long work.

    Parameters
    ----------
    path : str or path
    force : bool
        Whether a file that is there may be replaced.

    Examples
    --------
    >>> from structrank.views.report import check_report
    >>> check_report("page.pdf")
    Traceback (most recent call last):
    structrank.io.table.FileError: page.pdf has an unknown extension: known are .html, .htm
    """
    require_matplotlib()
    check_new_file(Path(path), PAGES, force=force)


def write_report(
    path: str | PathLike[str], found: Recovery | Forecast, *, force: bool = False
) -> None:
    """Write one HTML page about a recovery or a forecast.

    It holds the pictures, the settings, the certificate and what it means, the modes with their
    standard errors, how to cite, and the versions. Everything is in the one file: nothing is
    loaded from elsewhere, and no script runs.

    Parameters
    ----------
    path : str or path
        Ends in .html or .htm. It is written whole or not at all.
    found : Recovery or Forecast
    force : bool
        Replace a file that is there.

    Raises
    ------
    FileError
        The file cannot be written, or is there already.
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from structrank import recover
    >>> from structrank.views.report import write_report
    >>> found = recover(np.cos(0.3 * np.arange(60)), rank=2, mu=0.1, kind="refit")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "page.html"
    ...     write_report(path, found)
    ...     "<h2>Modes</h2>" in path.read_text()
    True
    """
    from ..signals.forecasting import Forecast
    from ..signals.recovery import Recovery

    check_report(path, force=force)
    if isinstance(found, Recovery):
        title, parts = "Recovered signal", _recovery(found)
    elif isinstance(found, Forecast):
        title, parts = "Forecast", _forecast(found)
    else:
        raise TypeError(f"found is {type(found).__name__}, but a Recovery or Forecast is expected")
    whole = page(title, [*parts, *_citation(), *_versions()])
    with new_file(Path(path), PAGES, force=force) as partial:
        partial.write_text(whole, encoding="utf-8")


def _recovery(found: Recovery) -> Iterable[str]:
    result, shape = found.result, np.shape(found.signal)
    missing = int(
        np.count_nonzero(np.isnan(to_numpy(unwrap(found.samples, found.channels).values)))
    )
    size = int(np.prod(shape))
    model = f"sum of a few (damped) sinusoids, exponentials and slow trends: {found.rank} of them"
    if found.kind == "average":
        model = f"signal with at most {found.rank} patterns in short windows of it"
    yield text(
        f"{size} values, of which {size - missing} were seen and {missing} were missing. The "
        f"signal was taken to be a {model}."
    )
    yield picture(
        plotting.plot_signal,
        found,
        f"The recovered signal of shape {_times(shape)} over its samples",
        "What was seen and what was recovered. Shaded or coloured: how sure that is "
        "(95% bands, or standard errors).",
        size,
    )
    yield "<h2>Settings</h2>"
    yield about(_settings(found))
    yield "<h2>Certificate</h2>"
    yield text(_certificate(result))
    if found.kind in NOT_CERTIFIED:
        yield text(NOT_CERTIFIED[found.kind])
    pictures = [
        picture(
            plotting.plot_convergence,
            result,
            f"Objective and certified gap over {_iterations(result)}",
            "The objective, and the certified gap, by iteration.",
        )
    ]
    if result.rank:
        pictures.append(
            picture(
                plotting.plot_singular_values,
                result,
                f"The {result.rank} singular values of the recovered matrix",
                "Singular values of the convex solution.",
            )
        )
    yield f'<div class="pair">{"".join(pictures)}</div>'
    if found.modes is not None:
        yield from _modes(found.modes)


def _forecast(found: Forecast) -> Iterable[str]:
    steps, before = len(found.mean), len(found.samples)
    yield text(
        f"{steps} steps after {before} samples. The series was taken to be a sum of a few "
        "(damped) sinusoids, exponentials and slow trends, which are carried on."
    )
    yield picture(
        plotting.plot_forecast,
        found,
        f"The last samples, and a forecast of {steps} steps with its intervals",
        f"The samples, their fit, and what comes next. A future sample lies in the shaded "
        f"interval with probability {found.level:.0%}.",
        before + steps,
    )
    yield "<h2>Values</h2>"
    yield _values(found)
    yield "<h2>Settings</h2>"
    sigma, same_units = found.refit.sigma, found.modes is found.refit.modes
    units = "" if same_units else ", each channel in units of its own size"
    yield about(
        [
            ("steps", str(steps)),
            ("rank", f"{found.rank}, the number of modes"),
            ("noise", "unknown" if sigma is None else f"{sigma:.4g} (standard deviation{units})"),
            ("fitted", f"{found.refit.parameters} parameters to {found.refit.samples} numbers"),
            ("intervals", f"{found.level:.0%}"),
        ]
    )
    yield "<h2>How far to trust it</h2>"
    yield text(
        "The last parts of the series were forecast from what comes before them. The root mean "
        f"square error of these forecasts is {found.past_error:.4g}{units}. Intervals are widened "
        "where these errors were larger than the fit tells. There is no certificate for a "
        "forecast: it holds as long as the series goes on as it did."
    )
    yield from _modes(found.modes)


def _settings(found: Recovery) -> list[tuple[str, str]]:
    problem = found.result.problem
    structure = problem.structure
    chosen = "given" if found.selection is None else f"from the data ({found.selection.method})"
    noise = "unknown" if found.sigma is None else f"{found.sigma:.4g} (standard deviation)"
    return [
        ("signal", _times(np.shape(found.signal))),
        ("matrix", f"{type(structure).__name__}, {_times(structure.shape)}, never formed"),
        ("estimate", ESTIMATES[found.kind]),
        ("rank", str(found.rank)),
        ("mu", f"{problem.mu:.4g}, {chosen}: the price of the nuclear norm"),
        ("noise", noise),
        ("solver", f"{_iterations(found.result)}, {STOPPED[found.result.status]}"),
    ]


def _iterations(result: Result) -> str:
    return f"{result.iterations} iteration{'s' * (result.iterations != 1)}"


def _certificate(result: Result) -> str:
    return (
        "The convex solution makes an objective small, in which the distance to the samples, the "
        "nuclear norm and a departure from the structure have a price. Its objective is "
        f"{result.objective:.6g}, and its certified gap is {result.gap:.2g}: no other solution is "
        f"better by more than {100 * result.gap:.2g}%. The bound rests on a largest singular value "
        "that was found by iteration: strong evidence, not proof. It says how well the problem was "
        "solved, not whether the signal is of this kind."
    )


def _modes(modes: Modes) -> Iterable[str]:
    yield "<h2>Modes</h2>"
    if not len(modes):
        yield text("There are none: nothing stands out of the noise.")
        return
    pictures = picture(
        plotting.plot_modes,
        modes,
        f"The frequencies and amplitudes of {len(modes)} modes",
        "Amplitudes by frequency, with standard errors."
        if modes.frequencies.shape[1] == 1
        else "Frequencies along the axes; areas are amplitudes.",
    ) + picture(
        plotting.plot_poles,
        modes,
        f"The poles of {len(modes)} modes in the complex plane, with the unit circle",
        "Poles. Inside the circle a mode decays, outside it grows.",
    )
    yield f'<div class="pair">{pictures}</div>'
    columns = modes_table(modes)
    unknown = np.full(len(modes), np.nan)
    head = [name for name in columns if not name.endswith(STDERR)]
    pairs = [zip(columns[name], columns.get(name + STDERR, unknown), strict=True) for name in head]
    rows = list(zip(*([number_and_error(*both) for both in pair] for pair in pairs), strict=True))
    caption = (
        "Value ± standard error. Frequencies are in cycles a sample, dampings in 1 / sample, "
        "phases in radians. The modes of a real signal come in pairs of opposite frequency."
    )
    names = [name.replace("_", " ") for name in head]
    yield table(names, rows[:MOST_ROWS], caption + _more(len(rows)))


def number_and_error(value: float, error: float) -> str:
    """A number with as many digits as its standard error, of two digits, allows."""
    if not np.isfinite(error) or error == 0:
        return f"{value:.5g}"
    digits = int(np.ceil(-np.log10(error))) + 1
    if not 0 <= digits <= 9:
        return f"{value:.6g} ± {error:.2g}"
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def _values(found: Forecast) -> str:
    """The table of values forecast, with their intervals."""
    mean, lower, upper = (
        to_numpy(unwrap(part, found.channels).values)
        for part in (found.mean, found.lower, found.upper)
    )
    index = getattr(found.mean, "index", None)
    labels = [str(i + 1) for i in range(len(mean))] if index is None else index_labels(index)
    columns = [str(name) for name in getattr(found.mean, "columns", [])]
    numbered = [f"channel {c + 1}" for c in range(mean.shape[1])] if mean.ndim == 2 else [""]
    names = columns or numbered
    head = ["step" if index is None else str(index.name or "index")]
    for name in names:
        head += [f"{name} {what}".strip() for what in ("forecast", "from", "to")]
    triples = np.stack([part.reshape(len(mean), -1) for part in (mean, lower, upper)], axis=2)
    rows = [
        [label, *(f"{value:#.5g}" for value in row.flat)]
        for label, row in zip(labels, triples, strict=True)
    ][:MOST_ROWS]
    return table(head, rows, f"Forecast and {found.level:.0%} intervals.{_more(len(labels))}")


def index_labels(index: Iterable[Any]) -> list[str]:
    """The entries of an index of pandas as text: dates without the hours of midnight."""
    labels = [str(entry) for entry in index]
    if all(label.endswith(MIDNIGHT) for label in labels):
        return [label.removesuffix(MIDNIGHT) for label in labels]
    return labels


def _citation() -> Iterable[str]:
    yield "<h2>How to cite</h2>"
    yield text(f"The method: {PAPER}")
    yield text(f"The package: structrank, version {__version__}. Licence: BSD-3-Clause.")


def _versions() -> Iterable[str]:
    yield "<h2>Versions</h2>"
    yield about(
        [
            ("structrank", __version__),
            ("Python", platform.python_version()),
            *((name, metadata.version(name)) for name in PACKAGES),
        ]
    )


# -- HTML -------------------------------------------------------------------------------


def _times(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


def _more(count: int) -> str:
    return f" The first {MOST_ROWS} of {count} are shown." if count > MOST_ROWS else ""
