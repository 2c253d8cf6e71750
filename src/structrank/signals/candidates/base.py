"""What a candidate of `recover` has to offer: predictions of held-out samples, and an estimate."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..._array import Array, NDArray, like
from ...components.noise_floor import SeenValues
from ...model.problem import Problem
from ..estimates import ErrorDraws, Estimate, FirstEstimate
from ..solutions import Known, Solution
from ..trial import Trial


@dataclass(frozen=True, eq=False)
class ErrorProfile:
    """How the size of errors varies along the signal.

    Attributes
    ----------
    held_out : ndarray
        Relative size at the held-out samples, all parts one after the other.
    signal : ndarray
        Relative size at every value, in the shape of the structure's signals.
    share : ndarray
        Share of the error of a new sample that is the error of the signal, in the same shape. One
        if the noise is not known.
    draws : callable or None
        Joint draws of such errors, over their standard errors, as `Estimate.errors`; None if they
        are not known.
    seen : SeenValues or None
        What a model says of the signal at seen samples, which `signal` and `share` do not tell.
    """

    held_out: NDArray
    signal: NDArray
    share: NDArray = field(default_factory=lambda: np.ones(()))
    draws: ErrorDraws | None = None
    seen: SeenValues | None = None

    def errors(self, residual: NDArray, signal: NDArray) -> tuple[NDArray, NDArray]:
        """Return the errors of a signal and of new samples, at every value, as deviations.

        Parameters
        ----------
        residual : ndarray
            Predicted minus held-out samples, which tell the size of all errors.
        signal : ndarray
            The estimate from all samples.
        """
        size = np.sqrt(np.mean(np.abs(residual / self.held_out) ** 2))
        deviation = size * self.signal
        stderr = deviation * self.share
        if self.seen is None:
            return stderr, deviation
        return self.seen.errors(signal, size, stderr, deviation)


UNIFORM = ErrorProfile(np.ones(()), np.ones(()))


class Prediction(ABC):
    """What one estimate predicts for the held-out samples of a trial.

    Parameters
    ----------
    candidate : Candidate
        Whose prediction this is.
    residual : ndarray
        Predicted minus held-out samples, all parts one after the other (`Trial.residual`).
    profile : ErrorProfile or None
        How the size of the errors varies along the signal, if it does.
    """

    def __init__(
        self, candidate: Candidate, residual: NDArray, profile: ErrorProfile | None = None
    ) -> None:
        self.candidate, self.residual, self.profile = candidate, residual, profile

    @property
    def is_trend(self) -> bool:
        """Whether the estimate is one constant, or one that decays or grows."""
        return False

    def over_trend(self, squares: float, parameters: int) -> float:
        """Return by how much Akaike's criterion of a trend exceeds that of the estimate.

        Minus infinity if the estimate is not that of a model with a likelihood.

        Parameters
        ----------
        squares : float
            Sum of the squared distances of all samples from the trend.
        parameters : int
            Number of parameters of the trend beside its size.
        """
        return -np.inf

    @property
    def parts(self) -> list[Prediction]:
        """The predictions that this one is an average of: itself alone, as a rule."""
        return [self]

    @abstractmethod
    def estimate(self) -> Estimate:
        """Return the estimate from all samples."""

    def refined(self) -> Prediction:
        """Return a better prediction that takes more work, for one that was chosen; or itself."""
        return self


class Candidate(ABC):
    """One way to estimate a signal.

    Attributes
    ----------
    name : str
        Value of `Recovery.kind`, and of the argument `kind` of `recover`.
    label : str
        What summaries call the estimate.
    model : str
        What reports say the signal is modelled as, with {rank} in place of the rank.
    note : str
        What reports say about the signal shown and the certificate; empty if they belong together.
    preferred : bool
        Whether others have to be clearly better to be chosen instead.
    weighted : bool
        Whether its predictions enter an average with a weight that depends on their errors, rather
        than as one of several that are about the best.
    from_solution : bool
        Whether it uses the convex solution, if there is one.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    model: ClassVar[str] = (
        "sum of a few (damped) sinusoids, exponentials and slow trends: {rank} of them"
    )
    note: ClassVar[str] = ""
    preferred: ClassVar[bool] = False
    weighted: ClassVar[bool] = False
    from_solution: ClassVar[bool] = False

    def first_estimate(self, problem: Problem, known: Known) -> FirstEstimate | None:
        """Return an estimate from the samples alone, before any convex problem is solved."""
        return None

    def last_estimate(self, problem: Problem, known: Known) -> Estimate | None:
        """Return an estimate that explains the samples where no prediction did, if there is one."""
        return None

    @abstractmethod
    def predict(self, trial: Trial) -> list[Prediction]:
        """Predict the held-out samples of a trial.

        Returns
        -------
        list of Prediction
            One for each variant that competes; none if the candidate does not apply.
        """

    def least_seconds(self, trial: Trial) -> float:
        """Return about how long a prediction takes at least, even if time is up."""
        return 0.0

    def direct_estimate(self, solution: Solution, known: Known) -> Estimate | None:
        """Return the estimate if it knows its standard error without held-out samples."""
        return None


def everywhere(error: NDArray | float, signal: Array) -> Array:
    """Return an error in the shape, library and precision of a signal."""
    return 0 * abs(signal) + like(np.asarray(error), signal, real=True)
