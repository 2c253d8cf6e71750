"""Requests of the page, and the answers of the desk."""

from __future__ import annotations

import json
import re
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import parse_qs, unquote, urlsplit

from .._messages import ERRORS, error_line
from .desk import UnknownNumberError
from .guard import CONTENT_POLICY, HEADERS, PAGE_POLICY
from .limits import LIMITS

if TYPE_CHECKING:
    from .server import AppServer

STATIC = {
    "": ("page.html", "text/html; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
}
FILE_TYPES = {".csv": "text/csv; charset=utf-8", ".html": "text/html; charset=utf-8"}


class Answer(NamedTuple):
    """What is sent back."""

    body: bytes
    type: str
    policy: str = CONTENT_POLICY
    download: str | None = None
    status: HTTPStatus = HTTPStatus.OK


class Handler(BaseHTTPRequestHandler):
    """Answers one request: checks, finds its route, and sends what the desk says."""

    timeout = LIMITS.silence
    server_version, sys_version = "structrank", ""

    @property
    def app(self) -> AppServer:
        """The server."""
        return cast("AppServer", self.server)

    def do_GET(self) -> None:
        """Answer a request for something."""
        self._answer("GET")

    def do_POST(self) -> None:
        """Answer a request to do something."""
        self._answer("POST")

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: addresses have the token."""

    def _answer(self, method: str) -> None:
        refusal = self.app.guard.refusal(method, urlsplit(self.path).path, self.headers)
        if refusal is not None:
            self._send(_said(refusal, HTTPStatus.FORBIDDEN))
            return
        try:
            answer = self._routed(method)
        except UnknownNumberError as error:
            answer = _said(str(error), HTTPStatus.NOT_FOUND)
        except ERRORS as error:
            answer = _said(error_line(error), HTTPStatus.BAD_REQUEST)
        except Exception as error:  # a bug: the page shows it and keeps running
            traceback.print_exc(file=sys.stderr)
            text = f"unexpected {type(error).__name__}: {error_line(error)}"
            answer = _said(text, HTTPStatus.INTERNAL_SERVER_ERROR)
        with suppress(ConnectionError):  # the page was closed
            self._send(answer)

    def _routed(self, method: str) -> Answer:
        path = unquote(urlsplit(self.path).path).split("/", 2)[2:]
        for verb, pattern, act in ROUTES:
            found = re.fullmatch(pattern, path[0] if path else " ")
            if verb == method and found is not None:
                return act(self, *found.groups())
        return _said("there is nothing under this address", HTTPStatus.NOT_FOUND)

    def asked(self, name: str) -> str:
        """Return a parameter of the query; empty if it is absent."""
        return parse_qs(urlsplit(self.path).query).get(name, [""])[0]

    def length(self) -> int:
        """Return the length of the body in bytes."""
        text = self.headers.get("Content-Length") or ""
        if not text.isdecimal():
            raise ValueError("the request does not say how long it is")
        return int(text)

    def form(self) -> dict[str, Any]:
        """Return the form that follows, as JSON."""
        if self.length() > LIMITS.form:
            raise ValueError("the form is too long")
        try:
            form = json.loads(self.rfile.read(self.length()) or b"{}")
        except RecursionError:
            raise ValueError("a form is expected, but these are lists in lists too deep") from None
        if not isinstance(form, dict):
            raise ValueError("a form is expected")
        return form

    def drain(self) -> None:
        """Receive and drop what is refused, so that the page can receive the reason."""
        left = self.length()
        while left > 0 and (chunk := self.rfile.read(min(left, LIMITS.chunk))):
            left -= len(chunk)

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Content-Security-Policy", answer.policy)
        for name, text in HEADERS.items():
            self.send_header(name, text)
        if answer.download is not None:
            self.send_header("Content-Disposition", f'attachment; filename="{answer.download}"')
        self.end_headers()
        self.wfile.write(answer.body)


def _static(name: str) -> Callable[[Handler], Answer]:
    file, type = STATIC[name]

    def act(request: Handler) -> Answer:
        body = resources.files(__package__).joinpath("static", file).read_bytes()
        return Answer(body, type, PAGE_POLICY)

    return act


def _upload(request: Handler) -> Answer:
    size = request.length()
    try:
        request.app.desk.size.check(size)
    except ValueError as error:
        request.drain()
        return _said(error_line(error), HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    return _json(request.app.desk.receive(request.asked("name"), size, request.rfile))


def _read(request: Handler, number: str) -> Answer:
    return _json(request.app.desk.read(int(number), request.form()))


def _samples(request: Handler, number: str) -> Answer:
    columns = [int(k) for k in request.asked("columns").split(",") if k]
    return _image(*request.app.desk.samples(int(number), columns, bool(request.asked("narrow"))))


def _run(request: Handler) -> Answer:
    return _json(request.app.desk.run(request.form()))


def _about(request: Handler, number: str) -> Answer:
    return _json(request.app.desk.about(int(number)))


def _stop(request: Handler, number: str) -> Answer:
    return _json(request.app.desk.stop(int(number)))


def _report(request: Handler, number: str) -> Answer:
    return _json(request.app.desk.report(int(number)))


def _picture(request: Handler, number: str, name: str) -> Answer:
    narrow = bool(request.asked("narrow"))
    return _image(*request.app.desk.picture(int(number), name, narrow))


def _file(request: Handler, number: str, name: str) -> Answer:
    path = request.app.desk.file(int(number), name).path
    kind = FILE_TYPES.get(path.suffix, "application/octet-stream")
    return Answer(path.read_bytes(), kind, download=path.name)


def _image(kind: str, body: bytes) -> Answer:
    return Answer(body, f"image/{kind}")


def _json(value: dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> Answer:
    text = json.dumps(value, allow_nan=False)
    return Answer(text.encode(), "application/json; charset=utf-8", status=status)


def _said(text: str, status: HTTPStatus) -> Answer:
    return _json({"error": text}, status)


# No part of a path names a file: what is sent is found by number, or in a list.
ROUTES: tuple[tuple[str, str, Callable[..., Answer]], ...] = (
    *(("GET", re.escape(name), _static(name)) for name in STATIC),
    ("POST", r"files", _upload),
    ("POST", r"files/(\d{1,9})", _read),
    ("GET", r"files/(\d{1,9})/samples", _samples),
    ("POST", r"runs", _run),
    ("GET", r"runs/(\d{1,9})", _about),
    ("POST", r"runs/(\d{1,9})/stop", _stop),
    ("POST", r"runs/(\d{1,9})/report", _report),
    ("GET", r"runs/(\d{1,9})/pictures/([a-z]+)", _picture),
    ("GET", r"runs/(\d{1,9})/files/([a-z]+)", _file),
)
