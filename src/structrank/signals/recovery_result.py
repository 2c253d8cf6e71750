"""A recovered signal: values, errors, what it was found by, pictures and reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._array import NDArray, as_array, to_numpy
from .._checks import positive_int, random_generator
from ..components.regression import Regression
from ..io.containers import unwrap
from ..io.regular_samples import what_was_done
from ..io.sampling import Sampling
from ..io.saved_results import NotSaved, Saved, savable
from ..modal.autoregressive_noise import AutoregressiveNoise
from ..modal.modes import Modes
from ..selection.mu import Selection
from ..solvers.result import Result
from ..solvers.stopping import Status
from ..views import Summary, interactive_figure, labels_of, plot_signal
from ..views.content import Report
from ..views.report import Reportable
from .banded import Banded
from .candidates import CANDIDATES, Candidate, ConvexSolution
from .channel_groups import Members, channel_rows
from .estimates import ErrorDraws, PartErrors
from .inspection import Inspection
from .reports import noise_text, recovery_report

OMITTED = {"solve": "the convex solution", "selection": "the choice of mu"}


@savable(omit=OMITTED)
@dataclass(frozen=True, eq=False, repr=False)
class Recovery(Summary, Reportable, Inspection, Banded, Saved):
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
        for a complex signal, separate intervals of the real and the imaginary part. Their centre
        is the signal, or `new_sample`. Beside samples, intervals are narrower then.
    new_sample : array, Series, DataFrame, DataArray or None
        If modes were fitted in autoregressive noise, neighbours tell part of the noise of a missing
        sample: this is the sample that is expected, which `impute` fills in. In the place of a seen
        sample, the new one has noise of its own. None if new samples are expected at the signal.
    level : float
    rank : int
    modes : Modes or None
        The (damped) sinusoids the signal is the sum of, with standard errors; None unless they
        were fitted.
    sigma : float, array or None
        Standard deviation of the noise in the samples, or that of each one as it was given;
        None unless modes or components were fitted, or if it differs between channels of
        different size.
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
    clipped : ndarray of bool
        Samples at or beyond the levels `clipped`: they are only known to lie there or beyond.
    left : ndarray of bool
        Values in gaps longer than `max_gap`: they stay NaN, and so do their errors.
    draw : callable or None
        What `draws` calls; None if the estimate has no joint distribution.
    part_errors : callable or None
        Returns the standard errors of the sum of some of the modes, for `components`, or None if
        they are not known. None unless modes were fitted.
    result : Result
        The convex solution: its outcome, certificate and history. If modes were found without it,
        or if only local fits competed, it is computed on first access, for the mu that the noise
        calls for. This can take longer than the recovery.
    selection : Selection or None
        How mu and the rank were chosen; None if mu was given, if only local fits competed, or if
        modes were found without a convex solution.
    seasons : tuple of float
        Seasons that were given, in samples.
    regression : Regression or None
        What regressors add, if they were given: coefficients with standard errors. The modes, and
        what `components` finds, are those of the rest.
    sampling : Sampling or None
        Time between samples and its unit, from `dt` or the index.
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
    new_sample: Any
    level: float
    rank: int
    modes: Modes | None
    sigma: Any
    kind: str
    outliers: NDArray
    clipped: NDArray
    left: NDArray
    draw: ErrorDraws | None
    solve: Callable[[], Result]
    selection: Selection | None
    seasons: tuple[float, ...]
    regression: Regression | None
    sampling: Sampling | None
    channels: int | None
    samples: Any
    groups: list[Members]
    status: Status
    seconds: float
    part_errors: PartErrors | None = field(default=None, kw_only=True)

    @cached_property
    def result(self) -> Result:
        """The convex solution."""
        return self.solve()

    @property
    def noise(self) -> AutoregressiveNoise | None:
        """Correlations of the noise that modes were fitted in.

        None if it is taken to be white, and for channels that are fitted in several groups.
        """
        return None if self.modes is None else self.modes.noise

    def draws(self, n: int, *, rng: int | np.random.Generator = 0) -> NDArray:
        """Joint draws of the signal given the samples, for sums over gaps, maxima and the like.

        Their standard deviation is `stderr`. They have no noise of new samples: add noise of
        deviation `sigma` for these. Draws of modes are those of the fit to first order. Draws of
        components are those of the simulation smoother, from fits chosen with their weights. An
        average of real series has the joint errors of their components, scaled to its own standard
        errors.

        Parameters
        ----------
        n : int
            Number of draws.
        rng : int or numpy.random.Generator
            Seed for the draws.

        Returns
        -------
        ndarray, shape (n, ...)
            NaN in gaps that are left as they are. Draws of `impute` are the samples where these
            are seen.

        Raises
        ------
        ValueError
            The estimate has no joint distribution, or `stderr` is infinite somewhere.

        Examples
        --------
        >>> import numpy as np
        >>> from structrank import recover
        >>> t = np.arange(60)
        >>> samples = np.cos(0.3 * t) + 0.1 * np.random.default_rng(0).standard_normal(60)
        >>> samples[20:30] = np.nan
        >>> found = recover(samples, rank=2)
        >>> sums = found.draws(2000)[:, 20:30].sum(axis=1)
        >>> bool(abs(sums.mean() - found.signal[20:30].sum()) < 0.05)
        True
        """
        n = positive_int(n, "n")
        if self.draw is None:
            raise ValueError(
                f"the estimate is {self.candidate.label!r}, which has no joint distribution to "
                'draw from: pass kind="refit", or kind="components" for real series, or '
                'effort="normal", with which components take part'
            )
        rng = random_generator(rng)
        stderr = to_numpy(as_array(self.stderr))
        if unknown := np.count_nonzero(np.isinf(stderr)):
            raise ValueError(
                f"{unknown} of {stderr.size} standard errors are infinite, since too few samples "
                "are seen to tell them, so there is nothing to draw from: pass a smaller rank, or "
                "sigma if it is known"
            )
        return self.draw(n, rng)

    def plot(self, ax: Any = None, *, interactive: bool = False) -> Any:
        """Draw the recovered signal over its samples, with gaps, outliers and 95% bands.

        The band of the signal is dark, that of new samples light; a complex signal has no light
        one. A series has one panel per channel; a complex one has its real part and its modulus
        side by side. A signal with two axes is shown as images: samples, recovered signal, standard
        errors. A signal with more axes is shown by the middle slice of the last two. Bands of
        complex signals are those of circular noise. At most twelve channels are drawn.

        Parameters
        ----------
        ax : Axes, sequence of Axes or Figure, optional
            Default: a new figure of pyplot.
        interactive : bool
            Return a figure of Plotly that can be zoomed; it needs the extra `interactive`.

        Returns
        -------
        Axes, list of Axes, or a figure of Plotly
        """
        if interactive:
            return interactive_figure(self.plot, ax)
        samples, signal, stderr, lower, upper = (
            to_numpy(unwrap(part, self.channels).values)
            for part in (self.samples, self.signal, self.stderr, self.lower, self.upper)
        )
        return plot_signal(
            samples,
            signal,
            stderr,
            lower=lower,
            upper=upper,
            level=self.level,
            outliers=self.outliers,
            channels=self.channels,
            labels=labels_of(self.samples, self.channels, self.sampling),
            ax=ax,
        )

    def _values(self) -> tuple[str, Any]:
        return "signal", self.signal

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
            *what_was_done(self.samples),
            ("signal", f"{shape}, {seen} values seen"),
            ("rank", str(self.rank)),
            *channel_rows(self.groups, self.samples, self.channels),
            ("noise", noise_text(self.sigma, "sigma", self.noise)),
            ("estimate", self.candidate.label),
            *([] if self.regression is None else [("regressors", self.regression.text())]),
        ]
        if np.any(self.clipped):
            rows.append(("clipped", f"{np.count_nonzero(self.clipped)} values"))
        if np.any(self.left):
            rows.append(("left missing", f"{np.count_nonzero(self.left)} values in long gaps"))
        if self.status is Status.MAX_TIME:
            rows.append(("search", self.status.value))
        solved = "result" in vars(self)
        loaded = isinstance(self.solve, NotSaved)
        if not solved and (loaded or self.kind != ConvexSolution.name):  # only to print: too dear
            return rows
        return [
            *rows,
            ("mu", f"{self.result.problem.mu:.4g}"),
            ("outcome", f"convex solution: {self.result.outcome}"),
        ]
