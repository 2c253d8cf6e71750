"""Errors and warnings in words: one line each, for people who did not write the program."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

ERRORS = (ValueError, TypeError, ImportError, OSError, ArithmeticError, MemoryError)
FOR_PROGRAMMERS = (
    DeprecationWarning,
    PendingDeprecationWarning,
    FutureWarning,
    ResourceWarning,  # of an import that Ctrl-C ended
    RuntimeWarning,
)
ADVICE = (
    "use more samples, drop columns with few samples (--columns), or try other options, such as "
    "--rank or --order"
)


# Control characters, which a terminal obeys, changes of direction, and what is no character.
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with escapes in the place of characters that a terminal would obey."""
    return HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text)


def error_line(error: BaseException) -> str:
    """Say in one line what is wrong, and what to do if the computation failed."""
    if isinstance(error, np.linalg.LinAlgError):
        return f"the computation failed ({error}): {ADVICE}"
    lines = (" ".join(str(text).split()) for text in (error, *getattr(error, "__notes__", ())))
    return visible("; ".join(filter(None, lines))) or type(error).__name__


def warning_line(message: Warning | str, category: type[Warning]) -> str | None:
    """Return a warning in one line; None if it is meant for programmers."""
    if issubclass(category, FOR_PROGRAMMERS):  # numbers that are not finite are an error later
        return None
    outcome = getattr(message, "outcome", None)  # of a ConvergenceWarning
    if outcome is not None:  # the text advises about arguments that commands do not have
        return f"the convex solution {outcome}, so the result may be less accurate than usual"
    return visible(" ".join(str(message).split()))


def check_found(*found: Any) -> None:
    """Raise an error, before anything is written, unless all numbers found are finite."""
    if not all(np.all(np.isfinite(np.asarray(values))) for values in found):
        raise ArithmeticError(f"the samples do not determine the whole result: {ADVICE}")
