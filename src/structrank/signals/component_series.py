"""What a recovered signal is made of: trend, seasons, oscillations and the rest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from ..io.containers import required_pandas, unwrap
from ..io.sampling import Sampling
from ..io.saved_results import Saved, savable
from ..views import Summary, interactive_figure, labels_of
from ..views.components import plot_components, plot_w_correlations
from .problems import hankel_problem

REST = "rest"


@savable()
@dataclass(frozen=True, eq=False, repr=False)
class SignalComponents(Summary, Saved):
    """The components of a signal, as signals of their own; the result of `Recovery.components`.

    Attributes
    ----------
    parts : dict of str to array, Series, DataFrame or DataArray
        Components by name: "trend", "season of 12 samples", "oscillation of 25.3 samples", "mode at
        0.1" (of a complex signal), "autoregressive part", "regressors", and "other", what the
        signal has beyond these. Their sum is the recovered signal.
    rest : array, Series, DataFrame or DataArray
        The samples minus all parts; NaN where nothing was seen.
    samples : array, Series, DataFrame or DataArray
    channels : int or None
        The axis that holds channels.
    sampling : Sampling or None
        Time between samples and its unit.
    stderr : dict of str to array, Series, DataFrame or DataArray
        Standard errors of components, without noise, by name, where they are known. Those of modes
        are to first order, as `Recovery.stderr`; a recovery that was saved and loaded has none, nor
        have modes that are held at known frequencies. Those of series without modes are of their
        state-space model with its parameters as they were fitted, also if the signal is an average
        with local fits; there are none beside regressors, or if samples are clipped. A component
        "other" has none.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import recover
    >>> t = np.arange(120)
    >>> season = np.cos(2 * np.pi * t / 12) + 0.5 * np.sin(2 * np.pi * t / 6)
    >>> y = 3 + season + 0.1 * np.random.default_rng(0).standard_normal(120)
    >>> found = recover(y).components()
    >>> found
    SignalComponents
      trend                 from 3.008 to 3.008
      season of 12 samples  from -1.284 to 1.299
      rest                  from -0.2518 to 0.1964
    >>> bool(abs(found["season of 12 samples"] - season).max() < 0.1)
    True
    >>> print(f"{found['trend'][0]:.2f} +- {found.stderr['trend'][0]:.2f}")
    3.01 +- 0.01
    """

    parts: dict[str, Any]
    rest: Any
    samples: Any
    channels: int | None
    sampling: Sampling | None = None
    stderr: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        if name == REST:
            return self.rest
        if name not in self.parts:
            raise KeyError(f"no component {name!r}: there are {', '.join([*self.parts, REST])}")
        return self.parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self.parts, REST])

    def __len__(self) -> int:
        return len(self.parts) + 1

    def table(self) -> dict[str, NDArray]:
        """The components of series as columns of a table, for a file.

        Returns
        -------
        dict of str to ndarray
            By the names of components, each followed by its standard error where that is known,
            "trend" by "trend stderr"; with several channels, each followed by its channel.
        """
        self._check_series()
        names = labels_of(self.samples, self.channels).names
        several = self.channels is not None
        return {
            f"{name}, {channel}" if several else name: values
            for name, part in self._columns().items()
            for channel, values in zip(names, self._array(part), strict=True)
        }

    def to_frame(self) -> Any:
        """The components of a series as a pandas DataFrame, one column each, and the rest.

        A component with standard errors is followed by them: "trend" by "trend stderr".

        Returns
        -------
        DataFrame
            With several channels, columns have two levels: component and channel.
        """
        pd = required_pandas()

        self._check_series()
        frames = self._columns()
        if self.channels is None:
            values = {name: np.asarray(part) for name, part in frames.items()}
            return pd.DataFrame(values, index=getattr(self.samples, "index", None))
        if not isinstance(self.samples, pd.DataFrame):
            frames = {k: pd.DataFrame(np.moveaxis(self._array(x), 0, 1)) for k, x in frames.items()}
        return pd.concat(frames, axis=1)

    def w_correlations(self) -> NDArray:
        """Weighted correlations between the components, the rest included.

        The weights are how often a sample occurs in the Hankel matrix. Components of small
        correlation are separable: their matrices are nearly orthogonal.

        Returns
        -------
        ndarray, shape (components, components)
            Absolute values, in the order of iteration.
        """
        arrays = [np.nan_to_num(self._array(self[name])) for name in self]
        samples = to_numpy(unwrap(self.samples, self.channels).values)
        structure = hankel_problem(np.zeros_like(samples), None, self.channels).structure
        weights = np.reshape(structure.multiplicity, (*arrays[0].shape[1:], -1))[..., 0]
        flat = np.stack([(np.sqrt(weights) * array).ravel() for array in arrays])
        gram = np.abs(flat.conj() @ flat.T)
        sizes = np.sqrt(np.diag(gram))
        with np.errstate(invalid="ignore"):
            return np.where(np.outer(sizes, sizes) > 0, gram / np.outer(sizes, sizes), 0.0)

    def plot(self, ax: Any = None, *, interactive: bool = False) -> Any:
        """Draw the components of a series, one below the other, and the rest.

        Where standard errors are known, there are 95% bands.

        Parameters
        ----------
        ax : sequence of Axes or Figure, optional
            One panel per component. Default: a new figure of pyplot.
        interactive : bool
            Return a figure of Plotly that can be zoomed; it needs the extra `interactive`.

        Returns
        -------
        list of Axes, or a figure of Plotly
        """
        if interactive:
            return interactive_figure(self.plot, ax)
        labels = labels_of(self.samples, self.channels, self.sampling)
        parts = {name: self._array(self[name]) for name in self}
        stderr = {name: self._array(part) for name, part in self.stderr.items()}
        return plot_components(parts, stderr, labels=labels, ax=ax)

    def plot_w_correlations(self, ax: Any = None) -> Any:
        """Draw the weighted correlations between components as a picture.

        Parameters
        ----------
        ax : Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes
        """
        return plot_w_correlations(self.w_correlations(), list(self), ax)

    def _check_series(self) -> None:
        if np.ndim(self.samples) - (self.channels is not None) > 1:
            raise ValueError(
                f"the signal has shape {np.shape(self.samples)}, but a table holds series: use the "
                "components themselves"
            )

    def _columns(self) -> dict[str, Any]:
        """Components, each followed by its standard error if that is known, and the rest."""
        columns = {}
        for name in self:
            columns[name] = self[name]
            if name in self.stderr:
                columns[f"{name} stderr"] = self.stderr[name]
        return columns

    def _array(self, part: Any) -> NDArray:
        """A component or its error, with channels along the first axis; there is one at least."""
        values = to_numpy(unwrap(part, self.channels).values)
        return values[None] if self.channels is None else np.moveaxis(values, self.channels, 0)

    def _rows(self) -> list[tuple[str, str]]:
        rows, width = [], 2 + max(map(len, self))
        for name in self:
            values = self._array(self[name]).real
            rows.append(
                (name.ljust(width), f"from {np.nanmin(values):.4g} to {np.nanmax(values):.4g}")
            )
        return rows
