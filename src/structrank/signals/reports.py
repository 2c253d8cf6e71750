"""What a recovery and a forecast say about themselves on a report page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import NDArray, to_numpy
from ..io.containers import unwrap
from ..modal.autoregressive_noise import AutoregressiveNoise
from ..modal.modes import Modes
from ..solvers.result import Result
from ..views import index_labels
from ..views.content import (
    Block,
    Facts,
    NumberTable,
    Paragraph,
    Picture,
    Report,
    Section,
    SideBySide,
    number_and_error,
)
from .channel_groups import channel_rows
from .tables import modes_table

if TYPE_CHECKING:
    from .forecast_result import Forecast
    from .recovery_result import Recovery

ABOUT = "About the certificate"
STDERR = "_stderr"  # end of the names of columns with standard errors


def recovery_report(found: Recovery) -> Report:
    """Describe a recovered signal: pictures, settings, certificate, modes."""
    size = int(np.prod(np.shape(found.signal)))
    samples = to_numpy(unwrap(found.samples, found.channels).values)
    missing = int(np.count_nonzero(np.isnan(samples)))
    model = found.candidate.model.format(rank=found.rank)
    picture = Picture(
        found.plot,
        f"The recovered signal of shape {_times(np.shape(found.signal))} over its samples",
        "The samples and the recovered signal. Shaded or coloured: its uncertainty "
        "(95% bands, or standard errors).",
        size,
    )
    seen = f"{size} values: {size - missing} were seen and {missing} were missing."
    blocks: list[Block] = [
        Paragraph(f"{seen} The signal is modelled as a {model}."),
        picture,
        *_filled(found, samples),
        Section("Settings", [Facts(_settings(found))]),
        *_residuals(found, samples),
    ]
    if found.modes is not None:
        blocks.append(modes_section(found.modes))
    return Report("Recovered signal", [*blocks, _certificate(found), _about_certificate()])


def _filled(found: Recovery, samples: NDArray) -> list[Section]:
    """List the values of the gaps of a real series or table, with their intervals."""
    parts = [
        to_numpy(unwrap(part, found.channels).values)
        for part in (found.signal, found.stderr, found.lower, found.upper)
    ]
    wide = samples.ndim == 2 and found.channels == 1
    gaps = np.argwhere(np.isnan(samples) & ~found.left)
    if not len(gaps) or np.iscomplexobj(samples) or not (samples.ndim == 1 or wide):
        return []
    index = getattr(found.samples, "index", range(samples.shape[0]))
    labels, names = index_labels(index), [str(c) for c in getattr(found.samples, "columns", [])]
    head = [str(getattr(index, "name", None) or "place"), *(["channel"] if wide else [])]
    rows = []
    for at in map(tuple, gaps):
        channel = [names[at[1]] if names else str(at[1] + 1)] if wide else []
        value, error, lower, upper = (part[at] for part in parts)
        numbers = f"{value:#.5g}", f"{error:#.2g}".rstrip("."), f"{lower:#.5g}", f"{upper:#.5g}"
        rows.append([labels[at[0]], *channel, *numbers])
    caption = f"Values of the gaps. A new sample lies in its interval with {found.level:.0%}."
    head += ["value", "standard error", "from", "to"]
    return [Section("Filled values", [NumberTable(head, rows, caption)])]


def _residuals(found: Recovery, samples: NDArray) -> list[Section]:
    """Show what the signal of a series leaves of the samples, unless that is nothing."""
    if samples.ndim - (found.channels is not None) > 1:
        return []
    left = found.residuals()
    if not np.nanmax(np.abs(left.residuals), initial=0.0) > 0:
        return []
    text = (
        f"What the signal leaves of the samples has a standard deviation of {left.sigma:.4g}. "
        f"White noise has correlations as large as these with probability {left.whiteness:.2g}. "
        f"{np.count_nonzero(left.outliers)} residuals stand out."
    )
    caption = "Residuals in their order, their correlations, and their histogram."
    picture = Picture(left.plot, "Residuals, correlations, histogram", caption, samples.size)
    return [Section("Residuals", [Paragraph(text), picture])]


def forecast_report(ahead: Forecast) -> Report:
    """Describe a forecast: picture, values, settings, past errors, modes."""
    steps, before = len(ahead.mean), len(ahead.samples)
    picture = Picture(
        ahead.plot,
        f"The last samples, and a forecast of {steps} steps with its intervals",
        f"The samples, their fit, and the forecast. A future sample lies in the shaded "
        f"interval with probability {ahead.level:.0%}.",
        before + steps,
    )
    levels = [fit.sigma for fit in ahead.refits if fit.sigma is not None]
    noise = ", ".join(f"{sigma:.4g}" for sigma in levels)
    units = "" if not ahead.scaled else ", each channel in units of its own size"
    parameters, numbers = (
        sum(getattr(fit, name) for fit in ahead.refits) for name in ("parameters", "sample_count")
    )
    settings = [
        ("steps", str(steps)),
        ("rank", f"{ahead.rank}, the number of modes"),
        *channel_rows(ahead.groups, ahead.samples, ahead.channels),
        ("noise", f"{noise} (standard deviation{units})" if noise else "unknown"),
        ("fitted", f"{parameters} parameters to {numbers} numbers"),
        ("intervals", f"{ahead.level:.0%}"),
    ]
    model = "a sum of a few (damped) sinusoids, exponentials and slow trends"
    trust = (
        "The last parts of the series were forecast from the samples before them. The root mean "
        f"square error of these forecasts is {ahead.past_error:.4g}{units}. Intervals are widened "
        "where these errors were larger than the fit predicts. There is no certificate for a "
        "forecast: it holds as long as the series continues as before."
    )
    return Report(
        "Forecast",
        [
            Paragraph(
                f"{steps} steps after {before} samples. The series is modelled as {model}, which "
                "is extrapolated."
            ),
            picture,
            Section("Values", [_values(ahead)]),
            Section("Settings", [Facts(settings)]),
            Section("How far to trust it", [Paragraph(trust)]),
            modes_section(ahead.modes),
        ],
    )


def modes_section(modes: Modes) -> Section:
    """Describe modes: spectrum, poles, and a table with standard errors."""
    if not len(modes):
        return Section("Modes", [Paragraph("There are none: the samples look like noise.")])
    kind, count = "modes", len(modes)
    if modes.real:
        kind, count = "oscillations", len(modes.oscillations())
    one_axis = modes.frequencies.shape[1] == 1
    spectrum = Picture(
        modes.plot,
        f"The frequencies and amplitudes of {count} {kind}",
        "Amplitudes by frequency, with standard errors."
        if one_axis
        else "Frequencies along the axes; areas are amplitudes.",
    )
    poles = Picture(
        modes.plot_poles,
        f"The poles of {len(modes)} modes in the complex plane, with the unit circle",
        "Poles. A mode inside the circle decays, one outside grows.",
    )
    return Section(kind.capitalize(), [SideBySide([spectrum, poles]), _modes_table(modes)])


def _modes_table(modes: Modes) -> NumberTable:
    columns = modes_table(modes)
    unknown = np.full(len(next(iter(columns.values()))), np.nan)
    head = [name for name in columns if not name.endswith(STDERR)]
    pairs = [zip(columns[name], columns.get(name + STDERR, unknown), strict=True) for name in head]
    rows = list(zip(*([number_and_error(*both) for both in pair] for pair in pairs), strict=True))
    if modes.real:
        times = "samples" if modes.sampling is None else modes.sampling.time
        units = f"Periods and damping times are in {times}; inf: it does not repeat or decay."
    else:
        units = "Dampings are in 1 / sample."
    return NumberTable(
        [name.replace("_", " ") for name in head],
        rows,
        "Value ± standard error. Frequencies are in cycles per sample, unless their name says "
        f"another unit; phases are in radians, at the first sample. {units}",
    )


def _settings(found: Recovery) -> list[tuple[str, str]]:
    problem = found.result.problem
    structure = problem.structure
    chosen = "" if found.selection is None else f", from the data ({found.selection.method})"
    chosen = ", given" if found.selection is None and found.kind == "convex" else chosen
    return [
        ("signal", _times(np.shape(found.signal))),
        ("matrix", f"{type(structure).__name__}, {_times(structure.shape)}, never formed"),
        ("estimate", found.candidate.label),
        ("rank", str(found.rank)),
        *channel_rows(found.groups, found.samples, found.channels),
        ("mu", f"{problem.mu:.4g}{chosen}: the price of the nuclear norm"),
        ("noise", noise_text(found.sigma, "standard deviation", found.noise)),
        ("convex solution", f"{found.result.outcome}, in {_iterations(found.result)}"),
    ]


def noise_text(sigma: Any, name: str, noise: AutoregressiveNoise | None = None) -> str:
    """Say how large the noise is, and how it is correlated unless it is white."""
    if sigma is None:
        return "unknown"
    size = f"given for each sample ({name})" if np.ndim(sigma) else f"{sigma:.4g} ({name})"
    return size if noise is None else f"{size}, {noise}"


def _certificate(found: Recovery) -> Section:
    """Explain how well the convex problem was solved, and for which signal that holds."""
    result = found.result
    bound = (
        f" No other solution is better by more than {100 * result.gap:.2g}%, with certainty but "
        "for random starts that fail once in 10^10: this says how well the problem was solved, not "
        "whether the signal fits the model."
    )
    meaning = (
        "The convex solution minimises the distance to the samples, the nuclear norm and the "
        "departure from the structure, each with its price; its objective is "
        f"{result.objective:.6g} ({result.outcome}).{bound * (result.gap < 1)}"
    )
    blocks: list[Block] = [Paragraph(meaning, more=ABOUT)]
    if found.candidate.note:
        blocks.append(Paragraph(found.candidate.note))
    pictures = [
        Picture(
            result.plot,
            f"Objective and gap to the optimum over {_iterations(result)}",
            "The objective, and the gap to the optimum, by iteration.",
        )
    ]
    if result.rank:
        pictures.append(
            Picture(
                result.plot_singular_values,
                f"The {result.rank} singular values of the recovered matrix",
                "Singular values of the convex solution.",
            )
        )
    return Section("Certificate of the convex solution", [*blocks, SideBySide(pictures)])


def _about_certificate() -> Section:
    """What is proven, what is not, and how, for readers who see it for the first time."""
    proven = (
        "Proven is how well the convex problem was solved: its objective is a number that a "
        "perfect solver would make as small as possible, and the certificate says how much "
        "smaller it could still be. Not proven are the choice of mu, that the signal fits the "
        "model, the error bars, and a fit or an average that is shown instead of the convex "
        "solution."
    )
    how = (
        "The bound comes from the dual problem: each of its candidates gives a number that the "
        "objective cannot fall below. One candidate is the residual of the solution, scaled down "
        "until the largest singular value of its matrix is at most mu. This singular value is "
        "bounded from above, with rounding errors, by Lanczos iterations from random starts; they "
        "fail with a probability of at most 10^-10. How to cite, below, names the paper with the "
        "problem and its solver."
    )
    return Section(ABOUT, [Paragraph(proven), Paragraph(how)], linked=True)


def _values(ahead: Forecast) -> NumberTable:
    """List the values of a forecast, with their intervals."""
    mean, lower, upper = (
        to_numpy(unwrap(part, ahead.channels).values)
        for part in (ahead.mean, ahead.lower, ahead.upper)
    )
    index = getattr(ahead.mean, "index", None)
    labels = [str(i + 1) for i in range(len(mean))] if index is None else index_labels(index)
    columns = [str(name) for name in getattr(ahead.mean, "columns", [])]
    numbered = [f"channel {c + 1}" for c in range(mean.shape[1])] if mean.ndim == 2 else [""]
    head = ["step" if index is None else str(index.name or "index")]
    for name in columns or numbered:
        head += [f"{name} {what}".strip() for what in ("forecast", "from", "to")]
    triples = np.stack([part.reshape(len(mean), -1) for part in (mean, lower, upper)], axis=2)
    rows = [
        [label, *(f"{value:#.5g}" for value in row.flat)]
        for label, row in zip(labels, triples, strict=True)
    ]
    return NumberTable(head, rows, f"Forecast and {ahead.level:.0%} intervals.")


def _iterations(result: Result) -> str:
    return f"{result.iterations} iteration{'s' * (result.iterations != 1)}"


def _times(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))
