"""Choosing mu and the rank from the data, by noise levels, refits or held-out samples."""

from .mu import Selection, noise_mu, select_mu
from .mu_path import path
from .ranks import choose_rank

__all__ = ["Selection", "choose_rank", "noise_mu", "path", "select_mu"]
