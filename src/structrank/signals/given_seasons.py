"""Seasons that the caller knows: checks before any work."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from .._array import to_numpy
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
    if host.ndim != 1 or channels is not None or np.iscomplexobj(host):
        kind = "complex " if np.iscomplexobj(host) else ""
        raise ValueError(
            f"season is given, but the samples are {kind}of shape {host.shape}: a season is for "
            "one real series, so pass one column at a time"
        )
    if max(numbers) > len(host) / 2:
        raise ValueError(
            f"season is {max(numbers):g}, but there are {len(host)} samples: two seasons or more "
            "are expected"
        )
    for name, value in others.items():
        if value is not None and value is not False:
            raise ValueError(
                f"season and {name}={value!r} are given, but the components, which have the "
                f"season, do not compete then: pass one of both"
            )
    return tuple(sorted(float(x) for x in numbers))


def with_components(candidates: Sequence[Candidate], seasons: Seasons) -> list[Candidate]:
    """Return the candidates, with the components among them if a season is known."""
    has = any(isinstance(candidate, ComponentModel) for candidate in candidates)
    return [*candidates] if has or not seasons else [*candidates, ComponentModel()]
