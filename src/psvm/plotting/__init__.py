"""Pictures of losses, selections, paths, quantiles, convergence and learning, as Displays.

A Display holds the numbers of a picture. Its class methods ``from_...`` compute them and draw;
``plot(ax=...)`` draws them again, on given axes or in a new figure; ``ax_``, ``figure_`` and the
artists that were drawn are attributes. Matplotlib is imported when something is drawn:
``pip install '.[plot]'`` in a clone of the repository.
"""

from psvm.plotting.convergence import ConvergenceDisplay
from psvm.plotting.learning_process import LearningProcessDisplay
from psvm.plotting.loss import LossDisplay
from psvm.plotting.path import PathDisplay
from psvm.plotting.quantile_band import QuantileBandDisplay
from psvm.plotting.selection import SelectionDisplay

__all__ = [
    "ConvergenceDisplay",
    "LearningProcessDisplay",
    "LossDisplay",
    "PathDisplay",
    "QuantileBandDisplay",
    "SelectionDisplay",
]
