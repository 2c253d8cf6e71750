"""
A surface from a fifth of its samples
=====================================

A surface of 101 x 101 points is the sum of six plane waves. One point in five is measured, at
random places, with noise (SNR 10). What are the other values? This is the set-up of Yu, Ma, Yu,
Carbonell and Sra (2014), who took it from Chen and Chi.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import griddata

from structrank import recover, sinusoids

data = sinusoids((101, 101), 6, seen=0.2, snr=10.0, rng=0)
print(data)

# %%
# One call: mu, rank and noise level come from the samples.

found = recover(data.samples)
print(found)


def error(guess, truth=data.truth):
    """Norm of the difference over the norm of the truth."""
    return float(np.linalg.norm(guess - truth) / np.linalg.norm(truth))


# %%
# The rivals are zeros at the points that were not measured, and interpolation on triangles
# (SciPy's `griddata`, linear and cubic; the nearest sample outside the outermost triangles).

places, values = np.argwhere(data.seen), data.samples[data.seen]
everywhere = tuple(np.indices(data.truth.shape))
nearest = griddata(places, values, everywhere, method="nearest")
linear, cubic = (griddata(places, values, everywhere, method=m) for m in ("linear", "cubic"))
linear, cubic = (np.where(np.isnan(y), nearest, y) for y in (linear, cubic))
zeros = np.where(data.seen, data.samples, 0.0)

fig, axes = plt.subplots(2, 3, figsize=(8, 5.6), layout="constrained", sharex=True, sharey=True)
reach = np.abs(data.truth).max()
panels = {
    "truth": data.truth,
    "measured": data.samples,
    "structrank": found.signal,
    "linear": linear,
    "cubic": cubic,
    "error of structrank, x 10": 10 * (found.signal - data.truth),
}
for ax, (name, values) in zip(axes.flat, panels.items(), strict=True):
    picture = ax.imshow(values, vmin=-reach, vmax=reach, cmap="RdBu_r")
    ax.set_title(name, fontsize="medium")
for ax in axes[:, 0]:
    ax.set_ylabel("row")
for ax in axes[1]:
    ax.set_xlabel("column")
fig.colorbar(picture, ax=axes, shrink=0.7, label="height")

print(
    f"relative error: structrank {error(found.signal):.4f}, "
    f"linear interpolation {error(linear):.4f}, cubic {error(cubic):.4f}, "
    f"zero filling {error(zeros):.4f}"
)
inside = np.abs(found.signal - data.truth) < 1.96 * found.stderr
print(f"share of the surface inside the 95% band: {inside.mean():.2f}")

# %%
# Interpolation is not better than zeros, because the waves are shorter than the distance between
# neighbouring samples.
#
# Where it fails
# --------------
# A picture with edges is not a sum of a few waves. Here half of a picture of a disc, 32 x 32
# points, is seen. `recover` then uses local fits, which are hardly better than interpolation on
# triangles, and slower. If edges matter, use a method made for them, such as total variation.

rows, columns = np.indices((32, 32))
disc = ((rows - 15) ** 2 + (columns - 17) ** 2 < 90) * 1.0
rng = np.random.default_rng(1)
seen = rng.random(disc.shape) < 0.5
samples = np.where(seen, disc + 0.1 * rng.standard_normal(disc.shape), np.nan)
smooth = recover(samples)
places = np.argwhere(seen)
triangles = griddata(places, samples[seen], (rows, columns), method="linear")
nearest = griddata(places, samples[seen], (rows, columns), method="nearest")
triangles = np.where(np.isnan(triangles), nearest, triangles)
print(
    f"disc, relative error: structrank {error(smooth.signal, disc):.3f}, "
    f"linear interpolation {error(triangles, disc):.3f}"
)

fig, axes = plt.subplots(1, 4, figsize=(8, 2.6), layout="constrained", sharey=True)
names = ("truth", "measured", "structrank", "linear")
for ax, values, name in zip(axes, (disc, samples, smooth.signal, triangles), names, strict=True):
    picture = ax.imshow(values, vmin=-0.2, vmax=1.2)
    ax.set(title=name, xlabel="column")
axes[0].set_ylabel("row")
fig.colorbar(picture, ax=axes, shrink=0.8, label="height")
plt.show()
