"""A signal with gaps and noise in, the signal out: one call, nothing to choose."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from .._array import Array, to_numpy
from ..io.containers import unwrap
from ..modal.modes import Modes
from ..model.measure import Weighted
from ..model.problem import Problem
from ..selection.mu import Selection
from ..solvers.driver import ConvergenceWarning, Result
from ..structures import Hankel
from ..views import Summary, labels_of, plot_signal
from ..views.content import Report
from ..views.report import Reportable
from .estimates import Estimates
from .outliers import find_outliers
from .reports import recovery_report
from .windows import largest_window

MOST_ROWS, LOCAL = 3000, 8  # of a matrix with windows of half each axis; windows beyond that
LOCAL_ROWS = 300  # of the matrix then
MOST_UNLIKE = 10.0  # ratio of the sizes of channels beyond which they are scaled
FEWEST, SHORTEST = 4, 3  # samples of which anything can be said, in all and along an axis


@dataclass(frozen=True, eq=False, repr=False)
class Recovery(Summary, Reportable):
    """A recovered signal, and how it was found.

    Attributes
    ----------
    signal : array, Series, DataFrame or DataArray
        Gaps filled and noise removed; of the kind of the samples.
    stderr : the same kind
        Standard error of every value.
    rank : int
    modes : Modes or None
        The (damped) sinusoids the signal is the sum of, with standard errors; None unless they
        were fitted.
    sigma : float or None
        Standard deviation of the noise in the samples; None unless modes were fitted, or if it
        differs between channels of very different size.
    kind : {"refit", "convex", "average"}
        Which estimate predicted samples that were left out better: the fit of a few modes, the
        convex solution, or the average of local fits (`structrank.signals.logdet`), and of the
        convex solution where it predicts as well. The standard error of the latter two is that of
        these predictions, one number for the whole signal unless a decay was evened out, and the
        rank of an average that of the covariance of its windows.
    outliers : ndarray of bool
        Samples that were taken for gross errors; none unless asked for.
    result : Result
        The solver's: status, certificate, history.
    selection : Selection or None
        How mu and the rank were chosen; None if mu was given.
    channels : int or None
        The axis that holds channels.
    samples : array, Series, DataFrame or DataArray
        What was given.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import recover
    >>> found = recover(np.where(np.arange(40) == 20, np.nan, 0.9 ** np.arange(40.0)))
    >>> found.rank, bool(np.isclose(found.signal[20], 0.9**20))
    (1, True)
    """

    signal: Any
    stderr: Any
    rank: int
    modes: Modes | None
    sigma: float | None
    kind: str
    outliers: np.ndarray
    result: Result
    selection: Selection | None
    channels: int | None
    samples: Any

    def plot(self, ax: Any = None) -> Any:
        """Draw the recovered signal over its samples, with gaps, outliers and 95% bands.

        A series has one panel per channel; a complex one has its real part and its modulus side
        by side. A signal with two axes is shown as images: samples, recovered signal, standard
        errors. A signal with more axes is shown by the middle slice of the last two. Bands of
        complex signals are those of circular noise. At most twelve channels are drawn.

        Parameters
        ----------
        ax : Axes, sequence of Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes or list of Axes
        """
        samples, signal, stderr = (
            to_numpy(unwrap(part, self.channels).values)
            for part in (self.samples, self.signal, self.stderr)
        )
        return plot_signal(
            samples,
            signal,
            stderr,
            outliers=self.outliers,
            channels=self.channels,
            labels=labels_of(self.samples, self.channels),
            ax=ax,
        )

    def report(self) -> Report:
        """Describe the recovery: pictures, settings, certificate, modes."""
        return recovery_report(self)

    def _rows(self) -> list[tuple[str, str]]:
        shape = " x ".join(map(str, np.shape(self.signal)))
        seen = int(np.count_nonzero(self.result.problem.measure.weights))
        names = {"refit": "fit of the modes", "convex": "convex solution"}
        how = names.get(self.kind, "average of local fits")
        return [
            ("signal", f"{shape}, {seen} values seen"),
            ("rank", str(self.rank)),
            ("noise", "unknown" if self.sigma is None else f"{self.sigma:.4g} (sigma)"),
            ("estimate", how),
            ("mu", f"{self.result.problem.mu:.4g}"),
            ("outcome", f"convex solution: {self.result.outcome}"),
        ]


def recover(
    samples: Any,
    *,
    window: int | tuple[int, ...] | None = None,
    channels: int | None = None,
    mu: float | None = None,
    rank: int | None = None,
    sigma: float | None = None,
    kind: str = "auto",
    undamped: bool = False,
    robust: bool = False,
    rng: int | np.random.Generator = 0,
    progress: bool = False,
) -> Recovery:
    """Fill the gaps and remove the noise of a signal.

    The signal is taken to be a sum of a few (damped) sinusoids, exponentials and slow trends:
    its Hankel matrix has low rank. mu, the rank and the noise level come from the data
    (`select_mu`). Then the fit of the modes (`refit`), the convex solution and local fits have to
    predict samples that were left out, in gaps like those of the data. The fit of the modes is
    returned unless others are clearly better, and else the average of those that are about the
    best. Local fits (`structrank.signals.logdet.fit_windows`) ask for few patterns in short windows
    of the signal rather than for few modes in all of it, with windows and noise levels of several
    sizes: they are at home where swings come and go, as in sunspots, seismic traces, pictures and
    k-space.

    Parameters
    ----------
    samples : array, pandas Series or DataFrame, or xarray DataArray
        The signal in any number of dimensions, real or complex, NaN where missing.
    window : int or tuple of int, optional
        Rows of the Hankel matrix along each axis. Default: half of each axis, which is best for a
        few modes. Signals with several axes whose matrix would then have more than 3000 rows,
        such as pictures, are rarely made of a few modes: only local fits compete for them, and the
        window is 8 along each axis, or less if it would hold more than 300 values in all channels.
        Local fits choose windows of their own.
    channels : int, optional
        The axis that holds channels, which share their modes. The columns of a DataFrame are
        channels.
    mu : float, optional
        Price of the nuclear norm, if not to be chosen.
    rank : int, optional
        Number of modes, if known.
    sigma : float, optional
        Standard deviation of the noise, if known.
    kind : {"auto", "refit", "convex"}
        Which estimate to return.
    undamped : bool
        The modes are known to be undamped.
    robust : bool
        Some samples may be gross errors: find them first (`find_outliers`) and do without.
    rng : int or numpy.random.Generator
        Of the noise drawn to find mu, and of the samples left out.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Recovery

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import recover
    >>> t = np.arange(200)
    >>> truth = np.exp(-t / 100) * np.cos(0.4 * t) + 1
    >>> rng = np.random.default_rng(0)
    >>> samples = truth + 0.1 * rng.standard_normal(200)
    >>> samples[(60 < t) & (t < 90)] = np.nan
    >>> found = recover(samples)
    >>> found.rank, found.kind
    (3, 'refit')
    >>> bool(abs(found.signal - truth).max() < 0.1)
    True
    """
    if kind not in ("auto", "refit", "convex"):
        raise ValueError(f"kind is {kind!r}, but 'auto', 'refit' or 'convex' is expected")
    given = unwrap(samples, channels)
    axis = given.channels if channels is None else _axis(channels, given.values.ndim)
    sizes = channel_sizes(given.values, axis) if sigma is mu is None else 1.0
    values = to_numpy(given.values) / sizes if np.ndim(sizes) else given.values
    problem = hankel_problem(values, window, axis)
    outliers = np.zeros(problem.structure.signal_shape, dtype=bool)
    if robust:
        outliers = find_outliers(problem, rng=rng)
        problem = problem.without(outliers)
    found = Estimates(problem, rank=rank, sigma=sigma, undamped=undamped, rng=rng)
    large = window is None and is_large(_lengths(given.values.shape, axis))
    if kind == "auto" and large and rank is None:
        kind = found.solve_by_prediction(mu, progress=progress)
    else:
        found.solve_and_refit(mu, progress=progress)
        kind = found.better(kind, progress=progress)
    if not found.result.status.converged:
        warnings.warn(
            f"recover: the convex solution is known to a gap of {found.result.gap:.2g} of its "
            "objective only, so mu, rank and noise may be chosen less well than usual: give rank "
            "or sigma if they are known",
            ConvergenceWarning,
            2,
        )
    signal, stderr = found.estimate(kind)
    fit = found.fit if kind == "refit" else None

    def back(values: Array) -> Any:
        return given.wrap(from_channels(values, axis) * sizes)

    return Recovery(
        back(signal),
        back(stderr),
        found.rank_of(kind),
        None if fit is None or fit.modes is None else scaled(fit.modes, sizes),
        fit.sigma if fit is not None and np.ndim(sizes) == 0 else sigma,
        kind,
        from_channels(outliers, axis),
        found.result,
        found.selection,
        axis,
        samples,
    )


def hankel_problem(
    values: Array, window: int | tuple[int, ...] | None = None, channels: int | None = None
) -> Problem:
    """The problem of filling the gaps of a signal: Hankel structure, lifted weights, mu = 1.

    Parameters
    ----------
    values : array
        NaN where missing.
    window : int or tuple of int, optional
        Default: half of each axis, or about 8 of each if the signal `is_large`.
    channels : int, optional
        The axis that holds channels.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.recovery import hankel_problem
    >>> hankel_problem(np.array([1.0, np.nan, 2.0, 3.0, 1.0]))
    Problem(Hankel((5,), window=(3,)), 4 of 5 samples seen, mu=1)
    """
    if values.ndim == 0:
        raise ValueError("the samples are a single number, but a signal is expected")
    if channels is not None:
        values = np.moveaxis(to_numpy(values), channels, -1)[..., None]
    host = to_numpy(values)
    seen = ~np.isnan(host)
    if np.any(np.isinf(host)):
        raise ValueError(
            "the samples hold inf, but finite numbers, or NaN where missing, are expected"
        )
    lengths = host.shape if channels is None else host.shape[:-2]
    if np.count_nonzero(seen) < FEWEST:
        raise ValueError(
            f"{np.count_nonzero(seen)} values are seen, but {FEWEST} or more are expected"
        )
    if min(lengths) < SHORTEST:
        raise ValueError(
            f"the signal has {min(lengths)} samples along an axis, but {SHORTEST} or more are "
            "expected along each: pass channels=... if that axis holds channels"
        )
    if channels is not None:
        counts = np.count_nonzero(seen, axis=tuple(range(len(lengths))))[:, 0]
        if not np.all(counts):
            raise ValueError(
                f"channel {int(np.argmin(counts))} holds no value at all, so nothing can be said "
                "about it: leave it out"
            )
    if window is None:
        half = tuple((length + 1) // 2 for length in lengths)
        count = 1 if channels is None else host.shape[-2]
        local = largest_window(lengths, count, LOCAL, LOCAL_ROWS)
        window = local if local and is_large(lengths) else half
    block = None if channels is None else (host.shape[-2], 1)
    structure = Hankel(lengths, window, block)
    return Problem(structure, values, 1.0, Weighted("lifted", seen))


def is_large(lengths: tuple[int, ...]) -> bool:
    """Whether a signal has several axes and half of each makes a matrix of very many rows."""
    return len(lengths) > 1 and prod((length + 1) // 2 for length in lengths) > MOST_ROWS


def from_channels(values: Array, channels: int | None) -> Array:
    """A signal of the structure's shape in the shape that was given."""
    if channels is None:
        return values
    return np.moveaxis(to_numpy(values)[..., 0], -1, channels)


def channel_sizes(values: Array, channels: int | None) -> Any:
    """What to divide channels by that differ by much in size, so that all of them count."""
    if channels is None:
        return 1.0
    host = to_numpy(values)
    others = tuple(axis for axis in range(host.ndim) if axis != channels)
    seen = np.maximum(np.sum(~np.isnan(host), axis=others, keepdims=True), 1)
    sizes = np.sqrt(np.nansum(np.abs(host) ** 2, axis=others, keepdims=True) / seen)
    sizes = np.where(sizes > 0, sizes, 1.0)
    return sizes if np.max(sizes) > MOST_UNLIKE * np.min(sizes) else 1.0


def scaled(modes: Modes, sizes: Any) -> Modes:
    """The modes with the amplitudes of channels in their own units."""
    if np.ndim(sizes) == 0:
        return modes
    stderr, factors = modes.stderr, np.reshape(sizes, -1)
    if stderr is not None:
        stderr = replace(stderr, amplitudes=stderr.amplitudes * factors)
    return replace(modes, amplitudes=modes.amplitudes * factors, stderr=stderr)


def _lengths(shape: tuple[int, ...], channels: int | None) -> tuple[int, ...]:
    """The samples along each axis but that of the channels."""
    return tuple(length for axis, length in enumerate(shape) if axis != channels)


def _axis(channels: int, ndim: int) -> int:
    if not -ndim <= channels < ndim or ndim < 2:
        raise ValueError(
            f"channels is {channels}, but the samples have {ndim} axes: expected one of them, "
            "beside at least one more"
        )
    return channels % ndim
