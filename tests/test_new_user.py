"""What a new user does first, from the page "Ten lines" alone: every block of it, as it stands."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from conftest import steady

from structrank.app import AppServer
from structrank.cli import main

PAGE = (Path(__file__).parents[1] / "docs" / "ten_lines.md").read_text()
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
FILES, *TASKS = SECTIONS
FEW = {"200": "4", "workers=2": "workers=1"}  # outside of nightly


def blocks(section, language):
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def lines_of(section):
    code = "".join(blocks(section, "python") + blocks(section, "sh"))
    return [line for line in code.splitlines() if line.strip()]


def run(section):
    """Run the commands or the script of a section, and return what the script printed."""
    for command in "".join(blocks(section, "sh")).splitlines():
        program, *arguments = shlex.split(command)
        assert program == "structrank"
        done = CliRunner().invoke(main, arguments, catch_exceptions=False)
        assert done.exit_code == 0, done.output
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for script in blocks(section, "python"):
            exec(script, {})
    printed = steady(out.getvalue())
    assert printed == steady("".join(blocks(section, "text")))
    return printed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that the page begins with."""
    path = tmp_path_factory.mktemp("new_user")
    with contextlib.chdir(path):
        run(SECTIONS[FILES])
    return path


@pytest.mark.xdist_group("new_user")
@pytest.mark.parametrize("task", TASKS)
def test_task_runs(task, folder, monkeypatch):
    """Every file that a section names is there afterwards."""
    section = SECTIONS[task]
    if task == "200 columns":
        for many, few in FEW.items():
            section = section.replace(many, few)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(AppServer, "serve_forever", Mock(side_effect=KeyboardInterrupt))
    monkeypatch.setattr("webbrowser.open", Mock())
    run(section)
    for name in re.findall(r"\b\w+\.(?:csv|npz|png|html)\b", section):
        assert (folder / name).stat().st_size > 0


@pytest.mark.nightly
def test_all_columns():
    assert run(SECTIONS["200 columns"]).strip() == "(60, 200) without gaps: True"


@pytest.mark.parametrize("section", SECTIONS)
def test_ten_lines_are_enough(section):
    assert 0 < len(lines_of(SECTIONS[section])) <= 10


def test_all_tasks_of_a_new_user_are_there():
    words = (
        "three sensors",
        "forecast",
        "Components",
        "Bode",
        "image",
        "200",
        "continue",
        "report",
        "drop",
    )
    for word in (*words, "certificate in one sentence"):
        assert any(word in task for task in TASKS)
