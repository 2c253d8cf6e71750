"""Limits of the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AppLimits:
    """How much the page takes and keeps. All values are chosen.

    Attributes
    ----------
    form : int
        Bytes of a form: far more than names of columns need. Files have their own limit, that of
        `structrank.io.limits`.
    kept : int
        Files and runs that are kept; the oldest are dropped. A person compares a few.
    steps : int
        Steps of a forecast: a picture shows no more.
    silence : float
        Seconds that a connection may say nothing.
    ending : float
        Seconds that the end waits for a run that was stopped.
    chunk : int
        Bytes of a file that are received at once.
    """

    form: int = 100_000
    kept: int = 8
    steps: int = 10_000
    silence: float = 60.0
    ending: float = 5.0
    chunk: int = 1 << 20


LIMITS = AppLimits()
