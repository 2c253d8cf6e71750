"""
How close is close enough?
==========================

An iterative solver whose iterates no longer change may still be far from the optimum. `solve`
computes a lower bound with every iterate: no signal has an objective below it. The distance between
the objective and this bound is the certified gap. It is valid however the iterate was found.
"""

# sphinx_gallery_thumbnail_number = 3

import matplotlib.pyplot as plt
import numpy as np

from structrank import Hankel, Mask, Problem, Stop, refit, solve
from structrank.solvers.rivals import padmm


def three_tones(rows):
    """Three noisy tones, half seen, whose Hankel matrix is square."""
    rng = np.random.default_rng(0)
    t = np.arange(2 * rows - 1)
    truth = np.cos(0.31 * t) + 0.7 * np.sin(0.77 * t + 1) + 0.5 * np.cos(1.9 * t)
    seen = rng.random(t.size) < 0.5
    samples = np.where(seen, truth + 0.1 * rng.standard_normal(t.size), np.nan)
    return truth, Problem(Hankel(t.size, window=rows), samples, mu=0.1, measure=Mask(seen))


truth, problem = three_tones(240)
print(problem)

fig, ax = plt.subplots(figsize=(8, 3), layout="constrained")
ax.plot(truth, color="0.75", lw=2, label="truth")
ax.plot(problem.b, "k.", ms=4, label="samples")
ax.set(xlabel="sample", ylabel="signal", xlim=(0, 120), ylim=(-2.4, 3.2))
ax.legend(frameon=False, ncols=2, loc="upper center")

# %%
# Ask for a gap of 1e-5 of the objective.

result = solve(problem, gap=1e-5)
print(result)
result.plot()

# %%
# The two bounds around the optimum. The optimum is taken from a run to a gap ten times smaller.

best = solve(problem, gap=1e-6)
objective, gap = np.array(result.history.objective), np.array(result.history.gap)
lower = np.maximum.accumulate(objective * (1 - gap))
seconds = np.array(result.history.time)

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.semilogy(seconds, objective / best.objective - 1, "o-", label="upper bound above the optimum")
ax.semilogy(seconds, 1 - lower / best.objective, "s-", label="lower bound below the optimum")
ax.semilogy(seconds, gap, "k--", lw=1, label="certified gap")
ax.set(xlabel="time (s)", ylabel="share of the objective")
ax.legend(frameon=False)

# %%
# The rival is the alternating direction method of multipliers on the dense matrix (Fazel, Pong,
# Sun and Tseng, 2013). Its penalty beta on the departure from the structure was the best of three
# values on 200 rows. Its time includes only its steps, not the bounds that stop it; the time of
# `solve` includes its bounds.

stop = Stop(max_iter=3000, xtol=None, rtol=None, gap=1e-4)
sizes, ours, dense = (60, 120, 240), [], []
for rows in sizes:
    _, smaller = three_tones(rows)
    largest = np.linalg.norm(smaller.structure.to_dense(smaller.backprojection), 2)
    ours.append(solve(smaller, gap=1e-4).history.time[-1])
    dense.append(padmm(smaller, beta=10 * smaller.mu / largest, stop=stop).history.time[-1])
    print(
        f"{rows} x {rows}, seconds to a gap of 1e-4: structrank {ours[-1]:.2f}, "
        f"dense ADMM {dense[-1]:.2f}, {dense[-1] / ours[-1]:.1f} times as long"
    )

fig, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
ax.semilogx(sizes, ours, "o-", label="structrank, bounds included")
ax.semilogx(sizes, dense, "s-", label="dense ADMM, steps alone")
ax.set_xticks(sizes, [str(rows) for rows in sizes])
ax.minorticks_off()
ax.set(xlabel="rows of the square Hankel matrix", ylabel="seconds to a gap of 1e-4", ylim=(0, None))
ax.legend(frameon=False)
plt.show()

# %%
# Where it fails
# --------------
# On small matrices a tuned dense method is faster (60 rows) or about as fast (120 rows), since each
# of its steps is one small decomposition. The certificate says how close the objective is to its
# optimum, not how close the signal is to the truth: the optimum itself is shrunk. `refit` removes
# the shrinkage.

fit = refit(result, rank=6)
shrunk, refitted = (np.linalg.norm(y - truth) / np.linalg.norm(truth) for y in (result.y, fit.y))
print(f"error against the truth: certified optimum {shrunk:.3f}, after refit {refitted:.3f}")
