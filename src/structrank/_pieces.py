"""The pieces of a long call: finished ones are kept, so that the call can be repeated without them.

The journal reaches every fit below the call, as the watch of `structrank._watch` does. A call makes
the same pieces in the same order each time, so their place in the journal identifies them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ._watch import watched

Found = TypeVar("Found")
Packed = dict[str, Any]


class OtherPieceError(Exception):
    """The journal was written by another call, or by another release."""


@dataclass(eq=False)
class Journal:
    """The finished pieces of a call.

    Attributes
    ----------
    pieces : list of tuple of str and dict
        Name and content of each, in the order of the call.
    added : callable
        Called after each new piece.
    place : int
        Number of pieces that the call has reached.
    ended : bool
        Whether no more pieces are kept: a time limit ended one, and the others depend on it.
    """

    pieces: list[tuple[str, Packed]] = field(default_factory=list)
    added: Callable[[], Any] = lambda: None
    place: int = 0
    ended: bool = False

    def restored(self, name: str) -> Packed | None:
        """The next piece, if it was finished before."""
        if self.place == len(self.pieces):
            return None
        there, packed = self.pieces[self.place]
        if there != name:
            raise OtherPieceError(f"piece {self.place} is {there}, but {name} is expected")
        self.place += 1
        return packed

    def add(self, name: str, packed: Packed) -> None:
        """Keep a new piece."""
        self.pieces.append((name, packed))
        self.place += 1
        self.added()


_CURRENT: ContextVar[Journal | None] = ContextVar("structrank_journal", default=None)


@contextmanager
def kept_in(journal: Journal | None) -> Iterator[None]:
    """Keep the pieces of what runs inside in a journal; None keeps none."""
    token = _CURRENT.set(journal)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def piece(
    name: str,
    work: Callable[[], Found],
    pack: Callable[[Found], Packed],
    unpack: Callable[[Packed], Found],
) -> Found:
    """Do some work, or take what it found from the journal of the call around this one.

    Work that a time limit ended is not kept, and neither are the pieces after it. A piece inside
    another one is a part of it. Errors of the work end the call.

    Parameters
    ----------
    name : str
        What kind of work it is.
    work : callable
    pack, unpack : callable
        From what was found to a dict of numbers, text and arrays, and back.

    Examples
    --------
    >>> from structrank._pieces import Journal, kept_in, piece
    >>> journal = Journal()
    >>> def call(work):
    ...     with kept_in(journal):
    ...         return piece("sum", work, lambda found: {"x": found}, lambda packed: packed["x"])
    >>> call(lambda: 1 + 2)
    3
    >>> journal.place = 0  # the call is repeated
    >>> call(lambda: 1 / 0)
    3
    """
    journal = _CURRENT.get()
    if journal is None:
        return work()
    packed = journal.restored(name)
    if packed is not None:
        return unpack(packed)
    with watched() as watch, kept_in(None):
        found = work()
    journal.ended |= watch.cut
    if not journal.ended:
        journal.add(name, pack(found))
    return found
