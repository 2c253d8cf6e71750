"""Errors and warnings of commands: one line each, and nothing half-written."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

import click

from .._messages import ERRORS, error_line, warning_line


@contextmanager
def one_line_errors() -> Iterator[None]:
    """End a command with one line per error, and show each warning in one line."""
    with warnings.catch_warnings(), _ending_cleanly() as pressed:
        warnings.simplefilter("default")
        warnings.showwarning = partial(_warn, set())
        try:
            yield
        except BrokenPipeError:  # the reader of the pipe has stopped reading
            raise
        except KeyboardInterrupt:
            _say_interrupted()
        except ERRORS as error:
            if pressed and isinstance(error, ImportError):  # Ctrl-C in the middle of an import
                _say_interrupted()
            raise click.ClickException(error_line(error)) from None


def _say_interrupted() -> NoReturn:
    click.echo("Interrupted.", err=True)
    raise SystemExit(_exit_code(signal.SIGINT)) from None


@contextmanager
def _ending_cleanly() -> Iterator[list[int]]:
    """Let a process that is asked to terminate remove its partial files first.

    Yields a list, which is no longer empty after Ctrl-C.
    """
    pressed: list[int] = []

    def end(*_: Any) -> None:
        raise SystemExit(_exit_code(signal.SIGTERM))

    def press(number: int, frame: Any) -> None:
        pressed.append(number)
        signal.default_int_handler(number, frame)

    if threading.current_thread() is not threading.main_thread():  # others cannot set handlers
        yield pressed
        return
    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, end)}
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        before[signal.SIGINT] = signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _exit_code(number: int) -> int:
    """The exit code that shells expect after a signal."""
    return 128 + number


def _warn(
    shown: set[str], message: Warning | str, category: type[Warning], *_: Any, **__: Any
) -> None:
    """Show a warning once, unless it is meant for programmers."""
    text = warning_line(message, category)
    if text is not None and text not in shown:
        shown.add(text)
        click.echo(f"Warning: {text}", err=True)
