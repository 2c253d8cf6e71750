"""The candidates of recover: which one is chosen, how they are averaged, and how to add one."""

from __future__ import annotations

import numpy as np
import pytest

from structrank import Modes, find_outliers, impute, recover
from structrank.signals.candidates import (
    CANDIDATES,
    Candidate,
    ConvexSolution,
    ErrorProfile,
    Estimate,
    FitOfModes,
    LocalWindows,
    Prediction,
)
from structrank.signals.candidates.convex_solution import MuLowering
from structrank.signals.choice import ChoiceRule, choose, choose_refined, combine, supported
from structrank.signals.estimation import best_estimate
from structrank.signals.problems import hankel_problem, is_large
from structrank.signals.solutions import Known


class Preferred(Candidate):
    name, label, preferred = "preferred", "preferred", True

    def predict(self, trial):
        raise NotImplementedError


class Other(Candidate):
    name, label = "other", "other"

    def predict(self, trial):
        raise NotImplementedError


class Fixed(Prediction):
    """A prediction with given numbers."""

    is_trend = False

    def __init__(self, candidate, residual, value=0.0, rank=1, better=None, profile=None):
        super().__init__(candidate, np.asarray(residual, dtype=float), profile)
        self.value, self.rank, self.better = value, rank, better

    def estimate(self):
        return Estimate(np.full(4, self.value), None, self.rank)

    def refined(self):
        return self if self.better is None else self.better


PREFERRED, OTHER, THIRD = Preferred(), Other(), Other()


def test_the_preferred_one_is_chosen_unless_others_are_clearly_better(rng):
    noise = rng.standard_normal(200)
    preferred = Fixed(PREFERRED, noise)
    slightly, clearly = Fixed(OTHER, 0.97 * noise), Fixed(OTHER, 0.5 * noise)
    assert choose([preferred, slightly]) == [preferred]
    assert choose([preferred, clearly]) == [clearly]
    assert choose([preferred, slightly], ChoiceRule(largest_ratio=0.99)) == [slightly]
    assert choose([preferred]) == [preferred]
    assert choose([clearly]) == [clearly]


def autoregressive(correlation, n, rng):
    y = np.zeros(n + 50)
    for t in range(1, n + 50):
        y[t] = correlation * y[t - 1] + rng.standard_normal()
    return 5 + y[50:]


def test_a_constant_has_to_be_about_as_likely_as_a_model(rng):
    """Few held-out samples do not show that neighbours are alike."""
    kinds = {}
    for correlation in (0.0, 0.7):
        found = []
        for _ in range(6):
            y = autoregressive(correlation, 60, rng)
            y[10:14] = y[30:34] = y[45:49] = np.nan
            found.append(recover(y).rank)
        kinds[correlation] = found
    assert kinds[0.0].count(1) >= 5
    assert 1 not in kinds[0.7]


def test_a_trend_competes_if_no_model_is_much_more_likely(rng):
    b = rng.standard_normal(4)
    problem = hankel_problem(b, None, None)
    trend, model, other = (Fixed(c, b) for c in (PREFERRED, OTHER, THIRD))
    trend.is_trend = True
    trend.estimate = lambda: Estimate(np.zeros(4), None, 1, Modes([0.0], [0.0], [1.0]))
    seen = []
    for excess, kept in ((1.9, [trend, model, other]), (2.1, [model, other])):
        model.over_trend = lambda squares, parameters, excess=excess: (
            seen.append((squares, parameters)) or excess
        )
        assert supported([trend, model, other], problem) == kept
    assert seen == [(pytest.approx(np.sum(b**2)), 0)] * 2


def test_those_that_are_about_the_best_are_chosen_together(rng):
    noise = rng.standard_normal(400)
    good, same, bad = (Fixed(OTHER, r) for r in (noise, np.roll(noise, 7), 3 * noise))
    assert choose([bad, good, same]) == [good, same]


def test_a_choice_does_not_change_what_it_chooses_from(rng):
    predictions = [Fixed(PREFERRED, rng.standard_normal(50)), Fixed(OTHER, np.zeros(50))]
    before = [prediction.residual.copy() for prediction in predictions]
    first, second = choose(predictions), choose(predictions)
    assert first == second
    for prediction, residual in zip(predictions, before, strict=True):
        np.testing.assert_array_equal(prediction.residual, residual)


def test_only_those_that_are_chosen_are_refined(rng):
    noise = rng.standard_normal(100)
    better = Fixed(OTHER, 0.1 * noise)
    refinable, other = Fixed(OTHER, 0.5 * noise, better=better), Fixed(OTHER, 0.5 * noise)
    assert choose_refined([Fixed(PREFERRED, noise), refinable, other]) == [better]
    spared = Fixed(OTHER, 5 * noise, better=better)
    assert choose_refined([other, spared]) == [other]


def test_an_average_has_the_rank_of_its_first_candidate_and_the_error_of_its_predictions():
    residuals = [1.0, -1.0, 1.0], [3.0, 1.0, -1.0], [2.0, 0.0, 0.0]
    chosen = [
        Fixed(OTHER, residuals[0], 1.0, rank=3),
        Fixed(OTHER, residuals[1], 2.0, rank=5),
        Fixed(THIRD, residuals[2], 6.0, rank=9),
    ]
    found = combine(chosen, chosen, np.zeros(4, dtype="float32"))
    np.testing.assert_array_equal(found.signal, np.full(4, 3.0))
    assert found.signal.dtype == "float32"
    assert found.rank == 5
    np.testing.assert_allclose(found.stderr, np.sqrt(np.mean(np.square([2.0, 0.0, 0.0]))))
    profile = ErrorProfile(np.array([2.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    uneven = combine(chosen, [*chosen, Fixed(OTHER, residuals[0], profile=profile)], np.zeros(4))
    np.testing.assert_allclose(uneven.stderr, np.sqrt(1 / 3) * profile.signal)


class Zeros(Candidate):
    """A candidate that anybody could add: the signal is zero."""

    name, label = "zeros", "zeros"

    def predict(self, trial):
        zeros = [np.zeros(trial.problem.b.shape) for _ in trial.parts]
        return [Fixed(self, trial.residual(zeros))]


def samples_of(rng, length=60):
    y = np.cos(0.4 * np.arange(length)) + 0.1 * rng.standard_normal(length)
    return np.where(rng.random(length) < 0.2, np.nan, y)


def test_a_new_candidate_competes(rng):
    """One class, and one more entry in the list of candidates."""
    problem = hankel_problem(samples_of(rng))
    found = best_estimate(problem, Known(), candidates=(*CANDIDATES, Zeros()))
    assert isinstance(found.candidate, FitOfModes)
    found = best_estimate(problem, Known(), "zeros", candidates=(*CANDIDATES, Zeros()))
    assert found.candidate.name == "zeros"
    size = np.sqrt(np.mean(problem.b[problem.seen] ** 2))
    np.testing.assert_allclose(found.estimate.stderr, size, rtol=0.2)


def test_candidates_have_different_names_and_say_what_they_are():
    names = [candidate.name for candidate in CANDIDATES]
    assert names == ["refit", "average", "components", "convex"]
    assert [candidate.preferred for candidate in CANDIDATES] == [True, False, False, False]
    for candidate in CANDIDATES:
        assert candidate.label
        assert "3" in candidate.model.format(rank=3)


def test_candidates_take_their_settings(rng):
    problem = hankel_problem(samples_of(rng))
    lowered, kept = (
        best_estimate(problem, Known(), "convex", candidates=[ConvexSolution(lowering)])
        for lowering in (MuLowering(), MuLowering(smallest_gain=0.999))
    )
    assert kept.solve().problem.mu == kept.selection.mu
    assert lowered.solve().problem.mu < lowered.selection.mu


def test_a_large_signal_with_too_many_channels_for_windows_is_not_large():
    assert is_large((200, 100))
    assert is_large((64, 64), channels=8)
    assert not is_large((64, 64))
    assert not is_large((200, 100), channels=900)
    assert not is_large((10**6,))


def test_a_summary_says_whose_outcome_it_is(rng):
    text = repr(recover(samples_of(rng), kind="convex"))
    assert "convex solution: solved to within" in text


def test_warnings_name_the_line_that_called(rng):
    samples = np.cos(0.5 * np.arange(60)) + 0.01 * rng.standard_normal(60)
    samples[rng.choice(60, 24, replace=False)] += 10 * rng.choice([-1, 1], 24)
    for function in (find_outliers, impute):
        options = {} if function is find_outliers else {"robust": True, "kind": "refit"}
        given = hankel_problem(samples) if function is find_outliers else samples
        with pytest.warns(UserWarning, match="gross errors") as caught:
            function(given, **options)
        assert {warning.filename for warning in caught} == {__file__}


def test_local_windows_predict_nothing_for_very_short_signals():
    problem = hankel_problem(np.cos(0.4 * np.arange(12)))
    found = best_estimate(problem, Known(), candidates=[FitOfModes(), LocalWindows()])
    assert isinstance(found.candidate, FitOfModes)
