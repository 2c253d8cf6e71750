"""The watch over a call: its time limit, and what it says about the work meanwhile.

Both reach every loop below the call, as Ctrl-C does, without an argument in every function between.
A loop that has an answer ends when `time_is_up`, and its caller goes on with that answer.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from tqdm.auto import tqdm

clock = time.perf_counter


@dataclass(frozen=True)
class Voice:
    """How often a call says what it is doing.

    Attributes
    ----------
    seconds : float
        Time between two lines if the output is no terminal. Taste: a log file of an hour has about
        as many lines as a person reads.
    """

    seconds: float = 10.0

    @contextmanager
    def speaking(self) -> Iterator[Callable[[str], Any]]:
        """Give a function that says what is being tried: a bar on a terminal, else lines."""
        stream = sys.stderr
        if stream is None or not stream.isatty():
            yield self._lines(stream)
            return
        with tqdm(desc="structrank") as bar:

            def say(text: str) -> None:
                stage = text.partition(":")[0]
                new = not bar.desc.startswith(stage)
                bar.set_description_str(text, refresh=False)
                bar.update()
                if new:  # even if the last one was shown just now
                    bar.refresh()

            yield say

    def _lines(self, stream: Any) -> Callable[[str], Any]:
        began = last = clock()

        def say(text: str) -> None:
            nonlocal last
            if stream is not None and clock() - last >= self.seconds:
                last = clock()
                print(f"{last - began:.0f} s: {text}", file=stream, flush=True)

        return say


@dataclass(eq=False)
class Watch:
    """What the loops below a call can ask.

    Attributes
    ----------
    ends : float
        When time is up, on `clock`.
    say : callable or None
        Says what is being tried.
    outer : Watch or None
        The watch over the call around this one.
    cut : bool
        Whether a loop has ended because time is up.
    """

    ends: float
    say: Callable[[str], Any] | None
    outer: Watch | None
    cut: bool = False

    def stop(self) -> None:
        """Say, from another thread, that time is up."""
        self.ends = -float("inf")

    def limit(self) -> float:
        """When time is up, for this call or for one around it."""
        return self.ends if self.outer is None else min(self.ends, self.outer.limit())


_CURRENT: ContextVar[Watch | None] = ContextVar("structrank_watch", default=None)


@contextmanager
def watched(
    max_time: float | None = None,
    progress: bool = False,
    voice: Voice = Voice(),
    say: Callable[[str], Any] | None = None,
) -> Iterator[Watch]:
    """Limit the time of what runs inside, and let it say what is being tried.

    Parameters
    ----------
    max_time : float, optional
        Seconds. A limit around this one holds, too.
    progress : bool
        Show a progress bar, or lines if the output is no terminal.
    voice : Voice
    say : callable, optional
        Is told what is being tried, instead of a progress bar.

    Yields
    ------
    Watch
        It tells afterwards whether time ended the work; its method `stop` ends it from outside.

    Examples
    --------
    >>> from structrank._watch import time_is_up, watched
    >>> with watched(max_time=60.0):
    ...     with watched(max_time=1e-9):
    ...         inside = time_is_up()
    ...     inside, time_is_up()
    (True, False)
    """
    outer = _CURRENT.get()
    ends = float("inf") if max_time is None else clock() + max_time
    if say is None and outer is not None:
        say = outer.say
    with ExitStack() as stack:
        if progress and say is None:
            say = stack.enter_context(voice.speaking())
        watch = Watch(ends, say, outer)
        token = _CURRENT.set(watch)
        stack.callback(_CURRENT.reset, token)
        yield watch


def time_is_up() -> bool:
    """Whether the time limit around this call has passed; the loop that asks has to end then."""
    if seconds_left() > 0:
        return False
    watch = _CURRENT.get()
    while watch is not None:
        watch.cut, watch = True, watch.outer
    return True


def seconds_left() -> float:
    """Seconds up to the time limit around this call; infinite without one."""
    watch = _CURRENT.get()
    return float("inf") if watch is None else watch.limit() - clock()


def tell(text: str) -> None:
    """Say what is being tried, if the call around this one shows its progress."""
    watch = _CURRENT.get()
    if watch is not None and watch.say is not None:
        watch.say(text)
