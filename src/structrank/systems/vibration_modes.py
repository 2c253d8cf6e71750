"""Natural frequencies, damping ratios and mode shapes of a system, with error bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._array import NDArray
from ..io.saved_results import Saved, savable
from ..views import Summary

if TYPE_CHECKING:
    from .state_space import StateSpace


@savable()
@dataclass(frozen=True, eq=False, repr=False)
class VibrationModes(Saved, Summary):
    """Vibration modes of a system in discrete time, lowest frequency first.

    A pole p of the system is `exp(s dt)` with `s = 2 pi f (-damping + i sqrt(1 - damping^2))`.
    Poles on the real axis are no vibrations.

    Parameters
    ----------
    frequencies : ndarray, shape (r,)
        Natural frequencies f, in Hz if `dt` is in seconds; in cycles per sample without `dt`. For
        complex outputs they may be negative.
    dampings : ndarray, shape (r,)
        Damping ratios: 0.02 is 2% of critical damping.
    frequency_errors, damping_errors : ndarray, shape (r,)
        Standard errors; NaN if they are not known.
    shapes : ndarray, shape (r, p)
        Mode shapes, complex: the outputs of each mode over the largest of them.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import StateSpace, VibrationModes
    >>> pole = np.exp(2 * np.pi * 5.0 * (-0.02 + 1j * np.sqrt(1 - 0.02**2)) * 0.01)
    >>> A = [[pole.real, pole.imag], [-pole.imag, pole.real]]
    >>> system = StateSpace(A, None, [[1.0, 0.0], [2.0, 0.0]], None, dt=0.01)
    >>> modes = VibrationModes.of(system)
    >>> print(modes)
    mode  frequency          damping
       1          5             0.02
    >>> modes.shapes.real.round(3)
    array([[0.5, 1. ]])
    """

    frequencies: NDArray
    dampings: NDArray
    frequency_errors: NDArray
    damping_errors: NDArray
    shapes: NDArray

    @classmethod
    def of(cls, system: StateSpace, covariances: NDArray | None = None) -> VibrationModes:
        """Modes of a system.

        Parameters
        ----------
        system : StateSpace
        covariances : ndarray, shape (n, 2, 2), optional
            Covariance of the real and imaginary part of the logarithm of each pole, in the order of
            `numpy.linalg.eig`.

        Returns
        -------
        VibrationModes
        """
        A, C, dt = system.A, system.C, 1.0 if system.dt is None else system.dt
        poles, vectors = np.linalg.eig(A)
        with np.errstate(divide="ignore"):
            s = np.log(poles.astype(complex)) / dt
        size = np.abs(s)
        f, damping = np.sign(s.imag) * size / (2 * np.pi), -s.real / size
        used = np.flatnonzero(np.isfinite(s) & ((poles.imag > 0) | np.iscomplexobj(A)))
        used = used[np.argsort(f[used])]
        errors = np.full((2, len(poles)), np.nan)
        if covariances is not None:
            x, y = s.real / size, s.imag / size
            slopes = np.array([[x / (2 * np.pi), y / (2 * np.pi)], [-(y**2), x * y] / size]) / dt
            errors = np.sqrt(np.einsum("aik,kij,ajk->ak", slopes, covariances, slopes))
        shapes = (C @ vectors).T
        largest = np.argmax(np.abs(shapes), axis=1)
        shapes = shapes / shapes[np.arange(len(shapes)), largest][:, None]
        return cls(f[used], damping[used], errors[0][used], errors[1][used], shapes[used])

    @property
    def frequency_intervals(self) -> NDArray:
        """Bounds of 95% intervals of the frequencies, shape (r, 2)."""
        bars = 1.96 * self.frequency_errors
        return np.stack([self.frequencies - bars, self.frequencies + bars], axis=1)

    @property
    def damping_intervals(self) -> NDArray:
        """Bounds of 95% intervals of the damping ratios, shape (r, 2).

        They are intervals of the logarithms, as damping ratios are positive and their errors skew.
        """
        factors = np.exp(1.96 * self.damping_errors / self.dampings)
        return np.stack([self.dampings / factors, self.dampings * factors], axis=1)

    def table(self) -> dict[str, NDArray]:
        """Columns of the table of modes, for `pandas.DataFrame` for example.

        Returns
        -------
        dict
            frequency, frequency_error, damping, damping_error, and shape_1, shape_2, ..., one per
            output.
        """
        columns = {
            "frequency": self.frequencies,
            "frequency_error": self.frequency_errors,
            "damping": self.dampings,
            "damping_error": self.damping_errors,
        }
        return columns | {f"shape_{k}": x for k, x in enumerate(self.shapes.T, 1)}

    def _rows(self) -> list[tuple[str, str]]:
        def text(value: float, error: float) -> str:
            return f"{value:.5g}" + (f" +- {error:.2g}" if np.isfinite(error) else "")

        frequencies = map(text, self.frequencies, self.frequency_errors)
        dampings = map(text, self.dampings, self.damping_errors)
        pairs = enumerate(zip(frequencies, dampings, strict=True), 1)
        return [(f"mode {k}", f"frequency {f}, damping {d}") for k, (f, d) in pairs]

    def __len__(self) -> int:
        return len(self.frequencies)

    def __repr__(self) -> str:
        lines = ["mode  frequency          damping"]
        if np.any(np.isfinite(self.frequency_errors)):
            lines = ["mode  frequency +- error      damping +- error"]
        rows = zip(
            self.frequencies,
            self.frequency_errors,
            self.dampings,
            self.damping_errors,
            strict=True,
        )
        for k, (f, fe, d, de) in enumerate(rows, 1):
            if np.isfinite(fe):
                lines.append(f"{k:4d} {f:10.5g} +- {fe:<9.2g} {d:10.4g} +- {de:.2g}")
            else:
                lines.append(f"{k:4d} {f:10.5g}       {d:10.4g}")
        return "\n".join(lines)
