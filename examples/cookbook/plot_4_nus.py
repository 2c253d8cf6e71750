"""
NUS spectrum
============

Non-uniform sampling measures a random quarter of a decay. With zeros for the rest, the spectrum is
full of artefacts. ``recover`` finds the missing samples first.
"""

# sphinx_gallery_thumbnail_axes = 2

import matplotlib.pyplot as plt
import numpy as np

from structrank import recover
from structrank.datasets import decay

signal = decay(length=256, lines=6, noise=0.05, rng=1)
measured = np.random.default_rng(0).random(256) < 0.25
samples = np.where(measured, signal.samples, np.nan)

found = recover(samples, dt=signal.dt)

hertz = np.fft.fftshift(np.fft.fftfreq(256, signal.dt))
spectra = {
    name: np.fft.fftshift(np.fft.fft(values)).real
    for name, values in {
        "zeros for the missing samples": np.where(measured, signal.samples, 0),
        "structrank": found.signal,
        "truth": signal.truth,
    }.items()
}
size = np.linalg.norm(spectra["truth"])
ours, zeros = (
    np.linalg.norm(spectra[name] - spectra["truth"]) / size
    for name in ("structrank", "zeros for the missing samples")
)
print(f"error of the spectrum: structrank {ours:.3f}, zeros {zeros:.3f}")

fig, axes = plt.subplots(3, 1, figsize=(8, 6), sharex=True, layout="constrained")
for ax, (name, spectrum) in zip(axes, spectra.items(), strict=True):
    ax.plot(hertz, spectrum, "C0")
    ax.set_title(name, loc="left", fontsize="medium")
    ax.set_yticks([])
axes[-1].set_xlabel("frequency (Hz)")
plt.show()

# %%
# Where it fails
# --------------
# Each line needs a few samples: with many more lines than a tenth of the measured samples, weak
# ones are lost. Spectra with two or more indirect dimensions need programs made for them, see
# :doc:`/which_tool`.
