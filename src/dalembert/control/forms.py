"""Three ways of writing a PID law, and how each turns into the others.

    parallel   k_p + k_i/s + k_d s
    standard   K (1 + 1/(T_i s) + T_d s)
    series     K′ (1 + 1/(T_i′ s)) (1 + T_d′ s)

T_i = ∞ is a law without integral. A series form exists for T_i ≥ 4 T_d only: its two zeros are real.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dalembert.arguments import number
from dalembert.errors import InputError


class Parallel(NamedTuple):
    """k_p + k_i/s + k_d s."""

    k_p: float
    k_i: float = 0.0
    k_d: float = 0.0


class Standard(NamedTuple):
    """K (1 + 1/(T_i s) + T_d s)."""

    K: float
    T_i: float = math.inf
    T_d: float = 0.0


class Series(NamedTuple):
    """K (1 + 1/(T_i s)) (1 + T_d s)."""

    K: float
    T_i: float = math.inf
    T_d: float = 0.0


Form = Parallel | Standard | Series


def checked(form: Any) -> Form:
    """The form, if its numbers can be those of a law."""
    if isinstance(form, Parallel):
        return Parallel(*(number(f"the gain {n} of a PID law", x, "") for n, x in zip(form._fields, form, strict=True)))
    if isinstance(form, (Standard, Series)):
        K = number("the gain K of a PID law", form.K, "")
        T_i = math.inf if form.T_i == math.inf else number("the time T_i of a PID law", form.T_i, "s", above=0.0)
        return type(form)(K, T_i, number("the time T_d of a PID law", form.T_d, "s", least=0.0))
    raise InputError(f"a PID law is written as Parallel, Standard or Series; got {type(form).__name__}")


def parallel(form: Form) -> Parallel:
    """k_p = K, k_i = K/T_i, k_d = K T_d."""
    form = checked(form)
    if isinstance(form, Series):
        form = standard(form)
    if isinstance(form, Parallel):
        return form
    return Parallel(form.K, form.K / form.T_i, form.K * form.T_d)


def standard(form: Form) -> Standard:
    """K = k_p, T_i = k_p/k_i, T_d = k_d/k_p; of a series K = K′ c, T_i = T_i′ c, T_d = T_d′/c, c = 1 + T_d′/T_i′."""
    form = checked(form)
    if isinstance(form, Standard):
        return form
    if isinstance(form, Series):
        c = 1 + form.T_d / form.T_i
        return Standard(form.K * c, form.T_i + form.T_d, form.T_d / c)
    if form.k_p == 0:
        raise InputError("a law with k_p = 0 has no standard form: there the gain multiplies every term")
    T_i = form.k_p / form.k_i if form.k_i else math.inf
    T_d = form.k_d / form.k_p
    if T_i <= 0 or T_d < 0:
        raise InputError(
            f"gains of different signs (k_p = {form.k_p:g}, k_i = {form.k_i:g}, k_d = {form.k_d:g}) have no standard "
            "form: its times would be negative"
        )
    return Standard(form.k_p, T_i, T_d)


def series(form: Form) -> Series:
    """With r = √(1 − 4 T_d/T_i): K′ = K (1 + r)/2, T_i′ = T_i (1 + r)/2, T_d′ = 2 T_d/(1 + r)."""
    form = checked(form)
    if isinstance(form, Series):
        return form
    K, T_i, T_d = standard(form)
    if 4 * T_d > T_i:
        raise InputError(
            f"a series form needs T_i ≥ 4 T_d, and T_i = {T_i:g} s, T_d = {T_d:g} s: the zeros of this law are complex"
        )
    half = (1 + math.sqrt(1 - 4 * T_d / T_i)) / 2
    return Series(K * half, T_i * half, T_d / half)
