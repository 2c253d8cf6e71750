"""Identification with noise models, several records and hopeless data."""

from dataclasses import replace

import numpy as np
import pytest

from structrank import StateSpace, identify
from structrank.systems.arx import Arx
from structrank.systems.input_models import input_model, interpolated, interpolation_errors
from structrank.systems.noise_fits import NoiseFits
from structrank.systems.order_search import Candidate, Search
from structrank.systems.search_rules import IdentificationSearch

TRUTH = StateSpace(
    [[0.8, 0.3], [-0.3, 0.8]],
    [[1.0], [0.0]],
    [[1.0, 1.0]],
    [[0.0]],
    K=[[0.9], [0.3]],
    innovation_covariance=[[0.25]],
)


def record(model, steps, seed):
    u = np.random.default_rng(seed).standard_normal((steps, model.input_count))
    return u, model.simulate(u, rng=seed + 100)


def with_gaps(x, share, seed):
    return np.where(np.random.default_rng(seed).random(x.shape) < share, np.nan, x)


def distance(model, truth):
    h = truth.impulse_response(40)
    return np.linalg.norm(model.impulse_response(40) - h) / np.linalg.norm(h)


def test_arx_is_least_squares_and_its_reduction_is_exact_without_noise():
    rng = np.random.default_rng(0)
    u, y = rng.standard_normal((60, 2)), rng.standard_normal((60, 1))
    arx = Arx([u], [y], 2)
    literal = [np.concatenate([u[t], u[t - 1], y[t - 1], u[t - 2], y[t - 2]]) for t in range(2, 60)]
    np.testing.assert_array_equal(arx.past, literal)
    np.testing.assert_array_equal(arx.now, y[2:])
    quiet = replace(TRUTH, K=None, innovation_covariance=None)
    u, y = record(quiet, 300, 1)
    [model] = Arx([u], [y], 4).reduced([2], 0.999)
    assert distance(model, TRUTH) < 1e-2


def test_arx_joins_no_records():
    u, y = record(TRUTH, 100, 2)
    arx = Arx([u[:50], u[50:]], [y[:50], y[50:]], 3)
    assert len(arx.past) == len(arx.now) == 94
    assert not Arx([u[:3]], [y[:3]], 3).determined


def test_models_of_inputs_fill_smooth_channels_and_leave_white_ones():
    rng = np.random.default_rng(0)
    t = np.arange(400.0)
    u = np.stack([np.sin(0.1 * t), rng.standard_normal(400)], axis=1)
    seen = with_gaps(u, 0.4, 1)
    model = input_model([seen])
    filled, gaps = model.smooth(seen).outputs, np.isnan(seen)
    assert np.max(np.abs(filled - u)[gaps[:, 0], 0]) < 0.05
    assert np.max(np.abs(filled[gaps[:, 1], 1])) < 0.5
    straight = np.abs(interpolated(seen) - u)[gaps[:, 0], 0]
    assert 0.3 < interpolation_errors(seen)[0] / np.sqrt(np.mean(straight**2)) < 5


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_a_noise_model_is_found(gaps):
    u, y = record(TRUTH, 500, 3)
    model = identify(u, with_gaps(y, gaps, 4), 2, noise_model="innovations")
    assert model.method == "prediction error"
    assert distance(model, TRUTH) < 0.2
    assert model.innovation_covariance[0, 0] == pytest.approx(0.25, rel=0.25)
    np.testing.assert_allclose(model.C @ model.K, TRUTH.C @ TRUTH.K, atol=0.25)
    white = identify(u, y, 2, noise_model="white")
    assert np.all(white.K == 0)
    assert white.innovation_covariance[0, 0] > 0.5


@pytest.mark.parametrize("options", [{}, {"noise_model": "white"}, {"noise_model": "innovations"}])
def test_outputs_have_no_offset_if_none_is_asked_for(options):
    u, y = record(TRUTH, 150, 3)
    for kind in ("arx", "reduced", "white", "innovations"):
        whole = NoiseFits([u], [y + 0.5], [u], [(u, y + 2)], [(0, slice(0, 150))], [5], None, 0.0)
        assert np.any(whole.fitted(kind, 2).model.output_offset)
        assert not np.any(replace(whole, offset=False).fitted(kind, 2).model.output_offset)
    assert not np.any(identify(u, y + 0.5, 2, offset=False, **options).output_offset)


def test_several_records_have_states_of_their_own():
    quiet = replace(TRUTH, K=[[0.0], [0.0]])
    u = [np.random.default_rng(k).standard_normal((120, 1)) for k in range(3)]
    y = [quiet.simulate(x, initial=[9.0 * k, -9.0], rng=k + 100) for k, x in enumerate(u)]
    model = identify(u, y, 2, dt=0.1)
    assert distance(model, TRUTH) < 0.1
    assert model.x0 is None
    assert model.dt == 0.1
    with pytest.raises(ValueError, match="the other is not"):
        identify(u, y[0])
    with pytest.raises(ValueError, match="the same number"):
        identify(u[:2], y)


def test_outputs_that_no_input_drives_give_a_warning_and_their_mean():
    rng = np.random.default_rng(0)
    u, y = rng.standard_normal(80), 3 + rng.standard_normal(80)
    with pytest.warns(UserWarning, match="no model predicts"):
        model = identify(u, y)
    np.testing.assert_allclose(model.simulate(u)[:, 0], y.mean())
    assert model.method == "mean of the outputs"


def test_a_simulation_with_inputs_draws_noise_only_if_asked():
    u, _ = record(TRUTH, 30, 0)
    quiet = replace(TRUTH, K=None, innovation_covariance=None)
    np.testing.assert_array_equal(TRUTH.simulate(u), quiet.simulate(u))
    assert not np.allclose(TRUTH.simulate(u, rng=0), quiet.simulate(u))


def test_bad_noise_model():
    u, y = record(TRUTH, 60, 0)
    with pytest.raises(ValueError, match="noise_model is 'pink'"):
        identify(u, y, noise_model="pink")


def candidates(*rows):
    errors = [np.transpose([np.atleast_1d(error), np.atleast_1d(error)]) for *_, error, _ in rows]
    pairs = zip(rows, errors, strict=True)
    return [Candidate(kind, order, (), error, bic) for (kind, order, _, bic), error in pairs]


@pytest.mark.parametrize(
    ("rows", "exact", "kind", "order"),
    [
        ([("arx", 4, 0.20, 5), ("innovations", 3, 0.24, 9)], True, "innovations", 3),
        ([("arx", 4, 0.20, 5), ("innovations", 3, 0.27, 1)], True, "arx", 4),
        ([("arx", 4, 0.20, 5), ("innovations", 3, 0.21, 9)], False, "innovations", 3),
        ([("arx", 4, 0.20, 5), ("innovations", 3, 0.23, 1)], False, "arx", 4),
        ([("arx", 4, [0.2, 0.2], 5), ("white", 3, [0.25, 0.17], 1)], False, "arx", 4),
        ([("white", 2, 0.205, 1), ("white", 5, 0.20, 9), ("white", 1, 0.3, 0)], False, "white", 2),
        ([("white", 2, 0.205, 1), ("innovations", 5, 0.20, 9)], False, "innovations", 5),
        ([("arx", 1, 1e-6, 1), ("white", 3, 1e-7, 0)], False, "arx", 1),
    ],
)
def test_the_choice_between_candidates(rows, exact, kind, order):
    """Likelihood before ARX; then the criterion within 3%; without noise, few states."""
    look = object.__new__(Search)
    look.search, look.exact = IdentificationSearch(), exact
    best = look._sorted(candidates(*rows))[0]
    assert (best.kind, best.order) == (kind, order)


def test_few_samples_allow_few_parameters():
    u, y = record(TRUTH, 60, 5)
    fits = NoiseFits([u], [y], [u], [(u, y)], [(0, slice(0, len(y)))], [5], None, 0.0, radius=0.98)
    look = Search(fits, [1, 2, 6], IdentificationSearch())
    assert look.candidate("white", 2, False) is not None
    assert look.candidate("white", 6, False) is None
    assert look.candidate("arx", 6, False) is not None
    assert Search(fits, [6], IdentificationSearch()).candidate("white", 6, False) is not None


def test_offsets_of_held_out_stretches():
    """The error with offsets is that of a simulation whose first state and offset are fitted."""
    u, y = record(replace(TRUTH, K=None, innovation_covariance=None), 80, 6)
    y[20:40] += 3.0
    fits = NoiseFits([u], [y], [u], [(u, y)], [(0, slice(0, len(y)))], [5], None, 0.0, radius=0.98)
    look = Search(fits, [1, 2], IdentificationSearch())
    plain, levelled = look.trials[1].errors(TRUTH, False)
    assert levelled < 1e-4 < 0.1 < plain
    plain, levelled = look.trials[0].errors(TRUTH, False)
    assert max(plain, levelled) < 1e-4
    look.ranked(("arx", "white"))
    assert look.drifts
    known = Search(replace(fits, offset=False), [1, 2], IdentificationSearch())
    known.ranked(("arx", "white"))
    assert not known.drifts


def test_prediction_errors_are_tried_for_larger_orders_while_they_are_better():
    look = object.__new__(Search)
    look.search = IdentificationSearch()
    look.orders = [1, 2, 3, 4, 5, 6, 7]
    errors = {2: 0.5, 3: 0.49, 4: 0.3, 5: 0.35, 6: 0.295, 7: 0.1}
    look._all = lambda pairs: candidates(*((kind, n, errors[n], 0) for kind, n in pairs))
    assert [c.order for c in look._climbed([2])] == [2, 3, 4, 5, 6]
    assert [c.order for c in look._climbed([4, 7])] == [4, 7]
    look.orders = [1, 2, 3]
    assert [c.order for c in look._climbed([2, 3])] == [2, 3]


def test_a_final_model_with_a_slower_mode_than_its_trials_is_not_trusted():
    def model(pole):
        return StateSpace([[pole]], [[1.0]], [[1.0]], None)

    look = object.__new__(Search)
    look.search = IdentificationSearch()
    look.whole = NoiseFits([], [], [], [], [], [], None, 0.0, radius=0.9999)
    best = Candidate("white", 1, (model(0.9), model(0.95), model(0.96)), np.full((3, 2), 0.2), 0.0)
    assert look.trusted(model(0.95), best)
    assert look.trusted(model(0.95**0.51), best)
    assert not look.trusted(model(0.95**0.49), best)
    assert look.trusted(model(0.0), best)
