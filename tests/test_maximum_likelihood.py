from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from structrank import StateSpace
from structrank.systems.maximum_likelihood import MaximumLikelihood
from structrank.systems.prediction_errors import error_slopes
from structrank.systems.quasi_newton import QuasiNewton


def noisy_system(order=2, inputs=2, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((order, order))
    A *= 0.8 / np.max(np.abs(np.linalg.eigvals(A)))
    return StateSpace(
        A,
        rng.standard_normal((order, inputs)) if inputs else None,
        rng.standard_normal((2, order)),
        rng.standard_normal((2, inputs)) if inputs else None,
        K=0.2 * rng.standard_normal((order, 2)),
        innovation_covariance=[[1.0, 0.3], [0.3, 0.5]],
        output_offset=[0.3, -0.1],
    )


def with_gaps(x, share, seed):
    return np.where(np.random.default_rng(seed).random(x.shape) < share, np.nan, x)


def fit_of_inputs_and_outputs(gaps_in_inputs):
    model = noisy_system()
    rng = np.random.default_rng(0)
    u = [rng.standard_normal((steps, 2)) for steps in (20, 15)]
    y = [with_gaps(model.simulate(x, rng=1), 0.3, 2) for x in u]
    inputs = None
    if gaps_in_inputs:
        inputs = replace(noisy_system(2, 0, seed=3), output_offset=None)
        u = [with_gaps(x, 0.3, 3) for x in u]
    fit = MaximumLikelihood(u, y, 2, input_model=inputs)
    return fit, fit.parameters(model, rng.standard_normal((2, 2)))


def fit_beside_a_known_input():
    """The first two inputs have means, a model and gaps, the third is known."""
    fit, theta = fit_of_inputs_and_outputs(True)
    rng = np.random.default_rng(5)
    more = [np.concatenate([u, rng.standard_normal((len(u), 1))], axis=1) for u in fit.inputs]
    parts = fit.split(theta)
    for name in ("B", "D"):
        parts[name] = np.concatenate([parts[name], rng.standard_normal((2, 1))], axis=1)
    means = replace(fit.input_model, output_offset=np.array([0.4, -0.2]))
    wider = replace(fit, inputs=more, input_model=means)
    return wider, wider.joined(parts)


def fit_of_outputs(dtype, stationary):
    model = noisy_system(2, 0)
    if dtype is complex:
        G = np.array([[1.0, 0.3j], [-0.3j, 0.5]])
        model = replace(model, A=model.A * np.exp(0.3j), K=1j * model.K, innovation_covariance=G)
    y = with_gaps(model.simulate(steps=25), 0.3, 1)
    fit = MaximumLikelihood([np.zeros((25, 0))], [y], 2, stationary=stationary)
    return fit, fit.parameters(model)


FITS = [
    *(lambda gaps=gaps: fit_of_inputs_and_outputs(gaps) for gaps in (False, True)),
    *(lambda kind=kind: fit_of_outputs(kind, True) for kind in (float, complex)),
    *(lambda kind=kind: fit_of_outputs(kind, False) for kind in (float, complex)),
]
WITH_INPUTS = [*FITS[:2], fit_beside_a_known_input]


@pytest.mark.parametrize("build", [*WITH_INPUTS, *FITS[2:]])
def test_gradient_is_the_derivative(build):
    fit, theta = build()
    value, slope = fit.value_and_gradient(theta)
    assert np.isfinite(value)
    assert fit.value(theta) == pytest.approx(value, rel=1e-12)
    for k in np.flatnonzero(fit.free):
        step = 1e-6 * np.eye(theta.size)[k]
        values = [fit.value_and_gradient(theta + sign * step)[0] for sign in (1, -1)]
        assert slope[k] == pytest.approx((values[0] - values[1]) / 2e-6, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("build", FITS[2:])
def test_value_is_the_likelihood_of_the_system(build):
    fit, theta = build()
    value = fit.value_and_gradient(theta)[0]
    assert value == pytest.approx(-fit.system(theta).loglikelihood(fit.outputs[0]))


def test_known_inputs_have_the_same_likelihood_with_and_without_their_model():
    fit, theta = fit_of_inputs_and_outputs(False)
    inputs = replace(noisy_system(2, 0, seed=3), output_offset=None)
    joint = replace(fit, input_model=inputs)
    own = sum(replace(inputs, x0_covariance="stationary").loglikelihood(u) for u in fit.inputs)
    # The first states are drawn from slightly other distributions, which K and B set.
    quiet = np.array(theta)
    parts = fit.split(quiet)
    parts["K"][:] = parts["B"][:] = 0
    value = fit.value_and_gradient(quiet)[0]
    assert joint.value_and_gradient(quiet)[0] == pytest.approx(value - own)


def test_known_inputs_and_means_are_their_responses():
    fit, theta = fit_beside_a_known_input()
    parts, means = fit.split(theta), fit.input_model.output_offset
    known = StateSpace(*(parts[name] for name in "ABCD"))
    shares = [np.concatenate([0 * u[:, :2] + means, u[:, 2:]], axis=1) for u in fit.inputs]
    shares = [np.where(np.isnan(u), np.append(means, 0), u) for u in shares]
    shown = [known.simulate(u, np.zeros(2)) for u in shares]
    alone = replace(
        fit,
        inputs=[u[:, :2] - means for u in fit.inputs],
        outputs=[y - x for y, x in zip(fit.outputs, shown, strict=True)],
        input_model=replace(fit.input_model, output_offset=np.zeros(2)),
    )
    fewer = alone.joined({**parts, "B": parts["B"][:, :2], "D": parts["D"][:, :2]})
    assert fit.value(theta) == pytest.approx(alone.value(fewer), rel=1e-12)
    pairs = zip(fit.filled(theta), alone.filled(fewer), shares, shown, strict=True)
    for (u, y), (v, z), share, x in pairs:
        filled = np.concatenate([v, 0 * v[:, :1]], axis=1) + share
        np.testing.assert_allclose(u, filled, atol=1e-9)
        np.testing.assert_allclose(y, z + x, atol=1e-9)


def test_slopes_of_errors_are_derivatives():
    model, rng = noisy_system(3), np.random.default_rng(1)
    u, y = rng.standard_normal((12, 2)), rng.standard_normal((12, 2))
    names = ("A", "B", "C", "D", "K", "output_offset", "x0")
    parts = {k: getattr(replace(model, x0=[1.0, -1.0, 0.5]), k) for k in names}

    def errors(values):
        x, e = values["x0"], []
        for v, z in zip(u, y, strict=True):
            e.append(z - values["C"] @ x - values["D"] @ v - values["output_offset"])
            x = values["A"] @ x + values["B"] @ v + values["K"] @ e[-1]
        return np.array(e)

    found, J = error_slopes(parts, u, y)
    np.testing.assert_allclose(found, errors(parts))
    column = 0
    for name in names:
        for index in np.ndindex(parts[name].shape):
            step = np.zeros(parts[name].shape)
            step[index] = 1e-6
            moved = [errors({**parts, name: parts[name] + sign * step}) for sign in (1, -1)]
            np.testing.assert_allclose(J[..., column], (moved[0] - moved[1]) / 2e-6, atol=1e-6)
            column += 1
    assert column == J.shape[-1]


@pytest.mark.parametrize("gaps", [0.0, 0.4])
def test_the_value_is_at_most_that_of_a_general_method(gaps):
    truth = noisy_system(2, 1, seed=1)  # its predictor is stable
    u = np.random.default_rng(4).standard_normal((300, 1))
    y = with_gaps(truth.simulate(u, rng=1), gaps, 2)
    fit = MaximumLikelihood([u], [y], 2)
    far = replace(truth, A=0.7 * truth.A, B=2 * truth.B, K=0 * truth.K)
    best = fit.value_and_gradient(fit.maximize(fit.parameters(far), QuasiNewton(tolerance=1e-8)))[0]
    start = fit.parameters(truth)
    slow = minimize(
        lambda x: fit.value_and_gradient(np.where(fit.free, x, start)),
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 100},
    )
    assert best < slow.fun + 0.05


def test_fixed_parts_stay_and_poles_keep_their_bound():
    walk = StateSpace([[0.5]], [[1.0]], [[1.0]], [[0.0]], K=[[0.0]], innovation_covariance=[[1.0]])
    rng = np.random.default_rng(0)
    u = rng.standard_normal((200, 1))
    y = np.cumsum(u, axis=0) + 0.1 * rng.standard_normal((200, 1))
    fit = MaximumLikelihood([u], [y], 1, radius=0.97, fixed=("K", "D"))
    model = fit.system(fit.maximize(fit.parameters(walk)))
    assert np.all(model.K == 0)
    assert np.all(model.D == 0)
    assert 0.9 < abs(model.poles[0]) < 0.97


@pytest.mark.parametrize("stationary", [True, False])
def test_a_gain_beyond_all_numbers_has_no_likelihood(stationary):
    model = noisy_system(inputs=0)
    y = model.simulate(steps=20, rng=1)
    fit = MaximumLikelihood([np.zeros((20, 0))], [y], 2, stationary=stationary)
    theta = fit.parameters(replace(model, K=np.full((2, 2), 1e200)))
    assert fit.value(theta) == np.inf
    value, gradient = fit.value_and_gradient(theta)
    assert value == np.inf
    assert not gradient.any()


def test_gaps_are_filled_by_the_smoother():
    fit, theta = fit_of_outputs(float, True)
    _, y = fit.filled(theta)[0]
    np.testing.assert_allclose(y, fit.system(theta).smooth(fit.outputs[0]).outputs)
