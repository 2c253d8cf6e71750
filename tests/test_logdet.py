"""Fits by short windows: each fast step beside a literal one, the objective, and what they fill."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pytest
from conftest import random_array

from structrank import Hankel
from structrank.signals.logdet import WindowDescent, WindowFitting, fit_windows
from structrank.signals.window_line import LineWindows, LineWork
from structrank.signals.window_torus import TorusWindows

pytestmark = pytest.mark.quick


def windows_of(y, window, *, around):
    """All windows as columns, places first; around: also those over the edges."""
    lengths = y.shape[:-1]
    starts = lengths if around else [n - w + 1 for n, w in zip(lengths, window, strict=True)]
    columns = []
    for start in product(*map(range, starts)):
        places = product(*[range(s, s + w) for s, w in zip(start, window, strict=True)])
        rows = [y[tuple(t % n for t, n in zip(at, lengths, strict=True))] for at in places]
        columns.append(np.concatenate(rows))
    return np.stack(columns, axis=1)


def literal_step(b, trust, window, weights, *, around):
    """The least `sum trust |y - b|^2 + sum q^H weights q / m` with a dense matrix."""
    size, m = b.size, int(np.prod(window))
    A = np.diag(trust.reshape(-1)).astype(weights.dtype)
    unit = np.arange(size).reshape(b.shape)
    for q in windows_of(unit, window, around=around).T:
        A[np.ix_(q, q)] += weights / m
    return np.linalg.solve(A, (trust * b).reshape(-1)).reshape(b.shape)


BY_SUMS = partial(LineWindows, work=LineWork(product=0))


def samples_of(rng, shape, dtype):
    b = random_array(rng, shape, dtype)
    seen = rng.random(shape) < 0.6
    return np.where(seen, b, 0), seen


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize(
    ("kind", "shape", "window"),
    [
        (LineWindows, (12, 1), (4,)),
        (LineWindows, (10, 3), (3,)),
        (BY_SUMS, (12, 1), (4,)),
        (BY_SUMS, (9, 1), (6,)),
        (BY_SUMS, (10, 3), (3,)),
        (TorusWindows, (7, 6, 1), (3, 2)),
        (TorusWindows, (5, 4, 2), (2, 3)),
        (TorusWindows, (4, 3, 5, 1), (2, 2, 2)),
    ],
)
def test_steps_are_those_of_dense_matrices(rng, kind, shape, window, dtype):
    b, seen = samples_of(rng, shape, dtype)
    fast, around = kind(b, seen, window), kind is TorusWindows
    padded, trust = fast.b, fast.trust
    if around:
        padded, trust = np.moveaxis(padded, 0, -1), np.moveaxis(trust, 0, -1)
    Q = windows_of(padded, window, around=around)
    covariance = fast.covariance(fast.b)
    np.testing.assert_allclose(covariance, Q @ Q.conj().T / Q.shape[1], atol=1e-12)
    weights = np.linalg.inv(covariance + 0.1 * np.eye(len(covariance)))
    expected = literal_step(padded, trust, window, weights, around=around)
    found = fast.solved(weights, fast.b, 500, 1e-13)
    found = np.moveaxis(found, 0, -1) if around else found
    np.testing.assert_allclose(found, expected, atol=1e-9)


def objective(y, samples, window, delta):
    seen = ~np.isnan(samples)
    mean = np.nanmean(samples)
    Q = Hankel(len(y), window).to_dense(y[:, 0] - mean)
    covariance = Q @ Q.conj().T / Q.shape[1]
    misfit = np.sum(np.abs(y - samples)[seen] ** 2) / delta
    logdet = np.linalg.slogdet(covariance + delta * np.eye(window))[1]
    return misfit + Q.shape[1] / window * logdet


def test_the_objective_never_rises(rng):
    samples = random_array(rng, (60, 1)).cumsum(axis=0)
    samples[rng.random(60) < 0.3] = np.nan
    delta = 0.01 * np.nanvar(samples)
    fits = [
        fit_windows(samples, 6, 0.01, fitting=WindowFitting(max_steps=k)).y for k in range(1, 9)
    ]
    values = [objective(y, samples, 6, delta) for y in fits]
    assert np.all(np.diff(values) <= 1e-9 * np.abs(values[0]))
    assert values[-1] < values[0] - 0.1
    again = fit_windows(samples, 6, 0.01, start=fits[-1]).y
    assert objective(again, samples, 6, delta) <= values[-1] + 1e-9


def test_extrapolated_steps_get_nearer_to_the_end_of_plain_ones(rng):
    """In space: waves of which a third is seen, and the same steps without extrapolation."""
    x, y = np.indices((24, 24))
    waves = np.cos(0.5 * x + 0.9 * y) + np.cos(0.7 * x - 0.3 * y) + np.cos(1.9 * x + 0.2 * y)
    samples = np.where(rng.random((24, 24)) < 0.3, waves, np.nan)[..., None]
    ends = []
    for extrapolates, steps in ((False, 200), (False, 20), (True, 20)):
        descent = WindowDescent(samples, (4, 4))
        descent._extrapolates = extrapolates
        for _ in range(steps):
            descent.step(1e-3)
        ends.append(descent.y)
    plain, extrapolated = (np.linalg.norm(end - ends[0]) for end in ends[1:])
    assert extrapolated < 0.7 * plain


def swings(n, seed, dtype=float):
    """A series of swings that come and go: noise through a narrow filter."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n + 100, dtype=dtype)
    turn = 0.97 * np.exp(0.5j)
    noise = rng.standard_normal(n + 100) + (
        1j * rng.standard_normal(n + 100) if dtype is complex else 0
    )
    for t in range(2, n + 100):
        if dtype is complex:
            y[t] = turn * y[t - 1] + noise[t]
        else:
            y[t] = 2 * turn.real * y[t - 1] - abs(turn) ** 2 * y[t - 2] + noise[t]
    return y[100:, None]


@pytest.mark.parametrize("dtype", [float, complex])
def test_gaps_are_filled_about_as_well_as_by_the_true_model(dtype):
    """The best linear prediction from the samples needs the true covariance."""
    n, ours, best = 400, [], []
    for seed in range(4):
        truth = swings(n, seed, dtype)
        missing = np.arange(n) % 40 < 4
        samples = np.where(missing[:, None], np.nan, truth)
        filled = fit_windows(samples, 16, 1e-4).y
        lags = np.arange(n)
        turn = 0.97 * np.exp(0.5j)
        if dtype is complex:
            row = turn**lags
        else:  # of the two poles `turn` and its conjugate
            first = turn / (1 - turn**2) / (1 - abs(turn) ** 2) / (turn - turn.conj())
            row = 2 * (first * turn**lags).real
        C = np.where(lags[:, None] >= lags, row[np.abs(lags[:, None] - lags)], 0)
        C = np.tril(C) + np.tril(C, -1).conj().T
        gain = np.linalg.solve(C[np.ix_(~missing, ~missing)], C[np.ix_(~missing, missing)])
        oracle = gain.conj().T @ truth[~missing]
        ours.append(filled[missing] - truth[missing])
        best.append(oracle - truth[missing])
    ratio = np.linalg.norm(ours) / np.linalg.norm(best)
    assert 1 <= ratio < 1.25


def test_noise_is_removed_from_what_is_seen(rng):
    truth = np.cos(0.3 * np.arange(200.0))[:, None]
    noisy = truth + 0.2 * rng.standard_normal(truth.shape)
    found = fit_windows(noisy, 32, 0.08)
    assert np.linalg.norm(found.y - truth) < 0.7 * np.linalg.norm(noisy - truth)
    assert found.rank == 2


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_single_precision_is_kept(rng, dtype):
    x, y = np.arange(20.0)[:, None], np.arange(24.0)
    picture = np.cos(0.2 * x + 0.3 * y)[..., None].astype(dtype)
    samples = np.where(rng.random(picture.shape) < 0.4, np.nan, picture).astype(dtype)
    found = fit_windows(samples, (4, 4), 1e-3).y
    assert found.dtype == dtype
    assert np.linalg.norm(found - picture) < 0.1 * np.linalg.norm(picture)


def test_an_offset_does_not_matter(rng):
    samples = random_array(rng, (50, 2))
    samples[20:25] = np.nan
    found = fit_windows(samples, 8, 0.01).y
    moved = fit_windows(samples + np.array([10.0, -3.0]), 8, 0.01).y
    np.testing.assert_allclose(moved, found + np.array([10.0, -3.0]), atol=1e-8)


def test_the_unit_does_not_matter(rng):
    for shape, window in (((40, 2), 8), ((12, 10, 1), (3, 3))):
        samples = random_array(rng, shape)
        samples[4:6] = np.nan
        found = fit_windows(samples, window, 0.01).y
        for unit in (1e-60, 1e60):
            moved = fit_windows(unit * samples, window, 0.01).y
            np.testing.assert_allclose(moved, unit * found, rtol=1e-4)


def test_an_early_end_leaves_unsure_values_small(rng):
    x, y = np.arange(30.0)[:, None], np.arange(24.0)
    picture = np.cos(0.2 * x + 0.3 * y)[..., None]
    samples = np.where(rng.random(picture.shape) < 0.9, np.nan, picture)
    early, late = (fit_windows(samples, (4, 4), 1e-3, thorough=t).y for t in (False, True))
    assert np.linalg.norm(early) < 0.9 * np.linalg.norm(late)


def test_constants_stay_constant():
    samples = np.full((10, 2), 3.0)
    samples[4, 0] = np.nan
    found = fit_windows(samples, 3, 0.01)
    np.testing.assert_array_equal(found.y, 3.0)
    assert found.rank == 0


@pytest.mark.parametrize(
    ("window", "share", "message"),
    [(20, 0.1, "window is"), ((2, 2), 0.1, "window is"), (0, 0.1, "window"), (3, 0.0, "share")],
)
def test_bad_arguments_are_errors(window, share, message):
    with pytest.raises(ValueError, match=message):
        fit_windows(np.ones((10, 1)), window, share)
