"""Standard errors of the poles of fitted systems."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from conftest import nightly
from matplotlib.figure import Figure

from structrank import FittedModel, StateSpace, identify, load
from structrank.systems.maximum_likelihood import MaximumLikelihood
from structrank.systems.output_error import OutputError
from structrank.systems.pole_errors import pole_covariances
from structrank.systems.quasi_newton import QuasiNewton

A = [[0.8, 0.4], [-0.4, 0.8]]
POLE = 0.8 + 0.4j
NOISE = {
    "white": {"innovation_covariance": np.diag([0.5, 4.0])},
    "innovations": {
        "K": [[0.7, 0.0], [0.3, 0.1]],
        "innovation_covariance": np.diag([0.5, 1.0]),
    },
}


def record(kind, seed, gaps=0.2):
    truth = StateSpace(A, [[1.0], [0.0]], [[1.0, 1.0], [0.0, 1.0]], None, **NOISE[kind])
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((300, 1))
    y = truth.simulate(u, rng=seed)
    return u, np.where(rng.random(y.shape) < gaps, np.nan, y)


def in_other_basis(fit, theta, T):
    """The same system for states T x."""
    parts, back = dict(fit.split(theta)), np.linalg.inv(T)
    parts.update(
        A=T @ parts["A"] @ back,
        B=T @ parts["B"],
        C=parts["C"] @ back,
        K=T @ parts["K"],
        x0=parts["x0"] @ T.T,
    )
    return fit.joined(parts)


@pytest.mark.parametrize("fixed", [(), ("K",)])
def test_errors_do_not_depend_on_the_basis(fixed):
    u, y = record("innovations", 0)
    fit = MaximumLikelihood([u], [y], 2, fixed=fixed)
    noise = NOISE["innovations"] if not fixed else NOISE["white"]
    truth = StateSpace(A, [[1.0], [0.0]], [[1.0, 1.0], [0.0, 1.0]], None, **noise)
    theta = fit.maximize(fit.parameters(truth), QuasiNewton(tolerance=1e-8))
    other = in_other_basis(fit, theta, np.array([[2.0, 1.0], [0.5, -1.0]]))
    assert fit.value_and_gradient(other)[0] == pytest.approx(fit.value_and_gradient(theta)[0])
    found = [pole_covariances(fit, x) for x in (theta, other)]
    order = [np.argsort(poles.imag) for poles, _ in found]
    first, second = (x[1][i] for x, i in zip(found, order, strict=True))
    np.testing.assert_allclose(first, second, rtol=5e-3, atol=1e-3 * np.max(np.abs(first)))


def test_errors_of_least_squares_are_those_of_regression():
    """With C held, the other parameters have no change of basis."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal((200, 1))
    truth = StateSpace([[0.8]], [[1.0]], [[1.0], [2.0]], None)
    y = truth.simulate(u) + rng.standard_normal((200, 2)) * [0.1, 3.0]
    y[::3, 0] = np.nan
    problem = OutputError(u, y, 1, True, 1.0)
    theta = problem.minimize(problem.start(truth.A, truth.C), 100, 1e-12)
    held = problem.split(np.arange(len(theta)))[2].ravel()
    J = np.delete(problem.jacobian(theta), held[:1], axis=1)
    residual, output = problem.residual(theta), np.nonzero(problem.seen)[1]
    noise = np.array([np.mean(residual[output == j] ** 2) for j in (0, 1)])[output]
    noise = noise / (1 - J.shape[1] / len(J))
    inverse = np.linalg.inv(J.T @ J)
    covariance = inverse @ J.T @ (noise[:, None] * J) @ inverse
    poles, found = pole_covariances(problem, theta)
    assert found[0, 0, 0] == pytest.approx(covariance[0, 0] / poles[0] ** 2, rel=1e-6)
    assert found[0, 1, 1] == 0


def test_result_of_identify_has_errors():
    u, y = record("white", 1, gaps=0.0)
    model = identify(u, y, 2, dt=0.1, noise_model="white")
    assert isinstance(model, FittedModel)
    assert model.pole_errors.shape == (2, 2)
    np.testing.assert_allclose(model.pole_errors[0], model.pole_errors[1])
    distance = np.abs(model.poles[np.argmax(model.poles.imag)] - POLE)
    assert distance < 4 * np.linalg.norm(model.pole_errors[0]) < 0.1
    f = np.abs(np.log(POLE)) / (2 * np.pi * 0.1)
    assert abs(model.modes.frequencies[0] - f) < 4 * model.modes.frequency_errors[0] < 0.1 * f
    assert "+-" in repr(model.modes)
    assert len(model.plot_poles(Figure()).collections) == 2


def test_without_a_fit_errors_are_not_known():
    model = FittedModel.of(StateSpace([[0.5]], [[1.0]], [[1.0]], None), None)
    assert np.all(np.isnan(model.pole_errors))
    assert len(model.plot_poles(Figure()).collections) == 0
    assert len(model.modes) == 0


def test_systems_and_their_modes_are_tables_in_a_notebook():
    fitted = FittedModel.of(StateSpace(A, [[1.0], [0.0]], [[1.0, 0.0]], None), None, "ARX")
    table = fitted._repr_html_()
    assert table.startswith("<table><caption>structrank fittedmodel</caption>")
    assert "order 2, 1 input, 1 output, spectral radius 0.8944, ARX" in table
    known = replace(fitted.modes, frequency_errors=np.array([0.01]))
    for modes, error in ((fitted.modes, ""), (known, " +- 0.01")):
        text = f"frequency {modes.frequencies[0]:.5g}{error}, damping {modes.dampings[0]:.5g}<"
        assert text in modes._repr_html_()


SLOW = StateSpace(
    [[0.97]], [[0.1]], [[1.0]], None, K=[[0.2]], innovation_covariance=[[0.01]], x0=[5.0]
)


@pytest.mark.parametrize("other", [SLOW, replace(SLOW, x0_covariance=[[1e-4]])])
def test_records_of_a_fitted_model_begin_anywhere(other):
    """The first state of its own record is right for `simulate`, and wrong for another record."""
    fitted, free = FittedModel.of(other, None), replace(SLOW, x0=None)
    u = np.random.default_rng(0).standard_normal((100, 1))
    np.testing.assert_array_equal(fitted.simulate(u), SLOW.simulate(u))
    y = free.simulate(u, initial=[-20.0], rng=1)
    assert fitted.loglikelihood(y, u) == pytest.approx(free.loglikelihood(y, u), rel=1e-12)
    np.testing.assert_allclose(fitted.smooth(y, u).states, free.smooth(y, u).states, atol=1e-11)
    np.testing.assert_allclose(fitted.predict(y, u, 3), free.predict(y, u, 3), atol=1e-11)
    tests, expected = (model.residual_tests(y, u).whiteness for model in (fitted, free))
    np.testing.assert_allclose(tests, expected, atol=1e-9)
    assert np.std(SLOW.smooth(y, u).innovations) > 3 * np.nanstd(fitted.smooth(y, u).innovations)
    ahead = fitted.forecast(2, y, u, u[:2]).outputs
    np.testing.assert_allclose(ahead, free.forecast(2, y, u, u[:2]).outputs, atol=1e-11)
    later = fitted.update(y, u)  # whose first state is known
    np.testing.assert_allclose(later.forecast(2, future_inputs=u[:2]).outputs, ahead, atol=1e-11)


def test_a_known_first_state_of_a_fitted_model():
    fitted = FittedModel.of(SLOW, None)
    u = np.random.default_rng(0).standard_normal((100, 1))
    y = SLOW.simulate(u, rng=1)
    known = replace(fitted, x0_covariance=None)
    np.testing.assert_array_equal(known.smooth(y, u).states, SLOW.smooth(y, u).states)
    # On the record that it was fitted to, results hardly change.
    late = slice(20, None)
    own, other = (model.predict(y, u)[late] for model in (fitted, known))
    np.testing.assert_allclose(own, other, atol=2e-3)


def test_a_model_without_states_in_its_outputs_needs_no_samples():
    constant = StateSpace(
        [[0.0]], [[0.0]], [[0.0]], None, innovation_covariance=[[1.0]], output_offset=[3.0]
    )
    model, u = FittedModel.of(replace(constant, x0=[0.0]), None), np.ones((9, 1))
    np.testing.assert_array_equal(model.predict(np.arange(9.0), u), 3.0)
    np.testing.assert_array_equal(model.compare(np.arange(9.0), u).predicted, 3.0)


INPUTS = StateSpace(
    [[0.9]],
    None,
    [[2.0]],
    None,
    K=[[0.5]],
    innovation_covariance=[[1.0]],
    x0_covariance="stationary",
    output_offset=[30.0],
)
DRIVEN = FittedModel.of(replace(SLOW, input_offset=[30.0]), None, "ARX", INPUTS)


def there_and_back(model, tmp_path):
    model.save(tmp_path / "a.npz")
    return load(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "same", [lambda m, _: m, lambda m, _: pickle.loads(pickle.dumps(m)), there_and_back]
)
def test_missing_inputs_are_filled_by_their_model(same, tmp_path):
    model = same(DRIVEN, tmp_path)
    rng = np.random.default_rng(1)
    u = INPUTS.simulate(steps=120, rng=1)
    y = DRIVEN.simulate(u, rng=2)
    u[rng.random(120) < 0.2], y[::9] = np.nan, np.nan
    full = INPUTS.smooth(u).outputs
    np.testing.assert_array_equal(model.filled_inputs(u[:, 0]), full)
    for call in (
        lambda u: model.predict(y, u),
        lambda u: model.smooth(y, u).states,
        lambda u: model.smooth([y, y[:50]], [u, u[:50]])[0].states,
        lambda u: model.loglikelihood(y, u),
        lambda u: model.fit(u, y),
        lambda u: model.compare(y, u).simulated,
        lambda u: model.residual_tests(y, u).whiteness,
        lambda u: model.simulate(u),
        lambda u: model.update(y, u).x0,
    ):
        np.testing.assert_array_equal(call(u), call(full))
    assert np.all(model.residual_tests(y, u).independence > 0.01)


def test_a_gap_in_inputs_without_a_model_says_what_to_do():
    u, y = np.ones((9, 1)), np.ones((9, 1))
    for wrong, model in ((np.nan, FittedModel.of(SLOW, None)), (np.inf, DRIVEN), (np.inf, SLOW)):
        u[3] = wrong
        for call in (model.predict, model.smooth, lambda y, u: model.simulate(u)):  # noqa: B023
            with pytest.raises(ValueError, match="inputs contain"):
                call(y, u)
    u[3] = np.nan
    with pytest.raises(ValueError, match="fill the gaps first, for example with `impute`"):
        SLOW.predict(y, u)


@pytest.mark.parametrize("kind", [nightly("white"), nightly("innovations")])
def test_errors_cover_the_truth(kind):
    scores = []
    for seed in range(24):
        u, y = record(kind, seed)
        model = identify(u, y, 2, noise_model=kind, mu=1e-2)
        i = np.argmax(model.poles.imag)
        away = model.poles[i] - POLE
        scores.append(np.array([away.real, away.imag]) / model.pole_errors[i])
    assert np.mean(np.abs(scores) < 1.96) > 0.85
    assert 0.75 < np.sqrt(np.mean(np.square(scores))) < 1.3
