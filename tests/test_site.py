"""The site builds without a warning, its links resolve, its pages run, its gallery has figures."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from chromium import browser_tab, needs_browser
from conftest import missing_imports, nightly, runs_nightly_checks, steady

ROOT = Path(__file__).parents[1]
DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples"
MADE = ("_build", "gallery", "generated", "backreferences")
SLOW = (  # run in make nightly
    *("plot_8_plant", "plot_9_columns", "plot_arm", "plot_automaton", "plot_certificate"),
    *("plot_co2", "plot_frequencies", "plot_kspace", "plot_mrs_water", "plot_nmr_fid"),
    *("plot_outliers", "plot_seismic", "plot_sunspots", "plot_trajectories"),
)
SAYS_A_FIGURE = r"structrank[^\n]*?\d[^\n]*\n"  # and what it is compared with, on one line


def hand_written_pages():
    """All but the one that tests/test_new_user.py runs."""
    pages = sorted(set(DOCS.rglob("*.md")) - {DOCS / "ten_lines.md"})
    return [page for page in pages if not set(page.relative_to(DOCS).parts) & set(MADE)]


@pytest.mark.parametrize("page", hand_written_pages(), ids=lambda p: str(p.relative_to(DOCS)))
def test_pages_run(page):
    """Every block of Python runs and prints the block below; later blocks use earlier names."""
    names, out = {}, ""
    for language, text in re.findall(r"```(python|text)\n(.*?)```", page.read_text(), re.DOTALL):
        if language == "text":
            assert steady(out) == steady(text)
            out = ""
        else:
            printed = io.StringIO()
            assert not out, "a block of text must show what a block of Python prints"
            with contextlib.redirect_stdout(printed):
                exec(text, names)
            out = printed.getvalue()
    assert not out


PUBLIC = (
    "structrank",
    "structrank.datasets",
    "structrank.estimators",
    "structrank.io",
    "structrank.solvers.rivals",
)


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(module):
    page = (DOCS / "reference" / "index.md").read_text()
    listed = set(re.findall(r"^   (\w+)$", page, re.MULTILINE))
    assert set(importlib.import_module(module).__all__) <= listed


def examples():
    return sorted(EXAMPLES.rglob("plot_*.py"))


def page_of(example, site):
    return site / "gallery" / example.relative_to(EXAMPLES).with_suffix(".html")


@pytest.fixture(scope="session")
def site(tmp_path_factory, request):
    """The site, built once in a folder of its own."""
    slow_ones = () if runs_nightly_checks(request.config) else SLOW
    run = [e.name for e in examples() if e.stem not in slow_ones]
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns(*MADE))
    shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    command = ["-m", "sphinx", "-W", "--keep-going", "-q", "-j", "2", "docs", "html"]
    command += ["-D", "sphinx_gallery_conf.filename_pattern=" + "|".join(run)]
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def pages_of(site):
    return [page for page in site.rglob("*.html") if "_static" not in page.parts]


class _Links(HTMLParser):
    """What a page links to or shows, and its anchors."""

    def __init__(self):
        super().__init__()
        self.targets, self.places = [], set()

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.places |= {values[key] for key in ("id", "name") if key in values}
        self.targets += [values[key] for key in ("href", "src") if values.get(key)]


def links_of(page):
    parser = _Links()
    parser.feed(page.read_text())
    return parser


@pytest.mark.xdist_group("site")
def test_every_link_inside_resolves(site):
    pages = {page: links_of(page) for page in pages_of(site)}
    assert len(pages) > 60
    broken = []
    for page, links in pages.items():
        for link in links.targets:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if not target.exists():
                broken.append(f"{page.name} -> {link}")
            elif parts.fragment and target.suffix == ".html":
                known = pages[target].places if target in pages else {parts.fragment}
                if unquote(parts.fragment) not in known:
                    broken.append(f"{page.name} -> {link}")
    assert not broken, broken[:20]


@pytest.mark.xdist_group("site")
def test_nothing_is_fetched_from_elsewhere(site):
    """Scripts, styles and pictures are part of the site, so it works without a network."""
    for page in pages_of(site):
        for tag in re.findall(r"<(?:script|img|link)\b[^>]*>", page.read_text()):
            assert not re.search(r'(?:src|href)="https?://', tag), f"{page.name}: {tag}"


def test_gallery_has_ten_examples_and_nine_recipes():
    recipes = [example for example in examples() if example.parent.name == "cookbook"]
    assert len(recipes) == 9
    assert len(examples()) >= 19


@pytest.mark.xdist_group("site")
def test_first_screen(site):
    """A picture that the code draws, one line to install, three doors, in this order."""
    page = (site / "index.html").read_text()
    parts = re.findall(r'src=\S*first_picture|pip(?=<[^>]*> <[^>]*>install)|class="door ', page)
    assert parts == ['src="_images/first_picture', "pip", *['class="door '] * 3]


@pytest.mark.xdist_group("site")
def test_reference_pages_have_their_import_line(site):
    pages = sorted((site / "reference" / "generated").glob("structrank*.html"))
    assert len(pages) > 100
    for page in pages:
        module, _, name = page.stem.rpartition(".")
        text = re.sub(r"<[^>]*>", "", page.read_text())
        assert f"from {module} import {name}" in text, page.name


@pytest.mark.xdist_group("site")
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("imput", "reference/generated/structrank.impute"),
        ("bode", "guides/systems"),
        ("gap", "guides/missing_data"),
        ("forecast sale", "gallery/cookbook/plot_2_sales"),
        ("nmrglue", "which_tool"),
    ],
)
def test_search_finds(words, page, site):
    """By the stems in the index that the search page loads."""
    index = json.loads((site / "searchindex.js").read_text().removeprefix("Search.setIndex(")[:-1])
    number = index["docnames"].index(page)
    for word in words.split():
        found = [index["terms"].get(word, []), index["titleterms"].get(word, [])]
        assert number in [n for part in found for n in (part if isinstance(part, list) else [part])]


@pytest.mark.xdist_group("site")
@pytest.mark.parametrize("example", examples(), ids=lambda p: p.stem)
def test_example_has_a_notebook(example, site):
    links = links_of(page_of(example, site)).targets
    assert any(link.endswith(f"{example.stem}.ipynb") for link in links)


@pytest.mark.parametrize("example", examples(), ids=lambda p: p.stem)
def test_example_compares_itself_and_needs_nothing_else(example):
    """No file beside those of the packages that it imports."""
    text = example.read_text()
    assert "Where it fails" in text
    assert re.search(r'print\(\s*f?"[^"]*structrank', text)
    assert not re.search(r"environ|open\(|np\.load|loadmat", text)


@pytest.mark.parametrize("example", examples(), ids=lambda p: p.stem)
def test_example_imports_what_there_is(example):
    """Also those that are not run here."""
    assert missing_imports(example) == []


@pytest.mark.xdist_group("site")
@pytest.mark.parametrize(
    "example", [nightly(e) if e.stem in SLOW else e for e in examples()], ids=lambda p: p.stem
)
def test_example_states_a_figure_beside_its_rival(example, site):
    page = page_of(example, site).read_text()
    outputs = "\n".join(re.findall(r"sphx-glr-script-out.*?<pre>(.*?)</pre>", page, re.DOTALL))
    assert re.search(SAYS_A_FIGURE, re.sub(r"<[^>]*>", "", outputs) + "\n")
    assert re.search(r"<img[^>]*sphx_glr_" + example.stem, page)


IN_BROWSER = [
    *("index", "which_tool", "ten_lines", "benchmarks", "gallery/index"),
    *("gallery/cookbook/plot_1_sensor_table", "reference/generated/structrank.recover"),
]


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with browser_tab(tmp_path_factory.mktemp("browser") / "profile") as opened:
        yield opened


@pytest.fixture
def visit(tab, site):
    def opened(page, width=1280, *, dark=False):
        tab.events.clear()
        tab.look(width, dark)
        tab.open(f"{(site / page).as_uri()}.html")
        return tab

    return opened


@pytest.mark.browser
@needs_browser
@pytest.mark.xdist_group("site")
class TestInBrowser:
    """Nothing wider than the window, no errors, code that is not cut."""

    @pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
    @pytest.mark.parametrize("width", [1280, 390])
    @pytest.mark.parametrize("page", IN_BROWSER)
    def test_page(self, page, width, dark, visit):
        """Tables and code scroll inside the page, which itself is as wide as the window."""
        tab = visit(page, width, dark=dark)
        assert tab.value("document.documentElement.scrollWidth") == width
        assert tab.value("document.documentElement.dataset.theme") == ("dark" if dark else "light")
        assert tab.complaints() == []
        assert all(url.startswith(("file:", "data:")) for url in tab.requested())

    def test_pictures_are_shown(self, visit):
        tab = visit("index")
        assert tab.value("[...document.images].every(image => image.naturalWidth > 100)")

    def test_first_screen_holds_the_doors(self, visit):
        tab = visit("index")
        assert tab.value("document.querySelectorAll('.door').length") == 3
        assert tab.value("document.querySelector('.doors').getBoundingClientRect().top") < 900

    def test_code_is_not_cut(self, visit):
        """Lines of examples have up to 100 characters."""
        tab = visit("gallery/cookbook/plot_1_sensor_table")
        tab.value(f"var code = document.querySelector('pre'); code.textContent = '{100 * 'x'}'")
        assert tab.value("code.scrollWidth <= code.clientWidth")

    def test_search_finds(self, visit, site):
        tab = visit("index")
        tab.open((site / "search.html").as_uri() + "?q=impute")
        tab.until("document.querySelectorAll('.search li a').length > 3")
        found = tab.value("[...document.querySelectorAll('.search li a')].map(link => link.href)")
        assert any("structrank.impute" in link for link in found)
