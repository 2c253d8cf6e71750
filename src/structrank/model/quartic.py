"""Polynomials of degree four: what the objective is along a line in the factors.

A polynomial is an array of its five coefficients, constant first.
"""

from __future__ import annotations

import numpy as np

from .._array import Array, gram, inner

GramLine = tuple[np.ndarray, np.ndarray, np.ndarray]
Triple = tuple[Array, Array, Array]


def square(x0: Array, x1: Array, x2: Array) -> np.ndarray:
    """`||x0 + t x1 + t^2 x2||^2`."""
    return products((x0, x1, x2), (x0, x1, x2))


def products(x: Triple, y: Triple) -> np.ndarray:
    """`Re <x0 + t x1 + t^2 x2, y0 + t y1 + t^2 y2>`, where `<xi, yj> = <xj, yi>`."""
    return np.array(
        [
            inner(x[0], y[0]),
            2 * inner(x[0], y[1]),
            2 * inner(x[0], y[2]) + inner(x[1], y[1]),
            2 * inner(x[1], y[2]),
            inner(x[2], y[2]),
        ]
    )


def gram_line(A: Array, D: Array, gram_A: np.ndarray | None = None) -> GramLine:
    """`(A + t D)^H (A + t D)` as the matrices that go with 1, t and t^2."""
    cross = gram(A, D)
    return (gram(A, A) if gram_A is None else gram_A, cross + cross.conj().T, gram(D, D))


def mirrored(line: GramLine, signs: np.ndarray) -> GramLine:
    """The Gram matrices of `(A + t D) diag(signs)` from those of `A + t D`."""
    table = np.outer(signs, signs)
    return (table * line[0], table * line[1], table * line[2])


def trace_product(left: GramLine, right: GramLine) -> np.ndarray:
    """`trace(G(t) H(t))` of two Gram matrices along a line, that is `||U(t) V(t)^H||^2`."""
    G = np.stack(left).reshape(3, -1)
    H = np.stack([matrix.T for matrix in right]).reshape(3, -1)
    table = (G @ H.T).real[:, ::-1]
    return np.array([table.trace(2 - degree) for degree in range(5)])


def traces(line: GramLine) -> np.ndarray:
    """`||A + t D||^2` from the Gram matrices along the line."""
    return np.array([*(G.trace().real for G in line), 0.0, 0.0])


def value(coefficients: np.ndarray, t: float) -> float:
    """The polynomial at `t`."""
    return float(np.polynomial.polynomial.polyval(t, coefficients))


def minimizer(coefficients: np.ndarray) -> float:
    """Where the polynomial is least; zero if it is nowhere below its value there.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.model.quartic import minimizer
    >>> [round(minimizer(np.array([0, -1, 0.5, 0, lead])), 6) for lead in (2.0, 1e-320)]
    [0.417561, 1.0]
    """
    rounding, zero, far = 1e-12, 1e-200, 1e75  # of coefficients over the largest; fourth powers
    slope = coefficients[1:] * np.arange(1, 5)
    scale = np.max(np.abs(slope))
    if not np.isfinite(scale) or scale == 0:
        return 0.0
    counts = np.flatnonzero(np.abs(slope) > zero * scale)
    slope = slope[counts[0] : counts[-1] + 1] / scale
    roots = np.polynomial.polynomial.polyroots(slope)
    if (
        abs(slope[-1]) < rounding
    ):  # far roots drown the others, which are found by their reciprocals
        reciprocals = np.polynomial.polynomial.polyroots(slope[::-1])
        near = 1 / reciprocals[np.abs(reciprocals) > 1 / far]
        roots = np.concatenate([roots[np.abs(roots) < far], near])
    real = roots.real[np.abs(roots.imag) <= 1e-6 * np.maximum(1.0, np.abs(roots.real))]
    # Compare changes, not values: near the minimum the constant would drown them.
    change = np.array([0.0, *(coefficients[1:] / scale)])
    return min((0.0, *real.tolist()), key=lambda t: value(change, t))
