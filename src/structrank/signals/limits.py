"""What an answer has to obey: bounds of its values, and no values in long gaps."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import ndtr

from .._array import NDArray, to_numpy
from .._checks import not_negative_int
from .estimates import Estimate, interval_reach
from .truncation import truncated_moments, truncated_quantile

Bounds = tuple[float, float]


@dataclass(frozen=True)
class Limits:
    """Limits of an answer.

    Attributes
    ----------
    level : float
        Probability of its intervals.
    max_gap : int or None
        Gaps of more samples are left as they are; None for no limit.
    bounds : tuple of float or None
        Lowest and highest value, infinite where there is no bound; None for no bounds.
    """

    level: float
    max_gap: int | None = None
    bounds: Bounds | None = None

    @classmethod
    def of(cls, level: float, max_gap: Any, bounds: Any) -> Limits:
        """Return the limits that a caller gave, or raise an error."""
        interval_reach(level)
        gap = None if max_gap is None else not_negative_int(max_gap, "max_gap")
        return cls(level, gap, None if bounds is None else checked_pair(bounds, "bounds"))

    def check(self, values: Any, axis: int | None) -> None:
        """Raise an error unless the limits make sense for samples.

        Parameters
        ----------
        values : array
        axis : int or None
            The axis that holds channels.
        """
        if self.bounds is not None and np.iscomplexobj(to_numpy(values)):
            raise ValueError("bounds are given, but the samples are complex: bounds are for real")
        if self.max_gap is not None and values.ndim - (axis is not None) != 1:
            raise ValueError(
                f"max_gap is given, but the samples have shape {values.shape}: gaps have a length "
                "in series only, with channels=... for series side by side"
            )

    def left(self, missing: NDArray, axis: int | None) -> NDArray:
        """Which values are left as they are, as their gap is too long.

        Parameters
        ----------
        missing : ndarray of bool
        axis : int or None
            The axis that holds channels.
        """
        if self.max_gap is None:
            return np.zeros(missing.shape, dtype=bool)
        if axis is None:
            return long_gaps(missing, self.max_gap)
        series = np.moveaxis(missing, axis, 0)
        return np.moveaxis(np.array([long_gaps(x, self.max_gap) for x in series]), 0, axis)

    def parts(self, found: Estimate, left: NDArray) -> list[Any]:
        """Signal, standard errors, ends of intervals and expected samples that obey the limits.

        The last are None if they are the signal.

        Parameters
        ----------
        found : Estimate
            In the shape and the units of the samples.
        left : ndarray of bool
            Values that are left as they are.
        """
        ends = found.interval(interval_reach(self.level))
        noisy = found.expected is not None
        parts = [found.signal, found.stderr, *ends, found.new_sample if noisy else None]
        if self.bounds is not None:
            signal, stderr, new, spread = (
                to_numpy(x).astype(float)
                for x in (found.signal, found.stderr, found.new_sample, found.new_deviation)
            )
            mean, error = truncated_moments(signal, stderr, *self.bounds)
            low, high = (
                truncated_quantile((1 + side * self.level) / 2, new, spread, *self.bounds)
                for side in (-1, 1)
            )
            inside = mean
            if noisy:
                expected, _ = truncated_moments(new, spread, *self.bounds)
                inside = np.where(new == signal, mean, expected)
            low, high = np.minimum(low, inside), np.maximum(high, inside)
            parts = [mean, error, low, high, inside if noisy else None]
        if np.any(left):
            parts = [x if x is None else np.where(left, np.nan, to_numpy(x)) for x in parts]
        return parts

    def draws(self, found: Estimate, left: NDArray, n: int, rng: np.random.Generator) -> NDArray:
        """Joint draws of the signal that obey the limits: shape (n, ...).

        Bounds keep the order of the draws of a value: a quantile of the Gaussian distribution
        becomes that of the part inside the bounds.

        Parameters
        ----------
        found : Estimate
            With draws of its errors.
        left : ndarray of bool
            Values that are left as they are.
        n : int
        rng : numpy.random.Generator
        """
        assert found.errors is not None  # or the caller has raised an error
        errors, signal, stderr = (
            found.errors(n, rng),
            to_numpy(found.signal),
            to_numpy(found.stderr),
        )
        if self.bounds is None:
            draws = signal + np.where(stderr > 0, stderr, 0.0) * errors
        else:
            usual = np.nan_to_num(errors)
            draws = truncated_quantile(ndtr(usual), signal, stderr, *self.bounds)
            draws = np.where(np.isnan(errors), np.nan, draws)
        return np.where(left, np.nan, draws)


def long_gaps(missing: NDArray, longest: int) -> NDArray:
    """Which entries belong to runs of more than so many missing ones.

    Parameters
    ----------
    missing : ndarray of bool, shape (samples,)
    longest : int

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.limits import long_gaps
    >>> long_gaps(np.array([True, False, True, True, False]), 1)
    array([False, False,  True,  True, False])
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], missing, [False]])))
    left = np.zeros(len(missing), dtype=bool)
    for start, stop in edges.reshape(-1, 2):
        left[start:stop] = stop - start > longest
    return left


def checked_pair(bounds: Any, name: str) -> Bounds:
    """Return a lowest and a highest number, infinite where there is none, or raise an error.

    Parameters
    ----------
    bounds : tuple of float or None
    name : str
        Name of the argument.
    """
    pair = isinstance(bounds, (tuple, list)) and len(bounds) == 2
    numbers = [-np.inf, np.inf]
    for k, end in enumerate(bounds if pair else ()):
        if end is not None:
            pair = pair and isinstance(end, Real) and not isinstance(end, bool)
            numbers[k] = float(end) if pair else np.nan
    if not pair or not numbers[0] < numbers[1]:
        raise ValueError(
            f"{name} is {bounds!r}, but (lowest, highest) is expected: two numbers in this order, "
            "or None for no bound, such as (0, None)"
        )
    return numbers[0], numbers[1]
