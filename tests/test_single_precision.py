"""Single precision with many samples: accurate sums, and certificates in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import LIBRARIES, to_library

from structrank import (
    Hankel,
    Huber,
    Indexed,
    LowRank,
    Operator,
    Penalized,
    Problem,
    Stop,
    Weighted,
    gcgls,
)
from structrank._array import gram, inner, orthonormal_columns, to_numpy
from structrank.model.large_vectors import LARGE, gaussian
from structrank.model.majorant import Majorant
from structrank.model.starts import _digest


def factor(rows, columns, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((columns, rows)) + 1j * rng.standard_normal((columns, rows))
    return (values if np.dtype(dtype).kind == "c" else values.real).astype(dtype).T


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_long_sums_equal_those_in_double_precision(library, dtype):
    A, B = (factor(100_001, 3, dtype, seed) for seed in (0, 1))
    double = "complex128" if dtype == "complex64" else "float64"
    exact = A.astype(double), B.astype(double)
    size = np.linalg.norm(exact[0]) ** 2
    a, b = (to_library(np.ascontiguousarray(F.T), library).T for F in (A, B))
    for left, right, x, y in ((a, a, *exact[:1], exact[0]), (a, b, *exact)):
        assert abs(inner(left, right) - np.vdot(x, y).real) <= 1e-7 * size
        assert np.max(np.abs(gram(left, right) - x.conj().T @ y)) <= 1e-7 * size


@pytest.mark.parametrize("dtype", ["float64", "complex128", "complex64"])
def test_tall_factors_are_orthonormal_without_householder(dtype):
    tolerance = 1e-5 if dtype == "complex64" else 1e-12
    A = factor(2**16, 4, dtype) * np.array([1.0, 1e-2, 1e-4, 1.0]).astype(dtype)
    A[:, 3] = A[:, 0]  # one direction is missing
    a = to_library(np.ascontiguousarray(A.T), "torch").T
    Q, T, R = orthonormal_columns(a)
    basis = to_numpy(Q).astype(complex) @ T
    assert np.allclose(basis @ R, A, rtol=0, atol=tolerance)
    lengths = np.linalg.eigvalsh(basis.conj().T @ basis)
    assert np.allclose(lengths, [0, 1, 1, 1], rtol=0, atol=tolerance)
    assert LowRank(a[:, :0], a[:, :0]).balanced().rank == 0
    B = factor(2**16, 4, dtype, seed=1)
    b = to_library(np.ascontiguousarray(B.T), "torch").T
    X, Y = LowRank(A, B).balanced(1e-7), LowRank(a, b).balanced(1e-7)
    assert X.rank == Y.rank == 3
    assert np.allclose(X.singular_values(), Y.singular_values(), rtol=10 * tolerance)


def test_objective_and_certificate_are_those_of_double_precision():
    n, rng = 6000, np.random.default_rng(0)
    t = np.arange(n)
    y = sum(a * np.exp(2j * np.pi * f * t) for a, f in ((2.0, 0.11), (1.0, 0.31)))
    noise = 0.5 * (rng.standard_normal(n) + 1j * rng.standard_normal(n))
    b, seen = (y + noise).astype(np.complex64), rng.random(n) < 0.3
    problem = Problem(Hankel(n, window=n // 2), b, 120.0, Weighted("lifted", seen))
    result = gcgls(problem, lam=1.0, stop=Stop(xtol=None, rtol=None, gap=1e-4))
    assert result.rank == 2
    assert result.gap <= 1e-4
    assert result.y.dtype == np.complex64
    double = Penalized(problem, lam=1.0).in_double_precision()
    X = LowRank(result.X.U.astype(complex), result.X.V.astype(complex))
    assert result.objective == pytest.approx(double.value(X), rel=1e-12)
    exact = Problem(problem.structure, b.astype(complex), 120.0, problem.measure)
    best = gcgls(exact, lam=1.0, stop=Stop(xtol=None, rtol=None, gap=1e-7))
    assert best.objective * (1 - 1e-7) <= result.objective <= best.objective * (1 + 1e-4)
    assert (1 - result.gap) * result.objective <= best.objective


def test_what_has_no_double_precision():
    b = np.ones(6, np.float32)
    S = Hankel(6, window=3)
    plain = Problem(S, b, 1.0)
    assert Penalized(plain, 1.0).in_double_precision().target.dtype == np.float64
    moved = Indexed(S.index(), offset=np.eye(*S.shape))
    operator = Operator(lambda y: 2 * y, lambda d: 2 * d)
    for objective in (
        Penalized(Problem(moved, b, 1.0), 1.0),
        Penalized(Problem(S, b, 1.0, operator), 1.0),
        Penalized(plain, 1.0, penalty="difference"),
        Penalized(plain, 1.0, recovery="sparse"),
        Majorant.at_matrix(plain, Huber(1.0), 1.0, X=LowRank(np.ones((3, 1)), np.ones((4, 1)))),
    ):
        assert objective.in_double_precision() is None


def test_solver_with_gram_matrices_finds_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    b = np.exp(0.7j * np.arange(200)) + 0.1 * rng.standard_normal(200)
    stop = Stop(xtol=None, rtol=None, gap=1e-6)
    results = []
    for tall in (2**16, 16):
        monkeypatch.setitem(orthonormal_columns.__kwdefaults__, "tall", tall)
        problem = Problem(Hankel(200, window=100), to_library(b, "torch"), 20.0, "lifted")
        results.append(gcgls(problem, lam=1.0, stop=stop))
    assert results[0].rank == results[1].rank == 1
    assert np.allclose(to_numpy(results[0].y), to_numpy(results[1].y), atol=1e-4)


def test_points_without_kept_transforms_are_the_same():
    rng = np.random.default_rng(0)
    problem = Problem(Hankel(40, window=20), rng.standard_normal(40), 1.0)
    objective, X = Penalized(problem, 1.0), LowRank(factor(20, 3, float), factor(21, 3, float, 1))
    whole, lean = objective.at(X), objective.at_lean(X)
    assert objective.psi(lean) == pytest.approx(objective.psi(whole), rel=1e-12)
    assert np.allclose(lean.total, whole.total)
    assert lean.left is None


def test_large_random_vectors_are_reproducible_and_gaussian():
    one, again, other = (
        gaussian(LARGE.drawn, np.zeros(1, dtype), np.random.default_rng(seed))
        for dtype, seed in (("complex64", 0), ("complex64", 0), ("complex128", 1))
    )
    assert one.dtype == np.complex64
    assert np.array_equal(one, again)
    for parts in (one.real, one.imag, other.real):
        assert abs(np.mean(parts)) < 0.005
        assert abs(np.var(parts) - 1) < 0.01
        assert len(np.unique(parts[:: LARGE.piece // 2])) == len(parts[:: LARGE.piece // 2])


def test_hash_of_large_data_sees_every_piece(monkeypatch):
    monkeypatch.setattr("structrank.model.starts.LARGE", type(LARGE)(2**20, 64, 16))
    rng, hashes = np.random.default_rng(0), set()
    b, H = rng.standard_normal(100), Hankel(100, window=50)
    zero = LowRank.zeros(H.shape, b)
    for k in (0, 15, 16, 99):
        changed = b.copy()
        changed[k] += 0.01
        hashes |= {tuple(_digest(Problem(H, x, 1.0), zero)) for x in (b, changed)}
    assert len(hashes) == 5
