"""Stochastic realisation: a state-space model from the outputs of a system driven by noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import Array, like, to_numpy
from .._checks import positive, positive_int
from ..io.containers import unwrap
from ..model.effective_rank import effective_rank
from ..solvers import gcgls
from ..solvers.driver import Stop, uninterrupted
from .covariances import empirical_covariances, realization_problem, sampling_noise_mu
from .realization import realize
from .state_space import StateSpaceModel

LAGS, ROWS = 20, 10  # of the covariances that are used, and block rows of their matrix at most
HALVINGS = 20  # of mu, to reach an order that was asked for
GAP = 1e-3


def realize_outputs(
    outputs: Any, order: int | None = None, *, lags: int = LAGS, mu: float | None = None
) -> StateSpaceModel:
    """The system that turns white noise into given outputs; its order is found.

    Means are taken off and every output is scaled to variance one. The block-Hankel matrix of the
    covariances is to have low rank (`realization_problem`), at a price at which sampling noise
    alone gives nothing (`sampling_noise_mu`); its rank is the order, and `realize` gives the
    system, with as much white noise as its spectrum needs to be positive.

    Parameters
    ----------
    outputs : array, pandas Series or DataFrame, or xarray DataArray, shape (T, n) or (T,)
        One row a time, real or complex, NaN where missing; thousands of rows are needed.
    order : int, optional
        Number of states, if known: at most 10 an output, fewer for less than 11 lags. Default:
        the rank found, or the largest order below with a stable system.
    lags : int
        Lags of the covariances that are used, at least 2 and less than T. Take as many as the
        system remembers.
    mu : float, optional
        Price of the nuclear norm, for outputs of variance one, if not to be chosen. With an order
        it is where to start: it is halved until so many states stand out.

    Returns
    -------
    StateSpaceModel
        In the units of the outputs, less their means. `to_scipy` and `to_control` give it to other
        libraries.

    Examples
    --------
    >>> from structrank import random_system, realize_outputs
    >>> system = random_system(3, order=2, normalization="spectral", spectral_radius=0.9)
    >>> model = realize_outputs(system.simulate(20000))
    >>> model.order, round(float(abs(model.poles[0])), 1)
    (2, 0.9)
    """
    order = None if order is None else positive_int(order, "order")
    mu = None if mu is None else positive(mu, "mu")
    lags = positive_int(lags, "lags")
    if lags < 2:
        raise ValueError(f"lags is {lags}, but 2 or more are expected")
    z = unwrap(outputs, 1 if np.ndim(outputs) == 2 else None).values
    z, sizes = _standardised(z[:, None] if z.ndim == 1 else z)
    return _in_units(_realized(z, order, lags, mu), sizes)


def _standardised(z: Array) -> tuple[Array, np.ndarray]:
    """Outputs of mean zero and variance one, and what they were divided by."""
    host = to_numpy(z)
    if host.ndim != 2 or 0 in host.shape:
        raise ValueError(
            f"outputs have shape {host.shape}, but a series, or (T, n), one row a time, is expected"
        )
    if np.any(np.isinf(host)):
        raise ValueError("outputs hold inf, but finite numbers, or NaN where missing, are expected")
    counts = np.count_nonzero(~np.isnan(host), axis=0)
    if np.min(counts) < 2:
        raise ValueError(
            f"output {int(np.argmin(counts))} is seen {np.min(counts)} times, but thousands of "
            "times are needed: leave it out"
        )
    largest = np.nanmax(np.abs(host), axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    deviations = np.nanstd(host / unit, axis=0)
    constant = deviations <= 10 * np.finfo(host.dtype).eps
    if np.any(constant):
        raise ValueError(
            f"output {int(np.argmax(constant))} is constant, but outputs that vary are expected: "
            "leave it out"
        )
    means = np.nanmean(host / unit, axis=0)
    z = z / like(unit, z, real=True) - like(means, z)
    return z / like(deviations, z, real=True), unit * deviations


def _realized(z: Array, order: int | None, lags: int, mu: float | None) -> StateSpaceModel:
    """The system of standardised outputs; without an order, of the largest that is stable."""
    rows = min(ROWS, lags)
    _check_order(order, rows, lags, z.shape[1])
    covariances = to_numpy(empirical_covariances(z, lags))  # little is left of a long record
    mu = sampling_noise_mu(z, rows, lags) if mu is None else mu
    for _ in range(HALVINGS):
        problem = realization_problem(covariances, rows, lags, mu)
        result = uninterrupted(gcgls(problem, 1.0, stop=Stop(xtol=None, rtol=None, gap=GAP)))
        found = effective_rank(result.X, mu)
        if order is None or found >= order:
            break
        mu /= 2
    if not found:
        smaller = "a smaller mu" if order is not None else "an order or a smaller mu"
        raise ValueError(
            "nothing stands out of the sampling noise of these outputs: take more samples, or "
            f"pass {smaller}"
        )
    recovered = np.concatenate([covariances[:1], result.y])
    for tried in range(found, 0, -1) if order is None else [order]:
        try:
            return realize(recovered, tried, noise_floor="auto")
        except ValueError as error:
            refused = error
    raise refused


def _check_order(order: int | None, rows: int, lags: int, n: int) -> None:
    """An error, before any work, if the matrix of the covariances cannot have this rank."""
    most = n * min(rows, (rows + lags - 1) // 2)  # of the matrix here, and in `realize`
    if order is not None and order > most:
        longer = " or take more lags" if lags <= ROWS else ""
        raise ValueError(
            f"order is {order}, but {lags} lags of {n} outputs determine at most {most}: lower the "
            f"order{longer}"
        )


def _in_units(model: StateSpaceModel, sizes: np.ndarray) -> StateSpaceModel:
    """The model of outputs that were divided by sizes, for the outputs themselves."""
    with np.errstate(over="ignore", under="ignore"):
        G = model.G * np.outer(sizes, sizes)
    if not np.all(np.isfinite(G)) or np.any(np.diag(G).real < np.finfo(float).tiny):
        raise ValueError(
            f"the outputs have standard deviations from {np.min(sizes):.3g} to "
            f"{np.max(sizes):.3g}, whose squares leave the range of numbers: measure them in "
            "other units"
        )
    return StateSpaceModel(model.D, model.E / sizes, model.F * sizes[:, None], G)
