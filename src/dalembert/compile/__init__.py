"""From a function over scalars to a kernel: trace → lower → LLVM → NumPy generalized ufunc.

graph      the trace: hash-consed nodes, folded as they are made
lower      the trace as straight-line steps with fused multiply–adds
operations one row per operation: its value and its LLVM
interpret  the meaning of the steps, in plain Python
llvm       steps → LLVM IR → object code
ufunc      an address → a NumPy generalized ufunc
cache      object code on disk
kernel     all of it behind one call
"""

from dalembert.compile.kernel import Kernel, compile_function
from dalembert.compile.rollout import Call, compile_rollout

__all__ = ["Call", "Kernel", "compile_function", "compile_rollout"]
