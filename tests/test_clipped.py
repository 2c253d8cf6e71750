"""Clipped samples as inequalities: modes, components, files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.optimize import minimize
from scipy.special import log_ndtr

import structrank
from structrank import Modes, impute, recover
from structrank.cli import main
from structrank.components import Components, FittedSeries, fit_series
from structrank.components.likelihood import ComponentFit
from structrank.signals.clipped_modes import Turns, fit_clipped_modes
from structrank.signals.clipped_series import Clipping, Propagation, condition, fit_clipped
from structrank.signals.filling import keep_samples
from structrank.signals.truncation import truncated_moments

LEVELS = (-np.inf, 0.4)


@pytest.fixture(scope="module")
def level_model():
    """A random walk in noise with given parameters, its samples, and dense covariances."""
    fit = ComponentFit(Components(12, drifts=("level",)), np.array([-1.0, -1.0]), 0.0, 12)
    y = np.random.default_rng(0).standard_normal(12)
    at = np.minimum.outer(np.arange(12), np.arange(12))
    signal = 9.0 + np.exp(-1.0) * at
    return FittedSeries([fit], 0.0, 1.0), y, signal, np.exp(-1.0)


def given_seen(signal, white, y, seen):
    """Mean and covariance of the signal given samples, and those of all samples."""
    gain = signal[:, seen] @ np.linalg.inv(signal[np.ix_(seen, seen)] + white * np.eye(seen.sum()))
    return gain @ y[seen], signal - gain @ signal[seen]


def test_one_clipped_sample_is_conditioned_exactly(level_model):
    fitted, y, signal, white = level_model
    clipping = Clipping(np.zeros(12, bool), np.arange(12) == 5, LEVELS)
    seen = ~clipping.all
    found = condition(
        fitted, np.where(seen, y, np.nan), clipping, Propagation(rounds=60, accuracy=1e-12)
    )
    mean, covariance = given_seen(signal, white, y, seen)
    total = covariance[5, 5] + white
    moment, spread = truncated_moments(mean[5:6], np.sqrt([total]), 0.4, np.inf)
    gain = covariance[:, 5] / total
    np.testing.assert_allclose(found.samples[5], moment[0], rtol=1e-8)
    np.testing.assert_allclose(found.signal, mean + gain * (moment - mean[5]), rtol=1e-7)
    variance = np.diag(covariance) - gain**2 * (total - spread**2)
    np.testing.assert_allclose(found.stderr**2, variance, rtol=1e-7)
    draws = found.draws(np.zeros(12, bool), 3000, np.random.default_rng(0))
    np.testing.assert_allclose(draws.mean(axis=0), found.signal, atol=0.06)
    np.testing.assert_allclose(draws.std(axis=0), found.stderr, rtol=0.06)


def test_several_clipped_samples_are_conditioned_as_by_rejection(level_model):
    fitted, y, signal, white = level_model
    low, high = np.isin(np.arange(12), [2]), np.isin(np.arange(12), [5, 6])
    clipping = Clipping(low, high, (-0.2, 0.4))
    seen = ~clipping.all
    found = condition(fitted, np.where(seen, y, np.nan), clipping)
    mean, covariance = given_seen(signal, white, y, seen)
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal(mean, covariance, 60_000)
    noisy = draws + np.sqrt(white) * rng.standard_normal(draws.shape)
    kept = np.all(noisy[:, high] >= 0.4, axis=1) & np.all(noisy[:, low] <= -0.2, axis=1)
    np.testing.assert_allclose(found.signal, draws[kept].mean(axis=0), atol=0.03)
    np.testing.assert_allclose(found.stderr, draws[kept].std(axis=0), rtol=0.05)


def clipped_sine(seed=0, length=60, noise=0.2):
    rng, t = np.random.default_rng(seed), np.arange(length)
    truth = 1.5 * np.cos(0.4 * t + 1)
    y = truth + noise * rng.standard_normal(length)
    y[10:12] = np.nan
    return truth, np.clip(y, -0.8, 0.8)


def test_modes_have_the_largest_likelihood_of_samples_and_inequalities():
    _, y = clipped_sine()
    clipping, t = Clipping.of(y, (-0.8, 0.8)), np.arange(60)
    seen = ~np.isnan(y) & ~clipping.all

    def signal(x):
        return x[0] * np.cos(x[2] * t) + x[1] * np.sin(x[2] * t)

    def negative(x):
        z = (y - signal(x)) / 0.2
        low, high = (-0.8 - signal(x)) / 0.2, (0.8 - signal(x)) / 0.2
        logs = np.sum(log_ndtr(low[clipping.low])) + np.sum(log_ndtr(-high[clipping.high]))
        return np.sum(z[seen] ** 2) / 2 - logs

    start = [1.5 * np.cos(1), -1.5 * np.sin(1), 0.4]
    best = minimize(negative, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    modes = Modes([0.4 / (2 * np.pi), -0.4 / (2 * np.pi)], amplitudes=[0.5, 0.5])
    found = fit_clipped_modes(y, clipping, modes, 0.2, Turns(most=100, accuracy=1e-6), exactly=True)
    np.testing.assert_allclose(found.signal, signal(best.x), atol=2e-4)
    steps = 1e-3 * np.eye(3)
    hessian = np.array(
        [
            [
                negative(best.x + a + b)
                - negative(best.x + a - b)
                - negative(best.x - a + b)
                + negative(best.x - a - b)
                for a in steps
            ]
            for b in steps
        ]
    ) / (4e-6)
    rows = np.stack([(signal(best.x + s) - signal(best.x - s)) / 2e-3 for s in steps], axis=1)
    errors = np.sqrt(np.einsum("ti,ij,tj->t", rows, np.linalg.inv(hessian), rows))
    np.testing.assert_allclose(found.stderr, errors, rtol=0.02)


def test_clipped_sines_are_recovered_beyond_the_levels():
    truth, y = clipped_sine()
    series = pd.Series(y, pd.date_range("2024-01-01", periods=60))
    found = recover(series, clipped=(-0.8, 0.8), rank=2, effort="fast")
    error = (found.signal - truth)[found.clipped]
    assert np.sqrt(np.mean(error**2)) < 0.1  # taken as they are: 0.5 and more
    assert (found.kind, found.rank) == ("refit", 2)
    assert found.sigma == pytest.approx(0.2, rel=0.3)
    assert "clipped" in repr(found)
    assert found.draws(3).shape == (3, 60)
    assert found.signal.index.equals(series.index)
    filled = keep_samples(found)
    np.testing.assert_allclose(filled.signal[found.clipped], found.signal[found.clipped])
    kept = ~found.clipped & ~np.isnan(y)
    np.testing.assert_array_equal(filled.signal[kept], y[kept])


def test_as_few_modes_as_samples_and_inequalities_ask_for():
    t = np.arange(40)
    truth = 1.5 * np.cos(0.4 * t)
    y = np.clip(truth, -1, 1)
    waves = 2 * np.pi * np.random.default_rng(0).uniform(0.02, 0.4, 3)
    many = Modes(np.concatenate([waves, -waves]) / (2 * np.pi), amplitudes=0.3)
    found = fit_clipped_modes(y, Clipping.of(y, (-1, 1)), many, turns=Turns(most_modes=3))
    assert len(found.modes) == 2
    np.testing.assert_allclose(found.signal, truth, atol=1e-4)


def test_impute_does_not_return_clipped_samples_at_once():
    with pytest.raises(ValueError, match="clipped and bounds"):
        impute(np.clip(np.cos(np.arange(40.0)), -0.8, 0.8), clipped=(-0.8, 0.8), bounds=(-2, 2))


BAD = {
    "order": ((1, -1), {}, "clipped is .*lowest, highest"),
    "all": ((-1e-9, 1e-9), {}, "lie between the levels"),
    "bounds": ((-1, 1), {"bounds": (0, None)}, "clipped and bounds"),
    "levels": ((-1, 1), {"sigma": np.ones(60)}, "clipped and sigma"),
    "convex": ((-1, 1), {"kind": "convex"}, "clipped and kind"),
    "times": ((-1, 1), {"times": np.arange(60.0)}, "clipped"),
}


@pytest.mark.parametrize("name", BAD)
def test_levels_that_make_no_sense_are_refused(name):
    levels, options, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        recover(clipped_sine()[1], clipped=levels, **options)
    with pytest.raises(ValueError, match="one real series"):
        recover(np.zeros((9, 9)), clipped=(-1, 1))


def test_files_tell_their_levels(tmp_path, monkeypatch):
    pd.DataFrame({"x": clipped_sine()[1]}).to_csv(tmp_path / "x.csv", index=False)
    calls = []

    def recover_like(samples, **options):
        calls.append(options["clipped"])
        raise ValueError("enough")

    monkeypatch.setattr(structrank, "recover", recover_like)
    CliRunner().invoke(main, ["recover", str(tmp_path / "x.csv"), "--clipped", "none,0.8"])
    assert calls == [(None, 0.8)]


def errors_where_clipped(truth, y, levels, recovered):
    """Errors with inequalities, with clipped samples as missing, and with them as they are."""
    z = np.clip(y, *levels)
    clipping = Clipping.of(z, levels)
    signals = recovered(z, clipping)
    return [np.sqrt(np.mean((signal - truth)[clipping.all] ** 2)) for signal in signals]


@pytest.mark.nightly
def test_errors_are_clearly_below_those_of_missing_and_of_plain_samples():
    tones, processes = [], []
    for seed in range(100, 110):
        rng, t = np.random.default_rng(seed), np.arange(150)
        f = rng.uniform(0.02, 0.1), rng.uniform(0.1, 0.2)
        phases = rng.uniform(0, 6, 2)
        truth = np.cos(2 * np.pi * f[0] * t + phases[0])
        truth += 0.6 * np.cos(2 * np.pi * f[1] * t + phases[1])
        y = truth + 0.15 * rng.standard_normal(150)
        levels = tuple(np.quantile(y, [0.25, 0.75]))

        def by_recover(z, clipping):
            parts = (z, {"clipped": clipping.levels}), (np.where(clipping.all, np.nan, z), {})
            return [recover(x, effort="fast", **o).signal for x, o in (*parts, (z, {}))]

        tones.append(errors_where_clipped(truth, y, levels, by_recover))
        truth = np.zeros(250)
        for k in range(2, 250):
            truth[k] = 1.6 * truth[k - 1] - 0.8 * truth[k - 2] + rng.standard_normal() / 3
        truth = truth[100:]
        y = truth + 0.1 * rng.standard_normal(150)

        def by_components(z, clipping):
            hidden = np.where(clipping.all, np.nan, z)
            plain = [fit_series(x).smooth([x])[0].signal for x in (hidden, z)]
            return [fit_clipped(z, clipping).signal, *plain]

        levels = tuple(np.quantile(y, [0.1, 0.8]))
        processes.append(errors_where_clipped(truth, y, levels, by_components))
    for errors in (tones, processes):
        ours, missing, plain = np.exp(np.mean(np.log(errors), axis=0))
        assert ours < 0.6 * missing
        assert ours < 0.6 * plain
