"""Missing inputs, fitted together with the model where next to no noise is left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._array import NDArray
from .completion import Completed
from .noise_fits import Fitted, NoiseFits
from .output_error import OutputError
from .search_rules import IdentificationSearch


def with_missing_inputs(
    whole: NoiseFits, fit: Fitted, filled: Completed | None, search: IdentificationSearch
) -> Fitted:
    """The model; missing inputs are fitted with it if next to no noise is left.

    Integrators turn small moves of inputs into any slow error, so inputs stay as they are then.
    """
    missing = np.isnan(whole.inputs[0])
    count = np.count_nonzero(missing)
    noise = np.max(np.diag(fit.model.innovation_covariance))
    few = 0 < count <= search.most_unknown and not whole.integrators
    if filled is None or not few or noise > search.quiet**2:
        return fit
    problem = replace(whole.problem(fit.model.order), u=whole.filled[0][0])
    spread = filled.errors[: missing.shape[1]]
    joint, theta = _moved_inputs(
        problem, problem.start(fit.model.A, fit.model.C), missing, spread, search
    )
    return fit if joint is problem else whole.from_theta(joint, theta)


def _moved_inputs(
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
    count, rules = np.count_nonzero(fitted.seen), search.final
    first = variance = float(fitted.value(theta) / count)
    exact = rules.floor**4
    joint, moved = fitted, np.concatenate([theta, np.zeros(np.count_nonzero(missing))])
    for _ in range(rules.steps):
        price = np.maximum(variance, exact) / np.maximum(spread, rules.floor) ** 2
        joint = replace(fitted, price=np.where(missing, price, 0.0))
        moved = joint.minimize(moved, search.joint_steps, rules.tolerance)
        before, variance = variance, float(np.mean(joint.residual(moved)[:count] ** 2))
        if variance > search.stalled * before or variance < exact:
            break
    return (joint, moved) if variance < search.explained * first else (fitted, theta)
