"""The problem: a structure, samples, how they were measured, and the weight of rank."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._array import (
    Array,
    NDArray,
    array_namespace,
    as_array,
    inner,
    is_complex,
    to_numpy,
)
from .._checks import floating_array, instance_of, positive
from ..structures import Structure
from .lowrank import LowRank
from .measure import as_measure
from .sample_range import SampleRange, largest_size

FAR = 1e3  # the paper's start of ones is up to a hundred times too large, and starts there


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """Structured low-rank recovery, the paper's (relax).

    `min_y  1/2 ||A(y) - b||^2 + mu ||Q(y)||_*`

    Parameters
    ----------
    structure : Structure
        The map Q from signals to matrices.
    b : array
        The samples, real or complex floating point, as an array of NumPy, PyTorch, CuPy or JAX.
        The solution has the same library, device and precision. With a mask or weights, `b` has
        the signal's shape; entries that are not seen are ignored and may be NaN. The largest is
        between 1e-75 and 1e75 in size, in single precision between 1e-9 and 1e9.
    mu : float
        Weight of the nuclear norm, above zero.
    measure : optional
        How `b` was taken from the signal: None (the whole signal), `Mask(seen)`,
        `Weighted(weights)`, "lifted" (weights `sqrt(multiplicity)`), a SciPy or PyLops linear
        operator, or a pair of functions (forward, adjoint).

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem
    >>> Problem(Hankel(5, window=3), np.array([1.0, 2.0, 4.0, 8.0, 16.0]), mu=0.1)
    Problem(Hankel((5,), window=(3,)), 5 of 5 samples seen, mu=0.1)
    """

    structure: Structure
    b: Array
    mu: float
    measure: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.structure, Structure):
            raise TypeError(
                f"structure is {type(self.structure).__name__}, but a Structure such as "
                "Hankel(100, window=50) is expected"
            )
        if isinstance(self.b, np.ma.MaskedArray):
            raise TypeError(
                "b is a masked array, but a plain array is expected: pass b.data and "
                "measure=Mask(~b.mask)"
            )
        b = as_array(self.b)
        floating_array(b, "b")
        b = array_namespace(b).asarray(b, copy=True)  # the user may change theirs later
        check_multiplicity(self.structure)
        whole = self.measure is None
        measure = as_measure(self.measure, self.structure, b).prepared(self.structure, b)
        object.__setattr__(self, "mu", positive(self.mu, "mu"))
        object.__setattr__(self, "b", b)
        object.__setattr__(self, "measure", measure)
        self._check_numbers(SampleRange(), whole)
        offset = self.structure.offset
        if offset is not None and np.iscomplexobj(offset) and not is_complex(self.backprojection):
            raise ValueError(
                "the structure's offset is complex, but the signal is real: make b complex"
            )

    def _check_numbers(self, limits: SampleRange, whole: bool) -> None:
        """Raise an error unless samples and weights are finite and in range."""
        seen = to_numpy(self.b)[self.seen]
        if not np.all(np.isfinite(seen)):
            hint = "; if NaN means missing, pass measure=Mask(~np.isnan(b))"
            raise ValueError(
                "b contains NaN or inf where it is seen, but finite numbers are expected"
                + (hint if whole else "")
            )
        limits.check(seen)
        limits.check_weighted_samples(self.data, self.b)

    @cached_property
    def data(self) -> Array:
        """The right-hand side in the space of `A(y)`; zero where samples are missing."""
        return self.measure.data(self.b)

    @cached_property
    def backprojection(self) -> Array:
        """`A^* b`: a signal in the library, device and precision of the solution."""
        return self.measure.adjoint(self.data)

    @cached_property
    def sample_weights(self) -> Array | None:
        """The weight of every sample; None for an operator, which does not sample the signal."""
        return self.measure.sample_weights(self.b)

    @cached_property
    def seen(self) -> NDArray:
        """Which entries of `b` are used: those with a weight above zero; all for an operator."""
        if self.sample_weights is None:
            return np.ones(tuple(self.b.shape), dtype=bool)
        return np.asarray(to_numpy(self.sample_weights) > 0)

    @property
    def sample_count(self) -> int:
        """Number of samples, or of measurements by an operator."""
        return int(np.count_nonzero(self.seen))

    def residual(self, y: Array) -> Array:
        """Compute `b - A(y)`, the part of the data that a signal does not explain."""
        return self.data - self.measure.forward(y)

    def predicted(self, y: Array) -> Array:
        """Predict `b` for a signal without noise; this is `y` itself if `b` has samples of it."""
        return self.measure.predicted(y)

    def without(self, part: NDArray) -> Problem:
        """Return the problem without some samples, which a boolean array marks.

        If all others are below the range of samples, they were rounding beside these: now zero.
        """
        measure, b = self.measure.without(part, self.b)
        if not SampleRange().includes(to_numpy(self.b)[self.seen & ~part]):
            b = array_namespace(b).zeros_like(b)
        return replace(self, b=b, measure=measure)

    def with_mu(self, mu: float) -> Problem:
        """Return the problem with another mu; samples and measure are not checked again."""
        changed = copy(self)
        object.__setattr__(changed, "mu", positive(mu, "mu"))
        return changed

    def with_samples(self, b: Array) -> Problem:
        """Return the problem with other samples, known to be finite and like the ones here."""
        changed = copy(self)
        object.__setattr__(changed, "b", b)
        for name in ("data", "backprojection"):
            changed.__dict__.pop(name, None)
        return changed

    def misfit(self, y: Array) -> float:
        """Compute `1/2 ||A(y) - b||^2`."""
        residual = self.residual(y)
        return inner(residual, residual) / 2

    def __repr__(self) -> str:
        total = int(np.prod(self.structure.signal_shape))
        if self.sample_weights is None:
            what = f"{self.sample_count} measurements by an operator"
        else:
            what = f"{self.sample_count} of {total} samples seen"
        return f"Problem({self.structure!r}, {what}, mu={self.mu:g})"


def check_multiplicity(structure: Structure) -> None:
    """Raise an error unless every entry of the signal occurs in the matrix."""
    unused = int(np.count_nonzero(structure.multiplicity < 1))
    if unused:
        raise ValueError(
            f"{unused} entries of the signal of {structure!r} do not occur in its matrix, but "
            "every entry is expected to occur"
        )


def checked_start(start: LowRank | None, problem: Problem, *, quadratic: bool = True) -> LowRank:
    """Check mu and a start, and convert the start to the data type of the problem.

    The default is zero. With a loss that is not `quadratic`, a gross error may be so large that
    any mu is below its rounding.

    If all data are zero, the start is zero, which is the solution. A relative gap can be zero only
    there. A start that is far larger than any solution is scaled down.
    """
    shape, reference = problem.structure.shape, problem.backprojection
    if quadratic:
        SampleRange().check_mu(problem.mu, reference)
    if start is None:
        return LowRank.zeros(shape, reference)
    instance_of(start, LowRank, "start")
    if start.shape != shape:
        raise ValueError(
            f"start has shape {start.shape}, but {problem.structure!r} expects {shape}"
        )
    if type(start.U) is not type(reference):
        raise TypeError(
            f"start consists of {type(start.U).__name__}, but the problem of "
            f"{type(reference).__name__}: arrays of one array library are expected"
        )
    if is_complex(start.U) and not is_complex(reference):
        raise TypeError("start is complex, but the signal is real: a real start is expected")
    if not all(np.all(np.isfinite(to_numpy(F))) for F in (start.U, start.V)):
        raise ValueError("start contains NaN or inf, but finite factors are expected")
    if problem.structure.offset is None and inner(problem.data, problem.data) == 0:
        return LowRank.zeros(shape, reference)
    start = _not_too_large(start, problem)
    xp = array_namespace(start.U, reference)
    return LowRank(*(xp.astype(F, reference.dtype, copy=False) for F in (start.U, start.V)))


def _not_too_large(start: LowRank, problem: Problem) -> LowRank:
    """Scale a start that is far too large down to the largest nuclear norm of a solution.

    At this norm, mu times it is the objective at zero. Starts far above it leave the range of
    numbers, or so large residuals that the samples are rounding beside them.
    """
    most, offset = inner(problem.data, problem.data) / (2 * problem.mu), problem.structure.offset
    if offset is not None:
        most += float(np.sqrt(min(offset.shape)) * np.linalg.norm(offset))
    with np.errstate(over="ignore", invalid="ignore"):
        if _norm_bound(start) <= FAR * most:
            return start
    sizes = [largest_size(F) or 1.0 for F in (start.U, start.V)]
    unit = LowRank(start.U / sizes[0], start.V / sizes[1])
    norm = max(_norm_bound(unit), np.finfo(float).tiny)
    return unit.scaled(min(most / norm, sizes[0] * sizes[1]))


def _norm_bound(X: LowRank) -> float:
    """A number of at least the nuclear norm, which it is for balanced factors."""
    return float(np.sqrt(inner(X.U, X.U)) * np.sqrt(inner(X.V, X.V)))
