"""The page about a recovery or a forecast: complete, self-contained, readable."""

from __future__ import annotations

import base64
import html
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from chromium import BROWSER, OPTIONS, needs_browser
from conftest import nightly

import structrank
from structrank import Status, forecast, recover
from structrank.io import FileError
from structrank.views.content import number_and_error
from structrank.views.page import PageLayout
from structrank.views.report import write_report

pytestmark = pytest.mark.xdist_group("report")  # one worker makes the results

N = 60
T = np.arange(N)
RNG = np.random.default_rng(0)
SERIES = 2 + np.cos(0.4 * T) * np.exp(-T / 60) + 0.05 * RNG.standard_normal(N)
SERIES[20:26] = np.nan
NASTY = '<script>alert("1 & 2")</script>'
DAYS = pd.date_range("2024-01-01", periods=N, freq="D", name=NASTY)
SOME_STATUSES = (Status.SOLVED, Status.MAX_TIME, Status.INTERRUPTED)
VOID = {"meta", "img", "br", "link", "input"}


class Page(HTMLParser):
    """Checks that tags nest, and keeps elements and text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def found():
    return recover(pd.Series(SERIES, DAYS, name=NASTY), kind="refit")


@pytest.fixture(scope="module")
def ahead():
    frame = pd.DataFrame({NASTY: SERIES, "b": np.roll(SERIES, 2)}, DAYS)
    return forecast(frame, steps=7)


@pytest.fixture(scope="module")
def recovery_page(found, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "recovery.html"
    found.write_report(path)
    return path


@pytest.fixture(scope="module")
def forecast_page(ahead, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "forecast.html"
    ahead.write_report(path)
    return path


@pytest.fixture(params=["recovery", "forecast"])
def page(request):
    return request.getfixturevalue(f"{request.param}_page")


@pytest.fixture
def no_pictures(monkeypatch):
    """Pages with empty pictures, for tests of their text: drawing takes most of the time."""
    monkeypatch.setattr("structrank.views.page.drawn", lambda *_: ("svg+xml", b"", 6.0))


class TestEveryPage:
    def test_is_well_formed_and_accessible(self, page):
        text = page.read_text(encoding="utf-8")
        assert text.startswith("<!DOCTYPE html>")
        parsed = Page(text)
        assert parsed.all("html") == [{"lang": "en"}]
        assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in (
            parsed.all("meta")
        )
        assert len(parsed.all("h1")) == len(parsed.all("main")) == len(parsed.all("title")) == 1
        assert len(parsed.all("h2")) >= 5
        assert len(parsed.all("img")) >= 3
        assert all(len(image["alt"]) > 20 for image in parsed.all("img"))
        assert all("scope" in head for head in parsed.all("th"))
        names = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
        assert len(set(names)) == len(names)
        for region in parsed.all("div"):
            assert region.get("aria-labelledby", names[0]) in names

    def test_holds_everything_itself(self, page):
        parsed = Page(page.read_text(encoding="utf-8"))
        for tag, attributes in parsed.elements:
            assert tag not in {"script", "link", "iframe", "object", "embed", "base"}
            for name, value in attributes.items():
                assert not name.startswith("on")
                if name == "href":  # to a place of the same page
                    assert {"id": value.removeprefix("#")} in parsed.all("h2")
                if name in {"src", "srcset", "data"}:
                    assert value.startswith("data:image/")
        outside = re.sub(r"data:image/[^\"]*", "", page.read_text(encoding="utf-8"))
        assert not re.search(r"https?://|//\w|url\(|@import", outside)

    def test_pictures_are_sharp_and_whole(self, page):
        for image in Page(page.read_text(encoding="utf-8")).all("img"):
            head, data = image["src"].split(",")
            assert head == "data:image/svg+xml;base64"
            root = ElementTree.fromstring(base64.b64decode(data))
            assert root.tag.endswith("svg")
            assert "script" not in {element.tag.split("}")[-1] for element in root.iter()}

    def test_says_how_to_cite_and_with_what_it_was_made(self, page):
        text = Page(page.read_text(encoding="utf-8")).text
        assert "Efficient Structured Matrix Rank Minimization" in text
        assert "NIPS 2014" in text
        assert f"version {structrank.__version__}" in text
        assert np.__version__ in text

    def test_is_the_same_each_time(self, page, found, ahead, tmp_path):
        again = tmp_path / "again.html"
        first = page.read_text(encoding="utf-8")
        (found if "Recovered signal" in first else ahead).write_report(again)
        assert again.read_text(encoding="utf-8") == first


class TestRecovery:
    def test_settings_certificate_and_modes(self, found, recovery_page):
        text = Page(recovery_page.read_text(encoding="utf-8")).text
        assert "60 values: 54 were seen and 6 were missing" in text
        assert f"mu {found.result.problem.mu:.4g}: the price of the nuclear norm" in text
        assert f"No other solution is better by more than {100 * found.result.gap:.2g}%" in text
        assert "not of this fit" in text
        assert len(found.modes) == 3
        f, error = found.modes.frequencies[1, 0], found.modes.stderr.frequencies[1, 0]
        assert number_and_error(f, error) in text

    def test_says_where_mu_comes_from(self):
        from structrank.signals.reports import _settings

        said = [dict(_settings(recover(SERIES, kind="convex", mu=mu)))["mu"] for mu in (None, 0.5)]
        assert ", from the data (" in said[0]
        assert said[1].startswith("0.5, given")

    def test_the_certificate_in_two_sentences_with_a_link(self, recovery_page):
        text = recovery_page.read_text(encoding="utf-8")
        after = text.partition("Certificate of the convex solution</h2>")[2]
        sentences, link = re.search(
            r'<p>(.*?) <a href="#(.*?)">About the certificate</a>', after
        ).groups()
        assert len(re.findall(r"\.(?= |$)", sentences)) == 2
        about = text.partition(f'<h2 id="{link}">About the certificate</h2>')[2]
        about = re.sub(r"\s*<.*?>\s*", " ", about.partition("<h2")[0])
        assert 4 <= len(re.findall(r"\.(?= |$)", about)) <= 6
        for word in ("Proven", "Not proven", "dual problem", "mu", "random starts", "rounding"):
            assert word in about

    @pytest.mark.usefixtures("no_pictures")
    def test_filled_values_and_residuals(self, found, tmp_path):
        found.write_report(tmp_path / "a.html", title="Mine", command="structrank x <y>")
        parsed = Page((tmp_path / "a.html").read_text(encoding="utf-8"))
        for k in range(20, 26):
            values = found.signal.iloc[k], found.lower.iloc[k], found.upper.iloc[k]
            value, lower, upper = (f"{x:#.5g}" for x in values)
            error = f"{found.stderr.iloc[k]:.2g}"
            assert f"{DAYS[k]:%Y-%m-%d} {value} {error} {lower} {upper}" in parsed.text
        assert f"with probability {found.residuals().whiteness:.2g}" in parsed.text
        assert parsed.text.startswith("Mine - structrank Mine")
        assert "command structrank x <y>" in parsed.text

    @pytest.mark.usefixtures("no_pictures")
    @pytest.mark.parametrize(
        "status", [s if s in SOME_STATUSES else nightly(s) for s in Status], ids=lambda s: s.name
    )
    def test_why_the_solver_stopped_is_said_in_plain_words(self, found, tmp_path, status):
        result = replace(found.result, status=status)
        replace(found, solve=lambda: result).write_report(tmp_path / "a.html")
        text = Page((tmp_path / "a.html").read_text(encoding="utf-8")).text
        expected = rf"convex solution {re.escape(result.outcome)}, in \d+ iterations?"
        assert re.search(expected, text)
        for internal in ("stop.", "Hankel(", "window=", "result.", status.name):
            assert internal not in text

    @pytest.mark.usefixtures("no_pictures")
    def test_without_a_bound_none_is_claimed(self, found, tmp_path):
        unproven = replace(found.result, gap=1.0)
        replace(found, solve=lambda: unproven).write_report(tmp_path / "a.html")
        text = Page((tmp_path / "a.html").read_text(encoding="utf-8")).text
        assert "without a bound on the optimum" in text
        assert "better by more than" not in text

    @pytest.mark.usefixtures("no_pictures")
    def test_an_average_is_called_so(self, found, tmp_path):
        replace(found, kind="average", modes=None, rank=5).write_report(tmp_path / "a.html")
        text = Page((tmp_path / "a.html").read_text(encoding="utf-8")).text
        assert "a signal with at most 5 patterns in its short windows" in text
        assert "estimate average of local fits" in text
        assert "not of this fit" in text
        assert "sinusoids" not in text

    @pytest.mark.usefixtures("no_pictures")
    def test_convex_estimates_are_certified_themselves(self, tmp_path):
        recover(SERIES, mu=1.0, kind="convex").write_report(tmp_path / "a.html")
        text = Page((tmp_path / "a.html").read_text(encoding="utf-8")).text
        assert "not of this fit" not in text
        assert ", given" in text
        assert "noise unknown" in text
        assert "Modes" not in text
        assert "Oscillations" not in text

    @pytest.mark.usefixtures("no_pictures")
    def test_channels_of_unlike_size_and_irregular_numbers(self, tmp_path):
        wave = np.stack([np.cos(0.3 * T), 1000 * np.sin(0.3 * T)])
        array = xr.DataArray(wave, {"sensor": [1, 7]}, ["sensor", "time"])
        three = xr.concat([array, -array[:1].assign_coords(sensor=[9])], "sensor")
        recover(three, channels=0).write_report(tmp_path / "a.html")
        text = Page((tmp_path / "a.html").read_text(encoding="utf-8")).text
        assert "180 values: 180 were seen" in text

    @pytest.mark.usefixtures("no_pictures")
    def test_nothing_found(self, tmp_path):
        nothing = recover(RNG.standard_normal(40), mu=1e3, kind="convex")
        nothing.write_report(tmp_path / "a.html")
        assert "0 of them" in Page((tmp_path / "a.html").read_text(encoding="utf-8")).text

    def test_wide_pictures_scroll(self, tmp_path):
        k = np.arange(10)
        image = np.outer(np.cos(0.7 * k), np.cos(0.4 * k))
        recover(image, rank=4, mu=0.1, kind="refit").write_report(tmp_path / "a.html")
        parsed = Page((tmp_path / "a.html").read_text(encoding="utf-8"))
        (wide,) = [div for div in parsed.all("div") if div["class"] == "scroll wide"]
        assert wide["aria-label"] == parsed.all("img")[0]["alt"]
        assert "10 x 10" in wide["aria-label"]

    def test_pictures_can_be_enlarged_without_a_script(self, recovery_page):
        text = recovery_page.read_text(encoding="utf-8")
        parsed = Page(text)
        assert parsed.all("input") == [{"type": "checkbox"}] * len(parsed.all("img"))
        assert "figure:has(.zoom input:checked) img { width: 250%" in text

    def test_pictures_of_many_points_are_dots(self, tmp_path, found):
        write_report(tmp_path / "a.html", found.report(), layout=PageLayout(most_points=10))
        pictures = Page((tmp_path / "a.html").read_text(encoding="utf-8")).all("img")
        samples, residuals, *rest = pictures
        for image in (samples, residuals):
            assert base64.b64decode(image["src"].split(",")[1]).startswith(b"\x89PNG")
        assert all("svg" in image["src"][:20] for image in rest)


class TestForecast:
    def test_values_and_trust(self, ahead, forecast_page):
        text = Page(forecast_page.read_text(encoding="utf-8")).text
        values = [ahead.mean, ahead.lower, ahead.upper]
        row = [f"{part.iloc[0, column]:#.5g}" for column in (0, 1) for part in values]
        assert " ".join(["2024-03-01", *row]) in text
        assert f"forecasts is {ahead.past_error:.4g}" in text
        assert "no certificate" in text

    @pytest.mark.usefixtures("no_pictures")
    def test_channels_of_unlike_size_and_irregular_numbers(self, tmp_path):
        wave = np.stack([np.cos(0.3 * T), 1000 * np.sin(0.3 * T), np.sin(0.3 * T)], axis=1)
        ahead = forecast(
            xr.DataArray(wave, {"sensor": [1, 7, 9]}, ["time", "sensor"]), 2, channels=1
        )
        ahead.write_report(tmp_path / "a.html")
        text = Page((tmp_path / "a.html").read_text(encoding="utf-8")).text
        assert text.count("each channel in units of its own size") == 2
        assert f"{ahead.mean.to_numpy()[0, 1]:#.5g}" in text

    def test_same_units_are_not_spoken_of(self, forecast_page):
        assert "own size" not in forecast_page.read_text(encoding="utf-8")

    @pytest.mark.usefixtures("no_pictures")
    def test_long_tables_are_cut(self, tmp_path, ahead):
        write_report(tmp_path / "a.html", ahead.report(), layout=PageLayout(most_rows=3))
        text = Page((tmp_path / "a.html").read_text(encoding="utf-8")).text
        assert "The first 3 of 7 are shown." in text
        assert "2024-03-04" not in text

    def test_names_are_escaped(self, forecast_page):
        text = forecast_page.read_text(encoding="utf-8")
        assert "<script" not in text
        assert html.escape(NASTY) in text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.123456, 0.00123, "0.1235 ± 0.0012"),
        (123.456, 12.3, "123 ± 12"),
        (123.456, 1.23, "123.5 ± 1.2"),
        (0.5, 0.0, "0.5"),
        (0.5, np.nan, "0.5"),
        (0.5, np.inf, "0.5"),
        (123456.0, 1234.0, "123456 ± 1.2e+03"),
        (1.0, 1e-12, "1 ± 1e-12"),
    ],
)
def test_numbers_have_the_digits_of_their_errors(value, error, text):
    assert number_and_error(value, error) == text


@pytest.mark.usefixtures("no_pictures")
class TestFile:
    def test_an_old_file_is_kept(self, found, tmp_path):
        path = tmp_path / "page.html"
        path.write_text("old")
        with pytest.raises(FileError, match=r"page.html exists: use --force"):
            found.write_report(path)
        assert path.read_text() == "old"
        found.write_report(path, force=True)
        assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE")

    def test_nothing_is_left_of_a_failure(self, found, tmp_path, monkeypatch):
        def fail(self, text, **_):
            self.write_bytes(text[:10].encode())
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("pathlib.Path.write_text", fail)
        with pytest.raises(FileError, match="No space left on device"):
            found.write_report(tmp_path / "page.html")
        assert list(tmp_path.iterdir()) == []

    def test_wrong_name_and_wrong_thing(self, found, tmp_path):
        with pytest.raises(FileError, match="unknown extension: known are .html, .htm"):
            found.write_report(tmp_path / "page.pdf")
        with pytest.raises(TypeError, match="report is ndarray, but a Report is expected"):
            write_report(tmp_path / "page.html", SERIES)
        assert list(tmp_path.iterdir()) == []

    def test_without_matplotlib(self, found, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"structrank\[plot\]"):
            found.write_report(tmp_path / "page.html")


MEASURE = """
<iframe id="page" srcdoc="{page}" style="width: {width}px; height: 2000px; border: 0"></iframe>
<pre id="found"></pre>
<script>
document.getElementById("page").onload = function () {{
  const inside = this.contentDocument;
  const images = [...inside.images];
  document.getElementById("found").textContent = JSON.stringify({{
    width: inside.documentElement.scrollWidth,
    images: images.map(i => [i.naturalWidth, i.getBoundingClientRect().width]),
    letters: parseFloat(getComputedStyle(inside.querySelector("p")).fontSize),
  }});
}};
</script>
"""


FOLLOW = """
<pre id="found"></pre>
<script>
document.querySelector("main a").click();
setTimeout(() => {
  const place = document.querySelector(":target");
  document.getElementById("found").textContent = JSON.stringify({
    title: place.textContent, moved: window.scrollY, top: place.getBoundingClientRect().top
  });
}, 500);
</script>
"""


def measured(page, folder, *options):
    """What a page with a script found out in a browser."""
    where = f"--user-data-dir={folder / 'profile'}"
    command = [BROWSER, *OPTIONS, where, *options, "--virtual-time-budget=10000", "--dump-dom"]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120)
    return json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', done.stdout)[1]))


@pytest.mark.browser
@needs_browser
@pytest.mark.parametrize("width", [390, 1280])
def test_in_a_browser(found, tmp_path, width):
    page = tmp_path / "page.html"
    found.write_report(page)
    around = tmp_path / "around.html"
    text = html.escape(page.read_text(encoding="utf-8"))
    around.write_text(MEASURE.format(page=text, width=width), encoding="utf-8")
    got = measured(around, tmp_path, "--window-size=1400,2100")
    assert got["width"] <= width  # nothing sticks out to the side
    assert len(got["images"]) == 6
    for natural, shown in got["images"]:
        assert natural > 0  # it could be read
        scrolls = natural > PageLayout().wide * PageLayout().pixels_per_inch
        assert 280 < shown <= (max(width, 640) if scrolls else width)
    assert got["letters"] >= 16


@pytest.mark.browser
@needs_browser
def test_the_link_of_the_certificate_in_a_browser(found, tmp_path):
    page = tmp_path / "page.html"
    found.write_report(page)
    text = page.read_text(encoding="utf-8").replace("</body>", FOLLOW + "</body>")
    page.write_text(text, encoding="utf-8")
    got = measured(page, tmp_path, "--window-size=800,600")
    assert got["title"] == "About the certificate"
    assert got["moved"] > 1000
    assert -1 <= got["top"] < 600  # it is in the window
