"""Simulated machines: a building that wind shakes, and an arm that two motors move."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, expm
from scipy.signal import butter, lfilter

from .._array import NDArray
from .._checks import not_negative, positive, positive_int, random_generator
from ..systems import StateSpace
from .simulations import Simulation


def building(
    floors: int = 3,
    steps: int = 4000,
    *,
    noise: float = 0.1,
    dt: float = 0.02,
    rng: int | np.random.Generator = 0,
) -> Simulation:
    """Accelerations of the floors of a building that white noise shakes, as wind does.

    Equal masses and equal springs between floors; the first frequency is 1 Hz, and each mode has 2%
    of critical damping.

    Parameters
    ----------
    floors : int
    steps : int
        Number of samples.
    noise : float
        Standard deviation of the noise of the sensors, relative to that of the accelerations.
    dt : float
        Seconds between samples.
    rng : int or numpy.random.Generator
        Seed for the wind and the noise.

    Returns
    -------
    Simulation
        Samples of shape (steps, floors). `about` has the true `frequencies` in Hz, `dampings`
        (ratios) and `shapes`.

    Examples
    --------
    >>> from structrank.datasets import building
    >>> house = building(3, steps=500)
    >>> house.samples.shape, house.about["frequencies"].round(3)
    ((500, 3), array([1.   , 2.802, 4.049]))
    """
    rng, ratio = random_generator(rng), 0.02
    stiffness = 2 * np.eye(floors) - np.eye(floors, k=1) - np.eye(floors, k=-1)
    stiffness[-1, -1] = 1.0
    squares, shapes = eigh(stiffness)
    omega = 2 * np.pi * np.sqrt(squares / squares[0])
    K = shapes @ np.diag(omega**2) @ shapes.T
    damping = shapes @ np.diag(2 * ratio * omega) @ shapes.T
    A = np.block([[np.zeros((floors, floors)), np.eye(floors)], [-K, -damping]])
    B = np.vstack([np.zeros((floors, floors)), np.eye(floors)])
    model = _sampled(A, B, np.hstack([-K, -damping]), np.eye(floors), positive(dt, "dt"))
    wind = rng.standard_normal((positive_int(steps, "steps"), floors))
    truth = model.simulate(wind, np.zeros(2 * floors))
    about = {
        "frequencies": omega / (2 * np.pi),
        "dampings": np.full(floors, ratio),
        "shapes": shapes.T / shapes.T[np.arange(floors), np.argmax(np.abs(shapes.T), 1)][:, None],
    }
    level = not_negative(noise, "noise") * np.std(truth, axis=0)
    return Simulation(truth + level * rng.standard_normal(truth.shape), truth, dt, about)


def plant(
    steps: int = 2048, *, noise: float = 0.05, rng: int | np.random.Generator = 0
) -> Simulation:
    """Inputs and outputs of an arm with three resonances, two motors and two sensors.

    The inputs are smooth: noise below a fifth of the sampling rate, so that little is known about
    high frequencies.

    Parameters
    ----------
    steps : int
        Number of samples.
    noise : float
        Standard deviation of the noise of the outputs, relative to that of the outputs.
    rng : int or numpy.random.Generator
        Seed for the inputs and the noise; the arm is always the same.

    Returns
    -------
    Simulation
        The samples are the outputs, of shape (steps, 2). `about` has the `inputs`, of the same
        shape, and the `model`, a `StateSpace` of order 6.

    Examples
    --------
    >>> from structrank.datasets import plant
    >>> arm = plant(500)
    >>> arm.about["inputs"].shape, arm.about["model"].order
    ((500, 2), 6)
    """
    rng = random_generator(rng)
    resonances, ratios = np.array([0.025, 0.06, 0.11]), np.array([0.05, 0.03, 0.04])
    rates = 2 * np.pi * resonances * (-ratios + 1j * np.sqrt(1 - ratios**2))
    blocks = [np.exp(rate) for rate in rates]
    A = np.zeros((6, 6))
    for k, pole in enumerate(blocks):
        turn = [[pole.real, pole.imag], [-pole.imag, pole.real]]
        A[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = turn
    B = np.array([[0.1, 0.0], [0.0, 0.1], [0.2, -0.1], [0.0, 0.15], [0.1, 0.1], [0.2, 0.0]])
    C = np.array([[1.0, 0.2, 0.6, 0.0, 0.4, 0.1], [0.3, -0.8, 0.2, 0.7, -0.3, 0.5]])
    model = StateSpace(A, B, C, None)
    low_pass = butter(2, 0.4)
    inputs = lfilter(*low_pass, rng.standard_normal((positive_int(steps, "steps"), 2)), axis=0)
    truth = model.simulate(inputs, np.zeros(6))
    level = not_negative(noise, "noise") * np.std(truth, axis=0)
    samples = truth + level * rng.standard_normal(truth.shape)
    return Simulation(samples, truth, None, {"inputs": inputs, "model": model})


def _sampled(A: NDArray, B: NDArray, C: NDArray, D: NDArray, dt: float) -> StateSpace:
    """A system in continuous time, sampled, with inputs that stay between samples."""
    states, inputs = B.shape
    whole = expm(dt * np.block([[A, B], [np.zeros((inputs, states + inputs))]]))
    return StateSpace(whole[:states, :states], whole[:states, states:], C, D, dt=dt)
