"""Times of a zone, whose hours are left out or repeated when its clocks change."""

from __future__ import annotations

from typing import Any

import numpy as np


def daily_clock(index: Any) -> Any:
    """Times without their zone if all are at the same local time of day; others as they are.

    The steps between such times are whole days, though some of these days have 23 or 25 hours.

    Parameters
    ----------
    index : pandas.DatetimeIndex

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.io.local_times import daily_clock
    >>> days = pd.date_range("2024-03-30", periods=3, tz="Europe/Berlin")
    >>> daily_clock(days).tz is None, daily_clock(days + pd.to_timedelta([0, 0, 1], "h")).tz is None
    (True, False)
    """
    if index.tz is None:
        return index
    local = index.tz_localize(None)
    clock = local - local.normalize()
    return local if len(set(clock)) == 1 else index


def in_zone(local: Any, zone: Any) -> Any:
    """Local times in a zone.

    A time that is left out in spring is the next one that is there; of one that occurs twice, it is
    the first.

    Parameters
    ----------
    local : pandas.DatetimeIndex
        Without a zone.
    zone : tzinfo or None

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.io.local_times import in_zone
    >>> str(in_zone(pd.DatetimeIndex(["2024-03-31 02:30"]), "Europe/Berlin")[0])
    '2024-03-31 03:00:00+02:00'
    """
    if zone is None:
        return local
    first = np.ones(len(local), dtype=bool)
    return local.tz_localize(zone, ambiguous=first, nonexistent="shift_forward")
