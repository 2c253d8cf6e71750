"""Labels of a picture or a table: names of channels, positions of samples, entries of an index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import NDArray
from .._messages import visible
from ..io.sampling import Sampling

MIDNIGHT = " 00:00:00"
COUNTED = "sample"


@dataclass(frozen=True, eq=False)
class Labels:
    """The texts beside a picture of a series, and the positions of its samples.

    Attributes
    ----------
    names : tuple of str
        One name per channel; an empty one is not shown.
    positions : ndarray or None
        Numbers or dates along the axis, one per sample. None: samples are counted from 0.
    axis : str
        What the positions are: "sample", "time", or the name of an index.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.views import Labels
    >>> Labels(("wind",), 0.5 * np.arange(3), "seconds").along(3)
    array([0. , 0.5, 1. ])
    >>> Labels().along(3)
    array([0, 1, 2])
    """

    names: tuple[str, ...] = ("",)
    positions: NDArray | None = None
    axis: str = COUNTED

    def __post_init__(self) -> None:
        names = tuple(visible(str(name)) for name in self.names)  # no font has the others
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "axis", visible(self.axis))

    def along(self, count: int) -> NDArray:
        """Return the positions of `count` samples."""
        return np.arange(count) if self.positions is None else self.positions

    def timed(self, sampling: Sampling | None, count: int) -> Labels:
        """Return labels with times of `count` samples, if these are counted and it is known."""
        if self.positions is not None or sampling is None or self.axis != COUNTED:
            return self
        return Labels(self.names, sampling.times(count), f"time ({sampling.time})")

    def followed_by(self, other: Labels) -> Labels:
        """Return labels whose positions continue with those of another series."""
        if self.positions is None or other.positions is None:
            return Labels(self.names, None, self.axis)
        positions = np.concatenate([self.positions, other.positions])
        return Labels(self.names, positions, self.axis)


def labels_of(
    samples: Any, channels: int | None = None, sampling: Sampling | None = None
) -> Labels:
    """Read the labels of an array or a container of pandas or xarray.

    Parameters
    ----------
    samples : array, Series, DataFrame or DataArray
    channels : int, optional
        The axis that holds channels, counted from the first.
    sampling : Sampling, optional
        Time between samples, for those that have no index.

    Returns
    -------
    Labels

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.views import labels_of
    >>> labels_of(pd.Series([1.0, 2.0], pd.Index([10, 20], name="depth"), name="salt"))
    Labels(names=('salt',), positions=array([10, 20]), axis='depth')
    """
    count = 1 if channels is None else np.shape(samples)[channels]
    axis = 1 if channels == 0 else 0
    positions, label = _positions(samples, axis)
    found = Labels(_channel_names(samples, count), positions, label)
    return found.timed(sampling, np.shape(samples)[axis])


def index_labels(index: Iterable[Any]) -> list[str]:
    """Return the entries of an index of pandas as text: dates without the hours of midnight.

    Parameters
    ----------
    index : pandas Index

    Returns
    -------
    list of str

    Examples
    --------
    >>> import pandas as pd
    >>> from structrank.views import index_labels
    >>> index_labels(pd.date_range("2024-01-30", periods=3, freq="D"))
    ['2024-01-30', '2024-01-31', '2024-02-01']
    """
    labels = [str(entry) for entry in index]
    if all(label.endswith(MIDNIGHT) for label in labels):
        return [label.removesuffix(MIDNIGHT) for label in labels]
    return labels


def _channel_names(samples: Any, count: int) -> tuple[str, ...]:
    if hasattr(samples, "columns"):
        return tuple(str(name) for name in samples.columns)
    if count > 1:
        return tuple(f"channel {number + 1}" for number in range(count))
    name = getattr(samples, "name", None)
    return ("" if name is None else str(name),)


def _positions(samples: Any, axis: int) -> tuple[NDArray | None, str]:
    """Return the positions of the samples along an axis, None if counted, and their label."""
    index = _index(samples, axis)
    label = samples.dims[axis] if hasattr(samples, "dims") else None
    if index is None:
        return None, str(label or COUNTED)
    if hasattr(index, "to_timestamp"):
        index = index.to_timestamp()
    if getattr(index, "tz", None) is not None:
        index = index.tz_localize(None)
    x = index.to_numpy()
    label = label or index.name
    if x.dtype.kind not in "iufM":
        return None, str(label or COUNTED)
    return x, str(label or ("time" if x.dtype.kind == "M" else COUNTED))


def _index(samples: Any, axis: int) -> Any:
    """Return the index of pandas along an axis, or None."""
    if hasattr(samples, "indexes") and hasattr(samples, "dims"):
        return samples.indexes.get(samples.dims[axis])
    index = getattr(samples, "index", None)
    return None if callable(index) else index  # lists and tuples have a method of that name
