"""Numbers in the cells of a map that are as large as their cells allow, at any size of the page."""

from __future__ import annotations

from typing import Any

from matplotlib.text import Text

# Share of a cell that a number may take, and points below which it is not read but in the way.
_SHARE, _LEAST = 0.85, 5.5


class CellText(Text):
    """A number in a cell of size 1: shrunk to fit, and left out where it would be too small.

    Parameters
    ----------
    x, y : float
        Centre of the cell.
    text : str
        The number.
    longest : int
        Characters of the longest number of the map, so that all shrink alike.
    **options
        As of matplotlib's Text.
    """

    def __init__(self, x: float, y: float, text: str, longest: int, **options: Any) -> None:
        super().__init__(x, y, text, **options)
        self._longest = longest

    def draw(self, renderer: Any) -> None:
        """Draw it as large as fits, with the size of the axes as it is now."""
        asked = float(self.get_fontsize())
        box = self.get_window_extent(renderer)
        axes: Any = self.axes
        (left, low), (right, high) = axes.transData.transform([(0.0, 0.0), (1.0, 1.0)])
        needed = box.width * self._longest / max(len(self.get_text()), 1)
        room = min(abs(right - left) / needed, abs(high - low) / box.height) if needed else 1.0
        fitting = asked * min(1.0, _SHARE * room)
        if fitting < min(_LEAST, asked):
            return
        self.set_fontsize(fitting)
        try:
            super().draw(renderer)
        finally:
            self.set_fontsize(asked)
