"""Samples and inputs that are given to a `StateSpace`, as arrays for the filter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._array import NDArray, as_array, to_numpy
from .._checks import finite_or_missing
from ..model.sample_range import SampleRange
from .chunks import Gaussian, Records
from .records import is_list_of_records, series

if TYPE_CHECKING:
    from .state_space import StateSpace


@dataclass(frozen=True)
class Given:
    """A system and records: `samples` as given, `inputs` (T, M, m) less their offset.

    `several` says whether the samples came as a list. Records that are shorter than the longest one
    are followed by missing samples.
    """

    model: StateSpace
    gaussian: Gaussian
    records: Records
    samples: list[NDArray]
    inputs: NDArray
    several: bool

    @classmethod
    def of(cls, model: StateSpace, samples: Any, inputs: Any) -> Given:
        """Check samples and inputs."""
        several = is_list_of_records(samples)
        outputs = [_outputs(model, x) for x in (samples if several else [samples])]
        given = _inputs(model, inputs, outputs, several)
        T, M, p = max(map(len, outputs)), len(outputs), model.output_count
        y = np.full((T, p, 1, M), np.nan, dtype=outputs[0].dtype)
        u = np.zeros((T, M, model.input_count))
        for i, (values, known) in enumerate(zip(outputs, given, strict=True)):
            u[: len(values), i] = known
            shown = known @ model.D.T + model.output_offset
            y[: len(values), :, 0, i] = values - shown
        seen = ~np.isnan(y[:, :, 0])
        drive = np.moveaxis(u @ model.B.T, 1, 2)[:, :, None] if model.input_count else None
        covariance, diffuse = model.first_covariance
        mean = np.zeros(model.order, dtype=model.A.dtype)
        if model.x0 is not None:
            mean[~diffuse] = model.x0[~diffuse]
        H = np.concatenate([model.C, model.A])
        gaussian = Gaussian(H, model.noise_covariance, mean, covariance, diffuse)
        records = Records(np.where(np.isnan(y), 0, y), seen, drive)
        return cls(model, gaussian, records, outputs, u, several)

    def estimable(self) -> tuple[Given, float]:
        """The same for estimates of states, and a factor of their variances.

        Of a system without noise whose first state is not known, least squares finds this state:
        then outputs have noise of variance one, and the factor is zero.
        """
        g, p = self.gaussian, self.model.output_count
        if np.any(g.W) or not np.all(g.diffuse):
            return self, 1.0
        W = np.diag(np.arange(len(g.W)) < p).astype(g.W.dtype)
        return replace(self, gaussian=replace(g, W=W)), 0.0

    def one(self) -> Given:
        """Raise an error unless there is one record."""
        if len(self.samples) != 1:
            raise ValueError(
                f"samples are a list of {len(self.samples)} records, but one record is expected"
            )
        return self

    def shown(self, record: int) -> NDArray:
        """What inputs and offsets add to the outputs of a record."""
        u = self.inputs[: len(self.samples[record]), record]
        return np.asarray(u @ self.model.D.T + self.model.output_offset)


def _outputs(model: StateSpace, values: Any) -> NDArray:
    """Samples of one record, of shape (samples, p) and of the system's dtype."""
    x = to_numpy(as_array(values))
    p = model.output_count
    if x.dtype.kind not in "fciu":
        raise TypeError(f"samples have dtype {x.dtype}, but numbers are expected")
    if x.dtype.kind == "c" and not np.iscomplexobj(model.A):
        raise TypeError("samples are complex, but the system is real: make A complex")
    shown = x[:, None] if x.ndim == 1 else x
    if shown.ndim != 2 or not len(shown) or shown.shape[1] != p:
        raise ValueError(f"samples have shape {x.shape}, but (samples, {p}) is expected")
    shown = shown.astype(model.A.dtype)
    finite_or_missing(shown, "samples")
    SampleRange().check(shown)
    return np.asarray(shown)


def _inputs(model: StateSpace, inputs: Any, outputs: list[NDArray], several: bool) -> list[NDArray]:
    """Inputs less their offset, one array per record."""
    if not model.input_count:
        if inputs is not None:
            raise ValueError("inputs are given, but the system has none: pass samples alone")
        return [np.zeros((len(y), 0)) for y in outputs]
    if inputs is None:
        raise ValueError(
            f"the system has {model.input_count} inputs, but none are given: pass inputs"
        )
    if several and (not is_list_of_records(inputs) or len(inputs) != len(outputs)):
        raise ValueError(
            f"samples are a list of {len(outputs)} records, so a list of {len(outputs)} arrays of "
            "inputs is expected"
        )
    arrays = [series(x, "inputs", model.input_count) for x in (inputs if several else [inputs])]
    for u, y in zip(arrays, outputs, strict=True):
        if len(u) != len(y):
            raise ValueError(
                f"inputs have {len(u)} rows and samples have {len(y)}: equal numbers are expected"
            )
    return [model.filled_inputs(u) - model.input_offset for u in arrays]
