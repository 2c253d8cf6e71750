"""Signals with several axes: k-space of several coils, and seismic traces.

    python -m benchmarks.space [--only phantom recordings large] [--seeds 2] [--size 64]
                               [--before PATH/TO/src] [--limit 300] [--data ../shared/data]

phantom: the k-space of ellipses that are seen by coils with smooth sensitivities, with noise; a
third of it is seen, at random or more densely in the middle. `recover` is compared with zeros in
the gaps and with SAKE, which is Cadzow's method for windows of all coils (P. J. Shin et al.,
"Calibrationless parallel imaging reconstruction based on structured low-rank matrix completion",
Magn. Reson. Med. 72 (2014)). SAKE runs for several ranks, and the best one is chosen by the true
error. The error is that of the image, the root of the sum of squares over coils, relative to it.

recordings: the middle 96 x 96 of k-space with eight coils, and a seismic gather, both with removed
samples, as in `benchmarks.real_data`. The error is that on the removed samples over that of zeros.
With `--before`, another version of the package runs on the same samples.

large: the k-space of 256 x 256 values and eight coils, a third seen.

Times are seconds of one core.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from benchmarks.five_signals import OURS, answer
from benchmarks.real_data import DATA, Case, cases
from benchmarks.recovery import count
from structrank import recover

SEEN = {"at random": 0.0, "middle": 3.0}  # power with which the density falls towards the edges


@dataclass(frozen=True)
class Sake:
    """Settings of SAKE, chosen in its favour.

    Attributes
    ----------
    window : int
        Samples of a window along each axis; that of its authors.
    steps : int
        Largest number of truncations.
    still : float
        The steps end when the signal changes by less than this, relatively.
    """

    window: int = 6
    steps: int = 400
    still: float = 1e-5


@dataclass(frozen=True)
class Phantom:
    """The k-space of simulated coils: shape (coils, size, size)."""

    truth: np.ndarray
    samples: np.ndarray  # with noise, NaN where not seen

    @property
    def seen(self) -> np.ndarray:
        return ~np.isnan(self.samples)

    def error(self, signal: np.ndarray) -> float:
        """Return the relative error of the image."""
        truth = image(self.truth)
        return float(np.linalg.norm(image(signal) - truth) / np.linalg.norm(truth))


def image(signal: np.ndarray) -> np.ndarray:
    """Return the root of the sum of squares over the images of all coils."""
    coils = np.fft.ifft2(np.fft.ifftshift(signal, axes=(1, 2)), norm="ortho")
    return np.sqrt(np.sum(np.abs(coils) ** 2, axis=0))


def ellipses(size: int, rng: np.random.Generator) -> np.ndarray:
    """Return a head: a bright rim, and eight random ellipses inside."""
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    radii, tilt = np.array([rng.uniform(0.6, 0.7), rng.uniform(0.75, 0.88)]), rng.uniform(-0.2, 0.2)
    parts = [(1.0, np.zeros(2), radii, tilt), (-0.7, np.zeros(2), radii - 0.06, tilt)]
    for _ in range(8):
        far, angle = rng.uniform(0, 0.4), rng.uniform(0, 2 * np.pi)
        middle = far * np.array([np.cos(angle), np.sin(angle)])
        inner = rng.uniform(0.04, 0.25, 2)
        parts.append((rng.uniform(-0.2, 0.5), middle, inner, rng.uniform(0, np.pi)))
    total = np.zeros((size, size))
    for height, (right, up), (wide, high), turn in parts:
        u = (x - right) * np.cos(turn) + (y - up) * np.sin(turn)
        v = (y - up) * np.cos(turn) - (x - right) * np.sin(turn)
        total += height * ((u / wide) ** 2 + (v / high) ** 2 <= 1)
    return total


def sensitivities(size: int, coils: int, rng: np.random.Generator) -> np.ndarray:
    """Return smooth complex sensitivities of coils that stand around the head."""
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    found = []
    for angle in 2 * np.pi * (np.arange(coils) + rng.uniform(-0.2, 0.2, coils)) / coils:
        square = (x - 1.1 * np.cos(angle)) ** 2 + (y - 1.1 * np.sin(angle)) ** 2
        first, right, up = rng.uniform(0, 2 * np.pi), *rng.uniform(-1, 1, 2)
        phase = first + right * x + up * y
        found.append(np.exp(-square / (2 * rng.uniform(0.6, 0.8) ** 2) + 1j * phase))
    return np.array(found)


def phantom(size: int, coils: int, power: float, seed: int, noise: float = 0.01) -> Phantom:
    """Return k-space with noise, a third of it seen, more densely in the middle if power > 0."""
    rng = np.random.default_rng((seed, size, coils))
    images = ellipses(size, rng) * sensitivities(size, coils, rng)
    truth = np.fft.fftshift(np.fft.fft2(images, norm="ortho"), axes=(1, 2))
    level = noise * np.sqrt(np.mean(np.abs(truth) ** 2) / 2)
    noisy = truth + level * rng.standard_normal((*truth.shape, 2)).view(complex)[..., 0]
    axis = np.linspace(-1, 1, size)
    density = (1 - np.hypot(*np.meshgrid(axis, axis)) / 1.5) ** power
    draws = rng.random((size, size)) ** (1 / density)  # the largest ones are seen
    seen = draws >= np.quantile(draws, 2 / 3)
    return Phantom(truth, np.where(seen, noisy, np.nan))


def sake(case: Phantom, rank: int, settings: Sake) -> np.ndarray:
    """Fill the gaps by truncating the matrix of all windows to a rank repeatedly."""
    coils, size, w = len(case.truth), case.truth.shape[1], settings.window
    places = size - w + 1
    copies = np.convolve(np.ones(places), np.ones(w))
    seen, samples = case.seen, np.nan_to_num(case.samples).astype(np.complex64)
    y = samples
    for _ in range(settings.steps):
        windows = sliding_window_view(y, (w, w), axis=(1, 2)).transpose(0, 3, 4, 1, 2)
        matrix = windows.reshape(coils * w * w, -1)
        U = np.linalg.eigh(matrix @ matrix.conj().T)[1][:, -rank:]
        truncated = (U @ (U.conj().T @ matrix)).reshape(windows.shape)
        z = np.zeros_like(y)
        for i, j in np.ndindex(w, w):
            z[:, i : i + places, j : j + places] += truncated[:, i, j]
        before, y = y, np.where(seen, samples, z / np.outer(copies, copies)).astype(y.dtype)
        if np.linalg.norm(y - before) < settings.still * np.linalg.norm(y):
            break
    return y


def phantoms(options: argparse.Namespace) -> None:
    """Print the errors of images and the times on simulated k-space."""
    print(
        f"{options.coils} coils x {options.size} x {options.size}, a third seen: error of the image"
    )
    print(f"{'seen':<12}{'seed':>5}{'zeros':>9}{'recover':>9}{'SAKE':>9}{'rank':>6}", end="")
    print(f"{'recover, s':>12}{'SAKE, s':>10}{'error / SAKE':>14}")
    settings, ratios = Sake(steps=options.steps), []
    for name, power in SEEN.items():
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            case = phantom(options.size, options.coils, power, seed)
            began = time.process_time()
            ours = case.error(recover(case.samples, channels=0).signal)
            seconds, began = time.process_time() - began, time.process_time()
            rival, rank = min((case.error(sake(case, r, settings)), r) for r in options.ranks)
            theirs = (time.process_time() - began) / len(options.ranks)
            ratios.append(ours / rival)
            print(
                f"{name:<12}{seed:>5}{case.error(np.nan_to_num(case.samples)):>9.4f}{ours:>9.4f}"
                f"{rival:>9.4f}{rank:>6}{seconds:>12.1f}{theirs:>10.1f}{ratios[-1]:>14.2f}",
                flush=True,
            )
    print(f"median error over that of SAKE at its best rank: {np.median(ratios):.2f}\n")


def recordings(data: Path, seed: int) -> Iterator[Case]:
    """Yield the recordings with removed samples."""
    signal = np.load(data / "mri" / "cartesian_ksp.npy")
    first, second = ((n - 96) // 2 for n in signal.shape[1:])
    signal = signal[:, first : first + 96, second : second + 96].astype(complex)
    measured = np.abs(signal[0]) > 0
    removed = measured & (np.random.default_rng(seed).random(measured.shape) < 0.1)
    known = np.where(measured, signal, np.nan)
    yield Case("k-space, 8 x 96 x 96", known, np.broadcast_to(removed, signal.shape), 0)
    yield dict(cases(data, seed))["seismic"]()


def on_recordings(options: argparse.Namespace) -> None:
    """Print the errors and times on recordings, for this version and another."""
    print(f"{'recording':<26}{'seed':>5}{'error':>9}{'seconds':>9}", end="")
    print(f"{'before':>9}{'seconds':>9}{'times faster':>14}{'error':>8}" if options.before else "")
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for case in recordings(options.data, seed):
            ours = answer(case.samples, OURS, options.limit, case.channels)
            error = float("nan") if ours.signal is None else case.error(ours.signal)
            line = f"{case.name:<26}{seed:>5}{error:>9.4f}{ours.seconds:>9.2f}"
            if options.before:
                old = answer(case.samples, options.before, options.limit, case.channels)
                past = float("nan") if old.signal is None else case.error(old.signal)
                line += f"{past:>9.4f}{old.seconds:>9.2f}{old.seconds / ours.seconds:>14.1f}"
                line += f"{error / past:>8.3f}"
            print(line, flush=True)
    print()


def large() -> None:
    """Print error and time for k-space of 256 x 256 values."""
    case = phantom(256, 8, SEEN["middle"], 0)
    began = time.process_time()
    error = case.error(recover(case.samples, channels=0).signal)
    print(f"8 x 256 x 256: error {error:.4f} in {time.process_time() - began:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ["phantom", "recordings", "large"]
    parser.add_argument("--only", nargs="+", choices=parts, default=parts)
    parser.add_argument("--seeds", type=count, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--size", type=count, default=64, help="of the phantom, along each axis")
    parser.add_argument("--coils", type=count, default=8)
    parser.add_argument("--ranks", type=count, nargs="+", default=[35, 40, 45, 50, 60])
    parser.add_argument("--steps", type=count, default=Sake.steps, help="of SAKE at most")
    parser.add_argument("--before", type=Path, help="folder src of another version")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each call")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the recordings")
    options = parser.parse_args()
    if "phantom" in options.only:
        phantoms(options)
    if "recordings" in options.only:
        try:
            on_recordings(options)
        except FileNotFoundError as error:
            print(f"recordings skipped: {error.filename} is missing (--data)\n")
    if "large" in options.only:
        large()


if __name__ == "__main__":
    main()
