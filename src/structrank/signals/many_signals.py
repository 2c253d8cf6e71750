"""Recover many signals: `recover` for each, on several cores if wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .._checks import positive_int
from .._processes import check_workers, finished
from .filling import unfinished
from .recovery import recover
from .recovery_result import Recovery


def recover_many(
    samples: Any, *, workers: int = 1, rng: int = 0, progress: bool = False, **options: Any
) -> list[Recovery]:
    """Fill the gaps and remove the noise of many signals, each by itself.

    The results are those of a loop over `recover`. A signal decides by its own samples what is
    tried and what is returned, so signals are not advanced together; with `workers`, several
    processes take one each. To solve many convex problems together, use `solve_many`.

    Parameters
    ----------
    samples : array or sequence
        The first axis is for the signals; or a sequence of signals as `recover` takes them, which
        may have different lengths. NaN where missing. For the columns of a DataFrame, pass
        `[table[name] for name in table]`.
    workers : int
        Number of processes. More than one needs the package joblib.
    rng : int
        Seed of every recovery, so that results do not depend on the number of workers.
    progress : bool
        Show a progress bar that counts signals.
    **options
        Passed to `recover`. A `max_time` is that of one signal.

    Returns
    -------
    list of Recovery
        After Ctrl-C, signals that are not finished have the status `Status.INTERRUPTED`, and their
        samples as they are, NaN where missing. If none is finished, KeyboardInterrupt is raised.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import recover_many
    >>> t = np.arange(40)
    >>> signals = np.array([0.9**t, np.cos(0.3 * t)])
    >>> signals[:, 10:15] = np.nan
    >>> [found.rank for found in recover_many(signals)]
    [1, 2]
    """
    signals = _signals(samples)
    workers = positive_int(workers, "workers")
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)):
        raise TypeError(f"rng is {type(rng).__name__}, but an integer, one for all, is expected")
    for name in ("checkpoint", "resume"):
        if options.get(name) is not None:
            raise ValueError(
                f"{name} is given, but it is for one signal: call recover in a loop, with one file "
                "per signal"
            )
    options = {"rng": int(rng), **options}
    check_workers(workers)
    return recover_each(partial(recover, **options), signals, options, workers, progress)


def recover_each(
    work: Callable[[Any], Recovery],
    signals: Sequence[Any],
    options: dict[str, Any],
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
        found |= {i: unfinished(y, options) for i, y in enumerate(signals) if i not in found}
    return [found[i] for i in range(len(signals))]


def _signals(samples: Any) -> Sequence[Any]:
    """The signals along the first axis, or those of a sequence."""
    if isinstance(samples, Sequence) and not isinstance(samples, str):
        signals = list(samples)
    elif getattr(samples, "ndim", 0) >= 2 and not hasattr(samples, "columns"):
        signals = [samples[i] for i in range(samples.shape[0])]
    else:
        raise ValueError(
            f"samples is {type(samples).__name__} with {getattr(samples, 'ndim', 0)} axes, but an "
            "array with one more axis than a signal, the first, or a sequence of signals is "
            "expected: pass one signal to recover, and a DataFrame as [table[name] for name in "
            "table]"
        )
    if not signals:
        raise ValueError("samples is empty, but at least one signal is expected")
    return signals
