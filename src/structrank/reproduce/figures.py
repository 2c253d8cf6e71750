"""The figures of the experiments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .._array import NDArray
from ..views import new_figure

if TYPE_CHECKING:
    from ..signals import SpectralSample
    from .comparison import Curve
    from .scalability import Timing
    from .ssr import Recovered

# The colours of Okabe and Ito, which colour-blind readers can distinguish.
COLORS = {
    "GCGLS": "#d55e00",
    "GCG": "#e69f00",
    "APG-SVT": "#000000",
    "PADMM": "#0072b2",
    "PADMM2": "#56b4e9",
    "DADMM2": "#009e73",
    "DPPA": "#cc79a7",
}
MARKERS = dict(zip(COLORS, "osDv^<>", strict=True))
DASHES = {"reform2": "-", "relax": "--"}


def curves(found: Sequence[Curve], title: str, path: Path) -> None:
    """Draw objective, squared loss and rank of H(y) against time, one line per method."""
    figure = new_figure(figsize=(12, 4.4))
    axes = figure.subplots(1, 3)
    for c in found:
        h, name = c.result.history, c.method.name
        style = {
            "color": COLORS[name],
            "linestyle": DASHES[c.method.formulation],
            "marker": MARKERS[name],
            "markevery": 0.1,  # evenly along the line
            "markersize": 4.5,
            "linewidth": 1.5,
            "label": f"{name} ({c.method.formulation})",
        }
        axes[0].plot(h.time, h.objective, **style)
        axes[1].plot(h.time, h.loss, **style)
        axes[2].plot([h.time[k] for k in c.ranks], list(c.ranks.values()), **style)
    labels = ("objective", "squared loss", "rank of H(y)")
    for axis, label in zip(axes, labels, strict=True):
        axis.set(xscale="log", yscale="log", xlabel="time (s)", ylabel=label)
        axis.grid(alpha=0.25)
    axes[2].set_yscale("linear")
    figure.suptitle(f"Stochastic system realisation, {title}")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=150)


def poles(found: Sequence[Recovered], path: Path) -> None:
    """Draw true and realised poles in the unit disc, one panel per seed; at most six."""
    shown = found[:6]
    figure = new_figure(figsize=(3.2 * min(len(shown), 3), 3.3 * ((len(shown) + 2) // 3)))
    axes = figure.subplots((len(shown) + 2) // 3, min(len(shown), 3), squeeze=False)
    angle = np.linspace(0, 2 * np.pi, 200)
    for axis, one in zip(axes.flat, shown, strict=False):
        axis.plot(np.cos(angle), np.sin(angle), color="0.7", lw=1)
        for values, style in (
            (one.true_poles, {"marker": "o", "mfc": "none", "ms": 9, "label": "true"}),
            (one.poles, {"marker": "x", "ms": 6, "label": "realised"}),
        ):
            color = "#0072b2" if style["label"] == "true" else "#d55e00"
            axis.plot(values.real, values.imag, linestyle="none", color=color, **style)
        axis.set(aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
        axis.set(title=f"seed {one.seed}", xlabel="real part", ylabel="imaginary part")
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    handles = axes.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=2)
    figure.suptitle("Poles of the system, well-posed case")
    figure.savefig(path, dpi=150)


def spectral_panels(sample: SpectralSample, recovered: NDArray, title: str, path: Path) -> None:
    """Draw the five panels of the paper: truth, samples, recovery, and the first column of each."""
    figure = new_figure(figsize=(11, 6.4))
    axes = figure.subplot_mosaic(
        [["truth"] * 2 + ["seen"] * 2 + ["recovered"] * 2, ["before"] * 3 + ["after"] * 3],
        height_ratios=[3, 2],
    )
    limit = float(np.max(np.abs(sample.truth)))
    share = np.mean(sample.seen)
    panels = {
        "truth": (sample.truth, "(a) true signal"),
        "seen": (sample.samples, f"(b) observed: {share:.0%}, noisy"),
        "recovered": (recovered, "(c) recovered"),
    }
    for name, (panel, caption) in panels.items():
        image = axes[name].imshow(panel, cmap="RdBu_r", vmin=-limit, vmax=limit)
        axes[name].set(title=caption, xlabel="column", ylabel="row")
    figure.colorbar(image, ax=axes["recovered"], label="value")
    rows = np.arange(sample.truth.shape[0])
    captions = {"before": "(d) first column, observed", "after": "(e) first column, recovered"}
    for name, caption in captions.items():
        axes[name].plot(rows, sample.truth[:, 0], color="#0072b2", lw=1.5, label="truth")
        axes[name].set(
            title=caption, xlabel="row", ylabel="value", ylim=(-1.25 * limit, 1.6 * limit)
        )
    axes["before"].plot(rows, sample.samples[:, 0], "o", color="#d55e00", ms=4, label="observed")
    axes["after"].plot(rows, recovered[:, 0], "--", color="#d55e00", lw=1.5, label="recovered")
    for name in ("before", "after"):
        axes[name].legend(loc="upper right", ncols=2, frameon=False)
    figure.suptitle(f"Spectral compressed sensing, {title}")
    figure.savefig(path, dpi=150)


def times(found: Sequence[Timing], path: Path) -> None:
    """Draw time against the number of entries of the matrix."""
    figure = new_figure(figsize=(7, 4.4))
    axis = figure.subplots()
    for name in dict.fromkeys(t.method for t in found):
        chosen = [t for t in found if t.method == name]
        entries = [t.rows * t.columns for t in chosen]
        style = {"color": COLORS[name], "marker": MARKERS[name], "label": name}
        axis.plot(entries, [t.seconds for t in chosen], **style)
    axis.set(xscale="log", yscale="log", xlabel="size of the matrix", ylabel="time (s)")
    axis.xaxis.minorticks_off()
    axis.set_xticks(entries, [f"{t.rows} x {t.columns}" for t in chosen])
    axis.grid(alpha=0.25)
    axis.legend(frameon=False)
    axis.set_title("Time against the number of entries of the matrix")
    figure.savefig(path, dpi=150)
