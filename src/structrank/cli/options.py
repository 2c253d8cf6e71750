"""Options that several commands share, and the types of their values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce, wraps
from pathlib import Path
from typing import Any

import click

Command = Callable[..., None]
FILE = click.Path(path_type=Path, readable=False)  # the readers say what is wrong


def _columns(ctx: click.Context, param: click.Parameter, value: str | None) -> list[str] | None:
    """Names or numbers of columns, separated by commas."""
    if value is None:
        return None
    names = [name.strip() for name in value.split(",")]
    if not all(names):
        raise click.BadParameter(f"{value!r} is not a list of columns such as wind,rain or 2,3.")
    return names


def sizes(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> int | tuple[int, ...] | None:
    """One whole number, or one per axis."""
    if value is None:
        return None
    try:
        sizes = tuple(int(size) for size in value.split(","))
    except ValueError:
        raise click.BadParameter(
            f"{value!r} is not a whole number, or several such as 20,30."
        ) from None
    return sizes[0] if len(sizes) == 1 else sizes


def _axis(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
    """The number of an axis, or none."""
    if value is None or value == "none":
        return value
    try:
        return int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither the number of an axis nor none.") from None


def _season(ctx: click.Context, param: click.Parameter, value: str | None) -> list[float] | None:
    """One number of samples, or two."""
    if value is None:
        return None
    try:
        return [float(part) for part in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a number, or two such as 24,168.") from None


def _bounds(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[float | None, ...] | None:
    """Lowest and highest value, either of them empty or none."""
    if value is None:
        return None
    try:
        ends = tuple(None if e.strip() in ("", "none") else float(e) for e in value.split(","))
    except ValueError:
        ends = ()
    if len(ends) != 2:
        raise click.BadParameter(f"{value!r} is not a pair such as 0,100 or 0,none.")
    return ends


columns_option = partial(click.option, metavar="COLUMNS", callback=_columns)
POSITIVE = click.FloatRange(min=0, min_open=True)


def combined(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combine several options to one decorator; the help shows them in this order."""
    return lambda command: reduce(lambda inner, option: option(inner), reversed(options), command)


def _gathered(command: Command) -> Command:
    """Pass the options that tell how to read a file as one argument, `reading`."""

    @wraps(command)
    def with_reading(**options: Any) -> None:
        reading = {name: options.pop(name) for name in READING}
        if reading["index"] == "none":
            reading["index"] = False
        command(reading=reading, **options)

    return with_reading


READING = (
    *("variable", "index", "sep", "decimal", "encoding", "skip_rows", "missing", "regular", "step"),
    "max_size",
)
reading_options = combined(
    click.option(
        "--variable", metavar="NAME", help="Array to read from a file with several arrays."
    ),
    click.option(
        "--index",
        metavar="COLUMN",
        help="Column of times or labels in a text file, or none. Default: a column of dates, or "
        "the first column if it has no numbers, equal steps, or a name that says time.",
    ),
    click.option(
        "--sep", metavar="SIGN", help="Sign between cells, or tab, space. Default: found."
    ),
    click.option("--decimal", metavar="SIGN", help="Sign before decimals: . or ,  Default: found."),
    click.option("--encoding", metavar="NAME", help="Of a text file, such as latin-1."),
    click.option(
        "--skip-rows", type=click.IntRange(min=0), default=0, help="Lines before the table."
    ),
    click.option(
        "--missing",
        metavar="VALUE",
        multiple=True,
        help="What means missing besides empty cells, such as -9999. May be repeated.",
    ),
    click.option(
        "--regular",
        is_flag=True,
        help="Make the times regular: empty rows where times are left out, small moves where they "
        "jitter.",
    ),
    click.option(
        "--step", metavar="STEP", help="The same with a given step, such as 10min, 1h or 0.5."
    ),
    click.option(
        "--max-size",
        metavar="SIZE",
        help="Most memory that reading may take, such as 2GB. Default: half of the memory.",
    ),
    _gathered,
)
input_options = combined(
    click.argument("file", type=FILE),
    columns_option(
        "--columns",
        help="Columns by name, or by number from 1, separated by commas. Default: all columns "
        "with numbers.",
    ),
    reading_options,
)
window_option = click.option(
    "--window",
    metavar="ROWS",
    callback=sizes,
    help="Rows of the Hankel matrix; for several axes one number each, separated by commas. "
    "Default: half of each axis.",
)
channels_option = click.option(
    "--channels",
    metavar="AXIS",
    callback=_axis,
    help="Axis that holds channels, from 0, or none. Default: the columns of text files.",
)
rank_option = click.option("--rank", type=click.IntRange(min=1), help="Number of modes, if known.")
model_options = combined(
    window_option,
    channels_option,
    rank_option,
    click.option("--sigma", type=POSITIVE, help="Standard deviation of the noise, if known."),
    click.option(
        "--dt",
        type=POSITIVE,
        metavar="SECONDS",
        help="Time between samples, for frequencies in Hz. Default: from the index or the file.",
    ),
    click.option("--undamped", is_flag=True, help="The modes are known to be undamped."),
)
season_option = click.option(
    "--season",
    metavar="SAMPLES",
    callback=_season,
    help="Known season of one series in samples, or two such as 24,168. Default: found.",
)
regressor_option = click.option(
    "--regressor",
    "regressors",
    metavar="COLUMN",
    multiple=True,
    help="Column that acts on the series, known in advance; may be repeated.",
)
limit_options = combined(
    click.option(
        "--max-gap",
        type=click.IntRange(min=0),
        metavar="SAMPLES",
        help="Longest gap to fill; longer ones stay empty.",
    ),
    click.option(
        "--bounds",
        metavar="LOW,HIGH",
        callback=_bounds,
        help="Lowest and highest value, or none, such as 0,none.",
    ),
    click.option(
        "--clipped",
        metavar="LOW,HIGH",
        callback=_bounds,
        help="Levels at which the samples of one series were clipped, or none, such as none,5.",
    ),
)
control_options = combined(
    click.option(
        "--effort",
        type=click.Choice(["fast", "normal", "thorough"]),
        default="normal",
        show_default=True,
        help="How much is tried before an answer is given.",
    ),
    click.option(
        "--max-time",
        type=POSITIVE,
        metavar="SECONDS",
        help="Time limit. When it ends the search, the best answer so far is given, with a "
        "warning.",
    ),
)
force_option = click.option("--force", is_flag=True, help="Replace existing files.")
quiet_option = click.option("--quiet", is_flag=True, help="No progress and no summary.")
plot_option = click.option("--plot", type=FILE, help="Draw to a .png, .svg or .pdf file.")
report_option = click.option("--report", type=FILE, help="Write a report to an .html file.")
