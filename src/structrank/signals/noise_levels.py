"""A noise level for every sample, given by the caller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import first_given
from ..model.sample_range import SampleRange


@dataclass(frozen=True, eq=False)
class NoiseLevels:
    """Standard deviations of the noise.

    Attributes
    ----------
    typical : float or None
        That of a sample of weight one; None if it is not known.
    weights : ndarray or None
        The typical one over that of every sample; None if all are the same.
    """

    typical: float | None = None
    weights: NDArray | None = None

    @property
    def levels(self) -> NDArray | None:
        """The standard deviation of every sample; None if all are the same."""
        return None if self.weights is None else np.asarray((self.typical or 1.0) / self.weights)

    @classmethod
    def of(cls, sigma: Any, values: Any, **others: Any) -> NoiseLevels:
        """Return the levels that a caller gave as a number or an array, or raise an error.

        Parameters
        ----------
        sigma : None, float or array
            In an array, levels of missing samples may be NaN: those of new samples there are then
            the median of the others.
        values : array
            The samples.
        **others
            Arguments that do not go with an array: None or False if they are not given.
        """
        if sigma is None:
            return cls()
        if np.ndim(sigma) == 0:
            return cls(SampleRange().checked_sigma(sigma, values))
        levels, samples = np.asarray(sigma), to_numpy(values)
        if levels.shape != samples.shape or levels.dtype.kind not in "fiu":
            raise ValueError(
                f"sigma has shape {levels.shape} and dtype {levels.dtype}, but one number, or a "
                f"real one for each sample, of shape {samples.shape}, is expected"
            )
        levels, seen = levels.astype(float), ~np.isnan(samples)
        if not np.all((levels > 0) & np.isfinite(levels) | (np.isnan(levels) & ~seen)):
            raise ValueError(
                "sigma contains numbers that are not above zero and finite, but the standard "
                "deviation of each sample is expected, or NaN where it is missing"
            )
        given = levels[~np.isnan(levels)]
        for extreme in (np.min(given, initial=1.0), np.max(given, initial=1.0)):
            SampleRange().checked_sigma(extreme, values)
        other = first_given(others)
        if other is not None:
            raise ValueError(
                f"sigma is an array, and {other} is given: that needs one noise level for all "
                "samples, so pass only one of them"
            )
        typical = float(np.median(levels[seen])) if np.any(seen) else 1.0
        return cls(typical, typical / np.where(np.isnan(levels), typical, levels))
