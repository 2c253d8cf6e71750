"""Files that reach for other files, or for more memory than there is."""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
import sys
import tracemalloc
import zipfile

import h5py
import numpy as np
import pytest
import scipy.io
import zarr
from scipy.io import wavfile

import structrank as sr
from structrank.io import FileError, Table, leftovers, limits, read, write
from structrank.io.formats import KNOWN
from structrank.io.limits import SizeLimit
from structrank.io.saved_values import Reader, Writer

SECRET = b"secret of another file " * 8
posix = pytest.mark.skipif(os.name != "posix", reason="only POSIX has modes, pipes and signals")
MATLAB = {"MATLAB_class": np.bytes_("double")}


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret"
    path.write_bytes(SECRET)
    return path


def hdf5(folder, kind, secret, suffix):
    """A file that leads elsewhere."""
    path = folder / f"a{suffix}"
    other = folder / "other.h5"
    with h5py.File(other, "w") as file:
        file["values"] = np.arange(5.0)
    userblock = 512 if suffix == ".mat" else 0
    with h5py.File(path, "w", userblock_size=userblock) as file:
        if kind == "external storage":
            file.create_dataset("x", (20,), "u1", external=[(str(secret), 0, 20)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout((5,), "f8")
            layout[:] = h5py.VirtualSource(other, "values", (5,))
            file.create_virtual_dataset("x", layout)
        elif kind == "link":
            file["x"] = h5py.ExternalLink(str(other), "/values")
        elif kind == "soft link":
            file["far"] = h5py.ExternalLink(str(other), "/")
            file["x"] = h5py.SoftLink("/far/values")
        if "link" not in kind:
            file["x"].attrs.update(MATLAB)
    if userblock:
        start = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
        with path.open("r+b") as file:
            file.write(start)
    return path


@pytest.mark.parametrize("suffix", [".h5", ".mat"])
@pytest.mark.parametrize("kind", ["external storage", "virtual", "link", "soft link"])
def test_hdf5_shows_no_other_file(tmp_path, secret, kind, suffix):
    path = hdf5(tmp_path, kind, secret, suffix)
    for variable in ("x", None):
        with pytest.raises(FileError, match="which is refused, since a file could show others"):
            read(path, variable=variable)


def test_soft_links_inside_a_file(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["deep/values"] = np.arange(3.0)
        file["near"] = h5py.SoftLink("deep")
        file["deep/here"] = h5py.SoftLink("values")
        file["circle"] = h5py.SoftLink("/circle")
    for name in ("deep/values", "near/values", "deep/here", "near/here"):
        np.testing.assert_array_equal(read(path, variable=name).values, np.arange(3.0))
    with pytest.raises(FileError, match="a link that leads to itself"):
        read(path, variable="circle")
    with pytest.raises(FileError, match='no array "nothing/here"'):
        read(path, variable="nothing/here")


@pytest.mark.parametrize("what", ["chunk", "array", "up"])
def test_zarr_stays_in_its_folder(tmp_path, what):
    other = zarr.create_group(tmp_path / "other.zarr")
    other.create_array("x", data=np.arange(5.0))
    path = tmp_path / "a.zarr"
    group = zarr.create_group(path)
    group.create_array("y", data=np.ones(5))
    if what == "chunk":
        (path / "y" / "c" / "0").unlink()
        (path / "y" / "c" / "0").symlink_to(tmp_path / "other.zarr" / "x" / "c" / "0")
    elif what == "array":
        (path / "x").symlink_to(tmp_path / "other.zarr" / "x")
    else:  # gathered metadata that name an array above the folder
        about = json.loads((path / "zarr.json").read_text())
        there = json.loads((tmp_path / "other.zarr" / "x" / "zarr.json").read_text())
        about["consolidated_metadata"] = {
            "kind": "inline",
            "must_understand": False,
            "metadata": {"../other.zarr/x": there},
        }
        (path / "zarr.json").write_text(json.dumps(about))
        np.testing.assert_array_equal(read(path).values, np.ones(5))
        with pytest.raises(FileError, match="no array"):
            read(path, variable="../other.zarr/x")
        return
    with pytest.raises(FileError, match="a symbolic link that leads out of the folder"):
        read(path)


@pytest.mark.parametrize("name", ["fid", "acqus", "acqu2s", "nuslist"])
def test_experiments_stay_in_their_folder(tmp_path, secret, name):
    folder = tmp_path / "a"
    folder.mkdir()
    for own in ("fid", "acqus"):
        (folder / own).write_bytes(b"##$TD= 256\n")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(secret)
    with pytest.raises(FileError, match=f"a: {name} is a symbolic link that leads out of the fold"):
        read(folder)


@posix
@pytest.mark.parametrize("name", KNOWN)
def test_pipes_and_devices_are_not_opened(tmp_path, name):
    path = tmp_path / f"pipe{name}"
    os.mkfifo(path)
    device = tmp_path / f"zero{name}"
    device.symlink_to("/dev/zero")
    for place in (path, device):
        with pytest.raises(FileError, match=f"{place} is a device, a pipe or a socket, but a file"):
            read(place)


@posix
def test_no_pipe_in_a_folder_is_opened(tmp_path):
    path = tmp_path / "a.zarr"
    zarr.create_array(path, data=np.arange(5.0))
    (path / "c" / "0").unlink()
    os.mkfifo(path / "c" / "0")
    with pytest.raises(FileError, match="c/0 is a device, a pipe or a socket"):
        read(path)


@pytest.mark.parametrize("version", [2, 3])
def test_missing_chunks_are_missing_values(tmp_path, version):
    path = tmp_path / "a.zarr"
    data = np.arange(28).reshape(7, 4)
    zarr.create_array(path, data=data, chunks=(3, 2), zarr_format=version)
    assert read(path).notes == ()
    os.unlink(path / {2: "2.1", 3: "c/2/1"}[version])
    found = read(path)
    expected = data.astype(float)
    expected[6:, 2:] = np.nan
    np.testing.assert_array_equal(found.values, expected)
    assert found.notes[0].startswith("1 of 6 chunks are not in the folder; their values were read")


def test_written_zeros_are_no_missing_chunks(tmp_path):
    write(tmp_path / "a.zarr", Table(np.zeros(4)))
    np.testing.assert_array_equal(read(tmp_path / "a.zarr").values, np.zeros(4))


# -- size -------------------------------------------------------------------------------

HUGE = 2_000_000_000  # values


def header(shape):
    """The start of an NPY file that promises many zeros."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}"
    return np.lib.format.magic(1, 0) + (len(text) + 1).to_bytes(2, "little") + f"{text}\n".encode()


def npy(path):
    path.write_bytes(header((HUGE,)) + bytes(80))


def npz(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("x.npy", header((HUGE,)) + bytes(80))


def gz(path):
    with gzip.open(path, "wb") as file:
        for _ in range(20):
            file.write(b"0\n" * 500_000)


def h5(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (HUGE,), "f8", chunks=(1000,))


def zarray(path):
    zarr.create_array(path, shape=(HUGE,), dtype="f8", chunks=(HUGE,))


def mat(path):
    scipy.io.savemat(path, {"x": np.zeros(1_400_000)}, do_compression=True)


def excel(path):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    book.active["A1048576"] = 1.0
    book.active["XFD1"] = 1.0
    book.save(path)


def parquet(path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pandas as pd

    pd.DataFrame({"x": np.zeros(2_000_000)}).to_parquet(path)


def feather(path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pandas as pd

    pd.DataFrame({"x": np.zeros(200_000)}).to_feather(path, chunksize=70_000)


def records(path):
    path.write_text("[" + "0," * 200_000 + "0]")


def wav(path):
    wavfile.write(path, 8000, np.zeros(2_000_000, dtype=np.uint8))


def pipe(path):
    path.write_bytes(bytes(12_000_000))


BOMBS = {
    "a.npy": (npy, "16 GB"),
    "a.npz": (npz, "16 GB"),
    "a.csv.gz": (gz, "more than 10 MB"),
    "a.h5": (h5, "16 GB"),
    "a.zarr": (zarray, "16 GB"),
    "a.mat": (mat, "11.2 MB"),
    "a.xlsx": (excel, "3.44 TB"),
    "a.parquet": (parquet, "400 MB"),
    "a.feather": (feather, "40 MB"),
    "a.json": (records, "40 MB"),
    "a.wav": (wav, "18 MB"),
    "a.fid": (pipe, "24 MB"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_sizes_are_checked_before_unpacking(tmp_path, name):
    make, size = BOMBS[name]
    path = tmp_path / name
    make(path)
    with pytest.raises(FileError, match=f"it would take {size} of memory, but at most 10 MB"):
        read(path, max_size="10MB")


def test_a_schedule_cannot_ask_for_more(tmp_path):
    (tmp_path / "acqus").write_text("##$TD= 256\n##$AQ_mod= 3\n")
    (tmp_path / "ser").write_bytes(bytes(2048))
    (tmp_path / "nuslist").write_text("0\n2000000\n")
    with pytest.raises(FileError, match="it would take 4.1 GB of memory"):
        read(tmp_path, max_size="1GB")
    (tmp_path / "nuslist").write_text("0\n-1\n")
    with pytest.raises(FileError, match="a negative entry"):
        read(tmp_path)
    (tmp_path / "nuslist").write_text(" \n")
    with pytest.raises(FileError, match="its schedule .nuslist. is empty"):
        read(tmp_path)


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".h5", ".zarr", ".feather", ".parquet"])
def test_the_error_names_a_size_that_suffices(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    write(path, Table(np.arange(1000.0), names=("x",)))
    size = 3000
    for _ in range(5):  # some formats are checked more than once
        try:
            read(path, max_size=size)
            break
        except FileError as error:
            size = int(str(error).split("max_size=")[1].rstrip(")"))
    assert 3000 < size < 1e6
    read(path, max_size=size)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_long_headers_are_not_read(tmp_path, suffix, version):
    size = {1: 60_000, 2: 50_000_000}[version]
    path = tmp_path / f"a{suffix}"
    start = np.lib.format.magic(version, 0) + size.to_bytes(2 * version, "little")
    if suffix == ".npz":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("x.npy", start + b" " * size)
    else:
        with path.open("wb") as file:
            file.write(start)
            file.truncate(size)
    tracemalloc.start()
    with pytest.raises(FileError, match=f"its header has {size} bytes, but at most 10000"):
        read(path)
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


def test_arrays_inside_entries_are_no_numbers(tmp_path):
    pair = np.dtype([("real", "f8", (2000,)), ("imag", "f8", (2000,))])
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", (100,), pair)
    np.save(tmp_path / "a.npy", np.zeros(2, pair))
    np.savez(tmp_path / "a.npz", x=np.zeros(2, pair))
    for name in ("a.h5", "a.npy", "a.npz"):
        with pytest.raises(FileError, match="no array of numbers|not numbers"):
            read(tmp_path / name, max_size="1MB")


@pytest.mark.parametrize("suffix", [".h5", ".zarr"])
def test_a_chunk_may_be_larger_than_its_array(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    if suffix == ".h5":
        with h5py.File(path, "w") as file:
            file.create_dataset("x", (10,), "f8", chunks=(60_000_000,), maxshape=(None,))
    else:
        zarr.create_array(path, shape=(10,), dtype="f8", chunks=(60_000_000,))
    with pytest.raises(FileError, match="it would take 480 MB of memory"):
        read(path, max_size="1MB")


def riff(*chunks):
    content = b"".join(name + len(data).to_bytes(4, "little") + data for name, data in chunks)
    return b"RIFF" + (len(content) + 4).to_bytes(4, "little") + b"WAVE" + content


def sound(rate=8000, bits=8, size=1):
    return b"fmt ", struct.pack("<HHIIHH", 1, 1, rate, rate * size, size, bits)


def test_what_looks_like_a_header_of_sound_does_not_count(tmp_path):
    path = tmp_path / "a.wav"
    decoy = b"LIST", b"".join(sound(bits=64, size=8)).ljust(80_000)
    for headers in ([decoy, sound()], [sound(bits=64, size=8), sound()], [sound(bits=64)]):
        path.write_bytes(riff(*headers, (b"data", bytes(1_000_000))))
        with pytest.raises(FileError, match=r"it would take 9(\.\d+)? MB of memory"):
            read(path, max_size="5MB")


def test_damaged_headers_of_sound(tmp_path):
    path = tmp_path / "a.wav"
    for chunks, words in (
        ([sound(rate=0), (b"data", bytes(10))], "its sampling rate is 0 Hz, but one above zero"),
        ([sound(size=0), (b"data", bytes(10))], "its header tells 1 channels in 0 bytes"),
        ([sound()], "it has no header .fmt. or no samples .data."),
        ([], "it has no header .fmt. or no samples .data."),
    ):
        path.write_bytes(riff(*chunks))
        with pytest.raises(FileError, match=words):
            read(path)


def test_odd_sound_files_make_notes_and_no_warnings(tmp_path):
    path = tmp_path / "a.wav"
    whole = riff(sound(), (b"odd ", b"some"), (b"data", bytes(10)))
    path.write_bytes(whole)
    assert read(path).notes == ("sampled at 8000 Hz",)
    path.write_bytes(whole.replace(whole[4:8], (200).to_bytes(4, "little")))
    found = read(path)
    assert found.notes[1].startswith("it is not complete: Reached EOF")
    assert found.values.size == 10


def test_words_for_sizes():
    sizes = {"2GB": 2e9, "500 mb": 5e8, "1.5kiB": 1536, "7": 7, 10: 10, 1e6: 1e6}
    assert {size: SizeLimit(size).most for size in sizes} == sizes
    for wrong in ("2 giga", "", "-1GB", 0, np.inf, True, "0"):
        with pytest.raises(FileError, match="max_size is"):
            SizeLimit(wrong)


def test_the_default_is_a_share_of_memory(tmp_path, monkeypatch):
    container = tmp_path / "memory.max"
    monkeypatch.setattr(limits, "CONTAINER", container)
    whole = SizeLimit().most
    container.write_text("max\n")
    assert SizeLimit().most == whole
    container.write_text("1000000\n")
    assert SizeLimit().most == 5e5
    monkeypatch.delattr(os, "sysconf")
    assert SizeLimit().most == 4e9


# -- text -------------------------------------------------------------------------------


@pytest.mark.parametrize("quoted", [False, True])
def test_long_lines(tmp_path, quoted):
    values = np.arange(10_000.0).reshape(2, -1)
    cells = ",".join(f'"{x:.30f}"' if quoted else f"{x:.30f}" for x in values[0])
    lines = [cells, ",".join(f"{x:.30f}" for x in values[1])]
    assert min(map(len, lines)) > 131_072
    (tmp_path / "a.csv").write_text("\n".join(lines))
    np.testing.assert_array_equal(read(tmp_path / "a.csv").values, values)


@pytest.mark.parametrize("rows", [5, 20_000])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt"])
def test_a_quote_that_is_not_closed(tmp_path, name, rows):
    sep = "\t" if name == "a.tsv" else ","
    lines = [f"{k}{sep}{k * k}" for k in range(rows)]
    lines[2] = f'2{sep}"4'
    (tmp_path / name).write_text("\n".join(lines))
    with pytest.raises(FileError, match="line 3 opens a quote .* that is not closed"):
        read(tmp_path / name)


def test_quoted_cells_of_several_lines(tmp_path):
    (tmp_path / "a.csv").write_text('"wind\nspeed",b\n1,2\n3,4\n')
    found = read(tmp_path / "a.csv")
    assert found.names is not None
    assert found.names[1] == "b"
    np.testing.assert_array_equal(found.values, [[1, 2], [3, 4]])


def test_formulas_in_names_and_labels(tmp_path):
    (tmp_path / "a.csv").write_text("day,=cmd|calc,b\n@one,1,2\n@two,3,4\n")
    found = read(tmp_path / "a.csv")
    assert [note.split(" which")[0] for note in found.notes] == [
        '"=cmd|calc" is a formula for spreadsheet programs,'
    ]
    assert read(text(tmp_path, "a,b\n-1,2\n")).notes == ()
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    write(tmp_path / "b.xlsx", found)
    sheet = openpyxl.load_workbook(tmp_path / "b.xlsx").active
    assert [cell.data_type for cell in (*sheet[1], *sheet["A"])] == ["s"] * 6
    assert read(tmp_path / "b.xlsx").names == found.names


def text(folder, content):
    path = folder / "text.csv"
    path.write_text(content)
    return path


# -- the place of a file ----------------------------------------------------------------


@posix
@pytest.mark.parametrize("suffix", [".csv", ".npy", ".zarr"])
def test_a_replaced_file_keeps_its_mode(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    write(path, Table(np.arange(3.0)))
    mode = 0o700 if path.is_dir() else 0o600
    path.chmod(mode)
    write(path, Table(np.arange(4.0)), force=True)
    assert path.stat().st_mode & 0o777 == mode
    assert read(path).values.size == 4


@posix
@pytest.mark.parametrize("suffix", [".csv", ".npy", ".zarr"])
@pytest.mark.parametrize("force", [False, True])
def test_nothing_is_written_through_a_dangling_link(tmp_path, suffix, force):
    path, target = tmp_path / f"a{suffix}", tmp_path / f"nowhere{suffix}"
    path.symlink_to(target)
    with pytest.raises(FileError, match="a symbolic link to .*, which does not exist"):
        write(path, Table(np.arange(3.0)), force=force)
    assert not target.exists()


@posix
@pytest.mark.parametrize("name", KNOWN)
def test_a_pipe_is_not_replaced(tmp_path, name):
    path = tmp_path / f"a{name}"
    os.mkfifo(path)
    words = "a file, but a folder" if name == ".zarr" else "a pipe or a socket|only read"
    with pytest.raises(FileError, match=words):
        write(path, Table(np.arange(3.0)), force=True)
    assert path.is_fifo()


@posix
def test_leftovers_of_killed_runs_are_cleared(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True
    )
    dead, here = int(ended.stdout), leftovers._machine()
    stale = [f".a.partial-{here}-{dead}-0123abcd.csv", f".b.replaced-{here}-{dead}-0123abcd.zarr"]
    kept = [
        f".a.partial-{here}-{os.getpid()}-0123abcd.csv",  # another thread
        f".a.partial-{here}-1-0123abcd.csv",  # another process that runs
        f".a.partial-00000000-{dead}-0123abcd.csv",  # another machine
        f"a.partial-{here}-{dead}-0123abcd.csv",  # not one of ours
        ".a.partial-0123abcd.csv",
    ]
    for name in (stale[0], *kept):
        (tmp_path / name).write_text("half")
    (tmp_path / stale[1]).mkdir()
    write(tmp_path / "new.npy", Table(np.arange(3.0)))
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, "b.zarr", "new.npy"])


# -- results ----------------------------------------------------------------------------


def test_a_saved_result_imports_only_array_libraries(tmp_path, monkeypatch):
    (tmp_path / "trap_of_a_file.py").write_text("raise SystemExit('it was imported')")
    monkeypatch.syspath_prepend(tmp_path)
    writer = Writer()
    plain = writer.plain(np.ones(2)) | {"library": "trap_of_a_file"}
    with pytest.raises(FileError, match="trap_of_a_file is not an array library"):
        Reader(writer.arrays).value(plain)


@posix
def test_a_pipe_is_no_saved_result(tmp_path):
    os.mkfifo(tmp_path / "a.npz")
    with pytest.raises(FileError, match="is a device, a pipe or a socket"):
        sr.load(tmp_path / "a.npz")


def test_a_saved_result_cannot_ask_for_more(tmp_path):
    path = tmp_path / "a.npz"
    sr.Modes(np.array([0.3])).save(path)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("x.npy", header((HUGE * 1000,)))
    with pytest.raises(FileError, match="it would take 16 TB of memory"):
        sr.load(path)
