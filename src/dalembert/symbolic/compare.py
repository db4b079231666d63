"""Check my derivation: is a formula equal to the derived one, and if not, which slip explains it?

Equality is that of polynomials in normal form. If it fails, the formula is changed in one place at a time, in the ways
in which people slip (a factor 2, a sign, sin for cos, an index, a forgotten square or term); a change that makes it
equal is the likely slip.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dalembert.errors import InputError, UnknownNameError
from dalembert.symbolic.entries import entry
from dalembert.symbolic.lumps import LUMPED_AT_MOST, TooLargeError, legible
from dalembert.symbolic.parse import LONG, SHORT, Reader, tree
from dalembert.symbolic.polynomial import Polynomial
from dalembert.symbolic.text import text

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations

MOST_CHANGES = 4000
LONGEST = 600  # nodes of a formula in which slips are sought
OTHER = {"sin": "cos", "cos": "sin", "s": "c", "c": "s"}
INDEXED = re.compile(r"([A-Za-z]+?)(\d+)([a-z]*)")


@dataclass(frozen=True)
class Comparison:
    """Whether a formula equals the derived one; if not, formula − derived, and the likely slip ("" if none is
    found)."""

    name: str
    equal: bool
    difference: Polynomial
    derived: str
    off: str
    slip: str = ""

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        if self.equal:
            return f"{self.name} is right."
        lines = [f"{self.name} differs: yours minus the derived one is {self.off}."]
        lines.append(f"Likely slip: {self.slip}." if self.slip else f"Derived: {self.name} = {self.derived}.")
        return "\n".join(lines)


def compare(e: Equations, name: str, formula: str) -> Comparison:
    """The comparison of a formula with the derived entry of that name. In entries of M and C, the lumped constants that
    `text()` prints for these two may be used."""
    name, derived = entry(e, name)
    if not isinstance(formula, str):
        raise InputError(f"a formula is text, got {type(formula).__name__}")
    reader = Reader(e.ring, _lumps(e, name, formula))
    given = reader.read(formula)
    difference = given - derived
    off, shown = (_readable(e, p) for p in (difference, derived))
    slip = "" if not difference else find_slip(reader, formula, derived, given)
    return Comparison(name, not difference, difference, shown, off, slip)


def _readable(e: Equations, p: Polynomial) -> str:
    try:
        return text(legible({"x": p}, e.groups, lump=False).entries["x"])
    except TooLargeError:
        return f"an expression of {len(p)} terms"


def _lumps(e: Equations, entry_name: str, formula: str) -> dict[str, Polynomial]:
    """The lumped constants that the formula names (a, b, d, …), as the printed equations define them."""
    names = set(re.findall(r"[A-Za-z_]\w*", formula)) - {"cos", "sin", "sgn", "sign", "pi"}
    unknown_names = names - set(e.ring.names)
    if entry_name[0] not in "MC" or not unknown_names or sum(len(p) for row in e.M for p in row) > LUMPED_AT_MOST:
        return {}
    lumps = e.legible("M", "C").lumps
    reader = Reader(e.ring)
    return {name: reader.read(text(x, long=True)) for name, x in lumps.items() if name in names}


def find_slip(reader: Reader, text: str, derived: Polynomial, given: Polynomial) -> str:
    """The one change that makes the formula right, in words; "" if none is known."""
    whole = _ratio(given, derived)
    if whole:
        return whole
    if len(text) >= LONG:
        return _one_term(given, derived)
    root = tree(text)
    if sum(1 for _ in ast.walk(root)) > LONGEST:  # too long to be changed everywhere
        return _one_term(given, derived)
    for count, (changed, words) in enumerate(_changes(root)):
        if count > MOST_CHANGES:
            break
        try:
            if reader.value(changed) == derived:
                return words
        except (InputError, UnknownNameError):
            continue
    return _one_term(given, derived)


def _ratio(given: Polynomial, derived: Polynomial) -> str:
    """A constant factor over the whole formula."""
    if not given:
        return "your formula is zero"
    if not derived or len(given) != len(derived):
        return ""
    factor = next(iter(given.terms().values())) / next(iter(derived.terms().values()))
    if given == derived * factor:
        if factor == -1:
            return "the sign of the whole formula"
        times, word = (factor, "large") if abs(factor) > 1 else (1 / factor, "small")
        return f"the whole formula is {times} times too {word}"
    return ""


def _one_term(given: Polynomial, derived: Polynomial) -> str:
    """A single term that differs: missing, one too many, or with another coefficient."""
    difference: Polynomial = given - derived
    if len(difference) != 1:
        return ""
    (powers,) = difference.terms()
    if powers not in given.terms():
        return f"the term {-difference!r} is missing"
    if powers not in derived.terms():
        return f"the term {difference!r} is one too many"
    return f"a term is off by {difference!r}"


def _changes(root: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """The formula with one place changed, and what was changed, likelier changes first."""
    for way in (_other_function, _other_sign, _no_number, _other_factor, _other_power, _other_index, _without):
        for path in _paths(root):
            for replacement, words in way(_at(root, path)):
                yield _replaced(root, path, replacement), words


Path = tuple[tuple[str, int | None], ...]


def _paths(node: ast.expr, path: Path = ()) -> Iterator[Path]:
    yield path
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.expr) and field != "func":
            yield from _paths(value, (*path, (field, None)))
        elif isinstance(value, list):
            for k, item in enumerate(value):
                if isinstance(item, ast.expr):
                    yield from _paths(item, (*path, (field, k)))


def _at(node: ast.expr, path: Path) -> ast.expr:
    for field, k in path:
        value = getattr(node, field)
        node = value if k is None else value[k]
    return node


def _replaced(root: ast.expr, path: Path, new: ast.expr) -> ast.expr:
    if not path:
        return new
    result = copy.deepcopy(root)
    parent = _at(result, path[:-1])
    field, k = path[-1]
    if k is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[k] = new
    return result


Changed = Iterator[tuple[ast.expr, str]]


def _show(node: ast.expr) -> str:
    return ast.unparse(node)


def _other_function(node: ast.expr) -> Changed:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("sin", "cos"):
        new = ast.Call(ast.Name(OTHER[node.func.id]), node.args, [])
        yield new, f"{_show(node)} should be {_show(new)}"
    if isinstance(node, ast.Name) and (short := SHORT.fullmatch(node.id)):
        other = ast.Name(OTHER[short[1]] + short[2])
        yield other, f"{node.id} should be {other.id}"


def _other_sign(node: ast.expr) -> Changed:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        new = ast.BinOp(node.left, ast.Sub() if isinstance(node.op, ast.Add) else ast.Add(), node.right)
        yield new, f"the sign of {_show(node.right)}"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield node.operand, f"the sign of {_show(node.operand)}"
    elif not isinstance(node, ast.Constant):
        yield ast.UnaryOp(ast.USub(), node), f"the sign of {_show(node)}"


def _no_number(node: ast.expr) -> Changed:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant):
        yield node.right, f"the factor {_show(node.left)} should not be there"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant):
        yield node.left, f"the divisor {_show(node.right)} should not be there"


def _other_factor(node: ast.expr) -> Changed:
    for factor in (2, 3, 4):
        yield ast.BinOp(ast.Constant(factor), ast.Mult(), node), f"a factor {factor} is missing at {_show(node)}"
        yield ast.BinOp(node, ast.Div(), ast.Constant(factor)), f"{_show(node)} is {factor} times too large"


def _other_power(node: ast.expr) -> Changed:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        yield node.left, f"{_show(node.left)} should stand without its power {_show(node.right)}"
    elif isinstance(node, ast.Name):
        yield ast.BinOp(node, ast.Pow(), ast.Constant(2)), f"{_show(node)} should be squared"


def _other_index(node: ast.expr) -> Changed:
    if not isinstance(node, ast.Name):
        return
    if SHORT.fullmatch(node.id):
        fewer = [node.id[:k] + node.id[k + 1 :] for k in range(1, len(node.id)) if len(node.id) > 2]
        more = [node.id[0] + "".join(sorted(node.id[1:] + str(k))) for k in range(1, 10) if str(k) not in node.id]
        for name in (*fewer, *more):
            yield ast.Name(name), f"{node.id} should be {name}"
    parts = INDEXED.fullmatch(node.id)
    if parts:
        for k in range(1, 10):
            if str(k) != parts[2]:
                other = ast.Name(f"{parts[1]}{k}{parts[3]}")
                yield other, f"{node.id} should be {other.id}"
        if parts[1] == "q":  # a sum of angles forgotten
            for k in range(1, 10):
                both = ast.BinOp(node, ast.Add(), ast.Name(f"q{k}"))
                yield both, f"the angle {node.id} should be {_show(both)}"


def _without(node: ast.expr) -> Changed:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        yield node.left, f"{_show(node.right)} should not be there"
        right = node.right if isinstance(node.op, ast.Add) else ast.UnaryOp(ast.USub(), node.right)
        yield right, f"{_show(node.left)} should not be there"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield node.left, f"the factor {_show(node.right)} should not be there"
        yield node.right, f"the factor {_show(node.left)} should not be there"
