"""Pictures of the structures: the place of each entry of the signal in the matrix."""

import matplotlib.pyplot as plt
import numpy as np

from structrank import Circulant, Hankel, Hessenberg, Indexed, Structure, Sylvester, Toeplitz


def draw(structure: Structure, title: str, *, lines: tuple[int, int] | None = None) -> None:
    """Draw the index map in colours, with numbers; `lines` has the sides of the blocks."""
    index = structure.index()
    size = 0.62 * index.shape[1] + 1, 0.62 * index.shape[0] + 1
    _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.imshow(np.where(index < 0, np.nan, index), cmap="viridis", aspect="equal")
    middle = index.max() / 2
    for (row, column), number in np.ndenumerate(index):
        colour = "0.5" if number < 0 else "black" if number > middle else "white"
        text = "0" if number < 0 else f"$y_{{{number}}}$"
        ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=9)
    if lines is not None:
        for k in range(lines[0], index.shape[0], lines[0]):
            ax.axhline(k - 0.5, color="white", linewidth=2)
        for k in range(lines[1], index.shape[1], lines[1]):
            ax.axvline(k - 0.5, color="white", linewidth=2)
    ax.set(title=title, xlabel="column", ylabel="row")
    ax.set_xticks(range(index.shape[1]))
    ax.set_yticks(range(index.shape[0]))


def hankel() -> None:
    draw(Hankel(9, window=4), "Hankel(9, window=4)")


def n_fold() -> None:
    draw(Hankel((4, 4), window=(2, 2)), "Hankel((4, 4), window=(2, 2))", lines=(2, 3))


def block() -> None:
    draw(
        Hankel(5, window=3, block=(2, 1)),
        "Hankel(5, window=3, block=(2, 1)): 2 channels",
        lines=(2, 1),
    )


def toeplitz() -> None:
    draw(Toeplitz(9, window=4), "Toeplitz(9, window=4)")


def circulant() -> None:
    draw(Circulant(6), "Circulant(6)")


def sylvester() -> None:
    draw(Sylvester((3, 2)), "Sylvester((3, 2))")


def hessenberg() -> None:
    draw(Hessenberg(5), "Hessenberg(5)")


def indexed() -> None:
    distance = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    draw(Indexed(np.where(distance < 4, distance, -1)), "Indexed(...)")
