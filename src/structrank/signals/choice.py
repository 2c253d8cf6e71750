"""Which of the candidates of `recover` to return: by how they predict held-out samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._array import Array, NDArray, like, to_numpy
from ..model.problem import Problem
from ..selection.holdout import clearly_better
from .candidates.base import UNIFORM, Prediction, everywhere
from .estimates import Estimate
from .stacking import stacked


@dataclass(frozen=True)
class ChoiceRule:
    """When others are chosen instead of the preferred candidate.

    Attributes
    ----------
    largest_ratio : float
        Largest ratio of the mean absolute errors, theirs over that of the preferred one. Taste: a
        fit of modes explains the signal, which is worth one error in twenty.
    unexplained : float
        Mean absolute error over that of the samples, beyond which the prediction that was chosen
        explains next to nothing. Taste.
    support : float
        A trend of one mode in white noise does not compete if its criterion of Akaike exceeds that
        of a model of all samples by more than this: it has little support then (K. P. Burnham and
        D. R. Anderson, "Model Selection and Multimodel Inference", 2002). Few held-out samples
        hardly show that neighbours are alike; the likelihood of all samples does. A constant in
        white noise is lost by this in 2 to 8 of 100 series of 30 to 300 samples.
    most_left : float
        Variance that modes leave over that of the samples, beyond which no convex solution is
        tried if components compete. It takes two thirds of the time there, and errors are the same:
        0.99 of those with it on 48 draws of three series, 1.03 on 20 sums of modes in strong noise.
    """

    largest_ratio: float = 0.95
    unexplained: float = 0.5
    support: float = 2.0
    most_left: float = 0.25


def choose(predictions: Sequence[Prediction], rule: ChoiceRule = ChoiceRule()) -> list[Prediction]:
    """Choose the preferred prediction, or those to average if their average is clearly better.

    Parameters
    ----------
    predictions : sequence of Prediction
        At least one.
    rule : ChoiceRule

    Returns
    -------
    list of Prediction
        One or more, in the order given.
    """
    preferred = [p for p in predictions if p.candidate.preferred]
    weighted = [p for p in predictions if p.candidate.weighted]
    plain = [p for p in predictions if not (p.candidate.preferred or p.candidate.weighted)]
    others = stacked(about_best(plain), weighted)
    if not preferred or not others:
        return preferred[:1] or others
    errors, past = np.abs(mean_residual(others)), np.abs(preferred[0].residual)
    better = np.mean(errors) <= rule.largest_ratio * np.mean(past) and clearly_better(errors, past)
    return others if better else preferred[:1]


def supported(
    predictions: Sequence[Prediction],
    problem: Problem,
    rule: ChoiceRule = ChoiceRule(),
) -> list[Prediction]:
    """Return the predictions without a trend that has little support beside a model.

    Parameters
    ----------
    predictions : sequence of Prediction
    problem : Problem
        With all samples.
    rule : ChoiceRule
    """
    return [p for p in predictions if not (p.is_trend and _refuted(p, predictions, problem, rule))]


def _refuted(
    trend: Prediction, predictions: Sequence[Prediction], problem: Problem, rule: ChoiceRule
) -> bool:
    """Whether a trend in white noise is much less likely than the model of a prediction."""
    estimate, seen = trend.estimate(), problem.seen
    if estimate.expected is not None:  # its noise is not white
        return False
    assert estimate.modes is not None
    squares = float(np.sum(np.abs(to_numpy(problem.b - estimate.signal)[seen]) ** 2))
    parameters = int(np.any(estimate.modes.dampings))
    excess = max(p.over_trend(squares, parameters) for p in predictions) if squares else -np.inf
    return excess > rule.support


def choose_refined(
    predictions: Sequence[Prediction], rule: ChoiceRule = ChoiceRule()
) -> list[Prediction]:
    """Choose, refine those that were chosen, and choose again.

    If the preferred one was not chosen before, it is not chosen afterwards.
    """
    chosen = choose(predictions, rule)
    parts = [part for prediction in chosen for part in prediction.parts]
    refined = [p.refined() if p in parts else p for p in predictions]
    if refined == list(predictions):
        return chosen
    if chosen[0].candidate.preferred:
        return choose_refined(refined, rule)
    return choose([p for p in refined if not p.candidate.preferred], rule)


def about_best(predictions: Sequence[Prediction]) -> list[Prediction]:
    """Return the predictions that are no worse than the best one, except by chance.

    Absolute errors are compared, since a few large samples would dominate their squares.
    """
    errors = [np.abs(prediction.residual) for prediction in predictions]
    best = min(errors, key=np.mean, default=np.zeros(0))
    pairs = zip(predictions, errors, strict=True)
    return [prediction for prediction, error in pairs if not clearly_better(best, error)]


def mean_residual(predictions: Sequence[Prediction]) -> NDArray:
    """Return what is predicted on average minus the held-out samples."""
    return np.asarray(np.mean([prediction.residual for prediction in predictions], axis=0))


def combine(
    chosen: Sequence[Prediction], predictions: Sequence[Prediction], reference: Array
) -> Estimate:
    """Return the average of the estimates chosen, with the error of its predictions.

    Parameters
    ----------
    chosen : sequence of Prediction
        The estimates to average. The rank is that of the first candidate among them.
    predictions : sequence of Prediction
        All of the trial: one of them may know how the size of errors varies along the signal, and
        how errors of neighbours are related.
    reference : array
        An array of the library and precision of the signal.

    Returns
    -------
    Estimate
    """
    estimates = [prediction.estimate() for prediction in chosen]
    if len(estimates) == 1 and estimates[0].stderr is not None:
        return estimates[0]
    y = like(np.mean([to_numpy(estimate.signal) for estimate in estimates], axis=0), reference)
    pairs = zip(chosen, estimates, strict=True)
    rank = max(e.rank for p, e in pairs if p.candidate is chosen[0].candidate)
    profile = next((p.profile for p in predictions if p.profile is not None), UNIFORM)
    sizes = profile.errors(mean_residual(chosen), to_numpy(y))
    stderr, deviation = (everywhere(size, y) for size in sizes)
    alone = estimates[0] if len(estimates) == 1 else None
    result = next((e.result for e in estimates if e.result is not None), None)
    joint = (p.profile.draws for p in predictions if p.profile is not None)
    errors = next((draws for draws in joint if draws is not None), None)
    return Estimate(
        y,
        stderr,
        rank,
        sigma=None if alone is None else alone.sigma,
        result=result,
        deviation=deviation,
        errors=errors,
    )
