"""The page to drop a file on: who may ask, what it shows, and that it does what commands do."""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.request
import warnings
from functools import partial
from importlib import resources
from pathlib import Path
from threading import Thread
from urllib.parse import quote, urlsplit

import numpy as np
import pytest
from chromium import browser_tab, needs_browser
from click.testing import CliRunner

from structrank import forecast, recover
from structrank._watch import tell, time_is_up, watched
from structrank.app import AppServer, serving
from structrank.app.limits import AppLimits
from structrank.app.runs import Download, Outcome, Run, show_warning
from structrank.app.uploads import Reading, safe_name
from structrank.cli import main
from structrank.io import read
from structrank.io.table import chosen_columns

pytestmark = pytest.mark.xdist_group("app")

N = 48
NASTY = "<img src=x onerror=alert(1)>"
RNG = np.random.default_rng(0)
WIND = 2 + np.cos(0.4 * np.arange(N)) + 0.3 * RNG.standard_normal(N)
WIND[20:24] = np.nan
RAIN = np.cos(0.4 * np.arange(N) + 1) + 0.3 * RNG.standard_normal(N)
RAIN[30] = np.nan


def table(*columns, names, first="2024-01-01"):
    days = np.arange(np.datetime64(first), np.datetime64(first) + N)
    rows = zip(days, *columns, strict=True)
    cells = [[str(day), *("" if np.isnan(x) else f"{x:.6g}" for x in row)] for day, *row in rows]
    return "\n".join(map(",".join, [["day", *names], *cells])) + "\n"


WEATHER = table(WIND, RAIN, names=("wind", NASTY))


class Client:
    """What the page asks for, without the page."""

    def __init__(self, server):
        self.server, self.url = server, server.url
        self.origin = "http://{}:{}".format(*server.server_address)

    def open(self, path, body=None, **headers):
        if body is not None:
            headers.setdefault("Origin", self.origin)
        request = urllib.request.Request(self.url + path, body, headers)
        return urllib.request.urlopen(request, timeout=60)

    def get(self, path):
        with self.open(path) as answer:
            return answer.read()

    def post(self, path, body=b"", **headers):
        body = json.dumps(body).encode() if isinstance(body, dict) else body
        with self.open(path, body, **headers) as answer:
            return json.load(answer)

    def upload(self, name, text):
        body = text if isinstance(text, bytes) else text.encode()
        return self.post(f"files?name={quote(name, safe='')}", body)

    def run(self, form):
        return self.finished(self.post("runs", form))

    def finished(self, state):
        while state["state"] == "running":
            time.sleep(0.01)
            state = json.loads(self.get(f"runs/{state['id']}"))
        return state

    def raw(self, method, path, **headers):
        """Status, headers and body of a request that libraries would not send."""
        port = urlsplit(self.url).port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.putrequest(method, path, skip_host="Host" in headers)
        for key, value in headers.items():
            connection.putheader(key, value)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, answer.headers, body


def refused(call, *arguments, **options):
    """Status and text of an error."""
    with pytest.raises(urllib.error.HTTPError) as caught:
        call(*arguments, **options)
    with caught.value as answer:
        return answer.code, json.load(answer)["error"]


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setattr(warnings, "showwarning", show_warning)
    with serving() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield Client(server)
        finally:
            server.shutdown()
            thread.join()


class TestWhoMayAsk:
    def test_only_this_machine(self, client):
        assert client.server.server_address[0] == "127.0.0.1"
        assert len(client.server.guard.token) >= 32

    @pytest.mark.parametrize("path", ["/", "/wrong/", "/wrong/page.js", "", "//", "/%00/"])
    def test_no_answer_without_the_token(self, client, path):
        for method in ("GET", "POST"):
            status, _, body = client.raw(method, path or "*", Origin=client.origin)
            assert status == 403
            assert b"the address lacks the token" in body

    @pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", ""])
    def test_other_hosts(self, client, host):
        path = urlsplit(client.url).path
        assert client.raw("GET", path, Host=host)[0] == 403
        port = client.server.guard.port
        assert client.raw("GET", path, Host=f"localhost:{port}")[0] == 200

    @pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "http://127.0.0.1"])
    def test_other_origins(self, client, origin):
        headers = {} if origin is None else {"Origin": origin}
        status, _, body = client.raw("POST", urlsplit(client.url).path + "runs", **headers)
        assert status == 403
        assert b"from another page" in body

    def test_headers(self, client):
        for path in ("", "page.js", "page.css"):
            with client.open(path) as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert policy.startswith("default-src 'none'")
                assert "unsafe" not in policy
                assert not re.search(r"https?:|\*", policy)
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Referrer-Policy"] == "no-referrer"
                assert answer.headers["X-Frame-Options"] == "DENY"
                assert answer.headers["Cache-Control"] == "no-store"

    def test_the_page_loads_nothing_from_elsewhere(self):
        folder = resources.files("structrank.app") / "static"
        for file in folder.iterdir():
            text = file.read_text(encoding="utf-8")
            assert not re.search(r"https?:|//[a-z]+\.", text), file.name
            assert not re.search(r"innerHTML|outerHTML|insertAdjacent|eval\(|Function\(", text)
            assert not re.search(r"\son[a-z]+=|style=", text), file.name

    @pytest.mark.parametrize(
        "path",
        [
            "../../../etc/passwd",
            "..%2f..%2fetc/passwd",
            "static/../server.py",
            "%2e%2e/server.py",
            "page.js/../../server.py",
            "files/1/../../x",
            "runs/1/files/../../../etc/passwd",
            "server.py",
            "files/99999999999999999999/samples",
            "runs/7/pictures/signal",
            "runs/7",
        ],
    )
    def test_paths_lead_nowhere(self, client, path):
        status, _, body = client.raw("GET", urlsplit(client.url).path + path)
        assert status == 404
        assert b"root:" not in body
        assert "error" in json.loads(body)


class TestFiles:
    def test_columns_and_gaps(self, client):
        about = client.upload("weather.csv", WEATHER)
        assert about["columns"] == [
            {"name": "wind", "missing": 4, "longest": 4},
            {"name": NASTY, "missing": 1, "longest": 1},
        ]
        assert about["index"] == {"name": "day", "first": "2024-01-01", "last": "2024-02-17"}
        assert about["problem"] is None
        with client.open(f"files/{about['id']}/samples?columns=0") as answer:
            assert answer.headers["Content-Type"] == "image/svg+xml"
            assert answer.headers["Content-Security-Policy"].startswith("sandbox;")
            assert b"<svg" in answer.read()
        code, text = refused(client.get, f"files/{about['id']}/samples?columns=7")
        assert (code, text) == (400, "columns [7] are asked for, but there are 2")

    @pytest.mark.parametrize(
        "name",
        [
            "../../outside.csv",
            "..\\..\\x.csv",
            '"><script>alert(1)</script>.csv',
            "a\r\nSet-Cookie: x=1\r\n.csv",
            "\u202ecsv.exe.csv",
            ".csv",
            "-rf.csv",
            "nul.csv",
            "é" * 300 + ".csv",
        ],
    )
    def test_hostile_names(self, client, name):
        folder = client.server.desk._folder
        about = client.upload(name, "x\n" + "\n".join(f"{x:.3f}" for x in RAIN[:20]))
        assert about["name"] == name  # only ever shown as text
        (path,) = (folder / f"file-{about['id']}").iterdir()
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*\.csv", path.name)
        assert len(path.name) <= 100
        assert [one.name for one in folder.iterdir()] == [f"file-{about['id']}"]
        assert not (folder.parent / "outside.csv").exists()
        state = client.run({"file": about["id"], "columns": [0], "task": "impute"})
        with client.open(f"runs/{state['id']}/files/table") as answer:
            sent = answer.headers["Content-Disposition"]
            assert re.fullmatch(r'attachment; filename="[A-Za-z0-9._-]+\.csv"', sent)
            assert answer.headers["Set-Cookie"] is None

    def test_errors_of_readers(self, client):
        about = client.upload("bad.csv", f"a,b\n1,2\n3,{NASTY}\n")
        assert about["error"] == f'bad.csv: line 3, column "b": "{NASTY}" is not a number'
        again = client.post(f"files/{about['id']}", {"columns": "a"})
        assert [column["name"] for column in again["columns"]] == ["a"]
        assert "error" not in again
        about = client.upload("table.ods", "x")
        assert about["error"].startswith("table.ods has an unknown extension: known are .csv")
        assert 'pd.read_excel("table.ods")' in about["error"]
        assert client.upload("empty.csv", "")["error"] == "empty.csv is empty"
        damaged = client.upload("a.npy", b"\x93NUMPY nonsense")["error"]
        assert re.fullmatch(r"a\.npy: its header has \d+ bytes, but at most 10000 are.*", damaged)

    def test_irregular_times(self, client):
        lines = WEATHER.splitlines()
        about = client.upload("weather.csv", "\n".join(lines[:10] + lines[12:]))
        assert "index is irregular (around 2024-01-12)" in about["problem"]
        assert "--regular" in about["problem"]
        again = client.post(f"files/{about['id']}", {"regular": "on"})
        assert again["problem"] is None
        assert again["shape"] == [N, 2]
        assert any("2 rows" in note for note in again["notes"]), again["notes"]

    def test_suspicious_values(self, client):
        values = [*np.round(10 * RAIN[:20], 1), -9999, -9999]
        about = client.upload("a.csv", "x\n" + "\n".join(map(str, values)))
        assert "-9999" in about["cautions"][0]
        again = client.post(f"files/{about['id']}", {"missing": "-9999"})
        assert again["columns"][0]["missing"] == 2
        assert again["cautions"] == []

    def test_reading_of_the_form(self):
        form = {"index": "none", "skip_rows": "2", "missing": "-9 x", "regular": "on", "sep": ""}
        reading = Reading.of({**form, "step": "10min", "irregular": "on"})
        assert reading.options == {
            "index": False,
            "step": "10min",
            "skip_rows": 2,
            "missing": ["-9", "x"],
            "regular": True,
        }
        flags = "--index=none --step=10min --skip-rows=2 --missing=-9 --missing=x --regular"
        assert " ".join(reading.flags()) == f"{flags} --irregular"
        with pytest.raises(ValueError, match="skip rows is 'a', but a whole number is expected"):
            Reading.of({"skip_rows": "a"})

    def test_size_limit(self, monkeypatch):
        with serving(max_size="2kB") as server:
            Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            client = Client(server)
            code, text = refused(client.upload, "big.csv", "1\n" * 2000)
            assert code == 413
            assert text.startswith("it would take 4 kB of memory, but at most 2 kB are allowed")
            assert "--max-size 4001B" in text
            about = client.upload("small.csv", "1\n" * 20)  # 20 cells of 200 bytes
            assert "it would take" in about["error"]
            server.shutdown()

    def test_forms_of_endless_lists_are_refused(self, client):
        text = "a form is expected, but these are lists in lists too deep"
        assert refused(client.post, "runs", b"[" * 90_000) == (400, text)

    def test_forms_are_checked(self, client):
        number = client.upload("weather.csv", WEATHER)["id"]
        wish = {"file": number, "columns": [0], "task": "impute"}
        for change, what in (
            ({"task": "rm"}, "the task is 'rm'"),
            ({"file": "1"}, "file is '1', but a whole number"),
            ({"columns": "0"}, "columns are expected as a list"),
            ({"task": "forecast"}, "steps is None"),
            ({"task": "forecast", "steps": 0}, "a number from 1 to 10000 is expected"),
        ):
            code, text = refused(client.post, "runs", {**wish, **change})
            assert code == 400
            assert what in text
        assert refused(client.post, "runs", {**wish, "file": 77})[0] == 404
        for body in (b"[]", b"{", b"x" * 200_000):
            assert refused(client.post, "runs", body)[0] == 400
        assert "nothing under this" in refused(client.post, "else", {})[1]
        assert "there are 2" in client.run({**wish, "columns": [5]})["error"]

    def test_old_ones_are_dropped(self, client):
        client.server.desk.limits = AppLimits(kept=2)
        numbers = [client.upload("a.csv", "1\n2\n3\n")["id"] for _ in range(3)]
        assert refused(client.post, f"files/{numbers[0]}", {})[0] == 404
        assert client.post(f"files/{numbers[1]}", {})["shape"] == [3]
        assert len(list(client.server.desk._folder.iterdir())) == 2

    def test_arrays(self, client, tmp_path):
        np.save(tmp_path / "a.npy", np.where(RNG.random((9, 8)) < 0.2, np.nan, 1.0))
        about = client.upload("a.npy", (tmp_path / "a.npy").read_bytes())
        assert about["whole"]
        assert len(about["columns"]) == 8
        for columns in ("", "0,2"):
            assert b"<svg" in client.get(f"files/{about['id']}/samples?columns={columns}")
        np.save(tmp_path / "b.npy", np.ones((3, 4, 5)) + 1j)
        about = client.upload("b.npy", (tmp_path / "b.npy").read_bytes())
        assert (about["whole"], about["columns"]) == (True, [])
        assert b"<svg" in client.get(f"files/{about['id']}/samples")

    @pytest.mark.parametrize("name", ["wind", "rain"])
    def test_columns_are_those_of_the_reader(self, tmp_path, name):
        path = tmp_path / "a.csv"
        path.write_text("day,wind,rain,wind speed\nd,m,mm,m/s\n1,2,3,4\n2,,4,5\n3,1,2,3\n")
        all_of_them, alone = read(path), read(path, columns=name)
        chosen = chosen_columns(all_of_them, [all_of_them.names.index(name)])
        np.testing.assert_array_equal(chosen.values, alone.values)
        assert (chosen.names, chosen.index_name, chosen.style) == (
            alone.names,
            alone.index_name,
            alone.style,
        )


class TestRuns:
    @pytest.mark.parametrize(
        ("task", "columns", "options"),
        [
            ("impute", [0], {}),
            ("recover", [0, 1], {}),
            ("forecast", [0], {"steps": 5}),
        ],
        ids=str,
    )
    def test_the_same_as_the_command(self, client, tmp_path, monkeypatch, task, columns, options):
        """With little effort on both sides, because that is quick."""
        for function in (recover, forecast):
            known = partial(function, rank=3, effort="fast")
            monkeypatch.setattr(f"structrank.app.work.{function.__name__}", known)
        monkeypatch.chdir(tmp_path)
        text = WEATHER.replace(NASTY, "rain")
        Path("weather.csv").write_text(text)
        number = client.upload("weather.csv", text)["id"]
        state = client.run({"file": number, "columns": columns, "task": task, **options})
        assert state["error"] == ""
        assert state["state"] == "done"
        endings = {"impute": "filled", "recover": "recovered", "forecast": "forecast"}
        out = f"weather-{endings[task]}.csv"
        flags = [f"--steps={options['steps']}"] if options else []
        chosen = ["--columns=wind"] if len(columns) == 1 else []
        command = [task, "weather.csv", *chosen, *flags, f"--out={out}"]
        assert state["command"] == " ".join(["structrank", *command])
        quick = ["--rank=3", "--effort=fast"]
        assert CliRunner().invoke(main, [*command, *quick]).exit_code == 0
        assert client.get(f"runs/{state['id']}/files/table") == Path(out).read_bytes()
        assert state["summary"].startswith("Forecast" if options else "Recovery")
        names = [one["name"] for one in state["pictures"]]
        assert names == (["forecast"] if options else ["signal", "components"])
        assert b"<svg" in client.get(f"runs/{state['id']}/pictures/{names[-1]}?narrow=1")
        if task == "impute":
            text = client.get(f"runs/{state['id']}/files/components").decode()
            assert text.startswith("day,trend,trend stderr,oscillation of 15.")
            assert text.count("\n") == N + 1

    def test_report(self, client):
        class Found:
            def write_report(self, path, command):
                path.write_text("<!DOCTYPE html>")

        file = Download("", Path("weather-filled.csv"))
        outcome = Outcome(files={"table": file}, found=Found())
        state = client.finished(client.server.desk._start("impute", lambda _: outcome, str))
        assert state["report"]
        report = client.finished(client.post(f"runs/{state['id']}/report"))
        assert report["files"][0]["file"] == "weather-filled-report.html"
        with client.open(f"runs/{report['id']}/files/report") as answer:
            assert answer.headers["Content-Disposition"].startswith("attachment")
            assert answer.headers["Content-Security-Policy"].startswith("sandbox;")
            assert answer.read().startswith(b"<!DOCTYPE html>")
        assert "nothing to report" in refused(client.post, f"runs/{report['id']}/report")[1]

    def test_nothing_missing(self, client):
        number = client.upload("a.csv", "x\n" + "\n".join(f"{x:.3f}" for x in RAIN[:20]))["id"]
        state = client.run({"file": number, "columns": [0], "task": "impute"})
        assert "nothing is missing" in state["summary"]
        assert [one["name"] for one in state["pictures"]] == ["signal"]

    def test_errors_are_shown(self, client):
        lines = "\n".join(f"{name},{k}" for k, name in enumerate(["mon", "tue", "wed", "thu"]))
        number = client.upload("a.csv", f"day,x\n{lines}\n")["id"]
        state = client.run({"file": number, "columns": [0], "task": "forecast", "steps": 2})
        assert state["state"] == "failed"
        assert state["error"].startswith("the index (mon ...) cannot be continued: numbers")
        assert refused(client.get, f"runs/{state['id']}/files/table")[0] == 404

    def test_irregular_times_as_they_are(self, client):
        rows = [f"{t},{np.sin(0.3 * t):.4f}" for t in (0, 1, 2.5, 3, 4.7, 6, 7, 8.1, 9, 10, 12)]
        number = client.upload("a.csv", "time,x\n" + "\n".join(rows))["id"]
        assert client.post(f"files/{number}", {"irregular": "on"})["problem"] is None
        state = client.run({"file": number, "columns": [0], "task": "forecast", "steps": 2})
        assert "a forecast needs regular times" in state["error"]

    @pytest.mark.filterwarnings("always")
    def test_stop(self, client):
        noise = np.cumsum(RNG.standard_normal(400))
        noise[100:150] = np.nan
        text = "x\n" + "\n".join("nan" if np.isnan(x) else f"{x:.4f}" for x in noise)
        number = client.upload("walk.csv", text)["id"]
        state = client.post("runs", {"file": number, "columns": [0], "task": "recover"})
        client.post(f"runs/{state['id']}/stop")
        state = client.finished(state)
        assert (state["state"], state["stopped"], state["error"]) == ("done", True, "")
        assert not any("time" in text for text in state["warnings"])
        assert client.get(f"runs/{state['id']}/files/table").count(b"\n") == 401

    def test_a_new_run_stops_the_one_before(self, client):
        desk = client.server.desk
        first = desk._start("waits", lambda folder: _waits(), str)
        second = desk._start("other", lambda folder: Outcome("done"), str)
        assert client.finished(first)["stopped"]
        assert client.finished(second)["summary"] == "done"

    def test_progress_warnings_and_mistakes(self, capsys, monkeypatch):
        monkeypatch.setattr(warnings, "showwarning", show_warning)
        warnings.simplefilter("always")

        def wrong():
            tell("half of it")
            warnings.warn("in /folder/x.csv", stacklevel=1)
            warnings.warn("for programmers", DeprecationWarning, stacklevel=1)
            raise KeyError("mistake")

        run = Run(1, "test", wrong, lambda text: text.replace("/folder/", ""))
        run.start()
        run.wait()
        about = run.about()
        assert (about["said"], about["warnings"]) == ("half of it", ["in x.csv"])
        assert about["error"] == "unexpected KeyError: 'mistake'"
        assert "Traceback" in capsys.readouterr().err
        show_warning(UserWarning("of nobody"), UserWarning)

    def test_stop_reaches_inner_watches(self):
        with watched() as outer, watched(100.0), watched(50.0):
            assert not time_is_up()
            outer.stop()
            assert time_is_up()
        assert outer.cut


def _waits():
    while not time_is_up():
        time.sleep(0.01)
    return Outcome("stopped")


def test_nothing_is_left(monkeypatch):
    with serving() as server:
        folder = server.desk._folder
        assert folder.stat().st_mode & 0o077 == 0
        state = server.desk._start("waits", lambda folder: _waits(), str)
        (folder / "file").write_text("x")
    assert not folder.exists()
    assert server.desk.about(state["id"])["state"] == "done"


@pytest.mark.parametrize("flags", [[], ["--no-browser", "--port", "0"]], ids=str)
def test_command(monkeypatch, flags):
    opened, served = [], []

    def serve(self):
        served.append(self.url)
        raise KeyboardInterrupt

    monkeypatch.setattr(AppServer, "serve_forever", serve)
    monkeypatch.setattr("webbrowser.open", opened.append)
    done = CliRunner().invoke(main, ["app", *flags])
    assert done.exit_code == 0
    assert done.output == f"The page is at {served[0]}\nPress Ctrl-C to end it.\nEnded.\n"
    assert opened == ([] if flags else served)


def test_command_with_a_port_in_use():
    with serving() as first:
        port = first.guard.port
    with serving(port) as server:  # free again
        assert server.guard.port == port
        done = CliRunner().invoke(main, ["app", "--no-browser", "--port", str(server.guard.port)])
    assert done.exit_code == 1
    assert re.fullmatch(r"Error: .*in use.*\n", done.output)


def test_safe_names():
    assert safe_name("weather 2024.csv.gz") == "weather_2024.csv.gz"
    assert safe_name("") == "data"
    assert safe_name(".csv") == "data.csv"


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_in_a_browser(client, tmp_path, width, dark):
    path = tmp_path / "weather <b>&.csv"
    path.write_text(WEATHER)
    with browser_tab(tmp_path / "profile") as tab:
        tab.look(width, dark)
        tab.open(client.url)
        tab.value("window.alert = () => { window.hacked = true; }")
        tab.choose_file("#file", path)
        tab.until("document.querySelector('#samples img').naturalWidth > 0")
        assert tab.value("document.getElementById('name').textContent") == path.name
        assert NASTY in tab.value("document.getElementById('column-list').textContent")
        for task in ("impute", "forecast"):
            tab.value(f"document.querySelector('[value={task}]').click()")
            tab.value("document.getElementById('start').click()")
            tab.until("!document.getElementById('result').hidden")
            tab.until("[...document.images].every(image => image.naturalWidth > 0)")
            assert tab.value("document.getElementById('run-error').textContent") == ""
            assert tab.value("document.documentElement.scrollWidth") <= width
            sizes = tab.value("[...document.images].map(i => i.getBoundingClientRect().width)")
            assert all(300 < size <= width for size in sizes)
        tab.screenshot(tmp_path / "page.png")
        shade = tab.value("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", shade))) < 150) == dark
        assert tab.value("parseFloat(getComputedStyle(document.body).fontSize)") >= 16
        assert not tab.value("window.hacked")
        assert tab.value("document.querySelectorAll('b, img[src=x]').length") == 0
        assert tab.complaints() == []
        assert {urlsplit(url).netloc for url in tab.requested()} <= {
            urlsplit(client.url).netloc,
            "",
        }


@pytest.mark.browser
@needs_browser
def test_stop_in_a_browser(client, tmp_path):
    warnings.simplefilter("always")
    path = tmp_path / "walk.csv"
    values = np.cumsum(RNG.standard_normal(3000)).round(3).astype(str)
    values[500:700] = "nan"
    path.write_text("\n".join(["x", *values]))
    with browser_tab(tmp_path / "profile") as tab:
        tab.open(client.url)
        tab.choose_file("#file", path)
        tab.until("!document.getElementById('work').hidden")
        tab.value("document.getElementById('start').click()")
        tab.until("document.getElementById('progress').textContent.includes('noise')")
        tab.value("document.getElementById('stop').click()")
        tab.until("!document.getElementById('result').hidden")
        assert not tab.value("document.getElementById('stopped').hidden")
        assert tab.value("document.querySelector('#files a').download") == "walk-filled.csv"
        tab.value("[...document.querySelectorAll('#files button')].pop().click()")
        tab.until("document.querySelectorAll('#files a').length === 3")
        assert tab.complaints() == []
