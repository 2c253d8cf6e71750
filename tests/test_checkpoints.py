"""Runs that are interrupted and resumed end with the result of a run that was not."""

from __future__ import annotations

import json

import numpy as np
import pytest

from structrank import (
    Checkpoint,
    Hankel,
    Huber,
    Indexed,
    Mask,
    Problem,
    Stop,
    gcg,
    gcgls,
    gcgls_loss,
    homotopy,
    solve,
    solve_robust,
    solve_trusted,
)
from structrank.io.saved_runs import read_saved_run, write_saved_run
from structrank.io.table import FileError

TIGHT = Stop(max_iter=30, xtol=None, rtol=None, gap=1e-6)
THIN = {"n": 401}  # more entries than the dense method takes


class KilledError(Exception):
    """A run ends here, whatever it does."""


def problem(n=60, seed=0, real=False, mu=0.5):
    rng = np.random.default_rng(seed)
    t = np.arange(n)
    y = sum(np.exp(2j * np.pi * f * t) for f in (0.11, 0.23, 0.31)) + 0.1 * rng.standard_normal(n)
    return Problem(
        Hankel(n, window=(n + 1) // 2), y.real if real else y, mu, Mask(rng.random(n) < 0.7)
    )


SOLVERS = {
    "gcgls": lambda p, **how: gcgls(p, 1.0, stop=TIGHT, **how),
    "gcgls paper": lambda p, **how: gcgls(p, 1.0, step="paper", stop=Stop(6, None, None), **how),
    "gcg": lambda p, **how: gcg(p, 1.0, stop=Stop(25, None, None, 1e-9), **how),
    "gcg paper": lambda p, **how: gcg(p, 1.0, step="paper", stop=Stop(12, None, None), **how),
    "gcgls_loss": lambda p, **how: gcgls_loss(p, Huber(2.0), 1.0, stop=Stop(6, None, None), **how),
    "homotopy": lambda p, **how: homotopy(p, [0.1, 1.0, 10.0], **how),
    "solve, dense": lambda p, **how: solve(p, 1e-7, **how),
    "solve, thin": lambda p, **how: solve(problem(**THIN, seed=p.sample_count), 1e-2, **how),
    "solve, symmetric": lambda p, **how: solve(
        problem(**THIN, seed=p.sample_count, real=True), 1e-2, **how
    ),
    "solve_robust": lambda p, **how: solve_robust(p, 2.0, 1e-2, **how),
    "solve_trusted": lambda p, **how: solve_trusted(
        p, p.seen & (np.arange(p.b.size) < 9), 1e-2, **how
    ),
}


def interrupted(solver, path, steps):
    """Run a solver that is killed after each of these numbers of iterations, and resumed."""
    resume = None
    for count in steps:
        left = [count]

        def kill(state, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise KilledError

        try:
            return solver(checkpoint=Checkpoint(path, every=0), resume=resume, callback=kill)
        except KilledError:
            resume = path
    return solver(checkpoint=Checkpoint(path, every=0), resume=resume)


def assert_same(one, two):
    """Two results are the same, with the history of every iteration."""
    assert one.status is two.status
    assert one.rank == two.rank
    np.testing.assert_allclose(one.y, two.y, rtol=0, atol=1e-10)
    np.testing.assert_allclose(one.history.objective, two.history.objective, rtol=1e-10)
    assert one.history.rank == two.history.rank


@pytest.mark.filterwarnings("ignore::structrank.ConvergenceWarning")
@pytest.mark.parametrize("name", SOLVERS)
def test_an_interrupted_run_ends_with_the_same_result(name, tmp_path):
    def solver(**how):
        return SOLVERS[name](problem(), **how)

    steps = np.random.default_rng(5).integers(0, 3, size=3)
    assert_same(interrupted(solver, tmp_path / "run.npz", steps), solver())


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::structrank.ConvergenceWarning")
@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_twenty_interruptions(name, seed, tmp_path):
    def solver(**how):
        return SOLVERS[name](problem(seed=seed), **how)

    steps = np.random.default_rng(seed).integers(0, 3, size=20)
    assert_same(interrupted(solver, tmp_path / "run.npz", steps), solver())


def test_a_finished_run_is_returned_and_a_limited_one_goes_on(tmp_path):
    path = tmp_path / "run.npz"
    p, short = problem(), Stop(2, None, None)
    with pytest.warns(match="did not converge"):
        rough = gcgls(p, 1.0, stop=short, checkpoint=path)
    assert rough.iterations == 2
    whole = gcgls(p, 1.0, stop=TIGHT, resume=path, checkpoint=path)
    assert whole.status.name == "SOLVED"
    assert whole.history.time == sorted(whole.history.time)
    calls = []
    again = gcgls(p, 1.0, stop=TIGHT, resume=path, callback=calls.append)
    assert calls == []
    assert_same(again, whole)


def test_the_default_stop_ends_a_resumed_run_where_it_ended(tmp_path):
    path = tmp_path / "run.npz"
    once = gcgls(problem(), 1.0, checkpoint=path)
    assert once.status.name in ("SMALL_STEP", "SMALL_CHANGE")
    assert_same(gcgls(problem(), 1.0, resume=path), once)


def test_ctrl_c_saves_the_last_iterate(tmp_path):
    path, p = tmp_path / "run.npz", problem()
    calls = []

    def interrupt(state):
        calls.append(state)
        if len(calls) == 4:
            raise KeyboardInterrupt

    result = gcg(p, 1.0, stop=Stop(9, None, None, 1e-9), checkpoint=path, callback=interrupt)
    assert result.status.name == "INTERRUPTED"
    header, arrays = read_saved_run(path)
    assert header["status"] == "INTERRUPTED"
    assert arrays["history.time"].size == 4


def test_generators_continue_their_sequence(tmp_path):
    def solver(**how):
        rng = np.random.Generator(np.random.MT19937(3))
        return gcgls(problem(), 1.0, rng=rng, stop=TIGHT, **how)

    assert_same(interrupted(solver, tmp_path / "run.npz", [1, 1]), solver())
    with pytest.raises(ValueError, match="begun with a MT19937"):
        gcgls(problem(), 1.0, rng=np.random.default_rng(0), resume=tmp_path / "run.npz")


def test_other_libraries_and_single_precision(tmp_path):
    torch = pytest.importorskip("torch")
    p = problem()
    p = Problem(p.structure, torch.asarray(p.b).to(torch.complex64), p.mu, Mask(p.seen))

    def solver(**how):
        return gcgls(p, 1.0, stop=Stop(4, None, None, 1e-9), **how)

    with pytest.warns(match="did not converge"):
        whole = solver()
    with pytest.warns(match="did not converge"):
        resumed = interrupted(solver, tmp_path / "run.npz", [1])
    assert resumed.y.dtype == torch.complex64
    assert bool(torch.all(resumed.y == whole.y))


class Mirrored(Hankel):
    """A structure of a user, without a key of its own."""

    key = Indexed.__mro__[1].key


def saved(tmp_path, **changes):
    path = tmp_path / "run.npz"
    with pytest.warns(match="did not converge"):
        gcgls(problem(), 1.0, stop=Stop(1, None, None), checkpoint=path)
    header, arrays = read_saved_run(path)
    write_saved_run(path, header | changes, arrays)
    return path


@pytest.mark.parametrize(
    ("other", "lam", "message"),
    [
        (problem(seed=1), 1.0, "another problem, Problem"),
        (problem(mu=0.6), 1.0, "another problem"),
        (problem(n=61), 1.0, "another problem"),
        (Problem(problem().structure, problem().b, 0.5), 1.0, "another problem"),
        (problem(), 2.0, "lam=1.0, but lam=2.0 is given"),
    ],
)
def test_checkpoints_of_other_runs_are_refused(other, lam, message, tmp_path):
    path = saved(tmp_path)
    with pytest.raises(FileError, match=message):
        gcgls(other, lam, resume=path, callback=pytest.fail)
    with pytest.raises(FileError, match="of gcgls, but solve is to be resumed"):
        solve(problem(), resume=path)


def test_newer_truncated_and_foreign_files_are_refused(tmp_path):
    newer = saved(tmp_path, version=2)
    with pytest.raises(FileError, match="version 2 .* reads versions up to 1"):
        gcgls(problem(), 1.0, resume=newer)
    newer.unlink()
    path = saved(tmp_path)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(FileError, match="is no complete checkpoint"):
            gcgls(problem(), 1.0, resume=path)
    path.write_bytes(whole.replace(b"memory.X.U", b"memory.Y.U"))
    with pytest.raises(FileError, match="was changed after it was written"):
        gcgls(problem(), 1.0, resume=path)
    with pytest.raises(FileError, match="does not exist"):
        gcgls(problem(), 1.0, resume=tmp_path / "none.npz")


@pytest.mark.parametrize("factor", [1e200, np.nan])
def test_changed_factors_are_refused(factor, tmp_path):
    path = saved(tmp_path)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, "memory.X.U": arrays["memory.X.U"] * factor})
    with pytest.raises(FileError, match="was changed after it was written"):
        gcgls(problem(), 1.0, resume=path, callback=pytest.fail)


@pytest.mark.parametrize(
    "changes",
    [{"memory": 3}, {"best": []}, {"best": {}}, {"status": "MRO"}],
    ids=str,
)
def test_headers_that_make_no_sense_are_refused(changes, tmp_path):
    path = saved(tmp_path, **changes)
    with pytest.raises(FileError, match="is no complete checkpoint"):
        gcgls(problem(), 1.0, resume=path, callback=pytest.fail)


def test_only_checkpoints_of_the_same_problem_are_replaced(tmp_path):
    data = tmp_path / "data.npz"
    np.savez(data, samples=np.ones(3))
    with pytest.raises(FileError, match="is no complete checkpoint"):
        gcgls(problem(), 1.0, checkpoint=data)
    np.savez(data, header=np.array(json.dumps({"format": "other"})))
    with pytest.raises(FileError, match="is not a checkpoint of structrank"):
        gcgls(problem(), 1.0, checkpoint=data)
    with pytest.raises(FileError, match="is a checkpoint of another problem"):
        gcgls(problem(seed=1), 1.0, checkpoint=saved(tmp_path))
    with pytest.raises(FileError, match="unknown extension"):
        gcgls(problem(), 1.0, checkpoint=tmp_path / "run.txt")
    with pytest.raises(TypeError, match="path is int"):
        gcgls(problem(), 1.0, checkpoint=3)


def test_structures_without_a_key_are_recognised_by_their_entries(tmp_path):
    path, b = tmp_path / "run.npz", problem(real=True).b

    def run(window, **how):
        return gcgls(Problem(Mirrored(60, window=window), b, 0.5), 1.0, **how)

    run(30, checkpoint=path)
    assert run(30, resume=path).status.converged
    with pytest.raises(FileError, match="another problem"):
        run(29, resume=path)
