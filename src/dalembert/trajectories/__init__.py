"""Motions to follow: polynomials, ramps, splines, tables, Fourier series, paths in space, and the fastest along a path.

Each is a `Reference` that can also be drawn, sampled, written and asked for its extremes.
"""

from dalembert.lazy import open_door

__getattr__, __dir__, __all__ = open_door(__name__)
