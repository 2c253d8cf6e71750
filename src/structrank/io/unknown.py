"""Formats that are not read: the line of Python that converts them."""

from __future__ import annotations

from pathlib import Path

PANDAS = 'import pandas as pd; pd.{reader}("{name}").to_csv("{stem}.csv")'
XARRAY = 'import xarray as xr; xr.open_dataset("{name}").to_dataframe().to_csv("{stem}.csv")'
SOUND = 'import soundfile as sf; sf.write("{stem}.wav", *sf.read("{name}"))'
LINES = {
    **dict.fromkeys((".nc", ".nc4", ".cdf", ".grib", ".grb", ".grib2"), XARRAY),
    **dict.fromkeys((".flac", ".ogg", ".mp3", ".aiff", ".aif"), SOUND),
    ".xls": PANDAS.replace("{reader}", "read_excel"),
    ".xlsm": PANDAS.replace("{reader}", "read_excel"),
    ".ods": PANDAS.replace("{reader}", "read_excel"),
    ".sas7bdat": PANDAS.replace("{reader}", "read_sas"),
    ".dta": PANDAS.replace("{reader}", "read_stata"),
    ".sav": PANDAS.replace("{reader}", "read_spss"),
    ".orc": PANDAS.replace("{reader}", "read_orc"),
    ".xml": PANDAS.replace("{reader}", "read_xml"),
    ".edf": 'import mne; mne.io.read_raw("{name}").to_data_frame().to_csv("{stem}.csv")',
    ".bdf": 'import mne; mne.io.read_raw("{name}").to_data_frame().to_csv("{stem}.csv")',
    ".tdms": 'import nptdms; nptdms.TdmsFile("{name}").as_dataframe().to_csv("{stem}.csv")',
    ".sac": 'import obspy; obspy.read("{name}").write("{stem}.mseed")',
    ".sgy": 'import segyio, numpy; numpy.save("{stem}.npy", segyio.tools.collect('
    'segyio.open("{name}", ignore_geometry=True).trace[:]).T)',
    ".pt": 'import torch, numpy; numpy.save("{stem}.npy", torch.load("{name}"))',
    ".dcm": 'import pydicom as d, numpy; numpy.save("{stem}.npy", d.dcmread("{name}").pixel_array)',
    ".nii": 'import nibabel, numpy; numpy.save("{stem}.npy", nibabel.load("{name}").get_fdata())',
    ".fits": 'import astropy.io.fits as f, numpy; numpy.save("{stem}.npy", f.getdata("{name}"))',
    **dict.fromkeys(
        (".png", ".jpg", ".jpeg", ".tif", ".tiff"),
        'import PIL.Image, numpy; numpy.save("{stem}.npy", numpy.array(PIL.Image.open("{name}")))',
    ),
}
PICKLES = (".pkl", ".pickle", ".joblib")


def conversion(path: Path) -> str:
    """Say how to convert a file of an unknown format.

    Parameters
    ----------
    path : Path

    Returns
    -------
    str
        The end of an error: a line of Python, where one is known.

    Examples
    --------
    >>> from pathlib import Path
    >>> from structrank.io.unknown import conversion
    >>> conversion(Path("wind.ods"))
    'convert it, for example: import pandas as pd; pd.read_excel("wind.ods").to_csv("wind.csv")'
    """
    suffix = path.suffix.lower()
    if suffix in PICKLES:
        return "pickles are refused because loading them can run any code: save arrays instead"
    line = LINES.get(suffix)
    if line is None:
        return 'convert it: load it in Python, then import numpy; numpy.save("data.npy", values)'
    return "convert it, for example: " + line.format(name=path.name, stem=path.stem)
