"""Structures as operators of SciPy and PyLops, against the index map; and PyLops as measures."""

from __future__ import annotations

import sys

import numpy as np
import pylops
import pytest
from conftest import AFFINE, DTYPES, random_array
from pylops.utils import dottest
from scipy.sparse.linalg import aslinearoperator, lsqr, svds

from structrank import Hankel, Mask, Problem, gcgls
from structrank.interop import StructureOperator, to_pylops

COMPLEX_FLAG = {"float64": 0, "complex128": 3}


def incidence(structure):
    """The matrix of y -> Q(y), row by row, from the index map alone."""
    index = structure.index().reshape(-1)
    matrix = np.zeros((index.size, int(np.prod(structure.signal_shape))))
    for place, entry in enumerate(index):
        if entry >= 0:
            matrix[place, entry] = 1.0
    return matrix


@pytest.mark.parametrize("dtype", DTYPES)
class TestStructureOperator:
    def test_equals_the_index_map(self, structure, rng, dtype):
        operator, matrix = StructureOperator(structure, dtype), incidence(structure)
        assert operator.shape == matrix.shape
        assert operator.dtype == dtype
        y, x = (random_array(rng, n, dtype) for n in matrix.shape[::-1])
        forward, back = operator @ y, operator.H @ x
        assert forward.dtype == back.dtype == dtype
        np.testing.assert_array_equal(forward, (matrix @ y).astype(dtype))
        np.testing.assert_allclose(back, matrix.T @ x, rtol=0, atol=50 * np.finfo(dtype).eps)

    def test_several_vectors_and_whole_numbers(self, structure, dtype):
        operator, matrix = StructureOperator(structure, dtype), incidence(structure)
        Y = np.arange(2 * matrix.shape[1]).reshape(-1, 2)
        np.testing.assert_array_equal(operator @ Y, matrix @ Y)


def test_real_operator_takes_complex_vectors(structure, rng):
    y = random_array(rng, structure.signal_shape, "complex128").reshape(-1)
    np.testing.assert_array_equal(StructureOperator(structure) @ y, incidence(structure) @ y)


def test_affine_structures_give_their_linear_part(rng):
    y = rng.standard_normal(AFFINE.signal_shape)
    expected = AFFINE.to_dense(y) - AFFINE.offset
    got = (StructureOperator(AFFINE) @ y).reshape(AFFINE.shape)
    np.testing.assert_allclose(got, expected, atol=1e-15)


@pytest.mark.parametrize("dtype", [int, "float16", "longdouble"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match="single or double precision is expected"):
        StructureOperator(Hankel(4, window=2), dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
class TestPyLops:
    def test_the_map_passes_the_dot_test(self, structure, dtype):
        operator = to_pylops(StructureOperator(structure, dtype))
        assert dottest(operator, complexflag=COMPLEX_FLAG[dtype], raiseerror=True)

    def test_the_map_takes_signals_to_matrices(self, structure, rng, dtype):
        operator = to_pylops(StructureOperator(structure, dtype))
        y = random_array(rng, structure.signal_shape, dtype)
        X = random_array(rng, structure.shape, dtype)
        np.testing.assert_array_equal(operator @ y, structure.to_dense(y))
        expected = (incidence(structure).T @ X.reshape(-1)).reshape(structure.signal_shape)
        np.testing.assert_allclose(operator.H @ X, expected, atol=1e-13)

    def test_the_matrix_passes_the_dot_test_and_is_q_of_y(self, structure, rng, dtype):
        y = random_array(rng, structure.signal_shape, dtype)
        operator = to_pylops(structure.linear_operator(y))
        assert dottest(operator, complexflag=COMPLEX_FLAG[dtype], raiseerror=True)
        np.testing.assert_allclose(operator.todense(), structure.to_dense(y), atol=1e-13)

    def test_operators_combine_with_those_of_pylops(self, rng, dtype):
        structure = Hankel(12, window=5)
        kept = np.array([0, 3, 4, 9])
        y = random_array(rng, 12, dtype)
        stack = pylops.VStack(
            [
                pylops.Restriction(12, kept, dtype=dtype),
                to_pylops(StructureOperator(structure, dtype)),
            ]
        )
        expected = np.concatenate([y[kept], structure.to_dense(y).reshape(-1)])
        np.testing.assert_allclose(stack @ y, expected, atol=1e-14)
        assert dottest(stack, complexflag=COMPLEX_FLAG[dtype], raiseerror=True)


def test_to_pylops_says_what_it_needs(monkeypatch):
    with pytest.raises(TypeError, match="Hankel, but a SciPy LinearOperator is expected"):
        to_pylops(Hankel(4, window=2))
    monkeypatch.setitem(sys.modules, "pylops", None)
    with pytest.raises(ImportError, match=r'pip install "structrank\[pylops\]"'):
        to_pylops(StructureOperator(Hankel(4, window=2)))


class TestSolversOfOthers:
    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    @pytest.mark.parametrize(
        "structure", [Hankel(301, window=120), Hankel((24, 20), window=(12, 10))], ids=str
    )
    def test_svds_of_the_implicit_matrix_is_the_dense_svd(self, structure, rng, dtype):
        y = random_array(rng, structure.signal_shape, dtype)
        U, s, Vh = svds(structure.linear_operator(y), k=4, rng=np.random.default_rng(1))
        dense = structure.to_dense(y)
        expected = np.linalg.svd(dense, compute_uv=False)
        np.testing.assert_allclose(np.sort(s)[::-1], expected[:4], rtol=1e-10)
        assert np.linalg.norm(dense @ Vh.conj().T - U * s) <= 1e-8 * expected[0]

    def test_lsqr_finds_the_projection(self, structure, rng):
        """The signal nearest to a matrix in least squares is the average over its places."""
        X = rng.standard_normal(structure.shape)
        y = lsqr(StructureOperator(structure), X.reshape(-1), atol=1e-13, btol=1e-13)[0]
        np.testing.assert_allclose(
            y.reshape(structure.signal_shape), structure.average_dense(X), atol=1e-9
        )


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
class TestPyLopsMeasures:
    """PyLops operators as what is measured: the same as the map written out."""

    structure = Hankel(40, window=18)

    def operators(self, rng, dtype):
        kept = np.sort(rng.choice(40, 25, replace=False))
        blur = pylops.signalprocessing.Convolve1D(40, h=np.array([0.2, 1.0, 0.4]), offset=1)
        if dtype == "complex128":
            blur = pylops.FunctionOperator(blur.matvec, blur.rmatvec, 40, 40, dtype=dtype)
        mixed = pylops.MatrixMult(random_array(rng, (30, 40), dtype), dtype=dtype)
        return {
            "restriction": pylops.Restriction(40, kept, dtype=dtype),
            "blur": blur,
            "matrix": mixed,
            "chain": pylops.Restriction(30, np.arange(0, 30, 2), dtype=dtype) @ mixed,
        }

    @pytest.mark.parametrize("name", ["restriction", "blur", "matrix", "chain"])
    def test_forward_and_adjoint(self, rng, dtype, name):
        operator = self.operators(rng, dtype)[name]
        matrix = np.stack([operator @ column for column in np.eye(40, dtype=dtype)], axis=1)
        y, b = random_array(rng, 40, dtype), random_array(rng, operator.shape[0], dtype)
        assert dottest(operator, complexflag=COMPLEX_FLAG[dtype], raiseerror=True)
        measure = Problem(self.structure, b, 0.1, operator).measure
        np.testing.assert_allclose(measure.forward(y), matrix @ y, atol=1e-12)
        np.testing.assert_allclose(measure.adjoint(b), matrix.conj().T @ b, atol=1e-12)
        # and the other way: the measure as an operator of PyLops again
        back = pylops.FunctionOperator(measure.forward, measure.adjoint, *matrix.shape, dtype=dtype)
        assert dottest(back, complexflag=COMPLEX_FLAG[dtype], raiseerror=True)

    def test_restriction_and_mask_have_one_solution(self, rng, dtype):
        t = np.arange(40)
        truth = np.exp(0.7j * t) if dtype == "complex128" else np.cos(0.7 * t)
        kept = np.sort(rng.choice(40, 25, replace=False))
        seen = np.isin(t, kept)
        restriction = pylops.Restriction(40, kept, dtype=dtype)
        results = [
            gcgls(Problem(self.structure, b, 0.5, measure), lam=0.1)
            for b, measure in ((truth[kept], restriction), (truth, Mask(seen)))
        ]
        assert results[0].rank == results[1].rank > 0
        error = np.linalg.norm(results[0].y - results[1].y) / np.linalg.norm(truth)
        assert error < 1e-3
        scipy_twin = aslinearoperator(np.eye(40, dtype=dtype)[kept])
        twin = gcgls(Problem(self.structure, truth[kept], 0.5, scipy_twin), lam=0.1)
        np.testing.assert_allclose(twin.y, results[0].y, atol=1e-8)


def test_a_two_dimensional_pylops_operator_measures_two_dimensional_signals(rng):
    structure = Hankel((6, 5), window=(3, 2))
    operator = pylops.signalprocessing.FFT2D((6, 5), dtype="complex128")
    b = random_array(rng, (6, 5), "complex128")
    measure = Problem(structure, b, 0.1, operator).measure
    y = random_array(rng, (6, 5), "complex128")
    expected = (operator @ y.reshape(-1)).reshape(6, 5)
    np.testing.assert_allclose(measure.forward(y), expected, atol=1e-12)
    np.testing.assert_allclose(
        measure.adjoint(b), (operator.H @ b.reshape(-1)).reshape(6, 5), atol=1e-12
    )


def test_a_real_signal_seen_through_its_spectrum(rng):
    """The adjoint of a real FFT returns real signals, so the solution is real."""
    structure, truth = Hankel(40, window=18), np.cos(0.7 * np.arange(40))
    operator = pylops.signalprocessing.FFT(40, real=True)
    assert dottest(operator, *operator.shape, complexflag=2, raiseerror=True)
    seen = gcgls(Problem(structure, operator @ truth, 0.5, operator), lam=0.1)
    assert seen.y.dtype == np.float64
    plain = gcgls(Problem(structure, truth, 0.5), lam=0.1)  # the FFT is orthogonal
    assert np.linalg.norm(seen.y - plain.y) <= 1e-3 * np.linalg.norm(plain.y)
