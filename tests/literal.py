"""The paper's objective transcribed literally: dense X, sparse B and C, no shortcuts."""

from __future__ import annotations

import numpy as np

from structrank import recovery_matrix, structure_matrix
from structrank.structures.sparse import unvec, vec


class Literal:
    """f, grad f and phi of (reform2) on dense matrices, from the appendix's B and C."""

    def __init__(self, problem, lam, penalty, recovery="projection"):
        self.problem, self.lam, self.mu = problem, lam, problem.mu
        self.structure = S = problem.structure
        n = S.shape[1] // S.block_column().shape[1]
        B, mean = structure_matrix(S), recovery_matrix(S)
        if penalty == "projection":
            Q = (mean > 0).T.astype(float).toarray()  # one 1 per row: which entry is there
            B = np.eye(mean.shape[1]) - Q @ mean.toarray()
        self.B, self.C = B, recovery_matrix(S, recovery)
        self.columns = n
        self.q0 = vec(S, np.zeros(S.shape) if S.offset is None else S.offset)

    def signal(self, X):
        return (self.C @ (vec(self.structure, X) - self.q0)).reshape(self.structure.signal_shape)

    def f(self, X):
        residual = self.problem.measure.forward(self.signal(X)) - self.problem.data
        Bx = self.B @ (vec(self.structure, X) - self.q0)
        return np.linalg.norm(residual) ** 2 / 2 + self.lam / 2 * np.linalg.norm(Bx) ** 2

    def gradient(self, X):
        S, measure = self.structure, self.problem.measure
        residual = measure.forward(self.signal(X)) - self.problem.data
        back = measure.adjoint(residual)
        back = back.reshape(-1, self.columns) if self.columns > 1 else back.reshape(-1)
        g = self.C.T @ back + self.lam * (self.B.T @ (self.B @ (vec(S, X) - self.q0)))
        return unvec(S, g)

    def phi(self, X):
        return self.f(X) + self.mu * np.linalg.norm(X, "nuc")
