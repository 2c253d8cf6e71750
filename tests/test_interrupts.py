"""Ctrl-C at any moment of any public function: the result says so, or KeyboardInterrupt passes."""

from __future__ import annotations

import functools
import inspect
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from contextlib import suppress
from pathlib import Path

import dask
import numpy as np
import pytest
import scipy.fft
from conftest import nightly

from structrank import (
    Hankel,
    Huber,
    Problem,
    Recovery,
    Result,
    Results,
    StateSpace,
    Status,
    Stop,
    approximate_gcd,
    choose_rank,
    denoise,
    empirical_covariances,
    estimate_cost,
    find_modes,
    find_outliers,
    forecast,
    frequencies,
    gcg,
    gcgls,
    gcgls_loss,
    homotopy,
    identify,
    impute,
    load,
    mu_max,
    noise_mu,
    path,
    random_system,
    realize,
    realize_outputs,
    recover,
    recover_many,
    recover_patches,
    refit,
    sampling_noise_mu,
    select_mu,
    sinusoids,
    solve,
    solve_many,
    solve_robust,
    solve_trusted,
    solve_within,
)
from structrank.io import Table, read, write
from structrank.solvers import rivals

T = np.arange(24)
CLEAN = np.cos(0.6 * T) + 0.5 * np.cos(1.4 * T + 0.5)
SAMPLES = CLEAN + 0.1 * np.random.default_rng(0).standard_normal(T.size)
GAPPY = np.where(T % 5 == 3, np.nan, SAMPLES)
SPOILED = SAMPLES + 5.0 * (T == 11)
PROBLEM = Problem(Hankel(T.size, window=12), SAMPLES, 2.0, "lifted")
SECOND = Problem(Hankel(T.size, window=12), CLEAN, 1.0, "lifted")
SMALL = Problem(Hankel(9, window=5), SAMPLES[:9], 0.3)
SOLVED = solve(PROBLEM)
STOP = Stop(max_iter=500, xtol=None, rtol=None, gap=1e-2)
MUS = [6.0, 4.0, 2.0]
SYSTEM = random_system(1, order=2, normalization="spectral", spectral_radius=0.9)
INPUT = np.random.default_rng(1).standard_normal(80)
OUTPUT = np.convolve(INPUT, 0.8 ** np.arange(80))[:80]

CALLS = {
    "gcg": lambda: gcg(PROBLEM, 1.0, stop=STOP),
    "gcgls": lambda: gcgls(PROBLEM, 1.0, stop=STOP),
    "solve": lambda: solve(PROBLEM),
    "solve_many": lambda: solve_many([PROBLEM, SECOND, PROBLEM], 1.0, stop=STOP, batch=2),
    "homotopy": lambda: homotopy(PROBLEM, [1.0, 10.0], stop=STOP),
    "solve_robust": lambda: solve_robust(PROBLEM, 0.5),
    "solve_trusted": lambda: solve_trusted(PROBLEM, T < 3),
    "solve_within": lambda: solve_within(PROBLEM, 1.0, gap=1e-2, rtol=1e-2),
    "path": lambda: path(PROBLEM, MUS),
    "noise_mu": lambda: noise_mu(PROBLEM, 0.1),
    "select_mu": lambda: select_mu(PROBLEM),
    "choose_rank": lambda: choose_rank(SOLVED),
    "find_modes": lambda: find_modes(SOLVED, 4),
    "refit": lambda: refit(SOLVED, 4),
    "recover": lambda: recover(GAPPY),
    "recover_many": lambda: recover_many([SAMPLES[:16]] * 3, kind="refit", rank=4),
    "recover robust": lambda: recover(SPOILED, robust=True, kind="refit"),
    "impute": lambda: impute(GAPPY, kind="refit"),
    "denoise": lambda: denoise(SAMPLES, kind="refit"),
    "forecast": lambda: forecast(SAMPLES, 3, rank=4),
    "frequencies": lambda: frequencies(SAMPLES),
    "find_outliers": lambda: find_outliers(
        Problem(Hankel(T.size, window=12), SPOILED, 1.0, "lifted")
    ),
    "identify": lambda: identify(INPUT, OUTPUT, max_order=2),
    "realize": lambda: realize(SYSTEM.covariances(20), 2),
    "realize_outputs": lambda: realize_outputs(SYSTEM.simulate(steps=2000), lags=8),
    "approximate_gcd": lambda: approximate_gcd([2.0, 3.0, 1.0], [3.0, 4.0001, 1.0]),
    **{
        name: lambda name=name: getattr(rivals, name)(PROBLEM, stop=STOP)
        for name in ("padmm", "padmm2", "dadmm2", "dppa", "factored_admm")
    },
    "apg_svt": lambda: rivals.apg_svt(PROBLEM, 1.0, stop=STOP),
    "weighted_slra": lambda: rivals.weighted_slra(PROBLEM, 4),
    **{
        name: lambda name=name: getattr(rivals, name)(PROBLEM, 4)
        for name in ("fiht", "projected_gradient", "cadzow")
    },
    "interior_point": lambda: rivals.interior_point(SMALL),
    "hsnld": lambda: rivals.hsnld(PROBLEM, 4, 0.1),
    "gcgls_loss": lambda: gcgls_loss(PROBLEM, Huber(0.5), 1.0, stop=STOP),
    "smooth": lambda: SYSTEM.smooth(OUTPUT),
    "update": lambda: SYSTEM.update(OUTPUT),
}
LONG = {
    "report": lambda: a_file(lambda path: made()[0].write_report(path.with_suffix(".html"))),
    "recover irregular": lambda: recover(GAPPY, times=T**1.1, effort="fast"),
    "recover components": lambda: recover(GAPPY, kind="components", effort="fast"),
    "recover convex": lambda: recover(GAPPY, kind="convex"),
    "recover channels": lambda: recover(np.stack([GAPPY, CLEAN], axis=1), channels=1, rank=4),
    "forecast of components": lambda: forecast(SAMPLES, 3, effort="fast"),
    "recover_patches": lambda: patches(),
}


def patches():
    """A volume in patches, each time in a new folder, by this thread."""
    with dask.config.set(scheduler="synchronous"), tempfile.TemporaryDirectory() as folder:
        return recover_patches(GAPPY, f"{folder}/a.zarr", patch=16, rank=4)


SYSTEM_WITH_INPUT = StateSpace(
    [[0.8]], [[1.0]], [[1.0]], None, K=[[0.3]], innovation_covariance=[[1.0]]
)
# Not HDF5: h5py turns the interruption of a callback into a SystemError.
FORMATS = [
    ".csv",
    ".xlsx",
    ".parquet",
    ".feather",
    ".json",
    ".npy",
    ".npz",
    ".mat",
    ".zarr",
    ".fid",
    ".wav",
]


@functools.cache
def made():
    """A recovery, a forecast, and a folder with files of both and of every format."""
    folder = tempfile.TemporaryDirectory()
    found = recover(GAPPY, kind="components", effort="fast")
    ahead = forecast(SAMPLES, 3, rank=4)
    found.save(f"{folder.name}/found.npz")
    for suffix in FORMATS:
        header = {"rate": 8000} if suffix == ".wav" else None
        write(f"{folder.name}/data{suffix}", Table(CLEAN / 2, header=header))
    return found, ahead, folder


def a_file(work):
    """Call a writer of a file in a new folder, which must be complete or absent."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new"
        try:
            returned = work(path)
        finally:
            hidden = [name for name in os.listdir(folder) if name.startswith(".")]
        assert hidden == []
    return "written" if returned is None else returned


def saved_run(path):
    return gcgls(PROBLEM, 1.0, stop=STOP, checkpoint=path.with_suffix(".npz"))


# Functions that end in a few milliseconds, and results that tell more when asked: they have no
# status, so KeyboardInterrupt passes.
PARTS = {
    "mu_max": lambda: mu_max(PROBLEM),
    "estimate_cost": lambda: estimate_cost(SAMPLES),
    "empirical_covariances": lambda: empirical_covariances(OUTPUT[:, None], 5),
    "sampling_noise_mu": lambda: sampling_noise_mu(OUTPUT[:, None], 4, 4),
    "sinusoids": lambda: sinusoids(30, 2),
    "random_system": lambda: random_system(1, order=2),
    "Forecast.update": lambda: made()[1].update(SAMPLES[:3]),
    "draws": lambda: made()[0].draws(5),
    "components": lambda: made()[0].components(),
    "residuals": lambda: made()[0].residuals(),
    "repr": lambda: repr(made()[0]),
    "save": lambda: a_file(lambda path: made()[0].save(path.with_suffix(".npz"))),
    "load": lambda: load(f"{made()[2].name}/found.npz"),
    "checkpoint": lambda: a_file(saved_run),
    "simulate": lambda: SYSTEM_WITH_INPUT.simulate(INPUT, rng=0, noise=1.0),
    "fit": lambda: SYSTEM_WITH_INPUT.fit(INPUT, OUTPUT),
    "predict": lambda: SYSTEM_WITH_INPUT.predict(OUTPUT, INPUT),
    "compare": lambda: SYSTEM_WITH_INPUT.compare(OUTPUT, INPUT),
    "residual_tests": lambda: SYSTEM_WITH_INPUT.residual_tests(OUTPUT, INPUT),
    "draws of states": lambda: SYSTEM_WITH_INPUT.draws(3, OUTPUT, INPUT),
    "loglikelihood_gradient": lambda: SYSTEM_WITH_INPUT.loglikelihood_gradient(OUTPUT, INPUT),
    "covariances": lambda: SYSTEM.covariances(20),
    "frequency_response": lambda: SYSTEM.frequency_response([0.1, 0.2]),
    **{
        f"read {suffix}": lambda suffix=suffix: read(f"{made()[2].name}/data{suffix}")
        for suffix in FORMATS
    },
    **{
        f"write {suffix}": lambda suffix=suffix: a_file(
            lambda path: write(
                path.with_suffix(suffix), read(f"{made()[2].name}/data{suffix}"), force=True
            )
        )
        for suffix in FORMATS
    },
}
WITH_WORKERS = {
    "recover_many": lambda: recover_many([SAMPLES[:16]] * 3, kind="refit", rank=4, workers=2),
    "solve_many": lambda: solve_many([PROBLEM, SECOND], 1.0, stop=STOP, batch=1, workers=2),
}


class CtrlC:
    """Presses Ctrl-C when structrank calls a function of its own for the n-th time."""

    def __init__(self, moment=None):
        self.moment, self.calls = moment, 0

    def _trace(self, frame, event, argument):
        if frame.f_code.co_flags & inspect.CO_GENERATOR:
            return  # it may be about to be deleted, where Python ignores every exception
        if frame.f_globals.get("__name__", "").startswith("structrank"):
            self.calls += 1
            if self.calls == self.moment:
                raise KeyboardInterrupt

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_):
        sys.settrace(self._before)


def surroundings():
    """What a function must leave as it was."""
    return (
        list(warnings.filters),
        np.geterr(),
        np.get_printoptions(),
        scipy.fft.get_workers(),
        signal.getsignal(signal.SIGINT),
    )


def says_interrupted(returned):
    if isinstance(returned, Results):
        return Status.INTERRUPTED in returned.status
    if isinstance(returned, list) and isinstance(returned[0], Recovery):
        return Status.INTERRUPTED in [found.status for found in returned]
    if isinstance(returned, list):  # of path: the solutions that are complete
        return len(returned) < len(MUS)
    return isinstance(returned, Result) and returned.status is Status.INTERRUPTED


@pytest.mark.parametrize("moments", [3, nightly(30)])
@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_is_never_lost(name, moments):
    check_moments(CALLS[name], moments)


@pytest.mark.parametrize("moments", [2, nightly(20)])
@pytest.mark.parametrize("name", PARTS)
def test_ctrl_c_passes_through_parts(name, moments):
    check_moments(PARTS[name], moments)


@pytest.mark.nightly
@pytest.mark.parametrize("name", WITH_WORKERS)
def test_ctrl_c_beside_workers(name):
    check_moments(WITH_WORKERS[name], 10)


@pytest.mark.nightly
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_in_calls_that_take_long(name):
    check_moments(LONG[name], 10)


def check_moments(call, moments):
    """Press Ctrl-C at moments that are spread over a call."""
    assert not says_interrupted(call())  # modules are loaded
    with CtrlC() as full:
        call()
    before = surroundings()
    for k in range(moments):
        with CtrlC(max(round((k + 0.5) / moments * full.calls), 1)) as pressed:
            try:
                returned = call()
            except KeyboardInterrupt:
                returned = None
        assert pressed.calls >= pressed.moment
        assert returned is None or says_interrupted(returned)
        assert surroundings() == before


# -- files ------------------------------------------------------------------------------


def test_ctrl_c_inside_a_library_is_no_broken_file(tmp_path, monkeypatch):
    def torn(*_, **__):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise SystemError("a function returned a result with an exception set") from error

    table = Table(np.arange(5.0))
    write(tmp_path / "a.npz", table)
    monkeypatch.setattr(np.lib.format, "read_array", torn)
    monkeypatch.setattr(np.lib.format, "write_array", torn)
    with pytest.raises(KeyboardInterrupt):
        read(tmp_path / "a.npz")
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "b.npz", table)
    assert os.listdir(tmp_path) == ["a.npz"]


def test_ctrl_c_while_a_replaced_folder_is_removed(tmp_path, monkeypatch):
    write(tmp_path / "a.zarr", Table(np.arange(5.0)))
    original, removed = shutil.rmtree, []

    def rmtree(path, **keywords):
        removed.append(path)
        if len(removed) == 1:
            raise KeyboardInterrupt
        original(path, **keywords)

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "a.zarr", Table(np.arange(3.0)), force=True)
    assert os.listdir(tmp_path) == ["a.zarr"]
    np.testing.assert_array_equal(read(tmp_path / "a.zarr").values, np.arange(3.0))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("moments", [nightly(100)])  # Zarr waited for ever in one of five runs
@pytest.mark.parametrize("suffix", [".zarr", ".h5", ".mat"])
def test_ctrl_c_at_any_moment_leaves_no_half_of_a_file(tmp_path, rng, suffix, moments):
    def press(*_):
        raise KeyboardInterrupt

    path, table = tmp_path / f"a{suffix}", Table(rng.standard_normal((300, 30)))
    write(path, table)
    before = signal.signal(signal.SIGALRM, press)
    try:
        for work in (lambda: read(path), lambda: write(path, table, force=True)):
            start = time.perf_counter()
            work()
            whole = time.perf_counter() - start
            for delay in rng.uniform(0, whole, moments):
                with suppress(KeyboardInterrupt):
                    signal.setitimer(signal.ITIMER_REAL, max(delay, 1e-5))
                    work()
                    signal.setitimer(signal.ITIMER_REAL, 0)
                time.sleep(0.005)  # threads of libraries may go on
                assert os.listdir(tmp_path) == [path.name]
                np.testing.assert_array_equal(read(path).values, table.values)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
