"""Summaries of results: rows of names and texts, for a terminal and for a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape


class Summary(ABC):
    """Base class of results: shows its rows in a terminal and as a table in a notebook."""

    @abstractmethod
    def _rows(self) -> list[tuple[str, str]]:
        """Return the name and the text of every row."""

    def __repr__(self) -> str:
        rows = "\n".join(f"  {name:<14}{text}" for name, text in self._rows())
        return f"{type(self).__name__}\n{rows}"

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(text)}</td></tr>"
            for name, text in self._rows()
        )
        title = f"structrank {type(self).__name__.lower()}"
        return f"<table><caption>{title}</caption>{cells}</table>"
