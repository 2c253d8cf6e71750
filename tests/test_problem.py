"""Problems and measurements: their meaning, and the errors for bad input."""

from __future__ import annotations

import numpy as np
import pylops
import pytest
from conftest import AFFINE, random_array, to_library
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import aslinearoperator

from structrank import (
    Hankel,
    Indexed,
    LowRank,
    Mask,
    Operator,
    Penalized,
    Problem,
    Stop,
    Structure,
    Weighted,
    gcgls,
    mu_max,
    recover,
)

pytestmark = pytest.mark.quick

S = Hankel(9, window=4)


@pytest.fixture
def b(rng):
    return rng.standard_normal(9)


class TestMeasures:
    def test_everything(self, b):
        problem = Problem(S, b, 1.0)
        np.testing.assert_array_equal(problem.measure.forward(b), b)
        assert repr(problem) == "Problem(Hankel((9,), window=(4,)), 9 of 9 samples seen, mu=1)"

    def test_what_a_mask_hides_is_ignored(self, b):
        seen = np.arange(9) % 2 == 0
        for hidden in (np.nan, np.inf, 1e300):
            problem = Problem(S, np.where(seen, b, hidden), 1.0, Mask(seen))
            np.testing.assert_array_equal(problem.data, np.where(seen, b, 0))
        assert "5 of 9 samples seen" in repr(problem)

    def test_lifted_weights_by_name(self, b):
        for measure in ("lifted", Weighted("lifted")):
            problem = Problem(S, b, 1.0, measure)
            np.testing.assert_allclose(problem.measure.weights, np.sqrt(S.multiplicity))

    def test_lifted_misfit_is_that_of_the_matrices(self, b, rng):
        y = rng.standard_normal(9)
        problem = Problem(S, b, 1.0, "lifted")
        misfit = np.linalg.norm(problem.measure.forward(y) - problem.data)
        assert misfit == pytest.approx(np.linalg.norm(S.to_dense(y) - S.to_dense(b)))

    def test_weights_may_be_integers(self):
        counts = [2, 0, 1, 3]
        problem = Problem(Hankel(4, window=2), np.ones(4, np.float32), 1.0, Weighted(counts))
        assert problem.sample_weights.dtype == np.float32
        np.testing.assert_array_equal(problem.data, counts)

    def test_weights_of_zero_hide(self, b):
        weights = np.arange(9.0)
        b[0] = np.nan
        problem = Problem(S, b, 1.0, Weighted(weights))
        np.testing.assert_allclose(problem.data, weights * np.nan_to_num(b))

    @pytest.mark.parametrize("dtype", ["float64", "complex128"])
    def test_scipy_and_pylops_operators_and_functions_are_one(self, rng, dtype):
        A = random_array(rng, (6, 9), dtype)
        data = random_array(rng, 6, dtype)
        measures = [
            aslinearoperator(A),
            pylops.MatrixMult(A, dtype=dtype),
            (lambda y: A @ y, lambda d: A.conj().T @ d),
            Operator(lambda y: A @ y, lambda d: A.conj().T @ d),
        ]
        stop = Stop(xtol=None, rtol=None, gap=1e-5)
        results = [gcgls(Problem(S, data, 0.5, m), 1.0, stop=stop) for m in measures]
        for result in results[1:]:
            assert result.objective == pytest.approx(results[0].objective, rel=1e-4)
        assert "6 measurements by an operator" in repr(results[0].problem)

    def test_adjoint_decides_whether_the_signal_is_real(self, rng):
        """Fourier samples of a real signal: complex data, real solution."""
        data = np.fft.rfft(rng.standard_normal(9))

        def adjoint(d):
            padded = np.zeros(9, dtype=complex)
            padded[:5] = d
            return 9 * np.fft.ifft(padded).real

        result = gcgls(Problem(S, data, 0.5, (np.fft.rfft, adjoint)), 1.0)
        assert result.y.dtype == np.float64


class TestBadInput:
    """Errors say what was given and what is expected, before any work is done."""

    @pytest.mark.parametrize("kind", [None, "lifted", Mask(np.ones(9, dtype=bool))])
    def test_shape_of_b(self, rng, kind):
        with pytest.raises(ValueError, match=r"b has shape \(10,\), but Hankel.* expects \(9,\)"):
            Problem(S, rng.standard_normal(10), 1.0, kind)

    def test_shape_of_mask_and_weights(self, b):
        with pytest.raises(ValueError, match=r"weights has shape \(8,\).* expects \(9,\)"):
            Problem(S, b, 1.0, Mask(np.ones(8, dtype=bool)))
        with pytest.raises(ValueError, match=r"seen has shape \(8,\)"):
            Problem(S, b, 1.0, Weighted("lifted", np.ones(8, dtype=bool)))

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("measure", [None, "lifted", Mask(np.arange(9) < 5)])
    def test_not_finite_where_seen(self, b, value, measure):
        b[2] = value
        with pytest.raises(ValueError, match="NaN or inf where it is seen"):
            Problem(S, b, 1.0, measure)

    def test_nan_without_a_mask_says_how_to_mask(self, b):
        b[2] = np.nan
        with pytest.raises(ValueError, match=r"measure=Mask\(~np.isnan\(b\)\)"):
            Problem(S, b, 1.0)

    def test_nothing_seen(self, b):
        with pytest.raises(ValueError, match="all samples are missing or have weight zero"):
            Problem(S, b, 1.0, Mask(np.zeros(9, dtype=bool)))
        with pytest.raises(ValueError, match="all samples are missing or have weight zero"):
            Problem(S, b, 1.0, Weighted(np.zeros(9)))

    @pytest.mark.parametrize("mu", [0, -1.0, np.nan, np.inf, "much", None])
    def test_mu(self, b, mu):
        with pytest.raises(ValueError, match="mu is .*, but a finite number above zero"):
            Problem(S, b, mu)

    @pytest.mark.parametrize("lam", [0, -1.0, np.nan, np.inf, "much", None])
    def test_lam(self, b, lam):
        with pytest.raises(ValueError, match="lam is .*, but a finite number above zero"):
            gcgls(Problem(S, b, 1.0), lam)

    @pytest.mark.parametrize("dtype", ["int64", "bool", "object", "float16", "S1"])
    def test_dtype_of_b(self, dtype):
        with pytest.raises(TypeError, match=r"b has dtype .*, but a real or complex floating"):
            Problem(S, np.ones(9).astype(dtype), 1.0)

    @pytest.mark.parametrize("library", ["array_api_strict", "torch"])
    def test_integers_of_other_libraries(self, library):
        with pytest.raises(TypeError, match="b has dtype .*int64"):
            Problem(S, to_library(np.ones(9, dtype=np.int64), library), 1.0)

    def test_list_of_integers(self):
        with pytest.raises(TypeError, match="astype"):
            Problem(S, [1, 2, 3, 4, 5, 6, 7, 8, 9], 1.0)

    def test_adjoint_that_fails_the_dot_test(self, rng):
        A = rng.standard_normal((6, 9))
        with pytest.raises(ValueError, match="adjoint fails the dot test"):
            Problem(S, rng.standard_normal(6), 1.0, (lambda y: A @ y, lambda d: 2 * A.T @ d))

    def test_adjoint_without_its_conjugate(self, rng):
        A = random_array(rng, (6, 9), "complex128")
        data = random_array(rng, 6, "complex128")
        with pytest.raises(ValueError, match="adjoint fails the dot test"):
            Problem(S, data, 1.0, (lambda y: A @ y, lambda d: A.T @ d))

    def test_operator_of_the_wrong_shape(self, rng):
        A = rng.standard_normal((6, 8))
        with pytest.raises(ValueError, match=r"operator has shape \(6, 8\).* 9 entries"):
            Problem(S, rng.standard_normal(6), 1.0, aslinearoperator(A))
        with pytest.raises(ValueError, match=r"adjoint's result has shape \(8,\)"):
            Problem(S, rng.standard_normal(6), 1.0, (lambda y: A @ y, lambda d: A.T @ d))

    def test_data_of_the_wrong_shape_for_an_operator(self, rng):
        def forward(y):
            return y[:5]

        def adjoint(d):
            return np.concatenate([d, np.zeros(9 - d.size)])

        with pytest.raises(ValueError, match=r"result has shape \(5,\), but b has shape \(6,\)"):
            Problem(S, rng.standard_normal(6), 1.0, (forward, adjoint))

    def test_measure_of_another_type(self, b):
        with pytest.raises(TypeError, match="measure is int, but None"):
            Problem(S, b, 1.0, 3)
        with pytest.raises(ValueError, match="'lifted' or an array"):
            Problem(S, b, 1.0, "heavy")

    def test_structure_of_another_type(self, b):
        with pytest.raises(TypeError, match="structure is str, but a Structure"):
            Problem("Hankel", b, 1.0)

    def test_mask_that_is_not_boolean(self):
        with pytest.raises(TypeError, match="seen has dtype float64, but a boolean"):
            Mask(np.ones(9))

    @pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
    def test_weights_below_zero_or_not_finite(self, bad):
        with pytest.raises(ValueError, match="weights contains NaN, inf or a negative number"):
            Weighted(np.array([1.0, bad]))

    def test_weights_that_are_not_real(self):
        with pytest.raises(TypeError, match="real numbers are expected"):
            Weighted(np.array([1j]))

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"max_iter": 0}, ValueError),
            ({"max_iter": 1.5}, TypeError),
            ({"xtol": -1.0}, ValueError),
            ({"gap": np.nan}, ValueError),
            ({"max_time": 0}, ValueError),
        ],
    )
    def test_stop(self, options, error):
        with pytest.raises(error, match="expected"):
            Stop(**options)

    @given(
        st.one_of(
            st.text(), st.none(), st.lists(st.integers()), st.dictionaries(st.text(), st.none())
        )
    )
    def test_nonsense_is_refused_with_a_reason(self, nonsense):
        with pytest.raises((TypeError, ValueError), match="expected|expects"):
            Problem(S, nonsense, 1.0)


class TestOperators:
    """Linear operators work on flat NumPy vectors; the problem does not have to."""

    A = np.random.default_rng(3).standard_normal((8, 9))
    data = np.random.default_rng(4).standard_normal(8)

    @pytest.fixture
    def expected(self):
        return gcgls(Problem(S, self.data, 0.5, aslinearoperator(self.A)), 1.0)

    def test_data_of_several_dimensions(self, expected):
        for operator in (aslinearoperator(self.A), pylops.MatrixMult(self.A)):
            result = gcgls(Problem(S, self.data.reshape(2, 4), 0.5, operator), 1.0)
            assert result.objective == pytest.approx(expected.objective)

    @pytest.mark.parametrize("library", ["array_api_strict", "torch"])
    def test_other_libraries_and_precision(self, expected, library):
        b = to_library(self.data.astype("float32"), library)
        result = gcgls(Problem(S, b, 0.5, aslinearoperator(self.A)), 1.0)
        assert type(result.y) is type(b)
        assert result.y.dtype == b.dtype
        assert result.objective == pytest.approx(expected.objective, rel=1e-3)

    def test_operator_that_reuses_its_output(self, expected):
        out = np.empty(8)
        measure = (lambda y: np.matmul(self.A, y, out=out), lambda d: self.A.T @ d)
        result = gcgls(Problem(S, self.data, 0.5, measure), 1.0)
        assert result.objective == pytest.approx(expected.objective)

    def test_operator_that_returns_no_floating_array(self):
        for bad in (lambda d: [0.0] * 9, lambda d: np.zeros(9, dtype=int)):
            with pytest.raises(TypeError, match="a floating-point array is expected"):
                Problem(S, self.data, 0.5, (lambda y: self.A @ y, bad))

    def test_wrong_number_of_data(self):
        with pytest.raises(ValueError, match=r"b has 5 entries .* expected \(5, 9\)"):
            Problem(S, self.data[:5], 0.5, aslinearoperator(self.A))


class TestOptionsOfSolvers:
    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"pairs": 1.5}, ValueError),
            ({"pairs": "3"}, ValueError),
            ({"search_steps": -1}, ValueError),
            ({"search_steps": None}, ValueError),
            ({"search_tolerance": np.nan}, ValueError),
            ({"search_tolerance": -1.0}, ValueError),
            ({"stop": 5}, TypeError),
            ({"callback": 3}, TypeError),
        ],
    )
    def test_are_checked(self, b, options, error):
        with pytest.raises(error, match="expected"):
            gcgls(Problem(S, b, 1.0), 1.0, **options)

    def test_problem_of_another_type(self):
        with pytest.raises(TypeError, match="problem is NoneType, but a Problem"):
            gcgls(None, 1.0)

    def test_start_with_nan(self, b):
        start = LowRank(np.full((4, 1), np.nan), np.ones((6, 1)))
        with pytest.raises(ValueError, match="start contains NaN"):
            gcgls(Problem(S, b, 1.0), 1.0, start=start)

    def test_complex_start_for_a_real_signal(self, b):
        start = LowRank(np.ones((4, 1), dtype=complex), np.ones((6, 1), dtype=complex))
        with pytest.raises(TypeError, match="start is complex"):
            gcgls(Problem(S, b, 1.0), 1.0, start=start)

    def test_start_of_another_library(self, b):
        start = LowRank.ones(S.shape, to_library(b, "array_api_strict"))
        with pytest.raises(TypeError, match="one array library"):
            gcgls(Problem(S, b, 1.0), 1.0, start=start)


@pytest.mark.parametrize("value", ["2", True, [1.0], 1j])
def test_mu_of_another_type(b, value):
    with pytest.raises(ValueError, match="mu is"):
        Problem(S, b, value)


def test_changing_b_afterwards_does_not_change_the_problem(b):
    problem = Problem(S, b, 1.0)
    before = gcgls(problem, 1.0).objective
    b *= 100
    assert gcgls(problem, 1.0).objective == before


def test_masked_arrays_are_pointed_to_masks(b):
    with pytest.raises(TypeError, match=r"measure=Mask\(~b.mask\)"):
        Problem(S, np.ma.masked_less(b, 0), 1.0)


def test_complex_offset_with_real_data(rng):
    structure = Indexed([[0, 1], [1, 0]], offset=[[0, 1j], [0, 0]])
    with pytest.raises(ValueError, match="offset is complex"):
        Problem(structure, rng.standard_normal(2), 1.0)


class TestOwnStructures:
    def make(self, index, signal_shape):
        class Own(Structure):
            shape = (2, 2)

            def index(self):
                return np.array(index)

        own = Own()
        own.signal_shape = signal_shape
        return own

    def test_entry_that_stands_nowhere(self):
        with pytest.raises(ValueError, match=r"1 entries of the signal of Own \(2 x 2\)"):
            Problem(self.make([[0, 1], [1, 0]], (3,)), np.ones(3), 1.0)

    @pytest.mark.parametrize("index", [[[0, 5], [1, 0]], [[0, -2], [1, 0]], [[0, 1]]])
    def test_bad_index_map(self, index):
        with pytest.raises(ValueError, match="entries from -1 to 1"):
            Problem(self.make(index, (2,)), np.ones(2), 1.0)

    def test_equal_only_to_itself(self):
        one, other = (self.make([[0, 1], [1, 0]], (2,)) for _ in range(2))
        assert one == one
        assert one != other


def test_mu_max_does_not_depend_on_mu(b):
    assert mu_max(Problem(S, b, 0.1)) == mu_max(Problem(S, b, 10.0))


def test_affine_loss_is_that_of_the_signal(rng):
    """The offset shifts the data inside the objective, not what the user sees."""
    y = rng.standard_normal(3)
    X = LowRank(AFFINE.to_dense(y), np.eye(4))
    b = rng.standard_normal(3)
    objective = Penalized(Problem(AFFINE, b, 1.0), 1.0)
    point = objective.at(X)
    assert point.loss == pytest.approx(np.sum((y - b) ** 2) / 2)
    assert point.violation_squared == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(objective.signal(point), y)


class TestRangeOfSamples:
    """One range of sizes for everything that takes samples, and one error beyond it."""

    @pytest.mark.parametrize(
        ("dtype", "size"), [(float, 1e76), (complex, 1e-76), (np.float32, 1e10)]
    )
    def test_beyond(self, b, dtype, size):
        samples = (size * b / np.max(np.abs(b))).astype(dtype)
        with pytest.raises(ValueError, match=r"the largest sample is \S+ in size, but \S+ to"):
            Problem(S, samples, 1.0)

    @pytest.mark.parametrize("size", [1e300, 1e-300, np.nan])
    def test_what_is_not_seen_may_have_any_size(self, b, size):
        seen = np.arange(9) != 4
        assert Problem(S, np.where(seen, b, size), 1.0, Mask(seen)).sample_count == 8

    @pytest.mark.parametrize("measure", [None, Mask(np.arange(8) != 3)])
    def test_what_is_rounding_beside_samples_that_are_left_out_is_zero(self, measure):
        b = np.array([0, 1e-76, 0, np.nan if measure else 0, 0, 7.7, 0, 1e-80])
        rest = Problem(Hankel(8, window=4), b, 1.0, measure).without(np.arange(8) == 5)
        np.testing.assert_array_equal(rest.data, np.zeros(8))
        others = Problem(Hankel(8, window=4), b, 1.0, measure).without(np.arange(8) == 1)
        assert np.max(others.data) == 7.7
        assert np.all(np.isfinite(recover(b).signal))

    def test_operators_and_zeros(self, b):
        with pytest.raises(ValueError, match="largest sample"):
            Problem(S, 1e80 * b, 1.0, aslinearoperator(np.eye(9)))
        assert Problem(S, 0 * b, 1.0).sample_count == 9
