"""
A model of a machine from a record with gaps
============================================

You have recorded the inputs and outputs of a machine, half of the samples were lost, and you need a
model that predicts the outputs. Subspace methods such as N4SID cannot use missing samples, so
people interpolate first. `identify` uses the record as it is. It fills inputs and outputs together,
by minimising the nuclear norm of their joint block-Hankel matrix, and then fits the model to the
samples that were seen.

The record is that of a simulated arm with three resonances (`structrank.datasets.plant`): two
inputs, the forces of its motors, and two outputs with noise of a twentieth of their size, 2048
samples. N4SID comes from the package nfoursid.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from nfoursid.nfoursid import NFourSID

from structrank import StateSpace, datasets, identify

arm = datasets.plant()
record = np.hstack([arm.about["inputs"], arm.samples])
first, second = np.split(record, 2)  # one half for identification, one for the comparison


def with_gaps(share):
    """The first half with this share of the samples of all channels missing."""
    missing = np.random.default_rng(0).random(first.shape) < share
    return np.where(missing, np.nan, first)


fig, axes = plt.subplots(4, 1, figsize=(8, 6), sharex=True, layout="constrained")
names = ("input 1", "input 2", "output 1", "output 2")
for ax, name, whole, seen in zip(axes, names, first.T, with_gaps(0.5).T, strict=True):
    ax.plot(whole[:150], color="0.7")
    ax.plot(seen[:150], "C0.", ms=4)
    ax.set_ylabel(name)
axes[0].set_title("The first 150 samples; dots are the samples that are left")
axes[-1].set_xlabel("sample")

# %%
# Identify
# --------
#
# `identify` finds the order.

shares = (0.0, 0.2, 0.5)
models = {}
for share in shares:
    samples = with_gaps(share)
    models[share] = identify(samples[:, :2], samples[:, 2:])
    print(f"{share:.0%} missing: {models[share]}")

# %%
# The rival
# ---------
#
# Linear interpolation over the gaps, then N4SID with 15 block rows. Its order, from 1 to 10, is
# chosen as in `identify`: by the error on the last third of the record, after identification from
# the first two thirds. A second choice is made in hindsight, on the data of the comparison.


def n4sid(samples):
    """Models of orders 1 to 10."""
    centre = samples.mean(axis=0)
    method = NFourSID(
        pd.DataFrame(samples - centre, columns=names),
        output_columns=list(names[2:]),
        input_columns=list(names[:2]),
        num_block_rows=15,
    )
    method.subspace_identification()
    found = [method.system_identification(rank=order)[0] for order in range(1, 11)]
    return [
        StateSpace(s.a, s.b, s.c, s.d, input_offset=centre[:2], output_offset=centre[2:])
        for s in found
    ]


def fit(model, data):
    """Mean fit of both simulated outputs, in percent; zero for an unstable model."""
    return model.fit(data[:, :2], data[:, 2:]).mean() if model.stable else 0.0


rivals = {}
for share in shares:
    gaps = pd.DataFrame(with_gaps(share))
    filled = gaps.interpolate(limit_direction="both").to_numpy()
    early, late = np.split(filled, [2 * len(filled) // 3])
    held_out = [fit(model, late) for model in n4sid(early)]
    candidates = n4sid(filled)
    rivals[share] = candidates[np.argmax(held_out)]
    ours, theirs = fit(models[share], second), fit(rivals[share], second)
    best = max(fit(model, second) for model in candidates)
    print(
        f"fit on new data in percent, {share:.0%} missing: structrank {ours:.1f}, "
        f"N4SID {theirs:.1f}, N4SID in hindsight {best:.1f}"
    )

# %%
# Frequency responses
# -------------------
#
# The frequency response of the arm from the first input to the first output, with its three
# resonances. The inputs contain little above 1.2 radians per sample, so the models are not
# determined there.

omega = np.linspace(0.02, 1.2, 400)


def gain(model):
    """From the first input to the first output, in decibels."""
    z = np.exp(1j * omega)
    inputs = np.broadcast_to(model.B, (len(z), *model.B.shape))
    states = np.linalg.solve(z[:, None, None] * np.eye(model.order) - model.A, inputs)
    return 20 * np.log10(np.abs((model.C @ states + model.D)[:, 0, 0]))


fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.plot(omega, gain(arm.about["model"]), "0.8", lw=4, label="truth")
ax.plot(omega, gain(models[0.0]), "k", label="structrank, all samples")
ax.plot(omega, gain(models[0.5]), "C0", label="structrank, half missing")
ax.plot(omega, gain(rivals[0.0]), "0.6", ls="--", label="N4SID, all samples")
ax.plot(omega, gain(rivals[0.5]), "C1", label="N4SID, half missing, interpolated")
ax.set(xlabel="frequency (radians per sample)", ylabel="gain, input 1 to output 1 (dB)")
ax.legend()

# %%
# The new data, simulated from the inputs alone with the models from half of the samples.

t = slice(200, 400)
fig, axes = plt.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
for k, ax in enumerate(axes):
    ax.plot(second[t, 2 + k], "k:", label="measured")
    ax.plot(rivals[0.5].simulate(second[:, :2])[t, k], "C1", lw=1, label="N4SID")
    ax.plot(
        models[0.5].simulate(second[:, :2], np.zeros(models[0.5].order))[t, k],
        "C0",
        label="structrank",
    )
    ax.set_ylabel(names[2 + k])
axes[0].legend(loc="upper right")
axes[-1].set_xlabel("sample of the new data, from 200 on")
plt.show()

# %%
# Where it fails
# --------------
#
# With gaps `identify` finds more states than the arm has. On records whose inputs change slowly
# from sample to sample, such as that of the arm of a CD player in DaISy, linear interpolation is
# nearly right, and with half of the samples missing both methods are about equal there. N4SID may
# choose an unstable model, which counts as a fit of zero. Neither method can fit a nonlinear
# system, such as an arm that hits its stop.
