"""Long FFTs in two passes and in two halves, compared with SciPy; products that use them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
from conftest import DTYPES, random_array, to_library

from structrank import Hankel
from structrank._array import halved_fft, long_fft, transforms

pytestmark = pytest.mark.quick


def tolerance(dtype):
    return 200 * np.finfo(dtype).eps


def assert_same_values(got, expected, dtype):
    """Check that both contain the same frequencies, up to order and conjugation."""
    scale = tolerance(dtype) * np.max(np.abs(expected))
    distance = np.abs(got[:, None] - expected[None, :])
    assert np.max(np.min(distance, axis=1)) <= scale
    conjugate = np.abs(np.conj(got)[:, None] - expected[None, :])
    assert np.max(np.min(np.minimum(distance, conjugate), axis=0)) <= scale


CASES = [(long_fft, length, dtype) for length in (48, 60, 128, 105) for dtype in DTYPES]
CASES += [(halved_fft, length, dtype) for length in (48, 90, 128) for dtype in DTYPES[2:]]


@pytest.mark.parametrize(("transforms", "length", "dtype"), CASES)
@pytest.mark.parametrize("filled", [0.3, 0.5, 0.6, 1.0])
@pytest.mark.parametrize("workers", [1, 2])
class TestLongTransforms:
    def test_holds_scipys_spectrum_in_another_order(
        self, rng, transforms, length, dtype, filled, workers
    ):
        x = random_array(rng, (3, int(filled * length)), dtype)
        with scipy.fft.set_workers(workers):
            got = transforms.fft(x, length)
            mirrored = transforms.fft(x, length, mirrored=True)
        assert got.dtype == np.result_type(x.dtype, np.complex64)
        for row, back, signal in zip(got, mirrored, x, strict=True):
            assert_same_values(row, scipy.fft.fft(signal, length), dtype)
            assert_same_values(back, length * scipy.fft.ifft(signal, length), dtype)

    @pytest.mark.parametrize("mirrored", [False, True])
    def test_round_trip(self, rng, transforms, length, dtype, filled, workers, mirrored):
        x = random_array(rng, (3, int(filled * length)), dtype)
        with scipy.fft.set_workers(workers):
            spectrum = transforms.fft(x, length, mirrored=mirrored)
            one = np.ones((), dtype=spectrum.dtype)
            back = transforms.ifft_of_product(one, spectrum, length, x.shape[1], mirrored=mirrored)
        assert back.dtype == x.dtype
        assert np.max(np.abs(back - x)) <= tolerance(dtype) * np.max(np.abs(x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("window", [30, 45, 80])
@pytest.mark.parametrize("threshold", ["long", "halved"])
def test_hankel_products_with_long_transforms(rng, dtype, window, threshold, monkeypatch):
    monkeypatch.setattr(transforms, "SIZES", transforms.FFTSizes(**{threshold: 16}))
    S = Hankel(100, window=window)
    y = random_array(rng, 100, dtype)
    U, V = (random_array(rng, (n, 3), dtype) for n in S.shape)
    Q = S.to_dense(y)
    for got, expected in (
        (S.matmul(y, V), Q @ V),
        (S.rmatmul(y, U), Q.conj().T @ U),
        (S.adjoint(U, V), S.adjoint_dense(U @ V.conj().T)),
    ):
        assert got.dtype == expected.dtype
        assert np.max(np.abs(got - expected)) <= tolerance(dtype) * np.max(np.abs(expected))


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_other_libraries_row_by_row(rng, dtype, library, monkeypatch):
    xp = pytest.importorskip(library)
    S = Hankel((9, 8), window=(4, 5))
    y, V = random_array(rng, S.signal_shape, dtype), random_array(rng, (S.shape[1], 3), dtype)
    U = random_array(rng, (S.shape[0], 3), dtype)
    there = [xp.asarray(x) for x in (y, U, V)]
    whole = S.matmul(there[0], there[2]), S.rmatmul(there[0], there[1]), S.adjoint(*there[1:])
    monkeypatch.setattr(transforms, "SIZES", transforms.FFTSizes(by_row=16, row=1))
    rows = S.matmul(there[0], there[2]), S.rmatmul(there[0], there[1]), S.adjoint(*there[1:])
    for one, other in zip(rows, whole, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), atol=tolerance(dtype))


def test_many_short_rows_are_one_transform(monkeypatch):
    x, calls = to_library(np.ones((40, 30)), "torch"), []
    monkeypatch.setattr(transforms, "SIZES", transforms.FFTSizes(by_row=16))
    monkeypatch.setattr(
        transforms, "_transform", lambda module, name, x, *rest, **options: calls.append(x.shape)
    )
    transforms.fft(x, (32,), (1,))
    assert calls == [(40, 30)]
