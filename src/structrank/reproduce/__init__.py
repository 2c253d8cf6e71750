"""The paper's experiments, with the methods it compares: what `structrank reproduce` runs."""

from .scalability import reproduce_scalability
from .scs import reproduce_scs
from .ssr import reproduce_ssr

__all__ = ["reproduce_scalability", "reproduce_scs", "reproduce_ssr"]
