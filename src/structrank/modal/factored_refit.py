"""Refit by factors, for every structure: multipliers make a matrix of fixed rank structured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .._array import Array, NDArray, epsilon, inner, is_complex, like, to_numpy
from ..model.lowrank import LowRank
from ..model.objective import natural_lam
from ..model.problem import Problem
from ..solvers.augmented import Augmented
from ..solvers.local_search import local_search
from .refit_result import (
    Refit,
    noise_deviation,
    number_count,
    relative_violation,
    residual_squared,
)
from .standard_errors import ErrorPropagation
from .tangent import tangent_basis


@dataclass(frozen=True)
class FactoredFitting:
    """Settings of the method of multipliers for factors of fixed rank.

    Tests check that its fits are stationary and agree with the fits of modes.
    """

    rounds: int = 60  # largest number of updates of the multiplier; set by hand
    search_steps: int = 200  # largest number of descent steps per round; set by hand
    mu_share: float = 1e-9  # share of the problem's mu: just enough to keep factors balanced
    lam_growth: float = 2.0  # factor on lam per round; set by hand
    enough: float = 1e-7  # relative violation and change of the multiplier at which to stop
    enough_over_epsilon: float = 100.0  # the same over the rounding unit, in single precision
    tolerance_share: float = 1e-4  # tolerance of descent over the squared violation; set by hand
    least_tolerance: float = 1e-12  # smallest tolerance of descent; rounding errors lie below


def refit_factors(
    problem: Problem,
    X: LowRank,
    *,
    sigma: float | None = None,
    fitting: FactoredFitting = FactoredFitting(),
) -> Refit:
    """Fit a structured matrix of fixed rank to the samples, by multipliers for the structure.

    Parameters
    ----------
    problem : Problem
        Its weights count.
    X : LowRank
        Where to start. Its rank is that of the fit.
    sigma : float, optional
        Standard deviation of the noise, if known.
    fitting : FactoredFitting
        Numerical settings.

    Returns
    -------
    Refit
        With `converged` False if all rounds were used up.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Circulant, LowRank, Problem
    >>> from structrank.modal.factored_refit import refit_factors
    >>> problem = Problem(Circulant(4), np.array([1.0, 1.1, 0.9, 1.0]), mu=1.0)
    >>> fit = refit_factors(problem, LowRank(np.ones((4, 1)), np.ones((4, 1))))
    >>> fit.converged, fit.y.round(6)
    (True, array([1., 1., 1., 1.]))
    """
    X, y, converged = _structured(problem, X, fitting)
    square, numbers = residual_squared(problem, y), number_count(problem)
    basis = tangent_basis(problem.structure, X)
    parameters = basis.shape[1] * (2 if is_complex(y) else 1)
    return Refit(
        y=y,
        X=X,
        rank=X.rank,
        residual_squared=square,
        sigma=noise_deviation(problem, square, numbers - parameters, sigma),
        parameters=parameters,
        sample_count=numbers,
        relative_violation=relative_violation(problem.structure, X, y),
        modes=None,
        problem=problem,
        unit_errors=partial(_tangent_errors, problem, basis),
        converged=converged,
    )


def _structured(
    problem: Problem, X: LowRank, fitting: FactoredFitting
) -> tuple[LowRank, Array, bool]:
    """The factors, their signal, and whether the method of multipliers converged."""
    structure, reference = problem.structure, problem.backprojection
    zero = LowRank.zeros(structure.shape, reference)
    shrinking = replace(problem, mu=fitting.mu_share * problem.mu)
    objective = Augmented(shrinking, natural_lam(problem), zero, problem.data - problem.data)
    size = max(np.sqrt(inner(problem.data, problem.data)), np.finfo(float).tiny)
    enough = max(fitting.enough, fitting.enough_over_epsilon * epsilon(reference))
    violation = 1.0
    for _ in range(fitting.rounds):
        tolerance = max(fitting.tolerance_share * violation**2, fitting.least_tolerance)
        point = local_search(objective, X, max_steps=fitting.search_steps, tolerance=tolerance)
        X, y = point.X.copy(), objective.signal(point) + 0.0
        violation = relative_violation(structure, X, y)
        # The multiplier no longer changes once it equals the residual.
        change = problem.residual(y) - objective.gamma(point)
        if max(violation, np.sqrt(inner(change, change)) / size) <= enough:
            return X, y, True
        objective = objective.updated(point, fitting.lam_growth * objective.lam, 0.0)
    return X, y, False


def _tangent_errors(problem: Problem, basis: NDArray) -> NDArray:
    """Standard errors for unit noise, if the signal can move along a basis."""
    shape, reference = problem.structure.signal_shape, problem.backprojection
    if basis.shape[1] == 0:  # the rank leaves no freedom
        return np.zeros(shape)
    if is_complex(reference):  # both parts of each coefficient are free
        basis = np.concatenate([basis, 1j * basis], axis=1)
    images = [problem.measure.forward(like(z.reshape(shape), reference)) for z in basis.T]
    measured = np.stack([to_numpy(image).reshape(-1) for image in images], axis=1)
    part = 1.0
    if is_complex(problem.b):
        part, measured = np.sqrt(0.5), np.concatenate([measured.real, measured.imag])
    return part * ErrorPropagation(measured).errors(basis).reshape(shape)
