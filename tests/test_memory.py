"""Memory of a solve: how many arrays of the size of the signal are held at the same time."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from structrank import Hankel, Problem, Stop, Weighted, gcgls, mu_max
from structrank._array import transforms


def gappy_modes(length, count=8):
    """Noisy complex modes, 30% of them seen."""
    rng = np.random.default_rng(0)
    t, frequencies = np.arange(length), (np.arange(count) + rng.uniform(0.2, 0.8, count)) / count
    sizes = rng.uniform(1, 2, count)
    truth = sum(a * np.exp(2j * np.pi * f * t) for a, f in zip(sizes, frequencies, strict=True))
    b = truth + 0.1 * (rng.standard_normal(length) + 1j * rng.standard_normal(length))
    structure, measure = (
        Hankel(length, window=length // 2),
        Weighted("lifted", rng.random(length) < 0.3),
    )
    mu = 0.1 * mu_max(Problem(structure, b, 1.0, measure))
    return Problem(structure, b, mu, measure)


def peak(problem):
    """Largest memory of `gcgls` with searches, in units of the signal."""
    how = {"search_steps": 10, "search_tolerance": 0.0, "stop": Stop(3, None, None)}
    with pytest.warns(match="did not converge"):
        gcgls(problem, 1.0, **how)  # tables that are kept
    tracemalloc.start()
    try:
        with pytest.warns(match="did not converge"):
            result = gcgls(problem, 1.0, **how)
        return tracemalloc.get_traced_memory()[1] / result.y.nbytes, result.rank
    finally:
        tracemalloc.stop()


def test_few_arrays_are_held_at_the_same_time(monkeypatch):
    monkeypatch.setattr(transforms, "SIZES", transforms.FFTSizes(halved=16))
    memory, rank = peak(gappy_modes(2**14))
    assert rank == 8
    assert memory <= 94


@pytest.mark.nightly
def test_large_signals_keep_the_last_gradient_in_single_precision():
    memory, rank = peak(gappy_modes(2**18))
    assert rank == 8
    assert memory <= 88
