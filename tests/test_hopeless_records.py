"""Records from which `identify` can find nothing, or not everything: what it says."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from structrank import StateSpace, identify
from structrank.systems.order_search import Candidate, Search
from structrank.systems.preparation import excited
from structrank.systems.search_rules import IdentificationSearch

T = 60
RNG = np.random.default_rng(0)
U = RNG.standard_normal((T, 2))
TRUTH = StateSpace([[0.8]], [[1.0, 0.5]], [[1.0], [2.0]], None)
Y = TRUTH.simulate(U) + 0.05 * RNG.standard_normal((T, 2))
LATE = np.arange(T)[:, None] > 2


@pytest.mark.parametrize(
    ("u", "y", "says"),
    [
        (0 * U, Y, "input 0, .* does not excite the system"),
        (0 * U + 3, Y, "input 0, .* does not excite the system"),
        (U * [1, 0], Y, "input 1, .* record with an input that varies"),
        (U, 0 * Y + 2, "output 0, .* is constant where it is seen"),
        (U, Y * [1, 0], "output 1, .* is constant where it is seen"),
        (U, Y * [1, np.nan], "output 1, .* has no samples, only NaN"),
        (U * [np.nan, 1], Y, "input 0, .* has no samples, only NaN"),
        ([U, U], [Y * [1, np.nan]] * 2, "output 1, .* has no samples, only NaN"),
        (U, np.where(LATE & [False, True], np.nan, Y), "output 1, .* is seen 3 times, but at leas"),
        (np.where(LATE & [True, False], np.nan, U), Y, "input 0, .* is seen 3 times, but at least"),
        (U[:5], Y[:5], "there are 5 samples, but .* at least 19: use a longer record"),
    ],
)
def test_errors_say_what_is_missing(u, y, says):
    with pytest.raises(ValueError, match=says):
        identify(u, y)


@pytest.mark.parametrize("kind", ["copy", "sine"])
def test_a_warning_says_that_inputs_vary_too_little(kind):
    u = {"copy": U[:, [0, 0]] * [1, -2], "sine": np.sin(0.3 * np.arange(T))[:, None]}[kind]
    y = StateSpace([[0.8]], np.ones((1, u.shape[1])), [[1.0]], None).simulate(u) + 0.1 * U[:, 1:]
    with pytest.warns(UserWarning, match="the inputs vary too little .* order 3"):
        identify(u, y, 3, noise_model="white")


def test_inputs_that_vary_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = identify(U, Y, 1, noise_model="white")
    assert model.poles[0] == pytest.approx(0.8, abs=0.05)


def test_a_warning_names_outputs_that_copy_others():
    with pytest.warns(UserWarning, match=r"outputs \[0, 2\], counted from 0, are linearly depen"):
        identify(U, np.c_[Y, 3 - 2 * Y[:, 0]], 1, noise_model="white")


def test_a_warning_says_that_there_are_fewer_outputs_than_parameters_need():
    y = np.where(np.arange(T) % 8 > 0, np.nan, Y[:, 0])
    with pytest.warns(UserWarning, match="^8 outputs are seen, and the model of order 1 has"):
        model = identify(U[:, 0], y, mu=1e-2)
    assert model.order == 1


def test_a_warning_says_that_the_fit_may_be_chance():
    """Two white series; models of order 4 predict some stretches better than their mean."""
    u, y = np.random.default_rng(0).standard_normal((2, 100))
    with pytest.warns(UserWarning, match=r"that may be chance|no model predicts"):
        identify(u, y, max_order=4)


@pytest.mark.parametrize(
    ("errors", "doubtful"),
    [
        ([0.9, 1.0, 0.9, 1.02], True),
        ([0.9, 0.9, 0.92, 0.95], False),
        ([0.1, 2.0, 0.3, 3.0], True),
        ([0.1, 1.5], False),
    ],
)
def test_a_held_out_error_is_doubtful_if_stretches_differ(errors, doubtful):
    candidate = Candidate("white", 1, (), np.stack([errors, errors], axis=1), 0.0)
    look = SimpleNamespace(search=IdentificationSearch(), drifts=False)
    assert Search.may_predict_nothing(look, candidate) == doubtful


@pytest.mark.parametrize(
    ("frequencies", "order", "enough"), [(1, 1, True), (1, 2, False), (2, 3, True), (2, 4, False)]
)
def test_a_sinusoid_excites_two_states(frequencies, order, enough):
    """Each one has two degrees of freedom, and a system of order n needs n + 1."""
    t = np.arange(80.0)
    u = sum(np.sin(0.5 * (k + 1) * t + k) for k in range(frequencies))[:, None]
    assert excited([u], order, IdentificationSearch()) == enough
    assert excited([u[:40], u[40:]], order, IdentificationSearch()) == enough


def test_the_last_quarter_may_be_missing():
    y = np.where(np.arange(T)[:, None] < 3 * T // 4, Y, np.nan)
    model = identify(U, y, 1, noise_model="white", mu=1e-2)
    assert model.poles[0] == pytest.approx(0.8, abs=0.05)


def test_records_may_have_an_index_of_times():
    index = pd.date_range("2024", periods=T, freq="20ms")
    u, y = pd.DataFrame(U, index), pd.DataFrame(Y, index)
    assert identify(u, y, 1, noise_model="white").dt == pytest.approx(0.02)
    assert identify(U, y, 1, noise_model="white", dt=0.5).dt == 0.5
    counted = pd.DataFrame(U)
    assert identify(counted, y, 1, noise_model="white").dt == pytest.approx(0.02)
    slow = pd.DataFrame(Y, pd.date_range("2024", periods=T, freq="50ms"))
    with pytest.raises(ValueError, match="0.02 s apart in one record and 0.05 s in another"):
        identify([U, U], [y, slow])
    with pytest.raises(ValueError, match="row 0, counted from 0, is .*00:00 in one and .*100000"):
        identify(u[:-5], y[5:])
    with pytest.raises(ValueError, match="row 0, counted from 0, is 0 in one and 5 in the other"):
        identify(counted[:-5], pd.DataFrame(Y)[5:])
    with pytest.raises(ValueError, match="the index is irregular"):
        identify(u.drop(index[20:30]), y.drop(index[20:30]))


def test_a_switch_and_missing_entries_of_lists_are_numbers():
    switch = U[:, 0] > 0
    y = TRUTH.simulate(np.c_[switch, U[:, 1]].astype(float))[:, 0]
    model = identify(switch, [None, *y[1:]], 1, noise_model="white", mu=1e-2)
    same = identify(switch.astype(float), np.r_[np.nan, y[1:]], 1, noise_model="white", mu=1e-2)
    np.testing.assert_array_equal(model.poles, same.poles)


def test_a_channel_may_be_missing_in_one_of_several_records():
    half = T // 2
    y = [Y[:half], Y[half:] * [1, np.nan]]
    model = identify([U[:half], U[half:]], y, 1, noise_model="white", mu=1e-2)
    assert model.poles[0] == pytest.approx(0.8, abs=0.05)
    np.testing.assert_allclose(model.impulse_response(3)[1, 1], [2.0, 1.0], atol=0.1)
