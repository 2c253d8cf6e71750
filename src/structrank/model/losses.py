"""Smooth losses that are not quadratic, each with a quadratic upper bound at every point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from .._array import Array, array_namespace, is_complex, to_numpy
from .._checks import positive
from .problem import Problem


class Loss(ABC):
    """A convex, smooth loss of at least zero: `sum_t l(z_t, b_t)` for predictions z of samples b.

    A subclass computes three arrays, each from arrays z and b of the same shape. They use the
    array API, so that losses work for all array libraries.

    Examples
    --------
    Half the squares, as in `gcgls`:

    >>> import numpy as np
    >>> from structrank import Hankel, Loss, Problem, Stop, gcgls, gcgls_loss
    >>> class HalfSquares(Loss):
    ...     def values(self, z, b):
    ...         return abs(z - b) ** 2 / 2
    ...
    ...     def slopes(self, z, b):
    ...         return z - b
    ...
    ...     def curvatures(self, z, b):
    ...         return np.ones(b.shape)
    >>> problem = Problem(Hankel(9, window=5), 0.5 ** np.arange(9.0), mu=0.01)
    >>> stop = Stop(xtol=None, rtol=None, gap=1e-6)
    >>> one = gcgls_loss(problem, HalfSquares(), lam=1.0, stop=stop)
    >>> bool(np.isclose(one.objective, gcgls(problem, lam=1.0, stop=stop).objective))
    True
    """

    @abstractmethod
    def values(self, z: Array, b: Array) -> Array:
        """Compute the loss of every sample."""

    @abstractmethod
    def slopes(self, z: Array, b: Array) -> Array:
        """Compute the derivative of every loss by z; for complex z, by its parts: `dx + i dy`."""

    @abstractmethod
    def curvatures(self, z: Array, b: Array) -> Array:
        """Compute real numbers c > 0 such that quadratics with curvature c are upper bounds.

        For all d, `l(z + d, b) <= l(z, b) + Re(conj(slope) d) + c/2 |d|^2`. The Lipschitz
        constant of the slope is such a number. A smaller one makes faster steps.
        """

    def check(self, problem: Problem) -> None:
        """Raise an error if the samples of a problem do not suit the loss."""
        return


@dataclass(frozen=True)
class Huber(Loss):
    """Half the square of residuals up to a threshold, linear beyond: gross errors count less.

    The samples are real or complex.

    Parameters
    ----------
    threshold : float
        In the units of `b`, above zero.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Huber
    >>> Huber(1.0).values(np.array([0.5, 3.0]), np.zeros(2))
    array([0.125, 2.5  ])
    """

    threshold: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", positive(self.threshold, "threshold"))

    def values(self, z: Array, b: Array) -> Array:
        sizes = abs(z - b)
        inside = array_namespace(sizes).clip(sizes, None, self.threshold)
        return inside * (sizes - inside / 2)

    def slopes(self, z: Array, b: Array) -> Array:
        return self.curvatures(z, b) * (z - b)

    def curvatures(self, z: Array, b: Array) -> Array:
        sizes = abs(z - b)
        return self.threshold / array_namespace(sizes).clip(sizes, self.threshold, None)


@dataclass(frozen=True)
class Logistic(Loss):
    """The logistic loss `log(1 + exp(-b_t z_t))` of binary samples, +1 or -1.

    This is the negative log-likelihood if a sample is +1 with probability `1 / (1 + exp(-z_t))`.
    The solution is the signal z of log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Logistic
    >>> Logistic().values(np.array([0.0, 2.0]), np.array([1.0, -1.0])).round(4)
    array([0.6931, 2.1269])
    """

    def values(self, z: Array, b: Array) -> Array:
        margins = b * z
        xp = array_namespace(margins)
        return xp.logaddexp(xp.zeros_like(margins), -margins)

    def slopes(self, z: Array, b: Array) -> Array:
        # -b / (1 + exp(b z)), written so that it cannot overflow
        return -b * (1 - array_namespace(z).tanh(b * z / 2)) / 2

    def curvatures(self, z: Array, b: Array) -> Array:
        # The quadratic of Jaakkola and Jordan (2000); the Lipschitz constant is 1/4.
        margins = abs(b * z)
        xp = array_namespace(margins)
        at_zero = margins == 0
        safe = xp.where(at_zero, xp.ones_like(margins), margins)
        return xp.where(at_zero, xp.ones_like(margins) / 4, xp.tanh(safe / 2) / (2 * safe))

    def check(self, problem: Problem) -> None:
        samples = to_numpy(problem.b)[problem.seen]
        if is_complex(problem.b) or not np.all(np.abs(samples) == 1):
            raise ValueError(
                "b contains samples other than +1 and -1, but the logistic loss expects these two "
                "numbers"
            )
