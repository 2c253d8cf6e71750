"""How samples are taken from a signal: all of it, a mask, weights or any linear operator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from .._array import (
    Array,
    NDArray,
    array_namespace,
    as_array,
    epsilon,
    inner,
    is_complex,
    is_floating,
    like,
    to_numpy,
    with_precision,
)
from .._checks import boolean_array
from ..structures import Structure
from .sample_range import SampleRange


class Measure(ABC):
    """A linear map A from signals to data, with the misfit `1/2 ||A(y) - data(b)||^2`.

    Examples
    --------
    A `Mask` keeps some samples:

    >>> import numpy as np
    >>> from structrank import Hankel, Mask, Problem
    >>> y = np.array([1.0, 2.0, 3.0])
    >>> problem = Problem(Hankel(3, window=2), y, mu=0.1, measure=Mask(y != 2))
    >>> problem.measure.forward(y)
    array([1., 0., 3.])
    """

    @abstractmethod
    def forward(self, y: Array) -> Array:
        """Compute `A(y)`."""

    @abstractmethod
    def adjoint(self, data: Array) -> Array:
        """Compute `A^*(data)`."""

    def data(self, b: Array) -> Array:
        """Convert the samples `b` of the user to the right-hand side, in the space of `A(y)`."""
        return b

    def sample_weights(self, b: Array) -> Array | None:
        """Return the weight of every sample in `b`, or None if `b` is not a sampled signal."""
        return None

    def predicted(self, y: Array) -> Array:
        """Predict `b` for the signal `y` without noise, in the shape and units of `b`."""
        return self.forward(y)

    def without(self, part: NDArray, b: Array) -> tuple[Measure, Array]:
        """Return a measure and samples with a part of the samples removed."""
        xp, shape = array_namespace(b), tuple(b.shape)
        places = np.flatnonzero(~part)
        back = np.full(part.size, len(places))  # one past the end: a zero
        back[places] = np.arange(len(places))

        def forward(y: Array) -> Array:
            return _entries(self.forward(y), places)

        def adjoint(data: Array) -> Array:
            padded = xp.concat([data, xp.zeros_like(data[:1])])
            return self.adjoint(xp.reshape(_entries(padded, back), shape))

        return Operator(forward, adjoint), _entries(b, places)

    def prepared(self, structure: Structure, b: Array) -> Measure:
        """Check the measure for a structure and samples, and return it ready for use."""
        return self


class Weighted(Measure):
    """Samples of the signal itself, each with a weight: `1/2 ||weights * (y - b)||^2`.

    `b` has the signal's shape and units. Samples with weight zero count as missing: they are
    ignored and may be NaN.

    Parameters
    ----------
    weights : array or "lifted"
        Real weights of at least zero, in the signal's shape. "lifted" means
        `sqrt(multiplicity)`: this measures the misfit in the structured matrix and makes the
        problem well conditioned.
    seen : array of bool, optional
        Which samples are present; the others get weight zero.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, Weighted
    >>> b = np.array([1.0, np.nan, 4.0, 8.0])
    >>> p = Problem(Hankel(4, window=2), b, mu=0.1, measure=Weighted("lifted", ~np.isnan(b)))
    >>> p.measure.weights
    array([1.        , 0.        , 1.41421356, 1.        ])
    """

    def __init__(self, weights: Any, seen: Any = None) -> None:
        if isinstance(weights, str):
            if weights != "lifted":
                raise ValueError(f"weights is {weights!r}, but 'lifted' or an array is expected")
            self.weights: Any = weights
        else:
            self.weights = as_array(weights)
            host = to_numpy(self.weights)
            if host.dtype.kind not in "fiu":
                raise TypeError(f"weights has dtype {host.dtype}, but real numbers are expected")
            if not np.all(np.isfinite(host)) or np.any(host < 0):
                raise ValueError(
                    "weights contains NaN, inf or a negative number, but finite "
                    "numbers of at least zero are expected"
                )
        self.seen = None if seen is None else boolean_array(seen, "seen")

    @classmethod
    def of(cls, weights: Array) -> Weighted:
        """Weights that were checked before, in the library and precision of the samples."""
        measure = object.__new__(Weighted)
        measure.weights, measure.seen = weights, None
        return measure

    def prepared(self, structure: Structure, b: Array) -> Weighted:
        lifted = isinstance(self.weights, str)
        weights = np.sqrt(structure.multiplicity) if lifted else to_numpy(self.weights)
        weights = weights.astype(float)
        _check_shape("weights", weights.shape, structure.signal_shape, structure)
        if self.seen is not None:
            _check_shape("seen", self.seen.shape, structure.signal_shape, structure)
            weights = np.where(self.seen, weights, 0.0)
        _check_shape("b", b.shape, structure.signal_shape, structure)
        if not np.any(weights > 0):
            raise ValueError(
                "all samples are missing or have weight zero, but at least one with a weight above "
                "zero is expected"
            )
        SampleRange().check_weights(weights, b)
        SampleRange().check_smallest_weight(weights)
        return Weighted(like(weights, b, real=True))

    def data(self, b: Array) -> Array:
        xp = array_namespace(b)
        return self.weights * xp.where(self.weights > 0, b, xp.zeros_like(b))

    def sample_weights(self, b: Array) -> Array:
        return self.weights

    def predicted(self, y: Array) -> Array:
        return y

    def without(self, part: NDArray, b: Array) -> tuple[Measure, Array]:
        return Weighted(self.weights, ~part), b

    def forward(self, y: Array) -> Array:
        return self.weights * y

    def adjoint(self, data: Array) -> Array:
        return self.weights * data


class Mask(Weighted):
    """Samples of the signal itself at some places: `1/2 ||y - b||^2` over the samples seen.

    `b` has the signal's shape. Entries that are not seen are ignored and may be NaN.

    Parameters
    ----------
    seen : array of bool
        True where the signal is seen.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Mask, Problem
    >>> b = np.array([1.0, np.nan, 4.0, 8.0])
    >>> Problem(Hankel(4, window=2), b, mu=0.1, measure=Mask(~np.isnan(b)))
    Problem(Hankel((4,), window=(2,)), 3 of 4 samples seen, mu=0.1)
    """

    def __init__(self, seen: Any) -> None:
        seen = boolean_array(seen, "seen")
        super().__init__(np.ones(seen.shape), seen)


class Everything(Measure):
    """The whole signal: `1/2 ||y - b||^2`."""

    def sample_weights(self, b: Array) -> Array:
        return like(np.ones(tuple(b.shape)), b, real=True)

    def without(self, part: NDArray, b: Array) -> tuple[Measure, Array]:
        return Weighted(~part * 1.0), b

    def forward(self, y: Array) -> Array:
        return y

    def adjoint(self, data: Array) -> Array:
        return data

    def prepared(self, structure: Structure, b: Array) -> Measure:
        _check_shape("b", b.shape, structure.signal_shape, structure)
        return self


class Operator(Measure):
    """Any linear map, given as a pair of functions.

    Parameters
    ----------
    forward : callable
        Takes a signal and returns an array of the shape of `b`.
    adjoint : callable
        Takes such an array and returns a signal. The data type of this signal is that of the
        solution: return real parts if the signal is real.

    Examples
    --------
    Measure the running sum of a signal:

    >>> import numpy as np
    >>> from structrank import Hankel, Operator, Problem
    >>> running_sum = Operator(np.cumsum, lambda d: np.cumsum(d[::-1])[::-1])
    >>> Problem(Hankel(4, window=2), np.array([1.0, 3.0, 7.0, 15.0]), 0.1, running_sum)
    Problem(Hankel((4,), window=(2,)), 4 measurements by an operator, mu=0.1)
    """

    def __init__(
        self, forward: Callable[[Array], Array], adjoint: Callable[[Array], Array]
    ) -> None:
        self._forward, self._adjoint = forward, adjoint

    def forward(self, y: Array) -> Array:
        return _copied(self._forward(y))

    def adjoint(self, data: Array) -> Array:
        return _copied(self._adjoint(data))

    def prepared(self, structure: Structure, b: Array) -> Operator:
        """Check the operator's shapes, and its adjoint by a dot test."""
        back = self.adjoint(b)
        _check_shape("the adjoint's result", back.shape, structure.signal_shape, structure)
        rng = np.random.default_rng(0)
        y, data = _random_like(back, rng), _random_like(b, rng)
        there = self.forward(y)
        if tuple(there.shape) != tuple(b.shape):
            raise ValueError(
                f"the operator's result has shape {tuple(there.shape)}, but b has shape "
                f"{tuple(b.shape)}"
            )
        one, other = inner(there, data), inner(y, self.adjoint(data))
        scale = np.sqrt(inner(there, there) * inner(data, data))
        tolerance = 1e3 * epsilon(back) ** 0.75  # 2e-9 in double, 6e-3 in single precision
        if not abs(one - other) <= tolerance * scale:
            raise ValueError(
                "the operator's adjoint fails the dot test: Re <A y, d> is "
                f"{one:.6g}, but Re <y, A^* d> is {other:.6g} for random y and d, and equal "
                "numbers are expected"
            )
        return self


def as_measure(measure: Any, structure: Structure, b: Array) -> Measure:
    """Convert a user's `measure` argument to a `Measure`."""
    if measure is None:
        return Everything()
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, str):
        return Weighted(measure)
    if isinstance(measure, tuple) and len(measure) == 2 and all(map(callable, measure)):
        return Operator(*measure)
    if hasattr(measure, "matvec") and hasattr(measure, "rmatvec"):
        return _from_linear_operator(measure, structure, b)
    raise TypeError(
        f"measure is {type(measure).__name__}, but None (the whole signal), Mask, Weighted, "
        "'lifted', a linear operator with matvec and rmatvec, or a pair of functions (forward, "
        "adjoint) is expected"
    )


def _from_linear_operator(operator: Any, structure: Structure, b: Array) -> Operator:
    """Convert a SciPy or PyLops operator, which works on flat NumPy vectors."""
    size, count = int(np.prod(structure.signal_shape)), int(np.prod(b.shape))
    if tuple(operator.shape) != (count, size):
        raise ValueError(
            f"the operator has shape {tuple(operator.shape)}, but b has {count} entries and the "
            f"signals of {structure!r} have {size} entries: expected ({count}, {size})"
        )

    def applied(product: Callable[[NDArray], NDArray], x: Array, shape: tuple[int, ...]) -> Array:
        result = np.reshape(product(to_numpy(x).reshape(-1)), tuple(shape))
        return with_precision(result, b)

    return Operator(
        lambda y: applied(operator.matvec, y, b.shape),
        lambda data: applied(operator.rmatvec, data, structure.signal_shape),
    )


def _entries(values: Array, places: NDArray) -> Array:
    """Select entries of the flattened values."""
    xp = array_namespace(values)
    return xp.take(xp.reshape(values, (-1,)), like(places, values), axis=0)


def _copied(result: Any) -> Array:
    """Copy an operator's result, since operators may reuse their memory."""
    if not is_array_api_obj(result) or not is_floating(result):
        kind = getattr(result, "dtype", type(result).__name__)
        raise TypeError(f"the operator returned {kind}, but a floating-point array is expected")
    return array_namespace(result).asarray(result, copy=True)


def _random_like(x: Array, rng: np.random.Generator) -> Array:
    values = rng.standard_normal(tuple(x.shape))
    if is_complex(x):
        values = values + 1j * rng.standard_normal(tuple(x.shape))
    return like(values, x)


def _check_shape(
    name: str, got: tuple[int, ...], expected: tuple[int, ...], structure: Structure
) -> None:
    if tuple(got) != tuple(expected):
        raise ValueError(
            f"{name} has shape {tuple(got)}, but {structure!r} expects {tuple(expected)}"
        )
