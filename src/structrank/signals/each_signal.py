"""Signals that are recovered each by itself, on several processes; Ctrl-C returns what is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .._checks import positive_int
from .._processes import check_workers, finished
from .._watch import clock
from ..solvers.stopping import Status
from .as_they_are import Unfinished, as_they_are
from .recovery_result import Recovery


def check_each(options: dict[str, Any], workers: int) -> None:
    """Raise an error for options that do not suit many signals.

    Parameters
    ----------
    options : dict
        Those of `recover`.
    workers : int
    """
    check_workers(positive_int(workers, "workers"))
    rng = options.get("rng", 0)
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)):
        raise TypeError(f"rng is {type(rng).__name__}, but an integer, one for all, is expected")
    for name in ("checkpoint", "resume"):
        if options.get(name) is not None:
            raise ValueError(
                f"{name} is given, but it is for one signal: call recover in a loop, with one file "
                "per signal"
            )


def recover_each(
    work: Callable[[Any], Recovery],
    signals: Sequence[Any],
    options: dict[str, Any],
    *,
    workers: int,
    progress: bool,
) -> list[Recovery]:
    """Recover every signal, on several processes; after Ctrl-C return what is there.

    Parameters
    ----------
    work : callable
        Recovers one signal.
    signals : sequence
    options : dict
        Those of `recover`.
    workers : int
    progress : bool

    Returns
    -------
    list of Recovery
    """
    found: dict[int, Recovery] = {}
    try:
        with tqdm(total=len(signals), desc="signals", disable=not progress) as bar:
            for i, one in finished(work, signals, workers):
                found[i] = one
                bar.update()
    except KeyboardInterrupt:
        if not found or len(found) == len(signals):
            raise
        for i, signal in enumerate(signals):
            if i not in found:
                found[i] = _unfinished(work, signal, options)
    return [found[i] for i in range(len(signals))]


def _unfinished(work: Callable[[Any], Recovery], samples: Any, options: dict[str, Any]) -> Recovery:
    again = partial(work, samples)
    return as_they_are(Unfinished, samples, options, Status.INTERRUPTED, again, began=clock())
