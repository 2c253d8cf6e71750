"""Read and write data: tables in text, Excel and other files, arrays, recordings.

Also pandas and xarray objects, which are unwrapped to arrays and wrapped again, and the one writer
of files and folders.
"""

from .formats import check_writable, read, write
from .table import FileError, Table

__all__ = ["FileError", "Table", "check_writable", "read", "write"]
