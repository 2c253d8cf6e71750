"""Polynomials of degree four: the objective along a line in the factors is one.

A polynomial is given by an array of five coefficients, the constant first.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._array import Array, gram, inner

GramLine = tuple[np.ndarray, np.ndarray, np.ndarray]
Triple = tuple[Array, Array, Array]


def square(x0: Array, x1: Array, x2: Array) -> np.ndarray:
    """Expand `||x0 + t x1 + t^2 x2||^2`."""
    return products((x0, x1, x2), (x0, x1, x2))


def products(x: Iterable[Array], y: Triple) -> np.ndarray:
    """Expand `Re <x0 + t x1 + t^2 x2, y0 + t y1 + t^2 y2>`, where `<xi, yj> = <xj, yi>`.

    Only one array of x is held at a time, if they are made one after the other.
    """
    table, parts = np.zeros((3, 3)), iter(x)
    for i in range(3):
        part = next(parts)
        table[i, i:] = [inner(part, other) for other in y[i:]]
        del part
    return np.array(
        [
            table[0, 0],
            2 * table[0, 1],
            2 * table[0, 2] + table[1, 1],
            2 * table[1, 2],
            table[2, 2],
        ]
    )


def gram_line(A: Array, D: Array, gram_A: np.ndarray | None = None) -> GramLine:
    """Expand `(A + t D)^H (A + t D)`: return the matrices of the powers 1, t and t^2."""
    cross = gram(A, D)
    return (gram(A, A) if gram_A is None else gram_A, cross + cross.conj().T, gram(D, D))


def mirrored(line: GramLine, signs: np.ndarray) -> GramLine:
    """Compute the Gram matrices of `(A + t D) diag(signs)` from those of `A + t D`."""
    table = np.outer(signs, signs)
    return (table * line[0], table * line[1], table * line[2])


def trace_product(left: GramLine, right: GramLine) -> np.ndarray:
    """Expand `trace(G(t) H(t))` of two Gram matrices along a line: `||U(t) V(t)^H||^2`."""
    G = np.stack(left).reshape(3, -1)
    H = np.stack([matrix.T for matrix in right]).reshape(3, -1)
    table = (G @ H.T).real[:, ::-1]
    return np.array([table.trace(2 - degree) for degree in range(5)])


def traces(line: GramLine) -> np.ndarray:
    """Expand `||A + t D||^2` from the Gram matrices along the line."""
    return np.array([*(G.trace().real for G in line), 0.0, 0.0])


def value(coefficients: np.ndarray, t: float) -> float:
    """Evaluate the polynomial at `t`."""
    return float(np.polynomial.polynomial.polyval(t, coefficients))


def minimizer(coefficients: np.ndarray) -> float:
    """Find where the polynomial is least; zero if it is nowhere below its value at zero.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.model.quartic import minimizer
    >>> [round(minimizer(np.array([0, -1, 0.5, 0, lead])), 6) for lead in (2.0, 1e-320)]
    [0.417561, 1.0]
    """
    zero, rounding = 1e-200, 1e-12  # coefficients over the largest: none, and inaccurate
    far = 1e75  # a root beyond this has a fourth power near overflow
    real_enough = 1e-6  # imaginary part of a root over its real part, by rounding
    slope = coefficients[1:] * np.arange(1, 5)
    scale = np.max(np.abs(slope))
    if not np.isfinite(scale) or scale == 0:
        return 0.0
    counts = np.flatnonzero(np.abs(slope) > zero * scale)
    slope = slope[counts[0] : counts[-1] + 1] / scale
    roots = np.polynomial.polynomial.polyroots(slope)
    if abs(slope[-1]) < rounding:
        # Far roots make the others inaccurate. These are found through their reciprocals.
        reciprocals = np.polynomial.polynomial.polyroots(slope[::-1])
        near = 1 / reciprocals[np.abs(reciprocals) > 1 / far]
        roots = np.concatenate([roots[np.abs(roots) < far], near])
    real = roots.real[np.abs(roots.imag) <= real_enough * np.maximum(1.0, np.abs(roots.real))]
    # Compare changes, not values: near the minimum, adding the constant would lose digits.
    change = np.array([0.0, *(coefficients[1:] / scale)])
    candidates: list[float] = [0.0, *real.tolist()]
    return min(candidates, key=lambda t: value(change, t))


def minimizers(coefficients: np.ndarray) -> np.ndarray:
    """Find where each of many polynomials is least, as `minimizer` does for one.

    Parameters
    ----------
    coefficients : ndarray, shape (polynomials, 5)

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.model.quartic import minimizers
    >>> minimizers(np.array([[0, -1, 0.5, 0, 2.0], [0, -1, 0.5, 0, 1e-320]])).round(6)
    array([0.417561, 1.      ])
    """
    scale = np.max(np.abs(coefficients[:, 1:]), axis=1, keepdims=True)
    usable = np.isfinite(scale) & (scale > 0)
    c = np.where(usable, coefficients, 0.0) / np.where(usable, scale, 1.0)
    c = np.concatenate([np.zeros_like(c[:, :1]), c[:, 1:]], axis=1)  # changes, not values
    with np.errstate(all="ignore"):  # roots that do not exist are dropped below
        slope = c[:, 1:] * np.arange(1, 5)
        second = slope[:, 1:] * np.arange(1, 4)
        near = -slope[:, 0] / slope[:, 1]  # the minimum if the degrees three and four are small
        candidates = [near, *_cubic_roots(slope)]
        heights = np.stack([values(c, t) for t in candidates])
        heights[~np.isfinite(heights)] = np.inf
        best = np.argmin(heights, axis=0)
        t = np.choose(best, candidates)
        for _ in range(4):  # Newton steps: closed forms lose digits
            first = values(slope, t)
            better = t - first / values(second, t)
            t = np.where(np.abs(values(slope, better)) < np.abs(first), better, t)
        lower = values(c, t) < 0
    return np.where(lower, t, 0.0)


def possible(coefficients: np.ndarray, t: np.ndarray | float) -> np.ndarray:
    """Whether sums of squares can fall as much as they seem to, at one argument each.

    A sum of squares is never negative. If a direction is so small that the highest coefficients
    underflow, the polynomial seems to fall far below zero, at an argument that is far too large.

    Parameters
    ----------
    coefficients : ndarray, shape (5,) or (polynomials, 5)
    t : float or ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.model.quartic import possible
    >>> [bool(possible(np.array([1.0, 0, 1, 2e-20, lead]), -1e20)) for lead in (1e-40, 0.0)]
    [True, False]
    """
    most = 1e9  # times the value at zero: 2e8 was seen where that value is rounding
    fall = -t * values(coefficients[..., 1:], t)
    return np.asarray(fall <= most * np.abs(coefficients[..., 0]))


def values(coefficients: np.ndarray, t: np.ndarray | float) -> np.ndarray:
    """Evaluate polynomials of any degree, one per row of coefficients, at one argument each."""
    total = coefficients[..., -1]
    for column in coefficients.T[-2::-1]:
        total = total * t + column
    return total


def _cubic_roots(c: np.ndarray) -> list[np.ndarray]:
    """Real roots of cubic polynomials in closed form; a root that does not exist is repeated."""
    a, b, d = (c[:, k] / c[:, 3] for k in (2, 1, 0))
    shift = a / 3
    p, q = b / 3 - shift**2, (shift * b - d) / 2 - shift**3  # x^3 + 3 p x - 2 q = 0
    discriminant = q**2 + p**3
    root = np.sqrt(np.maximum(discriminant, 0.0))
    u = np.cbrt(q + np.where(q >= 0, root, -root))
    single = np.where(u != 0, u - p / u, 0.0)
    radius = np.sqrt(np.maximum(-p, 0.0))
    angle = np.arccos(np.clip(q / radius**3, -1.0, 1.0)) / 3
    three = [2 * radius * np.cos(angle + 2 * np.pi * k / 3) for k in range(3)]
    return [np.where(discriminant >= 0, single, x) - shift for x in three]
