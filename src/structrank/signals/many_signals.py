"""Recover many signals: `recover` for each, on several cores if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .each_signal import check_each, recover_each
from .recovery import recover_with
from .recovery_result import Recovery
from .settings import Settings


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
        may have different lengths. NaN where missing. For the columns of a DataFrame, call
        `recover` with `channels="independent"`.
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
    own = {"workers": workers, "rng": rng, "progress": progress}
    settings = Settings.of({**options, **own})
    check_each(settings)
    return recover_each(recover_with, signals, settings)


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
            'expected: pass one signal to recover, and a DataFrame with channels="independent"'
        )
    if not signals:
        raise ValueError("samples is empty, but at least one signal is expected")
    return signals
