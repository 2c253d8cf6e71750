"""Local fits with one window for less and less noise, each started from the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from .._array import NDArray
from .._watch import time_is_up
from .logdet import LocalFit, WindowDescent
from .window_sizes import WindowSearch


class Setting(NamedTuple):
    """How a local fit is found.

    Attributes
    ----------
    window : tuple of int
    thorough : bool
        Whether equations are solved accurately in every step; matters for several axes only.
    steps : tuple of int
        Number of steps for each share of noise, from the largest share on.
    """

    window: tuple[int, ...]
    thorough: bool
    steps: tuple[int, ...]


class WindowPath:
    """Fits to one or several arrays of samples, side by side.

    Parameters
    ----------
    samples : sequence of ndarray
        NaN where missing; the last axis holds channels.
    window : tuple of int
    thorough : bool
    search : WindowSearch

    Attributes
    ----------
    setting : Setting
        What has been done so far.
    """

    def __init__(
        self,
        samples: Sequence[NDArray],
        window: tuple[int, ...],
        thorough: bool,
        search: WindowSearch,
    ) -> None:
        self.setting = Setting(window, thorough, ())
        self._search = search
        self._descents = [WindowDescent(part, window, thorough=thorough) for part in samples]

    @property
    def signals(self) -> list[NDArray]:
        """The signals found for each array of samples."""
        return [descent.y for descent in self._descents]

    @property
    def finished(self) -> bool:
        """Whether the smallest share of noise is reached."""
        return len(self.setting.steps) == len(self._search.shares)

    def lower(self, error: Callable[[list[NDArray]], float], least: float) -> float:
        """Go on to the next share of noise, with steps as long as predictions improve by them.

        Parameters
        ----------
        error : callable
            From signals to their prediction error.
        least : float
            The least prediction error so far.

        Returns
        -------
        float
            The prediction error of the signals found.
        """
        share = self._search.shares[len(self.setting.steps)]
        count, change, before, now = 0, 1.0, least, 0.0
        while count < self._descents[0].max_steps:
            change = max(descent.step(share) for descent in self._descents)
            count, now = count + 1, error(self.signals)
            small = now > (1 - self._search.gain) * before
            if (small and count >= self._search.fewest_steps) or change <= self._search.still:
                break
            if time_is_up():
                break
            before = now
        self._did(count)
        return now

    def leads_to(self, setting: Setting) -> bool:
        """Return whether a setting is reached by further steps, or has been reached."""
        window, thorough, steps = self.setting
        same = (window, thorough) == (setting.window, setting.thorough)
        return same and setting.steps[: len(steps)] == steps

    def follow(self, setting: Setting) -> list[LocalFit]:
        """Return the fits of a setting that this path leads to."""
        done = len(self.setting.steps)
        shares = self._search.shares[: len(setting.steps)]
        for share, count in list(zip(shares, setting.steps, strict=True))[done:]:
            for _ in range(count):
                for descent in self._descents:
                    descent.step(share)
            self._did(count)
        return [descent.fit(shares[-1]) for descent in self._descents]

    def _did(self, count: int) -> None:
        self.setting = self.setting._replace(steps=(*self.setting.steps, count))
