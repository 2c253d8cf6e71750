"""Small problems and their optima by a conic solver, from literal transcriptions."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from conftest import random_array
from literal import Literal

from structrank import Huber, Mask, Problem, mu_max
from structrank.structures.sparse import vec


def modes_problem(structure, rng, dtype="float64", share=0.7, mu=0.15, measure=None):
    """Noisy samples of a structured signal, mu as a share of mu_max."""
    U, V = (random_array(rng, (n, 2), dtype) for n in structure.shape)
    y = structure.average(U, V)
    b = y + 0.1 * random_array(rng, y.shape, dtype)
    if measure is None:
        seen = rng.random(y.shape) < share
        seen.reshape(-1)[0] = True
        measure = Mask(seen)
    lam = 1.0 if structure.offset is not None else None
    return Problem(structure, b, mu * mu_max(Problem(structure, b, 1.0, measure), lam), measure)


def conic_optimum(problem, lam, penalty, recovery="projection"):
    """The optimal value of (reform2) by a conic solver, from the literal transcription."""
    literal = Literal(problem, lam, penalty, recovery)
    S = problem.structure
    X = cp.Variable(S.shape, complex=np.iscomplexobj(problem.b))
    x = cp.vec(X, order="F")
    full_C, full_B = dense_maps(literal)
    q0 = np.zeros(S.shape) if S.offset is None else S.offset
    shifted = x - q0.reshape(-1, order="F")
    weights = problem.measure.weights.reshape(-1)
    residual = cp.multiply(weights, full_C @ shifted) - problem.data.reshape(-1)
    value = cp.sum_squares(residual) / 2 + lam / 2 * cp.sum_squares(full_B @ shifted)
    program = cp.Problem(cp.Minimize(value + problem.mu * cp.normNuc(X)))
    return program.solve(solver=cp.CLARABEL)


def dense_maps(literal):
    """C and B as matrices on the plain column-major vec, also for blocks."""
    S = literal.structure
    M, N = S.shape
    C, B = [], []
    for position in range(M * N):
        E = np.zeros(M * N)
        E[position] = 1.0
        x = vec(S, E.reshape((M, N), order="F"))
        C.append(np.asarray(literal.C @ x).reshape(-1))
        B.append(np.asarray(literal.B @ x).reshape(-1))
    return np.array(C).T, np.array(B).T


def relax_optimum(problem):
    """The optimal value of (relax) by a conic solver, entry by entry from the index map."""
    S = problem.structure
    index, size = S.index(), int(np.prod(S.signal_shape))
    is_complex = np.iscomplexobj(problem.backprojection)
    y = cp.Variable(size, complex=is_complex)
    gather = np.zeros((index.size, size))
    for place, entry in enumerate(index.reshape(-1)):
        if entry >= 0:
            gather[place, entry] = 1.0
    Q0 = np.zeros(S.shape) if S.offset is None else S.offset
    matrix = Q0 + cp.reshape(gather @ y, S.shape, order="C")
    unit = np.eye(size, dtype=problem.backprojection.dtype)
    forward = [problem.measure.forward(e.reshape(S.signal_shape)).reshape(-1) for e in unit]
    loss = cp.sum_squares(np.stack(forward, axis=1) @ y - problem.data.reshape(-1)) / 2
    program = cp.Problem(cp.Minimize(loss + problem.mu * cp.normNuc(matrix)))
    return program.solve(solver=cp.CLARABEL)


def robust_optimum(problem, threshold):
    """The optimal value of (relax) with a sparse term for outliers, and the outliers."""
    _, matrix, residual = _terms(problem)
    weights = getattr(problem.measure, "weights", np.ones(problem.b.shape)).reshape(-1)
    s = cp.Variable(problem.b.size, complex=np.iscomplexobj(problem.b))
    loss = cp.sum_squares(residual + s) / 2 + cp.sum(cp.multiply(threshold * weights, cp.abs(s)))
    program = cp.Problem(cp.Minimize(loss + problem.mu * cp.normNuc(matrix)))
    value = program.solve(solver=cp.CLARABEL)
    return value, s.value.reshape(problem.b.shape)


def least_nuclear_norm(problem, delta):
    """The least nuclear norm within a distance of the samples."""
    _, matrix, residual = _terms(problem)
    program = cp.Problem(cp.Minimize(cp.normNuc(matrix)), [cp.norm(residual) <= delta])
    return program.solve(solver=cp.CLARABEL)


def trusted_optimum(problem, trusted):
    """The optimal value of (relax) with some samples met exactly."""
    y, matrix, residual = _terms(problem)
    places = np.flatnonzero(trusted)
    loss = cp.sum_squares(residual) / 2
    met = y[places] == problem.b.reshape(-1)[places]
    program = cp.Problem(cp.Minimize(loss + problem.mu * cp.normNuc(matrix)), [met])
    return program.solve(solver=cp.CLARABEL)


def _terms(problem):
    """The signal, its matrix and `A(y) - b`, as expressions, from the index map."""
    S = problem.structure
    index, size = S.index(), int(np.prod(S.signal_shape))
    y = cp.Variable(size, complex=np.iscomplexobj(problem.backprojection))
    gather = (index.reshape(-1)[:, None] == np.arange(size)).astype(float)
    Q0 = np.zeros(S.shape) if S.offset is None else S.offset
    matrix = Q0 + cp.reshape(gather @ y, S.shape, order="C")
    unit = np.eye(size, dtype=problem.backprojection.dtype)
    forward = [problem.measure.forward(e.reshape(S.signal_shape)).reshape(-1) for e in unit]
    return y, matrix, np.stack(forward, axis=1) @ y - problem.data.reshape(-1)


def loss_optimum(problem, loss, lam, penalty, recovery="projection"):
    """The optimal value of (reform2) with a Huber or a logistic loss, by a conic solver."""
    literal, S = Literal(problem, lam, penalty, recovery), problem.structure
    full_C, full_B = dense_maps(literal)
    X = cp.Variable(S.shape, complex=np.iscomplexobj(problem.backprojection))
    q0 = np.zeros(S.shape) if S.offset is None else S.offset
    shifted = cp.vec(X, order="F") - q0.reshape(-1, order="F")
    weights = problem.sample_weights
    if weights is None:  # an operator, as a matrix
        unit = np.eye(full_C.shape[0], dtype=problem.backprojection.dtype)
        forward = [problem.measure.forward(e.reshape(S.signal_shape)).reshape(-1) for e in unit]
        full_C = np.stack(forward, axis=1) @ full_C
        weights = np.ones(problem.b.shape)
    seen = np.flatnonzero(weights)
    z, b = (full_C @ shifted)[seen], problem.b.reshape(-1)[seen]
    if isinstance(loss, Huber):
        losses = cp.huber(cp.abs(z - b), loss.threshold) / 2
    else:
        losses = cp.logistic(-cp.multiply(b, z))
    value = cp.sum(cp.multiply(weights.reshape(-1)[seen] ** 2, losses))
    value += lam / 2 * cp.sum_squares(full_B @ shifted)
    program = cp.Problem(cp.Minimize(value + problem.mu * cp.normNuc(X)))
    return program.solve(solver=cp.CLARABEL)
