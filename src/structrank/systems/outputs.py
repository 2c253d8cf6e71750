"""Stochastic realisation: a state-space model from the outputs of a system driven by noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._array import Array, NDArray, like, to_numpy
from .._checks import finite_or_missing, positive, positive_int
from ..io.containers import unwrap
from ..model.effective_rank import effective_rank
from ..solvers.conditional_gradient import gcgls_states
from ..solvers.driver import iterate, warn_if_limited
from ..solvers.result import Result
from ..solvers.stopping import Stop
from .covariances import empirical_covariances, realization_problem, sampling_noise_mu
from .realization import realize
from .state_space import StateSpace


@dataclass(frozen=True)
class OutputRealization:
    """Sizes and tolerances of `realize_outputs`.

    Attributes
    ----------
    lags : int
        Lags of the covariances that are used, if the caller does not say. Set by hand: a mode with
        a pole of 0.9 has decayed to an eighth after 20 steps.
    rows : int
        Block rows of the Hankel matrix at most. They bound the order, 10 per output. Set by
        hand.
    halvings : int
        How often mu is halved, at most, to reach an order that the caller asks for. Set by hand:
        down to a millionth of the first mu.
    gap : float
        Certified gap at which the convex problem counts as solved. Set by hand.
    max_iter : int
        Iteration limit of each solve. The default of `Stop`, as in the paper.
    """

    lags: int = 20
    rows: int = 10
    halvings: int = 20
    gap: float = 1e-3
    max_iter: int = 100


def realize_outputs(
    outputs: Any,
    order: int | None = None,
    *,
    lags: int | None = None,
    mu: float | None = None,
    search: OutputRealization = OutputRealization(),
) -> StateSpace:
    """Find the system that turns white noise into given outputs, and its order.

    The mean of each output is subtracted and each output is scaled to variance one. A convex
    problem (`realization_problem`) finds covariances near the estimated ones whose block-Hankel
    matrix has low rank. Its mu is so large that sampling noise alone gives zero
    (`sampling_noise_mu`). The rank is the order, and `realize` gives the system, with as much white
    noise as its spectrum needs to be positive.

    Parameters
    ----------
    outputs : array, pandas Series or DataFrame, or xarray DataArray, shape (T, n) or (T,)
        One row per time step, real or complex, NaN where missing. Thousands of rows are needed.
    order : int, optional
        Number of states, if known: at most 10 per output, fewer for less than 11 lags. Default:
        the rank found, or the largest order below it with a stable system.
    lags : int, optional
        Number of lags of the covariances that are used, at least 2 and less than T. Use as many as
        the memory of the system is long. Default 20.
    mu : float, optional
        Weight of the nuclear norm, for outputs of variance one. Default: found from the outputs. If
        an order is given, mu is halved until the solution has that many states.
    search : OutputRealization, optional
        Sizes and tolerances.

    Returns
    -------
    StateSpace
        In the units of the outputs, less their means. `to_scipy` and `to_control` convert it for
        other libraries.

    Examples
    --------
    >>> from structrank import random_system, realize_outputs
    >>> system = random_system(3, order=2, normalization="spectral", spectral_radius=0.9)
    >>> model = realize_outputs(system.simulate(steps=20000))
    >>> model.order, round(float(abs(model.poles[0])), 1)
    (2, 0.9)
    """
    order = None if order is None else positive_int(order, "order")
    mu = None if mu is None else positive(mu, "mu")
    lags = positive_int(search.lags if lags is None else lags, "lags")
    if lags < 2:
        raise ValueError(f"lags is {lags}, but 2 or more are expected")
    search = replace(search, lags=lags, rows=min(search.rows, lags))
    z = unwrap(outputs, 1 if np.ndim(outputs) == 2 else None).values
    z, sizes = _standardised(z[:, None] if z.ndim == 1 else z)
    _check_order(order, search, z.shape[1])
    covariances = to_numpy(empirical_covariances(z, lags))  # small beside a long record
    mu = sampling_noise_mu(z, search.rows, lags) if mu is None else mu
    result = _solution(covariances, order, mu, search)
    model = _in_units(_realized(covariances, result, order), sizes)
    warn_if_limited(result, "realize_outputs")
    return model


def _standardised(z: Array) -> tuple[Array, NDArray]:
    """Outputs of mean zero and variance one, and their original standard deviations."""
    host = to_numpy(z)
    if host.ndim != 2 or 0 in host.shape:
        raise ValueError(
            f"outputs have shape {host.shape}, but a series, or (T, n), one row per time step, is "
            "expected"
        )
    finite_or_missing(host, "outputs")
    counts = np.count_nonzero(~np.isnan(host), axis=0)
    if np.min(counts) < 2:
        raise ValueError(
            f"output {int(np.argmin(counts))} has {np.min(counts)} samples, but thousands are "
            "needed: remove it"
        )
    largest = np.nanmax(np.abs(host), axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    deviations = np.nanstd(host / unit, axis=0)
    constant = deviations <= 10 * np.finfo(host.dtype).eps
    if np.any(constant):
        raise ValueError(
            f"output {int(np.argmax(constant))} is constant, but outputs that vary are expected: "
            "remove it"
        )
    means = np.nanmean(host / unit, axis=0)
    z = z / like(unit, z, real=True) - like(means, z)
    return z / like(deviations, z, real=True), unit * deviations


def _check_order(order: int | None, search: OutputRealization, n: int) -> None:
    """Raise an error, before any work, if the matrix of the covariances cannot have this rank."""
    rows, lags = search.rows, search.lags
    most = n * min(rows, (rows + lags - 1) // 2)  # in the matrix here, and in that of `realize`
    if order is not None and order > most:
        longer = " or use more lags" if lags <= rows else ""
        raise ValueError(
            f"order is {order}, but {lags} lags of {n} outputs determine at most {most}: lower the "
            f"order{longer}"
        )


def _solution(
    covariances: NDArray, order: int | None, mu: float, search: OutputRealization
) -> Result:
    """Solution of the convex problem; mu is halved until it has enough states."""
    stop = Stop(search.max_iter, xtol=None, rtol=None, gap=search.gap)
    for _ in range(search.halvings):
        problem = realization_problem(covariances, search.rows, search.lags, mu)
        result = iterate(gcgls_states(problem, 1.0, stop=stop, certify=False), problem, stop=stop)
        if order is None or effective_rank(result.X, mu) >= order:
            break
        mu /= 2
    return result


def _realized(covariances: NDArray, result: Result, order: int | None) -> StateSpace:
    """The system of standardised outputs; without an order, of the largest that is stable."""
    found = effective_rank(result.X, result.problem.mu)
    if not found:
        smaller = "a smaller mu" if order is not None else "an order or a smaller mu"
        raise ValueError(
            "these outputs cannot be distinguished from sampling noise: use more samples, or pass "
            f"{smaller}"
        )
    recovered = np.concatenate([covariances[:1], result.y])
    for tried in range(found, 0, -1) if order is None else [order]:
        try:
            return realize(recovered, tried, noise_floor="auto")
        except ValueError as error:
            refused = error
    raise refused


def _in_units(model: StateSpace, sizes: NDArray) -> StateSpace:
    """The model of outputs that were divided by `sizes`, for the outputs themselves."""
    with np.errstate(over="ignore", under="ignore"):
        G = model.innovation_covariance * np.outer(sizes, sizes)
    if not np.all(np.isfinite(G)) or np.any(np.diag(G).real < np.finfo(float).tiny):
        raise ValueError(
            f"the outputs have standard deviations from {np.min(sizes):.3g} to "
            f"{np.max(sizes):.3g}, whose squares leave the range of numbers: use other units"
        )
    C, K = model.C * sizes[:, None], model.K / sizes
    return StateSpace(model.A, None, C, None, K=K, innovation_covariance=G)
