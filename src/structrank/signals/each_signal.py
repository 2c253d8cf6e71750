"""Signals that are recovered each by itself, on several processes, also after Ctrl-C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from tqdm.auto import tqdm

from .._checks import positive_int
from .._processes import check_workers, finished
from .._watch import clock
from ..solvers.stopping import Status
from .as_they_are import Unfinished, as_they_are
from .recovery_result import Recovery
from .settings import Settings


class Work(Protocol):
    """Recovers one signal with settings."""

    def __call__(self, samples: Any, settings: Settings) -> Recovery: ...


def check_each(settings: Settings) -> None:
    """Raise an error for settings that do not suit many signals."""
    check_workers(positive_int(settings.workers, "workers"))
    rng = settings.rng
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)):
        raise TypeError(f"rng is {type(rng).__name__}, but an integer, one for all, is expected")
    for name in ("checkpoint", "resume"):
        if getattr(settings, name) is not None:
            raise ValueError(
                f"{name} is given, but it is for one signal: call recover in a loop, with one file "
                "per signal"
            )


def recover_each(work: Work, signals: Sequence[Any], settings: Settings) -> list[Recovery]:
    """Recover every signal, on several processes.

    After Ctrl-C, signals that are not finished are returned with their samples unchanged.

    Parameters
    ----------
    work : callable
        Recovers one signal with settings.
    signals : sequence
    settings : Settings
        Its `workers` and `progress` are those of all signals together.

    Returns
    -------
    list of Recovery
    """
    own = replace(settings, workers=1, progress=False)
    one_signal = partial(work, settings=own)
    found: dict[int, Recovery] = {}
    try:
        with tqdm(total=len(signals), desc="signals", disable=not settings.progress) as bar:
            for i, one in finished(one_signal, signals, settings.workers):
                found[i] = one
                bar.update()
    except KeyboardInterrupt:
        if not found or len(found) == len(signals):
            raise
        for i, signal in enumerate(signals):
            if i not in found:
                again = partial(one_signal, signal)
                found[i] = as_they_are(
                    Unfinished, signal, own, Status.INTERRUPTED, again, began=clock()
                )
    return [found[i] for i in range(len(signals))]
