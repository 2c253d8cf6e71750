"""Covariances of the outputs of a system, and the paper's problem for them."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import device
from scipy.linalg import hadamard

from .._array import Array, array_namespace, as_array, conj, like, real_dtype, to_numpy
from .._checks import finite_or_missing, floating_array, not_negative_int, positive, positive_int
from ..model.largest_mu import mu_max
from ..model.measure import Mask, Weighted
from ..model.problem import Problem
from ..model.sample_range import SampleRange
from ..structures import Hankel


def empirical_covariances(outputs: Array, lags: int) -> Array:
    """Covariances of a record of outputs, `v_i = 1/T sum_{t=1}^{T-i} z_{t+i} z_t^H`.

    The outputs are assumed to have mean zero: subtract the mean first. If some outputs are missing,
    only the products whose two factors are both seen enter the mean.

    Parameters
    ----------
    outputs : array, shape (T, n)
        One row per time step; real or complex, of any array library, NaN where missing.
    lags : int
        The largest i, below T.

    Returns
    -------
    array, shape (lags + 1, n, n)
        Lag 0 first.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import empirical_covariances
    >>> empirical_covariances(np.array([[1.0], [2.0], [4.0]]), lags=1)[:, 0, 0]
    array([7.        , 3.33333333])
    >>> empirical_covariances(np.array([[1.0], [2.0], [np.nan]]), lags=1)[:, 0, 0]
    array([2.5       , 1.33333333])
    """
    z, seen = _checked_outputs(outputs, lags)
    return _lagged_products(z, z, lags, seen)


def realization_problem(
    covariances: Array, rows: int, columns: int, mu: float, *, weights: str | None = None
) -> Problem:
    """State the paper's problem: find covariances whose block-Hankel matrix has low rank.

    The signal is `y_i = v_i` for i from 1 to `rows + columns - 1`. As in the paper, lags 1 to
    `columns` are seen and the `rows - 1` lags after them are not. Lag 0 is not in the matrix.

    Parameters
    ----------
    covariances : array, shape (lags + 1, n, n)
        Lag 0 first, at least `columns` lags after it; further lags are not used.
    rows, columns : int
        Number of blocks in a column and in a row of the matrix, the paper's j and k. The largest
        order that can be found is `n * min(rows, columns)`.
    mu : float
        Weight of the nuclear norm; see `sampling_noise_mu`.
    weights : {None, "lifted"}
        None gives all covariances that are seen the same weight, as the paper does. "lifted"
        weights them by `sqrt(multiplicity)`. Then the first lags count little, and the many late
        lags, which are mostly sampling noise, count much: weak modes are lost.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from structrank import gcgls
    >>> from structrank import random_system, realization_problem
    >>> v = random_system(outputs=2, order=3, spectral_radius=0.9).covariances(20)
    >>> problem = realization_problem(v, rows=5, columns=20, mu=1e-4)
    >>> problem
    Problem(Hankel((24,), window=(5,), block=(2, 2)), 80 of 96 samples seen, mu=0.0001)
    >>> gcgls(problem, lam=1.0).y.shape
    (24, 2, 2)
    """
    v = as_array(covariances)
    lags, n = checked_shape(v)
    rows, columns = positive_int(rows, "rows"), positive_int(columns, "columns")
    if lags < columns:
        raise ValueError(
            f"covariances have {lags} lags after lag 0, but columns={columns} lags are expected: "
            "pass more lags or use fewer columns"
        )
    if weights is not None and str(weights) != "lifted":
        raise ValueError(f"weights is {weights!r}, but None or 'lifted' is expected")
    xp = array_namespace(v)
    unseen = xp.zeros((rows - 1, n, n), dtype=v.dtype, device=device(v))
    seen = np.zeros((rows + columns - 1, n, n), dtype=bool)
    seen[:columns] = True
    return Problem(
        Hankel((rows + columns - 1,), window=rows, block=(n, n)),
        xp.concat([v[1 : columns + 1, :, :], unseen]),
        mu,
        Mask(seen) if weights is None else Weighted("lifted", seen),
    )


def sampling_noise_mu(
    outputs: Array,
    rows: int,
    columns: int,
    *,
    weights: str | None = None,
    pieces: int = 8,
    safety: float = 1.05,
) -> float:
    """Choose a mu for `realization_problem` at which sampling noise alone gives zero.

    A covariance is a sum of products over time. If half of them get a minus sign, their expected
    values cancel and the sampling error remains. The covariance of that error does not change, as
    long as the sign changes rarely compared with the memory of the process. The signs are Walsh
    functions on `pieces` pieces of the record with the same number of samples each. This gives
    `pieces - 1` uncorrelated realisations of the error. Each takes the place of the data and has a
    `mu_max`. The result is `safety` times the largest of them. The true error exceeds all of them
    in about one of `pieces` records.

    Parameters
    ----------
    outputs : array, shape (T, n)
        NaN where missing.
    rows, columns : int
        As in `realization_problem`.
    weights : {None, "lifted"}
        As in `realization_problem`.
    pieces : int
        Number of pieces: a power of two, at least 2. A piece should be much longer than the memory
        of the process.
    safety : float
        Factor on the largest `mu_max`, set by hand: a margin for errors beyond the few
        realisations.

    Returns
    -------
    float

    Examples
    --------
    >>> from structrank import gcgls
    >>> from structrank import (
    ...     empirical_covariances, random_system, realization_problem, sampling_noise_mu
    ... )
    >>> system = random_system(3, order=2, normalization="spectral", spectral_radius=0.9)
    >>> z = system.simulate(steps=20000)
    >>> mu = sampling_noise_mu(z, rows=4, columns=20)
    >>> v = empirical_covariances(z, lags=20)
    >>> gcgls(realization_problem(v, rows=4, columns=20, mu=mu), lam=1.0).rank
    2
    """
    columns = positive_int(columns, "columns")
    z, seen = _checked_outputs(outputs, columns)
    pieces, safety = positive_int(pieces, "pieces"), positive(safety, "safety")
    if pieces < 2 or pieces & (pieces - 1) or pieces > z.shape[0]:
        raise ValueError(
            f"pieces is {pieces}, but a power of two from 2 to {z.shape[0]}, the number of time "
            "steps, is expected"
        )
    known = np.ones(z.shape[0], dtype=int) if seen is None else np.sum(to_numpy(seen), axis=1)
    piece = (np.cumsum(known) - known) * pieces // np.sum(known)
    piece = np.minimum(piece, pieces - 1)  # also the rows after the last sample
    errors = (
        _lagged_products(z, like(signs[piece].astype(float), z)[:, None] * z, columns, seen)
        for signs in hadamard(pieces)[1:]
    )
    return safety * max(
        mu_max(realization_problem(error, rows, columns, 1.0, weights=weights)) for error in errors
    )


def _lagged_products(later: Array, earlier: Array, lags: int, seen: Array | None) -> Array:
    """`1/T sum_t later_{t+i} earlier_t^H` for i from 0 to `lags`, over the products that are seen.

    Missing samples must be zero in both arrays.
    """
    xp, T = array_namespace(later), later.shape[0]

    def products(later: Array, earlier: Array) -> Array:
        return xp.stack(
            [xp.matmul(later[i:, :].T, conj(earlier[: T - i, :])) / T for i in range(lags + 1)]
        )

    if seen is None:
        return products(later, earlier)
    ones = xp.astype(seen, real_dtype(later))
    shares = products(ones, ones)  # share of the T products that is seen, per lag and pair
    if not bool(xp.all(shares > 0)):
        i, a, b = np.argwhere(to_numpy(shares) == 0)[0]
        if a == b:
            when = f"has no two samples {i} steps apart: use fewer lags, or" if i else "is all NaN:"
            raise ValueError(f"output {a} {when} remove it")
        raise ValueError(
            f"outputs {a} and {b} have no samples {i} steps apart, so their covariance is unknown: "
            "remove one of them, or use fewer lags"
        )
    whole = like((T - np.arange(lags + 1.0)) / T, later, real=True)
    return products(later, earlier) * (whole[:, None, None] / shares)


def _checked_outputs(outputs: Any, lags: int) -> tuple[Array, Array | None]:
    """Outputs with zeros where missing, and which are seen, or None if all are."""
    z, lags = as_array(outputs), not_negative_int(lags, "lags")
    if z.ndim != 2 or 0 in z.shape:
        raise ValueError(
            f"outputs have shape {tuple(z.shape)}, but (T, n) is expected, one row per time step: "
            "pass outputs[:, None] for a single series"
        )
    floating_array(z, "outputs")
    xp = array_namespace(z)
    seen = ~xp.isnan(z)
    finite_or_missing(z, "outputs")
    SampleRange().check(z)
    if lags >= z.shape[0]:
        raise ValueError(
            f"{lags} lags need more than {lags} time steps, but there are {z.shape[0]}: use fewer "
            "lags or more samples"
        )
    if bool(xp.all(seen)):
        return z, None
    return xp.where(seen, z, xp.zeros_like(z)), seen


def checked_shape(covariances: Array) -> tuple[int, int]:
    """Number of lags after lag 0, and number of outputs."""
    shape = tuple(covariances.shape)
    if len(shape) != 3 or shape[1] != shape[2] or shape[0] < 2 or shape[1] < 1:
        raise ValueError(
            f"covariances have shape {shape}, but (lags + 1, n, n) with at least one lag after "
            "lag 0 is expected"
        )
    return shape[0] - 1, shape[1]
