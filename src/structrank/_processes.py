"""Several processes for tasks that do not depend on each other, by joblib where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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


def mapped(task: Callable[[Item], Found], items: Iterable[Item], workers: int) -> Iterator[Found]:
    """Generate what a task finds for every item, in order; with one worker in this process."""
    if workers == 1:
        yield from map(task, items)
        return
    joblib: Any = import_module("joblib")
    pool = joblib.Parallel(n_jobs=workers, return_as="generator")
    yield from pool(joblib.delayed(task)(item) for item in items)
