"""Seasons that the caller knows: checks before any work."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from .._array import to_numpy
from .._checks import first_given, one_real_series
from .candidates import Candidate, ComponentModel

Seasons = tuple[float, ...]


def given_seasons(season: Any, values: Any, channels: int | None, **others: Any) -> Seasons:
    """Return known seasons, from short to long, or raise an error.

    Parameters
    ----------
    season : None, float or sequence of float
        One or two numbers of samples.
    values : array
        The samples.
    channels : int or None
        The axis that holds channels.
    **others
        Arguments with which the components, which have the seasons, do not compete: None or False
        if they are not given.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.given_seasons import given_seasons
    >>> given_seasons([168, 24], np.zeros(400), None)
    (24.0, 168.0)
    """
    if season is None:
        return ()
    several = isinstance(season, Sequence | np.ndarray) and not isinstance(season, str)
    numbers = list(season) if several else [season]
    plain = all(isinstance(x, Real) and 2 <= float(x) < np.inf for x in numbers)
    if not plain or len(numbers) not in (1, 2) or len(set(numbers)) < len(numbers):
        raise ValueError(
            f"season is {season!r}, but one number of samples, or two different ones, of at least "
            "2 are expected"
        )
    host = to_numpy(values)
    one_real_series(host, channels, "season is", "a season is")
    if max(numbers) > len(host) / 2:
        raise ValueError(
            f"season is {max(numbers):g}, but there are {len(host)} samples: two seasons or more "
            "are expected"
        )
    other = first_given(others)
    if other is not None:
        raise ValueError(
            f"season and {other} are given, but the components, which have the season, do not "
            "compete then: pass only one of them"
        )
    return tuple(sorted(float(x) for x in numbers))


def with_components(candidates: Sequence[Candidate], seasons: Seasons) -> list[Candidate]:
    """Return the candidates, with the components among them if a season is known."""
    has = any(isinstance(candidate, ComponentModel) for candidate in candidates)
    return [*candidates] if has or not seasons else [*candidates, ComponentModel()]
