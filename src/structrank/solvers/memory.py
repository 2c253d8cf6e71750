"""What a generator of states needs to continue, and how it is put into a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._array import Array, NDArray, to_numpy, with_precision
from ..model.lowrank import LowRank


class Restored:
    """The values of a checkpoint, from which a generator of states starts.

    Parameters
    ----------
    reference : array
        Arrays get its library, device and precision.
    values : dict
        With NumPy arrays.
    """

    def __init__(self, reference: Array, values: dict[str, Any]) -> None:
        self.reference, self.values = reference, values

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def array(self, name: str) -> Array | None:
        """An array in the library of the problem, or None if None was kept."""
        values = self[name]
        return None if values is None else with_precision(values, self.reference)

    def matrix(self, name: str) -> LowRank:
        """A low-rank matrix in the library of the problem."""
        return self._converted(self[name])

    def matrices(self, name: str) -> list[LowRank]:
        """A list of low-rank matrices in the library of the problem."""
        return [self._converted(X) for X in self[name]]

    def _converted(self, X: LowRank) -> LowRank:
        return LowRank(*(with_precision(F, self.reference) for F in (X.U, X.V)))


class Memory:
    """What a generator of states needs to yield its last state again, and to continue from there.

    A generator calls `keep` before each state, with everything that its next lines depend on. If
    there is something restored, it starts there.

    Parameters
    ----------
    restored : Restored, optional
    """

    def __init__(self, restored: Restored | None = None) -> None:
        self.restored = restored
        self.kept: dict[str, Any] = {}

    def keep(self, **values: Any) -> None:
        """Keep matrices, lists of matrices, arrays, and what JSON can hold; nothing is copied."""
        self.kept = values

    def take(self) -> Restored | None:
        """Return what was restored, and free it."""
        restored, self.restored = self.restored, None
        return restored


def encoded(values: Mapping[str, Any], arrays: dict[str, NDArray], prefix: str) -> dict[str, Any]:
    """Put arrays into `arrays`, and return what remains, for JSON."""
    plain: dict[str, Any] = {}
    for name, value in values.items():
        place = f"{prefix}.{name}"
        if isinstance(value, LowRank):
            plain[name] = {"kind": "matrix"}
            arrays[f"{place}.U"], arrays[f"{place}.V"] = to_numpy(value.U), to_numpy(value.V)
        elif isinstance(value, list) and all(isinstance(item, LowRank) for item in value):
            plain[name] = {"kind": "matrices", "count": len(value)}
            encoded({str(i): item for i, item in enumerate(value)}, arrays, place)
        elif hasattr(value, "dtype"):
            plain[name] = {"kind": "array"}
            arrays[place] = to_numpy(value)
        else:
            plain[name] = {"kind": "value", "value": value}
    return plain


def decoded(plain: Mapping[str, Any], arrays: dict[str, NDArray], prefix: str) -> dict[str, Any]:
    """The inverse of `encoded`, with NumPy arrays."""
    values: dict[str, Any] = {}
    for name, entry in plain.items():
        place, kind = f"{prefix}.{name}", entry["kind"]
        if kind == "matrix":
            values[name] = _matrix(arrays, place)
        elif kind == "matrices":
            values[name] = [_matrix(arrays, f"{place}.{i}") for i in range(entry["count"])]
        else:
            values[name] = arrays[place] if kind == "array" else entry["value"]
    return values


def _matrix(arrays: dict[str, NDArray], place: str) -> LowRank:
    return LowRank(arrays[f"{place}.U"], arrays[f"{place}.V"])
