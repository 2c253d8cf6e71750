"""Series at local times, across the days on which clocks change."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from structrank import forecast, impute
from structrank.io.index import check_regular, following
from structrank.io.local_times import daily_clock, in_zone
from structrank.io.regular_samples import regular_samples
from structrank.io.sampling import Sampling, sampling_of

ZONE = "Europe/Berlin"  # clocks change on 31 March and 27 October 2024


def days(first, count, clock="02:30", second=False):
    """Days at a local time; of one that occurs twice, the first or the second."""
    local = pd.date_range(f"{first} {clock}", periods=count, freq="D")
    which = np.full(count, not second)
    return pd.DatetimeIndex(list(local.tz_localize(ZONE, ambiguous=which)))


def test_a_time_that_is_left_out_is_the_next_one_and_of_two_it_is_the_first():
    local = pd.DatetimeIndex(["2024-03-31 02:30", "2024-10-27 02:30", "2024-05-01 02:30"])
    expected = [
        "2024-03-31 03:00:00+02:00",
        "2024-10-27 02:30:00+02:00",
        "2024-05-01 02:30:00+02:00",
    ]
    assert [str(t) for t in in_zone(local, ZONE)] == expected
    assert in_zone(local, None) is local


def test_local_days_have_the_clock_of_their_zone():
    index = days("2024-03-20", 5)
    assert daily_clock(index).tz is None
    assert daily_clock(index[::-1])[0] == pd.Timestamp("2024-03-24 02:30")
    hours = pd.date_range("2024-03-20", periods=30, freq="h", tz=ZONE)
    assert daily_clock(hours) is hours
    assert daily_clock(hours[:0]) is not None
    utc = days("2024-03-20", 20, "12:00").tz_convert("UTC")  # an hour earlier from 31 March on
    assert daily_clock(utc) is utc


@pytest.mark.parametrize("first", ["2024-03-25", "2024-10-20"])
@pytest.mark.parametrize(("count", "unit"), [(1, "D"), (7, "D")])
def test_local_days_are_days_apart(first, count, unit):
    index = pd.date_range(first, periods=15, freq=f"{count}{unit}", tz=ZONE)
    assert sampling_of(pd.Series(0.0, index)) == Sampling(
        count, "days", 365.2425 / count, "per year"
    )
    hours = pd.date_range(first, periods=300, freq="h", tz=ZONE)
    assert sampling_of(pd.Series(0.0, hours)).step == 1.0


def test_days_that_are_left_out_when_clocks_change():
    whole = in_zone(pd.date_range("2024-03-20 02:30", periods=20, freq="D"), ZONE)
    found = regular_samples(pd.Series(np.arange(19.0), whole.delete(11)), True)
    assert found.index.equals(whole)
    assert np.flatnonzero(found.isna()).tolist() == [11]
    for second in (False, True):  # rows that are there keep their times
        whole = days("2024-10-20", 15, second=second)
        found = regular_samples(pd.Series(np.arange(14.0), whole.delete(3)), True)
        assert found.index.equals(whole)
        assert "moved" not in found.attrs["regular"]


@pytest.mark.parametrize("second", [False, True])
def test_a_complete_series_across_the_day_with_a_repeated_hour(second):
    y = pd.Series(np.sin(0.9 * np.arange(30)), days("2024-10-10", 30, second=second))
    y.iloc[4] = np.nan
    check_regular(y.index)
    assert impute(y).signal.index.equals(y.index)


@pytest.mark.parametrize(
    ("end", "third"),
    [("2024-10-24", "2024-10-27 02:30:00+02:00"), ("2024-03-28", "2024-03-31 03:00:00+02:00")],
)
def test_a_forecast_across_the_day_on_which_clocks_change(end, third):
    first = pd.Timestamp(end) - pd.Timedelta(days=59)
    index = days(first.date(), 60)
    coming = following(index, 5)
    assert str(coming[2]) == third
    assert str(coming[4])[11:16] == "02:30"
    with_freq = pd.date_range(f"{first.date()} 02:30", periods=60, freq="D", tz=ZONE)
    assert following(with_freq, 5).equals(coming)
    found = forecast(pd.Series(np.sin(0.9 * np.arange(60)), index), 5)
    assert found.mean.index.equals(coming)


def test_months_and_seasons_across_the_day_on_which_clocks_change():
    months = pd.DatetimeIndex([f"2023-{k:02d}-27 02:30" for k in range(5, 10)]).tz_localize(ZONE)
    found = following(months, 14)
    assert str(found[0]) == "2023-10-27 02:30:00+02:00"
    assert str(found[12]) == "2024-10-27 02:30:00+02:00"  # a Sunday
    local = [pd.date_range(f"{year}-03-28 02:30", f"{year}-04-05 02:30") for year in (2022, 2023)]
    index = local[0].append(local[1]).tz_localize(ZONE)
    check_regular(index)
    found = following(index, 4)
    assert [str(t) for t in found[2:]] == ["2024-03-30 02:30:00+01:00", "2024-03-31 03:00:00+02:00"]
    midnights = local[0].append(local[1]).normalize().tz_localize(ZONE)
    assert str(following(midnights, 1)[0]) == "2024-03-28 00:00:00+01:00"


def test_hours_do_not_change_with_the_clock():
    hours = pd.date_range("2024-03-30 20:00", periods=8, freq="h", tz=ZONE)
    for index in (hours, pd.DatetimeIndex(list(hours))):
        check_regular(index)
        expected = pd.date_range("2024-03-30 20:00", periods=11, freq="h", tz=ZONE)[8:]
        assert following(index, 3).equals(expected)


def test_a_number_is_a_step_in_seconds_of_durations():
    y = pd.Series(np.arange(4.0), pd.to_timedelta([0, 2, 4, 8], unit="s"))
    for step in (2, 2.0, "2s", True):
        found = regular_samples(y, step)
        assert found.index.total_seconds().tolist() == [0, 2, 4, 6, 8]
