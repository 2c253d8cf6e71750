"""Recover a signal from samples with gaps and noise: one call, nothing to choose."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._array import memory_advice
from .._checks import flag
from ..solvers.checkpoint import Checkpoint
from ..solvers.memory_demand import SMALLER
from .clipped import given_clipping, recover_clipped
from .estimation import AUTO
from .independent import recover_independent
from .irregular import recover_irregular
from .known_frequencies import given_tones, recover_with_tones
from .plain_recovery import recover_plain
from .recovery_result import Recovery
from .regressors import recover_beside
from .request import Request
from .settings import INDEPENDENT, Settings


def recover(
    samples: Any,
    *,
    window: int | tuple[int, ...] | None = None,
    channels: int | str | None = None,
    mu: float | None = None,
    rank: int | None = None,
    sigma: Any = None,
    kind: str = AUTO,
    level: float = 0.95,
    season: float | Sequence[float] | None = None,
    known_frequencies: float | Sequence[float] | None = None,
    max_gap: int | None = None,
    bounds: tuple[float | None, float | None] | None = None,
    clipped: tuple[float | None, float | None] | None = None,
    dt: float | None = None,
    regular: bool | str | float = False,
    times: Any = None,
    regressors: Any = None,
    undamped: bool = False,
    robust: bool = False,
    rng: int | np.random.Generator = 0,
    effort: str = "normal",
    max_time: float | None = None,
    progress: bool = False,
    checkpoint: str | Path | Checkpoint | None = None,
    resume: str | Path | None = None,
    workers: int = 1,
) -> Recovery:
    """Fill the gaps and remove the noise of a signal.

    The signal is taken to be a sum of a few (damped) sinusoids, exponentials and slow trends, so
    its Hankel matrix has low rank. Modes are found one after the other, from the largest peak of
    the spectrum of what is left, and are fitted together. They are returned if they meet the
    samples exactly, or if they leave nothing but white noise and predict held-out samples as well
    as the noise allows. Modes whose damping is not distinguishable from zero are held undamped.
    If the modes of a series leave correlated noise, it is modelled as autoregressive where that
    clearly raises the likelihood (`Recovery.noise`). The number of modes, their fit and all
    standard errors are then those for such noise. Signals with several axes, channels that are
    fitted together, and signals with a noise level for each sample are fitted for white noise.

    Otherwise estimates predict held-out samples, in gaps like those of the data: the fit of the
    modes, local fits and, for real series, a sum of components; for short signals also the
    convex solution and the fit of its modes (`select_mu`, `refit`). The fit of the modes is
    returned unless others are clearly better, or it is one constant that is much less likely than
    components; then the average of the others is returned, with weights that would have predicted
    best. Local fits (`structrank.signals.logdet.fit_windows`) ask for few
    patterns in short windows of the signal rather than for few modes in all of it, with windows and
    noise levels of several sizes. They suit signals whose swings come and go, such as sunspots,
    seismic traces, pictures and k-space. Components (`structrank.components`) are trend, season,
    autoregressive part and white noise, which drift. They suit economic and weather series; the
    season is found from the samples unless it is given. Up to 8 channels of 40 to 10,000 samples
    are one model: what drives their components may be correlated, so that a gap in one channel is
    filled from the drift of the others.

    Parameters
    ----------
    samples : array, pandas Series or DataFrame, or xarray DataArray
        The signal in any number of dimensions, real or complex, NaN where missing.
    window : int or tuple of int, optional
        Rows of the Hankel matrix along each axis. Default: half of each axis, which is best for a
        few modes. For signals with several axes whose matrix would then have more than 3000 rows,
        such as pictures, the convex solution does not compete, and the window is 8 along each axis,
        or less if it would hold more than 300 values in all channels. Local fits choose windows
        of their own.
    channels : int or "independent", optional
        The axis that holds channels, which share modes. The columns of a DataFrame are channels.
        They may have different units: offsets are subtracted and channels are scaled before the
        work, unless mu is given. In tables of series, channels that share nothing are found by
        predictions of held-out samples and are fitted alone, unless mu or rank is given. With
        "independent", every column is a signal of its own, as in `recover_many`: the last axis
        holds them, and the result is an `IndependentRecovery`. `max_time` is divided among them.
    mu : float, optional
        Price of the nuclear norm, if not to be chosen.
    rank : int, optional
        Number of modes, if known. The fit of so many modes is returned.
    sigma : float or array, optional
        Standard deviation of the noise, if known: one number, or one for each sample of a signal
        without channels. In an array, NaN is allowed where samples are missing. Samples then have
        weights, and only the fit of the modes and the components compete.
    kind : {"auto", "refit", "convex", "components"}
        Which estimate to return: the one that predicts best, the fit of the modes, the convex
        solution, or the components of real series along one axis. Channels beyond the limits above
        have components of their own.
    level : float
        Probability that an interval contains a new sample.
    season : float or two of them, optional
        Known season of a real series in samples, or two: `(24, 168)` for day and week in hours.
        The components have it instead of one that they search for, with the harmonics that the
        samples show. Components without a season and other estimates compete.
    known_frequencies : float or sequence of float, optional
        Frequencies that one real series is known to have: in cycles per sample, or in the unit of
        frequencies if the time between samples is known (Hz with dt). Undamped modes are held
        there, and their amplitudes are fitted beside whatever else is found. `rank` counts the
        other modes. If components are returned, `Recovery.regression` has the amplitudes of
        cosines and sines.
    max_gap : int, optional
        Longest gap of a series to fill, in samples. Longer ones stay NaN (`Recovery.left`).
    bounds : tuple of float, optional
        Lowest and highest value of a real signal, None for no bound: `(0, None)` for amounts. The
        answer is conditioned on them, value by value: the mean and the standard deviation of the
        Gaussian distribution of each value inside the bounds, and quantiles of that of a new
        sample, moved where they would leave out the mean. Samples may lie outside.
    clipped : tuple of float, optional
        Levels at which the samples of one real series were clipped, None for no level: `(-1, 1)`,
        or `(None, 5)` for a sensor that ends at 5. A sample at or beyond its level is only known
        to lie there or beyond. Modes get the likelihood of the inequalities; components get their
        Gaussian approximations (expectation propagation). Other estimates do not compete.
    dt : float, optional
        Seconds between samples, for frequencies in Hz and times in seconds. Default: from the
        index, if it has times, or a unit in its name such as "time (ms)".
    regular : bool, str or float
        Make the index of a pandas object regular first: rows of NaN where times are left out, small
        moves where they jitter. True finds the step; "10min", "1month" or a number gives it. The
        summary says what was done.
    times : array or "index", optional
        Irregular times of the samples of one real series: numbers or dates, in any order, or
        "index" for the index of a pandas Series. There is no grid in between: the estimate is a
        sum of processes in continuous time (trend, oscillators, autoregressive part, noise), whose
        parameters have the largest likelihood. Samples that are NaN tell at which other times the
        series is wanted, later ones included. The result is an `IrregularRecovery`.
    regressors : array, Series or DataFrame, optional
        What is known in advance to act on one real series (prices, temperatures, holidays): one row
        per sample, one column per regressor, none missing. A pandas object is aligned with the
        index of the samples. Their coefficients are estimated together with the components by
        generalised least squares, and together with modes by least squares; `Recovery.regression`
        has them with standard errors. What the regressors leave is recovered as any series.
    undamped : bool
        The modes are known to be undamped.
    robust : bool
        Some samples may be gross errors: find them first (`find_outliers`) and ignore them.
    rng : int or numpy.random.Generator
        Seed for the simulated noise and for choosing held-out samples.
    effort : {"fast", "normal", "thorough"}
        How much is tried before an estimate is returned: how many modes, windows and held-out parts
        of the samples.
    max_time : float, optional
        Time limit in seconds. When it ends the search, the best estimate so far is returned, with a
        `ConvergenceWarning`. `Recovery.status` says so.
    progress : bool
        Say what is being tried: on a terminal in a progress bar, else in a line from time to time.
    checkpoint : str, Path or Checkpoint, optional
        An .npz file where finished fits are saved every minute (`Checkpoint.every`), and at the
        end, also after an error or Ctrl-C.
    resume : str or Path, optional
        A checkpoint of a call with the same samples and settings: fits that it holds are not made
        again, and the result is the same. It may be the file of `checkpoint`.
    workers : int
        Number of processes for independent channels. More than one needs the package joblib.

    Returns
    -------
    Recovery

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import recover
    >>> t = np.arange(200)
    >>> truth = np.exp(-t / 100) * np.cos(0.4 * t) + 1
    >>> rng = np.random.default_rng(0)
    >>> samples = truth + 0.1 * rng.standard_normal(200)
    >>> samples[(60 < t) & (t < 90)] = np.nan
    >>> found = recover(samples)
    >>> found.rank, found.kind
    (3, 'refit')
    >>> bool(abs(found.signal - truth).max() < 0.1)
    True
    """
    # fmt: off
    settings = Settings(
        window=window, channels=channels, mu=mu, rank=rank, sigma=sigma, kind=kind, level=level,
        season=season, known_frequencies=known_frequencies, max_gap=max_gap, bounds=bounds,
        clipped=clipped, dt=dt, regular=regular, times=times, regressors=regressors,
        undamped=undamped, robust=robust, rng=rng, effort=effort, max_time=max_time,
        progress=progress, checkpoint=checkpoint, resume=resume, workers=workers,
    )
    # fmt: on
    return recover_with(samples, settings)


def recover_with(samples: Any, settings: Settings) -> Recovery:
    """Recover a signal in the way that its settings ask for.

    Parameters
    ----------
    samples : array, pandas Series or DataFrame, or xarray DataArray
    settings : Settings

    Returns
    -------
    Recovery
    """
    flag(settings.undamped, "undamped")
    flag(settings.robust, "robust")
    if settings.channels == INDEPENDENT:
        return recover_independent(recover_with, samples, settings)
    if settings.times is not None:
        return recover_irregular(samples, settings)
    with memory_advice(lambda: SMALLER):
        request = Request.of(samples, settings)
    values, axis = request.values, request.axis
    clipping = given_clipping(settings.clipped, values, axis)
    if clipping is not None:
        return recover_clipped(request, clipping)
    tones = given_tones(settings.known_frequencies, values, axis, request.sampling)
    if tones is not None:
        return recover_with_tones(request, tones)
    if settings.regressors is not None:
        return recover_beside(request, settings.regressors)
    return recover_plain(request)
