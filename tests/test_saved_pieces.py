"""Calls of `recover` that are interrupted and resumed end with the result of one that was not."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from structrank import Checkpoint, denoise, impute, recover, recover_many
from structrank import _pieces as pieces
from structrank.cli import main
from structrank.io.saved_runs import read_saved_run, write_saved_run
from structrank.io.table import FileError


class KilledError(Exception):
    """A call ends here, whatever it does."""


def walk(n=60, seed=0, real=True):
    rng = np.random.default_rng(seed)
    y = np.cumsum(rng.standard_normal(n) + (0 if real else 1j) * rng.standard_normal(n))
    y[20:24] = np.nan
    return y


def modes(n=150, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    y = np.cos(0.3 * t) + np.cos(0.7 * t + 1) + 0.1 * rng.standard_normal(n)
    return np.where(rng.random(n) < 0.2, np.nan, y)


CALLS = {
    "modes": lambda seed, **how: recover(modes(seed=seed), **how),
    "walk": lambda seed, **how: recover(walk(seed=seed), effort="fast", **how),
}
LONG_CALLS = {
    **CALLS,
    "complex walk": lambda seed, **how: recover(walk(seed=seed, real=False), **how),
    "given mu": lambda seed, **how: recover(walk(seed=seed), mu=3.0, **how),
    "robust": lambda seed, **how: recover(modes(seed=seed), robust=True, **how),
    "columns": lambda seed, **how: recover(
        np.stack([modes(seed=seed), walk(150, seed)], axis=1), channels=1, effort="fast", **how
    ),
    "picture": lambda seed, **how: recover(
        np.random.default_rng(seed).standard_normal((12, 12)).cumsum(0).cumsum(1), **how
    ),
    "generator": lambda seed, **how: recover(walk(), rng=np.random.default_rng(seed), **how),
}


def interrupted(call, path, monkeypatch, counts):
    """Make a call that is killed after each of these numbers of new pieces, and resumed."""
    add, resume = pieces.Journal.add, None
    for count in counts:
        left = [count]

        def killing(journal, name, packed, left=left):
            add(journal, name, packed)
            left[0] -= 1
            if left[0] < 0:
                raise KilledError

        monkeypatch.setattr(pieces.Journal, "add", killing)
        try:
            return call(checkpoint=Checkpoint(path, every=0), resume=resume)
        except KilledError:
            resume = path
    monkeypatch.setattr(pieces.Journal, "add", add)
    return call(checkpoint=path, resume=resume)


def assert_same(one, two):
    assert (one.kind, one.rank, one.groups) == (two.kind, two.rank, two.groups)
    for name in ("signal", "stderr", "lower", "upper", "outliers"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("name", CALLS)
def test_an_interrupted_call_ends_with_the_same_result(name, tmp_path, monkeypatch):
    def call(**how):
        return CALLS[name](0, **how)

    counts = np.random.default_rng(1).integers(0, 12, size=2)
    assert_same(interrupted(call, tmp_path / "run.npz", monkeypatch, counts), call())


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::structrank.ConvergenceWarning")
@pytest.mark.parametrize("name", LONG_CALLS)
@pytest.mark.parametrize("seed", range(2))
def test_twenty_interruptions(name, seed, tmp_path, monkeypatch):
    def call(**how):
        return LONG_CALLS[name](seed, **how)

    counts = np.random.default_rng(seed).integers(0, 5, size=20)
    assert_same(interrupted(call, tmp_path / "run.npz", monkeypatch, counts), call())


def test_finished_pieces_are_not_computed_again(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    once = impute(modes(), checkpoint=path)

    def refuse(journal, name, packed):
        raise AssertionError(name)

    monkeypatch.setattr(pieces.Journal, "add", refuse)
    assert_same(impute(modes(), resume=path), once)


def test_ctrl_c_saves_what_is_finished(tmp_path, monkeypatch):
    path, add = tmp_path / "run.npz", pieces.Journal.add

    def interrupt(journal, name, packed):
        add(journal, name, packed)
        if journal.place == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(pieces.Journal, "add", interrupt)
    with pytest.raises(KeyboardInterrupt):
        denoise(modes(), checkpoint=path)
    assert len(read_saved_run(path)[0]["pieces"]) == 4


def test_what_a_time_limit_ended_is_not_kept(tmp_path):
    path = tmp_path / "run.npz"
    with pytest.warns(match="time limit"):
        recover(walk(), max_time=1e-6, checkpoint=path)
    assert read_saved_run(path)[0]["pieces"] == []


def test_foreign_and_broken_checkpoints_are_refused(tmp_path):
    path, newer, cut = (tmp_path / f"{name}.npz" for name in ("run", "newer", "cut"))
    recover(modes(), rank=4, checkpoint=path)
    with pytest.raises(FileError, match="pass the same samples"):
        recover(modes(seed=1), rank=4, resume=path)
    with pytest.raises(FileError, match=r"made with rank=4.0, but rank=2.0 is given"):
        recover(modes(), rank=2, resume=path)
    with pytest.raises(FileError, match="another call.*choose another name"):
        recover(modes(seed=1), rank=4, checkpoint=path)
    header, arrays = read_saved_run(path)
    write_saved_run(newer, {**header, "version": 99}, arrays)
    with pytest.raises(FileError, match="version 99"):
        recover(modes(), rank=4, resume=newer)
    cut.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(FileError, match="truncated"):
        recover(modes(), rank=4, resume=cut)
    header["pieces"][0]["items"][0] = "other"
    write_saved_run(newer, header, arrays)
    with pytest.raises(FileError, match="another release"):
        recover(modes(), rank=4, resume=newer)
    with pytest.raises(FileError, match="does not exist"):
        recover(modes(), rank=4, resume=tmp_path / "absent.npz")


def test_what_has_no_checkpoints_says_so(tmp_path):
    with pytest.raises(ValueError, match="one file per signal"):
        recover_many([modes()], checkpoint=tmp_path / "run.npz")
    with pytest.raises(ValueError, match="checkpoint"):
        recover(modes(), times=np.arange(150.0), checkpoint=tmp_path / "run.npz")


def test_the_commands_save_and_resume(tmp_path):
    file, run, first, second = (tmp_path / name for name in ("a.npy", "run.npz", "1.npy", "2.npy"))
    np.save(file, modes())
    command = ["recover", str(file), "--quiet", "--out"]
    for out, option in ((first, "--checkpoint"), (second, "--resume")):
        found = CliRunner().invoke(main, [*command, str(out), option, str(run)])
        assert found.exit_code == 0, found.output
    np.testing.assert_array_equal(np.load(first), np.load(second))
