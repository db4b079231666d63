"""Equality of expressions, decided: as polynomials in sines and cosines, with s² = 1 − c²."""

from __future__ import annotations

import sympy as sp


def is_zero(x) -> bool:
    """Whether an expression that is rational in sines, cosines and symbols vanishes identically."""
    x = sp.expand(sp.expand_trig(sp.expand(sp.numer(sp.together(sp.sympify(x))))))
    angles = sorted({f.args[0] for f in x.atoms(sp.sin, sp.cos)}, key=str)
    assert all(a.is_Symbol for a in angles), angles
    names, rules = {}, []
    for k, a in enumerate(angles):
        s, c = sp.symbols(f"sine{k} cosine{k}")
        names |= {sp.sin(a): s, sp.cos(a): c}
        rules.append(s**2 + c**2 - 1)
    x = x.xreplace(names)
    if not rules or x == 0:
        return x == 0
    # The rules have coprime leading terms, so they are a Gröbner basis: the remainder is zero only for zero.
    return sp.reduced(x, rules, *names.values(), domain="EX", order="lex")[1] == 0


def same(a, b) -> bool:
    """Whether two expressions, or two matrices entry by entry, are identical."""
    if isinstance(a, (sp.MatrixBase, list)):
        difference = sp.Matrix(a) - sp.Matrix(b)
        return all(is_zero(x) for x in difference)
    return is_zero(sp.sympify(a) - b)
