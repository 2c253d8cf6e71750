"""
Spectrum of a decay
===================

A ringdown or a free induction decay is a sum of damped sinusoids. ``frequencies`` finds them, with
error bars, instead of the peaks of a Fourier transform.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.signal import find_peaks

from structrank import frequencies
from structrank.datasets import decay

signal = decay(length=128, lines=5, noise=0.05, rng=4)
truth = np.sort(signal.about["frequencies"]) / signal.dt

modes = frequencies(signal.samples, dt=signal.dt)

found = np.sort(modes.frequencies[:, 0]) / signal.dt
spectrum = np.fft.fftshift(np.abs(np.fft.fft(signal.samples, 1024)))
hertz = np.fft.fftshift(np.fft.fftfreq(1024, signal.dt))
peaks, _ = find_peaks(spectrum, distance=64)
highest = np.sort(hertz[sorted(peaks, key=lambda k: spectrum[k])[-5:]])
ours, fft = (np.sqrt(np.mean((guess - truth) ** 2)) for guess in (found, highest))
print(f"error of the frequencies: structrank {ours:.2f} Hz, peaks of the FFT {fft:.2f} Hz")

fig, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.plot(hertz, spectrum, color="0.5", label="FFT, zero-filled")
ax.vlines(found, 0, np.interp(found, hertz, spectrum), "C0", label="structrank")
ax.plot(truth, 0 * truth, "k^", clip_on=False, label="truth")
ax.set(xlabel="frequency (Hz)", yticks=[], xlim=(-500, 500), ylim=(0, None))
ax.legend(loc="upper right", bbox_to_anchor=(0.85, 1))
plt.show()

# %%
# Where it fails
# --------------
# A line that is broad for other reasons than damping (an inhomogeneous field) becomes several
# modes.
