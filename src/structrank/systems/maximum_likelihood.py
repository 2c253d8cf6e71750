"""Maximum likelihood of a system in innovation form, with gaps in outputs and inputs.

    x_{t+1} = A x_t + B u_t + K e_t,   y_t = C x_t + D u_t + offset + e_t,   e_t ~ N(0, G)

The parameters are all entries of A, B, C, D, K, a root of G, the offsets and the first state of
each record. Missing inputs have a model of their own: then inputs and outputs are the outputs of a
larger system that noise drives, and its likelihood is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import block_diag, solve_discrete_lyapunov

from .._array import NDArray
from .chunks import Gaussian, Records
from .information import expected_information
from .integrators import free_entries, own_radius
from .likelihood import Score, log_likelihood, value_and_gradient
from .log_roots import log_root, lower
from .quasi_newton import QuasiNewton, minimize
from .recursion import adjoint
from .smoothing import Moments, smoothed
from .state_space import StateSpace

Evaluated = TypeVar("Evaluated")
NAMES = ("A", "B", "C", "D", "K", "root", "output_offset", "x0")


@dataclass(frozen=True, eq=False)
class MaximumLikelihood:
    """Negative log-likelihood of records as a function of a vector of real parameters.

    Parameters
    ----------
    inputs : list of ndarray, shape (samples, m)
        One per record; m may be zero. NaN only if there is a model of the inputs.
    outputs : list of ndarray, shape (samples, p)
        NaN where missing.
    order : int
        Number of states.
    radius : float
        Bound on the absolute values of the poles.
    fixed : tuple of str
        Parts of the parameters that keep their values, out of `NAMES`.
    stationary : bool
        The first states are drawn from the distribution that the noise causes in the long run.
        Default: they are parameters.
    input_model : StateSpace, optional
        A stable system, driven by noise alone, whose outputs are the first inputs, with its offsets
        as their means. The other inputs are known.
    integrators : int
        Number of poles that are one. A has the form that `integrators` describes.
    floor : float
        Standard deviation of white noise that is part of every output. It keeps the likelihood
        bounded. Set by hand for outputs of spread one: below the accuracy of most measurements.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import StateSpace
    >>> from structrank.systems.maximum_likelihood import MaximumLikelihood
    >>> truth = StateSpace([[0.8]], None, [[1.0]], None, K=[[0.5]], innovation_covariance=[[1.0]])
    >>> y = truth.simulate(steps=5000)
    >>> y[::3] = np.nan
    >>> fit = MaximumLikelihood([np.zeros((5000, 0))], [y], order=1, stationary=True)
    >>> start = StateSpace([[0.3]], None, [[1.0]], None, K=[[0.1]], innovation_covariance=[[2.0]])
    >>> model = fit.system(fit.maximize(fit.parameters(start)))
    >>> model.poles.round(1)
    array([0.8])
    """

    inputs: list[NDArray]
    outputs: list[NDArray]
    order: int
    radius: float = 1.0
    fixed: tuple[str, ...] = ()
    stationary: bool = False
    input_model: StateSpace | None = None
    integrators: int = 0
    floor: float = 1e-5

    @cached_property
    def dtype(self) -> np.dtype:
        """Real or complex double precision."""
        return np.result_type(float, *self.outputs)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each part of the parameters."""
        n, m, p = self.order, self.inputs[0].shape[1], self.outputs[0].shape[1]
        starts = (0, n) if self.stationary else (len(self.outputs), n)
        sizes = ((n, n), (n, m), (p, n), (p, m), (n, p), (p, p), (p,), starts)
        return dict(zip(NAMES, sizes, strict=True))

    @cached_property
    def seen_count(self) -> int:
        """Number of outputs that are seen."""
        return sum(int(np.count_nonzero(~np.isnan(y))) for y in self.outputs)

    def split(self, theta: NDArray) -> dict[str, NDArray]:
        """Parts of a vector of all parameters."""
        values = theta.view(self.dtype)
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])
        parts = np.split(values, ends[:-1])
        return {name: x.reshape(self.shapes[name]) for name, x in zip(NAMES, parts, strict=True)}

    def joined(self, parts: dict[str, NDArray]) -> NDArray:
        """The vector of all parameters."""
        flat = [np.asarray(parts[name], dtype=self.dtype).reshape(-1) for name in NAMES]
        return np.concatenate(flat).view(float)

    @cached_property
    def free(self) -> NDArray:
        """Which parameters may change; the upper triangle of the root is always zero."""
        parts = {k: np.full(shape, k not in self.fixed) for k, shape in self.shapes.items()}
        parts["root"] = np.tril(parts["root"])
        parts["A"] &= free_entries(self.order, self.integrators)
        width = self.dtype.itemsize // np.dtype(float).itemsize
        free = np.concatenate([np.repeat(parts[name].reshape(-1), width) for name in NAMES])
        if width > 1:  # the diagonal of the root is real
            real = {k: np.zeros(shape, dtype=self.dtype) for k, shape in self.shapes.items()}
            real["root"] = 1j * np.eye(len(real["root"]))
            free &= self.joined(real) == 0
        return free

    def parameters(self, model: StateSpace, starts: NDArray | None = None) -> NDArray:
        """Parameters of a system in innovation form, and of first states, by default zero."""
        G = model.innovation_covariance - self.floor**2 * np.eye(model.output_count)
        n = self.shapes["x0"][0]
        given = np.zeros((n, self.order)) if starts is None else np.reshape(starts, (n, -1))
        parts = {k: getattr(model, k) for k in ("A", "B", "C", "D", "K", "output_offset")}
        return self.joined({**parts, "root": log_root(G, self.floor), "x0": given})

    def system(self, theta: NDArray) -> StateSpace:
        """The system of some parameters; `x0` is that of the first record, if there is only one."""
        parts = self.split(theta)
        G = self.covariance(parts)
        start: dict[str, Any] = {}
        if self.stationary:
            start = {"x0_covariance": "stationary"}
        elif len(parts["x0"]) == 1:
            first = parts["K"] @ G @ adjoint(parts["K"])
            start = {"x0": parts["x0"][0], "x0_covariance": first}
        arrays: dict[str, Any] = {k: parts[k] for k in ("A", "B", "C", "D", "K", "output_offset")}
        if not self.inputs[0].shape[1]:
            arrays["B"] = arrays["D"] = None
        return StateSpace(**arrays, innovation_covariance=G, **start)

    def maximize(self, theta: NDArray, rules: QuasiNewton = QuasiNewton()) -> NDArray:
        """Parameters of a local maximum of the likelihood."""
        return minimize(self, theta, rules)

    def value(self, theta: NDArray) -> float:
        """Negative log-likelihood alone, in less than half of the time."""
        value = self._evaluated(self.split(theta), log_likelihood)
        return np.inf if value is None or not np.all(np.isfinite(value)) else -float(np.sum(value))

    def value_and_gradient(self, theta: NDArray) -> tuple[float, NDArray]:
        """Negative log-likelihood and its gradient; infinite if a pole is too large."""
        parts = self.split(theta)
        score = self._evaluated(parts, value_and_gradient)
        if score is None or not np.isfinite(score.value):
            return np.inf, np.zeros_like(theta)
        return -score.value, -self.joined(self._slopes(parts, score))

    def _evaluated(
        self, parts: dict[str, NDArray], function: Callable[[Gaussian, Records], Evaluated]
    ) -> Evaluated | None:
        """The likelihood by one of two functions; None where it is not defined."""
        if not own_radius(parts["A"], self.integrators) < self.radius:
            return None
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                return function(self._gaussian(self._joint(parts)), self._records(parts))
        except (ValueError, np.linalg.LinAlgError):  # rounding, where K or the root is enormous
            return None

    def metric(self, theta: NDArray) -> NDArray:
        """Expected second derivatives, as if gaps were filled by their means given the samples."""
        return expected_information(self, theta)

    def filled(self, theta: NDArray) -> list[tuple[NDArray, NDArray]]:
        """Inputs and outputs of each record, with the means of what is missing given the rest."""
        parts, u = self.split(theta), self._known_inputs
        shown = u @ parts["D"].T + parts["output_offset"]
        known = np.concatenate([u[..., : len(self._input_arrays[1])], shown], axis=2)
        return self._by_record(self._smoothed(parts).outputs[:, :, 0] + np.moveaxis(known, 1, 2))

    def innovations(self, theta: NDArray) -> list[tuple[NDArray, NDArray]]:
        """What is new in inputs and outputs of each record, given all samples before.

        It has variance one, and is NaN where a sample is missing. Inputs without a model are what
        they are.
        """
        return self._by_record(self._smoothed(self.split(theta)).innovations[:, :, 0])

    def _smoothed(self, parts: dict[str, NDArray]) -> Moments:
        return smoothed(self._gaussian(self._joint(parts)), self._records(parts))

    def _by_record(self, values: NDArray) -> list[tuple[NDArray, NDArray]]:
        """Inputs and outputs, from values (1 + samples, channels, records) of what has a model."""
        modelled, results = len(self._input_arrays[1]), []
        for i, u in enumerate(self.inputs):
            z = values[1 : len(u) + 1, :, i]
            inputs = np.concatenate([z[:, :modelled], u[:, modelled:]], axis=1)
            results.append((inputs, z[:, modelled:]))
        return results

    def covariance(self, parts: dict[str, NDArray]) -> NDArray:
        """The covariance of e."""
        L = lower(parts["root"])
        return np.asarray(L @ adjoint(L) + self.floor**2 * np.eye(len(L)))

    @cached_property
    def _input_arrays(self) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray]:
        """A, C, K, G and the covariance of the states of the model of the inputs; or empty ones."""
        model = self.input_model
        if model is None:
            return (np.zeros((0, 0)),) * 5
        driven = model.K @ model.innovation_covariance @ adjoint(model.K)
        P = solve_discrete_lyapunov(model.A, driven)
        return model.A, model.C, model.K, model.innovation_covariance, P

    def _joint(self, parts: dict[str, NDArray]) -> tuple[NDArray, NDArray, NDArray]:
        """H, N and covariance of e: (inputs, outputs, next states) = H (states) + N e."""
        Au, Cu, Ku, Gu, _ = self._input_arrays
        A, B, C, D, K = (parts[name] for name in "ABCDK")
        m, k = Cu.shape
        p, n = C.shape
        B, D = B[:, :m], D[:, :m]
        H = np.block([[Cu, np.zeros((m, n))], [D @ Cu, C], [Au, np.zeros((k, n))], [B @ Cu, A]])
        N = np.block(
            [[np.eye(m), np.zeros((m, p))], [D, np.eye(p)], [Ku, np.zeros((k, p))], [B, K]]
        )
        return H, N, block_diag(Gu, self.covariance(parts))

    def _gaussian(self, joint: tuple[NDArray, NDArray, NDArray]) -> Gaussian:
        """The joint system, one step before the first samples."""
        H, N, covariance = joint
        W, d = N @ covariance @ adjoint(N), H.shape[1]
        if self.stationary:
            P = solve_discrete_lyapunov(H[-d:], W[-d:, -d:])
        else:
            P = block_diag(self._input_arrays[-1], np.zeros((self.order, self.order)))
        return Gaussian(
            H, W, np.zeros(d, dtype=H.dtype), P.astype(H.dtype), np.zeros(d, dtype=bool)
        )

    @cached_property
    def _known_inputs(self) -> NDArray:
        """Inputs (1 + samples, records, m), or their means if they have a model."""
        steps, m = max(map(len, self.outputs)), self.inputs[0].shape[1]
        values, modelled = np.zeros((steps + 1, len(self.outputs), m)), len(self._input_arrays[1])
        if self.input_model is not None:
            values[1:, :, :modelled] = self.input_model.output_offset
        for i, u in enumerate(self.inputs):
            values[1 : len(u) + 1, i, modelled:] = u[:, modelled:]
        return values

    @cached_property
    def _samples(self) -> NDArray:
        """Samples (1 + samples, channels, records); first inputs with a model, less their means."""
        steps, M = max(map(len, self.outputs)), len(self.outputs)
        modelled = len(self._input_arrays[1])
        values = np.full((steps + 1, modelled + self.outputs[0].shape[1], M), np.nan, self.dtype)
        for i, (u, y) in enumerate(zip(self.inputs, self.outputs, strict=True)):
            around = (u - self._known_inputs[1 : len(u) + 1, i])[:, :modelled]
            values[1 : len(y) + 1, :, i] = np.concatenate([around, y], axis=1)
        return values

    def _records(self, parts: dict[str, NDArray]) -> Records:
        """What is left of the samples without known inputs and offsets, and what drives states."""
        u, y, n = self._known_inputs, self._samples.copy(), self.order
        shown = u @ parts["D"].T + parts["output_offset"]
        y[:, -shown.shape[2] :] -= np.moveaxis(shown, 1, 2)
        k = len(self._input_arrays[0])
        drive = np.zeros((len(y), k + n, 1, y.shape[2]), dtype=self.dtype)
        drive[:, k:, 0] = np.moveaxis(u @ parts["B"].T, 1, 2)
        if not self.stationary:
            drive[0, k:, 0] = parts["x0"].T
        seen = ~np.isnan(y)
        return Records(np.where(seen, y, 0)[:, :, None], seen, drive)

    def _slopes(self, parts: dict[str, NDArray], score: Score) -> dict[str, NDArray]:
        """Derivatives of the log-likelihood with respect to the parts."""
        joint, Cu = self._joint(parts), self._input_arrays[1]
        H, N, covariance = joint
        dH, dW, d = score.H.copy(), score.W.copy(), H.shape[1]
        if self.stationary:  # P = A P A^H + Q also changes with A and Q
            A = H[-d:]
            pulled = solve_discrete_lyapunov(adjoint(A), score.covariance)
            dH[-d:] += 2 * pulled @ A @ self._gaussian(joint).covariance
            dW[-d:, -d:] += pulled
        dN, dG = 2 * dW @ N @ covariance, adjoint(N) @ dW @ N
        (m, k), p = Cu.shape, len(parts["C"])
        y, x = slice(m, m + p), slice(m + p + k, None)
        u = self._known_inputs
        dB = np.einsum("tqm,tmk->qk", score.joint[:, x], u)
        dD = np.einsum("tqm,tmk->qk", score.joint[:, y], u)
        dB[:, :m] += dH[x, :k] @ adjoint(Cu) + dN[x, :m]
        dD[:, :m] += dH[y, :k] @ adjoint(Cu) + dN[y, :m]
        L = lower(parts["root"])
        root = 2 * np.tril(dG[m:, m:] @ L)
        np.fill_diagonal(root, np.diag(root) * np.diag(L))
        return {
            "A": dH[x, k:],
            "B": dB,
            "C": dH[y, k:],
            "D": dD,
            "K": dN[x, m:],
            "root": root,
            "output_offset": score.joint[:, y].sum(axis=(0, 2)),
            "x0": score.joint[0, x].T[: self.shapes["x0"][0]],
        }
