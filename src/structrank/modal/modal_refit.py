"""Refit by modes, for structures whose low rank means few (damped) sinusoids."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._array import NDArray, is_complex, limited_like, to_numpy
from ..model.lowrank import LowRank
from ..model.problem import Problem
from .autoregressive_noise import AutoregressiveNoise
from .exponentials import exponentials
from .fit import LevenbergMarquardt, ModalFit
from .model import ModalModel
from .modes import Modes
from .refit_result import Refit, noise_deviation, relative_violation


def refit_modes(
    problem: Problem,
    modes: Modes,
    *,
    sigma: float | None = None,
    undamped: bool | NDArray = False,
    method: LevenbergMarquardt = LevenbergMarquardt(),
    noise: AutoregressiveNoise | None = None,
) -> Refit:
    """Fit modes to the samples by nonlinear least squares, from given modes.

    Parameters
    ----------
    problem : Problem
        A problem whose structure has modes; its weights count.
    modes : Modes
        Where to start.
    sigma : float, optional
        Standard deviation of the noise, if known.
    undamped : bool or ndarray of bool
        Keep the dampings of all modes, or of some of them, at zero.
    method : LevenbergMarquardt
        Numerical settings.
    noise : AutoregressiveNoise, optional
        Correlations of the noise of a signal with one axis and one channel. Default: white noise.

    Returns
    -------
    Refit

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Modes, Problem
    >>> from structrank.modal.modal_refit import refit_modes
    >>> problem = Problem(Hankel(40, window=20), np.cos(0.6 * np.arange(40)), mu=1.0)
    >>> fit = refit_modes(problem, Modes([0.1, -0.1], amplitudes=0.5))
    >>> (2 * np.pi * abs(fit.modes.frequencies[:, 0])).round(6)
    array([0.6, 0.6])
    """
    weights = None if problem.sample_weights is None else to_numpy(problem.sample_weights)
    fit = ModalFit(problem, modes, weights, undamped=undamped, method=method, noise=noise)
    freedom = fit.sample_count - fit.parameters
    sigma = noise_deviation(problem, fit.residual_squared, freedom, sigma)
    part = np.sqrt(0.5) if is_complex(problem.b) else 1.0
    # Modes that grow, or decay from before the first sample, may leave single precision where
    # nothing is seen. Their fit is not chosen: its standard error is larger still.
    signal = fit.model.signal().reshape(problem.structure.signal_shape)
    y = limited_like(signal, problem.backprojection)
    X = _modal_matrix(problem, fit.model)
    return Refit(
        y=y,
        X=X,
        rank=X.rank,
        residual_squared=fit.residual_squared,
        sigma=sigma,
        parameters=fit.parameters,
        sample_count=fit.sample_count,
        relative_violation=relative_violation(problem.structure, X, y),
        modes=replace(fit.modes(None if sigma is None else part * sigma), noise=noise),
        problem=problem,
        unit_errors=partial(_modal_errors, fit, part),
        error_draws=fit.error_draws,
        part_errors=partial(_part_errors, fit, part),
        noise=noise,
        log_determinant=fit.log_determinant,
        new_samples=None if noise is None else partial(_new_samples, fit, part),
    )


def _modal_errors(fit: ModalFit, part: float) -> NDArray:
    """Standard errors of the signal if the noise in every real number has deviation `part`."""
    return part * fit.signal_errors()


def _part_errors(fit: ModalFit, part: float, modes: Modes) -> NDArray | None:
    """The same of the sum of some modes; None if one of them was not fitted."""
    own = fit.model.rows_of(modes)
    return None if own is None else part * fit.signal_errors(own)


def _new_samples(fit: ModalFit, part: float) -> tuple[NDArray, NDArray]:
    """Noise that is expected in new samples, and their deviations from it for `sigma = 1`.

    A missing sample has noise that its neighbours tell in part, after what the parameters may
    change there too. A sample in the place of a seen one has noise of its own.
    """
    whitening, count = fit.whitening, fit.shape[0]
    assert whitening is not None
    seen, at = whitening.seen, (np.arange(count), np.zeros(count, dtype=int))
    values, jacobian = fit.model.rows(at)
    expected = whitening.predicted((fit.values.reshape(-1) - values)[seen])
    expected[seen] = 0.0
    own = jacobian - np.where(seen[:, None], 0.0, whitening.predicted(jacobian[seen]))
    variance = np.where(seen, 1.0, whitening.unpredicted())
    deviation = np.sqrt(variance + (part * fit.propagation.errors(own)) ** 2)
    shape = fit.problem.structure.signal_shape
    return expected.reshape(shape), deviation.reshape(shape)


def _modal_matrix(problem: Problem, model: ModalModel) -> LowRank:
    """The factors of Q(y): exponentials along the rows and along the columns."""
    structure: Any = problem.structure
    rows, columns = (
        exponentials(model.frequencies, model.dampings, grid)
        for grid in (structure.window, structure.columns)
    )
    starts = structure.column_starts
    columns = [table[places] for table, places in zip(columns, starts, strict=True)]
    share = np.where(model.paired, np.sqrt(2.0), 1.0)
    channels, one = model.amplitudes.T, np.ones((1, len(share)))
    row_wise = structure.block is None or structure.block[1] == 1
    U = share * _products([*rows, channels if row_wise else one])
    V = share * _products([*columns, one if row_wise else channels]).conj()
    if model.real:
        U, V = (np.concatenate([F.real, F.imag[:, model.paired]], axis=1) for F in (U, V))
    X = LowRank(U, V).balanced(0.0)  # first: growing modes may overflow single precision
    return LowRank(*(limited_like(F, problem.backprojection) for F in (X.U, X.V)))


def _products(tables: list[NDArray]) -> NDArray:
    """All products of one row of each table; the last table varies fastest."""
    rows = tables[0]
    for table in tables[1:]:
        rows = (rows[:, None, :] * table[None]).reshape(-1, table.shape[1])
    return rows
