"""Recover a signal from samples with gaps and noise: one call, nothing to choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import one_of
from .._watch import clock, watched
from ..io.containers import unwrap
from ..modal.modes import Modes
from ..selection.mu import Selection
from ..solvers.result import Result
from ..solvers.stopping import Status
from ..views import Summary, labels_of, plot_signal
from ..views.content import Report
from ..views.report import Reportable
from .caller import status_of
from .candidates import CANDIDATES, Candidate, ComponentModel, ConvexSolution, FitOfModes
from .channel_groups import Members, channel_rows
from .channel_units import channel_units
from .channels import channel_axis, from_channels
from .effort import checked
from .estimates import interval_reach
from .estimation import AUTO
from .finding import find_signal
from .problems import hankel_problem
from .reports import recovery_report
from .solutions import Known

KINDS = (AUTO, FitOfModes.name, ConvexSolution.name, ComponentModel.name)


@dataclass(frozen=True, eq=False, repr=False)
class Recovery(Summary, Reportable):
    """A recovered signal, and how it was found.

    Attributes
    ----------
    signal : array, Series, DataFrame or DataArray
        The signal with gaps filled and noise removed, as a container like the samples.
    stderr : array, Series, DataFrame or DataArray
        Standard error of every value of the signal, without noise. If nothing is known about the
        noise, it is the error of a new sample.
    lower, upper : array, Series, DataFrame or DataArray
        Ends of the intervals that contain a new sample, noise included, with probability `level`;
        for a complex signal, separate intervals of the real and the imaginary part.
    level : float
    rank : int
    modes : Modes or None
        The (damped) sinusoids the signal is the sum of, with standard errors; None unless they
        were fitted.
    sigma : float or None
        Standard deviation of the white noise in the samples; None unless modes or components were
        fitted, or if it differs between channels of different size.
    kind : {"refit", "convex", "average", "components"}
        Which estimate predicted held-out samples best: the fit of a few modes, the convex solution,
        a sum of trend, season, autoregressive part and noise, or the average of local fits
        (`structrank.signals.logdet`) and of those of the others that predict as well. Intervals
        of all but the first have the size of the prediction errors. For one real series they are
        larger inside gaps, otherwise they have one width for the whole signal, unless a decay was
        evened out. The rank of an average is that of the covariance of its windows; the rank of
        components is their number of states.
    outliers : ndarray of bool
        Samples that were taken for gross errors; none unless asked for.
    result : Result
        The convex solution: its outcome, certificate and history. If modes were found without it,
        or if only local fits competed, it is computed on first access, for the mu that the noise
        calls for. This can take longer than the recovery.
    selection : Selection or None
        How mu and the rank were chosen; None if mu was given, if only local fits competed, or if
        modes were found without a convex solution.
    channels : int or None
        The axis that holds channels.
    samples : array, Series, DataFrame or DataArray
        The samples that were given.
    groups : list of tuple of int
        The channels that were fitted together; each of those that share nothing is alone.
    status : Status
        `Status.FINISHED`, or `Status.MAX_TIME` if the time limit ended the search.
    seconds : float
        Time that the recovery took.

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
    lower: Any
    upper: Any
    level: float
    rank: int
    modes: Modes | None
    sigma: float | None
    kind: str
    outliers: NDArray
    solve: Callable[[], Result]
    selection: Selection | None
    channels: int | None
    samples: Any
    groups: list[Members]
    status: Status
    seconds: float

    @cached_property
    def result(self) -> Result:
        """The convex solution."""
        return self.solve()

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

    @property
    def candidate(self) -> Candidate:
        """The candidate whose name `kind` is: what it is called, and what it assumes."""
        return next(candidate for candidate in CANDIDATES if candidate.name == self.kind)

    def _rows(self) -> list[tuple[str, str]]:
        shape = " x ".join(map(str, np.shape(self.signal)))
        values = to_numpy(unwrap(self.samples, self.channels).values)
        seen = np.count_nonzero(~np.isnan(values) & ~self.outliers)
        rows = [
            ("signal", f"{shape}, {seen} values seen"),
            ("rank", str(self.rank)),
            *channel_rows(self.groups),
            ("noise", "unknown" if self.sigma is None else f"{self.sigma:.4g} (sigma)"),
            ("estimate", self.candidate.label),
        ]
        if self.status is Status.MAX_TIME:
            rows.append(("search", self.status.value))
        solved = "result" in vars(self)
        if self.kind != ConvexSolution.name and not solved:  # do not solve only to print
            return rows
        return [
            *rows,
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
    kind: str = AUTO,
    level: float = 0.95,
    undamped: bool = False,
    robust: bool = False,
    rng: int | np.random.Generator = 0,
    effort: str = "normal",
    max_time: float | None = None,
    progress: bool = False,
) -> Recovery:
    """Fill the gaps and remove the noise of a signal.

    The signal is taken to be a sum of a few (damped) sinusoids, exponentials and slow trends, so
    its Hankel matrix has low rank. Modes are found one after the other, from the largest peak of
    the spectrum of what is left, and are fitted together. They are returned if they meet the
    samples exactly, or if they leave nothing but white noise and predict held-out samples as well
    as the noise allows. Modes whose damping is not distinguishable from zero are held undamped.

    Otherwise estimates predict held-out samples, in gaps like those of the data: the fit of the
    modes, local fits and, for one real series, a sum of components; for short signals also the
    convex solution and the fit of its modes (`select_mu`, `refit`). The fit of the modes is
    returned unless others are clearly better; then their average is returned, with weights that
    would have predicted best. Local fits (`structrank.signals.logdet.fit_windows`) ask for few
    patterns in short windows of the signal rather than for few modes in all of it, with windows and
    noise levels of several sizes. They suit signals whose swings come and go, such as sunspots,
    seismic traces, pictures and k-space. Components (`structrank.components`) are trend, season,
    autoregressive part and white noise, which drift. They suit economic and weather series; the
    season is found from the samples.

    Parameters
    ----------
    samples : array, pandas Series or DataFrame, or xarray DataArray
        The signal in any number of dimensions, real or complex, NaN where missing.
    window : int or tuple of int, optional
        Rows of the Hankel matrix along each axis. Default: half of each axis, which is best for a
        few modes. For signals with several axes whose matrix would then have more than 3000 rows,
        such as pictures, the convex solution does not compete, and the window is 8 along each axis,
        or less if it would hold more than 300 values in all channels. Local fits choose windows
        of their own.
    channels : int, optional
        The axis that holds channels, which share modes. The columns of a DataFrame are channels.
        They may have different units: offsets are subtracted and channels are scaled before the
        work, unless mu is given. In tables of series, channels that share nothing are found by
        predictions of held-out samples and are fitted alone, unless mu or rank is given.
    mu : float, optional
        Price of the nuclear norm, if not to be chosen.
    rank : int, optional
        Number of modes, if known.
    sigma : float, optional
        Standard deviation of the noise, if known.
    kind : {"auto", "refit", "convex", "components"}
        Which estimate to return: the one that predicts best, the fit of the modes, the convex
        solution, or the components of one real series.
    level : float
        Probability that an interval contains a new sample.
    undamped : bool
        The modes are known to be undamped.
    robust : bool
        Some samples may be gross errors: find them first (`find_outliers`) and ignore them.
    rng : int or numpy.random.Generator
        Seed for the simulated noise and for choosing held-out samples.
    effort : {"fast", "normal", "thorough"}
        How much is tried before an estimate is returned: how many modes, windows and held-out parts
        of the samples.
    max_time : float, optional
        Time limit in seconds. When it ends the search, the best estimate so far is returned, with a
        `ConvergenceWarning`. `Recovery.status` says so.
    progress : bool
        Say what is being tried: on a terminal in a progress bar, else in a line from time to time.

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
    one_of(kind, KINDS, "kind")
    reach = interval_reach(level)
    began, (tried, max_time) = clock(), checked(effort, max_time)
    known = Known(mu, rank, sigma, undamped, rng)
    given = unwrap(samples, channels)
    axis = given.channels if channels is None else channel_axis(channels, given.values.ndim)
    units = channel_units(given.values, axis, centre=rank is mu is None, scale=sigma is mu is None)
    problem = hankel_problem(units.common(given.values), window, axis)
    may_be_large = window is rank is None and kind == AUTO
    with watched(max_time, progress) as watch:
        found, outliers, groups = find_signal(problem, known, kind, tried, robust, may_be_large)
    status, estimate = status_of(watch, "recover"), units.estimate(found.estimate)
    parts = (estimate.signal, estimate.stderr, *estimate.interval(reach))
    signal, stderr, lower, upper = map(given.wrap, parts)
    return Recovery(
        signal=signal,
        stderr=stderr,
        lower=lower,
        upper=upper,
        level=level,
        rank=estimate.rank,
        modes=estimate.modes,
        sigma=sigma if estimate.sigma is None else estimate.sigma,
        kind=found.candidate.name,
        outliers=from_channels(outliers, axis),
        solve=found.solve,
        selection=found.selection,
        channels=axis,
        samples=samples,
        groups=groups,
        status=status,
        seconds=clock() - began,
    )
