"""Every structure, dtype and array library, compared with the slow index map."""

from __future__ import annotations

import array_api_compat
import numpy as np
import pytest
from conftest import AFFINE, DTYPES, LIBRARIES, STRUCTURES, random_array, to_library
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from structrank import Circulant, Hankel, Hessenberg, Indexed, Structure, Sylvester, Toeplitz
from structrank._array import to_numpy
from structrank._array.transforms import FFTSizes

pytestmark = pytest.mark.quick


def dense(structure, y):
    """Q(y) entry by entry, from the index map alone."""
    index = structure.index()
    flat = np.append(y.reshape(-1), 0)
    Q = flat[np.where(index < 0, y.size, index)]
    return Q if structure.offset is None else Q + structure.offset


def dense_adjoint(structure, X):
    """Q*(X) entry by entry."""
    index = structure.index()
    total = np.zeros(int(np.prod(structure.signal_shape)), dtype=X.dtype)
    for a in range(index.shape[0]):
        for c in range(index.shape[1]):
            if index[a, c] >= 0:
                total[index[a, c]] += X[a, c]
    return total.reshape(structure.signal_shape)


def assert_close(got, expected, scale=None):
    """Equal to 100 eps of the result's dtype, relative to the largest entry."""
    scale = np.max(np.abs(expected), initial=0.0) if scale is None else scale
    assert got.shape == expected.shape
    error = np.max(np.abs(got - expected), initial=0.0)
    assert error <= 100 * np.finfo(got.dtype).eps * max(scale, 1.0)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", DTYPES)
class TestContract:
    """The contract of every structure, for every array library and dtype."""

    @pytest.fixture
    def data(self, structure, rng, dtype, library):
        M, N = structure.shape
        arrays = [
            random_array(rng, shape, dtype) for shape in (structure.signal_shape, (M, 3), (N, 3))
        ]
        return arrays, [to_library(x, library) for x in arrays]

    def test_products_equal_the_index_map(self, structure, data):
        (y, U, V), (y_, U_, V_) = data
        Q = dense(structure, y)
        assert_close(to_numpy(structure.to_dense(y_)), Q)
        assert_close(to_numpy(structure.matmul(y_, V_)), Q @ V)
        assert_close(to_numpy(structure.rmatmul(y_, U_)), Q.conj().T @ U)
        assert_close(to_numpy(structure.adjoint(U_, V_)), dense_adjoint(structure, U @ V.conj().T))

    def test_products_with_vectors(self, structure, data):
        (y, U, V), (y_, U_, V_) = data
        Q = dense(structure, y)
        assert_close(to_numpy(structure.matmul(y_, V_[:, 0])), Q @ V[:, 0])
        assert_close(to_numpy(structure.rmatmul(y_, U_[:, 0])), Q.conj().T @ U[:, 0])

    def test_adjoint_identity(self, structure, data):
        (y, U, V), (y_, U_, V_) = data
        one = np.vdot(to_numpy(structure.matmul(y_, V_)), U)
        other = np.vdot(y, to_numpy(structure.adjoint(U_, V_)))
        scale = np.linalg.norm(y) * np.linalg.norm(U @ V.conj().T) * np.sqrt(Q_norm(structure))
        assert abs(one - other) <= 100 * np.finfo(U.dtype).eps * scale

    def test_projection_is_idempotent_and_orthogonal(self, structure, data):
        (_, U, V), (_, U_, V_) = data
        X = U @ V.conj().T
        y = to_numpy(structure.average(U_, V_))
        projected = dense(structure, y)
        again = dense_adjoint(structure, projected) / structure.multiplicity
        assert_close(again.astype(y.dtype), y)
        assert abs(np.vdot(projected, X - projected)) <= 100 * np.finfo(y.dtype).eps * (
            np.linalg.norm(X) ** 2
        )

    def test_dtype_and_library_kept_and_inputs_unchanged(self, structure, data):
        (y, U, V), (y_, U_, V_) = data
        results = [
            structure.to_dense(y_),
            structure.matmul(y_, V_),
            structure.rmatmul(y_, U_),
            structure.adjoint(U_, V_),
            structure.average(U_, V_),
        ]
        for result in results:
            assert result.dtype == y_.dtype
            assert array_api_compat.array_namespace(result) is array_api_compat.array_namespace(y_)
        for before, after in zip((y, U, V), (y_, U_, V_), strict=True):
            np.testing.assert_array_equal(before, to_numpy(after))


def Q_norm(structure):
    return float(np.max(structure.multiplicity))


def test_multiplicity_counts_the_index_map(structure):
    index = structure.index()
    assert index.min() >= -1
    counts = np.bincount(index[index >= 0], minlength=structure.multiplicity.size)
    np.testing.assert_array_equal(structure.multiplicity.reshape(-1), counts)
    assert structure.multiplicity.shape == structure.signal_shape


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_linear_operator(structure, rng, dtype):
    y = random_array(rng, structure.signal_shape, dtype)
    operator = structure.linear_operator(y)
    np.testing.assert_allclose(
        operator @ np.eye(structure.shape[1]), dense(structure, y), atol=1e-12
    )
    np.testing.assert_allclose(
        operator.H @ np.eye(structure.shape[0]), dense(structure, y).conj().T, atol=1e-12
    )
    v, u = rng.standard_normal(structure.shape[1]), rng.standard_normal(structure.shape[0])
    np.testing.assert_allclose(operator @ v, dense(structure, y) @ v, atol=1e-12)
    np.testing.assert_allclose(operator.H @ u, dense(structure, y).conj().T @ u, atol=1e-12)
    assert operator.dtype == y.dtype


@pytest.mark.parametrize("columns", [0, 1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
def test_adjoint_of_few_columns(structure, rng, columns, dtype):
    U, V = (random_array(rng, (n, columns), dtype) for n in structure.shape)
    got = structure.adjoint(U, V)
    assert got.dtype == dtype
    assert_close(got, dense_adjoint(structure, U @ V.conj().T))


def test_linear_operator_promotes_what_it_is_applied_to(rng):
    S = Hankel(9, window=4)
    y, v = rng.standard_normal(9), random_array(rng, 6, "complex128")
    operator = S.linear_operator(y)
    np.testing.assert_allclose(operator @ v, dense(S, y) @ v, atol=1e-12)
    np.testing.assert_allclose(operator @ np.eye(6, dtype=int), dense(S, y), atol=1e-12)


@pytest.mark.parametrize("product", ["matmul", "rmatmul"])
def test_linear_operator_takes_several_columns_at_once(rng, monkeypatch, product):
    S, shapes = Hankel(9, window=4), []
    plain = getattr(S, product)

    def counted(_, y, factor):
        shapes.append(factor.shape)
        return plain(y, factor)

    monkeypatch.setattr(Hankel, product, counted)
    operator = S.linear_operator(rng.standard_normal(9).astype("float32"))
    assert operator.dtype == "float32"
    columns = np.eye(6 if product == "matmul" else 4)[:, :3]
    _ = (operator if product == "matmul" else operator.H) @ columns
    assert shapes == [columns.shape]


@pytest.mark.parametrize("n", [11, 14, 16])
def test_lengths_that_cannot_be_split(rng, n, monkeypatch):
    """Long transforms need two factors of similar size; other lengths use SciPy."""
    monkeypatch.setattr("structrank._array.transforms.SIZES", FFTSizes(long=8))
    y, v = rng.standard_normal(n), rng.standard_normal(n)
    np.testing.assert_allclose(Circulant(n).matmul(y, v), dense(Circulant(n), y) @ v, atol=1e-12)


def test_mixed_real_and_complex_arguments(rng):
    S = Hankel(9, window=4)
    y, V = rng.standard_normal(9), random_array(rng, (6, 2), "complex128")
    np.testing.assert_allclose(S.matmul(y, V), dense(S, y) @ V, atol=1e-12)


class TestAffine:
    """An offset is part of Q(y) and its products, not of the adjoint; the average removes it."""

    def test_products(self, rng):
        y, U, V = rng.standard_normal(3), rng.standard_normal((3, 2)), rng.standard_normal((4, 2))
        Q = dense(AFFINE, y)
        assert_close(AFFINE.to_dense(y), Q)
        assert_close(AFFINE.matmul(y, V), Q @ V)
        assert_close(AFFINE.rmatmul(y, U), Q.T @ U)
        assert_close(AFFINE.adjoint(U, V), dense_adjoint(AFFINE, U @ V.T))

    def test_complex_offset_of_a_real_signal(self, rng):
        S = Indexed([[0, 1], [1, 0]], offset=[[0, 1j], [0, 0]])
        y, V = rng.standard_normal(2), rng.standard_normal((2, 2))
        np.testing.assert_allclose(S.to_dense(y), dense(S, y))
        np.testing.assert_allclose(S.matmul(y, V), dense(S, y) @ V)

    @pytest.mark.parametrize("library", LIBRARIES)
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_contract(self, rng, library, dtype):
        arrays = [random_array(rng, shape, dtype) for shape in ((3,), (3, 2), (4, 2))]
        (y, U, V), (y_, U_, V_) = arrays, [to_library(x, library) for x in arrays]
        Q = dense(AFFINE, y).astype(dtype)
        assert_close(to_numpy(AFFINE.matmul(y_, V_)), Q @ V)
        assert_close(to_numpy(AFFINE.rmatmul(y_, U_)), Q.conj().T @ U)
        assert_close(to_numpy(AFFINE.adjoint(U_, V_)), dense_adjoint(AFFINE, U @ V.conj().T))
        assert AFFINE.to_dense(y_).dtype == y_.dtype

    def test_average_recovers_the_signal(self, rng):
        y = rng.standard_normal(3)
        assert_close(AFFINE.average(dense(AFFINE, y), np.eye(4)), y)


class TestKnownMatrices:
    def test_two_fold_hankel_is_the_appendix_layout(self):
        Y = np.arange(12.0).reshape(3, 4)
        S = Hankel((3, 4), window=(2, 2))
        micro = [Hankel(4, window=2).to_dense(Y[l]) for l in range(3)]
        expected = np.block([[micro[0], micro[1]], [micro[1], micro[2]]])
        np.testing.assert_array_equal(S.to_dense(Y), expected)

    def test_block_hankel_is_the_appendix_layout(self):
        y = np.arange(24.0).reshape(4, 2, 3)
        S = Hankel((4,), window=2, block=(2, 3))
        expected = np.block([[y[0], y[1], y[2]], [y[1], y[2], y[3]]])
        np.testing.assert_array_equal(S.to_dense(y), expected)

    def test_toeplitz(self):
        from scipy.linalg import toeplitz

        y = np.arange(1.0, 8.0)
        expected = toeplitz(y[4:], y[4::-1])
        np.testing.assert_array_equal(Toeplitz(7, window=3).to_dense(y), expected)

    def test_circulant(self):
        from scipy.linalg import circulant

        for n in (3, 5):
            y = np.arange(1.0, n + 1)
            np.testing.assert_array_equal(Circulant(n).to_dense(y), circulant(y))

    def test_resultant_vanishes_for_a_common_root(self):
        p, q = np.poly([1.0, 2.0, 3.0]), np.poly([3.0, 4.0])
        S = Sylvester((3, 2))
        assert S.shape == (5, 5)
        assert abs(np.linalg.det(S.to_dense(np.concatenate([p, q])))) < 1e-9
        q = np.poly([5.0, 4.0])
        assert abs(np.linalg.det(S.to_dense(np.concatenate([p, q])))) > 1.0

    def test_generalised_sylvester_loses_rank_with_the_divisor_degree(self):
        p, q = np.poly([1.0, 2.0, 3.0, -1.0]), np.poly([2.0, 3.0, 0.5])
        y = np.concatenate([p, q])
        for shifts, rows, rank in ((3, 7, 5), (2, 5, 4), (1, 3, 3)):  # a divisor of degree 2
            S = Sylvester((4, 3), shifts=shifts)
            assert S.shape[0] == rows
            assert np.linalg.matrix_rank(S.to_dense(y)) == rank

    def test_hessenberg(self):
        H = Hessenberg(4).to_dense(np.arange(1.0, 14.0))
        np.testing.assert_array_equal(np.tril(H, -2), 0)
        assert np.count_nonzero(H) == 13


SHIFTED = {name: S for name, S in STRUCTURES.items() if isinstance(S, Hankel)} | {
    "hankel-square": Hankel(9, window=5),
    "hankel-2d-square": Hankel((5, 3), window=(3, 2)),
    "hankel-square-block": Hankel(5, window=3, block=(2, 2)),
    "hankel-channels": Hankel(6, window=2, block=(1, 3)),
    "hankel-block-column": Hankel(6, window=2, block=(3, 1)),
}


@pytest.mark.parametrize("S", SHIFTED.values(), ids=SHIFTED)
class TestShifted:
    """What Hankel and Toeplitz matrices say of themselves, compared with the index map."""

    def test_symmetric(self, S):
        index = S.index()
        alike = S.shape[0] == S.shape[1] and np.array_equal(index, index.T)
        assert S.symmetric == (alike and S.block is None)

    def test_first_copies(self, S):
        """The first column that has each entry, and the first row of that column."""
        index = S.index()
        literal = [
            min(zip(*np.nonzero(index == k)[::-1], strict=True)) for k in range(index.max() + 1)
        ]
        rows, columns = S.first_copies
        np.testing.assert_array_equal(np.stack([columns, rows], axis=1), literal)

    def test_differences_connect_all_copies(self, S):
        """Both entries of a pair are copies, and pairs are as few as connect all copies."""
        found = S.differences()
        assert np.prod(found.row_grid) == S.shape[0]
        assert np.prod(found.column_grid) == S.shape[1]
        index = S.index().reshape(*found.row_grid, *found.column_grid)
        place = np.arange(index.size).reshape(index.shape)
        pairs = []
        for box in found.boxes:
            everything = (slice(None),)
            plus = (*box.rows_plus, *everything, *box.columns_plus)
            minus = (*box.rows_minus, *everything, *box.columns_minus)
            np.testing.assert_array_equal(index[plus], index[minus])
            pairs.append(np.stack([place[plus].reshape(-1), place[minus].reshape(-1)]))
        i, j = np.concatenate(pairs, axis=1)
        graph = coo_array((np.ones(len(i)), (i, j)), (index.size, index.size))
        assert connected_components(graph, directed=False)[0] == index.max() + 1
        assert len(i) == index.size - (index.max() + 1)

    def test_blocks(self, S):
        column, (m, n) = S.block_column(), S.block or (1, 1)
        assert S.has_modes == (m == 1 or n == 1)
        assert (column is S) == (n == 1)
        assert type(column) is type(S)
        assert (column.lengths, column.window) == (S.lengths, S.window)
        if n > 1:
            assert column.block == (m, 1)

    def test_several_pairs_of_factors(self, S, rng):
        pairs = [[random_array(rng, (k, 2), "complex128") for k in S.shape] for _ in range(3)]
        transformed = [(S.transform_left(U), S.transform_right(V)) for U, V in pairs]
        literal = dense_adjoint(S, sum(U @ V.conj().T for U, V in pairs))
        assert_close(S.adjoint_transformed(*transformed), literal)


@pytest.mark.parametrize("S", [S for S in SHIFTED.values() if S.symmetric], ids=repr)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mirrored_factors(S, dtype, rng):
    U, signs = rng.standard_normal((S.shape[0], 3)), np.array([1.0, -1.0, -1.0])
    left = S.transform_left(U.astype(dtype))
    got = S.transform_mirrored(left, signs)
    assert got.dtype == left.dtype
    assert_close(got, S.transform_right((U * signs).astype(dtype)))


@given(st.data())
def test_any_hankel_or_toeplitz(data):
    """Shapes drawn at random: products equal the index map."""
    kind = data.draw(st.sampled_from([Hankel, Toeplitz]))
    lengths = data.draw(st.lists(st.integers(1, 7), min_size=1, max_size=3))
    window = [data.draw(st.integers(1, n)) for n in lengths]
    block = data.draw(st.none() | st.tuples(st.integers(1, 3), st.integers(1, 3)))
    dtype = data.draw(st.sampled_from(DTYPES))
    S = kind(tuple(lengths), tuple(window), block)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    y = random_array(rng, S.signal_shape, dtype)
    U, V = (random_array(rng, (n, 2), dtype) for n in S.shape)
    assert_close(S.matmul(y, V), dense(S, y) @ V)
    assert_close(S.rmatmul(y, U), dense(S, y).conj().T @ U)
    assert_close(S.adjoint(U, V), dense_adjoint(S, U @ V.conj().T))


class Own(Structure):
    """An index map, which may be wrong, and nothing else."""

    def __init__(self, index, size, shape=None):
        self.map = np.array(index)
        self.shape, self.signal_shape = shape or self.map.shape, (size,)

    def index(self):
        return self.map


class TestOwnStructures:
    """A structure of its own needs an index map only."""

    upper = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])

    def test_products(self, rng):
        S = Own(self.upper, 6)
        y, V = rng.standard_normal(6), rng.standard_normal((3, 2))
        np.testing.assert_allclose(S.to_dense(y), S.to_dense(y).T)
        np.testing.assert_allclose(S.matmul(y, V), S.to_dense(y) @ V)
        np.testing.assert_allclose(S.average(S.to_dense(y), np.eye(3)), y)

    def test_what_is_not_known(self):
        S = Own(self.upper, 6)
        assert not S.symmetric
        assert not S.has_modes
        assert S.differences() is None
        assert S.block_column() is S

    def test_symmetric_one(self, rng):
        class Symmetric(Own):
            symmetric = True

        S, U, signs = Symmetric(self.upper, 6), rng.standard_normal((3, 2)), np.array([1.0, -1.0])
        assert_close(S.transform_mirrored(S.transform_left(U), signs), S.transform_right(U * signs))

    def test_entries_that_do_not_occur(self):
        np.testing.assert_array_equal(Own([[0, 2], [2, -1]], 5).multiplicity, [1, 0, 2, 0, 0])

    @pytest.mark.parametrize("transform", ["transform_left", "transform_right"])
    def test_transforms_share_no_memory(self, rng, transform):
        X = rng.standard_normal((3, 2))
        assert not np.shares_memory(getattr(Own(self.upper, 6), transform)(X), X)

    @pytest.mark.parametrize(
        ("index", "size", "shape"),
        [([[0, 1]], 2, (2, 1)), ([[0, -2]], 1, None), ([[0, 2]], 2, None)],
    )
    def test_wrong_index_maps(self, index, size, shape):
        with pytest.raises(ValueError, match=f"entries from -1 to {size - 1}"):
            Own(index, size, shape).multiplicity  # noqa: B018


class TestIndexed:
    def test_nothing_can_be_changed(self):
        assert not Indexed([[0, 1]]).index().flags.writeable
        assert not AFFINE.offset.flags.writeable

    def test_repr(self):
        assert repr(Indexed([[0, 1, -1]])) == "Indexed(1 x 3 map of 2)"
        assert repr(AFFINE) == "Indexed(3 x 4 map of 3, with an offset)"


class TestEquality:
    def test_same_arguments_same_structure(self):
        assert Hankel(9, window=4) == Hankel((9,), window=(4,))
        assert hash(Hankel(9, window=4)) == hash(Hankel((9,), window=(4,)))
        assert Hankel(9, window=4) != Toeplitz(9, window=4)
        assert Indexed([[0, 1]]) != Indexed([[1, 0]])
        assert Circulant(5) == Circulant(5)
        assert Circulant(5) != Circulant(6)

    @pytest.mark.parametrize(
        "text",
        [
            "Hankel((9,), window=(4,))",
            "Toeplitz((9, 8), window=(4, 2), block=(1, 2))",
            "Circulant(5)",
            "Sylvester((3, 2), shifts=2)",
            "Hessenberg(4)",
        ],
    )
    def test_repr_makes_the_structure_again(self, text):
        assert repr(eval(text)) == text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hankel(9, window=10), r"window is \(10,\), but the signal has lengths \(9,\)"),
        (
            lambda: Hankel((9, 9), window=3),
            "window has 1 entries and signal_shape has 2, but one entry per axis",
        ),
        (lambda: Hankel(9, window=0), "window is 0, but a positive integer"),
        (lambda: Hankel(9.5, window=2), "signal_shape is 9.5, but a positive integer"),
        (lambda: Hankel((), window=()), "signal_shape is empty"),
        (lambda: Hankel(9, window=2, block=(2,)), r"block is \(2,\), but two integers"),
        (lambda: Circulant(2), "expects 3 or more"),
        (lambda: Sylvester((3,)), "at least two polynomials"),
        (
            lambda: Sylvester((2, 5), shifts=2),
            "shifts is 2, but a polynomial of degree 5 needs at least 4",
        ),
        (lambda: Hessenberg(0), "n is 0, but a positive integer"),
        (lambda: Indexed([0, 1]), r"index has shape \(2,\), but a matrix"),
        (lambda: Indexed(np.zeros((0, 2), dtype=int)), r"index has shape \(0, 2\), but a matrix"),
        (lambda: Indexed([[0, 2]]), "it contains 2 of 3"),
        (lambda: Indexed([[0, -2]]), "-1 is the only negative number"),
        (lambda: Indexed([[-1, -1]]), "it contains 0 of 0"),
        (lambda: Indexed([[0, 1]], offset=[[1.0]]), r"offset has shape \(1, 1\)"),
        (lambda: Indexed([[0, 1]], offset=[[1.0, np.nan]]), "offset contains NaN"),
        (lambda: Hankel(4, window=2).to_dense(np.ones(5)), r"y has shape \(5,\), but Hankel"),
        (lambda: Hankel(4, window=2).matmul(np.ones(4), np.ones(4)), r"expects \(3,\) or \(3, r\)"),
        (
            lambda: Hankel(4, window=2).adjoint(np.ones((2, 2)), np.ones((3, 1))),
            r"expected \(2, r\) and \(3, r\)",
        ),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Indexed([[0.0, 1.0]]),
        lambda: Hankel(4, window=2).to_dense(np.arange(4)),
        lambda: Hankel(4, window=2).to_dense(np.array([None] * 4)),
    ],
)
def test_bad_dtypes(make):
    with pytest.raises(TypeError, match="dtype"):
        make()
