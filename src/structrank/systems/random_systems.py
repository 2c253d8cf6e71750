"""Random systems, generated as in the paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import one_of, positive, positive_int, random_generator
from .recursion import spectral_radius_of
from .state_space import StateSpace


def random_system(
    outputs: int,
    order: int = 10,
    *,
    normalization: str = "nuclear",
    spectral_radius: float | None = None,
    rng: int | np.random.Generator = 0,
) -> StateSpace:
    """Draw a random system that is driven by noise, as in the paper.

    The entries of A, K and C (the paper's D, E and F) are drawn from N(0, 1). Then each matrix is
    scaled to norm one. The covariance of the noise is the identity.

    Parameters
    ----------
    outputs : int
        Number of outputs.
    order : int
        Number of states.
    normalization : {"nuclear", "spectral"}
        Norm that is scaled to one. The paper prints "nuclear". With this norm the states contribute
        very little to the outputs, so most of the covariances is sampling noise.
    spectral_radius : float, optional
        If given, A is scaled to this spectral radius instead.
    rng : int or numpy.random.Generator
        Seed for the entries of the matrices.

    Returns
    -------
    StateSpace

    Examples
    --------
    >>> from structrank import random_system
    >>> random_system(outputs=20, normalization="spectral", spectral_radius=0.9)
    StateSpace(order 10, 20 outputs, spectral radius 0.9)
    """
    p, r = positive_int(outputs, "outputs"), positive_int(order, "order")
    norms: dict[str, Any] = {"nuclear": "nuc", "spectral": 2}
    one_of(normalization, norms, "normalization")
    rng = random_generator(rng)
    drawn = [rng.standard_normal(shape) for shape in ((r, r), (r, p), (p, r))]
    A, K, C = (M / np.linalg.norm(M, norms[normalization]) for M in drawn)
    if spectral_radius is not None:
        A = A * (positive(spectral_radius, "spectral_radius") / spectral_radius_of(A))
    return StateSpace(A, None, C, None, K=K, innovation_covariance=np.eye(p))
