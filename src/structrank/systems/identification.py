"""A state-space model from records of inputs and outputs, with gaps in both."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from .._array import NDArray
from .._checks import random_generator
from ..solvers.driver import warn_if_limited
from .averages import averaged_if_doubtful
from .completion import Completed, completed
from .fitted_model import FittedModel
from .input_models import input_model, interpolated, interpolation_errors
from .integrators import around_operating_point
from .missing_inputs import with_missing_inputs
from .noise_fits import KINDS, FitRules, Fitted, NoiseFits
from .order_search import LIKELY, Candidate, Search, searched
from .preparation import (
    block_rows,
    check_records,
    excited,
    in_units,
    normalised,
    orders_to_try,
    pole_bound,
)
from .records import paired_records, step_of
from .search_rules import IdentificationSearch
from .state_space import StateSpace
from .trials import first_state


def identify(
    inputs: Any,
    outputs: Any,
    order: int | None = None,
    *,
    noise_model: str | None = None,
    max_order: int = 10,
    window: int | None = None,
    offset: bool = True,
    stable: bool | None = None,
    max_radius: float | None = None,
    integrators: int | None = None,
    mu: float | None = None,
    completion_window: int | None = None,
    dt: float | None = None,
    rng: int | np.random.Generator = 0,
    search: IdentificationSearch = IdentificationSearch(),
) -> FittedModel:
    """Find the system of low order that turns the inputs into the outputs.

    1. Gaps are filled. Each input has a model of its own. The joint block-Hankel matrix of inputs
       and outputs has low rank, because outputs follow from inputs and a few states; so a convex
       problem finds the record near what is seen whose matrix has a small nuclear norm. In each
       channel, the filling with the smaller error counts.
    2. First models of each order come from ARX models and from a subspace method (MOESP with past
       inputs and outputs as instruments).
    3. Two fits start there. The noise of one is white (output error): its simulated outputs are
       near the samples. The noise of the other also drives the states (prediction error, maximum
       likelihood in innovation form). Missing samples do not count; the likelihood of missing
       inputs is exact. If next to no noise is left, up to 2000 missing inputs are fitted together
       with the model.
    4. Both fits and the ARX models compete. The record has four stretches; each is held out once
       and simulated by a model of the others. If the outputs drift, so that the best model is
       better with an offset of its own in each stretch, all have one. The kind with the least
       error is chosen; but a fit within 10%, and within 20% in each stretch, comes before ARX
       models. If missing inputs are not known well, these 10% are 30%, as ARX models take filled
       gaps for samples. Among its orders whose error is within 3%, the one with the least Bayesian
       information criterion of the likelihood is chosen. If its fit to all samples has a mode that
       lasts twice as long as those of the four models, it has fitted drift, and the next best one
       is tried.
    5. Some systems have more modes than a record can tell, or are not linear. If the innovations of
       the chosen model are not white, or depend on the inputs (probability below 1% in one of the
       tests), the result is the average of this model and of ARX models with up to 30 lags and
       a prior on their coefficients, reduced to the largest of their orders; so it is if fewer than
       four outputs per parameter are seen, because the tests find little then. There is no average
       if an order or a noise model is asked for, if next to no noise is left, with integrators or
       other poles at their bound, if an output is seen too rarely for such ARX models, or if
       averages simulate the held-out stretches with twice the error.

    Parameters
    ----------
    inputs : array, shape (samples, m) or (samples,), or a list of arrays
        NaN where missing. A list is several records of one system, each with a state of its own.
        Indexes of pandas are regular, and those of inputs and outputs are the same.
    outputs : array, shape (samples, p) or (samples,), or a list of arrays
        NaN where missing.
    order : int, optional
        Number of states. Default: chosen as in step 4.
    noise_model : {"white", "innovations"}, optional
        White noise in the outputs, or noise that also drives the states. Default: step 4 decides.
    max_order : int
        Largest order that is tried.
    window : int, optional
        Number of block rows of the subspace method. Default 10 and 15.
    offset : bool
        Whether to find an operating point other than zero.
    stable : bool, optional
        True: all poles but integrators are inside the unit circle, also if `max_radius` asks for
        more: then there is an error. False: poles may be outside, up to `exp(10 / samples)`.
        Default: inside, unless `max_radius` allows more.
    max_radius : float, optional
        Bound on the absolute values of the poles. Default `exp(-1 / samples)`: modes that last
        longer than the record cannot be distinguished from drift.
    integrators : int, optional
        Number of poles that are exactly one, for a plant that integrates: 1 for a tank, 2 for a
        position that follows from a force. The bound holds for the other poles. Default: if the
        best model has one or two poles as close to one as the record can tell, models with as many
        integrators, and with fewer, compete with it; there are none if `stable=True` or
        `max_radius` is given.
    mu : float, optional
        Weight of the nuclear norm in step 1, as a share of the weight above which the solution is
        zero. Default: the value that best predicts a tenth of the samples, held out for this.
    completion_window : int, optional
        Number of block rows in step 1. Default 12, or a third of a short record.
    dt : float, optional
        Seconds between samples. Default: those of an index of times.
    rng : int or numpy.random.Generator
        Seed for choosing held-out samples.
    search : IdentificationSearch, optional
        Sizes and tolerances.

    Returns
    -------
    FittedModel
        A `StateSpace` with its noise in innovation form: `K` is zero if the noise is white. `x0` is
        its state at the first sample of a single record. `method` says what was chosen. Standard
        errors of its poles, and of frequencies and damping ratios, are `pole_errors` and `modes`;
        only fits have them. If no model predicts held-out outputs better than their mean and no
        order is given, the outputs of the model are this mean, and a warning says so.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import StateSpace, identify
    >>> truth = StateSpace([[0.8, 0.3], [-0.3, 0.8]], [[1], [0]], [[1, 1]], [[0]])
    >>> rng = np.random.default_rng(0)
    >>> u = rng.standard_normal(300)
    >>> y = truth.simulate(u)[:, 0]
    >>> y[rng.random(300) < 0.2] = np.nan
    >>> model = identify(u, y)
    >>> model
    StateSpace(order 2, 1 input, 1 output, spectral radius 0.8544, output error)
    >>> bool(np.allclose(model.impulse_response(50), truth.impulse_response(50), atol=1e-6))
    True
    """
    records, several = paired_records(inputs, outputs)
    dt, generator = step_of(outputs, inputs, dt=dt), random_generator(rng)
    if not isinstance(offset, bool):
        raise TypeError(f"offset is {offset!r}, but True or False is expected")
    kinds = _kinds(noise_model)
    m, p, lengths = records[0][0].shape[1], records[0][1].shape[1], [len(u) for u, _ in records]
    radius = pole_bound(stable, max_radius, max(lengths), search)
    windows = block_rows(window, lengths, m, p, search)
    orders = orders_to_try(order, max_order, max(windows), p, integrators or 0)
    check_records(records, search)
    joined = np.concatenate([np.concatenate(record, axis=1) for record in records])
    z, centre, scale = normalised(joined, m, offset, search)
    parts = np.split(z, np.cumsum(lengths)[:-1])
    filled = _completed(parts, completion_window, mu, generator, search)
    whole = replace(_fits(parts, m, filled, windows, search.final), offset=offset, radius=radius)
    if integrators is None and (stable or max_radius is not None):
        integrators = 0
    look, ranked = searched(whole, orders, kinds, integrators, search)
    best, fit = _chosen(look, ranked, filled, search)
    _warn(whole, look, best, search)
    if order is None and best.error >= 1:
        fit = _constant(whole)
    elif order is None and noise_model is None:
        fit = averaged_if_doubtful(look, best, fit)
    if filled is not None:
        warn_if_limited(filled.result, "identify")
    if fit.model.input_count > m:
        fit = _at_rest(whole, look, best, fit, centre[:m] / scale[:m])
    model = in_units(fit.model, centre, scale)
    model = replace(model, x0=None, x0_covariance=None) if several else model
    known = whole.input_model and in_units(whole.input_model, centre[:m], scale[:m])
    return FittedModel.of(replace(model, dt=dt), fit.estimate, fit.method, known)


def _warn(whole: NoiseFits, look: Search, best: Candidate, search: IdentificationSearch) -> None:
    """Warn about a model that predicts little, or that the samples or inputs do not determine."""
    count = whole.parameter_count(best.kind, best.order)
    if best.error >= 1:
        warnings.warn(
            "no model predicts held-out outputs better than their mean: the inputs may not drive "
            "these outputs, or the record is too short or too noisy",
            stacklevel=3,
        )
    elif whole.few_samples(best.kind, best.order, search.scarce):
        warnings.warn(
            f"{whole.seen_count} outputs are seen, and the model of order {best.order} has {count} "
            "parameters: it may be far from the system; use a longer record",
            stacklevel=3,
        )
    elif look.may_predict_nothing(best):
        warnings.warn(
            f"held-out outputs are predicted with {look.error(best):.2f} of the error of their "
            "mean, and that may be chance: the inputs may not drive these outputs, or the record "
            "is too short or too noisy",
            stacklevel=3,
        )
    if not excited(whole.known_inputs, best.order, search):
        warnings.warn(
            f"the inputs vary too little to determine a system of order {best.order}: they are "
            "linearly dependent, or have too few frequencies. The model is one of many with these "
            "outputs; remove inputs that are copies, or record with inputs that vary more",
            stacklevel=3,
        )


def _kinds(noise_model: str | None) -> tuple[str, ...]:
    """Kinds of fits that compete."""
    choices = {
        None: KINDS,
        "white": ("white",),
        "innovations": tuple(kind for kind in KINDS if kind != "white"),
    }
    if noise_model not in choices:
        raise ValueError(
            f"noise_model is {noise_model!r}, but 'white', 'innovations' or None is expected"
        )
    return choices[noise_model]


def _completed(
    parts: list[NDArray],
    window: int | None,
    mu: float | None,
    rng: np.random.Generator,
    search: IdentificationSearch,
) -> Completed | None:
    """The longest record with gaps filled by the least nuclear norm, if it has gaps."""
    longest = max(parts, key=len)
    if not np.any(np.isnan(longest)):
        return None
    return completed(longest, window, mu, rng, search.filling)


def _fits(
    parts: list[NDArray],
    m: int,
    filled: Completed | None,
    windows: list[int],
    rules: FitRules,
) -> NoiseFits:
    """The records with all gaps filled by the method with the least error in their channel."""
    u, y = [z[:, :m] for z in parts], [z[:, m:] for z in parts]
    model = input_model(u) if any(np.any(np.isnan(x)) for x in u) else None
    full_u, full_y = u, [interpolated(x) for x in y]
    errors = np.concatenate([np.zeros(m), interpolation_errors(np.concatenate(y))])
    if model is not None:
        smooth = model.smooth(u)
        full_u = [x.outputs for x in smooth]
        variances = np.concatenate([x.output_variances for x in smooth])
        gaps = np.isnan(np.concatenate(u))
        errors[:m] = np.sqrt(variances.sum(axis=0) / np.maximum(gaps.sum(axis=0), 1))
    known_error = float(np.max(errors[:m]))
    pieces = list(zip(full_u, full_y, strict=True))
    if filled is not None:
        longest = int(np.argmax([len(z) for z in parts]))
        better = filled.errors < errors
        best = np.where(
            better, filled.record, np.concatenate([full_u[longest], full_y[longest]], 1)
        )
        pieces[longest] = best[:, :m], best[:, m:]
    stretches = [(i, slice(0, len(z))) for i, z in enumerate(parts)]
    return NoiseFits(u, y, full_u, pieces, stretches, windows, model, known_error, rules)


def _chosen(
    look: Search, ranked: list[Candidate], filled: Completed | None, search: IdentificationSearch
) -> tuple[Candidate, Fitted]:
    """The first candidate with no more poles at the bound than most models of its trials."""
    if not ranked:
        raise ValueError(
            "no model was found: the record is too short, or has too few outputs in a row; use a "
            "longer record"
        )
    for best in ranked[: search.tries]:
        fit = _final(look.whole, best, filled, search)
        if look.trusted(fit.model, best):
            return best, fit
    return ranked[0], _final(look.whole, ranked[0], filled, search)


def _final(
    whole: NoiseFits, best: Candidate, filled: Completed | None, search: IdentificationSearch
) -> Fitted:
    """The chosen kind and order, fitted to all samples."""
    fit = whole.fitted(best.kind, best.order, best.models)
    assert fit is not None  # the models of the trials are starts
    if len(whole.outputs) > 1:
        return fit
    if best.kind in LIKELY:
        return with_missing_inputs(whole, fit, filled, search)
    state = first_state(fit.model, whole.known_inputs[0], whole.outputs[0])
    return replace(fit, model=replace(fit.model, x0=state))


def _at_rest(
    whole: NoiseFits, look: Search, best: Candidate, fit: Fitted, means: NDArray
) -> Fitted:
    """A fit with integrators without the constant input, which is an operating point.

    This point is zero if the Bayesian criterion is no larger then: an error that is too small to be
    seen in the record becomes large in long simulations.
    """
    found = replace(fit, model=around_operating_point(fit.model))
    start = replace(best, models=(found.model,))
    other = _final(whole.resting(look.whole.integrators, means), start, None, look.search)
    price = 0.5 * len(means) * np.log(whole.seen_count)
    if other.loglikelihood < fit.loglikelihood - price:
        return found
    return replace(other, model=replace(other.model, input_offset=-means))


def _constant(whole: NoiseFits) -> Fitted:
    """A system whose outputs are the means of the records."""
    m, p = whole.inputs[0].shape[1], whole.outputs[0].shape[1]
    y = np.concatenate(whole.outputs)
    mean = np.nanmean(y, axis=0) if whole.offset else np.zeros(p)
    G = np.diag(np.nanmean((y - mean) ** 2, axis=0))
    B, C, D = np.zeros((1, m)), np.zeros((p, 1)), np.zeros((p, m))
    model = StateSpace([[0.0]], B, C, D, innovation_covariance=G, x0=[0.0], output_offset=mean)
    return replace(whole.judged(model), method="mean of the outputs")
