from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.signal import lfilter
from scipy.stats import chi2

from structrank import StateSpace
from structrank.systems.residual_tests import independence

MODEL = StateSpace(
    [[0.8, 0.3], [-0.3, 0.8]],
    [[1.0], [0.0]],
    [[1.0, 1.0]],
    [[0.0]],
    K=[[0.9], [0.3]],
    innovation_covariance=[[0.25]],
    x0=[0.0, 0.0],
)


def records(seed, share=0.2):
    rng = np.random.default_rng(seed)
    u = [rng.standard_normal((400, 1)), rng.standard_normal((300, 1))]
    y = [MODEL.simulate(x, rng=seed + 50 + k) for k, x in enumerate(u)]
    return [np.where(rng.random(x.shape) < share, np.nan, x) for x in y], u


def test_a_right_model_passes_and_its_probabilities_are_uniform():
    tests = [MODEL.residual_tests(*records(seed), lags=10) for seed in range(40)]
    for values in ([t.whiteness[0] for t in tests], [t.independence[0, 0] for t in tests]):
        assert 0.3 < np.mean(values) < 0.7
        assert np.mean(np.array(values) < 0.05) < 0.2


def test_wrong_models_fail():
    y, u = records(1)
    no_noise_model = replace(MODEL, K=np.zeros((2, 1)))
    assert no_noise_model.residual_tests(y, u).whiteness[0] < 1e-6
    half_gain = replace(MODEL, B=0.5 * MODEL.B)
    assert half_gain.residual_tests(y, u).independence[0, 0] < 1e-6


def test_correlations_are_sums_over_pairs_that_are_seen():
    y, u = records(2)
    tests = MODEL.residual_tests(y[0], u[0], lags=3)
    assert len(tests.autocorrelations) == 3
    assert len(MODEL.residual_tests(y[0], u[0]).autocorrelations) == 20
    e = MODEL.smooth(y[0], u[0]).innovations[:, 0]
    pairs = [(e[t], e[t - 2]) for t in range(2, 400) if np.isfinite(e[t] + e[t - 2])]
    a, b = np.array(pairs).T
    np.testing.assert_allclose(tests.autocorrelations[1, 0], a @ b / np.sqrt(a @ a * (b @ b)))
    pairs = [(e[t], u[0][t - 1, 0]) for t in range(1, 400) if np.isfinite(e[t])]
    a, b = np.array(pairs).T
    np.testing.assert_allclose(tests.cross_correlations[1, 0, 0], a @ b / np.sqrt(a @ a * (b @ b)))


def test_the_picture_has_a_line_per_test():
    y, u = records(3)
    axis = MODEL.residual_tests(y, u, lags=5).plot(Figure())
    labels = [line.get_label() for line in axis.get_lines()]
    assert labels == ["output 0", "output 0 with input 0"]
    seen = [line.get_xdata()[np.isfinite(line.get_ydata())] for line in axis.get_lines()]
    assert [list(lags) for lags in seen] == [[1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]


def test_a_missing_D_shows_at_lag_zero():
    u = np.random.default_rng(0).standard_normal((400, 1))
    without = replace(MODEL, K=None)
    y = replace(without, D=[[1.0]]).simulate(u, rng=1)
    axis = without.residual_tests(y, u).plot(Figure())
    drawn = axis.get_lines()[1].get_ydata()
    assert abs(drawn[0]) > 0.5
    assert np.max(np.abs(drawn[1:])) < 0.2


COMPLEX = StateSpace(
    [[0.9 * np.exp(0.5j)]], None, [[1 + 0j]], None, K=[[0.5 + 0.1j]], innovation_covariance=[[1.0]]
)


def test_complex_innovations_have_their_own_statistic():
    """Twice the modulus squared of each correlation, times the pairs, has chi2 with two degrees."""
    z = COMPLEX.simulate(steps=300, rng=1)
    z[::7] = np.nan
    tests = COMPLEX.residual_tests(z, lags=6)
    e = COMPLEX.smooth(z).innovations[:, 0]
    total = 0.0
    for k in range(1, 7):
        pairs = [(e[t], e[t - k]) for t in range(k, 300) if np.isfinite(e[t] + e[t - k])]
        a, b = np.array(pairs).T
        r = np.sum(a * b.conj()) / np.sqrt(np.sum(np.abs(a) ** 2) * np.sum(np.abs(b) ** 2))
        assert tests.autocorrelations[k - 1, 0] == pytest.approx(r)
        total += 2 * len(pairs) * abs(r) ** 2
    assert tests.whiteness[0] == pytest.approx(chi2.sf(total, 12))
    label = "output 0, modulus"
    assert [line.get_label() for line in tests.plot(Figure()).get_lines()] == [label]


def test_the_level_of_the_test_of_complex_innovations():
    values, single = [], []
    for seed in range(60):
        tests = COMPLEX.residual_tests(COMPLEX.simulate(steps=300, rng=seed), lags=10)
        values.append(tests.whiteness[0])
        single.append(np.mean(np.abs(tests.autocorrelations) > tests.bound))
    assert 0.4 < np.mean(values) < 0.6
    assert np.mean(np.array(values) < 0.1) < 0.2
    assert 0.002 < np.mean(single) < 0.025
    wrong = replace(COMPLEX, K=[[0j]])
    assert wrong.residual_tests(COMPLEX.simulate(steps=300)).whiteness[0] < 1e-6


def test_tests_show_their_probabilities():
    y, u = records(3)
    tests = MODEL.residual_tests(y, u)
    white, independent = tests.whiteness[0], tests.independence[0, 0]
    text = f"whiteness {white:.2g}, independence {independent:.2g}"
    assert repr(tests) == f"ResidualTests\n  output 0      {text}"
    assert text in tests._repr_html_()


def literal_independence(e, u, lags):
    """The same from sums over all pairs of samples."""
    e, u, n = np.nan_to_num(e), np.nan_to_num(u), len(e)

    def products(x, lag):
        return sum(x[t] * x[t + abs(lag)] for t in range(n - abs(lag)))

    crossed = [sum(e[t] * u[t - k] for t in range(k, n)) for k in range(lags + 1)]
    covariance = np.zeros((lags + 1, lags + 1))
    for k, j in np.ndindex(covariance.shape):
        terms = [products(e, s) * products(u, s + k - j) for s in range(-lags, lags + 1)]
        covariance[k, j] = sum(terms) / n
    return chi2.sf(crossed @ np.linalg.solve(covariance, crossed), lags + 1)


def test_independence_is_its_formula():
    rng = np.random.default_rng(0)
    e, u = rng.standard_normal((2, 60))
    e[rng.random(60) < 0.3] = np.nan
    u[rng.random(60) < 0.2] = np.nan
    found = independence([e[:, None]], [u[:, None]], 4, negligible=0.0)
    assert found.item() == pytest.approx(literal_independence(e, u, 4), rel=1e-9)
    assert independence([np.zeros((9, 1))], [u[:9, None]], 2).item() == 1.0


def sweep(n, rng):
    return np.sin(2 * np.pi * np.cumsum(np.linspace(0.03, 0.06, n))) + 0.05 * rng.standard_normal(n)


@pytest.mark.parametrize("noise", [0.0, 0.8])
@pytest.mark.parametrize("kind", ["white", "smooth", "sweep"])
def test_errors_that_do_not_depend_on_inputs_are_rarely_said_to(kind, noise):
    """Also where errors are correlated in time, and inputs are; in two records, with gaps."""
    rng, runs, found = np.random.default_rng(1), 150, 0
    for _ in range(runs):
        e = lfilter([1.0], [1.0, -noise], rng.standard_normal(400))
        u = rng.standard_normal(400)
        u = {"white": u, "smooth": lfilter([1.0], [1.0, -0.95], u), "sweep": sweep(400, rng)}[kind]
        e[rng.random(400) < 0.3] = np.nan
        halves = [[x[:200, None], x[200:, None]] for x in (e, u)]
        found += independence(*halves, 20).item() < 0.05
    assert found <= 0.1 * runs


def test_records_may_be_shorter_than_the_lags():
    y, u = records(4, share=0.0)
    tests = MODEL.residual_tests([y[0], y[1][:8]], [u[0], u[1][:8]], lags=20)
    alone = MODEL.residual_tests(y[0], u[0], lags=20)
    np.testing.assert_allclose(tests.autocorrelations[19], alone.autocorrelations[19])
    assert np.all(tests.independence > 0.01)
