"""Tests whether the innovations of a system are white and independent of the inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import toeplitz
from scipy.stats import chi2

from .._array import NDArray
from .._checks import positive_int
from ..views import plot_correlations
from .records import is_list_of_records, paired_records

if TYPE_CHECKING:
    from .state_space import StateSpace


@dataclass(frozen=True)
class ResidualTests:
    """Correlations of standardised innovations, and what chance says about them.

    Parameters
    ----------
    autocorrelations : ndarray, shape (lags, p)
        Of each output's innovations with those 1, 2, ... samples before.
    cross_correlations : ndarray, shape (lags + 1, p, m)
        Of each output's innovations with each input 0, 1, ... samples before.
    whiteness : ndarray, shape (p,)
        Probability of autocorrelations as large as these if the innovations are white (Ljung and
        Box). Small, say below 0.01: the noise model or the order is not enough.
    independence : ndarray, shape (p, m)
        Probability of cross-correlations as large as these if the innovations do not depend on an
        input. Small: the model misses an effect of this input.
    bound : float
        Size that a single correlation of white noise exceeds in 1 of 100 cases.

    Examples
    --------
    >>> from structrank import StateSpace
    >>> model = StateSpace([[0.8]], [[1.0]], [[1.0]], None, innovation_covariance=[[1.0]])
    >>> u = [1.0, -1.0] * 100
    >>> tests = model.residual_tests(model.simulate(u, rng=1), u, lags=5)
    >>> tests.whiteness.shape, tests.independence.shape
    ((1,), (1, 1))
    """

    autocorrelations: NDArray
    cross_correlations: NDArray
    whiteness: NDArray
    independence: NDArray
    bound: float

    def plot(self, ax: Any = None) -> Any:
        """Draw the correlations, with the bound of single ones.

        Parameters
        ----------
        ax : Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes
        """
        p, m = self.independence.shape
        lines = {f"output {j}": self.autocorrelations[:, j] for j in range(p)}
        for j, i in np.ndindex(p, m):
            lines[f"output {j} with input {i}"] = self.cross_correlations[1:, j, i]
        return plot_correlations(lines, self.bound, ax)


def residual_tests(model: StateSpace, samples: Any, inputs: Any, lags: int) -> ResidualTests:
    """Tests of the innovations of some records."""
    lags = positive_int(lags, "lags")
    several = is_list_of_records(samples)
    smooth = model.smooth(samples, inputs)
    errors = [x.innovations for x in (smooth if several else [smooth])]
    if model.input_count:
        records, _ = paired_records(inputs, samples)
        known = [u - model.input_offset for u, _ in records]
    else:
        known = [np.zeros((len(e), 0)) for e in errors]
    p, m = model.output_count, model.input_count
    own = np.array(
        [[_correlation(errors, errors, j, j, k) for j in range(p)] for k in range(lags + 1)]
    )
    crossed = np.zeros((lags + 1, p, m, 2))
    for k, j, i in np.ndindex(lags + 1, p, m):
        crossed[k, j, i] = _correlation(errors, known, j, i, k)
    counts, values = own[1:, :, 1], own[1:, :, 0]
    white = chi2.sf(np.sum(counts * values**2, axis=0), lags)
    independent = np.empty((p, m))
    for j, i in np.ndindex(p, m):
        # Correlations at different lags depend on each other as the inputs do.
        inputs_own = [_correlation(known, known, i, i, k)[0] for k in range(lags + 1)]
        r, n = crossed[:, j, i, 0], np.mean(crossed[:, j, i, 1])
        size = n * r @ np.linalg.lstsq(toeplitz(inputs_own), r, rcond=1e-8)[0]
        independent[j, i] = chi2.sf(size, lags + 1)
    bound = float(np.sqrt(chi2.isf(0.01, 1) / max(np.min(own[0, :, 1]), 1)))
    return ResidualTests(values, crossed[..., 0], white, independent, bound)


def _correlation(x: list[NDArray], z: list[NDArray], j: int, i: int, lag: int) -> tuple[float, int]:
    """Correlation of channel j of x with channel i of z `lag` samples before, and its pairs."""
    a = np.concatenate([v[lag:, j] for v in x])
    b = np.concatenate([v[: len(v) - lag, i] for v in z])
    seen = ~(np.isnan(a) | np.isnan(b))
    a, b = a[seen], b[seen]
    size = np.sqrt(np.sum(a**2) * np.sum(b**2))
    return (float(a @ b / size) if size > 0 else 0.0), int(seen.sum())
