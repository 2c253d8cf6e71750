"""Vibration modes from outputs alone: frequencies, dampings and their error bars."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from benchmarks.modal_analysis import RATE, building, errors, inside, record
from structrank import StateSpace, VibrationModes, datasets, realize_outputs
from structrank.systems.maximum_likelihood import MaximumLikelihood
from structrank.systems.output_orders import best_order, cascade, fitted_order
from structrank.systems.pole_errors import pole_covariances
from structrank.systems.quasi_newton import QuasiNewton


def oscillator(frequency=0.1, damping=0.05, dt=None):
    s = 2 * np.pi * frequency * (-damping + 1j * np.sqrt(1 - damping**2))
    p = np.exp(s * (1.0 if dt is None else dt))
    A = np.array([[p.real, p.imag], [-p.imag, p.real]])
    noise = {"K": [[0.5], [0.2]], "innovation_covariance": [[1.0]]}
    return StateSpace(A, None, [[1.0, 0.0]], None, dt=dt, **noise)


@pytest.fixture(scope="module")
def found():
    """An oscillator at 10 Hz, 5% damping, with gaps and an offset."""
    z = 7.0 + oscillator(10.0, dt=0.01).simulate(steps=1500, rng=3)
    z[np.random.default_rng(0).random(z.shape) < 0.3] = np.nan
    return z, realize_outputs(z, dt=0.01)


def test_order_frequency_and_damping_are_found(found):
    _, model = found
    assert model.order == 2
    assert min(model.criteria, key=model.criteria.get) == 2
    (low, high), (least, most) = (
        model.modes.frequency_intervals[0],
        model.modes.damping_intervals[0],
    )
    assert low < 10.0 < high < low + 1.0
    assert least < 0.05 < most < 0.15


def test_the_model_fills_gaps_and_forecasts(found):
    z, model = found
    innovations = model.smooth(z).innovations
    assert np.nanstd(innovations) == pytest.approx(1.0, abs=0.05)
    assert model.forecast(2000, z).outputs[-1, 0] == pytest.approx(np.nanmean(z), abs=0.3)
    assert replace(model, dt=None).fits is model.fits


def test_dampings_are_not_shrunk():
    """The covariances of the convex solution decay too fast; the likelihood takes that out."""
    y, truth = record(3, 5, seconds=60.0), building(3)[-2:]
    model = realize_outputs(y, order=6, dt=1 / RATE, lags=60)
    shrunk = realize_outputs(y, order=6, dt=1 / RATE, lags=20, method="covariances")
    assert np.max(np.mean(errors((model.modes.frequencies, model.modes.dampings), truth)[1])) < 0.4
    assert shrunk.modes.dampings[0] > 2 * model.modes.dampings[0]
    assert np.all(np.isnan(shrunk.modes.damping_errors))
    assert np.all(np.isfinite(model.modes.damping_errors))


@pytest.mark.nightly
def test_intervals_hold_the_truth():
    truth, held, off = building(3)[-2:], [], []
    for seed in range(20):
        modes = realize_outputs(record(3, seed), dt=1 / RATE).modes
        held.append(inside(modes, truth))
        off.append(errors((modes.frequencies, modes.dampings), truth))
    assert 0.9 <= np.mean(held) <= 0.98
    assert np.median(off, axis=(0, 2))[0] < 0.005
    assert np.median(off, axis=(0, 2))[1] < 0.2


def literal_information(fit, theta, coordinates):
    """Second differences of the log-likelihood of a system of order one: A, K, log of the root."""

    def value(change):
        moved = theta.copy()
        moved[coordinates] += change
        return fit.value_and_gradient(moved)[0]

    h, n = 1e-3, len(coordinates)
    H, steps = np.empty((n, n)), np.eye(n) * h
    for i in range(n):
        for j in range(n):
            signs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
            H[i, j] = sum(a * b * value(a * steps[i] + b * steps[j]) for a, b in signs) / (
                4 * h * h
            )
    return H


def test_error_of_a_pole_equals_second_differences():
    """With C held, A, K, root and offset are parameters without a change of basis."""
    truth = StateSpace([[0.8]], None, [[1.0]], None, K=[[0.5]], innovation_covariance=[[1.0]])
    y = truth.simulate(steps=800)
    y[::3] = np.nan
    fit = MaximumLikelihood([np.zeros((800, 0))], [y], 1, stationary=True)
    theta = fit.maximize(fit.parameters(truth), QuasiNewton(tolerance=1e-10))
    names = np.flatnonzero(
        fit.free & (fit.joined({k: np.full(s, k != "C") for k, s in fit.shapes.items()}) > 0)
    )
    covariance = np.linalg.inv(literal_information(fit, theta, names))
    poles, found = pole_covariances(fit, theta)
    assert found[0, 0, 0] == pytest.approx(covariance[0, 0] / poles[0] ** 2, rel=0.02)


def test_error_bars_follow_from_those_of_poles():
    """The delta method against differences."""
    system, h = oscillator(0.1, 0.05, dt=0.1), 1e-6
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    modes = VibrationModes.of(system, np.broadcast_to(covariance, (2, 2, 2)))
    pole = np.linalg.eig(system.A)[0]
    upper = pole[pole.imag > 0][0]

    def values(change):
        s = (np.log(upper) + change) / 0.1
        return np.array([abs(s) / (2 * np.pi), -s.real / abs(s)])

    J = np.stack([(values(d) - values(-d)) / (2 * h) for d in (h, 1j * h)], axis=1)
    expected = np.sqrt(np.diag(J @ covariance @ J.T))
    assert [modes.frequency_errors[0], modes.damping_errors[0]] == pytest.approx(
        list(expected), rel=1e-6
    )
    assert list(modes.table()) == [
        "frequency",
        "frequency_error",
        "damping",
        "damping_error",
        "shape_1",
    ]
    assert len(modes) == 1


def test_a_cascade_starts_near_the_lower_order():
    z = oscillator().simulate(steps=600)
    start = StateSpace([[0.5]], None, [[1.0]], None, K=[[0.5]], innovation_covariance=[[1.0]])
    lower = fitted_order(z, [start])
    for more in cascade(lower, 3, 20, (1.0, 0.9)):
        assert more.order == 3
        assert more.stable
    grown = fitted_order(z, cascade(lower, 3, 20, (1.0, 0.9)), QuasiNewton(1))
    assert grown.value > lower.value


@pytest.mark.parametrize(("best", "first"), [(6, 2), (6, 12), (5, 4), (1, 1), (8, 7)])
def test_orders_are_searched_in_both_directions(best, first):
    class Fit:
        def __init__(self, order):
            self.order, self.criterion = order, abs(order - best)

    assert best_order(first, 20, 2, lambda order, _: Fit(order))[0].order == best


@pytest.mark.parametrize("first", [2, 4, 6])
def test_an_order_is_fitted_again_from_a_lower_one(first):
    """Fits without a lower one end at a bad maximum, as those of one sensor do now and then."""

    class Fit:
        def __init__(self, order, lower):
            self.order, self.bad = order, order > 2 and lower is None
            self.criterion = abs(order - 6) + 10 * self.bad

    best, *others = best_order(first, 20, 2, Fit)
    assert (best.order, best.bad) == (6, False)
    assert others


def test_a_cascade_follows_a_gain_that_does_not_predict():
    """Outputs have the same covariances with the gain of the innovation form."""
    z = oscillator().simulate(steps=600)
    zero = StateSpace([[0.5]], None, [[1.0]], None, K=[[1.6]], innovation_covariance=[[1.0]])
    lower = fitted_order(z, [zero], QuasiNewton(0))
    assert abs(zero.A - zero.K @ zero.C)[0, 0] > 1
    assert all(more.order == 3 for more in cascade(lower, 3, 20, (1.0,)))
    assert cascade(lower, 3, 20, (1.0,))


def test_stabilization_diagram(found):
    _, model = found
    poles = model.stabilization(10)
    assert set(poles.orders) <= {2, 4, 6, 8, 10}
    near = np.abs(poles.frequencies - 10.0) < 0.5
    assert np.count_nonzero(near & poles.stable) >= 2
    assert not np.any(poles.stable[poles.orders == 2])
    axis = model.plot_stabilization(10, ax=Figure())
    assert axis.get_xlabel() == "frequency (Hz)"
    assert axis.lines[0].get_xdata()[0] == pytest.approx(model.modes.frequencies[0])


def test_complex_outputs_have_signed_frequencies():
    pole = 0.95 * np.exp(-0.6j)
    system = StateSpace([[pole]], None, [[1.0]], None, K=[[1.0]], innovation_covariance=[[1.0]])
    modes = realize_outputs(system.simulate(steps=1000), order=1).modes
    assert modes.frequencies[0] == pytest.approx(-abs(np.log(pole)) / (2 * np.pi), rel=0.1)
    assert modes.frequency_errors[0] < 0.01


def test_a_warning_says_that_a_frequency_is_not_known():
    z = oscillator(0.05, damping=0.95).simulate(steps=30, rng=11)
    with pytest.warns(UserWarning, match="the standard error of the frequency"):
        model = realize_outputs(z)
    assert model.modes.frequency_errors[0] > model.modes.frequencies[0]


def test_an_index_of_times_gives_hertz(found):
    z, model = found
    table = pd.DataFrame(z, pd.date_range("2024", periods=len(z), freq="10ms"))
    assert realize_outputs(table, 2, lags=20).dt == pytest.approx(model.dt)


@pytest.mark.parametrize("copy", [[1.0, 0.0], [2.0, -1.0]])
def test_outputs_that_copy_others_are_refused(copy):
    z = np.random.default_rng(0).standard_normal((500, 2))
    z[::7, 0] = np.nan
    named = "outputs 0, 1 and 2" if copy[1] else "outputs 0 and 2"
    with pytest.raises(ValueError, match=f"^{named}, counted from 0, are linearly dependent"):
        realize_outputs(np.c_[z, z @ copy + 3])


@pytest.mark.parametrize(
    ("outputs", "options", "says"),
    [
        (np.random.default_rng(0).random(5), {}, "20 lags need more than 20 time steps"),
        (np.ones((500, 2)), {}, "output 0 is constant"),
        (np.full((500, 1), np.nan), {}, "output 0 has 0 samples"),
        (np.random.default_rng(0).random(500), {"dt": 0.0}, "dt is 0.0, but"),
        (
            np.random.default_rng(0).random(500),
            {"method": "ssi"},
            "method is 'ssi', but 'likelihood'",
        ),
    ],
)
def test_bad_input(outputs, options, says):
    with pytest.raises(ValueError, match=says):
        realize_outputs(outputs, **options)


def test_a_given_order_is_fitted_from_a_lower_one():
    """From the covariances alone, the likelihood ends in a maximum without a meaning."""
    modes = realize_outputs(datasets.building(3, steps=1000).samples, order=6, dt=0.02).modes
    assert np.all(modes.frequency_errors < 0.05)
    assert np.all(modes.damping_errors < 0.02)
