"""Responses of systems beside python-control, and their pictures."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from structrank import StateSpace
from structrank.systems.responses import ResponseRange

MODEL = StateSpace(
    [[0.9, 0.2], [-0.2, 0.9]],
    [[1.0, 0.0], [0.0, 2.0]],
    [[1.0, 1.0]],
    [[0.0, 0.5]],
    input_offset=[5.0, 5.0],
    output_offset=[1.0],
    dt=0.05,
)
WITH_NOISE = StateSpace([[0.5]], None, [[1.0]], None, K=[[0.3]], innovation_covariance=[[1.0]])


def test_responses_equal_those_of_control():
    control = pytest.importorskip("control")
    exported = MODEL.to_control()
    assert exported.dt == MODEL.dt
    f = np.array([0.0, 0.3, 4.0, 10.0])
    expected = control.frequency_response(exported, 2 * np.pi * f, squeeze=False)
    np.testing.assert_allclose(
        np.moveaxis(MODEL.frequency_response(f), 0, -1), expected.complex, atol=1e-12
    )
    expected = control.step_response(exported, MODEL.dt * np.arange(30), squeeze=False)
    np.testing.assert_allclose(np.moveaxis(MODEL.step_response(30), 0, -1), expected.outputs)


def test_the_frequency_response_is_the_transform_of_the_impulse_response():
    f = np.linspace(0, 0.5, 7)
    h = WITH_NOISE.impulse_response(60)
    literal = np.einsum("tji,ft->fji", h, np.exp(-2j * np.pi * np.outer(f, np.arange(60))))
    np.testing.assert_allclose(WITH_NOISE.frequency_response(f), literal, atol=1e-12)


def test_bode_plot():
    above, below = MODEL.plot_bode(ax=Figure())
    f, size = above.lines[1].get_data()
    assert f[-1] == pytest.approx(10.0)  # half of the sampling rate
    response = MODEL.frequency_response(f)
    np.testing.assert_allclose(size, 20 * np.log10(np.abs(response[:, 0, 1])))
    phase = np.exp(1j * np.radians(below.lines[1].get_ydata()))
    np.testing.assert_allclose(phase, response[:, 0, 1] / np.abs(response[:, 0, 1]), atol=1e-9)
    assert below.get_xlabel() == "frequency (Hz)"
    assert above.get_xscale() == "log"
    _, below = WITH_NOISE.plot_bode([0.1, 0.2], Figure())
    assert below.get_xlabel() == "frequency (cycles per sample)"


def test_step_plot():
    axis = MODEL.plot_step(ax=Figure())
    t, values = axis.lines[0].get_data()
    np.testing.assert_allclose(values, MODEL.step_response(len(t))[:, 0, 0])
    assert t[1] == MODEL.dt
    assert values[-1] == pytest.approx(MODEL.frequency_response([0.0])[0, 0, 0].real, rel=0.05)
    assert len(WITH_NOISE.plot_step(7, Figure()).lines[0].get_xdata()) == 7


@pytest.mark.parametrize("poles", [[0.0], [1.0, 1.0], [1.1], [0.999999], [-0.5]])
def test_pictures_have_a_range_for_all_poles(poles):
    range_, poles = ResponseRange(), np.array(poles)
    f = range_.frequencies(poles, 2.0)
    assert 0 < f[0] < f[-1] == pytest.approx(0.25)
    assert range_.fewest <= range_.samples(poles) <= range_.most


def test_bad_frequencies():
    with pytest.raises(ValueError, match=r"shape \(1, 1\)"):
        MODEL.frequency_response([[0.1]])
    with pytest.raises(ValueError, match="frequencies"):
        MODEL.frequency_response([np.nan])
    with pytest.raises(ValueError, match="a pole lies at one of the frequencies"):
        StateSpace([[1.0]], [[1.0]], [[1.0]], None).frequency_response([0.0, 0.1])
