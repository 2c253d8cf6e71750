"""Minimum of a smooth function by damped quasi-Newton steps, from a metric that it provides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._array import NDArray


@dataclass(frozen=True)
class QuasiNewton:
    """Rules of the steps.

    Attributes
    ----------
    evaluations : int
        Limit on the number of gradients. Set by hand: most fits need 20 to 70.
    tolerance : float
        The steps end once one lowers the value by less than this number per sample. Set by hand:
        on 1000 samples, a fiftieth of what one parameter gains by chance.
    age : int
        Steps after which the metric is computed again; it costs about as much as two gradients. Set
        by hand.
    ridge : float
        First damping, as a share of the diagonal of the second derivatives. Set by hand, a common
        value.
    factor : float
        Factor by which the damping grows after a step that fails or gains less than `poor`, and
        falls after one that gains more than `good`. Set by hand, a common value.
    good, poor, least : float
        Decrease over what the quadratic model promised; a step below `least` fails. Common values.
    least_diagonal : float
        Entries of the diagonal below this share of the largest are raised to it. Rounding.
    failures : int
        The steps end after as many failures in a row. With a factor of 4, the last damping is 16
        million times the first.
    curvature : float
        Least curvature along a step, as a share of that of the model, for its update (Powell's
        damping). A common value.
    """

    evaluations: int = 100
    tolerance: float = 1e-5
    age: int = 6
    ridge: float = 1e-2
    factor: float = 4.0
    good: float = 0.75
    poor: float = 0.25
    least: float = 1e-4
    least_diagonal: float = 1e-8
    failures: int = 12
    curvature: float = 0.2


class Smooth(Protocol):
    """A function of a vector, with a gradient and a metric that resembles second derivatives."""

    @property
    def free(self) -> NDArray:
        """Which parameters may change."""

    @property
    def seen_count(self) -> int:
        """Number of samples."""

    def value_and_gradient(self, theta: NDArray) -> tuple[float, NDArray]:
        """Value, infinite where the function is not defined, and gradient."""

    def metric(self, theta: NDArray) -> NDArray:
        """Approximate second derivatives."""


def minimize(problem: Smooth, theta: NDArray, rules: QuasiNewton) -> NDArray:
    """Steps from `theta` along the free parameters, until they no longer lower the value."""
    free, ridge = problem.free, rules.ridge
    value, slope = problem.value_and_gradient(theta)
    if not np.isfinite(value):  # no step from here can be judged
        return theta
    hessian, age, failures = None, 0, 0
    for _ in range(rules.evaluations):
        if hessian is None:
            hessian, age = problem.metric(theta)[np.ix_(free, free)], 0
        step = _damped_step(hessian, slope[free], ridge, rules)
        trial = theta.copy()
        trial[free] += step
        lower, next_slope = problem.value_and_gradient(trial)
        gain = (value - lower) / -(slope[free] @ step + 0.5 * step @ hessian @ step)
        ridge = ridge * rules.factor if gain < rules.poor else ridge
        if not gain > rules.least:
            failures += 1
            if failures == rules.failures:
                break
            hessian = None if age and failures == 2 else hessian  # too old
            continue
        ridge = ridge / rules.factor if gain > rules.good else ridge
        small = value - lower <= rules.tolerance * problem.seen_count
        change, age, failures = (next_slope - slope)[free], age + 1, 0
        hessian = None if age == rules.age else _updated(hessian, step, change, rules.curvature)
        theta, value, slope = trial, lower, next_slope
        if small:
            break
    return theta


def _damped_step(hessian: NDArray, slope: NDArray, ridge: float, rules: QuasiNewton) -> NDArray:
    """Step of Newton's method with a ridge."""
    diagonal = np.diag(hessian)
    scale = np.maximum(diagonal, rules.least_diagonal * np.max(diagonal))
    try:
        return np.asarray(-cho_solve(cho_factor(hessian + np.diag(ridge * scale)), slope))
    except LinAlgError:
        return np.asarray(-slope / scale)


def _updated(hessian: NDArray, step: NDArray, change: NDArray, least: float) -> NDArray:
    """BFGS update, damped so that the matrix stays positive definite (Powell)."""
    along = hessian @ step
    size, curvature = float(step @ along), float(step @ change)
    if not size > 0:
        return hessian
    if curvature < least * size:
        share = (1 - least) * size / (size - curvature)
        change = share * change + (1 - share) * along
        curvature = float(step @ change)
    return np.asarray(
        hessian - np.outer(along, along) / size + np.outer(change, change) / curvature
    )
