"""The state-space model whose simulation is nearest to what was seen, by least squares.

The parameters are all entries of A, B, C, D, the first state, the output offsets and the
inputs that are missing. Many of them describe the same system; damped Gauss-Newton steps do not
mind (McKelvey, Helmersson and Ribarits, "Data driven local coordinates for multivariable linear
systems", Automatica 40, 2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .input_output import free_responses, state_sequence
from .state_space import spectral_radius_of

_TRIALS = 12  # dampings tried for a step


@dataclass(frozen=True, eq=False)
class OutputError:
    """Squared error of the simulated outputs, and of inputs that are missing.

    Parameters
    ----------
    u : ndarray, shape (samples, m)
        Inputs; what is missing holds a guess.
    y : ndarray, shape (samples, p)
        Outputs, NaN where nothing is seen.
    order : int
    offset : bool
        Whether the outputs have an offset that is to be found.
    radius : float
        Poles have to be smaller than this.
    price : ndarray, shape (samples, m), optional
        Price of the squared distance of an input to its guess; zero: the input is known.

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

    u: np.ndarray
    y: np.ndarray
    order: int
    offset: bool
    radius: float
    price: np.ndarray | None = None

    @cached_property
    def seen(self) -> np.ndarray:
        """Which outputs are seen."""
        return ~np.isnan(self.y)

    @cached_property
    def unknown(self) -> tuple[np.ndarray, ...]:
        """Where an input is missing: samples and channels."""
        return np.nonzero(np.zeros_like(self.u) if self.price is None else self.price)

    @cached_property
    def root_price(self) -> np.ndarray:
        """Square roots of the prices of the missing inputs."""
        return np.zeros(0) if self.price is None else np.sqrt(self.price[self.unknown])

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of A, B, C, D, the first state, the offsets and the moves of missing inputs."""
        n, m, p = self.order, self.u.shape[1], self.y.shape[1]
        offsets = p if self.offset else 0
        return (n, n), (n, m), (p, n), (p, m), (n,), (offsets,), (len(self.unknown[0]),)

    def split(self, theta: np.ndarray) -> list[np.ndarray]:
        """The parts of a vector of all parameters."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        parts = np.split(theta, ends[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def inputs(self, theta: np.ndarray) -> np.ndarray:
        """The inputs, with what is missing moved from its guess."""
        u = self.u.copy()
        u[self.unknown] += self.split(theta)[-1]
        return u

    def outputs(self, theta: np.ndarray) -> np.ndarray:
        """The simulated outputs."""
        A, B, C, D, start, offsets, _ = self.split(theta)
        u = self.inputs(theta)
        y = state_sequence(A, start, u @ B.T) @ C.T + u @ D.T
        return y + offsets if self.offset else y

    def residual(self, theta: np.ndarray) -> np.ndarray:
        """What is to be small: errors of the outputs seen, then priced moves of inputs."""
        moved = self.root_price * self.split(theta)[-1]
        return np.concatenate([(self.outputs(theta) - self.y)[self.seen], moved])

    def value(self, theta: np.ndarray) -> float:
        """Sum of the squared residuals; infinite for poles that are too large."""
        if not spectral_radius_of(self.split(theta)[0]) < self.radius:
            return np.inf
        residual = self.residual(theta)
        return float(residual @ residual)

    def jacobian(self, theta: np.ndarray) -> np.ndarray:
        """Derivatives of the residual.

        A change of A or B drives the states anew, which is felt through `C A^t`: convolutions,
        all made by one set of FFTs.
        """
        A, B, C, D, start, _, moves = self.split(theta)
        (samples, m), n, p = self.u.shape, self.order, self.y.shape[1]
        u = self.inputs(theta)
        free = free_responses(A, C, samples)
        z = np.concatenate([state_sequence(A, start, u @ B.T), u], axis=1)
        length = next_fast_len(2 * samples, real=True)
        products = rfft(free, length, axis=0)[..., None] * rfft(z, length, axis=0)[:, None, None]
        driven = np.zeros((samples, p, n, n + m))
        driven[1:] = irfft(products, length, axis=0)[: samples - 1]
        eye = np.eye(p)
        blocks = [
            driven[..., :n].reshape(samples, p, -1),
            driven[..., n:].reshape(samples, p, -1),
            np.einsum("ab,tj->tabj", eye, z[:, :n]).reshape(samples, p, -1),
            np.einsum("ab,tj->tabj", eye, z[:, n:]).reshape(samples, p, -1),
            free,
        ]
        if self.offset:
            blocks.append(np.broadcast_to(eye, (samples, p, p)))
        J = np.concatenate(blocks, axis=2)[self.seen]
        if not moves.size:
            return J
        t, a = (index[:, None] for index in np.nonzero(self.seen))
        s, b = (index[None, :] for index in self.unknown)
        markov = np.concatenate([D[None], free[:-1] @ B])
        J_inputs = np.where(t >= s, markov[np.maximum(t - s, 0), a, b], 0.0)
        below = np.zeros((moves.size, J.shape[1]))
        return np.block([[J, J_inputs], [below, np.diag(self.root_price)]])

    def start(self, A: np.ndarray, C: np.ndarray) -> np.ndarray:
        """All parameters for given A and C: the others follow by linear least squares."""
        blank = [np.zeros(shape) for shape in self.shapes]
        blank[0], blank[2] = A, C
        theta = np.concatenate([part.reshape(-1) for part in blank])
        fixed = [np.full(shape, k in (0, 2, 6)) for k, shape in enumerate(self.shapes)]
        free = ~np.concatenate([part.reshape(-1) for part in fixed])
        J, residual = self.jacobian(theta)[:, free], self.residual(theta)
        scale = np.linalg.norm(J, axis=0)
        scale[scale == 0] = 1.0
        theta[free] = -np.linalg.lstsq(J / scale, residual, rcond=1e-10)[0] / scale
        return theta

    def minimize(self, theta: np.ndarray, steps: int, tolerance: float) -> np.ndarray:
        """Damped Gauss-Newton; the poles, small enough at the start, stay so.

        Stops after `steps`, or once a step lowers the value by at most this share of it.
        """
        damping, value = 1e-2, self.value(theta)
        for _ in range(steps):
            J = self.jacobian(theta)
            hessian, gradient = J.T @ J, J.T @ self.residual(theta)
            diagonal = np.diag(hessian)
            scale = np.maximum(diagonal, 1e-12 * np.max(diagonal))
            for _ in range(_TRIALS):
                trial = theta + _damped_step(hessian, gradient, damping * scale)
                lower = self.value(trial)
                if lower < value:
                    break
                damping *= 4
            else:
                break
            small = value - lower <= tolerance * value
            theta, value, damping = trial, lower, max(damping / 4, 1e-12)
            if small:
                break
        return theta


def _damped_step(hessian: np.ndarray, gradient: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    damped = hessian + np.diag(ridge)
    try:
        return -cho_solve(cho_factor(damped), gradient)
    except LinAlgError:  # not positive to working precision: a larger damping is tried
        return np.zeros_like(gradient)
