"""Checks of the matrices and vectors that make up a system."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import NDArray, as_array, to_numpy
from .._checks import finite
from .recursion import adjoint

VECTORS = ("x0", "input_offset", "output_offset")
MAY_BE_NONE = ("x0", "x0_covariance")


def system_arrays(**given: Any) -> dict[str, NDArray | None]:
    """Read-only copies of the arrays of a `StateSpace`, in one dtype and with matching shapes.

    What is None becomes zero, but for `x0` and `x0_covariance`, which stay None.

    Examples
    --------
    >>> from structrank.systems.matrices import system_arrays
    >>> arrays = system_arrays(A=[[0.5]], C=[[1.0], [2.0]], B=None, x0=None)
    >>> arrays["K"].shape, arrays["B"].shape, arrays["x0"]
    ((1, 2), (1, 0), None)
    """
    for name in "AC":
        if given[name] is None:
            raise TypeError(f"{name} is None, but a matrix is expected")
    arrays = {k: _finite_array(v, k) for k, v in given.items() if v is not None}
    states, outputs = len(arrays["A"]), len(arrays["C"])
    inputs = next((arrays[name].shape[1] for name in "BD" if name in arrays), 0)
    shapes = {
        "A": (states, states),
        "B": (states, inputs),
        "C": (outputs, states),
        "D": (outputs, inputs),
        "K": (states, outputs),
        "innovation_covariance": (outputs, outputs),
        "Q": (states, states),
        "R": (outputs, outputs),
        "S": (states, outputs),
        "x0": (states,),
        "x0_covariance": (states, states),
        "input_offset": (inputs,),
        "output_offset": (outputs,),
    }
    for name, values in arrays.items():
        if values.shape != shapes[name]:
            raise ValueError(
                f"{name} has shape {values.shape}, but {shapes[name]} is expected for {states} "
                f"states, {inputs} inputs and {outputs} outputs"
            )
        if inputs and np.iscomplexobj(values):
            raise TypeError(f"{name} is complex, but a system with inputs has real numbers")
    dtype = np.result_type(*arrays.values())
    complete: dict[str, NDArray | None] = dict.fromkeys(MAY_BE_NONE)
    for name, shape in shapes.items():
        if name in arrays or name not in MAY_BE_NONE:
            values = arrays.get(name, np.zeros(shape)).astype(dtype)
            values.flags.writeable = False
            complete[name] = values
    return complete


def check_covariance(G: NDArray, name: str, rounding: float = 1e-8) -> None:
    """Raise an error unless G is Hermitian and positive semidefinite.

    Departures of at most `rounding` times the largest entry are accepted. The default is far above
    the rounding of products of a few matrices in double precision.
    """
    scale = np.max(np.abs(G))
    if np.max(np.abs(G - adjoint(G))) > rounding * scale:
        raise ValueError(f"{name} is not Hermitian, but a covariance matrix is expected")
    lowest = np.linalg.eigvalsh(G)[0]
    if lowest < -rounding * scale:
        raise ValueError(
            f"{name} has the eigenvalue {lowest:.3g}, but a covariance matrix, with eigenvalues of "
            "at least zero, is expected"
        )


def split_covariance(P: NDArray) -> tuple[NDArray, NDArray]:
    """The finite part of `x0_covariance`, and where its diagonal is infinite: a diffuse state."""
    diffuse = np.isinf(np.diag(P).real)
    known = np.array(P)
    known[diffuse, diffuse] = 0
    if not np.all(np.isfinite(known)) or np.any(known[diffuse]) or np.any(known[:, diffuse]):
        raise ValueError(
            "x0_covariance contains NaN, or inf beside the diagonal, or numbers in the row of a "
            "state of infinite variance; finite numbers, inf on the diagonal and zeros beside it "
            "are expected"
        )
    check_covariance(known, "x0_covariance")
    return known, diffuse


def _finite_array(values: Any, name: str) -> NDArray:
    """`values` as finite numbers in double precision: a vector or a matrix, as the name says."""
    x = to_numpy(as_array(values))
    if x.dtype.kind not in "fciu":
        raise TypeError(f"{name} has dtype {x.dtype}, but real or complex numbers are expected")
    if name not in VECTORS and (x.ndim != 2 or not len(x)):
        raise ValueError(
            f"{name} has shape {x.shape}, but a matrix with one or more rows is expected"
        )
    if name != "x0_covariance":
        finite(x, name)
    return np.asarray(x.astype(np.result_type(x.dtype, float)))
