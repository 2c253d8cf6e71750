"""How a recovered signal is divided into its components, with their standard errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._array import NDArray, to_numpy
from ..components import fit_channels, fit_series
from ..components.likelihood import ComponentFit
from ..components.parts import CYCLE, TREND, SeriesPart, series_parts
from ..io.containers import unwrap
from ..io.sampling import Sampling
from ..io.saved_results import NotSaved
from ..modal.harmonics import group_oscillations
from ..modal.modes import Modes
from .component_series import SignalComponents

if TYPE_CHECKING:
    from .recovery_result import Recovery

OTHER, REGRESSORS = "other", "regressors"
Divided = tuple[dict[str, NDArray], dict[str, NDArray]]  # components, and known standard errors


@dataclass(frozen=True)
class OtherPart:
    """When what the signal has beyond its components is one of them.

    Attributes
    ----------
    smallest : float
        Its least size, relative to the signal; what is smaller is added to the largest component.
        Chosen: above the rounding errors of modes that nearly cancel.
    """

    smallest: float = 1e-6


def components_of(found: Recovery, beyond: OtherPart = OtherPart()) -> SignalComponents:
    """Divide a recovered signal into its components.

    Parameters
    ----------
    found : Recovery
    beyond : OtherPart

    Returns
    -------
    SignalComponents
    """
    given = unwrap(found.samples, found.channels)
    samples = np.where(found.outliers, np.nan, to_numpy(given.values))
    signal = to_numpy(unwrap(found.signal, found.channels).values)
    samples = np.where(found.clipped, signal, samples)
    regression = found.regression
    if regression is not None:
        samples, signal = samples - regression.effect, signal - regression.effect
    if found.modes is not None:
        parts, errors = _modal_parts(found, found.modes, signal)
    elif found.channels is None and signal.ndim == 1 and not np.iscomplexobj(signal):
        parts, errors = _series_parts(samples, found)
    elif found.channels is not None and signal.ndim == 2 and not np.iscomplexobj(signal):
        parts, errors = _table_parts(samples, found, found.channels)
    else:
        raise ValueError(
            f"the signal of shape {signal.shape} was found as {found.candidate.label!r}, which has "
            'no components: recover it with kind="refit", which finds oscillations, or recover '
            "real series along one axis, which have trends and seasons"
        )
    total = sum(parts.values(), np.zeros_like(signal))
    other = np.where(found.left, 0.0, signal - total)
    sizes = {name: float(np.max(np.abs(part), initial=0.0)) for name, part in parts.items()}
    if np.max(np.abs(other), initial=0.0) > beyond.smallest * max(sizes.values(), default=0.0):
        parts[OTHER] = other
    elif parts:
        parts[max(sizes, key=lambda name: sizes[name])] += other
    if regression is not None:
        parts[REGRESSORS] = regression.effect
        errors[REGRESSORS] = regression.errors(regression.values)
    rest = to_numpy(given.values) - sum(parts.values(), np.zeros_like(signal))
    wrapped, stderr = (
        {name: given.wrap(part[name]) for name in parts if name in part} for part in (parts, errors)
    )
    return SignalComponents(
        wrapped, given.wrap(rest), found.samples, found.channels, found.sampling, stderr
    )


def _series_parts(samples: NDArray, found: Recovery) -> Divided:
    """The parts of a series by its state-space model."""
    noise = found.sigma if np.ndim(found.sigma) else None
    fitted = fit_series(samples, periods=found.seasons, noise=noise)
    named = _named(series_parts(fitted, samples), fitted.fits, found.sampling)
    errors = {name: part.stderr for name, part in named.items()}
    return {name: part.values for name, part in named.items()}, _if_seen(found, errors)


def _if_seen(found: Recovery, errors: dict[str, NDArray]) -> dict[str, NDArray]:
    """The errors of a smoother if it has seen all: neither inequalities nor coefficients."""
    return {} if found.regression is not None or np.any(found.clipped) else errors


def _table_parts(samples: NDArray, found: Recovery, axis: int) -> Divided:
    """The parts of channels by the state-space models of their groups."""
    table = np.moveaxis(samples, axis, 1)
    parts: dict[str, NDArray] = {}
    errors: dict[str, NDArray] = {}
    everything = [tuple(range(table.shape[1]))]  # if nothing was fitted, as nothing is missing
    for members in found.groups or everything:
        fitted = fit_channels(table[:, list(members)])
        for k, own in enumerate(fitted.parts(table[:, list(members)])):
            fits = [joint.fits[k] for joint in fitted.joint] or fitted.alone[k].fits
            for name, part in _named(own, fits, found.sampling).items():
                parts.setdefault(name, np.zeros_like(table))[:, members[k]] += part.values
                errors.setdefault(name, np.zeros_like(table))[:, members[k]] = part.stderr
    values, stderr = (
        {name: np.moveaxis(part, 1, axis) for name, part in both.items()}
        for both in (parts, errors)
    )
    return values, _if_seen(found, stderr)


def _named(
    parts: dict[str, SeriesPart], fits: Sequence[ComponentFit], sampling: Sampling | None
) -> dict[str, SeriesPart]:
    """The parts of a series with the lengths of its seasons in their names."""
    names = {TREND: TREND, CYCLE: CYCLE}
    for fit in reversed(fits):  # the names of those with the most information stay
        for name, season in fit.components.seasons.items():
            names[name] = f"season of {_length(season.period, sampling)}"
    return {names[name]: part for name, part in parts.items()}


def _modal_parts(found: Recovery, modes: Modes, signal: NDArray) -> Divided:
    """The parts of a sum of modes: groups of oscillations, or the modes of a complex signal."""
    channels, part_errors = found.channels, found.part_errors
    lengths = tuple(n for axis, n in enumerate(signal.shape) if axis != channels)
    if isinstance(part_errors, NotSaved) or not (np.iscomplexobj(signal) or modes.real):
        part_errors = None
    parts: dict[str, NDArray] = {}
    errors: dict[str, NDArray] = {}
    for name, rows in _groups(modes, lengths, np.iscomplexobj(signal)):
        values = modes[rows].signal(lengths)
        values = values if np.iscomplexobj(signal) else values.real
        if channels is not None:
            values = np.moveaxis(values, -1, channels)
        key, number = name, 1
        while key in parts:
            number += 1
            key = f"{name} ({number})"
        parts[key] = values.reshape(signal.shape)
        stderr = None if part_errors is None else part_errors(modes[rows])
        if stderr is not None:
            errors[key] = stderr.reshape(signal.shape)
    return parts, errors


def _groups(
    modes: Modes, lengths: tuple[int, ...], is_complex: bool
) -> Iterator[tuple[str, NDArray]]:
    """The names of groups, and which modes each of them has."""
    unit = modes.sampling
    rate, per = (1.0, "") if unit is None else (unit.rate, f" {unit.frequency}")
    if is_complex or not modes.real:
        for k, f in enumerate(modes.frequencies):
            yield f"mode at {', '.join(f'{rate * x:.4g}' for x in f)}{per}", np.array([k])
        return
    found = modes.oscillations()
    if len(lengths) > 1:
        for k, f in enumerate(found.frequencies):
            still = np.all(np.abs(f) * lengths < 1)
            name = TREND if still else f"oscillation at {', '.join(f'{x:.4g}' for x in f)}"
            yield name, np.unique([found.rows[k], found.partners[k]])
        return
    errors = None if found.stderr is None else found.stderr["frequencies"][:, 0]
    for group in group_oscillations(found.frequencies[:, 0], errors, lengths[0], unit):
        name = group.kind
        if group.frequency:
            name = f"{group.kind} of {_length(1 / group.frequency, unit)}"
        yield name, np.unique([found.rows[group.rows], found.partners[group.rows]])


def _length(period: float, unit: Sampling | None) -> str:
    number, name = f"{period:.4g}", "samples"
    if unit is not None:
        number, name = f"{period * unit.step:.4g}", unit.time
    return f"{number} {name[:-1] if number == '1' and len(name) > 1 else name}"
