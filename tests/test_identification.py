from dataclasses import replace
from pathlib import Path

import control
import numpy as np
import pytest
from conftest import nightly

from structrank import ConvergenceWarning, StateSpace, identify
from structrank.systems.completion import GapFilling
from structrank.systems.output_error import OutputError
from structrank.systems.preparation import in_units
from structrank.systems.recursion import (
    free_responses,
    markov_parameters,
    predicting_gain,
    state_sequence,
)
from structrank.systems.search_rules import IdentificationSearch

CD_PLAYER = Path(__file__).resolve().parents[2] / "shared" / "data" / "daisy" / "cdplayer.mat"


def system(order, inputs, outputs, seed=0, radius=0.9):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((order, order))
    return StateSpace(
        A * radius / np.max(np.abs(np.linalg.eigvals(A))),
        rng.standard_normal((order, inputs)),
        rng.standard_normal((outputs, order)),
        rng.standard_normal((outputs, inputs)),
        x0=rng.standard_normal(order),
    )


def record(model, steps, seed=1):
    u = np.random.default_rng(seed).standard_normal((steps, model.input_count))
    return u, model.simulate(u)


def with_gaps(x, share, seed):
    return np.where(np.random.default_rng(seed).random(x.shape) < share, np.nan, x)


def distance(model, truth):
    """Relative distance of the impulse responses, which do not depend on the choice of states."""
    h = truth.impulse_response(60)
    return np.linalg.norm(model.impulse_response(60) - h) / np.linalg.norm(h)


def simulated_literally(model, u, start):
    x, y = start, []
    for v in u - model.input_offset:
        y.append(model.C @ x + model.D @ v + model.output_offset)
        x = model.A @ x + model.B @ v
    return np.array(y)


# -- the model -------------------------------------------------------------------------------


def test_simulation_is_the_recursion():
    model = system(3, 2, 2)
    model = replace(model, input_offset=[1.0, -2.0], output_offset=[0.5, 3.0])
    u = np.random.default_rng(0).standard_normal((77, 2))
    assert np.allclose(model.simulate(u), simulated_literally(model, u, model.x0))
    start = np.array([1.0, 2.0, 3.0])
    assert np.allclose(model.simulate(u, start), simulated_literally(model, u, start))


def test_responses_are_powers():
    model = system(3, 2, 2)
    powers = [np.linalg.matrix_power(model.A, t) for t in range(13)]
    free = free_responses(model.A, model.C, 13)
    assert np.allclose(free, [model.C @ P for P in powers])
    markov = markov_parameters(model.A, model.B, model.C, model.D, 13)
    assert np.allclose(markov[0], model.D)
    assert np.allclose(markov[1:], [model.C @ P @ model.B for P in powers[:-1]])
    drive = np.zeros((5, 3))
    assert np.allclose(state_sequence(model.A, model.x0, drive)[4], powers[4] @ model.x0)


@pytest.mark.parametrize(
    ("A", "K", "gain"),
    [(0.9, 0.5, 0.5), (0.9, 2.0, 1.4), (1.0, 2.0, 1.4), (1.2, -1.0, 0.0)],  # 1 - 2 is at the limit
)
def test_the_gain_is_the_largest_share_with_a_stable_predictor(A, K, gain):
    found = predicting_gain(np.array([[A]]), np.ones((1, 1)), np.array([[K]]), (1.0, 0.7, 0.4, 0.0))
    assert found.item() == pytest.approx(gain)


def test_fit_is_100_for_its_own_outputs_and_0_for_the_mean():
    model = system(3, 1, 2)
    u, y = record(model, 80)
    assert np.allclose(model.fit(u, y), 100)
    assert np.allclose(model.fit(u, with_gaps(y, 0.4, 0)), 100)
    noise = np.random.default_rng(3).standard_normal(y.shape)
    expected = 100 * (1 - np.linalg.norm(noise, axis=0) / np.std(y + noise, axis=0) / np.sqrt(80))
    assert np.allclose(model.fit(u, y + noise, initial=model.x0), expected)
    silent = StateSpace([[0.0]], [[0.0]], [[0.0]], [[0.0]], output_offset=[y[:, 0].mean()])
    assert np.allclose(silent.fit(u, y[:, 0]), 0)


def test_fit_finds_the_first_state():
    model = system(3, 1, 2)
    u, _ = record(model, 80)
    y = model.simulate(u, initial=[5.0, -3.0, 2.0])
    assert np.allclose(model.fit(u, y), 100)
    assert np.all(model.fit(u, y, initial=model.x0) < 100)


def test_exports():
    model = system(3, 2, 1)
    u, _ = record(model, 30)
    forced = model.simulate(u, np.zeros(3))
    assert np.allclose(model.to_scipy().output(u, np.arange(30))[1], forced)
    exported = control.forced_response(model.to_control(), np.arange(30), u.T)
    assert np.allclose(exported.outputs.reshape(-1), forced[:, 0])
    assert model.order == 3
    assert model.stable
    assert abs(model.poles[0]) == pytest.approx(0.9)
    assert repr(model) == "StateSpace(order 3, 2 inputs, 1 output, spectral radius 0.9)"


def test_inputs_and_noise_add_up():
    model = replace(system(3, 2, 2), K=np.ones((3, 2)), innovation_covariance=np.diag([1.0, 4.0]))
    u, quiet = record(replace(model, K=None, innovation_covariance=None), 50)
    noisy = model.simulate(u, rng=7)
    driven = StateSpace(
        model.A,
        None,
        model.C,
        None,
        K=model.K,
        innovation_covariance=model.innovation_covariance,
        x0=np.zeros(3),
    )
    np.testing.assert_allclose(noisy - quiet, driven.simulate(steps=50, rng=7), atol=1e-12)
    np.testing.assert_allclose(model.covariances(4), driven.covariances(4))
    assert np.allclose(model.fit(u, quiet), 100)
    assert model.to_scipy().B.shape == (3, 2)
    np.testing.assert_array_equal(model.impulse_response(5)[0], model.D)
    np.testing.assert_array_equal(driven.impulse_response(5)[0], np.eye(2))


def test_what_is_not_given_is_zero():
    model = StateSpace([[0.5]], [[1.0, 2.0]], [[1.0]], None)
    assert model.x0 is None
    assert (model.input_count, model.output_count) == (2, 1)
    for name in ("D", "K", "innovation_covariance", "input_offset", "output_offset"):
        assert not np.any(getattr(model, name))
    np.testing.assert_array_equal(model.covariances(3), np.zeros((4, 1, 1)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"B": np.zeros((2, 2))}, "B has shape"),
        ({"D": [[np.nan]]}, "finite"),
        ({"x0": [0.0, 0.0]}, "x0 has shape"),
        ({"D": np.zeros(3)}, "one or more rows"),
    ],
)
def test_bad_models(changes, message):
    whole = {"A": [[0.5]], "B": [[1.0]], "C": [[1.0]], "D": [[0.0]], **changes}
    with pytest.raises(ValueError, match=message):
        StateSpace(**whole)


def test_bad_simulations():
    model = system(2, 1, 1)
    with pytest.raises(ValueError, match="fill the gaps"):
        model.simulate([1.0, np.nan])
    with pytest.raises(ValueError, match=r"\(samples, 1\)"):
        model.simulate(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="one per state"):
        model.simulate(np.zeros(5), initial=[1.0])
    with pytest.raises(ValueError, match="spectral radius"):
        StateSpace([[9.0]], [[1.0]], [[1.0]], [[0.0]]).simulate(np.ones(1000))
    with pytest.raises(ValueError, match="constant"):
        model.fit(np.arange(5.0), np.ones(5))
    with pytest.raises(ValueError, match="steps is 5, but the system has inputs"):
        model.simulate(np.zeros(5), steps=5)
    driven_by_noise = StateSpace(model.A, None, model.C, None)
    with pytest.raises(ValueError, match="the system has no inputs"):
        driven_by_noise.fit(np.zeros(5), np.arange(5.0))
    with pytest.raises(TypeError, match="real"):
        StateSpace([[1j]], [[1.0]], [[1.0]], [[0.0]])


# -- the least-squares problem -----------------------------------------------------------------


def test_jacobian_is_the_derivative():
    model = system(3, 2, 2)
    u, y = record(model, 23)
    y = with_gaps(y, 0.3, 0)
    price = np.where(np.random.default_rng(2).random(u.shape) < 0.4, 0.7, 0.0)
    problem = OutputError(u, y, 3, True, 1.0, price)
    moves = np.count_nonzero(price)
    parts = [model.A, model.B, model.C, model.D, model.x0, [0.1, 0.2], 0.1 * np.ones(moves)]
    theta = np.concatenate([np.reshape(part, -1) for part in parts])
    J = problem.jacobian(theta)
    for k, direction in enumerate(np.eye(theta.size)):
        step = 1e-6 * direction
        slope = (problem.residual(theta + step) - problem.residual(theta - step)) / 2e-6
        assert np.allclose(J[:, k], slope, atol=1e-6)


def test_an_unstable_system_is_no_solution():
    u, y = record(system(2, 1, 1), 40)
    problem = OutputError(u, y, 1, False, 1.0)
    assert problem.value(np.array([1.5, 1.0, 1.0, 0.0, 0.0])) == np.inf
    theta = problem.minimize(problem.start(np.array([[0.99]]), np.array([[1.0]])), 30, 1e-8)
    assert abs(problem.split(theta)[0][0, 0]) < 1


# -- identification ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1), *map(nightly, [(2, 1, 1), (3, 2, 2), (4, 1, 2)]), (4, 2, 1)]
)
def test_without_noise_the_system_and_its_order_come_back(sizes):
    truth = system(*sizes)
    model = identify(*record(truth, 300), max_order=6)
    assert model.order == truth.order
    assert distance(model, truth) < 1e-8
    assert np.allclose(sorted(np.abs(model.poles)), sorted(np.abs(truth.poles)))


@pytest.mark.parametrize("sizes", [nightly((2, 1, 1)), (3, 2, 2)])
def test_missing_outputs_do_no_harm(sizes):
    truth = system(*sizes, seed=1)
    u, y = record(truth, 200)
    model = identify(u, with_gaps(y, 0.3, 0), max_order=4, completion_window=15)
    assert model.order == truth.order
    assert distance(model, truth) < 1e-8
    assert np.allclose(model.simulate(u), y, atol=1e-6)


@pytest.mark.parametrize(("sizes", "seed"), [((2, 1, 1), 0), nightly((3, 1, 2), 2)])
def test_missing_inputs_and_outputs_do_no_harm(sizes, seed):
    truth = system(*sizes, seed=seed)
    u, y = record(truth, 300)
    u, y = with_gaps(u, 0.3, 1), with_gaps(y, 0.3, 2)
    model = identify(u, y, order=sizes[0], completion_window=20)
    assert distance(model, truth) < 1e-4


def test_with_noise_the_fit_is_the_optimum_near_the_truth():
    truth = system(3, 1, 1, seed=5)
    u, y = record(truth, 400)
    noise = 0.1 * np.std(y) * np.random.default_rng(5).standard_normal(y.shape)
    noisy = with_gaps(y + noise, 0.2, 6)
    problem = OutputError(u, noisy, 3, False, 1.0)
    parts = [truth.A, truth.B, truth.C, truth.D, truth.x0]
    at_truth = np.concatenate([part.reshape(-1) for part in parts])
    best = problem.minimize(at_truth, 200, 1e-12)
    model = identify(u, noisy, order=3, offset=False, mu=1e-2)
    error = np.nansum((model.simulate(u) - noisy) ** 2)
    assert problem.value(best) < problem.value(at_truth)
    assert error == pytest.approx(problem.value(best), rel=1e-3)
    assert identify(u, noisy, max_order=5, mu=1e-2).order == 3


def test_operating_point_and_units():
    truth = system(2, 1, 2, seed=4)
    u, y = record(truth, 300)
    model = identify(1e3 * u + 5e4, 1e-3 * y + 20.0, max_order=4)
    assert model.order == 2
    assert np.allclose(1e6 * model.impulse_response(30), truth.impulse_response(30), atol=1e-6)
    assert np.allclose(model.simulate(1e3 * u + 5e4), 1e-3 * y + 20.0, atol=1e-8)
    assert np.all(identify(u, y, 2, offset=False).input_offset == 0)


def test_gaps_cost_less_than_interpolation():
    truth = system(3, 1, 1, seed=5)
    u, y = record(truth, 400)
    u_gaps, y_gaps = with_gaps(u, 0.2, 1), with_gaps(y, 0.2, 2)
    t = np.arange(400)

    def straight(x):
        seen = ~np.isnan(x[:, 0])
        return np.interp(t, t[seen], x[seen, 0])

    filled = identify(straight(u_gaps), straight(y_gaps), order=3)
    assert distance(identify(u_gaps, y_gaps, order=3), truth) < 0.1 * distance(filled, truth)


def test_a_system_that_integrates_is_found_unless_poles_are_bounded():
    truth = StateSpace([[1.0]], [[0.1]], [[1.0]], [[0.0]])
    u, y = record(truth, 200)
    model = identify(u, y, order=1, max_radius=1.01, offset=False)
    assert distance(model, truth) < 1e-6
    model = identify(u, y, order=1)
    assert distance(model, truth) < 1e-6
    assert model.poles[0] == 1
    bound = np.exp(-1 / 200)
    assert 0.99 * bound < abs(identify(u, y, order=1, stable=True).poles[0]) < bound


def test_very_many_missing_inputs_are_only_filled():
    truth = system(2, 1, 1, seed=2)
    u, y = record(truth, 300)
    smooth = np.cumsum(u - u.mean(), axis=0)
    y, gaps = truth.simulate(smooth), with_gaps(smooth, 0.1, 0)
    refined = identify(gaps, y, order=2, completion_window=20)
    few = IdentificationSearch(most_unknown=0)
    filled = identify(gaps, y, order=2, completion_window=20, search=few)
    assert distance(refined, truth) < distance(filled, truth) < 0.2


def test_every_choice_can_be_made():
    truth = system(2, 1, 1)
    u, y = record(truth, 150)
    y = with_gaps(y, 0.1, 0)
    model = identify(u, y, 2, window=8, offset=False, mu=1e-3, completion_window=12, rng=3)
    assert distance(model, truth) < 1e-8
    with pytest.warns(UserWarning, match=r"held-out outputs .* may be chance"):
        assert identify(u, y, max_order=1).order == 1


def test_missing_inputs_do_not_follow_noise_of_one_percent():
    rng = np.random.default_rng([5, 1])
    n = int(rng.integers(2, 4))
    A = rng.standard_normal((n, n))
    A *= rng.uniform(0.7, 0.95) / np.max(np.abs(np.linalg.eigvals(A)))
    truth = StateSpace(A, *(rng.standard_normal(s) for s in ((n, 1), (1, n), (1, 1))))
    u, v = rng.standard_normal((2, 300, 1))
    y = truth.simulate(u)
    y += 0.01 * y.std() * rng.standard_normal(y.shape)
    u, y = (np.where(rng.random(x.shape) < 0.5, np.nan, x) for x in (u, y))
    assert identify(u, y).fit(v, truth.simulate(v))[0] > 98


def test_an_output_may_be_unseen_in_a_held_out_stretch():
    truth = system(2, 1, 2)
    u, y = record(truth, 200)
    u, y = with_gaps(u, 0.5, 0), y + 0.1 * np.random.default_rng(0).standard_normal(y.shape)
    y[:50, 1] = np.nan
    model = identify(u, y)
    assert distance(model, truth) < 0.2
    assert np.all(model.residual_tests(y, u).independence > 1e-3)  # with gaps in both
    filled = model.filled_inputs(u)
    np.testing.assert_allclose(filled[np.isnan(u)].mean(), np.nanmean(u), atol=0.3)


def test_a_held_out_stretch_may_be_equal_to_the_mean_of_the_others():
    truth = system(2, 1, 1)
    u, y = record(truth, 120)
    y[30:60] = np.delete(y, slice(30, 60)).mean()
    model = identify(u, y, max_order=3)
    rest = np.r_[:30, 60:120]
    assert np.var(y[rest] - model.simulate(u, model.x0)[rest]) < 0.5 * np.var(y[rest])


def test_outputs_whose_variances_are_no_numbers_have_no_noise_model():
    noise = {"K": np.ones((1, 2)), "innovation_covariance": np.eye(2)}
    model = StateSpace([[0.5]], [[1.0]], [[1.0], [2.0]], None, **noise)
    found = in_units(model, np.zeros(3), np.array([1.0, 1e30, 1e300]))
    assert not np.any(found.innovation_covariance)
    assert not np.any(found.K)
    np.testing.assert_array_equal(found.C[:, 0], [1e30, 2e300])


def test_a_limit_gives_one_warning():
    u, y = record(system(2, 1, 1), 100)
    y = with_gaps(y, 0.1, 0)
    search = IdentificationSearch(filling=GapFilling(max_iter=1))
    with pytest.warns(ConvergenceWarning, match="^identify did not converge") as caught:
        identify(u, y, 2, mu=1e-4, search=search)
    assert [warning.filename for warning in caught] == [__file__]


def test_interruption_passes_through(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    u, y = record(system(2, 1, 1), 100)
    monkeypatch.setattr("structrank.systems.completion.iterate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        identify(u, with_gaps(y, 0.1, 0), 2)


@pytest.mark.parametrize(
    ("u", "y", "options", "message"),
    [
        (np.zeros(50), np.zeros(40), {}, "the same number"),
        (np.zeros((50, 1, 1)), np.zeros(50), {}, "samples, channels"),
        (np.full(50, np.nan), np.zeros(50), {}, "only NaN"),
        (np.full(50, np.inf), np.zeros(50), {}, "inf"),
        (np.arange(50.0), np.ones(50), {}, "constant"),
        (np.arange(8.0), np.arange(8.0), {}, "need at least"),
        (np.arange(50.0), np.arange(50.0), {}, "input 0 and output 0, .* are the same numbers"),
        (
            np.arange(50.0),
            np.r_[np.arange(12.0), np.full(38, np.nan)],
            {},
            "only in stretch 1",
        ),
        (np.arange(50.0), np.sin(np.arange(50.0)), {"dt": -1}, "dt is -1, but"),
        (1e-200 * np.arange(50.0), np.sin(np.arange(50.0)), {}, "1e-75 to 1e\\+75 is expected"),
        (np.arange(50.0), 1e200 * np.sin(np.arange(50.0)), {}, "1e-75 to 1e\\+75 is expected"),
        (
            [np.arange(10.0)] * 3,
            [np.sin(np.arange(10.0))] * 3,
            {},
            "longest of 3 records has",
        ),
        ([np.arange(9.0)] * 2, [np.arange(9.0), np.arange(8.0)], {}, "record 1, counted from 0"),
        (np.arange(50.0), np.sin(np.arange(50.0)), {"window": 40}, "at most 8"),
        (np.arange(50.0), np.sin(np.arange(50.0)), {"order": 30}, "larger window"),
        (np.arange(50.0), np.sin(np.arange(50.0)), {"order": 0}, "order"),
        (np.arange(50.0), np.sin(np.arange(50.0)), {"max_radius": 0.0}, "max_radius"),
    ],
)
def test_bad_input(u, y, options, message):
    with pytest.raises(ValueError, match=message):
        identify(u, y, **options)


@pytest.mark.parametrize(("in_unit", "out_unit"), [(1e70, 1.0), (1e-70, 1e-74), (1e-3, 1e70)])
def test_units_do_not_matter(in_unit, out_unit):
    u = np.random.default_rng(0).standard_normal(80)
    y = np.zeros(80)
    for t in range(1, 80):
        y[t] = 0.8 * y[t - 1] + u[t - 1]
    model = identify(in_unit * u, out_unit * y, 1)
    np.testing.assert_allclose(model.poles, 0.8, atol=1e-6)
    gain = (
        model.C * (in_unit / out_unit) if in_unit > 1 else model.C / out_unit * in_unit
    ) @ model.B
    np.testing.assert_allclose(gain, 1.0, atol=1e-4)


def test_a_channel_is_input_or_output():
    truth = system(2, 2, 1)
    u, y = record(truth, 120)
    u[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"input 1 and output 1, counted from 0, .*remove one"):
        identify(u, np.concatenate([y, u[:, 1:]], axis=1))


def test_wrong_types():
    with pytest.raises(TypeError, match="True or False"):
        identify(np.arange(50.0), np.sin(np.arange(50.0)), offset=1.0)
    with pytest.raises(TypeError, match="rng is 'a'"):
        identify(np.arange(50.0), np.sin(np.arange(50.0)), rng="a")
    with pytest.raises(TypeError, match="real"):
        identify(1j * np.arange(50.0), np.arange(50.0))


@pytest.mark.skipif(not CD_PLAYER.exists(), reason=f"{CD_PLAYER.name} is not here")
def test_cd_player_arm():
    from scipy.io import loadmat

    first, second = np.split(loadmat(CD_PLAYER)["cdplayer"], 2)
    model = identify(first[:, :2], first[:, 2:], order=6)
    assert np.all(model.fit(second[:, :2], second[:, 2:]) > [70, 78])
