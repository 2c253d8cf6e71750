"""
Markers that are hidden for a while
===================================

A camera follows six markers on a rigid plate that rotates while its centre swings. Each marker is
hidden once for a long time, and all of them are hidden at once for a short time. Where were they?

The coordinates of all markers consist of the same few modes: the swing of the centre and the
rotation of the plate. With `channels=1` the twelve coordinates share their modes, so visible
markers help to find the hidden ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import CubicSpline

from structrank import recover

rng = np.random.default_rng(0)
frames, rate = 120, 20.0
t = np.arange(frames) / rate  # seconds
centre = 40 * np.exp(-t / 8) * np.exp(2j * np.pi * 0.45 * t) + 15 * np.sin(2 * np.pi * 0.8 * t)
corners = 20 * np.exp(2j * np.pi * np.arange(6) / 6) * rng.uniform(0.6, 1.2, 6)
tracks = centre[:, None] + corners * np.exp(2j * np.pi * 0.63 * t)[:, None]  # x + iy, in mm
truth = np.stack([tracks.real, tracks.imag], axis=2).reshape(frames, 12)

samples = truth + 0.3 * rng.standard_normal(truth.shape)
for marker, start in enumerate(rng.integers(7, 80, 6)):
    samples[start : start + 30, 2 * marker : 2 * marker + 2] = np.nan
samples[90:98] = np.nan
hidden = np.isnan(samples)
print(f"{hidden.mean():.0%} of the coordinates are hidden")

# %%
# One call finds six modes: two each for the swing, the shake and the rotation.

found = recover(samples, channels=1)
print(found)

# %%
# The rivals treat each coordinate separately: linear interpolation and a cubic spline.

linear, spline = np.empty_like(samples), np.empty_like(samples)
for k, column in enumerate(samples.T):
    seen = ~hidden[:, k]
    linear[:, k] = np.interp(t, t[seen], column[seen])
    spline[:, k] = CubicSpline(t[seen], column[seen])(t)

fig, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
axes[0].plot(samples[:, ::2], samples[:, 1::2], ".", ms=3)
axes[0].set(xlabel="x (mm)", ylabel="y (mm)", aspect="equal", title="seen")
gone = np.where(hidden, 1.0, np.nan)
axes[1].plot(*(gone * truth).T.reshape(6, 2, frames).transpose(1, 2, 0), color="0.75", lw=5)
axes[1].set_prop_cycle(None)
axes[1].plot(*(gone * found.signal).T.reshape(6, 2, frames).transpose(1, 2, 0), lw=1.5)
axes[1].set(xlabel="x (mm)", aspect="equal", title="hidden, truth (grey) and found")
for ax in axes:
    ax.set(xlim=(-80, 80), ylim=(-70, 70))

# %%
# One coordinate over time, with the 95% band.

k = 0
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(t, truth[:, k], color="0.75", lw=4, label="truth")
ax.plot(t, samples[:, k], "k.", ms=3, label="seen")
ax.plot(t, found.signal[:, k], color="C0", label="structrank, 95% band")
reach = 1.96 * found.stderr[:, k]
ax.fill_between(
    t, found.signal[:, k] - reach, found.signal[:, k] + reach, color="C0", alpha=0.3, lw=0
)
ax.plot(t, np.where(hidden[:, k], linear[:, k], np.nan), "--", color="C1", label="linear")
ax.plot(t, np.where(hidden[:, k], spline[:, k], np.nan), ":", color="C2", label="cubic spline")
low, high = truth[:, k].min(), truth[:, k].max()
ax.set(xlabel="time (s)", ylabel="x of the first marker (mm)", ylim=(low - 25, high + 45))
ax.legend(frameon=False, ncols=5, loc="upper center", fontsize="small")


def error(guess, truth, hidden):
    """Root mean square error of the hidden coordinates, in mm."""
    return float(np.sqrt(np.mean((guess - truth)[hidden] ** 2)))


print(
    f"error of the hidden coordinates (mm): structrank {error(found.signal, truth, hidden):.2f}, "
    f"linear interpolation {error(linear, truth, hidden):.2f}, "
    f"cubic spline {error(spline, truth, hidden):.2f}"
)

# %%
# Where it fails
# --------------
# The path of a ball that bounces lower and lower, at shorter and shorter intervals, is not a sum of
# few modes: it has kinks that do not repeat. Here the ball is hidden twice for half a second, once
# while it hits the ground. The estimate is closer than those of the rivals, but still wrong by
# about a hand's breadth. Use the laws of motion if you know them.

height, speed, fall = (
    [1200.0],
    0.0,
    9810.0 / rate / 20,
)  # mm, mm/s, mm/s per step, 20 steps per frame
for _ in range(frames - 1):
    h = height[-1]
    for _ in range(20):
        speed -= fall
        h += speed / rate / 20
        if h < 0:
            h, speed = -h, -0.85 * speed
    height.append(h)
height = np.array(height)
seen_height = height + 3.0 * rng.standard_normal(frames)
seen_height[43:53] = np.nan
seen_height[73:83] = np.nan
gone = np.isnan(seen_height)
ball = recover(seen_height)
straight = np.interp(t, t[~gone], seen_height[~gone])
curve = CubicSpline(t[~gone], seen_height[~gone])(t)
print(
    f"bouncing ball (mm): structrank {error(ball.signal, height, gone):.2f}, "
    f"linear interpolation {error(straight, height, gone):.2f}, "
    f"cubic spline {error(curve, height, gone):.2f}"
)

fig, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
ax.plot(t, height, color="0.75", lw=4, label="truth")
ax.plot(t, seen_height, "k.", ms=3, label="seen")
ax.plot(t, ball.signal, color="C0", label="structrank")
ax.plot(t, np.where(gone, straight, np.nan), "--", color="C1", label="linear")
ax.set(xlabel="time (s)", ylabel="height (mm)")
ax.legend(frameon=False, loc="upper right")
plt.show()
