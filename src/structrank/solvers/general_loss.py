"""Algorithm 1 of the paper for losses that are not quadratic, by quadratic upper bounds."""

from __future__ import annotations

from pathlib import Path

from .._checks import instance_of, not_negative_int, one_of, positive_int
from ..model.losses import Loss
from ..model.lowrank import LowRank
from ..model.majorant import Majorant
from ..model.problem import Problem, checked_start
from ..model.starts import Randomness
from .algorithm_1 import algorithm_1
from .checkpoint import Checkpoint
from .driver import Callback, run
from .gradient_state import Accuracy
from .result import Result
from .saving import saving_for
from .stopping import Stop


def gcgls_loss(
    problem: Problem,
    loss: Loss,
    lam: float,
    *,
    penalty: str = "projection",
    recovery: str = "projection",
    step: str = "joint",
    pairs: int = 8,
    search_steps: int = 100,
    start: LowRank | None = None,
    stop: Stop | None = None,
    rng: Randomness = 0,
    callback: Callback | None = None,
    progress: bool = False,
    checkpoint: str | Path | Checkpoint | None = None,
    resume: str | Path | None = None,
) -> Result:
    """Solve the penalised problem with a smooth loss in place of half the squares.

    `min_X  sum_t w_t^2 l(z_t, b_t) + lam/2 ||B X||^2 + mu ||X||_*`,  `z = A(C X)`

    With a mask or weights w, z is the signal itself. With an operator w is one.

    The method is Algorithm 1 of the paper, as `gcgls`. Before each step, a quadratic that touches
    the loss from above replaces it, as the paper suggests for a general f. In a local search the
    quadratic is renewed every few steps. So psi never rises, unless `step` is "paper". The gap is
    that of the problem itself, and comes from the convexity of the loss.

    Parameters
    ----------
    problem : Problem
        Its misfit is replaced by the loss. For `Logistic` the samples `b` are +1 or -1.
    loss : Loss
        `Huber(threshold)`, `Logistic()`, or a class of your own.
    lam : float
        Weight of the penalty on departures from the structure, above zero.
    penalty : {"projection", "difference"}
        Which B, as in `gcgls`.
    recovery : {"projection", "sparse"}
        Which C, as in `gcgls`.
    step : {"joint", "paper"}
        How the weights of the iterate and of the new atom are chosen, as in `gcgls`.
    pairs : int
        Largest number of singular pairs per step. The paper uses one.
    search_steps : int
        Largest number of steps per local search; 0 for no local search, as in `gcg`.
    start : LowRank, optional
        Default: zero.
    stop : Stop, optional
        Default: the stopping rule of the paper.
    rng : int, numpy.random.Generator or None
        Source of the random starts from which the bound on the optimum is proven. With an integer
        runs can be repeated; None draws fresh entropy, see `structrank.model.starts`.
    callback : callable, optional
        Called with the `State` of every iterate; a true return value stops the run. The loss in
        the state is the loss of this problem.
    progress : bool
        Show a progress bar.
    checkpoint : str, Path or Checkpoint, optional
        A file with the extension .npz, to which the run is saved every minute and at its end.
    resume : str or Path, optional
        A checkpoint of the same problem, from which the run continues, as in `gcgls`.

    Returns
    -------
    Result

    See Also
    --------
    mu_max : the mu from which on the solution is zero; it takes the same loss.
    solve_robust : the original problem (relax) with a Huber loss.

    Examples
    --------
    The signs of a sine, a tenth of them flipped:

    >>> import numpy as np
    >>> from structrank import Hankel, Logistic, Problem, gcgls_loss, mu_max
    >>> rng = np.random.default_rng(0)
    >>> truth = np.sin(0.3 * np.arange(200) + 0.1)
    >>> b = np.sign(truth) * np.where(rng.random(200) < 0.1, -1, 1)
    >>> S = Hankel(200, window=100)
    >>> mu = 0.5 * mu_max(Problem(S, b, 1.0, "lifted"), loss=Logistic())
    >>> result = gcgls_loss(Problem(S, b, mu, "lifted"), Logistic(), lam=1.0)
    >>> result.rank, float(np.mean(np.sign(result.y) == np.sign(truth)))
    (2, 0.99)
    """
    instance_of(problem, Problem, "problem")
    instance_of(loss, Loss, "loss")
    one_of(step, ("joint", "paper"), "step")
    pairs = positive_int(pairs, "pairs")
    search_steps = not_negative_int(search_steps, "search_steps")
    how = {"penalty": penalty, "recovery": recovery, "step": step, "pairs": pairs}
    numbers = {"loss": f"{type(loss).__name__} {vars(loss)}", "lam": lam, "steps": search_steps}
    saving = saving_for("gcgls_loss", problem, checkpoint, resume, **numbers, **how)
    X = checked_start(start, problem, quadratic=False)
    objective = Majorant.at_matrix(problem, loss, lam, penalty, recovery, X=X)
    # The gap falls late, since a bound follows the loss only near its touching point. So the
    # accuracy of the searches does not follow the gap, but is that of the last one from the start.
    accuracy = Accuracy()
    tolerance = accuracy.search * accuracy.aim(0.0, stop) ** 2
    memory = None if saving is None else saving.memory
    steps = (step, pairs, search_steps, tolerance)
    states = algorithm_1(objective, X, *steps, stop=stop, rng=rng, memory=memory)
    return run(
        states,
        problem,
        stop=stop,
        callback=callback,
        progress=progress,
        label="gcgls_loss",
        saving=saving,
    )
