"""Local fits: signals evened out, what they predict, and with which errors."""

import numpy as np
import pytest
from conftest import nightly

from structrank import recover
from structrank.selection.holdout import held_out_parts
from structrank.signals.evening import local_scale
from structrank.signals.problems import hankel_problem
from structrank.signals.window_path import WindowPath
from structrank.signals.window_sizes import WindowSearch
from structrank.signals.windows import best_local_fits, predict_by_windows


def swings(rng, length):
    """A series whose swings come and go."""
    y = np.zeros(length + 100)
    for t in range(2, length + 100):
        y[t] = 1.6 * y[t - 1] - 0.95 * y[t - 2] + rng.standard_normal()
    return y[100:] / 5


def gappy(truth, rng, noise=1e-3):
    samples = truth + noise * rng.standard_normal(len(truth))
    gaps = rng.random(len(truth)) < 0.4
    return np.where(gaps, np.nan, samples), gaps


def chosen(samples):
    problem = hankel_problem(samples)
    parts = held_out_parts(problem, np.random.default_rng(0), 5)
    return best_local_fits(problem, parts)


def test_the_scale_is_the_root_of_the_size_of_the_samples_around(rng):
    samples = rng.standard_normal((90, 3)) * 0.95 ** np.arange(90.0)[:, None]
    samples[rng.random((90, 3)) < 0.5] = np.nan
    seen, width = ~np.isnan(samples), WindowSearch().neighbourhood
    t = np.r_[np.zeros(100), np.arange(90), np.full(100, 89)].astype(int)  # ends go on
    for place in (0, 30, 89):
        distance = np.arange(-100, 190) - place
        weights = np.exp(-0.5 * (distance / width) ** 2)[:, None] * seen[t]
        weights[np.abs(distance) > 4 * width] = 0
        square = np.sum(weights * np.nan_to_num(samples[t]) ** 2) / np.sum(weights)
        assert local_scale(samples)[place, 0] == pytest.approx(square**0.25, rel=1e-6)


def test_far_from_all_samples_the_scale_is_that_of_all(rng):
    samples = np.full((5000, 1), np.nan)
    samples[:20] = rng.standard_normal((20, 1))
    assert local_scale(samples)[-1, 0] == pytest.approx(np.mean(samples[:20] ** 2) ** 0.25)


def test_a_single_pulse_may_be_left_out():
    samples = np.zeros(160)
    samples[40] = 1.0
    fits = chosen(samples)
    assert fits.scale.size > 1
    assert all(np.all(np.isfinite(residual)) for residual in fits.residuals.values())


def test_only_what_is_uneven_is_evened_out(rng):
    for truth in (swings(rng, 200), swings(rng, 200) + 9):
        assert chosen(gappy(truth, rng)[0]).scale.size == 1
    picture = np.exp(-np.arange(30.0))[:, None] * np.ones(20)
    picture[::4, ::3] = np.nan
    assert chosen(picture).scale.size == 1


def test_errors_of_a_decay_follow_its_size():
    rng = np.random.default_rng(0)
    t = np.arange(240)
    truth = np.exp(-t / 30) * swings(rng, 240)
    samples, gaps = gappy(truth, rng)
    assert chosen(samples).scale.shape == (240, 1)
    found = recover(samples)
    assert found.kind == "average"
    assert found.stderr[0] > 10 * found.stderr[-1]
    sure = np.abs(found.signal - truth) / found.stderr
    for part in (t < 40, (t >= 40) & (t < 100), t >= 100):
        assert 0.2 < np.sqrt(np.mean(sure[gaps & part] ** 2)) < 2


@pytest.mark.parametrize(("length", "count"), [(200, 12), nightly(400, 25)])
def test_decays_that_are_exact_sums_of_modes_are_not_evened_out(length, count):
    """Most of the error would be where the noise counts least."""
    rng = np.random.default_rng(0)
    t = np.arange(length)
    rates = 2j * np.pi * rng.uniform(-0.4, 0.4, count) - rng.uniform(1 / 60, 1 / 15, count)
    truth = np.exp(t[:, None] * rates) @ rng.standard_normal(count)
    samples, gaps = gappy(truth, rng, 0.01)
    problem = hankel_problem(samples)
    parts = held_out_parts(problem, rng, 5)
    errors = {}
    for evened in (False, True):
        fits = predict_by_windows(problem, parts, evened=evened)
        sizes = {setting: np.mean(np.abs(r)) for setting, r in fits.residuals.items()}
        best = min(sizes, key=sizes.get)
        errors[evened] = np.linalg.norm((fits.fit(best).y - truth)[gaps])
    assert errors[False] < 0.7 * errors[True]
    assert best_local_fits(problem, parts).scale.size == 1


def test_a_path_is_followed_with_as_many_steps_as_lowered_the_error(rng):
    truth = swings(rng, 200)[:, None]
    samples = np.where(rng.random(truth.shape) < 0.4, np.nan, truth)
    search, errors = WindowSearch(gain=0.05, fewest_steps=1), []

    def error(signals):
        errors.append(np.mean(np.abs(signals[0] - truth)))
        return errors[-1]

    path = WindowPath([samples], (8,), True, search)
    least = np.inf
    for _ in range(3):
        errors.append(least)
        first = len(errors)
        least = path.lower(error, least)
        ratios = np.array(errors[first:]) / np.array(errors[first - 1 : -1])
        assert np.all(ratios[:-1] <= 0.95)  # every step but the last is worth it
        assert path.setting.steps[-1] == len(ratios)
    again = WindowPath([samples], (8,), True, search)
    half = path.setting._replace(steps=path.setting.steps[:2])
    assert again.leads_to(half)
    again.follow(half)
    assert again.leads_to(path.setting)
    np.testing.assert_array_equal(again.follow(path.setting)[0].y, path.signals[0])
    assert not again.leads_to(half)
    assert not again.leads_to(path.setting._replace(window=(4,)))


def test_larger_windows_in_space_are_tried_while_windows_gain(rng):
    y, x = np.mgrid[:48, :48] / 48
    curved = np.cos(2 * np.pi * (4 * x + 3 * x * x + 3 * x * y)) + np.cos(2 * np.pi * (5 * y - x))
    tried = {}
    for name, signal in {"curved": curved, "noise": rng.standard_normal((48, 48))}.items():
        problem = hankel_problem(np.where(rng.random((48, 48)) < 0.5, np.nan, signal))
        parts = held_out_parts(problem, rng, 1)
        tried[name] = {setting.window for setting in predict_by_windows(problem, parts).residuals}
    assert tried == {"curved": {(4, 4), (8, 8), (16, 16)}, "noise": {(4, 4), (8, 8)}}
