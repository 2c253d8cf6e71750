"""The report page: what a result says about itself, how to cite, and the versions used."""

from __future__ import annotations

import platform
from abc import ABC, abstractmethod
from dataclasses import replace
from importlib import metadata
from os import PathLike
from pathlib import Path

from .. import __version__
from .._checks import instance_of
from ..io.atomic import check_new_file, new_file
from .content import Facts, Paragraph, Report, Section
from .figure import require_matplotlib
from .page import PageLayout, page

PAGES = (".html", ".htm")
PAPER = (
    "A. W. Yu, W. Ma, Y. Yu, J. G. Carbonell and S. Sra. Efficient Structured Matrix Rank "
    "Minimization. Advances in Neural Information Processing Systems 27 (NIPS 2014)."
)
DEFAULT_LAYOUT = PageLayout()


class Reportable(ABC):
    """Base class of results that can write a page about themselves."""

    @abstractmethod
    def report(self) -> Report:
        """Return the content of the page: texts, tables, pictures."""

    def write_report(
        self,
        path: str | PathLike[str],
        *,
        force: bool = False,
        title: str | None = None,
        command: str | None = None,
    ) -> None:
        """Write one HTML page about the result.

        It has the pictures, the settings, the tables, how to cite, and the versions used.
        Everything is in the one file: nothing is loaded from elsewhere, and no script runs.

        Parameters
        ----------
        path : str or path
            Ends in .html or .htm. The file is written completely or not at all.
        force : bool
            Replace an existing file.
        title : str, optional
            Title of the page. Default: what kind of result it is.
        command : str, optional
            The command that made the result, to be shown.

        Raises
        ------
        FileError
            The file cannot be written, or exists already.
        ImportError
            matplotlib is not installed.
        """
        report = self.report()
        titled = report if title is None else replace(report, title=title)
        write_report(path, titled, force=force, command=command)


def check_report(path: str | PathLike[str], *, force: bool = False) -> None:
    """Raise an error if `write_report` cannot write this file; call it before long work.

    Parameters
    ----------
    path : str or path
    force : bool
        Whether an existing file may be replaced.

    Examples
    --------
    >>> from structrank.views.report import check_report
    >>> check_report("page.pdf")
    Traceback (most recent call last):
    structrank.io.table.FileError: page.pdf has an unknown extension: known are .html, .htm
    """
    require_matplotlib()
    check_new_file(Path(path), PAGES, force=force)


def write_report(
    path: str | PathLike[str],
    report: Report,
    *,
    force: bool = False,
    command: str | None = None,
    layout: PageLayout = DEFAULT_LAYOUT,
) -> None:
    """Write a report as one HTML page, followed by how to cite and the versions used.

    Everything is in the one file: nothing is loaded from elsewhere, and no script runs.

    Parameters
    ----------
    path : str or path
        Ends in .html or .htm. The file is written completely or not at all.
    report : Report
        `found.report()`, for example.
    force : bool
        Replace an existing file.
    command : str, optional
        The command that made the result, to be shown.
    layout : PageLayout
        Limits and sizes of the page.

    Raises
    ------
    FileError
        The file cannot be written, or exists already.
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from structrank.views.content import Paragraph, Report, Section
    >>> from structrank.views.report import write_report
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "page.html"
    ...     write_report(path, Report("A title", [Section("Modes", [Paragraph("None.")])]))
    ...     "<h2>Modes</h2>" in path.read_text()
    True
    """
    check_report(path, force=force)
    instance_of(report, Report, "report")
    whole = Report(report.title, [*report.blocks, _citation(), _versions(command)])
    text = page(whole, layout)
    with new_file(Path(path), PAGES, force=force) as partial:
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")  # names of files


def _citation() -> Section:
    package = f"The package: structrank, version {__version__}. Licence: BSD-3-Clause."
    return Section("How to cite", [Paragraph(f"The method: {PAPER}"), Paragraph(package)])


def _versions(command: str | None) -> Section:
    packages = [(name, metadata.version(name)) for name in ("numpy", "scipy", "matplotlib")]
    facts = [("structrank", __version__), ("Python", platform.python_version()), *packages]
    if command is None:
        return Section("Versions", [Facts(facts)])
    return Section("Command and versions", [Facts([("command", command), *facts])])
