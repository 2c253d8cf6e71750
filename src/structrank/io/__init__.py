"""Arrays from files and back: text tables, NumPy, MATLAB, HDF5, Zarr and NMRPipe."""

from .formats import check_writable, read, write
from .table import FileError, Table

__all__ = ["FileError", "Table", "check_writable", "read", "write"]
