"""Data that ship with the package: as they were recorded, small, and with their licences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from structrank import StateSpace, VibrationModes, datasets
from structrank.io import read

FOLDER = Path(datasets.__file__).parent
SHARED = Path(__file__).parents[2] / "shared" / "data"
RECORDINGS = [datasets.nmr_decay, datasets.mr_spectroscopy, datasets.kspace]
SIMULATIONS = {
    "season": (datasets.season_with_trend, {"length": 60}),
    "decay": (datasets.decay, {"length": 60}),
    "seismic": (datasets.seismic_gather, {"traces": 9, "samples": 50}),
    "building": (datasets.building, {"steps": 300}),
    "plant": (datasets.plant, {"steps": 300}),
}


def test_files_are_small_and_have_licences():
    files = sorted(FOLDER.glob("*.npz"))
    assert sum(path.stat().st_size for path in files) < 300_000
    licences = (FOLDER / "LICENSE.txt").read_text()
    for path in files:
        assert path.name in licences
        with np.load(path, allow_pickle=False) as stored:
            assert stored.files
    assert len(files) == len(RECORDINGS)


@pytest.mark.parametrize("load", RECORDINGS, ids=lambda f: f.__name__)
def test_recordings(load):
    found = load()
    assert np.iscomplexobj(found.values)
    assert np.any(np.abs(np.nan_to_num(found.values)) > 0)
    assert found.licence in ("MIT", "BSD-3-Clause")
    assert found.source.split()[0] in repr(found)
    assert found.source.split()[0].split("-")[0] in load.__doc__


def shared(name):
    if not (SHARED / name).exists():
        pytest.skip(f"the shared recording {name} is not there")
    return SHARED / name


def test_recordings_are_the_originals():
    whole = read(shared("nmr/nmrglue_1D_time.fid")).values
    np.testing.assert_array_equal(datasets.nmr_decay().values, whole)
    raw = shared("mrs/SVS_30.rda").read_bytes()
    end = b">>> End of header <<<\r\n"
    numbers = np.frombuffer(raw[raw.index(end) + len(end) :], dtype="<f8").view(complex)
    np.testing.assert_array_equal(datasets.mr_spectroscopy().values, numbers)
    whole = np.load(shared("mri/cartesian_ksp.npy"))
    middle = whole[:, 67:163, 42:138]
    found = datasets.kspace()
    np.testing.assert_array_equal(np.nan_to_num(found.values), middle)
    assert found.about["largest"] == np.abs(whole).max()


@pytest.mark.parametrize("name", SIMULATIONS)
def test_simulations_follow_their_seed(name):
    make, options = SIMULATIONS[name]
    one, same, other = make(**options, rng=1), make(**options, rng=1), make(**options, rng=2)
    np.testing.assert_array_equal(one.samples, same.samples)
    assert not np.array_equal(one.samples, other.samples)
    clean = make(**options, noise=0, rng=1)
    np.testing.assert_array_equal(clean.samples, clean.truth)
    np.testing.assert_array_equal(clean.truth, one.truth)
    assert np.std(one.samples - one.truth) > 0
    with pytest.raises(ValueError, match="noise"):
        make(**options, noise=-1.0)


def test_truths_are_what_they_say():
    season = datasets.season_with_trend(60)
    np.testing.assert_allclose(season.truth, season.about["trend"] + season.about["season"])
    np.testing.assert_allclose(season.about["season"][12:], season.about["season"][:-12])
    found = datasets.decay(50, noise=0)
    ratios = [
        np.exp(2j * np.pi * f - d) for f, d in zip(*list(found.about.values())[:2], strict=True)
    ]
    powers = np.array([[z**k for z in ratios] for k in range(50)])
    np.testing.assert_allclose(powers @ found.about["amplitudes"], found.truth, atol=1e-12)
    arm = datasets.plant(100)
    again = arm.about["model"].simulate(arm.about["inputs"], np.zeros(6))
    np.testing.assert_allclose(again, arm.truth)


def test_modes_of_the_building(monkeypatch):
    """Those of the sampled system, whose poles are exponentials of the continuous ones."""
    made = []
    monkeypatch.setattr(
        "structrank.datasets.machines.StateSpace",
        lambda *arrays, **options: made.append(StateSpace(*arrays, **options)) or made[-1],
    )
    about = datasets.building(3, steps=10).about
    modes = VibrationModes.of(made[0])
    np.testing.assert_allclose(modes.frequencies, about["frequencies"], rtol=1e-6)
    np.testing.assert_allclose(modes.dampings, about["dampings"], rtol=1e-6)


def test_table_of_sensors():
    table = datasets.sensor_table(rng=1)
    assert list(table) == ["temperature", "humidity", "pressure"]
    assert table.index.name == "time"
    assert 60 < table.isna().to_numpy().sum() <= 93
    assert table.equals(datasets.sensor_table(rng=1))
