"""Components of recovered signals, scree plots and residuals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from structrank import (
    AutoregressiveNoise,
    Hankel,
    Modes,
    Problem,
    ResidualDiagnostics,
    forecast,
    impute,
    load,
    recover,
)
from structrank.cli import main
from structrank.components import Components, FittedChannels, FittedSeries, Season
from structrank.components.conditioning import gaussian
from structrank.components.joint_model import Correlation, JointFit
from structrank.components.likelihood import ComponentFit
from structrank.components.parts import series_parts
from structrank.io.sampling import Sampling
from structrank.modal.harmonics import group_oscillations
from structrank.modal.modal_refit import refit_modes
from structrank.model.measure import Weighted
from structrank.signals.channel_estimate import merged
from structrank.signals.channel_units import channel_units
from structrank.signals.component_series import SignalComponents
from structrank.signals.estimates import Estimate
from structrank.signals.inspection import leading_singular_values
from structrank.signals.problems import hankel_problem

N = 120
T = np.arange(N)
SEASON = np.cos(2 * np.pi * T / 12 + 1) + 0.6 * np.sin(2 * np.pi * T / 6)
TONE = 0.7 * np.cos(2 * np.pi * 0.31 * T)


def noisy(signal, seed=0, sigma=0.05):
    return signal + sigma * np.random.default_rng(seed).standard_normal(np.shape(signal))


def assert_adds_up(found, atol=1e-8):
    """The parts are the signal, and with the rest the samples."""
    parts = found.components()
    total = sum(np.asarray(part) for part in parts.parts.values())
    np.testing.assert_allclose(total, np.asarray(found.signal), rtol=0, atol=atol)
    samples = np.asarray(found.samples)
    seen = ~np.isnan(samples)
    np.testing.assert_allclose((total + np.asarray(parts.rest))[seen], samples[seen], atol=1e-12)
    np.testing.assert_array_equal(np.isnan(np.asarray(parts.rest)), ~seen)
    return parts


@pytest.fixture(scope="module")
def series():
    """A dated series with a gap, of trend, season and oscillation."""
    months = pd.period_range("2010-01", periods=N, freq="M")
    y = pd.Series(noisy(3 * np.exp(-T / 200) + SEASON + TONE), months, name="sales")
    y.iloc[40:46] = np.nan
    return recover(y)


class TestModes:
    def test_trend_season_and_oscillation(self, series):
        parts = assert_adds_up(series)
        assert list(parts) == ["trend", "season of 1 year", "oscillation of 0.2688 years", "rest"]
        assert isinstance(parts["trend"], pd.Series)
        assert parts["rest"].index.equals(series.samples.index)
        assert parts["season of 1 year"].name == "sales"
        np.testing.assert_allclose(parts["season of 1 year"], SEASON, atol=0.1)
        np.testing.assert_allclose(parts["trend"], 3 * np.exp(-T / 200), atol=0.1)
        frame = parts.to_frame()
        errors = [f"{name} stderr" for name in parts.parts]
        expected = [column for pair in zip(parts.parts, errors, strict=True) for column in pair]
        assert list(frame) == [*expected, "rest"]
        assert frame.index.equals(series.samples.index)
        with pytest.raises(KeyError, match="no component 'cycle': there are trend, season"):
            parts["cycle"]

    def test_channels(self):
        table = pd.DataFrame({"a": noisy(SEASON + 5), "b": noisy(np.roll(SEASON, 3), 1)})
        parts = assert_adds_up(recover(table, kind="refit", rank=5))
        assert list(parts)[:2] == ["trend", "season of 12 samples"]
        assert parts.to_frame()["season of 12 samples"].shape == (N, 2)
        assert len(parts.plot(Figure())) == len(parts)

    @pytest.mark.parametrize("axis", [0, 1])
    def test_arrays_with_channels(self, axis):
        table = np.stack([noisy(SEASON), noisy(np.roll(SEASON, 3), 1)], axis=axis)
        parts = assert_adds_up(recover(table, channels=axis, rank=4, kind="refit"))
        assert parts["season of 12 samples"].shape == table.shape
        assert parts.to_frame().shape == (N, 2 * (len(parts) + len(parts.stderr)))

    def test_complex_signal(self):
        modes = Modes([0.1, -0.2], [0.01, 0.0], [1.0, 0.5j])
        parts = assert_adds_up(recover(modes.signal(40), dt=0.5))
        assert list(parts) == ["mode at 0.2 Hz", "mode at -0.4 Hz", "rest"]
        with pytest.raises(ValueError, match="a table holds series"):
            SignalComponents({}, np.zeros((3, 3)), np.zeros((3, 3)), None).to_frame()

    def test_image(self):
        waves = Modes([[0.1, 0.2], [-0.1, -0.2], [0, 0]], amplitudes=[0.5, 0.5, 2.0])
        parts = assert_adds_up(recover(noisy(waves.signal((15, 14)).real, sigma=1e-4), rank=3))
        assert list(parts) == ["trend", "oscillation at 0.1, 0.2", "rest"]

    def test_names_are_not_repeated(self):
        modes = Modes([0.1001, 0.1002], amplitudes=[1, 1j])
        found = recover(modes.signal(60) + 0, rank=2, kind="refit")
        assert len(found.components().parts) == 2


class TestStateSpace:
    def test_parts_are_the_smoothed_signal(self):
        """Also of an average of two fits, of which one has no season."""
        y = noisy(0.05 * T + SEASON, sigma=0.3)[:40]
        y[30:36] = np.nan
        season = Components(40, True, Season(12, (1, 2)), 1, ("level", "slope", "season"))
        level = Components(40, drifts=("level",))
        fits = [
            ComponentFit(season, np.array([-3.0, -4.0, -9.0, -8.0, -3.0, 0.5]), -10.0, 34),
            ComponentFit(level, np.array([-1.0, -1.0]), -17.0, 34),
        ]
        fitted = FittedSeries(fits, 0.7, 2.0)
        parts = series_parts(fitted, y)
        (smooth,) = fitted.smooth([y])
        total = sum(part.values for part in parts.values())
        np.testing.assert_allclose(total, smooth.signal, atol=1e-10)
        assert list(parts) == ["trend", "season", "autoregressive part"]

    def test_components_of_a_recovery(self):
        walk = np.cumsum(np.random.default_rng(1).standard_normal(48))
        months = pd.date_range("2020-01-01", periods=48, freq="MS")
        y = pd.Series(walk + 3 * SEASON[:48], months)
        parts = assert_adds_up(recover(y, kind="components", season=12))
        assert list(parts)[:2] == ["trend", "season of 1 year"]
        assert np.corrcoef(parts["season of 1 year"], SEASON[:48])[0, 1] > 0.95

    @pytest.mark.nightly
    def test_two_given_seasons(self):
        hours = np.arange(96)
        y = noisy(np.cos(2 * np.pi * hours / 8) + np.sin(2 * np.pi * hours / 24) ** 3, sigma=0.2)
        parts = assert_adds_up(recover(y, kind="components", season=(8, 24), dt=3600.0))
        assert {"season of 2.88e+04 s", "season of 8.64e+04 s"} <= set(parts)

    def test_samples_that_impute_keeps_are_other(self):
        walk = np.cumsum(np.random.default_rng(2).standard_normal(24))
        walk[10:12] = np.nan
        parts = assert_adds_up(impute(walk, kind="components"))
        np.testing.assert_allclose(parts.rest[~np.isnan(walk)], 0, atol=1e-12)
        assert "other" in parts.parts

    def test_every_effort_has_the_kind_that_was_asked_for(self):
        walk = np.cumsum(np.random.default_rng(3).standard_normal(24))
        assert recover(walk, kind="components", effort="fast").kind == "components"

    @pytest.mark.nightly
    def test_components_where_nothing_is_missing(self):
        assert_adds_up(impute(np.cumsum(np.ones(30))))

    def test_no_components(self):
        image = np.random.default_rng(0).standard_normal((5, 5)).cumsum(0).cumsum(1)
        found = recover(image, kind="convex", mu=10.0)
        with pytest.raises(ValueError, match='recover it with kind="refit"'):
            found.components()


def of_parameters(p):
    """A series of a trend and an oscillation, as a function of real parameters."""
    trend = p[0] * np.exp(-p[1] * T)
    wave = p[2] * np.exp(-p[3] * T) * np.cos(2 * np.pi * p[4] * T + p[5])
    return trend, wave


def differences(function, p, h=1e-6):
    steps = h * np.eye(len(p))
    return np.stack([(function(p + s) - function(p - s)) / (2 * h) for s in steps], axis=1)


def estimate_of(fit):
    errors = fit.part_stderr
    return Estimate(fit.y, fit.stderr, fit.rank, fit.modes, fit.sigma, part_errors=errors)


class TestErrorsOfModes:
    P = np.array([2.0, 0.004, 1.0, 0.003, 0.013, 0.4])
    MODES = Modes(
        [0, P[4], -P[4]], [P[1], P[3], P[3]], [2, 0.5 * np.exp(0.4j), 0.5 * np.exp(-0.4j)]
    )

    @pytest.mark.parametrize("noise", [None, AutoregressiveNoise(np.array([0.7, -0.3]))])
    def test_covariance_of_parameters(self, noise):
        """Errors of each group, from the covariance of all parameters, by differences."""
        weights = np.where((T > 30) & (T < 45), 0.0, 1.0)
        exact = sum(of_parameters(self.P))
        problem = Problem(Hankel(N, window=60), exact, mu=1.0, measure=Weighted(weights))
        fit = refit_modes(problem, self.MODES, sigma=0.3, noise=noise)
        seen, K = weights > 0, np.eye(N)
        if noise is not None:
            K = noise.correlations(N)[np.abs(T[:, None] - T)]
        J = differences(lambda p: sum(of_parameters(p)), self.P)[seen]
        C = 0.09 * np.linalg.inv(J.T @ np.linalg.solve(K[np.ix_(seen, seen)], J))
        still = fit.modes.frequencies[:, 0] == 0
        for k, own in enumerate([still, ~still]):
            D = differences(lambda p, k=k: of_parameters(p)[k], self.P)
            expected = np.sqrt(np.einsum("ti,ij,tj->t", D, C, D))
            np.testing.assert_allclose(fit.part_stderr(fit.modes[own]), expected, rtol=1e-5)
        np.testing.assert_allclose(fit.part_stderr(fit.modes), fit.stderr, rtol=1e-12)
        assert fit.part_stderr(Modes([0.2])) is None

    def test_recovery_with_two_groups(self):
        y = noisy(sum(of_parameters(np.array([2, 0.004, 1, 0.003, 0.13, 0.4]))), 5)
        y[50:60] = np.nan
        found = recover(y, rank=3, kind="refit")
        parts, modes = found.components(), found.modes
        k, i = (int(np.argmax(modes.frequencies[:, 0] == f)) for f in (0, modes.frequencies.max()))
        a = modes.amplitudes
        pair = 2 * abs(a[i]), modes.dampings[i, 0], modes.frequencies[i, 0], np.angle(a[i])
        p = np.array([a[k].real, modes.dampings[k, 0], *pair])
        J = differences(lambda p: sum(of_parameters(p)), p)[~np.isnan(y)]
        C = found.sigma**2 * np.linalg.inv(J.T @ J)
        for j, name in enumerate(parts.parts):
            D = differences(lambda p, j=j: of_parameters(p)[j], p)
            expected = np.sqrt(np.einsum("ti,ij,tj->t", D, C, D))
            np.testing.assert_allclose(parts.stderr[name], expected, rtol=1e-5)

    @pytest.mark.nightly
    def test_spread_of_simulated_series(self):
        exact, errors, expected = of_parameters(self.P), [], []
        for seed in range(300):
            y = noisy(sum(exact), seed, 0.1)
            fit = refit_modes(Problem(Hankel(N, window=60), y, mu=1.0), self.MODES)
            still = fit.modes.frequencies[:, 0] == 0
            groups = [fit.modes[still], fit.modes[~still]]
            pairs = zip(groups, exact, strict=True)
            errors.append([modes.signal(N).real - part for modes, part in pairs])
            expected.append([fit.part_stderr(modes) for modes in groups])
        spread = np.sqrt(np.mean(np.square(errors), axis=0))
        ratios = spread / np.sqrt(np.mean(np.square(expected), axis=0))
        assert np.all((ratios > 0.8) & (ratios < 1.2)), (ratios.min(), ratios.max())

    @pytest.mark.parametrize(
        ("samples", "options"),
        [
            (noisy(0.98**T), {"rank": 1}),
            (noisy(TONE + 0j) + 1j * noisy(0 * T, 1), {"rank": 1}),
            (noisy(np.stack([TONE, 9 * TONE], axis=1)), {"rank": 2, "channels": 1}),
            (noisy(np.multiply.outer(TONE[:15], np.ones(14)), sigma=1e-3), {"rank": 2}),
            (np.clip(noisy(TONE), -0.6, 0.6), {"rank": 2, "clipped": (-0.6, 0.6)}),
            (noisy(TONE), {"rank": 2, "sigma": 0.04 + 0.02 * (T > 50)}),
        ],
    )
    def test_one_component_has_the_error_of_the_signal(self, samples, options):
        found = recover(samples, kind="refit", **options)
        parts = found.components()
        (name,) = parts.parts
        np.testing.assert_allclose(parts.stderr[name], found.stderr, rtol=1e-9)

    def test_groups_of_channels(self):
        """Every group of channels has modes of its own, even if some are alike."""
        samples = [noisy(sum(of_parameters(self.P)), seed) for seed in (1, 2)]
        structure = Hankel(N, window=60)
        fits = [refit_modes(Problem(structure, y, mu=1.0), self.MODES) for y in samples]
        found = merged([estimate_of(fit) for fit in fits], [(1,), (0,)])
        np.testing.assert_allclose(found.part_errors(found.modes), found.stderr, rtol=1e-12)
        own = found.modes.amplitudes[:, 1] != 0
        errors = found.part_errors(found.modes[own])[..., 0]
        np.testing.assert_allclose(errors[:, 1], fits[0].stderr, rtol=1e-12)
        assert np.all(errors[:, 0] == 0)

    def test_offsets_that_were_subtracted(self):
        """They are one more mode, with an error that is independent of the others."""
        table = noisy(np.stack([TONE, 30 * TONE + 1000], axis=1))
        units = channel_units(table, 1)
        problem = hankel_problem(units.common(table), None, 1)
        found = units.estimate(
            estimate_of(refit_modes(problem, Modes([0.31, -0.31], amplitudes=np.ones((2, 2)))))
        )
        constant = found.modes.frequencies[:, 0] == 0
        assert np.sum(constant) == 1
        offsets, waves = (found.part_errors(found.modes[own]) for own in (constant, ~constant))
        np.testing.assert_allclose(np.hypot(offsets, waves), found.stderr, rtol=1e-12)
        assert np.all(offsets[:, 0] == 0)
        assert offsets[0, 1] > 0

    def test_beside_regressors(self):
        """The errors of both and their covariances are those of the signal, to first order."""
        step = (T >= 50) * 1.0
        found = recover(noisy(TONE + 2 * step), regressors=step[:, None], rank=2, kind="refit")
        parts = found.components()
        (name,) = set(parts.parts) - {"regressors"}
        expected = np.sqrt(found.regression.covariance[0, 0]) * step
        np.testing.assert_allclose(parts.stderr["regressors"], expected, rtol=1e-12)
        before = T < 50
        np.testing.assert_allclose(parts.stderr[name][before], found.stderr[before], rtol=1e-9)

    def test_unknown_errors(self, series, tmp_path):
        """Of modes that were loaded or held at known frequencies, and of samples that were kept."""
        series.save(tmp_path / "found.npz")
        parts = load(tmp_path / "found.npz").components()
        assert parts.stderr == {}
        assert list(parts.to_frame()) == list(parts)
        held = recover(noisy(TONE + 2), known_frequencies=[0.31], kind="refit").components()
        assert not any("oscillation" in name for name in held.stderr)
        filled = impute(np.where(T == 9, np.nan, noisy(TONE)), rank=2, kind="refit").components()
        assert "other" in filled.parts
        assert list(filled.stderr) == [name for name in filled.parts if name != "other"]
        series.components().save(tmp_path / "parts.npz")
        again = load(tmp_path / "parts.npz")
        assert again.table().keys() == series.components().table().keys()


def conditioned(system, y, rows):
    """Mean and covariance of what states show, from the joint covariance of all times."""
    n, p = y.shape
    C, A = system.H[:p], system.H[p:]
    own = [system.covariance]
    for _ in range(n - 1):
        own.append(A @ own[-1] @ A.T + system.W[p:, p:])
    powers = [np.linalg.matrix_power(A, k) for k in range(n)]
    whole = np.block(
        [
            [powers[t - s] @ own[s] if t >= s else own[t] @ powers[s - t].T for s in range(n)]
            for t in range(n)
        ]
    )
    shown, out = np.kron(np.eye(n), C), np.kron(np.eye(n), rows)
    seen = ~np.isnan(y.ravel())
    K = (shown @ whole @ shown.T + np.kron(np.eye(n), system.W[:p, :p]))[np.ix_(seen, seen)]
    gain = np.linalg.solve(K, (shown @ whole)[seen] @ out.T).T
    mean = gain @ y.ravel()[seen]
    variance = np.diag(out @ whole @ out.T - gain @ (shown @ whole)[seen] @ out.T)
    return mean.reshape(n, -1).T, variance.reshape(n, -1).T


class TestErrorsOfStates:
    Y = noisy(0.05 * T + SEASON, sigma=0.3)[:18]
    Y[8:11] = np.nan
    SEASONAL = Components(18, True, Season(6, (1,)), 1, ("level", "slope", "season"))
    LEVEL = Components(18, drifts=("level",))

    def fits(self):
        return [
            ComponentFit(self.SEASONAL, np.array([-3.0, -4.0, -9.0, -5.0, -3.0, 0.5]), -10.0, 34),
            ComponentFit(self.LEVEL, np.array([-1.0, -1.0]), -17.0, 34),
        ]

    def rows(self, fit, offset=0, states=None):
        """How states show in trend, season and autoregressive part."""
        shown, at = fit.components.matrices(fit.parameters)[0][0], fit.components.states
        rows = np.zeros((3, len(shown) if states is None else states))
        for row, key in zip(rows, ("level", "season", "autoregression"), strict=True):
            own = at.get(key, slice(0, 0))
            row[offset + own.start : offset + own.stop] = shown[own]
        return rows

    def test_mixture_of_fits(self):
        fitted = FittedSeries(self.fits(), 0.7, 2.0)
        moments = [
            conditioned(
                gaussian(fit.components, fit.parameters),
                ((self.Y - 0.7) / 2)[:, None],
                self.rows(fit),
            )
            for fit in fitted.fits
        ]
        means, variances = (np.array(part) for part in zip(*moments, strict=True))
        mean = np.tensordot(fitted.weights, means, 1)
        variance = np.tensordot(fitted.weights, variances + (means - mean) ** 2, 1)
        parts = series_parts(fitted, self.Y)
        assert min(fitted.weights) > 0.1
        for k, (name, part) in enumerate(parts.items()):
            start = 0.7 if name == "trend" else 0.0
            np.testing.assert_allclose(part.values, start + 2 * mean[k], atol=1e-9)
            np.testing.assert_allclose(part.stderr, 2 * np.sqrt(variance[k]), rtol=1e-6)

    @pytest.mark.parametrize("noise", [None, np.linspace(0.2, 0.9, 18)])
    def test_one_component_has_the_error_of_the_signal(self, noise):
        level = Components(18, drifts=("level",), measured=noise is not None)
        fit = ComponentFit(level, np.full(len(level.names), -1.0), 0.0, 15)
        fitted = FittedSeries([fit], 0.7, 2.0, noise=noise)
        (part,), (smooth,) = series_parts(fitted, self.Y).values(), fitted.smooth([self.Y])
        np.testing.assert_allclose(part.stderr, smooth.stderr, rtol=1e-7)

    def test_correlated_channels(self):
        fits = self.fits()
        level = Correlation("level", (0, 1), np.array([[1.0, 0.8], [0.8, 1.0]]))
        joint = JointFit(fits, [level])
        alone = [FittedSeries([fits[0]], 0.5, 2.0), FittedSeries([fits[1]], 1.0, 3.0)]
        table = np.stack([self.Y, noisy(np.arange(18.0), 2)], axis=1)
        parts = FittedChannels(alone, [joint]).parts(table)
        ends = [own.stop for own in joint.states]
        rows = np.concatenate(
            [self.rows(fits[0], 0, ends[1]), self.rows(fits[1], ends[0], ends[1])[:1]]
        )
        y = (table - [0.5, 1.0]) / [2.0, 3.0]
        mean, variance = conditioned(joint.gaussian(), y, rows)
        found = [*parts[0].values(), *parts[1].values()]
        for k, (part, scale) in enumerate(zip(found, [2, 2, 2, 3], strict=True)):
            start = {0: 0.5, 3: 1.0}.get(k, 0.0)
            np.testing.assert_allclose(part.values, start + scale * mean[k], atol=1e-9)
            np.testing.assert_allclose(part.stderr, scale * np.sqrt(variance[k]), rtol=1e-6)

    def test_recoveries(self):
        walk = np.cumsum(np.random.default_rng(4).standard_normal((24, 2)), axis=0)
        found = recover(walk[:, 0], kind="components", effort="fast").components()
        assert set(found.stderr) == set(found.parts) - {"other"}
        table = recover(walk, channels=1, kind="components", effort="fast").components()
        assert table.stderr["trend"].shape == (24, 2)
        step = (np.arange(24) > 12)[:, None] * 1.0
        beside = recover(walk[:, 0], kind="components", regressors=step).components()
        assert list(beside.stderr) == ["regressors"]


def test_components_in_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(
        {"a": noisy(SEASON), "b": noisy(2 * SEASON, 1)}, index=pd.Index(T, name="t")
    )
    table.to_csv("s.csv")
    given = ["recover", "s.csv", "--rank", "4", "--components", "parts.csv"]
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 0, done.output
    assert "written to parts.csv" in done.stdout
    parts = pd.read_csv("parts.csv", index_col="t")
    season = "season of 12 samples"
    expected = [f"{season}, a", f"{season}, b", f"{season} stderr, a", f"{season} stderr, b"]
    assert list(parts)[:4] == expected
    shown = [name for name in parts if name.endswith(", a") and "stderr" not in name]
    total = parts[shown].sum(axis=1)
    np.testing.assert_allclose(total, table["a"], atol=1e-9)
    one = recover(table["a"], rank=4, kind="refit").components()
    assert list(one.table()) == [season, f"{season} stderr", "rest"]
    assert np.all(parts[f"{season} stderr, a"] > 0)


class TestGroups:
    def test_harmonics_share_a_fundamental(self):
        f = np.array([0.001, 3 / 50, 0.21, 1 / 50, 0.0, 2 / 50 + 1e-4])
        found = group_oscillations(f, np.full(6, 1e-4), 400)
        assert [(g.kind, g.rows) for g in found] == [
            ("trend", [4, 0]),
            ("season", [3, 5, 1]),
            ("oscillation", [2]),
        ]
        assert found[1].frequency == 1 / 50

    def test_calendar_periods_are_seasons(self):
        daily = Sampling.of_seconds(86400)
        found = group_oscillations(np.array([2 / 365.2425, 1 / 7, 0.21]), None, 1500, daily)
        assert [g.kind for g in found] == ["season", "season", "oscillation"]
        np.testing.assert_allclose(1 / found[0].frequency, 365.2425)

    def test_tones_that_meet_no_multiple_stay_alone(self):
        found = group_oscillations(np.array([0.1, 0.213]), np.array([1e-4, 1e-4]), 200)
        assert [g.kind for g in found] == ["oscillation", "oscillation"]
        assert group_oscillations(np.array([]), None, 10) == []


def test_w_correlations_are_inner_products_of_hankel_matrices(series):
    parts = series.components()
    structure = Hankel(N, window=N // 2)
    matrices = [structure.to_dense(np.nan_to_num(np.asarray(parts[name]))) for name in parts]
    expected = [
        [abs(np.sum(a * b)) / np.linalg.norm(a) / np.linalg.norm(b) for b in matrices]
        for a in matrices
    ]
    np.testing.assert_allclose(parts.w_correlations(), expected, atol=1e-12)
    axis = series.plot_w_correlations(Figure())
    np.testing.assert_allclose(axis.images[0].get_array(), expected, atol=1e-12)
    assert [text.get_text() for text in axis.get_yticklabels()] == list(parts)


@pytest.mark.parametrize("channels", [None, 1])
def test_scree_is_that_of_the_dense_matrix(channels):
    values = noisy(np.stack([SEASON, TONE], axis=1))[:41]
    values = values[:, 0] if channels is None else values
    found = leading_singular_values(values, channels, 12)
    block = None if channels is None else (2, 1)
    structure = Hankel(41, window=21, block=block)
    dense = structure.to_dense(values if channels is None else values[..., None])
    np.testing.assert_allclose(found, np.linalg.svd(dense, compute_uv=False)[:12], rtol=1e-6)


def test_pictures(series):
    titles = [axis.get_title(loc="left") for axis in series.plot_components(Figure())]
    assert titles == list(series.components())
    bands = [len(axis.collections) for axis in series.plot_components(Figure())]
    assert bands == [1, 1, 1, 0]
    axis = series.plot_scree(Figure(), count=9)
    samples, signal, rank = axis.lines
    assert len(samples.get_xdata()) == 9
    assert np.all(samples.get_ydata()[:5] >= 0.9 * signal.get_ydata()[:5])
    assert rank.get_xdata()[0] == series.rank + 0.5
    first, lags, histogram = series.plot_residuals(Figure())
    assert np.isnan(first.lines[0].get_ydata()).sum() == 6
    np.testing.assert_array_equal(lags.lines[0].get_ydata(), series.residuals().autocorrelations)
    assert len(histogram.patches) > 3


class TestResiduals:
    def test_noise_and_a_gross_error(self):
        noise = noisy(np.zeros((500, 1)), 3, 2.0)
        noise[100] = 30.0
        noise[200:220] = np.nan
        found = ResidualDiagnostics(noise)
        assert found.sigma == pytest.approx(2.0, rel=0.1)
        assert np.flatnonzero(found.outliers).tolist() == [100]
        assert found.whiteness > 0.01
        assert found.kurtosis > 4
        assert "outliers      1 beyond 4" in repr(found)
        assert "are not white" in repr(ResidualDiagnostics(np.cumsum(np.ones((50, 1)), 0) - 20))

    def test_autocorrelations_are_those_of_pairs(self):
        noise = noisy(np.zeros((60, 2)), 4)
        noise[10:15, 1] = np.nan
        pairs = [
            (noise[k + 3, c] * noise[k, c], 1)
            for k in range(57)
            for c in range(2)
            if not np.isnan(noise[k + 3, c] * noise[k, c])
        ]
        mean = sum(p for p, _ in pairs) / len(pairs) / np.nanmean(noise**2)
        np.testing.assert_allclose(ResidualDiagnostics(noise).autocorrelations[2], mean)

    def test_chance_of_white_noise_is_even(self):
        chances = [ResidualDiagnostics(noisy(np.zeros((300, 1)), s)).whiteness for s in range(200)]
        assert 0.02 < np.mean(np.array(chances) < 0.1) < 0.2

    def test_complex_and_images(self):
        found = recover(noisy(np.exp(0.5j * T)) + 0.05j * np.random.default_rng(1).random(N))
        assert found.residuals().residuals.shape == (N, 2)


@pytest.mark.parametrize("columns", [1, 2])
def test_values_with_errors_in_one_table(tmp_path, columns):
    days = pd.date_range("2024-05-01", periods=40)
    waves = np.cos(0.4 * np.arange(40))[:, None] * [1.0, 2.0]
    waves[7] = np.nan
    table = pd.DataFrame(waves, days, columns=["a", "b"])
    given = table["a"] if columns == 1 else table
    found, ahead = recover(given, rank=2), forecast(given, 3, rank=2)
    frame, future = found.to_frame(), ahead.to_frame()
    what = ["signal", "stderr", "lower", "upper"]
    names = what if columns == 1 else [f"{c}_{w}" for c in "ab" for w in what]
    assert list(frame.columns) == names
    assert list(future.columns) == [name.replace("signal", "forecast") for name in names]
    assert frame.index.equals(days)
    assert future.index.equals(ahead.mean.index)
    np.testing.assert_array_equal(frame[names[0]], found.signal if columns == 1 else found.signal.a)
    np.testing.assert_array_equal(frame[names[3]], found.upper if columns == 1 else found.upper.a)
    given.to_csv(tmp_path / "s.csv", index_label="day")
    options = ["--rank", "2", "--bands", str(tmp_path / "bands.csv"), "--quiet"]
    done = CliRunner().invoke(main, ["recover", str(tmp_path / "s.csv"), *options])
    assert done.exit_code == 0, done.output
    back = pd.read_csv(tmp_path / "bands.csv", index_col="day", parse_dates=True)
    np.testing.assert_allclose(back, frame, rtol=1e-9, atol=1e-12)


def test_only_series_have_such_tables():
    with pytest.raises(ValueError, match=r"shape \(8, 9\), but a table holds series"):
        recover(np.outer(np.ones(8), np.cos(np.arange(9.0))), rank=2).to_frame()
