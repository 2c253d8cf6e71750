"""A signal with gaps and noise in, the signal out: one call, nothing to choose."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._array import Array, like, to_numpy
from ..measure import Weighted
from ..modes import Modes, NoModes
from ..path import natural_lam, solve_at
from ..problem import Problem, positive
from ..refit import Refit, refit
from ..run import ConvergenceWarning, Result
from ..selection import Selection, choose_rank, select_mu
from ..structures import Hankel
from ..structures.base import positive_int
from .containers import unwrap
from .outliers import find_outliers

FEWEST = 4  # samples, of which anything can be said
HELD_OUT = 5  # one in about this many samples is left out
ENOUGH, MOST_PARTS = 150, 3  # samples left out in all, in at most so many parts
GAP, MAX_ITER = 1e-3, 50  # of the solutions looked at
CLEARLY = 0.9  # better, in the squared error
FACTOR = 0.5  # from one mu to the next
SMALLEST_GAIN = 0.05  # in the squared error, for which to go on


@dataclass(frozen=True, eq=False, repr=False)
class Recovery:
    """A recovered signal, and how it was found.

    Attributes
    ----------
    signal : array, Series, DataFrame or DataArray
        Gaps filled and noise removed; of the kind of the samples.
    stderr : the same kind
        Standard error of every value.
    rank : int
    modes : Modes or None
        The (damped) sinusoids the signal is the sum of, with standard errors.
    sigma : float or None
        Standard deviation of the noise in the samples.
    kind : {"refit", "convex"}
        Which estimate predicted samples that were left out better: the fit of a few modes, or the
        convex solution, whose standard error is then that of these predictions.
    outliers : ndarray of bool
        Samples that were taken for gross errors; none unless asked for.
    result : Result
        The solver's: status, certificate, history.
    selection : Selection or None
        How mu and the rank were chosen; None if mu was given.
    samples : array, Series, DataFrame or DataArray
        What was given.
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
    samples: Any

    def plot(self, ax: Any = None) -> Any:
        """Draw it: see `structrank.plotting.plot_signal`."""
        from ..plotting import plot_signal

        return plot_signal(self, ax)

    def _rows(self) -> list[tuple[str, str]]:
        shape = " x ".join(map(str, np.shape(self.signal)))
        seen = int(np.count_nonzero(self.result.problem.measure.weights))
        how = {"refit": "fit of the modes", "convex": "convex solution"}[self.kind]
        return [
            ("signal", f"{shape}, {seen} values seen"),
            ("rank", str(self.rank)),
            ("noise", "unknown" if self.sigma is None else f"{self.sigma:.4g} (sigma)"),
            ("estimate", how),
            ("mu", f"{self.result.problem.mu:.4g}"),
            ("certified gap", f"{self.result.gap:.2g} of the objective"),
            ("status", self.result.status.name),
        ]

    def __repr__(self) -> str:
        return "Recovery\n" + "\n".join(f"  {name:<14}{text}" for name, text in self._rows())


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
    seed: int = 0,
    progress: bool = False,
) -> Recovery:
    """Fill the gaps and remove the noise of a signal.

    The signal is taken to be a sum of a few (damped) sinusoids, exponentials and slow trends:
    its Hankel matrix has low rank. mu, the rank and the noise level come from the data
    (`select_mu`). Then the fit of the modes (`refit`) and the convex solution have to
    predict samples that were left out, in gaps like those of the data, and the better one is
    returned.

    Parameters
    ----------
    samples : array, pandas Series or DataFrame, or xarray DataArray
        The signal in any number of dimensions, real or complex, NaN where missing.
    window : int or tuple of int, optional
        Rows of the Hankel matrix along each axis. Default: half of each axis.
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
    seed : int
        Of the noise drawn to find mu, and of the samples left out.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Recovery

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.applications import recover
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
    given = unwrap(samples)
    axis = given.channels if channels is None else _axis(channels, given.values.ndim)
    problem = hankel_problem(given.values, window, axis)
    outliers = np.zeros(problem.structure.signal_shape, dtype=bool)
    if robust:
        outliers = find_outliers(problem, seed=seed)
        problem = without(problem, outliers)
    found = _Found(problem, rank=rank, sigma=sigma, undamped=undamped, seed=seed)
    found.choose(mu, progress)
    chosen = found.better() if kind == "auto" else kind
    signal, stderr = found.estimate(chosen)

    def back(values: Array) -> Any:
        return given.wrap(from_channels(values, axis))

    return Recovery(
        back(signal),
        back(stderr),
        found.fit.rank if chosen == "refit" else found.result.rank,
        found.fit.modes,
        found.fit.sigma,
        chosen,
        from_channels(outliers, axis),
        found.result,
        found.selection,
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
        Default: half of each axis, the channels aside.
    channels : int, optional
        The axis that holds channels.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.applications.recovery import hankel_problem
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
    if np.count_nonzero(seen) < FEWEST or max(lengths) < 3:
        raise ValueError(
            f"{np.count_nonzero(seen)} values are seen of a signal {host.shape}, but at least "
            f"{FEWEST}, and 3 along an axis, are expected"
        )
    if window is None:
        window = tuple((length + 1) // 2 for length in lengths)
    block = None if channels is None else (host.shape[-2], 1)
    structure = Hankel(lengths, window, block)
    return Problem(structure, values, 1.0, Weighted("lifted", seen))


def from_channels(values: Array, channels: int | None) -> Array:
    """A signal of the structure's shape in the shape that was given."""
    if channels is None:
        return values
    return np.moveaxis(to_numpy(values)[..., 0], -1, channels)


class _Found:
    """What is found about one problem: solution, refit, and which of them predicts better."""

    def __init__(
        self, problem: Problem, *, rank: int | None, sigma: float | None, undamped: bool, seed: int
    ) -> None:
        self.problem = problem
        self.rank = None if rank is None else positive_int(rank, "rank")
        self.sigma = None if sigma is None else positive(sigma, "sigma")
        self.undamped, self.rng, self.seed = undamped, np.random.default_rng(seed), seed
        self.lam = natural_lam(problem)
        self.selection: Selection | None = None
        self.held_out_error = np.nan

    def choose(self, mu: float | None, progress: bool) -> None:
        """The solution and the refit, for a mu that is given or chosen."""
        if mu is None:
            self.selection = select_mu(
                self.problem, sigma=self.sigma, seed=self.seed, progress=progress
            )
            self.result, self.fit = self.selection.result, self.selection.refit
        else:
            self.result = self._solve(self.problem, positive(mu, "mu"), None)
            self.fit = choose_rank(self.result, self.sigma)
        if self.rank is not None:
            while self.result.rank < self.rank:
                self.result = self._solve(
                    self.problem, FACTOR * self.result.problem.mu, self.result
                )
        if self.rank is not None or self.undamped:
            self.fit = self._refit(self.result, self.rank or self.fit.rank)

    def better(self) -> str:
        """Which estimate predicts samples that are left out better; finds the convex one's mu."""
        parts = [left_out(self.problem, self.rng)]
        count = int(np.count_nonzero(parts[0]))
        for _ in range(min(ENOUGH // max(count, 1), MOST_PARTS - 1)):
            parts.append(left_out(self.problem, self.rng))
        training = [without(self.problem, part) for part in parts]
        mu = self.result.problem.mu
        results = [self._solve(problem, mu, self.result) for problem in training]
        convex = self._error(parts, [result.y for result in results])
        refitted = self._error(parts, [self._refit_or_nothing(result) for result in results])
        if refitted <= CLEARLY * convex:
            return "refit"
        while results[0].rank < np.count_nonzero(self.problem.measure.weights) // 4:
            results = [
                self._solve(problem, FACTOR * mu, result)
                for problem, result in zip(training, results, strict=True)
            ]
            error = self._error(parts, [result.y for result in results])
            if error > (1 - SMALLEST_GAIN) * convex:
                break
            mu, convex = FACTOR * mu, error
        if refitted <= convex:
            return "refit"
        self.held_out_error = float(np.sqrt(convex))
        self.result = self._solve(self.problem, mu, self.result)
        return "convex"

    def estimate(self, kind: str) -> tuple[Array, Array]:
        """The signal and its standard errors."""
        if kind == "refit":
            errors = self.fit.stderr if self.fit.sigma is not None else np.inf * abs(self.fit.y)
            return self.fit.y, errors
        return self.result.y, 0 * abs(self.result.y) + self.held_out_error

    def _solve(self, problem: Problem, mu: float, start: Result | None) -> Result:
        X = None if start is None else start.X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return solve_at(problem, mu, X, lam=self.lam, gap=GAP, max_iter=MAX_ITER)

    def _refit(self, result: Result, rank: int) -> Refit:
        return refit(result, rank, sigma=self.sigma, undamped=self.undamped)

    def _refit_or_nothing(self, result: Result) -> Array:
        """The refit of the rank chosen, as far as there is one."""
        rank = min(self.fit.rank, result.rank)
        try:
            return self._refit(result, rank).y if rank else 0 * result.y
        except NoModes:
            return 0 * result.y

    def _error(self, parts: list[np.ndarray], signals: list[Array]) -> float:
        """Mean square of the errors over parts of the samples, each with a signal of its own."""
        errors = [
            np.abs(to_numpy(y - self.problem.b))[part] ** 2
            for part, y in zip(parts, signals, strict=True)
        ]
        return float(np.mean(np.concatenate(errors)))


def without(problem: Problem, part: np.ndarray) -> Problem:
    """The problem with some samples left out."""
    weights = problem.measure.weights * like(~part * 1.0, problem.b, real=True)
    return replace(problem, measure=Weighted(weights))


def left_out(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """A part of the samples, in gaps like those of the data: the missing ones, moved."""
    seen = to_numpy(problem.measure.weights) > 0
    structure: Any = problem.structure
    axes = tuple(range(len(structure.lengths)))
    shift = [int(rng.integers(seen.shape[axis])) for axis in axes]
    part = seen & np.roll(~seen, shift, axes)
    share = np.count_nonzero(part) / np.count_nonzero(seen)
    if share < 1 / (4 * HELD_OUT):
        return seen & (rng.random(seen.shape) < 1 / HELD_OUT)
    if share > 1 / 3:
        part &= rng.random(seen.shape) < 1 / HELD_OUT / share
    return part


def _axis(channels: int, ndim: int) -> int:
    if not -ndim <= channels < ndim or ndim < 2:
        raise ValueError(
            f"channels is {channels}, but the samples have {ndim} axes: expected one of them, "
            "beside at least one more"
        )
    return channels % ndim
