"""
Identify a plant
================

Two motors move an arm, two sensors measure it, and a tenth of the samples is missing. ``identify``
chooses the order and returns a state-space model. Its Bode plot is ``model.plot_bode()``.
"""

import matplotlib.pyplot as plt
import numpy as np

from structrank import identify
from structrank.datasets import plant

arm, new = plant(400), plant(200, rng=1)
outputs = arm.samples.copy()
outputs[np.random.default_rng(0).random(outputs.shape) < 0.1] = np.nan

model = identify(arm.about["inputs"], outputs, max_order=7)
print(model.modes)

# %%
# The rival is an ARX model, fitted by least squares to the record with straight lines in its gaps.
# Both simulate another record.

lags, t = 15, np.arange(400)
seen = [np.interp(t, t[~np.isnan(y)], y[~np.isnan(y)]) for y in outputs.T]
past = np.column_stack([*seen, *arm.about["inputs"].T])
rows = np.hstack([past[lags - 1 - k : 399 - k] for k in range(lags)])
weights, *_ = np.linalg.lstsq(rows, past[lags:, :2])
line = new.samples[:lags].copy()
for k in range(lags, 200):
    history = np.hstack([line[k - lags : k], new.about["inputs"][k - lags : k]])[::-1]
    line = np.vstack([line, history.ravel() @ weights])
simulated = model.simulate(new.about["inputs"])
ours, arx = (
    np.linalg.norm(guess - new.truth) / np.linalg.norm(new.truth) for guess in (simulated, line)
)
print(f"error of a new record: structrank {ours:.3f}, ARX {arx:.3f}")

fig, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.plot(new.samples[:, 0], "k.", ms=3, label="measured")
ax.plot(simulated[:, 0], "C0", label="structrank")
ax.plot(line[:, 0], "C1--", label="ARX")
ax.set(xlabel="sample", ylabel="first output")
ax.legend(ncols=3)
plt.show()

# %%
# Where it fails
# --------------
# Inputs that hardly move leave the plant unknown at their missing frequencies, and so does feedback
# that explains the inputs by the outputs.
