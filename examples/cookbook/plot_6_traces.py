"""
Traces
======

A third of the traces of a seismic gather is missing. Their neighbours tell what they were: the
gather is an array with two axes, and ``recover`` needs nothing else.
"""

# sphinx_gallery_thumbnail_axes = 2

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import make_interp_spline

from structrank import recover
from structrank.datasets import seismic_gather

gather = seismic_gather(traces=24, samples=100)
missing = np.random.default_rng(0).choice(np.arange(1, 23), 8, replace=False)
samples = gather.samples.copy()
samples[missing] = np.nan

found = recover(samples)

seen = np.setdiff1d(np.arange(24), missing)
line = make_interp_spline(seen, samples[seen], k=1)(np.arange(24))
ours, lines = (
    np.linalg.norm((guess - gather.truth)[missing]) / np.linalg.norm(gather.truth[missing])
    for guess in (found.signal, line)
)
print(f"error of the missing traces: structrank {ours:.2f}, linear interpolation {lines:.2f}")

pictures = {"measured": samples, "structrank": found.signal, "linear": line, "truth": gather.truth}
fig, axes = plt.subplots(1, 4, figsize=(8, 3.6), sharey=True, layout="constrained")
for ax, (name, values) in zip(axes, pictures.items(), strict=True):
    most = 3 * gather.truth.std()
    ax.imshow(values.T, cmap="gray", aspect="auto", vmin=-most, vmax=most)
    ax.set(title=name, xlabel="trace")
axes[0].set_ylabel("sample")
plt.show()

# %%
# Where it fails
# --------------
# Holes of many traces: reflections that change their slope inside a hole are not known.
# :doc:`/gallery/plot_seismic` measures it.
