"""Conversions of a `StateSpace` to other packages and forms."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.linalg import block_diag, solve_discrete_are

from .._array import NDArray
from .given import Given
from .recursion import adjoint, spectral_radius_of

if TYPE_CHECKING:
    from scipy.signal import dlti

    from .state_space import StateSpace


class Conversions:
    """Methods of `StateSpace` that convert it."""

    def innovation_form(self) -> StateSpace:
        """The same system with noise in innovation form: K and `innovation_covariance` alone.

        They are the gain and the variance of the stationary one-step predictor. Outputs have the
        same covariances; the states are the predicted ones.

        Returns
        -------
        StateSpace
            Without `x0` and `x0_covariance`: its states are others.

        Examples
        --------
        >>> from structrank import StateSpace
        >>> level = StateSpace([[1.0]], None, [[1.0]], None, Q=[[1.0]], R=[[2.0]])
        >>> form = level.innovation_form()
        >>> form.K.round(6), form.innovation_covariance.round(6)
        (array([[0.5]]), array([[4.]]))
        """
        model = cast("StateSpace", self)
        W, p = model.noise_covariance, model.output_count
        A, C, Q, R, S = model.A, model.C, W[p:, p:], W[:p, :p], W[p:, :p]
        try:
            P = solve_discrete_are(adjoint(A), adjoint(C), Q, R, s=S)
            G = C @ P @ adjoint(C) + R
            K = adjoint(np.linalg.solve(G, adjoint(A @ P @ adjoint(C) + S)))
            exists = spectral_radius_of(A - K @ C) < 1
        except (np.linalg.LinAlgError, ValueError):
            exists = False
        if not exists:
            raise ValueError(
                "the system has no stationary predictor: a mode on or outside the unit circle is "
                "not driven by noise, or does not show in the outputs"
            )
        G = 0.5 * (G + adjoint(G))
        none: dict[str, Any] = dict.fromkeys(("Q", "R", "S", "x0", "x0_covariance"))
        return replace(model, K=K, innovation_covariance=G, **none)

    def to_scipy(self) -> dlti:
        """Convert to a `scipy.signal.dlti` with the time step dt or one, without offsets and x0.

        It leads from the inputs to the outputs; for a system without inputs, from the noise.

        Examples
        --------
        >>> from structrank import random_system
        >>> random_system(outputs=3, order=2).to_scipy().A.shape
        (2, 2)
        """
        from scipy.signal import dlti

        dt = cast("StateSpace", self).dt
        return dlti(*self._driven(), dt=1 if dt is None else dt)

    def to_control(self) -> Any:
        """Convert to a `control.StateSpace` with the time step dt, without offsets and x0.

        It leads from the inputs to the outputs; for a system without inputs, from the noise. Needs
        the package control, `pip install "structrank[control]"`, and a real system.
        """
        try:
            import control
        except ImportError as error:
            raise ImportError(
                'to_control() needs the package control: pip install "structrank[control]"'
            ) from error
        model = cast("StateSpace", self)
        if np.iscomplexobj(model.A):
            raise TypeError(
                "the system is complex, but control expects a real one: use to_scipy() instead"
            )
        return control.ss(*self._driven(), dt=True if model.dt is None else model.dt)

    def to_statsmodels(self, samples: Any, inputs: Any = None) -> Any:
        """Convert to a `KalmanSmoother` of statsmodels with one record of samples.

        The noise of the outputs becomes part of the states if it is correlated with theirs: after
        the states of this system come those of the noise. Needs the package statsmodels,
        and a real system.

        Parameters
        ----------
        samples, inputs : array
            As for `loglikelihood`.

        Returns
        -------
        statsmodels.tsa.statespace.kalman_smoother.KalmanSmoother
        """
        try:
            from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother
        except ImportError as error:
            raise ImportError(
                "to_statsmodels() needs the package statsmodels: pip install statsmodels"
            ) from error
        model = cast("StateSpace", self)
        if np.iscomplexobj(model.A):
            raise TypeError("the system is complex, but statsmodels expects a real one")
        given = Given.of(model, samples, inputs).one()
        A, C, Q, R, mean, P, diffuse = _independent(given)
        p, r = C.shape
        smoother = KalmanSmoother(p, r)
        smoother.bind(given.samples[0].copy())
        smoother["transition"], smoother["design"], smoother["selection"] = A, C, np.eye(r)
        smoother["state_cov"], smoother["obs_cov"] = Q, R
        smoother["obs_intercept"] = given.shown(0).T
        drive = np.zeros((r, len(given.samples[0])))
        drive[: model.order] = (given.inputs[:, 0] @ model.B.T).T
        smoother["state_intercept"] = drive
        smoother.initialize_components(a=mean, Pstar=P, Pinf=np.diag(diffuse.astype(float)))
        return smoother

    def _driven(self) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """A, B, C, D, where the noise is the input of a system that has no other."""
        model = cast("StateSpace", self)
        if model.input_count:
            return model.A, model.B, model.C, model.D
        if np.any(model.Q) or np.any(model.R):
            model = model.innovation_form()
        return model.A, model.K, model.C, np.eye(model.output_count)


def _independent(given: Given) -> tuple[NDArray, ...]:
    """A, C, Q, R and the first state of a system whose noises w and v are independent."""
    g, p = given.gaussian, len(given.model.C)
    C, A, W = g.H[:p], g.H[p:], g.W
    R, S, Q, r = W[:p, :p], W[p:, :p], W[p:, p:], g.states
    if not np.any(S):
        return A, C, Q, R, g.mean, g.covariance, g.diffuse
    # v_t becomes a state, and w_t = S R^+ v_t + independent noise.
    gain = S @ np.linalg.pinv(R, hermitian=True)
    A = np.block([[A, gain], [np.zeros((p, r + p))]])
    Q = block_diag(Q - gain @ S.T, R)
    C = np.concatenate([C, np.eye(p)], axis=1)
    mean, known = np.concatenate([g.mean, np.zeros(p)]), block_diag(g.covariance, R)
    return A, C, Q, np.zeros((p, p)), mean, known, np.append(g.diffuse, np.zeros(p, dtype=bool))
