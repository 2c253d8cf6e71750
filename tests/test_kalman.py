"""The Kalman filter of `StateSpace` beside a literal one and that of statsmodels."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from literal_kalman import literal_smoother
from scipy.linalg import block_diag

from structrank import StateSpace
from structrank.systems.boundaries import SURE, Boundaries
from structrank.systems.chunks import Chunking, Chunks, Gaussian, Records
from structrank.systems.likelihood import log_likelihood, value_and_gradient
from structrank.systems.smoothing import smoothed

RELATIVE = 1e-8
CHAIN = np.eye(4) + np.eye(4, k=1)  # integrators: cubic polynomials, which few samples hardly tell


def rotation(omega, rho=1.0):
    c, s = np.cos(omega), np.sin(omega)
    return rho * np.array([[c, -s], [s, c]])


def gaussian(rng, *shape, kind=float):
    values = rng.standard_normal(shape)
    return values + 1j * rng.standard_normal(shape) if kind is complex else values


def covariance(rng, n, rank=None, kind=float):
    root = gaussian(rng, n, n if rank is None else rank, kind=kind)
    return root @ root.conj().T


def random_model(rng, kind=float, **more):
    """A system of 1 to 7 states and 1 to 3 outputs; the seed decides about noise and poles."""
    r, p, m = rng.integers(1, 8), rng.integers(1, 4), rng.integers(0, 3) * (kind is float)
    A = gaussian(rng, r, r, kind=kind)
    A *= rng.choice([0.5, 0.9, 0.99]) / np.abs(np.linalg.eigvals(A)).max()
    style = rng.choice(["joint", "driven", "innovations", "modes", "trend"])
    R = covariance(rng, p, kind=kind) + 0.1 * np.eye(p)  # statsmodels loses digits if R is tiny
    noise = {"R": R, "Q": covariance(rng, r, rng.integers(0, r), kind)}
    if style == "joint":
        W = covariance(rng, r + p, kind=kind)
        noise = {"Q": W[:r, :r], "R": W[r:, r:], "S": W[:r, r:]}
    elif style == "innovations":
        noise = {"K": gaussian(rng, r, p, kind=kind), "innovation_covariance": noise["R"]}
    elif style == "modes":  # on the unit circle, without noise
        r, A = 4, block_diag(rotation(0.3), rotation(1.4)).astype(kind)
        noise["Q"] = None
    elif style == "trend":  # an integrator that noise drives, and a decay without noise
        r, A = 3, block_diag([[1.0, 1.0], [0.0, 1.0]], [[0.8]]).astype(kind)
        noise["Q"] = np.diag([0.0, 0.1, 0.0])
    C = gaussian(rng, p, r, kind=kind)
    inputs = (gaussian(rng, r, m), gaussian(rng, p, m)) if m else (None, None)
    start = {"x0": gaussian(rng, r, kind=kind), "x0_covariance": covariance(rng, r, kind=kind)}
    if rng.random() < 0.4 and m == 0:
        start = {}
    offsets = {"input_offset": gaussian(rng, m), "output_offset": gaussian(rng, p)}
    if style == "innovations":
        noise["K"] = noise["K"][:r]
    return StateSpace(A, inputs[0], C, inputs[1], **noise, **start, **offsets, **more)


def random_record(rng, model, samples, missing=0.4):
    u = rng.standard_normal((samples, model.input_count)) if model.input_count else None
    y = model.simulate(u, steps=None if model.input_count else samples, rng=rng)
    y[rng.random(y.shape) < missing] = np.nan
    return y, u


def literal(model, y, u=None, **options):
    p = model.output_count
    W, (P, diffuse) = model.noise_covariance, model.first_covariance
    assert not np.any(diffuse)
    m = np.zeros(model.order) if model.x0 is None else model.x0
    u = np.zeros((len(y), 0)) if u is None else u - model.input_offset
    y = y - u @ model.D.T - model.output_offset
    arrays = (model.A, model.C, W[p:, p:], W[:p, :p], W[p:, :p], m, P)
    return literal_smoother(*arrays, y, u @ model.B.T, **options)


def close(actual, expected, relative=RELATIVE):
    """Equal up to `relative` times the largest entry; the same entries are NaN."""
    scale = np.nanmax(np.abs(expected)) if np.any(~np.isnan(expected)) else 1.0
    np.testing.assert_allclose(actual, expected, rtol=0, atol=relative * scale)


def embedded(model, y):
    """A complex system as a real one, of real and imaginary parts."""

    def real(M):
        return np.block([[M.real, -M.imag], [M.imag, M.real]])

    def stacked(x):
        x = np.where(np.isnan(x), np.nan + 1j * np.nan, x)
        return np.concatenate([x.real, x.imag], axis=-1)

    p, W = model.output_count, model.noise_covariance
    noise = {"Q": W[p:, p:], "R": W[:p, :p], "S": W[p:, :p]}
    noise = {name: real(M) / 2 for name, M in noise.items()}
    P = None if model.x0_covariance is None else real(model.x0_covariance) / 2
    x0 = None if model.x0 is None else stacked(model.x0)
    start = {"x0": x0, "x0_covariance": P, "output_offset": stacked(model.output_offset)}
    return StateSpace(real(model.A), None, real(model.C), None, **noise, **start), stacked(y)


# -- against the literal filter and statsmodels ------------------------------------------------


def variances_of_pure_modes(model, y):
    """Without noise of the states: least squares for the first one, which is diffuse."""
    powers = [np.linalg.matrix_power(model.A, t) for t in range(len(y))]
    information = np.zeros_like(model.A)
    for power, seen in zip(powers, ~np.isnan(y), strict=True):
        rows = model.C[seen] @ power
        information += rows.T @ np.linalg.solve(model.R[np.ix_(seen, seen)], rows)
    return np.stack([np.diag(power @ np.linalg.solve(information, power.T)) for power in powers])


@pytest.mark.parametrize("seed", range(140))
def test_equals_statsmodels_and_the_literal_filter(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    y, u = random_record(rng, model, int(rng.integers(25, 90)))
    value, estimate = model.loglikelihood(y, u), model.smooth(y, u)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the form of an output that is not used
        expected = model.to_statsmodels(y, u).smooth()
    r = model.order
    assert value == pytest.approx(expected.llf, rel=RELATIVE)
    close(estimate.states, expected.smoothed_state[:r].T)
    if model.x0 is None and not np.any(model.noise_covariance[-r:, -r:]):
        # Pure modes from a diffuse start: statsmodels loses up to half of the digits.
        close(estimate.state_variances, variances_of_pure_modes(model, y))
    else:
        close(estimate.state_variances, np.einsum("iit->ti", expected.smoothed_state_cov)[:, :r])
    if model.x0 is not None:
        twin = literal(model, y, u)
        assert value == pytest.approx(twin.loglikelihood, rel=RELATIVE)
        close(estimate.states, twin.states)
        close(estimate.state_variances, np.einsum("tii->ti", twin.covariances))
        close(estimate.innovations, twin.innovations)
        signal = np.einsum("pi,tij,pj->tp", model.C, twin.covariances, model.C)
        close(estimate.signal_variances, signal)


@pytest.mark.parametrize("seed", range(140, 200))
def test_complex_systems_equal_the_literal_filter_and_a_real_system(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, complex)
    y, _ = random_record(rng, model, int(rng.integers(25, 90)))
    value, estimate = model.loglikelihood(y), model.smooth(y)
    if model.x0 is not None:
        twin = literal(model, y)
        assert value == pytest.approx(twin.loglikelihood, rel=RELATIVE)
        close(estimate.states, twin.states)
        close(estimate.state_variances, np.einsum("tii->ti", twin.covariances).real)
        close(estimate.innovations, twin.innovations)
    real, parts = embedded(model, y)
    # A complex variance kappa of a diffuse state is kappa / 2 in each part.
    free = 0 if model.x0 is not None else model.order
    assert value == pytest.approx(real.loglikelihood(parts) + free * np.log(2), rel=RELATIVE)
    again = real.smooth(parts)
    r = model.order
    close(estimate.states, again.states[:, :r] + 1j * again.states[:, r:])
    close(estimate.state_variances, again.state_variances[:, :r] + again.state_variances[:, r:])
    p = model.output_count
    close(estimate.outputs, again.outputs[:, :p] + 1j * again.outputs[:, p:])
    close(estimate.output_variances, again.output_variances[:, :p] + again.output_variances[:, p:])


def test_several_groups_of_chunks():
    """More chunks than are filtered side by side."""
    rng = np.random.default_rng(0)
    A = block_diag(rotation(0.2), *(rotation(0.3 * k, 0.98) for k in range(1, 10)))
    Q = np.diag([0.0, 0.0] + [0.1] * 18)
    first = {"x0": np.ones(20), "x0_covariance": np.eye(20)}
    model = StateSpace(A, None, gaussian(rng, 1, 20), None, Q=Q, R=[[1.0]], **first)
    n = 4001
    ys = [random_record(rng, model, n)[0] for _ in range(2)]
    chunks = Chunks(
        engine(model, ys[0])[0],
        Records(np.zeros((n, 1, 1, 2)), np.zeros((n, 1, 2), dtype=bool), None),
    )
    assert chunks.count > chunks.together
    assert n % chunks.length
    for y, estimate in zip(ys, model.smooth(ys), strict=True):
        expected = model.to_statsmodels(y).smooth()
        assert model.loglikelihood(y) == pytest.approx(expected.llf, rel=RELATIVE)
        close(estimate.states, expected.smoothed_state.T)
        close(estimate.state_variances, np.einsum("iit->ti", expected.smoothed_state_cov))


def test_many_records_with_an_unknown_start_are_several_groups():
    rng = np.random.default_rng(20)
    A, Q = np.array([[1.0, 1.0], [0.0, 1.0]]), np.diag([1e-2, 1e-3])
    model = StateSpace(A, None, [[1.0, 0.0]], None, Q=Q, R=[[1.0]])
    ys = list(gaussian(rng, 60, 100, 1))
    for y in ys:
        y[rng.random(y.shape) < 0.3] = np.nan
    predicted = model.predict(ys)
    for i, estimate in list(enumerate(model.smooth(ys)))[::20]:
        alone = model.smooth(ys[i])
        close(estimate.innovations, alone.innovations)
        close(estimate.states, alone.states)
        close(predicted[i], model.predict(ys[i]))


def engine(model, y):
    """System and record for the functions on plain arrays."""
    P, diffuse = model.first_covariance
    mean = np.zeros(model.order) if model.x0 is None else model.x0
    H = np.concatenate([model.C, model.A])
    seen = ~np.isnan(y)
    records = Records(np.where(seen, y, 0)[:, :, None, None], seen[:, :, None], None)
    return Gaussian(H, model.noise_covariance, mean, P, diffuse), records


@pytest.mark.parametrize("sizes", [Chunking(1), Chunking(3), Chunking(7, 100), Chunking(1000)])
def test_the_size_of_chunks_does_not_matter(sizes):
    rng = np.random.default_rng(3)
    W = covariance(rng, 5)
    A = block_diag(rotation(0.3), [[0.9]])
    for start in ({}, {"x0": np.ones(3), "x0_covariance": np.diag([1.0, 0.0, 2.0])}):
        noise = {"Q": W[2:, 2:], "R": W[:2, :2], "S": W[2:, :2]}
        model = StateSpace(A, None, gaussian(rng, 2, 3), None, **noise, **start)
        y, _ = random_record(rng, model, 101)
        expected = model.loglikelihood(y)
        value = Boundaries(Chunks(*engine(model, y), sizes)).loglikelihood[0, 0]
        assert value == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("samples", range(1, 7))
def test_records_of_few_samples_equal_the_literal_filter(samples):
    rng = np.random.default_rng(samples)
    first = {"x0": [1.0, -1.0], "x0_covariance": covariance(rng, 2)}
    noise = {"Q": covariance(rng, 2), "R": covariance(rng, 2)}
    model = StateSpace(rotation(0.3, 0.9), None, gaussian(rng, 2, 2), None, **noise, **first)
    y, _ = random_record(rng, model, samples)
    twin, estimate = literal(model, y), model.smooth(y)
    assert model.loglikelihood(y) == pytest.approx(twin.loglikelihood, rel=RELATIVE)
    assert model.loglikelihood_gradient(y)[0] == pytest.approx(twin.loglikelihood, rel=RELATIVE)
    close(estimate.states, twin.states)
    close(estimate.state_variances, np.einsum("tii->ti", twin.covariances))


def test_chunks_are_unsure_until_the_past_determines_the_first_state():
    """The least eigenvalue of the information about it, scaled to ones, tells; R is one."""
    model = StateSpace(CHAIN, None, [[1.0, 0.0, 0.0, 0.0]], None, R=[[1.0]])
    y = np.where(np.random.default_rng(2).random((300, 1)) < 0.4, np.nan, 1.0)
    boundaries = Boundaries(Chunks(*engine(model, y), Chunking(4)))
    rows = [model.C @ np.linalg.matrix_power(model.A, t) for t in range(300)]
    sure = []
    for samples in range(4, 300, 4):
        seen = np.concatenate([rows[t] for t in range(samples) if not np.isnan(y[t, 0])])
        length = np.maximum(np.linalg.norm(seen, axis=0), 1e-9)
        sure.append(np.linalg.eigvalsh(seen.T @ seen / np.outer(length, length))[0] > SURE)
    assert 1 < boundaries.unsure == 1 + np.argmax(sure) < boundaries.chunks.count


def test_chunks_of_a_group_have_the_same_start_and_end_as_in_another():
    Q = 1e-9 * np.eye(4)
    model = StateSpace(CHAIN, None, [[1.0, 0.0, 0.0, 0.0]], None, Q=Q, R=[[1.0]])
    y = np.where(np.random.default_rng(3).random((80, 1)) < 0.4, np.nan, 1.0)
    boundaries = Boundaries(Chunks(*engine(model, y), Chunking(4)))
    assert 3 <= boundaries.unsure < boundaries.chunks.count
    for find in (boundaries.begin, boundaries.finish):
        for whole, part in zip(find(slice(0, 3)), find(slice(1, 3)), strict=True):
            np.testing.assert_array_equal(part, whole[..., 1:])


def test_every_chunk_belongs_to_one_group():
    model = StateSpace(rotation(0.3), None, [[1.0, 0.0]], None, R=[[1.0]])
    chunks = Chunks(*engine(model, np.zeros((101, 1))), Chunking(3, 100))
    assert chunks.count > 2 * chunks.together
    for start in range(chunks.count + 1):
        groups = chunks.groups(start)
        places = [i for group in groups for i in range(group.start, group.stop)]
        assert places == list(range(start, chunks.count))
        assert all(0 < group.stop - group.start <= chunks.together for group in groups)


@pytest.mark.parametrize("kind", [float, complex])
def test_matrices_that_change_with_time(kind):
    rng = np.random.default_rng(4)
    T, A, C = 70, 0.4 * gaussian(rng, 70, 3, 3, kind=kind), gaussian(rng, 2, 3, kind=kind)
    Q = np.stack([covariance(rng, 3, 2, kind) for _ in range(T)])
    R, P, m = covariance(rng, 2, kind=kind), covariance(rng, 3, kind=kind), gaussian(rng, 3)
    y = gaussian(rng, T, 2, kind=kind)
    y[rng.random(y.shape) < 0.4] = np.nan
    H = np.concatenate([np.broadcast_to(C, (T, 2, 3)), A], axis=1)
    W = np.stack([block_diag(R, Q[t]) for t in range(T)])
    model = Gaussian(H, W, m.astype(kind), P, np.zeros(3, dtype=bool))
    seen = ~np.isnan(y)
    records = Records(np.where(seen, y, 0)[:, :, None, None], seen[:, :, None], None)
    twin = literal_smoother(A, C, Q, R, np.zeros((3, 2)), m, P, y)
    moments = smoothed(model, records)
    assert log_likelihood(model, records)[0, 0] == pytest.approx(twin.loglikelihood)
    close(moments.states[..., 0, 0], twin.states)
    close(moments.state_variances[..., 0], np.einsum("tii->ti", twin.covariances).real)
    score = value_and_gradient(model, records)
    for name in ("H", "W"):
        change = gaussian(rng, *getattr(model, name).shape, kind=kind)
        if name == "W":
            change = change @ change.conj().swapaxes(1, 2)
        slope = slope_of(lambda x: np.sum(log_likelihood(x, records)), model, name, change)
        assert np.sum(getattr(score, name).conj() * change).real == pytest.approx(slope, rel=1e-6)


def test_noise_that_changes_with_time_beside_constant_matrices():
    rng = np.random.default_rng(5)
    T, H, P = 70, gaussian(rng, 4, 3) * 0.4, covariance(rng, 3)
    W = np.stack([covariance(rng, 4) for _ in range(T)])
    y = gaussian(rng, T, 1)
    records = Records(y[:, :, None, None], np.ones((T, 1, 1), bool), None)
    models = [Gaussian(h, W, np.zeros(3), P, np.zeros(3, bool)) for h in (H, np.stack([H] * T))]
    one, other = (value_and_gradient(model, records) for model in models)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    close(one.H, other.H.sum(axis=0))
    close(one.W, other.W)
    close(*(smoothed(model, records).states for model in models))


def test_matrices_that_change_with_time_beside_constant_noise():
    rng = np.random.default_rng(6)
    T, W, P = 30, covariance(rng, 4), covariance(rng, 3)
    H, y = gaussian(rng, T, 4, 3) * 0.4, gaussian(rng, T, 1)
    records = Records(y[:, :, None, None], np.ones((T, 1, 1), bool), None)
    models = [Gaussian(H, w, np.zeros(3), P, np.zeros(3, bool)) for w in (W, np.stack([W] * T))]
    one, other = (value_and_gradient(model, records) for model in models)
    assert one.value == pytest.approx(other.value, rel=1e-12)
    close(one.W, other.W.sum(axis=0))
    close(one.H, other.H)


def test_several_records_with_matrices_that_change_with_time():
    rng = np.random.default_rng(19)
    H, P = 0.4 * gaussian(rng, 70, 4, 3), covariance(rng, 3)
    W = np.stack([covariance(rng, 4) for _ in range(70)])
    model = Gaussian(H, W, np.zeros(3), P, np.zeros(3, bool))
    y = gaussian(rng, 70, 1, 1, 2)
    both = smoothed(model, Records(y, np.ones((70, 1, 2), bool), None))
    for i in range(2):
        alone = smoothed(model, Records(y[..., i : i + 1], np.ones((70, 1, 1), bool), None))
        close(both.states[..., i], alone.states[..., 0])
        close(both.state_variances[..., i], alone.state_variances[..., 0])


# -- where digits are lost easily --------------------------------------------------------------


@pytest.mark.parametrize("R", [1e-2, 1e-8, 1e-14])
@pytest.mark.parametrize("first", [1.0, 1e6, np.inf])
def test_pure_modes_in_tiny_noise_equal_least_squares(R, first):
    """Without noise of the states, the smoother is a regression on the first state."""
    rng = np.random.default_rng(5)
    A, C, T = block_diag(rotation(0.3), rotation(1.1)), np.array([[1.0, 0.0, 1.0, 0.0]]), 300
    model = StateSpace(
        A,
        None,
        C,
        None,
        R=[[R]],
        x0_covariance=first * np.eye(4) if first < np.inf else np.diag([first] * 4),
    )
    y = model.simulate(steps=T, initial=[1.0, 2.0, -1.0, 0.5], rng=1)
    y[rng.random(T) < 0.4] = np.nan
    powers = np.stack([np.linalg.matrix_power(A, t) for t in range(T)])
    seen = ~np.isnan(y[:, 0])
    rows = (C @ powers)[seen, 0] / np.sqrt(R)
    precision = rows.T @ rows + np.eye(4) / first
    mean = np.linalg.lstsq(
        np.concatenate([rows, np.eye(4) / np.sqrt(first)]),
        np.concatenate([y[seen, 0] / np.sqrt(R), np.zeros(4)]),
        rcond=None,
    )[0]
    V = powers @ np.linalg.inv(precision) @ powers.swapaxes(1, 2)
    residual = y[seen, 0] / np.sqrt(R) - rows @ mean
    total = np.sum(residual**2) + np.sum(mean**2) / first + np.linalg.slogdet(precision)[1]
    total += np.count_nonzero(seen) * np.log(2 * np.pi * R)
    total += 4 * np.log(first) if first < np.inf else 0
    estimate = model.smooth(y)
    assert model.loglikelihood(y) == pytest.approx(-0.5 * total, rel=RELATIVE)
    close(estimate.states, powers @ mean, 1e-11)
    np.testing.assert_allclose(estimate.state_variances, np.einsum("tii->ti", V), rtol=1e-9)
    assert np.nanstd(estimate.innovations[50:]) == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize(
    ("A", "Q", "R", "P"),
    [
        ([[0.9]], [[1.0]], 0.0, [[4.0]]),
        ([[1.0, 1.0], [0.0, 1.0]], np.diag([0.0, 1.0]), 0.0, 100 * np.eye(2)),
        ([[1.0, 1.0], [0.0, 1.0]], np.diag([0.0, 1.0]), 1e-10, 100 * np.eye(2)),
        ([[1.0, 1.0], [0.0, 1.0]], np.diag([0.0, 1e-8]), 1.0, 1e3 * np.eye(2)),
        ([[1.1, 0.1], [0.0, 0.5]], np.eye(2), 1.0, np.eye(2)),
    ],
    ids=["AR without noise", "trend without noise", "tiny noise", "tiny drive", "unstable"],
)
def test_extreme_noise_equals_a_literal_filter_in_extended_precision(A, Q, R, P):
    rng = np.random.default_rng(6)
    model = StateSpace(
        A,
        None,
        [[1.0] + [0.0] * (len(A) - 1)],
        None,
        Q=Q,
        R=[[R]],
        x0=np.zeros(len(A)),
        x0_covariance=P,
    )
    y, _ = random_record(rng, model, 150)
    twin, estimate = literal(model, y, dtype=np.longdouble), model.smooth(y)
    assert model.loglikelihood(y) == pytest.approx(twin.loglikelihood, rel=RELATIVE)
    close(estimate.states, twin.states.astype(float))
    close(estimate.state_variances, np.einsum("tii->ti", twin.covariances).astype(float))
    close(estimate.innovations, twin.innovations.astype(float))


def dense_smoother(model, y):
    """Generalised least squares for the first state, which is diffuse; one output."""
    A, C, (T, _), r = model.A, model.C, y.shape, model.order
    powers = [np.linalg.matrix_power(A, t) for t in range(T)]
    moves = np.zeros((T, r, T, r))  # from the noise w_s to the state x_t
    for t in range(T):
        for s in range(t):
            moves[t, :, s] = powers[t - 1 - s]
    moves = moves.reshape(T * r, T * r) @ np.kron(np.eye(T), np.linalg.cholesky(model.Q))
    seen = ~np.isnan(y[:, 0])
    rows = np.kron(np.eye(T), C)[seen]
    free, prior = np.concatenate(powers), moves @ moves.T
    F = rows @ prior @ rows.T + model.R[0, 0] * np.eye(seen.sum())
    X, Y, gain = rows @ free, y[seen, 0], np.linalg.solve(F, rows @ prior).T
    J = X.T @ np.linalg.solve(F, X)
    first = np.linalg.solve(J, X.T @ np.linalg.solve(F, Y))
    left = free - gain @ X
    V = prior - gain @ rows @ prior + left @ np.linalg.solve(J, left.T)
    residual = Y - X @ first
    value = residual @ np.linalg.solve(F, residual) + seen.sum() * np.log(2 * np.pi)
    value += np.linalg.slogdet(F)[1] + np.linalg.slogdet(J)[1]
    states = (free @ first + gain @ residual).reshape(T, r)
    return -0.5 * value, states, np.diag(V).reshape(T, r)


@pytest.mark.parametrize("R", [0.0, 1.0])
@pytest.mark.parametrize("gap", [0, 25])
def test_diffuse_start_with_a_gap_equals_least_squares(R, gap):
    """The first chunks may see nothing; then the first state is determined later."""
    Q = np.array([[0.02, 0.03], [0.03, 0.1]])
    model = StateSpace([[1, 1], [0, 1]], None, [[1, 0]], None, Q=Q, R=[[R]])
    y, _ = random_record(np.random.default_rng(7), model, 90, missing=0.3)
    y[:gap] = np.nan
    value, states, variances = dense_smoother(model, y)
    estimate = model.smooth(y)
    assert model.loglikelihood(y) == pytest.approx(value, rel=RELATIVE)
    close(estimate.states, states)
    close(estimate.state_variances, variances)
    seen = np.flatnonzero(~np.isnan(y[:, 0]))
    assert np.all(np.isnan(estimate.innovations[seen[:2]]))
    assert np.all(np.isfinite(estimate.innovations[seen[2:]]))


def test_innovations_of_a_diffuse_start_are_those_of_a_known_one_later():
    """After the first samples, the past alone decides: the rest equals an updated model."""
    model = StateSpace([[1, 1], [0, 1]], None, [[1, 0]], None, Q=np.diag([0, 0.1]), R=[[1.0]])
    y = model.simulate(steps=40, initial=[3.0, 1.0], rng=0)
    later = model.update(y[:3]).smooth(y[3:])
    np.testing.assert_allclose(model.smooth(y).innovations[3:], later.innovations, atol=1e-9)


# -- records -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "start", [{}, {"x0": [3.0, -1.0], "x0_covariance": [[50.0, 5.0], [5.0, 30.0]]}]
)
def test_several_records_are_independent(start):
    rng = np.random.default_rng(8)
    noise = {"Q": np.eye(2), "R": [[1.0]], **start}
    model = StateSpace(rotation(0.4, 0.95), [[1.0], [0.5]], [[1.0, 0.0]], [[2.0]], **noise)
    pairs = [random_record(rng, model, n) for n in (50, 20, 83)]
    ys, us = [y for y, _ in pairs], [u for _, u in pairs]
    each = sum(model.loglikelihood(y, u) for y, u in pairs)
    assert model.loglikelihood(ys, us) == pytest.approx(each, rel=1e-12)
    for (y, u), estimate in zip(pairs, model.smooth(ys, us), strict=True):
        for name, values in vars(model.smooth(y, u)).items():
            np.testing.assert_allclose(getattr(estimate, name), values, atol=1e-9)
    value, gradient = model.loglikelihood_gradient(ys, us)
    assert value == pytest.approx(each, rel=1e-12)
    alone = [model.loglikelihood_gradient(y, u)[1] for y, u in pairs]
    for name, total in gradient.items():
        np.testing.assert_allclose(total, sum(part[name] for part in alone), atol=1e-9)


def slope_of(function, model, name, change, step=1e-6):
    ahead, behind = (
        replace(model, **{name: getattr(model, name) + sign * step * change}) for sign in (1, -1)
    )
    return (function(ahead) - function(behind)) / (2 * step)


@pytest.mark.parametrize("seed", range(12))
def test_gradient_equals_finite_differences(seed):
    """Along random directions of every array; diffuse starts and singular Q included."""
    rng = np.random.default_rng(seed)
    kind = complex if seed % 3 == 2 else float
    model = random_model(rng, kind)
    y, u = random_record(rng, model, 60)
    gradient = model.loglikelihood_gradient(y, u)[1]
    for name, derivative in gradient.items():
        values = getattr(model, name)
        if values is None or not values.size:
            continue
        change = gaussian(rng, *values.shape, kind=kind)
        if name in ("Q", "R", "x0_covariance"):
            # Inside the range, so that the noise stays a covariance.
            change = values @ (change + change.conj().T) @ values
            change = change / max(1.0, np.abs(change).max())
        elif name == "S":
            change = values
        slope = slope_of(lambda x: x.loglikelihood(y, u), model, name, change)
        expected = np.sum(derivative.conj() * change).real
        assert expected == pytest.approx(slope, rel=2e-6, abs=2e-6), name


def test_gradient_of_noise_that_is_zero():
    """Q = 0 is on the boundary: the derivative from one side."""
    model = StateSpace(rotation(0.3), None, [[1.0, 0.0]], None, R=[[1.0]])
    y, _ = random_record(np.random.default_rng(1), model, 80)
    value, gradient = model.loglikelihood_gradient(y)
    ahead = replace(model, Q=1e-9 * np.eye(2)).loglikelihood(y)
    assert (ahead - value) / 1e-9 == pytest.approx(np.trace(gradient["Q"]), rel=1e-4)


# -- forecasts, updates, draws -----------------------------------------------------------------


def model_with_inputs(rng):
    W = covariance(rng, 5)
    noise = {"Q": W[2:, 2:], "R": W[:2, :2], "S": W[2:, :2]}
    A, B, D = block_diag(rotation(0.4, 0.97), [[0.7]]), gaussian(rng, 3, 1), gaussian(rng, 2, 1)
    return StateSpace(A, B, gaussian(rng, 2, 3), D, **noise, output_offset=[5.0, -5.0], dt=0.1)


@pytest.mark.parametrize("known", [37, 60, 61])
def test_forecasts_are_missing_samples(known):
    rng = np.random.default_rng(9)
    model = model_with_inputs(rng)
    y, u = random_record(rng, model, 80)
    y[known:] = np.nan
    whole = model.smooth(y, u)
    future = model.forecast(80 - known, y[:known], u[:known], u[known:])
    for name in ("states", "state_variances", "outputs", "output_variances", "signals"):
        close(getattr(future, name), getattr(whole, name)[known:], 1e-11)
    halves = model.update(y[:30], u[:30]).update(y[30:known], u[30:known])
    close(halves.forecast(80 - known, future_inputs=u[known:]).outputs, future.outputs, 1e-11)
    assert halves.dt == model.dt


def test_signals_are_outputs_without_noise():
    rng = np.random.default_rng(18)
    model = replace(model_with_inputs(rng), input_offset=[2.0])
    y, u = random_record(rng, model, 40)
    estimate = model.smooth(y, u)
    shown = (u - model.input_offset) @ model.D.T + model.output_offset
    close(estimate.signals, estimate.states @ model.C.T + shown, 1e-12)
    close(estimate[5:9].signals, estimate.signals[5:9], 1e-12)


def test_likelihood_is_the_product_of_that_of_updates():
    rng = np.random.default_rng(10)
    model = replace(model_with_inputs(rng), x0=np.ones(3), x0_covariance=np.eye(3))
    y, u = random_record(rng, model, 90)
    first, second = model.loglikelihood(y[:41], u[:41]), model.update(y[:41], u[:41])
    total = first + second.loglikelihood(y[41:], u[41:])
    assert model.loglikelihood(y, u) == pytest.approx(total, rel=1e-11)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("start", ["diffuse", "known"])
def test_moments_of_draws(kind, start):
    rng = np.random.default_rng(11)
    W = covariance(rng, 4, kind=kind)
    first = {} if start == "diffuse" else {"x0": [1.0, 2.0], "x0_covariance": np.eye(2)}
    noise = {"Q": W[2:, 2:], "R": W[:2, :2], "S": W[2:, :2]}
    A, C = rotation(0.5, 0.9).astype(kind), gaussian(rng, 2, 2, kind=kind)
    model = StateSpace(A, None, C, None, **noise, **first, output_offset=[3.0, 0.0])
    y, _ = random_record(rng, model, 25)
    n, estimate = 4000, model.smooth(y)
    draws = model.draws(n, y, rng=1)
    assert draws.shape == (n, 25, 2)
    np.testing.assert_array_equal(model.draws(2, y), model.draws(2, y, rng=0))
    gaps = np.isnan(y)
    np.testing.assert_array_equal(draws[:, ~gaps], np.broadcast_to(y[~gaps], (n, (~gaps).sum())))
    spread = np.sqrt(estimate.output_variances[gaps])
    errors = (draws[:, gaps] - estimate.outputs[gaps]) / spread
    assert np.max(np.abs(errors.mean(axis=0))) < 5 / np.sqrt(n)
    np.testing.assert_allclose(np.mean(np.abs(errors) ** 2, axis=0), 1.0, atol=6 * np.sqrt(2 / n))


def test_covariances_between_gaps_in_draws():
    """Draws of a gap are one path: neighbours are correlated as in the dense formula."""
    model = StateSpace(
        [[0.95]], None, [[1.0]], None, Q=[[1.0]], R=[[0.1]], x0_covariance="stationary"
    )
    y = np.array([1.0, np.nan, np.nan, np.nan, -1.0])
    prior = model.covariances(4)[:, 0, 0]
    dense = prior[np.abs(np.subtract.outer(range(5), range(5)))]
    gaps = np.isnan(y)
    gain = dense[np.ix_(gaps, ~gaps)] @ np.linalg.inv(dense[np.ix_(~gaps, ~gaps)])
    expected = dense[np.ix_(gaps, gaps)] - gain @ dense[np.ix_(~gaps, gaps)]
    draws = model.draws(20000, y)[:, gaps, 0]
    np.testing.assert_allclose(np.cov(draws.T), expected, atol=0.06)
    estimate = model.smooth(y)
    np.testing.assert_allclose(estimate.outputs[gaps, 0], gain @ y[~gaps], atol=1e-10)
    np.testing.assert_allclose(estimate.output_variances[gaps, 0], np.diag(expected), atol=1e-10)


def test_innovations_of_the_right_model_are_white():
    rng = np.random.default_rng(12)
    model = model_with_inputs(rng)
    y, u = random_record(rng, model, 4000, missing=0.3)
    e = model.smooth(y, u).innovations
    np.testing.assert_array_equal(np.isnan(e[20:]), np.isnan(y[20:]))
    assert np.nanmean(e**2) == pytest.approx(1.0, abs=0.06)
    pairs = (e[1:] * e[:-1])[~np.isnan(e[1:] * e[:-1])]
    assert abs(pairs.mean()) < 4 / np.sqrt(len(pairs))


# -- the system --------------------------------------------------------------------------------


def test_innovation_form_has_the_same_outputs():
    rng = np.random.default_rng(13)
    W = covariance(rng, 5)
    noise = {"Q": W[2:, 2:], "R": W[:2, :2], "S": W[2:, :2]}
    model = StateSpace(
        block_diag(rotation(0.4, 0.97), [[0.7]]), None, gaussian(rng, 2, 3), None, **noise
    )
    form = model.innovation_form()
    assert not np.any(form.Q)
    assert not np.any(form.R)
    np.testing.assert_allclose(form.covariances(8), model.covariances(8), atol=1e-9)
    stationary = replace(model, x0_covariance="stationary")
    y, _ = random_record(rng, model, 400, missing=0.0)
    # After the start, predictions are the same.
    late = slice(200, None)
    close(
        replace(form, x0=np.zeros(3)).smooth(y).innovations[late],
        stationary.smooth(y).innovations[late],
        1e-6,
    )
    np.testing.assert_array_equal(model.to_scipy().B, form.K)
    with pytest.raises(ValueError, match="no stationary predictor"):
        StateSpace(rotation(0.4), None, [[1.0, 0.0]], None, R=[[1.0]]).innovation_form()


def test_a_first_state_of_known_covariance_has_mean_zero_if_none_is_given():
    start = {"Q": [[1.0]], "R": [[1.0]], "x0_covariance": [[4.0]]}
    model = StateSpace([[0.5]], None, [[1.0]], None, **start)
    expected = replace(model, x0=[0.0]).simulate(steps=5, rng=0)
    np.testing.assert_array_equal(model.simulate(steps=5, rng=0), expected)
    np.testing.assert_array_equal(model.simulate(steps=5), expected)
    assert not np.allclose(replace(model, x0=[1.0]).simulate(steps=5, rng=0), expected)


def test_noise_of_both_forms_adds_up():
    model = StateSpace(
        [[0.5]],
        None,
        [[1.0]],
        None,
        K=[[2.0]],
        innovation_covariance=[[3.0]],
        Q=[[1.0]],
        R=[[4.0]],
        S=[[0.5]],
    )
    np.testing.assert_allclose(model.noise_covariance, [[7.0, 6.5], [6.5, 13.0]])
    y = model.simulate(steps=200_000, rng=0)[:, 0]
    expected = model.covariances(1)[:, 0, 0]
    assert np.mean(y**2) == pytest.approx(expected[0], rel=0.03)
    assert np.mean(y[1:] * y[:-1]) == pytest.approx(expected[1], rel=0.03)


def test_first_state():
    model = StateSpace(
        [[0.5]], None, [[1.0]], None, Q=[[3.0]], R=[[1.0]], x0_covariance="stationary"
    )
    np.testing.assert_allclose(model.x0_covariance, [[4.0]])
    starts = [model.simulate(steps=1, rng=seed)[0, 0] for seed in range(400)]
    assert np.var(starts) == pytest.approx(5.0, rel=0.25)
    mixed = replace(model, x0_covariance=[[np.inf]], x0=[7.0])
    assert mixed.first_covariance[1].all()
    assert mixed.loglikelihood([1.0]) == pytest.approx(-0.5 * np.log(2 * np.pi))


def test_the_unit_of_an_unknown_state_does_not_matter():
    noise = {"Q": np.diag([0.1, 0.2]), "R": [[1.0]]}
    model = StateSpace(np.diag([0.9, 0.5]), None, [[1.0, 1.0]], None, **noise)
    noise["Q"] = np.diag([0.1e40, 0.2])
    other = replace(model, C=[[1e-20, 1.0]], **noise)
    y = model.simulate(steps=50, rng=1)
    assert other.loglikelihood(y) == pytest.approx(model.loglikelihood(y) + np.log(1e20))
    expected, estimate = model.smooth(y), other.smooth(y)
    np.testing.assert_allclose(estimate.signals, expected.signals, atol=1e-12)
    np.testing.assert_allclose(estimate.innovations, expected.innovations, atol=1e-9)


def test_partly_diffuse_start_equals_statsmodels():
    rng = np.random.default_rng(14)
    model = StateSpace(
        block_diag([[1.0]], rotation(0.4, 0.9)),
        None,
        [[1.0, 1.0, 0.0]],
        None,
        Q=np.diag([0.1, 1.0, 1.0]),
        R=[[0.5]],
        x0_covariance=block_diag([[np.inf]], [[2.0, 1.0], [1.0, 3.0]]),
    )
    y, _ = random_record(rng, replace(model, x0=np.zeros(3)), 60)
    estimate, expected = model.smooth(y), model.to_statsmodels(y).smooth()
    assert model.loglikelihood(y) == pytest.approx(expected.llf, rel=RELATIVE)
    close(estimate.states, expected.smoothed_state.T)


def test_systems_are_equal_to_themselves_alone():
    one, other = (StateSpace([[0.5]], None, [[1.0]], None, Q=[[1.0]]) for _ in range(2))
    assert len({one, other, one}) == 2


def test_time_step():
    pytest.importorskip("control")
    model = StateSpace([[0.5]], [[1.0]], [[1.0]], [[0.0]], dt=0.25)
    assert model.to_scipy().dt == 0.25
    assert model.to_control().dt == 0.25
    with pytest.raises(ValueError, match="dt is 0"):
        StateSpace([[0.5]], None, [[1.0]], None, dt=0)


MODEL = StateSpace([[0.9]], None, [[1.0]], None, Q=[[1.0]], R=[[1.0]])
WITH_INPUT = StateSpace([[0.9]], [[1.0]], [[1.0]], None, Q=[[1.0]], R=[[1.0]])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: MODEL.smooth(np.zeros((5, 2))),
            r"samples have shape \(5, 2\), but \(samples, 1\)",
        ),
        (lambda: MODEL.smooth(np.zeros((0, 1))), r"samples have shape \(0, 1\)"),
        (lambda: MODEL.smooth([1.0, np.inf]), "samples"),
        (lambda: MODEL.smooth([1j]), "samples are complex, but the system is real"),
        (lambda: MODEL.smooth(["a"]), "samples have dtype"),
        (lambda: MODEL.smooth(np.full(9, np.nan)), "do not determine the first state"),
        (lambda: MODEL.forecast(3), "do not determine the first state"),
        (lambda: MODEL.forecast(3, inputs=[1.0]), "inputs are given, but samples are not"),
        (lambda: MODEL.forecast(0), "steps is 0"),
        (lambda: MODEL.draws(0, [1.0]), "n is 0"),
        (lambda: MODEL.draws(2, [np.ones(3), np.ones(2)]), "a list of 2 records, but one"),
        (lambda: MODEL.smooth([1.0], [1.0]), "the system has none"),
        (lambda: WITH_INPUT.smooth([1.0]), "the system has 1 inputs, but none are given"),
        (lambda: WITH_INPUT.smooth([1.0], [1.0, 2.0]), "inputs have 2 rows and samples have 1"),
        (lambda: WITH_INPUT.smooth([1.0], [np.nan]), "fill the gaps"),
        (lambda: WITH_INPUT.smooth([np.ones(2)], np.ones(2)), "a list of 1 arrays of inputs"),
        (lambda: replace(MODEL, x0_covariance=[[-1.0]]), "x0_covariance has the eigenvalue -1"),
        (lambda: replace(MODEL, x0_covariance=[[np.nan]]), "x0_covariance contains NaN"),
        (lambda: replace(MODEL, x0_covariance="none"), "'stationary' is expected"),
        (lambda: replace(MODEL, S=[[5.0]]), r"\[\[Q, S\], \[S\^H, R\]\] has the eigenvalue -4"),
        (lambda: replace(MODEL, Q=None, R=None).loglikelihood([1.0, 2.0]), "noise is singular"),
        (lambda: replace(MODEL, A=[[1.0]], x0_covariance="stationary"), "only a stable system"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises((ValueError, TypeError), match=says):
        call()
