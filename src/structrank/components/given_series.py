"""A fit and the samples of one series: what they say, by dense covariances or by a filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .._array import NDArray
from .dense_smoothing import ConditionedSeries

if TYPE_CHECKING:
    from .likelihood import ComponentFit


@dataclass(frozen=True, eq=False)
class GivenSeries:
    """A fit and the samples of one series; covariances of short ones are inverted only once.

    Attributes
    ----------
    fit : ComponentFit
    y : ndarray
        Series of mean zero and deviation one, NaN where missing.
    noise : ndarray or None
        Standard deviation of the noise of every sample, for components whose noise is measured.
    """

    fit: ComponentFit
    y: NDArray
    noise: NDArray | None

    @cached_property
    def dense(self) -> ConditionedSeries | None:
        """The series by dense covariances.

        None if it is long, or if rounding makes its covariances indefinite.
        """
        try:
            return self.fit.conditioned(self.y, self.noise) if self.fit.is_short(self.y) else None
        except ValueError:  # the filter keeps more digits
            return None

    def signal(self) -> tuple[NDArray, NDArray]:
        """Mean and variance of the series without its white noise."""
        try:
            if self.dense is not None:
                return self.dense.mean(), self.dense.variance()
        except ValueError:  # rounding: the filter keeps more digits
            pass
        (found,) = self.fit.signals([self.y], self.noise)
        return found

    def held_out(self, parts: Sequence[NDArray]) -> list[tuple[NDArray, NDArray]]:
        """The same at samples that are held out, part by part."""
        try:
            if self.dense is not None:
                return self.dense.held_out(parts)
        except ValueError:  # rounding: the filter keeps more digits
            pass
        found = self.fit.signals([np.where(part, np.nan, self.y) for part in parts], self.noise)
        pairs = zip(found, parts, strict=True)
        return [(mean[part], variance[part]) for (mean, variance), part in pairs]

    def filled_rest(self) -> NDArray:
        """The series with its gaps filled, less its seasons."""
        if self.dense is not None:
            return np.where(self.dense.seen, self.y, self.dense.mean()) - self.dense.season()
        found, at = self.fit.smooth([self.y], self.noise), self.fit.components.states
        rest = np.where(np.isnan(self.y), found.outputs[:, 0, 0, 0], self.y)
        for name, season in self.fit.components.seasons.items():
            rest = rest - found.states[:, at[name], 0, 0] @ season.shown
        return np.asarray(rest)
