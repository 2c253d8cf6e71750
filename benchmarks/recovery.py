"""Shared by the benchmarks of recovery: the problem of a sample, and the error of a signal."""

from __future__ import annotations

import numpy as np

from structrank import Hankel, Problem, SpectralSample, Weighted
from structrank.modal.fit import ModalFit


def lifted_problem(sample: SpectralSample, share: float = 0.5) -> Problem:
    """Return the problem with lifted weights and a window of a share of each axis."""
    window = tuple(max(round(share * (length + 1)), 2) for length in sample.truth.shape)
    structure = Hankel(sample.truth.shape, window)
    return Problem(structure, sample.samples, 1.0, Weighted("lifted", sample.seen))


def error(y: np.ndarray, sample: SpectralSample) -> float:
    """Return the norm of the difference from the truth, relative to that of the truth."""
    return float(np.linalg.norm(y - sample.truth) / np.linalg.norm(sample.truth))


def oracle_error(sample: SpectralSample) -> float:
    """Return the error of least squares that start at the true modes."""
    undamped = not np.any(sample.modes.dampings)
    fit = ModalFit(lifted_problem(sample), sample.modes, sample.seen * 1.0, undamped=undamped)
    return error(fit.model.signal().reshape(sample.truth.shape), sample)


def count(text: str) -> int:
    """Parse a positive integer."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number
