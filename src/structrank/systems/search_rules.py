"""Sizes and tolerances of `identify`."""

from __future__ import annotations

from dataclasses import dataclass, field

from .completion import GapFilling
from .noise_fits import FitRules
from .quasi_newton import QuasiNewton


@dataclass(frozen=True)
class IdentificationSearch:
    """Sizes and tolerances of `identify`.

    Attributes
    ----------
    windows : tuple of int
        Block rows of the subspace method that are tried. Set by hand: common sizes.
    folds : int
        Number of stretches of the record. Each is held out once: candidates are fitted to the
        other ones and simulated over it. Set by hand.
    early : int
        Held-out samples, at most half of them, to which the first state of a simulation is fitted.
        Set by hand.
    patience : int
        Orders are tried until as many in a row are no better. Set by hand: two conjugate pairs.
    nearby : int
        Slow fits are tried for orders that differ by at most this number from the best order of
        fast ones. Set by hand.
    sparse : int
        One of as many trials is used for slow fits where inputs are missing. Set by hand.
    at_bound : float
        A pole is at the bound if its distance from the unit circle is at most this multiple of that
        of the bound. Set by hand.
    doubt_of_mode, doubt_of_decay : float
        Factors for held-out errors of models with oscillating, or only decaying, poles at the
        bound: they may have fitted drift. Set by hand.
    near_one : float
        Poles whose distance from one is below this multiple of that of the bound may be those of
        integrators. Set by hand: trials of simulated double integrators stay below, models of
        stable systems rarely do.
    most_integrators : int
        Integrators that are looked for, at most. Set by hand: a position that follows from a force.
    integrates : float
        Models with integrators are chosen if their held-out error is below this share of that of
        the best model without. Set by hand.
    plugged : float
        Standard error of missing inputs, as a share of their spread, up to which candidates take
        their means for known inputs. Set by hand: it adds a hundredth to the variance.
    tries : int
        Candidates that are fitted to all samples, at most, until one is trusted. Set by hand.
    slower : float
        A model is trusted if its slowest mode lasts at most this number of times as long as those
        of its trials. Set by hand.
    as_good : float
        Held-out errors within this factor of the least count as equally good. Set by hand.
    likely, likely_everywhere : float
        Fits of maximum likelihood come before ARX models whose error is smaller by up to the first
        factor, and in no stretch by more than the second one: those of trials end early, but some
        simulate a stretch badly. Set by hand on records of a CD arm, a wing and an evaporator.
    likely_if_unknown : float
        The first factor where inputs are missing and not known well, as ARX models take filled
        gaps for samples. Set by hand on a hair dryer and on 200 samples of the CD arm.
    chance : float
        Residual tests reject the chosen model if one of them finds a probability below this. Each
        output has a test, and each of its pairs with an input. Common.
    lags : int
        Most lags of these tests. Common.
    worse_at_most : float
        An average may simulate the held-out stretches worse than the model by at most this factor.
        Set by hand: in recordings it is mostly below 1.2, and without noise far above 2.
    samples : int
        Seen outputs per parameter of fits of maximum likelihood, at least, unless their order is
        the lowest; ARX models need one. A model with fewer is averaged without a test. Set by hand,
        as for outputs alone.
    scarce : int
        With fewer seen outputs per parameter, a warning says so. Set by hand: models from 15
        samples of a system of order two predict nothing.
    enough_trials : int
        Held-out errors, at least, from which a standard error is computed. Set by hand.
    most_unknown : int
        Missing inputs that are fitted together with the model, at most. Set by hand: the Jacobian
        has a column for each, so time and memory grow quickly.
    explained : float
        Share of the variance of the errors that may remain when missing inputs are moved. If more
        remains, the moves have fitted noise. Set by hand.
    joint_steps : int
        Iteration limit of each fit of missing inputs, before the variance is estimated again. Set
        by hand.
    stalled : float
        The alternation ends once the variance is more than this share of the last one. Set by
        hand.
    quiet : float
        Missing inputs are fitted only if the noise is below this share of the spread of the
        outputs: otherwise they may follow the noise, and their model is enough. Set by hand on
        simulated systems, half of whose samples are missing.
    growth : float
        With `stable=False`, poles are bounded such that no mode grows by more than the exponential
        of this number over the record. Set by hand: simulated outputs stay finite.
    constant : float
        A channel whose spread is below this share of its largest value is constant. Rounding.
    least_seen : int
        Samples of each channel that are seen, at least. Set by hand: fewer say nothing.
    dependent : float
        Shifted inputs are linearly dependent if a singular value is below this share of the
        largest. Set by hand: well above rounding, well below noise in inputs.
    filling : GapFilling
        How gaps are filled for the subspace method.
    exact_fit : float
        Errors up to this multiple of the floor count as equally good: there is no noise. Set by
        hand.
    noise_steps : QuasiNewton
        Steps that find the noise of a held-out stretch. Set by hand.
    rough, final : FitRules
        Fits of the candidates, and of the chosen one.
    """

    windows: tuple[int, ...] = (10, 15)
    folds: int = 4
    early: int = 50
    patience: int = 4
    nearby: int = 1
    sparse: int = 2
    at_bound: float = 1.5
    doubt_of_mode: float = 1.5
    doubt_of_decay: float = 1.3
    near_one: float = 5.0
    most_integrators: int = 2
    integrates: float = 0.9
    plugged: float = 0.1
    tries: int = 4
    slower: float = 2.0
    as_good: float = 1.03
    likely: float = 1.1
    likely_everywhere: float = 1.2
    likely_if_unknown: float = 1.3
    chance: float = 0.01
    lags: int = 20
    worse_at_most: float = 2.0
    samples: int = 4
    scarce: int = 3
    enough_trials: int = 3
    most_unknown: int = 2000
    explained: float = 0.05
    joint_steps: int = 10
    stalled: float = 0.95
    quiet: float = 0.005
    growth: float = 10.0
    constant: float = 1e-12
    least_seen: int = 5
    dependent: float = 1e-7
    filling: GapFilling = field(default_factory=GapFilling)
    exact_fit: float = 10.0
    noise_steps: QuasiNewton = field(default_factory=lambda: QuasiNewton(6, 1e-2))
    rough: FitRules = field(default_factory=lambda: FitRules(20, 1e-3, QuasiNewton(12, 1e-3)))
    final: FitRules = field(default_factory=FitRules)
