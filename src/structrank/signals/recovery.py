"""Recover a signal from samples with gaps and noise: one call, nothing to choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._array import NDArray, to_numpy
from .._checks import one_of
from .._watch import clock, watched
from ..io.containers import Unwrapped, unwrap
from ..io.regular_samples import regular_samples
from ..io.sampling import Sampling
from ..solvers.checkpoint import Checkpoint
from .caller import status_of
from .candidates import ComponentModel, ConvexSolution, FitOfModes
from .channel_units import channel_units
from .channels import channel_axis, from_channels
from .clipped import given_clipping, recover_clipped
from .effort import checked
from .estimates import Estimate
from .estimation import AUTO, Found
from .finding import find_signal
from .given_seasons import given_seasons
from .independent import INDEPENDENT, recover_independent
from .irregular import Control, Gridded, recover_irregular
from .known_frequencies import given_tones, recover_with_tones
from .limits import Limits
from .noise_levels import NoiseLevels
from .problems import hankel_problem
from .recovery_result import Recovery
from .regressors import recover_beside
from .saved_pieces import saved_pieces
from .solutions import Known
from .units import signal_sampling, with_sampling

KINDS = (AUTO, FitOfModes.name, ConvexSolution.name, ComponentModel.name)
# What fits depend on, beside the samples.
SETTINGS = (
    *("window", "channels", "mu", "rank", "sigma", "kind", "season", "undamped", "robust", "rng"),
    "effort",
)


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

    Otherwise estimates predict held-out samples, in gaps like those of the data: the fit of the
    modes, local fits and, for one real series, a sum of components; for short signals also the
    convex solution and the fit of its modes (`select_mu`, `refit`). The fit of the modes is
    returned unless others are clearly better; then their average is returned, with weights that
    would have predicted best. Local fits (`structrank.signals.logdet.fit_windows`) ask for few
    patterns in short windows of the signal rather than for few modes in all of it, with windows and
    noise levels of several sizes. They suit signals whose swings come and go, such as sunspots,
    seismic traces, pictures and k-space. Components (`structrank.components`) are trend, season,
    autoregressive part and white noise, which drift. They suit economic and weather series; the
    season is found from the samples unless it is given.

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
        Number of modes, if known.
    sigma : float or array, optional
        Standard deviation of the noise, if known: one number, or one for each sample of a signal
        without channels. In an array, NaN is allowed where samples are missing. Samples then have
        weights, and only the fit of the modes and the components compete.
    kind : {"auto", "refit", "convex", "components"}
        Which estimate to return: the one that predicts best, the fit of the modes, the convex
        solution, or the components of one real series.
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
    asked = SimpleNamespace(**locals())
    if channels == INDEPENDENT:
        return recover_independent(recover, **vars(asked))
    limits = Limits.of(level, max_gap, bounds)
    if times is not None:
        control = Control(effort, max_time, progress)
        gridded = Gridded(*(getattr(asked, name) for name in Gridded._fields))
        return recover_irregular(samples, times, kind, limits, sigma, control, gridded)
    return _recovered(asked, limits)


def _recovered(asked: SimpleNamespace, limits: Limits) -> Recovery:
    """Recover a signal with the arguments of `recover`."""
    if asked.workers != 1:
        raise ValueError(
            f"workers is {asked.workers}, but several processes are for columns that are fitted "
            f"alone: pass channels={INDEPENDENT!r}, or workers=1"
        )
    began, (tried, max_time) = clock(), checked(asked.effort, asked.max_time)
    samples = regular_samples(asked.samples, asked.regular)
    given, mu, rank, sigma = unwrap(samples, asked.channels), asked.mu, asked.rank, asked.sigma
    values, axis = given.values, given.channels
    if asked.channels is not None:
        axis = channel_axis(asked.channels, values.ndim)
    limits.check(values, axis)
    sampling = signal_sampling(samples, axis, asked.dt)
    plain = Known(mu, rank, None, asked.undamped, asked.rng)
    known = _known(plain, values, axis, asked.kind, asked.season, sigma, asked.robust)
    units = channel_units(values, axis, centre=rank is mu is None, scale=sigma is mu is None)
    problem = hankel_problem(units.common(values), asked.window, axis)
    clipping = given_clipping(asked.clipped, values, axis)
    if clipping is not None:
        arguments = {**vars(asked), "samples": samples, "regular": False}
        return recover_clipped(recover, arguments, clipping, known)
    tones = given_tones(asked.known_frequencies, values, axis, sampling)
    if tones is not None:
        arguments = {**vars(asked), "samples": samples, "regular": False}
        return recover_with_tones(recover, arguments, known, tones)
    if asked.regressors is not None:
        return recover_beside(recover, {**vars(asked), "samples": samples, "regular": False}, known)
    may_be_large = asked.window is rank is None and asked.kind == AUTO
    settings = {name: getattr(asked, name) for name in SETTINGS} | {"channels": axis}
    saved = saved_pieces("recover", values, settings, asked.checkpoint, asked.resume)
    with saved, watched(max_time, asked.progress) as watch:
        found, outliers, groups = find_signal(
            problem, known, asked.kind, tried, asked.robust, may_be_large
        )
    status, estimate = status_of(watch, "recover"), units.estimate(found.estimate)
    return Recovery(
        **_answer(limits, estimate, given, axis, from_channels(outliers, axis)),
        **_how_found(found, estimate, known, sampling, samples),
        channels=axis,
        samples=samples,
        groups=groups,
        status=status,
        seconds=clock() - began,
    )


def _known(
    plain: Known, values: Any, axis: int | None, kind: str, season: Any, sigma: Any, robust: bool
) -> Known:
    """What the caller knows, with seasons and noise levels, or an error if that does not fit."""
    one_of(kind, KINDS, "kind")
    convex = kind if kind == ConvexSolution.name else None
    modal = kind if kind == FitOfModes.name else None
    mu = plain.mu
    seasons = given_seasons(season, values, axis, kind=convex or modal, mu=mu)
    levels = NoiseLevels.of(sigma, values, channels=axis, mu=mu, kind=convex, robust=robust)
    return replace(plain, sigma=levels.typical, seasons=seasons, weights=levels.weights)


def _answer(
    limits: Limits, found: Estimate, given: Unwrapped, axis: int | None, outliers: NDArray
) -> dict[str, Any]:
    """The numbers of a `Recovery`, in containers like the samples, and which are left out."""
    left = limits.left(np.isnan(to_numpy(given.values)) | outliers, axis)
    parts = zip(("signal", "stderr", "lower", "upper"), limits.parts(found, left), strict=True)
    values = {name: given.wrap(part) for name, part in parts}
    draw = None if found.errors is None else partial(limits.draws, found, left)
    return {**values, "level": limits.level, "outliers": outliers, "left": left, "draw": draw}


def _how_found(
    found: Found, estimate: Estimate, known: Known, sampling: Sampling | None, samples: Any
) -> dict[str, Any]:
    """What a `Recovery` says about how it was found."""
    sigma = known.sigma if estimate.sigma is None else estimate.sigma
    return {
        "rank": estimate.rank,
        "modes": with_sampling(estimate.modes, sampling),
        "sigma": sigma if known.levels is None else known.levels,
        "kind": found.candidate.name,
        "solve": found.solve,
        "selection": found.selection,
        "seasons": known.seasons,
        "regression": None,
        "clipped": np.zeros(np.shape(samples), dtype=bool),
        "sampling": sampling,
    }
