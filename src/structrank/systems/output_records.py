"""Outputs for `realize_outputs`: checks, standardised channels and the way back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import Array, NDArray, like, to_numpy
from .._checks import finite_or_missing
from .preparation import dependent_channels
from .state_space import StateSpace


def standardised(z: Array) -> tuple[Array, NDArray, NDArray]:
    """Outputs of mean zero and variance one, and their original means and standard deviations."""
    host = to_numpy(z)
    if host.ndim != 2 or 0 in host.shape:
        raise ValueError(
            f"outputs have shape {host.shape}, but a series, or (T, n), one row per time step, is "
            "expected"
        )
    finite_or_missing(host, "outputs")
    counts = np.count_nonzero(~np.isnan(host), axis=0)
    if np.min(counts) < 2:
        raise ValueError(
            f"output {int(np.argmin(counts))} has {np.min(counts)} samples, but thousands are "
            "needed: remove it"
        )
    largest = np.nanmax(np.abs(host), axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    deviations = np.nanstd(host / unit, axis=0)
    constant = deviations <= 10 * np.finfo(host.dtype).eps
    if np.any(constant):
        raise ValueError(
            f"output {int(np.argmax(constant))} is constant, but outputs that vary are expected: "
            "remove it"
        )
    sizes = unit * deviations
    with np.errstate(over="ignore", under="ignore"):
        least = np.min(sizes) ** 2 * np.finfo(float).eps ** 2  # of the covariance of the noise
    if not least > np.finfo(float).tiny or not np.isfinite(float(np.max(sizes)) * np.max(sizes)):
        raise ValueError(
            f"the outputs have standard deviations from {np.min(sizes):.3g} to "
            f"{np.max(sizes):.3g}, whose squares leave the range of numbers: use other units"
        )
    means = np.nanmean(host / unit, axis=0)
    z = z / like(unit, z, real=True) - like(means, z)
    return z / like(deviations, z, real=True), unit * means, sizes


def check_independent(z: NDArray, share: float) -> None:
    """Raise an error if outputs are copies or sums of others: their noise has no likelihood."""
    channels = dependent_channels(z, share)
    if channels:
        *others, last = map(str, channels)
        raise ValueError(
            f"outputs {', '.join(others)} and {last}, counted from 0, are linearly dependent: a "
            f"weighted sum of them is constant, so output {last} says nothing new; remove it"
        )


def check_order(order: int | None, rows: int, lags: int, z: Array) -> None:
    """Raise an error, before any work, if lags or samples cannot determine so many states."""
    if order is None:
        return
    n = z.shape[1]
    most = n * min(rows, (rows + lags - 1) // 2)  # in the matrix here, and in that of `realize`
    if order > most:
        longer = " or use more lags" if lags <= rows else ""
        raise ValueError(
            f"order is {order}, but {lags} lags of {n} outputs determine at most {most}: lower the "
            f"order{longer}"
        )
    seen = int(np.count_nonzero(~np.isnan(to_numpy(z))))
    if 2 * n * order > seen:
        raise ValueError(
            f"order is {order}, which means {2 * n * order} parameters for {n} outputs, but there "
            f"are {seen} samples: lower the order to {seen // (2 * n)} or use more samples"
        )


def in_units(model: StateSpace, means: NDArray, sizes: NDArray) -> dict[str, Any]:
    """Matrices of the model of `means + sizes * outputs`."""
    G = model.innovation_covariance * np.outer(sizes, sizes)
    return {
        "A": model.A,
        "B": None,
        "C": model.C * sizes[:, None],
        "D": None,
        "K": model.K / sizes,
        "innovation_covariance": G,
        "x0_covariance": "stationary",
        "output_offset": means + sizes * model.output_offset,
    }
