"""Test signals that the benchmarks share."""

from __future__ import annotations

import numpy as np

from structrank import Hankel, Problem, Weighted, mu_max


def modes(length: int, count: int, seed: int) -> np.ndarray:
    """Sum of undamped complex exponentials with amplitudes between 1 and 2."""
    rng = np.random.default_rng(seed)
    t = np.arange(length)
    frequencies = (np.arange(count) + rng.uniform(0.2, 0.8, count)) / count
    amplitudes = rng.uniform(1, 2, count) * np.exp(2j * np.pi * rng.random(count))
    signal = np.zeros(length, dtype=complex)
    for amplitude, frequency in zip(amplitudes, frequencies, strict=True):
        signal += amplitude * np.exp(2j * np.pi * frequency * t)
    return signal


def gappy_samples(
    length: int, count: int = 8, share: float = 0.3, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Noisy complex modes, and which of their samples are seen."""
    rng = np.random.default_rng(seed + 1)
    truth = modes(length, count, seed)
    noise = rng.standard_normal(length) + 1j * rng.standard_normal(length)
    return truth + 0.1 * noise, rng.random(length) < share


def gappy_modes(length: int, count: int = 8, share: float = 0.3, seed: int = 0) -> Problem:
    """Noisy complex modes, a share of them seen, in a Hankel matrix as square as can be."""
    b, seen = gappy_samples(length, count, share, seed)
    structure = Hankel(length, window=length // 2)
    measure = Weighted("lifted", seen)
    mu = 0.1 * mu_max(Problem(structure, b, 1.0, measure))
    return Problem(structure, b, mu, measure)
