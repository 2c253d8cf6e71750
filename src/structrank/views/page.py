"""The content of a report as HTML that needs no other file."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO

from .content import Block, Facts, NumberTable, Paragraph, Picture, Report, Section, SideBySide
from .figure import new_figure

STYLE = """
:root { color-scheme: light dark; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 54rem; padding: 1.5rem 1rem 3rem; color: #1b1b1b;
  background: #fff; font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid #ccc; }
p { margin: .6rem 0; }
a { color: #005f99; }
figure { margin: 1.2rem 0; }
figure img { display: block; width: 100%; height: auto; margin: 0 auto; }
.wide img { min-width: 40rem; }
.zoom { display: block; text-align: right; font-size: .85rem; color: #555; cursor: pointer; }
figure:has(.zoom input:checked) img { width: 250%; max-width: none !important; }
figcaption { color: #444; font-size: .92rem; }
.pair { display: grid; gap: 0 1.5rem; grid-template-columns: repeat(auto-fit, minmax(18rem, 1fr)); }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline: 2px solid #0072b2; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem .3rem 0; text-align: right; white-space: nowrap;
  border-bottom: 1px solid #e3e3e3; }
thead th { border-bottom: 2px solid #888; }
table.about th { text-align: left; font-weight: 600; vertical-align: top; }
table.about td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e6e6; background: #14181c; }
  figcaption, .zoom { color: #b8b8b8; }
  a { color: #7cc4f5; }
  h2, th, td { border-color: #3a4148; }
  figure img { background: #fff; border-radius: .4rem; padding: .4rem; }
}
@media print {
  .zoom { display: none; }
  body { max-width: none; } figure, table { break-inside: avoid; } }
""".strip()


@dataclass(frozen=True)
class PageLayout:
    """Limits and sizes of a page. All values are a matter of taste, tried in a browser."""

    most_rows: int = 60  # rows of a table that are shown
    most_points: int = 20_000  # points of a picture drawn with lines; more give a picture of dots
    wide: float = 8.0  # inches beyond which a picture scrolls on a phone
    small: tuple[float, float] = (4.6, 4.2)  # inches of a picture beside another
    pixels_per_inch: int = 115  # at which a picture is shown at most
    font_size: int = 11  # of the labels in pictures, in points


def page(report: Report, layout: PageLayout) -> str:
    """Return the whole page."""
    body = "\n".join(html(block, layout) for block in report.blocks)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(report.title)} - structrank</title>
<style>
{STYLE}
</style>
</head>
<body>
<main>
<h1>{escape(report.title)}</h1>
{body}
</main>
</body>
</html>
"""


def html(block: Block, layout: PageLayout) -> str:
    """Return one block of a report as HTML."""
    match block:
        case Paragraph(text, more):
            link = f' <a href="#{_anchor(more)}">{escape(more)}</a>' if more else ""
            return f"<p>{escape(text)}{link}</p>"
        case Facts(rows):
            return _facts(rows)
        case NumberTable():
            return _table(block, layout)
        case Picture():
            return _picture(block, layout, None)
        case SideBySide(pictures):
            images = "".join(_picture(picture, layout, layout.small) for picture in pictures)
            return f'<div class="pair">{images}</div>'
        case Section(title, blocks, linked):
            name = f' id="{_anchor(title)}"' if linked else ""
            below = (html(one, layout) for one in blocks)
            return "\n".join([f"<h2{name}>{escape(title)}</h2>", *below])


def _anchor(title: str) -> str:
    """Return what links to a section name."""
    return "section-" + "".join(x if x.isascii() and x.isalnum() else "-" for x in title.lower())


def _facts(rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>'
        for name, text in rows
    )
    return f'<table class="about"><tbody>{cells}</tbody></table>'


def _table(table: NumberTable, layout: PageLayout) -> str:
    """Return a table that scrolls by itself where the page is narrow."""
    caption, count = table.caption, len(table.rows)
    if count > layout.most_rows:
        caption += f" The first {layout.most_rows} of {count} are shown."
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in table.rows[: layout.most_rows]
    )
    content = f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    name = "about-" + "".join(letter for letter in caption.lower()[:12] if letter.isalpha())
    # The keyboard must be able to reach a part that scrolls.
    return (
        f'<p id="{name}">{escape(caption)}</p><div class="scroll" tabindex="0" '
        f'role="region" aria-labelledby="{name}"><table>{content}</table></div>'
    )


def _picture(picture: Picture, layout: PageLayout, size: tuple[float, float] | None) -> str:
    """Return a picture inside the page: sharp lines, or dots if there are very many points."""
    kind, data, width = drawn(picture, layout, size)
    alternative = escape(picture.alternative)
    style = f"max-width: {layout.pixels_per_inch * width:.0f}px"
    source = f"data:image/{kind};base64,{b64encode(data).decode()}"
    scrolls = "scroll wide" if width > layout.wide else "scroll"
    return (
        '<figure><label class="zoom"><input type="checkbox"> enlarge</label>'
        f'<div class="{scrolls}" tabindex="0" role="region" aria-label="{alternative}">'
        f'<img alt="{alternative}" style="{style}" src="{source}"></div>'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


def drawn(
    picture: Picture, layout: PageLayout, size: tuple[float, float] | None
) -> tuple[str, bytes, float]:
    """Return the kind of image, its bytes, and its width in inches."""
    import matplotlib

    figure, file = new_figure(), BytesIO()
    with matplotlib.rc_context({"font.size": layout.font_size, "svg.hashsalt": "structrank"}):
        picture.draw(figure)
        if size is not None:
            figure.set_size_inches(*size)
        if picture.points > layout.most_points:
            figure.savefig(file, format="png", dpi=200)
            kind = "png"
        else:
            nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
            figure.savefig(file, format="svg", metadata=nothing)
            kind = "svg+xml"
    return kind, file.getvalue(), float(figure.get_figwidth())
