#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""The tests with several versions of Python; `make test` uses the one that is installed.

`nox` runs every version that it finds, `nox -s tests-3.13` one of them.
"""

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = False


@nox.session(python=["3.11", "3.12", "3.13"])
def tests(session: nox.Session) -> None:
    """All tests, with arguments of pytest after `--`."""
    session.install(".[test]")
    session.env["OPENBLAS_NUM_THREADS"] = "1"
    session.run("pytest", "-n", "2", "--dist", "loadgroup", "-q", *session.posargs)


if __name__ == "__main__":
    nox.main()
