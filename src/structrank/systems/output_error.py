"""Least-squares fit of a state-space model: its simulated outputs against the outputs seen.

The parameters are all entries of A, B, C, D, the first state, the output offsets and the missing
inputs. Many parameter vectors describe the same system. Damped Gauss-Newton steps work all the same
(McKelvey, Helmersson and Ribarits, "Data driven local coordinates for multivariable linear
systems", Automatica 40, 2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._array import NDArray
from .integrators import free_entries, own_radius
from .recursion import free_responses, state_sequence


@dataclass(frozen=True)
class GaussNewton:
    """Damping of the Gauss-Newton steps.

    Attributes
    ----------
    damping : float
        First damping, as a share of the diagonal of `J^T J`. Set by hand, a common value.
    factor : float
        Factor by which the damping grows after a step that fails, and falls after one that
        succeeds. Set by hand, a common value.
    least_damping : float
        The damping stays above this. Rounding.
    least_diagonal : float
        Entries of the diagonal below this share of the largest are raised to it. Rounding.
    trials : int
        Dampings tried per step. With a factor of 4, the last is 16 million times the first.
    rank_tolerance : float
        Singular values below this share of the largest count as zero in the first linear least
        squares. Rounding, with room for directions that hardly matter.
    """

    damping: float = 1e-2
    factor: float = 4.0
    least_damping: float = 1e-12
    least_diagonal: float = 1e-12
    trials: int = 12
    rank_tolerance: float = 1e-10


@dataclass(frozen=True, eq=False)
class OutputError:
    """Squared error of the simulated outputs, and of guesses of missing inputs.

    Parameters
    ----------
    u : ndarray, shape (samples, m)
        Inputs, with a guess where an input is missing.
    y : ndarray, shape (samples, p)
        Outputs, NaN where missing.
    order : int
        Number of states.
    offset : bool
        Whether to fit an offset of the outputs.
    radius : float
        Bound on the absolute values of the poles.
    price : ndarray, shape (samples, m), optional
        Weight of the squared distance between an input and its guess; zero: the input is known.
    integrators : int
        Number of poles that are one. A has the form that `integrators` describes.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.systems.output_error import OutputError
    >>> u = np.random.default_rng(0).standard_normal((50, 1))
    >>> y = np.convolve(u[:, 0], 0.8 ** np.arange(50))[:50, None]
    >>> problem = OutputError(u, y, order=1, offset=False, radius=0.99)
    >>> theta = problem.minimize(problem.start(np.array([[0.5]]), np.array([[1.0]])), 50, 1e-9)
    >>> float(problem.split(theta)[0].round(6).item())
    0.8
    """

    u: NDArray
    y: NDArray
    order: int
    offset: bool
    radius: float
    price: NDArray | None = None
    integrators: int = 0

    @cached_property
    def seen(self) -> NDArray:
        """Which outputs are seen."""
        return ~np.isnan(self.y)

    @cached_property
    def unknown(self) -> tuple[NDArray, ...]:
        """Indices of the missing inputs: samples and channels."""
        return np.nonzero(np.zeros_like(self.u) if self.price is None else self.price)

    @cached_property
    def root_price(self) -> NDArray:
        """Square roots of the prices of the missing inputs."""
        return np.zeros(0) if self.price is None else np.sqrt(self.price[self.unknown])

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of A, B, C, D, the first state, the offsets and the moves of missing inputs."""
        n, m, p = self.order, self.u.shape[1], self.y.shape[1]
        offsets = p if self.offset else 0
        return (n, n), (n, m), (p, n), (p, m), (n,), (offsets,), (len(self.unknown[0]),)

    @cached_property
    def free(self) -> NDArray:
        """Which parameters may change."""
        entries = free_entries(self.order, self.integrators).reshape(-1)
        rest = sum(int(np.prod(shape)) for shape in self.shapes[1:])
        return np.concatenate([entries, np.ones(rest, dtype=bool)])

    def split(self, theta: NDArray) -> list[NDArray]:
        """Split a vector of all parameters into its parts, in the order of `shapes`."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        parts = np.split(theta, ends[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def inputs(self, theta: NDArray) -> NDArray:
        """Inputs, with missing ones moved from their guess."""
        u = self.u.copy()
        u[self.unknown] += self.split(theta)[-1]
        return u

    def outputs(self, theta: NDArray) -> NDArray:
        """Simulated outputs."""
        A, B, C, D, start, offsets, _ = self.split(theta)
        u = self.inputs(theta)
        y = state_sequence(A, start, u @ B.T) @ C.T + u @ D.T
        return np.asarray(y + offsets if self.offset else y)

    def residual(self, theta: NDArray) -> NDArray:
        """Errors of the outputs that are seen, then the weighted moves of missing inputs."""
        moved = self.root_price * self.split(theta)[-1]
        return np.concatenate([(self.outputs(theta) - self.y)[self.seen], moved])

    def value(self, theta: NDArray) -> float:
        """Sum of the squared residuals; infinite if a pole is too large."""
        if not own_radius(self.split(theta)[0], self.integrators) < self.radius:
            return np.inf
        residual = self.residual(theta)
        return float(residual @ residual)

    def jacobian(self, theta: NDArray) -> NDArray:
        """Derivatives of the residual.

        A change of A or B drives the states, and the outputs respond through `C A^t`. These are
        convolutions, all computed with one set of FFTs.
        """
        A, B, C, D, start, _, moves = self.split(theta)
        (steps, m), n, p = self.u.shape, self.order, self.y.shape[1]
        u = self.inputs(theta)
        free = free_responses(A, C, steps)
        z = np.concatenate([state_sequence(A, start, u @ B.T), u], axis=1)
        length = next_fast_len(2 * steps, real=True)
        products = rfft(free, length, axis=0)[..., None] * rfft(z, length, axis=0)[:, None, None]
        driven = np.zeros((steps, p, n, n + m))
        driven[1:] = irfft(products, length, axis=0)[: steps - 1]
        eye = np.eye(p)
        blocks = [
            driven[..., :n].reshape(steps, p, -1),
            driven[..., n:].reshape(steps, p, -1),
            np.einsum("ab,tj->tabj", eye, z[:, :n]).reshape(steps, p, -1),
            np.einsum("ab,tj->tabj", eye, z[:, n:]).reshape(steps, p, -1),
            free,
        ]
        if self.offset:
            blocks.append(np.broadcast_to(eye, (steps, p, p)))
        J = np.concatenate(blocks, axis=2)[self.seen]
        if not moves.size:
            return np.asarray(J)
        t, a = (index[:, None] for index in np.nonzero(self.seen))
        s, b = (index[None, :] for index in self.unknown)
        markov = np.concatenate([D[None], free[:-1] @ B])
        J_inputs = np.where(t >= s, markov[np.maximum(t - s, 0), a, b], 0.0)
        below = np.zeros((moves.size, J.shape[1]))
        return np.block([[J, J_inputs], [below, np.diag(self.root_price)]])

    def start(self, A: NDArray, C: NDArray, rules: GaussNewton = GaussNewton()) -> NDArray:
        """Parameter vector for given A and C; linear least squares gives the other parts."""
        blank = [np.zeros(shape) for shape in self.shapes]
        blank[0], blank[2] = A, C
        theta = np.concatenate([part.reshape(-1) for part in blank])
        fixed = [np.full(shape, k in (0, 2, 6)) for k, shape in enumerate(self.shapes)]
        free = ~np.concatenate([part.reshape(-1) for part in fixed])
        J, residual = self.jacobian(theta)[:, free], self.residual(theta)
        scale = np.linalg.norm(J, axis=0)
        scale[scale == 0] = 1.0
        theta[free] = -np.linalg.lstsq(J / scale, residual, rcond=rules.rank_tolerance)[0] / scale
        return theta

    def minimize(
        self, theta: NDArray, steps: int, tolerance: float, rules: GaussNewton = GaussNewton()
    ) -> NDArray:
        """Damped Gauss-Newton steps, which keep the poles below the radius.

        Stops after `steps`, or once a step lowers the value by at most this share of it.
        """
        damping, value = rules.damping, self.value(theta)
        for _ in range(steps):
            J = self.jacobian(theta)[:, self.free]
            hessian, gradient = J.T @ J, J.T @ self.residual(theta)
            diagonal = np.diag(hessian)
            scale = np.maximum(diagonal, rules.least_diagonal * np.max(diagonal))
            for _ in range(rules.trials):
                trial = theta.copy()
                trial[self.free] += _damped_step(hessian, gradient, damping * scale)
                lower = self.value(trial)
                if lower < value:
                    break
                damping *= rules.factor
            else:
                break
            small = value - lower <= tolerance * value
            theta, value = trial, lower
            damping = max(damping / rules.factor, rules.least_damping)
            if small:
                break
        return theta


def _damped_step(hessian: NDArray, gradient: NDArray, ridge: NDArray) -> NDArray:
    """Step of Gauss-Newton with a ridge; zero if the matrix is not positive definite."""
    try:
        return np.asarray(-cho_solve(cho_factor(hessian + np.diag(ridge)), gradient))
    except LinAlgError:  # a larger damping is tried next
        return np.zeros_like(gradient)
