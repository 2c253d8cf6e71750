"""Run many tasks on a cluster, or on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tqdm.auto import tqdm

from .sources import require


@dataclass(frozen=True)
class Batches:
    """How many tasks a local scheduler gets at once.

    Attributes
    ----------
    size : int
        Taste: enough to keep all cores busy, few enough for a bar that moves.
    """

    size: int = 32


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """Give the client to use: that of the caller, one for an address, the current one, or none."""
    if isinstance(client, str):
        with require("distributed").Client(client) as opened:
            yield opened
        return
    if client is None and "distributed" in sys.modules:
        distributed = sys.modules["distributed"]
        try:
            client = distributed.default_client()
        except ValueError:
            client = None
    yield client


def run_all(
    task: Callable[..., Any],
    calls: Iterable[tuple[Any, ...]],
    client: Any,
    *,
    label: str,
    progress: bool = False,
    batches: Batches = Batches(),
) -> list[Any]:
    """Call a function for many arguments, on the workers of a client or of a local scheduler.

    Parameters
    ----------
    task : callable
        Can be repeated if a worker is lost.
    calls : iterable of tuple
        Its arguments; Dask arrays are computed first.
    client : distributed.Client or None
    label : str
        What is being done, for the progress bar.
    progress : bool
    batches : Batches

    Returns
    -------
    list
        What the calls returned, in order.
    """
    dask = require("dask")
    lazy = dask.delayed(task, pure=False, traverse=False)
    tasks = [lazy(*arguments) for arguments in calls]
    results: list[Any] = []
    with tqdm(total=len(tasks), desc=label, disable=not progress) as bar:
        if client is not None:
            return _on_cluster(tasks, client, bar)
        for first in range(0, len(tasks), batches.size):
            part = dask.compute(*tasks[first : first + batches.size])
            results.extend(part)
            bar.update(len(part))
    return results


def _on_cluster(tasks: list[Any], client: Any, bar: Any) -> list[Any]:
    distributed = require("distributed")
    futures = client.compute(tasks)
    try:
        for _ in distributed.as_completed(futures, raise_errors=True):
            bar.update()
        return list(client.gather(futures))
    except CancelledError as error:
        raise ConnectionError(
            "the scheduler of the cluster was lost, or cancelled the tasks: what is complete is "
            "kept; call again with the same arguments to continue"
        ) from error
    except BaseException:
        client.cancel(futures)
        raise
