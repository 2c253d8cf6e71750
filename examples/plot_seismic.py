"""
Seismic traces that were not recorded
=====================================

A seismic line has holes: a shot failed, or there was an obstacle. Processing needs a regular grid
of traces, so the holes must be filled.

In a small window of traces and times the reflections of the earth are a few plane waves, and the
Hankel matrix of a few plane waves has low rank. Usually this is done frequency by frequency
(Cadzow, or MSSA, in f-x) on windows chosen by hand. `recover` works on the traces as they are, and
makes its choices by predicting held-out samples.

The traces are simulated (`structrank.datasets.seismic_gather`): reflections from seven layers, 60
traces 25 m apart, 400 samples 4 ms apart, and noise of a tenth of the signal.
"""

# sphinx_gallery_thumbnail_number = 1

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import CubicSpline, make_interp_spline

from structrank import datasets, recover

gather = datasets.seismic_gather()
line = gather.samples

# %%
# Remove 18 of the 60 traces
# --------------------------

shots = np.arange(60)
removed = np.random.default_rng(0).choice(shots[1:-1], 18, replace=False)
seen = np.setdiff1d(shots, removed)
samples = line.copy()
samples[removed] = np.nan

found = recover(samples)
print(found)

# %%
# The rivals interpolate from trace to trace, separately for each time: linearly, or with cubic
# splines. The error is that of the traces without noise.

linear = make_interp_spline(seen, line[seen], k=1)(shots)
cubic = CubicSpline(seen, line[seen])(shots)


def error(estimate, traces=removed):
    return np.linalg.norm((estimate - gather.truth)[traces]) / np.linalg.norm(gather.truth[traces])


print(
    f"error on the removed traces: structrank {error(found.signal):.3f}, "
    f"linear interpolation {error(linear):.3f}, cubic splines {error(cubic):.3f}"
)

# %%
# The reflections, and the errors of both methods, enlarged twice.

filled = np.where(np.isnan(samples), found.signal, samples)
panels = {
    "all traces": line,
    "18 traces removed": samples,
    "filled by structrank": filled,
    "its error x 2": 2 * (filled - gather.truth),
    "linear, its error x 2": 2 * (linear - gather.truth),
}
most = 3 * line.std()
fig, axes = plt.subplots(1, 5, figsize=(10, 4.5), sharey=True, layout="constrained")
for ax, (name, values) in zip(axes, panels.items(), strict=True):
    ax.imshow(
        values.T,
        extent=(0, 60, 1.6, 0.0),
        aspect="auto",
        cmap="gray",
        vmin=-most,
        vmax=most,
        interpolation="nearest",
    )
    ax.set_title(name, fontsize="medium")
    ax.set_xlabel("trace")
axes[0].set_ylabel("time (s)")

# %%
# One removed trace, with a band of two standard errors.

trace = removed[np.argmax([error(linear, [k]) for k in removed])]
time = gather.dt * np.arange(400)
part = slice(100, 300)
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
low, high = (found.signal[trace] + k * found.stderr[trace] for k in (-2, 2))
ax.fill_between(time[part], low[part], high[part], color="C0", alpha=0.25, label="two std. errors")
ax.plot(time[part], gather.truth[trace, part], "k", label="truth")
ax.plot(time[part], found.signal[trace, part], "C0", label="structrank")
ax.plot(time[part], linear[trace, part], "C1--", label="linear interpolation")
ax.set(
    xlabel="time (s)",
    ylabel="amplitude",
    title=f"trace {trace}, where linear interpolation is worst",
)
ax.legend()
plt.show()

# %%
# Where it fails
# --------------
#
# The standard error is one number for all traces, so the band is too narrow at strong peaks inside
# wide holes, and too wide where the signal is weak. In wider holes the error nearly doubles, as
# windows that reach over a hole see few traces on either side. On recorded lines with small
# offsets, where reflections hardly change from trace to trace, linear interpolation is nearly
# right, and the gain is smaller.

hole = np.r_[10:15, 25:31, 42:49]
rest = np.setdiff1d(shots, hole)
samples = line.copy()
samples[hole] = np.nan
wide = recover(samples)
lines = make_interp_spline(rest, line[rest], k=1)(shots)
print(
    f"error on holes of 5 to 7 traces: structrank {error(wide.signal, hole):.3f}, "
    f"linear interpolation {error(lines, hole):.3f}"
)
