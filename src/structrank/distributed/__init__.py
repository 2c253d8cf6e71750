"""Volumes larger than memory: `recover` in overlapping patches, on one machine or a cluster.

It needs Dask and Zarr: `pip install "structrank[cluster]"`.
"""

from .patches import PatchRecovery, recover_patches

__all__ = ["PatchRecovery", "recover_patches"]
