"""Read and write data: text tables, NumPy, MATLAB, HDF5, Zarr and NMRPipe files.

Also pandas and xarray objects, which are unwrapped to arrays and wrapped again, and the one writer
of files and folders.
"""

from .formats import check_writable, read, write
from .table import FileError, Table

__all__ = ["FileError", "Table", "check_writable", "read", "write"]
