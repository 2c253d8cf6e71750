"""Columns of a table that share nothing: each is recovered alone, on several processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NoReturn

import numpy as np

from .._array import NDArray, to_numpy
from .._watch import clock
from ..io.containers import Wrap, unwrap
from ..io.regular_samples import regular_samples, what_was_done
from ..io.saved_results import savable
from ..solvers.result import Result
from ..solvers.stopping import Status
from ..views.content import Report
from .component_series import SignalComponents
from .each_signal import Work, check_each, recover_each
from .effort import checked
from .recovery_result import OMITTED, Recovery
from .residuals import ResidualDiagnostics
from .settings import INDEPENDENT, Settings


@savable(omit=OMITTED)
@dataclass(frozen=True, eq=False, repr=False)
class IndependentRecovery(Recovery):
    """A table whose columns were recovered each by itself.

    Attributes
    ----------
    columns : list of Recovery
        The results, one per column. The rank of the table is their largest rank, its `kind` the
        most frequent one, and its `sigma` has one number per column, NaN where it is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import recover
    >>> table = np.stack([0.9 ** np.arange(40.0), np.cos(0.3 * np.arange(40))], axis=1)
    >>> table[10:15] = np.nan
    >>> found = recover(table, channels="independent")
    >>> found.signal.shape, [column.rank for column in found.columns]
    ((40, 2), [1, 2])
    """

    columns: list[Recovery]

    @property
    def result(self) -> Result:
        """Each column has its own convex solution."""
        raise _each("a convex solution")

    def components(self) -> SignalComponents:
        raise _each("components")

    def residuals(self) -> ResidualDiagnostics:
        raise _each("residuals")

    def plot_scree(self, ax: Any = None, *, count: int = 30) -> Any:
        raise _each("a scree plot")

    def report(self) -> Report:
        raise _each("a report")

    def _rows(self) -> list[tuple[str, str]]:
        shape = " x ".join(map(str, np.shape(self.signal)))
        labels = Counter(column.candidate.label for column in self.columns)
        values = to_numpy(unwrap(self.samples, self.channels).values)
        rows = [
            *what_was_done(self.samples),
            ("signal", f"{shape}, {np.count_nonzero(~np.isnan(values))} values seen"),
            ("channels", f"{len(self.columns)}, each fitted alone"),
            ("rank", f"at most {self.rank}"),
            ("estimates", ", ".join(f"{label}: {n}" for label, n in labels.most_common())),
        ]
        ended = Counter(c.status for c in self.columns if c.status is not Status.FINISHED)
        return [*rows, *(("search", f"{n} {status.value}") for status, n in ended.items())]


def recover_independent(work: Work, samples: Any, settings: Settings) -> IndependentRecovery:
    """Recover the columns of a table, each by itself.

    Parameters
    ----------
    work : callable
        Recovers one column with settings.
    samples : array, pandas DataFrame, or xarray DataArray
        The last axis holds channels.
    settings : Settings
        Their time limit is divided among the columns.

    Returns
    -------
    IndependentRecovery
    """
    began = clock()
    check_each(settings)
    for name in ("times", "regressors"):
        if getattr(settings, name) is not None:
            raise ValueError(
                f'{name} are given, but channels="independent" is for tables without: recover the '
                "columns in a loop"
            )
    _, max_time = checked(settings.effort, settings.max_time)
    samples = regular_samples(samples, settings.regular)
    axis = np.ndim(samples) - 1
    if axis < 1:
        raise ValueError(
            f"channels is {INDEPENDENT!r}, but the samples have {axis + 1} axes: expected a table, "
            "or an array whose last axis holds channels"
        )
    given, count = unwrap(samples, axis), np.shape(samples)[axis]
    if count == 0:
        raise ValueError(f"the samples have shape {np.shape(samples)}: expected columns")
    if max_time is not None:
        max_time = max_time * min(settings.workers, count) / count
    table = hasattr(samples, "iloc")
    parts = [samples.iloc[:, c] if table else samples[..., c] for c in range(count)]
    own = replace(settings, channels=None, regular=False, max_time=max_time)
    return _merged(recover_each(work, parts, own), samples, axis, given.wrap, began)


def _merged(
    found: list[Recovery], samples: Any, axis: int, wrap: Wrap, began: float
) -> IndependentRecovery:
    """The result of a table from those of its columns."""

    def together(name: str) -> Any:
        columns = [to_numpy(unwrap(getattr(one, name)).values) for one in found]
        return np.stack(columns, axis=-1)

    return IndependentRecovery(
        **{name: wrap(together(name)) for name in ("signal", "stderr", "lower", "upper")},
        new_sample=None,
        level=found[0].level,
        rank=max(one.rank for one in found),
        modes=None,
        sigma=np.array([one.sigma if np.ndim(one.sigma) == 0 else np.nan for one in found], float),
        kind=Counter(one.kind for one in found).most_common(1)[0][0],
        outliers=np.stack([one.outliers for one in found], axis=-1),
        clipped=np.stack([one.clipped for one in found], axis=-1),
        left=np.stack([one.left for one in found], axis=-1),
        draw=None if any(one.draw is None for one in found) else partial(_draws, found),
        solve=_no_solution,
        selection=None,
        seasons=found[0].seasons,
        regression=None,
        sampling=found[0].sampling,
        channels=axis,
        samples=samples,
        groups=[(c,) for c in range(len(found))],
        status=_status(found),
        seconds=clock() - began,
        columns=found,
    )


def _draws(found: Sequence[Recovery], n: int, rng: np.random.Generator) -> NDArray:
    """Draws of all columns, which are independent."""
    return np.stack([one.draw(n, rng) for one in found if one.draw is not None], axis=-1)


def _status(found: Sequence[Recovery]) -> Status:
    """How the columns ended: the worst of them."""
    statuses = [one.status for one in found]
    worse = (Status.INTERRUPTED, Status.MAX_TIME)
    return next((status for status in worse if status in statuses), Status.FINISHED)


def _no_solution() -> NoReturn:
    raise _each("a convex solution")


def _each(what: str) -> ValueError:
    return ValueError(f"each column has {what} of its own: ask found.columns[k] for it")
