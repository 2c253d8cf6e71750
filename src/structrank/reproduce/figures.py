"""The figures of the experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import NDArray
from ..views import new_figure
from .methods import AS_PRINTED, AS_PRINTED_SPARSE

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
POLES = (("+", "#009e73"), ("x", "#d55e00"))  # marker and colour of realised poles, by form
RECOVERED = ((":", "#009e73"), ("--", "#d55e00"), ("-.", "#cc79a7"))  # of recovered columns
PRINTED_STYLES = {  # of Algorithm 1 as printed
    AS_PRINTED: {"linestyle": ":", "markerfacecolor": "white"},
    AS_PRINTED_SPARSE: {"linestyle": "-.", "fillstyle": "left"},
}


def _style(name: str, form: str) -> dict[str, Any]:
    style = {"color": COLORS[name], "marker": MARKERS[name], "label": f"{name}, {form}"}
    return style | PRINTED_STYLES.get(form, {})


def curves(found: Sequence[Curve], title: str, path: Path) -> None:
    """Draw objective, squared loss and rank of H(y) against time, one line per method and form."""
    figure = new_figure(figsize=(12, 4.8))
    axes = figure.subplots(1, 3)
    for c in found:
        h, method = c.result.history, c.method
        style = {
            "linestyle": DASHES[method.formulation],
            "markevery": 0.1,  # evenly along the line
            "markersize": 4.5,
            "linewidth": 1.5,
            **_style(method.name, method.form),
            "label": f"{method.label} ({method.formulation})",
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
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=150)


def poles(found: Sequence[Recovered], path: Path) -> None:
    """Draw true and realised poles in the unit disc, one panel per seed; at most six."""
    shown = found[:6]
    figure = new_figure(figsize=(3.2 * min(len(shown), 3), 3.3 * ((len(shown) + 2) // 3)))
    axes = figure.subplots((len(shown) + 2) // 3, min(len(shown), 3), squeeze=False)
    angle = np.linspace(0, 2 * np.pi, 200)
    for axis, one in zip(axes.flat, shown, strict=False):
        axis.plot(np.cos(angle), np.sin(angle), color="0.7", lw=1)
        true = {"marker": "o", "mfc": "none", "ms": 9, "color": "#0072b2", "label": "true"}
        drawn = [(one.true_poles, true)]
        for (form, values), (marker, color) in zip(one.poles.items(), POLES, strict=True):
            style = {"marker": marker, "ms": 6, "color": color, "label": f"realised, {form}"}
            drawn.append((values, style))
        for values, style in drawn:
            axis.plot(values.real, values.imag, linestyle="none", **style)
        axis.set(aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
        axis.set(title=f"seed {one.seed}", xlabel="real part", ylabel="imaginary part")
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    handles = axes.flat[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=3)
    figure.suptitle("Poles of the system, well-posed case")
    figure.savefig(path, dpi=150)


def spectral_panels(
    sample: SpectralSample, recovered: Mapping[str, NDArray], title: str, path: Path
) -> None:
    """Draw the panels of the paper: truth, samples, recoveries, and the first column of each.

    Parameters
    ----------
    sample : SpectralSample
        Of a complex signal, the real part is drawn.
    recovered : dict of str to array
        The recovered signals by their names, at most three.
    title : str
    path : Path
    """
    images = {"true signal": sample.truth, f"observed: {np.mean(sample.seen):.0%}": sample.samples}
    images |= recovered
    figure = new_figure(figsize=(3.4 * len(images) + 0.8, 6.4))
    upper, lower = figure.subfigures(2, 1, height_ratios=[3, 2])
    limit = float(np.max(np.abs(sample.truth.real)))
    letters = iter("abcdefg")
    axes = upper.subplots(1, len(images))
    for axis, (caption, values) in zip(axes, images.items(), strict=True):
        image = axis.imshow(values.real, cmap="RdBu_r", vmin=-limit, vmax=limit)
        axis.set(title=f"({next(letters)}) {caption}", xlabel="column", ylabel="row")
    upper.colorbar(image, ax=axes, label="value")
    before, after = lower.subplots(1, 2)
    rows = np.arange(sample.truth.shape[0])
    for axis, caption in ((before, "observed"), (after, "recovered")):
        axis.plot(rows, sample.truth[:, 0].real, color="#0072b2", lw=1.5, label="truth")
        axis.set(title=f"({next(letters)}) first column, {caption}", xlabel="row", ylabel="value")
        axis.set_ylim(-1.25 * limit, 1.7 * limit)
    before.plot(rows, sample.samples[:, 0].real, "o", color="#d55e00", ms=4, label="observed")
    for (name, values), (dashes, color) in zip(recovered.items(), RECOVERED, strict=False):
        after.plot(rows, values[:, 0].real, dashes, color=color, lw=1.5, label=name)
    for axis in (before, after):
        axis.legend(loc="upper right", ncols=4, frameon=False, fontsize="small")
    figure.suptitle(f"Spectral compressed sensing, {title}")
    figure.savefig(path, dpi=150)


def times(found: Sequence[Timing], path: Path) -> None:
    """Draw time against the number of entries of the matrix, one panel per kind of data."""
    kinds = list(dict.fromkeys(t.data for t in found))
    figure = new_figure(figsize=(5.6 * len(kinds), 4.4))
    for axis, kind in zip(figure.subplots(1, len(kinds), squeeze=False)[0], kinds, strict=True):
        mine = [t for t in found if t.data == kind]
        for name, form in dict.fromkeys((t.method, t.form) for t in mine):
            chosen = [t for t in mine if (t.method, t.form) == (name, form)]
            entries = [t.rows * t.columns for t in chosen]
            axis.plot(entries, [t.seconds for t in chosen], **_style(name, form))
        axis.set(xscale="log", yscale="log", xlabel="size of the matrix", ylabel="time (s)")
        axis.xaxis.minorticks_off()
        ticks = [f"{t.rows} x {t.columns}" for t in chosen]
        axis.set_xticks(entries, ticks, fontsize="small")
        axis.grid(alpha=0.25)
        axis.legend(frameon=False)
        axis.set_title(kind)
    figure.suptitle("Time against the number of entries of the matrix")
    figure.savefig(path, dpi=150)
