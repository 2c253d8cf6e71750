"""Results and models in files: which classes can be saved, and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from .._array import NDArray
from .archives import Archive
from .saved_values import DAMAGED, TAG, Reader, Writer
from .table import FileError

RESULTS = Archive("result", 1, ".save(path) wrote")
C = TypeVar("C", bound=type)


class NotSaved:
    """In the place of what a file does not hold: whatever asks for it gets an error.

    Parameters
    ----------
    what : str
        What it is.

    Examples
    --------
    >>> from structrank.io.saved_results import NotSaved
    >>> try:
    ...     NotSaved("the convex solution").gap
    ... except ValueError as error:
    ...     print(error)
    the file that was loaded does not hold the convex solution: call the function that made the
    result again
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def _refuse(self, *_: Any) -> NoReturn:
        raise ValueError(
            f"the file that was loaded does not hold {self._what}: call the function that made the "
            "result again"
        )

    def __repr__(self) -> str:
        return f"({self._what}: not saved)"

    __call__ = __iter__ = __len__ = __getitem__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()


@dataclass(frozen=True)
class _Savable:
    """A class that can be saved: fields that are left out, and values that are computed first."""

    kind: type
    omit: dict[str, str]
    computed: tuple[str, ...]


_CLASSES: dict[str, _Savable] = {}


def savable(omit: dict[str, str] | None = None, computed: tuple[str, ...] = ()) -> Callable[[C], C]:
    """Declare that objects of a dataclass or an enumeration can be saved.

    Parameters
    ----------
    omit : dict of str to str, optional
        Fields that are not saved, with what they are in words. Functions are never saved.
    computed : tuple of str
        Cached properties that are computed before, and saved.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from structrank.io.saved_results import decoded, encoded, savable
    >>> @savable(omit={"again": "the function"})
    ... @dataclass(frozen=True)
    ... class Answer:
    ...     number: int
    ...     again: object
    >>> decoded(*encoded(Answer(42, print))).number
    42
    """

    def declare(kind: C) -> C:
        _CLASSES[kind.__name__] = _Savable(kind, omit or {}, computed)
        return kind

    return declare


class Saved:
    """The method that saves a result."""

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Save to an NPZ file, which `structrank.load` reads.

        Numbers come back bit for bit. The convex solution of a recovery, the problem of a solution
        and the fits behind a forecast or a model are not saved; what asks for them after loading
        gets an error.

        Parameters
        ----------
        path : str or path
            Ends in .npz. The file is written completely or not at all.
        force : bool
            Replace an existing file.
        """
        RESULTS.check(Path(path), force=force)
        plain, arrays = encoded(self)
        RESULTS.write(Path(path), {"value": plain}, arrays, force=force)


def encoded(value: Any) -> tuple[Any, dict[str, NDArray]]:
    """A result as what JSON can hold, and arrays.

    Parameters
    ----------
    value : object
        Of a class that was declared `savable`, or a plain value.
    """
    writer = _ResultWriter()
    return writer.plain(value), writer.arrays


def decoded(plain: Any, arrays: dict[str, NDArray]) -> Any:
    """The result that was encoded.

    Parameters
    ----------
    plain : object
    arrays : dict of str to ndarray
    """
    return _ResultReader(arrays).value(plain)


def read_result(path: Path) -> Any:
    """Read what `Saved.save` wrote.

    Parameters
    ----------
    path : Path
    """
    header, arrays = RESULTS.read(path)
    try:
        found = decoded(header["value"], arrays)
        repr(found)  # fields of a wrong type or shape are an error now, not where they are used
    except FileError as error:
        raise FileError(f"{path}: {error}") from error
    except DAMAGED as error:
        raise FileError(
            f"{path} is no complete result of structrank ({error}): it was changed or written by "
            "something else, choose another file"
        ) from error
    if not isinstance(found, Saved):
        raise FileError(f"{path} holds a {type(found).__name__}, but a result is expected")
    return found


class _ResultWriter(Writer):
    def plain(self, value: Any) -> Any:
        if isinstance(value, NotSaved):
            return {TAG: "absent", "what": value._what}
        if isinstance(value, Enum):
            return {TAG: "member", "class": self._declared(value), "name": value.name}
        if not is_dataclass(value):
            return super().plain(value)
        name = self._declared(value)
        savable = _CLASSES[name]
        content = {}
        for field in fields(value):
            part = getattr(value, field.name)
            left_out = field.name in savable.omit or callable(part)
            if left_out and part is not None and not isinstance(part, NotSaved):
                part = NotSaved(savable.omit.get(field.name, f"what {field.name} computes"))
            content[field.name] = self.plain(part)
        computed = {key: self.plain(getattr(value, key)) for key in savable.computed}
        return {TAG: "object", "class": name, "fields": content, "computed": computed}

    def _declared(self, value: Any) -> str:
        name = type(value).__name__
        if name not in _CLASSES or _CLASSES[name].kind is not type(value):
            raise TypeError(f"{name} cannot be saved")
        return name


class _ResultReader(Reader):
    kinds = (*Reader.kinds, "absent", "member", "object")

    def _absent(self, plain: Any) -> NotSaved:
        return NotSaved(plain["what"])

    def _member(self, plain: Any) -> Any:
        kind, name = _known(plain["class"]).kind, plain["name"]
        if not issubclass(kind, Enum) or name not in kind.__members__:
            raise FileError(
                f"it holds a {kind.__name__} {name!r}, which this release does not know"
            )
        return kind[name]

    def _object(self, plain: Any) -> Any:
        savable = _known(plain["class"])
        content = {key: self.value(part) for key, part in plain["fields"].items()}
        expected = {field.name for field in fields(savable.kind)}
        if set(content) != expected or set(plain["computed"]) != set(savable.computed):
            raise FileError(
                f"the fields of its {plain['class']} are not those of this release: use the "
                "release that wrote it"
            )
        made: Any = object.__new__(savable.kind)
        for key, part in content.items():
            object.__setattr__(made, key, part)
        if hasattr(made, "__post_init__"):
            copy(made).__post_init__()  # its checks
        vars(made).update({key: self.value(part) for key, part in plain["computed"].items()})
        return made


def _known(name: str) -> _Savable:
    if name not in _CLASSES:
        raise FileError(f"it holds a {name}, which this release does not know")
    return _CLASSES[name]
