"""Several processes for tasks that do not depend on each other, by joblib where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")


def check_workers(workers: int) -> None:
    """Raise an error if more than one process is asked for without joblib."""
    if workers > 1 and find_spec("joblib") is None:
        raise ImportError(
            f"workers is {workers}, but more than one needs the package joblib: "
            'pip install "structrank[parallel]"'
        )


def finished(
    task: Callable[[Item], Found], items: Sequence[Item], workers: int
) -> Iterator[tuple[int, Found]]:
    """Generate the place of every item and what a task finds for it, as soon as it is found.

    With one worker, everything runs in this process, in order.
    """
    if workers == 1:
        yield from ((i, task(item)) for i, item in enumerate(items))
        return
    joblib: Any = import_module("joblib")
    pool = joblib.Parallel(n_jobs=workers, return_as="generator_unordered")
    yield from pool(joblib.delayed(_placed)(task, i, item) for i, item in enumerate(items))


def _placed(task: Callable[[Item], Found], i: int, item: Item) -> tuple[int, Found]:
    return i, task(item)
