"""Autoregressive noise at samples with gaps: whitening, its determinant, and predicted noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from .._array import NDArray
from ..io.saved_results import savable


@savable()
@dataclass(frozen=True, eq=False, repr=False)
class AutoregressiveNoise:
    """Stationary noise whose past predicts it: `e[t] = sum_j coefficients[j] e[t - 1 - j] + ...`.

    The process has variance one; the deviation of the noise is kept beside it. Complex noise has
    real coefficients too: its real and its imaginary part are alike.

    Parameters
    ----------
    partial : ndarray, shape (order,)
        Partial autocorrelations, between -1 and 1. The process is stationary for all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import AutoregressiveNoise
    >>> noise = AutoregressiveNoise(np.array([0.9, -0.2]))
    >>> noise, noise.correlations(3).round(2)
    (AR(2), 1.08, -0.20, array([1.  , 0.9 , 0.77]))

    Noise in the place of a missing sample, as its neighbours tell:

    >>> seen = np.array([True, False, True])
    >>> noise.whitening(seen).predicted(np.array([1.0, 1.0])).round(2)
    array([1.  , 1.02, 1.  ])
    """

    partial: NDArray

    def __post_init__(self) -> None:
        if not np.all(np.abs(self.partial) < 1):
            raise ValueError(
                f"partial is {np.array(self.partial)}, but numbers between -1 and 1 are expected"
            )

    @property
    def order(self) -> int:
        """Number of coefficients."""
        return len(self.partial)

    @property
    def coefficients(self) -> NDArray:
        """Coefficients of the past values, the last one first."""
        return list(self._predictors())[-1][0]

    @property
    def memory(self) -> float:
        """Samples until the slowest part of the noise has decayed by a factor of e."""
        companion = np.eye(self.order, k=-1)
        companion[:1] = self.coefficients
        slowest = np.max(np.abs(np.linalg.eigvals(companion)), initial=0.0)
        return float(-1 / np.log(slowest)) if slowest > 0 else 0.0

    def _predictors(self) -> Iterator[tuple[NDArray, float]]:
        """Coefficients and error variances of predictions from 0, 1, ... past values (Levinson)."""
        row, error = np.zeros(0), 1.0
        yield row, error
        for reflection in self.partial:
            row = np.append(row - reflection * row[::-1], reflection)
            error *= 1 - reflection**2
            yield row, float(error)

    def correlations(self, count: int) -> NDArray:
        """Correlations at the lags zero to count - 1.

        Parameters
        ----------
        count : int
        """
        found = np.ones(1)
        for row, _ in list(self._predictors())[1:]:
            found = np.append(found, row @ found[::-1])
        if count <= len(found):
            return found[:count]
        bands = np.zeros((self.order + 1, count))  # the recursion, from known correlations on
        bands[0] = 1.0
        for j, coefficient in enumerate(self.coefficients, start=1):
            bands[j, len(found) - j : count - j] = -coefficient
        target = np.append(found, np.zeros(count - len(found)))
        return np.asarray(scipy.linalg.solve_banded((self.order, 0), bands, target))

    def whitening(self, seen: NDArray) -> Whitening:
        """What makes samples at some places of a record white.

        Parameters
        ----------
        seen : ndarray of bool, shape (samples,)
        """
        count = len(seen)
        rows = np.zeros((self.order + 1, count))  # [j, t]: weight of sample t - j in innovation t
        variances = np.ones(count)
        for t, (row, error) in enumerate(self._predictors()):
            at = slice(t, None if t == self.order else t + 1)
            rows[: t + 1, at] = (np.append(1.0, -row) / np.sqrt(error))[:, None]
            variances[at] = error
        return Whitening.of(rows, float(np.sum(np.log(variances))), np.asarray(seen, bool))

    def __repr__(self) -> str:
        return f"AR({self.order}), " + ", ".join(f"{a:.2f}" for a in self.coefficients)


@dataclass(frozen=True, eq=False)
class Whitening:
    """The map from noise at seen samples to white noise, for `AutoregressiveNoise`.

    Innovations of the whole record are white. What they say about missing samples is projected out:
    this leaves as many independent directions as samples are seen, of exactly the likelihood of
    these, in time proportional to the length of the record.

    Attributes
    ----------
    rows : ndarray, shape (order + 1, samples)
        Weights of sample t - j in innovation t.
    seen : ndarray of bool
    factor : ndarray
        Banded Cholesky factor of the precision of the missing samples.
    log_determinant : float
        Of the correlation matrix of the seen samples.
    """

    rows: NDArray
    seen: NDArray
    factor: NDArray
    log_determinant: float

    @classmethod
    def of(cls, rows: NDArray, log_variances: float, seen: NDArray) -> Whitening:
        order, missing = len(rows) - 1, np.flatnonzero(~seen)
        count = rows.shape[1]
        precision = np.zeros((order + 1, count))  # [k, s]: between samples s and s + k
        for lag in range(order + 1):
            for j in range(lag, min(order, count - 1) + 1):
                precision[lag, : count - j] += rows[j, j:] * rows[j - lag, j:]
        band = np.zeros((order + 1, len(missing)))
        for offset in range(min(order + 1, len(missing))):
            first = missing[: len(missing) - offset]
            apart = missing[offset:] - first
            near = apart <= order
            band[offset, : len(first)][near] = precision[apart[near], first[near]]
        factor = band
        if len(missing):
            factor, failed = lapack.dpbtrf(band, lower=True)
            if failed:  # rounding, next to a partial autocorrelation of one
                raise np.linalg.LinAlgError(
                    "the precision of missing noise is not positive definite"
                )
        log_determinant = log_variances + 2 * float(np.sum(np.log(factor[0])))
        return cls(rows, seen, factor, log_determinant)

    def apply(self, columns: NDArray) -> NDArray:
        """Whitened columns, of shape (samples, ...), from columns at the seen samples."""
        whole = np.zeros((len(self.seen), *columns.shape[1:]), dtype=columns.dtype)
        whole[self.seen] = columns
        white = self._innovations(whole)
        if np.all(self.seen):
            return white
        whole[self.seen] = 0
        whole[~self.seen] = self._projected(white)
        return white - self._innovations(whole)

    def predicted(self, noise: NDArray) -> NDArray:
        """The noise of the whole record that is expected from that at the seen samples.

        Parameters
        ----------
        noise : ndarray, shape (seen, ...)
        """
        whole = np.zeros((len(self.seen), *noise.shape[1:]), dtype=noise.dtype)
        whole[self.seen] = noise
        if not np.all(self.seen):
            whole[~self.seen] = -self._projected(self._innovations(whole))
        return whole

    def unpredicted(self) -> NDArray:
        """Variance of the noise of the whole record given that at the seen samples.

        It is the diagonal of the inverse of the precision of the missing samples, which follows
        from the last one backwards, with the entries inside the band alone (Takahashi).
        """
        order, count = len(self.factor) - 1, self.factor.shape[1]
        inverse = np.zeros((count + order, order + 1))  # [i, k]: between missing samples i, i + k
        for i in range(count - 1, -1, -1):
            below = self.factor[1:, i] / self.factor[0, i]
            for k in range(order, 0, -1):
                near = [inverse[i + min(j, k), abs(j - k)] for j in range(1, order + 1)]
                inverse[i, k] = -below @ near
            inverse[i, 0] = 1 / self.factor[0, i] ** 2 - below @ inverse[i, 1:]
        whole = np.zeros(len(self.seen))
        whole[~self.seen] = inverse[:count, 0]
        return whole

    def precise(self, columns: NDArray) -> NDArray:
        """The inverse correlation matrix times columns at the seen samples."""
        return self._transposed(self.apply(columns))[self.seen]

    def _projected(self, white: NDArray) -> NDArray:
        """Coefficients of the missing samples that explain innovations best."""
        target = self._transposed(white)[~self.seen]
        real = target.real if np.iscomplexobj(target) else target
        found: NDArray = lapack.dpbtrs(self.factor, real, lower=True)[0]
        if np.iscomplexobj(target):
            found = found + 1j * lapack.dpbtrs(self.factor, target.imag, lower=True)[0]
        return found

    def _innovations(self, whole: NDArray) -> NDArray:
        rows = self.rows.reshape(*self.rows.shape, *[1] * (whole.ndim - 1))
        white: NDArray = rows[0] * whole
        for j in range(1, min(len(rows), len(whole))):
            white[j:] += rows[j, j:] * whole[: len(whole) - j]
        return white

    def _transposed(self, white: NDArray) -> NDArray:
        rows = self.rows.reshape(*self.rows.shape, *[1] * (white.ndim - 1))
        whole: NDArray = rows[0] * white
        for j in range(1, min(len(rows), len(whole))):
            whole[: len(whole) - j] += rows[j, j:] * white[j:]
        return whole
