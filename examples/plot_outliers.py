"""
A sensor that sometimes reads nonsense
======================================

A sensor on a machine measures a vibration. One reading in twenty is a gross error, such as a
dropped bit or a spike. Some readings are lost. What was the vibration?

`recover(samples, robust=True)` finds the readings that are inconsistent with the others, excludes
them, and recovers the signal from the rest.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import medfilt

from structrank import recover

rng = np.random.default_rng(0)
n = 300
t = np.arange(n) / 1000  # seconds
truth = 1.5 * np.exp(-t / 0.2) * np.cos(2 * np.pi * 48 * t) + 0.8 * np.sin(2 * np.pi * 17 * t) + 0.5
noise = 0.1
samples = truth + noise * rng.standard_normal(n)
wrong = rng.choice(n, n // 20, replace=False)
samples[wrong] += rng.choice([-1, 1], wrong.size) * rng.uniform(1.0, 6.0, wrong.size)
samples[120:135] = np.nan
wrong = wrong[~np.isnan(samples[wrong])]

found = recover(samples, robust=True)
print(found)
flagged = np.flatnonzero(found.outliers)
print(
    f"{wrong.size} gross errors: {np.isin(wrong, flagged).sum()} found, "
    f"{np.sum(~np.isin(flagged, wrong))} good readings taken for errors"
)

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(1000 * t, samples, "k.", ms=3, label="readings")
ax.plot(1000 * t[flagged], samples[flagged], "o", mfc="none", mec="C1", label="taken for errors")
ax.plot(1000 * t, truth, color="0.75", lw=4, label="truth")
ax.plot(1000 * t, found.signal, color="C0", label="structrank, 95% band")
reach = 1.96 * found.stderr
ax.fill_between(1000 * t, found.signal - reach, found.signal + reach, color="C0", alpha=0.3, lw=0)
ax.set(xlabel="time (ms)", ylabel="acceleration (g)")
ax.legend(frameon=False, ncols=2, loc="upper right")

# %%
# The first rival is a Hampel filter: it interpolates lost readings linearly, computes a running
# median, and replaces readings far from it by linear interpolation. Its width and threshold are the
# best in hindsight. The second rival is a running median alone, which also removes noise.


def lines(values, good):
    """Linear interpolation between the good values."""
    return np.interp(t, t[good], values[good])


def hampel(samples, width, threshold):
    """The readings without those that are far from the running median."""
    filled = lines(samples, ~np.isnan(samples))
    near = np.abs(filled - medfilt(filled, width)) < threshold
    return lines(filled, near & ~np.isnan(samples))


def error(guess):
    """Root mean square error."""
    return float(np.sqrt(np.mean((guess - truth) ** 2)))


def rivals(samples):
    """The smallest errors of a Hampel filter and of a running median."""
    settings = [(width, k * noise) for width in (3, 5, 7, 9) for k in (2, 3, 5, 8)]
    filled = lines(samples, ~np.isnan(samples))
    return (
        min(error(hampel(samples, *setting)) for setting in settings),
        min(error(medfilt(filled, width)) for width in (3, 5, 7, 9)),
    )


by_hampel, by_median = rivals(samples)
plain = error(recover(samples).signal)
print(
    f"error (g): structrank {error(found.signal):.3f}, Hampel filter and lines {by_hampel:.3f}, "
    f"running median {by_median:.3f}, recover without robust {plain:.3f}"
)

# %%
# Where it fails
# --------------
# Now there is no gap, and the share of gross errors at random places grows. Up to a quarter of the
# readings may be wrong. If `recover` finds gross errors in more than a third of them, it warns that
# the result may be wrong: check the picture before you trust it. Errors that are not larger than
# the signal and all have the same sign may remain undetected.

shares, table = (0.05, 0.15, 0.25, 0.35), []
for share in shares:
    spoiled = truth + noise * rng.standard_normal(n)
    at = rng.choice(n, int(share * n), replace=False)
    spoiled[at] += rng.choice([-1, 1], at.size) * rng.uniform(1.0, 6.0, at.size)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table.append((error(recover(spoiled, robust=True).signal), *rivals(spoiled)))
    warned = any("gross errors" in str(warning.message) for warning in said)
    print(
        f"{share:.0%} gross errors (g): structrank {table[-1][0]:.3f}{' (it warns)' * warned}, "
        f"Hampel filter {table[-1][1]:.3f}, running median {table[-1][2]:.3f}"
    )

fig, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
names = ("structrank", "Hampel filter and lines", "running median")
for column, name, marker in zip(np.transpose(table), names, "osv", strict=True):
    ax.semilogy(shares, column, marker + "-", label=name)
ax.set(xlabel="share of gross errors", ylabel="root mean square error (g)")
ax.legend(frameon=False)
plt.show()
