"""Sums over groups of entries, by gathers alone: the array API has no scatter."""

from __future__ import annotations

import numpy as np

from .._array import Array, array_namespace, like


class GroupSums:
    """The linear map from values to their sums over groups.

    The places of the members of each group are listed in rectangular tables. Groups of similar
    size share a table. Its rows are padded to a power of two by the place one past the last value.

    Parameters
    ----------
    groups : ndarray of int
        The group of every value, from 0 to `count - 1`; a value with a negative one is left out.
    count : int
        Number of groups. A group may be empty: its sum is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.structures.grouped import GroupSums
    >>> GroupSums(np.array([0, 2, -1, 2]), 3)(np.array([1.0, 2.0, 3.0, 4.0]))
    array([1., 0., 6.])
    """

    def __init__(self, groups: np.ndarray, count: int) -> None:
        places = np.argsort(groups, kind="stable")[np.count_nonzero(groups < 0) :]
        counts = np.bincount(groups[groups >= 0], minlength=count)
        starts = np.cumsum(counts) - counts
        widths = 2 ** np.ceil(np.log2(np.maximum(counts, 1))).astype(int)
        self.tables, members = [], []
        for width in np.unique(widths):
            rows = np.flatnonzero(widths == width)
            column = np.arange(width)
            inside = column < counts[rows, None]
            at = np.minimum(starts[rows, None] + column, places.size - 1)
            self.tables.append(np.where(inside, places[at], groups.size))
            members.append(rows)
        self.order = np.argsort(np.concatenate(members))  # from the tables' rows to the groups

    def __call__(self, values: Array) -> Array:
        """Sum over groups along the last axis."""
        xp, last = array_namespace(values), values.ndim - 1
        padded = xp.concat([values, xp.zeros_like(values[..., :1])], axis=last)
        sums = [self._sum(padded, table) for table in self.tables]
        return xp.take(xp.concat(sums, axis=last), like(self.order, values), axis=last)

    def _sum(self, padded: Array, table: np.ndarray) -> Array:
        xp, last = array_namespace(padded), padded.ndim - 1
        members = xp.take(padded, like(table.reshape(-1), padded), axis=last)
        if table.shape[1] == 1:
            return members
        return xp.sum(xp.reshape(members, (*padded.shape[:-1], *table.shape)), axis=last + 1)
