"""Stochastic realisation: a state-space model from the outputs of a system driven by noise."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._array import Array, NDArray, to_numpy
from .._checks import positive, positive_int
from ..io.containers import unwrap
from ..model.effective_rank import effective_rank
from ..model.lowrank import LowRank
from ..solvers.conditional_gradient import gcgls_states
from ..solvers.driver import iterate, warn_if_limited
from ..solvers.result import Result
from ..solvers.stopping import Stop
from .covariances import empirical_covariances, realization_problem, sampling_noise_mu
from .output_model import OutputModel
from .output_orders import (
    LikelihoodRules,
    OrderFit,
    best_order,
    cascade,
    finished,
    fitted_order,
    realizations,
)
from .output_records import check_independent, check_order, in_units, standardised
from .realization import realize
from .records import step_of
from .state_space import StateSpace


@dataclass(frozen=True)
class OutputRealization:
    """Sizes and tolerances of `realize_outputs`.

    Attributes
    ----------
    lags : int
        Lags of the covariances that are used, at least, if the caller does not say. Set by hand: a
        mode with a pole of 0.9 has decayed to an eighth after 20 steps.
    memory : float
        More lags are used until the covariances stay below this share of lag 0. Set by hand: enough
        to tell how fast they decay.
    widest : int
        Lags times outputs, at most, unless `lags` of them are more. Set by hand: the convex problem
        then takes about a second.
    rows : int
        Block rows of the Hankel matrix, or half of the lags if that is more. They bound the order.
        Set by hand.
    halvings : int
        How often mu is halved, at most, to reach an order that the caller asks for. Set by hand:
        down to a millionth of the first mu.
    gap : float
        Certified gap at which the convex problem counts as solved. Set by hand.
    max_iter : int
        Iteration limit of each solve. The default of `Stop`, as in the paper.
    few : int
        With fewer rows and without a given order, the error bars of frequencies are computed, which
        takes about as long as the fit, and a warning says which are too large. Set by hand.
    dependent : float
        Outputs are linearly dependent if a weighted sum of them is below this share of the largest.
        Set by hand: well below noise, and above rounding in single precision.
    likelihood : LikelihoodRules
        How systems are fitted and their orders compared.
    """

    lags: int = 20
    memory: float = 0.25
    widest: int = 240
    rows: int = 10
    halvings: int = 20
    gap: float = 1e-3
    max_iter: int = 100
    few: int = 1000
    dependent: float = 1e-6
    likelihood: LikelihoodRules = field(default_factory=LikelihoodRules)


def realize_outputs(
    outputs: Any,
    order: int | None = None,
    *,
    lags: int | None = None,
    mu: float | None = None,
    dt: float | None = None,
    method: str = "likelihood",
    search: OutputRealization = OutputRealization(),
) -> OutputModel:
    """Find the system that turns white noise into given outputs, its order and its modes.

    The mean of each output is subtracted and each output is scaled to variance one. A convex
    problem (`realization_problem`) finds covariances near the estimated ones whose block-Hankel
    matrix has low rank. Its mu is so large that sampling noise alone gives zero
    (`sampling_noise_mu`). Its rank is the first order that is tried. The convex problem shrinks the
    covariances, which makes modes look more damped than they are. So `realize` starts from the
    estimated covariances at that order, and maximum likelihood follows. It knows about gaps. Orders
    around the first one are compared by the Bayesian information criterion.

    Parameters
    ----------
    outputs : array, pandas Series or DataFrame, or xarray DataArray, shape (T, n) or (T,)
        One row per time step, real or complex, NaN where missing. Thousands of rows are needed.
    order : int, optional
        Number of states, if known: a vibration mode is two. At most half the number of samples per
        output.
    lags : int, optional
        Number of lags of the covariances that are used, at least 2 and less than T. Default: until
        the covariances have decayed to a quarter, at least 20, and about 240 over the number of
        outputs at most.
    mu : float, optional
        Weight of the nuclear norm, for outputs of variance one. Default: found from the outputs. If
        an order is given, mu is halved until the solution has that many states.
    dt : float, optional
        Time between samples in seconds: frequencies are in Hz then. Default: that of an index of
        times.
    method : {"likelihood", "covariances"}
        "covariances" is the paper's route: the system is realised from the covariances of the
        convex solution, and no likelihood is computed. Its order is the rank, or the largest order
        below it with a stable system.
    search : OutputRealization, optional
        Sizes and tolerances.

    Returns
    -------
    OutputModel
        A `StateSpace` in the units of the outputs, whose `output_offset` is their mean. `modes` has
        natural frequencies, damping ratios and mode shapes with error bars, and
        `plot_stabilization` draws order against frequency.

    Examples
    --------
    >>> from structrank import random_system, realize_outputs
    >>> system = random_system(3, order=2, normalization="spectral", spectral_radius=0.9)
    >>> model = realize_outputs(system.simulate(steps=5000))
    >>> model.order, round(float(abs(model.poles[0])), 1)
    (2, 0.9)
    """
    order = None if order is None else positive_int(order, "order")
    mu = None if mu is None else positive(mu, "mu")
    dt = step_of(outputs, dt=dt)
    if method not in ("likelihood", "covariances"):
        raise ValueError(f"method is {method!r}, but 'likelihood' or 'covariances' is expected")
    if lags is not None and positive_int(lags, "lags") < 2:
        raise ValueError(f"lags is {lags}, but 2 or more are expected")
    z = unwrap(outputs, 1 if np.ndim(outputs) == 2 else None).values
    z, means, sizes = standardised(z[:, None] if z.ndim == 1 else z)
    check_independent(to_numpy(z), search.dependent)
    if lags is None:
        lags = _lags_of(z, order, search)
    search = replace(search, lags=lags, rows=max(min(search.rows, lags), lags // 2))
    check_order(order, search.rows, lags, z)
    covariances = to_numpy(empirical_covariances(z, lags))  # small beside a long record
    mu = sampling_noise_mu(z, search.rows, lags) if mu is None else mu
    result = _solution(covariances, order, mu, search)
    fits: tuple[OrderFit, ...] = ()
    if method == "covariances":
        model = _realized(covariances, result, order)
    else:
        fits = _fits(to_numpy(z), covariances, result, order, search)
        model = fits[0].likelihood.system(fits[0].theta)
    warn_if_limited(result, "realize_outputs")
    found = OutputModel(
        **in_units(model, means, sizes), dt=dt, fits=fits, output_covariances=covariances
    )
    if order is None and z.shape[0] < search.few:
        _warn_if_unknown(found)
    return found


def _warn_if_unknown(model: OutputModel) -> None:
    """Warn about modes whose frequency is not known."""
    modes = model.modes
    unknown = np.flatnonzero(modes.frequency_errors > np.abs(modes.frequencies))
    if unknown.size:
        f, error = modes.frequencies[unknown[0]], modes.frequency_errors[unknown[0]]
        warnings.warn(
            f"the standard error of the frequency {f:.3g} is {error:.3g}: there are too few "
            "samples to determine this mode; use thousands",
            stacklevel=3,
        )


def _lags_of(z: Array, order: int | None, search: OutputRealization) -> int:
    """Lags until the covariances have decayed, within bounds, and enough for the order."""
    T, n = z.shape
    needed = 0 if order is None else 2 * (order // n + 1)
    least = max(search.lags, needed)
    most = max(least, min(search.widest // n, T // 10))
    if most >= T:
        return least
    sizes = np.linalg.norm(to_numpy(empirical_covariances(z, most)), axis=(1, 2))
    above = np.flatnonzero(sizes > search.memory * sizes[0])
    return int(np.clip(above[-1], least, most))


def _fits(
    z: NDArray,
    covariances: NDArray,
    result: Result,
    order: int | None,
    search: OutputRealization,
) -> tuple[OrderFit, ...]:
    """Most likely systems of several orders, the best first; its fit is complete."""
    z = z.astype(np.result_type(z.dtype, float))
    rules, n = search.likelihood, z.shape[1]
    seen, rank = np.count_nonzero(~np.isnan(z)), _rank(result, order)
    longer = np.concatenate([covariances[:1], result.y])  # shrunk, but they determine higher orders

    def fit(tried: int, lower: OrderFit | None = None) -> OrderFit | None:
        if 2 * n * tried * rules.samples > seen and order is None:
            return None
        starts = realizations(covariances, tried, rules.decays)
        starts = starts or realizations(longer, tried, rules.decays)
        if lower is not None:
            starts += cascade(lower, tried, search.lags, rules.decays)
        return fitted_order(z, starts, rules.compare) if starts else None

    most = n * min((len(covariances) - 1) // 2, search.rows)
    step = 1 if np.iscomplexobj(z) else 2
    fits: tuple[OrderFit, ...]
    if order is None:
        fits = best_order(rank, most, step, fit)
    else:  # a fit with fewer states often leads to a better one than covariances do
        fits = tuple(filter(None, [fit(order, fit(order - step) if order > step else None)]))
    if not fits:
        raise ValueError(
            f"no system of order {order or rank} with a spectral radius below 1 is found for these "
            "outputs: use a lower order or more samples"
        )
    return finished(fits, rules.finish)


def _solution(
    covariances: NDArray, order: int | None, mu: float, search: OutputRealization
) -> Result:
    """Solution of the convex problem; mu is halved until it has enough states.

    Each solve starts from the solution for twice its mu: a small mu takes long from a cold start.
    """
    stop = Stop(search.max_iter, xtol=None, rtol=None, gap=search.gap)
    start: LowRank | None = None
    for _ in range(search.halvings):
        problem = realization_problem(covariances, search.rows, search.lags, mu)
        states = gcgls_states(problem, 1.0, start=start, stop=stop, certify=False)
        result = iterate(states, problem, stop=stop)
        if order is None or effective_rank(result.X, mu) >= order:
            break
        mu, start = mu / 2, result.X
    return result


def _rank(result: Result, order: int | None) -> int:
    """Rank of the convex solution, at least one."""
    found = effective_rank(result.X, result.problem.mu)
    if not found:
        smaller = "a smaller mu" if order is not None else "an order or a smaller mu"
        raise ValueError(
            "these outputs cannot be distinguished from sampling noise: use more samples, or pass "
            f"{smaller}"
        )
    return found


def _realized(covariances: NDArray, result: Result, order: int | None) -> StateSpace:
    """The system of standardised outputs; without an order, of the largest that is stable."""
    found = _rank(result, order)
    recovered = np.concatenate([covariances[:1], result.y])
    for tried in range(found, 0, -1) if order is None else [order]:
        try:
            return realize(recovered, tried, noise_floor="auto")
        except ValueError as error:
            refused = error
    raise refused
