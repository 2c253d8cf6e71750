"""Memory of a solve: how many arrays of the size of the signal are held at the same time."""

from __future__ import annotations

import gc
import time
import tracemalloc

import numpy as np
import pytest
from conftest import nightly

from structrank import Hankel, Problem, Stop, Weighted, estimate_cost, gcgls, mu_max
from structrank._array import transforms
from structrank.signals import cost as module
from structrank.solvers import memory_demand


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


SEARCHES = {"search_steps": 10, "search_tolerance": 0.0, "stop": Stop(3, None, None)}
PROVEN = {"stop": Stop(60, None, None, 1e-3)}


def peak(problem, how):
    """Largest memory of `gcgls`, in units of the signal."""
    gcgls(problem, 1.0, **how)  # tables that are kept
    tracemalloc.start()
    try:
        result = gcgls(problem, 1.0, **how)
        return tracemalloc.get_traced_memory()[1] / result.y.nbytes, result.rank
    finally:
        tracemalloc.stop()


@pytest.mark.filterwarnings("ignore:gcgls did not converge")
def test_few_arrays_are_held_at_the_same_time(monkeypatch):
    monkeypatch.setattr(transforms, "SIZES", transforms.FFTSizes(halved=16))
    memory, rank = peak(gappy_modes(2**14), SEARCHES)
    assert rank == 8
    assert memory <= 94


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:gcgls did not converge")
def test_the_memory_of_large_signals():
    memory, rank = peak(gappy_modes(2**18), SEARCHES)
    assert rank == 8
    assert memory <= 80


def test_a_proof_leaves_nothing_for_the_garbage_collector():
    problem = gappy_modes(2**13)
    problem = Problem(problem.structure, problem.b.astype("complex64"), problem.mu, problem.measure)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        result = gcgls(problem, 1.0, stop=Stop(60, None, None, 1e-2))
        held = tracemalloc.get_traced_memory()[0]
        gc.collect()
        assert held - tracemalloc.get_traced_memory()[0] < result.y.nbytes
    finally:
        tracemalloc.stop()
        gc.enable()


@pytest.mark.parametrize(
    ("dtype", "count"),
    [("complex128", 2), ("float64", 8), nightly("complex64", 16), nightly("float32", 8)],
)
def test_the_estimated_peak_is_that_of_a_solve(dtype, count):
    problem = gappy_modes(2**13, count)
    b = problem.b if dtype.startswith("complex") else problem.b.real
    problem = Problem(problem.structure, b.astype(dtype), problem.mu, problem.measure)
    measured, rank = peak(problem, PROVEN)
    low, high = estimate_cost(problem, rank=rank).memory
    assert low <= measured * problem.b.nbytes <= high
    assert high / low == pytest.approx(1.3**2)


def test_the_time_of_a_solve_is_in_its_range():
    problem = gappy_modes(2**12)
    cost = estimate_cost(problem, rank=8)
    began = time.process_time()
    gcgls(problem, 1.0, stop=Stop(60, None, None, 1e-3))
    assert cost.seconds[0] / 2 < time.process_time() - began < 2 * cost.seconds[1]
    assert cost.route == "gcgls at rank 8"
    assert estimate_cost(problem, max_time=1e-6).seconds == (1e-6, 1e-6)


def test_what_cannot_fit_is_refused_before_any_work(monkeypatch):
    problem = gappy_modes(2**10)
    monkeypatch.setattr(memory_demand, "machine_memory", lambda: 1e5)
    with pytest.raises(
        MemoryError, match=r"at least 334 kB .* 100 kB .* single precision needs less"
    ):
        gcgls(problem, 1.0)
    cost = estimate_cost(problem)
    assert "too large" in repr(cost)
    assert "recover_patches" in cost.advice
    monkeypatch.setattr(memory_demand, "machine_memory", lambda: None)
    assert estimate_cost(problem).advice == ""


def test_the_advice_for_samples(monkeypatch):
    monkeypatch.setattr(module, "machine_memory", lambda: 1e3)
    assert "recover_patches" in estimate_cost(np.cos(np.arange(200.0))).advice


def test_arguments_of_recover_do_not_suit_a_problem():
    problem = gappy_modes(2**6)
    with pytest.raises(ValueError, match="kind='refit' is given, but it is for recover"):
        estimate_cost(problem, kind="refit")
    with pytest.raises(ValueError, match="rank"):
        estimate_cost(problem, rank=0)
