"""Random starts for the Lanczos method that the data do not depend on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, cast

import numpy as np

from .._array import Array, NDArray, gram, in_single_precision, is_complex, like, to_numpy
from .._checks import random_generator
from .large_vectors import LARGE, gaussian, on_threads
from .linalg import random_vector
from .lowrank import LowRank
from .problem import Problem
from .stack import Stack

Randomness = int | np.random.Generator | None
"""What a user passes as `rng`."""


class RandomStarts:
    """A sequence of Gaussian vectors, from which upper bounds of singular values are proven.

    The proofs hold for starts that are independent of the matrix. A fixed seed is not enough for
    that: data can be built to be orthogonal to its vectors, and a start `X` from an earlier run
    depends on them.

    Parameters
    ----------
    problem : Problem
    X : LowRank
        Where the solver starts.
    rng : int, numpy.random.Generator or None
        An integer is mixed with a hash of the data and of `X`: runs can be repeated, and nobody
        can build data against the vectors without inverting the hash. None draws fresh entropy
        from the operating system, which makes the proof hold for any data. A generator is used
        as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from structrank import Hankel, LowRank, Problem
    >>> from structrank.model.starts import RandomStarts
    >>> problem = Problem(Hankel(5, window=3), np.arange(5.0), mu=1.0)
    >>> zero = LowRank.zeros((3, 3), problem.b)
    >>> one, again = RandomStarts(problem, zero), RandomStarts(problem, zero)
    >>> bool(np.all(one.draw() == again.draw()))
    True
    """

    def __init__(self, problem: Problem, X: LowRank, rng: Randomness = 0) -> None:
        self.reference, self.size = problem.backprojection, problem.structure.shape[1]
        self.generator = random_generator(rng)
        if rng is not None and not isinstance(rng, np.random.Generator):
            self.generator = np.random.default_rng([int(rng), *_digest(problem, X)])

    def draw(self) -> Array:
        """Draw the next vector, in the library, device and data type of the problem."""
        return gaussian(self.size, self.reference, self.generator)

    def position(self) -> dict[str, Any]:
        """Return where the sequence is, as values that JSON can hold."""
        return dict(_plain(self.generator.bit_generator.state))

    def restore(self, position: dict[str, Any]) -> None:
        """Continue a sequence from where another one was."""
        kind = type(self.generator.bit_generator).__name__
        if kind != position["bit_generator"]:
            raise ValueError(
                f"rng is a {kind}, but the run was begun with a {position['bit_generator']}: pass "
                "a generator of the same kind"
            )
        self.generator.bit_generator.state = position


class StackStarts:
    """Gaussian vectors for the proofs of many problems at once, as `RandomStarts` for one.

    Problems that are proven together share a vector: each proof holds with its own probability,
    because the vector does not depend on any of the problems.

    Parameters
    ----------
    stack : Stack
    rng : int, numpy.random.Generator or None
        An integer is mixed with one hash of all data.
    """

    def __init__(self, stack: Stack, rng: Randomness = 0) -> None:
        self.reference, self.size = stack.data, stack.kernel.shape[1]
        self._rng, self._hash = rng, None
        if rng is not None and not isinstance(rng, np.random.Generator):
            with np.errstate(over="ignore", under="ignore"):  # weights may have any size
                parts = [to_numpy(in_single_precision(x)) for x in (stack.data, stack.weights)]
            thread = ThreadPoolExecutor(1)  # the solver goes on meanwhile
            self._hash = thread.submit(_hash, f"{stack.kernel.shape}", *parts, stack.mu)
            thread.shutdown(wait=False)

    @cached_property
    def generator(self) -> np.random.Generator:
        """The source of the vectors."""
        if self._hash is None:
            return random_generator(self._rng)
        return np.random.default_rng([cast(int, self._rng), *self._hash.result()])

    def draw(self) -> Array:
        """Draw the next vector, as a row (1, 1, N)."""
        values = self.generator.standard_normal((1, 1, self.size))
        if is_complex(self.reference):
            values = values + 1j * self.generator.standard_normal((1, 1, self.size))
        return like(values, self.reference)


class FixedStarts:
    """The same vectors for all problems of a size, where nothing has to be proven.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self.reference, self.size = problem.backprojection, problem.structure.shape[1]
        self.count = 0

    def draw(self) -> Array:
        """Draw the next vector, in the library, device and data type of the problem."""
        self.count += 1
        return random_vector(self.size, self.reference, seed=self.count)

    def position(self) -> int:
        """Return where the sequence is."""
        return self.count

    def restore(self, position: int) -> None:
        """Continue a sequence from where another one was."""
        self.count = position


def _plain(state: Any) -> Any:
    """The state of a bit generator, with lists in place of arrays."""
    if isinstance(state, Mapping):
        return {name: _plain(value) for name, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray) else state


def _digest(problem: Problem, X: LowRank) -> list[int]:
    """A hash of the data and of a start, as non-negative integers.

    It sees six digits, relative to the largest value: scaled problems draw the same vectors, and
    rounding errors do not matter.
    """
    digest = hashlib.blake2b(digest_size=32)
    data, weights = to_numpy(problem.data), problem.sample_weights
    size = _largest(data)
    parts = [data, gram(X.U, X.U), gram(X.V, X.V)]
    for part in parts if weights is None else [*parts, to_numpy(weights)]:
        digest.update(_hashed(part) if part.size >= LARGE.hashed else _rounded(part).tobytes())
    mu = f"{problem.mu / size:.6g}" if size > 0 else ""
    digest.update(f"{problem.structure!r} {mu} {X.shape}".encode())
    return [int(word) for word in np.frombuffer(digest.digest(), dtype=np.uint32)]


def _hash(name: str, *parts: NDArray) -> list[int]:
    """A hash of arrays, as non-negative integers."""
    digest = hashlib.sha256(name.encode())
    for part in parts:
        digest.update(np.ascontiguousarray(part).data)
    return [int(word) for word in np.frombuffer(digest.digest(), dtype=np.uint32)]


def _hashed(values: NDArray) -> bytes:
    """Hashes of pieces of a large array, each rounded as `_rounded` does, on several threads."""
    flat, size = values.reshape(-1), _largest(values)

    def one(first: int) -> bytes:
        piece = _rounded(flat[first : first + LARGE.piece], size)
        return hashlib.blake2b(piece.data, digest_size=32).digest()

    return b"".join(on_threads(one, range(0, flat.size, LARGE.piece)))


def _largest(values: NDArray) -> float:
    """The largest modulus."""
    flat = values.reshape(-1)
    pieces = range(0, flat.size, LARGE.piece)

    def one(first: int) -> float:
        return float(np.max(np.abs(flat[first : first + LARGE.piece])))

    return max(on_threads(one, pieces), default=0.0)


def _rounded(values: NDArray, size: float | None = None) -> NDArray:
    """Six digits of the values, relative to a size, by default the largest one; as integers."""
    size = _largest(values) if size is None else size
    scaled = np.ascontiguousarray(1e6 * (values / size)) if size > 0 else values * 0.0
    parts = [scaled.real, scaled.imag] if np.iscomplexobj(scaled) else [scaled]
    return np.stack([np.rint(part).astype(np.int64) for part in parts])
