"""Tests whether the innovations of a system are white and independent of the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import toeplitz
from scipy.stats import chi2

from .._array import NDArray
from .._checks import positive_int
from ..views import Summary, plot_correlations
from .records import is_list_of_records, paired_records

if TYPE_CHECKING:
    from .state_space import StateSpace


@dataclass(frozen=True, eq=False, repr=False)
class ResidualTests(Summary):
    """Correlations of standardised innovations, and what chance says about them.

    Parameters
    ----------
    autocorrelations : ndarray, shape (lags, p)
        Of each output's innovations with those 1, 2, ... samples before; complex if the system is.
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
    >>> tests
    ResidualTests
      output 0      whiteness 0.038, independence 0.96
    """

    autocorrelations: NDArray
    cross_correlations: NDArray
    whiteness: NDArray
    independence: NDArray
    bound: float

    def plot(self, ax: Any = None) -> Any:
        """Draw the correlations, with the bound of single ones; of complex ones the moduli.

        Parameters
        ----------
        ax : Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes
        """
        p, m = self.independence.shape
        own = self.autocorrelations
        own, unit = (np.abs(own), ", modulus") if np.iscomplexobj(own) else (own, "")
        own = np.concatenate([np.full((1, p), np.nan), own])  # at lag zero it is one
        lines = {f"output {j}{unit}": own[:, j] for j in range(p)}
        for j, i in np.ndindex(p, m):
            lines[f"output {j} with input {i}"] = self.cross_correlations[:, j, i]
        return plot_correlations(lines, self.bound, ax)

    def _rows(self) -> list[tuple[str, str]]:
        rows = []
        for j, (white, independent) in enumerate(
            zip(self.whiteness, self.independence, strict=True)
        ):
            inputs = ", ".join(f"{x:.2g}" for x in independent)
            text = f"whiteness {white:.2g}" + (f", independence {inputs}" if inputs else "")
            rows.append((f"output {j}", text))
        return rows


def residual_tests(model: StateSpace, samples: Any, inputs: Any, lags: int) -> ResidualTests:
    """Tests of the innovations of some records."""
    lags = positive_int(lags, "lags")
    if not np.any(model.noise_covariance):
        raise ValueError(
            "the system has no noise, so it has no innovations to test: give it noise, "
            "innovation_covariance or R"
        )
    several = is_list_of_records(samples)
    smooth = model.smooth(samples, inputs)
    errors = [x.innovations for x in (smooth if several else [smooth])]
    if model.input_count:
        records, _ = paired_records(inputs, samples)
        known = [u - model.input_offset for u, _ in records]
    else:
        known = [np.zeros((len(e), 0)) for e in errors]
    p, m = model.output_count, model.input_count
    own, white = autocorrelations(errors, lags)
    crossed = np.zeros((lags + 1, p, m))
    for k, j, i in np.ndindex(lags + 1, p, m):
        crossed[k, j, i] = _correlation(errors, known, j, i, k)[0]
    independent = independence(errors, known, lags)
    least = min(np.count_nonzero(~np.isnan(np.concatenate(errors)), axis=0), default=0)
    freedom = 2 if np.iscomplexobj(own) else 1
    bound = float(np.sqrt(chi2.isf(0.01, freedom) / (freedom * max(least, 1))))
    return ResidualTests(own, crossed, white, independent, bound)


def autocorrelations(errors: Sequence[NDArray], lags: int) -> tuple[NDArray, NDArray]:
    """Autocorrelations (lags, p), and the probability of such large ones in white noise (p,).

    Real and imaginary parts of complex ones, of circular noise, have half of the variance each.
    """
    p = errors[0].shape[1]
    pairs = [[_correlation(errors, errors, j, j, k) for j in range(p)] for k in range(1, lags + 1)]
    values, counts = (np.array([[pair[i] for pair in row] for row in pairs]) for i in (0, 1))
    freedom = 2 if np.iscomplexobj(values) else 1
    squares = np.sum(counts * np.abs(values) ** 2, axis=0)
    return values, np.asarray(chi2.sf(freedom * squares, freedom * lags))


def independence(
    errors: Sequence[NDArray], inputs: Sequence[NDArray], lags: int, negligible: float = 1e-2
) -> NDArray:
    """Probability of products of errors and earlier inputs as large as these by chance: (p, m).

    Errors may be correlated in time, and so may inputs. Then products at different lags depend on
    each other: their covariance follows from the autocovariances of both. Directions with
    a variance below the share `negligible` of the largest are left out; they are mostly rounding
    where inputs are smooth. Missing values are zeros.
    """
    p, m = errors[0].shape[1], inputs[0].shape[1]
    count = sum(map(len, errors))
    values = np.empty((p, m))
    for j, i in np.ndindex(p, m):
        e = [np.nan_to_num(x[:, j]) for x in errors]
        u = [np.nan_to_num(x[:, i]) for x in inputs]
        products = np.array([_product(e, u, k) for k in range(lags + 1)])
        own = np.array([_product(e, e, abs(k)) for k in range(-lags, lags + 1)])
        of_inputs = np.array([_product(u, u, abs(k)) for k in range(-2 * lags, 2 * lags + 1)])
        covariances = np.convolve(of_inputs, own, mode="valid")[lags:] / count
        sizes, directions = np.linalg.eigh(toeplitz(covariances))
        kept = sizes > negligible * sizes[-1]
        squares = (directions[:, kept].T @ products) ** 2 / sizes[kept]
        values[j, i] = chi2.sf(np.sum(squares), np.count_nonzero(kept)) if np.any(kept) else 1.0
    return values


def _product(x: list[NDArray], z: list[NDArray], lag: int) -> float:
    """Sum of the products of x with z `lag` samples before, over all records."""
    return float(sum(v[lag:] @ w[: max(len(w) - lag, 0)] for v, w in zip(x, z, strict=True)))


def _correlation(
    x: Sequence[NDArray], z: Sequence[NDArray], j: int, i: int, lag: int
) -> tuple[complex, int]:
    """Correlation of channel j of x with channel i of z `lag` samples before, and its pairs."""
    a = np.concatenate([v[lag:, j] for v in x])
    b = np.concatenate([v[: max(len(v) - lag, 0), i] for v in z])
    seen = ~(np.isnan(a) | np.isnan(b))
    a, b = a[seen], b[seen]
    size = np.linalg.norm(a) * np.linalg.norm(b)
    return a @ b.conj() / (size if size > 0 else 1.0), int(seen.sum())
