"""What a refit returns, and the numbers that every way to refit computes alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._array import Array, NDArray, array_namespace, inner, is_complex, like, to_numpy
from ..io.saved_results import Saved, savable
from ..model.lowrank import LowRank
from ..model.problem import Problem
from ..structures import Structure
from ..views.summary import Summary
from .autoregressive_noise import AutoregressiveNoise
from .modes import Modes


@savable(
    omit={
        "X": "the matrix of a fit",
        "problem": "the problem of a fit",
        "unit_errors": "the standard error of a fit",
    }
)
@dataclass(frozen=True, eq=False, repr=False)
class Refit(Summary, Saved):
    """A signal of given rank, fitted without shrinkage; the result of `refit`.

    Attributes
    ----------
    y : array
        The signal.
    X : LowRank
        Its matrix, of the given rank.
    rank : int
    residual_squared : float
        `||weights (y - b)||^2` over the seen samples.
    sigma : float or None
        Standard deviation of the noise: the given one, or an estimate from the squared residual
        and the number of samples minus that of parameters. None if there are not more samples than
        parameters. With weights, it is that of a sample of weight one. The real and the imaginary
        part of complex noise have `sigma / sqrt(2)` each.
    parameters : int
        Number of real parameters that were fitted.
    sample_count : int
        Number of real numbers they were fitted to; a complex sample counts as two.
    relative_violation : float
        Remaining departure from the structure, `||X - Q(y)||_F / ||Q(y)||_F`.
    modes : Modes or None
        If low rank means few modes; with standard errors if sigma is known or estimated.
    problem : Problem
        The problem with the weights of the fit.
    unit_errors : callable
        Returns the standard errors of the signal for `sigma = 1`.
    converged : bool
        False if the fit reached its iteration limit first.
    error_draws : callable or None
        Returns joint draws of the errors of the signal over its standard errors, to first order,
        for a number of draws and a generator; None unless modes were fitted.
    part_errors : callable or None
        Returns the standard errors of the sum of some of the modes for `sigma = 1`, or None if one
        of them was not fitted; None unless modes were fitted.
    noise : AutoregressiveNoise or None
        Correlations of the noise, if it is not taken to be white. `residual_squared` then is that
        of whitened samples.
    log_determinant : float
        Of the correlation matrix of the noise.
    new_samples : callable or None
        Returns the noise that is expected in new samples, and their deviations from it for
        `sigma = 1`; None if the noise is white.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, gcgls, refit
    >>> b = np.cos(0.3 * np.arange(60)) + 0.1 * np.random.default_rng(0).standard_normal(60)
    >>> fit = refit(gcgls(Problem(Hankel(60, window=30), b, mu=5.0, measure="lifted"), lam=1.0), 2)
    >>> fit.rank, fit.parameters, fit.sample_count, round(fit.sigma, 2)
    (2, 4, 60, 0.09)
    >>> print(f"{fit.y[0]:.2f} +- {fit.stderr[0]:.2f}")
    1.06 +- 0.03
    """

    y: Array
    X: LowRank
    rank: int
    residual_squared: float
    sigma: float | None
    parameters: int
    sample_count: int
    relative_violation: float
    modes: Modes | None
    problem: Problem
    unit_errors: Callable[[], NDArray]
    converged: bool = True
    error_draws: Callable[[int, np.random.Generator], NDArray] | None = None
    part_errors: Callable[[Modes], NDArray | None] | None = None
    noise: AutoregressiveNoise | None = None
    log_determinant: float = 0.0
    new_samples: Callable[[], tuple[NDArray, NDArray]] | None = None

    @cached_property
    def stderr(self) -> Array:
        """Standard error of every value of the signal, to first order in the noise.

        If the signal is complex, it is the root of the sum of the variances of both parts. It is
        inf if the samples do not determine the value, and where it leaves the range of the data
        type.
        """
        if self.sigma is None:
            raise ValueError(
                f"{self.parameters} parameters were fitted to {self.sample_count} numbers, so the "
                "noise cannot be estimated: pass sigma to refit, or a smaller rank"
            )
        errors = _times(self.sigma, self.unit_errors())
        largest = float(array_namespace(self.y).finfo(self.y.dtype).max)
        return like(np.where(errors > largest, np.inf, errors), self.y, real=True)

    def part_stderr(self, modes: Modes) -> NDArray | None:
        """Standard error of every value of the sum of some of the modes, as `stderr`.

        None if it is not known.

        Parameters
        ----------
        modes : Modes
            Some of those that were fitted, and of a real signal both of each pair.
        """
        if self.part_errors is None or self.sigma is None:
            return None
        errors = self.part_errors(modes)
        return None if errors is None else _times(self.sigma, errors)

    @property
    def information(self) -> float:
        """Information criterion: the smaller, the better the choice of rank.

        It is the Bayesian criterion with two changes. Each rank counts as one more parameter,
        because its place was searched for. The price of a parameter grows if samples are few.
        """
        return information_criterion(
            self.residual_squared,
            inner(self.problem.data, self.problem.data),
            numbers=self.sample_count,
            parameters=self.parameters + (0 if self.noise is None else self.noise.order),
            rank=self.rank,
            log_determinant=self.log_determinant,
        )

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("problem", repr(self.problem)),
            ("rank", f"{self.rank}: {self.parameters} parameters for {self.sample_count} numbers"),
            ("noise", "unknown" if self.sigma is None else f"{self.sigma:.4g} (sigma)"),
            ("violation", f"{self.relative_violation:.2g} of the structure"),
        ]


def _times(sigma: float, errors: NDArray) -> NDArray:
    """Errors for noise of a deviation that may be zero; infinite ones stay infinite."""
    known = np.isfinite(errors)
    return np.where(known, sigma * np.where(known, errors, 0.0), np.inf)


def information_criterion(
    square: float,
    data_square: float,
    *,
    numbers: int,
    parameters: int,
    rank: int,
    log_determinant: float = 0.0,
) -> float:
    """Compute `Refit.information` from squared residuals and data, and from counts.

    The logarithm of the determinant is that of the correlation matrix of the noise.
    """
    left = numbers - parameters - 1
    if left < 1:
        return np.inf
    rounding = 1e-10  # residuals below this share of the data are rounding errors
    square = max(square, rounding**2 * data_square, np.finfo(float).tiny)
    price = np.log(numbers) * numbers / left
    misfit = numbers * np.log(square / numbers) + log_determinant
    return float(misfit + (parameters + rank) * price)


def residual_squared(problem: Problem, y: Array) -> float:
    """`||A(y) - b||^2`."""
    residual = problem.residual(y)
    return inner(residual, residual)


def number_count(problem: Problem) -> int:
    """How many real numbers are measured; a complex sample counts as two."""
    return problem.sample_count * (2 if is_complex(problem.b) else 1)


def noise_deviation(
    problem: Problem, square: float, freedom: int, sigma: float | None
) -> float | None:
    """The given sigma, or its estimate from a squared residual and its degrees of freedom."""
    if sigma is not None:
        return sigma
    parts = 2 if is_complex(problem.b) else 1
    return float(np.sqrt(parts * square / freedom)) if freedom > 0 else None


def relative_violation(structure: Structure, X: LowRank, y: Array) -> float:
    """`||X - Q(y)||_F / ||Q(y)||_F`, to about 1e-8."""
    U, V, y = (np.float64(1) * to_numpy(x) for x in (X.U, X.V, y))
    X = LowRank(U, V)
    if structure.offset is not None:
        matrix = structure.to_dense(y)
        apart = matrix - X.to_dense()
        square, distance = inner(matrix, matrix), inner(apart, apart)
    else:
        size = float(np.max(np.abs(y)))  # squares may leave the range
        size = size if size >= np.finfo(float).tiny else 1.0  # its inverse, too
        X, y = X.scaled(1 / size), y / size
        square = inner(y, structure.multiplicity * y)
        distance = X.norm_squared() - 2 * inner(y, structure.adjoint(X.U, X.V)) + square
    return float(np.sqrt(max(distance, 0.0) / square)) if square > 0 else 0.0
