"""Parts of a simulation: inputs, the first state, noise, and the outputs that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import NDArray
from .._checks import positive_int
from .recursion import adjoint, free_responses, spectral_radius_of, state_sequence

if TYPE_CHECKING:
    from .state_space import StateSpace


def inputs_around_offset(model: StateSpace, inputs: Any, steps: int | None = None) -> NDArray:
    """Inputs less their offset, of shape (steps, m); m is zero for a system without inputs."""
    if not model.input_count:
        if inputs is not None:
            raise ValueError(
                "inputs are given, but the system has none: pass the number of steps instead, "
                "simulate(steps=1000)"
            )
        return np.zeros((positive_int(steps, "steps"), 0))
    if steps is not None:
        raise ValueError(
            f"steps is {steps!r}, but the system has inputs, which set the number of steps: pass "
            "inputs alone"
        )
    return model.filled_inputs(inputs) - model.input_offset


def first_state(
    model: StateSpace, initial: Any, rng: np.random.Generator, quiet: bool = False
) -> NDArray:
    """The first state of a simulation, by the rule in the docstring of `StateSpace.simulate`."""
    if initial is not None:
        return checked_state(model, initial)
    known, diffuse = model.first_covariance
    if not quiet and not np.any(diffuse) and np.any(known):
        mean = 0 if model.x0 is None else model.x0
        return np.asarray(mean + covariance_root(known) @ white(model, rng, model.order))
    if model.x0 is not None:
        return model.x0
    return np.zeros(model.order) if model.input_count else white(model, rng, model.order)


def unknown_start(model: StateSpace) -> NDArray:
    """`x0_covariance` of a system about whose first state nothing is known.

    States that never show in the outputs are left out: samples cannot tell them.
    """
    shows = np.any(free_responses(model.A, model.C, model.order) != 0, axis=(0, 1))
    return np.diag(np.where(shows, np.inf, 0.0))


def checked_state(model: StateSpace, initial: Any) -> NDArray:
    """A state that the caller gives."""
    start = np.asarray(initial)
    if start.shape != (model.order,) or not np.all(np.isfinite(start)):
        raise ValueError(
            f"initial has shape {start.shape}, but ({model.order},) and finite numbers are "
            "expected, one per state"
        )
    return start


def covariance_root(G: NDArray) -> NDArray:
    """A matrix L with `L L^H = G`; G may be singular."""
    values, vectors = np.linalg.eigh(G)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def noises(model: StateSpace, rng: np.random.Generator, *shape: int) -> tuple[NDArray, NDArray]:
    """Gaussian noise of the next states, and that of the outputs: shape (*shape, .)."""
    p, r = model.output_count, model.order
    w, v = np.zeros((*shape, r)), np.zeros((*shape, p))
    if np.any(model.innovation_covariance):
        root = covariance_root(model.innovation_covariance)
        e = white(model, rng, *shape, p) @ root.T
        w, v = e @ model.K.T, e
    if np.any(model.Q) or np.any(model.R):
        joint = np.block([[model.R, adjoint(model.S)], [model.S, model.Q]])
        more = white(model, rng, *shape, p + r) @ covariance_root(joint).T
        w, v = w + more[..., p:], v + more[..., :p]
    return w, v


def response(
    model: StateSpace, u: NDArray, start: NDArray, noise: tuple[NDArray, NDArray] | None = None
) -> NDArray:
    """Outputs for inputs less their offset, a first state and, if there is any, noise."""
    w, v = (0.0, 0.0) if noise is None else noise
    with np.errstate(over="ignore", invalid="ignore"):
        y = state_sequence(model.A, start, u @ model.B.T + w) @ model.C.T + u @ model.D.T + v
    check_range(y, model.A)
    return np.asarray(y + model.output_offset)


def check_range(outputs: NDArray, A: NDArray) -> None:
    """Raise a ValueError if outputs overflow."""
    if not np.all(np.isfinite(outputs)):
        raise ValueError(
            "the outputs leave the range of double precision: the spectral radius of the system is "
            f"{spectral_radius_of(A):.4g}, so ask for fewer than {len(outputs)} steps"
        )


def fitted_response(model: StateSpace, u: NDArray, y: NDArray, initial: Any = None) -> NDArray:
    """Outputs for inputs u; by default the first state is the one that fits the outputs y best."""
    u, seen = inputs_around_offset(model, u), ~np.isnan(y)
    start = np.zeros(model.order) if initial is None else checked_state(model, initial)
    simulated = response(model, u, start)
    if initial is not None:
        return simulated
    free = free_responses(model.A, model.C, len(u))
    state = np.linalg.lstsq(free[seen], (y - simulated)[seen], rcond=None)[0]
    return np.asarray(simulated + free @ state)


def explained(y: NDArray, estimate: NDArray) -> NDArray:
    """How much of the outputs y an estimate explains, in percent; NaN in either does not count."""
    seen = ~(np.isnan(y) | np.isnan(estimate))
    error = np.where(seen, y - estimate, 0.0)
    mean = np.sum(np.where(seen, y, 0.0), axis=0) / np.maximum(seen.sum(axis=0), 1)
    scale = np.linalg.norm(np.where(seen, y - mean, 0.0), axis=0)
    if np.any(scale == 0):
        raise ValueError(
            f"output {int(np.argmin(scale))} is constant where it is seen, so its fit is not "
            "defined: remove it"
        )
    return np.asarray(100 * (1 - np.linalg.norm(error, axis=0) / scale))


def white(model: StateSpace, rng: np.random.Generator, *shape: int) -> NDArray:
    """White noise of variance one; circular if the system is complex."""
    values = rng.standard_normal(shape)
    if np.iscomplexobj(model.A):
        return np.asarray((values + 1j * rng.standard_normal(shape)) / np.sqrt(2))
    return values
