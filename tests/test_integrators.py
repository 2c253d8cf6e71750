"""Bounds on poles in `identify`, and plants that integrate."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from structrank import StateSpace, identify
from structrank.systems import order_search
from structrank.systems.integrators import (
    around_operating_point,
    free_entries,
    integrating,
    with_integrators,
)
from structrank.systems.maximum_likelihood import MaximumLikelihood
from structrank.systems.output_error import OutputError
from structrank.systems.pole_errors import pole_covariances
from structrank.systems.search_rules import IdentificationSearch

BALL_AND_BEAM = StateSpace([[1.0, 0.1], [0.0, 1.0]], [[0.005], [0.1]], [[1.0, 0.0]], None)
MOTOR = StateSpace([[1.0, 0.1], [0.0, 0.8]], [[0.0], [0.2]], [[1.0, 0.0]], None)
OSCILLATOR = StateSpace([[0.8, 0.3], [-0.3, 0.8]], [[1.0], [0.0]], [[1.0, 1.0]], None)


def record(plant, steps=150, feedback=(0.0, 0.0), noise=0.02, seed=0):
    """Inputs and outputs, in closed loop where a feedback is given."""
    rng = np.random.default_rng(seed)
    x, u, y = np.zeros(plant.order), np.zeros((steps, 1)), np.zeros((steps, 1))
    for t in range(steps):
        y[t] = plant.C @ x
        u[t] = rng.standard_normal() - np.dot(feedback[: plant.order], x)
        x = plant.A @ x + plant.B @ u[t]
    return u, y + noise * y.std() * rng.standard_normal(y.shape)


def response(model, steps=60):
    return model.simulate(np.ones(steps), np.zeros(model.order)) - model.output_offset


@pytest.mark.parametrize(("order", "integrators"), [(1, 1), (3, 1), (4, 2), (5, 0)])
def test_a_start_has_the_form_and_is_the_system_if_that_integrates(order, integrators):
    rng = np.random.default_rng(order)
    A = rng.standard_normal((order, order))
    A *= 0.9 / np.abs(np.linalg.eigvals(A)).max()
    B, C = rng.standard_normal((order, 1)), rng.standard_normal((1, order))
    A, Q = with_integrators(A, integrators, 0.9)
    fixed = ~free_entries(order, integrators)
    np.testing.assert_array_equal(A[fixed], np.eye(order)[fixed])
    np.testing.assert_allclose(Q.T @ Q, np.eye(order), atol=1e-12)
    assert np.sum(np.abs(np.linalg.eigvals(A) - 1) < 1e-6) == integrators
    # In another basis of the states, the same system is found.
    T = rng.standard_normal((order, order))
    system = StateSpace(T @ A @ np.linalg.inv(T), T @ B, C @ np.linalg.inv(T), None)
    again = integrating(system, integrators, 0.999, (0.0,))
    np.testing.assert_allclose(response(again), response(system), rtol=1e-5, atol=1e-6)


def test_a_ball_on_a_beam_is_found_with_gaps():
    u, y = record(BALL_AND_BEAM, feedback=(1.0, 1.5))
    y = np.where(np.random.default_rng(1).random(y.shape) < 0.2, np.nan, y + 7.0)
    model = identify(u, y, order=2, integrators=2, mu=1e-2)
    np.testing.assert_allclose(model.poles, 1, atol=1e-6)
    expected = response(BALL_AND_BEAM)
    assert np.linalg.norm(response(model) - expected) < 0.05 * np.linalg.norm(expected)
    np.testing.assert_allclose(model.pole_errors, 0, atol=1e-6)


def test_integrators_and_their_operating_point_are_found():
    u, y = record(BALL_AND_BEAM, 250, feedback=(1.0, 1.5), noise=0.01)
    model = identify(u + 4.0, y - 3.0, order=2)
    assert np.sum(np.abs(model.poles - 1) < 1e-6) == 2
    assert model.input_offset == pytest.approx(4.0, abs=0.02)
    expected = response(BALL_AND_BEAM)
    found = response(replace(model, input_offset=np.zeros(1)))
    assert np.linalg.norm(found - expected) < 0.05 * np.linalg.norm(expected)
    assert np.mean(model.fit(u + 4.0, y - 3.0)) > 95


@pytest.mark.parametrize(
    ("errors", "best"),
    [
        ((0.06, 0.031, 0.034), 1),
        ((0.06, 0.034, 0.031), 2),
        ((0.06, 0.0315, 0.031), 1),
        ((0.06, 0.058, 0.057), 0),
    ],
)
def test_fewer_integrators_compete_with_the_number_that_is_found(monkeypatch, errors, best):
    """A model without integrators, of a high order, may have two poles near one for one."""

    class Look:
        def __init__(self, whole, orders, search):
            self.count = whole.count

        def ranked(self, kinds):
            return [errors[self.count]]

        def error(self, candidate):
            return candidate

        def integrators(self, candidate):
            return 2

    monkeypatch.setattr(order_search, "Search", Look)
    whole = SimpleNamespace(count=0, integrating=lambda count: SimpleNamespace(count=count))
    look, _ = order_search.searched(whole, [1, 2, 3], (), None, IdentificationSearch())
    assert look.count == best


def test_an_operating_point_takes_the_place_of_a_constant_input():
    rng = np.random.default_rng(0)
    A, _ = with_integrators(0.2 * rng.standard_normal((4, 4)), 2, 0.9)
    B, C, D = (rng.standard_normal(shape) for shape in ((4, 3), (2, 4), (2, 3)))
    system = StateSpace(A, B, C, D, x0=rng.standard_normal(4))
    u = rng.standard_normal((30, 2))
    expected = system.simulate(np.concatenate([u, np.ones((30, 1))], axis=1), system.x0)
    model = around_operating_point(system)
    np.testing.assert_allclose(model.simulate(u, model.x0), expected, atol=1e-9)


@pytest.mark.parametrize("noise_model", ["white", "innovations"])
def test_other_poles_keep_their_bound_and_have_errors(noise_model):
    u, y = record(MOTOR, 100)
    model = identify(u, y, order=2, integrators=1, noise_model=noise_model)
    assert model.poles[0] == pytest.approx(1, abs=1e-12)
    assert abs(model.poles[1] - 0.8) < 4 * model.pole_errors[1, 0] < 0.25
    assert model.pole_errors[0, 0] == 0
    bounded = identify(u, y, 2, integrators=1, noise_model=noise_model, max_radius=0.7)
    assert bounded.poles[0] == pytest.approx(1, abs=1e-12)
    assert abs(bounded.poles[1]) < 0.7


@pytest.mark.parametrize("noise_model", ["white", "innovations"])
def test_poles_keep_their_bound(noise_model):
    u, y = record(OSCILLATOR, 80)
    model = identify(u, y, 2, noise_model=noise_model, stable=True, max_radius=0.7)
    assert np.all(np.abs(model.poles) < 0.7)


def test_an_unstable_plant_is_found_if_it_is_allowed():
    truth = StateSpace([[1.02]], [[1.0]], [[1.0]], None)
    u, y = record(truth, 100)
    model = identify(u, y, 1, stable=False, offset=False, noise_model="white")
    assert model.poles[0] == pytest.approx(1.02, abs=2e-3)
    assert identify(u, y, 1, stable=True, offset=False, noise_model="white").stable


def test_errors_of_both_fits_agree():
    """The offset of the outputs and the start of the integrator have the same effect."""
    u, y = record(MOTOR, noise=0.1)
    problem = OutputError(u, y, 2, True, 1.0, integrators=1)
    near = integrating(MOTOR, 1, 0.9, (0.0,))
    theta = problem.minimize(problem.start(near.A, near.C), 100, 1e-10)
    A, B, C, D, x0, offset, _ = problem.split(theta)
    G = [[np.mean(problem.residual(theta) ** 2)]]
    model = StateSpace(A, B, C, D, innovation_covariance=G, output_offset=offset)
    fit = MaximumLikelihood([u], [y], 2, fixed=("K",), integrators=1)
    found = [
        pole_covariances(problem, theta)[1],
        pole_covariances(fit, fit.parameters(model, x0))[1],
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=0.15, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"stable": True, "max_radius": 1.1}, ValueError, "stable=True allows at most 1"),
        ({"stable": "yes"}, TypeError, "stable is 'yes'"),
        ({"integrators": -1}, ValueError, "integrators is -1"),
        ({"integrators": 3, "order": 2}, ValueError, "each integrator is a state"),
    ],
)
def test_bad_options(options, error, says):
    u, y = record(OSCILLATOR, 60)
    with pytest.raises(error, match=says):
        identify(u, y, **options)
