"""Regular times of tables: their places and labels, what is moved or added, what is refused."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

from structrank.io import FileError, Table
from structrank.io.grid import regularized
from structrank.io.steps import step_in_words, time_step

START = datetime(2024, 5, 20, 10)
SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800}
USUAL = [
    *(f"{k} {unit}" for unit in ("s", "min") for k in (1, 2, 5, 10, 15, 20, 30)),
    *(f"{k} h" for k in (1, 2, 3, 4, 6, 8, 12)),
    *("1 d", "1 w"),
]


def made(index, step=None):
    """The table of row numbers with a regular index."""
    return regularized(Table(np.arange(len(index), dtype=float), index=index), step)


def after(seconds, start=START):
    return [str(start + timedelta(seconds=float(s))) for s in seconds]


LEFT_OUT = {  # the step given and found, and all rows: + stands before those that are left out
    "numbers": (None, "1", "0, 1, +2, 3, 4"),
    "three rows": (None, "1", "0, 1, 2"),
    "as they are written": (None, "0.1", "0.10, 0.20, +0.3, 0.40"),
    "signs": (None, "2", "-3, -1, +1, 3"),
    "decimals": (None, "1", "1.0, 2.0, +3.0, 4.0"),
    "halves": (0.5, "0.5", "0, +0.5, 1, +1.5, 2"),
    "a step as text": ("0.5", "0.5", "0, +0.5, 1, +1.5, 2"),
    "a step that no clock has": (None, "59", "0, 59, 118"),
    "tiny": (None, "1e-09", "1e-9, 2e-9, +3e-09, 4e-9"),
    "huge": (None, "1e+20", "1e20, 2e20, +3e+20, 4e20"),
    "years": (None, "10", "1900, 1910, +1920, 1930"),
    "seconds since 1970": (None, "0.1", "1700000000.1, 1700000000.2, +1700000000.3, 1700000000.4"),
    "not from zero": (None, "1", "10.01, 11.01, +12.01, 13.01"),
    "not at full hours": (None, "1 h", "2024-05-31 10:01:00, 2024-05-31 11:01:00,"
                          " +2024-05-31 12:01:00, 2024-05-31 13:01:00"),
    "nearly 30 min": (None, "29.4243 min", "2024-05-20 10:00:00, 2024-05-20 10:29:25.460000,"
                      " +2024-05-20 10:58:50.920000, 2024-05-20 11:28:16.380000"),
    "seconds": (None, "1 s", "2024-05-31 10:00:00, 2024-05-31 10:00:01, +2024-05-31 10:00:02,"
                " 2024-05-31 10:00:03"),
    "no seconds": (None, "30 min", "2024-05-31T10:00, 2024-05-31T10:30, +2024-05-31T11:00,"
                   " 2024-05-31T11:30"),
    "parts of seconds": ("500ms", "500 ms", "2024-05-31 10:00:00, +2024-05-31 10:00:00.500000,"
                         " 2024-05-31 10:00:01"  ", +2024-05-31 10:00:01.500000,"
                         " 2024-05-31 10:00:02"),
    "offsets": (None, "12 h", "2024-05-31 00:00+02:00, 2024-05-31 12:00+02:00,"
                " +2024-06-01 00:00+02:00, 2024-06-01 12:00+02:00"),
    "local midnights": (None, "1 d", "2024-03-30 00:00+01:00, 2024-03-31 00:00+01:00,"
                        " 2024-04-01 00:00+02:00, +2024-04-02 00:00+02:00,"
                        " 2024-04-03 00:00+02:00"),
    "local months": (None, "1 month", "2024-02-01 00:00+01:00, 2024-03-01 00:00+01:00,"
                     " +2024-04-01 00:00+01:00, 2024-05-01 00:00+02:00"),
    "days": (None, "1 d", "2024-02-27, 2024-02-28, +2024-02-29, 2024-03-01, 2024-03-02"),
    "weeks": (None, "1 w", "2024-02-27, 2024-03-05, +2024-03-12, 2024-03-19"),
    "months": (None, "1 month", "2024-01, 2024-02, +2024-03, 2024-04"),
    "a day of each month": (None, "1 month", "2023-12-15, 2024-01-15, +2024-02-15, 2024-03-15"),
    "ends of months": (None, "1 month", "2023-12-31, 2024-01-31, +2024-02-29, 2024-03-31"),
    "quarters": (None, "3 months", "2023-07-01, 2023-10-01, +2024-01-01, 2024-04-01"),
    "months of a given step": ("1 month", "1 month", "2024-01-01, +2024-02-01, 2024-03-01,"
                               " +2024-04-01, 2024-05-01"),
    "months at noon": (None, "1 month", "2024-01-01 12:00, 2024-02-01 12:00, +2024-03-01 12:00,"
                       " 2024-04-01 12:00"),
    "days in steps of months": ("1d", "1 d", "2024-01-30, +2024-01-31, 2024-02-01"
                                ", 2024-02-02"),
    "business days": (None, "1 business day", "2024-05-02, 2024-05-03, 2024-05-06, +2024-05-07,"
                      " 2024-05-08, 2024-05-09, 2024-05-10, 2024-05-13, 2024-05-14, 2024-05-15,"
                      " 2024-05-16"),
    "business days of a given step": ("1b", "1 business day", "2024-05-03, +2024-05-06,"
                                      " 2024-05-07, +2024-05-08, 2024-05-09"),
    "two weeks of days": (None, "1 d", "2024-05-06, 2024-05-07, 2024-05-08, 2024-05-09,"
                          " 2024-05-10, +2024-05-11, +2024-05-12, 2024-05-13"),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT_OUT)
def test_rows_that_are_left_out_are_added(name):
    given, step, rows = LEFT_OUT[name]
    all_rows = rows.split(", ")
    index = [row for row in all_rows if not row.startswith("+")]
    found = made(index, given)
    assert found.index.tolist() == [row.removeprefix("+") for row in all_rows]
    expected = np.full(len(all_rows), np.nan)
    expected[[not row.startswith("+") for row in all_rows]] = np.arange(len(index))
    np.testing.assert_array_equal(found.values, expected)
    added = len(all_rows) - len(index)
    done = f"{added} rows without values were added" if added > 1 else "no change"
    done = "1 row without values was added" if added == 1 else done
    assert found.notes == (f"the index was made regular with step {step}: {done}",)


def test_order_of_rows_and_values_of_other_types():
    table = Table(np.array([[1, 10], [3, 30], [0, 0]], dtype=np.float32), index=["1", "3", "0"])
    found = regularized(Table(table.values, index=table.index, notes=("read",)))
    assert found.values.dtype == np.float32
    np.testing.assert_array_equal(found.values, [[0, 0], [1, 10], [np.nan] * 2, [3, 30]])
    note = "the index was made regular with step 1: rows were sorted by time, 1 row without"
    assert found.notes[0] == "read"
    assert found.notes[1].startswith(note)
    complex_values = regularized(Table(np.array([1j, 2j, 3j]), index=["0", "1", "3"])).values
    np.testing.assert_array_equal(complex_values, [1j, 2j, np.nan, 3j])


def test_offsets_that_change_become_utc():
    index = ["2024-03-31 01:00+01:00", "2024-03-31 03:00+02:00", "2024-03-31 05:00+02:00"]
    found = made(index)
    assert found.index.tolist() == [index[0], index[1], "2024-03-31 02:00+00:00", index[2]]


@pytest.mark.parametrize("step", USUAL)
def test_steps_of_clocks_are_found_in_times_that_jitter(step):
    count, unit = step.split()
    seconds = int(count) * SECONDS[unit]
    rng = np.random.default_rng(seconds)
    places = seconds * np.delete(np.arange(60), [7, 20, 21])
    start = datetime(2024, 5, 20)
    found = made(after(places + rng.uniform(-0.05, 0.05, 57) * seconds, start))
    assert found.notes[0].startswith(f"the index was made regular with step {step}: 3 rows ")
    got = [datetime.fromisoformat(str(row)) for row in found.index]
    np.testing.assert_array_equal(np.diff(got), timedelta(seconds=seconds))
    assert len(got) == 60
    assert got[0] == start or unit == "w"  # days have a usual start, weeks have none


def test_numbers_that_jitter_or_have_an_odd_step():
    slots = np.delete(np.arange(200), [7, 20, 21])
    jitter = np.random.default_rng(0).uniform(-0.02, 0.02, 197)
    plain = made([str(x) for x in 0.25 * slots + 0.25 * jitter])
    assert "step 0.25: 3 rows without values were added, 197 times were moved by" in plain.notes[0]
    np.testing.assert_array_equal(plain.index.astype(float), 0.25 * np.arange(200))
    odd = made([str(x) for x in 0.2517 * slots])
    assert "step 0.2517: 3 rows" in odd.notes[0]
    assert "moved" not in odd.notes[0]
    rounded = made([f"{x / 3:.3f}" for x in range(200) if x != 7])  # the step is not 0.33
    assert "step 0.333333: 1 row without values was added, " in rounded.notes[0]
    assert made([f"{5 + x:.1f}" for x in (0.0, 1.1, 2.0, 3.0)]).index[1] == "6.0"


@pytest.mark.parametrize(("count", "jitter"), [(30, 0.1), (400, 0.1), (2000, 0.05)])
def test_small_errors_of_the_first_step_do_not_add_up(count, jitter):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        slots = np.delete(np.arange(count), rng.choice(np.arange(1, count - 1), count // 20, False))
        index = 0.25 * (slots + rng.uniform(-jitter, jitter, len(slots)))
        found = made([f"{x:.6f}" for x in index])
        assert f"with step 0.25: {count // 20} row" in found.notes[0]
        places = found.index.astype(float)
        np.testing.assert_allclose(places, places[0] + 0.25 * np.arange(count), atol=1e-9)


@pytest.mark.parametrize("step", ["7 s", "1.5 min", "1.5 h", "2 d", "500 ms"])
def test_steps_of_clocks_that_are_not_usual(step):
    number, unit = step.split()
    size = float(number) * {**SECONDS, "ms": 1e-3}[unit]
    slots = np.delete(np.arange(200), [3, 50])
    jitter = np.random.default_rng(1).uniform(-0.05, 0.05, 198)
    found = made(after(size * (slots + jitter), datetime(2024, 5, 20)))
    assert f"with step {step}: 2 rows without values were added" in found.notes[0]


FEW = {  # three or four rows hardly tell the error of their step
    "1.5": ["0", "1.5", "3.01"],
    "2.5": ["0", "2.5", "5.1", "7.5"],
    "1.5 min": after([0, 90, 181]),
    "25 s": after([0, 25, 51, 75]),
}


@pytest.mark.parametrize("step", FEW)
def test_few_rows_have_the_step_near_them(step):
    found = made(FEW[step])
    assert f"with step {step}: 1 time was moved" in found.notes[0]
    assert len(found.index) == len(FEW[step])


@pytest.mark.parametrize(
    ("size", "count", "gap", "jitter", "right"),
    [
        (7.3, 100, 300, 0.05, 40),
        (7.3, 15, 200, 0.1, 0),
        (600.0, 50, 300, 0.1, 39),
        (60.0, 3, 20, 0.05, 30),
    ],
)
def test_long_gaps_have_the_right_number_of_rows_or_are_refused(size, count, gap, jitter, right):
    """Steps of clocks are known; others have an error, which adds up."""
    slots = np.append(np.arange(count), np.arange(count) + count + gap)
    rows, errors = [], []
    for seed in range(40):
        moved = slots + np.random.default_rng(seed).uniform(-jitter, jitter, 2 * count)
        try:
            rows.append(len(made(after(size * moved)).index))
        except FileError as error:
            errors.append(str(error))
    assert set(rows) <= {2 * count + gap}
    assert len(rows) >= right
    words = f"not how many of them are between rows {count} and {count + 1}: pass the step"
    assert all(words in error for error in errors)


def test_jittered_rows_start_at_a_round_place():
    jitter = np.random.default_rng(2).uniform(-4, 4, 50)
    for start, first in ((0, "10:00:00"), (900, "10:15:00"), (60, "10:01:00")):
        assert made(after(start + 3600 * np.arange(50) + jitter)).index[0] == f"2024-05-20 {first}"
    assert made([str(x) for x in 3.3 + np.arange(50) + 0.01 * jitter]).index[0] == "3.3"


def test_few_jittered_numbers_keep_their_places():
    assert (
        made(["1", "2", "3.5", "4"])
        .notes[0]
        .startswith("the index was made regular with step 0.75: 1 row")
    )
    for seed in range(20):  # an error of the step that chance explains is rounded
        jitter = np.random.default_rng(seed).uniform(-0.02, 0.02, 4)
        found = made([f"{x:.6f}" for x in 0.25 * (np.arange(4) + jitter)])
        assert "with step 0.25: " in found.notes[0]


def test_how_far_times_were_moved():
    found = made(["2024-05-20 10:00:00", "2024-05-20 10:10:06", "2024-05-20 10:20:00"])
    assert found.index[1] == "2024-05-20 10:10:00"
    assert found.notes[0].endswith("step 10 min: 1 time was moved by up to 6 s")
    assert made(["0", "1.25", "2", "3"], 1).notes[0].endswith("1 time was moved by up to 0.25")
    with pytest.raises(FileError, match=r"not near equal steps of 1 \(row 2\): pass another step"):
        made(["0", "1.35", "2", "3"], 1)


REFUSED = {  # index, step, what the error says
    "no index": (None, None, "there is no index to make regular: choose its column"),
    "labels": (["a", "b", "c"], None, r"the index \(a ...\) cannot be made regular: numbers or"),
    "nan": (["0", "nan", "1"], None, "the index contains nan, but finite numbers are expected"),
    "inf": (["0", "1", "inf"], None, "the index contains inf, but finite numbers are expected"),
    "two": (["0", "1"], None, "the index has 2 entries, but 3 or more tell a step"),
    "equal": (["1", "1", "1"], None, "the index has no step that many rows share"),
    "zero": (["0", "1", "2"], 0, "the index has no step that many rows share, or one below zero"),
    "below zero": (["0", "1", "2"], "-1", "or one below zero: pass the step"),
    "endless": (["0", "1", "2"], "inf", "the index has no step that many rows share"),
    "a time for numbers": (["0", "1", "2"], "1h", "the step is '1h', but the index has numbers"),
    "twice": (["0", "1", "1", "2"], 1, "1 and 1 are less than a step of 1 apart: remove one"),
    "two a step": (["0", "0.25", "1", "2"], 1, "0 and 0.25 are less than a step of 1 apart"),
    "too many": (["0", "1", "2", "90"], None, "with step 1 the index would have 91 rows instead "
                 "of 4: pass a larger step"),
    "far too many": (["0", "1", "2", "1e12"], None, "would have 1000000000001 rows instead of 4"),
    "too many months": (["1900-01-01", "1950-01-01", "2000-01-01"], "1month", "with step 1 month"),
    "uneven": (["0", "1", "2", "3.45", "4", "5"], None, "not near equal steps of"),
    "tiny": (["0", "1", "2"], 1e-300, r"would have 2.0e\+300 rows"),
    "not a step": (["2024-01-01", "2024-01-02", "2024-01-03"], "1x", "the step is '1x', but a time "
                   "such as 30s"),
    "no months": (["2024-01-01", "2024-01-03", "2024-01-05"], "1month", "the times do not follow "
                  "steps of 1month: pass another"),
    "parts of months": (["2024-01-01", "2024-02-01", "2024-03-01"], "1.5 months", "do not follow "
                        "steps of 1.5 months"),
    "larger months": (["2024-01-01", "2024-02-01", "2024-03-01"], "2months", "do not follow"),
    "a weekend": (["2024-05-03", "2024-05-04", "2024-05-06"], "1b", "do not follow steps of 1b"),
    "two business days": (["2024-05-06", "2024-05-08", "2024-05-10"], "2b", "do not follow steps"),
    "equal days": (["2024-05-06", "2024-05-06", "2024-05-07"], "1d", "are less than a step of 1 d"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    index, step, message = REFUSED[name]
    values = np.arange(len(index or "abc"), dtype=float)
    with pytest.raises(FileError, match=message):
        regularized(Table(values, index=index), step)


def test_twenty_rows_per_row_are_the_limit():
    assert len(made(["0", "1", "2", "79"]).index) == 80
    with pytest.raises(FileError, match="would have 81 rows instead of 4"):
        made(["0", "1", "2", "80"])


STEPS = {  # of times: how many of which unit
    "30s": (30, "s"), "2 sec": (2, "s"), "1second": (1, "s"), "5 seconds": (5, "s"),
    "10min": (10, "min"), "10T": (10, "min"), "5m": (5, "min"), "3 Minutes": (3, "min"),
    "h": (1, "h"), "1.5h": (1.5, "h"), ".5 hours": (0.5, "h"), "1d": (1, "d"), "2 days": (2, "d"),
    "1w": (1, "w"), "2 weeks": (2, "w"), "20ms": (20, "ms"), "1 millisecond": (1, "ms"),
    "10mins": (10, "min"), "2hrs": (2, "h"), "1MS": (1, "month"), "ME": (1, "month"),
    "2M": (2, "month"), "2m": (2, "min"),
    "1month": (1, "month"), "3 months": (3, "month"), "1b": (1, "business day"),
    "2 business days": (2, "business day"),
}  # fmt: skip


@pytest.mark.parametrize("text", STEPS)
def test_steps_of_times_as_people_write_them(text):
    assert time_step(text) == STEPS[text]


def test_steps_in_words():
    assert time_step(None) is None
    found = [step_in_words(s, clock=True) for s in (0.02, 0.5, 1, 90, 3600, 86400, 907200)]
    assert found == ["20 ms", "500 ms", "1 s", "1.5 min", "1 h", "1 d", "1.5 w"]
    assert step_in_words(3600, clock=False) == "3600"
