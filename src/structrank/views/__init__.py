"""Pictures, summaries and the report page, made from plain arrays, labels and texts.

The drawing functions know no result class: results have methods (`plot`, `plot_poles`,
`write_report`) that hand over their numbers. Every drawing function takes `ax`: an Axes, a
sequence of them for pictures of several panels, or an empty Figure, which is filled. The default
is a new figure of pyplot. The functions return the Axes, or the list of them.
"""

from .comparison import plot_comparison
from .components import plot_components, plot_scree, plot_w_correlations
from .figure import check_picture, new_figure, require_matplotlib, save_picture
from .forecasts import plot_forecast
from .interactive import interactive_figure
from .labels import Labels, index_labels, labels_of
from .residuals import plot_residuals
from .responses import plot_bode, plot_step
from .results import (
    plot_convergence,
    plot_correlations,
    plot_modes,
    plot_poles,
    plot_singular_values,
)
from .samples import plot_samples
from .signals import plot_signal
from .stabilization import plot_stabilization
from .summary import Summary

__all__ = [
    "Labels",
    "Summary",
    "check_picture",
    "index_labels",
    "interactive_figure",
    "labels_of",
    "new_figure",
    "plot_bode",
    "plot_comparison",
    "plot_components",
    "plot_convergence",
    "plot_correlations",
    "plot_forecast",
    "plot_modes",
    "plot_poles",
    "plot_residuals",
    "plot_samples",
    "plot_scree",
    "plot_signal",
    "plot_singular_values",
    "plot_stabilization",
    "plot_step",
    "plot_w_correlations",
    "require_matplotlib",
    "save_picture",
]
