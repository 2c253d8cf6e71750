"""The server of the page: on this machine only, with a token, for as long as it is open."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer

from ..views import require_matplotlib
from .desk import Desk
from .guard import Guard
from .requests import Handler

HOST = "127.0.0.1"


class AppServer(ThreadingHTTPServer):
    """Answers requests of one page, each in a thread.

    Parameters
    ----------
    desk : Desk
    port : int
        Zero: a free one.
    """

    daemon_threads = True
    allow_reuse_address = os.name == "posix"  # elsewhere it would share a port that is in use

    def __init__(self, desk: Desk, port: int = 0) -> None:
        super().__init__((HOST, port), Handler)
        self.desk = desk
        self.guard = Guard(secrets.token_urlsafe(24), self.server_address[1])

    @property
    def url(self) -> str:
        """The address of the page, with its token."""
        return f"http://{HOST}:{self.guard.port}/{self.guard.token}/"

    def server_bind(self) -> None:
        """Bind without asking the network for the name of this machine."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]


@contextmanager
def serving(port: int = 0, max_size: str | None = None) -> Iterator[AppServer]:
    """Give a server that listens; `serve_forever` answers. At the end nothing is left of it.

    Parameters
    ----------
    port : int
        Zero: a free one.
    max_size : str, optional
        Most memory that a file may take, such as "2GB". Default: half of the memory.

    Yields
    ------
    AppServer

    Examples
    --------
    >>> from structrank.app import serving
    >>> with serving() as server:
    ...     print(server.url[:17])
    http://127.0.0.1:
    """
    require_matplotlib()
    with tempfile.TemporaryDirectory(
        prefix="structrank-app-", ignore_cleanup_errors=True
    ) as folder:
        desk = Desk(Path(folder), max_size)
        with AppServer(desk, port) as server:
            try:
                yield server
            finally:
                desk.close()
