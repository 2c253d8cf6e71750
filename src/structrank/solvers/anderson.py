"""Anderson extrapolation of fixed-point iterations.

H. F. Walker and P. Ni, "Anderson acceleration for fixed-point iterations", SIAM J. Numer. Anal. 49
(2011); A. Fu, J. Zhang and S. Boyd, "Anderson accelerated Douglas-Rachford splitting", SIAM J. Sci.
Comput. 42 (2020).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import NDArray


@dataclass(frozen=True)
class Extrapolation:
    """Settings of Anderson extrapolation.

    The values were chosen on 33 problems with matrices of 3 to 60 rows. The number of steps
    hardly depends on the first two: 5 to 20 differences and a ridge of 1e-12 to 1e-6 were tried.
    Without the last one, iterates diverge where residuals hardly change along a line.
    """

    memory: int = 10  # number of differences
    ridge: float = 1e-10  # added to the diagonal of their Gram matrix, over its trace
    growth: float = 2.0  # a residual above this times the smallest is not accepted; 1 to 2 tried
    reach: float = 30.0  # longest extrapolation, in units of the residual; 10 to 1000 tried


class Anderson:
    """The differences of the last iterates of `Z -> F(Z)`, and the next iterate from them.

    The next iterate is the combination of the last images F(Z) whose weights, with sum one,
    minimise the norm of the combined residuals `F(Z) - Z`. The weights are real.

    Parameters
    ----------
    settings : Extrapolation

    Examples
    --------
    A linear map of two numbers is solved by two differences:

    >>> import numpy as np
    >>> from structrank.solvers.anderson import Anderson
    >>> A, b = np.array([[0.9, 0.1], [0.0, 0.5]]), np.ones(2)
    >>> z, anderson = np.zeros(2), Anderson()
    >>> for _ in range(4):
    ...     z = anderson.next(z, A @ z + b)
    >>> bool(np.allclose(z, A @ z + b, atol=1e-6))
    True
    """

    def __init__(self, settings: Extrapolation = Extrapolation()) -> None:
        self.settings = settings
        self.forget()

    def forget(self) -> None:
        """Drop all iterates, after a change of the map."""
        self.count = 0  # number of differences since the last drop
        self.smallest = np.inf  # norm of a residual
        self.last: tuple[NDArray, NDArray] | None = None  # image and residual

    def kept(self) -> dict[str, Any]:
        """Return a copy of everything that later iterates depend on, for a checkpoint."""
        last = None if self.last is None else np.stack(self.last)
        kept: dict[str, Any] = {"count": self.count, "smallest": self.smallest, "images": last}
        used = self.count > 0
        kept["differences"] = np.stack([self.images, self.residuals]) if used else None
        kept["gram"] = self.gram.copy() if used else None
        return kept

    def restore(self, restored: Mapping[str, Any]) -> None:
        """Continue from what was kept."""
        self.count, self.smallest = restored["count"], restored["smallest"]
        self.last = None if restored["images"] is None else tuple(restored["images"])
        if self.count:
            self.images, self.residuals = restored["differences"]
            self.gram = restored["gram"]

    def next(self, Z: NDArray, image: NDArray) -> NDArray:
        """Return the next iterate from the current one and its image.

        If the residual has grown, this is the last image again, without extrapolation.
        """
        flat = image.reshape(-1).view(float)
        residual = flat - Z.reshape(-1).view(float)
        norm = float(np.linalg.norm(residual))
        if self.last is not None:
            if self.count and norm > self.settings.growth * self.smallest:
                self.count = 0
                return self.last[0].view(image.dtype).reshape(image.shape)
            self._append(flat - self.last[0], residual - self.last[1])
        self.last, self.smallest = (flat, residual), min(norm, self.smallest)
        used = min(self.count, self.settings.memory)
        gram = self.gram[:used, :used].copy() if used else np.zeros((0, 0))
        diagonal = gram.reshape(-1)[:: used + 1]
        total = float(diagonal.sum())
        if norm == 0 or not total > 0:
            return image
        diagonal += self.settings.ridge * total
        weights = np.linalg.solve(gram, self.residuals[:used] @ residual)
        correction = weights @ self.images[:used]
        reach = self.settings.reach * norm / max(float(np.linalg.norm(correction)), norm)
        combined: NDArray = flat - min(reach, 1.0) * correction
        return combined.view(image.dtype).reshape(image.shape)

    def _append(self, image: NDArray, residual: NDArray) -> None:
        memory = self.settings.memory
        if self.count == 0:
            self.images, self.residuals = (np.empty((memory, image.size)) for _ in range(2))
            self.gram = np.zeros((memory, memory))
        row, self.count = self.count % memory, self.count + 1
        self.images[row], self.residuals[row] = image, residual
        used = min(self.count, memory)
        self.gram[row, :used] = self.gram[:used, row] = self.residuals[:used] @ residual
