"""Limits of an answer: bounds of values, and gaps that are too long to fill."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import truncnorm

from structrank import denoise, impute, recover
from structrank.cli import main
from structrank.signals.limits import long_gaps
from structrank.signals.truncation import truncated_moments, truncated_quantile

T = np.arange(120)
GAPPY = np.where(((T > 30) & (T < 34)) | ((T > 60) & (T < 75)), np.nan, np.cos(0.4 * T))


@pytest.mark.parametrize("bounds", [(0.0, np.inf), (-np.inf, 2.0), (-1.0, 0.5)])
def test_moments_and_quantiles_are_those_of_a_truncated_gaussian(bounds):
    mean, deviation = np.meshgrid([-30.0, -3.0, -0.2, 0.0, 0.6, 4.0, 20.0], [0.2, 1.0, 7.0])
    low, high = bounds
    literal = truncnorm((low - mean) / deviation, (high - mean) / deviation, mean, deviation)
    tame = np.abs(np.clip(mean, low, high) - mean) < 25 * deviation  # SciPy loses digits beyond
    ours = truncated_moments(mean, deviation, low, high)
    np.testing.assert_allclose(ours[0], literal.mean(), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ours[1][tame], literal.std()[tame], rtol=1e-5)
    for p in (0.025, 0.5, 0.975):
        found = truncated_quantile(p, mean, deviation, low, high)
        np.testing.assert_allclose(found[tame], literal.ppf(p)[tame], rtol=1e-6, atol=1e-8)


def test_a_mean_far_outside_is_at_the_bound_with_an_exponential_tail():
    mean, deviation = truncated_moments(np.array([-1e4]), np.ones(1), 0.0, np.inf)
    np.testing.assert_allclose([mean[0], deviation[0]], 1e-4, rtol=1e-6)
    median = truncated_quantile(0.5, np.array([-1e4]), np.ones(1), 0.0, np.inf)
    np.testing.assert_allclose(median, 1e-4 * np.log(2), rtol=1e-3)


def test_certain_and_unknown_values_are_moved_to_the_bounds():
    mean, deviation = np.array([-1.0, 5.0, 1.0]), np.array([0.0, 0.0, np.inf])
    found = truncated_moments(mean, deviation, 0.0, 2.0)
    np.testing.assert_array_equal(found[0], [0.0, 2.0, 1.0])
    np.testing.assert_array_equal(found[1], deviation)
    ends = [truncated_quantile(p, mean, deviation, 0.0, 2.0) for p in (0.1, 0.9)]
    np.testing.assert_array_equal(ends, [[0.0, 2.0, 0.0], [0.0, 2.0, 2.0]])


def test_long_gaps_are_found_as_a_loop_finds_them(rng):
    missing = rng.random(200) < 0.6
    literal = np.zeros(200, dtype=bool)
    for i in np.flatnonzero(missing):
        first, last = i, i
        while first > 0 and missing[first - 1]:
            first -= 1
        while last < 199 and missing[last + 1]:
            last += 1
        literal[i] = last - first + 1 > 3
    np.testing.assert_array_equal(long_gaps(missing, 3), literal)


def test_long_gaps_stay_missing_and_the_result_says_so():
    found, whole = recover(GAPPY, max_gap=5), recover(GAPPY)
    np.testing.assert_array_equal(found.left, (T > 60) & (T < 75))
    for part in ("signal", "stderr", "lower", "upper"):
        values = getattr(found, part)
        np.testing.assert_array_equal(np.isnan(values), found.left)
        np.testing.assert_array_equal(
            values[~found.left], np.asarray(getattr(whole, part))[~found.left]
        )
    assert "14 values in long gaps" in repr(found)
    assert "long gaps" not in repr(whole)
    filled = impute(GAPPY, max_gap=5).signal
    np.testing.assert_array_equal(np.isnan(filled), found.left)


def test_gaps_of_channels_have_lengths_of_their_own():
    table = np.stack([GAPPY, np.where(T == 65, np.nan, np.sin(0.4 * T))], axis=1)
    found = recover(table, channels=1, max_gap=5)
    np.testing.assert_array_equal(found.left[:, 0], (T > 60) & (T < 75))
    assert not np.any(found.left[:, 1])


def test_estimate_and_interval_obey_bounds(rng):
    truth = 1 + np.cos(0.3 * T)
    samples = np.where((T > 50) & (T < 60), np.nan, truth + 0.3 * rng.standard_normal(120))
    plain, found = recover(samples), denoise(samples, bounds=(0, None))
    assert np.min(plain.lower) < 0
    assert np.min(found.signal) >= np.min(found.lower) >= 0
    assert np.mean((found.signal - truth) ** 2) <= np.mean((plain.signal - truth) ** 2)
    far = plain.signal > 6 * (plain.upper - plain.signal)
    np.testing.assert_allclose(found.signal[far], plain.signal[far], rtol=1e-9)
    both = recover(samples, bounds=(0, 1.9), level=0.5)
    assert np.max(both.upper) <= 1.9
    assert np.all((both.lower <= both.signal) & (both.signal <= both.upper))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_gap": -1}, "max_gap is -1"),
        ({"max_gap": 2.5}, "max_gap is 2.5"),
        ({"bounds": (1, 0)}, r"bounds is \(1, 0\)"),
        ({"bounds": 3}, "bounds is 3"),
        ({"bounds": (0, "x")}, "bounds is"),
        ({"bounds": (0, 1, 2)}, "bounds is"),
    ],
)
@pytest.mark.parametrize("work", [recover, impute])
def test_wrong_limits_are_refused(work, options, message):
    with pytest.raises(ValueError, match=message):
        work(np.cos(0.4 * T), **options)


def test_limits_that_do_not_apply_are_refused():
    with pytest.raises(ValueError, match="the samples are complex"):
        recover(np.exp(0.3j * T), bounds=(0, 1))
    with pytest.raises(ValueError, match="gaps have a length in series only"):
        impute(np.ones((8, 8)), max_gap=2)


def test_the_command_line_has_them(tmp_path):
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    np.savetxt(source, GAPPY, fmt="%.6f", header="level", comments="")
    arguments = [
        "impute",
        str(source),
        "--out",
        str(out),
        "--max-gap",
        "5",
        "--bounds",
        "-0.5,none",
    ]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "14 values in long gaps" in done.output
    filled = np.genfromtxt(out, skip_header=1)
    np.testing.assert_array_equal(np.isnan(filled), (T > 60) & (T < 75))
    assert np.min(filled[30:35]) >= min(-0.5, np.nanmin(GAPPY[30:35]))
    done = CliRunner().invoke(main, ["impute", str(source), "--bounds", "1;2"])
    assert done.exit_code == 2
    assert "not a pair such as 0,100" in done.output
