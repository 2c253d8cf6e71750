"""What `solve_many` returns: results that are built when they are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from .._array import Array, NDArray, array_namespace, chosen
from ..model.lowrank import LowRank
from ..model.problem import Problem
from ..structures.hankel_stack import HankelStack
from .result import Result
from .state import History
from .stopping import Status


@dataclass(frozen=True)
class Entry:
    """One iterate per problem, for the histories."""

    places: NDArray  # sorted
    seconds: float
    objective: NDArray
    loss: NDArray
    violation: NDArray
    rank: NDArray
    gap: NDArray
    top_value: NDArray


@dataclass(frozen=True)
class Finished:
    """The last iterates of problems that ended together."""

    places: NDArray
    status: list[Status]
    gap: NDArray
    rank: NDArray
    objective: NDArray
    y: Array  # problems x n
    U: Array  # problems x r x M
    W: Array  # problems x r x N, the conjugate of V

    def X(self, row: int, kernel: HankelStack) -> LowRank:
        """The matrix of one problem."""
        rank = int(self.rank[row])
        return LowRank(self.U[row, :rank, :].T, kernel.columns_of(self.W[row, :rank, :]))


class Results(Sequence[Result]):
    """The results of many problems, in their order: a sequence of `Result`.

    A `Result` is built when it is asked for, which saves time if there are thousands on a GPU.

    Attributes
    ----------
    y : array, shape (problems, ...)
        All recovered signals.
    rank : ndarray of int
    objective : ndarray
    gap : ndarray
        Certified gaps.
    status : list of Status

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, solve_many
    >>> signals = [rate ** np.arange(9.0) for rate in (0.5, 0.8)]
    >>> results = solve_many([Problem(Hankel(9, window=5), y, mu=0.01) for y in signals], lam=1.0)
    >>> len(results), results.y.shape, results.rank.tolist()
    (2, (2, 9), [1, 1])
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        kernel: HankelStack,
        parts: Sequence[Finished],
        log: Sequence[Entry],
    ) -> None:
        self._problems, self._kernel, self._parts, self._log = problems, kernel, parts, log
        self._shape = kernel.lengths
        count = len(problems)
        self._part, self._row = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
        for k, part in enumerate(parts):
            self._part[part.places] = k
            self._row[part.places] = np.arange(part.places.size)
        self.rank, self.objective, self.gap = (
            self._gathered([getattr(part, name) for part in parts])
            for name in ("rank", "objective", "gap")
        )
        self.status = [parts[k].status[row] for k, row in zip(self._part, self._row, strict=True)]

    @cached_property
    def y(self) -> Array:
        """All recovered signals, the first axis for the problem."""
        xp = array_namespace(self._parts[0].y)
        signals = self._gathered([part.y for part in self._parts])
        return xp.reshape(signals, (len(self), *self._shape))

    def _gathered(self, arrays: list[Array]) -> Array:
        """Join arrays of the parts, in the order of the problems."""
        starts = np.cumsum([0, *(array.shape[0] for array in arrays)])
        return chosen(array_namespace(*arrays).concat(arrays), starts[self._part] + self._row)

    def __len__(self) -> int:
        return len(self._problems)

    @overload
    def __getitem__(self, i: int) -> Result: ...

    @overload
    def __getitem__(self, i: slice) -> list[Result]: ...

    def __getitem__(self, i: int | slice) -> Result | list[Result]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        i = range(len(self))[i]  # negative ones count from the end; an IndexError ends loops
        part, row = self._parts[self._part[i]], int(self._row[i])
        problem = self._problems[i]
        return Result(
            y=array_namespace(part.y).reshape(part.y[row, ...], self._shape),
            X=part.X(row, self._kernel),
            rank=int(part.rank[row]),
            objective=float(part.objective[row]),
            gap=float(part.gap[row]),
            status=part.status[row],
            history=self._history(i),
            problem=problem,
        )

    def _history(self, i: int) -> History:
        history = History()
        for entry in self._log:
            row = int(np.searchsorted(entry.places, i))
            if row < entry.places.size and entry.places[row] == i:
                history.time.append(entry.seconds)
                history.rank.append(int(entry.rank[row]))
                for name in ("objective", "loss", "violation", "gap", "top_value"):
                    getattr(history, name).append(float(getattr(entry, name)[row]))
        return history

    def __repr__(self) -> str:
        counts = Counter(status.value for status in self.status)
        return f"Results({', '.join(f'{number} {what}' for what, number in counts.items())})"
