"""Parts of a simulation: inputs, the first state, noise, and the outputs that follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import NDArray
from .._checks import positive_int
from .records import series
from .recursion import spectral_radius_of, state_sequence

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
    u = series(inputs, "inputs", model.input_count)
    if not np.all(np.isfinite(u)):
        raise ValueError(
            "inputs contain NaN or inf, but a simulation expects finite numbers: fill the gaps "
            "first"
        )
    return u - model.input_offset


def first_state(model: StateSpace, initial: Any, rng: np.random.Generator) -> NDArray:
    """The first state of a simulation, by the rule in the docstring of `StateSpace.simulate`."""
    if initial is not None:
        return checked_state(model, initial)
    if model.x0 is not None:
        return model.x0
    return np.zeros(model.order) if model.input_count else white(model, rng, model.order)


def checked_state(model: StateSpace, initial: Any) -> NDArray:
    """A state that the caller gives."""
    start = np.asarray(initial)
    if start.shape != (model.order,) or not np.all(np.isfinite(start)):
        raise ValueError(
            f"initial has shape {start.shape}, but ({model.order},) and finite numbers are "
            "expected, one per state"
        )
    return start


def innovations(model: StateSpace, steps: int, rng: np.random.Generator) -> NDArray | None:
    """Gaussian noise e of shape (steps, p), or None for a system without noise."""
    if not np.any(model.innovation_covariance):
        return None
    values, vectors = np.linalg.eigh(model.innovation_covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(white(model, rng, steps, model.output_count) @ root.T)


def response(model: StateSpace, u: NDArray, start: NDArray, e: NDArray | None = None) -> NDArray:
    """Outputs for inputs less their offset, a first state and, if there is any, noise."""
    with np.errstate(over="ignore", invalid="ignore"):
        drive = u @ model.B.T if e is None else u @ model.B.T + e @ model.K.T
        y = state_sequence(model.A, start, drive) @ model.C.T + u @ model.D.T
        y = y if e is None else y + e
    if not np.all(np.isfinite(y)):
        raise ValueError(
            "the outputs leave the range of double precision: the spectral radius of the system is "
            f"{spectral_radius_of(model.A):.4g}, so simulate fewer than {len(u)} steps"
        )
    return np.asarray(y + model.output_offset)


def white(model: StateSpace, rng: np.random.Generator, *shape: int) -> NDArray:
    """White noise of variance one; circular if the system is complex."""
    values = rng.standard_normal(shape)
    if np.iscomplexobj(model.A):
        return np.asarray((values + 1j * rng.standard_normal(shape)) / np.sqrt(2))
    return values
