"""Predictions some samples ahead beside a literal filter, and comparisons of outputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from literal_kalman import literal_smoother
from matplotlib.figure import Figure
from test_kalman import random_model

from structrank import StateSpace
from structrank.systems.recursion import free_responses

MODEL = StateSpace(
    [[0.8, 0.3], [-0.3, 0.8]],
    [[1.0], [0.0]],
    [[1.0, 1.0], [0.0, 2.0]],
    [[0.0], [0.5]],
    K=[[0.5, 0.0], [0.1, 0.2]],
    innovation_covariance=[[0.25, 0.1], [0.1, 0.5]],
    input_offset=[1.0],
    output_offset=[5.0, -3.0],
    dt=0.5,
)


SEEN_ONCE = np.array([[1.0, 3.0], [2.0, np.nan], [0.0, np.nan], [4.0, np.nan], [1.0, np.nan]])


def record(model, steps, seed):
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((steps, model.input_count)) if model.input_count else None
    y = model.simulate(u, rng=seed) if model.input_count else model.simulate(steps=steps, rng=seed)
    return np.where(rng.random(y.shape) < 0.3, np.nan, y), u


def literal(model, y, u, steps):
    """Each sample as the end of a record of its own, whose last samples are missing."""
    W, p = model.noise_covariance, model.output_count
    shown, Bu = np.broadcast_to(model.output_offset, y.shape), None
    if model.input_count:
        v = u - model.input_offset
        shown, Bu = v @ model.D.T + model.output_offset, v @ model.B.T
    x0, P = model.x0, np.zeros_like(model.A) if model.x0_covariance is None else model.x0_covariance
    predictions = []
    for t in range(len(y)):
        past = (y - shown)[: t + 1].copy()
        past[max(t + 1 - steps, 0) :] = np.nan
        W_parts = W[p:, p:], W[:p, :p], W[p:, :p]
        found = literal_smoother(model.A, model.C, *W_parts, x0, P, past, Bu)
        predictions.append(model.C @ found.states[-1] + shown[t])
    return np.array(predictions)


@pytest.mark.parametrize("seed", range(6))
def test_predictions_equal_the_literal_filter(seed):
    rng = np.random.default_rng(seed)
    kind = complex if seed == 5 else float
    model = random_model(rng, kind)
    if model.x0 is None:
        model = replace(model, x0=np.ones(model.order), x0_covariance=np.eye(model.order))
    y, u = record(model, 25, seed)
    for steps in (1, 2, 7, 40):
        expected = literal(model, y, u, steps)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(model.predict(y, u, steps), expected, atol=1e-9 * scale)


@pytest.mark.parametrize("steps", [30, 200])
def test_an_unknown_first_state_is_known_from_the_past(steps):
    """After a gap, and with records of several chunks."""
    free = replace(MODEL, x0=None)
    y, u = record(MODEL, steps, 0)
    y[2:9] = np.nan
    predicted = free.predict(y, u, 3)
    assert np.all(np.isnan(predicted[:3]))
    determined = np.flatnonzero(np.all(np.isfinite(predicted), axis=1))
    for t in (determined[0], determined[1], 9, 12, steps - 1):
        ahead = free.update(y[: t - 2], u[: t - 2]).forecast(3, future_inputs=u[t - 2 : t + 1])
        np.testing.assert_allclose(predicted[t], ahead.outputs[-1], atol=1e-8)


def test_several_records_are_predicted_alone():
    model = replace(MODEL, x0=[1.0, -2.0])
    pairs = [record(model, n, n) for n in (30, 12)]
    several = model.predict([y for y, _ in pairs], [u for _, u in pairs], 2)
    for (y, u), predicted in zip(pairs, several, strict=True):
        np.testing.assert_allclose(predicted, model.predict(y, u, 2), atol=1e-12)
    both = model.compare([y for y, _ in pairs], [u for _, u in pairs])
    assert [len(one.samples) for one in both] == [30, 12]


def test_fits_of_a_comparison():
    y, u = record(MODEL, 300, 1)
    near, far = MODEL.compare(y, u), MODEL.compare(y, u, steps=30)
    np.testing.assert_allclose(near.simulated_fit, MODEL.fit(u, y))
    seen = ~np.isnan(y[:, 0])
    error = np.linalg.norm((y - near.predicted)[seen, 0])
    spread = np.linalg.norm(y[seen, 0] - y[seen, 0].mean())
    assert near.predicted_fit[0] == pytest.approx(100 * (1 - error / spread))
    assert np.all(near.predicted_fit > near.simulated_fit)
    np.testing.assert_allclose(far.predicted_fit, near.simulated_fit, atol=3)
    assert "30 samples ahead" in repr(far)


def test_one_sample_ahead_is_the_default():
    y, u = record(MODEL, 30, 3)
    np.testing.assert_array_equal(MODEL.predict(y, u), MODEL.predict(y, u, 1))
    assert MODEL.compare(y, u).steps == 1


def test_a_comparison_finds_its_own_first_state():
    """The record may be another one than that whose first state the model has."""
    y, u = record(MODEL, 40, 4)
    expected = MODEL.compare(y, u, steps=2).predicted
    start = MODEL.smooth(y, u).states[0]
    np.testing.assert_allclose(expected, replace(MODEL, x0=start).predict(y, u, 2), atol=1e-9)
    other = replace(MODEL, x0=[50.0, -50.0], x0_covariance=[[1e-3, 0.0], [0.0, 1e-3]])
    np.testing.assert_array_equal(other.compare(y, u, steps=2).predicted, expected)


def test_without_noise_the_prediction_is_the_simulation():
    quiet = replace(MODEL, K=None, innovation_covariance=None)
    u = np.random.default_rng(0).standard_normal(40)
    y = quiet.simulate(u, initial=[4.0, 4.0])
    comparison = quiet.compare(y, u, steps=4)
    np.testing.assert_allclose(comparison.predicted_fit, 100)
    np.testing.assert_array_equal(comparison.predicted, comparison.simulated)


def test_without_noise_least_squares_finds_the_first_state():
    """Of a pure mode, whatever the outputs are; the past alone predicts."""
    c, s = np.cos(0.3), np.sin(0.3)
    model, t = StateSpace([[c, s], [-s, c]], None, [[1.0, 0.0]], None), np.arange(60)
    y = np.cos(0.3 * t)
    y[5:9] = np.nan
    estimate = model.smooth(y)
    np.testing.assert_allclose(estimate.signals[:, 0], np.cos(0.3 * t), atol=1e-14)
    assert not np.any(estimate.state_variances)
    assert not np.any(estimate.output_variances)
    assert np.all(np.isnan(estimate.innovations))
    ahead = model.forecast(5, y)
    np.testing.assert_allclose(ahead.outputs[:, 0], np.cos(0.3 * (60 + np.arange(5))), atol=1e-13)
    assert not np.any(ahead.output_variances)
    np.testing.assert_allclose(model.predict(y)[2:, 0], np.cos(0.3 * t[2:]), atol=1e-13)
    np.testing.assert_allclose(model.draws(2, y)[1, :, 0], np.cos(0.3 * t), atol=1e-13)
    assert np.all(model.compare(y).predicted_fit > 100 - 1e-9)
    noisy = y + 0.1 * np.random.default_rng(0).standard_normal(60)
    rows, seen = np.stack([np.cos(0.3 * t), np.sin(0.3 * t)], axis=1), ~np.isnan(y)
    expected = rows @ np.linalg.lstsq(rows[seen], noisy[seen], rcond=None)[0]
    np.testing.assert_allclose(model.smooth(noisy).signals[:, 0], expected, atol=1e-13)
    known = replace(model, x0=[1.0, 0.0])
    for call in (model.loglikelihood, model.loglikelihood_gradient, known.smooth, known.predict):
        with pytest.raises(ValueError, match="about 1e-12 times their variance"):
            call(y)
    with pytest.raises(ValueError, match="has no noise, so it has no innovations to test"):
        model.residual_tests(y)


def test_systems_without_inputs_are_compared_by_predictions():
    model = StateSpace([[0.9]], None, [[1.0]], None, K=[[0.8]], innovation_covariance=[[1.0]])
    comparison = model.compare(model.simulate(steps=300))
    assert comparison.simulated is None
    assert comparison.predicted_fit > 25
    assert "simulated" not in repr(comparison)
    with pytest.raises(ValueError, match="no inputs"):
        _ = comparison.simulated_fit


def test_picture_of_a_comparison():
    y, u = record(MODEL, 50, 2)
    comparison = MODEL.compare(y, u, steps=2)
    axes = comparison.plot(Figure())
    assert [line.get_label() for line in axes[1].lines] == [
        "measured",
        "simulated",
        "predicted, 2 samples ahead",
    ]
    np.testing.assert_array_equal(axes[1].lines[2].get_ydata(), comparison.predicted[:, 1])
    np.testing.assert_array_equal(axes[1].lines[2].get_xdata(), 0.5 * np.arange(50))
    assert f"simulated {comparison.simulated_fit[0]:.1f}%" in axes[0].get_title(loc="left")
    assert axes[1].get_xlabel() == "time (s)"
    figure = Figure()
    assert replace(comparison, dt=None).plot(figure)[1].get_xlabel() == "sample"
    assert len(figure.axes) == 2


def test_the_picture_of_complex_outputs_says_what_it_draws():
    model = StateSpace([[0.9j]], None, [[1.0]], None, K=[[0.5]], innovation_covariance=[[1.0]])
    axis = model.compare(model.simulate(steps=30)).plot(Figure())
    assert axis.get_ylabel() == "real part output 0"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: MODEL.predict(np.zeros((5, 2)), np.zeros(5), 0), "steps is 0"),
        (lambda: MODEL.predict(np.zeros((5, 2))), "none are given"),
        (lambda: MODEL.compare(np.zeros((5, 2)), np.full(5, np.nan)), "fill the gaps"),
        (lambda: MODEL.compare(np.zeros((5, 2)), np.zeros(5)).simulated_fit, "is constant"),
        (lambda: MODEL.compare(SEEN_ONCE, np.zeros(5)).simulated_fit, "output 1 is constant"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_poles_are_sorted_by_size():
    system = StateSpace(np.diag([0.2, -0.9, 0.5]), None, [[1.0, 1.0, 1.0]], None)
    np.testing.assert_allclose(np.abs(system.poles), [0.9, 0.5, 0.2])


@pytest.mark.parametrize("complex_part", ["A", "C"])
def test_free_responses_are_powers(complex_part, rng):
    A, C = 0.5 * rng.standard_normal((3, 3)), rng.standard_normal((2, 3))
    if complex_part == "A":
        A = A * np.exp(0.4j)
    else:
        C = C * np.exp(0.4j)
    expected = [C @ np.linalg.matrix_power(A, t) for t in range(7)]
    np.testing.assert_allclose(free_responses(A, C, 7), expected, rtol=1e-12)


def test_residual_tests_have_twenty_lags(rng):
    system = StateSpace([[0.5]], None, [[1.0]], None, K=[[0.3]], innovation_covariance=[[1.0]])
    samples = system.simulate(steps=200, rng=rng)
    usual, same = system.residual_tests(samples), system.residual_tests(samples, lags=20)
    assert usual.whiteness == same.whiteness
    assert usual.whiteness != system.residual_tests(samples, lags=21).whiteness
