"""
Modal analysis of a structure
=============================

Wind shakes a building of two floors, and sensors record accelerations. Nobody measures the wind.
``realize_outputs`` finds natural frequencies, dampings and mode shapes, with error bars.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import find_peaks, welch

from structrank import realize_outputs
from structrank.datasets import building

record = building(floors=2, steps=1000)
truth = record.about["frequencies"]

modes = realize_outputs(record.samples, dt=record.dt).modes
print(modes)

hertz, power = welch(record.samples, 1 / record.dt, nperseg=256, axis=0)
power = power.sum(axis=1)
peaks, _ = find_peaks(power, distance=5)
highest = np.sort(hertz[sorted(peaks, key=lambda k: power[k])[-2:]])
for true, ours, peak in zip(truth, modes.frequencies, highest, strict=True):
    print(f"a mode at {true:.3f} Hz: structrank {ours:.3f}, peak of the spectrum {peak:.3f}")

fig, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.semilogy(hertz, power, color="0.5", label="spectrum (Welch)")
for k, (centre, error) in enumerate(zip(modes.frequencies, modes.frequency_errors, strict=True)):
    label = "structrank, 95% interval" if k == 0 else None
    ax.axvspan(centre - 1.96 * error, centre + 1.96 * error, color="C0", alpha=0.5, label=label)
for true in truth:
    ax.axvline(true, color="k", ls=":", label="truth" if true == truth[0] else None)
ax.set(xlabel="frequency (Hz)", ylabel="power of the accelerations", xlim=(0, 6))
ax.legend()
plt.show()

# %%
# Where it fails
# --------------
# Twenty seconds are short: dampings have an error of a third or more. Records of some hundred
# periods of the slowest mode are usual. Wind with a spectrum of its own adds modes.
