"""Volumes in overlapping patches: the same result for any workers, also after interruptions."""

from __future__ import annotations

import csv
from unittest import mock

import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from click.testing import CliRunner

from structrank import recover, recover_patches
from structrank.cli import main
from structrank.distributed import tasks, worker_memory
from structrank.distributed.grid import Grid, blocks
from structrank.io.table import FileError

PATCH, OVERLAP = (16, 20), (4, 6)


def volume(shape=(30, 44), missing=0.2, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    x, y = np.indices(shape)
    truth = (np.cos(0.4 * x + 0.3 * y) + 2).astype(dtype)
    hidden = rng.random(shape) < missing
    hidden[:, : shape[1] // 2] = False  # some patches are complete
    return np.where(hidden, np.nan, truth).astype(dtype), truth


def rough(values, **options):
    """A cheap stand-in for `recover`, whose result depends on all samples of the patch."""
    found = mock.Mock(kind="refit", rank=2, sigma=None)
    found.signal = np.where(np.isnan(values), np.nanmean(values), values) + 0.01
    found.stderr = np.ones(values.shape)
    return found


@pytest.fixture
def cheap(monkeypatch):
    """Count calls of a cheap stand-in for `recover`."""
    calls = mock.Mock(side_effect=rough)
    monkeypatch.setattr(tasks, "recover", calls)
    return calls


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def damaged(path, damage):
    """Damage a piece that a run keeps."""
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-40])
        return
    with np.load(path) as file:
        arrays = dict(file)
    change = {"nan": lambda x: x * np.nan, "text": lambda x: np.array("x")}.get(damage)
    if change is None:
        arrays = {} if damage == "empty" else {name: arrays[name] for name in ("header", "digest")}
    else:
        numbers = [name for name, array in arrays.items() if array.dtype.kind in "fi"]
        arrays |= {name: change(arrays[name]) for name in numbers}
    np.savez(path, **arrays)


def literal(samples, recovered, patch, overlap, denoise=False):
    """The same by a loop over patches, without tasks, blocks and files."""
    total, weight = np.zeros(samples.shape), np.zeros(samples.shape)
    grid = Grid(samples.shape, patch, overlap)
    for k in range(len(grid)):
        box = grid.box(k)
        if np.isnan(samples[box]).any() or denoise:
            ramp = np.ones(())
            for along in grid.weights(k):
                ramp = np.multiply.outer(ramp, along)
            total[box] += ramp * recovered(samples[box]).signal
            weight[box] += ramp
    filled = np.divide(total, weight, out=samples.copy(), where=weight > 0)
    return filled if denoise else np.where(np.isnan(samples), filled, samples)


def test_missing_values_counted_by_blocks_are_those_of_the_patches():
    rng = np.random.default_rng(0)
    samples = np.where(rng.random((23, 17)) < 0.1, np.nan, 1.0)
    samples[:12] = 1.0
    grid = Grid((23, 17), (8, 5), (3, 2))
    counts = np.zeros(len(grid), dtype=int)
    for box in blocks(samples.shape, (10, 7)):
        for k, missing in tasks.count_missing(samples[box], box, grid).items():
            counts[k] += missing
    expected = [np.count_nonzero(np.isnan(samples[grid.box(k)])) for k in range(len(grid))]
    assert counts.tolist() == expected
    assert 0 in expected


@pytest.mark.parametrize(
    ("system", "in_worker"), [("linux", False), ("linux", True), ("win32", True)]
)
def test_workers_keep_freed_memory(system, in_worker, monkeypatch):
    calls = []
    monkeypatch.setattr(worker_memory.sys, "platform", system)
    library = mock.Mock(mallopt=lambda *numbers: calls.append(numbers))
    monkeypatch.setattr(worker_memory.ctypes, "CDLL", lambda name: library)
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    if in_worker:
        monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    worker_memory.keep_freed_memory.__wrapped__()
    applies = in_worker and system == "linux"
    assert calls == ([(-1, 2**28), (-3, 2**25)] if applies else [])


class TestGrid:
    @pytest.mark.parametrize(("length", "size", "overlap"), [(10, 4, 1), (9, 9, 3), (50, 12, 5)])
    def test_patches_cover_an_axis_and_weights_of_regular_ones_add_up_to_one(
        self, length, size, overlap
    ):
        grid = Grid((length,), (size,), (overlap,))
        total, covered = np.zeros(length), np.zeros(length, dtype=int)
        for k in range(len(grid)):
            assert np.all(grid.weights(k)[0] > 0)
            total[grid.box(k)] += grid.weights(k)[0]
            covered[grid.box(k)] += 1
        assert covered.min() == 1
        regular = slice(0, grid.starts[0][-1])
        np.testing.assert_allclose(total[regular], 1.0, atol=1e-12)

    def test_touching_patches_are_those_with_a_common_sample(self):
        grid = Grid((23, 17), (8, 5), (3, 2))
        for box in blocks((23, 17), (6, 7)):
            inside = np.zeros((23, 17), dtype=bool)
            inside[box] = True
            expected = [k for k in range(len(grid)) if inside[grid.box(k)].any()]
            assert grid.touching(box) == expected

    def test_bad_sizes(self):
        for patch, overlap, message in [
            ((4, 4), None, "one number, or one per axis"),
            (0, None, "patch is 0"),
            (4, 4, "overlap is 4 along axis 0, but patches have 4"),
            (4, -1, "overlap is -1"),
        ]:
            with pytest.raises(ValueError, match=message):
                Grid.of((9,), patch, overlap)
        assert Grid.of((9, 40), (-1, 16), None) == Grid((9, 40), (9, 16), (2, 4))


class TestBlending:
    @pytest.mark.parametrize("chunks", [(7, 9), (16, 16), (30, 44)])
    @pytest.mark.parametrize("denoise", [False, True])
    def test_equals_a_loop_over_patches(self, chunks, denoise, cheap, tmp_path):
        samples, _ = volume()
        source = da.from_array(samples, chunks=chunks)
        found = recover_patches(
            source, tmp_path / "a.zarr", patch=PATCH, overlap=OVERLAP, denoise=denoise
        )
        expected = literal(samples, rough, PATCH, OVERLAP, denoise)
        np.testing.assert_allclose(found.array[:], expected, rtol=1e-13)
        assert found.array.chunks == chunks
        assert (cheap.call_count == len(found.rows)) == denoise

    def test_fills_gaps_and_keeps_samples(self, tmp_path):
        samples, truth = volume((20, 36))
        found = recover_patches(samples, tmp_path / "a.zarr", patch=(20, 20), rank=3)
        filled, seen = found.array[:], ~np.isnan(samples)
        np.testing.assert_allclose(filled, truth, atol=1e-6)
        assert np.all(filled[seen] == samples[seen])
        with open(found.table, newline="") as stream:
            table = list(csv.DictReader(stream))
        assert [row["status"] for row in table] == [row.status for row in found.rows]
        assert {"rank", "sigma", "stderr", "gap", "kind", "seconds"} <= table[0].keys()
        assert not (tmp_path / "a.zarr.work").exists()
        assert "nothing" in repr(found)

    def test_one_patch_is_recover_itself(self, tmp_path):
        samples, _ = volume((9, 10), dtype=np.float32)
        found = recover_patches(samples, tmp_path / "a.zarr", patch=-1, rank=3)
        alone = recover(samples, rank=3)
        hidden = np.isnan(samples)
        assert found.array.dtype == np.float32
        np.testing.assert_array_equal(found.array[:][hidden], alone.signal[hidden])
        assert found.rows[0].rank == alone.rank

    def test_what_nothing_is_known_about_stays_missing(self, cheap, tmp_path):
        samples = np.ones((60,))
        samples[20:] = np.nan
        found = recover_patches(samples, tmp_path / "a.zarr", patch=10, overlap=4)
        statuses = [row.status for row in found.rows]
        assert statuses[0] == "complete"
        assert "recovered" in statuses
        assert statuses[-1] == "empty"
        assert found.left == np.count_nonzero(np.isnan(found.array[:])) > 0
        assert f"{found.left} values" in repr(found)

    def test_patches_that_fail_are_told(self, monkeypatch, tmp_path):
        def fails(values, **options):
            if np.isnan(values[0]):
                raise ValueError("too little is seen")
            return rough(values)

        monkeypatch.setattr(tasks, "recover", fails)
        samples = np.ones(40)
        samples[[9, 18, 30]] = np.nan
        found = recover_patches(samples, tmp_path / "a.zarr", patch=12, overlap=3)
        assert "too little is seen" in repr(found)
        assert any(row.status == "failed: too little is seen" for row in found.rows)
        samples[:] = np.nan
        samples[1:] = 1.0
        with pytest.raises(ValueError, match="no patch could be recovered.*too little"):
            recover_patches(samples, tmp_path / "b.zarr", patch=-1)


class TestSources:
    def test_zarr_folders_with_absent_chunks(self, cheap, tmp_path):
        samples, _ = volume()
        path = tmp_path / "big.zarr"
        array = zarr.create_array(path, shape=samples.shape, chunks=(10, 11), dtype=float)
        array[:] = samples
        next((path / "c" / "2").iterdir()).unlink()
        found = recover_patches(path, tmp_path / "a.zarr", patch=PATCH, overlap=OVERLAP)
        gone = array[:]  # the fill value is zero
        holes = np.where((gone == 0) & (np.nan_to_num(samples) != 0), np.nan, samples)
        expected = literal(holes, rough, PATCH, OVERLAP)
        np.testing.assert_allclose(found.array[:], expected, rtol=1e-13)

    def test_xarray_keeps_its_coordinates(self, cheap, tmp_path):
        xr = pytest.importorskip("xarray")
        samples, _ = volume()
        coords = {"depth": np.arange(30) * 0.5}
        source = xr.DataArray(samples, coords, ("depth", "time"), name="wind").chunk(12)
        found = recover_patches(source, tmp_path / "a.zarr", patch=PATCH, overlap=OVERLAP)
        opened = xr.open_zarr(found.target, consolidated=False)["wind"]
        np.testing.assert_allclose(opened.values, literal(samples, rough, PATCH, OVERLAP))
        np.testing.assert_array_equal(opened.depth, coords["depth"])

    @pytest.mark.parametrize(
        ("source", "options", "message"),
        [
            ([1.0, 2.0], {}, "source is list"),
            (np.arange(9), {}, "dtype int64, which cannot hold NaN"),
            (np.ones(9), {"target": "a.npy"}, "extension: .zarr is expected"),
            (np.ones(9), {"colour": 3}, "recover has no option colour"),
            (np.ones(9), {"rng": np.random.default_rng(0)}, "an integer is expected"),
            (np.ones((9, 9)), {"channels": 0}, "patches hold 4 of 9 channels"),
            ("nowhere.zarr", {}, "does not exist"),
        ],
    )
    def test_bad_input(self, source, options, message, tmp_path):
        target = tmp_path / options.pop("target", "a.zarr")
        with pytest.raises((TypeError, ValueError), match=message):
            recover_patches(source, target, patch=4, **options)
        assert list(tmp_path.iterdir()) == []


class TestReruns:
    def test_a_rerun_continues_with_the_patches_that_are_missing(self, monkeypatch, tmp_path):
        samples, _ = volume()
        done = []

        def killed(values, **options):
            if len(done) == 4:
                raise SystemExit
            done.append(1)
            return rough(values)

        monkeypatch.setattr(tasks, "recover", killed)
        how = {"patch": PATCH, "overlap": OVERLAP}
        with pytest.raises(SystemExit):
            recover_patches(samples, tmp_path / "a.zarr", **how)
        with pytest.raises(FileError, match=r"begun with overlap \[4, 6\], but overlap \[4, 5\]"):
            recover_patches(samples, tmp_path / "a.zarr", patch=PATCH, overlap=(4, 5))
        rest = mock.Mock(side_effect=rough)
        monkeypatch.setattr(tasks, "recover", rest)
        found = recover_patches(samples, tmp_path / "a.zarr", **how)
        recovered = [row for row in found.rows if row.status == "recovered"]
        assert rest.call_count == len(recovered) - 4
        np.testing.assert_allclose(
            found.array[:], literal(samples, rough, PATCH, OVERLAP), rtol=1e-13
        )
        with pytest.raises(FileError, match="exists: use --force"):
            recover_patches(samples, tmp_path / "a.zarr", **how)
        before = found.array[:]
        again = recover_patches(samples + 1, tmp_path / "a.zarr", force=True, **how)
        np.testing.assert_allclose(again.array[:], before + 1)

    @pytest.mark.parametrize("damage", ["empty", "cut", "nan", "text", "no array"])
    def test_pieces_that_were_damaged_are_made_again(self, damage, cheap, monkeypatch, tmp_path):
        samples, _ = volume()
        how = {"patch": PATCH, "overlap": OVERLAP}
        with monkeypatch.context() as patched:
            patched.setattr(tasks, "blended", mock.Mock(side_effect=SystemExit))
            with pytest.raises(SystemExit):
                recover_patches(samples, tmp_path / "a.zarr", **how)
        work, count = tmp_path / "a.zarr.work", cheap.call_count
        for path in (work / "missing.npz", min((work / "patches").iterdir())):
            damaged(path, damage)
        (work / "blocks" / "0").write_text("x")
        found = recover_patches(samples, tmp_path / "a.zarr", **how)
        assert cheap.call_count == count + 1
        np.testing.assert_allclose(
            found.array[:], literal(samples, rough, PATCH, OVERLAP), rtol=1e-13
        )

    @pytest.mark.parametrize("text", ["", "3", "[" * 100_000])
    def test_the_settings_of_a_run_that_were_damaged(self, text, cheap, tmp_path):
        (tmp_path / "a.zarr.work").mkdir()
        (tmp_path / "a.zarr.work" / "run.json").write_text(text)
        with pytest.raises(FileError, match=r"run.json was changed .* use --force"):
            recover_patches(volume()[0], tmp_path / "a.zarr", patch=PATCH)
        recover_patches(volume()[0], tmp_path / "a.zarr", patch=PATCH, force=True)

    def test_interrupted_while_blocks_are_written(self, cheap, monkeypatch, tmp_path):
        samples, _ = volume()
        source = da.from_array(samples, chunks=(10, 11))
        how = {"patch": PATCH, "overlap": OVERLAP}
        blended = tasks.blended
        calls = mock.Mock(side_effect=[*[mock.DEFAULT] * 3, SystemExit], wraps=blended)
        monkeypatch.setattr(tasks, "blended", calls)
        with pytest.raises(SystemExit):
            recover_patches(source, tmp_path / "a.zarr", **how)
        count = cheap.call_count
        monkeypatch.setattr(tasks, "blended", blended)
        found = recover_patches(source, tmp_path / "a.zarr", **how)
        assert cheap.call_count == count
        np.testing.assert_allclose(
            found.array[:], literal(samples, rough, PATCH, OVERLAP), rtol=1e-13
        )


def test_workers_do_not_change_the_result(tmp_path):
    distributed = pytest.importorskip("distributed")
    samples, _ = volume((20, 36))
    how = {"patch": (12, 20), "overlap": 4, "rank": 3}
    one = recover_patches(samples, tmp_path / "one.zarr", **how).array[:]
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        two = recover_patches(samples, tmp_path / "two.zarr", client=client, **how).array[:]
        three = recover_patches(samples, tmp_path / "three.zarr", **how).array[:]
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, three)


class TestCommand:
    def run(self, *arguments):
        return CliRunner().invoke(main, [*map(str, arguments), "--workers", "1"])

    def test_fills_a_folder(self, cheap, tmp_path):
        samples, _ = volume()
        zarr.create_array(tmp_path / "big.zarr", data=samples, chunks=(10, 11))
        out = tmp_path / "filled.zarr"
        how = ("--patch", "16,20", "--overlap", "4,6", "--rank", "3")
        done = self.run("recover", tmp_path / "big.zarr", "--out", out, *how)
        assert done.exit_code == 0, done.output
        assert "recovered" in done.output
        assert "filled_patches.csv" in done.output
        assert cheap.call_args.kwargs == {
            "rank": 3,
            "effort": "normal",
            "undamped": False,
            "robust": False,
        }
        expected = literal(samples, rough, PATCH, OVERLAP)
        np.testing.assert_allclose(zarr.open_array(out)[:], expected, rtol=1e-13)
        done = self.run("denoise", tmp_path / "big.zarr", "--out", out, *how)
        assert done.exit_code == 1
        assert "--force" in done.output
        done = self.run("denoise", tmp_path / "big.zarr", "--out", out, "--force", *how)
        expected = literal(samples, rough, PATCH, OVERLAP, denoise=True)
        np.testing.assert_allclose(zarr.open_array(out)[:], expected, rtol=1e-13)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("--patch", "8"), "--patch needs --out"),
            (("--patch", "8", "--out", "a.zarr", "--plot", "a.png"), "--plot cannot be used"),
            (("--patch", "8", "--out", "a.zarr", "--skip-rows", "1"), "--skip-rows cannot be used"),
            (("--patch", "x", "--out", "a.zarr"), "is not a whole number"),
            (("--overlap", "4", "--out", "a.zarr"), "--overlap needs --patch"),
        ],
    )
    def test_options_that_do_not_fit_together(self, arguments, message, tmp_path):
        done = self.run("recover", tmp_path / "big.zarr", *arguments)
        assert done.exit_code != 0
        assert message in done.output
