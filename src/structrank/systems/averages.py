"""A fit that residual tests reject, averaged with ARX models with many lags.

If the innovations of a model are correlated, or depend on the inputs, the system is not quite like
the model. The record does not tell what is missing: else another fit would have been chosen.
Regularised ARX models have no order to choose, so their errors are others than those of the fit.
The average has smaller errors than any of them in most records. So it has if there are too few
samples for the tests to find anything.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag

from .._array import NDArray
from .arx import ArxRules
from .balanced import Balanced
from .maximum_likelihood import MaximumLikelihood
from .noise_fits import Fitted, NoiseFits, predicting
from .order_search import Candidate, Search
from .residual_tests import autocorrelations, independence
from .search_rules import IdentificationSearch
from .state_space import StateSpace
from .trials import first_state


def averaged_if_doubtful(look: Search, best: Candidate, fit: Fitted) -> Fitted:
    """The fit; or its average with regularised ARX models, if residual tests reject it.

    They say little about a fit with few samples per parameter, so it is averaged, too. A fit with a
    pole at the bound is not: a part of its slow mode would stay, at random places.
    """
    whole, search = look.whole, look.search
    noise = np.max(np.diag(fit.model.innovation_covariance))
    if whole.integrators or noise <= search.quiet**2 or look.doubt(fit.model) > 1:
        return fit
    few = whole.few_samples(best.kind, fit.model.order, search.samples)
    if not few and not rejected(whole, fit, search):
        return fit
    average = averaged(whole, fit.model, look.orders[-1])
    if average is None or not _not_much_worse(look, best):
        return fit
    return _with_noise(whole, average) or fit


def rejected(whole: NoiseFits, fit: Fitted, search: IdentificationSearch) -> bool:
    """Whether the innovations of a fit are not white, or depend on the inputs."""
    estimate = fit.estimate
    if estimate is not None and isinstance(estimate.fit, MaximumLikelihood):
        likelihood, theta = estimate.fit, estimate.theta
    else:
        likelihood = whole.likelihood(fit.model.order)
        theta = likelihood.parameters(fit.model, _first_states(whole, fit.model))
    if not np.isfinite(likelihood.value(theta)):
        return False
    inputs, errors = zip(*likelihood.innovations(theta), strict=True)
    lags = max(min(search.lags, max(map(len, errors)) // 5), 1)
    white, independent = autocorrelations(errors, lags)[1], independence(errors, inputs, lags)
    return bool(min(np.min(white), np.min(independent)) < search.chance)


def averaged(whole: NoiseFits, model: StateSpace, most: int) -> StateSpace | None:
    """The average of a model and of the regularised ARX models of the same records.

    It has as many states as the largest one, at most `most`; None if there is none.
    """
    reduced = [x.reduced(x.order(most), whole.start_radius) for x in whole.regularised]
    systems = [model, *(x for x in reduced if x is not None and x.stable)]
    if len(systems) == 1 or not model.stable:
        return None
    average = side_by_side(systems)
    if not whole.offset:
        average = replace(average, output_offset=np.zeros(average.output_count))
    order = max(x.order for x in systems)
    return Balanced(average, whole.known_inputs).reduced(order, whole.radius, ArxRules().gains)


def side_by_side(systems: list[StateSpace]) -> StateSpace:
    """The system whose outputs are the means of those of some systems.

    Examples
    --------
    >>> from structrank import StateSpace
    >>> from structrank.systems.averages import side_by_side
    >>> systems = [StateSpace([[a]], [[1.0]], [[1.0]], [[0.0]]) for a in (0.9, 0.1)]
    >>> side_by_side(systems).impulse_response(3)[:, 0, 0].round(3)
    array([0. , 1. , 0.5])
    """
    return StateSpace(
        block_diag(*(x.A for x in systems)),
        np.concatenate([x.B for x in systems]),
        np.concatenate([x.C for x in systems], axis=1) / len(systems),
        np.mean([x.D for x in systems], axis=0),
        K=np.concatenate([x.K for x in systems]),
        innovation_covariance=np.mean([x.innovation_covariance for x in systems], axis=0),
        output_offset=np.mean([x.output_offset for x in systems], axis=0),
    )


def _not_much_worse(look: Search, best: Candidate) -> bool:
    """Whether averages of half of the trials or more simulate their held-out stretches well enough.

    Their error may be larger than that of the models by the factor `worse_at_most`.
    """
    ratios = []
    for trial, model in zip(look.trials, best.models, strict=True):
        average = averaged(trial.training, model, look.orders[-1])
        if average is not None:
            new, old = (trial.errors(x, exact=False)[int(look.drifts)] for x in (average, model))
            ratios.append(new / old)
    enough = len(ratios) >= max(len(look.trials) / 2, 1)
    return enough and float(np.exp(np.mean(np.log(ratios)))) <= look.search.worse_at_most


def _with_noise(whole: NoiseFits, model: StateSpace) -> Fitted | None:
    """The model with the noise and the first states of the largest likelihood.

    K changes only if the likelihood gains more than its numbers cost by the Bayesian criterion: few
    samples do not determine it.
    """
    states = _first_states(whole, model)
    kept, free = _noise_fit(whole, model, states, "K"), _noise_fit(whole, model, states)
    if kept is None or free is None:
        return kept or free
    price = 0.5 * model.K.size * np.log(whole.seen_count)
    return free if free.loglikelihood > kept.loglikelihood + price else kept


def _noise_fit(whole: NoiseFits, model: StateSpace, states: NDArray, *fixed: str) -> Fitted | None:
    likelihood = whole.likelihood(model.order, "A", "B", "C", "D", "output_offset", *fixed)
    theta = likelihood.maximize(likelihood.parameters(model, states), whole.rules.likelihood)
    value = -likelihood.value(theta)
    if not np.isfinite(value):
        return None
    return Fitted(predicting(likelihood.system(theta)), value, "average with ARX models")


def _first_states(whole: NoiseFits, model: StateSpace) -> NDArray:
    """The states from which the simulated outputs of each record fit its samples."""
    pairs = zip(whole.known_inputs, whole.outputs, strict=True)
    return np.array([first_state(model, u, y) for u, y in pairs])
