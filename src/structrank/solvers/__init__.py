"""Solvers, each an endless generator of states that `structrank.run.run` drives."""

from .gcg import gcg, gcgls

__all__ = ["gcg", "gcgls"]
