"""Random calls of the whole public surface, and of commands.

A call returns finite numbers, or raises a documented error with a message of the package's own. It
leaves its arguments unchanged and lets no warning of NumPy through. `make nightly` tries tens of
thousands of calls, the usual tests a few hundred. Files are in `test_fuzz_files.py`.
"""

from __future__ import annotations

import ast
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from fuzzing import (
    COUNTS,
    EXTREME,
    FLAGS,
    LEVELS,
    LIMITS,
    ODD,
    OUTPUTS,
    POSITIVES,
    REAL,
    SEEDS,
    SERIES,
    TABLES,
    TYPES,
    UNIT,
    USUAL,
    arrays,
    call,
    check,
    fuzz,
    losses,
    matrices,
    mostly,
    own_systems,
    problems,
    structures,
    systems,
    tables,
)
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import structrank as sr
from structrank.cli import main

MODEL = {"rank": COUNTS, "window": COUNTS, "sigma": POSITIVES, "rng": SEEDS}
QUICK = {"effort": "fast", "max_time": 2.0}
FEW = sr.Stop(max_iter=20)
SOME = mostly(st.lists(POSITIVES, min_size=1, max_size=3), ODD)
REALS = mostly(USUAL, EXTREME, ODD)
SMALL = st.integers(1, 8)
MODERATE = st.floats(0.01, 100)
TAME = {"mus": MODERATE, "scales": UNIT}

# -- what calls return: their numbers ---------------------------------------------------


def numbers(*names):
    """A function of an object: these attributes, and how it prints."""
    return lambda found: (*(getattr(found, name) for name in names), repr(found))


SOLUTION = numbers("y", "objective")
SYSTEM = numbers("A", "B", "C", "D")


def giving(numbers_of, function, **always):
    """Call a function, and return the numbers of what it returns."""
    return lambda *given, **options: numbers_of(function(*given, **{**always, **options}))


def value(found):
    return (found,)


def after_solve(numbers_of, function):
    """The same for a function of a solution."""
    return lambda problem, *given, **options: numbers_of(
        function(sr.gcgls(problem, 1.0, stop=FEW), *given, **options)
    )


def solved_from(problem, lam, rank, seed):
    """A solver that starts at random factors."""
    rng, shape = np.random.default_rng(seed), problem.structure.shape
    start = sr.LowRank(*(rng.standard_normal((n, rank)).astype(problem.b.dtype) for n in shape))
    return SOLUTION(sr.gcgls(problem, lam, start=start, stop=FEW))


def solved_many(problems_of_one_shape, lam, **options):
    found = sr.solve_many(problems_of_one_shape, lam, stop=FEW, **options)
    return found.y, [one.objective for one in found]


def pair_of_problems(problem):
    b = np.stack([problem.b, problem.b[::-1]])
    return sr.Problems(problem.structure, b, problem.mu, problem.measure)


def continued(problem, lam, steps):
    """A run that was stopped and resumed, and its checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        sr.gcgls(problem, lam, stop=FEW, checkpoint=sr.Checkpoint(path, every=0.0))
        if not path.exists():  # the start is optimal
            return ()
        return SOLUTION(sr.gcgls(problem, lam, stop=sr.Stop(max_iter=20 + steps), resume=path))


def measured(n, factor, lam):
    """A problem with an operator."""
    ahead = sr.Operator(
        lambda y: factor * np.cumsum(y), lambda d: factor * np.cumsum(d[::-1])[::-1]
    )
    b = np.cos(np.arange(n))
    return SOLUTION(sr.gcgls(sr.Problem(sr.Hankel(n, window=(n + 1) // 2), b, 0.1, ahead), lam))


def trusted(problem, which, **options):
    """In double precision: in single, factors can overflow where the gap stalls above its aim."""
    problem = problem.with_samples(problem.b.astype(np.result_type(problem.b, np.float64)))
    which = np.resize(which, problem.b.shape)
    return SOLUTION(sr.solve_trusted(problem, which, max_time=2.0, **options))


def recovered(found):
    """The signal where it is not left as it is, since gaps are long."""
    return np.where(found.left, 0, found.signal), repr(found)


def clipped(samples, limits, **options):
    if np.asarray(samples).dtype.kind == "f":
        samples = np.clip(samples, *limits)
    return recovered(sr.recover(samples, clipped=limits, **{**QUICK, **options}))


def at_times(samples, steps, **options):
    if isinstance(samples, np.ndarray) and isinstance(steps, np.ndarray):
        n = min(len(samples), len(steps))
        samples, steps = samples[:n], np.cumsum(steps[:n])
    return recovered(sr.recover(samples, times=steps, **{**QUICK, **options}))


def whole_recovery(samples, count, **options):
    """Everything that a recovery can tell, and what is saved of it."""
    found = sr.recover(samples, **{**QUICK, **options})
    with tempfile.TemporaryDirectory() as folder:
        found.save(Path(folder) / "found.npz")
        again = sr.load(Path(folder) / "found.npz")
        found.write_report(Path(folder) / "page.html")
    np.testing.assert_array_equal(np.asarray(again.signal), np.asarray(found.signal))
    parts = [] if np.iscomplexobj(found.signal) else found.components().parts.values()
    return found.draws(count), found.residuals().residuals.size, *parts


def rows(regressors, first, samples):
    """As many rows of regressors as there are samples."""
    if not isinstance(regressors, np.ndarray):
        return regressors
    return regressors[first : first + np.size(samples)]


def foreseen(samples, steps, **options):
    found = sr.forecast(samples, steps, **{**QUICK, **options})
    return found.mean, found.lower, repr(found)


def continued_forecast(samples, more, **options):
    found = sr.forecast(samples, 2, **{**QUICK, **options}).update(more)
    return found.mean, found.upper


def products(structure, seed):
    if max(structure.shape) > 1000:
        return (repr(structure),)
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(structure.signal_shape)
    V = rng.standard_normal((structure.shape[1], 2))
    return structure.to_dense(y), structure.matmul(y, V), repr(structure)


def ones_of(problem):
    return sr.LowRank.ones(problem.structure.shape, problem.b)


def factors(U, V):
    X = sr.LowRank(U, V)
    return X.singular_values(), X.nuclear_norm(), X.balanced().U, repr(X)


def mode_numbers(frequencies, dampings, amplitudes, count):
    modes = sr.Modes(frequencies, dampings, amplitudes)
    table = sr.modes_table(modes)  # periods of trends are infinite
    return modes.signal(count), table["amplitude"], modes.poles, repr(modes)


def identified(samples, width, **options):
    inputs = np.random.default_rng(0).standard_normal((len(np.atleast_1d(samples)), width))
    found = sr.identify(inputs, samples, **{"max_order": 2, **options})
    return found.A, found.B, repr(found)


def realized_from_samples(samples, lags, **options):
    covariances = sr.empirical_covariances(samples, lags)
    return numbers("A", "C")(sr.realize(covariances, **options))


def own_system(drawn, samples):
    system = sr.StateSpace(*drawn[0], **drawn[1])
    told = (system.impulse_response(4), system.step_response(4), repr(system))
    if len(drawn[1]) == 2:  # nothing is known of its noise
        return told
    outputs = samples[:, : system.output_count]
    return *told, system.loglikelihood(outputs), system.covariances(3), system.innovation_form().K


def driven_system(order, seed, samples, steps, **noise):
    """A system with an input and noise."""
    rng = np.random.default_rng(seed)
    A, K, C = (rng.uniform(-0.6, 0.6, shape) for shape in [(order, order), (order, 1), (1, order)])
    B, D = rng.standard_normal((order, 1)), [[0.0]]
    system = sr.StateSpace(A, B, C, D, **{"K": K, "innovation_covariance": [[1.0]], **noise})
    inputs = np.cos(np.arange(np.size(samples)))
    smooth = system.smooth(samples, inputs)
    return smooth.states, system.draws(2, samples, inputs), *told(system, samples, inputs, steps)


def told(system, samples, inputs, steps):
    compared = system.compare(samples, inputs, steps)
    fitted = system.fit(inputs, samples)
    updated = system.update(samples, inputs)
    return known(compared.simulated), fitted, updated.x0, system.simulate(inputs), repr(compared)


def known(values):
    """Values that samples determine; the others are NaN."""
    return values[~np.isnan(values)]


METHODS = {
    "simulate": lambda system, samples, n: system.simulate(steps=n),
    "noisy": lambda system, samples, n: system.simulate(steps=n, rng=0, noise=0.1),
    "update": lambda system, samples, n: system.update(samples).x0,
    "draws": lambda system, samples, n: system.draws(n, samples),
    "covariances": lambda system, samples, n: system.covariances(n),
    "impulse_response": lambda system, samples, n: system.impulse_response(n),
    "step_response": lambda system, samples, n: system.step_response(n),
    "frequency_response": lambda system, samples, n: system.frequency_response(samples),
    "predict": lambda system, samples, n: known(system.predict(samples, steps=n)),
    "residual_tests": lambda system, samples, n: system.residual_tests(samples, lags=n).whiteness,
    "forecast": lambda system, samples, n: system.forecast(n, samples).outputs,
    "smooth": lambda system, samples, n: system.smooth(samples).states,
    "loglikelihood": lambda system, samples, n: system.loglikelihood(samples),
    "gradient": lambda system, samples, n: system.loglikelihood_gradient(samples)[0],
    "innovation_form": lambda system, samples, n: system.innovation_form().K,
}


def method(system, name, samples, n):
    return (METHODS[name](system, samples, n),)


def patched(samples, patch, **options):
    with tempfile.TemporaryDirectory() as folder:
        found = sr.recover_patches(
            samples, Path(folder) / "a.zarr", patch=patch, **{"effort": "fast", **options}
        )
        return found.array[:], repr(found)


# -- calls: a strategy of arguments, and a function of them; usual and nightly examples --

CHEAP, MIDDLE, DEAR = (7, 800), (4, 400), (2, 150)
SOLVERS = {
    "solve": (MIDDLE, call(giving(SOLUTION, sr.solve), problems(), gap=POSITIVES, rng=SEEDS)),
    "gcgls": (
        MIDDLE,
        call(giving(SOLUTION, sr.gcgls), problems(), POSITIVES, pairs=COUNTS, rng=SEEDS),
    ),
    "gcg": (MIDDLE, call(giving(SOLUTION, sr.gcg), problems(), POSITIVES, rng=SEEDS)),
    "stop": (
        MIDDLE,
        call(
            lambda problem, **limits: SOLUTION(sr.gcgls(problem, 1.0, stop=sr.Stop(**limits))),
            problems(),
            max_iter=COUNTS,
            xtol=POSITIVES,
            rtol=POSITIVES,
            gap=POSITIVES,
            max_time=POSITIVES,
        ),
    ),
    "start": (MIDDLE, call(solved_from, problems(), POSITIVES, SMALL, st.integers(0, 9))),
    "checkpoint": (MIDDLE, call(continued, problems(**TAME), MODERATE, st.integers(1, 20))),
    "operator": (MIDDLE, call(measured, st.integers(1, 9), MODERATE, POSITIVES)),
    "homotopy": (MIDDLE, call(giving(SOLUTION, sr.homotopy, stop=FEW), problems(), SOME)),
    "gcgls_loss": (
        MIDDLE,
        call(giving(SOLUTION, sr.gcgls_loss, stop=FEW), problems(), losses(), POSITIVES, rng=SEEDS),
    ),
    "many": (
        MIDDLE,
        call(
            solved_many,
            problems().map(lambda make: partial(lambda: pair_of_problems(make()))),
            MODERATE,
            pairs=COUNTS,
            batch=COUNTS,
            rng=SEEDS,
        ),
    ),
    "robust": (DEAR, call(giving(SOLUTION, sr.solve_robust), problems(), POSITIVES, rng=SEEDS)),
    "within": (DEAR, call(giving(SOLUTION, sr.solve_within), problems(), POSITIVES, rng=SEEDS)),
    "trusted": (
        DEAR,
        call(
            trusted,
            problems(),
            st.lists(st.booleans(), min_size=1, max_size=9),
            gap=POSITIVES,
        ),
    ),
    "path": (
        DEAR,
        call(
            giving(lambda found: [one.objective for one in found], sr.path, max_iter=20),
            problems(),
            mostly(SOME, st.none()),
            gap=POSITIVES,
        ),
    ),
}
LARGER = problems(least=6, mus=mostly(st.floats(0.001, 0.3), POSITIVES))
SELECTION = {
    "mu_max": (CHEAP, call(giving(value, sr.mu_max), problems(), lam=POSITIVES)),
    "noise_mu": (CHEAP, call(giving(value, sr.noise_mu), problems(), POSITIVES, rng=SEEDS)),
    "select_mu": (
        DEAR,
        call(
            giving(numbers("mu"), sr.select_mu),
            problems(),
            method=mostly(st.sampled_from(["noise", "holdout"]), ODD),
            sigma=POSITIVES,
            folds=COUNTS,
            rng=SEEDS,
        ),
    ),
    "find_modes": (
        MIDDLE,
        call(after_solve(numbers("frequencies", "dampings"), sr.find_modes), LARGER, COUNTS),
    ),
    "refit": (
        MIDDLE,
        call(
            after_solve(numbers("y"), sr.refit),
            LARGER,
            COUNTS,
            sigma=POSITIVES,
            undamped=FLAGS,
        ),
    ),
    "choose_rank": (
        MIDDLE,
        call(after_solve(numbers("y", "rank"), sr.choose_rank), LARGER, POSITIVES),
    ),
    "outliers": (
        DEAR,
        call(
            giving(value, sr.find_outliers, max_time=2.0),
            problems(),
            rng=SEEDS,
        ),
    ),
}
BESIDE = arrays(least=50, most=60, missing=False, types=mostly(REAL, TYPES))
SIGNALS = {
    "recover": (DEAR, call(giving(recovered, sr.recover, **QUICK), arrays(), **MODEL)),
    "limits": (
        DEAR,
        call(
            giving(recovered, sr.recover, **QUICK),
            arrays(least=8),
            kind=mostly(st.sampled_from(["auto", "refit", "convex", "components"]), ODD),
            level=mostly(st.floats(0.01, 0.99), ODD),
            bounds=LIMITS,
            max_gap=COUNTS,
            mu=POSITIVES,
            undamped=FLAGS,
        ),
    ),
    "known": (
        DEAR,
        call(
            giving(recovered, sr.recover, **QUICK),
            SERIES,
            season=mostly(st.integers(2, 6), POSITIVES, st.just([3, 6])),
            known_frequencies=mostly(st.floats(0.01, 0.5), st.lists(REALS, max_size=2)),
            dt=POSITIVES,
        ),
    ),
    "clipped": (
        DEAR,
        call(
            lambda x, limits, **more: recovered(
                sr.recover(np.clip(x, *limits), clipped=limits, **QUICK, **more)
            ),
            SERIES,
            mostly(st.tuples(st.floats(-2, -0.3), st.floats(0.3, 2))),
            rank=COUNTS,
        ),
    ),
    "gross errors": (
        DEAR,
        call(giving(recovered, sr.recover, **QUICK, robust=True), SERIES),
    ),
    "channels": (
        DEAR,
        call(
            giving(recovered, sr.recover, **QUICK),
            arrays(least=8),
            channels=mostly(st.sampled_from([0, 1, "independent"]), ODD),
        ),
    ),
    "times": (
        DEAR,
        call(
            at_times,
            SERIES,
            mostly(hnp.arrays(float, 40, elements=mostly(st.floats(0.125, 4), EXTREME)), ODD),
            level=mostly(st.floats(0.01, 0.99), ODD),
        ),
    ),
    "regressors": (
        DEAR,
        call(
            lambda x, r: recovered(sr.recover(x, regressors=rows(r, 0, x), **QUICK)),
            SERIES,
            BESIDE,
        ),
    ),
    "all of it": (DEAR, call(whole_recovery, SERIES, COUNTS, rank=COUNTS)),
    "recover_many": (
        DEAR,
        call(
            giving(lambda found: [one.signal for one in found], sr.recover_many, **QUICK),
            mostly(st.lists(SERIES, min_size=1, max_size=2), ODD),
            rank=COUNTS,
        ),
    ),
    "patches": (
        DEAR,
        call(patched, SERIES, mostly(st.just(16), COUNTS), overlap=COUNTS, rank=COUNTS),
    ),
    "impute": (DEAR, call(giving(recovered, sr.impute, **QUICK), arrays(), rank=COUNTS)),
    "denoise": (DEAR, call(giving(recovered, sr.denoise, **QUICK), arrays(), rank=COUNTS)),
    "forecast": (
        DEAR,
        call(
            foreseen,
            arrays(least=8),
            COUNTS,
            **MODEL,
            season=mostly(st.integers(2, 6), POSITIVES),
            level=mostly(st.floats(0.01, 0.99), ODD),
        ),
    ),
    "forecast beside": (
        DEAR,
        call(
            lambda x, r, n: foreseen(
                x, n, regressors=rows(r, 0, x), future_regressors=rows(r, np.size(x), range(n))
            ),
            SERIES,
            BESIDE,
            SMALL,
        ),
    ),
    "forecast on": (DEAR, call(continued_forecast, SERIES, arrays(axes=(1,)), rank=COUNTS)),
    "frequencies": (
        DEAR,
        call(
            giving(numbers("frequencies", "amplitudes"), sr.frequencies, **QUICK),
            arrays(),
            **MODEL,
            dt=POSITIVES,
            undamped=FLAGS,
        ),
    ),
    "cost": (
        DEAR,
        call(giving(numbers("seconds", "memory"), sr.estimate_cost), arrays(), rank=COUNTS),
    ),
}
SYSTEMS = {
    "gcd": (
        CHEAP,
        call(
            giving(numbers("divisor", "backward_error"), sr.approximate_gcd),
            *[arrays(least=2, most=8, axes=(1,), missing=False)] * 2,
            degree=COUNTS,
            noise=POSITIVES,
        ),
    ),
    "realize_outputs": (
        DEAR,
        call(
            giving(numbers("A", "C"), sr.realize_outputs),
            OUTPUTS,
            order=COUNTS,
            lags=COUNTS,
            mu=POSITIVES,
        ),
    ),
    "realize": (
        MIDDLE,
        call(
            lambda system, n, **more: numbers("A", "C")(sr.realize(system.covariances(n), **more)),
            systems(),
            mostly(st.integers(5, 20), ODD),
            order=COUNTS,
            rows=COUNTS,
            noise_floor=mostly(st.floats(1e-12, 1), st.just("auto"), ODD),
        ),
    ),
    "realize samples": (
        MIDDLE,
        call(
            lambda x, n, **more: numbers("A", "C")(
                sr.realize(sr.empirical_covariances(x, n), **more)
            ),
            arrays(least=20, most=90, axes=(2,), missing=False, types=REAL),
            SMALL,
            order=COUNTS,
            rows=COUNTS,
        ),
    ),
    "realization_problem": (
        CHEAP,
        call(
            lambda system, *sizes: (sr.realization_problem(system.covariances(12), *sizes).b,),
            systems(),
            COUNTS,
            COUNTS,
            POSITIVES,
        ),
    ),
    "covariances": (CHEAP, call(giving(value, sr.empirical_covariances), TABLES, COUNTS)),
    "sampling_noise_mu": (
        CHEAP,
        call(
            giving(value, sr.sampling_noise_mu),
            TABLES,
            COUNTS,
            COUNTS,
            pieces=COUNTS,
            safety=POSITIVES,
        ),
    ),
    "identify": (
        DEAR,
        call(
            identified,
            OUTPUTS,
            st.integers(1, 2),
            order=COUNTS,
            noise_model=mostly(st.sampled_from([None, "white", "innovations"]), ODD),
            offset=FLAGS,
            stable=FLAGS,
            max_radius=POSITIVES,
            integrators=mostly(st.integers(0, 2), ODD),
            dt=POSITIVES,
        ),
    ),
    "methods": (
        CHEAP,
        call(method, systems(), st.sampled_from(sorted(METHODS)), arrays(scales=UNIT), COUNTS),
    ),
    "own system": (
        CHEAP,
        call(own_system, own_systems(), hnp.arrays(float, (20, 3), elements=USUAL)),
    ),
    "driven system": (
        MIDDLE,
        call(
            driven_system,
            st.integers(1, 3),
            st.integers(0, 99),
            SERIES,
            COUNTS,
            innovation_covariance=POSITIVES.map(lambda s: [[s]]),
            output_offset=REALS.map(lambda x: [x]),
            dt=POSITIVES,
        ),
    ),
}
FREQUENCIES = st.lists(st.integers(-999, 999).map(lambda k: k / 500), min_size=1, max_size=3)
MAKERS = {
    "objective": (
        CHEAP,
        call(
            lambda problem, *lam: (sr.Penalized(problem, *lam).value(ones_of(problem)),),
            problems(**TAME),
            POSITIVES,
        ),
    ),
    "structures": (CHEAP, call(products, structures(), st.integers(0, 9))),
    "matrices": (
        CHEAP,
        call(
            lambda structure: (
                sr.structure_matrix(structure).data,
                sr.recovery_matrix(structure).data,
            ),
            structures(sizes=SMALL),
        ),
    ),
    "indexed": (
        CHEAP,
        call(
            lambda *given: products(sr.Indexed(*given), 0),
            mostly(
                st.tuples(SMALL, SMALL).map(lambda shape: np.indices(shape).sum(axis=0)),
                hnp.arrays(int, st.tuples(SMALL, SMALL), elements=st.integers(-1, 9)),
                ODD,
            ),
            mostly(st.none(), ODD),
        ),
    ),
    "factors": (
        CHEAP,
        call(
            factors,
            *[SMALL.flatmap(lambda n: matrices(n, 2))] * 2,
        ),
    ),
    "spectral_problem": (
        CHEAP,
        call(
            lambda *given, **options: (repr(sr.spectral_problem(*given, **options)),),
            arrays(),
            COUNTS,
            POSITIVES,
            weights=mostly(st.floats(0.1, 2).map(lambda w: np.full(24, w)), ODD),
        ),
    ),
    "sinusoids": (
        CHEAP,
        call(
            giving(numbers("truth"), sr.sinusoids),
            COUNTS,
            COUNTS,
            seen=mostly(st.floats(0, 1), POSITIVES),
            snr=REALS,
            damping=mostly(st.floats(0, 1), ODD),
            separation=mostly(st.floats(0, 0.1), REALS),
            real=FLAGS,
            on_grid=FLAGS,
            spread=FLAGS,
            rng=SEEDS,
        ),
    ),
    "random_system": (
        CHEAP,
        call(
            giving(SYSTEM, sr.random_system),
            COUNTS,
            COUNTS,
            normalization=mostly(st.sampled_from(["nuclear", "spectral"]), ODD),
            spectral_radius=mostly(st.floats(0.1, 0.99), REALS),
            rng=SEEDS,
        ),
    ),
    "modes": (
        CHEAP,
        call(
            mode_numbers,
            mostly(FREQUENCIES, st.sampled_from([[], "x"])),
            mostly(st.floats(-1, 1), st.just("x")),
            mostly(st.floats(0.1, 9), st.just(2j)),
            COUNTS,
        ),
    ),
}
CALLS = {**SOLVERS, **SELECTION, **SIGNALS, **SYSTEMS, **MAKERS}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", CALLS)
def test_calls(name, level):
    counts, strategy = CALLS[name]
    fuzz(strategy, counts[level], lambda drawn: check(*drawn))


# -- commands ---------------------------------------------------------------------------

COMMANDS = {
    "recover": [],
    "impute": [],
    "denoise": [],
    "forecast": ["--steps", "2"],
    "frequencies": [],
    "realize": [],
    "identify": ["--inputs", "1", "--outputs", "2"],
    "info": [],
}
WORDS = """--rank --window --sigma --mu --steps --columns --index --step --max-size --max-time
    --skip-rows --missing --channels --variable --season --level --order --lags --dt --bounds
    --clipped --max-gap --regressor --decimal --sep --encoding --patch --overlap"""
PAIRS = st.tuples(
    st.sampled_from(WORDS.split()),
    st.sampled_from(["1", "2", "0", "-1", "x", "1e300", "nan", "c0", "none", "1,2", "1MB", ""]),
)
OUTPUT_PAIRS = st.tuples(
    st.sampled_from(["--out", "--errors", "--bands", "--components", "--plot", "--report"]),
    st.sampled_from(["out.csv", "out.npz", "out.json", "out.svg", "out.html", "out", "no/out.csv"]),
)
OTHER_COMMANDS = st.tuples(
    st.sampled_from(["reproduce", "app", "nothing", "-h", "--version"]),
    st.lists(
        st.sampled_from(["--help", "--seed", "-1", "x", "--port", "70000", "--max-size", "big"]),
        min_size=1,
        max_size=3,
    ),
).map(lambda drawn: [drawn[0], *drawn[1]])


def files_commands():
    """Arguments of a command that reads a file."""
    words = st.lists(PAIRS, max_size=2).map(lambda pairs: [word for pair in pairs for word in pair])
    out = st.one_of(st.just(()), OUTPUT_PAIRS)
    effort = {"info": [], "realize": [], "identify": []}
    return st.tuples(st.sampled_from(sorted(COMMANDS)), words, out).map(
        lambda drawn: [
            drawn[0],
            "data.csv",
            *COMMANDS[drawn[0]],
            *effort.get(drawn[0], ["--effort", "fast"]),
            *drawn[1],
            *drawn[2],
        ]
    )


def run_command(drawn):
    """A command ends well or with one line of an error, and writes nothing but its output."""
    arguments, text = drawn
    Path("data.csv").write_text(text)
    outcome = CliRunner().invoke(main, arguments)
    assert outcome.exit_code in (0, 1, 2), outcome.exception
    if outcome.exit_code:
        assert "Traceback" not in outcome.output
        assert outcome.stderr.startswith(("Error: ", "Usage: ", "Note: ", "Warning: "))
    there = {path.name for path in Path().iterdir()}
    assert there <= {"data.csv", arguments[-1]}
    assert outcome.exit_code == 0 or there == {"data.csv"}
    for name in there - {"data.csv"}:
        Path(name).unlink()


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("arguments", [files_commands(), OTHER_COMMANDS], ids=["files", "other"])
def test_commands(arguments, level, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fuzz(st.tuples(arguments, tables()), (12, 1000)[level], lambda drawn: run_command(drawn))


# -- is everything called? --------------------------------------------------------------

NOT_CALLED = {
    "what calls return, and their parts": """
        AutoregressiveNoise CommonDivisor Comparison Cost FittedModel Forecast History
        IndependentRecovery IrregularRecovery ModeErrors Oscillations OutputModel PatchRecovery
        Recovery Refit Regression ResidualDiagnostics ResidualTests Result Results RobustResult
        Selection SignalComponents Smoothed SpectralSample Stabilization State VibrationModes""",
    "abstract classes": "Loss Measure Structure",
    "warnings, errors and names of outcomes": "ConvergenceWarning NotPositiveReal Status",
}


def called():
    """The names `sr.name` in this file and in the one with arguments."""
    files = [Path(__file__).with_name(f"{name}.py") for name in ("fuzzing", "test_fuzz")]
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text()))]
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    return {node.attr for node in attributes if ast.unparse(node.value) == "sr"}


def test_every_public_name_is_called():
    with_reasons = {name for names in NOT_CALLED.values() for name in names.split()}
    assert set(sr.__all__) - called() == with_reasons


def test_there_are_enough():
    few, many = (sum(counts[k] for counts, _ in CALLS.values()) for k in range(2))
    assert few <= 500
    assert many >= 20_000
