"""Methods of a recovery that look at it: components, scree plot, residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import positive_int
from ..io.containers import unwrap
from ..model.linalg import random_vector, top_singular_pairs
from ..structures import Structure
from ..views import labels_of
from ..views.components import plot_scree
from .component_division import components_of
from .component_series import SignalComponents
from .problems import hankel_problem
from .residuals import ResidualDiagnostics, as_channels

if TYPE_CHECKING:
    from .recovery_result import Recovery


class Inspection:
    """What users of singular spectrum analysis look for in a result."""

    def components(self) -> SignalComponents:
        """Divide the signal into trend, seasons with their harmonics, oscillations and the rest.

        The modes of a fit are grouped by shared frequencies. Real series without modes are divided
        by their state-space model, fitted again: trend, season and autoregressive part; what an
        average with local fits has beyond these is the component "other".

        Returns
        -------
        SignalComponents
            Parts like the samples. Their sum is the signal, and with the rest the samples. But
            where `impute` has kept a sample, it is in the component "other". Components have
            standard errors where these are known.

        Raises
        ------
        ValueError
            No modes were fitted, and the signal is not one of real series.
        """
        return components_of(self._recovery())

    def residuals(self) -> ResidualDiagnostics:
        """Samples minus signal, with tests of whiteness, kurtosis and outliers.

        Returns
        -------
        ResidualDiagnostics
        """
        samples, signal = self._arrays()
        found = self._recovery()
        labels = labels_of(found.samples, found.channels, found.sampling)
        return ResidualDiagnostics(as_channels(samples - signal, found.channels), labels=labels)

    def plot_residuals(self, ax: Any = None) -> Any:
        """Draw the residuals, their autocorrelations and their histogram.

        Parameters
        ----------
        ax : sequence of three Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        list of Axes
        """
        return self.residuals().plot(ax)

    def plot_components(self, ax: Any = None) -> Any:
        """Draw the components of a series, one below the other; see `components`.

        Parameters
        ----------
        ax : sequence of Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        list of Axes
        """
        return self.components().plot(ax)

    def plot_w_correlations(self, ax: Any = None) -> Any:
        """Draw the weighted correlations between components: small ones are separable.

        Parameters
        ----------
        ax : Axes or Figure, optional
            Default: a new figure of pyplot.

        Returns
        -------
        Axes
        """
        return self.components().plot_w_correlations(ax)

    def plot_scree(self, ax: Any = None, *, count: int = 30) -> Any:
        """Draw the leading singular values of the Hankel matrices of samples and signal.

        Gaps of the samples are filled by the signal. The window is half of each axis, or about 8
        for large images. The matrices are never formed.

        Parameters
        ----------
        ax : Axes or Figure, optional
            Default: a new figure of pyplot.
        count : int
            Number of singular values.

        Returns
        -------
        Axes
        """
        found = self._recovery()
        samples, signal = self._arrays()
        seen = ~np.isnan(samples) & ~found.outliers
        filled = np.where(seen, samples, np.nan_to_num(signal))
        lines = {
            "samples, gaps filled": leading_singular_values(filled, found.channels, count),
            "signal": leading_singular_values(np.nan_to_num(signal), found.channels, count),
        }
        shown = found.rank if found.modes is not None else None
        return plot_scree(lines, shown, ax)

    def _recovery(self) -> Recovery:
        return cast("Recovery", self)

    def _arrays(self) -> tuple[NDArray, NDArray]:
        found = self._recovery()
        parts = (found.samples, found.signal)
        samples, signal = (to_numpy(unwrap(part, found.channels).values) for part in parts)
        return samples, signal


def leading_singular_values(values: NDArray, channels: int | None, count: int = 30) -> NDArray:
    """Singular values of the Hankel matrix of a signal, by the Lanczos method.

    Parameters
    ----------
    values : ndarray
        Without gaps.
    channels : int or None
        The axis that holds channels.
    count : int
        How many, at most.

    Returns
    -------
    ndarray
        Largest first; fewer than `count` if the matrix is smaller. Those below 1e-12 of the first
        are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.signals.inspection import leading_singular_values
    >>> values = leading_singular_values(np.cos(0.3 * np.arange(60)), None)
    >>> int(np.count_nonzero(values > 1e-9 * values[0]))
    2
    """
    problem = hankel_problem(
        np.asarray(values, dtype=np.result_type(values, float)), None, channels
    )
    structure: Structure = problem.structure
    signal = structure.transform_signal(problem.b)
    count = min(positive_int(count, "count"), *structure.shape)
    top = top_singular_pairs(
        lambda v: structure.matmul_transformed(signal, structure.transform_right(v[:, None]))[:, 0],
        lambda u: structure.rmatmul_transformed(signal, structure.transform_left(u[:, None]))[:, 0],
        random_vector(structure.shape[1], problem.b, 0),
        count,
        checked=count,
        tolerance=1e-6,
        max_steps=min(*structure.shape, 20 * count),
    )
    found = np.zeros(count)
    found[: len(top.values)] = top.values
    return np.where(found > 1e-12 * found[:1], found, 0.0)
