"""Models of inputs with gaps: each channel is driven by noise of its own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import block_diag

from .._array import NDArray
from .arx import Arx
from .maximum_likelihood import MaximumLikelihood
from .quasi_newton import QuasiNewton
from .state_space import StateSpace


@dataclass(frozen=True)
class InputRules:
    """Sizes of the models of inputs.

    Attributes
    ----------
    orders : tuple of int
        States per channel that are tried, besides none. They end once two orders in a row do not
        lower the Bayesian criterion. Set by hand.
    lags : int
        Lags of the ARX model that starts the fit, beyond the order. Set by hand.
    radius : float
        Bound on the poles: the model is stationary. Set by hand.
    steps : QuasiNewton
        Accuracy of the fits. Set by hand: a rough model fills gaps nearly as well.
    """

    orders: tuple[int, ...] = (1, 2, 4)
    lags: int = 4
    radius: float = 0.9995
    steps: QuasiNewton = field(default_factory=lambda: QuasiNewton(evaluations=30, tolerance=1e-3))


def interpolated(values: NDArray) -> NDArray:
    """Gaps (NaN) filled by straight lines, channel by channel."""
    t, columns = np.arange(len(values)), []
    for x in values.T:
        seen = ~np.isnan(x)
        columns.append(np.interp(t, t[seen], x[seen]) if np.any(seen) else np.zeros(len(t)))
    return np.stack(columns, axis=1)


def input_model(inputs: list[NDArray], rules: InputRules = InputRules()) -> StateSpace:
    """A stationary model of inputs with mean zero, NaN where missing.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.systems.input_models import input_model
    >>> u = np.sin(0.1 * np.arange(300.0))[:, None]
    >>> gaps = np.random.default_rng(0).random(u.shape) < 0.3
    >>> filled = input_model([u]).smooth(np.where(gaps, np.nan, u)).outputs
    >>> bool(np.max(np.abs(filled - u)) < 0.05)
    True
    """
    models = [_of_channel([u[:, [j]] for u in inputs], rules) for j in range(inputs[0].shape[1])]
    arrays = (block_diag(*[getattr(m, name) for m in models]) for name in ("A", "C", "K"))
    A, C, K = arrays
    G = block_diag(*[m.innovation_covariance for m in models])
    return StateSpace(A, None, C, None, K=K, innovation_covariance=G, x0_covariance="stationary")


def _of_channel(x: list[NDArray], rules: InputRules) -> StateSpace:
    """The model of one channel with the least Bayesian criterion."""
    none = [np.zeros((len(values), 0)) for values in x]
    zero, seen = [[0.0]], np.concatenate(x)
    seen = seen[~np.isnan(seen)]
    white = StateSpace(zero, None, zero, None, K=zero, innovation_covariance=[[np.mean(seen**2)]])
    best = white
    least, worse = 0.5 * seen.size * (np.log(2 * np.pi * np.mean(seen**2)) + 1), 0
    filled = [interpolated(values) for values in x]
    for n in rules.orders:
        arx = Arx(none, filled, n + rules.lags)
        if len(arx.past) < 2 * (n + rules.lags):
            break
        fit = MaximumLikelihood(none, x, n, rules.radius, ("output_offset",), stationary=True)
        for start in arx.reduced([n], rules.radius):
            theta = fit.maximize(
                fit.parameters(replace(start, output_offset=np.zeros(1))), rules.steps
            )
            criterion = fit.value(theta) + n * np.log(seen.size)
            better = criterion < least
            best, least = (fit.system(theta), criterion) if better else (best, least)
            worse = 0 if better else worse + 1
        if worse == 2:
            break
    return best


def interpolation_errors(values: NDArray) -> NDArray:
    """Root mean square error of samples, each interpolated between its neighbours, per channel."""
    errors = []
    for x in values.T:
        t = np.flatnonzero(~np.isnan(x))
        share = (t[1:-1] - t[:-2]) / np.maximum(t[2:] - t[:-2], 1)
        wrong = x[t[1:-1]] - (1 - share) * x[t[:-2]] - share * x[t[2:]]
        errors.append(np.sqrt(np.mean(wrong**2)) if len(t) > 2 else np.inf)
    return np.array(errors)
