"""Channels of one table: their units, and which of them are fitted together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from conftest import nightly

from structrank import Modes, forecast, recover
from structrank.modal.modes import ModeErrors
from structrank.signals.channel_groups import channel_groups, channel_rows, problem_of
from structrank.signals.channel_units import channel_units
from structrank.signals.estimates import Estimate
from structrank.signals.filling import keep_samples
from structrank.signals.problems import hankel_problem

T = np.arange(200)


def waves(*frequencies, sigma=0.05, seed=0, missing=0.15):
    """Cosines side by side: truth, samples with gaps and noise, gaps."""
    rng = np.random.default_rng(seed)
    truth = np.cos(np.outer(T, frequencies) + rng.uniform(0, 6, len(frequencies)))
    samples = truth + sigma * rng.standard_normal(truth.shape)
    gaps = rng.random(truth.shape) < missing
    samples[gaps] = np.nan
    return truth, samples, gaps


def error(found, truth):
    return np.sqrt(np.mean(np.abs(np.asarray(found.signal) - truth) ** 2, axis=0))


def alone(samples, truth):
    return np.array([error(recover(b), y) for b, y in zip(samples.T, truth.T, strict=True)])


class TestUnits:
    table = np.column_stack([np.cos(0.3 * T), 20 + np.cos(0.5 * T), 1000 * np.sin(0.3 * T)])

    def test_infinite_samples_are_refused_before_they_are_added_up(self):
        table = self.table.copy()
        table[3:5, 1] = np.inf, -np.inf
        with pytest.raises(ValueError, match="samples contains inf, but finite numbers, or NaN"):
            recover(table, channels=1)

    def test_there_and_back(self):
        units = channel_units(self.table, 1)
        common = units.common(self.table)
        assert np.all(units.offsets[[0, 2]] == 0)
        assert units.offsets[1] == pytest.approx(np.mean(self.table[:, 1]))
        np.testing.assert_allclose(np.sqrt(np.mean(common**2, axis=0)), 1.0)
        np.testing.assert_allclose(units.signal(common), self.table, rtol=1e-13)

    def test_gaps_do_not_count(self):
        gappy = self.table.copy()
        gappy[::7] = np.nan
        seen = channel_units(np.delete(self.table, np.s_[::7], axis=0), 1)
        units = channel_units(gappy, 1)
        np.testing.assert_allclose(units.offsets, seen.offsets)
        np.testing.assert_allclose(units.sizes, seen.sizes)
        assert units.counts.tolist() == [171] * 3

    @pytest.mark.parametrize(
        "table",
        [
            np.column_stack([np.cos(T), 1 + np.sin(T)]),  # alike
            np.column_stack([np.full(200, 0.1), np.full(200, 0.2)]),  # constant
            1000 + np.cos(T)[:, None],
        ],
        ids=["alike", "constant", "one"],
    )
    def test_nothing_changes(self, table):
        assert channel_units(table, 1).common(table) is table

    def test_single_precision_and_complex_numbers_stay(self):
        for kind in (np.float32, np.complex64):
            table = self.table.astype(kind)
            units = channel_units(table, 1)
            assert units.common(table).dtype == kind
            assert units.signal(units.common(table)).dtype == kind

    @pytest.mark.parametrize("constant", [False, True])
    def test_modes_and_errors_are_those_of_the_table(self, constant):
        units = channel_units(self.table, 1)
        f = np.array([0.1, 0.0 if constant else 0.2])
        stderr = ModeErrors(*np.full((2, 2, 1), 0.01), *np.full((2, 2, 3), 0.02))
        modes = Modes(f, 0.0, [[1.0, 0.5, 2.0], [0.3, 0.2, 0.1]], stderr)
        signal = modes.signal(200)
        y, errors = signal[..., None], np.full((200, 3, 1), 0.1)
        found = units.estimate(Estimate(y, errors, 2, modes, 0.5))
        assert found.rank == len(found.modes) == (2 if constant else 3)
        np.testing.assert_allclose(found.modes.signal(200), units.signal(signal), rtol=1e-12)
        np.testing.assert_allclose(found.modes.stderr.amplitudes[0], 0.02 * units.sizes)
        means = np.array([0, 0 if constant else 0.5 / np.sqrt(200), 0])
        np.testing.assert_allclose(found.stderr[5], units.sizes * np.hypot(0.1, means))
        assert found.sigma is None  # differs between channels

    def test_offsets_of_noise_are_a_mode(self):
        noise = np.random.default_rng(0).standard_normal((60, 2))
        found = recover(noise + np.array([0.0, 50.0]), channels=1, kind="refit")
        assert found.rank == len(found.modes) == 1
        np.testing.assert_allclose(found.signal[:, 1], 50 + np.mean(noise[:, 1]))
        assert found.stderr[0, 1] >= np.std(noise) / np.sqrt(60)


class TestGroups:
    @staticmethod
    def tones(problem):
        """The largest tone of the samples of some channels, with zeros in the gaps."""
        b = np.where(problem.seen, problem.b, 0.0).reshape(len(problem.b), -1)
        spectrum = np.fft.rfft(b, axis=0)
        best = np.argmax(np.sum(np.abs(spectrum) ** 2, axis=1))
        spectrum[np.arange(len(spectrum)) != best] = 0
        return np.fft.irfft(spectrum, len(b), axis=0).reshape(problem.b.shape)

    @pytest.mark.parametrize(
        ("cycles", "expected"),
        [
            ([10, 10, 10], [(0, 1, 2)]),
            ([10, 20, 30], [(0,), (1,), (2,)]),
            ([10, 20, 10, 20], [(0, 2), (1, 3)]),
            ([10, 20, 10], [(0, 2), (1,)]),
        ],
    )
    def test_tones(self, cycles, expected):
        _, samples, _ = waves(*(2 * np.pi * np.array(cycles) / 200), missing=0.0)
        assert channel_groups(hankel_problem(samples, channels=1), self.tones) == expected

    def test_a_channel_that_is_predicted_worse_together_leaves(self):
        _, samples, _ = waves(0.3, 0.3, 0.3, missing=0.0)

        def signal(problem):  # alone the samples, together zero in the last channel
            known = [c for c in range(3) if np.isin(samples[:, c], problem.b).any()]
            y = samples[:, known].reshape(problem.b.shape)
            return y * (np.arange(3) < 2)[:, None] if len(known) == 3 else y

        assert channel_groups(hankel_problem(samples, channels=1), signal) == [(0, 1), (2,)]

    @pytest.mark.parametrize("shape", [(50, 1), (12, 12, 2)])
    def test_one_channel_and_pictures_are_one_group(self, shape):
        problem = hankel_problem(np.ones(shape), channels=-1)
        groups = channel_groups(problem, lambda part: pytest.fail("nothing to find out"))
        assert groups == [tuple(range(shape[-1]))]

    def test_a_channel_with_one_sample_stays(self):
        samples = np.ones((30, 2))
        samples[1:, 1] = np.nan
        problem = hankel_problem(samples, channels=1)
        groups = channel_groups(problem, lambda part: np.ones(part.b.shape))
        assert groups == [(0, 1)]

    def test_problems_of_channels(self, rng):
        values = rng.standard_normal((20, 3))
        values[4, 1] = np.nan
        problem = hankel_problem(values, 7, 1)
        assert problem_of(problem, (0, 1, 2)) is problem
        one, two = problem_of(problem, (1,)), problem_of(problem, (0, 2))
        assert (one.structure.block, two.structure.block) == (None, (2, 1))
        assert one.structure.window == two.structure.window == (7,)
        np.testing.assert_array_equal(one.seen, ~np.isnan(values[:, 1]))
        np.testing.assert_array_equal(two.b[..., 0], values[:, [0, 2]])

    def test_a_summary_names_several_groups_only(self):
        numbers, groups = np.zeros((2, 3)), [(0, 2), (1,)]
        assert channel_rows([(0, 1)], numbers, 1) == []
        assert channel_rows(groups, numbers, 1) == [("channels", "fitted in groups: 0, 2; 1")]
        table = pd.DataFrame(numbers, columns=["temp", "wind", 7])
        named = [("channels", "fitted in groups: temp, 7; wind")]
        assert channel_rows(groups, table, 1) == channel_rows(groups, table.T, 0) == named


class TestRecovery:
    def test_weather(self):
        """Offsets of three sizes: pressure is filled as well as alone, and said to be alone."""
        truth, samples, _ = waves(0.26, 0.26, 0.05)
        offsets, sizes = np.array([20.0, 50.0, 1013.0]), np.array([3.0, 8.0, 2.0])
        table = pd.DataFrame(offsets + sizes * samples, columns=["warm", "wet", "heavy"])
        found = recover(table)
        assert found.groups == [(0, 1), (2,)]
        assert found.kind == "refit"
        assert list(found.signal.columns) == list(table.columns)
        errors = error(found, offsets + sizes * truth) / sizes
        assert np.all(errors < 1.05 * alone(samples, truth) + 0.01)
        stated = np.mean(found.stderr, axis=0) / sizes
        assert np.all((errors < 3 * stated) & (stated < 3 * errors))
        fit = found.modes.signal(len(T)).real
        np.testing.assert_allclose(fit, found.signal, atol=1e-9)
        filled = keep_samples(found)
        seen = ~np.isnan(samples)
        np.testing.assert_array_equal(filled.signal.to_numpy()[seen], table.to_numpy()[seen])

    @pytest.mark.parametrize("seed", [nightly(0), 1])
    def test_shared_modes_in_very_different_units(self, seed):
        """Together at least as good as alone on average, in whatever units."""
        units = np.array([1e-6, 1.0, 1e5])
        truth, samples, _ = waves(0.3, 0.3, 0.3, sigma=0.3, seed=seed, missing=0.3)
        found = recover(units * samples, channels=1)
        assert found.groups == [(0, 1, 2)]
        assert np.mean(error(found, units * truth) / units / alone(samples, truth)) < 1.0

    def test_unrelated_channels_are_no_worse_than_alone(self):
        truth, samples, _ = waves(0.3, 0.55, 1.1)
        found = recover(samples, channels=1)
        assert found.groups == [(0,), (1,), (2,)]
        np.testing.assert_allclose(error(found, truth), alone(samples, truth), rtol=1e-6)
        assert found.rank == len(found.modes) == 6
        assert found.sigma == pytest.approx(0.05, rel=0.3)
        assert found.result.problem.structure.block == (3, 1)
        assert "fitted in groups: 0; 1; 2" in repr(found)

    def test_what_is_known_belongs_to_all_channels(self):
        truth, samples, _ = waves(0.3, 0.55)
        found = recover(samples, channels=1, rank=4)
        assert found.groups == [(0, 1)]
        assert np.all(error(found, truth) < 0.05)

    @pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
    def test_a_given_rank_is_kept(self, order):
        """Local fits, which have ranks of their own, predicted held-out samples better."""
        rng, t = np.random.default_rng(1), np.arange(40)
        waves = np.cos(0.5 * t), np.cos(1.3 * t + 1), np.cos(0.5 * t + 1), np.cos(1.3 * t)
        noise = rng.standard_normal((3, 40))
        one, other = waves[0] + 0.5 * waves[1], waves[2] - 0.3 * waves[3]
        table = np.stack([one + 0.1 * noise[0], other + 0.1 * noise[1], noise[2]], axis=1)
        table[rng.random(40) < 0.15, 0] = np.nan
        found = recover(table[:, order], channels=1, effort="fast", rank=4)
        assert (found.rank, found.kind) == (4, "refit")


@pytest.mark.parametrize("kind", ["convex", "components"])
def test_only_a_fit_of_modes_has_a_rank_to_choose(kind):
    with pytest.raises(ValueError, match=f"rank=2 and kind='{kind}' are given"):
        recover(np.cos(np.arange(40.0)), rank=2, kind=kind)


class TestForecast:
    @pytest.mark.parametrize("frequencies", [(0.3, 0.3), (0.3, 0.55)], ids=["shared", "apart"])
    def test_units_and_groups(self, frequencies):
        truth, samples, _ = waves(*frequencies, missing=0.0)
        offsets, sizes = np.array([20.0, 1013.0]), np.array([3.0, 200.0])
        ahead = forecast(offsets + sizes * samples[:60], 10, channels=1)
        shared = frequencies[0] == frequencies[1]
        assert ahead.groups == ([(0, 1)] if shared else [(0,), (1,)])
        assert len(ahead.refits) == len(ahead.groups)
        assert ahead.mean.shape == ahead.stderr.shape == (10, 2)
        off = (ahead.mean - offsets) / sizes - truth[60:70]
        assert np.max(np.abs(off)) < 0.2
        assert np.all(np.mean(ahead.stderr, axis=0) / sizes < 0.2)
        fit = ahead.modes.signal(70).real
        np.testing.assert_allclose(fit[60:], ahead.mean, rtol=1e-9)
        assert ahead.rank == len(ahead.modes)
