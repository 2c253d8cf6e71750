"""Systems whose filter is unstable if it starts from an exact state, as `A - K C` outside the
unit circle: beside the literal filter, statsmodels, and their form with a stable predictor."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import block_diag
from test_kalman import close, covariance, engine, gaussian, literal, rotation, slope_of

from structrank import StateSpace
from structrank.systems.boundaries import Boundaries
from structrank.systems.chunks import Chunking, Chunks
from structrank.systems.settled import settled

ONE = StateSpace([[0.9]], None, [[1.0]], None, K=[[2.0]], innovation_covariance=[[1.0]])


def random_innovations(rng, kind=float, **start):
    r, p = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    A, C = gaussian(rng, r, r, kind=kind), gaussian(rng, p, r, kind=kind)
    A *= rng.choice([0.5, 0.9, 1.0]) / np.abs(np.linalg.eigvals(A)).max()
    K, G = gaussian(rng, r, p, kind=kind), covariance(rng, p, kind=kind) + 0.1 * np.eye(p)
    while np.abs(np.linalg.eigvals(A - K @ C)).max() < 1.02:
        K = 1.5 * K
    if start:
        start = {"x0": gaussian(rng, r, kind=kind), "x0_covariance": covariance(rng, r, kind=kind)}
    noise = {"K": K, "innovation_covariance": G, "output_offset": gaussian(rng, p)}
    return StateSpace(A, None, C, None, **noise, **start)


@pytest.mark.parametrize("K", [2.0, 1.95, 5.0, -3.0])
@pytest.mark.parametrize("samples", [50, 1000, 20_000])
@pytest.mark.parametrize("start", [None, "stationary"])
def test_one_state_equals_statsmodels(K, samples, start):
    model = replace(ONE, K=[[K]], x0_covariance=start)
    y = model.simulate(steps=samples)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the form of an output that is not used
        expected = model.to_statsmodels(y).smooth()
    assert model.loglikelihood(y) == pytest.approx(expected.llf, rel=1e-12)
    estimate = model.smooth(y)
    close(estimate.states, expected.smoothed_state[:1].T)
    close(estimate.state_variances, expected.smoothed_state_cov[0, 0][:, None])
    if start is None:
        proper = model.innovation_form()
        assert model.loglikelihood(y) == pytest.approx(proper.loglikelihood(y), rel=1e-12)
        close(model.predict(y)[1:], proper.predict(y)[1:])
        found, usual = (m.compare(y).predicted_fit for m in (model, proper))
        np.testing.assert_allclose(found, usual, atol=120 / np.sqrt(samples))


@pytest.mark.parametrize("seed", range(12))
def test_several_outputs_equal_the_literal_filter_and_the_stable_form(seed):
    rng = np.random.default_rng(seed)
    model = random_innovations(rng, complex if seed % 3 == 2 else float, known=True)
    y = model.simulate(steps=int(rng.choice([60, 400, 1500])), rng=rng)
    if seed % 2:
        y[len(y) // 2, 0] = np.nan
    twin, estimate = literal(model, y), model.smooth(y)
    assert model.loglikelihood(y) == pytest.approx(twin.loglikelihood, rel=1e-8)
    close(estimate.states, twin.states)
    close(estimate.state_variances, np.einsum("tii->ti", twin.covariances).real)
    close(estimate.innovations, twin.innovations)
    free = replace(model, x0=None, x0_covariance=None)
    expected = free.innovation_form().loglikelihood(y)
    assert free.loglikelihood(y) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_gradient_equals_finite_differences(seed):
    rng = np.random.default_rng(seed)
    model = random_innovations(rng, complex if seed == 3 else float, known=True)
    model = replace(model, R=1e-3 * np.eye(model.output_count))
    y = model.simulate(steps=400, rng=rng)
    value, gradient = model.loglikelihood_gradient(y)
    assert value == pytest.approx(model.loglikelihood(y), rel=1e-12)
    kind = complex if np.iscomplexobj(model.A) else float
    for name in ("A", "C", "output_offset", "x0", "R"):
        change = gaussian(rng, *getattr(model, name).shape, kind=kind)
        change = change @ change.conj().T if name == "R" else change
        slope = slope_of(lambda m: m.loglikelihood(y), model, name, change)
        found = np.sum(gradient[name].conj() * change).real
        assert found == pytest.approx(slope, rel=1e-5, abs=1e-3)


@pytest.mark.parametrize("sizes", [Chunking(1), Chunking(7, 100), Chunking(1000)])
def test_the_size_of_chunks_does_not_matter(sizes):
    for start in ({}, {"x0": [0.3], "x0_covariance": [[0.5]]}):
        model = replace(ONE, **start)
        y = model.simulate(steps=300, initial=[0.3])
        value = Boundaries(Chunks(*engine(model, y), sizes)).loglikelihood[0, 0]
        assert value == pytest.approx(model.loglikelihood(y), rel=1e-11)


def test_states_that_grow_without_noise_beside_pure_modes_are_a_regression():
    """Nothing settles in the pure modes, so the equation of the stationary filter has no answer."""
    A = block_diag(rotation(0.3), [[1.1]])
    model = StateSpace(A, None, [[1.0, 0.0, 1.0]], None, R=[[1.0]])
    y = np.random.default_rng(0).standard_normal((300, 1))
    powers = np.stack([np.linalg.matrix_power(A, t) for t in range(300)])
    rows = (model.C @ powers)[:, 0]
    scale = np.linalg.norm(rows, axis=0)
    left = np.linalg.qr(rows / scale)[0]
    log_information = 2 * np.sum(np.log(np.abs(np.diag(np.linalg.qr(rows / scale)[1])) * scale))
    squares = np.sum(y**2) - np.sum((left.T @ y) ** 2)
    expected = -0.5 * (squares + log_information + 300 * np.log(2 * np.pi))
    assert model.loglikelihood(y) == pytest.approx(expected, rel=1e-9)
    close(model.smooth(y).signals[:, 0], left @ (left.T @ y[:, 0]))


def test_a_first_state_that_is_known_exactly():
    """Errors grow by 3e3 and 4e4: rounding does not matter yet, nor does its variance."""
    model = replace(ONE, K=[[2.2]], x0=[0.7])
    for samples in (30, 40):
        y = model.simulate(steps=samples, rng=1)
        twin = literal(model, y, dtype=np.longdouble)
        assert model.loglikelihood(y) == pytest.approx(twin.loglikelihood, abs=0.01)
    # They grow by 1e113: the true first state predicts as well as one that is known nearly.
    y = model.simulate(steps=1000, rng=1)
    near = replace(model, x0_covariance=[[1e-3]])
    assert model.loglikelihood(y) == pytest.approx(near.loglikelihood(y), rel=0.02)
    assert np.std(model.smooth(y).innovations) == pytest.approx(1.0, abs=0.1)


def test_only_filters_whose_errors_grow_have_a_settled_covariance():
    H, W = engine(ONE, np.zeros((9, 1)))[0].H, ONE.noise_covariance
    np.testing.assert_allclose(settled(H, W, 1, 10**6), [[1.1**2 - 1]], rtol=1e-3)
    assert settled(H, W, 1, 9) is None
    double = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert settled(double, np.eye(3), 1, 10**6) is None
    unseen = np.array([[0.0], [1.1]])
    assert settled(unseen, np.eye(2), 1, 10**3) is None
