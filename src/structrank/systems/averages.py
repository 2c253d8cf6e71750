"""A fit that residual tests reject, averaged with ARX models with many lags.

If the innovations of a model are correlated, or depend on the inputs, the system is not quite like
the model. The record does not tell what is missing: else another fit would have been chosen.
Regularised ARX models have no order to choose, so their errors are others than those of the fit.
The average has smaller errors than any of them in most records.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import block_diag

from .._array import NDArray
from .arx import ArxRules
from .balanced import Balanced
from .noise_fits import Fitted, NoiseFits, predicting
from .order_search import Candidate, Search
from .residual_tests import autocorrelations, independence
from .search_rules import IdentificationSearch
from .state_space import StateSpace
from .trials import first_state


def averaged_if_rejected(look: Search, best: Candidate, fit: Fitted) -> Fitted:
    """The fit; or its average with regularised ARX models, if residual tests reject it."""
    if not look.whole.regularised or not rejected(look.whole, fit.model, look.search):
        return fit
    average = averaged(look.whole, fit.model, look.orders[-1])
    if average is None or not _no_worse(look, best):
        return fit
    return _with_noise(look.whole, average, look.search) or fit


def rejected(whole: NoiseFits, model: StateSpace, search: IdentificationSearch) -> bool:
    """Whether the innovations of a model are not white, or depend on the inputs."""
    likelihood = whole.likelihood(model.order)
    theta = likelihood.parameters(model, _first_states(whole, model))
    if not np.isfinite(likelihood.value(theta)):
        return False
    inputs, errors = zip(*likelihood.innovations(theta), strict=True)
    lags = min(search.lags, max(map(len, errors)) // 5)
    white, independent = autocorrelations(errors, lags)[1], independence(errors, inputs, lags)
    return bool(min(np.min(white), np.min(independent)) < search.chance)


def averaged(whole: NoiseFits, model: StateSpace, most: int) -> StateSpace | None:
    """The average of a model and of the regularised ARX models of the same records.

    It has as many states as the largest one, at most `most`; None if there is none.
    """
    reduced = [x.reduced(x.order(most), whole.start_radius) for x in whole.regularised]
    systems = [model, *(x for x in reduced if x is not None)]
    if len(systems) == 1 or not all(x.stable for x in systems):
        return None
    balanced = Balanced(side_by_side(systems), whole.known_inputs)
    order = max(x.order for x in systems)
    return balanced.reduced(order, whole.radius, ArxRules().gains)


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


def _no_worse(look: Search, best: Candidate) -> bool:
    """Whether the averages of the trials simulate the held-out stretches as well as its models."""
    ratios = []
    for trial, model in zip(look.trials, best.models, strict=True):
        average = averaged(trial.training, model, look.orders[-1])
        if average is not None:
            new, old = (trial.errors(x, exact=False)[int(look.drifts)] for x in (average, model))
            ratios.append(new / old)
    return bool(ratios) and float(np.exp(np.mean(np.log(ratios)))) <= look.search.no_worse


def _with_noise(whole: NoiseFits, model: StateSpace, search: IdentificationSearch) -> Fitted | None:
    """The model with the noise and the first state of the largest likelihood."""
    likelihood = whole.likelihood(model.order, "A", "B", "C", "D", "output_offset")
    if len(whole.outputs) == 1:
        state = first_state(model, whole.known_inputs[0], whole.outputs[0])
        model = replace(model, x0=state)
    theta = likelihood.parameters(model, _first_states(whole, model))
    theta = likelihood.maximize(theta, search.noise_steps)
    value = -likelihood.value(theta)
    return Fitted(predicting(likelihood.system(theta)), value) if np.isfinite(value) else None


def _first_states(whole: NoiseFits, model: StateSpace) -> NDArray | None:
    """The first state of a single record, if it is known."""
    return model.x0 if len(whole.outputs) == 1 else None
