"""The explicit matrices of the appendix."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import random_array
from hypothesis import given
from hypothesis import strategies as st

from structrank import Hankel, Indexed, Sylvester, recovery_matrix, structure_matrix
from structrank.structures.sparse import unvec, vec

pytestmark = pytest.mark.quick


class TestAppendixExample:
    """The paper's j = 2, k = 3 example, entry by entry."""

    S = Hankel(4, window=2)

    def test_B(self):
        P, N, O = np.array([[0, 1]]), np.array([[-1, 0]]), np.zeros((1, 2))
        np.testing.assert_array_equal(
            structure_matrix(self.S).toarray(), np.block([[P, N, O], [O, P, N]])
        )

    def test_C_proj(self):
        expected = [
            [1, 0, 0, 0, 0, 0],
            [0, 0.5, 0.5, 0, 0, 0],
            [0, 0, 0, 0.5, 0.5, 0],
            [0, 0, 0, 0, 0, 1],
        ]
        np.testing.assert_array_equal(recovery_matrix(self.S).toarray(), expected)

    def test_C_sp(self):
        expected = [
            [1, 0, 0, 0, 0, 0],
            [0, 1, 0, 0, 0, 0],
            [0, 0, 0, 1, 0, 0],
            [0, 0, 0, 0, 0, 1],
        ]
        np.testing.assert_array_equal(recovery_matrix(self.S, "sparse").toarray(), expected)

    def test_block_C_replaces_each_entry_by_a_multiple_of_the_identity(self):
        blocked = Hankel(4, window=2, block=(3, 2))
        expected = np.kron(recovery_matrix(self.S).toarray(), np.eye(3))
        np.testing.assert_array_equal(recovery_matrix(blocked).toarray(), expected)


class TestSizes:
    """Rows and columns of B as the appendix counts them."""

    @pytest.mark.parametrize(("j", "k"), [(2, 3), (5, 4), (1, 6)])
    def test_hankel(self, j, k):
        assert structure_matrix(Hankel(j + k - 1, window=j)).shape == ((j - 1) * (k - 1), j * k)

    @pytest.mark.parametrize(("m", "n", "j", "k"), [(2, 3, 4, 5), (1, 4, 3, 3)])
    def test_block_hankel(self, m, n, j, k):
        S = Hankel(j + k - 1, window=j, block=(m, n))
        assert structure_matrix(S).shape == (m * (j - 1) * (k - 1), m * j * k)
        assert recovery_matrix(S).shape == (m * (j + k - 1), m * j * k)

    @pytest.mark.parametrize(("n1", "n2", "k1", "k2"), [(4, 5, 2, 3), (6, 4, 3, 2), (3, 3, 3, 1)])
    def test_two_fold_hankel(self, n1, n2, k1, k2):
        S = Hankel((n1, n2), window=(k1, k2))
        rows = k1 * (k2 - 1) * (n2 - k2) * (n1 - k1 + 1) + n2 * (k1 - 1) * (n1 - k1)
        assert structure_matrix(S).shape == (rows, S.shape[0] * S.shape[1])

    def test_a_fixed_zero_is_a_row_with_one_1(self):
        B = structure_matrix(Indexed([[0, -1], [1, 0]])).toarray()
        np.testing.assert_array_equal(B, [[1, 0, 0, -1], [0, 0, 1, 0]])

    def test_copies_of_an_entry_follow_each_other_in_the_order_of_vec(self):
        index = np.random.default_rng(0).integers(-1, 4, (40, 30))
        plus, minus = [], []
        for entry in range(4):
            places = np.flatnonzero(index.reshape(-1, order="F") == entry)
            plus, minus = [*plus, *places[:-1]], [*minus, *places[1:]]
        B = structure_matrix(Indexed(index))[: len(plus)].toarray()
        np.testing.assert_array_equal(np.argmax(B, axis=1), plus)
        np.testing.assert_array_equal(np.argmin(B, axis=1), minus)


@pytest.mark.parametrize("kind", ["projection", "sparse"])
def test_recovery_undoes_the_structure(structure, rng, kind):
    y = random_array(rng, structure.signal_shape, "complex128")
    x = vec(structure, structure.to_dense(y))
    recovered = (recovery_matrix(structure, kind) @ x).reshape(structure.signal_shape)
    np.testing.assert_allclose(recovered, y, rtol=1e-13)


def test_vec_stacks_block_columns(structure, rng):
    X, columns = rng.standard_normal(structure.shape), structure.block_column().shape[1]
    stacked = np.concatenate(np.split(X, columns, axis=1))
    stacked = stacked[:, 0] if stacked.shape[1] == 1 else stacked
    np.testing.assert_array_equal(vec(structure, X), stacked)
    np.testing.assert_array_equal(unvec(structure, vec(structure, X)), X)


def test_B_vanishes_on_structured_matrices_and_on_no_others(structure, rng):
    B = structure_matrix(structure)
    y = rng.standard_normal(structure.signal_shape)
    np.testing.assert_array_equal(B @ vec(structure, structure.to_dense(y)), 0)
    # The kernel contains only structured matrices: rank + signal entries = columns.
    reduced = structure.block_column()
    entries = int(np.prod(reduced.signal_shape))
    rank = np.linalg.matrix_rank(B.toarray()) if B.shape[0] else 0
    assert rank == B.shape[0] == B.shape[1] - entries


def test_projection_matrix_is_the_nearest_structured_matrix(structure, rng):
    X = rng.standard_normal(structure.shape)
    y = (recovery_matrix(structure) @ vec(structure, X)).reshape(structure.signal_shape)
    np.testing.assert_allclose(y, structure.average_dense(X), atol=1e-14)
    nearest = np.linalg.norm(structure.to_dense(y) - X)
    other = y + 1e-3 * rng.standard_normal(y.shape)
    assert np.linalg.norm(structure.to_dense(other) - X) > nearest


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 99))
def test_sylvester_of_any_degrees(n, m, seed):
    S = Sylvester((n, m))
    y = np.random.default_rng(seed).standard_normal(S.signal_shape)
    x = vec(S, S.to_dense(y))
    np.testing.assert_array_equal(structure_matrix(S) @ x, 0)
    np.testing.assert_allclose(recovery_matrix(S) @ x, y, rtol=1e-13)


def test_unknown_kind():
    with pytest.raises(ValueError, match="'projection' or 'sparse'"):
        recovery_matrix(Hankel(4, window=2), "dense")
