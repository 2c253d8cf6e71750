from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure

from structrank import StateSpace

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
    assert [len(line.get_xdata()) for line in axis.get_lines()] == [5, 5]
