"""Many problems of one shape at once: `gcgls` for batches of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device
from tqdm.auto import tqdm

from .._array import Array, is_numpy_array
from .._checks import instance_of, positive, positive_int, random_generator
from .._processes import check_workers, finished
from ..model.problem import Problem
from ..model.problems import Problems
from ..model.starts import Randomness
from ..structures.hankel_stack import HankelStack
from .many_batch import Batch, Solved
from .many_results import Results
from .stopping import ConvergenceWarning, Status, Stop


@dataclass(frozen=True)
class BatchSizes:
    """Samples in all problems of a batch, if the user does not say how many problems."""

    processor: int = 2**14  # fastest on one core, measured with 512 samples: it fits into the cache
    accelerator: int = 2**22  # about 30 GB of memory for ranks up to 16

    def problems(self, reference: Array) -> int:
        """How many problems like this signal make a batch."""
        kind = getattr(device(reference), "type", "cpu")  # of PyTorch; CuPy numbers its devices
        on_processor = is_numpy_array(reference) or kind == "cpu"
        samples = self.processor if on_processor else self.accelerator
        return max(samples // int(np.prod(reference.shape)), 1)


def solve_many(
    problems: Sequence[Problem],
    lam: float,
    *,
    pairs: int = 8,
    search_steps: int = 100,
    stop: Stop | None = None,
    rng: Randomness = 0,
    batch: int | None = None,
    workers: int = 1,
    progress: bool = False,
) -> Results:
    """Solve many penalised problems (reform2) of one shape together, by `gcgls`.

    `min_X  1/2 ||A(C X) - b||^2 + lam/2 ||B X||^2 + mu ||X||_*` for each of them.

    Each has its own samples, gaps, weights and mu. They take the steps of Algorithm 1 in lockstep:
    transforms, products and small decompositions of a batch are single calls, which saves the time
    of the interpreter on a processor and fills a GPU. Factors are padded with zeros to the largest
    rank. Finished problems leave the batch, each with its own status and certified gap.

    Parameters
    ----------
    problems : Problems, or sequence of Problem
        Hankel or Toeplitz matrices in any number of dimensions, without blocks; one structure for
        all. Samples are seen or missing, or weighted; all are arrays of one library, data type and
        device. `Problems` holds them as a few arrays, which is faster for thousands of them.
    lam : float
        Weight of the penalty on departures from the structure, above zero.
    pairs : int
        Largest number of singular pairs per step.
    search_steps : int
        Largest number of steps per local search.
    stop : Stop, optional
        When each problem stops. Default: the stopping rule of the paper.
    rng : int, numpy.random.Generator or None
        Source of the random starts from which the gaps are proven.
    batch : int, optional
        Number of problems that are advanced together. Default: what fits into the cache of a core,
        or 4 million samples on a GPU; take fewer if its memory is too small.
    workers : int
        Number of processes, each with a batch of its own, for arrays of NumPy. More than one needs
        the package joblib.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Results
        A sequence of `Result`, in the order of the problems. They agree with those of `gcgls`
        within the certified gaps. Gaps of iterates before the last are not proven: they are 1.
        After Ctrl-C, unfinished problems have the status `Status.INTERRUPTED`, with their last
        iterates; with several processes, these are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, Problem, Stop, solve_many
    >>> H, stop = Hankel(9, window=5), Stop(xtol=None, rtol=None, gap=1e-3)
    >>> signals = [rate ** np.arange(9.0) for rate in (0.5, 0.8)]
    >>> results = solve_many([Problem(H, y, mu=0.01) for y in signals], lam=1.0, stop=stop)
    >>> [result.rank for result in results], bool(max(results.gap) <= 1e-3)
    ([1, 1], True)
    """
    problems = _checked(problems)
    stop = Stop() if stop is None else stop
    instance_of(stop, Stop, "stop")
    lam, pairs = positive(lam, "lam"), positive_int(pairs, "pairs")
    search_steps = positive_int(search_steps, "search_steps")
    workers = positive_int(workers, "workers")
    check_workers(workers)
    reference = problems.b[0, ...] if isinstance(problems, Problems) else problems[0].data
    if workers > 1 and not is_numpy_array(reference):
        raise TypeError(
            f"workers is {workers}, but the samples are {type(reference).__name__}: several "
            "processes are for arrays of NumPy"
        )
    size = BatchSizes().problems(reference) if batch is None else positive_int(batch, "batch")
    firsts = range(0, len(problems), size)
    batches = [
        Batch(problems[first : first + size], first, lam, source, stop, pairs, search_steps)
        for first, source in zip(firsts, _sources(rng, len(firsts)), strict=True)
    ]
    for each in batches:
        each.check()
    with tqdm(total=len(problems), desc="solve_many", disable=not progress) as bar:
        found = _driven(batches, workers, bar)
    parts = [part for finished, _ in found for part in finished]
    log = [entry for _, entries in found for entry in entries]
    results = Results(problems, _kernel(problems), parts, log)
    _warn_if_limited(results)
    return results


def _driven(batches: Sequence[Batch], workers: int, bar: Any) -> list[Solved]:
    """Run all batches; after Ctrl-C, end those that are not finished."""
    found: dict[int, Solved] = {}
    try:
        for i, solved in finished(Batch.run, batches, workers):
            found[i] = solved
            bar.update(len(batches[i].problems))
    except KeyboardInterrupt:
        if len(found) == len(batches) or all(batch.done for batch in batches):
            raise
        found |= {i: b.interrupted() for i, b in enumerate(batches) if i not in found}
    return [found[i] for i in range(len(batches))]


def _kernel(problems: Sequence[Problem]) -> HankelStack:
    """Stacked products; an error, if there are none."""
    first = problems if isinstance(problems, Problems) else problems[0]
    return HankelStack.of(first.structure)


def _checked(problems: Sequence[Problem]) -> Sequence[Problem]:
    """Check that problems can be stacked."""
    problems = problems if isinstance(problems, Problems) else list(problems)
    if not problems:
        raise ValueError("problems is empty, but at least one Problem is expected")
    if isinstance(problems, Problems):
        _kernel(problems)
        return problems
    for i, problem in enumerate(problems):
        instance_of(problem, Problem, f"problems[{i}]")
    first = problems[0]
    _kernel(problems)
    for i, problem in enumerate(problems):
        same = problem.structure is first.structure or problem.structure == first.structure
        if not same:
            raise ValueError(
                f"problems[{i}] has the structure {problem.structure!r}, but that of problems[0], "
                f"{first.structure!r}, is expected: call solve_many once per structure"
            )
        if problem.sample_weights is None:
            raise ValueError(
                f"problems[{i}] is measured by an operator, but samples of the signal (all, Mask "
                "or Weighted) are expected: use gcgls in a loop"
            )
        if _kind(problem) != _kind(first):
            raise TypeError(
                f"problems[{i}] has samples of {_kind(problem)}, but {_kind(first)} as in "
                "problems[0] are expected: convert them"
            )
    return problems


def _kind(problem: Problem) -> tuple[type, Any, Any]:
    """Array type, data type and device of the samples."""
    return type(problem.b), problem.b.dtype, getattr(problem.b, "device", None)


def _sources(rng: Randomness, count: int) -> list[Randomness]:
    """One source of random numbers per batch."""
    random_generator(rng)  # an error, if it is none, before any work
    return list(rng.spawn(count)) if isinstance(rng, np.random.Generator) else [rng] * count


def _warn_if_limited(results: Results) -> None:
    """Issue a `ConvergenceWarning` if limits ended some runs."""
    limited = [s for s in results.status if s in (Status.MAX_ITERATIONS, Status.MAX_TIME)]
    if limited:
        text = (
            f"solve_many: {len(limited)} of {len(results)} problems did not converge; the first "
            f"{limited[0].value}. {limited[0].advice}"
        )
        warnings.warn(ConvergenceWarning(text), stacklevel=3)
