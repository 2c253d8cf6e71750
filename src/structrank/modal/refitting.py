"""Without the nuclear norm's shrinkage: the best structured signal of a given rank."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from .._array import Array, epsilon, inner, is_complex, like, to_numpy
from .._checks import positive, positive_int
from ..model.lowrank import LowRank
from ..model.measure import Operator, Weighted
from ..model.objective import natural_lam
from ..model.problem import Problem
from ..solvers.augmented import Augmented
from ..solvers.driver import ConvergenceWarning, Result
from ..solvers.local_search import local_search
from ..structures import Structure, Toeplitz
from ..views.summary import Summary
from .fit import ModalFit
from .model import ModalModel
from .modes import Modes, exponentials, find_modes, has_modes
from .standard_errors import Spread
from .tangent import tangent_basis

ROUNDS = 60  # of multipliers
SEARCH_STEPS = 200  # a round
ROUNDING = 1e-10  # residuals below this share of the data are rounding
ENOUGH = 1e-7  # structure violation to end with, relatively


@dataclass(frozen=True, eq=False, repr=False)
class Refit(Summary):
    """A signal of given rank, fitted without shrinkage; what `refit` returns.

    Attributes
    ----------
    y : array
        The signal.
    X : LowRank
        Its matrix, of the given rank.
    rank : int
    misfit : float
        `||weights (y - b)||^2` over what is seen.
    sigma : float or None
        Standard deviation of the noise: given, or estimated from the misfit and the number of
        samples less that of parameters; None if there are no more samples than parameters. With
        weights, that of a sample of weight one. Real and imaginary part of complex noise
        have `sigma / sqrt(2)` each.
    parameters : int
        Number of real numbers that were fitted.
    samples : int
        Number of real numbers they were fitted to; a complex sample is two.
    violation : float
        Structure violation that is left, `||X - Q(y)||_F / ||Q(y)||_F`.
    modes : Modes or None
        Where low rank means few modes; with standard errors if sigma is known or estimated.
    problem : Problem
        With the weights of the fit.
    unit_errors : callable
        Gives the standard errors of the signal for `sigma = 1`.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, gcgls, refit
    >>> b = np.cos(0.3 * np.arange(60)) + 0.1 * np.random.default_rng(0).standard_normal(60)
    >>> fit = refit(gcgls(Problem(Hankel(60, window=30), b, mu=5.0, measure="lifted"), lam=1.0), 2)
    >>> fit.rank, fit.parameters, fit.samples, round(fit.sigma, 2)
    (2, 4, 60, 0.09)
    >>> print(f"{fit.y[0]:.2f} +- {fit.stderr[0]:.2f}")
    1.06 +- 0.03
    """

    y: Array
    X: LowRank
    rank: int
    misfit: float
    sigma: float | None
    parameters: int
    samples: int
    violation: float
    modes: Modes | None
    problem: Problem
    unit_errors: Callable[[], np.ndarray]

    @cached_property
    def stderr(self) -> Array:
        """Standard error of every value of the signal, to first order in the noise.

        If the signal is complex, the root of the sum of the variances of both parts. It is inf
        where the samples do not determine the value.
        """
        if self.sigma is None:
            raise ValueError(
                f"{self.parameters} parameters were fitted to {self.samples} numbers, so the noise "
                "cannot be estimated: pass sigma to refit, or take a smaller rank"
            )
        errors = self.unit_errors()
        known = np.isfinite(errors)
        errors = np.where(known, self.sigma * np.where(known, errors, 0.0), np.inf)
        return like(errors, self.y, real=True)

    @property
    def information(self) -> float:
        """An information criterion: the smaller, the better the choice of rank.

        The Bayesian one, in which each rank counts for one parameter more, as its place
        was searched for, and whose price of a parameter grows as samples become few.
        """
        n, left = self.samples, self.samples - self.parameters - 1
        if left < 1:
            return np.inf
        rounding = ROUNDING**2 * inner(self.problem.data, self.problem.data)
        misfit = max(self.misfit, rounding, np.finfo(float).tiny)
        price = np.log(n) * n / left
        return float(n * np.log(misfit / n) + (self.parameters + self.rank) * price)

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("problem", repr(self.problem)),
            ("rank", f"{self.rank}: {self.parameters} parameters for {self.samples} numbers"),
            ("noise", "unknown" if self.sigma is None else f"{self.sigma:.4g} (sigma)"),
            ("violation", f"{self.violation:.2g} of the structure"),
        ]


def refit(
    result: Result,
    rank: int | None = None,
    *,
    weights: Any = None,
    sigma: float | None = None,
    undamped: bool = False,
) -> Refit:
    """Fit the samples by a structured matrix of fixed rank: what a solver found, without shrinkage.

    `min_y  ||weights (y - b)||^2  subject to  rank Q(y) <= rank`, a local method
    started from the result. For Hankel and Toeplitz structures the modes are fitted,
    which meets the structure exactly; for others the factors, with multipliers for the structure.

    Parameters
    ----------
    result : Result
    rank : int, optional
        Default: that of the result.
    weights : array, optional
        Of the samples, one over their standard deviations up to a factor. Default: all that is
        seen counts the same, whatever the weights of the problem, which is best for noise of
        one level.
    sigma : float, optional
        Standard deviation of the noise, if known; else it is estimated.
    undamped : bool
        The modes are known to be undamped; for structures with modes only.

    Returns
    -------
    Refit

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, gcgls, refit
    >>> y = 0.9 ** np.arange(30.0)
    >>> result = gcgls(Problem(Hankel(30, window=15), y, mu=0.5, measure="lifted"), lam=1.0)
    >>> shrunk, fitted = result.y, refit(result).y
    >>> bool(abs(shrunk - y).max() > 0.05), bool(abs(fitted - y).max() < 1e-6)
    (True, True)
    """
    if not isinstance(result, Result):
        raise TypeError(f"result is {type(result).__name__}, but a Result is expected")
    rank = result.rank if rank is None else positive_int(rank, "rank")
    if rank > result.rank:
        raise ValueError(
            f"rank is {rank}, but the result has rank {result.rank}: take less, or solve with a "
            "smaller mu"
        )
    sigma = None if sigma is None else positive(sigma, "sigma")
    problem = _plain(result.problem, weights)
    if rank == 0:
        return _nothing(problem, sigma)
    if has_modes(problem.structure):
        return refit_modes(problem, find_modes(result, rank), sigma=sigma, undamped=undamped)
    if undamped:
        raise ValueError(f"{problem.structure!r} has no modes, so undamped does not apply")
    return _factored(problem, result.X.balanced(0.0), rank, sigma)


def _plain(problem: Problem, weights: Any) -> Problem:
    """The problem with equal or given weights of what is seen."""
    if isinstance(problem.measure, Operator):
        if weights is not None:
            raise ValueError("an operator measures, so weights do not apply: put them into it")
        return problem
    seen = np.ones(problem.structure.signal_shape, dtype=bool)
    if isinstance(problem.measure, Weighted):
        seen = to_numpy(problem.measure.weights) > 0
    return replace(problem, measure=Weighted(seen * 1.0 if weights is None else weights, seen))


def _nothing(problem: Problem, sigma: float | None) -> Refit:
    """The zero signal, of rank 0."""
    structure = problem.structure
    X = LowRank.zeros(structure.shape, problem.backprojection)
    y = structure.average(X.U, X.V)  # other than zero only if there is an offset
    misfit, samples = _misfit(problem, y), _numbers(problem)
    noise, violation = _noise(problem, misfit, samples, sigma), _violation(structure, X, y)
    errors = partial(np.zeros, structure.signal_shape)
    return Refit(y, X, 0, misfit, noise, 0, samples, violation, None, problem, errors)


def _misfit(problem: Problem, y: Array) -> float:
    """`||A(y) - b||^2`."""
    residual = problem.residual(y)
    return inner(residual, residual)


def _numbers(problem: Problem) -> int:
    """How many real numbers are measured."""
    return problem.sample_count * (2 if is_complex(problem.b) else 1)


def _noise(problem: Problem, misfit: float, freedom: int, sigma: float | None) -> float | None:
    """The noise's standard deviation, given or estimated."""
    if sigma is not None:
        return sigma
    parts = 2 if is_complex(problem.b) else 1
    return float(np.sqrt(parts * misfit / freedom)) if freedom > 0 else None


def refit_modes(
    problem: Problem, modes: Modes, *, sigma: float | None = None, undamped: bool = False
) -> Refit:
    """The best fit of modes to samples, by nonlinear least squares from where they are.

    Parameters
    ----------
    problem : Problem
        With a structure that has modes; its weights count.
    modes : Modes
        Where to start.
    sigma : float, optional
        Standard deviation of the noise, if known.
    undamped : bool
        Keep all dampings at zero.

    Returns
    -------
    Refit

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Modes, Problem
    >>> from structrank.modal.refitting import refit_modes
    >>> problem = Problem(Hankel(40, window=20), np.cos(0.6 * np.arange(40)), mu=1.0)
    >>> fit = refit_modes(problem, Modes([0.1, -0.1], amplitudes=0.5))
    >>> (2 * np.pi * abs(fit.modes.frequencies[:, 0])).round(6)
    array([0.6, 0.6])
    """
    weights = to_numpy(problem.measure.weights) if isinstance(problem.measure, Weighted) else None
    fit = ModalFit(problem, modes, weights, undamped=undamped)
    freedom = fit.samples - fit.parameters
    noise = _noise(problem, fit.misfit, freedom, sigma)
    part = np.sqrt(0.5) if is_complex(problem.b) else 1.0
    y = like(fit.model.signal().reshape(problem.structure.signal_shape), problem.backprojection)
    X = _modal_matrix(problem, fit.model)
    return Refit(
        y,
        X,
        X.rank,
        fit.misfit,
        noise,
        fit.parameters,
        fit.samples,
        _violation(problem.structure, X, y),
        fit.modes(None if noise is None else part * noise),
        problem,
        partial(_modal_errors, fit, part),
    )


def _modal_errors(fit: ModalFit, part: float) -> np.ndarray:
    """Standard errors of the signal for unit noise, of which each sample holds some part."""
    return part * fit.signal_errors()


def _modal_matrix(problem: Problem, model: ModalModel) -> LowRank:
    """The factors of Q(y): exponentials along the rows and along the columns."""
    structure: Any = problem.structure
    rows, columns = (
        exponentials(model.frequencies, model.dampings, grid)
        for grid in (structure.window, structure.columns)
    )
    if isinstance(structure, Toeplitz):
        columns = [table[::-1] for table in columns]
    share = np.where(model.paired, np.sqrt(2.0), 1.0)
    channels, one = model.amplitudes.T, np.ones((1, len(share)))
    row_wise = structure.block is None or structure.block[1] == 1
    U = share * _products([*rows, channels if row_wise else one])
    V = share * _products([*columns, one if row_wise else channels]).conj()
    if model.real:
        U, V = (np.concatenate([F.real, F.imag[:, model.paired]], axis=1) for F in (U, V))
    X = LowRank(U, V).balanced(0.0)  # before modes that grow meet single precision
    return LowRank(*(like(F, problem.backprojection) for F in (X.U, X.V)))


def _products(tables: list[np.ndarray]) -> np.ndarray:
    """All products of one row of each table, the last running fastest."""
    rows = tables[0]
    for table in tables[1:]:
        rows = (rows[:, None, :] * table[None]).reshape(-1, table.shape[1])
    return rows


def _factored(problem: Problem, X: LowRank, rank: int, sigma: float | None) -> Refit:
    """By the method of multipliers for the factors, with next to no nuclear norm."""
    structure, reference = problem.structure, problem.backprojection
    X = LowRank(X.U[:, :rank], X.V[:, :rank])
    shrinking = replace(problem, mu=1e-9 * problem.mu)
    zero = LowRank.zeros(structure.shape, reference)
    objective = Augmented(shrinking, natural_lam(problem), zero, problem.data - problem.data)
    size = max(np.sqrt(inner(problem.data, problem.data)), np.finfo(float).tiny)
    enough = max(ENOUGH, 100 * epsilon(reference))
    violation = 1.0
    for _ in range(ROUNDS):
        tolerance = max(1e-4 * violation**2, 1e-12)
        point = local_search(objective, X, max_steps=SEARCH_STEPS, tolerance=tolerance)
        X, y = point.X.copy(), objective.signal(point) + 0.0
        violation = _violation(structure, X, y)
        # The multiplier stands still once it is the residual.
        off = problem.residual(y) - objective.gamma(point)
        if max(violation, np.sqrt(inner(off, off)) / size) <= enough:
            break
        objective = objective.updated(point, 2 * objective.lam, 0.0)
    else:
        warnings.warn(
            f"refit did not converge: a structure violation of {violation:.1g} is left. Take "
            "another rank, or solve with a smaller mu first.",
            ConvergenceWarning,
            3,
        )
    misfit, samples = _misfit(problem, y), _numbers(problem)
    basis = tangent_basis(structure, X)
    parameters = basis.shape[1] * (2 if is_complex(y) else 1)
    return Refit(
        y,
        X,
        rank,
        misfit,
        _noise(problem, misfit, samples - parameters, sigma),
        parameters,
        samples,
        violation,
        None,
        problem,
        partial(_tangent_errors, problem, basis),
    )


def _tangent_errors(problem: Problem, basis: np.ndarray) -> np.ndarray:
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
    return part * Spread(measured).errors(basis).reshape(shape)


def _violation(structure: Structure, X: LowRank, y: Array) -> float:
    """`||X - Q(y)||_F / ||Q(y)||_F`, to about 1e-8."""
    U, V, y = (np.float64(1) * to_numpy(x) for x in (X.U, X.V, y))
    X = LowRank(U, V)
    if structure.offset is not None:
        matrix = structure.to_dense(y)
        apart = matrix - X.to_dense()
        square, distance = inner(matrix, matrix), inner(apart, apart)
    else:
        square = inner(y, structure.multiplicity * y)
        distance = X.norm_squared() - 2 * inner(y, structure.adjoint(U, V)) + square
    return float(np.sqrt(max(distance, 0.0) / square)) if square > 0 else 0.0
