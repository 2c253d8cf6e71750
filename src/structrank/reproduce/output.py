"""Where an experiment's results go: a new folder, written whole or not at all."""

from __future__ import annotations

import csv
import json
import os
import platform
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from ..io.formats import replace_folder

Row = dict[str, Any]
PACKAGES = ("structrank", "numpy", "scipy", "matplotlib")


@contextmanager
def new_folder(path: Path, *, force: bool = False) -> Iterator[Path]:
    """A folder to fill, which takes the place of `path` once all has gone well.

    Parameters
    ----------
    path : Path
        Must not exist, unless `force` says that it may be replaced.
    force : bool
        Replace what is there.
    """
    path = path.resolve()
    check_new(path, force=force)
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    made = [above for above in path.parents if not above.exists()]
    partial.mkdir(parents=True)
    try:
        yield partial
        check_new(path, force=force)  # it may have come to be meanwhile
        if path.exists():
            replace_folder(partial, path)
        else:
            partial.rename(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        for above in made:
            with suppress(OSError):  # it holds something
                above.rmdir()


def check_new(path: Path, *, force: bool) -> None:
    """An error unless the folder may be written."""
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file, but a folder is expected")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists: choose another folder, or allow it to be replaced")
    above = next(parent for parent in path.absolute().parents if parent.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise PermissionError(f"{above} is no folder that can be written to: choose another")


def write_table(path: Path, rows: Sequence[Row]) -> str:
    """Write rows as `path`.csv, in full precision, and as `path`.md, which is returned."""
    with path.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    text = markdown(rows)
    path.with_suffix(".md").write_text(text)
    return text


def markdown(rows: Sequence[Row]) -> str:
    """Rows as a Markdown table with aligned columns."""
    head = list(rows[0])
    cells = [head] + [[_cell(row[name]) for name in head] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(l, widths, strict=True)) + " |" for l in cells
    ]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write_about(folder: Path, settings: Row) -> None:
    """Write the settings, seeds, versions and the machine, so that a run can be repeated."""
    about = {
        "settings": settings,
        "versions": {
            "python": platform.python_version(),
            **{
                name: metadata.version(name)
                for name in ("structrank", "numpy", "scipy", "matplotlib")
            },
        },
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "BLAS threads": os.environ.get("OPENBLAS_NUM_THREADS", "not set"),
        },
    }
    (folder / "about.json").write_text(json.dumps(about, indent=2) + "\n")


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
