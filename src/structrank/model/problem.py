"""The problem: a structure, samples, how they were measured, and the price of rank."""

from __future__ import annotations

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
    is_floating,
    to_numpy,
)
from .._checks import positive
from ..structures import Structure
from .lowrank import LowRank
from .measure import Everything, as_measure


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """Structured low-rank recovery, the paper's (relax).

    `min_y  1/2 ||A(y) - b||^2 + mu ||Q(y)||_*`

    Parameters
    ----------
    structure : Structure
        The map Q from signals to matrices.
    b : array
        The samples, real or complex floating point. NumPy, PyTorch, CuPy, JAX: the solution
        is of the same library, device and precision. Under a mask or weights
        `b` has the signal's shape, and what is not seen is ignored and may be NaN.
    mu : float
        Price of the nuclear norm, above zero.
    measure : optional
        How `b` came from the signal: None (everything is seen), `Mask(seen)`,
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
            raise TypeError("b is a masked array: pass b.data and measure=Mask(~b.mask) instead")
        b = as_array(self.b)
        if not is_floating(b):
            raise TypeError(
                f"b has dtype {b.dtype}, but a real or complex floating dtype of single or "
                "double precision is expected: convert it first, for example with astype(float)"
            )
        b = array_namespace(b).asarray(b, copy=True)  # later changes are not ours
        check_multiplicity(self.structure)
        measure = as_measure(self.measure, self.structure, b).prepared(self.structure, b)
        object.__setattr__(self, "mu", positive(self.mu, "mu"))
        object.__setattr__(self, "b", b)
        object.__setattr__(self, "measure", measure)
        if not np.all(np.isfinite(to_numpy(self.data))):
            hint = "; if NaN stands for missing, pass measure=Mask(~np.isnan(b))"
            raise ValueError(
                "b holds NaN or inf where it is seen, but finite numbers are expected"
                + (hint if isinstance(measure, Everything) else "")
            )
        offset = self.structure.offset
        if offset is not None and np.iscomplexobj(offset) and not is_complex(self.backprojection):
            raise ValueError(
                "the structure's offset is complex, but the signal is real: make b complex"
            )

    @cached_property
    def data(self) -> Array:
        """The right-hand side in the space of `A(y)`; zero where nothing is seen."""
        return self.measure.data(self.b)

    @cached_property
    def backprojection(self) -> Array:
        """`A^* b`: a signal, of the library, device and precision of the solution."""
        return self.measure.adjoint(self.data)

    @cached_property
    def sample_weights(self) -> Array | None:
        """The weight of every sample; None for an operator, which does not sample the signal."""
        return self.measure.sample_weights(self.backprojection)

    @cached_property
    def seen(self) -> NDArray:
        """Which entries of `b` count: those with a weight above zero, all for an operator."""
        if self.sample_weights is None:
            return np.ones(tuple(self.b.shape), dtype=bool)
        return np.asarray(to_numpy(self.sample_weights) > 0)

    @property
    def sample_count(self) -> int:
        """Number of samples, or of measurements by an operator."""
        return int(np.count_nonzero(self.seen))

    def residual(self, y: Array) -> Array:
        """The part of the data that a signal does not explain, `b - A(y)`."""
        return self.data - self.measure.forward(y)

    def predicted(self, y: Array) -> Array:
        """The values that `b` would have for a signal, without noise: `y` itself for samples."""
        return self.measure.predicted(y)

    def without(self, part: NDArray) -> Problem:
        """The problem with a part of the samples, an array of bool, removed."""
        measure, b = self.measure.without(part, self.b)
        return replace(self, b=b, measure=measure)

    def misfit(self, y: Array) -> float:
        """`1/2 ||A(y) - b||^2`."""
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
    """An error unless every entry of the signal stands in the matrix."""
    unused = int(np.count_nonzero(structure.multiplicity < 1))
    if unused:
        raise ValueError(
            f"{unused} entries of the signal of {structure!r} stand nowhere in its matrix; "
            "every entry is expected to occur"
        )


def checked_start(start: LowRank | None, problem: Problem) -> LowRank:
    """`start` in the data type of the problem, by default zero, or an error if it does not fit.

    Where all data are zero, so is the solution, and the start: a relative gap closes there alone.
    """
    shape, reference = problem.structure.shape, problem.backprojection
    if start is None:
        return LowRank.zeros(shape, reference)
    if not isinstance(start, LowRank):
        raise TypeError(f"start is {type(start).__name__}, but a LowRank is expected")
    if start.shape != shape:
        raise ValueError(f"start has shape {start.shape}, but {problem.structure!r} has {shape}")
    if type(start.U) is not type(reference):
        raise TypeError(
            f"start holds {type(start.U).__name__}, but the problem {type(reference).__name__}: "
            "they have to be of one array library"
        )
    if is_complex(start.U) and not is_complex(reference):
        raise TypeError("start is complex, but the signal is real")
    if not all(np.all(np.isfinite(to_numpy(F))) for F in (start.U, start.V)):
        raise ValueError("start holds NaN or inf, but finite factors are expected")
    if problem.structure.offset is None and inner(problem.data, problem.data) == 0:
        return LowRank.zeros(shape, reference)
    xp = array_namespace(start.U, reference)
    return LowRank(*(xp.astype(F, reference.dtype, copy=False) for F in (start.U, start.V)))
