"""Known frequencies: modes held there, beside whatever else is found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from structrank import recover
from structrank.components.regression import Regression
from structrank.signals.known_frequencies import Tones

pytestmark = pytest.mark.usefixtures("one_round_of_regression")

T = np.arange(90)


def samples(seed=0):
    """A hum of known frequency, a tone next to it that is not known, and noise."""
    rng = np.random.default_rng(seed)
    hum, tone = 0.7 * np.cos(2 * np.pi * 0.1 * T + 1), 1.5 * np.cos(2 * np.pi * 0.13 * T - 0.5)
    y = hum + tone + 0.2 * rng.standard_normal(len(T))
    y[40:50] = np.nan
    return hum + tone, y


def test_modes_are_held_at_known_frequencies_beside_others():
    truth, y = samples()
    found = recover(y, known_frequencies=0.1, kind="refit", rank=2)
    assert (found.kind, found.rank) == ("refit", 4)
    oscillations = found.modes.oscillations()
    held = np.argmin(np.abs(oscillations.frequencies[:, 0] - 0.1))
    assert oscillations.frequencies[held, 0] == 0.1
    assert oscillations.stderr["frequencies"][held, 0] == 0
    assert oscillations.amplitudes[held] == pytest.approx(0.7, abs=0.15)
    assert np.sqrt(np.mean((found.signal - truth) ** 2)) < 0.08
    np.testing.assert_allclose(found.modes.signal(len(T)).real, found.signal, atol=1e-6)
    assert found.regression is None


def test_a_known_frequency_alone_is_least_squares(rng):
    t = T[:50]
    y = 0.4 * np.cos(0.2 * np.pi * t + 1) + rng.standard_normal(50)
    series = pd.Series(y, pd.Index(t / 50, name="time (s)"))
    found = recover(series, known_frequencies=[5.0], kind="refit")
    assert (found.kind, found.rank) == ("refit", 2)
    assert found.modes.sampling.frequency == "Hz"
    X = np.column_stack([np.cos(0.2 * np.pi * t), np.sin(0.2 * np.pi * t)])
    tones, plain = Tones(np.array([0.1])), np.linalg.lstsq(X, y, rcond=None)[0]
    np.testing.assert_array_equal(tones.columns(50).values, X)
    np.testing.assert_allclose(2 * abs(found.modes.amplitudes), np.hypot(*plain), rtol=1e-6)
    sigma = np.sqrt(np.sum((y - X @ plain) ** 2) / 48)
    hat = np.sqrt(np.diag(X @ np.linalg.inv(X.T @ X) @ X.T))
    np.testing.assert_allclose(found.stderr, sigma * hat, rtol=1e-6)


def test_errors_of_amplitudes_and_phases_are_those_of_coefficients():
    covariance = np.array([[0.04, 0.01, 0], [0.01, 0.09, 0], [0, 0, 0.25]])
    coefficients = np.array([2.0, -1.0, 3.0])
    tones = Tones(np.array([0.1, 0.5]))
    modes = tones.modes(Regression((), coefficients, covariance, np.zeros((0, 3)), None))
    np.testing.assert_allclose(
        modes.signal(9).real, tones.columns(9).values @ coefficients, atol=1e-12
    )
    draws = np.random.default_rng(0).multivariate_normal(coefficients, 1e-4 * covariance, 4000)
    numbers = (draws[:, 0] - 1j * draws[:, 1]) / 2
    pair = np.flatnonzero(modes.frequencies[:, 0] == 0.1)[0]
    assert modes.stderr.amplitudes[pair] == pytest.approx(100 * np.abs(numbers).std(), rel=0.05)
    assert modes.stderr.phases[pair] == pytest.approx(100 * np.angle(numbers).std(), rel=0.05)
    alone = np.flatnonzero(np.abs(modes.frequencies[:, 0]) == 0.5)[0]
    assert modes.stderr.amplitudes[alone] == pytest.approx(0.5)


@pytest.mark.nightly
def test_components_have_known_frequencies_beside_them():
    rng = np.random.default_rng(3)
    y = np.cumsum(0.3 * rng.standard_normal(50)) + 2 * np.cos(2 * np.pi * 0.21 * np.arange(50))
    found = recover(y, known_frequencies=[0.21], kind="components", effort="fast")
    assert found.regression.names == ("cos 0.21", "sin 0.21")
    np.testing.assert_allclose(found.regression.coefficients, [2, 0], atol=0.4)


@pytest.mark.parametrize(
    ("known", "options", "message"),
    [
        ([], {}, r"known_frequencies is \[\]"),
        ([0.1, 0.1], {}, "different numbers"),
        (0.6, {}, r"up to 0.5 \(cycles per sample\)"),
        (600.0, {"dt": 0.001}, r"up to 500 \(Hz\)"),
        ("0.1", {}, "known_frequencies is '0.1'"),
        (0.1, {"robust": True}, "known_frequencies and robust"),
        (0.1, {"times": T}, "known_frequencies"),
        (0.1, {"clipped": (-1, 1)}, "clipped and known_frequencies"),
    ],
)
def test_frequencies_that_make_no_sense_are_refused(known, options, message):
    with pytest.raises(ValueError, match=message):
        recover(samples()[1], known_frequencies=known, **options)


def test_known_frequencies_are_for_one_real_series():
    with pytest.raises(ValueError, match="one real series"):
        recover(np.zeros((9, 9)), known_frequencies=0.1)
