"""Files that every experiment writes: its tables, and what is needed to repeat the run."""

from __future__ import annotations

import csv
import json
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

Row = dict[str, Any]


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
    """Return rows as a Markdown table with aligned columns."""
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
    packages = ("structrank", "numpy", "scipy", "matplotlib")
    about = {
        "settings": settings,
        "versions": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in packages},
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
