"""The site: `make docs` builds it into docs/_build/html."""

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import structrank

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(Path(__file__).parent))  # thumbnails.py, for the gallery
EXAMPLES = ROOT / "examples"
# A copy in the site itself, so that formulas are shown without a network.
MATHJAX = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"

project, copyright, author = "structrank", "the structrank developers", "the structrank developers"
version = release = structrank.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "code"  # in docstrings
suppress_warnings = ["config.cache"]  # the function that orders the gallery has no plain value

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_default_options = {  # what scikit-learn adds to its estimators
    "exclude-members": ", ".join(
        f"set_{name}_request"
        for name in ("fit", "inverse_transform", "predict", "score", "transform")
    )
}
numpydoc_show_class_members = False
add_module_names = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

plot_html_show_source_link = plot_html_show_formats = False
plot_include_source = False
plot_formats = [("png", 160)]

sphinx_gallery_conf = {
    "examples_dirs": str(EXAMPLES),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_\w+\.py$",
    "ignore_pattern": "recover_2d",
    "image_scrapers": ("thumbnails.scraper",),
    "image_srcset": ["2x"],
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": (),
    "doc_module": ("structrank",),
    "reference_url": {"structrank": None},
    "backreferences_dir": "reference/backreferences",
    "inspect_global_variables": False,
    "remove_config_comments": True,
    "parallel": True,
    "show_signature": False,
    "write_computation_times": False,
}


def reference_groups():
    """Sections of the reference, the names in them, and their pages: for the sidebar."""
    groups, module = {}, ""
    for line in (Path(__file__).parent / "reference" / "index.md").read_text().splitlines():
        if line.startswith("## "):
            names = groups.setdefault(line[3:], {})
        elif line.startswith(".. currentmodule:: "):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+", line):
            names[line.strip()] = f"reference/generated/{module}.{line.strip()}"
    return groups


html_theme = "pydata_sphinx_theme"
html_title = "structrank"
html_static_path = ["_static", str(MATHJAX.parent)]
html_favicon = "_static/icon.svg"
mathjax_path = f"{MATHJAX.name}/tex-chtml.js"
html_css_files = ["site.css"]
WITHOUT_SIDEBAR = ("index", "tour", "ten_lines", "which_function", "which_tool", "theory")
html_sidebars = {
    **{page: [] for page in WITHOUT_SIDEBAR},
    "reference/**": ["reference_groups.html"],
}
html_context = {"reference_groups": reference_groups()}
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    # Not beside the gallery, whose code takes the width.
    "secondary_sidebar_items": {
        **{pages: ["page-toc"] for pages in ("*", "guides/*", "reference/**", "structures/*")},
        "index": [],
    },
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
}


def setup(app):
    """Thumbnails are put in their place after the gallery has run, which has priority 500."""
    from thumbnails import replace_thumbnails

    app.connect("builder-inited", replace_thumbnails, priority=900)
