"""Which requests are answered: those of the page itself, with its token, from this machine."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from email.message import Message

# Nothing is loaded from elsewhere, no script but the page's own runs, and no other page may show
# this one in a frame.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
# Pictures and reports, should they be opened by themselves: no scripts at all.
CONTENT_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True)
class Guard:
    """Refuses requests of other pages and programs.

    Attributes
    ----------
    token : str
        The secret that is the first part of every path.
    port : int

    Examples
    --------
    >>> from email.message import Message
    >>> from structrank.app.guard import Guard
    >>> guard, headers = Guard("secret", 8000), Message()
    >>> headers["Host"] = "127.0.0.1:8000"
    >>> guard.refusal("GET", "/secret/", headers) is None
    True
    >>> guard.refusal("GET", "/", headers)
    'the address lacks the token: use the one that structrank app has printed'
    """

    token: str
    port: int

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names under which the page may be asked for."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def refusal(self, method: str, path: str, headers: Message) -> str | None:
        """Say why a request is refused; None if it is answered.

        A page elsewhere whose name leads to this machine has another Host; a form or a script of
        another page has another Origin.
        """
        if headers.get_all("Host", []) not in [[host] for host in self.hosts]:
            return "the page is asked for under another name: use the printed address"
        given = path.split("/")[1] if path.startswith("/") else ""
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return "the address lacks the token: use the one that structrank app has printed"
        origin = headers.get("Origin")
        if method != "GET" and origin not in [f"http://{host}" for host in self.hosts]:
            return "the request comes from another page"
        return None
