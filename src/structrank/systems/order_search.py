"""Models of several orders and kinds of noise, and the choice between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from .._array import NDArray
from .completion import GapFilling
from .integrators import own_part
from .maximum_likelihood import MaximumLikelihood
from .noise_fits import FitRules, Fitted, NoiseFits
from .quasi_newton import QuasiNewton
from .recursion import free_responses, state_sequence
from .state_space import StateSpace

LIKELY = ("white", "innovations")


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
        Orders are tried until as many in a row are no better. Set by hand.
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
    plugged : float
        Standard error of missing inputs, as a share of their spread, up to which candidates take
        their means for known inputs. Set by hand: it adds a hundredth to the variance.
    tries : int
        Candidates that are fitted to all samples, at most, until one has no new pole at the bound.
        Set by hand.
    as_good : float
        Held-out errors within this factor of the least count as equally good. Set by hand.
    likely : float
        Fits of maximum likelihood come before ARX models whose error is smaller by up to this
        factor: those of trials end early, and ARX models take filled gaps for samples. Set by hand.
    samples : int
        Seen outputs per parameter of these fits, at least, unless their order is the lowest. Set
        by hand, as for outputs alone.
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
        outputs: otherwise their model is enough. Set by hand.
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
    patience: int = 3
    nearby: int = 1
    sparse: int = 2
    at_bound: float = 1.5
    doubt_of_mode: float = 1.5
    doubt_of_decay: float = 1.3
    plugged: float = 0.1
    tries: int = 4
    as_good: float = 1.03
    likely: float = 1.1
    samples: int = 4
    most_unknown: int = 2000
    explained: float = 0.05
    joint_steps: int = 10
    stalled: float = 0.95
    quiet: float = 0.05
    growth: float = 10.0
    constant: float = 1e-12
    least_seen: int = 5
    dependent: float = 1e-7
    filling: GapFilling = field(default_factory=GapFilling)
    exact_fit: float = 10.0
    noise_steps: QuasiNewton = field(default_factory=lambda: QuasiNewton(6, 1e-2))
    rough: FitRules = field(default_factory=lambda: FitRules(20, 1e-3, QuasiNewton(12, 1e-3)))
    final: FitRules = field(default_factory=FitRules)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kind and an order: models of all trials, held-out error, Bayesian criterion."""

    kind: str
    order: int
    models: tuple[StateSpace, ...]
    error: float
    criterion: float


class Trial:
    """Records with one held-out stretch each: models are fitted without its outputs."""

    def __init__(self, whole: NoiseFits, held: list[slice], search: IdentificationSearch) -> None:
        self.held, self.search = held, search
        outputs = [y.copy() for y in whole.outputs]
        filled = []
        for i, (rows, y) in enumerate(zip(held, outputs, strict=True)):
            y[rows] = np.nan
            for piece in (slice(rows.start), slice(rows.stop, None)):
                u, z = (x[piece] for x in whole.filled[i])
                filled += [(u, z)] if len(z) else []
        self.training = replace(whole, outputs=outputs, filled=filled, rules=search.rough)
        self.centre = _means(outputs)
        parts = (whole.inputs, whole.known_inputs, whole.outputs)
        self.rest = [tuple(x[rows] for x in xs) for *xs, rows in zip(*parts, held, strict=True)]
        self._fits: dict[tuple[str, int, bool], Fitted | None] = {}

    @property
    def usable(self) -> bool:
        """Whether outputs are seen in the held-out stretches, and in the others."""
        there = any(np.any(~np.isnan(y)) for y in self.training.outputs)
        return there and any(np.any(~np.isnan(y)) for *_, y in self.rest)

    def fitted(self, kind: str, order: int, exact: bool) -> Fitted | None:
        """The model of one kind and order; `exact`: with a model of missing inputs."""
        key = kind, order, exact
        if key not in self._fits:
            others = self.fitted("white", order, exact) if kind == "innovations" else None
            training = self.training if exact else self.training.plugged
            if kind == "white" and exact:
                others = self.fitted("white", order, False)
            starts = [] if others is None else [others.model]
            self._fits[key] = training.fitted(kind, order, starts)
        return self._fits[key]

    def error(self, model: StateSpace, exact: bool) -> float:
        """Error of simulated outputs over that of the mean of the other samples."""
        if exact:
            return self._likely_error(model)
        wrong = constant = np.zeros(model.output_count)
        for _, u, y in self.rest:
            early = min(self.search.early, len(y) // 2)
            error = np.where(np.isnan(y), 0.0, y - simulated(model, u, y, early))
            wrong = wrong + np.sum(error**2, axis=0)
            constant = constant + np.nansum((y - self.centre) ** 2, axis=0)
        floor = self.search.rough.floor
        shares = np.sqrt(wrong[constant > 0] / constant[constant > 0] + floor**2)
        return float(np.mean(np.where(np.isfinite(shares), shares, np.inf)))

    def _likely_error(self, model: StateSpace) -> float:
        """The same where inputs are missing: the outputs help to find them.

        For known inputs and one output, the maximum of the likelihood over the variance of white
        noise is a function of the error. This function gives the error here.
        """
        inputs, known, outputs = (list(x) for x in zip(*self.rest, strict=True))
        fixed = ("A", "B", "C", "D", "K", "output_offset")
        of_inputs = self.training.input_model
        fit = MaximumLikelihood(inputs, outputs, model.order, np.inf, fixed, input_model=of_inputs)
        starts = [first_state(model, u, y) for u, y in zip(known, outputs, strict=True)]
        y = np.concatenate(outputs) - self.centre
        spread = np.nanmean(y**2, axis=0)
        triples = zip(known, outputs, starts, strict=True)
        errors = np.concatenate([x - responses(model, u, s) for u, x, s in triples])
        # Half of the error is a guess of the share that is not due to missing inputs.
        G = np.diag(np.minimum(np.nanmean(errors**2, axis=0) / 2, spread))
        theta = fit.parameters(
            replace(model, K=0 * model.K, innovation_covariance=G), np.array(starts)
        )
        theta = fit.maximize(theta, self.search.noise_steps)
        value = fit.value(theta)
        assert of_inputs is not None
        counts = np.sum(~np.isnan(y), axis=0)
        constant = 0.5 * np.sum(counts * (np.log(2 * np.pi * spread) + 1))
        constant -= of_inputs.loglikelihood(inputs)
        return float(np.exp((value - constant) / np.sum(counts)))


def _means(outputs: list[NDArray]) -> NDArray:
    """Means of the outputs that are seen, zero where there are none."""
    y = np.concatenate(outputs)
    seen = ~np.isnan(y)
    return np.asarray(np.where(seen, y, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))


def first_state(model: StateSpace, u: NDArray, y: NDArray) -> NDArray:
    """The state from which simulated outputs fit the outputs that are seen."""
    forced = state_sequence(model.A, np.zeros(model.order), u @ model.B.T) @ model.C.T
    left = y - forced - u @ model.D.T - model.output_offset
    free, seen = free_responses(model.A, model.C, len(y)), ~np.isnan(y)
    return np.asarray(np.linalg.lstsq(free[seen], left[seen], rcond=1e-6)[0])


def simulated(model: StateSpace, u: NDArray, y: NDArray, early: int) -> NDArray:
    """Simulated outputs; the first state fits the first samples."""
    return responses(model, u, first_state(model, u[:early], y[:early]))


def responses(model: StateSpace, u: NDArray, state: NDArray) -> NDArray:
    """Simulated outputs from some state; they may leave the range of numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        states = state_sequence(model.A, state, u @ model.B.T)
        return np.asarray(states @ model.C.T + u @ model.D.T + model.output_offset)


def trials(whole: NoiseFits, search: IdentificationSearch) -> list[Trial]:
    """One trial per held-out stretch."""
    lengths, found = [len(y) for y in whole.outputs], []
    for k in range(search.folds):
        held = [slice(k * n // search.folds, (k + 1) * n // search.folds) for n in lengths]
        found.append(Trial(whole, held, search))
    return [trial for trial in found if trial.usable]


class Search:
    """Candidates of all kinds and orders on all trials."""

    def __init__(self, whole: NoiseFits, orders: list[int], search: IdentificationSearch) -> None:
        self.whole, self.orders, self.search = whole, orders, search
        self.trials = trials(whole, search)
        self.exact = whole.input_model is not None and whole.input_error > search.plugged

    def candidate(self, kind: str, order: int, exact: bool) -> Candidate | None:
        """A kind and an order, on all trials."""
        training = self.trials[0].training
        count = training.parameter_count(kind, order)
        samples = sum(np.count_nonzero(~np.isnan(y)) for y in training.outputs)
        many = count > samples / self.search.samples and order > self.orders[0]
        if kind in LIKELY and many:
            return None
        fits = [trial.fitted(kind, order, exact) for trial in self.trials]
        found = [fit for fit in fits if fit is not None]
        if len(found) < len(fits) or not found:
            return None
        models = tuple(fit.model for fit in found)
        pairs = zip(self.trials, models, strict=True)
        errors = [trial.error(model, exact) * self.doubt(model) for trial, model in pairs]
        error = float(np.exp(np.mean(np.log(errors))))
        criterion = -2 * np.mean([fit.loglikelihood for fit in found]) + count * np.log(samples)
        return Candidate(kind, order, models, error, float(criterion))

    def doubt(self, model: StateSpace) -> float:
        """Factor for errors of models that have a pole at the bound."""
        radius = self.whole.radius
        poles = np.linalg.eigvals(own_part(model.A, self.whole.integrators))
        at_bound = poles[np.abs(poles) > 1 - self.search.at_bound * (1 - radius)]
        if radius >= 1 or not at_bound.size:
            return 1.0
        return self.search.doubt_of_mode if np.any(at_bound.imag) else self.search.doubt_of_decay

    def ranked(self, kinds: tuple[str, ...]) -> list[Candidate]:
        """Candidates, the best one first, by the rule in the docstring of `identify`."""
        fast = tuple(kind for kind in kinds if kind != "innovations")
        found = self._first_look(fast)
        if not found:
            return []
        order, likely = self._best_orders(found)
        near = [n for n in self.orders if abs(n - order) <= self.search.nearby or n == likely]
        if self.exact:
            self.trials = self.trials[:: self.search.sparse]
            pairs = [(kind, n) for n in near for kind in fast if kind == "white" or n == order]
            found = self._all(pairs)
            near = sorted(set(self._best_orders(found)))
        if "innovations" in kinds:
            found += self._all([("innovations", n) for n in near])
        return self._sorted(found)

    def _best_orders(self, found: list[Candidate]) -> tuple[int, int]:
        """The order of the best candidate, and that of the best one by maximum likelihood."""
        best = min(found, key=lambda c: c.error).order
        likely = [c for c in found if c.kind in LIKELY]
        return best, min(likely, key=lambda c: c.error).order if likely else best

    def _all(self, pairs: list[tuple[str, int]]) -> list[Candidate]:
        """Candidates of given kinds and orders, as far as there are starts for them."""
        found = [self.candidate(kind, order, self.exact) for kind, order in pairs]
        return [c for c in found if c is not None]

    def _sorted(self, found: list[Candidate]) -> list[Candidate]:
        """By error; but likelihood before ARX, and the criterion, decide where errors are close."""
        ranked = []
        while found:
            least = min(c.error for c in found)
            likely = [
                c for c in found if c.kind in LIKELY and c.error <= self.search.likely * least
            ]
            first = min(likely or found, key=lambda c: c.error)
            same = (c for c in found if c.kind == first.kind)
            close = [c for c in same if c.error <= self.search.as_good * first.error]
            best = min(close, key=lambda c: c.criterion)
            if least <= (enough := self.search.exact_fit * self.search.rough.floor):
                exact = [c for c in found if c.error <= enough]
                best = min(exact, key=lambda c: (c.order, c.kind != "white"))
            ranked.append(best)
            found = [c for c in found if c is not best]
        return ranked

    def _first_look(self, kinds: tuple[str, ...]) -> list[Candidate]:
        """Candidates with plugged inputs, for orders up to the one after which none is better."""
        found: list[Candidate] = []
        least, worse = np.inf, 0
        for order in self.orders:
            new = [self.candidate(kind, order, False) for kind in kinds]
            found += [c for c in new if c is not None]
            lowest = min((c.error for c in new if c is not None), default=np.inf)
            worse = 0 if lowest < least / self.search.as_good else worse + 1
            least = min(least, lowest)
            if worse == self.search.patience:
                break
        return found
