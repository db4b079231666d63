"""Charts as SVG, written by hand: no library, the same bytes for the same numbers, nothing fetched.

Colours are CSS variables with a value of their own to fall back on, so that a page may give a chart its theme and a
chart by itself is whole.
"""

from dalembert.svg.bars import bars
from dalembert.svg.heat import heat
from dalembert.svg.lines import Curve, lines

__all__ = ["Curve", "bars", "heat", "lines"]
