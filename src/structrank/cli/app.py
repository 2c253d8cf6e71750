"""The command that opens a page to drop a file on."""

from __future__ import annotations

import warnings

import click


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Where to listen. Default: a free port.",
)
@click.option("--no-browser", is_flag=True, help="Only print the address of the page.")
@click.option(
    "--max-size",
    metavar="SIZE",
    help="Most memory that a file may take, such as 2GB. Default: half of the memory.",
)
def app(port: int, no_browser: bool, max_size: str | None) -> None:
    """Open a page in the browser to drop a file on.

    Choose a column there, see its gaps, fill them, remove noise or forecast, and download the
    result and its report. Only this machine can reach the page, and only with the token in its
    address. Nothing leaves the machine. Ctrl-C ends it and removes the copies of files.

    \b
    Examples:
      structrank app
      structrank app --port 8000 --no-browser
    """  # noqa: D301
    from ..app import serving
    from ..app.runs import show_warning

    warnings.simplefilter("always")  # every run shows its own
    warnings.showwarning = show_warning
    with serving(port, max_size) as server:
        click.echo(f"The page is at {server.url}\nPress Ctrl-C to end it.")
        if not no_browser:
            import webbrowser

            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("Ended.")
