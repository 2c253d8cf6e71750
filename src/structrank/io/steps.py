"""Steps between times or numbers, as people write them."""

from __future__ import annotations

import re

from .table import FileError

UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
LONG_UNITS = {
    **{"sec": "s", "second": "s", "m": "min", "t": "min", "minute": "min"},
    **{"hr": "h", "hour": "h"},
    **{"M": "month", "MS": "month", "ME": "month"},  # pandas: months, their starts and ends
    **{"day": "d", "week": "w", "millisecond": "ms", "month": "month"},
    **{"b": "business day", "business day": "business day"},
}
STEP = re.compile(r"(\d+\.?\d*|\.\d+|)\s*([A-Za-z ]*)")


def number_step(step: str | float | None) -> float | None:
    """A step between numbers."""
    try:
        return None if step is None else float(step)
    except ValueError as error:
        raise FileError(f"the step is {step!r}, but the index has numbers: pass one") from error


def time_step(step: str | float | None) -> tuple[float, str] | None:
    """A step of times: how many of which unit."""
    if step is None:
        return None
    found = STEP.fullmatch(str(step).strip())
    unit = "" if found is None else found[2].strip()
    if unit not in LONG_UNITS:
        unit = unit.lower()
        known = unit in UNITS or unit in LONG_UNITS
        unit = unit if known else unit.removesuffix("s")
    unit = LONG_UNITS.get(unit, unit)
    if found is None or unit not in (*UNITS, "month", "business day"):
        raise FileError(
            f"the step is {step!r}, but a time such as 30s, 10min, 1h, 1d, 1month or 1b (business "
            "day) is expected"
        )
    return float(found[1] or 1), unit


def unit_of(step: float) -> str:
    """The largest unit that is not larger than a step in seconds."""
    return next(u for u in ("w", "d", "h", "min", "s", "ms") if step >= UNITS[u] or u == "ms")


def step_in_words(step: float, clock: bool) -> str:
    """A step; in the unit of its size if it is a time in seconds (`clock`)."""
    if not clock:
        return f"{step:.6g}"
    unit = unit_of(step)
    return f"{step / UNITS[unit]:.6g} {unit}"
