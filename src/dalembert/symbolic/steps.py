"""How the steps of a derivation follow from one another: L from K and P, ∂L/∂q̇ from L, its rate, M from K, Γ from M, …

A step is a formula (a tree of `symbolic.formula`), so that it can be worked out from whatever stands in a notebook,
right or wrong: trees are differentiated here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import permutations
from typing import TYPE_CHECKING, ClassVar

from dalembert.errors import InputError
from dalembert.symbolic import entries
from dalembert.symbolic.compare import Quantity
from dalembert.symbolic.letters import Letters
from dalembert.symbolic.nodes import replaced

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations
    from dalembert.symbolic.polynomial import Polynomial

Tree = ast.expr
LONGEST = 2000  # terms of a polynomial that is differentiated as a formula
NAME = re.compile(r"(d/dt )?(?:d([LKP])/d(\w+)|([A-Za-z]+?)(\d*))")
ZERO, ONE, TWO = (ast.Constant(k) for k in range(3))


# ---------------------------------------------------------------------------------------------------------- calculus
def add(a: Tree, b: Tree) -> Tree:
    return b if _is(a, 0) else a if _is(b, 0) else ast.BinOp(a, ast.Add(), b)


def subtract(a: Tree, b: Tree) -> Tree:
    return a if _is(b, 0) else ast.BinOp(a, ast.Sub(), b)


def multiply(a: Tree, b: Tree) -> Tree:
    if _is(a, 0) or _is(b, 0):
        return ZERO
    return b if _is(a, 1) else a if _is(b, 1) else ast.BinOp(a, ast.Mult(), b)


def divide(a: Tree, b: Tree) -> Tree:
    return ZERO if _is(a, 0) else ast.BinOp(a, ast.Div(), b)


def total(terms: Sequence[Tree]) -> Tree:
    zero: Tree = ZERO
    return reduce(add, terms, zero)


def _is(tree: Tree, number: int) -> bool:
    return isinstance(tree, ast.Constant) and tree.value == number


def call(function: str, argument: Tree) -> Tree:
    return ast.Call(ast.Name(function), [argument], [])


def squared(x: Tree) -> Tree:
    return ast.BinOp(x, ast.Pow(), TWO)


# f'(x) of the functions of a formula
SLOPES: dict[str, Callable[[Tree], Tree]] = {
    "sin": lambda x: call("cos", x),
    "cos": lambda x: ast.UnaryOp(ast.USub(), call("sin", x)),
    "tan": lambda x: divide(ONE, squared(call("cos", x))),
    "asin": lambda x: divide(ONE, call("sqrt", subtract(ONE, squared(x)))),
    "acos": lambda x: divide(ast.Constant(-1), call("sqrt", subtract(ONE, squared(x)))),
    "atan": lambda x: divide(ONE, add(ONE, squared(x))),
    "sqrt": lambda x: divide(ONE, multiply(TWO, call("sqrt", x))),
    "exp": lambda x: call("exp", x),
    "log": lambda x: divide(ONE, x),
    "abs": lambda x: call("sgn", x),
    "sgn": lambda x: ZERO,
}


def derivative(tree: Tree, name: str) -> Tree:
    """∂ tree/∂ name."""
    match tree:
        case ast.Constant():
            return ZERO
        case ast.Name(id=x):
            return ONE if x == name else ZERO
        case ast.UnaryOp(operand=x):
            return multiply(ast.Constant(-1), derivative(x, name))
        case ast.BinOp(left=a, op=ast.Add(), right=b):
            return add(derivative(a, name), derivative(b, name))
        case ast.BinOp(left=a, op=ast.Sub(), right=b):
            return subtract(derivative(a, name), derivative(b, name))
        case ast.BinOp(left=a, op=ast.Mult(), right=b):
            return add(multiply(derivative(a, name), b), multiply(a, derivative(b, name)))
        case ast.BinOp(left=a, op=ast.Div(), right=b):
            slope = multiply(a, derivative(b, name))
            return subtract(divide(derivative(a, name), b), divide(slope, squared(b)))
        case ast.BinOp(left=a, op=ast.Pow(), right=b):
            inner = multiply(b, ast.BinOp(a, ast.Pow(), subtract(b, ONE)))
            exponent = multiply(multiply(tree, call("log", a)), derivative(b, name))
            return add(multiply(inner, derivative(a, name)), exponent)
        case ast.Call(func=ast.Name(id=function), args=[x]) if function in SLOPES:
            return multiply(SLOPES[function](x), derivative(x, name))
    raise InputError("unsupported", "formula", problem=f"{ast.unparse(tree)} cannot be differentiated")


def determinant(A: Sequence[Sequence[Tree]]) -> Tree:
    """By the permutations of its columns."""
    terms = []
    for columns in permutations(range(len(A))):
        swaps = sum(a > b for k, a in enumerate(columns) for b in columns[k + 1 :])
        product = reduce(multiply, [A[i][j] for i, j in enumerate(columns)])
        terms.append(multiply(ast.Constant(-1), product) if swaps % 2 else product)
    return total(terms)


def solution(A: Sequence[Sequence[Tree]], b: Sequence[Tree], k: int) -> Tree:
    """Entry k of A⁻¹ b, by Cramer's rule."""
    swapped = [[b[i] if j == k else x for j, x in enumerate(row)] for i, row in enumerate(A)]
    return divide(determinant(swapped), determinant(A))


# ------------------------------------------------------------------------------------------------------------- steps
@dataclass(frozen=True)
class Way:
    """One way to a step: from which steps, and how. `back` goes against the course of a derivation (M from the
    equation of motion), and is taken only from what stands there."""

    needs: tuple[str, ...]
    make: Callable[..., Tree]
    back: bool = False


@dataclass(frozen=True)
class Steps:
    """The steps of a system's derivation by Lagrange.

    `quantity` gives a step to compare with, `formula` its right tree; both refuse what they do not know. Coordinates,
    rates and accelerations by their names; `bodies` have energies K1, P1, …. In the equation of coordinate k, `rests`
    are what stands left of = besides Lagrange's terms and M q̈ + C q̇ + g (friction, given forces, multipliers), and
    `rights` what stands right of it, in the `inputs`."""

    quantity: Callable[[str], Quantity]
    formula: Callable[[str], Tree]
    q: tuple[str, ...]
    v: tuple[str, ...]
    a: tuple[str, ...]
    bodies: int
    rests: tuple[Tree, ...]
    rights: tuple[Tree, ...]
    inputs: tuple[str, ...]
    letters: Letters = field(default_factory=Letters)

    @property
    def n(self) -> int:
        return len(self.q)

    def rate(self, x: Tree) -> Tree:
        """dx/dt along the motion."""
        pairs = zip((*self.q, *self.v), (*self.v, *self.a), strict=True)
        return total([multiply(derivative(x, by), ast.Name(fast)) for by, fast in pairs])

    def ways(self, name: str) -> Iterator[Way]:
        """The ways to a step of this name."""
        found = NAME.fullmatch(name)
        if not found:
            return
        rate, what, by, letters, digits = found.groups()
        if by:
            yield from self._slopes(name, rate, what, by)
            return
        index = [int(x) - 1 for x in digits]
        make = self._LETTERS.get((letters, len(index) if letters not in "tau g c h qdd" else bool(digits)))
        if make and all(k < self.n for k in index):
            yield from make(self, *index)

    def _slopes(self, name: str, rate: str | None, what: str, by: str) -> Iterator[Way]:
        if rate:
            yield Way((name.removeprefix(rate),), self.rate)
            return
        slope = lambda x: derivative(x, by)  # noqa: E731
        if what == "L" and by in self.v:
            k = self.v.index(by)
            yield Way(("L",), slope)
            yield Way(("K",), slope)
            yield Way(tuple(f"M{k + 1}{j + 1}" for j in range(self.n)), self._momentum, back=True)
        elif what == "L":
            yield Way(("L",), slope)
            yield Way((f"dK/d{by}", f"dP/d{by}"), subtract)
        elif what == "P" and by in self.q:
            yield Way((f"g{self.q.index(by) + 1}",), lambda x: x, back=True)
        yield Way((what,), slope)

    def _momentum(self, *M: Tree) -> Tree:
        return total([multiply(x, ast.Name(v)) for x, v in zip(M, self.v, strict=True)])

    def _kinetic(self) -> Iterator[Way]:
        yield from self._sum_of_bodies("K")
        entries = [(i, j) for i in range(self.n) for j in range(self.n)]

        def form(*M: Tree) -> Tree:
            v = [ast.Name(x) for x in self.v]
            parts = [multiply(m, multiply(v[i], v[j])) for m, (i, j) in zip(M, entries, strict=True)]
            return divide(total(parts), TWO)

        yield Way(tuple(f"M{i + 1}{j + 1}" for i, j in entries), form, back=True)

    def _potential(self) -> Iterator[Way]:
        yield from self._sum_of_bodies("P")

    def _sum_of_bodies(self, letter: str) -> Iterator[Way]:
        if self.bodies:
            yield Way(tuple(f"{letter}{k + 1}" for k in range(self.bodies)), lambda *x: total(x))

    def _lagrangian(self) -> Iterator[Way]:
        yield Way(("K", "P"), subtract)

    def _mass(self, i: int, j: int) -> Iterator[Way]:
        yield Way((f"M{j + 1}{i + 1}",), lambda x: x, back=True)
        yield Way((f"dL/d{self.v[i]}",), lambda x: derivative(x, self.v[j]))
        yield Way((f"d/dt dL/d{self.v[i]}",), lambda x: derivative(x, self.a[j]))
        yield Way((f"tau{i + 1}",), lambda x: derivative(x, self.a[j]), back=True)
        yield Way(("K",), lambda x: derivative(derivative(x, self.v[i]), self.v[j]))

    def _christoffel(self, i: int, j: int, k: int) -> Iterator[Way]:
        yield Way((f"Gamma{j + 1}{i + 1}{k + 1}",), lambda x: x, back=True)
        q = self.q

        def symbol(kj: Tree, ki: Tree, ij: Tree) -> Tree:
            slopes = add(derivative(kj, q[i]), derivative(ki, q[j]))
            return divide(subtract(slopes, derivative(ij, q[k])), TWO)

        yield Way((f"M{k + 1}{j + 1}", f"M{k + 1}{i + 1}", f"M{i + 1}{j + 1}"), symbol)

    def _coriolis(self, k: int, j: int) -> Iterator[Way]:
        yield Way(tuple(f"Gamma{i + 1}{j + 1}{k + 1}" for i in range(self.n)), self._momentum)

    def _velocity_term(self, k: int) -> Iterator[Way]:
        yield Way(tuple(f"C{k + 1}{j + 1}" for j in range(self.n)), self._momentum)

    def _gravity(self, k: int) -> Iterator[Way]:
        yield Way((f"dP/d{self.q[k]}",), lambda x: x)
        yield Way(("P",), lambda x: derivative(x, self.q[k]))

    def _bias(self, k: int) -> Iterator[Way]:
        yield Way((f"c{k + 1}", f"g{k + 1}"), add)

    def _torque(self, k: int) -> Iterator[Way]:
        row = tuple(f"M{k + 1}{j + 1}" for j in range(self.n))
        yield Way(
            (f"d/dt dL/d{self.v[k]}", f"dL/d{self.q[k]}"), lambda fast, slow: add(subtract(fast, slow), self.rests[k])
        )

        def form(*x: Tree) -> Tree:
            inertia = [multiply(m, ast.Name(a)) for m, a in zip(x[: self.n], self.a, strict=True)]
            return total([*inertia, *x[self.n :], self.rests[k]])

        yield Way((*row, f"c{k + 1}", f"g{k + 1}"), form)

    def _acceleration(self, k: int) -> Iterator[Way]:
        if self.n > 3:
            return
        numbers = range(1, self.n + 1)
        M = [f"M{i}{j}" for i in numbers for j in numbers]

        def solved(*x: Tree) -> Tree:
            A = [x[i * self.n : (i + 1) * self.n] for i in range(self.n)]
            h = zip(x[self.n**2 : self.n**2 + self.n], x[self.n**2 + self.n :], self.rests, self.rights, strict=True)
            return solution(A, [subtract(right, total([c, g, rest])) for c, g, rest, right in h], k)

        yield Way((*M, *(f"c{i}" for i in numbers), *(f"g{i}" for i in numbers)), solved)

    _LETTERS: ClassVar[dict[tuple[str, int], Callable[..., Iterator[Way]]]] = {
        ("K", 0): _kinetic,
        ("P", 0): _potential,
        ("L", 0): _lagrangian,
        ("M", 2): _mass,
        ("Gamma", 3): _christoffel,
        ("C", 2): _coriolis,
        ("c", True): _velocity_term,
        ("g", True): _gravity,
        ("h", True): _bias,
        ("tau", True): _torque,
        ("qdd", True): _acceleration,
    }


def robot_steps(e: Equations) -> Steps:
    """The steps of a robot's derivation."""
    numbers = range(1, e.n + 1)
    q, v, a = (tuple(f"{letter}{k}" for k in numbers) for letter in ("q", "qd", "qdd"))
    turning = {
        name: call(f, ast.Name(f"q{k + 1}"))
        for k in e.ring.turning
        for name, f in zip(e.ring.joints[k], ("sin", "cos"), strict=False)
    }

    def tree(p: Polynomial) -> Tree:
        return replaced(ast.parse(repr(p).replace("^", "**"), mode="eval").body, turning.get)

    def formula(name: str) -> Tree:
        p = entries.polynomial(e, name)
        if len(p) > LONGEST:
            raise InputError("too-large", name, problem=f"{name} has {len(p)} terms")
        return tree(p)

    friction = tuple(map(tree, e.friction_torque))
    forces = tuple(f"tau{k}" for k in numbers)
    return Steps(
        e.quantity, formula, q, v, a, len(e.model.bodies), friction, tuple(map(ast.Name, forces)), forces, e.letters
    )
