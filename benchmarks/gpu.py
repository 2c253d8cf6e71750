"""The same solve with NumPy on the processor and with other libraries on a GPU.

    python -m benchmarks.gpu [--exponents 14 16 18 20] [--libraries torch cupy jax]

gcgls to a certified gap of 1e-3 on complex Hankel problems of 2^k samples, 8 modes, 30% seen, as
in `benchmarks.scaling`, in double precision. The second of two runs is timed, unless the first
takes more than half a minute. Prints the ratio of the times, how far the objectives are apart, and
one step of the local search at the solution in units of its bare FFTs (`benchmarks.floor`). NumPy
uses all FFT workers it is given (`--workers`). Without a GPU the libraries run on the processor,
which says so.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import scipy.fft

from benchmarks.signals import gappy_modes
from structrank import LowRank, Penalized, Problem, Result, Stop, gcgls
from structrank._array import array_namespace
from structrank.solvers.local_search import local_search


def moved(problem: Problem, library: str) -> tuple[Problem, str]:
    """The problem with its samples in a library, on its first GPU if there is one."""
    b: Any = np.where(np.isnan(problem.b), 0, problem.b)
    if library == "torch":
        torch = import_module("torch")
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return replace(problem, b=torch.asarray(b, device=device)), device
    if library == "cupy":
        return replace(problem, b=import_module("cupy").asarray(b)), "cuda"
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    return replace(problem, b=jax.numpy.asarray(b)), jax.default_backend()


def timed(problem: Problem) -> tuple[Result, float]:
    """A result of gcgls, and the seconds of the second of two runs; of the first if it is long."""
    stop = Stop(xtol=None, rtol=None, gap=1e-3)
    for _ in range(2):
        began = time.perf_counter()
        result = gcgls(problem, lam=1.0, stop=stop)
        seconds = time.perf_counter() - began
        if seconds > 30:
            break
    return result, seconds


def step_over_floor(problem: Problem, X: LowRank, few: int = 3, many: int = 13) -> float:
    """Time of a step of the local search over that of its 4r + 4 FFTs; every run ends with a
    number on the host, so that the GPU has finished.
    """
    objective, xp = Penalized(problem, 1.0), array_namespace(X.U)
    spectra = objective.structure.transform_left(X.U)

    def search(steps: int) -> None:
        local_search(objective, X, max_steps=steps, tolerance=-np.inf)

    def bare() -> None:
        for _ in range(4):
            transformed = xp.fft.fft(spectra, axis=1)
        complex(transformed[0, 0])

    def seconds(task: Any) -> float:
        began = time.perf_counter()
        task()
        return time.perf_counter() - began

    search(few)
    bare()
    step = (seconds(lambda: search(many)) - seconds(lambda: search(few))) / (many - few)
    floor = min(seconds(bare) for _ in range(3)) * (4 * X.rank + 4) / (4 * X.rank)
    return step / floor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exponents", type=int, nargs="*", default=[14, 16, 18, 20])
    parser.add_argument("--libraries", nargs="*", default=["torch", "cupy", "jax"])
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    print(
        f"{'samples':>9}{'library':>9}{'device':>8}{'seconds':>9}{'numpy / it':>12}{'apart':>9}"
        f"{'step / FFTs':>13}"
    )
    for exponent in options.exponents:
        with scipy.fft.set_workers(options.workers):
            problem = gappy_modes(2**exponent)
            reference, base = timed(problem)
        print(f"{2**exponent:>9}{'numpy':>9}{'cpu':>8}{base:>9.2f}{1:>12.1f}{'':>9}", flush=True)
        for library in options.libraries:
            try:
                there, device = moved(problem, library)
            except ModuleNotFoundError:
                print(f"{2**exponent:>9}{library:>9}   is not installed")
                continue
            result, seconds = timed(there)
            ratio = step_over_floor(there, result.X) if library != "jax" else np.nan
            apart = abs(result.objective / reference.objective - 1)
            print(
                f"{2**exponent:>9}{library:>9}{device:>8}{seconds:>9.2f}"
                f"{base / seconds:>12.1f}{apart:>9.0e}{ratio:>13.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
