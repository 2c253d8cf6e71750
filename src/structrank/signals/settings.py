"""The arguments of `recover` as one object, which all ways to recover a signal share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from .._checks import first_given
from ..solvers.checkpoint import Checkpoint
from .estimation import AUTO

INDEPENDENT = "independent"  # a value of `channels`


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings:
    """The arguments of `recover` beside the samples; it says what they mean.

    Examples
    --------
    >>> from structrank.signals.settings import Settings
    >>> Settings(rank=2, robust=True).first_of(["mu", "rank", "robust"])
    'rank=2'
    """

    window: int | tuple[int, ...] | None = None
    channels: int | str | None = None
    mu: float | None = None
    rank: int | None = None
    sigma: Any = None
    kind: str = AUTO
    level: float = 0.95
    season: float | Sequence[float] | None = None
    known_frequencies: float | Sequence[float] | None = None
    max_gap: int | None = None
    bounds: tuple[float | None, float | None] | None = None
    clipped: tuple[float | None, float | None] | None = None
    dt: float | None = None
    regular: bool | str | float = False
    times: Any = None
    regressors: Any = None
    undamped: bool = False
    robust: bool = False
    rng: int | np.random.Generator = 0
    effort: str = "normal"
    max_time: float | None = None
    progress: bool = False
    checkpoint: str | Path | Checkpoint | None = None
    resume: str | Path | None = None
    workers: int = 1

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Settings:
        """Return the settings for keyword arguments, or raise an error for unknown ones."""
        names = [field.name for field in fields(cls)]
        for name in options:
            if name not in names:
                raise TypeError(
                    f"{name!r} is given, but an argument of recover is expected: {', '.join(names)}"
                )
        return cls(**options)

    def first_of(self, names: Iterable[str]) -> str | None:
        """The first of some arguments that is given, as "name=value"; None if none is."""
        return first_given({name: getattr(self, name) for name in names})

    def check_absent(self, names: Iterable[str], beside: str) -> None:
        """Raise an error if one of some arguments is given beside another."""
        other = self.first_of(names)
        if other is not None:
            raise ValueError(
                f"{beside} and {other} are given, which cannot be combined: pass only one of them"
            )
