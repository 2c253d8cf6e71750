"""Faults: killed processes, a full disk, functions of the user that fail."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref

import numpy as np
import pytest
from conftest import nightly

import structrank as sr
from structrank._array import memory_advice, transforms
from structrank._messages import error_line
from structrank.io import FileError, Table, check_writable, read, write
from structrank.io.formats import KNOWN

posix = pytest.mark.skipif(os.name != "posix", reason="only POSIX has these signals and limits")
USUAL = (".csv", ".npy", ".mat", ".h5", ".parquet", ".json", ".wav")
WRITER = """
import numpy as np
from structrank.io import Table, write
table = Table(np.arange(20000.0).reshape(-1, 2))
print("begins", flush=True)
while True:
    write("out.csv", table, force=True)
    write("out.npz", table, force=True)
"""


def killed(command, folder, seconds):
    """Start a process and kill it some time after its first line."""
    with subprocess.Popen(
        [sys.executable, *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)


def check_folder(folder, expected):
    """Outputs are whole or absent, and the next run clears what was left."""
    for name, shape in expected.items():
        if (folder / name).exists():
            assert read(folder / name).values.shape == shape
    write(folder / "next.npy", Table(np.arange(3.0)), force=True)
    assert {path.name for path in folder.iterdir()} <= {*expected, "next.npy", "data.csv"}


@posix
@pytest.mark.parametrize("times", [2, nightly(30)])
def test_killed_while_writing(tmp_path, times):
    rng = np.random.default_rng(None if times > 2 else 0)
    for _ in range(times):
        killed(["-c", WRITER], tmp_path, rng.uniform(0.01, 0.2))
        check_folder(tmp_path, {"out.csv": (10000, 2), "out.npz": (10000, 2)})


COMMAND = """
import sys
from structrank.cli import main
print("begins", flush=True)
main(sys.argv[1:])
"""


@posix
@pytest.mark.nightly
def test_killed_commands(tmp_path):
    values = np.cos(0.3 * np.arange(3000)) + 0.1 * np.random.default_rng(0).standard_normal(3000)
    write(tmp_path / "data.csv", Table(values))
    options = ["recover", "data.csv", "--effort", "fast", "--rank", "2", "--force", "--quiet"]
    began = time.perf_counter()
    whole = ["-c", COMMAND, *options, "--out", "out.csv", "--plot", "out.png"]
    subprocess.run([sys.executable, *whole], cwd=tmp_path, check=True, capture_output=True)
    seconds = time.perf_counter() - began
    rng = np.random.default_rng()
    for _ in range(100):
        (tmp_path / "out.csv").unlink(missing_ok=True)
        (tmp_path / "out.png").unlink(missing_ok=True)
        killed(whole, tmp_path, rng.uniform(0, seconds))
        if (tmp_path / "out.png").exists():
            assert (tmp_path / "out.png").read_bytes().endswith(b"IEND\xaeB`\x82")
            (tmp_path / "out.png").unlink()
        check_folder(tmp_path, {"out.csv": (3000,)})


SAID = ((0, ""), (1, "\nAborted!\n"), (130, "Interrupted.\n"))  # the second is click's


@posix
@pytest.mark.nightly
def test_interrupted_commands(tmp_path):
    """Ctrl-C at random moments: one line says so, and outputs are whole or absent."""
    values = np.cos(0.3 * np.arange(300)) + 0.1 * np.random.default_rng(0).standard_normal(300)
    write(tmp_path / "data.csv", Table(values))
    command = ["-c", COMMAND, "recover", "data.csv", "--effort", "fast", "--force", "--quiet"]
    whole = [sys.executable, *command, "--out", "out.csv"]
    began = time.perf_counter()
    subprocess.run(whole, cwd=tmp_path, check=True, capture_output=True)
    seconds, ends = time.perf_counter() - began, []
    rng = np.random.default_rng()
    for _ in range(50):
        (tmp_path / "out.csv").unlink(missing_ok=True)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(whole, cwd=tmp_path, **pipes) as process:
            process.stdout.readline()
            time.sleep(rng.uniform(0, 0.8 * seconds))
            process.send_signal(signal.SIGINT)
            said = process.communicate()[1]
        ends.append(process.returncode)
        ended = process.returncode == -signal.SIGINT  # by Python, after the command was done
        if ended or said.startswith("Exception ignored in"):  # by Python, in a callback of imports
            assert (tmp_path / "out.csv").exists()
        else:
            assert (process.returncode, said) in SAID
        check_folder(tmp_path, {"out.csv": (300,)})
    assert ends.count(130) > 10


@posix
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of other packages
@pytest.mark.parametrize(
    "suffix",
    [s if s in USUAL else nightly(s) for s in KNOWN if not s.endswith("seed")],
)
def test_a_full_disk(tmp_path, suffix):
    """No file may grow beyond a limit: the system then refuses to write, as if it were full."""
    resource = pytest.importorskip("resource", reason="the system has no limits")
    values = np.random.default_rng(0).standard_normal(4000)
    table = Table(values, header={"rate": 8000} if suffix == ".wav" else None)
    path = tmp_path / f"out{suffix}"
    check_writable(path)  # imports what is needed
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(FileError, match="cannot be written"):
            write(path, table)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


CLUSTER = """
import time
import distributed
how = {"processes": False, "protocol": "tcp://", "host": "127.0.0.1", "dashboard_address": None}
with distributed.LocalCluster(n_workers=1, threads_per_worker=1, **how) as cluster:
    print(cluster.scheduler_address, flush=True)
    time.sleep(300)
"""


@posix
@pytest.mark.nightly
def test_a_scheduler_that_goes_away(tmp_path):
    """The call says so, and the next one continues with the patches that are missing."""
    pytest.importorskip("distributed")
    rng, (x, y) = np.random.default_rng(0), np.mgrid[:60, :80]
    samples = np.cos(0.3 * x + 0.2 * y) + 0.1 * rng.standard_normal(x.shape)
    samples[rng.random(samples.shape) < 0.3] = np.nan
    command = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as cluster:
        address = cluster.stdout.readline().strip()

        def kill_after_the_first_patch():
            while not list(tmp_path.rglob("*.npz")):
                time.sleep(0.02)
            cluster.kill()

        killer = threading.Thread(target=kill_after_the_first_patch)
        killer.start()
        with pytest.raises(ConnectionError, match="call again with the same arguments"):
            sr.recover_patches(samples, tmp_path / "a.zarr", patch=24, rank=2, client=address)
        killer.join()
    assert 0 < len(list(tmp_path.rglob("patches/*.npz"))) < 15
    found = sr.recover_patches(samples, tmp_path / "a.zarr", patch=24, rank=2)
    assert [row.status for row in found.rows] == ["recovered"] * 15
    whole = sr.recover_patches(samples, tmp_path / "b.zarr", patch=24, rank=2)
    np.testing.assert_array_equal(found.array[:], whole.array[:])


class UsersError(Exception):
    """Something that the package does not know."""


B = np.cos(0.4 * np.arange(12))
SOLVERS = {
    "solve": sr.solve,
    "gcgls": lambda p, **k: sr.gcgls(p, 1.0, **k),
    "gcg": lambda p, **k: sr.gcg(p, 1.0, **k),
    "robust": lambda p, **k: sr.solve_robust(p, 0.1, **k),
    "within": lambda p, **k: sr.solve_within(p, 0.1, **k),
    "trusted": lambda p, **k: sr.solve_trusted(p, np.arange(12) < 2, **k),
    "homotopy": lambda p, **k: sr.homotopy(p, [1.0, 10.0], **k),
}


def fails(*_):
    raise UsersError("mine")


@pytest.mark.parametrize("error", [UsersError, np.linalg.LinAlgError, StopIteration, SystemExit])
@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "within"])
def test_a_callback_that_fails(name, error):
    def callback(_):
        raise error("mine")

    problem = sr.Problem(sr.Hankel(12, window=6), B, 0.1)
    with pytest.raises(error, match="mine") as caught:
        SOLVERS[name](problem, callback=callback)
    assert traceback.extract_tb(caught.tb)[-1].name == "callback"


@pytest.mark.parametrize("name", [name for name in SOLVERS if name not in ("robust", "trusted")])
def test_an_operator_that_fails_later(name):
    calls = iter(range(12))

    def forward(y):
        if next(calls, None) is None:
            fails()
        return np.cumsum(y)

    operator = sr.Operator(forward, lambda d: np.cumsum(d[::-1])[::-1])
    problem = sr.Problem(sr.Hankel(12, window=6), B, 0.01, operator)
    with pytest.raises(UsersError, match="mine") as caught:
        SOLVERS[name](problem)
    assert traceback.extract_tb(caught.tb)[-1].name == "fails"


def test_an_operator_whose_iterator_is_empty():
    """A generator would make a RuntimeError of it."""
    operator = sr.Operator(lambda y: next(iter(())), lambda d: d)
    with pytest.raises(StopIteration):
        sr.gcgls(sr.Problem(sr.Hankel(12, window=6), B, 0.01, operator), 1.0)


T = np.arange(512)
TONES = (
    np.cos(0.4 * T) + 0.3 * np.cos(1.1 * T) + 0.1 * np.random.default_rng(0).standard_normal(512)
)
IN_MEMORY = {
    "solve": lambda b: sr.solve(sr.Problem(sr.Hankel(512, window=256), b, 5.0)),
    "gcgls": lambda b: sr.gcgls(sr.Problem(sr.Hankel(512, window=256), b, 5.0), 1.0),
    "recover": lambda b: sr.recover(b[:100]),
    "convex": lambda b: sr.recover(b[:100], kind="convex"),
}


class Allocations:
    """Transforms that run out of memory at some call; refers to the arrays that they returned."""

    def __init__(self, patch, last, error):
        self.left, self.error, self.arrays = last, error, []
        self.transform = transforms._transform
        patch.setattr(transforms, "_transform", self)

    def __call__(self, *args, **options):
        self.left -= 1
        if self.left < 0:
            raise self.error("no memory is left")
        found = self.transform(*args, **options)
        self.arrays.append(weakref.ref(found))
        return found


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize(
    ("name", "last"),
    [("solve", 1), ("solve", 12), ("gcgls", 0), ("gcgls", 12), ("recover", 2), ("convex", 12)],
)
def test_out_of_memory(name, last, library, monkeypatch):
    """The error of the library arrives with its traceback and advice, and arrays are freed."""
    b, error = TONES, MemoryError
    if library == "torch":
        torch = pytest.importorskip("torch")
        b, error = torch.asarray(TONES), torch.OutOfMemoryError
    made = Allocations(monkeypatch, last, error)
    with pytest.raises(error, match="no memory is left") as caught:
        IN_MEMORY[name](b)
    assert traceback.extract_tb(caught.tb)[-1].name == "__call__"
    (note,) = caught.value.__notes__
    assert note.startswith("structrank ran out of memory: single precision needs less")
    assert error_line(caught.value) == f"no memory is left; {note}"
    del caught
    gc.collect()
    assert len(made.arrays) == last
    assert [ref for ref in made.arrays if ref() is not None] == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("OutOfMemoryError", "8 GB"),
        ("XlaRuntimeError", "RESOURCE_EXHAUSTED: 8 GB"),
        ("CuFFTError", "CUFFT_ALLOC_FAILED"),
    ],
)
def test_errors_that_mean_out_of_memory(name, text):
    error = type(name, (RuntimeError,), {})(text)
    with pytest.raises(RuntimeError) as caught, memory_advice(lambda: "less"):
        raise error
    assert caught.value.__notes__ == ["structrank ran out of memory: less"]
    with pytest.raises(RuntimeError) as caught, memory_advice(lambda: "less"):
        raise RuntimeError("another one")
    assert not hasattr(caught.value, "__notes__")
