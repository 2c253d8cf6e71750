"""Pictures of what was found, with matplotlib: signals, forecasts, modes, poles, convergence.

Every function takes `ax`: an Axes, a sequence of them for pictures of several panels, or a Figure
without axes, which is filled. By default a new figure of pyplot is made. What comes back is the
Axes, or the list of them.
"""

from .figure import check_picture, new_figure, require_matplotlib, save_picture
from .results import mode_amplitudes, plot_convergence, plot_modes, plot_poles, plot_singular_values
from .signals import plot_forecast, plot_signal

__all__ = [
    "check_picture",
    "mode_amplitudes",
    "new_figure",
    "plot_convergence",
    "plot_forecast",
    "plot_modes",
    "plot_poles",
    "plot_signal",
    "plot_singular_values",
    "require_matplotlib",
    "save_picture",
]
