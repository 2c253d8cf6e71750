"""Signals with gaps and noise in, signals out; and what comes after a series."""

from __future__ import annotations

from dataclasses import fields, replace
from inspect import signature

import numpy as np
import pytest
from conftest import nightly

from structrank import (
    Circulant,
    Hankel,
    Mask,
    Modes,
    Problem,
    denoise,
    find_outliers,
    forecast,
    frequencies,
    impute,
    modes_table,
    mu_max,
    recover,
    refit,
    sinusoids,
)
from structrank.modal.modal_refit import refit_modes
from structrank.modal.modes import NoModes
from structrank.selection import mu_search
from structrank.selection.holdout import held_out_parts
from structrank.signals import solutions
from structrank.signals.channels import from_channels
from structrank.signals.estimation import best_estimate
from structrank.signals.problems import hankel_problem
from structrank.signals.settings import Settings
from structrank.signals.solutions import Known
from structrank.signals.window_sizes import local_windows

REAL = Modes([0.07, -0.07, 0.0], [0.01, 0.01, 0.0], [0.5 + 0.2j, 0.5 - 0.2j, 2.0])
COMPLEX = Modes([0.11, -0.23], [0.0, 0.02], [1.0, 1.5j])
PLANE = Modes([[0.1, 0.2], [-0.25, 0.05]], 0.0, [2.0, 1.0])


def noisy(modes, shape, sigma, seed, missing=0.3, *, real=False):
    """A signal, samples of it with noise, and which are missing."""
    rng = np.random.default_rng(seed)
    truth = modes.signal(shape)
    noise = (rng.standard_normal(truth.shape) + 1j * rng.standard_normal(truth.shape)) / 2**0.5
    if real:
        truth, noise = truth.real, rng.standard_normal(truth.shape)
    gaps = rng.random(truth.shape) < missing
    return truth, np.where(gaps, np.nan, truth + sigma * noise), gaps


def oracle(modes, samples):
    """The best fit from the truth on: what no method that has to find the modes can beat."""
    problem = replace(hankel_problem(samples), measure=Mask(~np.isnan(samples)))
    return refit_modes(problem, modes).y


CASES = {
    "real": (REAL, 80, 0.1, True),
    "complex": (COMPLEX, 60, 0.2, False),
    "plane": (PLANE, (11, 9), 0.3, False),
}


@pytest.mark.quick
@pytest.mark.parametrize("case", CASES)
def test_recovery_is_near_what_is_possible(case):
    modes, shape, sigma, real = CASES[case]
    truth, samples, _ = noisy(modes, shape, sigma, 0, real=real)
    found = recover(samples)
    assert found.kind == "refit"
    assert found.rank == len(modes)
    assert found.signal.shape == truth.shape
    assert np.iscomplexobj(found.signal) != real
    best = np.linalg.norm(oracle(modes, samples) - truth)
    assert np.linalg.norm(found.signal - truth) < 1.01 * best
    assert 0.7 * sigma < found.sigma < 1.3 * sigma
    assert len(found.modes) == found.rank


@pytest.mark.parametrize("case", CASES)
def test_exact_samples_give_the_exact_signal(case):
    modes, shape, _, real = CASES[case]
    truth, samples, _ = noisy(modes, shape, 0.0, 1, real=real)
    found = recover(samples)
    assert found.rank == len(modes)
    assert np.max(np.abs(found.signal - truth)) < 1e-5


def test_standard_errors_cover_the_truth():
    off = []
    for seed in range(8):
        truth, samples, _ = noisy(REAL, 60, 0.1, 100 + seed, real=True)
        found = recover(samples, kind="refit", rank=3)
        off.append(np.abs(found.signal - truth) / found.stderr)
    assert np.mean(np.array(off) < 1.96) > 0.85
    assert 0.3 < np.mean(np.array(off) < 0.674) < 0.7  # half of them, if the errors are right


def test_channels_share_modes_so_that_one_fills_the_gap_of_the_other():
    modes = Modes([0.06, -0.06], 0.0, [[0.5, 1j], [0.5, -1j]])
    truth, samples, _ = noisy(modes, 60, 0.05, 2, missing=0.0, real=True)
    samples[20:45, 0] = np.nan
    found = recover(samples, channels=1)
    assert found.rank == 2
    assert np.max(np.abs(found.signal - truth)) < 0.1
    given, across, last = (
        recover(x, rank=2, channels=c) for x, c in ((samples, 1), (samples.T, 0), (samples, -1))
    )
    np.testing.assert_array_equal(across.signal, given.signal.T)
    np.testing.assert_array_equal(across.stderr, given.stderr.T)
    np.testing.assert_array_equal(last.signal, given.signal)


def test_channels_go_to_the_end_and_come_back(rng):
    values = rng.standard_normal((4, 3, 5))
    for axis in range(3):
        problem = hankel_problem(values, channels=axis)
        assert problem.structure.block == (values.shape[axis], 1)
        np.testing.assert_array_equal(from_channels(problem.b, axis), values)


def test_each_kind_can_be_asked_for():
    truth, samples, _ = noisy(REAL, 60, 0.2, 3, real=True)
    auto, refitted, convex = (recover(samples, kind=kind) for kind in ("auto", "refit", "convex"))
    assert (refitted.kind, convex.kind) == ("refit", "convex")
    chosen = {"refit": refitted, "convex": convex}[auto.kind]
    np.testing.assert_array_equal(auto.signal, chosen.signal)
    np.testing.assert_array_equal(convex.signal, convex.result.y)
    damped = refit(refitted.result, refitted.rank)  # the modes of the cosine are held undamped
    assert np.max(np.abs(refitted.signal - damped.y) / damped.stderr) < 3
    assert np.linalg.norm(convex.signal - truth) < np.linalg.norm(truth) / 3
    for found in (auto, refitted, convex):
        assert np.all(found.stderr > 0)  # nor NaN


def test_what_is_known_is_used():
    _, samples, _ = noisy(REAL, 60, 0.1, 4, real=True)
    for kind in ("auto", "convex", "refit"):
        given = recover(samples, mu=2.0, kind=kind)
        assert (given.selection, given.result.problem.mu) == (None, 2.0)
    assert recover(samples, rank=2, kind="refit").rank == 2
    assert recover(samples, rank=6, kind="refit").rank == 6
    known, unknown = recover(samples, sigma=0.2, kind="refit"), recover(samples, kind="refit")
    assert known.sigma == 0.2
    ratio = known.stderr / unknown.stderr
    np.testing.assert_allclose(ratio, 0.2 / unknown.sigma, rtol=1e-4)
    steady = recover(samples, rank=3, undamped=True, kind="refit")
    assert not np.any(steady.modes.dampings)


@pytest.mark.parametrize("undamped", [False, True])
def test_nothing_but_noise_is_no_signal(rng, undamped):
    samples = rng.standard_normal(60)
    found = recover(samples, kind="refit", undamped=undamped)
    assert (found.rank, found.modes) == (0, None)
    np.testing.assert_array_equal(found.signal, 0)
    assert found.sigma == pytest.approx(np.sqrt(np.mean(samples**2)))


@pytest.mark.parametrize("place", [0, 10, 29])
def test_an_impulse_takes_few_convex_solutions(place, monkeypatch):
    calls = []
    for module in (mu_search, solutions):

        def counted(problem, *args, solve_at=module.solve_at, **options):
            result = solve_at(problem, *args, **options)
            calls.append(result.iterations)
            return result

        monkeypatch.setattr(module, "solve_at", counted)
    samples = np.zeros(30)
    samples[place] = 1.0
    assert np.max(np.abs(recover(samples).signal)) <= 1.0
    assert len(calls) <= 40
    assert sum(calls) <= 400


def test_more_modes_than_there_are_is_an_error():
    with pytest.raises(ValueError, match="rank is 30, but"):
        recover(np.random.default_rng(0).standard_normal(20), rank=30)
    with pytest.raises(ValueError, match="rank is 2, but"):
        recover(np.ones(30), rank=2)


def test_a_channel_without_a_value_is_an_error():
    samples = np.stack([np.cos(np.arange(30.0)), np.full(30, np.nan)], axis=1)
    with pytest.raises(ValueError, match="channel 1 has no value"):
        recover(samples, channels=1)


def test_a_recovery_says_what_it_is():
    _, samples, gaps = noisy(REAL, 50, 0.1, 5, real=True)
    text = repr(recover(samples))
    for part in ("Recovery", f"50, {np.count_nonzero(~gaps)} values seen", "(sigma)", "rank"):
        assert part in text


def test_left_out_samples_are_seen_ones_in_gaps_like_those_of_the_data(rng):
    samples = np.arange(100.0)
    samples[40:55] = np.nan
    parts = held_out_parts(hankel_problem(samples), rng, 5)
    assert len({tuple(np.flatnonzero(part)) for part in parts}) > 1
    for part in parts:
        assert not np.any(part & np.isnan(samples))
        assert 10 <= np.count_nonzero(part) <= 15
        assert np.count_nonzero(np.diff(part.astype(int)) == 1) <= 2  # one piece, or two


def test_whole_lines_are_left_out_where_whole_lines_are_missing(rng):
    samples = np.ones((30, 20))
    samples[rng.choice(np.arange(1, 29), 10, replace=False)] = np.nan
    for part in held_out_parts(hankel_problem(samples), rng, 5):
        lines = np.mean(part, axis=1)
        assert set(lines) == {0, 1}
        assert 2 <= np.count_nonzero(lines) <= 8


def test_scattered_samples_are_left_out_once_each_but_for_ends_that_are_seen(rng):
    samples = np.where(rng.random(200) < 0.5, np.nan, 1.0)
    samples[[0, -1]] = 1.0, np.nan
    parts = held_out_parts(hankel_problem(samples), rng, 5)
    often = np.sum(parts, axis=0)
    assert often[0] == 0
    np.testing.assert_array_equal(often[1:], ~np.isnan(samples[1:]))


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (np.full(20, np.nan), "0 values are seen"),
        ([1.0], "1 values are seen"),
        (3.0, "single number"),
        ([1.0, np.inf, 2.0, 1.0, 3.0], "samples contains inf"),
        (np.r_[1.0, 2.0, 3.0, np.full(20, np.nan)], "3 values are seen"),
    ],
)
def test_too_little_to_go_on_is_an_error(samples, message):
    for function in (recover, impute, denoise, frequencies):
        with pytest.raises(ValueError, match=message):
            function(samples)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "best"}, "kind is 'best'"),
        ({"channels": 1}, "channels is 1, but the samples have 1 axes"),
        ({"rank": 0}, "rank is 0"),
        ({"sigma": -1.0}, "sigma"),
        ({"mu": 0.0}, "mu"),
        ({"window": 99}, "window"),
    ],
)
def test_bad_options_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        recover(np.cos(np.arange(20.0)), **options)


# Imputing and denoising


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_imputing_keeps_what_is_seen_bit_for_bit(dtype):
    modes, real = (COMPLEX, False) if dtype.startswith("c") else (REAL, True)
    truth, samples, gaps = noisy(modes, 60, 0.1, 6, real=real)
    samples = samples.astype(dtype)
    before = samples.copy()
    filled = impute(samples)
    assert filled.signal.dtype == dtype
    np.testing.assert_array_equal(filled.signal[~gaps], samples[~gaps])
    np.testing.assert_array_equal(samples, before)
    assert np.max(np.abs(filled.signal - truth)[gaps]) < 0.4
    np.testing.assert_array_equal(filled.stderr[~gaps], 0)
    assert np.all(filled.stderr[gaps] > 0)
    np.testing.assert_array_equal(filled.signal[gaps], recover(samples).signal[gaps])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"colour": 1}, "'colour' is given, but an argument of recover is expected: window"),
        ({"kind": "best"}, "kind is 'best'"),
        ({"max_time": -1}, "max_time is -1"),
        ({"season": 5, "mu": 1.0}, "season and mu=1.0 are given"),
        ({"channels": "both"}, "channels is 'both', but the samples have 1 axes"),
    ],
)
def test_samples_without_gaps_do_not_hide_bad_settings(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        impute(np.cos(0.3 * np.arange(40)), **options)


def test_denoising_is_recovering():
    _, samples, _ = noisy(COMPLEX, 40, 0.2, 7)
    np.testing.assert_array_equal(denoise(samples).signal, recover(samples).signal)


# Frequencies


def test_frequencies_come_with_errors_that_cover_them():
    sure = []
    for seed in range(5):
        _, samples, _ = noisy(COMPLEX, 60, 0.2, 200 + seed)
        modes = frequencies(samples)
        order = np.argsort(modes.frequencies[:, 0])
        off = modes.frequencies[order, 0] - np.sort(COMPLEX.frequencies[:, 0])
        sure.append(np.abs(off) / modes.stderr.frequencies[order, 0])
        assert np.max(np.abs(off)) < 2e-3
    assert np.mean(np.array(sure) < 1.96) > 0.8
    assert 0.3 < np.mean(np.square(sure)) < 2  # one, if the errors are right


def test_frequencies_take_what_is_known():
    _, samples, _ = noisy(REAL, 60, 0.1, 8, real=True)
    assert len(frequencies(samples, rank=2)) == 2
    assert not np.any(frequencies(samples, rank=3, undamped=True).dampings)
    large, small = (frequencies(samples, rank=3, sigma=sigma).stderr for sigma in (0.2, 0.1))
    np.testing.assert_allclose(large.frequencies, 2 * small.frequencies, rtol=1e-4)


def close_tones(noise, seed, length=113):
    """Two tones 0.3 / length apart."""
    rng = np.random.default_rng(seed)
    truth = Modes([0.2, 0.2 + 0.3 / length], 0.0, np.exp(2j * np.pi * rng.random(2)))
    real, imaginary = rng.standard_normal((2, length))
    return np.sort(truth.frequencies[:, 0]), truth.signal(length) + noise * (real + 1j * imaginary)


def test_two_tones_within_a_third_of_a_bin_come_with_errors_that_cover_them():
    sure = []
    for seed in range(6):
        truth, samples = close_tones(0.01, seed)
        modes = frequencies(samples)  # without a warning
        order = np.argsort(modes.frequencies[:, 0])
        sure.append((modes.frequencies[order, 0] - truth) / modes.stderr.frequencies[order, 0])
    assert np.max(np.abs(sure)) < 3
    assert 0.3 < np.mean(np.square(sure)) < 2


def test_two_tones_that_noise_makes_one_of_are_warned_of():
    """Their spacing has a standard error of half of itself."""
    for seed in (2, 18):
        with pytest.warns(UserWarning, match="hardly distinguish the modes of frequencies"):
            frequencies(close_tones(0.1, seed)[1])


def test_modes_told_apart_by_their_damping_are_not_warned_of(rng):
    """Warnings are errors here."""
    truth = Modes([0.1, 0.1], [0.004, 0.03])
    y = truth.signal(200)
    modes = frequencies(y + 1e-4 * (rng.standard_normal(200) + 1j * rng.standard_normal(200)))
    np.testing.assert_allclose(np.sort(modes.dampings[:, 0]), [0.004, 0.03], rtol=1e-2)


def test_frequencies_of_noise_are_an_error(rng):
    with pytest.raises(NoModes, match="only noise is found"):
        frequencies(rng.standard_normal(50))


def test_a_table_of_modes_has_a_column_for_each_number():
    _, samples, _ = noisy(PLANE, (11, 9), 0.1, 9)
    modes = frequencies(samples)
    table = modes_table(modes)
    names = ["amplitude", "phase", "frequency_1", "frequency_2", "damping_1", "damping_2"]
    assert list(table) == [name + end for name in names for end in ("", "_stderr")]
    again = Modes(
        np.stack([table["frequency_1"], table["frequency_2"]], axis=1),
        np.stack([table["damping_1"], table["damping_2"]], axis=1),
        table["amplitude"] * np.exp(1j * table["phase"]),
    )
    np.testing.assert_allclose(again.signal((5, 5)), modes.signal((5, 5)))
    np.testing.assert_array_equal(table["frequency_2_stderr"], modes.stderr.frequencies[:, 1])
    np.testing.assert_array_equal(table["phase_stderr"], modes.stderr.phases)


def test_a_table_of_modes_numbers_channels_and_leaves_out_unknown_errors():
    table = modes_table(Modes([0.1], 0.0, [[1.0, 2j]]))
    assert list(table) == [
        *("amplitude_1", "amplitude_2", "phase_1", "phase_2", "frequency", "damping")
    ]
    np.testing.assert_allclose([table["amplitude_2"][0], table["phase_2"][0]], [2, np.pi / 2])


# Forecasting


def seasons(n, sigma, seed):
    t = np.arange(n)
    truth = 10 + 0.1 * t + np.cos(2 * np.pi * t / 12)
    return truth, truth + sigma * np.random.default_rng(seed).standard_normal(n)


def test_trend_and_season_are_carried_on_exactly():
    truth, _ = seasons(84, 0.0, 0)
    ahead = forecast(truth[:72], 12)
    assert np.max(np.abs(ahead.mean - truth[72:])) < 1e-2
    assert ahead.rank == 4


def test_trend_and_season_are_found_in_noise():
    truth, samples = seasons(84, 0.05, 0)
    ahead = forecast(samples[:72], 12)
    assert np.max(np.abs(ahead.mean - truth[72:])) < 0.3
    assert ahead.past_error < 0.4


@pytest.mark.parametrize("draws", [4, nightly(10)])
def test_intervals_hold_future_samples_as_often_as_they_say(draws):
    off = []
    t = np.arange(48)
    for seed in range(draws):
        rng = np.random.default_rng(300 + seed)
        samples = 2 * np.cos(0.4 * t + rng.uniform(0, 6)) + 0.3 * rng.standard_normal(48)
        ahead = forecast(samples[:40], 8, rank=2)
        off.append(np.abs(samples[40:] - ahead.mean) / ahead.stderr)
        np.testing.assert_allclose(ahead.upper - ahead.mean, 1.959964 * ahead.stderr, rtol=1e-5)
    assert np.mean(np.array(off) < 1.96) > 0.85
    assert 0.3 < np.mean(np.array(off) < 0.674) < 0.7  # half of them, if the errors are right
    wide, narrow = (forecast(samples[:40], 8, rank=2, level=level) for level in (0.9, 0.1))
    assert np.all(narrow.upper - narrow.lower < (wide.upper - wide.lower) / 5)


def test_a_forecast_starts_where_the_series_ends_though_it_has_gaps():
    truth = np.cos(0.3 * np.arange(70))
    samples = truth + 0.05 * np.random.default_rng(0).standard_normal(70)
    samples[30:36] = np.nan
    for silent in (3, 20):
        samples[60 - silent : 60] = np.nan
        ahead = forecast(samples[:60], 10)
        assert np.max(np.abs(ahead.mean - truth[60:])) < 0.2


def test_channels_are_forecast_together():
    t = np.arange(60)
    truth = np.stack([np.cos(0.3 * t), 2 * np.sin(0.3 * t)], axis=1)
    samples = truth + 0.05 * np.random.default_rng(0).standard_normal((60, 2))
    ahead = forecast(samples[:52], 8, channels=1)
    assert ahead.mean.shape == ahead.stderr.shape == (8, 2)
    assert np.max(np.abs(ahead.mean - truth[52:])) < 0.2


def test_complex_series_are_forecast():
    truth, samples, _ = noisy(COMPLEX, 60, 0.05, 10, missing=0.0)
    ahead = forecast(samples[:52], 8)
    assert np.max(np.abs(ahead.mean - truth[52:])) < 0.2


def test_noise_cannot_be_forecast(rng):
    noise = rng.standard_normal(40)
    with pytest.raises(NoModes, match="distinguished from noise"):
        forecast(noise, 5)
    assert forecast(noise, 5, rank=2).rank == 2  # if one insists


def test_a_forecast_says_what_it_is():
    text = repr(forecast(np.cos(0.3 * np.arange(40)), 5, level=0.8))
    for part in ("Forecast", "steps         5", "rank          2", "80%"):
        assert part in text


@pytest.mark.parametrize(
    ("samples", "options", "message"),
    [
        (np.ones(20), {"steps": 0}, "steps is 0"),
        (np.ones(20), {"steps": 2.5}, "steps is 2.5"),
        (np.ones(20), {"steps": 3, "level": 1.0}, "level is 1.0"),
        (np.ones(20), {"steps": 3, "level": 95}, "level is 95"),
        (np.ones(7), {"steps": 3}, "7 samples are given, but 8"),
        (np.ones((20, 2)), {"steps": 3}, "channels=1"),
        (np.ones((20, 2)), {"steps": 3, "channels": 0}, "channels=1"),
        (np.ones((20, 2, 2)), {"steps": 3, "channels": 1}, "shape .20, 2, 2."),
        (np.ones(20), {"steps": 3, "rank": 0}, "rank is 0"),
    ],
)
def test_bad_forecasts_are_errors(samples, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        forecast(samples, **options)


def test_settings_are_the_arguments_of_recover():
    _, *arguments = signature(recover).parameters.values()
    assert [(one.name, one.default) for one in fields(Settings)] == [
        (one.name, one.default) for one in arguments
    ]
    given = {one.name: object() for one in arguments}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "structrank.signals.recovery.recover_with", lambda samples, settings: settings
        )
        assert vars(recover(np.ones(9), **given)) == given


@pytest.mark.parametrize("size", [27, nightly(41)])
def test_gross_errors_are_found_and_left_out(size):
    """The paper's kind of signal, 5% gross errors: the error stays within twice that without."""
    sample = sinusoids((size, size), 2, seen=0.3, separation=1.5, spread=True, rng=1)
    rng = np.random.default_rng(1)
    places = np.flatnonzero(sample.seen)
    wrong = rng.choice(places, len(places) // 20, replace=False)
    spoiled = sample.samples.copy()
    spoiled.flat[wrong] += 150 * sample.noise * rng.choice([-1, 1], len(wrong))
    clean, robust = recover(sample.samples), recover(spoiled, robust=True)
    assert set(wrong) <= set(np.flatnonzero(robust.outliers))
    assert np.count_nonzero(robust.outliers) < 2 * len(wrong)
    assert robust.rank == clean.rank == 4
    errors = [np.linalg.norm(found.signal - sample.truth) for found in (clean, robust)]
    assert errors[1] < 2 * errors[0]
    assert not np.any(clean.outliers)


def spoiled_decays(share, size, seed, length=140):
    """Two decays with 1% noise, and gross errors of about `size` times their largest value."""
    rng, t = np.random.default_rng(seed), np.arange(length)
    truth = np.exp(-t / 200) * np.cos(0.5 * t) + 0.7 * np.exp(-t / 300) * np.cos(1.3 * t + 1)
    samples = truth + 0.01 * rng.standard_normal(length)
    wrong = np.sort(rng.choice(length, int(share * length), replace=False))
    signs = rng.choice([-1, 1], len(wrong))
    samples[wrong] += size * np.max(np.abs(truth)) * signs * rng.uniform(0.5, 1.5, len(wrong))
    return truth, samples, wrong


@pytest.mark.parametrize("seed", [0, nightly(1)])
@pytest.mark.parametrize(
    ("share", "size"),
    [
        *((0.0, 1.0), (0.1, 2.0), (0.3, 1.0), (0.3, 10.0)),
        *map(nightly, (0.1, 0.1, 0.2, 0.2, 0.2, 0.3), (1.0, 10.0, 1.0, 2.0, 10.0, 2.0)),
    ],
)
def test_gross_errors_in_up_to_three_of_ten_samples_are_found_without_a_warning(share, size, seed):
    """Warnings are errors here."""
    _, samples, wrong = spoiled_decays(share, size, seed)
    found = np.flatnonzero(find_outliers(hankel_problem(samples)))
    assert set(wrong) <= set(found)
    assert len(found) <= len(wrong) + 1


def test_gross_errors_in_three_of_ten_samples_are_left_out():
    truth, samples, wrong = spoiled_decays(0.3, 2.0, 0)
    found = recover(samples, robust=True)
    np.testing.assert_array_equal(np.flatnonzero(found.outliers), wrong)
    assert found.rank == 4
    assert np.linalg.norm(found.signal - truth) < 0.01 * np.linalg.norm(truth)


def test_gross_errors_in_exact_samples_are_found_without_a_warning():
    """Also beside a dead channel, whose zeros say nothing of the noise."""
    t = np.arange(200)
    samples = np.cos(0.6 * t) + np.cos(0.2 * t)
    samples[[30, 70]] = 9
    np.testing.assert_array_equal(np.flatnonzero(find_outliers(hankel_problem(samples))), [30, 70])
    beside = np.column_stack([samples, np.zeros(200)])
    found = find_outliers(hankel_problem(beside, channels=1))
    np.testing.assert_array_equal(np.argwhere(found)[:, :2], [[30, 0], [70, 0]])


def test_the_only_sample_of_a_channel_is_no_gross_error():
    samples = np.column_stack([np.full(20, 5.0), np.full(20, np.nan)])
    samples[-1, 1] = 50.0
    problem = hankel_problem(samples, 5, 1)
    assert not np.any(find_outliers(problem))
    assert np.all(np.isfinite(recover(samples, window=5, channels=1, robust=True).signal))


@pytest.mark.parametrize(
    ("problem", "error", "message"),
    [
        (np.ones(20), TypeError, "problem is ndarray, but a Problem is expected"),
        (Problem(Circulant(5), np.ones(5), 1.0), ValueError, "but a Hankel or Toeplitz"),
        (
            Problem(Hankel(5, window=3), np.ones(5), 1.0, (lambda y: 2 * y, lambda d: 2 * d)),
            ValueError,
            "measured by an operator, but samples of the signal are expected",
        ),
    ],
)
def test_outliers_are_found_in_samples_of_signals_only(problem, error, message):
    with pytest.raises(error, match=message):
        find_outliers(problem)
    good = hankel_problem(np.cos(np.arange(20.0)))
    with pytest.raises(TypeError, match="search is float, but a OutlierSearch"):
        find_outliers(good, search=4.0)


@pytest.mark.parametrize("seed", [0, nightly(1)])
@pytest.mark.parametrize("size", [2.0, 10.0])
def test_more_gross_errors_than_can_be_told_are_warned_of(size, seed):
    _, samples, _ = spoiled_decays(0.4, size, seed)
    with pytest.warns(UserWarning, match="gross errors, but more than a third .* may be wrong"):
        find_outliers(hankel_problem(samples))


def test_gross_errors_that_were_not_found_are_warned_of():
    """The median does not see that what is left is not noise."""
    _, samples, wrong = spoiled_decays(0.45, 2.0, 0)
    with pytest.warns(UserWarning, match="gross errors, but .* do not look like noise"):
        found = recover(samples, robust=True, kind="refit")
    assert np.sum(found.outliers) < len(wrong) // 2


def test_a_picture_with_rows_missing_is_filled(rng):
    """It is no sum of a few modes."""
    x, y = np.arange(120.0)[:, None], np.arange(110.0)
    picture = np.cos(0.003 * ((x - 60) ** 2 + (y - 55) ** 2))
    samples = picture + 0.01 * rng.standard_normal(picture.shape)
    samples[rng.choice(np.arange(1, 119), 30, replace=False)] = np.nan
    found = recover(samples)
    missing = np.isnan(samples)
    assert found.kind == "average"
    assert found.result.problem.structure.window == (8, 8)
    assert found.result.status.converged
    error = np.sqrt(np.mean((found.signal - picture)[missing] ** 2))
    assert error < 0.01
    assert np.all(found.stderr == found.stderr.flat[0])
    assert error / 5 < found.stderr.flat[0] < 5 * error
    assert found.modes is None
    given = recover(samples, mu=0.9 * mu_max(hankel_problem(samples)))
    assert given.kind == "average"
    assert given.result.problem.mu > found.result.problem.mu


@pytest.mark.parametrize("windows", [[(4, 4)], nightly(None)], ids=["small", "all"])
def test_coils_fill_the_gaps_of_each_other(windows, rng, monkeypatch):
    """k-space of a disc seen by four coils, of which 40% is sampled at random."""
    if windows:
        monkeypatch.setattr("structrank.signals.windows.local_windows", lambda *_: windows)
    u, v = np.linspace(-1, 1, 48)[:, None], np.linspace(-1, 1, 40)
    disc = (u**2 + v**2 < 0.5) * (1 + 0.5 * np.cos(4 * u))
    sensitive = [np.exp(-((u - a) ** 2) - (v - c) ** 2) for a in (-1, 1) for c in (-1, 1)]
    images = [disc * s * np.exp(1j * k * u) for k, s in enumerate(sensitive)]
    space = np.fft.fftshift(np.fft.fft2(images), axes=(1, 2))
    space += (rng.standard_normal(space.shape) + 1j * rng.standard_normal(space.shape)) / 10
    missing = np.broadcast_to(rng.random(space.shape[1:]) > 0.4, space.shape)
    samples = np.where(missing, np.nan, space).astype("complex64")
    problem = hankel_problem(samples, (4, 4), channels=0)
    found = best_estimate(problem, Known(), large=True)
    assert found.candidate.name == "average"
    signal, stderr = (from_channels(x, 0) for x in (found.estimate.signal, found.estimate.stderr))
    assert signal.dtype == "complex64"
    size = np.sqrt(np.mean(np.abs(signal - space)[missing] ** 2))
    assert size < 0.25 * np.sqrt(np.mean(np.abs(space[missing]) ** 2))
    assert size / 3 < stderr.flat[0] < 10 * size  # with fewer samples it is harder


@pytest.mark.parametrize("seed", [0, nightly(1)])
def test_swings_that_come_and_go_are_no_sum_of_modes(seed):
    """A series like the sunspots: the local fits are found, and better than modes."""
    rng = np.random.default_rng(seed)
    y = np.zeros(300)
    for t in range(2, 300):
        y[t] = 1.75 * y[t - 1] - 0.96 * y[t - 2] + rng.standard_normal()
    truth = y[100:] + 20
    gaps = np.arange(200) % 40 > 35
    samples = np.where(gaps, np.nan, truth)
    found, modes = recover(samples), recover(samples, kind="refit")
    assert found.kind == "average"
    ours, theirs = (np.linalg.norm((x.signal - truth)[gaps]) for x in (found, modes))
    assert ours < 0.6 * theirs


def test_windows_are_small_beside_the_signal():
    assert local_windows((15,), 1) == []
    assert local_windows((200,), 1) == [(4,), (8,), (16,), (32,)]
    assert local_windows((200,), 20) == [(4,), (8,)]
    assert local_windows((10**7,), 1) == [(4,)]
    assert local_windows((200, 100), 1) == [(4, 4), (8, 8), (16, 16)]
    assert local_windows((90, 90), 8) == [(4, 4), (7, 7)]
    assert local_windows((300, 300), 8) == [(4, 4), (10, 10)]
    assert local_windows((200, 9), 1) == [(4, 4), (8, 4), (16, 4)]
    assert local_windows((32, 32, 32), 1) == [(4, 4, 4), (7, 7, 7)]
    assert local_windows((64, 64, 64), 1) == [(4, 4, 4), (9, 9, 9)]
    assert local_windows((64, 64), 300) == []
    assert hankel_problem(np.ones((8, 200, 100)), channels=0).structure.window == (6, 6)
