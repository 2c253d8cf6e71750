"""Pictures hold what they are said to show: read back from the Axes."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib import pyplot
from matplotlib.dates import date2num
from matplotlib.figure import Figure

from structrank import (
    Hankel,
    ModeErrors,
    Modes,
    Problem,
    StateSpace,
    forecast,
    gcgls,
    impute,
    recover,
)
from structrank.io import FileError
from structrank.views import (
    labels_of,
    plot_forecast,
    plot_modes,
    plot_signal,
    save_picture,
)

pytestmark = pytest.mark.xdist_group("plotting")  # one worker makes the results

N = 60
T = np.arange(N)
RNG = np.random.default_rng(0)
SERIES = np.cos(0.4 * T) * np.exp(-T / 60) + 0.05 * RNG.standard_normal(N)
SERIES[20:26] = np.nan
SERIES[40] = np.nan
MISSING = np.isnan(SERIES)
QUICK = {"kind": "refit", "rank": 2, "mu": 0.5}


@pytest.fixture(autouse=True)
def _no_window():
    mpl.use("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def found():
    return recover(SERIES, **QUICK)


@pytest.fixture(scope="module")
def ahead():
    return forecast(SERIES, steps=10)


def line(axis, label):
    (one,) = [line for line in axis.lines if line.get_label() == label]
    return one


def collection(axis, label):
    (one,) = [c for c in axis.collections if c.get_label() == label]
    return one


def labels(axis):
    return {text.get_text() for text in axis.get_legend().get_texts()}


def band(axis, label, x):
    """Lower and upper end of a band at x, from its outline."""
    corners = collection(axis, label).get_paths()[0].vertices
    ends = [corners[np.isclose(corners[:, 0], at), 1] for at in x]
    return np.array([e.min() for e in ends]), np.array([e.max() for e in ends])


class TestSeries:
    def test_lines_dots_and_band_are_the_numbers(self, found):
        axis = found.plot(Figure())
        np.testing.assert_array_equal(line(axis, "recovered").get_ydata(), found.signal)
        np.testing.assert_array_equal(line(axis, "recovered").get_xdata(), T)
        np.testing.assert_array_equal(line(axis, "seen").get_ydata(), SERIES)
        lower, upper = band(axis, "95% band", T[1:-1])
        np.testing.assert_allclose(lower, (found.signal - 1.96 * found.stderr)[1:-1], atol=1e-4)
        np.testing.assert_allclose(upper, (found.signal + 1.96 * found.stderr)[1:-1], atol=1e-4)
        assert axis.get_xlabel() == "sample"
        assert axis.get_ylabel() == "value"
        lower, upper = band(axis, "95% of new samples", T[1:-1])
        np.testing.assert_allclose(lower, found.lower[1:-1])
        np.testing.assert_allclose(upper, found.upper[1:-1])
        assert labels(axis) == {"recovered", "95% band", "95% of new samples", "gap", "seen"}

    def test_gaps_are_where_nothing_is_seen(self, found):
        axis = found.plot(Figure())
        spans = [
            (path.vertices[:, 0].min(), path.vertices[:, 0].max())
            for path in collection(axis, "gap").get_paths()
        ]
        assert spans == [(19.5, 25.5), (39.5, 40.5)]
        covered = [any(a < t < b for a, b in spans) for t in T]
        np.testing.assert_array_equal(covered, MISSING)

    def test_without_gaps_none_is_marked(self):
        axis = recover(np.cos(0.4 * T), **QUICK).plot(Figure())
        assert "gap" not in labels(axis)

    def test_index_of_pandas(self):
        days = pd.date_range("2024-01-01", periods=N, freq="D", name="day")
        axis = recover(pd.Series(SERIES, days, name="wind"), **QUICK).plot(Figure())
        np.testing.assert_array_equal(line(axis, "seen").get_xdata(), days.to_numpy())
        assert axis.get_xlabel() == "day"
        assert axis.get_ylabel() == "wind"
        start = collection(axis, "gap").get_paths()[0].vertices[:, 0].min()
        assert start == date2num(days[20]) - 0.5

    @pytest.mark.parametrize(
        "index",
        [
            pd.period_range("2024-01", periods=N, freq="M"),
            pd.date_range("2024-01-01", periods=N, freq="D", tz="Europe/Berlin"),
            pd.Index(0.5 * T, name="seconds"),
        ],
        ids=["periods", "time zone", "numbers"],
    )
    def test_other_indexes(self, index):
        figure = Figure()
        axis = recover(pd.Series(SERIES, index), **QUICK).plot(figure)
        figure.canvas.draw()
        assert len(line(axis, "recovered").get_xdata()) == N
        assert axis.get_xlabel() == (index.name or "time")

    def test_labels_are_counted(self):
        named = pd.Series(SERIES, [f"day {t}" for t in T])
        axis = recover(named, **QUICK).plot(Figure())
        np.testing.assert_array_equal(line(axis, "seen").get_xdata(), T)

    def test_names_are_no_formulas(self):
        index = pd.RangeIndex(N, name="$t_$")
        figure = Figure()
        axis = recover(pd.Series(SERIES, index, name="$a^$ \\b"), **QUICK).plot(figure)
        figure.canvas.draw()
        assert (axis.get_xlabel(), axis.get_ylabel()) == ("$t_$", "$a^$ \\b")

    def test_xarray_coordinates(self):
        array = xr.DataArray(SERIES, {"depth": 2.0 * T}, ["depth"], name="salt")
        axis = recover(array, **QUICK).plot(Figure())
        np.testing.assert_array_equal(line(axis, "seen").get_xdata(), 2.0 * T)
        assert (axis.get_xlabel(), axis.get_ylabel()) == ("depth", "salt")

    def test_columns_are_stacked(self):
        frame = pd.DataFrame({"a": SERIES, "b": 2 * np.roll(SERIES, 3)})
        result = recover(frame, **QUICK)
        axes = result.plot(Figure())
        assert [axis.get_ylabel() for axis in axes] == ["a", "b"]
        for axis, name in zip(axes, "ab", strict=True):
            np.testing.assert_array_equal(line(axis, "recovered").get_ydata(), result.signal[name])
            np.testing.assert_array_equal(line(axis, "seen").get_ydata(), frame[name])

    @pytest.mark.parametrize("axis", [0, 1])
    def test_channels_of_square_arrays_are_told_apart(self, axis):
        few = np.stack([np.roll(np.cos(0.4 * np.arange(8)), k) for k in range(8)], axis=axis)
        few[tuple([3, 5][:: 1 - 2 * axis])] = 7.0  # so that it is not its own transpose
        result = recover(few, channels=axis, rank=2, mu=0.1, kind="refit")
        panels = result.plot(Figure())
        assert len(panels) == 8
        for k, panel in enumerate(panels):
            np.testing.assert_array_equal(line(panel, "seen").get_ydata(), few.take(k, axis))

    def test_channels_first(self):
        array = xr.DataArray(
            np.stack([SERIES, 2 * SERIES, -SERIES]), {"depth": 2.0 * T}, ["sensor", "depth"]
        )
        for samples, x, label in ((array, 2.0 * T, "depth"), (array.to_numpy(), T, "sample")):
            panels = recover(samples, channels=0, **QUICK).plot(Figure())
            assert [panel.get_ylabel() for panel in panels] == [
                *("channel 1", "channel 2", "channel 3")
            ]
            np.testing.assert_array_equal(line(panels[2], "seen").get_ydata(), -SERIES)
            np.testing.assert_array_equal(line(panels[2], "seen").get_xdata(), x)
            assert panels[2].get_xlabel() == label

    def test_channels_of_unlike_size(self):
        frame = pd.DataFrame({"a": np.cos(0.3 * T), "b": 1000 * np.sin(0.3 * T)})
        panels = recover(frame).plot(Figure())
        for name, panel in zip("ab", panels, strict=True):
            np.testing.assert_array_equal(line(panel, "seen").get_ydata(), frame[name])
            shown = line(panel, "recovered").get_ydata()
            np.testing.assert_allclose(shown, frame[name], atol=1e-3 * frame[name].max())

    def test_numbers_of_channels_need_not_be_regular(self):
        array = xr.DataArray(
            np.stack([SERIES, 2 * SERIES, -SERIES]), {"sensor": [1, 7, 9]}, ["sensor", "time"]
        )
        for channels in (0, -2):
            panels = recover(array, channels=channels, **QUICK).plot(Figure())
            np.testing.assert_array_equal(line(panels[2], "seen").get_ydata(), -SERIES)

    def test_complex_series_have_real_part_and_modulus(self):
        z = np.exp((0.5j - 0.01) * T) + 0.02 * (RNG.standard_normal(N) + 1j)
        result = recover(z, rank=1, mu=0.5, kind="refit")
        real, modulus = result.plot(Figure())
        assert (real.get_ylabel(), modulus.get_ylabel()) == ("real part", "modulus")
        np.testing.assert_array_equal(line(real, "recovered").get_ydata(), result.signal.real)
        np.testing.assert_array_equal(line(modulus, "seen").get_ydata(), abs(z))
        lower, upper = band(modulus, "95% band", T[1:-1])  # half of the variance is along the ray
        np.testing.assert_allclose(
            upper - lower, 2 * 1.96 * result.stderr[1:-1] / 2**0.5, rtol=1e-3
        )

    def test_no_band_where_errors_are_unknown(self, found):
        from dataclasses import replace

        unknown = replace(found, stderr=np.full(N, np.inf))
        assert "95% band" not in labels(unknown.plot(Figure()))

    def test_imputed_samples_have_no_band(self):
        axis = impute(SERIES, **QUICK).plot(Figure())
        lower, upper = band(axis, "95% band", T[1:-1])
        np.testing.assert_array_equal(upper - lower > 0, MISSING[1:-1])

    def test_outliers_are_crosses_and_no_dots(self):
        spoiled = SERIES.copy()
        spoiled[[10, 50]] = 5.0
        axis = recover(spoiled, robust=True, kind="refit").plot(Figure())
        crosses = line(axis, "outlier").get_ydata()
        np.testing.assert_array_equal(np.flatnonzero(~np.isnan(crosses)), [10, 50])
        assert np.all(np.isnan(line(axis, "seen").get_ydata()[[10, 50]]))

    def test_at_most_twelve_channels(self):
        many = np.stack([np.cos(0.4 * T[:20] + k) for k in range(14)], axis=1)
        assert len(recover(many, channels=1, **QUICK).plot(Figure())) == 12


class TestImages:
    def image(self):
        k = np.arange(12)
        image = np.cos(0.7 * k)[:, None] * np.cos(0.4 * k)
        image[3, 4] = image[7, 7:10] = np.nan
        return image

    def test_three_panels(self):
        image = self.image()
        result = recover(image, rank=4, mu=0.5, sigma=0.1, kind="refit")
        seen, recovered, stderr = result.plot(Figure())
        np.testing.assert_array_equal(seen.images[0].get_array().filled(np.nan), image)
        np.testing.assert_array_equal(recovered.images[0].get_array(), result.signal)
        np.testing.assert_array_equal(stderr.images[0].get_array(), result.stderr)
        assert seen.images[0].get_clim() == recovered.images[0].get_clim()
        titles = [panel.get_title() for panel in (seen, recovered, stderr)]
        assert titles == ["seen", "recovered", "standard error"]

    def test_complex_has_two_rows(self):
        image = self.image() * np.exp(0.3j * np.arange(12))
        result = recover(image, rank=4, mu=0.5, sigma=0.1, kind="refit")
        panels = result.plot(Figure())
        np.testing.assert_array_equal(panels[1].images[0].get_array(), result.signal.real)
        np.testing.assert_array_equal(panels[4].images[0].get_array(), abs(result.signal))
        assert panels[3].get_ylabel() == "modulus\nrow"

    def test_volumes_show_their_middle(self):
        k = np.arange(6)
        volume = np.cos(0.9 * (k[:, None, None] + k[:, None] + k))
        result = recover(volume, rank=2, mu=0.5, sigma=0.1, kind="refit")
        panels = result.plot(Figure())
        np.testing.assert_array_equal(panels[1].images[0].get_array(), result.signal[3])
        assert panels[0].get_ylabel() == "slice [3, :, :]\nrow"


class TestForecast:
    def test_contents(self, ahead):
        axis = ahead.plot(Figure())
        np.testing.assert_array_equal(line(axis, "seen").get_ydata(), SERIES)
        np.testing.assert_allclose(line(axis, "fit").get_ydata(), ahead.refit.y[:N], atol=1e-12)
        np.testing.assert_array_equal(line(axis, "forecast").get_ydata(), ahead.mean)
        np.testing.assert_array_equal(line(axis, "forecast").get_xdata(), np.arange(N, N + 10))
        lower, upper = band(axis, "95% interval", np.arange(N + 1, N + 9))
        np.testing.assert_allclose(lower, ahead.lower[1:-1])
        np.testing.assert_allclose(upper, ahead.upper[1:-1])

    def test_dates_go_on_and_columns_are_stacked(self):
        days = pd.date_range("2024-01-01", periods=N, freq="D", name="day")
        frame = pd.DataFrame({"a": SERIES, "b": 2 * SERIES}, days)
        result = forecast(frame, steps=5, level=0.8)
        axes = result.plot(Figure())
        assert [axis.get_ylabel() for axis in axes] == ["a", "b"]
        assert axes[1].get_xlabel() == "day"
        x = line(axes[1], "forecast").get_xdata()
        np.testing.assert_array_equal(x, pd.date_range("2024-03-01", periods=5).to_numpy())
        np.testing.assert_array_equal(line(axes[1], "forecast").get_ydata(), result.mean["b"])
        assert "80% interval" in labels(axes[0])

    def test_channels_of_unlike_size(self):
        frame = pd.DataFrame({"a": np.cos(0.3 * T), "b": 1000 * np.sin(0.3 * T)})
        result = forecast(frame, steps=5)
        for name, panel in zip("ab", result.plot(Figure()), strict=True):
            fit, largest = line(panel, "fit").get_ydata(), frame[name].max()
            np.testing.assert_allclose(fit, frame[name], atol=1e-3 * largest)

    def test_numbers_of_channels_need_not_be_regular(self):
        array = xr.DataArray(
            np.stack([SERIES, 2 * SERIES, -SERIES], axis=1),
            {"sensor": [1, 7, 9]},
            ["time", "sensor"],
        )
        result = forecast(array, steps=5, channels=1, rank=2)
        panel = result.plot(Figure())[2]
        np.testing.assert_array_equal(line(panel, "forecast").get_ydata(), result.mean[:, 2])
        np.testing.assert_array_equal(line(panel, "forecast").get_xdata(), np.arange(N, N + 5))

    def test_lists_go_on_where_they_end(self):
        axis = forecast(SERIES.tolist(), steps=5, rank=2).plot(Figure())
        np.testing.assert_array_equal(line(axis, "forecast").get_xdata(), np.arange(N, N + 5))

    def test_complex_series_have_the_interval_of_their_real_part(self):
        noise = RNG.standard_normal((2, N)).T @ [1, 1j]
        result = forecast(np.exp((0.5j - 0.01) * T) + 0.02 * noise, steps=6, rank=1)
        real, modulus = result.plot(Figure())
        lower, upper = band(real, "95% interval", np.arange(N + 1, N + 5))
        np.testing.assert_allclose(lower, result.lower.real[1:-1])
        np.testing.assert_allclose(upper, result.upper.real[1:-1])
        reach = 1.959964 * result.stderr[1:-1] / 2**0.5
        np.testing.assert_allclose(upper - result.mean.real[1:-1], reach, rtol=1e-5)
        assert modulus.collections[:] == []

    def test_times_that_are_counted_go_on(self):
        times = pd.to_timedelta(np.arange(N), unit="h")
        axis = forecast(pd.Series(SERIES, times), steps=5, rank=2).plot(Figure())
        np.testing.assert_array_equal(line(axis, "forecast").get_xdata(), np.arange(N, N + 5))

    def test_long_series_show_their_end(self):
        long = np.cos(0.4 * np.arange(300))
        axis = forecast(long, steps=5).plot(Figure())
        np.testing.assert_array_equal(line(axis, "seen").get_ydata(), long[-200:])


class TestResults:
    def test_convergence(self, found):
        objective, gap = found.result.plot(Figure())
        history = found.result.history
        np.testing.assert_array_equal(objective.lines[0].get_ydata(), history.objective)
        expected = [np.nan if g == 0 else g for g in history.gap]
        np.testing.assert_array_equal(gap.lines[0].get_ydata(), expected)
        np.testing.assert_array_equal(gap.lines[0].get_xdata(), range(len(history)))
        assert gap.get_yscale() == "log"
        assert (objective.get_ylabel(), gap.get_xlabel()) == ("objective", "iteration")

    def test_singular_values(self, found):
        expected = np.linalg.svd(found.result.X.to_dense(), compute_uv=False)
        shown = found.result.plot_singular_values(Figure()).lines[0].get_ydata()
        np.testing.assert_allclose(shown, expected[: len(shown)], rtol=1e-9)
        assert np.all(expected[len(shown) :] < 1e-10 * expected[0])

    def test_a_zero_result(self):
        problem = Problem(Hankel(20, window=10), np.ones(20), mu=100.0, measure="lifted")
        result = gcgls(problem, lam=1.0)
        figure = Figure()
        assert len(result.plot_singular_values(figure).lines[0].get_ydata()) == 0
        figure.canvas.draw()
        result.plot(Figure())


class TestModes:
    modes = Modes(
        [0.1, -0.3],
        dampings=[0.0, 0.05],
        amplitudes=[1.0, 2j],
        stderr=ModeErrors(
            np.array([[0.01], [0.02]]),
            np.array([[0.0], [0.01]]),
            np.array([0.1, np.inf]),
            np.array([0.1, 0.2]),
        ),
    )

    def test_spectrum(self):
        axis = self.modes.plot(Figure())
        np.testing.assert_array_equal(axis.lines[0].get_xydata(), [[-0.3, 2], [0.1, 1]])
        stems = axis.collections[0].get_segments()
        np.testing.assert_array_equal(stems, [[[-0.3, 0], [-0.3, 2]], [[0.1, 0], [0.1, 1]]])
        sideways, upright = (c.get_segments() for c in axis.collections[1:3])
        np.testing.assert_allclose(sideways, [[[-0.32, 2], [-0.28, 2]], [[0.09, 1], [0.11, 1]]])
        np.testing.assert_allclose(upright[1], [[0.1, 0.9], [0.1, 1.1]])
        assert len(upright[0]) == 0  # nothing is known of it
        assert axis.get_ylabel() == "amplitude"

    def test_several_channels_count_together(self):
        amplitudes = np.array([[3.0, 4.0]])
        errors = ModeErrors(
            np.array([[0.01]]), np.array([[0.0]]), np.array([[0.1, 0.2]]), np.zeros((1, 2))
        )
        axis = Modes([0.1], 0.0, amplitudes, errors).plot(Figure())
        assert axis.lines[0].get_ydata() == [5.0]
        (ends,) = axis.collections[2].get_segments()
        expected = np.hypot(3 * 0.1, 4 * 0.2) / 5
        np.testing.assert_allclose(ends[:, 1], [5 - expected, 5 + expected])

    def test_more_axes_are_scattered(self):
        frequencies = np.array([[0.1, 0.2, 0.3], [-0.1, -0.2, 0.4]])
        first, second = Modes(frequencies, amplitudes=[2.0, 1.0]).plot(Figure())
        np.testing.assert_array_equal(first.collections[0].get_offsets(), frequencies[:, :2])
        np.testing.assert_array_equal(second.collections[0].get_offsets(), frequencies[:, 1:])
        assert (second.get_xlabel(), second.get_ylabel()) == ("frequency 2", "frequency 3")

    def test_no_modes_at_all(self):
        nothing = Modes(np.zeros((0, 1)))
        assert len(nothing.plot(Figure()).lines[0].get_xdata()) == 0
        assert len(nothing.plot_poles(Figure()).lines[1].get_xdata()) == 0

    def test_poles_of_modes(self):
        axis = self.modes.plot_poles(Figure())
        np.testing.assert_allclose(np.hypot(*axis.lines[0].get_xydata().T), 1.0)
        expected = np.exp(2j * np.pi * np.array([-0.3, 0.1]) - [0.05, 0.0])
        np.testing.assert_allclose(axis.lines[1].get_xydata() @ [1, 1j], expected)
        assert axis.get_aspect() == 1.0

    def test_poles_of_axes_have_colours(self):
        axis = Modes(np.array([[0.1, 0.2]])).plot_poles(Figure())
        assert labels(axis) == {"axis 1", "axis 2"}

    def test_poles_of_a_model(self):
        model = StateSpace([[0.5, 0.2], [0.0, -0.3]], np.ones((2, 1)), [[1, 1]], [[1]])
        axis = model.plot_poles(Figure())
        np.testing.assert_allclose(sorted(axis.lines[1].get_xdata()), [-0.3, 0.5])


def test_labels_of_containers():
    days = pd.period_range("2024-01", periods=3, freq="M", name="month")
    found = labels_of(pd.DataFrame({"a": [1.0, 2, 3], 7: [1.0, 2, 3]}, days), channels=1)
    assert (found.names, found.axis) == (("a", "7"), "month")
    np.testing.assert_array_equal(found.positions, days.to_timestamp().to_numpy())
    assert labels_of(np.ones((2, 3)), channels=0).names == ("channel 1", "channel 2")
    assert labels_of([1.0, 2.0]).positions is None


class TestAxes:
    def test_given_axes_are_used(self, found):
        axis = Figure().subplots()
        assert found.plot(axis) is axis
        both = Figure().subplots(2)
        assert list(found.result.plot(both)) == list(both)

    def test_new_figures_are_those_of_pyplot(self, found):
        axis = found.plot()
        assert axis.figure is pyplot.gcf()

    def test_methods_draw_what_functions_draw_of_arrays(self, found, ahead):
        by_method, by_function = found.plot(Figure()), Figure()
        plot_signal(SERIES, found.signal, found.stderr, ax=by_function)
        for one, other in zip(by_method.lines, by_function.axes[0].lines, strict=True):
            np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())
        fit = ahead.modes.signal(N).real
        axis = plot_forecast(SERIES, ahead.mean, ahead.lower, ahead.upper, fit=fit, ax=Figure())
        for one, other in zip(ahead.plot(Figure()).lines, axis.lines, strict=True):
            np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())

    def test_nothing_is_shown(self, found, monkeypatch):
        shown = []
        monkeypatch.setattr(pyplot, "show", lambda: shown.append(True))
        found.plot()
        assert not shown

    def test_wrong_axes(self, found):
        with pytest.raises(ValueError, match="ax has 1 axes, but the picture has 2 panels"):
            found.result.plot(Figure().subplots())
        figure = Figure()
        figure.subplots()
        with pytest.raises(ValueError, match="already has axes"):
            found.plot(figure)

    def test_wrong_shapes(self):
        with pytest.raises(ValueError, match=r"signal has shape \(5,\), but \(60,\) is expected"):
            plot_signal(SERIES, SERIES[:5], ax=Figure())
        with pytest.raises(ValueError, match=r"fit has shape \(5,\), but \(60,\) is expected"):
            plot_forecast(SERIES, [1.0], [0.0], [2.0], fit=SERIES[:5], ax=Figure())
        with pytest.raises(ValueError, match=r"but \(r, d\) and .* are expected"):
            plot_modes([0.1], [1.0], ax=Figure())

    def test_without_matplotlib(self, found, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"structrank\[plot\]"):
            found.plot()


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.PDF", b"%PDF")]
    )
    def test_formats(self, tmp_path, name, start):
        save_picture(tmp_path / name, Modes([0.1]).plot_poles)
        assert (tmp_path / name).read_bytes().startswith(start)
        assert [path.name for path in tmp_path.iterdir()] == [name]

    def test_an_old_file_is_kept(self, tmp_path):
        path = tmp_path / "a.png"
        path.write_text("old")
        with pytest.raises(FileError, match="exists: use --force"):
            save_picture(path, Modes([0.1]).plot_poles)
        assert path.read_text() == "old"
        save_picture(path, Modes([0.1]).plot_poles, force=True)
        assert path.read_bytes().startswith(b"\x89PNG")

    def test_nothing_is_left_of_a_failure(self, tmp_path, monkeypatch):
        def fail(self, path, **_):
            path.write_text("half")
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Figure, "savefig", fail)
        with pytest.raises(FileError, match=r"a.png cannot be written: No space left on device"):
            save_picture(tmp_path / "a.png", Modes([0.1]).plot_poles)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("a.doc", "unknown extension: known are .png, .svg, .pdf"),
            ("nowhere/a.png", "is not a folder"),
            ("folder.png", "is a folder"),
        ],
    )
    def test_bad_places(self, tmp_path, name, message):
        (tmp_path / "folder.png").mkdir()
        with pytest.raises(FileError, match=message):
            save_picture(tmp_path / name, Modes([0.1]).plot_poles)


def test_times_on_axes():
    """Seconds where `dt` is known, dates where the index has them, also below residuals."""
    wave = np.cos(0.3 * np.arange(60)) + 0.1 * np.cos(2.9 * np.arange(60) ** 2)
    found = recover(wave, dt=0.5, rank=2)
    figures = [found.plot(Figure()), found.plot_components(Figure())[-1]]
    figures += [found.plot_residuals(Figure())[0], forecast(wave, 3, rank=2, dt=0.5).plot(Figure())]
    assert [axis.get_xlabel() for axis in figures] == ["time (s)"] * 4
    assert [float(np.max(axis.lines[0].get_xdata())) for axis in figures[:3]] == [29.5] * 3
    dated = recover(pd.Series(wave, pd.date_range("2024-05-01", periods=60)), rank=2)
    (points, *_), _, _ = (axis.lines for axis in dated.plot_residuals(Figure()))
    assert points.get_xdata()[0] == np.datetime64("2024-05-01")
