"""Charts as SVG, written by hand: no library, the same bytes for the same numbers, nothing fetched.

Colors are CSS variables with a value of their own to fall back on, so that a page may give a chart its theme and a
chart by itself is whole.
"""

from dalembert.draw.svg.charts import Curve, bars, heat, lines

__all__ = ["Curve", "bars", "heat", "lines"]
