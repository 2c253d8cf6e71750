"""
k-space
=======

Two coils of an MRI scanner see the same head. Half of the middle of their k-space is hidden, and
found again without coil sensitivities: coils are channels that share their structure.
"""

# sphinx_gallery_thumbnail_axes = 2

import matplotlib.pyplot as plt
import numpy as np

from structrank import recover
from structrank.datasets import kspace

middle = kspace().values[:2, 36:60, 36:60]  # coils, rows, columns
hidden = np.random.default_rng(0).random((24, 24)) < 0.5
samples = np.where(hidden, np.nan, middle)

found = recover(samples, channels=0, effort="fast")


def image(values):
    padded = np.pad(values, ((0, 0), (36, 36), (36, 36)))
    coils = np.fft.fftshift(np.fft.ifft2(np.fft.ifftshift(padded, axes=(1, 2))), axes=(1, 2))
    return np.sqrt(np.sum(np.abs(coils) ** 2, axis=0))


truth = image(middle)
pictures = {"zeros": image(np.nan_to_num(samples)), "structrank": image(found.signal), "all": truth}
ours, zeros = (
    np.linalg.norm(pictures[name] - truth) / np.linalg.norm(truth)
    for name in ("structrank", "zeros")
)
print(f"error of the image: structrank {ours:.3f}, zeros {zeros:.3f}")

fig, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
for ax, (name, picture) in zip(axes, pictures.items(), strict=True):
    ax.imshow(picture, cmap="gray", vmin=0, vmax=truth.max())
    ax.set(title=name, xticks=[], yticks=[])
plt.show()

# %%
# Where it fails
# --------------
# Further out in k-space, where few points are measured and noise is strong, the error grows:
# :doc:`/gallery/plot_kspace` has more of the same recording.
