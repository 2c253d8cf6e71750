"""A state-space model from records of inputs and outputs, with gaps in either."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._checks import positive, positive_int
from ..model.measure import Weighted
from ..model.objective import mu_max
from ..model.problem import Problem
from ..solvers import gcgls
from ..solvers.driver import Stop, uninterrupted
from ..structures import Hankel
from .input_output import InputOutputModel, paired
from .output_error import OutputError
from .state_space import spectral_radius_of

_WINDOWS = (10, 15)  # block rows of the subspace method that are tried
_COMPLETION_WINDOW = 40  # block rows of the matrix by which gaps are filled
_MUS = 10.0 ** -np.arange(1.0, 5.0, 0.5)  # prices tried for it, as shares of mu_max
_HIDDEN = 0.1  # share of the samples by which that price is chosen
_FIRST_PART = 2 / 3  # of the record: orders are compared on the rest
_AS_GOOD = 1.05  # held-out errors within this factor of the least are as good
_FLOOR = 1e-5  # errors below this share of the outputs' spread are none
_MOST_UNKNOWN = 2000  # missing inputs that are refined together with the model
_EXPLAINED = 0.05  # of the errors' variance may be left when missing inputs are moved
_STEPS, _TOLERANCE = 40, 1e-4  # of a fit


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
) -> InputOutputModel:
    """Find the system of low order that turns the inputs into the outputs.

    1. Gaps are filled: of all records that agree with what is seen, up to a price, the one whose
       joint block-Hankel matrix of inputs and outputs has the least nuclear norm. That
       matrix loses rank because outputs follow from inputs and a few states.
    2. A subspace method (MOESP with past inputs and outputs as instruments) gives a first model.
    3. Least squares on the samples seen makes its simulated outputs as near to them as they
       get. Missing outputs do not count. Missing inputs, up to 2000 of them, are found along with
       the model if that explains the errors that are left to 95% or more; else they stay as
       filled in.

    Parameters
    ----------
    inputs : array, shape (samples, m) or (samples,)
        NaN where missing.
    outputs : array, shape (samples, p) or (samples,)
        NaN where missing.
    order : int, optional
        Number of states. By default each from 1 to `max_order` is fitted to the first two thirds
        of the record and simulated over the rest; of those whose error there is within 5% of
        the least, the one with the least Bayesian information criterion is taken.
    max_order : int
        Largest order that is tried.
    window : int, optional
        Block rows of the subspace method. Default 10 or 15, by the same held-out error.
    offset : bool
        Whether the record has an operating point other than zero, which is to be found.
    max_radius : float, optional
        Bound on the poles. Default `exp(-1 / samples)`: modes that last longer than the
        record cannot be told from drift. For a system that integrates pass a number above 1,
        1.01 for example, and `offset=False`.
    mu : float, optional
        Price of the nuclear norm in step 1, as a share of the one above which all is zero. By
        default the one that best predicts a tenth of the samples, hidden for that.
    completion_window : int, optional
        Block rows in step 1. Default 40, or a third of a short record.
    rng : int or numpy.random.Generator
        Of the choice of hidden samples.

    Returns
    -------
    InputOutputModel
        `x0` is its state at the first sample of the record.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import InputOutputModel, identify
    >>> truth = InputOutputModel([[0.8, 0.3], [-0.3, 0.8]], [[1], [0]], [[1, 1]], [[0]])
    >>> rng = np.random.default_rng(0)
    >>> u = rng.standard_normal(300)
    >>> y = truth.simulate(u)[:, 0]
    >>> y[rng.random(300) < 0.2] = np.nan
    >>> model = identify(u, y)
    >>> model
    InputOutputModel(order 2, 1 input, 1 output, spectral radius 0.8544)
    >>> bool(np.allclose(model.impulse_response(50), truth.impulse_response(50), atol=1e-6))
    True
    """
    u, y = paired(inputs, outputs)
    if not isinstance(offset, bool):
        raise TypeError(f"offset is {offset!r}, but True or False is expected")
    radius = np.exp(-1 / len(u)) if max_radius is None else positive(max_radius, "max_radius")
    m, p = u.shape[1], y.shape[1]
    windows = _windows(window, len(u), m, p)
    orders = _orders(order, max_order, max(windows), p)
    _check_record(u, y)
    z, centre, scale = _normalised(np.concatenate([u, y], axis=1), offset)
    full, spread = z, np.zeros(m + p)
    if np.any(np.isnan(z)):
        full, spread = _completed(z, completion_window, mu, rng)
    whole = OutputError(full[:, :m], z[:, m:], orders[0], offset, radius)
    best = _chosen(whole, full[:, m:], orders, windows)
    fitted = replace(whole, order=best.problem.order)
    theta = fitted.minimize(best.theta, _STEPS, _TOLERANCE)
    missing = np.isnan(z[:, :m])
    if 0 < np.count_nonzero(missing) <= _MOST_UNKNOWN:
        fitted, theta = _with_inputs(fitted, theta, missing, spread[:m])
    return _in_units(fitted, theta, centre, scale)


def _in_units(
    fitted: OutputError, theta: np.ndarray, centre: np.ndarray, scale: np.ndarray
) -> InputOutputModel:
    """The model of the record from that of its normalised channels."""
    A, B, C, D, x0, offsets, _ = fitted.split(theta)
    m = B.shape[1]
    in_scale, out_scale = scale[:m], scale[m:]
    return InputOutputModel(
        A,
        B / in_scale,
        out_scale[:, None] * C,
        out_scale[:, None] * D / in_scale,
        x0,
        centre[:m],
        centre[m:] + (out_scale * offsets if fitted.offset else 0.0),
    )


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A model fitted to the first part of a record, and its error on the rest."""

    problem: OutputError
    theta: np.ndarray
    held_out: float
    criterion: float


def _chosen(
    whole: OutputError, outputs: np.ndarray, orders: list[int], windows: list[int]
) -> _Candidate:
    """The best candidate, by the rule in the docstring of `identify`."""
    candidates = list(_candidates(whole, outputs, orders, windows))
    least = min(c.held_out for c in candidates)
    as_good = [c for c in candidates if c.held_out <= _AS_GOOD**2 * least]
    if len(orders) == 1:
        return min(as_good, key=lambda c: c.held_out)
    return min(as_good, key=lambda c: c.criterion)


def _candidates(
    whole: OutputError, outputs: np.ndarray, orders: list[int], windows: list[int]
) -> Iterator[_Candidate]:
    """Models of all orders for all windows; `outputs` has its gaps filled."""
    for window in windows:
        U, s = _observability(whole.u, outputs, window)
        for order in (n for n in orders if n <= outputs.shape[1] * (window - 1)):
            A, C = _dynamics(U[:, :order] * np.sqrt(s[:order]), outputs.shape[1], whole.radius)
            yield _candidate(replace(whole, order=order), A, C)


def _candidate(whole: OutputError, A: np.ndarray, C: np.ndarray) -> _Candidate:
    """The model fitted to the first part of the record from given dynamics."""
    first = int(_FIRST_PART * len(whole.u))
    problem = replace(whole, u=whole.u[:first], y=whole.y[:first])
    theta = problem.minimize(problem.start(A, C), _STEPS, _TOLERANCE)
    count = np.count_nonzero(problem.seen)
    error = problem.value(theta) / count + _FLOOR**2
    rest = (whole.outputs(theta) - whole.y)[first:][whole.seen[first:]]
    # All matrices with the same behaviour are one model: r^2 parameters do not count.
    parameters = theta.size - whole.order**2
    criterion = count * np.log(error) + parameters * np.log(count)
    return _Candidate(problem, theta, float(np.mean(rest**2)) + _FLOOR**2, criterion)


def _with_inputs(
    fitted: OutputError, theta: np.ndarray, missing: np.ndarray, spread: np.ndarray
) -> tuple[OutputError, np.ndarray]:
    """The fit over model and missing inputs.

    The price of moving an input is the ratio of two variances, that of the outputs' errors and
    that of the values filled in; the first is estimated anew after each fit. Moves that leave
    much of the errors have fitted noise: then the inputs stay as they were filled.
    """
    count = np.count_nonzero(fitted.seen)
    first = variance = float(fitted.value(theta) / count)
    joint, moved = fitted, np.concatenate([theta, np.zeros(np.count_nonzero(missing))])
    for _ in range(_STEPS):
        price = np.maximum(variance, _FLOOR**4) / np.maximum(spread, _FLOOR) ** 2
        joint = replace(fitted, price=np.where(missing, price, 0.0))
        moved = joint.minimize(moved, 5, _TOLERANCE)
        before, variance = variance, float(np.mean(joint.residual(moved)[:count] ** 2))
        if variance > 0.95 * before or variance < _FLOOR**4:
            break
    return (joint, moved) if variance < _EXPLAINED * first else (fitted, theta)


def _completed(
    z: np.ndarray, window: int | None, mu: float | None, rng: int | np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The record with its gaps filled, and the error of that in each channel."""
    samples, channels = z.shape
    default = max(min(_COMPLETION_WINDOW, samples // 3), 1)
    rows = default if window is None else positive_int(window, "completion_window")
    structure = Hankel(samples, window=rows, block=(channels, 1))
    shares = _MUS if mu is None else np.array([positive(mu, "mu")])
    seen = ~np.isnan(z)
    hidden = seen & (np.random.default_rng(rng).random(z.shape) < _HIDDEN)
    errors = []
    for filled in _path(structure, z, seen & ~hidden, shares):
        wrong = np.where(hidden, filled - z, 0.0)
        errors.append(np.sum(wrong**2, axis=0) / np.maximum(np.sum(hidden, axis=0), 1))
        if len(errors) > 2 and np.sum(errors[-1]) > np.sum(errors[-2]) > np.sum(errors[-3]):
            break
    best = int(np.argmin(np.sum(errors, axis=1)))
    *_, filled = _path(structure, z, seen, shares[: best + 1])
    return np.where(seen, z, filled), np.sqrt(errors[best])


def _path(
    structure: Hankel, z: np.ndarray, seen: np.ndarray, shares: np.ndarray
) -> Iterator[np.ndarray]:
    """What the least nuclear norm fills in, for falling prices, each from the one before."""
    measure = Weighted("lifted", seen[..., None])
    problem = Problem(structure, z[..., None], 1.0, measure)
    largest, start = mu_max(problem), None
    for share in shares:
        priced = replace(problem, mu=float(share) * largest)
        result = uninterrupted(gcgls(priced, lam=1.0, start=start, stop=Stop(max_iter=1000)))
        start = result.X
        yield result.y[..., 0]


def _observability(u: np.ndarray, y: np.ndarray, window: int) -> tuple[np.ndarray, np.ndarray]:
    """Directions of future outputs that past data explain and future inputs do not."""
    blocks = [
        _block_hankel(part, window) for part in (u[window:], u[:-window], y[:-window], y[window:])
    ]
    R = np.asarray(np.linalg.qr(np.concatenate(blocks).T, mode="r")).T
    inputs, outputs = len(blocks[0]), len(blocks[-1])
    U, s, _ = np.linalg.svd(R[-outputs:, inputs:-outputs], full_matrices=False)
    return U, s


def _block_hankel(z: np.ndarray, window: int) -> np.ndarray:
    return Hankel(len(z), window=window, block=(z.shape[1], 1)).to_dense(z[..., None])


def _dynamics(
    observability: np.ndarray, outputs: int, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """A and C of a system with about this observability matrix and poles below the radius."""
    shifted, rest = observability[outputs:], observability[:-outputs]
    A = np.linalg.lstsq(rest, shifted, rcond=None)[0]
    poles, vectors = np.linalg.eig(A)
    radii = np.abs(poles)
    most = 0.999 * radius
    if np.any(radii > most):
        wanted = np.minimum(np.where(radii > most, 1 / radii, radii), most)
        A = np.linalg.solve(vectors.T, (vectors * (poles * wanted / radii)).T).T.real
        A *= min(1.0, most / spectral_radius_of(A))  # where the vectors are nearly dependent
    return A, observability[:outputs]


def _orders(order: int | None, max_order: int, window: int, p: int) -> list[int]:
    """The orders to try, none of them above what the outputs in a window determine."""
    if order is None:
        orders = list(range(1, positive_int(max_order, "max_order") + 1))
    else:
        orders = [positive_int(order, "order")]
    most = p * (window - 1)
    possible = [n for n in orders if n <= most]
    if not possible:
        raise ValueError(
            f"order is {order}, but {p} outputs in window={window} block rows determine at most "
            f"{most} states: lower the order, or take a larger window"
        )
    return possible


def _check_record(u: np.ndarray, y: np.ndarray) -> None:
    """An error if a channel is both input and output, or a part of the record has no output."""
    for i, j in np.ndindex(u.shape[1], y.shape[1]):
        if np.array_equal(u[:, i], y[:, j], equal_nan=True) and not np.all(np.isnan(u[:, i])):
            raise ValueError(
                f"input {i} and output {j}, counted from 0, are the same numbers, but a system "
                "between different channels is looked for: leave one of them out"
            )
    first = int(_FIRST_PART * len(y))
    if np.all(np.isnan(y[:first])) or np.all(np.isnan(y[first:])):
        raise ValueError(
            "no output is seen in the first two thirds, or none in the last third, of the record, "
            "but models are fitted to the one and compared on the other: cut the record"
        )


def _windows(window: int | None, samples: int, m: int, p: int) -> list[int]:
    """Block rows of the subspace method for which the record is long enough."""
    most = (samples + 1) // (2 * (m + p + 1))  # no more rows than columns
    if window is not None and positive_int(window, "window") > most:
        raise ValueError(
            f"window is {window}, but {samples} samples of {m} inputs and {p} outputs are enough "
            f"for at most {most} block rows"
        )
    if most < 2:
        raise ValueError(
            f"there are {samples} samples, but {m} inputs and {p} outputs need at least "
            f"{4 * (m + p + 1) - 1}"
        )
    return [window] if window is not None else sorted({min(w, most) for w in _WINDOWS})


def _normalised(z: np.ndarray, offset: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The channels around zero and of spread one, with their centres and scales."""
    unit = np.nanmax(np.abs(z), axis=0)  # powers of what is divided by it stay in range
    unit = np.where(unit > 0, unit, 1.0)
    z = z / unit
    centre = np.nanmean(z, axis=0) if offset else np.zeros(z.shape[1])
    scale = np.sqrt(np.nanmean((z - centre) ** 2, axis=0))
    if not np.all(scale > 1e-12):
        raise ValueError(
            f"channel {int(np.argmin(scale))} (inputs come first) is constant where it is seen, "
            "but one that varies is expected: leave it out"
        )
    return (z - centre) / scale, unit * centre, unit * scale
