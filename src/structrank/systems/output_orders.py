"""Maximum likelihood of systems driven by noise, and their order by an information criterion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .._array import NDArray
from .covariances import empirical_covariances
from .maximum_likelihood import MaximumLikelihood
from .noise_fits import predicting
from .prediction_errors import prediction_errors
from .quasi_newton import QuasiNewton
from .realization import realize
from .recursion import spectral_radius_of
from .state_space import StateSpace


@dataclass(frozen=True)
class LikelihoodRules:
    """How systems are fitted, and how their orders are compared.

    Attributes
    ----------
    compare : QuasiNewton
        Steps of the fits that are compared. They end at a tolerance of 1e-4 per sample, well below
        what the criterion asks of one more state.
    finish : QuasiNewton
        Steps of the last fit. Its tolerance of 1e-6 per sample is small beside error bars.
    decays : tuple of float
        Factors per lag on the covariances, which make systems that are realised from them more
        stable. The most likely system is used. Set by hand.
    samples : int
        Seen samples per free parameter, at least. Set by hand: below, a likelihood says little
        about an order.
    """

    compare: QuasiNewton = field(default_factory=lambda: QuasiNewton(60, tolerance=1e-4))
    finish: QuasiNewton = field(default_factory=lambda: QuasiNewton(150, tolerance=1e-6))
    decays: tuple[float, ...] = (1.0, 0.99, 0.97, 0.9)
    samples: int = 4


@dataclass(frozen=True, eq=False)
class OrderFit:
    """A system of some order, fitted by maximum likelihood.

    Parameters
    ----------
    likelihood : MaximumLikelihood
        The likelihood of standardised outputs.
    theta : ndarray
        Its parameters.
    value : float
        Log-likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import random_system
    >>> from structrank.systems.output_orders import fitted_order
    >>> z = random_system(1, order=1, spectral_radius=0.9).simulate(steps=500)
    >>> fitted_order(z, [random_system(1, order=1, spectral_radius=0.5)]).order
    1
    """

    likelihood: MaximumLikelihood
    theta: NDArray
    value: float

    @property
    def order(self) -> int:
        """Number of states."""
        return self.likelihood.order

    @property
    def parameter_count(self) -> int:
        """Number of real parameters that the likelihood depends on."""
        changes_of_basis = self.order**2 * (2 if self.likelihood.dtype.kind == "c" else 1)
        return int(np.count_nonzero(self.likelihood.free)) - changes_of_basis

    @property
    def criterion(self) -> float:
        """Bayesian information criterion: the lower, the better."""
        return self.parameter_count * float(np.log(self.likelihood.seen_count)) - 2 * self.value


def fitted_order(
    z: NDArray, starts: list[StateSpace], rules: QuasiNewton = QuasiNewton()
) -> OrderFit | None:
    """The most likely system of standardised outputs, from the most likely of some starts."""
    likelihood = MaximumLikelihood([np.zeros((len(z), 0))], [z], starts[0].order, stationary=True)
    thetas = [likelihood.parameters(start) for start in starts]
    values = [likelihood.value(theta) for theta in thetas]
    best = int(np.argmin(values))
    return continued(likelihood, thetas[best], rules) if np.isfinite(values[best]) else None


def continued(likelihood: MaximumLikelihood, theta: NDArray, rules: QuasiNewton) -> OrderFit:
    """The fit after steps from `theta`."""
    theta = likelihood.maximize(theta, rules)
    return OrderFit(likelihood, theta, -likelihood.value(theta))


def realizations(covariances: NDArray, order: int, decays: tuple[float, ...]) -> list[StateSpace]:
    """Stable systems with about these covariances, times `decay**lag`, without shrinkage."""
    lags = np.arange(len(covariances))[:, None, None]
    systems = []
    for decay in decays:
        try:
            systems.append(realize(covariances * decay**lags, order, noise_floor="auto"))
        except ValueError:
            continue
    return systems


def cascade(lower: OrderFit, order: int, lags: int, decays: tuple[float, ...]) -> list[StateSpace]:
    """Systems of some order, which add states to a fit: those that whiten what it leaves.

    The prediction errors of the fit are the outputs of another system, of the order that is
    missing. The errors of this one drive both.
    """
    system = predicting(lower.likelihood.system(lower.theta))
    A, C, K = system.A, system.C, system.K
    if not spectral_radius_of(A - K @ C) < 1:
        return []  # prediction errors grow without bound
    ((u, y),) = lower.likelihood.filled(lower.theta)
    parts = {name: getattr(system, name) for name in ("A", "B", "C", "D", "K", "output_offset")}
    errors = prediction_errors({**parts, "x0": np.zeros(lower.order)}, u, y)[1]
    errors = np.where(np.isnan(lower.likelihood.outputs[0]), np.nan, errors)
    systems = []
    for more in realizations(empirical_covariances(errors, lags), order - lower.order, decays):
        both = np.block([[A, K @ more.C], [np.zeros((more.order, len(A))), more.A]])
        systems.append(
            StateSpace(
                both,
                None,
                np.concatenate([C, more.C], axis=1),
                None,
                K=np.concatenate([K, more.K]),
                innovation_covariance=more.innovation_covariance,
                output_offset=system.output_offset,
            )
        )
    return systems


def best_order(
    first: int, most: int, step: int, fit: Callable[[int, OrderFit | None], OrderFit | None]
) -> tuple[OrderFit, ...]:
    """Fits of several orders, the one with the best criterion first.

    The order grows or falls from `first` in steps of two for real outputs, whose modes are pairs of
    poles, as long as the criterion improves. Then the two odd neighbours are tried. `fit` gets an
    order, and the fit of the next lower order that was tried.

    A larger order contains the smaller one, but its fit may end at a bad maximum. So the first fit
    has a lower one to start from, and before the order falls, its fit is started again from the
    lower one.
    """
    tried: dict[int, OrderFit | None] = {}

    def fitted(order: int) -> OrderFit | None:
        lower = max((k for k, one in tried.items() if k < order and one), default=0)
        return fit(order, tried.get(lower)) if 1 <= order <= most else None

    def criterion(order: int) -> float:
        if order not in tried:
            tried[order] = fitted(order)
        found = tried[order]
        return np.inf if found is None else found.criterion

    def grown(order: int) -> int:
        while criterion(order) > criterion(order + step):
            order += step
        return order

    best = min(first + first % step, most)
    criterion(best - step)  # the first fit starts from it, too
    best = grown(best)
    while criterion(best - step) < criterion(best):
        both = (tried[best], fitted(best))
        tried[best] = min(filter(None, both), key=lambda one: one.criterion, default=None)
        if criterion(best) < criterion(best - step):
            best = grown(best)
            break
        best -= step
    if step > 1:
        best = min((best, best - 1, best + 1), key=criterion)
    return tuple(sorted(filter(None, tried.values()), key=lambda one: one.criterion))


def finished(fits: tuple[OrderFit, ...], rules: QuasiNewton) -> tuple[OrderFit, ...]:
    """The same fits, the best complete. A second best of a lower order gets another chance."""
    best, *rest = fits
    complete = [continued(best.likelihood, best.theta, rules)]
    if rest and rest[0].order < best.order:
        second = rest.pop(0)
        complete.append(continued(second.likelihood, second.theta, rules))
    return (*sorted(complete, key=lambda one: one.criterion), *rest)
