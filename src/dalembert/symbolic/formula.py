r"""Formulas as people write them: plain text, blackboard text, Unicode, LaTeX. All become one kind of syntax tree.

    m2*l1*r2*cos(q2)    m2 l1 r2 c2    m₂l₁r₂c₂    m_2 l_1 r_2 \cos q_2    m_{2} l_{1} r_{2} c_{2}

A tree is Python's `ast`, restricted to Constant, Name, UnaryOp, BinOp, Call of the FUNCTIONS, and List for vectors and
for the rows of matrices. Names come out in one spelling: theta2, qd1 (the rate of q1), lc2, I2zz, c12. Nothing is
evaluated by Python. What can be read in two ways is refused with both, and what is no formula with the place.
"""

from __future__ import annotations

import ast
import difflib
import math
import operator
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from dalembert import scalar
from dalembert.errors import InputError, unknown
from dalembert.symbolic import latex
from dalembert.symbolic.text import SUPERSCRIPTS, subscripted
from dalembert.symbolic.tokens import ANGLE, DEEPEST, FUNCTIONS, INVERSE, ONE_OVER, Lexer, Token, clean

MOST_DIGITS, MOST_BITS = 40, 4096  # digits of a number as written; bits of a whole number as computed
SHORT = re.compile(r"([cs])([1-9]+)")  # c12 = cos(q1 + q2)


def read_formula(text: str, names: Collection[str] = ()) -> ast.expr:
    """The tree of a formula; of an equation (M12 = …) its right side. `names` are those that may occur: with their help
    names that run together are told apart (mgl, 2bc12)."""
    return read_equation(text, names)[1]


def read_equation(text: str, names: Collection[str] = ()) -> tuple[str, ast.expr]:
    """(the name on the left, "" if there is none; the tree of the right side). Of … = τ1 the name is that on the
    right. M12 = M21 = … has the names "M12 = M21"."""
    tokens = Lexer(names).lex(clean(text))
    sides: list[list[Token]] = [[]]
    for token in tokens[:-1]:
        if token.kind == "=":
            sides.append([])
        else:
            sides[-1].append(token)
    for side in sides:
        while side and side[-1].kind in (",", ";", "."):
            side.pop()
        if not side:
            raise InputError("one side of the equation is empty" if len(sides) > 1 else "the formula is empty")
    if len(sides) == 2 and not _left(sides[0]) and _left(sides[1]):
        sides.reverse()
    lefts = [_left(side) for side in sides[:-1]]
    if not all(lefts):
        raise InputError("left of = stands a name, as in M12 = …; write what is asked for alone on one side")
    return " = ".join(lefts), Parser([*sides[-1], tokens[-1]], frozenset(names)).formula()


def _left(side: list[Token]) -> str:
    """The name that a side is: M12, M12(q), det(J), |J|."""
    words = [t.text for t in side if t.kind in ("name", "function")]
    if side[0].kind == "|" and side[-1].kind == "|":
        return "det"
    if side[0].kind != "name" or any(t.kind not in ("name", "(", ")", ",", "*") for t in side):
        return ""
    if words[0] in ("det", "detJ"):
        return "det"
    arguments = all(ANGLE.fullmatch(re.sub(r"d+(?=\d*$)", "", w)) or w in ("Theta", "t", "s") for w in words[1:])
    return words[0] if arguments and (len(side) == 1 or side[1].kind == "(") else ""


class Parser:
    """Tokens → tree, by descent."""

    def __init__(self, tokens: list[Token], names: frozenset[str]) -> None:
        self.tokens, self.names = tokens, names
        self.at, self.depth, self.bars, self.blanks = 0, 0, 0, 0
        self.closes = _closes(tokens)

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def next(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def formula(self) -> ast.expr:
        tree = self.sum()
        if self.token.kind == ",":
            before, after = self.tokens[self.at - 1], self.tokens[self.at + 1]
            if before.kind == after.kind == "number":
                raise InputError(f"write {before.text}.{after.text} with a decimal point, not with a comma")
        if self.token.kind != "end":
            raise self.wrong()
        return tree

    def wrong(self) -> InputError:
        near = self.token.near or self.tokens[self.at - 1].near
        if self.token.kind == "end":
            return InputError("this is no formula: it ends too early, or a bracket is not closed")
        return InputError(f"this is no formula, near {near!r}")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise InputError("the formula is nested too deeply")

    def sum(self) -> ast.expr:
        self.deeper()
        tree = self.signed(self.term)
        while self.token.kind in "+-" and self.token.kind:
            operation = ast.Add() if self.next().kind == "+" else ast.Sub()
            tree = ast.BinOp(tree, operation, self.signed(self.term))
        self.depth -= 1
        return tree

    def signed(self, read) -> ast.expr:  # type: ignore[no-untyped-def]
        if self.token.kind not in ("+", "-"):
            return read()
        self.deeper()
        minus = self.next().kind == "-"
        operand = self.signed(read)
        self.depth -= 1
        return ast.UnaryOp(ast.USub(), operand) if minus else operand

    def term(self) -> ast.expr:
        tree = self.power()
        while True:
            kind = self.token.kind
            if kind in ("*", "/"):
                self.next()
                start = self.at
                right = self.signed(self.power)
                tree = ast.BinOp(tree, ast.Mult() if kind == "*" else ast.Div(), right)
                if kind == "/" and self.begins():
                    self.told(tree, start)
            elif self.begins():
                if self.token.kind == "number":
                    raise InputError(f"a * or a ^ is missing before {self.token.near!r}")
                if self.token.text == "frac" and self.tokens[self.at - 1].kind == "number" and not self.token.spaced:
                    raise InputError(f"is {self.token.near!r} a factor, or the rest of a mixed number? Write * or +")
                self.blanks += self.token.spaced
                tree = ast.BinOp(tree, ast.Mult(), self.power())
            else:
                return tree

    def begins(self) -> bool:
        """Whether a factor begins here, with no sign before it."""
        kind = self.token.kind
        return kind in ("number", "name", "function", "(", "[") or (kind == "|" and not self.bars)

    def told(self, quotient: ast.BinOp, start: int) -> None:
        """a/2b may be (a/2)b or a/(2b): refused, unless it can only be meant in one way."""
        under = self.tokens[start : self.at]
        numbers = isinstance(quotient.left, ast.Constant) and isinstance(quotient.right, ast.Constant)
        if numbers or (self.token.spaced and (under[0].kind in ("(", "number") and under[-1].kind in (")", "number"))):
            return
        raise InputError(f"what stands under the fraction bar, near {under[0].near!r}? Write a/(b c) or (a/b) c")

    def power(self) -> ast.expr:
        tree = self.degrees(self.atom())
        if self.token.kind == "T":
            self.next()
            tree = _transposed(tree)
        if self.token.kind != "^":
            return tree
        self.next()
        return ast.BinOp(tree, ast.Pow(), self.exponent())

    def degrees(self, tree: ast.expr) -> ast.expr:
        if self.token.kind != "°":
            return tree
        self.next()
        return ast.BinOp(ast.BinOp(tree, ast.Mult(), ast.Name("pi")), ast.Div(), ast.Constant(180))

    def exponent(self) -> ast.expr:
        self.deeper()
        tree = self.signed(self.power)
        self.depth -= 1
        return tree

    def atom(self) -> ast.expr:
        token = self.next()
        match token.kind:
            case "number":
                return _constant(token)
            case "name":
                if token.text == "e" and self.token.kind == "^" and "e" not in self.names:
                    self.next()
                    return ast.Call(ast.Name("exp"), [self.exponent()], [])
                return self.named(token)
            case "function":
                return self.function(token)
            case "(" | "[":
                return self.bracket(token)
            case "|":
                self.bars += 1
                inside = self.sum()
                self.bars -= 1
                if self.next().kind != "|":
                    raise InputError("a bar | is not closed")
                return ast.Call(ast.Name("abs"), [inside], [])
        self.at -= 1
        raise self.wrong()

    def named(self, token: Token) -> ast.expr:
        """A name; c(q1 + q2) and cθ1 are cosines where c is no name of its own."""
        if token.text not in ("c", "s", "C", "S"):
            if self.token.kind == "(" and len(token.text) > 2 and token.text.isalpha() and token.text not in self.names:
                if difflib.get_close_matches(token.text, FUNCTIONS, 1, 0.7):
                    raise unknown("function", token.text, FUNCTIONS)
            return ast.Name(token.text)
        function, angle = {"c": "cos", "s": "sin"}[token.text.lower()], self.token
        if token.text in self.names:
            return ast.Name(token.text)
        if angle.kind == "name" and not angle.spaced and ANGLE.fullmatch(angle.text):
            self.next()
            return ast.Call(ast.Name(function), [ast.Name(angle.text)], [])
        if angle.kind == "(":
            tree = self.bracket(self.next())
            words = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            if words and all(ANGLE.fullmatch(w) for w in words):
                return ast.Call(ast.Name(function), [tree], [])
            return ast.BinOp(ast.Name(token.text), ast.Mult(), tree)
        return ast.Name(token.text)

    def function(self, token: Token) -> ast.expr:
        name, power = token.text, None
        if self.token.kind == "^":
            self.next()
            power = self.exponent()
        arguments = self.arguments(name)
        wanted = 2 if name == "atan2" else 1
        if len(arguments) != wanted:
            raise InputError(f"{name} has {'two arguments' if wanted == 2 else 'one argument'}, near {token.near!r}")
        if isinstance(power, ast.UnaryOp) and ast.unparse(power) == "-1" and name in INVERSE:
            name, power = INVERSE[name], None
        one_over = name in ONE_OVER
        tree: ast.expr = ast.Call(ast.Name(ONE_OVER.get(name, name)), arguments, [])
        if one_over:
            tree = ast.BinOp(ast.Constant(1), ast.Div(), tree)
        angle = re.fullmatch(r"(?:q|theta)([1-9]{2,})", arguments[0].id) if isinstance(arguments[0], ast.Name) else None
        if angle and name in ("sin", "cos") and arguments[0].id not in self.names:  # type: ignore[attr-defined]
            tree = ast.Name(name[0] + angle[1])
        return tree if power is None else ast.BinOp(tree, ast.Pow(), power)

    def arguments(self, name: str) -> list[ast.expr]:
        """In brackets; or without them a number, an angle, a multiple of one."""
        if self.token.kind in ("(", "["):
            inside = self.bracket(self.next())
            return list(inside.elts) if isinstance(inside, ast.List) and name == "atan2" else [inside]
        if self.token.kind == "|":
            return [self.atom()]
        near = self.token.near
        minus = self.token.kind == "-" and bool(self.next())
        factors = []
        while self.token.kind == "number":
            factors.append(self.degrees(_constant(self.next())))
            if self.token.kind == "*":
                self.next()
        if self.token.kind == "name":
            first = self.next().text
            factors.append(ast.Name(first))
            if first.startswith("omega") and self.token.kind == "name" and self.token.text == "t":
                factors.append(ast.Name(self.next().text))
            elif self.begins() and self.token.kind == "name" and not ANGLE.fullmatch(first) and name != "sqrt":
                raise InputError(f"where does the argument of {name} end, near {near!r}? Write it in brackets")
        if not factors:
            raise InputError(f"{name} lacks its argument, near {near!r}; write it in brackets")
        if self.token.kind == "^" or (self.token.kind == "/" and self.tokens[self.at + 1].kind == "number"):
            raise InputError(f"where does the argument of {name} end, near {near!r}? Write it in brackets")
        tree = factors[0]
        for factor in factors[1:]:
            tree = ast.BinOp(tree, ast.Mult(), factor)
        return [ast.UnaryOp(ast.USub(), tree) if minus else tree]

    def bracket(self, opened: Token) -> ast.expr:
        """A group; with commas a vector, with semicolons rows."""
        close = {"(": ")", "[": "]"}[opened.kind]
        bars, self.bars = self.bars, 0
        rows: list[list[ast.expr]] = [[]]
        blanks, rowed = self.blanks, opened.kind == "["
        while self.token.kind != close:
            start = self.at
            rows[-1].append(self.sum())
            rowed &= self.closes.get(start) == self.at - 1 and self.tokens[start].kind == "["
            if self.token.kind == ";":
                rows.append([])
            elif self.token.kind != ",":
                break
            self.next()
        self.bars = bars
        if self.token.kind != close or not rows[0]:
            raise self.wrong()
        self.next()
        if len(rows) > 1:
            if all(len(row) < 2 for row in rows) and self.blanks > blanks:
                raise InputError("separate the entries of a row by commas: [a, b; c, d]")
            return ast.List([ast.List(row) for row in rows if row])
        row = [x if isinstance(x, ast.List) else ast.List([x]) for x in rows[0]] if rowed else rows[0]
        one = row[0] if len(row) == 1 and opened.text != "rows" else None
        if one is None or (rowed and isinstance(one, ast.List) and not any(isinstance(x, ast.List) for x in one.elts)):
            return ast.List(row)
        return one


def _closes(tokens: list[Token]) -> dict[int, int]:
    """The place of every bracket's end."""
    open_, found = [], {}
    for k, token in enumerate(tokens):
        if token.kind in ("(", "["):
            open_.append(k)
        elif token.kind in (")", "]") and open_:
            found[open_.pop()] = k
    return found


def _constant(token: Token) -> ast.Constant:
    text = token.text
    if len(text) > MOST_DIGITS:
        raise InputError(f"a number of the formula has more than {MOST_DIGITS} digits")
    value = int(text) if text.isdigit() else float(text)
    if abs(value) > 1e300:
        raise InputError(f"a number of the formula is too large: {text}")
    return ast.Constant(value)


def _transposed(tree: ast.expr) -> ast.expr:
    if not isinstance(tree, ast.List):
        raise InputError("only a vector or matrix written out can be transposed here: write the result")
    rows = [row.elts if isinstance(row, ast.List) else [row] for row in tree.elts]
    if len({len(row) for row in rows}) != 1:
        raise InputError("the rows of the matrix have different lengths")
    return ast.List([ast.List(list(column)) for column in zip(*rows, strict=True)])


# Values.

_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_VALUES: dict[str, Callable[..., Any]] = {
    "sin": scalar.sin,
    "cos": scalar.cos,
    "tan": lambda x: scalar.sin(x) / scalar.cos(x),
    "asin": lambda x: scalar.arctan2(x, scalar.sqrt(1.0 - x * x)),
    "acos": lambda x: scalar.arctan2(scalar.sqrt(1.0 - x * x), x),
    "atan": lambda x: scalar.arctan2(x, 1.0),
    "atan2": scalar.arctan2,
    "sqrt": scalar.sqrt,
    "exp": scalar.exp,
    "log": scalar.log,
    "abs": scalar.absolute,
    "sgn": scalar.sign,
}


def evaluate(tree: ast.expr, values: Mapping[str, Any]) -> Any:
    """The value of a formula, of a vector a list, of a matrix a list of rows; `values` are numbers, arrays, or any
    scalars. c12 and s12 need q1 and q2 alone."""
    match tree:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return _value(name, values)
        case ast.UnaryOp(operand=operand):
            return -evaluate(operand, values)
        case ast.List(elts=items):
            return [evaluate(item, values) for item in items]
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _VALUES[name](*(evaluate(x, values) for x in arguments))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _raise(evaluate(left, values), evaluate(right, values))
        case ast.BinOp():
            rest: list[ast.BinOp] = []
            node: ast.expr = tree
            while isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:  # sums lean to the left
                rest.append(node)
                node = node.left
            total = evaluate(node, values)
            for step in reversed(rest):
                try:
                    total = _OPERATIONS[type(step.op)](total, evaluate(step.right, values))
                except ZeroDivisionError:
                    raise InputError("the formula divides by zero") from None
                except TypeError:
                    raise InputError("a vector or matrix stands where a number should: write the result") from None
            return total
    raise InputError("this is no formula")


def _value(name: str, values: Mapping[str, Any]) -> Any:
    if name in values:
        return values[name]
    if name == "pi":
        return math.pi
    if found := SHORT.fullmatch(name):
        for letter in ("q", "theta"):
            if all(f"{letter}{k}" in values for k in found[2]):
                first, *others = (values[f"{letter}{k}"] for k in found[2])
                return (scalar.cos if found[1] == "c" else scalar.sin)(sum(others, start=first))
    raise unknown("symbol", name, tuple(values))


def _raise(base: Any, power: Any) -> Any:
    if isinstance(power, float) and power.is_integer() and abs(power) <= 64:
        power = int(power)
    if isinstance(power, int) and abs(power) <= 64:
        if isinstance(base, int) and base.bit_length() * abs(power) > MOST_BITS:
            raise InputError("a power in the formula is too large")
        total: Any = 1
        for _ in range(abs(power)):
            total = total * base
        if power < 0 and isinstance(base, (int, float)) and base == 0:
            raise InputError("the formula divides by zero")
        return total if power >= 0 else 1 / total
    return scalar.sqrt(base) if power == 0.5 else scalar.exp(power * scalar.log(base))


# Writing.

FORMS = ("text", "python", "unicode", "latex")
_SUM, _TERM, _POWER, _ATOM = range(4)
_TEX = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}


def write_formula(tree: ast.expr, form: str = "text") -> str:
    """The formula as "text" (r1^2), "python" (r1**2), "unicode" (r₁²) or "latex" (r_{1}^{2}): each is read as the same
    tree again."""
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    return _write(tree, form)[0]


def _write(tree: ast.expr, form: str) -> tuple[str, int]:
    """(text, how tightly it binds)."""
    match tree:
        case ast.Constant(value=value):
            return repr(value), _ATOM
        case ast.Name(id=name):
            return (subscripted(name) if form == "unicode" else latex.name(name) if form == "latex" else name), _ATOM
        case ast.UnaryOp(operand=operand):
            return f"-{_inside(operand, form, _TERM)}", _SUM
        case ast.List(elts=items):
            return _write_list(items, form), _ATOM
        case ast.Call(func=ast.Name(id=name), args=arguments):
            inside = ", ".join(_write(x, form)[0] for x in arguments)
            if form != "latex":
                return f"{name}({inside})", _ATOM
            if name == "sqrt":
                return f"\\sqrt{{{inside}}}", _ATOM
            head = f"\\operatorname{{{name}}}" if name in ("atan2", "abs", "sgn") else f"\\{_TEX.get(name, name)}"
            return f"{head}\\left({inside}\\right)", _ATOM
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            base, exponent = _inside(left, form, _ATOM), _write(right, form)[0]
            if isinstance(left, ast.Name) and left.id == "e":
                base = _bracketed(base, form)
            if form == "latex":
                return f"{base}^{{{exponent}}}", _POWER
            if form == "unicode" and exponent.isdigit():
                return base + exponent.translate(SUPERSCRIPTS), _POWER
            return f"{base}{'**' if form == 'python' else '^'}{_inside(right, form, _ATOM)}", _POWER
        case ast.BinOp(op=ast.Div(), left=left, right=right) if form == "latex":
            return f"\\frac{{{_write(left, form)[0]}}}{{{_write(right, form)[0]}}}", _ATOM
    assert isinstance(tree, ast.BinOp)
    sums = isinstance(tree.op, ast.Add | ast.Sub)
    chain, node = [], tree.left
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) is sums and _chains(node, form):
        chain.append(node)
        node = node.left
    parts = [_inside(node, form, _SUM if sums and isinstance(node, ast.UnaryOp) else _TERM)]
    for step in (*reversed(chain), tree):
        parts.append(_write_step(step, form, parts[-1]))
    return "".join(parts), _SUM if sums else _TERM


def _chains(node: ast.BinOp, form: str) -> bool:
    return not isinstance(node.op, ast.Pow) and (form != "latex" or not isinstance(node.op, ast.Div))


def _write_step(step: ast.BinOp, form: str, before: str) -> str:
    """The sign and right side of one step of a chain."""
    if isinstance(step.op, ast.Add | ast.Sub):
        return f" {'+' if isinstance(step.op, ast.Add) else '-'} {_inside(step.right, form, _TERM)}"
    right = _inside(step.right, form, _POWER)
    if isinstance(step.op, ast.Div):
        return f"/{right}"
    if form in ("text", "python"):
        return f"*{right}"
    plain = right[0].isdigit() or "/" in before or re.search(r"(^|\W)[csCS]$", before) or right[0] in "([|"
    return (" · " if form == "unicode" else " \\cdot ") + right if plain else f" {right}"


def _write_list(items: list[ast.expr], form: str) -> str:
    rows = [[_write(x, form)[0] for x in row.elts] for row in items if isinstance(row, ast.List)]
    if len(rows) != len(items):
        inside = ", ".join(_write(x, form)[0] for x in items)
        return f"\\left[{inside}\\right]" if form == "latex" else f"[{inside}]"
    if form == "latex":
        body = " \\\\ ".join(" & ".join(row) for row in rows)
        return f"\\begin{{bmatrix}} {body} \\end{{bmatrix}}"
    return f"[{', '.join('[' + ', '.join(row) + ']' for row in rows)}]"


def _inside(tree: ast.expr, form: str, least: int) -> str:
    written, tightness = _write(tree, form)
    return written if tightness >= least else _bracketed(written, form)


def _bracketed(written: str, form: str) -> str:
    return f"\\left({written}\\right)" if form == "latex" else f"({written})"
