"""Recordings that ship with the package: an NMR decay, an MR spectrum, and k-space of a head."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Any

import numpy as np

from .._array import NDArray


@dataclass(frozen=True, eq=False)
class Recording:
    """A recording by others.

    Attributes
    ----------
    values : ndarray
        NaN where nothing was measured.
    dt : float or None
        Seconds between samples.
    about : dict of str to float
        Settings of the instrument.
    source : str
        Where it comes from.
    licence : str

    Examples
    --------
    >>> from structrank.datasets import nmr_decay
    >>> nmr_decay()
    Recording(1500 of complex64, from nmrglue (tests/pipe_proc_tests/1D_time.fid), BSD-3-Clause)
    """

    values: NDArray
    dt: float | None
    about: dict[str, float]
    source: str
    licence: str

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.values.shape))
        return f"Recording({shape} of {self.values.dtype}, from {self.source}, {self.licence})"


def nmr_decay() -> Recording:
    """Carbon-13 free induction decay of a protein, 1500 samples, complex.

    From the test data of nmrglue (BSD-3-Clause, J. J. Helmus), whole. `about` has the spectral
    width in Hz, the carrier and the observed frequency in Hz and MHz.

    Returns
    -------
    Recording

    Examples
    --------
    >>> from structrank.datasets import nmr_decay
    >>> decay = nmr_decay()
    >>> decay.values.shape, decay.dt
    ((1500,), 2e-05)
    """
    stored = _stored("nmr_decay")
    about = {name: float(stored[name]) for name in ("spectral_width", "carrier", "observed")}
    source = "nmrglue (tests/pipe_proc_tests/1D_time.fid)"
    return Recording(stored["values"], 1 / about["spectral_width"], about, source, "BSD-3-Clause")


def mr_spectroscopy() -> Recording:
    """Free induction decay of one voxel of a brain at 3 T, 1024 samples, complex.

    From the test data of suspect (MIT licence), without its header. `about` has the frequency of
    the scanner in MHz and the shift of water in ppm. The scanner's filter distorts the first few
    samples and the last hundred.

    Returns
    -------
    Recording

    Examples
    --------
    >>> from structrank.datasets import mr_spectroscopy
    >>> mr_spectroscopy().about["water"]
    4.7
    """
    about = {"frequency": 123.234655, "water": 4.7}
    values = _stored("mr_spectroscopy")["values"]
    source = "suspect (tests/test_data/siemens/SVS_30.rda)"
    return Recording(values, 833e-6, about, source, "MIT")


def kspace() -> Recording:
    """K-space of a slice of a head from 8 coils: the middle 96 x 96 points, 30% measured.

    From the MRI tutorial of sigpy (BSD-3-Clause, mikgroup), cut down from 230 x 180 points. NaN
    where nothing was measured. `about` has the largest modulus of the whole recording.

    Returns
    -------
    Recording
        Of shape (coils, rows, columns).

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.datasets import kspace
    >>> values = kspace().values
    >>> values.shape, round(float(np.mean(~np.isnan(values))), 2)
    ((8, 96, 96), 0.3)
    """
    stored = _stored("kspace")
    measured = stored["measured"]
    values = np.full((8, *measured.shape), np.nan, dtype=np.complex64)
    values[:, measured] = stored["values"]
    about = {"largest": float(stored["largest"])}
    source = "sigpy-mri-tutorial (data/cartesian_ksp.npy)"
    return Recording(values, None, about, source, "BSD-3-Clause")


def _stored(name: str) -> dict[str, Any]:
    """The arrays of a file beside this one."""
    with as_file(files(__package__) / f"{name}.npz") as path, np.load(path) as stored:
        return dict(stored)
