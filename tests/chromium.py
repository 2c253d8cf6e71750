"""A real browser in tests: Chromium, spoken to by its DevTools protocol over two pipes."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--disable-extensions"),
    *("--disable-dev-shm-usage", "--hide-scrollbars"),
)
# The browser listens at descriptor 3 and answers at 4.
LAUNCH = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
needs_browser = pytest.mark.skipif(not BROWSER, reason="no Chromium is installed")


class Tab:
    """One page in the browser."""

    def __init__(self, send, receive):
        self._send, self._receive = send, receive
        self._count, self._session, self.events = 0, None, []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self._session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "DOM", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method, **parameters):
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def _next(self):
        text = b""
        while not text.endswith(b"\0"):
            byte = self._receive.read(1)
            assert byte, "the browser has ended"
            text += byte
        return json.loads(text[:-1])

    def look(self, width, dark=False, height=900):
        """Set the size of the window and the colour scheme."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, url):
        self("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def value(self, script):
        """The value of an expression in the page."""
        answer = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, script, seconds=60):
        """Wait for an expression to become true."""
        end = time.monotonic() + seconds
        while not self.value(script):
            assert time.monotonic() < end, f"still not true: {script}"
            time.sleep(0.05)

    def choose_file(self, selector, path):
        """Choose a file in an input of the page."""
        root = self("DOM.getDocument")["root"]["nodeId"]
        node = self("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def screenshot(self, path):
        """Save a picture of the whole page."""
        answer = self("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def complaints(self):
        """Errors on the console, and exceptions of scripts."""
        self.value("1")  # what happened before has arrived then
        found = []
        for event in self.events:
            entry = event.get("params", {}).get("entry", {})
            if event.get("method") == "Runtime.exceptionThrown" or (
                event.get("method") == "Log.entryAdded" and entry["level"] in ("error", "warning")
            ):
                found.append(event["params"])
        return found

    def requested(self):
        """The addresses that the page has asked for."""
        sent = "Network.requestWillBeSent"
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == sent]


@contextmanager
def browser_tab(profile):
    """A tab of a new browser."""
    to_browser, write_end = os.pipe()
    read_end, from_browser = os.pipe()
    command = [BROWSER, *OPTIONS, f"--user-data-dir={profile}", "--remote-debugging-pipe"]
    process = subprocess.Popen(
        [sys.executable, "-c", LAUNCH, str(to_browser), str(from_browser), *command],
        pass_fds=(to_browser, from_browser),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    os.close(to_browser)
    os.close(from_browser)
    with os.fdopen(read_end, "rb") as receive:
        try:
            yield Tab(write_end, receive)
        finally:
            os.close(write_end)
            process.terminate()
            process.wait(30)
