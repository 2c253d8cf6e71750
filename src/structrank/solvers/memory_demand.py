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

SMALLER = "single precision needs less; a volume can be recovered in patches (recover_patches)"
Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


@dataclass(frozen=True)
class MemoryDemand:
    """Peak memory of `gcgls`, in units of the signal: `fixed + per_rank * rank`.

    Measured for one axis of 2^12 to 2^18 samples, ranks 1 to 30, real and complex, in single and
    double precision: 0.74 to 1.3 times the estimate; for 96 x 96 samples, 0.6 to 0.9 times.

    Attributes
    ----------
    fixed, per_rank : float
        Without factors, and for each column of the factors.
    proof : float
        More of a signal in single precision, whose gap is proven in double precision.
    spread : float
        From the middle of the range to its ends, as a factor.
    rank : int
        Rank if it is not known: as many pairs as one step adds.
    """

    fixed: float = 22.0
    per_rank: float = 8.5
    proof: float = 27.0
    spread: float = 1.3
    rank: int = 8

    def bytes(self, problem: Problem, rank: int) -> float:
        """The peak memory of a solve whose iterates have a rank."""
        signal = problem.backprojection
        entries = max(prod(signal.shape), sum(problem.structure.shape))
        number = _bits(signal) / 8 * (2 if is_complex(signal) else 1)
        fixed = self.fixed + (self.proof if _bits(signal) == 32 else 0.0)
        return float(entries * number * (fixed + self.per_rank * rank))


def available_memory(problem: Problem) -> float | None:
    """Bytes that are free on the GPU of a problem, or the memory of the machine."""
    free = free_memory(problem.backprojection)
    return machine_memory() if free is None else free


def what_to_change(problem: Problem) -> str:
    """How a problem that is too large for the memory can become smaller."""
    half = "" if _bits(problem.backprojection) == 32 else "single precision needs less; "
    return (
        f"{half}a larger mu lowers the rank; a volume can be recovered in patches (recover_patches)"
    )


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
    least = demand.bytes(problem, 1) / demand.spread
    available = available_memory(problem)
    if available is not None and least > available:
        raise MemoryError(
            f"{problem!r} needs at least {size_words(least)} of memory, but "
            f"{size_words(available)} are available: {what_to_change(problem)}"
        )


def _bits(signal: Array) -> int:
    """Bits of a real number."""
    return int(array_namespace(signal).finfo(real_dtype(signal)).bits)
