"""Known seasons: one or two at once, in gaps, forecasts and on the command line."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from structrank import forecast, impute, recover
from structrank.cli import main
from structrank.components import Components, Season, fit_series
from structrank.components.seasons import known_seasons
from structrank.signals.given_seasons import with_components

SHAPES = {
    (4, 12): (np.array([0, 4, 1, -5.0]), np.repeat([1, 1.2, 0.2], 4)),
    (6, 30): (np.array([0, 3, 5, 4, -4, -6.0]), np.repeat([1, 1.1, 1.2, 0.4, 0.2], 6)),
    (24, 168): (
        np.repeat([0, 0, 1, 6, 8, 6, 6, 8, 9, 6, 3, 1.0], 2),
        np.repeat([1, 1.05, 1.1, 1.05, 1, 0.5, 0.4], 24),
    ),
}


def two_seasons(periods, length, seed=0):
    """A short pattern whose size follows a long one, beside a random walk, with gaps."""
    rng = np.random.default_rng(seed)
    t, (short, long) = np.arange(length), SHAPES[periods]
    y = 10 + short[t % periods[0]] * long[t % periods[1]]
    y += np.cumsum(0.1 * rng.standard_normal(length)) + 0.3 * rng.standard_normal(length)
    samples = y.copy()
    for start in rng.integers(5, length - 5 - periods[0], 6):
        samples[start : start + periods[0]] = np.nan
    return y, samples


def test_harmonics_of_known_seasons_are_those_of_the_series(rng):
    t = np.arange(400)
    y = 0.01 * t + 2 * np.cos(2 * np.pi * t / 7.3) + np.sin(2 * np.pi * 3 * t / 50)
    y += 0.1 * rng.standard_normal(400)
    y[rng.random(400) < 0.3] = np.nan
    short, long = known_seasons(y, [50, 7.3])
    assert (short.period, short.harmonics) == (7.3, (1,))
    assert {1, 3} <= set(long.harmonics)
    assert len(long.harmonics) <= 4


def test_two_seasons_at_once_repeat_as_their_sum():
    both = Components(40, season=Season(4, (1, 2)), second=Season(10, (1, 3)))
    system = both.system([-30.0])
    assert system.order == 1 + 3 + 4
    start = np.arange(1.0, 9)
    y = np.array(
        [float((system.C @ np.linalg.matrix_power(system.A, t) @ start)[0]) for t in range(40)]
    )
    np.testing.assert_allclose(y[20:], y[:20], atol=1e-10)
    assert np.max(np.abs(y[10:20] - y[:10])) > 0.1


def test_derivatives_with_two_seasons_are_those_of_finite_differences(rng):
    from structrank.systems.chunks import Gaussian, Records
    from structrank.systems.likelihood import value_and_gradient

    drifts = ("level", "season", "second season")
    both = Components(50, False, Season(4, (1, 2)), 1, drifts, second=Season(10, (1, 3)))
    parameters = rng.standard_normal(len(both.names)) - 1
    y = both.system(parameters).simulate(steps=50, rng=rng)[:, 0]
    H, W, P = both.matrices(parameters)
    model = Gaussian(H, W, np.zeros(len(P)), P, np.zeros(len(P), bool))
    score = value_and_gradient(
        model, Records(y[:, None, None, None], np.ones((50, 1, 1), bool), None)
    )
    steps = 1e-5 * np.eye(len(parameters))
    literal = [
        (
            both.system(parameters + h).loglikelihood(y)
            - both.system(parameters - h).loglikelihood(y)
        )
        / 2e-5
        for h in steps
    ]
    np.testing.assert_allclose(both.gradient(parameters, score), literal, atol=1e-5)


def test_two_seasons_fill_gaps_better_than_one():
    y, samples = two_seasons((4, 12), 72)
    errors = {}
    for periods in ((4,), (4, 12)):
        (found,) = fit_series(samples, periods=periods).smooth([samples])
        errors[periods] = np.sqrt(np.mean((found.signal - y)[np.isnan(samples)] ** 2))
    assert errors[4, 12] < 0.6 * errors[4,]


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_day_and_week_of_hourly_samples(seed):
    y, samples = two_seasons((24, 168), 840, seed)
    gaps, errors = np.isnan(samples), {}
    for periods in ((24,), (24, 168)):
        (found,) = fit_series(samples, periods=periods).smooth([samples])
        errors[periods] = np.sqrt(np.mean((found.signal - y)[gaps] ** 2))
    assert errors[24, 168] < 0.8 * errors[24,]


@pytest.mark.nightly
def test_a_known_season_is_forecast():
    y, _ = two_seasons((6, 30), 100)
    ahead = forecast(y[:90], 10, season=(6, 30), effort="fast")
    assert {"components", "seasonal naive"} & set(ahead.weights)
    last = np.mean(np.abs(y[60:70] - y[90:]))
    assert np.mean(np.abs(ahead.mean - y[90:])) < 1.1 * last


def test_components_compete_if_a_season_is_known_even_with_little_effort():
    assert [c.name for c in with_components([], (4.0,))] == ["components"]
    assert with_components([], ()) == []


@pytest.mark.parametrize(
    ("season", "message"),
    [
        (1, "season is 1, but"),
        ("week", "season is 'week'"),
        ((7, 7), "two different ones"),
        ((2, 3, 4), "one number of samples, or two"),
        ((), "one number of samples, or two"),
        (31, "two seasons or more"),
    ],
)
def test_wrong_seasons_are_refused(season, message):
    y = np.arange(60.0)
    for work in (recover, impute, lambda y, season: forecast(y, 3, season=season)):
        with pytest.raises(ValueError, match=message):
            work(y, season=season)


def test_seasons_that_do_not_apply_are_refused():
    y = np.arange(60.0)
    with pytest.raises(ValueError, match="one real series"):
        recover(np.ones((60, 2)), channels=1, season=4)
    with pytest.raises(ValueError, match="complex of shape"):
        recover(1j * y, season=4)
    with pytest.raises(ValueError, match="kind='refit'"):
        recover(y, season=4, kind="refit")
    with pytest.raises(ValueError, match="rank=2"):
        forecast(y, 3, season=4, rank=2)
    with pytest.raises(ValueError, match="rank=2"):
        recover(y, season=4, rank=2)


def test_the_command_line_has_seasons(tmp_path):
    _, samples = two_seasons((4, 12), 40)
    source = tmp_path / "in.csv"
    np.savetxt(source, samples, fmt="%.6f", header="level", comments="")
    arguments = ["forecast", str(source), "--steps", "3", "--season", "4,12", "--effort", "fast"]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == 4
    done = CliRunner().invoke(main, ["impute", str(source), "--season", "day"])
    assert done.exit_code == 2
    assert "two such as 24,168" in done.output


def test_a_season_that_a_series_does_not_show_does_no_harm():
    walk = np.cumsum(np.random.default_rng(2).standard_normal(50))
    fitted = fit_series(walk, periods=[7])
    bare = [fit.components.season is None for fit in fitted.fits]
    assert np.sum(fitted.weights[bare]) > 0.3
