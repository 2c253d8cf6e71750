"""Records for `identify`: checks, sizes that they allow, normalised channels and the way back."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from .._array import NDArray
from .._checks import not_negative_int, positive, positive_int
from .search_rules import IdentificationSearch
from .state_space import StateSpace


def in_units(model: StateSpace, centre: NDArray, scale: NDArray) -> StateSpace:
    """The model of the records, from the model of their normalised channels."""
    m = model.input_count
    in_scale, out_scale = scale[:m], scale[m:]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        G = model.innovation_covariance * np.outer(out_scale, out_scale)
        K = model.K / out_scale
    if not (np.all(np.isfinite(G)) and np.all(np.isfinite(K))):  # variances that are no numbers
        G, K = np.zeros_like(G), np.zeros_like(K)
    return replace(
        model,
        B=model.B / in_scale,
        C=out_scale[:, None] * model.C,
        D=out_scale[:, None] * model.D / in_scale,
        K=K,
        innovation_covariance=G,
        input_offset=centre[:m] + in_scale * model.input_offset,
        output_offset=centre[m:] + out_scale * model.output_offset,
    )


def pole_bound(
    stable: bool | None, max_radius: float | None, longest: int, search: IdentificationSearch
) -> float:
    """Bound on the absolute values of the poles."""
    if stable not in (None, True, False):
        raise TypeError(f"stable is {stable!r}, but True, False or None is expected")
    if max_radius is None:
        return float(np.exp((search.growth if stable is False else -1) / longest))
    if stable and max_radius > 1:
        raise ValueError(
            f"max_radius is {max_radius}, but stable=True allows at most 1: leave one of them out"
        )
    return positive(max_radius, "max_radius")


def orders_to_try(
    order: int | None, max_order: int, window: int, p: int, integrators: int
) -> list[int]:
    """Orders to try: at least the integrators, at most what the outputs in a window determine."""
    k = not_negative_int(integrators, "integrators")
    if order is None:
        orders = list(range(1, positive_int(max_order, "max_order") + 1))
    else:
        orders = [positive_int(order, "order")]
    if orders[-1] < k:
        raise ValueError(
            f"integrators is {k}, but the order is at most {orders[-1]}, and each integrator is a "
            "state: raise the order, or lower integrators"
        )
    orders = [n for n in orders if n >= k]
    most = p * (window - 1)
    possible = [n for n in orders if n <= most]
    if not possible:
        raise ValueError(
            f"order is {order}, but {p} outputs in window={window} block rows determine at most "
            f"{most} states: lower the order, or use a larger window"
        )
    return possible


def check_records(records: list[tuple[NDArray, NDArray]], search: IdentificationSearch) -> None:
    """Raise an error if channels are the same or hardly seen, or a part has no outputs."""
    for name, parts in zip(("input", "output"), zip(*records, strict=True), strict=True):
        counts = np.sum(~np.isnan(np.concatenate(parts)), axis=0)
        if np.min(counts) < search.least_seen:
            raise ValueError(
                f"{name} {int(np.argmin(counts))}, counted from 0, is seen {np.min(counts)} times, "
                f"but at least {search.least_seen} samples are expected: remove this channel, or "
                "use a longer record"
            )
    for u, y in records:
        for i, j in np.ndindex(u.shape[1], y.shape[1]):
            if np.array_equal(u[:, i], y[:, j], equal_nan=True) and not np.all(np.isnan(u[:, i])):
                raise ValueError(
                    f"input {i} and output {j}, counted from 0, are the same numbers, but a system "
                    "between different channels is expected: remove one of them"
                )
    held = zip(*(stretches(len(y), search.folds) for _, y in records), strict=True)
    seen = [
        any(not np.all(np.isnan(y[rows])) for (_, y), rows in zip(records, slices, strict=True))
        for slices in held
    ]
    if sum(seen) < 2:
        raise ValueError(
            f"outputs are seen only in stretch {seen.index(True) + 1} of {search.folds}, but in "
            "two or more of these equal parts of the record they are expected, as models are "
            "fitted to some and compared on others: use the part of the record with outputs"
        )


def stretches(samples: int, count: int) -> list[slice]:
    """So many parts of a record, of about the same length.

    Examples
    --------
    >>> from structrank.systems.preparation import stretches
    >>> stretches(10, 2)
    [slice(0, 5, None), slice(5, 10, None)]
    """
    return [slice(k * samples // count, (k + 1) * samples // count) for k in range(count)]


def dependent_channels(z: NDArray, share: float) -> list[int]:
    """Channels of mean zero and spread one of which a linear combination is zero; none if not so.

    It is zero if it is below a share of its largest value. Rows with gaps do not count.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.systems.preparation import dependent_channels
    >>> z = np.random.default_rng(0).standard_normal((9, 3))
    >>> dependent_channels(z, 1e-7), dependent_channels(z[:, [0, 1, 0]], 1e-7)
    ([], [0, 2])
    """
    full = z[~np.any(np.isnan(z), axis=1)]
    if len(full) <= z.shape[1]:
        return []
    full = full - full.mean(axis=0)
    _, sizes, turned = np.linalg.svd(full, full_matrices=False)
    weights = np.abs(turned[-1])
    found = np.flatnonzero(weights > np.sqrt(share) * weights.max())
    return found.tolist() if sizes[-1] <= share * sizes[0] else []


def excited(inputs: list[NDArray], order: int, search: IdentificationSearch) -> bool:
    """Whether inputs without gaps vary enough to determine a system of some order.

    They do if shifted copies of them, up to the order, are linearly independent.
    """
    long = [u for u in inputs if len(u) > order]
    if not long:
        return True
    shifted = [[u[k : len(u) - order + k] for k in range(order + 1)] for u in long]
    X = np.concatenate([np.concatenate(copies, axis=1) for copies in shifted])
    sizes = np.linalg.svd(X, compute_uv=False)
    return len(X) < X.shape[1] or bool(sizes[-1] > search.dependent * sizes[0])


def block_rows(
    window: int | None, lengths: list[int], m: int, p: int, search: IdentificationSearch
) -> list[int]:
    """Block rows of the subspace method for which the longest record is long enough."""
    sample_count = max(lengths)
    most = (sample_count + 1) // (2 * (m + p + 1))  # no more rows than columns
    if window is not None and positive_int(window, "window") > most:
        raise ValueError(
            f"window is {window}, but {sample_count} samples of {m} inputs and {p} outputs are "
            f"enough for at most {most} block rows"
        )
    if most < 2:
        count = len(lengths)
        there = f"the longest of {count} records has" if count > 1 else "there are"
        raise ValueError(
            f"{there} {sample_count} samples, but {m} inputs and {p} outputs need at least "
            f"{4 * (m + p + 1) - 1}: use a longer record"
        )
    return [window] if window is not None else sorted({min(w, most) for w in search.windows})


def normalised(
    z: NDArray, m: int, offset: bool, search: IdentificationSearch
) -> tuple[NDArray, NDArray, NDArray]:
    """Channels with mean zero and spread one, with their original means and scales.

    The first m channels are inputs. A warning names outputs that copy others.
    """
    unit = np.nanmax(np.abs(z), axis=0)  # so that squares stay in the range of numbers
    unit = np.where(unit > 0, unit, 1.0)
    z = z / unit
    centre = np.nanmean(z, axis=0) if offset else np.zeros(z.shape[1])
    scale = np.sqrt(np.nanmean((z - centre) ** 2, axis=0))
    constant = np.flatnonzero(scale <= search.constant)
    if constant.size and constant[0] >= m:
        raise ValueError(
            f"output {constant[0] - m}, counted from 0, is constant where it is seen, but outputs "
            "that vary are expected: remove it"
        )
    if constant.size:
        raise ValueError(
            f"input {constant[0]}, counted from 0, is constant where it is seen, so it does not "
            "excite the system and its effect cannot be found: remove it, or record with an input "
            "that varies; `realize_outputs` needs no inputs"
        )
    z = (z - centre) / scale
    if copies := dependent_channels(z[:, m:], search.dependent):
        warnings.warn(
            f"outputs {copies}, counted from 0, are linearly dependent: a weighted sum of them is "
            "constant, so they have no noise of their own; remove those that copy others",
            stacklevel=3,
        )
    return z, unit * centre, unit * scale
