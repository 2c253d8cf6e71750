"""Top singular pairs and low-rank arithmetic against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import LIBRARIES, random_array, to_library
from scipy.sparse.linalg import svds

from structrank import Hankel, LowRank
from structrank._array import (
    add_scaled,
    gram,
    inner,
    rotate,
    singular_values,
    sum_of_products,
    svd,
    to_numpy,
)
from structrank.model.linalg import dense_pairs, random_vector, top_singular_pairs

pytestmark = pytest.mark.quick


def products(A):
    return lambda v: A @ v, lambda u: A.conj().T @ u


class TestTopSingularPairs:
    @pytest.mark.parametrize(
        "shape", [(40, 25), (25, 40), (30, 30), (3, 50), (50, 3), (1, 6), (6, 1)]
    )
    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_equal_those_of_arpack(self, rng, shape, dtype):
        A = random_array(rng, shape, dtype)
        count = min(3, min(shape))
        start = random_vector(shape[1], A, seed=1)
        top = top_singular_pairs(*products(A), start, count, tolerance=1e-13, max_steps=60)
        if count < min(shape):
            expected = np.sort(svds(A, k=count, return_singular_vectors=False))[::-1]
        else:
            expected = np.linalg.svd(A, compute_uv=False)[:count]
        np.testing.assert_allclose(top.values, expected, rtol=1e-9)
        np.testing.assert_allclose(A @ top.V, top.U * top.values, atol=1e-9)
        np.testing.assert_allclose(top.U.conj().T @ top.U, np.eye(count), atol=1e-10)
        assert top.likely_top >= expected[0] * (1 - 1e-12)

    def test_residuals_are_the_true_ones(self, rng):
        A = rng.standard_normal((60, 80))
        start = random_vector(80, A, seed=1)
        top = top_singular_pairs(*products(A), start, 4, tolerance=1e-3)
        true = np.linalg.norm(A.T @ top.U - top.V * top.values, axis=0)
        np.testing.assert_allclose(top.residuals, true, rtol=1e-6, atol=1e-12)
        assert top.residuals[0] <= 1e-3 * top.values[0]

    def test_every_checked_pair_is_accurate(self, rng):
        A, start = rng.standard_normal((60, 40)), np.ones(40)
        rough = top_singular_pairs(*products(A), start, 5)
        fine = top_singular_pairs(*products(A), start, 5, checked=5)
        assert rough.residuals.max() > 1e-3 * rough.values[0]
        assert fine.residuals.max() <= 1e-3 * fine.values[0]

    def test_rank_one_and_zero_matrices(self, rng):
        A = np.outer(rng.standard_normal(7), rng.standard_normal(5))
        top = top_singular_pairs(*products(A), np.ones(5), 3)
        assert top.values[0] == pytest.approx(np.linalg.norm(A))
        assert top.likely_top == pytest.approx(np.linalg.norm(A))
        zero = top_singular_pairs(*products(np.zeros((7, 5))), np.ones(5), 2)
        assert zero.likely_top == 0.0

    def test_clustered_values(self):
        A = np.diag(np.concatenate([np.ones(20), np.linspace(0.9, 0.1, 20)]))
        top = top_singular_pairs(*products(A), random_vector(40, A, 0), 5, tolerance=1e-10)
        assert top.values[0] == pytest.approx(1.0, rel=1e-12)

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_array_libraries(self, rng, library):
        S = Hankel(31, window=13)
        y = random_array(rng, 31, "complex64")
        y_ = to_library(y, library)
        start = random_vector(19, y_, seed=3)
        top = top_singular_pairs(
            lambda v: S.matmul(y_, v), lambda u: S.rmatmul(y_, u), start, 2, tolerance=1e-5
        )
        expected = np.linalg.svd(S.to_dense(y), compute_uv=False)
        np.testing.assert_allclose(top.values, expected[:2], rtol=1e-4)
        assert type(top.U) is type(y_)

    def test_seed_decides(self):
        reference = np.zeros(1, dtype=complex)
        np.testing.assert_array_equal(
            random_vector(5, reference, seed=1), random_vector(5, reference, seed=1)
        )
        assert np.any(random_vector(5, reference, seed=1) != random_vector(5, reference, seed=2))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
class TestLowRank:
    @pytest.fixture
    def pair(self, rng, dtype, library):
        arrays = [random_array(rng, (n, 3), dtype) for n in (8, 6, 8, 6)]
        U, V, P, R = (to_library(x, library) for x in arrays)
        U0, V0, P0, R0 = arrays
        return LowRank(U, V), LowRank(P, R), U0 @ V0.conj().T, P0 @ R0.conj().T

    def test_arithmetic(self, pair):
        X, Y, dense_X, dense_Y = pair
        np.testing.assert_allclose(to_numpy(X.to_dense()), dense_X, atol=1e-12)
        np.testing.assert_allclose(to_numpy(X.scaled(2.5).to_dense()), 2.5 * dense_X, atol=1e-12)
        np.testing.assert_allclose(
            to_numpy(X.appended(Y).to_dense()), dense_X + dense_Y, atol=1e-12
        )
        assert X.norm_squared() == pytest.approx(np.linalg.norm(dense_X) ** 2)
        assert X.inner(Y) == pytest.approx(np.vdot(dense_X, dense_Y).real)
        assert X.distance(Y) == pytest.approx(np.linalg.norm(dense_X - dense_Y))

    def test_nuclear_norm_and_singular_values(self, pair):
        X, _, dense_X, _ = pair
        expected = np.linalg.svd(dense_X, compute_uv=False)[:3]
        np.testing.assert_allclose(X.singular_values(), expected)
        assert X.nuclear_norm() == pytest.approx(np.linalg.norm(dense_X, "nuc"))

    def test_balanced(self, pair):
        X, _, dense_X, _ = pair
        B = X.balanced()
        np.testing.assert_allclose(to_numpy(B.to_dense()), dense_X, atol=1e-12)
        np.testing.assert_allclose(gram(B.U, B.U), np.diag(X.singular_values()), atol=1e-12)
        np.testing.assert_allclose(gram(B.V, B.V), np.diag(X.singular_values()), atol=1e-12)

    def test_balanced_prunes(self, pair):
        X, Y, dense_X, _ = pair
        padded = X.appended(Y.scaled(1e-14))
        assert padded.rank == 6
        assert padded.balanced(1e-10).rank == 3
        np.testing.assert_allclose(to_numpy(padded.balanced(1e-10).to_dense()), dense_X, atol=1e-10)

    def test_products(self, pair, rng, library):
        X, _, dense_X, _ = pair
        Z = random_array(rng, (6, 2), str(dense_X.dtype))
        got = to_numpy(X.matmul(to_library(Z, library)))
        np.testing.assert_allclose(got, dense_X @ Z, atol=1e-12)

    def test_zero(self, pair, library):
        X = pair[0]
        zero = LowRank.zeros((8, 6), X.U)
        assert zero.rank == 0
        assert zero.norm_squared() == 0.0
        assert zero.appended(X).rank == 3
        if library == "numpy":
            assert zero.balanced().nuclear_norm() == 0.0
        ones = LowRank.ones((8, 6), X.U)
        np.testing.assert_array_equal(to_numpy(ones.to_dense()), np.ones((8, 6)))


def test_more_columns_than_rows_balance_to_full_rank(rng):
    X = LowRank(rng.standard_normal((3, 7)), rng.standard_normal((9, 7)))
    assert X.balanced().rank == 3
    np.testing.assert_allclose(X.balanced().to_dense(), X.to_dense(), atol=1e-12)


def test_small_distances_of_large_matrices(rng):
    X = LowRank(1e4 * rng.standard_normal((30, 3)), 10 * rng.standard_normal((30, 3)))
    near = LowRank(X.U * (1 + 1e-12), X.V)
    true = np.linalg.norm(1e-12 * X.to_dense())
    assert X.distance(near) == pytest.approx(true, rel=0.2)
    assert X.distance(X) <= 1e-3 * true


def test_squared_norms_of_columns_that_cancel_are_not_negative(rng):
    rounded = []
    for _ in range(20):
        u, v = (rng.standard_normal((5, 1)).astype(np.float32) for _ in range(2))
        near = np.float32(1 + 1e-3)
        X = LowRank(np.concatenate([u, near * u], axis=1), np.concatenate([near * v, -v], axis=1))
        assert X.norm_squared() >= 0
        rounded.append(X.inner(X))
    assert min(rounded) < 0


def test_negative_scale():
    with pytest.raises(ValueError, match="factor is -1"):
        LowRank(np.ones((3, 1)), np.ones((3, 1))).scaled(-1)


@pytest.mark.parametrize(
    ("U", "V"), [(np.ones(3), np.ones((3, 1))), (np.ones((3, 2)), np.ones((3, 1)))]
)
def test_factors_of_the_wrong_shape(U, V):
    with pytest.raises(ValueError, match="same number of columns"):
        LowRank(U, V)


def test_factors_of_the_wrong_dtype():
    with pytest.raises(TypeError, match="U has dtype int64"):
        LowRank(np.ones((3, 1), dtype=int), np.ones((3, 1)))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("other", ["C", "F"])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_kernels_do_not_depend_on_memory_layout(rng, order, other, dtype):
    x = np.array(random_array(rng, (7, 3), dtype), order=order)
    y = np.array(random_array(rng, (7, 3), dtype), order=other)
    rtol = 1e-5 if dtype == "float32" else 1e-12
    assert inner(x, y) == pytest.approx(np.vdot(x, y).real, rel=rtol)
    np.testing.assert_allclose(gram(x, y), x.conj().T @ y, rtol=10 * rtol, atol=rtol)
    expected = y + 0.5 * x
    got = add_scaled(y, 0.5, x)
    np.testing.assert_allclose(got, expected, rtol=rtol)
    assert got is y
    small = rng.standard_normal((3, 2))
    np.testing.assert_allclose(rotate(x, small), x @ small, rtol=10 * rtol, atol=rtol)


class TestSymmetricLowRank:
    @pytest.fixture
    def mirrored(self, rng):
        U, signs = rng.standard_normal((8, 4)), np.array([1.0, -1.0, -1.0, 1.0])
        return LowRank(U, U * signs), signs

    def test_signs_are_seen(self, mirrored):
        X, signs = mirrored
        np.testing.assert_array_equal(X.signs, signs)
        np.testing.assert_array_equal(X.scaled(0.3).appended(X).signs, [*signs, *signs])

    def test_no_signs_where_factors_differ(self, mirrored, rng):
        X, _ = mirrored
        for V in (np.nextafter(X.V, 9.0), -np.abs(X.V), rng.standard_normal((9, 4))):
            assert LowRank(X.U, V).signs is None
        assert LowRank(X.U + 0j, X.V + 0j).signs is None

    @pytest.mark.parametrize("library", LIBRARIES)
    def test_balanced_keeps_them(self, mirrored, library):
        X, _ = mirrored
        B = LowRank(*(to_library(F, library) for F in (X.U, X.V))).balanced()
        U, V = np.asarray(B.U), np.asarray(B.V)
        np.testing.assert_allclose(U @ V.T, X.to_dense(), atol=1e-13)
        np.testing.assert_allclose(U.T @ U, np.diag(X.singular_values()), atol=1e-13)
        assert sorted(B.signs) == [-1, -1, 1, 1]

    def test_balanced_prunes(self, mirrored):
        X, _ = mirrored
        values = X.singular_values()
        kept = X.balanced((values[2] + values[1]) / 2 / values[0])
        np.testing.assert_allclose(kept.singular_values(), values[:2], rtol=1e-12)
        assert X.scaled(0.0).balanced().rank == 0

    def test_symmetric_part(self, rng):
        X = LowRank(rng.standard_normal((8, 3)), rng.standard_normal((8, 3)))
        part, dense = X.symmetric_part(), X.to_dense()
        np.testing.assert_allclose(part.to_dense(), (dense + dense.T) / 2, atol=1e-13)
        assert part.signs is not None
        zero = LowRank.zeros((8, 8), X.U)
        assert zero.symmetric_part().rank == 0


def test_a_failure_of_the_usual_driver_is_no_failure(rng, monkeypatch):
    A = random_array(rng, (5, 4), "complex128")
    expected = np.linalg.svd(A, compute_uv=False)

    def failing(*args, **kwargs):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", failing)
    U, s, Vh = svd(A)
    assert np.allclose(U[:, :4] * s @ Vh, A)
    assert np.allclose(s, expected)
    assert np.allclose(singular_values(A), expected)
    assert np.allclose(LowRank(A, np.eye(4) + 0j).singular_values(), expected)


def test_products_of_tensors_are_the_literal_ones(rng):
    torch = pytest.importorskip("torch")
    x, y = (random_array(rng, (3, 5), "complex128") for _ in range(2))
    for layout in (lambda z: torch.asarray(z), lambda z: torch.asarray(z.T.copy()).T):
        assert inner(layout(x), layout(y)) == pytest.approx(np.vdot(x, y).real)
    literal = np.sum(x * np.conj(y), axis=0)
    for large in (1, 100):
        found = sum_of_products(torch.asarray(x), torch.asarray(y), large=large)
        np.testing.assert_allclose(found.numpy(), literal)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_pairs_of_a_small_matrix_are_those_of_its_products(dtype, rng):
    A = random_array(rng, (7, 5), dtype)
    found = dense_pairs(A, 3)
    literal = top_singular_pairs(*products(A), random_array(rng, (5,), dtype), 3, tolerance=1e-12)
    np.testing.assert_allclose(found.values, literal.values)
    np.testing.assert_allclose(A @ found.V, found.U * found.values, atol=1e-12)
    assert np.all(found.residuals <= 1e-13 * found.values[0])
    assert found.values[0] <= found.upper <= (1 + 1e-12) * found.values[0]
    every = dense_pairs(A, 9)
    assert (every.U.shape, every.values.shape, every.V.shape) == ((7, 5), (5,), (5, 5))
