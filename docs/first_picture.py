"""The picture of the first page: what was measured, what is recovered, and what comes next."""

import matplotlib.pyplot as plt
import numpy as np

from structrank import forecast, recover

INK = "#79818b"  # text that can be read on the light and on the dark page


def draw() -> None:
    """Draw the samples above, the recovered signal and the forecast with their bands below."""
    t, later = np.arange(240), np.arange(240, 300)
    rng = np.random.default_rng(0)
    samples = np.exp(-t / 300) * np.cos(0.3 * t) + 0.7 * np.sin(0.055 * t)
    samples += 0.3 * rng.standard_normal(240)
    samples[rng.random(240) < 0.4] = np.nan
    samples[100:140] = np.nan
    found = recover(samples)
    ahead = forecast(samples, steps=60, rank=found.rank, effort="fast")

    inks = ("text.color", "axes.edgecolor", "xtick.color", "ytick.color")
    with plt.rc_context({"font.size": 13, "axes.titlesize": 13, **dict.fromkeys(inks, INK)}):
        figure, (before, after) = plt.subplots(
            2, 1, figsize=(7, 3.5), sharex=True, sharey=True, layout="constrained"
        )
        before.plot(t, samples, "o", color=INK, markersize=3.5)
        after.plot(t, found.signal, color="C0", linewidth=2, label="recovered")
        after.fill_between(t, found.lower, found.upper, color="C0", alpha=0.35, linewidth=0)
        after.plot(later, ahead.mean, color="C1", linewidth=2, label="forecast")
        after.fill_between(later, ahead.lower, ahead.upper, color="C1", alpha=0.35, linewidth=0)
        seen = int(np.sum(~np.isnan(samples)))
        before.set_title(f"before: {seen} of 240 samples, with noise", loc="left")
        after.set_title("after, with 95% bands", loc="left")
        after.legend(loc="upper right", ncols=2, frameon=False, borderaxespad=0)
        before.set(xlim=(-2, 301), ylim=(-2.4, 2.4), yticks=(-2, 0, 2))
    figure.patch.set_alpha(0)
    for ax in (before, after):
        ax.patch.set_alpha(0)
        ax.spines[["top", "right"]].set_visible(False)
