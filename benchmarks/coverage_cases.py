"""What `benchmarks.coverage` runs: signals, noises, and every interval that the package prints.

A case draws one record, calls the package, and says for each kind of interval which of them hold
the truth. Signals have deviation about one and the noise has deviation 0.2. Gaps are 25% of the
samples at random and one stretch of ten. "A new sample" is the hidden sample of a gap, with its
noise; "value" is the signal without noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import lfilter

NOISE, REACH = 0.2, 1.959964
LENGTH, LAST_OF_GAP, STRETCH = 150, 80, 10
STEPS, SEASON = 12, 12
RADIUS, ANGLE = 0.95, 0.7  # the pole of the systems


class Covered(NamedTuple):
    """One kind of interval in one run: which of them hold the truth, and how many are missing."""

    interval: str
    inside: np.ndarray
    absent: int = 0


@dataclass(frozen=True)
class Case:
    """A row of the table: a part of the package on one signal with one noise."""

    part: str
    signal: str
    noise: str
    run: Callable[[np.random.Generator], Iterator[Covered]]


def levels(count: int) -> np.ndarray:
    """Deviations that grow along the record, with mean square one."""
    ramp = np.linspace(0.3, 1.7, count)
    return ramp / np.sqrt(np.mean(ramp**2))


def noise_of(kind: str, count: int, rng: np.random.Generator) -> np.ndarray:
    drawn = rng.standard_normal(count + 100)
    if kind == "AR(0.9)":
        return NOISE * np.sqrt(1 - 0.9**2) * lfilter([1.0], [1.0, -0.9], drawn)[100:]
    return NOISE * drawn[100:] * (levels(count) if kind == "heteroscedastic" else 1.0)


def tones(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One damped and one undamped oscillation: the signal; frequency, damping, amplitude, phase."""
    f = rng.uniform([0.04, 0.2], [0.15, 0.4])
    parameters = np.stack(
        [f, [rng.uniform(1, 3) / count, 0.0], rng.uniform(1, 1.5, 2), rng.uniform(-3, 3, 2)], axis=1
    )
    t = np.arange(count)
    parts = [a * np.exp(-d * t) * np.cos(2 * np.pi * f * t + p) for f, d, a, p in parameters]
    return np.sum(parts, axis=0), parameters


def season(count: int, rng: np.random.Generator) -> np.ndarray:
    """A trend and a season with one harmonic."""
    t, (p, q) = 2 * np.pi * np.arange(count) / SEASON, rng.uniform(0, 2 * np.pi, 2)
    return rng.uniform(-2, 2) * np.arange(count) / count + np.cos(t + p) + 0.4 * np.cos(2 * t + q)


def misfit(name: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Signals that are not sums of a few modes."""
    t, start = np.arange(count), rng.random()
    if name == "sawtooth":
        return 3.4 * ((t / rng.uniform(20, 35) + start) % 1 - 0.5)
    if name == "chirp":
        return 1.4 * np.cos(2 * np.pi * (start + 0.02 * t + rng.uniform(0.05, 0.1) * t**2 / count))
    return 0.3 * np.cumsum(rng.standard_normal(count))  # random walk


def signal_of(name: str, count: int, rng: np.random.Generator) -> np.ndarray:
    if name == "modes":
        return tones(count, rng)[0]
    return season(count, rng) if name == "season" else misfit(name, count, rng)


def gaps(count: int, rng: np.random.Generator) -> np.ndarray:
    missing = rng.random(count) < 0.25
    missing[LAST_OF_GAP - STRETCH : LAST_OF_GAP] = True
    return missing


def within(error: np.ndarray, stderr: np.ndarray) -> np.ndarray:
    return np.abs(error) <= REACH * np.asarray(stderr)


def holds(found: Any, samples: np.ndarray) -> np.ndarray:
    """Which intervals of new samples hold the samples."""
    return (found.lower <= samples) & (samples <= found.upper)


def of_recovery(found: Any, truth: np.ndarray, samples: np.ndarray, missing: np.ndarray):
    """Intervals of values, of hidden samples and, if there are draws, of the sum over the gap."""
    kind = f" ({found.kind})"
    inside = within(found.signal - truth, found.stderr)
    yield Covered("value, seen" + kind, inside[~missing])
    yield Covered("value, in gaps" + kind, inside[missing])
    yield Covered("new sample" + kind, holds(found, samples)[missing])
    if found.draw is not None:
        stretch = slice(LAST_OF_GAP - STRETCH, LAST_OF_GAP)
        sums = found.draws(400, rng=1)[:, stretch].sum(axis=1)
        low, high = np.quantile(sums, [0.025, 0.975])
        yield Covered("sum over a gap, by draws" + kind, [low <= truth[stretch].sum() <= high])


def of_modes(modes: Any, truth: np.ndarray):
    """Intervals of frequency, damping, amplitude and phase of the true oscillations."""
    found = None if modes is None else modes.oscillations()
    names = ("frequencies", "amplitudes", "phases", "dampings")
    inside: dict[str, list] = {name: [] for name in names}
    absent = dict.fromkeys(names, 0)
    for f, damping, amplitude, phase in truth:
        near = None if found is None else np.argmin(np.abs(found.frequencies[:, 0] - f))
        if near is None or abs(found.frequencies[near, 0] - f) > 1 / LENGTH:
            for name in names:
                absent[name] += 1
            continue
        turned = np.angle(np.exp(1j * (found.phases[near] - phase)))
        errors = (found.frequencies[near, 0] - f, found.amplitudes[near] - amplitude, turned)
        for name, error in zip(names, errors, strict=False):
            inside[name].append(within(error, found.stderr[name][near].item()))
        own = found.rows[near]
        stderr = modes.stderr.dampings[own, 0]
        if damping and stderr:
            inside["dampings"].append(within(modes.dampings[own, 0] - damping, stderr))
        elif damping:  # held at zero: no interval is printed
            absent["dampings"] += 1
    for name in names:
        yield Covered(f"{name} of modes", np.array(inside[name], bool), absent[name])


def recovered(signal: str, noise: str, rng: np.random.Generator, **options: Any):
    from structrank import recover

    parameters = None
    if signal == "modes":
        truth, parameters = tones(LENGTH, rng)
    else:
        truth = signal_of(signal, LENGTH, rng)
    samples, missing = truth + noise_of(noise, LENGTH, rng), gaps(LENGTH, rng)
    found = recover(np.where(missing, np.nan, samples), **options)
    yield from of_recovery(found, truth, samples, missing)
    if parameters is not None and options.get("kind") == "refit":
        yield from of_modes(found.modes, parameters)


def known_levels(rng: np.random.Generator):
    """The noise level of each sample is given."""
    yield from recovered("modes", "heteroscedastic", rng, sigma=NOISE * levels(LENGTH))


def complex_signal(noise: str, rng: np.random.Generator):
    """Real and imaginary parts have intervals of their own."""
    from structrank import recover

    rates = 2j * np.pi * rng.uniform([-0.4, 0.05], [-0.1, 0.3]) - np.array([0.01, 0.0])
    truth = np.exp(np.outer(np.arange(LENGTH), rates)) @ np.exp(2j * np.pi * rng.random(2))
    samples = truth + noise_of(noise, LENGTH, rng) + 1j * noise_of(noise, LENGTH, rng)
    missing = gaps(LENGTH, rng)
    found = recover(np.where(missing, np.nan, samples))
    error, stderr = found.signal - truth, found.stderr / np.sqrt(2)
    inside = np.stack([within(error.real, stderr), within(error.imag, stderr)])
    yield Covered(f"value ({found.kind})", inside)
    held = [
        (part(found.lower) <= part(samples)) & (part(samples) <= part(found.upper))
        for part in (np.real, np.imag)
    ]
    yield Covered(f"new sample ({found.kind})", np.stack(held)[:, missing])


def channels(noise: str, rng: np.random.Generator):
    """Two channels with the same modes and noise of different size."""
    from structrank import recover

    _, parameters = tones(LENGTH, rng)
    t = np.arange(LENGTH)[:, None]
    parts = [
        rng.uniform(0.7, 1.5, 2)
        * np.exp(-d * t)
        * np.cos(2 * np.pi * f * t + rng.uniform(0, 2 * np.pi, 2))
        for f, d, *_ in parameters
    ]
    truth = np.sum(parts, axis=0)
    sizes = np.array([0.7, 1.3])
    drawn = np.stack([noise_of(noise, LENGTH, rng) for _ in range(2)], axis=1)
    samples, missing = truth + sizes * drawn, rng.random(truth.shape) < 0.25
    found = recover(np.where(missing, np.nan, samples), channels=1)
    yield Covered(f"value ({found.kind})", within(found.signal - truth, found.stderr))
    yield Covered(f"new sample ({found.kind})", holds(found, samples)[missing])


def spectrum(noise: str, rng: np.random.Generator):
    from structrank import frequencies
    from structrank.modal.modes import NoModes

    truth, parameters = tones(LENGTH, rng)
    samples = truth + noise_of(noise, LENGTH, rng)
    samples[gaps(LENGTH, rng)] = np.nan
    try:
        modes = frequencies(samples)
    except NoModes:
        modes = None
    yield from of_modes(modes, parameters)


def forecasts(signal: str, noise: str, rng: np.random.Generator):
    from structrank import forecast
    from structrank.modal.modes import NoModes

    count = 12 * SEASON + STEPS
    samples = signal_of(signal, count, rng) + noise_of(noise, count, rng)
    try:
        ahead = forecast(samples[:-STEPS], STEPS)
    except NoModes:
        yield Covered("first sample ahead", np.zeros(0, bool), 1)
        yield Covered(f"samples 1 to {STEPS} ahead", np.zeros(0, bool), STEPS)
        return
    held = holds(ahead, samples[-STEPS:])
    yield Covered("first sample ahead", held[:1])
    yield Covered(f"samples 1 to {STEPS} ahead", held)


def irregular(signal: str, noise: str, rng: np.random.Generator):
    """Samples at random times of a denser record; the others are wanted."""
    from structrank import recover

    dense = 4 * LENGTH
    chosen = np.sort(rng.choice(dense, LENGTH, replace=False))
    if signal == "modes":
        f, p = rng.uniform([0.02, 0.05], [0.04, 0.1]), rng.uniform(0, 2 * np.pi, 2)
        truth = np.cos(2 * np.pi * np.outer(np.arange(dense), f) / 2 + p) @ [1.0, 0.7]
    else:
        truth = signal_of(signal, dense, rng)
    samples = truth + noise_of(noise, dense, rng)
    truth, samples, missing = truth[chosen], samples[chosen], rng.random(LENGTH) < 0.25
    found = recover(np.where(missing, np.nan, samples), times=chosen / 4)
    inside = within(found.signal - truth, found.stderr)
    yield Covered("value, seen", inside[~missing])
    yield Covered("value, elsewhere", inside[missing])
    yield Covered("new sample", holds(found, samples)[missing])


def second_order(B: Any = ((0.4,), (0.0,)), **noise: Any) -> Any:
    """A damped oscillator with one output of deviation one, and usually one input."""
    from structrank import StateSpace

    pole = RADIUS * np.exp(1j * ANGLE)
    A = [[pole.real, pole.imag], [-pole.imag, pole.real]]
    return StateSpace(A, B, [[1.0, 0.2]], None, **noise)


def of_poles(model: Any):
    """Real and imaginary part, natural frequency and damping ratio of the true pole."""
    pole = RADIUS * np.exp(1j * ANGLE)
    names = ("real part of a pole", "imaginary part of a pole")
    others = ("natural frequency", "damping ratio")
    near = int(np.argmin(np.abs(model.poles - pole))) if model.order else None
    if near is None or abs(model.poles[near] - pole) > 0.2 or np.isnan(model.pole_errors[near, 0]):
        for name in names + others:
            yield Covered(name, np.zeros(0, bool), 1)
        return
    error = model.poles[near] - pole
    for name, part, stderr in zip(
        names, (error.real, error.imag), model.pole_errors[near], strict=True
    ):
        yield Covered(name, [within(part, stderr)])
    s = np.log(pole)
    truth, modes = (abs(s) / (2 * np.pi), -s.real / abs(s)), model.modes
    near = int(np.argmin(np.abs(modes.frequencies - truth[0])))
    bounds = (modes.frequency_intervals[near], modes.damping_intervals[near])
    for name, value, (low, high) in zip(others, truth, bounds, strict=True):
        yield Covered(name, [low <= value <= high])


def identified(noise: str, rng: np.random.Generator):
    from structrank import identify

    count = 300
    u = rng.standard_normal(count)
    y = second_order().simulate(u)[:, 0]
    y = 1.5 * np.tanh(y / 1.5) if noise == "saturated output" else y
    y = y + noise_of(noise, count, rng)
    y[rng.random(count) < 0.2] = np.nan
    yield from of_poles(identify(u, y, 2 if noise == "saturated output" else None, max_order=4))


def realized(noise: str, rng: np.random.Generator):
    from structrank import realize_outputs

    count = 2000
    forces = rng.standard_normal(count + 200)
    if noise == "coloured force":
        forces = 0.6 * lfilter([1.0], [1.0, -0.8], forces)
    y = second_order().simulate(forces)[200:, 0] + noise_of(noise, count, rng)
    y[rng.random(count) < 0.2] = np.nan
    yield from of_poles(realize_outputs(y))


def state_space(noise: str, rng: np.random.Generator):
    """Smoother, forecasts and draws of a known system."""
    model = second_order(None, Q=[[0.16, 0.0], [0.0, 0.0]], R=[[NOISE**2]])
    count = LENGTH + STEPS
    driven = second_order().simulate(rng.standard_normal(count + 200))[200:, 0]
    samples, missing = driven + noise_of(noise, count, rng), gaps(LENGTH, rng)
    given = np.where(missing, np.nan, samples[:LENGTH])
    smooth = model.smooth(given)
    error = smooth.signals[:, 0] - driven[:LENGTH]
    yield Covered("value", within(error, np.sqrt(smooth.signal_variances[:, 0])))
    error = (smooth.outputs[:, 0] - samples[:LENGTH])[missing]
    yield Covered("new sample", within(error, np.sqrt(smooth.output_variances[missing, 0])))
    ahead = model.forecast(STEPS, given)
    error = ahead.outputs[:, 0] - samples[LENGTH:]
    yield Covered("sample ahead", within(error, np.sqrt(ahead.output_variances[:, 0])))
    stretch = slice(LAST_OF_GAP - STRETCH, LAST_OF_GAP)
    sums = model.draws(400, given, rng=1)[:, stretch, 0].sum(axis=1)
    low, high = np.quantile(sums, [0.025, 0.975])
    yield Covered("sum over a gap, by draws", [low <= samples[stretch].sum() <= high])


NOISES = ("white", "AR(0.9)", "heteroscedastic")
MISFITS = ("sawtooth", "chirp", "random walk")


def _cases() -> Iterator[Case]:
    def with_noises(part: str, signal: str, function: Callable, *more: str) -> Iterator[Case]:
        for noise in (*NOISES, *more):
            yield Case(part, signal, noise, partial(function, noise))

    def of_signal(part: str, function: Callable, signal: str, **options: Any) -> Iterator[Case]:
        yield from with_noises(part, signal, partial(function, signal, **options))

    def of_misfits(part: str, function: Callable, **options: Any) -> Iterator[Case]:
        for signal in MISFITS:
            yield Case(part, signal, "white", partial(function, signal, "white", **options))

    yield from of_signal("recover", recovered, "modes")
    yield from of_signal("recover", recovered, "season")
    yield from of_misfits("recover", recovered)
    yield Case("recover", "modes", "heteroscedastic, known", known_levels)
    yield from of_signal("refit", recovered, "modes", kind="refit")
    yield from of_misfits("refit", recovered, kind="refit")
    yield from of_signal("convex", recovered, "modes", kind="convex")
    yield from of_signal("components", recovered, "season", kind="components")
    yield from of_misfits("components", recovered, kind="components")
    yield from with_noises("complex", "modes", complex_signal)
    yield from with_noises("channels", "modes", channels)
    yield from with_noises("frequencies", "modes", spectrum)
    yield Case("forecast", "modes", "white", partial(forecasts, "modes", "white"))
    yield from of_signal("forecast", forecasts, "season")
    yield from of_misfits("forecast", forecasts)
    yield from of_signal("irregular", irregular, "modes")
    yield from of_misfits("irregular", irregular)
    yield from with_noises("identify", "second order", identified, "saturated output")
    yield from with_noises("realize_outputs", "second order", realized, "coloured force")
    yield from with_noises("state_space", "second order", state_space)


CASES = tuple(_cases())
PARTS = tuple(dict.fromkeys(case.part for case in CASES))
