"""What a page in HTML is made of: text, tables, pictures."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from html import escape
from io import BytesIO
from typing import Any

from . import new_figure

MOST_POINTS = 20_000  # of a picture drawn with lines; more make a picture of dots
WIDE = 8  # inches, from which on a picture scrolls on a phone
STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 54rem; padding: 1.5rem 1rem 3rem; color: #1b1b1b;
  background: #fff; font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; border-bottom: 1px solid #ccc; }
p { margin: .6rem 0; }
figure { margin: 1.2rem 0; }
figure img { display: block; width: 100%; height: auto; margin: 0 auto; }
.wide img { min-width: 40rem; }
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
@media print { body { max-width: none; } figure, table { break-inside: avoid; } }
""".strip()


def page(title: str, parts: Iterable[str]) -> str:
    """A whole page that needs no other file."""
    body = "\n".join(parts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)} - structrank</title>
<style>
{STYLE}
</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{body}
</main>
</body>
</html>
"""


def text(words: str) -> str:
    """A paragraph."""
    return f"<p>{escape(words)}</p>"


def about(rows: Sequence[tuple[str, str]]) -> str:
    """Names, and what there is to say about each."""
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(text)}</td></tr>'
        for name, text in rows
    )
    return f'<table class="about"><tbody>{cells}</tbody></table>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str) -> str:
    """Numbers in columns, which scroll by themselves where the page is narrow."""
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    content = f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    # A part that scrolls has to be within reach of the keyboard.
    return (
        f'<p id="{_name(caption)}">{escape(caption)}</p><div class="scroll" tabindex="0" '
        f'role="region" aria-labelledby="{_name(caption)}"><table>{content}</table></div>'
    )


def _name(caption: str) -> str:
    return "about-" + "".join(letter for letter in caption.lower()[:12] if letter.isalpha())


def picture(
    plot: Callable[..., Any], what: Any, alternative: str, caption: str, points: int = 0
) -> str:
    """A picture inside the page: lines that stay sharp, or dots where there are very many.

    Of the pictures without points two stand side by side.
    """
    import matplotlib

    figure, file = new_figure(), BytesIO()
    with matplotlib.rc_context({"font.size": 11, "svg.hashsalt": "structrank"}):
        plot(what, figure)
        if not points:
            figure.set_size_inches(4.6, 4.2)
        if points > MOST_POINTS:
            figure.savefig(file, format="png", dpi=200)
            kind = "png"
        else:
            nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
            figure.savefig(file, format="svg", metadata=nothing)
            kind = "svg+xml"
    inches = figure.get_figwidth()
    size = f"max-width: {115 * inches:.0f}px"
    data = b64encode(file.getvalue()).decode()
    image = (
        f'<img alt="{escape(alternative)}" style="{size}" src="data:image/{kind};base64,{data}">'
    )
    if inches > WIDE:
        image = (
            f'<div class="scroll wide" tabindex="0" role="region" '
            f'aria-label="{escape(alternative)}">{image}</div>'
        )
    return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"
