"""What a recovered signal is made of: trend, seasons, oscillations and the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import NDArray, to_numpy
from ..components import fit_channels, fit_series
from ..components.likelihood import ComponentFit
from ..components.parts import CYCLE, TREND, series_parts
from ..io.containers import required_pandas, unwrap
from ..io.sampling import Sampling
from ..io.saved_results import Saved, savable
from ..modal.harmonics import group_oscillations
from ..modal.modes import Modes
from ..views import Summary, interactive_figure, labels_of
from ..views.components import plot_components, plot_w_correlations
from .problems import hankel_problem

if TYPE_CHECKING:
    from .recovery_result import Recovery

OTHER, REST, REGRESSORS = "other", "rest", "regressors"


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


@savable()
@dataclass(frozen=True, eq=False, repr=False)
class SignalComponents(Summary, Saved):
    """The components of a signal, as signals of their own; the result of `Recovery.components`.

    Attributes
    ----------
    parts : dict of str to array, Series, DataFrame or DataArray
        Components by name: "trend", "season of 12 samples", "oscillation of 25.3 samples", "mode at
        0.1" (of a complex signal), "autoregressive part", "regressors", and "other", what the
        signal has beyond these. Their sum is the recovered signal.
    rest : array, Series, DataFrame or DataArray
        The samples minus all parts; NaN where nothing was seen.
    samples : array, Series, DataFrame or DataArray
    channels : int or None
        The axis that holds channels.
    sampling : Sampling or None
        Time between samples and its unit.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import recover
    >>> t = np.arange(120)
    >>> season = np.cos(2 * np.pi * t / 12) + 0.5 * np.sin(2 * np.pi * t / 6)
    >>> y = 3 + season + 0.1 * np.random.default_rng(0).standard_normal(120)
    >>> found = recover(y).components()
    >>> found
    SignalComponents
      trend                 from 3.008 to 3.008
      season of 12 samples  from -1.284 to 1.299
      rest                  from -0.2518 to 0.1964
    >>> bool(abs(found["season of 12 samples"] - season).max() < 0.1)
    True
    """

    parts: dict[str, Any]
    rest: Any
    samples: Any
    channels: int | None
    sampling: Sampling | None = None

    def __getitem__(self, name: str) -> Any:
        if name == REST:
            return self.rest
        if name not in self.parts:
            raise KeyError(f"no component {name!r}: there are {', '.join([*self.parts, REST])}")
        return self.parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self.parts, REST])

    def __len__(self) -> int:
        return len(self.parts) + 1

    def table(self) -> dict[str, NDArray]:
        """The components of series as columns of a table, for a file.

        Returns
        -------
        dict of str to ndarray
            By the names of components; with several channels, each followed by its channel.
        """
        self._check_series()
        names = labels_of(self.samples, self.channels).names
        several = self.channels is not None
        return {
            f"{name}, {channel}" if several else name: values
            for name in self
            for channel, values in zip(names, self._array(name), strict=True)
        }

    def to_frame(self) -> Any:
        """The components of a series as a pandas DataFrame, one column each, and the rest.

        Returns
        -------
        DataFrame
            With several channels, columns have two levels: component and channel.
        """
        pd = required_pandas()

        self._check_series()
        frames = {name: self[name] for name in self}
        if self.channels is None:
            values = {name: np.asarray(part) for name, part in frames.items()}
            return pd.DataFrame(values, index=getattr(self.samples, "index", None))
        if not isinstance(self.samples, pd.DataFrame):
            frames = {k: pd.DataFrame(np.moveaxis(self._array(k), 0, 1)) for k in frames}
        return pd.concat(frames, axis=1)

    def w_correlations(self) -> NDArray:
        """Weighted correlations between the components, the rest included.

        The weights are how often a sample occurs in the Hankel matrix. Components of small
        correlation are separable: their matrices are nearly orthogonal.

        Returns
        -------
        ndarray, shape (components, components)
            Absolute values, in the order of iteration.
        """
        arrays = [np.nan_to_num(self._array(name)) for name in self]
        samples = to_numpy(unwrap(self.samples, self.channels).values)
        structure = hankel_problem(np.zeros_like(samples), None, self.channels).structure
        weights = np.reshape(structure.multiplicity, (*arrays[0].shape[1:], -1))[..., 0]
        flat = np.stack([(np.sqrt(weights) * array).ravel() for array in arrays])
        gram = np.abs(flat.conj() @ flat.T)
        sizes = np.sqrt(np.diag(gram))
        with np.errstate(invalid="ignore"):
            return np.where(np.outer(sizes, sizes) > 0, gram / np.outer(sizes, sizes), 0.0)

    def plot(self, ax: Any = None, *, interactive: bool = False) -> Any:
        """Draw the components of a series, one below the other, and the rest.

        Parameters
        ----------
        ax : sequence of Axes or Figure, optional
            One panel per component. Default: a new figure of pyplot.
        interactive : bool
            Return a figure of Plotly that can be zoomed; it needs the extra `interactive`.

        Returns
        -------
        list of Axes, or a figure of Plotly
        """
        if interactive:
            return interactive_figure(self.plot, ax)
        labels = labels_of(self.samples, self.channels, self.sampling)
        return plot_components({name: self._array(name) for name in self}, labels=labels, ax=ax)

    def plot_w_correlations(self, ax: Any = None) -> Any:
        """Draw the weighted correlations between components as a picture.

        Parameters
        ----------
        ax : Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes
        """
        return plot_w_correlations(self.w_correlations(), list(self), ax)

    def _check_series(self) -> None:
        if np.ndim(self.samples) - (self.channels is not None) > 1:
            raise ValueError(
                f"the signal has shape {np.shape(self.samples)}, but a table holds series: use the "
                "components themselves"
            )

    def _array(self, name: str) -> NDArray:
        """One component, with channels along the first axis; there is one at least."""
        values = to_numpy(unwrap(self[name], self.channels).values)
        return values[None] if self.channels is None else np.moveaxis(values, self.channels, 0)

    def _rows(self) -> list[tuple[str, str]]:
        rows, width = [], 2 + max(map(len, self))
        for name in self:
            values = self._array(name).real
            rows.append(
                (name.ljust(width), f"from {np.nanmin(values):.4g} to {np.nanmax(values):.4g}")
            )
        return rows


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
    effect = None if found.regression is None else found.regression.effect
    if effect is not None:
        samples, signal = samples - effect, signal - effect
    if found.modes is not None:
        parts = _modal_parts(found.modes, signal, found.channels)
    elif found.channels is None and signal.ndim == 1 and not np.iscomplexobj(signal):
        parts = _series_parts(samples, found)
    elif found.channels is not None and signal.ndim == 2 and not np.iscomplexobj(signal):
        parts = _table_parts(samples, found, found.channels)
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
    if effect is not None:
        parts[REGRESSORS] = effect
    rest = to_numpy(given.values) - sum(parts.values(), np.zeros_like(signal))
    wrapped = {name: given.wrap(part) for name, part in parts.items()}
    return SignalComponents(
        wrapped, given.wrap(rest), found.samples, found.channels, found.sampling
    )


def _series_parts(samples: NDArray, found: Recovery) -> dict[str, NDArray]:
    """The parts of a series by its state-space model."""
    noise = found.sigma if np.ndim(found.sigma) else None
    fitted = fit_series(samples, periods=found.seasons, noise=noise)
    return _named(series_parts(fitted, samples), fitted.fits, found.sampling)


def _table_parts(samples: NDArray, found: Recovery, axis: int) -> dict[str, NDArray]:
    """The parts of channels by the state-space models of their groups."""
    table = np.moveaxis(samples, axis, 1)
    parts: dict[str, NDArray] = {}
    everything = [tuple(range(table.shape[1]))]  # if nothing was fitted, as nothing is missing
    for members in found.groups or everything:
        fitted = fit_channels(table[:, list(members)])
        for k, own in enumerate(fitted.parts(table[:, list(members)])):
            fits = [joint.fits[k] for joint in fitted.joint] or fitted.alone[k].fits
            for name, part in _named(own, fits, found.sampling).items():
                parts.setdefault(name, np.zeros_like(table))[:, members[k]] += part
    return {name: np.moveaxis(part, 1, axis) for name, part in parts.items()}


def _named(
    parts: dict[str, NDArray], fits: Sequence[ComponentFit], sampling: Sampling | None
) -> dict[str, NDArray]:
    """The parts of a series with the lengths of its seasons in their names."""
    names = {TREND: TREND, CYCLE: CYCLE}
    for fit in reversed(fits):  # the names of those with the most information stay
        for name, season in fit.components.seasons.items():
            names[name] = f"season of {_length(season.period, sampling)}"
    return {names[name]: part for name, part in parts.items()}


def _modal_parts(modes: Modes, signal: NDArray, channels: int | None) -> dict[str, NDArray]:
    """The parts of a sum of modes: groups of oscillations, or the modes of a complex signal."""
    lengths = tuple(n for axis, n in enumerate(signal.shape) if axis != channels)
    parts: dict[str, NDArray] = {}
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
    return parts


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
