"""Averages of fits with regularised ARX models, and when they are taken."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.io import loadmat
from scipy.stats import multivariate_normal

from structrank import StateSpace, identify
from structrank.systems.averages import (
    _with_noise,
    averaged,
    averaged_if_doubtful,
    rejected,
    side_by_side,
)
from structrank.systems.balanced import Balanced
from structrank.systems.input_models import input_model
from structrank.systems.maximum_likelihood import MaximumLikelihood
from structrank.systems.noise_fits import Fitted, NoiseFits
from structrank.systems.residual_tests import independence
from structrank.systems.search_rules import IdentificationSearch
from structrank.systems.trials import trials

SLOW = StateSpace([[0.9]], [[1.0]], [[0.4]], [[0.0]])
FAST = StateSpace([[-0.5]], [[1.0]], [[0.8]], [[0.0]])


def record(system, samples, seed, noise=0.1):
    """Inputs, and outputs of spread one, for a model in these units."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((samples, 1))
    y = system.simulate(u, rng=seed)
    y += noise * y.std() * rng.standard_normal(y.shape)
    return u, y / y.std(), replace(system, C=system.C / y.std(), D=system.D / y.std())


def fits(u, y, gaps=None):
    """Fits of one record; of inputs with gaps there is a model."""
    rows = [(0, slice(0, len(y)))]
    shown = u if gaps is None else np.where(gaps, np.nan, u)
    filled = np.nan_to_num(shown)
    model = None if gaps is None else input_model([shown])
    return NoiseFits([shown], [y], [filled], [(filled, y)], rows, [5], model, 0.0, radius=0.999)


def test_innovations_of_known_inputs_are_those_of_the_system():
    u, y, system = record(SLOW, 60, 0)
    system = replace(
        system, K=[[0.3]], innovation_covariance=[[0.1]], x0=[0.2], x0_covariance=[[0.009]]
    )
    y[5:9] = np.nan
    fit = MaximumLikelihood([u], [y], 1, floor=0.0)
    [(inputs, errors)] = fit.innovations(fit.parameters(system, system.x0))
    np.testing.assert_array_equal(inputs, u)
    np.testing.assert_allclose(errors, system.smooth(y, u).innovations, atol=1e-9)


def test_innovations_with_missing_inputs_have_the_joint_density():
    """Their squares and variances add up to the likelihood of what is seen."""
    u, y, system = record(SLOW, 40, 1)
    gaps = np.random.default_rng(0).random(u.shape) < 0.3
    u = np.where(gaps, np.nan, u)
    fit = MaximumLikelihood([u], [y], 1, input_model=input_model([u]))
    system = replace(system, K=[[0.2]], innovation_covariance=[[0.1]])
    [(inputs, errors)] = fit.innovations(fit.parameters(system))
    assert np.array_equal(np.isnan(inputs), gaps)
    white = np.concatenate([inputs[~gaps], errors.ravel()])
    assert abs(np.mean(white**2) - 1) < 0.6
    again = y.copy()
    again[-1] += 1.0
    changed = MaximumLikelihood([u], [again], 1, input_model=fit.input_model)
    [(_, other)] = changed.innovations(fit.parameters(system))
    np.testing.assert_allclose(other[:-1], errors[:-1], atol=1e-9)
    more = multivariate_normal.logpdf(other[-1]) - multivariate_normal.logpdf(errors[-1])
    values = [-f.value(fit.parameters(system)) for f in (changed, fit)]
    assert values[0] - values[1] == pytest.approx(more, rel=1e-6)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_a_model_that_misses_a_mode_is_rejected_and_the_truth_is_not(gaps):
    u, y, truth = record(side_by_side([SLOW, FAST]), 500, 2)
    hidden = np.random.default_rng(5).random(u.shape) < gaps if gaps else None
    whole, search = fits(u, y, hidden), IdentificationSearch()
    noise = {"innovation_covariance": [[0.01]]}
    assert not rejected(whole, Fitted(replace(truth, **noise), 0.0), search)
    one = replace(SLOW, C=truth.C[:, :1], **noise)
    assert rejected(whole, Fitted(one, 0.0), search)


def test_true_models_are_rarely_doubted():
    found = 0
    for seed in range(100):
        u = np.random.default_rng(seed).standard_normal((80, 1))
        errors = np.random.default_rng(1000 + seed).standard_normal((80, 1))
        found += independence([errors], [u], 16).item() < 0.05
    assert found <= 12  # 5 are expected


def test_the_average_simulates_like_the_mean_of_both():
    pair = [replace(SLOW, output_offset=[1.0]), replace(FAST, output_offset=[-2.0])]
    u = np.random.default_rng(3).standard_normal((50, 1))
    mean = (pair[0].simulate(u, [0.0]) + pair[1].simulate(u, [0.0])) / 2
    np.testing.assert_allclose(side_by_side(pair).simulate(u, [0.0, 0.0]), mean, atol=1e-12)


def test_truncation_keeps_what_the_inputs_move():
    rng = np.random.default_rng(4)
    A = np.diag([0.9, 0.5, -0.4])
    system = StateSpace(A, [[1.0], [1.0], [1e-3]], [[1.0, -0.5, 1e-3]], [[0.3]])
    u = rng.standard_normal((300, 1))
    balanced = Balanced(system, [u])
    assert balanced.order(0.999) == 2
    few = balanced.reduced(2, 0.99, (1.0,))
    expected = system.simulate(u, np.zeros(3))
    np.testing.assert_allclose(few.simulate(u, np.zeros(2)), expected, atol=1e-4)
    assert balanced.reduced(4, 0.99, (1.0,)) is None
    assert balanced.reduced(2, 0.8, (1.0,)) is None


def test_an_average_has_no_more_states_than_asked_for():
    u, y, _ = record(side_by_side([SLOW, FAST]), 400, 5)
    model = averaged(fits(u, y), SLOW, 2)
    assert model.order == 2
    assert averaged(fits(u[:10], y[:10]), SLOW, 2) is None


def looked(whole, search, held):
    """A search whose models have no poles at the bound."""
    return SimpleNamespace(
        whole=whole, search=search, trials=held, orders=[4], drifts=False, doubt=lambda model: 1.0
    )


def test_averages_that_simulate_held_out_stretches_badly_are_not_taken():
    u, y, truth = record(side_by_side([SLOW, FAST]), 400, 6, noise=0.0)
    whole = fits(u, y)
    for worse_at_most, taken in ((0.0, False), (np.inf, True)):
        search = IdentificationSearch(worse_at_most=worse_at_most)
        held = trials(whole, search)
        look = looked(whole, search, held)
        one = replace(SLOW, C=truth.C[:, :1], innovation_covariance=[[0.1]])
        fit = whole.judged(one)
        best = SimpleNamespace(models=(one,) * 4, kind="white")
        found = averaged_if_doubtful(look, best, fit)
        assert (found is not fit) == taken
    assert found.loglikelihood > fit.loglikelihood
    assert found.estimate is None


def test_fits_with_few_samples_are_averaged_without_a_test():
    u, y, truth = record(SLOW, 120, 13)
    whole = fits(u, y)
    search = IdentificationSearch(chance=0.0)
    held = trials(whole, search)
    fit = whole.judged(replace(truth, innovation_covariance=[[0.01]]))
    best = SimpleNamespace(models=(truth,) * 4, kind="white")
    count = 120 / whole.parameter_count("white", 1)
    for samples, taken in ((int(count), False), (int(count) + 1, True)):
        few = replace(search, samples=samples)
        look = looked(whole, few, held)
        assert (averaged_if_doubtful(look, best, fit) is not fit) == taken
    look.doubt = lambda model: 1.5  # a pole at the bound
    assert averaged_if_doubtful(look, best, fit) is fit


def test_the_gain_of_an_average_changes_where_the_likelihood_pays_for_it():
    truth = replace(SLOW, K=[[0.8]], innovation_covariance=[[0.3]])
    u = np.random.default_rng(14).standard_normal((600, 1))
    y = truth.simulate(u, rng=14)
    for samples, gain in ((600, 0.8), (6, 0.0)):
        whole = fits(u[:samples], y[:samples])
        found = _with_noise(whole, replace(truth, K=[[0.0]]))
        assert found.model.K[0, 0] == pytest.approx(gain, abs=0.15 * gain)
        np.testing.assert_array_equal(found.model.B, truth.B)


@pytest.mark.filterwarnings("ignore:80 outputs are seen, and the model")
def test_few_samples_do_not_change_the_gain_of_an_average():
    """Predictions of new samples have about the variance that the model says."""
    noise = {"K": 0.3 * np.eye(2), "innovation_covariance": 0.3 * np.eye(2)}
    truth = StateSpace(
        [[0.8, 0.3], [-0.3, 0.8]], [[1, 0.3], [0, 0.5]], [[1, 1], [0, 1]], np.zeros((2, 2)), **noise
    )
    ratios = []
    for seed in range(6):
        u, v = np.random.default_rng(seed).standard_normal((2, 400, 2))
        y, z = truth.simulate(u, rng=100 + seed), truth.simulate(v, rng=200 + seed)
        model = identify(u[:40], y[:40])
        errors = (z - model.predict(z, v))[50:]
        ratios.append(np.mean(errors**2) / np.mean(np.diag(model.innovation_covariance)))
    assert np.median(ratios) < 5  # 16 if K follows 80 numbers


def test_identify_averages_unless_an_order_or_a_noise_model_is_asked_for():
    u, y, truth = record(side_by_side([SLOW, FAST]), 300, 7)
    always = IdentificationSearch(chance=2.0)
    model = identify(u, y, search=always)
    assert model.estimate is None
    assert repr(model).endswith(", average with ARX models)")
    assert np.all(np.isnan(model.pole_errors))
    assert np.any(model.K)
    v = np.random.default_rng(8).standard_normal((300, 1))
    assert model.fit(v, truth.simulate(v))[0] > 90
    assert identify(u, y, search=replace(always, chance=0.0)).estimate is not None
    assert identify(u, y, 2, search=always).estimate is not None
    alone = identify(u, y, noise_model="white", search=always)
    assert alone.estimate is not None
    assert alone.method == "output error"


def test_several_records_have_an_average_too():
    u, y, truth = record(side_by_side([SLOW, FAST]), 400, 9)
    records = [u[:200], u[200:]], [y[:200], y[200:]]
    model = identify(*records, search=IdentificationSearch(chance=2.0))
    assert model.estimate is None
    assert model.x0 is None
    v = np.random.default_rng(8).standard_normal((300, 1))
    assert model.fit(v, truth.simulate(v))[0] > 90


def test_a_right_model_of_records_that_do_not_start_at_rest_is_no_average():
    truth = StateSpace([[0.9]], [[1.0]], [[1.0]], [[0.0]])
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((150, 1)) for _ in range(3)]
    outputs = [truth.simulate(u, [x]) for u, x in zip(inputs, (20.0, -20.0, 15.0), strict=True)]
    outputs = [y + 0.5 * rng.standard_normal(y.shape) for y in outputs]
    model = identify(inputs, outputs)
    assert model.estimate is not None
    average = identify(inputs, outputs, search=IdentificationSearch(chance=2.0))
    assert average.estimate is None
    assert average.innovation_covariance.item() == pytest.approx(0.25, rel=0.4)


def test_averages_have_no_offset_if_none_is_asked_for():
    u, y, _ = record(side_by_side([SLOW, FAST]), 300, 10)
    model = identify(u, y, offset=False, search=IdentificationSearch(chance=2.0))
    assert model.estimate is None
    np.testing.assert_array_equal(model.output_offset, [0.0])


def test_unstable_models_have_no_average():
    u, y, _ = record(SLOW, 300, 11)
    whole = replace(fits(u, y), radius=1.2)
    assert averaged(whole, SLOW, 4) is not None
    assert averaged(whole, replace(SLOW, A=[[1.05]]), 4) is None


def test_next_to_no_noise_needs_no_average():
    u, y, truth = record(SLOW, 300, 12, noise=0.0)
    fit = Fitted(replace(truth, innovation_covariance=[[1e-8]]), 0.0)
    look = SimpleNamespace(whole=fits(u, y), search=IdentificationSearch(chance=2.0))
    assert averaged_if_doubtful(look, None, fit) is fit


CD_PLAYER = Path(__file__).resolve().parents[2] / "shared" / "data" / "daisy" / "cdplayer.mat"


@pytest.mark.skipif(not CD_PLAYER.exists(), reason="needs the DaISy record of a CD player arm")
@pytest.mark.parametrize(("share", "seed"), [(0.2, 1), (0.5, 3)])
def test_cd_player_arm_has_more_modes_than_200_samples_tell(share, seed):
    z = loadmat(CD_PLAYER)["cdplayer"].astype(float)
    first, second = z[:200], z[200:600]
    first = np.where(np.random.default_rng(seed).random(first.shape) < share, np.nan, first)
    model = identify(first[:, :2], first[:, 2:])
    alone = identify(first[:, :2], first[:, 2:], noise_model="innovations")
    assert model.estimate is None
    fits = [np.mean(x.fit(second[:, :2], second[:, 2:])) for x in (model, alone)]
    assert fits[0] > fits[1] + 1.5
