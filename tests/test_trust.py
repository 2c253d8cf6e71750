"""Numbers that can be trusted: extreme sizes, weights and seeds, and what symmetries demand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial.polynomial import polyfromroots

import structrank as sr

B = np.cos(0.4 * np.arange(12)) + 0.1 * np.random.default_rng(0).standard_normal(12)


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
}


@pytest.mark.parametrize("mu", [1e-300, 1e-17, 1e151, 1e300])
@pytest.mark.parametrize("name", ["solve", "gcgls", "gcg", "homotopy", "trusted"])
def test_extreme_mu(name, mu):
    with pytest.raises(ValueError, match=r"mu is .*, but .* \(below it is rounding of these"):
        SOLVERS[name](problem(mu=mu))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_small_mu_is_solved_up_to_rounding(dtype):
    mu = 4 * np.finfo(dtype).eps
    found = sr.gcgls(problem(B.astype(dtype), mu), 1.0)
    assert np.all(np.isfinite(found.y))
    assert np.isfinite(found.objective)


@pytest.mark.parametrize("size", [1e-300, 1e-80, 1e80, 1e300])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extreme_weights(size, dtype):
    with pytest.raises(ValueError, match="the largest weight is .* in size, but"):
        problem(B.astype(dtype), 0.1, sr.Weighted(np.full(12, size)))
    with pytest.raises(ValueError, match="the largest product of weight and sample is"):
        problem(1e60 * B, 0.1, sr.Weighted(np.full(12, 1e60)))


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("rng", [-1, 0.5, "0", True, [1]])
def test_seeds(name, rng):
    with pytest.raises((TypeError, ValueError), match="rng is .*, but .*integer of at least 0"):
        SOLVERS[name](problem(), rng=rng)


@pytest.mark.parametrize(
    "entry", [sr.recover, sr.frequencies, lambda x, **k: sr.forecast(x, 2, **k)]
)
def test_seeds_of_signals(entry):
    with pytest.raises(ValueError, match="rng is -1, but a seed is an integer of at least 0"):
        entry(B, rng=-1)


def test_a_matrix_of_one_column(capfd):
    """LAPACK has nothing to say on stdout, and no bound excludes the fit of rank zero."""
    tiny = sr.Problem(sr.Toeplitz(2, window=2), np.array([1.0, 2.0]), 0.1)
    with pytest.raises(ValueError, match="a shift needs windows of length 2 or more"):
        sr.select_mu(tiny)
    for name in ("solve", "gcgls", "gcg", "homotopy", "within"):
        assert np.all(np.isfinite(SOLVERS[name](tiny).y))
    assert capfd.readouterr().out == ""


# -- common divisors --------------------------------------------------------------------

P, Q = polyfromroots([0.5, -1.5, 2.0]), polyfromroots([0.5, -1.5, -0.7, 0.1])


def test_a_complex_polynomial_may_come_second():
    complex_one = polyfromroots([0.5, -1.5, 1j, 0.3 - 0.2j])
    for pair in ((P, complex_one), (complex_one, P), (P, complex_one, Q)):
        found = sr.approximate_gcd(*pair)
        np.testing.assert_allclose(np.sort_complex(found.roots), [-1.5, 0.5], atol=1e-9)
        for near, given in zip(found.polynomials, pair, strict=True):
            np.testing.assert_allclose(near, given, atol=1e-9)


@pytest.mark.parametrize("noise", [1e-320, 1e-300, 1e150, [1.0, 1e300]])
def test_extreme_noise(noise):
    with pytest.raises(ValueError, match="noise is .*, but finite numbers between 1e-75 and 1e75"):
        sr.approximate_gcd(P, Q, noise=noise)
