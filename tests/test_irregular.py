"""Series at irregular times: processes in continuous time, with no grid in between."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.linalg import expm

from structrank import impute, recover
from structrank.cli import main
from structrank.components.conditioning import records
from structrank.components.irregular import ContinuousComponents
from structrank.components.irregular_covariances import CovariancesAtTimes
from structrank.components.irregular_draws import draws_at
from structrank.components.irregular_floor import FloorAtTimes, noise_floor_at, seen_values_at
from structrank.components.irregular_likelihood import (
    ContinuousFit,
    ContinuousLikelihood,
    most_likely_at,
)
from structrank.components.irregular_search import fit_irregular
from structrank.components.periodogram import strongest_frequency
from structrank.systems.likelihood import value_and_gradient
from structrank.systems.smoothing import smoothed

START = {
    "white": -1.5,
    "level": -2.0,
    "slope": -4.0,
    "cycle": -0.5,
    "cycle rate": -1.0,
    "size 1": 0.1,
    "rate 1": -2.0,
    "frequency 1": 0.9,
}


def example(rng, count=30, **options):
    """Processes at random times with their parameters, and samples with gaps."""
    times = np.sort(20 * rng.random(count))
    components = ContinuousComponents(times, ("level", "slope"), True, 1, **options)
    parameters = np.array([START[name] for name in components.names])
    y = rng.standard_normal(count)
    y[5:9] = np.nan
    return components, parameters, y


def literal_covariance(components, value):
    """Covariances of the series between all times, by those of its processes."""
    t, first = components.times, components.first
    s, u = np.meshgrid(t - t[0], t - t[0], indexing="ij")
    both, lag = np.minimum(s, u), np.abs(s - u)
    K = first.level**2 + (first.slope / (t[-1] - t[0])) ** 2 * s * u
    K += np.exp(value["level"]) * both
    K += np.exp(value["slope"]) * (both**2 * np.maximum(s, u) / 2 - both**3 / 6)
    K += np.exp(value["cycle"] - np.exp(value["cycle rate"]) * lag)
    wave = np.exp(value["size 1"] - np.exp(value["rate 1"]) * lag)
    return K + wave * np.cos(value["frequency 1"] * lag)


@pytest.mark.parametrize("measured", [False, True])
def test_estimates_and_draws_are_gaussian_conditioning_on_the_covariance(measured, rng):
    components, parameters, y = example(rng, measured=measured)
    noise = np.exp(0.3 * rng.standard_normal(30)) if measured else None
    value = dict(zip(components.names, parameters, strict=True))
    K, seen = literal_covariance(components, value), ~np.isnan(y)
    white = noise**2 if measured else np.full(30, np.exp(value["white"]))
    inner = K[np.ix_(seen, seen)] + np.diag(white[seen])
    gain = np.linalg.solve(inner, K[seen]).T
    mean, covariance = gain @ y[seen], K - gain @ K[seen]
    fit = ContinuousFit(components, parameters, 0.0)
    found = smoothed(fit.gaussian(noise), records([y]))
    np.testing.assert_allclose(found.states[:, :, 0, 0] @ components.shown, mean, atol=1e-9)
    np.testing.assert_allclose(found.signal_variances[:, 0, 0], np.diag(covariance), atol=1e-9)
    draws = draws_at(fit, y, 3000, rng, noise)
    spread = np.sqrt(np.diag(covariance))
    error = np.abs(np.cov(draws.T) - covariance) / np.outer(spread, spread)
    assert np.max(error) < 6 / np.sqrt(3000)


def test_transitions_are_matrix_exponentials(rng):
    components, parameters, _ = example(rng)
    H, _, _ = components.matrices(parameters)
    rate, cycle, angle = np.exp(START["rate 1"]), np.exp(START["cycle rate"]), START["frequency 1"]
    F = np.zeros((5, 5))
    F[0, 1], F[2, 2] = 1, -cycle
    F[3:, 3:] = [[-rate, angle], [-angle, -rate]]
    for k, step in enumerate(np.diff(components.times)):
        np.testing.assert_allclose(H[k, 1:], expm(step * F), atol=1e-12)


def test_derivatives_are_those_of_finite_differences(rng):
    components, parameters, y = example(rng)

    def score(moved):
        return value_and_gradient(ContinuousFit(components, moved, 0.0).gaussian(), records([y]))

    steps = 1e-5 * np.eye(len(parameters))
    literal = [(score(parameters + h).value - score(parameters - h).value) / 2e-5 for h in steps]
    gradient = components.gradient(parameters, score(parameters))
    np.testing.assert_allclose(gradient, literal, atol=1e-5)


@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize("drifts", [(), ("level",), ("level", "slope")])
@pytest.mark.parametrize(("cycle", "oscillators"), [(False, 0), (False, 2), (True, 0), (True, 1)])
def test_covariances_and_filter_have_the_same_likelihood_and_gradient(
    measured, drifts, cycle, oscillators, rng
):
    times = 5 + np.sort(30 * rng.random(30))
    components = ContinuousComponents(times, drifts, cycle, oscillators, measured=measured)
    value = {**START, "size 2": -0.3, "rate 2": -4.0, "frequency 2": 2.1}
    parameters = np.array([value[name] for name in components.names], dtype=float)
    noise = rng.uniform(0.3, 1, 30) if measured else None
    y = rng.standard_normal(30)
    filtered = ContinuousFit(components, parameters, 0.0).gaussian(noise)
    score = value_and_gradient(filtered, records([y]))
    dense = CovariancesAtTimes(components, y, noise).score
    found, gradient = dense(parameters)
    np.testing.assert_allclose(found, score.value, rtol=1e-10)
    expected = components.gradient(parameters, score)
    np.testing.assert_allclose(gradient, expected, rtol=1e-8, atol=1e-9)
    steps = 1e-5 * np.eye(len(parameters))
    literal = [(dense(parameters + h)[0] - dense(parameters - h)[0]) / 2e-5 for h in steps]
    np.testing.assert_allclose(gradient, literal, atol=1e-5)


def test_covariances_without_noise_at_one_time_are_refused():
    components = ContinuousComponents(np.array([0.0, 1.0, 1.0]), cycle=True, measured=True)
    dense = CovariancesAtTimes(components, np.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match="not positive definite"):
        dense.score(np.zeros(2))


@pytest.mark.parametrize("dense", [0.0, np.inf])
def test_a_fit_does_not_depend_on_how_the_likelihood_is_computed(dense, rng):
    times = np.sort(40 * rng.random(40))
    y = np.cos(0.8 * times) + 0.3 * rng.standard_normal(40)
    components = ContinuousComponents(times, cycle=True, oscillators=1)
    start = {**START, "frequency 1": 0.75}
    usual = most_likely_at(components, y, start)
    fit = most_likely_at(components, y, start, search=ContinuousLikelihood(dense=dense))
    np.testing.assert_allclose(fit.loglikelihood, usual.loglikelihood, rtol=1e-6)


def test_fits_end_where_the_likelihood_is_flat(rng):
    times = np.sort(150 * rng.random(80))
    y = np.cos(0.8 * times) + 0.7 * np.cos(1.9 * times + 1) + 0.2 * rng.standard_normal(80)
    components = ContinuousComponents(times, oscillators=2)
    start = {"white": -8.0, "size 1": -1.0, "rate 1": -6.0, "frequency 1": 0.81}
    start |= {"size 2": -1.0, "rate 2": -6.0, "frequency 2": 1.89}
    fit = most_likely_at(components, y, start)
    bound = np.log(ContinuousLikelihood().rates[0]) + 1e-9
    _, gradient = CovariancesAtTimes(components, y).score(fit.parameters)
    inner = np.array(["rate" not in n or fit.values[n] > bound for n in components.names])
    waves = np.array([name.startswith("frequency") for name in components.names])
    assert np.max(np.abs(gradient / np.where(waves, 150, 1))[inner]) < 0.05


def test_the_floor_of_equal_steps_is_that_of_the_spectrum():
    cycle = ContinuousComponents(np.arange(300.0), cycle=True)
    fit = ContinuousFit(cycle, np.array([-3.0, 0.2, -0.5]), 0.0)
    step = np.exp(-np.exp(-0.5))  # correlation of neighbours
    floor = np.exp(0.2) * (1 - step) / (1 + step)
    assert noise_floor_at(fit) == pytest.approx(floor, rel=0.01)
    assert noise_floor_at(fit.at(np.arange(5000.0))) == pytest.approx(floor, rel=0.01)
    close = np.arange(300.0) + 0.499 * (-1.0) ** np.arange(300)  # pairs, so that noise would show
    assert noise_floor_at(fit.at(close)) < 0.1 * floor


def test_values_at_seen_samples_are_those_with_more_noise(rng):
    components, parameters, y = example(rng)
    fit, seen = ContinuousFit(components, parameters, 0.0), ~np.isnan(y)
    value = dict(zip(components.names, parameters, strict=True))
    K = literal_covariance(components, value)[np.ix_(seen, seen)]
    inverse = np.linalg.inv(K + np.exp(value["white"]) * np.eye(len(K)))
    mean, variance, noise = seen_values_at(fit, y, FloorAtTimes(quiet=0.0))
    assert noise == pytest.approx(np.exp(value["white"]) + np.linalg.eigvalsh(K)[0])
    np.testing.assert_allclose(mean[seen], y[seen] - noise * (inverse @ y[seen]), atol=1e-9)
    np.testing.assert_allclose(variance[seen], noise - noise**2 * np.diag(inverse), atol=1e-9)


def test_more_noise_changes_only_errors_at_seen_samples(rng):
    times = np.sort(40 * rng.random(40))
    y = np.cumsum(rng.standard_normal(40))
    y[20:25] = np.nan
    fitted = fit_irregular(times[~np.isnan(y)], y[~np.isnan(y)])
    plain, found = fitted.smooth(times, y), fitted.estimate(times, y)
    np.testing.assert_array_equal(found.signal, plain.signal)
    for name in ("stderr", "deviation"):
        same = getattr(found, name) == getattr(plain, name)
        np.testing.assert_array_equal(same, np.isnan(y))
    noise = np.full(40, 0.3)
    known = fit_irregular(times[~np.isnan(y)], y[~np.isnan(y)], noise[~np.isnan(y)])
    np.testing.assert_array_equal(
        known.estimate(times, y, noise).stderr, known.smooth(times, y, noise).stderr
    )


def test_noise_below_the_digits_of_a_matrix_is_left_to_the_filter(rng):
    times = np.sort(20 * rng.random(20))
    components = ContinuousComponents(times, cycle=True, measured=True)
    y, noise, start = rng.standard_normal(20), np.full(20, 1e-9), {"cycle": 0.0, "cycle rate": 0.0}
    usual = most_likely_at(components, y, start, noise)
    fit = most_likely_at(components, y, start, noise, ContinuousLikelihood(dense=0.0))
    np.testing.assert_array_equal(fit.parameters, usual.parameters)


def test_the_strongest_frequency_is_that_of_least_squares(rng):
    times = np.sort(40 * rng.random(50))
    y = np.cos(1.3 * times + 1) + 0.1 * times + 0.3 * rng.standard_normal(50)
    found = strongest_frequency(times, y)
    line = np.stack([np.ones(50), times], axis=1)
    rest = y - line @ np.linalg.lstsq(line, y, rcond=None)[0]

    def left(frequency):
        columns = np.stack([np.cos(frequency * times), np.sin(frequency * times)], axis=1)
        return np.sum((rest - columns @ np.linalg.lstsq(columns, rest, rcond=None)[0]) ** 2)

    span = times[-1] - times[0]
    others = np.arange(1, 100) * 2 * np.pi / (6 * span)
    assert left(found) <= min(map(left, others[5:])) + 1e-9
    assert found == pytest.approx(1.3, abs=0.1)


def test_a_tone_at_random_times_is_found_between_and_after_them():
    rng = np.random.default_rng(1)
    seen, wanted = 40 * rng.random(25), np.array([10.0, 33.3, 41.0])

    def truth(t):
        return 5 + np.cos(0.8 * t)

    times = np.concatenate([seen, wanted])
    samples = np.append(truth(seen) + 0.1 * rng.standard_normal(25), np.full(3, np.nan))
    found = recover(samples, times=times, effort="fast")
    assert np.max(np.abs(found.signal[-3:] - truth(wanted))) < 0.25
    np.testing.assert_allclose(found.frequencies * 2 * np.pi, [0.8], atol=0.02)
    assert found.sigma == pytest.approx(0.1, rel=0.5)
    assert found.kind == "components"
    assert "25 values seen" in repr(found)
    assert found.stderr[-1] > found.stderr[:25].mean()
    with pytest.raises(ValueError, match="needs equally spaced samples"):
        _ = found.result
    for call in (found.report, found.components, found.residuals, found.plot_scree):
        with pytest.raises(ValueError, match="needs equally spaced samples"):
            call()


def test_series_with_an_irregular_index_and_noise_levels():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    days = np.sort(rng.choice(200, 25, replace=False))
    walk = np.cumsum(np.sqrt(np.diff(days, prepend=0)) * rng.standard_normal(25))
    levels = np.where(np.arange(25) % 2, 0.1, 1.0)
    values = walk + levels * rng.standard_normal(25)
    values[10:13] = np.nan
    index = pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D")
    series = pd.Series(values, index, name="level")
    options = {"times": "index", "sigma": levels, "effort": "fast", "bounds": (-100, 100)}
    found = impute(series, **options)
    assert found.signal.index.equals(index)
    np.testing.assert_array_equal(
        found.signal.to_numpy()[~np.isnan(values)], values[~np.isnan(values)]
    )
    assert np.all(found.stderr.to_numpy()[10:13] > 0)
    draws = found.draws(400)
    np.testing.assert_allclose(
        draws[:, 10:13].std(axis=0), found.stderr.to_numpy()[10:13], rtol=0.3
    )
    np.testing.assert_array_equal(draws[0, ~np.isnan(values)], values[~np.isnan(values)])
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axis = found.plot(figure)
    assert axis.lines[0].get_xdata()[-1] == days[-1] - days[0]


def test_the_command_line_takes_irregular_times(tmp_path):
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    times = np.sort(30 * rng.random(14)).round(2)
    values = [f"{v:.3f}" for v in np.cumsum(rng.standard_normal(14))]
    values[6] = ""
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    rows = [f"{t},{v}" for t, v in zip(times, values, strict=True)]
    source.write_text("\n".join(["time,level", *rows]) + "\n")
    done = CliRunner().invoke(main, ["impute", str(source)])
    assert done.exit_code == 1
    assert "--irregular" in done.output
    options = ["--irregular", "--effort", "fast", "--out", str(out)]
    done = CliRunner().invoke(main, ["impute", str(source), *options])
    assert done.exit_code == 0, done.output
    table = np.genfromtxt(out, delimiter=",", skip_header=1)
    np.testing.assert_allclose(table[:, 0], times)
    assert np.all(np.isfinite(table))
    np.savetxt(source, np.arange(14.0), header="level", comments="")
    done = CliRunner().invoke(main, ["recover", str(source), "--irregular"])
    assert done.exit_code == 1
    assert "needs a column" in done.output


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["walk", "cycle"])
def test_intervals_at_irregular_times_hold_new_samples(kind):
    inside = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        times = np.sort(120 * rng.random(160))
        components = ContinuousComponents(
            times, ("level",) if kind == "walk" else (), kind == "cycle"
        )
        value = {"white": -2.0, "level": -1.0, "cycle": 0.0, "cycle rate": -2.0}
        parameters = np.array([value[name] for name in components.names])
        fit = ContinuousFit(components, parameters, 0.0)
        y = draws_at(fit, np.full(160, np.nan), 1, rng)[0] + np.exp(-1) * rng.standard_normal(160)
        held_out = rng.random(160) < 0.3
        found = recover(np.where(held_out, np.nan, y), times=times, effort="fast")
        inside.append(((y > found.lower) & (y < found.upper))[held_out])
    assert 0.9 < np.mean(np.concatenate(inside)) < 0.98


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"times": np.arange(5.0)}, r"times have shape \(5,\)"),
        ({"times": "index"}, "the samples are ndarray"),
        ({"times": "now"}, "times is 'now'"),
        ({"times": np.full(20, np.nan)}, "finite times"),
        ({"times": np.zeros(20)}, "at different times"),
        ({"times": np.arange(20.0), "rank": 2}, "rank=2"),
        ({"times": np.arange(20.0), "max_gap": 2}, "max_gap=2"),
        ({"times": np.arange(20.0), "kind": "refit"}, "kind, with times, is 'refit'"),
        ({"times": np.arange(20.0), "effort": "some"}, "effort is 'some'"),
        ({"times": np.arange(20.0), "sigma": -1.0}, "not above zero"),
    ],
)
def test_wrong_times_and_options_that_need_regular_ones_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        recover(np.cos(np.arange(20.0)), **options)


def test_samples_that_are_no_real_series_are_refused():
    with pytest.raises(ValueError, match="complex of shape"):
        recover(np.ones(20) * 1j, times=np.arange(20))
    with pytest.raises(ValueError, match="one real series"):
        recover(np.ones((20, 2)), times=np.arange(20))
    with pytest.raises(TypeError, match="numbers or dates"):
        recover(np.ones(20), times=np.array(["a"] * 20))


def test_the_likelihood_is_largest_for_the_noise_that_there_is(rng):
    times = np.sort(30 * rng.random(30))
    y = np.sin(times) + 0.2 * rng.standard_normal(30)
    components = ContinuousComponents(times, oscillators=1, measured=True)
    start = {"size 1": -1.0, "rate 1": -5.0, "frequency 1": 1.0}
    fits = [most_likely_at(components, y, start, np.full(30, level)) for level in (0.05, 0.2, 0.8)]
    assert np.argmax([fit.loglikelihood for fit in fits]) == 1
    assert fits[1].frequencies[0] == pytest.approx(1, abs=0.03)
    white = replace(components, measured=False)
    free = most_likely_at(white, y, {**start, "white": -2.0})
    assert free.loglikelihood >= fits[1].loglikelihood - 1e-3
