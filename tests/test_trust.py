"""Numbers that can be trusted: extreme sizes, weights and seeds, and what symmetries demand."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.polynomial.polynomial import polyfromroots

import structrank as sr
from structrank.selection.holdout import held_out_parts
from structrank.signals.problems import hankel_problem
from structrank.solvers.huber_loss import HuberLoss

B = np.cos(0.4 * np.arange(12)) + 0.1 * np.random.default_rng(0).standard_normal(12)
C = np.cos(1.1 * np.arange(12))


def problem(b=B, mu=0.1, measure=None):
    return sr.Problem(sr.Hankel(len(b), window=len(b) // 2), b, mu, measure)


# -- extreme arguments: one clear error -------------------------------------------------

SOLVERS = {
    "solve": sr.solve,
    "gcgls": lambda p, **k: sr.gcgls(p, 1.0, **k),
    "gcg": lambda p, **k: sr.gcg(p, 1.0, **k),
    "homotopy": lambda p, **k: sr.homotopy(p, [1.0, 10.0], **k),
    "trusted": lambda p, **k: sr.solve_trusted(p, np.arange(12) < 2, **k),
    "within": lambda p, **k: sr.solve_within(p, 0.5, **k),
    "select_mu": lambda p, **k: sr.select_mu(p, **k),
    "solve_many": lambda p, **k: sr.solve_many([problem(C), p], 1.0, **k),
}


@pytest.mark.parametrize("mu", [1e-300, 1e-17, 1e151, 1e300])
@pytest.mark.parametrize("name", ["solve", "gcgls", "gcg", "homotopy", "trusted", "solve_many"])
def test_extreme_mu(name, mu):
    with pytest.raises(ValueError, match=r"mu is .*, but .* \(below it is rounding of these"):
        SOLVERS[name](problem(mu=mu))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_small_mu_is_solved_up_to_rounding(dtype):
    mu = 4 * np.finfo(dtype).eps
    found = sr.gcgls(problem(B.astype(dtype), mu), 1.0)
    assert np.all(np.isfinite(found.y))
    assert np.isfinite(found.objective)


@pytest.mark.parametrize("lam", [1e-300, 1e-76, 1e76, 1e300])
@pytest.mark.parametrize("solver", [sr.gcgls, sr.gcg, lambda p, lam: sr.solve_many([p], lam)])
def test_extreme_lam(solver, lam):
    with pytest.raises(ValueError, match="lam is .*, but 1e-75 to 1e"):
        solver(problem(), lam)


@pytest.mark.parametrize("weight", [2.0**-110, 2.0**110])
def test_weights_beyond_single_precision(weight):
    """Rough searches are made in single precision; with squares in mu and lam, the same one."""
    heavy = problem(B, 0.1 * weight**2, sr.Weighted(np.full(12, weight)))
    found = sr.solve_many([heavy], weight**2, stop=EXACT)
    np.testing.assert_allclose(found.y[0], sr.gcgls(problem(), 1.0, stop=EXACT).y, atol=1e-3)


@pytest.mark.parametrize("size", [1e-300, 1e-80, 1e80, 1e300])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extreme_weights(size, dtype):
    with pytest.raises(ValueError, match="the largest weight is .* in size, but"):
        problem(B.astype(dtype), 0.1, sr.Weighted(np.full(12, size)))
    with pytest.raises(ValueError, match="the largest product of weight and sample is"):
        problem(1e60 * B, 0.1, sr.Weighted(np.full(12, 1e60)))


WITH_SIGMA = {
    "recover": sr.recover,
    "frequencies": sr.frequencies,
    "forecast": lambda b, **k: sr.forecast(b, 3, **k),
    "select_mu": lambda b, **k: sr.select_mu(problem(b), **k),
    "noise_mu": lambda b, **k: sr.noise_mu(problem(b), **k),
    "refit": lambda b, **k: sr.refit(sr.gcgls(problem(b), 1.0), **k),
}


@pytest.mark.parametrize(
    ("sigma", "dtype"),
    [(1e-320, "float64"), (1e76, "float64"), (1e300, "complex128"), (1e10, "float32")],
)
@pytest.mark.parametrize("name", WITH_SIGMA)
def test_extreme_sigma(name, sigma, dtype):
    with pytest.raises(ValueError, match="sigma is .*, but 1e-75 to 1e.* is expected"):
        WITH_SIGMA[name](B.astype(dtype), sigma=sigma)


@pytest.mark.parametrize("name", ["solve", "gcgls", "homotopy", "trusted", "within"])
@pytest.mark.parametrize("size", [1e20, 1e200])
def test_a_start_of_any_size_is_only_a_start(name, size):
    expected = SOLVERS[name](problem())
    for factors in ((size, size), (size, 1 / size)):
        start = sr.LowRank(*(s * np.ones((n, 2)) for s, n in zip(factors, (6, 7), strict=True)))
        found = SOLVERS[name](problem(), start=start)
        np.testing.assert_allclose(found.objective, expected.objective, rtol=5e-3)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("rng", [-1, 0.5, "0", True, [1]])
def test_seeds(name, rng):
    with pytest.raises((TypeError, ValueError), match="rng is .*, but .*integer of at least 0"):
        SOLVERS[name](problem(), rng=rng)


SIGNAL_CALLS = [sr.recover, sr.frequencies, lambda x, **k: sr.forecast(x, 2, **k)]


@pytest.mark.parametrize("entry", SIGNAL_CALLS)
def test_seeds_of_signals(entry):
    with pytest.raises(ValueError, match="rng is -1, but a seed is an integer of at least 0"):
        entry(B, rng=-1)


@pytest.mark.parametrize(
    "entry", [sr.recover, sr.frequencies, lambda x, **k: sr.forecast(x, 2, **k)]
)
@pytest.mark.parametrize("given", [None, [], "yes", 1])
def test_flags_of_signals(entry, given):
    with pytest.raises(ValueError, match="undamped is .*, but True or False is expected"):
        entry(B, undamped=given)


def test_flags_of_recover_and_refit():
    with pytest.raises(ValueError, match="robust is 1, but True or False is expected"):
        sr.recover(B, robust=1)
    with pytest.raises(ValueError, match="undamped is None, but True or False is expected"):
        sr.refit(sr.solve(problem()), undamped=None)


def test_a_matrix_of_one_column(capfd):
    """LAPACK has nothing to say on stdout, and no bound excludes the fit of rank zero."""
    tiny = sr.Problem(sr.Toeplitz(2, window=2), np.array([1.0, 2.0]), 0.1)
    with pytest.raises(ValueError, match="a shift needs windows of length 2 or more"):
        sr.select_mu(tiny)
    for name in ("solve", "gcgls", "gcg", "homotopy", "within"):
        assert np.all(np.isfinite(SOLVERS[name](tiny).y))
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("samples", [np.zeros(12), np.zeros(12, complex), np.eye(1, 12)[0]])
def test_samples_that_are_mostly_zero_have_no_outliers(samples):
    found = sr.find_outliers(sr.Problem(sr.Hankel(12, window=3), samples, 1.0, "lifted"))
    assert not found.any()


@pytest.mark.parametrize(("A", "C", "name"), [(None, [[1.0]], "A"), ([[0.5]], None, "C")])
def test_a_system_without_a_matrix(A, C, name):
    with pytest.raises(TypeError, match=f"{name} is None, but a matrix is expected"):
        sr.StateSpace(A, None, C, None)


def test_responses_that_leave_the_range_of_numbers():
    noisy = sr.StateSpace([[1e3]], None, [[1.0]], None, Q=[[1.0]], R=[[1.0]])
    driven = sr.StateSpace([[1e3]], [[1.0]], [[1.0]], None)
    for call in (noisy.impulse_response, driven.impulse_response, driven.step_response):
        assert np.all(np.isfinite(call(100)))
        with pytest.raises(ValueError, match="spectral radius of the system is 1000, so ask for"):
            call(400)


def test_modes_that_leave_the_range_of_numbers():
    with pytest.raises(ValueError, match=r"the least damping is -1e\+150, so ask for a smaller"):
        sr.Modes(np.array([0.3]), -1e150, -1e150).signal(28)
    assert "e-321" in repr(sr.Modes(np.array([1e-320])))
    assert "2e+300" in repr(sr.Modes(np.array([0.3, -0.3]), amplitudes=1e300))
    for values in ({"frequencies": [0.3 + 1j]}, {"frequencies": [0.3], "dampings": [1j]}):
        with pytest.raises(TypeError, match="are complex, but real numbers are expected"):
            sr.Modes(**values)


# -- common divisors --------------------------------------------------------------------

P, Q = polyfromroots([0.5, -1.5, 2.0]), polyfromroots([0.5, -1.5, -0.7, 0.1])


def test_a_complex_polynomial_may_come_second():
    complex_one = polyfromroots([0.5, -1.5, 1j, 0.3 - 0.2j])
    for pair in ((P, complex_one), (complex_one, P), (P, complex_one, Q)):
        found = sr.approximate_gcd(*pair)
        np.testing.assert_allclose(np.sort_complex(found.roots), [-1.5, 0.5], atol=1e-9)
        for near, given in zip(found.polynomials, pair, strict=True):
            np.testing.assert_allclose(near, given, atol=1e-9)


def test_equal_monomials(capfd):
    """Their first cofactors explain nothing; LAPACK then wrote to stdout."""
    found = sr.approximate_gcd([0, 0, 0, -1, 0], [0, 0, 0, -1, 0])
    np.testing.assert_allclose(found.roots, 0, atol=1e-4)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("size", [1e-310, 1e300])
def test_complex_coefficients_of_extreme_size(size):
    found = sr.approximate_gcd(size * (P + 0j), Q)
    np.testing.assert_allclose(np.sort_complex(found.roots), [-1.5, 0.5], atol=1e-9)


def test_thresholds_far_above_the_samples():
    """Products with weights stay in the range of single precision."""
    given = problem(B.astype(np.float32), 1.0, sr.Weighted(np.full(12, 100.0)))
    with pytest.raises(ValueError, match=r"threshold is 1e\+30, but .* to 1e\+18 is expected"):
        sr.solve_robust(given, 1e30)
    loss = HuberLoss(given, 1e18)
    np.testing.assert_array_equal(loss.factors(given.residual(given.b), 0.0), np.ones(12))


def test_thresholds_far_below_the_samples():
    with pytest.raises(
        ValueError, match="threshold is 1e-09, but .* is expected for these samples"
    ):
        sr.solve_robust(problem(1e60 * B, 1.0), 1e-9)


def test_weights_whose_squares_are_zero():
    with pytest.raises(ValueError, match="the smallest weight above zero is"):
        problem(measure=sr.Weighted(np.where(np.arange(12) == 3, 1e-300, 1.0)))


@pytest.mark.parametrize("noise", [1e-320, 1e-300, 1e150, [1.0, 1e300]])
def test_extreme_noise(noise):
    with pytest.raises(ValueError, match="noise is .*, but finite numbers between 1e-75 and 1e75"):
        sr.approximate_gcd(P, Q, noise=noise)


# -- scale: the scaled answer, or the one error -----------------------------------------

T = np.arange(40)
RNG = np.random.default_rng(1)
X = np.cos(0.5 * T) + 0.5 * np.cos(1.3 * T + 1) + 0.05 * RNG.standard_normal(40)
GAPS = np.where(np.isin(T, [5, 20, 21]), np.nan, X)
NOISE = RNG.standard_normal(120)
AR = np.zeros(120)
for _k in range(2, 120):
    AR[_k] = 1.2 * AR[_k - 1] - 0.6 * AR[_k - 2] + NOISE[_k]
DRIVEN = np.convolve(NOISE, [0, 1, 0.5, 0.25])[:120] + 0.01 * RNG.standard_normal(120)
FAST = {"effort": "fast"}
EXACT = sr.Stop(xtol=None, rtol=None, gap=1e-8)  # the default xtol has the units of the signal


SPIKES = np.where(T == 7, 5.0, X)
COVARIANCES = sr.random_system(2, order=2, spectral_radius=0.9, rng=0).covariances(12)
FILTER = sr.StateSpace([[0.9]], None, [[1.0]], None, Q=[[1e-3]], R=[[1e-2]])


def scaled(b, s):
    return problem(s * b, mu=0.1 * s)


def many(s):
    return sr.Problems(sr.Hankel(12, window=6), s * np.stack([B, C]), 0.1 * s)


def realized(covariances):
    return sr.realize(covariances, 2).innovation_covariance


def solved(s):
    return sr.gcgls(scaled(B, s), 1.0, stop=EXACT)


ENTRIES = {
    "solve": lambda s: sr.solve(scaled(B, s), 1e-8).y / s,
    "gcgls": lambda s: sr.gcgls(scaled(B, s), 1.0, stop=EXACT).y / s,
    "gcg": lambda s: sr.gcg(scaled(B, s), 1.0, stop=sr.Stop(xtol=None, rtol=1e-3)).y / s,
    "within": lambda s: sr.solve_within(scaled(B, s), 0.5 * s).y / s,
    "mu_max": lambda s: sr.mu_max(scaled(B, s)) / s,
    "noise_mu": lambda s: sr.noise_mu(scaled(B, s), s) / s,
    "gcd": lambda s: sr.approximate_gcd(s * P, s * Q).divisor,
    "covariances": lambda s: sr.empirical_covariances(s * AR[:, None], 3) / s / s,
    "solve_many": lambda s: sr.solve_many([scaled(B, s), scaled(C, s)], 1.0, stop=EXACT).y / s,
    "Problems": lambda s: sr.solve_many(many(s), 1.0, stop=EXACT).y / s,
    "mu_max of Problems": lambda s: sr.mu_max(many(s)) / s,
    "homotopy": lambda s: sr.homotopy(scaled(B, s), [1.0, 10.0], stop=EXACT).y / s,
    "path": lambda s: [r.y / s for r in sr.path(scaled(B, s), [s, 0.1 * s], gap=1e-8)],
    "trusted": lambda s: sr.solve_trusted(scaled(B, s), np.arange(12) < 2).y / s,
    "gcgls_loss": lambda s: sr.gcgls_loss(scaled(B, s), sr.Huber(s), 1.0, stop=EXACT).y / s,
    "refit": lambda s: sr.refit(solved(s), 2).y / s,
    "find_modes": lambda s: np.sort(sr.find_modes(solved(s), 2).frequencies),
    "find_outliers": lambda s: sr.find_outliers(scaled(SPIKES, s)),
    "choose_rank": lambda s: sr.choose_rank(solved(s)).y / s,
    "realize": lambda s: realized(s * s * COVARIANCES) / s / s,
    "smooth": lambda s: FILTER.smooth(s * AR[:20]).outputs / s,
}
LONG_ENTRIES = {
    "robust": lambda s: sr.solve_robust(scaled(B, s), 0.5 * s).y / s,
    "select_mu": lambda s: sr.select_mu(scaled(X, s)).mu / s,
    "recover": lambda s: sr.recover(s * GAPS, **FAST).signal / s,
    "recover_many": lambda s: [r.signal / s for r in sr.recover_many([s * GAPS, s * X], **FAST)],
    "denoise": lambda s: sr.denoise(s * X, **FAST).signal / s,
    "impute": lambda s: sr.impute(s * GAPS, **FAST).signal / s,
    "forecast": lambda s: sr.forecast(s * X, 5, **FAST).mean / s,
    "frequencies": lambda s: np.sort(sr.frequencies(s * GAPS, **FAST).frequencies),
    "identify": lambda s: np.sort_complex(sr.identify(NOISE, s * DRIVEN, 2).poles),
    "realize_outputs": lambda s: np.sort_complex(sr.realize_outputs(s * AR, 2).poles),
}
NO_ERROR = ("gcd",)  # it divides by the size first


@pytest.mark.parametrize(
    "name", [*ENTRIES, *(pytest.param(n, marks=pytest.mark.nightly) for n in LONG_ENTRIES)]
)
def test_scale(name):
    entry = (ENTRIES | LONG_ENTRIES)[name]
    expected = np.asarray(entry(1.0))
    for power in (-246, -100, 100, 246):  # 1e-74 to 1e74
        found = np.asarray(entry(2.0**power))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    for power in (-498, -260, 260, 498):  # 1e-150 to 1e150
        if name in NO_ERROR:
            np.testing.assert_allclose(entry(2.0**power), expected, rtol=1e-5, atol=1e-6)
            continue
        with pytest.raises(ValueError, match=r"the largest \w* is .* in size, but 1e-\d* to 1e"):
            entry(2.0**power)


# -- precision, symmetries, determinism -------------------------------------------------


@pytest.mark.parametrize("kind", ["float32", "complex64"])
def test_single_precision_to_its_own_digits(kind):
    wide = {"float32": "float64", "complex64": "complex128"}[kind]
    values = (B * np.exp(0.3j * np.arange(12))).astype(wide) if kind == "complex64" else B
    one = sr.solve(problem(values.astype(kind)))
    other = sr.solve(problem(values), 1e-6)
    assert one.y.dtype == kind
    np.testing.assert_allclose(one.y, other.y, atol=2e-3)
    narrow = sr.approximate_gcd(P.astype("float32"), Q.astype("float32"), degree=2)
    np.testing.assert_allclose(np.sort(narrow.roots), [-1.5, 0.5], atol=1e-5)


SINGLE = B.astype("float32")
TRIAL = sr.StateSpace([[0.5]], None, [[1.0]], None, K=[[0.3]], innovation_covariance=[[1.0]])
PRECISIONS = {
    "float32": {
        "recover": lambda: sr.recover(SINGLE, **FAST).signal,
        "impute": lambda: sr.impute(SINGLE, **FAST).signal,
        "denoise": lambda: sr.denoise(SINGLE, **FAST).signal,
        "components": lambda: sr.recover(SINGLE, **FAST).components().rest,
        "residuals": lambda: sr.recover(SINGLE, **FAST).residuals().residuals,
        "forecast": lambda: sr.forecast(SINGLE, 2, **FAST).mean,
        "gcgls": lambda: sr.gcgls(problem(SINGLE), 1.0).y,
        "solve_many": lambda: sr.solve_many([problem(SINGLE)], 1.0).y,
        "refit": lambda: sr.refit(sr.solve(problem(SINGLE)), 2).y,
        "empirical_covariances": lambda: sr.empirical_covariances(SINGLE[:, None], 2),
    },
    "float64": {
        "frequencies": lambda: sr.frequencies(SINGLE, **FAST).frequencies,
        "find_modes": lambda: sr.find_modes(sr.solve(problem(SINGLE)), 2).frequencies,
        "draws": lambda: sr.recover(SINGLE, rank=2, kind="refit", **FAST).draws(2),
        "identify": lambda: sr.identify(NOISE.astype("f4"), DRIVEN.astype("f4"), 2).A,
        "realize_outputs": lambda: sr.realize_outputs(np.tile(SINGLE, 9), 1, lags=4).A,
        "realize": lambda: sr.realize(TRIAL.covariances(8).astype("float32"), 1).A,
        "smooth": lambda: TRIAL.smooth(SINGLE).states,
        "predict": lambda: TRIAL.predict(SINGLE),
        "approximate_gcd": lambda: sr.approximate_gcd(SINGLE[:3], SINGLE[3:6]).divisor,
    },
}


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for dtype, names in PRECISIONS.items() for name in names]
)
def test_precision_of_what_calls_return(name, dtype):
    """That of the samples for signals; double for modes, draws, systems and polynomials."""
    assert np.asarray(PRECISIONS[dtype][name]()).dtype == dtype


def test_conjugate_samples_have_the_conjugate_solution():
    z = B * np.exp(0.3j * np.arange(12))
    one, other = (sr.solve(problem(values), 1e-8).y for values in (z, z.conj()))
    np.testing.assert_allclose(other, one.conj(), atol=1e-6)


def test_a_reversed_or_transposed_matrix_has_the_same_solution():
    b = B[:11]
    one, other = (sr.solve(problem(values), 1e-8).y for values in (b, b[::-1]))
    np.testing.assert_allclose(other[::-1], one, atol=1e-6)  # rows and columns reversed
    transposed = sr.Problem(sr.Hankel(11, window=7), b, 0.1)
    np.testing.assert_allclose(sr.solve(transposed, 1e-8).y, one, atol=1e-6)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5))
def test_symmetries_of_recover(seed):
    rng = np.random.default_rng(seed)
    z = np.exp(0.5j * T) + 0.4 * np.exp(1.4j * T) + 0.05 * rng.standard_normal((40, 2)) @ [1, 1j]
    z[rng.random(40) < 0.2] = np.nan
    found = sr.recover(z, **FAST).signal
    np.testing.assert_allclose(sr.recover(z.conj(), **FAST).signal, found.conj(), atol=1e-6)
    np.testing.assert_allclose(sr.recover(z[::-1], **FAST).signal[::-1], found, atol=1e-2)


ORDER = [2, 0, 1]


def three_channels(seed):
    """Two channels that share modes, one with gaps, and noise."""
    rng = np.random.default_rng(seed)
    other = np.cos(0.5 * T + 1) - 0.3 * np.cos(1.3 * T)
    table = np.stack([X, other, rng.standard_normal(40)], 1) + 0.1 * rng.standard_normal((40, 3))
    table[rng.random(40) < 0.15, 0] = np.nan
    return table


def test_held_out_samples_do_not_depend_on_the_order_of_channels():
    table = three_channels(0)
    one, other = (
        held_out_parts(hankel_problem(values, channels=1), np.random.default_rng(0), 3)
        for values in (table, table[:, ORDER])
    )
    np.testing.assert_array_equal(other, np.stack(one)[:, :, ORDER])


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_channels_and_signals(seed):
    table = three_channels(seed)
    for recovered in (
        lambda values: sr.recover(values, channels=1, **FAST).signal,
        lambda values: np.stack([r.signal for r in sr.recover_many(values.T, **FAST)], axis=1),
    ):
        found = recovered(table[:, ORDER])
        np.testing.assert_allclose(found, recovered(table)[:, ORDER], atol=1e-9)


def test_the_order_of_problems():
    problems = [problem(), problem(C), problem(B[::-1].copy())]
    found = sr.solve_many([problems[i] for i in ORDER], 1.0, stop=EXACT).y
    expected = sr.solve_many(problems, 1.0, stop=EXACT).y
    np.testing.assert_allclose(found, expected[ORDER], atol=1e-9)


@pytest.mark.nightly
def test_the_order_of_records():
    inputs, outputs = (np.split(values, 3) for values in (NOISE, DRIVEN))
    found = sr.identify([inputs[i] for i in ORDER], [outputs[i] for i in ORDER], 2).poles
    expected = sr.identify(inputs, outputs, 2).poles
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(expected), atol=1e-2)


SAME = {
    "solve": lambda: sr.solve(problem(), rng=3).y,
    "gcgls": lambda: sr.gcgls(problem(), 1.0, rng=3).y,
    "noise_mu": lambda: sr.noise_mu(problem(), 1.0, rng=3),
}
LONG_SAME = {
    "recover": lambda: sr.recover(GAPS, rng=3, **FAST).signal,
    "select_mu": lambda: sr.select_mu(problem(X), rng=3).mu,
    "forecast": lambda: sr.forecast(X, 5, rng=3, **FAST).mean,
    "identify": lambda: sr.identify(NOISE, DRIVEN, 2).A,
    "realize_outputs": lambda: sr.realize_outputs(AR, 2).A,
}


@pytest.mark.parametrize(
    "name", [*SAME, *(pytest.param(n, marks=pytest.mark.nightly) for n in LONG_SAME)]
)
def test_equal_seeds_give_equal_bits_also_beside_other_threads(name):
    call = (SAME | LONG_SAME)[name]
    expected = np.asarray(call())
    assert np.asarray(call()).tobytes() == expected.tobytes()
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(lambda _: call(), range(3)):
            assert np.asarray(found).tobytes() == expected.tobytes()
