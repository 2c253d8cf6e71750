"""Real signals with samples removed: `recover` beside what people do without it.

    python -m benchmarks.real_data [--data ../shared/data] [--only nmr co2 ...] [--draws 6]

The error on the removed samples is relative to that of zeros (for real series: of the mean). The
table has the median over several draws of removed samples, and the number of draws in which
`recover` is better than all rivals. The rivals are linear interpolation (along the axis with the
gaps), zeros, and Cadzow / SSA (for k-space: SAKE) gap filling. The latter truncates the same Hankel
matrix to a rank repeatedly; the best of several ranks is chosen in hindsight for each draw.
`recover` gets no options except the axis of channels. k-space is drawn three times at most, as its
rival takes minutes. The last table forecasts the last year of the CO2 series.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.recovery import count
from structrank import ConvergenceWarning, Hankel, forecast, recover
from structrank.io import read
from structrank.signals.problems import hankel_problem

DATA = Path(__file__).parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Cadzow:
    """Settings of Cadzow's method, chosen in its favour.

    Attributes
    ----------
    ranks : tuple of int
        Ranks that are tried.
    ranks_of_channels : tuple of int
        The same for k-space: a few for each sample of a window.
    steps : int
        Largest number of truncations.
    first_passes, passes : int
        Subspace iterations for the first truncation and for each further one, which starts from
        the subspace before.
    still : float
        The steps end when the signal changes by less than this, relatively.
    worse : float
        Higher ranks are not tried once the error is this many times the least one.
    """

    ranks: tuple[int, ...] = (1, 2, 3, 5, 8, 12, 20, 30, 50)
    ranks_of_channels: tuple[int, ...] = (20, 35, 50, 75)
    steps: int = 60
    first_passes: int = 5
    passes: int = 1
    still: float = 1e-4
    worse: float = 2.0


@dataclass(frozen=True)
class Case:
    """A signal, its removed samples, and the axis that holds channels."""

    name: str
    signal: np.ndarray
    removed: np.ndarray
    channels: int | None = None
    axis: int = 0  # along which a person would interpolate

    @property
    def samples(self) -> np.ndarray:
        return np.where(self.removed, np.nan, self.signal)

    def error(self, y: np.ndarray) -> float:
        """Return the error on removed samples, relative to that of the mean or of zeros."""
        at = self.removed & ~np.isnan(self.signal)
        guess = np.nanmean(self.samples) if self.signal.ndim == 1 and not self.is_complex else 0.0
        size = np.linalg.norm(self.signal[at] - guess)
        return float(np.linalg.norm(y[at] - self.signal[at]) / size)

    @property
    def is_complex(self) -> bool:
        return np.iscomplexobj(self.signal)


def random_part(signal: np.ndarray, share: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(signal.shape) < share


def gaps(length: int, count: int, width: int, seed: int) -> np.ndarray:
    """Return gaps of equal width, about equally spaced."""
    rng = np.random.default_rng(seed)
    removed = np.zeros(length, dtype=bool)
    for start in np.linspace(0.05 * length, 0.95 * length - width, count).astype(int):
        first = start + int(rng.integers(-5, 6))
        removed[first : first + width] = True
    return removed


def co2() -> np.ndarray:
    import statsmodels.api as sm

    return sm.datasets.co2.load_pandas().data["co2"]


def fid(data: Path) -> np.ndarray:
    return read(data / "nmr" / "nmrglue_1D_time.fid").values.astype(complex)


def spectroscopy(data: Path) -> np.ndarray:
    """Read the free induction decay behind the header of a Siemens file."""
    raw = (data / "mrs" / "SVS_30.rda").read_bytes()
    mark = b">>> End of header <<<"
    numbers = np.frombuffer(raw[raw.index(mark) + len(mark) + 2 :], dtype="<f8")
    return numbers[::2] + 1j * numbers[1::2]


def cases(data: Path, seed: int) -> Iterator[tuple[str, Callable[[], Case]]]:
    """Yield the name of every case and a function that makes it."""

    def series(name: str, width: int, count: int) -> Case:
        if name == "co2":
            values = co2().to_numpy()
        else:
            import statsmodels.api as sm

            values = sm.datasets.sunspots.load_pandas().data["SUNACTIVITY"].to_numpy()
        return Case(f"{name}, gaps of {width}", values, gaps(len(values), count, width, seed))

    def decay(name: str, share: float) -> Case:
        signal = fid(data) if name == "nmr" else spectroscopy(data)
        return Case(f"{name}, {share:.0%} removed", signal, random_part(signal, share, seed))

    def seismic() -> Case:
        signal = np.load(data / "seismic" / "mobil.npy").astype(float)
        traces = np.random.default_rng(seed).choice(np.arange(1, 59), 18, replace=False)
        removed = np.zeros(signal.shape, dtype=bool)
        removed[traces] = True
        return Case("seismic, 18 of 60 traces", signal, removed)

    def k_space() -> Case:
        signal = np.load(data / "mri" / "cartesian_ksp.npy")
        seen = np.abs(signal[0]) > 0
        signal = np.where(seen, signal, np.nan)
        removed = seen & (np.random.default_rng(seed).random(seen.shape) < 0.1)
        return Case("k-space, 10% of 12%", signal, np.broadcast_to(removed, signal.shape), 0, 1)

    yield "co2", lambda: series("co2", 26, 12)
    yield "sunspots", lambda: series("sunspots", 5, 6)
    for name in ("nmr", "mrs"):
        for share in (0.5, 0.75):
            yield name, lambda name=name, share=share: decay(name, share)  # type: ignore[misc]
    yield "seismic", seismic
    yield "k-space", k_space


def interpolated(case: Case) -> np.ndarray:
    """Fill the gaps by straight lines along one axis."""
    samples = np.moveaxis(case.samples, case.axis, 0)
    lines = samples.reshape(len(samples), -1)
    out = np.zeros_like(lines)
    t = np.arange(len(lines))
    for k, line in enumerate(lines.T):
        seen = ~np.isnan(line)
        if np.any(seen):
            out[:, k] = np.interp(t, t[seen], line[seen].real)
            if case.is_complex:
                out[:, k] += 1j * np.interp(t, t[seen], line[seen].imag)
    return np.moveaxis(out.reshape(samples.shape), 0, case.axis)


def cadzow(case: Case, structure: Hankel, rank: int, settings: Cadzow = Cadzow()) -> np.ndarray:
    """Fill the gaps by truncating the Hankel matrix to a rank repeatedly."""
    samples = case.samples
    if case.channels is not None:
        samples = np.moveaxis(samples, case.channels, -1)[..., None]
    seen = ~np.isnan(samples)
    y = np.where(seen, samples, 0)
    rng = np.random.default_rng(0)
    V = rng.standard_normal((structure.shape[1], min(rank + 5, *structure.shape))).astype(y.dtype)
    for k in range(settings.steps):
        for _ in range(settings.passes if k else settings.first_passes):
            U = np.linalg.qr(structure.matmul(y, V))[0]
            V = np.linalg.qr(structure.rmatmul(y, U))[0]
        left, values, right = np.linalg.svd(structure.matmul(y, V), full_matrices=False)
        z = structure.average(left[:, :rank] * values[:rank], V @ right[:rank].conj().T)
        before, y = y, np.where(seen, samples, z)
        if np.linalg.norm(y - before) < settings.still * np.linalg.norm(y):
            break
    return z if case.channels is None else np.moveaxis(z[..., 0], -1, case.channels)


def best_cadzow(case: Case, settings: Cadzow = Cadzow()) -> tuple[float, int]:
    """Return the least error over ranks, and the rank, chosen in hindsight."""
    structure = hankel_problem(case.samples, None, case.channels).structure
    found: list[tuple[float, int]] = []
    for rank in settings.ranks if case.channels is None else settings.ranks_of_channels:
        if rank >= min(structure.shape):
            break
        found.append((case.error(cadzow(case, structure, rank, settings)), rank))
        if found[-1][0] > settings.worse * min(found)[0]:
            break
    return min(found)


def forecasts() -> None:
    from statsmodels.tsa.holtwinters import ExponentialSmoothing

    series = co2()
    past, year = series.iloc[:-52], series.iloc[-52:]
    ours = forecast(past, 52)
    filled = past.interpolate()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        smooth = ExponentialSmoothing(filled, trend="add", seasonal="add", seasonal_periods=52)
        rival = smooth.fit().forecast(52)
    inside = float(((year >= ours.lower) & (year <= ours.upper))[year.notna()].mean())
    print("\nCO2, the last year from all before: root mean square error")
    for name, values in (
        (f"forecast (95% intervals hold {inside:.0%})", ours.mean),
        ("exponential smoothing (statsmodels)", rival),
        ("the year before", filled.iloc[-52:]),
    ):
        print(f"{name:<44}{np.sqrt(np.nanmean((values.to_numpy() - year.to_numpy()) ** 2)):8.3f}")


@dataclass(frozen=True)
class Scores:
    """The errors of one draw, and the estimate that `recover` chose."""

    name: str
    errors: tuple[float, ...]  # recover, Cadzow, linear, zeros
    how: str
    seconds: float

    @property
    def won(self) -> bool:
        return self.errors[0] < min(self.errors[1:])


def score(case: Case) -> Scores:
    """Compare `recover` and its rivals on one draw."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = recover(case.samples, channels=case.channels)
    seconds = time.perf_counter() - began
    rival, rank = best_cadzow(case)
    signals = found.signal, interpolated(case), np.zeros(case.signal.shape)
    ours, line, zeros = (case.error(signal) for signal in signals)
    how = f"{found.kind} {found.rank} / {rank}"
    return Scores(case.name, (ours, rival, line, zeros), how, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the recordings")
    parser.add_argument("--only", nargs="*", help="co2 sunspots nmr mrs seismic k-space forecast")
    parser.add_argument("--draws", type=count, default=6)
    parser.add_argument("--k-space-draws", type=count, default=3, help="at most, as it takes long")
    options = parser.parse_args()
    began = time.perf_counter()
    print(
        f"{'case':<26}{'recover':>9}{'Cadzow':>9}{'linear':>9}{'zeros':>9}{'won':>9}{'seconds':>9}"
        "  kind, rank / Cadzow's"
    )
    for draws in zip(*(cases(options.data, seed) for seed in range(options.draws)), strict=True):
        name = draws[0][0]
        kept = draws[: options.k_space_draws] if name == "k-space" else draws
        if options.only and name not in options.only:
            continue
        try:
            scores = [score(make()) for _, make in kept]
        except FileNotFoundError as error:
            print(f"{name:<26}skipped: {error.filename} is missing (--data)")
            continue
        medians = np.median([s.errors for s in scores], axis=0)
        print(
            f"{scores[0].name:<26}"
            + "".join(f"{median:>9.3f}" for median in medians)
            + f"{sum(s.won for s in scores):>4} of {len(scores):<2}"
            + f"{np.median([s.seconds for s in scores]):>9.0f}"
            + "  "
            + ", ".join(s.how for s in scores),
            flush=True,
        )
    if not options.only or "forecast" in options.only:
        forecasts()
    print(f"\n{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
