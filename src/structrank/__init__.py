"""Structured low-rank recovery: Hankel, Toeplitz, Sylvester and other matrices, never formed.

Every public name can be imported from here; a sub-package is loaded when one of its names is first
used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "structures": (
        "Circulant",
        "Hankel",
        "Hessenberg",
        "Indexed",
        "Structure",
        "Sylvester",
        "Toeplitz",
        "recovery_matrix",
        "structure_matrix",
    ),
    "model": (
        "Huber",
        "Logistic",
        "Loss",
        "LowRank",
        "Mask",
        "Measure",
        "Operator",
        "Penalized",
        "Problem",
        "Problems",
        "Weighted",
        "mu_max",
    ),
    "solvers": (
        "Checkpoint",
        "ConvergenceWarning",
        "History",
        "Result",
        "Results",
        "RobustResult",
        "State",
        "Status",
        "Stop",
        "gcg",
        "gcgls",
        "gcgls_loss",
        "homotopy",
        "solve",
        "solve_many",
        "solve_robust",
        "solve_trusted",
        "solve_within",
    ),
    "modal": (
        "AutoregressiveNoise",
        "ModeErrors",
        "Modes",
        "Oscillations",
        "Refit",
        "find_modes",
        "refit",
    ),
    "selection": ("Selection", "choose_rank", "noise_mu", "path", "select_mu"),
    "signals": (
        "Cost",
        "Forecast",
        "IndependentRecovery",
        "IrregularRecovery",
        "Recovery",
        "Regression",
        "ResidualDiagnostics",
        "SignalComponents",
        "SpectralSample",
        "denoise",
        "estimate_cost",
        "find_outliers",
        "forecast",
        "frequencies",
        "impute",
        "load",
        "modes_table",
        "recover",
        "recover_many",
        "sinusoids",
        "spectral_problem",
    ),
    "distributed": ("PatchRecovery", "recover_patches"),
    "systems": (
        "CommonDivisor",
        "Comparison",
        "FittedModel",
        "NotPositiveReal",
        "OutputModel",
        "ResidualTests",
        "Smoothed",
        "Stabilization",
        "StateSpace",
        "VibrationModes",
        "approximate_gcd",
        "empirical_covariances",
        "identify",
        "random_system",
        "realization_problem",
        "realize",
        "realize_outputs",
        "sampling_noise_mu",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
