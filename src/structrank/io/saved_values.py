"""Values as JSON and arrays, and back: numbers, arrays, and containers of pandas and xarray."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from .._array import NDArray, array_namespace, to_numpy
from .table import FileError

TAG = "$"  # the key of a JSON object that says what it is
LIBRARIES = (
    *(f"array_api_compat.{name}" for name in ("numpy", "torch", "cupy", "dask.array")),
    *("array_api_strict", "jax.numpy", "jax.experimental.array_api", "sparse"),
)
# What decoding raises where a file was changed.
DAMAGED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)
# Names of the database of time zones, and fixed offsets; pandas would open other files, too.
ZONE = re.compile(r"(?!dateutil/)[A-Za-z][\w+-]*(/[\w+-]+)*|UTC[+-]\d\d:\d\d")


class Writer:
    """Turns values into what JSON can hold; arrays are put aside.

    Attributes
    ----------
    arrays : dict of str to ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.io.saved_values import Reader, Writer
    >>> writer = Writer()
    >>> plain = writer.plain({"x": np.arange(3), "pair": (1, None)})
    >>> Reader(writer.arrays).value(plain)
    {'x': array([0, 1, 2]), 'pair': (1, None)}
    """

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray] = {}

    def plain(self, value: Any) -> Any:
        """The value for JSON.

        Parameters
        ----------
        value : object
            None, a number, text, list, tuple, dict, array, or a container of pandas or xarray.
        """
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            return value.item()
        if isinstance(value, (complex, np.complexfloating)):
            return {TAG: "complex", "parts": [float(value.real), float(value.imag)]}
        if isinstance(value, list):
            return [self.plain(item) for item in value]
        if isinstance(value, tuple):
            return {TAG: "tuple", "items": [self.plain(item) for item in value]}
        if isinstance(value, dict):
            return {
                TAG: "dict",
                "items": [[self.plain(k), self.plain(v)] for k, v in value.items()],
            }
        library = {ancestor.__module__.split(".")[0] for ancestor in type(value).__mro__}
        if "pandas" in library:
            return self._pandas(value)
        if "xarray" in library:
            return self._xarray(value)
        if isinstance(value, np.ma.MaskedArray):
            parts = [self._array(np.asarray(value.data)), self._array(np.ma.getmaskarray(value))]
            return {TAG: "masked", "parts": parts}
        return self._array(value)

    def _array(self, value: Any) -> dict[str, Any]:
        plain: dict[str, Any] = {TAG: "array", "name": f"a{len(self.arrays)}"}
        if not isinstance(value, np.ndarray):
            try:
                plain["library"] = array_namespace(value).__name__
            except TypeError as error:
                raise TypeError(f"{type(value).__name__} cannot be saved") from error
        host = to_numpy(value)
        if host.dtype.kind == "O":
            host = host.astype(str) if all(isinstance(x, str) for x in host.flat) else host
        if host.dtype.kind == "O":
            raise TypeError("an array of objects cannot be saved: convert it to numbers or text")
        if not host.flags.writeable and isinstance(value, np.ndarray):
            plain["read_only"] = True
        self.arrays[plain["name"]] = host
        return plain

    def _pandas(self, value: Any) -> dict[str, Any]:
        import pandas as pd

        if isinstance(value, pd.Series):
            columns = [self._column(value)]
            about = {TAG: "series", "name": self.plain(value.name)}
        elif isinstance(value, pd.DataFrame):
            columns = [self._column(value.iloc[:, k]) for k in range(value.shape[1])]
            about = {TAG: "frame", "names": self._index(value.columns)}
        else:
            raise TypeError(f"a pandas {type(value).__name__} cannot be saved")
        attrs = {str(k): v for k, v in value.attrs.items()}
        return {
            **about,
            "columns": columns,
            "index": self._index(value.index),
            "attrs": self.plain(attrs),
        }

    def _column(self, column: Any) -> dict[str, Any]:
        kind = column.dtype
        if isinstance(kind, np.dtype):
            return {"dtype": None, "values": self._array(column.to_numpy())}
        missing = {"na_value": np.nan} if kind.kind in "iufb" else {}
        values = column.to_numpy(dtype=float, **missing)
        return {"dtype": str(kind), "values": self._array(values)}

    def _index(self, index: Any) -> dict[str, Any]:
        import pandas as pd

        name = self.plain(index.name)
        if isinstance(index, pd.MultiIndex):
            raise TypeError("an index with several levels cannot be saved: use reset_index()")
        if isinstance(index, pd.RangeIndex):
            return {"kind": "range", "name": name, "range": [index.start, index.stop, index.step]}
        freq = getattr(index, "freqstr", None)
        if isinstance(index, pd.PeriodIndex):
            values = self._array(np.asarray(index.asi8))
            return {"kind": "period", "name": name, "freq": freq, "values": values}
        if isinstance(index, pd.DatetimeIndex):
            zone = None if index.tz is None else str(index.tz)
            plain = index if zone is None else index.tz_convert("UTC").tz_localize(None)
            values = self._array(plain.to_numpy())
            return {"kind": "time", "name": name, "freq": freq, "zone": zone, "values": values}
        if isinstance(index, pd.TimedeltaIndex):
            values = self._array(index.to_numpy())
            return {"kind": "duration", "name": name, "freq": freq, "values": values}
        entries = index.to_numpy()
        dtype = str(index.dtype)
        if entries.dtype.kind == "O":
            labels = {"kind": "labels", "name": name, "dtype": dtype}
            return {**labels, "values": [self.plain(entry) for entry in entries]}
        return {"kind": "numbers", "name": name, "dtype": dtype, "values": self._array(entries)}

    def _xarray(self, value: Any) -> dict[str, Any]:
        coordinates = {
            name: [list(c.dims), self._array(c.to_numpy()), self.plain(dict(c.attrs))]
            for name, c in value.coords.items()
        }
        return {
            TAG: "dataarray",
            "values": self.plain(value.to_numpy()),
            "dims": list(value.dims),
            "coords": coordinates,
            "name": self.plain(value.name),
            "attrs": self.plain(dict(value.attrs)),
        }


class Reader:
    """Turns what `Writer` has made into values again.

    Parameters
    ----------
    arrays : dict of str to ndarray
    """

    kinds: ClassVar[tuple[str, ...]] = (
        *("complex", "tuple", "dict", "masked", "array", "series", "frame", "dataarray"),
    )

    def __init__(self, arrays: dict[str, NDArray]) -> None:
        self.arrays = arrays

    def value(self, plain: Any) -> Any:
        """The value that was written.

        Parameters
        ----------
        plain : object
            From JSON.
        """
        if isinstance(plain, list):
            return [self.value(item) for item in plain]
        if not isinstance(plain, dict):
            return plain
        if plain[TAG] not in self.kinds:
            raise FileError(f"it holds a {plain[TAG]!r}, which this release does not know")
        return getattr(self, f"_{plain[TAG]}")(plain)

    def _complex(self, plain: Any) -> complex:
        return complex(*plain["parts"])

    def _tuple(self, plain: Any) -> tuple[Any, ...]:
        return tuple(self.value(item) for item in plain["items"])

    def _dict(self, plain: Any) -> dict[Any, Any]:
        return {self.value(k): self.value(v) for k, v in plain["items"]}

    def _masked(self, plain: Any) -> Any:
        data, mask = map(self.value, plain["parts"])
        return np.ma.MaskedArray(data, mask)

    def _array(self, plain: Any) -> Any:
        values = self.arrays[plain["name"]]
        if plain.get("read_only"):
            values.flags.writeable = False
        if "library" not in plain:
            return values
        if plain["library"] not in LIBRARIES:  # importing may run any code
            raise FileError(f"{plain['library']} is not an array library: it is not imported")
        try:
            return import_module(plain["library"]).asarray(values)
        except ImportError as error:
            raise FileError(
                f"the file holds arrays of {plain['library']}, which is not installed: install it"
            ) from error

    def _series(self, plain: Any) -> Any:
        import pandas as pd

        (column,) = plain["columns"]
        found = pd.Series(self._column(column), index=self._index(plain["index"]))
        found.name = self.value(plain["name"])
        found.attrs = self.value(plain["attrs"])
        return found

    def _frame(self, plain: Any) -> Any:
        import pandas as pd

        index = self._index(plain["index"])
        columns = dict(enumerate(map(self._column, plain["columns"])))
        found = pd.DataFrame(columns, index=index)
        found.columns = self._index(plain["names"])
        found.attrs = self.value(plain["attrs"])
        return found

    def _column(self, plain: Any) -> Any:
        import pandas as pd

        values = self.value(plain["values"])
        if plain["dtype"] is None:
            return values
        return pd.Series(values).astype(plain["dtype"]).array

    def _index(self, plain: Any) -> Any:
        import pandas as pd

        name, kind = self.value(plain["name"]), plain["kind"]
        if kind == "range":
            return pd.RangeIndex(*plain["range"], name=name)
        if kind == "labels":
            return pd.Index(list(map(self.value, plain["values"])), dtype=plain["dtype"], name=name)
        values = self.value(plain["values"])
        if kind == "period":
            return pd.PeriodIndex.from_ordinals(values, freq=plain["freq"], name=name)
        if kind == "duration":
            return pd.TimedeltaIndex(values, freq=plain["freq"], name=name)
        if kind == "time":
            times = pd.DatetimeIndex(values, name=name)
            if plain["zone"] is not None:
                if not ZONE.fullmatch(plain["zone"]):
                    raise FileError(f"{plain['zone']!r} is not the name of a time zone")
                times = times.tz_localize("UTC").tz_convert(plain["zone"])
            return pd.DatetimeIndex(times, freq=plain["freq"])
        return pd.Index(values, dtype=plain["dtype"], name=name)

    def _dataarray(self, plain: Any) -> Any:
        import xarray as xr

        coordinates = {
            name: xr.Variable(dims, self.value(values), self.value(attrs))
            for name, (dims, values, attrs) in plain["coords"].items()
        }
        values, name = self.value(plain["values"]), self.value(plain["name"])
        attrs = self.value(plain["attrs"])
        return xr.DataArray(values, coordinates, plain["dims"], name, attrs)
