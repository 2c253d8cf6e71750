"""The fit at fixed rank: it finds the optimum, says how certain it is, and the errors hold."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.optimize
from conftest import AFFINE, nightly, to_library

from structrank import (
    Circulant,
    ConvergenceWarning,
    Hankel,
    Indexed,
    LowRank,
    Mask,
    Modes,
    Problem,
    Result,
    Status,
    Stop,
    Sylvester,
    Toeplitz,
    Weighted,
    gcgls,
    refit,
)
from structrank.modal.esprit import with_amplitudes
from structrank.modal.factored_refit import FactoredFitting, refit_factors
from structrank.modal.fit import LevenbergMarquardt, ModalFit
from structrank.modal.modal_refit import refit_modes
from structrank.modal.model import ModalModel
from structrank.modal.refitting import fit_at_rank, reweighted
from structrank.modal.standard_errors import ErrorPropagation
from structrank.modal.tangent import tangent_basis
from structrank.signals.direct_modes import DirectSearch, explained
from structrank.solvers.conditional_gradient import gcgls_states
from structrank.solvers.driver import iterate
from structrank.solvers.state import History


def result_of(problem, X):
    """What a solver would have returned."""
    return Result(problem.backprojection, X, X.rank, 0.0, 0.0, Status.SOLVED, History(), problem)


def start_near(problem, y, rank):
    """A result whose matrix is Q(y) cut to a rank."""
    U, s, Vh = np.linalg.svd(problem.structure.to_dense(y), full_matrices=False)
    roots = np.sqrt(s[:rank])
    return result_of(problem, LowRank(U[:, :rank] * roots, Vh[:rank].conj().T * roots))


def noise_like(y, rng):
    e = rng.standard_normal(y.shape)
    return e if not np.iscomplexobj(y) else (e + 1j * rng.standard_normal(y.shape)) / np.sqrt(2)


# -- the model of modes -------------------------------------------------------------------


def conjugated(modes):
    """A real signal's modes: these and their conjugates."""
    return Modes(
        np.concatenate([modes.frequencies, -modes.frequencies]),
        np.concatenate([modes.dampings] * 2),
        np.concatenate([modes.amplitudes, modes.amplitudes.conj()]),
    )


DAMPED = Modes([0.1, -0.3], [0.02, -0.01], [1.0, 0.5j])
PLANE = Modes([[0.1, 0.2], [-0.3, 0.4]], [[0.02, 0.0], [0.1, -0.03]], [1 + 1j, 0.7])
CHANNELS = Modes([0.1, -0.3], [0.02, 0.05], [[1, 2j, 0.3], [0.5, -1, 1j]])
REAL = Modes([0.0, 0.5, 0.1, -0.1], [0.1, 0.05, 0.0, 0.0], [1.0, -0.4, 0.3j, -0.3j])
MODELS = {
    "complex": (DAMPED, (12,), False, False, 8),
    "complex undamped": (DAMPED, (12,), False, True, 6),
    "complex plane": (PLANE, (5, 6), False, False, 12),
    "complex channels": (CHANNELS, (9,), False, False, 16),
    "pair": (conjugated(Modes([0.1], [0.02], [0.5j])), (12,), True, False, 4),
    "exponential": (Modes([0.0], [0.1], [2.0]), (12,), True, False, 2),
    "pair and real poles": (REAL, (12,), True, False, 8),
    "undamped real": (REAL, (12,), True, True, 5),
    "real plane": (conjugated(PLANE), (5, 6), True, False, 12),
    "checkerboard": (Modes([[0.5, 0.0]], [[0.1, 0.2]], [2.0]), (5, 6), True, False, 3),
    "real channels": (conjugated(CHANNELS), (9,), True, False, 16),
    "volume": (Modes([[0.1, 0.2, 0.3]], [[0.1, 0.0, -0.1]], [1j]), (4, 3, 5), False, False, 8),
}


def everywhere(model):
    return tuple(i.reshape(-1) for i in np.indices((*model.shape, model.amplitudes.shape[1])))


@pytest.mark.parametrize("name", MODELS)
def test_jacobian_is_the_derivative(name):
    modes, shape, real, undamped, parameters = MODELS[name]
    model = ModalModel.of(modes, shape, real=real, undamped=undamped)
    values, jacobian = model.rows(everywhere(model))
    assert jacobian.shape == (values.size, parameters)
    if not undamped:
        signal = modes.signal(shape).reshape(-1)
        np.testing.assert_allclose(values, signal.real if real else signal, atol=1e-12)
    np.testing.assert_allclose(values, model.signal().reshape(-1), atol=1e-12)
    for k, column in enumerate(jacobian.T):
        step = 1e-6 * np.eye(parameters)[k]
        above, below = (model.moved(s).rows(everywhere(model))[0] for s in (step, -step))
        np.testing.assert_allclose((above - below) / 2e-6, column, atol=1e-7)


def test_conjugates_find_their_partners():
    modes = conjugated(Modes([0.1, 0.1001, 0.2], [0.01, 0.03, 0.01], [1.0, 1.1, 1.2]))
    mixed = Modes(
        np.concatenate([modes.frequencies, [[1e-14], [-0.5 + 1e-14]]]),
        np.concatenate([modes.dampings, [[0.01], [0.2]]]),
        np.concatenate([modes.amplitudes, [1 + 1e-15j, 1.0]]),
    )
    model = ModalModel.of(mixed, (50,), real=True, undamped=False)
    assert model.paired.sum() == 3
    alone = model.frequencies[~model.paired, 0]
    assert sorted(np.abs(alone)) == [0.0, 0.5]  # rounding errors are gone
    assert len(model.to_modes()) == 8
    np.testing.assert_allclose(model.signal()[:, 0], mixed.signal(50).real, atol=1e-12)


def test_a_mode_whose_partner_was_cut_off_is_real():
    model = ModalModel.of(Modes([0.01], 0.0, [1 + 1j]), (20,), real=True, undamped=False)
    assert not model.paired.any()
    assert len(model.to_modes()) == 1


# -- least squares for the modes ----------------------------------------------------------


def noisy_modes(rng, real):
    truth = Modes([0.1, 0.23], [0.01, 0.03], [1.0, 0.8j])
    truth = conjugated(truth) if real else truth
    y = truth.signal(50)
    y = y.real if real else y
    seen = rng.random(50) < 0.7
    b = np.where(seen, y + 0.2 * noise_like(y, rng), np.nan)
    return truth, Problem(Hankel(50, window=25), b, 1.0, Mask(seen)), seen


@pytest.mark.parametrize("real", [True, False])
def test_fit_is_the_least_squares_optimum(rng, real):
    truth, problem, seen = noisy_modes(rng, real)
    weights = seen * rng.uniform(0.5, 2.0, 50)
    start = ModalModel.of(truth, (50,), real=real, undamped=False)

    def residuals(step):
        r = (weights * (start.moved(step).signal()[:, 0] - problem.b))[seen]
        return np.concatenate([r.real, r.imag]) if not real else r

    best = scipy.optimize.least_squares(residuals, np.zeros(8), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    fit = ModalFit(problem, truth, weights, undamped=False)
    assert fit.residual_squared == pytest.approx(2 * best.cost, rel=1e-8)
    np.testing.assert_allclose(fit.model.signal(), start.moved(best.x).signal(), atol=1e-4)


def test_misfit_never_rises(rng, monkeypatch):
    truth, problem, seen = noisy_modes(rng, True)
    accepted = []
    triangle, with_amplitudes = ModalFit._triangle, ModalFit._with_amplitudes

    def recorded(self, model):
        accepted.append(np.sum(np.abs((model.signal()[:, 0] - problem.b)[seen]) ** 2))
        return triangle(self, model)

    def tried(self, model):
        before = len(accepted)
        trial = with_amplitudes(self, model)
        del accepted[before:]
        return trial

    monkeypatch.setattr(ModalFit, "_triangle", recorded)
    monkeypatch.setattr(ModalFit, "_with_amplitudes", tried)
    shifted = Modes(truth.frequencies * 1.05, truth.dampings, truth.amplitudes)
    fit = ModalFit(problem, shifted, seen * 1.0, undamped=False)
    assert len(accepted) > 3
    assert np.all(np.diff(accepted) < 0)
    assert fit.residual_squared == pytest.approx(accepted[-1])


def test_modes_that_nearly_coincide_find_their_way_apart(rng):
    """A long curved valley, through which small steps of all parameters do not get in time."""
    length, apart = 113, 0.3 / 113
    for _ in range(4):
        truth = Modes([0.2, 0.2 + apart], 0.0, np.exp(2j * np.pi * rng.random(2)))
        y = truth.signal(length)
        problem = Problem(Hankel(length, window=57), y + 0.03 * noise_like(y, rng), 1.0)
        near = Modes(0.2 + apart * np.array([0.43, 0.57]), 0.0, [10.0, -10.0])
        fits = [
            ModalFit(problem, modes, np.ones(length), undamped=False) for modes in (near, truth)
        ]
        assert fits[0].residual_squared == pytest.approx(fits[1].residual_squared, rel=1e-6)


def test_undamped_fit_from_damped_modes_finds_close_tones(rng):
    """The amplitudes of the damped modes, where these are undamped, would lead far away."""
    t = np.arange(90.0)
    tones = conjugated(Modes([0.12, 0.12 + 0.3 / 90], 0.0, [0.5, 0.5 * np.exp(2j)]))
    for _ in range(5):
        b = tones.signal(90).real + 0.1 * rng.standard_normal(90)
        problem = Problem(Hankel(90, window=45), b, 1.0)
        damped = conjugated(Modes([0.12, 0.13], [0.02, -0.02], [1.0, 0.5 * np.exp(-0.02 * t[-1])]))
        fits = [ModalFit(problem, modes, np.ones(90), undamped=True) for modes in (damped, tones)]
        assert fits[0].residual_squared == pytest.approx(fits[1].residual_squared, rel=1e-4)


@pytest.mark.parametrize("real", [True, False])
def test_pieces_of_the_jacobian_add_up(rng, real):
    truth, problem, seen = noisy_modes(rng, real)
    whole = ModalFit(problem, truth, seen * 1.0, undamped=False)
    method = LevenbergMarquardt(chunk_entries=30)
    pieces = ModalFit(problem, truth, seen * 1.0, undamped=False, method=method)
    assert pieces.residual_squared == pytest.approx(whole.residual_squared, rel=1e-9)
    np.testing.assert_allclose(pieces.signal_errors(), whole.signal_errors(), rtol=1e-4)


def test_two_real_modes_become_a_pair_where_that_is_better(rng):
    """No step of the parameters leads from real modes to a pair; the optimum is one."""
    t = np.arange(60.0)
    b = np.exp(-0.01 * t) * np.cos(0.03 * t - 0.5) + 0.01 * rng.standard_normal(60)
    problem = Problem(Hankel(60, window=30), b, 1.0)
    real = Modes([0.0, 0.0], [0.005, 0.02], [2.0, -1.0])
    pair = conjugated(Modes([0.005], [0.01], [0.5]))
    fits = [ModalFit(problem, start, np.ones(60), undamped=False) for start in (real, pair)]
    assert fits[0].model.paired.tolist() == [True]
    assert fits[0].residual_squared == pytest.approx(fits[1].residual_squared, rel=1e-6)


def test_a_pair_becomes_two_real_modes_where_that_is_better(rng):
    t = np.arange(60.0)
    b = 2 * np.exp(-0.02 * t) - np.exp(-0.06 * t) + 0.003 * rng.standard_normal(60)
    problem = Problem(Hankel(60, window=30), b, 1.0)
    pair = conjugated(Modes([0.002], [0.03], [0.5]))
    fit = ModalFit(problem, pair, np.ones(60), undamped=False)
    assert fit.model.paired.tolist() == [False, False]
    assert np.sqrt(fit.residual_squared / 56) == pytest.approx(0.003, rel=0.3)


# -- exact recovery -----------------------------------------------------------------------

CUBE = Modes([[0.1, 0.3, -0.2], [-0.4, 0.2, 0.15]], [[0.1, 0, 0], [0, 0.2, 0.1]], [1, 1j])
CASES = {
    "hankel": (Hankel(40, window=20), DAMPED, False),
    "toeplitz": (Toeplitz(40, window=17), DAMPED, False),
    "real": (Hankel(40, window=20), REAL, True),
    "toeplitz real": (Toeplitz(41, window=20), REAL, True),
    "plane": (Hankel((12, 11), window=(6, 5)), PLANE, False),
    "real plane": (Toeplitz((12, 11), window=(6, 5)), conjugated(PLANE), True),
    "volume": (Hankel((6, 6, 7), window=(3, 3, 4)), CUBE, False),
    "channels in rows": (Hankel(40, window=20, block=(3, 1)), CHANNELS, False),
    "channels in columns": (Toeplitz(40, window=20, block=(1, 3)), conjugated(CHANNELS), True),
}


@pytest.mark.parametrize("name", CASES)
def test_modes_come_back_exactly_from_gaps(name, rng):
    structure, modes, real = CASES[name]
    y = modes.signal(structure.lengths).reshape(structure.signal_shape)
    y = y.real if real else y
    seen = rng.random(y.shape) < 0.7
    problem = Problem(structure, np.where(seen, y, np.nan), 1e-3, Weighted("lifted", seen))
    result = start_near(problem, y + 1e-3 * noise_like(y, rng), len(modes))
    fit = refit(result)
    assert fit.rank == len(modes) == fit.X.rank
    np.testing.assert_allclose(fit.y, y, atol=1e-8)
    np.testing.assert_allclose(fit.X.to_dense(), structure.to_dense(fit.y), atol=1e-8)
    assert fit.relative_violation < 1e-7
    assert fit.sigma < 1e-8
    assert fit.y.dtype == y.dtype
    found, true = (np.sort(m.frequencies, axis=0) for m in (fit.modes, modes))
    np.testing.assert_allclose(found, true, atol=1e-8)


def test_shrinkage_of_a_solver_is_gone(rng):
    y = 3 * np.cos(0.3 * np.arange(60.0))
    seen = rng.random(60) < 0.6
    result = gcgls(Problem(Hankel(60, window=30), y, 20.0, Weighted("lifted", seen)), lam=1.0)
    assert np.abs(result.y - y).max() > 0.3
    fit = refit(result, rank=2)
    np.testing.assert_allclose(fit.y, y, atol=1e-7)
    np.testing.assert_allclose(fit.modes.signal(60).real, fit.y, atol=1e-10)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_library_and_precision_of_the_data_stay(library, dtype, rng):
    y = REAL.signal(30).real if dtype == "float32" else DAMPED.signal(30)
    y, rank = y.astype(dtype), 4 if dtype == "float32" else 2
    b = to_library(y, library)
    fit = refit(gcgls(Problem(Hankel(30, window=15), b, 0.1, "lifted"), lam=1.0), rank)
    for got, kind in ((fit.y, b.dtype), (fit.X.U, b.dtype), (fit.stderr, b.real.dtype)):
        assert type(got) is type(b)
        assert got.dtype == kind
    np.testing.assert_allclose(np.asarray(fit.y), y, atol=1e-4)
    assert fit.relative_violation < 1e-5


# -- operators ----------------------------------------------------------------------------


def operators():
    """A real blur; real signals of which complex numbers are measured; and the other way."""
    rng = np.random.default_rng(3)
    A = rng.standard_normal((45, 40))
    F = A + 1j * rng.standard_normal((45, 40))
    return {
        "real": (lambda y: A @ y, lambda d: A.T @ d, True),
        "complex": (lambda y: F @ y, lambda d: F.conj().T @ d, False),
        "complex numbers of real": (lambda y: F @ y, lambda d: (F.conj().T @ d).real, True),
        "real numbers of complex": (lambda y: (F @ y).real, lambda d: F.conj().T @ d, False),
    }


@pytest.mark.parametrize("name", operators())
def test_operators(name, rng):
    forward, adjoint, real = operators()[name]
    y = conjugated(Modes([0.1], [0.02], [0.5])).signal(40).real if real else DAMPED.signal(40)
    b = forward(y)
    problem = Problem(Hankel(40, window=20), b, 1e-3, (forward, adjoint))
    fit = refit(start_near(problem, y + 1e-3 * noise_like(y, rng), 2))
    np.testing.assert_allclose(fit.y, y, atol=1e-7)
    assert fit.sample_count == 45 * (2 if np.iscomplexobj(b) else 1)
    noisy = replace(problem, b=b + 0.01 * noise_like(b, rng))
    fit = refit(start_near(noisy, y, 2))
    assert fit.sigma == pytest.approx(0.01, rel=0.35)
    modal, factored = fit.unit_errors(), factored_fit(start_near(noisy, y, 2), 2).unit_errors()
    np.testing.assert_allclose(factored, modal, rtol=1e-3)


def test_operators_of_torch():
    torch = pytest.importorskip("torch")
    y = torch.from_numpy(DAMPED.signal(30))
    problem = Problem(Hankel(30, window=15), 2 * y, 1.0, (lambda x: 2 * x, lambda d: 2 * d))
    fit = refit(gcgls(problem, lam=0.3), 2)
    assert isinstance(fit.y, torch.Tensor)
    np.testing.assert_allclose(fit.y.numpy(), y.numpy(), atol=1e-7)


# -- the factors of other structures ------------------------------------------------------


def factored_fit(result, rank, sigma=None):
    X = result.X.balanced(0.0)
    start = LowRank(X.U[:, :rank], X.V[:, :rank])
    return refit_factors(reweighted(result.problem), start, sigma=sigma)


def other_structures():
    rng = np.random.default_rng(4)
    low = rng.standard_normal((5, 2)) @ rng.standard_normal((2, 6))
    t = np.arange(12.0)
    return {
        "hankel blocks": (
            Hankel(14, window=7, block=(2, 2)),
            np.multiply.outer(0.9 ** np.arange(14), low[:2, :2])
            + np.multiply.outer((-0.8) ** np.arange(14), np.outer([1, 2], [1, -1])),
            3,
        ),
        "complex blocks": (
            Hankel(10, window=5, block=(2, 2)),
            np.multiply.outer(np.exp(0.5j * np.arange(10)), np.outer([1, 1j], [2, 1])),
            1,
        ),
        "sylvester": (Sylvester((5, 4)), None, None),
        "circulant": (Circulant(12), np.cos(2 * np.pi * t / 6), 2),
        "unstructured": (Indexed(np.arange(30).reshape(5, 6)), low.reshape(-1), 2),
        "symmetric": (
            Indexed([[0, 1, 2, 3], [1, 4, 5, 6], [2, 5, 7, 8], [3, 6, 8, 9]]),
            np.outer([1, 2, 3, 4], [1, 2, 3, 4])[np.triu_indices(4)] * 1.0,
            1,
        ),
        "offset": (AFFINE, None, None),
    }


def other_case(name):
    structure, y, rank = other_structures()[name]
    rng = np.random.default_rng(5)
    if name == "sylvester":
        y = rng.standard_normal(structure.signal_shape)
        rank = min(structure.shape) - 1
    if name == "offset":
        y, rank = np.array([1.0, -0.5, 0.3]), 2
    return structure, y, rank


@pytest.mark.parametrize("name", other_structures())
def test_factored_fit_is_a_stationary_structured_matrix_of_that_rank(name, rng):
    structure, y, rank = other_case(name)
    b = y + 0.02 * noise_like(y, rng)
    problem = Problem(structure, b, 1e-3)
    fit = refit(start_near(problem, b, rank))
    dense = structure.to_dense(fit.y)
    violation = np.linalg.norm(fit.X.to_dense() - dense) / np.linalg.norm(dense)
    assert fit.relative_violation == pytest.approx(violation, abs=3e-8)
    assert violation < 2e-7
    s = np.linalg.svd(dense, compute_uv=False)
    assert fit.rank == rank == fit.X.rank
    assert s[rank] < 1e-6 * s[0] < s[rank - 1] * 1e-2
    assert fit.residual_squared == pytest.approx(np.linalg.norm(fit.y - b) ** 2)
    basis = tangent_basis(structure, fit.X)
    assert fit.parameters == basis.shape[1] * (2 if np.iscomplexobj(y) else 1)
    if basis.shape[1]:
        Q, _ = np.linalg.qr(basis)
        residual = (fit.y - b).reshape(-1)
        assert np.linalg.norm(Q.conj().T @ residual) < 1e-4 * np.linalg.norm(residual)


@pytest.mark.parametrize("name", other_structures())
def test_tangent_space_is_that_of_the_definition(name):
    """All z with (I - P_U) Q(z) (I - P_V) = 0, from a dense SVD."""
    structure, y, rank = other_case(name)
    X = start_near(Problem(structure, y, 1.0), y, rank).X
    U, V = (np.linalg.qr(F)[0] for F in (X.U, X.V))
    size, zero = y.size, structure.to_dense(np.zeros(structure.signal_shape, y.dtype))
    outside = []
    for k in range(size):
        Z = structure.to_dense(np.eye(size, dtype=y.dtype)[k].reshape(y.shape)) - zero
        Z = Z - U @ (U.conj().T @ Z)
        outside.append((Z - (Z @ V) @ V.conj().T).reshape(-1))
    _, s, Vh = np.linalg.svd(np.stack(outside, axis=1))
    null = Vh[np.count_nonzero(s > 1e-7 * s[0]) :].conj().T
    basis = tangent_basis(structure, X)
    assert basis.shape == null.shape
    np.testing.assert_allclose(null @ (null.conj().T @ basis), basis, atol=1e-4)


def test_modes_and_factors_agree(rng):
    y = DAMPED.signal(40)
    seen = rng.random(40) < 0.8
    b = np.where(seen, y + 0.1 * noise_like(y, rng), np.nan)
    result = start_near(Problem(Hankel(40, window=20), b, 1e-3, Mask(seen)), y, 2)
    modal, factored = refit(result), factored_fit(result, 2)
    np.testing.assert_allclose(factored.y, modal.y, atol=1e-5)
    assert factored.residual_squared == pytest.approx(modal.residual_squared, rel=1e-5)
    assert factored.parameters == modal.parameters
    assert factored.sample_count == modal.sample_count
    assert factored.sigma == pytest.approx(modal.sigma, rel=1e-5)
    np.testing.assert_allclose(factored.stderr, modal.stderr, rtol=1e-4)


def test_factored_fit_in_single_precision(rng):
    S = Indexed(np.arange(30).reshape(5, 6))
    y = (rng.standard_normal((5, 2)) @ rng.standard_normal((2, 6))).reshape(-1)
    problem = Problem(S, y.astype(np.float32), 1e-3)
    fit = refit(start_near(problem, y.astype(np.float32), 2))
    assert fit.y.dtype == np.float32
    assert fit.parameters == 2 * (5 + 6 - 2)
    np.testing.assert_allclose(fit.y, y, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("block", [None, (2, 2)])
def test_scale_does_not_matter(scale, block, rng):
    S = Hankel(16, window=8, block=block)
    decay = 0.9 ** np.arange(16.0)
    y = decay if block is None else np.multiply.outer(decay, np.outer([1.0, 2.0], [1.0, -1.0]))
    b = y + 0.01 * rng.standard_normal(y.shape)
    one, other = (refit(start_near(Problem(S, c * b, c), c * b, 1)) for c in (1.0, scale))
    np.testing.assert_allclose(other.y / scale, one.y, rtol=1e-5)
    assert other.sigma == pytest.approx(scale * one.sigma, rel=1e-5)
    np.testing.assert_allclose(other.stderr / scale, one.stderr, rtol=1e-4)


def test_only_the_public_refit_warns(rng, monkeypatch):
    structure, y, rank = other_case("unstructured")
    result = start_near(
        Problem(structure, y + 0.1 * noise_like(y, rng), 1e-3, Mask(y > -1)), y, rank
    )
    assert fit_at_rank(result, rank).converged
    stopped = partial(fit_at_rank, fitting=FactoredFitting(rounds=1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not stopped(result, rank).converged
    monkeypatch.setitem(refit.__globals__, "fit_at_rank", stopped)
    with pytest.warns(ConvergenceWarning, match="reached its iteration limit before") as record:
        refit(result)
    assert len(record) == 1
    assert record[0].filename == __file__


# -- weights ------------------------------------------------------------------------------


def test_weights_of_the_problem_do_not_count(rng):
    y = 0.9 ** np.arange(20.0) + 0.05 * rng.standard_normal(20)
    S, w = Hankel(20, window=10), rng.uniform(1, 5, 20)
    fits = [
        refit(start_near(Problem(S, y, 1e-3, measure), y, 1))
        for measure in (None, "lifted", Weighted(w), Mask(np.ones(20, dtype=bool)))
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.y, fits[0].y, rtol=1e-6)
        assert fit.residual_squared == pytest.approx(np.sum((fit.y - y) ** 2))


def test_given_weights(rng):
    t = np.arange(20.0)
    y = 0.9**t + 0.05 * rng.standard_normal(20)
    w = rng.uniform(0.5, 2, 20) * (t != 7)
    result = start_near(Problem(Hankel(20, window=10), y, 1e-3), y, 1)
    fit = refit(result, weights=w)
    best = scipy.optimize.least_squares(lambda p: w * (p[0] * np.exp(-p[1] * t) - y), [1, 0.1])
    assert fit.residual_squared == pytest.approx(2 * best.cost, rel=1e-7)
    assert (fit.sample_count, fit.parameters) == (19, 2)
    spoiled = replace(result, problem=replace(result.problem, b=np.where(t == 7, 1e3, y)))
    np.testing.assert_allclose(refit(spoiled, weights=w).y, fit.y, rtol=1e-5)


# -- errors -------------------------------------------------------------------------------


def simple(rank=1, **options):
    y = 0.9 ** np.arange(20.0)
    problem = Problem(Hankel(20, window=10), y, 1e-3, **options)
    return start_near(problem, y + 1e-6 * np.cos(np.arange(20)), rank)


def test_bad_arguments():
    with pytest.raises(TypeError, match="a Result is expected"):
        refit(3)
    with pytest.raises(ValueError, match="pass at most that, or solve with a smaller mu"):
        refit(simple(), rank=2)
    for rank in (0, -1, 1.5):
        with pytest.raises((TypeError, ValueError), match="rank"):
            refit(simple(), rank=rank)
    with pytest.raises(ValueError, match="sigma is -1"):
        refit(simple(), sigma=-1)
    with pytest.raises(ValueError, match="shape"):
        refit(simple(), weights=np.ones(3))
    with pytest.raises(ValueError, match="weights contains NaN, inf or a negative number"):
        refit(simple(), weights=-np.ones(20))
    with pytest.raises(ValueError, match="all samples are missing"):
        refit(simple(), weights=np.zeros(20))
    with pytest.raises(ValueError, match="multiply its result and b by them"):
        refit(simple(measure=(lambda y: y, lambda d: d)), weights=np.ones(20))
    S = Circulant(6)
    with pytest.raises(ValueError, match="has no modes, so undamped does not apply"):
        refit(start_near(Problem(S, np.ones(6), 1.0), np.ones(6), 1), undamped=True)


def test_undamped_modes_stay_undamped(rng):
    y = np.exp(0.5j * np.arange(30)) + 0.1 * noise_like(np.zeros(30, complex), rng)
    result = start_near(Problem(Hankel(30, window=15), y, 1e-3), y, 1)
    free, kept = refit(result), refit(result, undamped=True)
    assert (free.parameters, kept.parameters) == (4, 3)
    assert np.all(kept.modes.dampings == 0)
    assert np.all(kept.modes.stderr.dampings == 0)
    assert free.residual_squared < kept.residual_squared
    assert np.all(kept.stderr < free.stderr + 1e-12)


def test_rank_zero(rng):
    b = rng.standard_normal(20)
    seen = rng.random(20) < 0.5
    problem = Problem(Hankel(20, window=10), b, 1e3, Weighted("lifted", seen))
    fit = refit(gcgls(problem, lam=1.0))
    assert (fit.rank, fit.parameters, fit.sample_count) == (0, 0, seen.sum())
    assert np.all(fit.y == 0)
    assert np.all(fit.stderr == 0)
    assert fit.sigma == pytest.approx(np.sqrt(np.mean(b[seen] ** 2)))


def test_rank_zero_with_an_offset_says_how_far_it_is_from_the_structure():
    result = result_of(Problem(AFFINE, np.ones(3), 1.0), LowRank.zeros((3, 4), np.ones(3)))
    fit = refit(result)
    np.testing.assert_allclose(fit.y, -AFFINE.average_dense(AFFINE.offset))
    assert fit.relative_violation == pytest.approx(1.0)


def test_too_few_samples_for_the_noise():
    b = np.full(20, np.nan)
    b[[0, 5]] = 1.0, 0.5
    problem = Problem(Hankel(20, window=10), b, 1e-3, Mask(~np.isnan(b)))
    result = start_near(problem, 0.9 ** np.arange(20.0), 1)
    fit = refit(result)
    assert fit.sigma is None
    assert fit.modes.stderr is None
    assert fit.information == np.inf
    assert np.all(np.isfinite(fit.y))
    with pytest.raises(ValueError, match="pass sigma to refit, or a smaller rank"):
        fit.stderr  # noqa: B018
    assert "unknown" in repr(fit)
    known = refit(result, sigma=0.1)
    assert np.all(np.isfinite(known.stderr))
    assert known.stderr[[0, 5]] == pytest.approx(0.1)


def test_what_no_sample_determines_has_an_infinite_error():
    """The second channel is never seen."""
    S = Hankel(20, window=10, block=(2, 1))
    y = np.multiply.outer(0.9 ** np.arange(20.0), np.array([[1.0], [2.0]]))
    seen = np.zeros(y.shape, dtype=bool)
    seen[:, 0] = True
    fit = refit(start_near(Problem(S, y, 1e-3, Mask(seen)), y, 1), sigma=0.1)
    assert np.all(np.isfinite(fit.stderr[:, 0]))
    assert np.all(np.isinf(fit.stderr[:, 1]))
    assert np.isinf(fit.modes.stderr.amplitudes[0]).tolist() == [False, True]


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64"])
def test_an_error_beyond_the_range_of_the_data_type_is_infinite(dtype):
    y = (0.9 ** np.arange(4.0)).astype(dtype)
    fit = refit(start_near(Problem(Hankel(4, window=2), y, 1e-3), y, 1), sigma=0.1)
    sizes = np.array([1.0, 1e30, 1e45, np.inf])
    errors = replace(fit, unit_errors=lambda: sizes).stderr
    assert errors.dtype == y.real.dtype
    finite = [True, True, dtype == "float64", False]
    assert np.isfinite(errors).tolist() == finite
    np.testing.assert_allclose(errors[finite], 0.1 * sizes[finite], rtol=1e-6)


@pytest.mark.parametrize("complex_rows", [True, False])
def test_error_propagation_is_the_textbook_formula(rng, complex_rows):
    J, rows = rng.standard_normal((20, 5)), rng.standard_normal((7, 5))
    rows = rows + 1j * rng.standard_normal((7, 5)) if complex_rows else rows
    covariance = 0.3**2 * np.linalg.inv(J.T @ J)
    literal = np.sqrt(np.diag(rows @ covariance @ rows.conj().T).real)
    np.testing.assert_allclose(ErrorPropagation(J).errors(rows, 0.3), literal)
    # Squares leave the range of numbers here.
    np.testing.assert_allclose(ErrorPropagation(J).errors(1e200 * rows, 0.3), 1e200 * literal)


def test_errors_beyond_and_below_all_numbers():
    J = np.array([[1e-60, 0.0, 0.0], [0.0, 1.0, 1.0]])  # the last two are known as a sum alone
    rows = np.array([[1e300, 0, 0], [1e200, 0, 0], [0, 1e-100, 0], [0, 1e-3, 0], [0, 0, 0]])
    propagation = ErrorPropagation(J)
    for errors, tiny in ((propagation.errors, np.inf), (propagation.errors_of_values, 0.0)):
        expected = [np.inf, 1e260, tiny, np.inf, 0.0]
        np.testing.assert_allclose(errors(rows), expected, atol=1e-99)


def test_a_mode_that_no_sample_sees_has_no_amplitude():
    seen = np.arange(8) > 0
    problem = Problem(Hankel(8, window=4), 1.0 * seen, 1.0, Mask(seen))
    modes = Modes([0.0, 0.0], dampings=[0.0, 700.0])
    for dampings in (modes.dampings, modes.dampings[1:]):
        start = Modes(np.zeros(len(dampings)), dampings)
        fitted = with_amplitudes(start, problem, problem.b, problem.structure)
        expected = [1.0, 0.0][2 - len(dampings) :]
        np.testing.assert_allclose(fitted.amplitudes, expected, atol=1e-12)
        again = refit_modes(problem, fitted, sigma=0.1)
        assert np.all(np.isfinite(again.y))


def test_errors_of_modes_are_the_dense_formula(rng):
    y = DAMPED.signal(40) + 0.1 * noise_like(np.zeros(40, complex), rng)
    seen = rng.random(40) < 0.8
    fit = refit(start_near(Problem(Hankel(40, window=20), y, 1e-3, Mask(seen)), y, 2))
    model = ModalModel.of(fit.modes, (40,), real=False, undamped=False)
    _, J = model.rows(everywhere(model))
    rows = np.concatenate([J[seen].real, J[seen].imag])
    covariance = fit.sigma**2 / 2 * np.linalg.inv(rows.T @ rows)
    np.testing.assert_allclose(fit.stderr**2, np.diag(J @ covariance @ J.conj().T).real, rtol=1e-6)
    variances = np.diag(covariance)
    np.testing.assert_allclose(fit.modes.stderr.frequencies[:, 0] ** 2, variances[:2], rtol=1e-6)
    np.testing.assert_allclose(fit.modes.stderr.dampings[:, 0] ** 2, variances[2:4], rtol=1e-6)
    # Modulus and phase: rotate the error ellipse of each amplitude.
    for k, a in enumerate(fit.modes.amplitudes):
        pick = np.ix_([4 + k, 6 + k], [4 + k, 6 + k])
        along, across = np.array([a.real, a.imag]) / abs(a), np.array([-a.imag, a.real]) / abs(a)
        errors = fit.modes.stderr
        assert errors.amplitudes[k] ** 2 == pytest.approx(along @ covariance[pick] @ along)
        assert (errors.phases[k] * abs(a)) ** 2 == pytest.approx(across @ covariance[pick] @ across)


COVERAGE = {
    "line": (Hankel(64, window=32), Modes([0.1, 0.23], [0.01, 0.02], [1.0, 0.8j]), False),
    "plane": (
        Hankel((14, 14), window=(7, 7)),
        conjugated(Modes([[0.1, 0.3], [0.2, -0.15]], [[0.01, 0.02], [0.0, 0.01]], [0.5j, 0.4])),
        True,
    ),
}


@pytest.mark.parametrize(
    ("name", "decibel"), [("line", 10), ("plane", 20), nightly("line", 20), nightly("plane", 10)]
)
def test_95_percent_intervals_cover(name, decibel):
    """Of 250 draws of the noise, with its level estimated, and gaps."""
    structure, modes, real = COVERAGE[name]
    rng = np.random.default_rng(1)
    y = modes.signal(structure.lengths)
    y = y.real if real else y
    sigma = np.sqrt(np.mean(np.abs(y) ** 2)) * 10 ** (-decibel / 20)
    seen = rng.random(y.shape) < 0.7
    start = start_near(Problem(structure, y, 1.0, Mask(seen)), y, len(modes))
    inside = {key: [] for key in ("values", "frequencies", "dampings", "amplitudes", "phases")}
    for _ in range(250):
        b = y + sigma * noise_like(y, rng)
        fit = refit(replace(start, problem=replace(start.problem, b=b)))
        part = 1.0 if real else np.sqrt(0.5)
        inside["values"].append(np.abs((fit.y - y).real) <= 1.96 * part * fit.stderr)
        apart = np.abs(fit.modes.frequencies - modes.frequencies[:, None]).sum(axis=2)
        order = np.argmin(apart, axis=1)
        for key in ("frequencies", "dampings"):
            error = getattr(fit.modes, key)[order] - getattr(modes, key)
            inside[key].append(np.abs(error) <= 1.96 * getattr(fit.modes.stderr, key)[order])
        ratio = fit.modes.amplitudes[order] / modes.amplitudes
        error = np.abs(modes.amplitudes) * (np.abs(ratio) - 1)
        inside["amplitudes"].append(np.abs(error) <= 1.96 * fit.modes.stderr.amplitudes[order])
        inside["phases"].append(np.abs(np.angle(ratio)) <= 1.96 * fit.modes.stderr.phases[order])
    shares = {key: np.mean(values) for key, values in inside.items()}
    assert all(0.92 <= share <= 0.98 for share in shares.values()), shares


# -- how it shows itself ------------------------------------------------------------------


@pytest.mark.parametrize("seed", [7, 13, 31, 40, 45, 52])
def test_modes_do_not_grow_where_nothing_is_seen(seed):
    """Solutions that have not converged, with large gaps; found by random search.

    Their refits had values of 2e2 to 1e161 times the samples.
    """
    rng = np.random.default_rng(seed)
    n, k, has_imaginary = int(rng.integers(40, 120)), int(rng.integers(1, 6)), rng.random() < 0.5
    f, d = 0.5 * rng.random(k), rng.choice([0, 1]) * rng.uniform(0, 3 / n, k)
    y = np.exp(np.outer(np.arange(n), 2j * np.pi * f - d)) @ np.exp(2j * np.pi * rng.random(k))
    y = y if has_imaginary else y.real
    seen = rng.random(n) < rng.uniform(0.3, 1)
    first, width = int(rng.integers(0, n)), int(n * rng.uniform(0.2, 0.6))
    seen[first : first + width] = False
    level = rng.choice([0, 0.01, 0.3])
    b = y + level * (rng.standard_normal(n) + (1j * rng.standard_normal(n) if has_imaginary else 0))
    mu = float(10 ** rng.uniform(-3, 0.5))
    problem = Problem(Hankel(n, window=(n + 1) // 2), b, mu, Weighted("lifted", seen))
    states = gcgls_states(problem, 1.0)
    early = iterate(states, problem, stop=Stop(int(rng.integers(1, 8))))
    scale = np.max(np.abs(b[seen]))
    plain = fit_at_rank(early, early.rank)
    assert np.max(np.abs(plain.y)) > 100 * scale
    assert np.max(np.abs(refit(early).y)) <= 10 * scale


@pytest.mark.parametrize("damping", [20.0, -20.0])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_modes_may_leave_single_precision_where_nothing_is_seen(dtype, damping):
    """A mode decays from before the first sample, or grows after the last one."""
    t = np.arange(12)
    y = np.exp(-damping * (t - 5))
    seen = y < 2
    b = np.where(seen, y, 0.0).astype(dtype)
    modes = Modes([0.0], dampings=damping, amplitudes=y[0])
    fit = refit_modes(Problem(Hankel(12, window=6), b, 1e-3, Mask(seen)), modes, sigma=0.1)
    assert np.all(np.isfinite(fit.y))
    assert np.max(np.abs(fit.y)) > 1e38
    assert np.all(np.isfinite(fit.X.U))
    assert np.max(fit.stderr) == np.inf
    assert explained(fit.problem, modes, DirectSearch()) == (True, False)


def test_a_mode_of_hardly_any_size_has_a_phase_without_warnings():
    problem = Problem(Hankel(20, window=10), np.ones(20, dtype=complex), 1.0)
    fit = ModalFit(problem, Modes([0.0], amplitudes=1.0), None, undamped=False)
    fit.model = replace(fit.model, amplitudes=1e-320 * np.ones_like(fit.model.amplitudes))
    assert np.all(np.isfinite(fit.modes(0.1).stderr.phases))


def test_growth_that_the_samples_determine_is_kept():
    """The largest values of a decay are not seen, but certain."""
    t = np.arange(60)
    y = 0.8**t + 1e-9 * np.random.default_rng(0).standard_normal(60)
    problem = Problem(Hankel(60, window=30), y, 1e-6, Weighted("lifted", t >= 20))
    fit = refit(result_of(problem, LowRank(0.8 ** t[:30, None], 0.8 ** t[:31, None])))
    np.testing.assert_allclose(fit.y, 0.8**t, rtol=1e-3)


def test_report_in_terminal_and_notebook():
    fit = refit(simple())
    assert repr(fit).startswith("Refit\n  problem       Problem(Hankel")
    html = fit._repr_html_()
    assert html.startswith("<table><caption>structrank refit</caption>")
    assert "2 parameters for 20 numbers" in html


@pytest.mark.parametrize(
    "structure", [Hankel(20, window=10), Indexed(Hankel(20, window=10).index())], ids=str
)
def test_results_can_be_sent_to_other_processes(structure, rng):
    """They can be pickled, with their standard errors not computed yet."""
    b = 0.9 ** np.arange(20.0) + 0.01 * rng.standard_normal(20)
    result = gcgls(Problem(structure, b, mu=0.1, measure="lifted"), lam=1.0)
    fit = refit(result, rank=1)
    sent = pickle.loads(pickle.dumps(fit))
    np.testing.assert_array_equal(sent.stderr, fit.stderr)
    np.testing.assert_array_equal(sent.y, fit.y)
