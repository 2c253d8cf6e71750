"""The command line, `structrank`: one module per group of commands.

Commands import the rest of the package when they are called, so that `structrank --help` is fast.
"""

from __future__ import annotations

from typing import Any

import click

from .. import __version__
from .app import app
from .errors import one_line_errors
from .experiments import reproduce
from .forecasting import forecast
from .outputs import WORDS
from .signals import denoise, impute, recover
from .sizes import info
from .spectrum import frequencies
from .systems import identify, realize

EPILOG = """
Files are CSV and other text, Excel, Parquet, Feather, JSON, NPY, NPZ, MAT, HDF5, Zarr, NMRPipe,
WAV, MiniSEED, or a folder of a Bruker or Varian experiment; the extension tells the format.

\b
Completion of commands, options and files by the Tab key:
  bash  eval "$(_STRUCTRANK_COMPLETE=bash_source structrank)"
  zsh   eval "$(_STRUCTRANK_COMPLETE=zsh_source structrank)"
  fish  _STRUCTRANK_COMPLETE=fish_source structrank | source
Add the line to ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish to keep it.
"""


class _Commands(click.Group):
    """Commands that end with one line on an error, also while they are being imported."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[WORDS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with one_line_errors():
            return super().invoke(ctx)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(__version__)
def main() -> None:
    """Structured low-rank recovery: Hankel, Toeplitz, Sylvester and other matrices.

    \b
    Examples:
      structrank recover signal.csv --out clean.csv --report page.html
      structrank forecast sales.csv --steps 12 --plot sales.png
      structrank frequencies fid.npy > modes.csv
    """  # noqa: D301


for command in (
    recover,
    impute,
    denoise,
    forecast,
    frequencies,
    realize,
    identify,
    info,
    app,
    reproduce,
):
    main.add_command(command)
