"""How much of a series at any times may be white noise, for errors at seen samples.

The rule is that of `noise_floor`. Samples at irregular times have no spectrum, but the eigenvalues
of their covariances: for equally spaced samples these are the spectrum. As long as less noise than
the smallest eigenvalue is taken from a signal, what is left has valid covariances, so that nothing
in the samples speaks against it. Samples that are close to each other do show noise: then the
smallest eigenvalues are near zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._array import NDArray
from .irregular_covariances import CovariancesAtTimes
from .irregular_likelihood import ContinuousFit
from .noise_floor import with_more_noise


@dataclass(frozen=True)
class FloorAtTimes:
    """Where the floor of a series at irregular times is.

    Attributes
    ----------
    quiet : float
        The floor is the mean of this share of the eigenvalues, the smallest ones, so that it does
        not depend on the one pair of samples that are closest. 0.01 and 0.25 cover about as much.
    samples : int
        Samples in a row whose covariances are computed, at most: the time is their cube.
    least : float
        As for `FloorRule`.
    """

    quiet: float = 0.05
    samples: int = 300
    least: float = 1e-3


def noise_floor_at(fit: ContinuousFit, rule: FloorAtTimes = FloorAtTimes()) -> float:
    """White noise that may be hidden in the processes of a fit: its variance.

    Parameters
    ----------
    fit : ContinuousFit
        At the times of the samples that are seen, with white noise among its parameters.
    rule : FloorAtTimes

    Examples
    --------
    >>> import numpy as np
    >>> from structrank.components.irregular import ContinuousComponents
    >>> from structrank.components.irregular_floor import noise_floor_at
    >>> from structrank.components.irregular_likelihood import ContinuousFit
    >>> walk = ContinuousComponents(np.arange(200.0), drifts=("level",))
    >>> fit = ContinuousFit(walk, np.log([0.1, 4.0]), 0.0)  # white noise, steps
    >>> print(f"{noise_floor_at(fit):.2f}")  # as on a grid: a quarter of the steps
    1.00
    """
    times = fit.components.times
    first = max((len(times) - rule.samples) // 2, 0)
    components = replace(fit.components, times=times[first : first + rule.samples])
    count = len(components.times)
    values = CovariancesAtTimes(components, np.zeros(count)).covariance(fit.parameters)
    quiet = max(int(rule.quiet * count), 1)
    smallest = np.linalg.eigvalsh(values)[:quiet] - np.exp(fit.values["white"])
    return max(float(np.mean(smallest)), 0.0)


def seen_values_at(
    fit: ContinuousFit, record: NDArray, rule: FloorAtTimes = FloorAtTimes()
) -> tuple[NDArray, NDArray, float]:
    """Mean and variance of the signal at seen samples if the floor is noise, and the noise.

    Parameters
    ----------
    fit : ContinuousFit
        At the times of the record, with white noise among its parameters.
    record : ndarray
        Series of mean zero and deviation one, NaN where missing.
    rule : FloorAtTimes
    """
    white = float(np.exp(fit.values["white"]))
    noise = white + noise_floor_at(fit.at(fit.components.times[~np.isnan(record)]), rule)
    white = max(white, rule.least * noise)
    values = {**fit.values, "white": np.log(white)}
    fit = replace(fit, parameters=np.array([values[name] for name in fit.components.names]))
    return (*with_more_noise(record, *fit.signal(record), white, noise), noise)
