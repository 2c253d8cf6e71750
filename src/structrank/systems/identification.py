"""A state-space model from records of inputs and outputs, with gaps in both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._array import NDArray
from .._checks import positive, positive_int
from ..solvers.driver import warn_if_limited
from .completion import completed
from .order_search import IdentificationSearch, chosen, with_inputs
from .output_error import OutputError
from .records import paired
from .state_space import StateSpace


def identify(
    inputs: Any,
    outputs: Any,
    order: int | None = None,
    *,
    max_order: int = 10,
    window: int | None = None,
    offset: bool = True,
    max_radius: float | None = None,
    mu: float | None = None,
    completion_window: int | None = None,
    rng: int | np.random.Generator = 0,
    search: IdentificationSearch = IdentificationSearch(),
) -> StateSpace:
    """Find the system of low order that turns the inputs into the outputs.

    1. Gaps are filled. The joint block-Hankel matrix of inputs and outputs has low rank, because
       outputs follow from inputs and a few states. So a convex problem finds the record near what
       is seen whose matrix has a small nuclear norm.
    2. A subspace method (MOESP with past inputs and outputs as instruments) gives a first model.
    3. Least squares on the samples seen brings the simulated outputs as near to them as possible.
       Missing outputs do not count. Missing inputs, up to 2000, are fitted together with the model
       if this explains at least 95% of the remaining errors. Otherwise they stay as step 1 filled
       them.

    Parameters
    ----------
    inputs : array, shape (samples, m) or (samples,)
        NaN where missing.
    outputs : array, shape (samples, p) or (samples,)
        NaN where missing.
    order : int, optional
        Number of states. By default, each order from 1 to `max_order` is fitted to the first two
        thirds of the record and simulated over the rest. Among the orders whose error there is
        within 5% of the least, the one with the least Bayesian information criterion is chosen.
    max_order : int
        Largest order that is tried.
    window : int, optional
        Number of block rows of the subspace method. Default 10 or 15, by the same held-out error.
    offset : bool
        Whether to find an operating point other than zero.
    max_radius : float, optional
        Bound on the absolute values of the poles. Default `exp(-1 / samples)`: modes that last
        longer than the record cannot be distinguished from drift. For a system that integrates,
        pass a number above 1, such as 1.01, and `offset=False`.
    mu : float, optional
        Weight of the nuclear norm in step 1, as a share of the weight above which the solution is
        zero. Default: the value that best predicts a tenth of the samples, held out for this.
    completion_window : int, optional
        Number of block rows in step 1. Default 40, or a third of a short record.
    rng : int or numpy.random.Generator
        Seed for choosing held-out samples.
    search : IdentificationSearch, optional
        Sizes and tolerances.

    Returns
    -------
    StateSpace
        `x0` is its state at the first sample of the record.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import StateSpace, identify
    >>> truth = StateSpace([[0.8, 0.3], [-0.3, 0.8]], [[1], [0]], [[1, 1]], [[0]])
    >>> rng = np.random.default_rng(0)
    >>> u = rng.standard_normal(300)
    >>> y = truth.simulate(u)[:, 0]
    >>> y[rng.random(300) < 0.2] = np.nan
    >>> model = identify(u, y)
    >>> model
    StateSpace(order 2, 1 input, 1 output, spectral radius 0.8544)
    >>> bool(np.allclose(model.impulse_response(50), truth.impulse_response(50), atol=1e-6))
    True
    """
    u, y = paired(inputs, outputs)
    if not isinstance(offset, bool):
        raise TypeError(f"offset is {offset!r}, but True or False is expected")
    radius = np.exp(-1 / len(u)) if max_radius is None else positive(max_radius, "max_radius")
    m, p = u.shape[1], y.shape[1]
    windows = _windows(window, len(u), m, p, search)
    orders = _orders(order, max_order, max(windows), p)
    _check_record(u, y, search)
    z, centre, scale = _normalised(np.concatenate([u, y], axis=1), offset, search)
    full, spread, filled = z, np.zeros(m + p), None
    if np.any(np.isnan(z)):
        filled = completed(z, completion_window, mu, rng, search.filling)
        full, spread = filled.record, filled.errors
    whole = OutputError(full[:, :m], z[:, m:], orders[0], offset, radius)
    best = chosen(whole, full[:, m:], orders, windows, search)
    fitted = replace(whole, order=best.problem.order)
    theta = fitted.minimize(best.theta, search.steps, search.tolerance)
    missing = np.isnan(z[:, :m])
    if 0 < np.count_nonzero(missing) <= search.most_unknown:
        fitted, theta = with_inputs(fitted, theta, missing, spread[:m], search)
    if filled is not None:
        warn_if_limited(filled.result, "identify")
    return _in_units(fitted, theta, centre, scale)


def _in_units(fitted: OutputError, theta: NDArray, centre: NDArray, scale: NDArray) -> StateSpace:
    """The model of the record, from the model of its normalised channels."""
    A, B, C, D, x0, offsets, _ = fitted.split(theta)
    m = B.shape[1]
    in_scale, out_scale = scale[:m], scale[m:]
    return StateSpace(
        A,
        B / in_scale,
        out_scale[:, None] * C,
        out_scale[:, None] * D / in_scale,
        x0=x0,
        input_offset=centre[:m],
        output_offset=centre[m:] + (out_scale * offsets if fitted.offset else 0.0),
    )


def _orders(order: int | None, max_order: int, window: int, p: int) -> list[int]:
    """Orders to try, up to what the outputs in a window determine."""
    if order is None:
        orders = list(range(1, positive_int(max_order, "max_order") + 1))
    else:
        orders = [positive_int(order, "order")]
    most = p * (window - 1)
    possible = [n for n in orders if n <= most]
    if not possible:
        raise ValueError(
            f"order is {order}, but {p} outputs in window={window} block rows determine at most "
            f"{most} states: lower the order, or use a larger window"
        )
    return possible


def _check_record(u: NDArray, y: NDArray, search: IdentificationSearch) -> None:
    """Raise an error if a channel is both input and output, or a part has no outputs."""
    for i, j in np.ndindex(u.shape[1], y.shape[1]):
        if np.array_equal(u[:, i], y[:, j], equal_nan=True) and not np.all(np.isnan(u[:, i])):
            raise ValueError(
                f"input {i} and output {j}, counted from 0, are the same numbers, but a system "
                "between different channels is expected: remove one of them"
            )
    first = int(search.first_part * len(y))
    if np.all(np.isnan(y[:first])) or np.all(np.isnan(y[first:])):
        raise ValueError(
            f"no output is seen in the first {first} samples, or none in the {len(y) - first} "
            "after them, but models are fitted to the first part and compared on the rest: use a "
            "part of the record with outputs at its start and at its end"
        )


def _windows(
    window: int | None, sample_count: int, m: int, p: int, search: IdentificationSearch
) -> list[int]:
    """Block rows of the subspace method for which the record is long enough."""
    most = (sample_count + 1) // (2 * (m + p + 1))  # no more rows than columns
    if window is not None and positive_int(window, "window") > most:
        raise ValueError(
            f"window is {window}, but {sample_count} samples of {m} inputs and {p} outputs are "
            f"enough for at most {most} block rows"
        )
    if most < 2:
        raise ValueError(
            f"there are {sample_count} samples, but {m} inputs and {p} outputs need at least "
            f"{4 * (m + p + 1) - 1}"
        )
    return [window] if window is not None else sorted({min(w, most) for w in search.windows})


def _normalised(
    z: NDArray, offset: bool, search: IdentificationSearch
) -> tuple[NDArray, NDArray, NDArray]:
    """Channels with mean zero and spread one, with their original means and scales."""
    unit = np.nanmax(np.abs(z), axis=0)  # so that squares stay in the range of numbers
    unit = np.where(unit > 0, unit, 1.0)
    z = z / unit
    centre = np.nanmean(z, axis=0) if offset else np.zeros(z.shape[1])
    scale = np.sqrt(np.nanmean((z - centre) ** 2, axis=0))
    if not np.all(scale > search.constant):
        raise ValueError(
            f"channel {int(np.argmin(scale))} (inputs come first) is constant where it is seen, "
            "but a channel that varies is expected: remove it"
        )
    return (z - centre) / scale, unit * centre, unit * scale
