"""Many problems of one structure, as arrays whose first axis is the problem."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, overload

import numpy as np

from .._array import Array, NDArray, array_namespace, as_array, like, to_numpy
from .._checks import floating_array, instance_of
from ..structures import Structure
from .measure import Everything, Weighted, as_measure
from .problem import Problem, check_multiplicity
from .sample_range import SampleRange


class Problems(Sequence[Problem]):
    """Many problems (relax) of one structure: a sequence of `Problem`, kept as a few arrays.

    All samples are checked at once, and a `Problem` is built when it is asked for. Thousands of
    them, above all on a GPU, are ready in the time of a few.

    Parameters
    ----------
    structure : Structure
        The map Q from signals to matrices, the same for all.
    b : array, shape (problems, ...)
        The samples; the first axis is the problem.
    mu : float or array of float
        Weight of the nuclear norm, above zero: one for all, or one per problem.
    measure : optional
        How `b` was taken from the signals: None (whole signals), `Mask(seen)`, `Weighted(weights,
        seen)` or "lifted". `seen` and `weights` have the shape of `b` or that of one signal.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Mask, Problems, solve_many
    >>> b = np.array([0.5, 0.8])[:, None] ** np.arange(9.0)
    >>> b[0, 3] = np.nan
    >>> problems = Problems(Hankel(9, window=5), b, mu=0.01, measure=Mask(~np.isnan(b)))
    >>> problems[0]
    Problem(Hankel((9,), window=(5,)), 8 of 9 samples seen, mu=0.01)
    >>> solve_many(problems, lam=1.0).rank.tolist()
    [1, 1]
    """

    def __init__(self, structure: Structure, b: Array, mu: Any, measure: Any = None) -> None:
        instance_of(structure, Structure, "structure")
        b = as_array(b)
        floating_array(b, "b")
        shape = structure.signal_shape
        if b.ndim != len(shape) + 1 or tuple(b.shape[1:]) != shape or not b.shape[0]:
            expected = ", ".join(("problems", *map(str, shape)))
            raise ValueError(
                f"b has shape {tuple(b.shape)}, but {structure!r} expects ({expected}), with at "
                "least one problem"
            )
        check_multiplicity(structure)
        self.structure, self.b = structure, array_namespace(b).asarray(b, copy=True)
        self.mu = _one_each(mu, b.shape[0])
        self.weights = _weights(as_measure(measure, structure, b), structure, self.b)
        self._check()

    @property
    def data(self) -> Array:
        """The right-hand sides; zero where samples are missing."""
        xp = array_namespace(self.b)
        return self.weights * xp.where(self.weights > 0, self.b, xp.zeros_like(self.b))

    def _check(self) -> None:
        """Build those problems that may have bad samples or weights, which raises their error."""
        xp, limits = array_namespace(self.b), SampleRange()
        axes = tuple(range(1, self.b.ndim))
        used = xp.where(self.weights > 0, self.b, xp.zeros_like(self.b))
        finite = xp.all(xp.isfinite(used), axis=axes)
        sizes = [xp.max(xp.abs(x), axis=axes) for x in (used, self.weights, self.data)]
        within = [np.asarray(limits.in_range(to_numpy(size), self.b)) for size in sizes]
        good = to_numpy(finite) & within[0] & within[1] & within[2]
        tiny = (self.weights > 0) & (self.weights < 1 / limits.double)
        good &= (to_numpy(sizes[1]) > 0) & ~to_numpy(xp.any(tiny, axis=axes))
        for i in np.flatnonzero(~good):
            try:
                self[int(i)]
            except ValueError as error:
                raise ValueError(f"problem {i}: {error}") from error

    def __len__(self) -> int:
        return int(self.b.shape[0])

    @overload
    def __getitem__(self, i: int) -> Problem: ...

    @overload
    def __getitem__(self, i: slice) -> Problems: ...

    def __getitem__(self, i: int | slice) -> Problem | Problems:
        if isinstance(i, slice):
            part = copy(self)
            part.b, part.weights, part.mu = self.b[i, ...], self.weights[i, ...], self.mu[i]
            return part
        i = range(len(self))[i]  # negative ones count from the end; an IndexError ends loops
        weights = Weighted(self.weights[i, ...])
        return Problem(self.structure, self.b[i, ...], float(self.mu[i]), weights)

    def __repr__(self) -> str:
        return f"Problems({len(self)} of {self.structure!r})"


def _one_each(mu: Any, count: int) -> NDArray:
    """One mu per problem."""
    values = np.asarray(to_numpy(as_array(mu)), dtype=float)
    if values.shape not in ((), (count,)):
        raise ValueError(
            f"mu has shape {values.shape}, but one number, or {count}, one per problem, are "
            "expected"
        )
    if not np.all((values > 0) & np.isfinite(values)):
        raise ValueError("mu contains a number that is not finite and above zero")
    return np.broadcast_to(values, (count,)).copy()


def _weights(measure: Any, structure: Structure, b: Array) -> Array:
    """The weights of all samples, zero where they are missing, like the samples."""
    shape = tuple(b.shape)
    if isinstance(measure, Everything):
        return like(np.ones(shape), b, real=True)
    if not isinstance(measure, Weighted):
        raise TypeError(
            f"measure is {type(measure).__name__}, but None, Mask, Weighted or 'lifted' is "
            "expected: build a list of Problem for operators"
        )
    lifted = isinstance(measure.weights, str)
    weights = np.sqrt(structure.multiplicity) if lifted else to_numpy(measure.weights)
    seen = np.ones((), dtype=bool) if measure.seen is None else measure.seen
    for name, values in (("seen", seen), ("weights", weights)):
        if values.shape not in ((), shape, shape[1:]):
            raise ValueError(
                f"{name} has shape {values.shape}, but {shape} or {shape[1:]} is expected"
            )
    return like(np.broadcast_to(np.where(seen, weights, 0.0), shape).copy(), b, real=True)
