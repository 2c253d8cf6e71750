"""Autoregressive noise from what a fit leaves of samples with gaps, by restricted likelihood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from .._array import NDArray
from .._pieces import Packed, piece
from .autoregressive_noise import AutoregressiveNoise


@dataclass(frozen=True)
class NoiseFit:
    """How the correlations of noise are estimated.

    Attributes
    ----------
    most : int
        Highest order. Taste: noise of a higher order is more signal than noise.
    largest : float
        Bound of the inverse hyperbolic tangent of a partial autocorrelation: 0.9993.
    accuracy : float
        The search ends when the log-likelihood changes by less, relatively. Standard errors of the
        coefficients correspond to changes of one half.
    few : int
        Most samples for which the likelihood is restricted to what no fitted parameter reaches.
        With more, what the fit takes from the noise is too little to matter.
    width : float
        Distance of the points of a parabola in the search for a single partial autocorrelation,
        over its standard error. The search ends where the lowest point is as near as that.
    parabolas : int
        Parabolas of such a search, at most; it rarely takes more than three.
    longest : float
        Longest step of such a search, in inverse hyperbolic tangents.
    """

    most: int = 4
    largest: float = 4.0
    accuracy: float = 1e-6
    few: int = 5000
    width: float = 1.0
    parabolas: int = 12
    longest: float = 1.0


def fit_noise(
    residual: NDArray,
    jacobian: NDArray,
    seen: NDArray,
    order: int,
    start: AutoregressiveNoise | None = None,
    settings: NoiseFit = NoiseFit(),
) -> AutoregressiveNoise:
    """Estimate autoregressive noise of one order from what a fit leaves.

    The likelihood is that of the part of the samples that no change of the fitted parameters
    reaches, to first order: a fit takes part of the noise away, most of it where noise is strong,
    and plain likelihood would find too little there.

    Parameters
    ----------
    residual : ndarray, shape (seen,)
        Real or complex.
    jacobian : ndarray, shape (seen, parameters)
        How samples depend on the parameters that were fitted.
    seen : ndarray of bool, shape (samples,)
    order : int
    start : AutoregressiveNoise, optional
        Where to start.
    settings : NoiseFit

    Returns
    -------
    AutoregressiveNoise

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.signal import lfilter
    >>> from structrank.modal.noise_fit import fit_noise
    >>> noise = lfilter([1.0], [1.0, -0.9], np.random.default_rng(0).standard_normal(2000))
    >>> fit_noise(noise, np.zeros((2000, 0)), np.ones(2000, bool), 1)
    AR(1), 0.90
    """
    columns = _columns(residual, jacobian, settings)
    first = _first(residual, seen, order, start, settings)

    def negative(z: NDArray) -> float:
        return _restricted(AutoregressiveNoise(np.tanh(z)), columns, seen)

    def search() -> NDArray:
        bounds = [(-settings.largest, settings.largest)] * order
        options = {"ftol": settings.accuracy}
        found = minimize(negative, first, method="L-BFGS-B", bounds=bounds, options=options)
        return np.asarray(found.x)

    def unpack(packed: Packed) -> NDArray:
        return np.asarray(packed["z"])

    return AutoregressiveNoise(np.tanh(piece("noise", search, lambda z: {"z": z}, unpack)))


def fit_last(
    residual: NDArray,
    jacobian: NDArray,
    seen: NDArray,
    order: int,
    start: AutoregressiveNoise | None = None,
    settings: NoiseFit = NoiseFit(),
) -> AutoregressiveNoise:
    """Estimate the last partial autocorrelation alone; the others are those of the start.

    The result is that of `fit_noise` for the order one, and close to it for one order more than
    that of the start: without gaps, partial autocorrelations do not depend on the order. It takes
    about a fifth of the time.

    Parameters
    ----------
    residual, jacobian, seen, order, start, settings
        Those of `fit_noise`. The order is at least one.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.signal import lfilter
    >>> from structrank.modal.noise_fit import fit_last
    >>> noise = lfilter([1.0], [1.0, -0.9], np.random.default_rng(0).standard_normal(2000))
    >>> fit_last(noise, np.zeros((2000, 0)), np.ones(2000, bool), 1)
    AR(1), 0.90
    """
    columns = _columns(residual, jacobian, settings)
    first = _first(residual, seen, order, start, settings)

    def negative(z: float) -> float:
        partial = np.tanh(np.append(first[:-1], z))
        return _restricted(AutoregressiveNoise(partial), columns, seen)

    last = _lowest(negative, float(first[-1]), settings.width / np.sqrt(residual.size), settings)
    return AutoregressiveNoise(np.tanh(np.append(first[:-1], last)))


def _lowest(
    negative: Callable[[float], float], z: float, width: float, settings: NoiseFit
) -> float:
    """Where a function of one number has a lowest point, by parabolas."""
    bound, value = settings.largest - width, np.inf
    lowest, step = z, 0.0
    for _ in range(settings.parabolas):
        z = float(np.clip(lowest + step, -bound, bound))
        middle = negative(z)
        if middle > value:
            step /= 4
            continue
        lowest, value = z, middle
        below, above = negative(z - width), negative(z + width)
        curvature = above - 2 * middle + below
        newton = (below - above) / (2 * curvature) if curvature > 0 else np.sign(below - above)
        scale = width if curvature > 0 else settings.longest
        step = float(np.clip(scale * newton, -settings.longest, settings.longest))
        if abs(step) <= width:
            return float(np.clip(z + step, -settings.largest, settings.largest))
    return lowest


def _columns(residual: NDArray, jacobian: NDArray, settings: NoiseFit) -> NDArray:
    """What the likelihood is computed from: what a fit leaves, beside what it can reach."""
    if residual.size > settings.few:
        jacobian = jacobian[:, :0]
    sizes = np.linalg.norm(jacobian, axis=0)
    sizes[sizes == 0] = 1.0
    return np.column_stack([jacobian / sizes, residual / (np.linalg.norm(residual) or 1.0)])


def _first(
    residual: NDArray,
    seen: NDArray,
    order: int,
    start: AutoregressiveNoise | None,
    settings: NoiseFit,
) -> NDArray:
    """Where a search starts, in inverse hyperbolic tangents."""
    first = np.zeros(order)
    if start is not None:
        known = np.arctanh(start.partial[:order])
        first[: len(known)] = np.clip(known, -settings.largest, settings.largest)
    elif order:
        first[0] = np.arctanh(_neighbours(residual, seen))
    return first


def _restricted(noise: AutoregressiveNoise, columns: NDArray, seen: NDArray) -> float:
    """Minus twice the restricted log-likelihood, the variance at its best, up to a constant."""
    (white, log_determinant), parts = whitened(noise, columns, seen), 1
    if np.iscomplexobj(columns):  # parameters are real: parts are rows of their own
        white, parts = np.concatenate([white.real, white.imag]), 2
    R = np.linalg.qr(white, mode="r")
    diagonal = np.maximum(np.abs(np.diag(R)), np.finfo(float).tiny)
    free = parts * np.count_nonzero(seen) - len(diagonal) + 1
    logs = 2 * np.log(diagonal)
    return float(free * logs[-1] + np.sum(logs[:-1]) + parts * log_determinant)


def whitened(noise: AutoregressiveNoise, columns: NDArray, seen: NDArray) -> tuple[NDArray, float]:
    """Whitened columns, and the log-determinant of the correlations of the seen samples.

    The last seen sample tells all that the past tells of noise of order one, which saves most of
    the time of `Whitening`.

    Parameters
    ----------
    noise : AutoregressiveNoise
    columns : ndarray, shape (seen, ...)
    seen : ndarray of bool
    """
    if noise.order != 1:
        whitening = noise.whitening(seen)
        return whitening.apply(columns), whitening.log_determinant
    weights = noise.partial[0] ** np.diff(np.flatnonzero(seen))
    variances = 1 - weights**2
    white = columns.copy()
    each = (slice(None), *[None] * (columns.ndim - 1))
    white[1:] -= weights[each] * columns[:-1]
    white[1:] /= np.sqrt(variances)[each]
    return white, float(np.sum(np.log(variances)))


def _neighbours(residual: NDArray, seen: NDArray, largest: float = 0.95) -> float:
    """Correlation of neighbours that are both seen, within bounds that a search can start from."""
    whole = np.zeros(len(seen), dtype=residual.dtype)
    whole[seen] = residual
    both = max(int(np.count_nonzero(seen[1:] & seen[:-1])), 1)
    square = float(np.mean(np.abs(residual) ** 2)) or 1.0
    found = np.vdot(whole[1:], whole[:-1]).real / both / square
    return float(np.clip(found, -largest, largest))
