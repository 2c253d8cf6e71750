"""The same solve with NumPy on the processor and with other libraries on a GPU.

    python -m benchmarks.gpu [--exponents 14 16 18 20] [--libraries torch cupy jax]

gcgls to a certified gap of 1e-3 on complex Hankel problems of 2^k samples, 8 modes, 30% seen, as
in `benchmarks.scaling`, in double precision. The second of two runs is timed, unless the first
takes more than half a minute. Prints the ratio of the times, and how far the objectives are
apart. NumPy uses all FFT workers it is given
(`--workers`). Without a GPU the libraries run on the processor, which says so.
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
from structrank import Problem, Result, Stop, gcgls


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--exponents", type=int, nargs="*", default=[14, 16, 18, 20])
    parser.add_argument("--libraries", nargs="*", default=["torch", "cupy", "jax"])
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    print(f"{'samples':>9}{'library':>9}{'device':>8}{'seconds':>9}{'numpy / it':>12}{'apart':>9}")
    for exponent in options.exponents:
        problem = gappy_modes(2**exponent)
        with scipy.fft.set_workers(options.workers):
            reference, base = timed(problem)
        print(f"{2**exponent:>9}{'numpy':>9}{'cpu':>8}{base:>9.2f}{1:>12.1f}{'':>9}", flush=True)
        for library in options.libraries:
            try:
                there, device = moved(problem, library)
            except ModuleNotFoundError:
                print(f"{2**exponent:>9}{library:>9}   is not installed")
                continue
            result, seconds = timed(there)
            apart = abs(result.objective / reference.objective - 1)
            print(
                f"{2**exponent:>9}{library:>9}{device:>8}{seconds:>9.2f}"
                f"{base / seconds:>12.1f}{apart:>9.0e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
