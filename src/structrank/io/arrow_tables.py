"""Parquet and Feather files as pandas tables: columns of plain values, where each text is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .arrays import require
from .frame_sizes import check_feather, check_parquet
from .limits import SizeLimit
from .table import FileError


def read_parquet(path: Path, limit: SizeLimit) -> tuple[Any, list[str]]:
    """Read a Parquet file as a DataFrame, with notes."""
    check_parquet(path, limit)
    parquet = require("pyarrow.parquet")
    with parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
    plain, notes = _plain_columns(schema)
    # A text that is repeated is stored once, and must be so in memory.
    texts = [name for name in plain if _is_text(schema.field(name).type)]
    with parquet.ParquetFile(path, read_dictionary=texts) as file:
        table = file.read(columns=plain).select(plain)
    return table.to_pandas(strings_to_categorical=True), notes


def read_feather(path: Path, limit: SizeLimit) -> tuple[Any, list[str]]:
    """Read a Feather file as a DataFrame, with notes."""
    check_feather(path, limit)
    table = require("pyarrow.feather").read_table(path, memory_map=False)
    plain, notes = _plain_columns(table.schema)
    return table.select(plain).to_pandas(strings_to_categorical=True), notes


def _plain_columns(schema: Any) -> tuple[list[str], list[str]]:
    """The columns of numbers, times and texts, and a note about the others."""
    names = schema.names
    if len(set(names)) < len(names):
        title = next(name for name in names if names.count(name) > 1)
        raise FileError(f'several columns are named "{title}", but different names are expected')
    plain = [field.name for field in schema if _is_plain(field.type)]
    if not plain:
        raise FileError("it has no columns of numbers, times or texts")
    left = [name for name in names if name not in plain]
    return plain, [f"{', '.join(left)}: no single numbers, so left out"] if left else []


def _is_plain(kind: Any) -> bool:
    """Whether the values of a column are single ones whose size is known."""
    types = require("pyarrow").types
    if types.is_dictionary(kind):
        kind = kind.value_type
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    is_other = types.is_boolean(kind) or types.is_temporal(kind) or types.is_null(kind)
    return is_number or is_other or _is_text(kind)


def _is_text(kind: Any) -> bool:
    types = require("pyarrow").types
    tests = (types.is_string, types.is_large_string, types.is_string_view)
    return any(test(kind) for test in tests)
