"""
Learning an automaton from strings
==================================

A source emits strings of a's and b's. What is the probability of each string, including those that
were never drawn? Take a matrix with a row per prefix and a column per suffix, whose entries are the
probabilities of prefix + suffix: a Hankel matrix indexed by strings. If the source is an automaton,
the rank of this matrix is the number of states. Spectral learning (Hsu, Kakade and Zhang; Balle and
Mohri) computes the automaton from its singular vectors.

Here the counts of some strings are lost. `Indexed` defines the structure, and `refit` fits a matrix
of low rank to the other counts.
"""

import itertools
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

from structrank import Indexed, Problem, Weighted, noise_mu, refit, solve

# %%
# The source has three states. In each it may stop, or emit a letter and move.

start = np.array([0.8, 0.2, 0.0])
stop = np.array([0.1, 0.2, 0.35])
moves = {
    "a": np.array([[0.1, 0.5, 0.0], [0.0, 0.1, 0.5], [0.1, 0.0, 0.1]]),
    "b": np.array([[0.2, 0.0, 0.1], [0.1, 0.1, 0.0], [0.0, 0.4, 0.05]]),
}


def probability(string, start, moves, stop):
    """The probability of a string in an automaton."""
    state = start
    for letter in string:
        state = state @ moves[letter]
    return float(state @ stop)


def words(longest):
    """All strings up to a length, shortest first."""
    lengths = range(longest + 1)
    return ["".join(w) for n in lengths for w in itertools.product("ab", repeat=n)]


prefixes = suffixes = words(4)
strings = words(8)
truth = np.array([probability(s, start, moves, stop) for s in strings])

# %%
# We draw twenty thousand strings, and lose the counts of a fifth of the short strings.

rng = np.random.default_rng(0)
draws = 20_000
counts = rng.multinomial(draws, np.append(truth, 1 - truth.sum()))[:-1]
frequency = counts / draws
lost = rng.random(len(strings)) < 0.2
lost[0] = False
print(
    f"{len(strings)} strings of up to eight letters: {lost.sum()} lost, "
    f"{np.sum((counts == 0) & ~lost)} never drawn"
)

# %%
# The structure is a table with the number of the string at each place. Lifted weights give each
# entry of the matrix the same weight. The noise of a frequency f is about sqrt(f / draws).

place = {s: k for k, s in enumerate(strings)}
index = np.array([[place[p + s] for s in suffixes] for p in prefixes])
structure = Indexed(index)
states = 3


def fitted(frequency, lost, draws):
    """The matrix whose rank is the number of states, fitted to the known counts."""
    problem = Problem(structure, frequency, mu=1.0, measure=Weighted("lifted", ~lost))
    sigma = np.sqrt(frequency[~lost].mean() / draws)
    result = solve(replace(problem, mu=noise_mu(problem, sigma)))
    return refit(result, rank=states)


fit = fitted(frequency, lost, draws)
print(fit)

fig, axes = plt.subplots(1, 3, figsize=(8, 3.2), layout="constrained", sharey=True)
shown = np.where(lost, np.nan, frequency)
for ax, values, name in zip(
    axes, (truth, shown, fit.y), ("truth", "counted", "fitted"), strict=True
):
    picture = ax.imshow(np.log10(np.maximum(structure.to_dense(values), 1e-6)), vmin=-5, vmax=-0.5)
    ax.set(title=name, xlabel="suffix (number)")
axes[0].set_ylabel("prefix (number)")
fig.colorbar(picture, ax=axes, label="log10 of the probability", shrink=0.8)

# %%
# A row of the left factor is the state after a prefix. So the row of prefix + letter is the row of
# the prefix times the matrix of the letter.


def automaton(matrix):
    """Start, moves and stop from a matrix of low rank: rows are prefixes, columns suffixes."""
    U, S, Vh = np.linalg.svd(matrix)
    left, right = U[:, :states] * S[:states], Vh[:states].T
    number = {p: k for k, p in enumerate(prefixes)}
    short = [p for p in prefixes if len(p) < 4]
    before = left[[number[p] for p in short]]
    learned = {}
    for letter in "ab":
        after = left[[number[p + letter] for p in short]]
        learned[letter] = np.linalg.lstsq(before, after, rcond=None)[0]
    return left[0], learned, right[0]


ours = automaton(fit.X.to_dense())

# %%
# The rivals use the singular vectors of the empirical matrix: with zeros for the lost counts, and
# with lost counts that are filled by repeated truncation of the matrix.

zeros = np.where(lost, 0.0, frequency)
classic = automaton(structure.to_dense(zeros))
filled = zeros.copy()
for _ in range(1000):
    U, S, Vh = np.linalg.svd(structure.to_dense(filled))
    low = structure.average(U[:, :states] * S[:states], Vh[:states].T)
    filled = np.where(lost, low, frequency)
iterated = automaton(structure.to_dense(filled))


def error(predicted, true):
    """Sum of the absolute differences over the sum of the probabilities."""
    return float(np.abs(np.asarray(predicted) - true).sum() / true.sum())


longer = [s for s in words(11) if len(s) > 8]
targets = {
    "the strings lost": [s for s, gone in zip(strings, lost, strict=True) if gone],
    "strings never drawn": [s for s, c in zip(strings, counts + lost, strict=True) if c == 0],
    "nine to eleven letters": longer,
}
for name, target in targets.items():
    true = np.array([probability(s, start, moves, stop) for s in target])
    said = {
        method: error([probability(s, *learned) for s in target], true)
        for method, learned in (("structrank", ours), ("SVD", classic), ("iterated", iterated))
    }
    print(
        f"relative error on {name}: structrank {said['structrank']:.2f}, "
        f"SVD with zeros {said['SVD']:.2f}, iterated SVD {said['iterated']:.2f}, zero 1.00"
    )

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
true = truth[lost]
gone = targets["the strings lost"]
ax.loglog([1e-6, 1], [1e-6, 1], color="0.75", lw=3)
for name, learned, marker in (("structrank", ours, "o"), ("SVD with zeros", classic, "x")):
    said = np.array([probability(s, *learned) for s in gone])
    ax.loglog(true, np.maximum(said, 1e-6), marker, ms=5, label=name)
ax.set(
    xlabel="probability of a lost string", ylabel="predicted", xlim=(1e-6, 0.2), ylim=(8e-7, 0.2)
)
ax.legend(frameon=False)
# %%
# Where it fails
# --------------
# A thousand iterations of truncation are as good here. Two hundred were far from enough, and the
# method does not notice. If no counts are lost, classic spectral learning is as good with one
# decomposition. All methods know the number of states. The convex solution by itself has rank
# seven: the noise of frequent strings is larger than that of rare strings, and a single mu cannot
# account for both.

nothing = np.zeros(len(strings), dtype=bool)
for draws in (500, 5_000, 50_000):
    drawn = rng.multinomial(draws, np.append(truth, 1 - truth.sum()))[:-1] / draws
    learners = {"structrank": automaton(fitted(drawn, nothing, draws).X.to_dense())}
    learners["SVD"] = automaton(structure.to_dense(drawn))
    said = {name: [probability(s, *learned) for s in strings] for name, learned in learners.items()}
    print(
        f"{draws} draws, none lost: structrank {error(said['structrank'], truth):.3f}, "
        f"SVD {error(said['SVD'], truth):.3f}, frequencies {error(drawn, truth):.3f}, "
        f"negative probabilities {np.sum(np.array(said['structrank']) < 0)}"
    )
plt.show()
