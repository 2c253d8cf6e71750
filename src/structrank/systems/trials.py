"""Held-out stretches of records: models of the rest, and how well they simulate the stretches."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from .._array import NDArray
from .maximum_likelihood import MaximumLikelihood
from .noise_fits import Fitted, NoiseFits
from .preparation import stretches
from .recursion import free_responses, state_sequence
from .search_rules import IdentificationSearch
from .state_space import StateSpace


class Trial:
    """Records with one held-out stretch each: models are fitted without its outputs."""

    def __init__(self, whole: NoiseFits, held: list[slice], search: IdentificationSearch) -> None:
        self.held, self.search = held, search
        outputs = [y.copy() for y in whole.outputs]
        stretches = []
        for i, (rows, y) in enumerate(zip(held, outputs, strict=True)):
            y[rows] = np.nan
            both = slice(0, rows.start), slice(rows.stop, len(y))
            stretches += [(i, part) for part in both if part.start < part.stop]
        self.training = replace(whole, outputs=outputs, stretches=stretches, rules=search.rough)
        self.centre = _means(outputs)
        parts = (whole.inputs, whole.known_inputs, whole.outputs)
        self.rest = [tuple(x[rows] for x in xs) for *xs, rows in zip(*parts, held, strict=True)]
        self._fits: dict[tuple[str, int, bool], Fitted | None] = {}

    @property
    def usable(self) -> bool:
        """Whether outputs are seen in the other stretches, and vary in the held-out ones."""
        there = any(np.any(~np.isnan(y)) for y in self.training.outputs)
        return there and bool(np.any(self._varies))

    @cached_property
    def _varies(self) -> NDArray:
        """Which outputs differ from the mean of the other samples in the held-out stretches."""
        y = np.concatenate([y for *_, y in self.rest])
        return np.asarray(np.any(np.abs(y - self.centre) > self.search.rough.floor, axis=0))

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

    def errors(self, model: StateSpace, exact: bool) -> tuple[float, float]:
        """Held-out error, and the one with offsets of the stretches."""
        if exact:
            return self._likely_error(model), np.inf
        return self._simulated_error(model), self._simulated_error(_levelled(model))

    def _simulated_error(self, model: StateSpace) -> float:
        """Error of simulated outputs over that of the mean of the other samples."""
        wrong = constant = np.zeros(model.output_count)
        for _, u, y in self.rest:
            early = min(self.search.early, len(y) // 2)
            error = np.where(np.isnan(y), 0.0, y - simulated(model, u, y, early))
            wrong = wrong + np.sum(error**2, axis=0)
            constant = constant + np.nansum((y - self.centre) ** 2, axis=0)
        floor = self.search.rough.floor
        shares = np.sqrt(wrong[self._varies] / constant[self._varies] + floor**2)
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
        spread = self._variances(y)
        triples = zip(known, outputs, starts, strict=True)
        errors = np.concatenate([x - responses(model, u, s) for u, x, s in triples])
        # Half of the error is a guess of the share that is not due to missing inputs.
        G = np.diag(np.minimum(self._variances(errors) / 2, spread))
        theta = fit.parameters(
            replace(model, K=0 * model.K, innovation_covariance=G), np.array(starts)
        )
        theta = fit.maximize(theta, self.search.noise_steps)
        value = fit.value(theta)
        assert of_inputs is not None
        counts = np.sum(~np.isnan(y), axis=0)
        constant = 0.5 * np.sum(counts * (np.log(2 * np.pi * spread) + 1))
        constant -= of_inputs.loglikelihood([u[:, : of_inputs.output_count] for u in inputs])
        return float(np.exp((value - constant) / np.sum(counts)))

    def _variances(self, y: NDArray) -> NDArray:
        """Mean squares of what is seen, above the floor; outputs may be unseen or constant."""
        counts = np.maximum(np.sum(~np.isnan(y), axis=0), 1)
        means = np.nansum(y**2, axis=0) / counts
        return np.asarray(np.maximum(means, self.search.rough.floor**2))


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


def _levelled(model: StateSpace) -> StateSpace:
    """The model with an offset of the outputs as more states."""
    p, m = model.output_count, model.input_count
    return StateSpace(
        block_diag(model.A, np.eye(p)),
        np.concatenate([model.B, np.zeros((p, m))]),
        np.concatenate([model.C, np.eye(p)], axis=1),
        model.D,
        output_offset=model.output_offset,
    )


def responses(model: StateSpace, u: NDArray, state: NDArray) -> NDArray:
    """Simulated outputs from some state; they may leave the range of numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        states = state_sequence(model.A, state, u @ model.B.T)
        return np.asarray(states @ model.C.T + u @ model.D.T + model.output_offset)


def trials(whole: NoiseFits, search: IdentificationSearch) -> list[Trial]:
    """One trial per held-out stretch."""
    parts = zip(*(stretches(len(y), search.folds) for y in whole.outputs), strict=True)
    found = [Trial(whole, list(held), search) for held in parts]
    return [trial for trial in found if trial.usable]
