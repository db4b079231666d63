"""NumPy arrays as scalars: the same functions, one element per state, without compiling anything."""

from __future__ import annotations

import numpy as np

from dalembert import scalar

scalar.sin.register(np.ndarray)(np.sin)
scalar.cos.register(np.ndarray)(np.cos)
scalar.sqrt.register(np.ndarray)(np.sqrt)
scalar.absolute.register(np.ndarray)(np.abs)
scalar.exp.register(np.ndarray)(np.exp)
scalar.log.register(np.ndarray)(np.log)
scalar.tanh.register(np.ndarray)(np.tanh)
scalar.arctan2.register(np.ndarray)(np.arctan2)
scalar.where.register(np.ndarray)(np.where)
