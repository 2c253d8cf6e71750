"""Pictures by Plotly show what those of matplotlib show."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from structrank import Modes, forecast, recover
from structrank.views import interactive_figure, plot_signal

T = np.arange(60)
DAYS = pd.date_range("2024-01-01", periods=60, name="day")


@pytest.fixture(scope="module")
def found():
    noise = 0.02 * np.random.default_rng(0).standard_normal(60)
    wind = pd.Series(np.cos(0.4 * T) + noise, DAYS, name="wind <b>")
    wind.iloc[[*range(20, 26), 40]] = np.nan
    return recover(wind, rank=2, kind="refit")


def named(figure):
    return {trace.name: trace for trace in figure.data if trace.name}


def test_recovered_series(found):
    figure = found.plot(interactive=True)
    lines = named(figure)
    assert list(lines) == ["95% band", "95% of new samples", "recovered", "seen"]
    np.testing.assert_array_equal(lines["recovered"].y, found.signal)
    np.testing.assert_array_equal(np.asarray(lines["recovered"].x, "M8[D]"), DAYS)
    np.testing.assert_array_equal(lines["seen"].y, found.samples)
    assert (lines["recovered"].mode, lines["seen"].mode) == ("lines", "markers")
    band = np.asarray(lines["95% band"].x, "M8[us]")
    assert (np.nanmin(band), np.nanmax(band)) == (DAYS[0], DAYS[-1])
    assert np.nanmax(lines["95% band"].y) == np.max(found.signal + 1.959964 * found.stderr)
    assert len(figure.layout.shapes) == 2  # the gaps
    assert figure.layout.xaxis.type == "date"
    assert "plotly" in figure.to_html(include_plotlyjs=False)


def test_modes_components_and_forecast(found):
    spectrum = found.modes.plot(interactive=True)
    table = found.modes.table()
    assert spectrum.data[-1].x.tolist() == table["frequency_per_year"].tolist()
    assert spectrum.layout.xaxis.title.text == "frequency (per year)"
    parts = found.components()
    figure = parts.plot(interactive=True)
    assert len(figure.data) == len(parts) + len(parts.stderr)  # lines and bands
    np.testing.assert_array_equal(figure.data[-1].y, parts["rest"])
    assert figure.layout.yaxis.title.text.startswith(next(iter(parts)))
    ahead = forecast(np.cos(0.4 * T), 3, rank=2)
    lines = named(ahead.plot(interactive=True))
    np.testing.assert_array_equal(lines["forecast"].y[-3:], ahead.mean)


def test_scree_and_residuals(found):
    figure = interactive_figure(found.plot_scree)
    assert figure.layout.yaxis.type == "log"
    figure = interactive_figure(found.plot_residuals)
    (bars,) = (trace for trace in figure.data if trace.type == "bar")
    drawn = found.plot_residuals(Figure())[2].patches
    np.testing.assert_allclose(bars.y, [patch.get_height() for patch in drawn])
    np.testing.assert_allclose(bars.width, [patch.get_width() for patch in drawn])


def test_images():
    waves = Modes([[0.1, 0.2], [-0.1, -0.2]], amplitudes=0.5).signal((8, 7)).real
    figure = interactive_figure(lambda drawn: plot_signal(waves.round(1), waves, ax=drawn))
    seen, recovered, _ = figure.data
    np.testing.assert_array_equal(seen.z, waves.round(1))
    np.testing.assert_array_equal(recovered.z, waves)


def test_errors(found, monkeypatch):
    with pytest.raises(ValueError, match="ax is given"):
        found.plot(Figure(), interactive=True)
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(ImportError, match=r"structrank\[interactive\]"):
        found.plot(interactive=True)
