"""Noise: the mu that a noise level calls for, and the noise level that a fit leaves."""

from __future__ import annotations

from math import prod

import numpy as np

from .._array import array_namespace, is_complex, to_numpy
from .._checks import instance_of, positive, positive_int, random_generator
from ..modal.refit_result import Refit
from ..model.large_vectors import gaussian
from ..model.largest_mu import mu_max
from ..model.problem import Problem
from ..model.sample_range import SampleRange
from ..model.scale import deviation_by_median


def noise_mu(
    problem: Problem,
    sigma: float,
    *,
    draws: int = 3,
    margin: float = 1.05,
    rng: int | np.random.Generator = 0,
) -> float:
    """The mu that suppresses noise: a margin above what noise alone puts into the gradient.

    The solution is zero if `mu` is above the top singular value of the gradient at zero. For data
    of pure noise it should be zero, so mu must exceed the value that noise of that level, measured
    in the same way, produces. Here it is the largest `mu_max` of a few signals of simulated noise.

    Parameters
    ----------
    problem : Problem
        Its own mu and samples are not used, except for the data type.
    sigma : float
        Standard deviation of the noise in a sample, above zero. Complex noise is circular.
    draws : int
        Number of simulated signals.
    margin : float
        Factor on the largest value. Larger factors, for example 1.5, leave fewer modes that fit
        noise, and shrink the others more.
    rng : int or numpy.random.Generator
        Seed for the simulated noise.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, Weighted, noise_mu
    >>> seen = np.arange(200) % 3 > 0
    >>> measure = Weighted("lifted", seen)
    >>> problem = Problem(Hankel(200, window=100), np.zeros(200), mu=1.0, measure=measure)
    >>> print(f"{noise_mu(problem, sigma=0.1):.2f}")
    2.09
    """
    instance_of(problem, Problem, "problem")
    sigma, margin = SampleRange().checked_sigma(sigma, problem.b), positive(margin, "margin")
    rng, shape = random_generator(rng), tuple(problem.b.shape)
    largest = 0.0
    for _ in range(positive_int(draws, "draws")):
        noise = gaussian(prod(shape), problem.b, rng)
        if is_complex(problem.b):
            noise = noise / 2**0.5
        noise = array_namespace(noise).reshape(noise, shape)
        largest = max(largest, mu_max(problem.with_samples(noise)))
    return margin * sigma * largest


def noise_level(fit: Refit, *, least_share: float = 0.05) -> float:
    """Standard deviation of the noise that a fit leaves, by root mean square or by median.

    The smaller of both. The median hardly sees a part of the signal that was not fitted if that
    part is short, such as the first samples of a decay. It is not trusted below `least_share` of
    the root mean square (set by hand).
    """
    residual = to_numpy(fit.problem.residual(fit.y))[fit.problem.seen]
    freedom = max(fit.sample_count - fit.parameters, 1) / fit.sample_count
    level = deviation_by_median(residual) / float(np.sqrt(freedom))
    sigma = fit.sigma or 0.0
    return min(max(level, least_share * sigma), sigma)


def root_mean_square(problem: Problem) -> float:
    """Root mean square of the samples."""
    samples = to_numpy(problem.b)[problem.seen]
    return float(np.sqrt(np.mean(np.abs(samples) ** 2)))
