"""Long ARX models with a prior on their coefficients, and systems that simulate as they do.

    y_t = D u_t + sum_k (b_k u_{t-k} + a_k y_{t-k}) + offset + e_t,   k = 1, ..., lags

The coefficients of a channel have the prior covariance `size * decay**max(j, k)` (the kernel TC of
Chen, Ohlsson and Ljung, "On the estimation of transfer functions, regularizations and Gaussian
processes - revisited", Automatica 48, 2012): they fall with the lag, and neighbours are alike.
Marginal likelihood gives the sizes of the channels, the decay and the variance of e, so there is no
order to choose.

These models fit predictions one step ahead. Where no model is quite right, a good prediction may
come from a bad simulation. So past outputs are taken to contain white noise: the more of it, the
more do predictions rest on inputs, and the more are they simulations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag, cholesky, solve_triangular
from scipy.optimize import minimize

from .._array import NDArray
from .arx import Arx
from .balanced import Balanced
from .recursion import spectral_radius_of
from .state_space import StateSpace


@dataclass(frozen=True)
class PriorRules:
    """Sizes of regularised ARX models, for channels of spread one.

    Attributes
    ----------
    lags, least_lags : int
        Lags, and those of short records, but at most a third of the longest one. Set by hand: the
        prior shrinks those that are not needed; 50 change little. With three lags, 40 samples of
        simulated systems of two states have worse models than with eight.
    samples : int
        Samples per lag beyond `least_lags`, and samples that are predicted, at least. Set by hand
        on 200 samples of a CD arm.
    output_noise : float
        Variance of the white noise that past outputs are taken to contain. Set by hand.
    size, decay, noise : float
        Where the search of the marginal likelihood starts. Set by hand.
    log_sizes, log_odds, log_noises : tuple of float
        Bounds on the logarithms of the sizes, on the log-odds of the decay and on the logarithm of
        the variance of the noise. Set by hand: beyond them, models hardly change.
    steps : int
        Iteration limit of the search. Set by hand: priors need not be exact.
    kept : float
        Share of the sum of singular values that the states of a reduced system keep. Set by hand.
    negligible : float
        Singular values below this share of the largest count as zero. Rounding.
    """

    lags: int = 30
    least_lags: int = 8
    samples: int = 12
    output_noise: float = 0.01
    size: float = 0.1
    decay: float = 0.8
    noise: float = 0.05
    log_sizes: tuple[float, float] = (-16.0, 6.0)
    log_odds: tuple[float, float] = (-2.0, 6.0)
    log_noises: tuple[float, float] = (-20.0, 3.0)
    steps: int = 60
    kept: float = 0.99
    negligible: float = 1e-9


@dataclass(frozen=True, eq=False)
class Evidence:
    """Negative logarithm of the marginal likelihood of one output.

    The increments of the coefficients, from lag to lag, are independent a priori. So this is a
    regression on sums of lagged samples with coefficients of known variances.

    Parameters
    ----------
    gram, crossed, total : ndarray, ndarray, float
        Products of the regressors with themselves and with the output, sum of squares of the
        output. The regressors of a channel are sums over its lags 1 to k.
    count : int
        Number of samples.
    lags : int

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.systems.regularised_arx import Evidence
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> y = X @ [1.0, 0.5, 0.0, 0.0]
    >>> evidence = Evidence(X.T @ X, X.T @ y, y @ y, 50, lags=2)
    >>> evidence.increments(np.array([0.0, 0.0, 0.0, -9.0])).round(2) + 0
    array([1. , 0.5, 0. , 0. ])
    """

    gram: NDArray
    crossed: NDArray
    total: float
    count: int
    lags: int

    def variances(self, prior: NDArray) -> tuple[NDArray, NDArray]:
        """Variances of all increments; slopes of their logarithms, for each lag, by the odds."""
        lag = np.arange(1, self.lags + 1)
        decay = 1 / (1 + np.exp(-prior[-2]))
        last = lag == self.lags  # its increment is the coefficient
        logs = lag * np.log(decay) + np.where(last, 0.0, np.log1p(-decay))
        slopes = lag * (1 - decay) - np.where(last, 0.0, decay)
        return np.exp(prior[:-2, None] + logs).reshape(-1), slopes

    def _solved(self, prior: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Roots of the variances, the factor of the posterior precision, b and its solution."""
        noise, roots = np.exp(prior[-1]), np.sqrt(self.variances(prior)[0])
        precision = roots[:, None] * self.gram * roots / noise
        precision[np.diag_indices_from(precision)] += 1
        L = cholesky(precision, lower=True, check_finite=False)
        b = roots * self.crossed / noise
        half = solve_triangular(L, b, lower=True, check_finite=False)
        return roots, L, b, solve_triangular(L, half, lower=True, trans=1, check_finite=False)

    def increments(self, prior: NDArray) -> NDArray:
        """Means of the increments given the samples."""
        roots, _, _, x = self._solved(prior)
        return np.asarray(roots * x)

    def value_and_gradient(self, prior: NDArray) -> tuple[float, NDArray]:
        """The value at logarithms of sizes, log-odds of the decay, logarithm of the noise."""
        roots, L, b, x = self._solved(prior)
        noise = np.exp(prior[-1])
        value = 0.5 * (self.count * prior[-1] + self.total / noise - b @ x)
        value += np.sum(np.log(np.diag(L)))
        inverse = solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False)
        known = 1 - np.sum(inverse**2, axis=0)
        by_channel = (known - x**2).reshape(-1, self.lags) / 2
        slopes = self.variances(prior)[1]
        w = roots * x
        left = self.total - 2 * w @ self.crossed + w @ self.gram @ w
        by_noise = (self.count - left / noise - np.sum(known)) / 2
        by_odds = np.sum(by_channel * slopes)
        return float(value), np.append(by_channel.sum(axis=1), [by_odds, by_noise])

    def best_prior(self, rules: PriorRules) -> NDArray:
        """The prior with the largest marginal likelihood."""
        channels = len(self.crossed) // self.lags
        odds = np.log(rules.decay / (1 - rules.decay))
        noise = np.log(max(rules.noise * self.total / self.count, np.exp(rules.log_noises[0])))
        start = np.append(np.full(channels, np.log(rules.size)), [odds, noise])
        bounds = [rules.log_sizes] * channels + [rules.log_odds, rules.log_noises]
        found = minimize(
            self.value_and_gradient,
            np.clip(start, *np.transpose(bounds)),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": rules.steps},
        )
        return np.asarray(found.x)


@dataclass(frozen=True, eq=False)
class RegularisedArx:
    """ARX model with many lags of records without gaps, whose channels have spread one.

    Parameters
    ----------
    inputs, outputs : list of ndarray
        One per record.
    rules : PriorRules
    seen : list of ndarray of bool, optional
        Which outputs are predicted: those that are not filled in. Default: all.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.systems.regularised_arx import RegularisedArx
    >>> u = np.random.default_rng(0).standard_normal((300, 1))
    >>> y = np.zeros((300, 1))
    >>> for t in range(1, 300):
    ...     y[t] = 0.8 * y[t - 1] + 0.5 * u[t - 1]
    >>> arx = RegularisedArx([u], [y])
    >>> arx.reduced(1, radius=0.99).poles.round(1)
    array([0.8])
    """

    inputs: list[NDArray]
    outputs: list[NDArray]
    rules: PriorRules = PriorRules()
    seen: list[NDArray] | None = None

    @cached_property
    def arx(self) -> Arx:
        """The regressors."""
        rules, lengths = self.rules, [len(y) for y in self.outputs]
        lags = max(sum(lengths) // rules.samples, rules.least_lags)
        lags = max(min(lags, rules.lags, max(lengths) // 3), 1)
        return Arx(self.inputs, self.outputs, lags)

    @cached_property
    def _seen(self) -> NDArray:
        """Which outputs (rows, outputs) are predicted."""
        if self.seen is None:
            return np.ones(self.arx.now.shape, dtype=bool)
        return np.concatenate([x[self.arx.lags :] for x in self.seen])

    @property
    def determined(self) -> bool:
        """Whether each output is predicted often enough."""
        free = self.inputs[0].shape[1]
        return bool(np.all(np.sum(self._seen, axis=0) > free + self.rules.samples))

    @cached_property
    def _regressors(self) -> tuple[NDArray, NDArray]:
        """Inputs now and the constant, which have no prior; all others: channel, then lag."""
        m, L, past = self.inputs[0].shape[1], self.arx.lags, self.arx.past
        free = np.concatenate([past[:, :m], np.ones((len(past), 1))], axis=1)
        return free, past[:, m:].reshape(len(past), L, -1).swapaxes(1, 2)

    @cached_property
    def _evidences(self) -> list[Evidence]:
        """One per output; outputs that are seen at the same times share the products."""
        found: list[Evidence] = []
        for k, rows in enumerate(self._seen.T):
            if not k or np.any(rows != self._seen[:, k - 1]):
                Q, summed, gram = self._products(rows)
            y = self.arx.now[rows, k]
            y = y - Q @ (Q.T @ y)
            count = len(Q) - Q.shape[1]
            found.append(Evidence(gram, summed.T @ y, float(y @ y), count, self.arx.lags))
        return found

    def _products(self, rows: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """For some rows: a basis of what has no prior, sums of the rest, and products of these."""
        free, X = (x[rows] for x in self._regressors)
        Q, summed = np.linalg.qr(free)[0], np.cumsum(X, axis=2).reshape(len(X), -1)
        summed = summed - Q @ (Q.T @ summed)
        L, m, p = self.arx.lags, self.inputs[0].shape[1], self._seen.shape[1]
        noise = self.rules.output_noise * len(Q) * np.minimum.outer(*[np.arange(1, L + 1)] * 2)
        gram = summed.T @ summed + block_diag(np.zeros((m * L, m * L)), *[noise] * p)
        gram[np.diag_indices_from(gram)] += len(gram) * np.finfo(float).eps * np.max(np.diag(gram))
        return Q, summed, gram

    @cached_property
    def _coefficients(self) -> tuple[NDArray, NDArray]:
        """Coefficients (outputs, channels, lags), and those of inputs now and of the constant."""
        steps = np.stack([one.increments(one.best_prior(self.rules)) for one in self._evidences])
        steps = steps.reshape(len(steps), -1, self.arx.lags)
        past = np.cumsum(steps[..., ::-1], axis=2)[..., ::-1]
        left, free = self.arx.now - self._predicted(past), self._regressors[0]
        pairs = zip(self._seen.T, left.T, strict=True)
        return past, np.stack([np.linalg.lstsq(free[i], x[i], rcond=None)[0] for i, x in pairs])

    def _predicted(self, past: NDArray) -> NDArray:
        """What past samples predict, by coefficients (outputs, channels, lags)."""
        return np.asarray(np.einsum("tcl,pcl->tp", self._regressors[1], past))

    @cached_property
    def system(self) -> StateSpace:
        """The model. Its states are the last outputs and inputs."""
        past, now = self._coefficients
        (p, c, L), m = past.shape, self.inputs[0].shape[1]
        by_lag = np.moveaxis(past, 2, 1)  # outputs, lags, channels
        C = np.concatenate([by_lag[..., m:].reshape(p, -1), by_lag[..., :m].reshape(p, -1)], axis=1)
        A = np.zeros((L * c, L * c))
        A[:p] = C
        A[p : L * p, : (L - 1) * p] = np.eye((L - 1) * p)
        A[L * p + m :, L * p : L * c - m] = np.eye((L - 1) * m)
        B, K = np.zeros((L * c, m)), np.eye(L * c, p)
        B[:p], B[L * p : L * p + m] = now[:, :m], np.eye(m)
        gain = np.eye(p) - past[:, m:].sum(axis=2)
        offset = np.linalg.lstsq(gain, now[:, m], rcond=self.rules.negligible)[0]
        errors = self.arx.now - self._predicted(past) - self._regressors[0] @ now.T
        # Off the diagonal, outputs that are rarely seen together count less: G stays a covariance.
        errors = np.where(self._seen, errors, 0.0) / np.sqrt(np.sum(self._seen, axis=0))
        G = errors.T @ errors + self.arx.rules.ridge**2 * np.eye(p)
        return StateSpace(A, B, C, now[:, :m], K=K, innovation_covariance=G, output_offset=offset)

    @cached_property
    def _balanced(self) -> Balanced:
        return Balanced(self.system, self.inputs, self.rules.negligible)

    def order(self, most: int) -> int:
        """Number of states that are enough, at most some number."""
        return min(self._balanced.order(self.rules.kept), most)

    def stable(self, radius: float) -> bool:
        """Whether all poles are below a radius."""
        return self._radius < radius

    @cached_property
    def _radius(self) -> float:
        return spectral_radius_of(self.system.A)

    def reduced(self, order: int, radius: float) -> StateSpace | None:
        """The system with fewer states; None if it has not as many, or poles beyond a radius."""
        if not self.stable(radius):
            return None
        return self._balanced.reduced(order, radius, self.arx.rules.gains)
