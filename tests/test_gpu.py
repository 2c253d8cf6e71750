"""Equal numbers on a GPU and on the processor: `python -m pytest -m gpu tests/test_gpu.py`.

Libraries and devices that are absent are skipped. STRUCTRANK_DEVICE=cpu takes PyTorch and JAX on
the processor instead, to check the tests themselves.
"""

from __future__ import annotations

import gc
import os
import sys
import time

import numpy as np
import pytest
from conftest import STRUCTURES, random_array

from structrank import (
    Hankel,
    Huber,
    LowRank,
    Mask,
    Operator,
    Penalized,
    Problem,
    Stop,
    Weighted,
    choose_rank,
    denoise,
    empirical_covariances,
    estimate_cost,
    find_modes,
    find_outliers,
    forecast,
    frequencies,
    gcg,
    gcgls,
    gcgls_loss,
    homotopy,
    impute,
    mu_max,
    noise_mu,
    path,
    recover,
    recover_many,
    refit,
    sampling_noise_mu,
    select_mu,
    solve,
    solve_many,
    solve_robust,
    solve_trusted,
    solve_within,
    spectral_problem,
)
from structrank._array import free_memory, namespace, to_numpy
from structrank._array.device_memory import is_out_of_memory
from structrank.solvers.rivals import cadzow, fiht, hsnld, projected_gradient

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.filterwarnings("ignore::structrank.ConvergenceWarning"),
]
ON_PROCESSOR = os.environ.get("STRUCTRANK_DEVICE") == "cpu"


def torch_array():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not (ON_PROCESSOR or torch.cuda.is_available()):
        pytest.skip("PyTorch finds no GPU")
    place = "cpu" if ON_PROCESSOR else "cuda"
    return lambda x: torch.asarray(np.array(x), device=place)


def cupy_array():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        pytest.skip(f"CuPy finds no GPU: {error}")
    return cupy.asarray


def jax_array():
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others need memory, too
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jax.config.update("jax_enable_x64", True)
    try:
        place = jax.devices("cpu" if ON_PROCESSOR else "gpu")[0]
    except RuntimeError as error:
        pytest.skip(f"JAX finds no GPU: {error}")
    return lambda x: jax.device_put(np.array(x), place)


@pytest.fixture(params=[torch_array, cupy_array, jax_array], ids=["torch", "cupy", "jax"])
def moved(request):
    """The function that moves a NumPy array to the device of a library."""
    return request.param()


# -- samples --------------------------------------------------------------------------------


def gappy(n=64, dtype="complex128", seed=0):
    """A few modes with noise, and where they are seen."""
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    y = np.exp(2j * np.pi * 0.11 * t) + 0.6 * np.exp(2j * np.pi * 0.29 * t)
    y = y + 0.05 * random_array(rng, n, "complex128")
    kind = np.dtype(dtype)
    return (y if kind.kind == "c" else y.real).astype(dtype), rng.random(n) < 0.8


def problem_of(b, seen, mu=0.3):
    """A problem whose samples are an array of any library."""
    return Problem(Hankel(len(b), window=len(b) // 2), b, mu, Mask(seen))


def pictures(b, seen):
    """The same along two axes."""
    return Problem(Hankel((8, 8), window=(4, 4)), b.reshape(8, 8), 0.3, Mask(seen.reshape(8, 8)))


TIGHT = Stop(60, xtol=None, rtol=None, gap=1e-6)
SOLVERS = {
    "gcgls": lambda p, at: gcgls(p, 1.0, stop=TIGHT),
    "gcgls paper": lambda p, at: gcgls(p, 1.0, step="paper", stop=Stop(40, None, None, 1e-6)),
    "gcgls sparse": lambda p, at: gcgls(p, 1.0, recovery="sparse", stop=TIGHT),
    "gcg": lambda p, at: gcg(p, 1.0, stop=Stop(150, None, None, 1e-4)),
    "gcgls_loss": lambda p, at: gcgls_loss(p, Huber(2.0), 1.0, stop=TIGHT),
    "homotopy": lambda p, at: homotopy(p, [0.1, 1.0, 10.0]),
    "solve": lambda p, at: solve(p, 1e-6),
    "solve_robust": lambda p, at: solve_robust(p, 2.0, 1e-4),
    "solve_trusted": lambda p, at: solve_trusted(p, at(p.seen & (np.arange(64) < 9)), 1e-4),
    "solve_within": lambda p, at: solve_within(p, 1.0),
    "path": lambda p, at: path(p, [0.6, 0.3], lam=1.0, gap=1e-6)[-1],
    "select_mu": lambda p, at: select_mu(p).result,
}
CLOSE = {
    "gcg": 1e-3,
    "homotopy": 1e-2,
    "solve_robust": 1e-3,
    "solve_trusted": 1e-3,
    "solve_within": 2e-3,
}


def assert_there(got, reference):
    """An array is one of the library of another, on its device."""
    assert type(got) is type(reference)
    assert getattr(got, "device", None) == getattr(reference, "device", None)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("dtype", ["complex128", "float64"])
def test_solvers(name, dtype, moved):
    b, seen = gappy(dtype=dtype)
    here = SOLVERS[name](problem_of(b, seen), lambda x: x)
    there = SOLVERS[name](problem_of(moved(b), seen), moved)
    close = CLOSE.get(name, 1e-5)
    assert there.objective == pytest.approx(here.objective, rel=close)
    np.testing.assert_allclose(to_numpy(there.y), here.y, atol=30 * close**0.5 * 0.05)
    assert there.status is here.status
    assert_there(there.y, moved(b))
    assert_there(there.X.U, moved(b))


@pytest.mark.parametrize("name", ["gcgls", "solve"])
@pytest.mark.parametrize("dtype", ["complex64", "float32"])
def test_single_precision_stays(name, dtype, moved):
    b, seen = gappy(dtype=dtype)
    loose = Stop(40, None, None, 1e-3)
    call = {"gcgls": lambda p: gcgls(p, 1.0, stop=loose), "solve": lambda p: solve(p, 1e-3)}[name]
    here, there = (call(problem_of(x, seen)) for x in (b, moved(b)))
    assert there.objective == pytest.approx(here.objective, rel=2e-3)
    assert to_numpy(there.y).dtype == to_numpy(there.X.V).dtype == dtype


def test_several_axes_weights_and_operators(moved):
    b, seen = gappy()
    turn = np.exp(0.3j * np.arange(64))

    def problems(x, at):
        structure = Hankel(64, window=32)
        there = at(turn)
        back = at(turn.conj())
        operator = Operator(lambda y: there * y, lambda z: back * z)
        return [
            pictures(x, seen),
            Problem(structure, x, 2.0, Weighted("lifted", seen)),
            Problem(structure, x, 0.3, operator),
        ]

    for one, two in zip(problems(b, np.asarray), problems(moved(b), moved), strict=True):
        here, there = (gcgls(p, 1.0, stop=TIGHT) for p in (one, two))
        assert there.objective == pytest.approx(here.objective, rel=1e-5)
        np.testing.assert_allclose(to_numpy(there.y), here.y, atol=1e-3)


@pytest.mark.parametrize("name", STRUCTURES)
def test_structures_and_objectives(name, moved):
    S, rng = STRUCTURES[name], np.random.default_rng(1)
    b = random_array(rng, S.signal_shape)
    X = [random_array(rng, (size, 2)) for size in S.shape]
    here = Penalized(Problem(S, b, 0.3), 2.0)
    there = Penalized(Problem(S, moved(b), 0.3), 2.0)
    one, two = (p.at(LowRank(*F)) for p, F in ((here, X), (there, [moved(F) for F in X])))
    assert there.psi(two) == pytest.approx(here.psi(one), rel=1e-12)
    np.testing.assert_allclose(to_numpy(there.signal(two)), here.signal(one), atol=1e-12)
    pairs = zip(there.factor_gradient(two), here.factor_gradient(one), strict=True)
    for got, expected in pairs:
        np.testing.assert_allclose(to_numpy(got), expected, atol=1e-10)
    assert mu_max(Problem(S, moved(b), 0.3)) == pytest.approx(mu_max(Problem(S, b, 0.3)), rel=1e-6)


def test_many_problems(moved):
    stop, lists = Stop(60, xtol=None, rtol=None, gap=1e-5), []
    for at in (np.asarray, moved):
        drawn = [gappy(seed=seed) for seed in range(5)]
        structure = Hankel(64, window=32)
        lists.append([Problem(structure, at(b), 2.0, Mask(seen)) for b, seen in drawn])
    here, there = (solve_many(problems, 1.0, stop=stop) for problems in lists)
    np.testing.assert_allclose(there.objective, here.objective, rtol=3e-5)
    np.testing.assert_allclose(to_numpy(there.y), here.y, atol=5e-3)
    assert there.rank.tolist() == here.rank.tolist()
    assert there.status == here.status


RIVALS = {
    "cadzow": lambda p: cadzow(p, 2),
    "fiht": lambda p: fiht(p, 2),
    "hsnld": lambda p: hsnld(p, 2, 0.1),
    "projected_gradient": lambda p: projected_gradient(p, 2),
}


@pytest.mark.parametrize("name", RIVALS)
def test_rivals_that_run_there(name, moved):
    b, seen = gappy()
    here, there = (RIVALS[name](problem_of(x, seen)) for x in (b, moved(b)))
    np.testing.assert_allclose(to_numpy(there.y), to_numpy(here.y), atol=1e-3)


def test_choices_of_mu_rank_and_modes(moved):
    b, seen = gappy()
    here, there = (problem_of(x, seen) for x in (b, moved(b)))
    assert noise_mu(there, 0.05) == pytest.approx(noise_mu(here, 0.05), rel=1e-6)
    results = [gcgls(p, 1.0, stop=TIGHT) for p in (here, there)]
    one, two = (choose_rank(result) for result in results)
    assert (one.rank, two.rank) == (2, 2)
    fits = [refit(result, 2) for result in results]
    np.testing.assert_allclose(to_numpy(fits[1].y), fits[0].y, atol=1e-6)
    np.testing.assert_allclose(to_numpy(fits[1].stderr), fits[0].stderr, rtol=1e-4)
    assert_there(fits[1].y, there.b)
    one, two = (find_modes(result, 2).frequencies for result in results)
    np.testing.assert_allclose(two, one, atol=1e-4)
    np.testing.assert_array_equal(find_outliers(there), find_outliers(here))


CALLS = {
    "recover": recover,
    "impute": impute,
    "denoise": denoise,
    "recover, convex": lambda x: recover(x, kind="convex", mu=2.0),
    "recover_many": lambda x: recover_many([x])[0],
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", ["complex128", "float64"])
def test_one_call(name, dtype, moved):
    b, seen = gappy(120, dtype)
    samples = np.where(seen, b, np.nan)
    here, there = (CALLS[name](x) for x in (samples, moved(samples)))
    assert (there.rank, there.kind) == (here.rank, here.kind)
    np.testing.assert_allclose(to_numpy(there.signal), here.signal, atol=1e-3)
    np.testing.assert_allclose(to_numpy(there.stderr), here.stderr, rtol=1e-2, atol=1e-6)
    assert_there(there.signal, moved(samples))


def test_forecasts_and_frequencies(moved):
    b, _ = gappy(120, "float64")
    here, there = (forecast(x, 4, rank=4) for x in (b, moved(b)))
    np.testing.assert_allclose(to_numpy(there.mean), here.mean, atol=1e-4)
    assert_there(there.mean, moved(b))
    here, there = (frequencies(x, rank=4) for x in (b, moved(b)))
    np.testing.assert_allclose(there.frequencies, here.frequencies, atol=1e-6)


def test_other_functions(moved):
    b, _ = gappy(120, "float64")
    outputs = np.stack([b, np.roll(b, 3)], axis=1)
    here, there = (empirical_covariances(x, 4) for x in (outputs, moved(outputs)))
    np.testing.assert_allclose(to_numpy(there), here, atol=1e-12)
    here, there = (sampling_noise_mu(x, 3, 6) for x in (outputs, moved(outputs)))
    assert there == pytest.approx(here, rel=1e-6)
    samples, _ = gappy()
    here, there = (
        gcgls(spectral_problem(x, 20, mu=0.1), 1.0, stop=TIGHT) for x in (samples, moved(samples))
    )
    assert there.objective == pytest.approx(here.objective, rel=1e-5)


# -- transfers ------------------------------------------------------------------------------


class Transfers:
    """Counts the copies between the device and the host that are as large as a signal."""

    def __init__(self, monkeypatch, large):
        self.down = self.up = 0
        for name, way in (("to_numpy", "down"), ("like", "up"), ("with_precision", "up")):
            self._patch(monkeypatch, name, way, large)

    def _patch(self, monkeypatch, name, way, large):
        true = getattr(namespace, name)

        def counted(x, *others, **options):
            copied = true(x, *others, **options)
            between = not (isinstance(x, np.ndarray) and isinstance(copied, np.ndarray))
            if between and copied.nbytes >= large:
                setattr(self, way, getattr(self, way) + 1)
            return copied

        homes = [m for key, m in list(sys.modules.items()) if key.startswith("structrank")]
        for home in homes:
            if vars(home).get(name) is true:
                monkeypatch.setattr(home, name, counted)


@pytest.mark.parametrize("name", ["gcgls", "solve_many"])
def test_no_signal_leaves_the_device_inside_a_solve(name, moved, monkeypatch):
    n = 2**13
    b, seen = gappy(n)
    problem = Problem(Hankel(n, window=n // 2), moved(b), 60.0, Weighted("lifted", seen))
    counts = []
    for steps in (2, 4):
        stop = Stop(steps, None, None)
        with monkeypatch.context() as patch:
            transfers = Transfers(patch, b.nbytes / 8)
            if name == "gcgls":
                gcgls(problem, 1.0, stop=stop)
            else:
                solve_many([problem], 1.0, stop=stop)
        counts.append(transfers)
    few, many = counts
    # The hash of the data, for random starts, is computed on the host, once. One random start per
    # step comes from the host.
    assert few.down == many.down <= 2
    assert many.up - few.up <= 2


# -- memory ---------------------------------------------------------------------------------


def device_peak(work, array):
    """Largest memory of a call on a GPU, beyond what was there before; None if it is not known."""
    if type(array).__module__.startswith("torch"):
        cuda = sys.modules["torch"].cuda
        cuda.empty_cache()
        cuda.reset_peak_memory_stats()
        before = cuda.memory_allocated()
        work()
        return cuda.max_memory_allocated() - before
    if type(array).__module__.startswith("cupy"):
        pool = sys.modules["cupy"].get_default_memory_pool()
        pool.free_all_blocks()
        before = pool.total_bytes()
        work()
        return pool.total_bytes() - before  # it never shrinks by itself
    return None


@pytest.mark.skipif(ON_PROCESSOR, reason="the memory of a GPU")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_estimated_memory_and_time(dtype, moved):
    n = 2**20
    b, seen = gappy(n, dtype)
    problem = Problem(Hankel(n, window=n // 2), moved(b), 1.0, Weighted("lifted", seen))
    problem = Problem(problem.structure, problem.b, 0.1 * mu_max(problem), problem.measure)
    stop = Stop(60, None, None, 1e-3)
    rank = gcgls(problem, 1.0, stop=stop).rank  # plans of FFTs are kept
    cost = estimate_cost(problem, rank=rank)
    measured = device_peak(lambda: gcgls(problem, 1.0, stop=stop), problem.b)
    if measured is None:
        pytest.skip("the library does not tell its peak memory")
    assert cost.memory[0] <= measured <= cost.memory[1], measured / b.nbytes
    assert 0 < free_memory(problem.b) < 1e12
    assert cost.advice == ""
    began = time.perf_counter()
    gcgls(problem, 1.0, stop=stop)
    assert cost.seconds[0] / 2 < time.perf_counter() - began < 2 * cost.seconds[1]


class Limit:
    """Lets a library allocate only so many more bytes on the GPU; None: as many as there are."""

    def __init__(self, array):
        self.name = type(array).__module__.partition(".")[0]
        if self.name not in ("torch", "cupy"):
            pytest.skip("the library has no limit that can be set")
        self.module = sys.modules[self.name]

    def used(self):
        if self.name == "torch":
            return self.module.cuda.memory_allocated()
        return self.module.get_default_memory_pool().used_bytes()

    def set(self, more):
        if self.name == "torch":
            cuda = self.module.cuda
            cuda.empty_cache()
            whole = cuda.mem_get_info()[1]
            cuda.set_per_process_memory_fraction(
                1.0 if more is None else (cuda.memory_reserved() + more) / whole
            )
        else:
            pool = self.module.get_default_memory_pool()
            pool.free_all_blocks()
            pool.set_limit(size=0 if more is None else pool.total_bytes() + more)  # 0: none


FULL = {
    "gcgls": lambda p: gcgls(p, 1.0, stop=Stop(3, None, None)),
    "solve": lambda p: solve(p, max_time=20),
    "recover": lambda p: recover(p.b, kind="convex", mu=p.mu, max_time=20),
}


@pytest.mark.skipif(ON_PROCESSOR, reason="the memory of a GPU")
@pytest.mark.parametrize("megabytes", [20, 150])
@pytest.mark.parametrize("name", FULL)
def test_out_of_memory(name, megabytes, moved):
    """The error of the library arrives as it is, with advice, and what was allocated is freed."""
    n = 2**19
    limit = Limit(moved(np.zeros(2)))
    b, seen = gappy(n)
    problem = Problem(Hankel(n, window=n // 2), moved(b), 50.0, Weighted("lifted", seen))
    gcgls(problem, 1.0, stop=Stop(1, None, None))  # the problem and the library keep some arrays
    gc.collect()
    before = limit.used()
    limit.set(megabytes * 1_000_000)
    try:
        with pytest.raises((MemoryError, RuntimeError)) as caught:
            FULL[name](problem)
    finally:
        limit.set(None)
    assert is_out_of_memory(caught.value), repr(caught.value)
    (note,) = caught.value.__notes__
    assert note.startswith("structrank ran out of memory: single precision needs less")
    print(f"{limit.name} {name} {megabytes} MB: {caught.value!r}")
    del caught
    gc.collect()
    assert limit.used() <= before
    assert gcgls(problem, 1.0, stop=Stop(1, None, None)).rank > 0  # the next call works


@pytest.mark.skipif(ON_PROCESSOR, reason="the memory of a GPU")
def test_a_full_gpu_is_noticed_before_any_work(moved):
    n = 2**21
    limit = Limit(moved(np.zeros(2)))
    b, seen = gappy(n)
    problem = Problem(Hankel(n, window=n // 2), moved(b), 1.0, Weighted("lifted", seen))
    limit.set(None)
    left = int(free_memory(problem.b) - 600e6)
    place = {"device": "cuda"} if limit.name == "torch" else {}
    taken = limit.module.empty(left, dtype=limit.module.uint8, **place)
    with pytest.raises(MemoryError, match=r"needs at least .* are available: single precision"):
        gcgls(problem, 1.0)
    del taken
    limit.set(None)
