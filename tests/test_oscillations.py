"""Modes of real signals as oscillations, and the units of times and frequencies."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from click.testing import CliRunner
from matplotlib.figure import Figure

from structrank import Modes, forecast, frequencies, modes_table, recover
from structrank.cli import main
from structrank.io.sampling import Sampling, sampling_of
from structrank.modal.modes import ModeErrors
from structrank.modal.oscillations import conjugate_rows
from structrank.signals.reports import modes_section

UNITS = ["frequency Hz", "period s", "damping time s"]


def real_modes(rng, pairs, alone, axes=1, channels=()):
    """Conjugate pairs and real modes in random order, with errors that are alike in a pair."""
    f, d = rng.uniform(0.01, 0.49, (pairs, axes)), rng.uniform(-0.1, 0.1, (pairs, axes))
    a = rng.standard_normal((pairs, *channels)) + 1j * rng.standard_normal((pairs, *channels))
    one = (rng.choice([0.0, 0.5], (alone, axes)), rng.uniform(-0.1, 0.1, (alone, axes)))
    parts = [(f, d, a), (-f, d, a.conj()), (*one, rng.standard_normal((alone, *channels)))]
    f, d, a = (np.concatenate(three) for three in zip(*parts, strict=True))
    error = rng.uniform(0.1, 1, pairs)
    errors = np.concatenate([error, error, rng.uniform(0.1, 1, alone)])
    order = rng.permutation(len(f))
    wide = np.multiply.outer(errors[order], np.ones(axes))
    sizes = np.multiply.outer(errors[order], np.ones(channels))
    return Modes(f[order], d[order], a[order], ModeErrors(wide, 2 * wide, 3 * sizes, 4 * sizes))


def literal_signal(found, shape):
    """The sum in the docstring, value by value."""
    grid = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    total = np.zeros((*shape, *found.amplitudes.shape[1:]))
    for a, phase, f, time in zip(
        found.amplitudes, found.phases, found.frequencies, found.damping_times, strict=True
    ):
        for place in np.ndindex(*shape):
            k = grid[place]
            total[place] += (
                a * np.exp(-np.sum(k / time)) * np.cos(phase + 2 * np.pi * np.sum(f * k))
            )
    return total


@pytest.mark.parametrize(
    ("axes", "channels"), [(1, ()), (1, (3,)), (2, ())], ids=["series", "channels", "image"]
)
def test_oscillations_are_the_signal(rng, axes, channels):
    modes = real_modes(rng, 3, 2, axes, channels)
    found = modes.oscillations()
    assert (len(modes), len(found)) == (8, 5)
    assert np.all(found.frequencies[:, 0] >= 0)
    shape = (7, 5)[:axes]
    np.testing.assert_allclose(literal_signal(found, shape), modes.signal(shape).real, atol=1e-12)
    np.testing.assert_allclose(modes.signal(shape).imag, 0, atol=1e-12)


def test_errors_of_a_pair(rng):
    modes = Modes(
        [0.1, -0.1, 0.0],
        [0.05, 0.05, 0.0],
        [1 + 1j, 1 - 1j, -3.0],
        ModeErrors(
            np.array([[1e-3], [1e-3], [0]]),
            np.array([[2e-3], [2e-3], [0]]),
            np.array([0.1, 0.1, 0.3]),
            np.array([0.2, 0.2, 0.0]),
        ),
    )
    table = modes_table(modes)
    np.testing.assert_allclose(table["amplitude"], [3, 2 * np.sqrt(2)])
    np.testing.assert_allclose(table["phase"], [np.pi, np.pi / 4])
    np.testing.assert_allclose(table["amplitude_stderr"], [0.3, 0.2])
    np.testing.assert_allclose(table["period"], [np.inf, 10])
    np.testing.assert_allclose(table["period_stderr"], [np.nan, 0.1])  # 1e-3 / 0.1^2
    np.testing.assert_allclose(table["damping_time"], [np.inf, 20])
    np.testing.assert_allclose(table["damping_time_stderr"], [np.nan, 0.8])  # 2e-3 / 0.05^2
    names = ("amplitude", "phase", "frequency", "period", "damping_time")
    assert list(table) == [name + end for name in names for end in ("", "_stderr")]
    assert modes.to_frame().shape == (2, 10)


def test_complex_modes_stay_as_they_are(rng):
    modes = Modes([0.1, -0.1], amplitudes=[1.0, 1j])
    assert not modes.real
    assert conjugate_rows(modes.frequencies, modes.dampings, modes.amplitudes) is None
    with pytest.raises(ValueError, match="complex signal"):
        modes.oscillations()
    assert len(modes_table(modes)["frequency"]) == 2
    assert repr(modes).startswith("Modes\n")
    assert not real_modes(rng, 2, 1)[1:].real  # one of a pair is left out


def test_pairs_of_half_turns_in_images():
    """A frequency of one half along an axis is its own opposite."""
    modes = Modes([[-0.5, 0.2], [-0.5, -0.2]], amplitudes=[1j, -1j])
    found = modes.oscillations()
    assert found.frequencies.tolist() == [[0.5, 0.2]]
    np.testing.assert_allclose(literal_signal(found, (4, 3)), modes.signal((4, 3)).real, atol=1e-12)


def test_picture_and_printed_table_have_one_row_per_pair():
    modes = Modes([0.1, -0.1], amplitudes=0.5, sampling=Sampling.of_seconds(0.01))
    axis = modes.plot(Figure())
    np.testing.assert_allclose(axis.lines[0].get_xydata(), [[10, 1]])
    assert axis.get_xlabel() == "frequency (Hz)"
    assert repr(modes).splitlines() == [
        "Oscillations (times in s)",
        "amplitude  phase  frequency (Hz)  period  damping time",
        "        1      0              10     0.1             -",
    ]
    assert repr(modes[:1]).startswith("Modes\n")
    f = np.arange(1, 31) / 100
    many = Modes(np.concatenate([f, -f]))
    assert repr(many).splitlines()[-1] == "  and 10 more"


def test_every_fit_of_a_real_signal_is_real(rng):
    t = np.arange(80)
    wave = np.cos(0.5 * t) * np.exp(-t / 50)
    table = np.stack([wave, 5 * np.roll(wave, 1)], axis=1)
    table = table + 0.02 * rng.standard_normal((80, 2))
    found = recover(table, channels=1, rank=2)
    assert found.modes.real
    assert found.modes.oscillations().amplitudes.shape == (1, 2)
    assert forecast(wave[:40], 3, rank=2).modes.real
    both = wave + 0.1j * rng.standard_normal(80)
    assert not frequencies(both, rank=1).real


INDEXES = {
    "milliseconds": (pd.Index(np.arange(9) * 0.5, name="t [ms]"), 5e-4, "s", 2000, "Hz"),
    "seconds": (pd.date_range("2024-01-01", periods=9, freq="10s"), 10, "s", 0.1, "Hz"),
    "hours": (pd.timedelta_range(0, periods=9, freq="3h"), 3, "h", 8, "per day"),
    "days": (pd.date_range("2024-01-01", periods=9), 1, "days", 365.2425, "per year"),
    "months": (pd.period_range("2023-12", periods=9, freq="M"), 1 / 12, "years", 12, "per year"),
    "ends": (pd.date_range("2023-12", periods=9, freq="QE"), 1 / 4, "years", 4, "per year"),
    "zoned months": (
        pd.date_range("2023-12", periods=9, freq="MS", tz="Europe/Berlin"),
        *(1 / 12, "years", 12, "per year"),
    ),
    "arrow months": (
        pd.Index(pd.date_range("2023-12", periods=9, freq="ME")).astype("timestamp[s][pyarrow]"),
        *(1 / 12, "years", 12, "per year"),
    ),
    "33 days": (
        pd.date_range("2023-01-01", periods=12, freq="33D"),  # each in the next month
        *(33 / 365.2425, "years", 365.2425 / 33, "per year"),
    ),
    "zoned hours": (
        pd.date_range("2024-03-30", periods=60, freq="h", tz="Europe/Berlin"),  # 31 March has 23
        *(1, "h", 24, "per day"),
    ),
    "metres": (pd.Index([0.0, 0.2, 0.4], name="depth (m)"), 0.2, "m", 5, "per m"),
    "years": (pd.Index([1990, 1992, 1994], name="time (years)"), 2, "years", 0.5, "per year"),
}


@pytest.mark.parametrize("name", INDEXES)
def test_units_of_an_index(name):
    index, step, time, rate, frequency = INDEXES[name]
    found = sampling_of(pd.Series(0.0, index))
    assert (found.time, found.frequency) == (time, frequency)
    np.testing.assert_allclose([found.step, found.rate], [step, rate], rtol=1e-9)
    assert sampling_of(pd.Series(0.0, index), dt=0.5) == Sampling(0.5, "s", 2.0, "Hz")


def test_no_units():
    season = pd.DatetimeIndex([f"{y}-{m:02d}-01" for y in (2020, 2021) for m in range(5, 12)])
    for index in (pd.RangeIndex(9), pd.Index(list("abc")), pd.Index([1.0, 2.0]), season):
        assert sampling_of(pd.Series(0.0, index)) is None
    assert sampling_of(np.zeros(5)) is None
    assert sampling_of([1.0, 2.0]) is None


def test_units_of_xarray():
    values = xr.DataArray(np.zeros((2, 4)), {"time": np.arange(4) * 0.1}, ("lead", "time"))
    values["time"].attrs["units"] = "seconds"
    assert sampling_of(values, axis=1).frequency == "Hz"
    assert sampling_of(values, axis=0) is None


@pytest.mark.parametrize("dt", [0, -1.0, np.nan, np.inf, "1s", 1e-320])
def test_bad_dt(dt):
    with pytest.raises(ValueError, match="dt is .* seconds between samples, from"):
        recover(np.ones(20), dt=dt)


def test_dt_is_for_one_axis():
    with pytest.raises(ValueError, match="signal has 2 axes"):
        recover(np.ones((9, 9)), dt=0.1)


def test_units_reach_files_and_terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    t = np.arange(60)
    wave = 2 + np.cos(0.4 * t) + 0.01 * np.random.default_rng(0).standard_normal(60)
    rows = [f"{0.5 * k:g},{v}" for k, v in zip(t, wave, strict=True)]
    (tmp_path / "s.csv").write_text("\n".join(["time (s),wind", *rows]))
    given = ["frequencies", "s.csv", "--quiet", "--rank", "3"]
    head = CliRunner().invoke(main, given).stdout.splitlines()
    assert len(head) == 3  # the constant, and one row for the oscillation
    assert re.search("frequency_Hz,frequency_Hz_stderr,period_s,", head[0])
    given = ["frequencies", "s.csv", "--quiet", "--dt", "0.25", "--rank", "3", "--out", "modes.csv"]
    assert CliRunner().invoke(main, given).exit_code == 0
    table = pd.read_csv("modes.csv")
    np.testing.assert_allclose(table["frequency_Hz"][1], 4 * 0.4 / (2 * np.pi), rtol=1e-3)
    np.testing.assert_allclose(table["period_s"][1], np.pi / 0.4 / 2, rtol=1e-3)


def test_reports_have_oscillations():
    modes = Modes([0.1, -0.1], amplitudes=0.5, sampling=Sampling.of_seconds(0.01))
    section = modes_section(modes)
    assert section.title == "Oscillations"
    table = section.blocks[-1]
    assert list(table.head) == ["amplitude", "phase", "frequency", *UNITS]
    assert len(table.rows) == 1
    assert "times are in s;" in table.caption
    assert modes_section(modes[:1]).title == "Modes"
