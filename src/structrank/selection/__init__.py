"""Choosing mu and the rank from the data, by noise levels, refits or held-out samples."""

from .mu import Selection, select_mu
from .mu_path import path
from .noise import noise_mu
from .ranks import choose_rank

__all__ = ["Selection", "choose_rank", "noise_mu", "path", "select_mu"]
