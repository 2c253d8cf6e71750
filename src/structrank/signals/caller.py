"""Warnings that name the line of the user's program, from any depth of the package."""

from __future__ import annotations

import sys
import warnings

from .._watch import Watch
from ..solvers.stopping import ConvergenceWarning, Status

_PACKAGE = __name__.partition(".")[0]


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the line outside this package from which it was called."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, level)


def status_of(watch: Watch, function: str) -> Status:
    """Return how a watched function ended, and warn if its time limit ended it."""
    if not watch.cut:
        return Status.FINISHED
    warn_caller(
        f"{function} {Status.MAX_TIME.value}, so this is the best that it has found so far: raise "
        "max_time",
        ConvergenceWarning,
    )
    return Status.MAX_TIME


def _is_inside(module: str) -> bool:
    return module == _PACKAGE or module.startswith(f"{_PACKAGE}.")
