from functools import partial

import numpy as np
import pytest
from numpy.polynomial.polynomial import polyfromroots
from scipy.optimize import least_squares

from structrank import ConvergenceWarning, Stop, approximate_gcd
from structrank.solvers.driver import iterate


def drawn(rng, size, complex_=False):
    values = rng.standard_normal(size)
    return values + 1j * rng.standard_normal(size) if complex_ else values


def planted(rng, degree, degrees, noise=0.0, complex_=False):
    """Noisy polynomials of norm one with a common divisor, and that divisor, monic."""
    divisor = drawn(rng, degree + 1, complex_)
    products = [np.convolve(divisor, drawn(rng, d - degree + 1, complex_)) for d in degrees]
    exact = [p / np.linalg.norm(p) for p in products]
    spread = noise / np.sqrt(2) if complex_ else noise
    noisy = [p + spread * drawn(rng, p.size, complex_) for p in exact]
    return noisy, divisor / divisor[-1]


def error(found, divisor):
    return np.linalg.norm(found.divisor - divisor) / np.linalg.norm(divisor)


@pytest.mark.parametrize("complex_", [False, True])
@pytest.mark.parametrize("noise", [1e-12, 1e-8, 1e-6, 1e-4])
def test_planted_divisor_comes_back_without_being_told_the_noise(noise, complex_):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        polynomials, divisor = planted(rng, 3, (8, 6), noise, complex_)
        found = approximate_gcd(*polynomials)
        assert found.degree == 3
        assert error(found, divisor) < 300 * noise
        assert found.backward_error < 6 * noise * np.sqrt(3)


@pytest.mark.parametrize("noise", [1e-8, 1e-4, 1e-3])
def test_planted_divisor_comes_back_with_known_noise(noise):
    found = [
        approximate_gcd(*planted(np.random.default_rng(seed), 3, (8, 6), noise)[0], noise=noise)
        for seed in range(10)
    ]
    assert np.mean([f.degree == 3 for f in found]) >= 0.9


def test_strong_noise_with_a_given_degree():
    errors = []
    for seed in range(10):
        polynomials, divisor = planted(np.random.default_rng(seed), 2, (6, 5), 1e-2)
        errors.append(error(approximate_gcd(*polynomials, degree=2), divisor))
    assert np.median(errors) < 0.1


def test_noise_decides_what_counts_as_common():
    p, q = polyfromroots([1.0, 3.0, -2.0]), polyfromroots([1.01, -0.5, 4.0])
    assert approximate_gcd(p, q, noise=1e-6).degree == 0
    assert approximate_gcd(p, q, noise=0.01).degree == 1


@pytest.mark.parametrize("complex_", [False, True])
def test_coprime_polynomials_have_degree_zero(complex_):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        p, q = drawn(rng, 8, complex_), drawn(rng, 6, complex_)
        found = approximate_gcd(p, q)
        assert found.degree == 0
        assert np.allclose(found.divisor, [1.0])
        assert found.backward_error < 1e-14
        assert approximate_gcd(p, q, noise=1e-8).degree == 0


def test_exact_divisors():
    p, q = polyfromroots([1, 2, 3, -1]), polyfromroots([1, 2, -4])
    found = approximate_gcd(p, q)
    assert found.degree == 2
    assert np.allclose(found.divisor, polyfromroots([1, 2]), rtol=0, atol=1e-10)
    assert np.allclose(found.cofactors[0], polyfromroots([3, -1]), rtol=0, atol=1e-10)
    assert found.backward_error < 1e-14


def test_one_polynomial_divides_the_other():
    p = np.array([2.0, -3.0, 1.0])
    found = approximate_gcd(p, np.convolve(p, [1.0, 5.0, 2.0, 1.0]))
    assert found.degree == 2
    assert np.allclose(found.divisor, p, atol=1e-10)


def test_multiple_roots():
    common = polyfromroots([0.7, 0.7, 0.7, -1.2, -1.2])
    p = np.convolve(common, polyfromroots([2.0, 0.7]))
    q = np.convolve(common, polyfromroots([-0.3, 1.5, 1.5]))
    rng = np.random.default_rng(0)
    noisy = [c + 1e-9 * rng.standard_normal(c.size) for c in (p, q)]
    found = approximate_gcd(*noisy)
    assert found.degree == 5
    assert np.allclose(found.divisor, common, atol=1e-5)


def test_gcd_with_the_derivative_finds_repeated_roots():
    p = polyfromroots([0.5, 0.5, 0.5, -1.0, 2.0, 2.0])
    found = approximate_gcd(p, np.polynomial.polynomial.polyder(p))
    assert found.degree == 3
    assert np.allclose(found.divisor, polyfromroots([0.5, 0.5, 2.0]), atol=1e-8)


def test_several_polynomials_share_less_than_each_pair():
    rng = np.random.default_rng(0)
    a, b, c, common = (drawn(rng, 3) for _ in range(4))
    products = [np.convolve(np.convolve(x, y), common) for x, y in ((a, b), (b, c), (c, a))]
    noisy = [p + 1e-8 * rng.standard_normal(p.size) for p in products]
    assert [approximate_gcd(noisy[i], noisy[i - 1]).degree for i in range(3)] == [4, 4, 4]
    found = approximate_gcd(*noisy)
    assert found.degree == 2
    assert np.allclose(found.divisor, common / common[-1], atol=1e-5)
    assert len(found.cofactors) == len(found.polynomials) == 3


def test_scales_do_not_matter():
    polynomials, _ = planted(np.random.default_rng(1), 3, (7, 6), 1e-6)
    plain = approximate_gcd(*polynomials)
    scaled = approximate_gcd(1e9 * polynomials[0], 1e-7 * polynomials[1])
    assert scaled.degree == plain.degree == 3
    assert np.allclose(scaled.divisor, plain.divisor, rtol=1e-7)
    assert scaled.backward_error == pytest.approx(plain.backward_error, rel=1e-4)
    assert np.allclose(scaled.cofactors[0], 1e9 * plain.cofactors[0], rtol=1e-6)


def test_products_are_what_is_said():
    polynomials, _ = planted(np.random.default_rng(2), 2, (5, 6, 4), 1e-3)
    found = approximate_gcd(*polynomials, degree=2)
    distances = []
    for given, near, cofactor in zip(polynomials, found.polynomials, found.cofactors, strict=True):
        assert np.allclose(np.convolve(found.divisor, cofactor), near, atol=1e-14)
        distances.append(np.linalg.norm(given - near) / np.linalg.norm(given))
    assert found.backward_error == pytest.approx(np.linalg.norm(distances))
    assert found.divisor[-1] == 1
    values = np.polynomial.polynomial.polyval(found.roots, found.divisor)
    assert np.allclose(values, 0, atol=1e-10)


def test_change_is_the_least_that_a_general_optimiser_finds_from_the_truth():
    noisy, divisor = planted(np.random.default_rng(3), 2, (5, 4), 1e-2)
    norms = [np.linalg.norm(p) for p in noisy]

    def residual(x):
        parts = np.split(x, [3, 7])
        products = [np.convolve(parts[0], parts[1]), np.convolve(parts[0], parts[2])]
        changes = [(w - p) / s for w, p, s in zip(products, noisy, norms, strict=True)]
        return np.concatenate(changes)

    quotients = [np.polynomial.polynomial.polydiv(p, divisor)[0] for p in noisy]
    best = least_squares(residual, np.concatenate([divisor, *quotients]), xtol=1e-14, ftol=1e-14)
    found = approximate_gcd(*noisy, degree=2)
    assert found.backward_error == pytest.approx(np.linalg.norm(best.fun), rel=1e-6)


def test_weights_follow_the_noise():
    rng = np.random.default_rng(4)
    (p, q), divisor = planted(rng, 2, (5, 4))
    errors = []
    for _ in range(10):
        noisy = p + 1e-7 * rng.standard_normal(6), q + 1e-3 * rng.standard_normal(5)
        known = approximate_gcd(*noisy, noise=(1e-7, 1e-3))
        assert known.degree == 2
        assert np.linalg.norm(known.polynomials[0] - noisy[0]) < 1e-5
        errors.append(error(known, divisor) / error(approximate_gcd(*noisy, degree=2), divisor))
    assert np.median(errors) < 0.1


def test_missing_coefficients_are_found():
    (p, q), divisor = planted(np.random.default_rng(5), 3, (7, 6))
    gaps = p.copy(), q.copy()
    gaps[0][2] = gaps[1][4] = np.nan
    found = approximate_gcd(*gaps, degree=3)
    assert error(found, divisor) < 1e-6
    assert np.allclose(found.polynomials[0], p, atol=1e-7)
    assert np.allclose(found.polynomials[1], q, atol=1e-7)


def test_a_limit_in_filling_gives_one_warning(monkeypatch):
    (p, q), _ = planted(np.random.default_rng(5), 3, (7, 6))
    p[2] = np.nan
    one = partial(iterate, stop=Stop(max_iter=1))
    monkeypatch.setattr("structrank.systems.divisor_fit.iterate", one)
    with pytest.warns(ConvergenceWarning, match="^approximate_gcd did not converge") as caught:
        approximate_gcd(p, q, degree=3)
    assert [warning.filename for warning in caught] == [__file__]


def test_interruption_passes_through(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("structrank.systems.divisor_fit.iterate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        approximate_gcd([2.0, np.nan, 1.0], [3.0, -4.0, 1.0], degree=1)


@pytest.mark.parametrize("lead", [1e-100, 1e-320])
def test_leading_coefficients_that_vanish_in_rounding(lead):
    """They are not zero, so they are not removed, but no divisor has a leading one of this size."""
    with pytest.raises(ValueError, match="leading coefficient of the common divisor of degree 2"):
        approximate_gcd([1.0, 2.0, lead], [3.0, 6.0, 3 * lead])


def test_leading_zeros_and_integers():
    found = approximate_gcd([2, -3, 1, 0, 0], [-1, 1])
    assert found.degree == 1
    assert np.allclose(found.divisor, [-1, 1])


def test_constants_have_no_divisor():
    assert approximate_gcd([3.0], [1.0, 2.0]).degree == 0


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200, 1e300])
def test_units_do_not_matter(size):
    p, q = np.array([2.0, -3.0, 1.0]), np.array([-3.0, 2.0, 1.0])
    found = approximate_gcd(size * p, q)
    np.testing.assert_allclose(found.divisor, [-1, 1], atol=1e-9)
    np.testing.assert_allclose(found.polynomials[0], size * p, rtol=1e-9)
    assert found.backward_error < 1e-9


def test_repr():
    found = approximate_gcd([2.0, -3.0, 1.0], [-1.0, 1.0], degree=1)
    assert repr(found).startswith("CommonDivisor(degree 1 of 2 polynomials, backward error ")


@pytest.mark.parametrize(
    ("polynomials", "options", "message"),
    [
        (([1.0, 2.0],), {}, "two or more"),
        (([0.0, 0.0], [1.0, 2.0]), {}, "is zero"),
        (([1.0, np.inf], [1.0, 2.0]), {}, "inf"),
        (([[1.0, 2.0]], [1.0, 2.0]), {}, "vector"),
        (([1.0, np.nan], [1.0, 2.0]), {}, "leading coefficient"),
        (([1.0, 2.0], [1.0, 2.0]), {"degree": 2}, "from 0 to 1"),
        (([1.0, 2.0], [1.0, 2.0]), {"noise": -1.0}, "above zero"),
        (([1.0, 2.0], [1.0, 2.0]), {"noise": [1.0, 1.0, 1.0]}, "one per polynomial"),
    ],
)
def test_bad_input(polynomials, options, message):
    with pytest.raises(ValueError, match=message):
        approximate_gcd(*polynomials, **options)


def test_wrong_types():
    with pytest.raises(TypeError, match="integer"):
        approximate_gcd([1.0, 2.0], [1.0, 2.0], degree=1.0)
    with pytest.raises(TypeError, match="real or complex"):
        approximate_gcd(["a"], [1.0, 2.0])
