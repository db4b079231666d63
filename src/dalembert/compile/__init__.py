"""Compile a function over scalars to a kernel: trace → lower → LLVM → NumPy generalized ufunc.

kernel        `compile_function` and `Kernel`: the whole way behind one call
graph         the trace: a graph of operations, each created once
functions     sin, cos, exp and log, written in basic operations
operations    one row per operation: its value, its derivative, and its form in LLVM, C and Python
gradient      derivatives of a trace
lower         the trace as straight-line steps with fused multiply–adds
interpret     the meaning of the steps, in plain Python
rounding      a proved bound on the rounding error of the steps
float32       the error of a kernel in float32, proved and measured

kinds         the number types of kernels, and the constants of their own functions
writer        writes LLVM IR
body          the steps as straight-line LLVM IR
copies        gather and scatter between strided arrays and vectors
tiles         large results, written one cache line at a time
loop          the inner loop of a generalized ufunc
call          calls of a kernel with one state
llvm          steps → LLVM IR → object code
ufunc         the address of a loop → a NumPy generalized ufunc
threads       one batch on several threads
cache         object code on disk

rollout       `compile_rollout`: a step repeated for many rollouts, as one machine loop
adjoint       derivatives of a rollout
search        a step repeated until it converges, for a queue of problems
sweep         the backward pass of an optimal control problem
native        loops with memory and branches, in a subset of Python
nearest       the smallest distance between moving balls and obstacles
separation    the distance of convex pieces of two links

c_source      a kernel as C99
ir_to_c       the LLVM IR of a loop's step as C99
numpy_source  a kernel as NumPy code
jax_source    a kernel as JAX code
object_file   a kernel as an object file for another processor
wasm          kernels as WebAssembly
"""

from dalembert.compile.kernel import Kernel, compile_function
from dalembert.compile.rollout import Call, compile_rollout

__all__ = ["Call", "Kernel", "compile_function", "compile_rollout"]
