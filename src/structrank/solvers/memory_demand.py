"""Memory that a solve needs, and whether it is available."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from math import prod
from typing import Concatenate, ParamSpec, TypeVar

from .._array import (
    Array,
    array_namespace,
    free_memory,
    is_complex,
    memory_advice,
    real_dtype,
)
from ..io.limits import machine_memory, size_words
from ..model.problem import Problem

IN_SINGLE = "single precision needs less for more than a few modes"
SMALLER = f"{IN_SINGLE}; a volume can be recovered in patches (recover_patches)"
Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


@dataclass(frozen=True)
class MemoryDemand:
    """Peak memory of `gcgls`, in units of the signal, for iterates of a rank.

    Measured for solves to a gap of 1e-3 of 2^12 to 2^16 samples along one axis, ranks 2 to 30, real
    and complex, in single and double precision: 0.9 to 1.35 times the estimate. Signals of two axes
    take less, 96 x 96 samples 0.6 to 0.9 times an estimate like this one.

    Attributes
    ----------
    search : tuple of float
        Of the local search: a fixed part, and one for each column of the factors.
    proof : tuple of float
        The same of the proof of a gap, in units of the signal in double precision.
    spread : float
        From the middle of the range to its ends, as a factor.
    rank : int
        Rank if it is not known: as many pairs as one step adds.
    """

    search: tuple[float, float] = (18.0, 8.5)
    proof: tuple[float, float] = (36.0, 2.0)
    spread: float = 1.3
    rank: int = 8

    def bytes(self, problem: Problem, rank: int) -> float:
        """The peak memory of a solve whose iterates have a rank."""
        proof = 8 * _numbers(problem) * (self.proof[0] + self.proof[1] * rank)
        return max(self.search_bytes(problem, rank), proof)

    def search_bytes(self, problem: Problem, rank: int) -> float:
        """The same without a proof."""
        bits = _bits(problem.backprojection)
        return bits * _numbers(problem) / 8 * (self.search[0] + self.search[1] * rank)


def available_memory(problem: Problem) -> float | None:
    """Bytes that are free on the GPU of a problem, or the memory of the machine."""
    free = free_memory(problem.backprojection)
    return machine_memory() if free is None else free


def what_to_change(problem: Problem) -> str:
    """How a problem that is too large for the memory can become smaller."""
    single = "" if _bits(problem.backprojection) == 32 else f"{IN_SINGLE}; "
    patches = "a volume can be recovered in patches (recover_patches)"
    return f"{single}a larger mu lowers the rank; {patches}"


def advised(
    function: Callable[Concatenate[Problem, Arguments], Returned],
) -> Callable[Concatenate[Problem, Arguments], Returned]:
    """Let a function of a problem say what to change if it runs out of memory."""

    @wraps(function)
    def saying(problem: Problem, /, *args: Arguments.args, **options: Arguments.kwargs) -> Returned:
        with memory_advice(partial(what_to_change, problem)):
            return function(problem, *args, **options)

    return saying


def check_memory(problem: Problem, demand: MemoryDemand = MemoryDemand()) -> None:
    """Raise an error, before any work, if not even a solution of rank one fits into the memory.

    Parameters
    ----------
    problem : Problem
    demand : MemoryDemand
    """
    least = demand.search_bytes(problem, 1) / demand.spread
    available = available_memory(problem)
    if available is not None and least > available:
        raise MemoryError(
            f"{problem!r} needs at least {size_words(least)} of memory, but "
            f"{size_words(available)} are available: {what_to_change(problem)}"
        )


def _numbers(problem: Problem) -> int:
    """Real numbers of the signal, or of a column of both factors if these are more."""
    signal = problem.backprojection
    entries = max(prod(signal.shape), sum(problem.structure.shape))
    return int(entries) * (2 if is_complex(signal) else 1)


def _bits(signal: Array) -> int:
    """Bits of a real number."""
    return int(array_namespace(signal).finfo(real_dtype(signal)).bits)
