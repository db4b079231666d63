"""Check my derivation: is a formula equal to the derived one, and if not, which slip explains it?

Two formulas are compared by their values at random points: formulas that differ agree there with probability zero
(Schwartz–Zippel), and formulas that agree differ by rounding, of which there is a bound. So quotients, roots and
matrices are compared like polynomials. What is not equal is judged again with what is special about the system itself
(the center of mass at the end of the link, g = 9.81), and then searched for slips (`dalembert.symbolic.slips`).
"""

from __future__ import annotations

import ast
import copy
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError, UnknownNameError, unknown
from dalembert.symbolic.lumps import LUMPED_AT_MOST, TooLargeError, legible
from dalembert.symbolic.nodes import Node, Values, build
from dalembert.symbolic.polynomial import Angle, NotPolynomialError, Polynomial, Ring, quarter_turns
from dalembert.symbolic.text import text

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations

MOST_CHANGES = 4000
LONGEST = 600  # nodes of a formula in which slips are sought
FUNCTIONS = ("cos", "sin", "sgn")
SHORT = re.compile(r"([cs])((?:[1-9])+)")
_MIDDLE = re.compile(r"[·×]")
LONGEST_POWER = 40
MOST_TERMS = 50_000
LONG = 2000  # characters of a formula that is read term by term
_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
OTHER = {"sin": "cos", "cos": "sin", "s": "c", "c": "s"}
INDEXED = re.compile(r"([A-Za-z]+?)(\d+)([a-z]*)")


Array = NDArray[Any]
POINTS = 24  # half of them with all symbols positive, where roots are real
ROUNDING = 1e-10  # of the sizes that met in a formula
SIGNED = re.compile(r"(q|theta|phi|psi|th|x|y|z|s)d*_?\d*|.*dd?_?\d*")


@dataclass(frozen=True)
class Quantity:
    """Something that a formula can be compared with.

    `value` gives it at P points at once: from arrays (P,) for every symbol an array (P,), or (P, rows, columns), a
    vector being a column. `symbols` are the names that may occur, with the system's own value where it has one.
    `derived` is its text; `defined` are formulas for further names (lumped constants) in the symbols; `mistaken` is
    what it is taken for by mistake, by kind of slip and words for it."""

    name: str
    value: Callable[[Values], Array]
    symbols: Mapping[str, float | None]
    derived: str
    defined: Mapping[str, str] = field(default_factory=dict)
    mistaken: Mapping[tuple[str, str], Callable[[Values], Array]] = field(default_factory=dict)


def formula_quantity(name: str, text: str, symbols: Mapping[str, float | None] | Iterable[str]) -> Quantity:
    """The quantity that a formula is; a matrix or vector is a list of rows or entries."""
    known = dict(symbols) if isinstance(symbols, Mapping) else dict.fromkeys(symbols)
    formula = tree(text)
    quantity = Quantity(name, partial(_values, formula), known, text)
    quantity.value(draw(quantity, 1))  # refuses what is no formula of these symbols
    return quantity


def _values(formula: ast.expr, values: Values) -> Array:
    if not isinstance(formula, ast.List):
        return build(formula, values).x
    rows = [row.elts if isinstance(row, ast.List) else [row] for row in formula.elts]
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise InputError("the rows of a matrix must be equally long")
    return np.moveaxis(np.array([[build(entry, values).x for entry in row] for row in rows]), 2, 0)


@dataclass(frozen=True)
class Comparison:
    """Whether a formula is right; if not, by how much it is off (yours minus the derived one) where that has a short
    form, and the slips that explain it."""

    name: str
    equal: bool
    derived: str
    off: str = ""
    slips: tuple[str, ...] = ()
    where: str = ""

    def __bool__(self) -> bool:
        return self.equal

    @property
    def slip(self) -> str:
        return "; ".join(map(str, self.slips))

    def __str__(self) -> str:
        if self.equal:
            return f"{self.name} is right{' for this system, ' + self.where if self.where else ''}."
        lines = [f"{self.name} differs" + (f": yours minus the derived one is {self.off}." if self.off else ".")]
        lines.append(f"Likely slip: {self.slip}." if self.slips else f"Derived: {self.name} = {self.derived}.")
        return "\n".join(lines)


def draw(quantity: Quantity, count: int = POINTS, seed: int = 0) -> dict[str, Array]:
    """Random points: symbols that are magnitudes stay positive (or have the sign of their own value), coordinates and
    rates take both signs in half of them."""
    random = np.random.default_rng(seed)
    values: dict[str, Array] = {}
    for name, own in quantity.symbols.items():
        x = random.uniform(0.3, 1.3, count)
        if own is None and SIGNED.fullmatch(name):
            x[count // 2 :] *= random.choice((-2.0, 1.0, 2.0), count - count // 2)
        values[name] = -x if own is not None and own < 0 else x
    for name, formula in quantity.defined.items():
        values[name] = build(tree(formula), values).x
    return values


def compare(quantity: Quantity, formula: str) -> Comparison:
    """Whether a formula equals the quantity, and what is wrong if not."""
    given = tree(formula)
    values = draw(quantity)
    with np.errstate(all="ignore"):
        wanted = quantity.value(values)
        nodes = entries_of(quantity.name, given, wanted.shape[1:])
        right = all(
            agree(build(entry, values), wanted[:, i, j] if wanted.ndim > 1 else wanted) for i, j, entry in nodes
        )
    return Comparison(quantity.name, right, quantity.derived)


def entries_of(name: str, formula: ast.expr, shape: tuple[int, ...]) -> list[tuple[int, int, ast.expr]]:
    """(row, column, formula) of every entry, from 0; a vector may be written as a row or as a column."""
    if not shape:
        return [(0, 0, formula)]
    rows = [row.elts if isinstance(row, ast.List) else [row] for row in getattr(formula, "elts", ())]
    if shape[1] == 1 and len(rows) == 1:
        rows = [[entry] for entry in rows[0]]
    if [len(row) for row in rows] != [shape[1]] * shape[0]:
        sizes = f"{len(rows)}×{len(rows[0])}" if rows else "a single expression"
        raise InputError(f"{name} is {shape[0]}×{shape[1]}, yours is {sizes}: write rows in brackets, [[a, b], [c, d]]")
    return [(i, j, entry) for i, row in enumerate(rows) for j, entry in enumerate(row)]


def agree(node: Node, wanted: Array) -> bool:
    """Whether the values are those wanted, up to rounding, wherever both exist."""
    exist = np.isfinite(wanted) & np.isfinite(node.x) & np.isfinite(node.size)
    if not np.isfinite(node.x).any():
        raise InputError("the formula has no finite value anywhere: does it divide by zero?")
    if 2 * exist.sum() < np.isfinite(wanted).sum():
        return False
    return bool((abs(node.x - wanted) <= ROUNDING * (node.size + abs(wanted)))[exist].all())


@dataclass(frozen=True)
class DerivationCheck:
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


def compare_entry(e: Equations, name: str, formula: str) -> DerivationCheck:
    """The comparison of a formula with the derived entry of that name. In entries of M and C, the lumped constants that
    `text()` prints for these two may be used."""
    from dalembert.symbolic.entries import entry

    name, derived = entry(e, name)
    if not isinstance(formula, str):
        raise InputError(f"a formula is text, got {type(formula).__name__}")
    reader = Reader(e.ring, _lumps(e, name, formula))
    given = reader.read(formula)
    difference = given - derived
    off, shown = (_readable(e, p) for p in (difference, derived))
    slip = "" if not difference else find_slip(reader, formula, derived, given)
    return DerivationCheck(name, not difference, difference, shown, off, slip)


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
    for key, value in ast.iter_fields(node):
        if isinstance(value, ast.expr) and key != "func":
            yield from _paths(value, (*path, (key, None)))
        elif isinstance(value, list):
            for k, item in enumerate(value):
                if isinstance(item, ast.expr):
                    yield from _paths(item, (*path, (key, k)))


def _at(node: ast.expr, path: Path) -> ast.expr:
    for key, k in path:
        value = getattr(node, key)
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


# formulas


def tree(text: str) -> ast.expr:
    """The formula's syntax tree."""
    if not isinstance(text, str):
        raise InputError(f"a formula is text, got {type(text).__name__}")
    try:
        return ast.parse(_MIDDLE.sub("*", text.strip()).replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" near {text[error.offset - 1 :][:12]!r}" if isinstance(error, SyntaxError) and error.offset else ""
        shown = text if len(text) < 80 else text[:60] + "…"
        raise InputError(f"{shown!r} is no formula{where}; write products with *, powers with ** or ^") from None


def summands(text: str) -> list[str]:
    """A long sum cut before its + and − signs outside brackets: Python's own parser descends once per term."""
    parts, depth, start = [], 0, 0
    before = ""
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        exponent = before in "eE" and text[k - 2 : k - 1].isdigit() if before else False
        if c in "+-" and depth == 0 and before and before not in "*/^(+-" and not exponent:
            parts.append(text[start:k])
            start = k
        before = c if not c.isspace() else before
    return [*parts, text[start:]]


class Reader:
    """Reads formulas over one ring; `known` are names for polynomials besides the ring's own (lumped constants)."""

    def __init__(self, ring: Ring, known: Mapping[str, Polynomial] | None = None) -> None:
        self.ring = ring
        self.known = dict(known or {})
        self.angles = {f"q{k + 1}": ring.angle(k) for k in ring.turning}

    def read(self, text: str) -> Polynomial:
        if not isinstance(text, str) or len(text) < LONG:
            return self.value(tree(text))
        total: Polynomial = self.ring.zero
        for part in summands(text):
            total = total + self.value(tree(part))
        return total

    def value(self, node: ast.expr) -> Polynomial:
        """The polynomial that a syntax tree means."""
        try:
            return self.ring.scalar(self._value(node))
        except NotPolynomialError as error:
            raise InputError(f"{ast.unparse(node)!r} is no polynomial: {error}") from None
        except RecursionError:
            raise InputError("the formula is nested too deeply") from None

    def _value(self, node: ast.expr) -> Polynomial:
        match node:
            case ast.Constant(value=bool() | str() | bytes() | complex() | None):
                raise InputError(f"{ast.unparse(node)} is no number of a formula")
            case ast.Constant(value=int() | float() as number):
                if not math.isfinite(number):
                    raise InputError(f"a number of the formula is too large: {number!r}")
                return self.ring.constant(number)
            case ast.Name(id=name):
                return self._name(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.ring.scalar(self._value(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._value(operand)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._raised(self.ring.scalar(self._value(left)), self._power(right))
            case ast.BinOp(op=operation) if type(operation) in _OPERATIONS:
                return self._chain(node)
            case ast.Call(func=ast.Name(id="cos" | "sin" | "sgn" | "sign" as function), args=[argument], keywords=[]):
                if function in ("sgn", "sign"):
                    return self._sign(argument)
                angle = self._angle(argument)
                return angle.cosine if function == "cos" else angle.sine
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id not in self.ring.symbols and node.func.id not in FUNCTIONS:
                raise unknown("function", node.func.id, FUNCTIONS)
            raise InputError(f"{ast.unparse(node)!r} has no meaning here; is a * missing before the bracket?")
        raise InputError(f"{ast.unparse(node)!r} has no meaning in an equation of motion")

    def _chain(self, node: ast.expr) -> Polynomial:
        """a + b − c ⋯ and a * b / c ⋯, however long: sums lean to the left, and are walked, not descended."""
        rest: list[ast.BinOp] = []
        while isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            rest.append(node)
            node = node.left
        total = self.ring.scalar(self._value(node))
        for step in reversed(rest):
            value = self.ring.scalar(self._value(step.right))
            if isinstance(step.op, ast.Div) and not value:
                raise InputError("the formula divides by zero")
            total = self._small(self.ring.scalar(_OPERATIONS[type(step.op)](total, value)))
        return total

    def _raised(self, base: Polynomial, power: int) -> Polynomial:
        total = self.ring.constant(1)
        for _ in range(power):
            total = self._small(total * base)
        return total

    def _small(self, p: Polynomial) -> Polynomial:
        if len(p) > MOST_TERMS:
            raise InputError(f"multiplied out, the formula has more than {MOST_TERMS} terms")
        return p

    def _name(self, name: str) -> Polynomial:
        if name in self.known:
            return self.known[name]
        if name in self.ring.symbols:
            return self.ring[name]
        short = SHORT.fullmatch(name)
        if short and all(f"q{k}" in self.angles for k in short[2]):
            angle = quarter_turns(self.ring, 0)
            for k in short[2]:
                angle = angle + self.angles[f"q{k}"]
            return self.ring.scalar(angle.cosine if short[1] == "c" else angle.sine)
        if name in self.angles:
            raise InputError(f"{name} turns: it enters the equations by sin({name}) and cos({name}) only")
        raise unknown("symbol", name, [*self.ring.names, *self.known])

    def _power(self, node: ast.expr) -> int:
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and 0 <= node.value <= LONGEST_POWER:
            return node.value
        raise InputError(f"the power {ast.unparse(node)!r} must be a whole number from 0 to {LONGEST_POWER}")

    def _sign(self, node: ast.expr) -> Polynomial:
        name = ast.unparse(node).replace("qd", "sgn")
        if name not in self.ring.symbols:
            raise InputError(f"sgn({ast.unparse(node)}) does not occur here; friction=True brings sgn(qd1), …")
        return self.ring[name]

    def _angle(self, node: ast.expr) -> Angle:
        """A sum of whole multiples of joint angles, and of pi/2."""
        match node:
            case ast.Name(id=name) if name in self.angles:
                return self.angles[name]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._angle(left) + self._angle(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return self._angle(left) + -self._angle(right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._angle(operand)
            case ast.BinOp(left=ast.Constant(value=int() as count), op=ast.Mult(), right=right) if _is_few(count):
                return self._angle(right) * count
            case ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=int() as count)) if _is_few(count):
                return self._angle(left) * count
            case ast.Constant(value=0):
                return quarter_turns(self.ring, 0)
        quarters = _quarters_of_pi(node)
        if quarters is not None:
            return quarter_turns(self.ring, quarters)
        raise InputError(
            f"{ast.unparse(node)!r} is no angle of this robot; angles are sums of {', '.join(self.angles) or 'nothing'}"
        )


def _is_few(count: int) -> bool:
    return abs(count) <= LONGEST_POWER


def _quarters_of_pi(node: ast.expr) -> int | None:
    """pi, pi/2, 3*pi/2 as quarter turns."""
    match node:
        case ast.Name(id="pi"):
            return 2
        case ast.BinOp(left=left, op=ast.Div(), right=ast.Constant(value=2)):
            whole = _quarters_of_pi(left)
            return whole // 2 if whole is not None and whole % 2 == 0 else None
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            whole = _quarters_of_pi(operand)
            return -whole if whole is not None else None
        case ast.BinOp(left=ast.Constant(value=int() as k), op=ast.Mult(), right=right):
            whole = _quarters_of_pi(right)
            return k * whole if whole is not None else None
    return None
