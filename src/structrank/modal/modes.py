"""The modes of a signal: the (damped) sinusoids, in any dimension, that it is the sum of."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from .._array import Array, NDArray
from .._checks import positive_ints
from ..io.containers import required_pandas
from ..io.sampling import Sampling
from ..io.saved_results import Saved, savable
from ..views import interactive_figure, plot_modes, plot_poles
from .autoregressive_noise import AutoregressiveNoise
from .exponentials import exponentials
from .oscillations import Oscillations, conjugate_rows, numbered_columns


class NoModes(ValueError):
    """The error raised when modes cannot be found at the requested rank.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import frequencies
    >>> from structrank.modal.modes import NoModes
    >>> try:
    ...     frequencies(np.random.default_rng(1).standard_normal(40))
    ... except NoModes as error:
    ...     print(str(error).partition(":")[0])
    only noise is found in the samples, so they have no modes
    """


@savable()
@dataclass(frozen=True, eq=False)
class ModeErrors:
    """Standard errors of the numbers in `Modes`, row by row; inf if the samples do not fix them.

    Attributes
    ----------
    frequencies : ndarray, shape (r, d)
    dampings : ndarray, shape (r, d)
        Zero if the modes are known to be undamped.
    amplitudes : ndarray, shape (r,) or (r, channels)
        Standard errors of the modulus.
    phases : ndarray, shape (r,) or (r, channels)
        In radians.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, gcgls, refit
    >>> noise = 0.01 * np.random.default_rng(0).standard_normal((2, 40))
    >>> b = np.exp((0.2j * np.pi - 0.05) * np.arange(40)) + noise[0] + 1j * noise[1]
    >>> problem = Problem(Hankel(40, window=20), b, mu=0.5, measure="lifted")
    >>> modes = refit(gcgls(problem, lam=1.0), rank=1).modes
    >>> print(f"{modes.frequencies[0, 0]:.5f} +- {modes.stderr.frequencies[0, 0]:.5f}")
    0.09998 +- 0.00006
    """

    frequencies: NDArray
    dampings: NDArray
    amplitudes: NDArray
    phases: NDArray

    def _reordered(self, order: NDArray) -> ModeErrors:
        return ModeErrors(*(getattr(self, field.name)[order] for field in fields(self)))


@savable()
@dataclass(frozen=True, eq=False, repr=False)
class Modes(Saved):
    """The sinusoids that add up to a signal, largest amplitude first.

    `y[k] = sum_i amplitudes[i] prod_d exp((2 pi j frequencies[i, d] - dampings[i, d]) k_d)`

    Parameters
    ----------
    frequencies : array, shape (r, d), or (r,) for signals with one axis
        Cycles per sample along each axis. Whole cycles are subtracted, so that the frequencies
        lie in [-1/2, 1/2).
    dampings : float or array of the shape of the frequencies
        Decay of the logarithm per sample along each axis; negative for growth.
    amplitudes : complex or array, shape (r,), or (r, channels) for several channels
        The modulus is the size and the angle is the phase at the origin. The modes of a real
        signal come in conjugate pairs. They are shown as `oscillations`, one for each pair, in
        tables, pictures and when printed.
    stderr : ModeErrors, optional
        Standard errors of all these numbers.
    sampling : Sampling, optional
        Time between samples: the units of tables and pictures.
    noise : AutoregressiveNoise, optional
        Correlations of the noise that the modes were found in, unless it was taken to be white.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Modes
    >>> Modes([0.25, -0.1], amplitudes=[0.5, 0.2])
    Modes
       amplitude       phase   frequency     damping
             0.5           0        0.25           0
             0.2           0        -0.1           0
    >>> cosine = Modes([0.25, -0.25], amplitudes=0.5)
    >>> cosine
    Oscillations (times in samples)
    amplitude  phase  frequency  period  damping time
            1      0       0.25       4             -
    >>> np.round(cosine.signal(5).real, 12) + 0.0
    array([ 1.,  0., -1.,  0.,  1.])
    >>> len(cosine[cosine.frequencies[:, 0] > 0])
    1
    """

    frequencies: Array
    dampings: Array = 0.0
    amplitudes: Array = 1.0
    stderr: ModeErrors | None = None
    sampling: Sampling | None = None
    noise: AutoregressiveNoise | None = None

    def __post_init__(self) -> None:
        f = _columns("frequencies", self.frequencies)
        if f.ndim != 2 or f.shape[1] == 0:
            raise ValueError(
                f"frequencies have shape {f.shape}, but (r, d) is expected: one row per mode, "
                "one column per axis"
            )
        dampings = _filled("dampings", _columns("dampings", self.dampings), f.shape)
        amplitudes = np.asarray(self.amplitudes, complex)
        if amplitudes.ndim < 2:
            amplitudes = _filled("amplitudes", amplitudes, f.shape[:1])
        elif amplitudes.ndim > 2 or len(amplitudes) != len(f):
            raise ValueError(
                f"amplitudes have shape {amplitudes.shape}, but ({len(f)},) or ({len(f)}, "
                "channels) is expected"
            )
        if not all(np.all(np.isfinite(values)) for values in (f, dampings, amplitudes)):
            raise ValueError("the modes contain NaN or inf, but finite numbers are expected")
        f = f - np.round(f)
        f = np.where(f == 0.5, -0.5, f)
        largest = np.max(np.abs(amplitudes), initial=0.0) or 1.0  # squares may leave the range
        shares = np.abs(amplitudes) / largest
        sizes = np.sqrt(np.sum(shares**2, axis=tuple(range(1, amplitudes.ndim))))
        # Nine digits: rounding errors must not separate conjugate pairs of equal size.
        order = np.argsort(-np.round(sizes / np.max(sizes, initial=1e-300), 9), kind="stable")
        object.__setattr__(self, "frequencies", f[order])
        object.__setattr__(self, "dampings", dampings[order])
        object.__setattr__(self, "amplitudes", amplitudes[order])
        if self.stderr is not None:
            object.__setattr__(self, "stderr", self.stderr._reordered(order))

    def __getitem__(self, chosen: Any) -> Modes:
        """Some of the modes, by a mask, a slice or a list of numbers."""
        which = np.atleast_1d(np.arange(len(self))[chosen])
        stderr = None if self.stderr is None else self.stderr._reordered(which)
        parts = (self.frequencies[which], self.dampings[which], self.amplitudes[which])
        return Modes(*parts, stderr, self.sampling, self.noise)

    def signal(self, shape: int | tuple[int, ...]) -> NDArray:
        """The sum of the modes on a grid.

        Parameters
        ----------
        shape : int or tuple of int
            Number of samples along each axis.

        Returns
        -------
        ndarray, complex
            If the signal is real, its real part is the signal. Channels are the last axis.
        """
        shape = positive_ints(shape, "shape")
        if len(shape) != self.frequencies.shape[1]:
            raise ValueError(
                f"shape {shape} has {len(shape)} axes, but the modes have "
                f"{self.frequencies.shape[1]}"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            *outer, last = exponentials(self.frequencies, self.dampings, shape)
            left = np.atleast_2d(self.amplitudes.T)
            for along in outer:
                left = (left[:, None, :] * along).reshape(len(left) * len(along), len(self))
            channels = self.amplitudes.shape[1:]
            values: NDArray = (left @ last.T).reshape(*channels, *shape)
        if not np.all(np.isfinite(values)):
            raise ValueError(
                f"the signal leaves the range of double precision: the least damping is "
                f"{np.min(self.dampings):.3g}, so ask for a smaller shape than {shape}"
            )
        return np.moveaxis(values, 0, -1) if channels else values

    @property
    def poles(self) -> np.ndarray:
        """Factor of each mode from one sample to the next along each axis, shape (r, d)."""
        with np.errstate(over="ignore", invalid="ignore"):  # a mode may grow that fast
            return np.asarray(np.exp(2j * np.pi * self.frequencies - self.dampings))

    @cached_property
    def _conjugates(self) -> tuple[NDArray, NDArray] | None:
        return conjugate_rows(self.frequencies, self.dampings, self.amplitudes)

    @property
    def real(self) -> bool:
        """Whether these are the modes of a real signal: conjugate pairs and real modes."""
        return self._conjugates is not None

    def oscillations(self) -> Oscillations:
        """The modes of a real signal, one row for each conjugate pair.

        Returns
        -------
        Oscillations
        """
        if self._conjugates is None:
            raise ValueError(
                "these are modes of a complex signal, but oscillations need conjugate pairs: use "
                "the frequencies, dampings and amplitudes of the modes themselves"
            )
        return Oscillations.of(self, *self._conjugates)

    def table(self) -> dict[str, NDArray]:
        """Columns of the table of modes, those of `oscillations` if the signal is real.

        Returns
        -------
        dict of str to ndarray
            As of `modes_table`.
        """
        if self.real:
            return self.oscillations().table()
        a, errors, unit = self.amplitudes, self.stderr, self.sampling
        columns = [
            ("amplitude", np.abs(a), None if errors is None else errors.amplitudes),
            ("phase", np.angle(a), None if errors is None else errors.phases),
            ("frequency", self.frequencies, None if errors is None else errors.frequencies),
            ("damping", self.dampings, None if errors is None else errors.dampings),
        ]
        if unit is not None:
            name = f"frequency_{unit.frequency.replace(' ', '_')}"
            scaled = None if errors is None else unit.rate * errors.frequencies
            columns.insert(3, (name, unit.rate * self.frequencies, scaled))
        return numbered_columns(columns)

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, one row per mode or oscillation."""
        pd = required_pandas()

        return pd.DataFrame(self.table())

    def plot(self, ax: Any = None, *, interactive: bool = False) -> Any:
        """Draw the spectrum: amplitudes and frequencies, with standard errors where known.

        A conjugate pair of a real signal is one oscillation, at its positive frequency.

        Parameters
        ----------
        ax : Axes, sequence of Axes or Figure, optional
            One panel, or with d axes d - 1 panels of frequencies. Default: a new figure of pyplot.
        interactive : bool
            Return a figure of Plotly that can be zoomed; it needs the extra `interactive`.

        Returns
        -------
        Axes, list of Axes, or a figure of Plotly
        """
        if interactive:
            return interactive_figure(self.plot, ax)
        shown: Any = self.oscillations() if self.real else self
        f, a, errors = shown.frequencies, shown.amplitudes, None
        if shown.stderr is not None:
            stderr = shown.stderr if self.real else vars(shown.stderr)
            errors = stderr["frequencies"], stderr["amplitudes"]
        rate, unit = 1.0, "cycles per sample"
        if self.sampling is not None:
            rate, unit = self.sampling.rate, self.sampling.frequency
        return plot_modes(
            rate * f,
            a,
            frequency_errors=None if errors is None else rate * errors[0],
            amplitude_errors=None if errors is None else errors[1],
            unit=unit,
            ax=ax,
        )

    def plot_poles(self, ax: Any = None) -> Any:
        """Draw the poles of the modes in the complex plane, with the unit circle.

        Parameters
        ----------
        ax : Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes
        """
        return plot_poles(self.poles, ax)

    def __len__(self) -> int:
        return len(self.frequencies)

    def __repr__(self) -> str:
        table = repr(self.oscillations()) if len(self) and self.real else self._listed()
        return table if self.noise is None else f"{table}\nnoise: {self.noise}"

    def _listed(self) -> str:
        width = 12 * self.frequencies.shape[1]
        lines = [
            "Modes",
            f"{'amplitude':>12}{'phase':>12}{'frequency':>{width}}{'damping':>{width}}",
        ]
        for a, f, damping in zip(self.amplitudes, self.frequencies, self.dampings, strict=True):
            # With several channels: the size over all channels and the phase of the first.
            size = np.hypot.reduce(np.abs(a).reshape(-1))
            numbers = np.array([size, np.angle(a.flat[0]), *f, *damping])
            numbers[np.abs(numbers) < 1e-9] = 0.0
            lines.append("".join(f"{x:>12.5g}" for x in numbers))
        hidden = len(lines) - 22
        return "\n".join(lines[:22] + [f"  and {hidden} more"] * (hidden > 0))


def _columns(name: str, values: Any) -> NDArray:
    if np.iscomplexobj(values):
        raise TypeError(f"{name} are complex, but real numbers are expected")
    columns = np.asarray(values, dtype=float)
    return columns[:, None] if columns.ndim == 1 else columns


def _filled(name: str, values: NDArray, shape: tuple[int, ...]) -> NDArray:
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise ValueError(
            f"{name} have shape {values.shape}, but for these frequencies {shape} is expected"
        ) from None
