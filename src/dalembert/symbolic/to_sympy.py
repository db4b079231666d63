"""Equations as SymPy expressions, in sin and cos of q1, q2, …"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.errors import MissingExtraError
from dalembert.symbolic.entries import ALIASES, TABLE, entry, quantity
from dalembert.symbolic.polynomial import Polynomial

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations


def to_sympy(e: Equations, what: str) -> Any:
    """A whole quantity as a Matrix (an Array, if it has three indices), one entry as an expression."""
    try:
        import sympy
    except ImportError:
        raise MissingExtraError("SymPy is not installed: pip install 'dalembert[lagrange]'") from None
    names = symbols(e)
    whole = ALIASES.get(what, what) in TABLE
    value = quantity(e, what) if whole else entry(e, what)[1]
    made = converted(value, names)
    if not isinstance(made, list):
        return made
    nested = made and isinstance(made[0], list) and made[0] and isinstance(made[0][0], list)
    return sympy.Array(made) if nested else sympy.Matrix(made)


def symbols(e: Equations) -> dict[str, Any]:
    """What stands for each name of the ring."""
    import sympy

    names: dict[str, Any] = {name: sympy.Symbol(name, real=True) for name in e.ring.names}
    for k, joint in enumerate(e.ring.joints, 1):
        if len(joint) > 1:
            q = sympy.Symbol(f"q{k}", real=True)
            names |= {joint[0]: sympy.sin(q), joint[1]: sympy.cos(q)}
        if e.friction:
            names[f"sgn{k}"] = sympy.sign(names[f"qd{k}"])
    return names


def converted(A: Any, names: dict[str, Any]) -> Any:
    """A polynomial, or nested lists of them, with its names replaced."""
    if not isinstance(A, Polynomial):
        return [converted(a, names) for a in A]
    import sympy

    terms = []
    for powers, c in A.terms().items():
        factors = [names[name] ** k for name, k in zip(A.ring.names, powers, strict=True) if k]
        terms.append(sympy.Mul(sympy.Rational(int(c.p), int(c.q)), *factors))
    return sympy.Add(*terms)
