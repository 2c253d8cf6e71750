"""Models of several orders, the choice between them, and the fit of missing inputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from .._array import NDArray
from .completion import GapFilling
from .output_error import OutputError
from .subspace import dynamics, observability


@dataclass(frozen=True)
class IdentificationSearch:
    """Sizes and tolerances of `identify`.

    Attributes
    ----------
    windows : tuple of int
        Block rows of the subspace method that are tried. Set by hand: common sizes, between which
        the held-out error decides.
    first_part : float
        Share of the record to which the candidates are fitted. They are compared on the rest.
        Set by hand, a common split.
    as_good : float
        Held-out errors within this factor of the least count as equally good. Set by hand.
    floor : float
        Errors below this share of the spread of an output count as zero. Set by hand: below the
        accuracy of most measurements.
    most_unknown : int
        Missing inputs that are fitted together with the model, at most. Set by hand: the Jacobian
        has a column for each, so time and memory grow quickly.
    explained : float
        Share of the variance of the errors that may remain when missing inputs are moved. If more
        remains, the moves have fitted noise. Set by hand.
    steps : int
        Iteration limit of a fit, and of the alternation between missing inputs and the variance of
        the errors. Set by hand.
    tolerance : float
        A fit ends once a step lowers the squared error by at most this share. Set by hand: far
        below what counts as equally good.
    joint_steps : int
        Iteration limit of each fit of missing inputs, before the variance is estimated again. Set
        by hand.
    stalled : float
        The alternation ends once the variance is more than this share of the last one. Set by
        hand.
    pole_share : float
        Poles of the subspace method are moved to at most this share of `max_radius`, so that the
        fit starts inside. Set by hand.
    constant : float
        A channel whose spread is below this share of its largest value is constant. Rounding.
    filling : GapFilling
        How gaps are filled.
    """

    windows: tuple[int, ...] = (10, 15)
    first_part: float = 2 / 3
    as_good: float = 1.05
    floor: float = 1e-5
    most_unknown: int = 2000
    explained: float = 0.05
    steps: int = 40
    tolerance: float = 1e-4
    joint_steps: int = 5
    stalled: float = 0.95
    pole_share: float = 0.999
    constant: float = 1e-12
    filling: GapFilling = field(default_factory=GapFilling)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model fitted to the first part of a record, and its error on the rest."""

    problem: OutputError
    theta: NDArray
    held_out: float
    criterion: float


def chosen(
    whole: OutputError,
    outputs: NDArray,
    orders: list[int],
    windows: list[int],
    search: IdentificationSearch,
) -> Candidate:
    """The best candidate, by the rule in the docstring of `identify`."""
    candidates = list(_candidates(whole, outputs, orders, windows, search))
    least = min(c.held_out for c in candidates)
    as_good = [c for c in candidates if c.held_out <= search.as_good**2 * least]
    if len(orders) == 1:
        return min(as_good, key=lambda c: c.held_out)
    return min(as_good, key=lambda c: c.criterion)


def _candidates(
    whole: OutputError,
    outputs: NDArray,
    orders: list[int],
    windows: list[int],
    search: IdentificationSearch,
) -> Iterator[Candidate]:
    """Models of all orders for all windows; the gaps of `outputs` are filled."""
    radius, p = search.pole_share * whole.radius, outputs.shape[1]
    for window in windows:
        U, s = observability(whole.u, outputs, window)
        for order in (n for n in orders if n <= p * (window - 1)):
            A, C = dynamics(U[:, :order] * np.sqrt(s[:order]), p, radius)
            yield _candidate(replace(whole, order=order), A, C, search)


def _candidate(
    whole: OutputError, A: NDArray, C: NDArray, search: IdentificationSearch
) -> Candidate:
    """The model fitted to the first part of the record from given dynamics."""
    first = int(search.first_part * len(whole.u))
    problem = replace(whole, u=whole.u[:first], y=whole.y[:first])
    theta = problem.minimize(problem.start(A, C), search.steps, search.tolerance)
    count = np.count_nonzero(problem.seen)
    error = problem.value(theta) / count + search.floor**2
    rest = (whole.outputs(theta) - whole.y)[first:][whole.seen[first:]]
    # A change of the state's coordinates leaves the model as it is: r^2 parameters do not count.
    parameters = theta.size - whole.order**2
    criterion = count * np.log(error) + parameters * np.log(count)
    return Candidate(problem, theta, float(np.mean(rest**2)) + search.floor**2, criterion)


def with_inputs(
    fitted: OutputError,
    theta: NDArray,
    missing: NDArray,
    spread: NDArray,
    search: IdentificationSearch,
) -> tuple[OutputError, NDArray]:
    """Fit the model and the missing inputs together.

    The weight of the move of an input is the ratio of two variances: that of the errors of the
    outputs, which is estimated again after each fit, and that of the filled values. If the moves
    leave much of the errors, they have fitted noise. Then the inputs stay as they were filled.
    """
    count = np.count_nonzero(fitted.seen)
    first = variance = float(fitted.value(theta) / count)
    exact = search.floor**4
    joint, moved = fitted, np.concatenate([theta, np.zeros(np.count_nonzero(missing))])
    for _ in range(search.steps):
        price = np.maximum(variance, exact) / np.maximum(spread, search.floor) ** 2
        joint = replace(fitted, price=np.where(missing, price, 0.0))
        moved = joint.minimize(moved, search.joint_steps, search.tolerance)
        before, variance = variance, float(np.mean(joint.residual(moved)[:count] ** 2))
        if variance > search.stalled * before or variance < exact:
            break
    return (joint, moved) if variance < search.explained * first else (fitted, theta)
