"""Models of several orders and kinds of noise, and the choice between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._array import NDArray
from .integrators import own_part, own_radius
from .noise_fits import NoiseFits
from .search_rules import IdentificationSearch
from .state_space import StateSpace
from .trials import trials

LIKELY = ("white", "innovations")


@dataclass(frozen=True, eq=False)
class Candidate:
    """A kind and an order: models of all trials, held-out errors, Bayesian criterion.

    `errors` has one row per trial: the error, and that with offsets of the held-out stretches.
    """

    kind: str
    order: int
    models: tuple[StateSpace, ...]
    errors: NDArray
    criterion: float

    @property
    def error(self) -> float:
        """Geometric mean of the errors of all trials."""
        return self._means[0]

    @property
    def levelled(self) -> float:
        """The same if held-out stretches have offsets of their own."""
        return self._means[1]

    @cached_property
    def _means(self) -> tuple[float, float]:
        error, levelled = np.exp(np.mean(np.log(self.errors), axis=0))
        return float(error), float(levelled)


class Search:
    """Candidates of all kinds and orders on all trials.

    `drifts` tells whether held-out stretches have offsets of their own: this is so if the best
    candidate is better with them.
    """

    drifts = False

    def __init__(self, whole: NoiseFits, orders: list[int], search: IdentificationSearch) -> None:
        self.whole, self.orders, self.search = whole, orders, search
        self.trials = trials(whole, search)
        self.exact = whole.input_model is not None and whole.input_error > search.plugged

    def candidate(self, kind: str, order: int, exact: bool) -> Candidate | None:
        """A kind and an order, on all trials."""
        training = self.trials[0].training
        if order > self.orders[0] and self._too_few(kind, order):
            return None
        fits = [trial.fitted(kind, order, exact) for trial in self.trials]
        found = [fit for fit in fits if fit is not None]
        if len(found) < len(fits) or not found:
            return None
        models = tuple(fit.model for fit in found)
        pairs = zip(self.trials, models, strict=True)
        both = [np.multiply(trial.errors(m, exact), self.doubt(m)) for trial, m in pairs]
        price = training.parameter_count(kind, order) * np.log(training.seen_count)
        criterion = price - 2 * np.mean([fit.loglikelihood for fit in found])
        return Candidate(kind, order, models, np.array(both), float(criterion))

    def _too_few(self, kind: str, order: int) -> bool:
        """Whether too few outputs are seen for the parameters of a kind and order."""
        if kind in LIKELY:
            return self.trials[0].training.few_samples(kind, order, self.search.samples)
        return self.whole.few_samples(kind, order, 1)

    def error(self, candidate: Candidate) -> float:
        """Held-out error by which candidates are compared."""
        return candidate.levelled if self.drifts else candidate.error

    def may_predict_nothing(self, candidate: Candidate) -> bool:
        """Whether one is within two standard errors of the held-out error, if it has enough."""
        logs = np.log(candidate.errors[:, int(self.drifts)])
        if len(logs) < self.search.enough_trials:
            return False
        return bool(np.mean(logs) + 2 * np.std(logs, ddof=1) / np.sqrt(len(logs)) > 0)

    def _comes_first(self, fit: Candidate, best: Candidate) -> bool:
        """Whether a fit of maximum likelihood is as good as the candidate with the least error."""
        if self.exact:
            return self.error(fit) <= self.search.likely_if_unknown * self.error(best)
        own, least = (candidate.errors[:, int(self.drifts)] for candidate in (fit, best))
        everywhere = bool(np.all(own <= self.search.likely_everywhere * least))
        return everywhere and self.error(fit) <= self.search.likely * self.error(best)

    def doubt(self, model: StateSpace) -> float:
        """Factor for errors of models that have a pole at the bound, or one beside integrators."""
        radius, integrators = self.whole.radius, self.whole.integrators
        near = self.search.near_one if integrators else self.search.at_bound
        poles = np.linalg.eigvals(own_part(model.A, integrators))
        at_bound = poles[np.abs(poles) > 1 - near * (1 - radius)]
        if radius >= 1 or not at_bound.size:
            return 1.0
        return self.search.doubt_of_mode if np.any(at_bound.imag) else self.search.doubt_of_decay

    def trusted(self, model: StateSpace, best: Candidate) -> bool:
        """Whether the poles of the final model are no slower than those of the trials."""
        doubts, times = zip(*((self.doubt(m), self._duration(m)) for m in best.models), strict=True)
        slow = self._duration(model) > self.search.slower * np.median(times)
        return not slow and self.doubt(model) <= float(np.median(doubts))

    def _duration(self, model: StateSpace) -> float:
        """Samples until the slowest mode has fallen to 1/e; integrators do not count."""
        radius = own_radius(model.A, self.whole.integrators)
        return np.inf if radius >= 1 else float(-1 / np.log(max(radius, 1e-300)))

    def integrators(self, best: Candidate) -> int:
        """How many poles of a candidate are as close to one as the record can tell."""
        near = self.search.near_one * (1 - self.whole.radius)
        counts = [np.sum(np.abs(np.linalg.eigvals(m.A) - 1) < near) for m in best.models]
        return min(int(np.median(counts)), self.search.most_integrators)

    def ranked(self, kinds: tuple[str, ...]) -> list[Candidate]:
        """Candidates, the best one first, by the rule in the docstring of `identify`."""
        fast = tuple(k for k in kinds if k != "innovations")
        found = self._first_look(fast)
        if not found:
            return []
        if self.whole.offset and not (self.exact or self.whole.integrators):
            self.drifts = min(c.levelled for c in found) < min(c.error for c in found)
        order, likely = self._best_orders(found)
        near = [n for n in self.orders if abs(n - order) <= self.search.nearby or n == likely]
        if self.exact:
            self.trials = self.trials[:: self.search.sparse]
            # Integrators add up the errors of plugged inputs, so low orders get another chance.
            low = self.orders[: self.search.nearby + 1] if self.whole.integrators else []
            near = sorted({*low, *near})
            pairs = [(kind, n) for n in near for kind in fast if kind == "white" or n == order]
            found = self._all(pairs)
            near = sorted({*low, order, *self._best_orders(found)})
        if "innovations" in kinds:
            found += self._climbed(near)
        return self._sorted(found)

    def _climbed(self, near: list[int]) -> list[Candidate]:
        """Prediction-error fits of some orders, and of larger ones until a pair is no better."""
        found = self._all([("innovations", n) for n in near])
        while found and found[-1].order < self._least_order(found) + 2:
            larger = self._all([("innovations", n) for n in self.orders if n > found[-1].order][:1])
            if not larger:
                break
            found += larger
        return found

    def _best_orders(self, found: list[Candidate]) -> tuple[int, int]:
        """The least order that is as good as the best, of all fits and of maximum likelihood."""
        likely = [c for c in found if c.kind in LIKELY]
        return self._least_order(found), self._least_order(likely or found)

    def _least_order(self, found: list[Candidate]) -> int:
        enough = self.search.as_good * min(map(self.error, found))
        return min(c.order for c in found if self.error(c) <= enough)

    def _all(self, pairs: list[tuple[str, int]]) -> list[Candidate]:
        """Candidates of given kinds and orders, as far as there are starts for them."""
        found = [self.candidate(kind, order, self.exact) for kind, order in pairs]
        return [c for c in found if c is not None]

    def _sorted(self, found: list[Candidate]) -> list[Candidate]:
        """By error; but likelihood before ARX, and the criterion, decide where errors are close."""
        ranked = []
        while found:
            best = min(found, key=self.error)
            least = self.error(best)
            likely = [c for c in found if c.kind in LIKELY and self._comes_first(c, best)]
            first = min(likely or found, key=self.error)
            same = (c for c in found if c.kind == first.kind)
            close = [c for c in same if self.error(c) <= self.search.as_good * self.error(first)]
            best = min(close, key=lambda c: c.criterion)
            if least <= (enough := self.search.exact_fit * self.search.rough.floor):
                exact = [c for c in found if self.error(c) <= enough]
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


def searched(
    whole: NoiseFits,
    orders: list[int],
    kinds: tuple[str, ...],
    integrators: int | None,
    search: IdentificationSearch,
) -> tuple[Search, list[Candidate]]:
    """Candidates, the best one first; with integrators if they predict better or are given."""
    look = Search(whole.integrating(integrators) if integrators else whole, orders, search)
    ranked = look.ranked(kinds)
    if integrators is not None or not ranked:
        return look, ranked
    enough, chosen = search.integrates * look.error(ranked[0]), (look, ranked)
    for count in range(1, look.integrators(ranked[0]) + 1):
        other = Search(whole.integrating(count), [n for n in orders if n >= count], search)
        found = other.ranked(kinds)
        if found and other.error(found[0]) < enough:
            enough, chosen = other.error(found[0]) / search.as_good, (other, found)
    return chosen
