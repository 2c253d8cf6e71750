"""One long signal: rank, error against the truth, time and peak memory.

    python -m benchmarks.large [--samples 1000000]
    python -m benchmarks.large --samples 100000000 --single --share 0.1 --library torch

Complex undamped modes in circular noise (standard deviation 0.5, amplitudes between 1 and 2), some
samples seen. With NumPy, `recover` finds modes, rank and noise level, and its convex solution is
certified afterwards. With another library, `gcgls` solves to a proven gap of 1e-2 on its first GPU
(mu at twice the noise level); with `--refit`, `refit` removes the shrinkage. It works on the
processor, and takes about 13 s for a million samples.
"""

from __future__ import annotations

import argparse
import resource
import time
from importlib import import_module
from typing import Any

import numpy as np

from structrank import Hankel, Problem, State, Stop, Weighted, gcgls, noise_mu, recover, refit

SIGMA = 0.5


def modes(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies, at least 0.4 / count apart, and amplitudes with random phases."""
    rng = np.random.default_rng(seed)
    frequencies = (np.arange(count) + rng.uniform(0.2, 0.8, count)) / count
    return frequencies, rng.uniform(1, 2, count) * np.exp(2j * np.pi * rng.random(count))


def truth(length: int, count: int, seed: int, xp: Any, **where: Any) -> Any:
    """The signal without noise, in double precision."""
    t, signal = xp.arange(length, dtype=xp.float64, **where), None
    for frequency, amplitude in zip(*modes(count, seed), strict=True):
        phase = 2j * np.pi * ((frequency * t) % 1.0)
        part = complex(amplitude) * xp.exp(phase)
        signal = part if signal is None else signal + part
    return signal


def relative(y: Any, reference: Any, xp: Any) -> float:
    """Relative error of a signal."""
    return float(xp.linalg.vector_norm(y - reference) / xp.linalg.vector_norm(reference))


def on_processor(options: argparse.Namespace) -> None:
    """`recover` with NumPy."""
    n, rng = options.samples, np.random.default_rng(options.seed + 1)
    y = truth(n, options.modes, options.seed, np)
    noise = (rng.standard_normal(n) + 1j * rng.standard_normal(n)) * SIGMA / np.sqrt(2)
    samples = np.where(rng.random(n) < options.share, y + noise, np.nan)
    if options.single:
        samples = samples.astype(np.complex64)
    del noise
    began = time.perf_counter()
    found = recover(samples, rng=0)
    seconds = time.perf_counter() - began
    print(
        f"recover: rank {found.rank} of {options.modes}, error {relative(found.signal, y, np):.1e}"
    )
    print(f"  sigma {found.sigma:.3f}, {seconds:.1f} s, peak {_host_peak():.2f} GB", flush=True)
    began = time.perf_counter()
    result = found.result
    seconds = time.perf_counter() - began
    print(f"its convex solution: {result.outcome}, {seconds:.1f} s, peak {_host_peak():.2f} GB")


def on_device(options: argparse.Namespace) -> None:
    """`gcgls` and `refit` with PyTorch or CuPy, in the memory of the device."""
    xp = import_module(options.library)
    where = {"device": "cuda"} if options.library == "torch" else {}
    n, rng = options.samples, np.random.default_rng(options.seed + 1)
    kind = xp.complex64 if options.single else xp.complex128
    seen = rng.random(n, dtype=np.float32) < options.share
    b = truth(n, options.modes, options.seed, xp, **where)
    size = np.dtype(np.complex64 if options.single else np.complex128)
    noise = np.zeros(n, dtype=size)
    noise.real, noise.imag = (rng.standard_normal(n, dtype=np.float32) for _ in range(2))
    noise *= SIGMA / np.sqrt(2)
    b = xp.asarray(b, dtype=kind) + xp.asarray(noise, **where)
    b = xp.where(xp.asarray(seen, **where), b, 0 * b)
    del noise
    structure, measure = Hankel(n, window=n // 2), Weighted("lifted", seen)
    made = time.perf_counter()
    problem = Problem(structure, b, 1.0, measure)
    problem = problem.with_mu(noise_mu(problem, SIGMA, margin=2.0, draws=1))
    print(f"problem and mu: {time.perf_counter() - made:.1f} s", flush=True)
    _free(xp, options.library)
    began = time.perf_counter()

    def tell(state: State) -> None:
        print(f"  {time.perf_counter() - began:6.1f} s, rank {state.rank}", flush=True)

    stop = Stop(xtol=None, rtol=None, gap=1e-2)
    result = gcgls(problem, lam=1.0, stop=stop, callback=tell)
    seconds = time.perf_counter() - began
    peak = _device_peak(xp, options.library)
    print(f"gcgls: rank {result.rank} of {options.modes}, {result.outcome}, gap {result.gap:.1e}")
    print(f"  {seconds:.1f} s, {result.iterations} iterations, peak {peak:.1f} GB", flush=True)
    print(f"  {peak * 1e9 / (n * size.itemsize):.0f} times the signal, mu {problem.mu:.3g}")
    y = truth(n, options.modes, options.seed, xp, **where)
    print(f"  error {relative(result.y, y, xp):.1e}", flush=True)
    if options.refit:
        began = time.perf_counter()
        fit = refit(result)
        seconds = time.perf_counter() - began
        print(f"refit: error {relative(fit.y, y, xp):.1e}, {seconds:.1f} s")


def _host_peak() -> float:
    return 1024e-9 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _free(xp: Any, library: str) -> None:
    if library == "torch":
        xp.cuda.empty_cache()
        xp.cuda.reset_peak_memory_stats()
    else:
        xp.get_default_memory_pool().free_all_blocks()


def _device_peak(xp: Any, library: str) -> float:
    if library == "torch":
        return 1e-9 * xp.cuda.max_memory_allocated()
    return 1e-9 * xp.get_default_memory_pool().total_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--modes", type=int, default=8)
    parser.add_argument("--share", type=float, default=0.3, help="share of samples that are seen")
    parser.add_argument("--single", action="store_true", help="single precision")
    parser.add_argument("--library", choices=["numpy", "torch", "cupy"], default="numpy")
    parser.add_argument("--refit", action="store_true", help="remove the shrinkage of gcgls")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    on_processor(options) if options.library == "numpy" else on_device(options)


if __name__ == "__main__":
    main()
