"""Modes and gross errors found together: right ones, trusted only where the convex way agrees."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import nightly, random_array

from structrank import Hankel, Problem, find_outliers, recover
from structrank.modal.fit import ModalFit
from structrank.modal.robust_greedy import robust_modes
from structrank.model.scale import TwoLevels
from structrank.selection.whiteness import has_gaussian_tails
from structrank.signals import outliers as module
from structrank.signals.outliers import search_outliers
from structrank.signals.problems import hankel_problem
from structrank.signals.solutions import Known


def spoiled_tones(rng, *, dtype="complex128", shape=127, share=0.2, size=2.0, noise=0.05, seen=0.8):
    """Two modes, noise, gross errors of about `size`; and where these are."""
    grids = np.meshgrid(*(np.arange(n) for n in np.atleast_1d(shape)), indexing="ij")
    truth = np.exp(0.5j * grids[0] + 1j * sum(grids)) + 0.7 * np.exp(1.9j * grids[0])
    truth = truth.real if dtype == "float64" else truth
    samples = truth + noise * random_array(rng, truth.shape, dtype)
    samples[rng.random(truth.shape) > seen] = np.nan
    at = np.flatnonzero(~np.isnan(samples))
    at = np.sort(rng.choice(at, round(share * at.size), replace=False))
    samples.flat[at] += size * rng.uniform(0.5, 1.5, at.size) * rng.choice([-1, 1], at.size)
    return truth, samples, at


def convex_outliers(problem, monkeypatch):
    """The slow way alone."""
    with monkeypatch.context() as patch:
        patch.setattr(module, "_search_directly", lambda *_: None)
        return search_outliers(problem, Known())


@pytest.fixture
def no_convex_solution(monkeypatch):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr(module, "_search_levels", fail)


class TestModesAndErrors:
    @pytest.mark.parametrize("noise", [0.0, 0.05])
    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    @pytest.mark.parametrize("shape", [127, (16, 17)])
    def test_are_found_together(self, shape, dtype, noise, rng):
        truth, samples, at = spoiled_tones(rng, dtype=dtype, shape=shape, noise=noise)
        found = robust_modes(hankel_problem(samples))
        assert set(np.flatnonzero(found.outliers)) >= set(at)
        assert np.count_nonzero(found.outliers) <= len(at) + 1
        assert len(found.modes) == (2 if dtype == "complex128" else 4)
        signal = found.modes.signal(truth.shape)
        limit = 0.5 * noise if noise else 1e-12
        assert np.linalg.norm(signal - truth) <= limit * np.linalg.norm(truth)

    def test_channels_have_their_own(self, rng):
        one, other = (spoiled_tones(rng, dtype="float64", seen=1.0)[1:] for _ in range(2))
        problem = hankel_problem(np.column_stack([one[0], other[0]]), channels=1)
        outliers = robust_modes(problem).outliers[..., 0]
        for c, (_, at) in enumerate((one, other)):
            np.testing.assert_array_equal(np.flatnonzero(outliers[:, c]), at)

    def test_rank_and_undamped_may_be_known(self, rng):
        problem = hankel_problem(spoiled_tones(rng)[1])
        assert len(robust_modes(problem, rank=1).modes) == 1
        assert not np.any(robust_modes(problem, undamped=True).modes.dampings)
        assert robust_modes(hankel_problem(spoiled_tones(rng, dtype="float64")[1]), rank=3) is None

    def test_an_error_at_the_start_is_no_mode(self):
        samples = np.exp(0.5j * np.arange(100))
        samples[0] += 50.0
        found = robust_modes(hankel_problem(samples))
        assert np.flatnonzero(found.outliers).tolist() == [0]
        assert len(found.modes) == 1

    def test_noise_has_none(self, rng):
        assert robust_modes(hankel_problem(rng.standard_normal(200))) is None


class TestDirectSearch:
    @pytest.mark.parametrize(
        ("dtype", "noise"),
        [
            ("float64", 0.05),
            ("complex128", 0.0),
            nightly("float64", 0.0),
            nightly("complex128", 0.05),
        ],
    )
    def test_agrees_with_the_convex_way(self, dtype, noise, rng, monkeypatch):
        problem = hankel_problem(spoiled_tones(rng, dtype=dtype, noise=noise, seen=1.0)[1])
        found, convex = search_outliers(problem, Known()), convex_outliers(problem, monkeypatch)
        assert found.direct is not None
        assert found.doubt is convex.doubt is None
        assert np.count_nonzero(found.outliers != convex.outliers) <= 1

    @pytest.mark.usefixtures("no_convex_solution")
    def test_needs_no_convex_solution(self, rng):
        truth, samples, at = spoiled_tones(rng)
        found = recover(samples, robust=True)
        np.testing.assert_array_equal(np.flatnonzero(found.outliers), at)
        assert "result" not in vars(found)
        assert found.result.problem.sample_count == np.count_nonzero(~np.isnan(samples)) - len(at)
        assert np.linalg.norm(found.signal - truth) < 0.02 * np.linalg.norm(truth)
        again = recover(np.where(found.outliers, np.nan, samples))
        np.testing.assert_allclose(found.signal, again.signal, atol=1e-6)
        np.testing.assert_allclose(found.stderr, again.stderr, rtol=1e-4)

    @pytest.mark.usefixtures("no_convex_solution")
    def test_scale_and_precision_do_not_matter(self, rng):
        _, samples, at = spoiled_tones(rng)
        for values in (1e-20 * samples, 1e20 * samples, samples.astype("complex64")):
            found = find_outliers(hankel_problem(values))
            np.testing.assert_array_equal(np.flatnonzero(found), at)

    def test_is_not_trusted_where_it_may_be_wrong(self, rng):
        """Noise of two levels, errors hidden in noise, more than a third of them, no modes."""
        _, samples, _ = spoiled_tones(rng, dtype="float64", share=0.0, seen=1.0)
        offset = np.where(rng.random(127) < 0.4, 5.0, 0.0)
        cases = [
            samples + offset,
            samples + 0.5 * rng.standard_t(2, 127),
            spoiled_tones(rng, share=0.4)[1],
            np.cumsum(rng.standard_normal(127)),
        ]
        for values in cases:
            found = module._search_directly(hankel_problem(values), Known(), module.OutlierSearch())
            assert found is None

    @pytest.mark.nightly
    def test_is_fooled_no_more_than_the_convex_way(self, monkeypatch):
        """Gross errors alone, in a row, and all of one sign."""
        wrong = np.zeros(2, dtype=int)
        trusted = 0
        for seed in range(60):
            rng = np.random.default_rng(seed)
            _, samples, _ = spoiled_tones(
                rng, dtype=rng.choice(["float64", "complex128"]), share=0.0, seen=1.0
            )
            count, size = rng.choice([0, 6, 20, 35]), rng.choice([0.5, 1.0, 3.0, 20.0])
            first = rng.integers(0, 127 - count)
            at = [rng.choice(127, count, replace=False), first + np.arange(count)][seed % 2]
            signs = rng.choice([-1, 1], count) if seed % 3 else 1
            samples[at] += size * signs
            problem = hankel_problem(samples)
            found = search_outliers(problem, Known())
            if found.direct is None:
                continue
            trusted += 1
            for i, got in enumerate((found, convex_outliers(problem, monkeypatch))):
                missed = np.setdiff1d(at, np.flatnonzero(got.outliers))
                wrong[i] += got.doubt is None and (
                    missed.size > 0 or np.count_nonzero(got.outliers) > count + 3
                )
        assert trusted >= 30
        assert wrong[0] <= wrong[1]


def test_tails_of_gaussian_noise_are_recognised():
    rng = np.random.default_rng(0)
    for dtype in ("float64", "complex128"):
        noise = [random_array(rng, 200, dtype) for _ in range(300)]
        assert np.mean([has_gaussian_tails(part) for part in noise]) > 0.95
        for part in noise:
            part[:20] *= 4
        assert np.mean([has_gaussian_tails(part) for part in noise]) < 0.05


def test_two_levels_against_their_definition(rng):
    residual = random_array(rng, 50, "complex128")
    residual[[3, 8]] = 20.0, 30.0
    levels = TwoLevels(residual, noise=1.5, far=4.0)
    assert np.flatnonzero(levels.far).tolist() == [3, 8]
    near = np.sqrt(np.mean(np.abs(np.delete(residual, [3, 8])) ** 2))
    misfit = 2 * (96 * np.log(near) + 4 * np.log(np.sqrt((400 + 900) / 2)))
    price = np.log(96) * 96 / (96 - 8 - 1)
    assert levels.information(8, 2) == pytest.approx(misfit + 10 * price)
    assert levels.information(95, 2) == np.inf


def test_a_fit_that_meets_the_samples_ends_at_once(monkeypatch):
    """Rounding errors fall by chance for many steps."""
    steps = []
    original = ModalFit._triangle
    monkeypatch.setattr(
        ModalFit, "_triangle", lambda self, model: steps.append(1) or original(self, model)
    )
    t = np.arange(2000)
    b = np.exp(0.3j * t) + 0.5 * np.exp((0.7j - 1e-3) * t)
    problem = Problem(Hankel(2000, window=1000), b, mu=1.0)
    modes = robust_modes(problem).modes
    fit = ModalFit(problem, modes, np.ones(2000), undamped=False)
    assert fit.residual_squared <= 1e-26 * np.sum(np.abs(b) ** 2)
    assert len(steps) <= 5
