"""Calls in several threads: the results are those in sequence, and warnings work afterwards."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

from structrank import ConvergenceWarning, Hankel, Problem, recover, solve

T = np.arange(15)


def signal(seed):
    """A noisy tone with gaps, another one for every seed."""
    rng = np.random.default_rng(seed)
    samples = np.cos((0.3 + 0.1 * seed) * T + seed) + 0.1 * rng.standard_normal(T.size)
    samples[rng.choice(T.size, 3, replace=False)] = np.nan
    return samples


@pytest.mark.parametrize("effort", ["fast", pytest.param("normal", marks=pytest.mark.nightly)])
def test_thirty_recoveries_in_four_threads(effort):
    samples = [signal(seed) for seed in range(6)]
    call = partial(recover, effort=effort)
    expected = [call(one) for one in samples]
    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(call, 5 * samples))
    assert warnings.filters == before
    for one, other in zip(found, 5 * expected, strict=True):
        assert (one.kind, one.rank) == (other.kind, other.rank)
        np.testing.assert_array_equal(one.signal, other.signal)
        np.testing.assert_array_equal(one.stderr, other.stderr)
    problem = Problem(Hankel(T.size, window=8), np.nan_to_num(samples[0]), mu=0.1)
    with pytest.raises(ConvergenceWarning):  # warnings are errors here: it is still shown
        solve(problem, 1e-9, max_iter=1)
