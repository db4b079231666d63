"""The syntax tree of a formula's tokens; what can be read in two ways is refused with both."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial, reduce
from typing import TypeVar

from dalembert.errors import InputError, unknown
from dalembert.symbolic.tokens import ANGLE, DEEPEST, FUNCTIONS, Lexer, Token

MOST_DIGITS, MOST_PRODUCTS = 40, 5  # of a number; of matrices that are written out
INVERSE = {"sin": "asin", "cos": "acos", "tan": "atan"}
ONE_OVER = {"sec": "cos", "csc": "sin", "cot": "tan"}
Node = TypeVar("Node", bound=ast.expr)


class Parser:
    """Tokens → tree, by descent. Every node has its place in the text."""

    def __init__(self, tokens: list[Token], lexer: Lexer) -> None:
        self.tokens, self.names, self.source = tokens, lexer.names, lexer.source
        self.at, self.depth, self.bars, self.products = 0, 0, 0, 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def next(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def near(self, k: int) -> str:
        return repr(self.source[self.tokens[k].start :][:14])

    def place(self, node: Node, start: int) -> Node:
        node.lineno = node.end_lineno = 1
        node.col_offset, node.end_col_offset = self.tokens[start].start, self.tokens[self.at - 1].end
        return node

    def formula(self) -> ast.expr:
        tree = self.sum()
        if self.token.kind == ",":
            before, after = self.tokens[self.at - 1], self.tokens[self.at + 1]
            if before.kind == after.kind == "number":
                remedy = f"Write {before.text}.{after.text} with a decimal point, not with a comma."
                raise InputError("syntax", "formula", problem="a decimal comma is ambiguous", remedy=remedy)
        if self.token.kind != "end":
            raise self.wrong()
        return tree

    def wrong(self) -> InputError:
        if self.token.kind == "end":
            problem = "this is not a formula: it ends too early, or a bracket is not closed"
            return InputError("syntax", "formula", problem=problem)
        return InputError("syntax", "formula", problem=f"this is not a formula, near {self.near(self.at)}")

    def deeper(self, read: Callable[[], ast.expr]) -> ast.expr:
        self.depth += 1
        if self.depth > DEEPEST:
            raise InputError("too-large", "formula", problem="the formula is nested too deeply")
        tree = read()
        self.depth -= 1
        return tree

    def sum(self) -> ast.expr:
        start, tree = self.at, self.signed(self.term)
        while self.token.kind in ("+", "-"):
            operation = ast.Add() if self.next().kind == "+" else ast.Sub()
            tree = self.binary(tree, operation, self.signed(self.term), start)
        return tree

    def signed(self, read: Callable[[], ast.expr]) -> ast.expr:
        if self.token.kind not in ("+", "-"):
            return read()
        start, minus = self.at, self.next().kind == "-"
        operand = self.deeper(lambda: self.signed(read))
        return self.place(_entrywise(lambda x: ast.UnaryOp(ast.USub(), x), operand), start) if minus else operand

    def term(self) -> ast.expr:
        begin, tree = self.at, self.power()
        while True:
            kind, start = self.token.kind, self.at
            if kind in ("*", "/"):
                self.next()
                right = self.signed(self.power)
                if kind == "/" and self.begins():
                    self.refuse_unclear_fraction(tree, right, start + 1)
                tree = self.binary(tree, ast.Mult() if kind == "*" else ast.Div(), right, begin)
            elif self.begins():
                if kind == "number":
                    raise InputError("syntax", "formula", problem=f"a * or a ^ is missing before {self.near(start)}")
                if self.token.text == "frac" and self.tokens[start - 1].kind == "number" and not self.token.spaced:
                    problem = f"{self.near(start)} is ambiguous: a factor, or the rest of a mixed number"
                    raise InputError("syntax", "formula", problem=problem, remedy="Write * or +.")
                tree = self.binary(tree, ast.Mult(), self.power(), begin)
            else:
                return tree

    def begins(self) -> bool:
        """Whether a factor begins here, with no sign before it."""
        kind = self.token.kind
        return kind in ("number", "name", "function", "(", "[") or (kind == "|" and not self.bars)

    def refuse_unclear_fraction(self, above: ast.expr, below: ast.expr, start: int) -> None:
        """a/2b may be (a/2)b or a/(2b); 1/2 b and a/2 b are meant in one way."""
        first, last = self.tokens[start], self.tokens[self.at - 1]
        if isinstance(above, ast.Constant) and isinstance(below, ast.Constant):
            return
        if self.token.spaced and first.kind in ("(", "number") and last.kind in (")", "number"):
            return
        problem = f"the denominator near {self.near(start)} is ambiguous"
        raise InputError("syntax", "formula", problem=problem, remedy="Write a/(b*c) or (a/b)*c.")

    def binary(self, left: ast.expr, operation: ast.operator, right: ast.expr, start: int) -> ast.expr:
        """Also of vectors and matrices: entry by entry, or rows by columns."""
        if isinstance(left, ast.List) or isinstance(right, ast.List):
            self.products += isinstance(operation, ast.Mult)
            if self.products > MOST_PRODUCTS:
                problem = f"more than {MOST_PRODUCTS} products of matrices"
                raise InputError("too-large", "formula", problem=problem, remedy="Write the result.")
            return self.place(_of_matrices(left, operation, right), start)
        return self.place(ast.BinOp(left, operation, right), start)

    def power(self) -> ast.expr:
        start, tree = self.at, self.degrees(self.atom())
        if self.token.kind == "T":
            self.next()
            tree = self.place(_transposed(tree), start)
        if self.token.kind != "^":
            return tree
        self.next()
        return self.place(ast.BinOp(tree, ast.Pow(), self.exponent()), start)

    def degrees(self, tree: ast.expr) -> ast.expr:
        if self.token.kind != "°":
            return tree
        self.next()
        radians = self.place(ast.BinOp(tree, ast.Mult(), _name("pi")), self.at - 2)
        return self.place(ast.BinOp(radians, ast.Div(), ast.Constant(180)), self.at - 2)

    def exponent(self) -> ast.expr:
        return self.deeper(lambda: self.signed(self.power))

    def atom(self) -> ast.expr:
        start, token = self.at, self.next()
        match token.kind:
            case "number":
                return self.place(_constant(token), start)
            case "name":
                return self.place(self.named(token), start)
            case "function":
                return self.place(self.function(token, start), start)
            case "(" | "[":
                return self.deeper(lambda: self.bracket(token))
            case "|":
                self.bars += 1
                inside = self.deeper(self.sum)
                self.bars -= 1
                if self.next().kind != "|":
                    raise InputError("syntax", "formula", problem="a bar | is not closed")
                return self.place(_call("abs", inside), start)
        self.at -= 1
        raise self.wrong()

    def named(self, token: Token) -> ast.expr:
        """A name; c(q1 + q2) and cθ1 are cosines where c is no name of its own, and e^x is exp(x)."""
        word, after = token.text, self.token
        if word in self.names:
            return _name(word)
        if word == "e" and after.kind == "^":
            self.next()
            return _call("exp", self.exponent())
        if word not in ("c", "s", "C", "S"):
            likely = after.kind == "(" and len(word) > 2 and word.isalpha()
            if likely and difflib.get_close_matches(word, FUNCTIONS, 1, 0.7):
                raise unknown("function", word, FUNCTIONS)
            return _name(word)
        function = "cos" if word in "cC" else "sin"
        if after.kind == "name" and not after.spaced and ANGLE.fullmatch(after.text):
            self.next()
            return _call(function, _name(after.text))
        if after.kind != "(":
            return _name(word)
        opened = self.next()
        inside = self.deeper(lambda: self.bracket(opened))
        words = {node.id for node in ast.walk(inside) if isinstance(node, ast.Name)}
        if words and all(ANGLE.fullmatch(w) for w in words):
            return _call(function, inside)
        return ast.BinOp(_name(word), ast.Mult(), inside)

    def function(self, token: Token, start: int) -> ast.expr:
        name, power = token.text, None
        if self.token.kind == "root":
            power = Parser(Lexer(f"1/({self.next().text})", self.names).out, Lexer("", ())).formula()
        if self.token.kind == "^":
            self.next()
            power = self.exponent()
        arguments = self.arguments(name)
        if len(arguments) != (2 if name == "atan2" else 1) or isinstance(arguments[0], ast.List):
            wanted = "two arguments" if name == "atan2" else "one argument"
            raise InputError("syntax", "formula", problem=f"{name} must have {wanted}, near {self.near(start)}")
        if power is not None and name in INVERSE and ast.unparse(power) == "-1":
            name, power = INVERSE[name], None
        if name == "sqrt" and power is not None:
            return ast.BinOp(arguments[0], ast.Pow(), power)
        angle = re.fullmatch(r"(?:q|theta)([1-9]{2,})", arguments[0].id) if isinstance(arguments[0], ast.Name) else None
        if angle and name in ("sin", "cos") and angle[0] not in self.names:  # θ12 is θ1 + θ2
            tree: ast.expr = _name(name[0] + angle[1])
        elif name in ONE_OVER:
            tree = ast.BinOp(ast.Constant(1), ast.Div(), _call(ONE_OVER[name], *arguments))
        else:
            tree = _call(name, *arguments)
        return tree if power is None else ast.BinOp(self.place(tree, start), ast.Pow(), power)

    def arguments(self, name: str) -> list[ast.expr]:
        """In brackets; or without them a number, an angle, a multiple of one."""
        start, opened = self.at, self.token
        if opened.kind in ("(", "["):
            self.next()
            inside = self.deeper(lambda: self.bracket(opened))
            return list(inside.elts) if isinstance(inside, ast.List) and name == "atan2" else [inside]
        if opened.kind == "|":
            return [self.atom()]
        unclear = InputError(
            "syntax",
            "formula",
            problem=f"the argument of {name} is ambiguous, near {self.near(start)}",
            remedy="Write it in brackets.",
        )
        if name == "sqrt" and opened.kind in ("number", "name"):  # √3/2 is (√3)/2
            return [self.atom()]
        minus = opened.kind == "-" and bool(self.next())
        factors: list[ast.expr] = []
        while self.token.kind == "number":
            factors.append(self.place(self.degrees(_constant(self.next())), self.at - 1))
            if self.token.kind == "*":
                self.next()
        if self.token.kind == "name":
            first = self.next().text
            factors.append(self.place(_name(first), self.at - 1))
            if first.startswith("omega") and self.token.kind == "name" and self.token.text == "t":
                factors.append(self.place(_name(self.next().text), self.at - 1))
            elif self.token.kind == "name" and not ANGLE.fullmatch(first):
                raise unclear
        if not factors:
            problem = f"{name} lacks its argument, near {self.near(start)}"
            raise InputError("syntax", "formula", problem=problem, remedy="Write it in brackets.")
        if self.token.kind == "^" or (self.token.kind == "/" and self.tokens[self.at + 1].kind == "number"):
            raise unclear
        tree = factors[0]
        for factor in factors[1:]:
            tree = self.place(ast.BinOp(tree, ast.Mult(), factor), start)
        return [self.place(ast.UnaryOp(ast.USub(), tree), start) if minus else tree]

    def bracket(self, opened: Token) -> ast.expr:
        """A group; with commas a vector, with semicolons rows."""
        close = {"(": ")", "[": "]"}[opened.kind]
        begin, bars, self.bars = self.at - 1, self.bars, 0
        rows: list[list[ast.expr]] = [[]]
        rowed = opened.kind == "["
        while self.token.kind != close:
            start = self.at
            rows[-1].append(self.sum())
            rowed &= self.tokens[start].kind == "[" and self.closes(start) == self.at - 1
            if self.token.kind not in (("&",) if opened.text == "rows" else (",", ";")):
                break
            if self.next().kind == ";":
                rows.append([])
        self.bars = bars
        if self.token.kind != close or not rows[0]:
            raise self.wrong()
        self.next()
        if len(rows) > 1:
            return self.place(_list(_list(row) for row in rows if row), begin)
        row = [x if isinstance(x, ast.List) else _list([x]) for x in rows[0]] if rowed else rows[0]
        if len(row) > 1 or opened.text == "rows":
            return self.place(_list(row), begin)
        one = row[0]
        if rowed and isinstance(one, ast.List) and not any(isinstance(x, ast.List) for x in one.elts):
            return self.place(_list(row), begin)
        return self.place(one, begin) if opened.text == "frac" else one

    def closes(self, start: int) -> int:
        """Where the bracket that opens at `start` is closed."""
        depth = 0
        for k in range(start, self.at):
            depth += (self.tokens[k].kind in ("(", "[")) - (self.tokens[k].kind in (")", "]"))
            if depth == 0:
                return k
        return -1


def _name(word: str) -> ast.Name:
    return ast.Name(word, ast.Load())


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(_name(name), list(arguments), [])


def _list(items: Iterable[ast.expr]) -> ast.List:
    return ast.List(list(items), ast.Load())


def _constant(token: Token) -> ast.expr:
    if len(token.text) > MOST_DIGITS:
        raise InputError("too-large", "formula", problem=f"a number of the formula has more than {MOST_DIGITS} digits")
    value = int(token.text) if token.text.isdigit() else float(token.text)
    if abs(value) > 1e300:
        raise InputError("too-large", "formula", problem=f"a number of the formula is too large: {token.text}")
    if value < 1e-300 and re.search("[1-9]", token.text.lower().partition("e")[0]):
        raise InputError("out-of-range", "formula", problem=f"a number of the formula is too small: {token.text}")
    exact = Fraction(token.text)
    if isinstance(value, float) and Fraction(repr(value)) != exact:  # more digits than a float has
        return ast.BinOp(ast.Constant(exact.numerator), ast.Div(), ast.Constant(exact.denominator))
    return ast.Constant(value)


def _rows(tree: ast.expr) -> list[list[ast.expr]]:
    """The rows of a matrix; a vector is a column."""
    assert isinstance(tree, ast.List)
    rows = [row.elts if isinstance(row, ast.List) else [row] for row in tree.elts]
    if len({len(row) for row in rows}) != 1:
        raise InputError("wrong-shape", "formula", problem="the rows of the matrix have different lengths")
    return rows


def _transposed(tree: ast.expr) -> ast.expr:
    if not isinstance(tree, ast.List):
        problem = "only a vector or matrix that is written out can be transposed"
        raise InputError("unsupported", "formula", problem=problem, remedy="Write the result.")
    if not any(isinstance(x, ast.List) for x in tree.elts):
        return tree  # [x, y]ᵀ, a column as [x, y] is
    return _list(_list(column) for column in zip(*_rows(tree), strict=True))


def _entrywise(change: Callable[[ast.expr], ast.expr], tree: ast.expr) -> ast.expr:
    return _list(_entrywise(change, x) for x in tree.elts) if isinstance(tree, ast.List) else change(tree)


def _of_matrices(left: ast.expr, operation: ast.operator, right: ast.expr) -> ast.expr:
    """A sum, multiple or product of matrices that are written out."""

    def binary(a: ast.expr, b: ast.expr, operator: ast.operator = operation) -> ast.expr:
        return ast.copy_location(ast.BinOp(a, operator, b), a)

    if isinstance(left, ast.List) and not isinstance(right, ast.List) and isinstance(operation, ast.Mult | ast.Div):
        return _entrywise(lambda x: binary(x, right), left)
    if isinstance(right, ast.List) and not isinstance(left, ast.List) and isinstance(operation, ast.Mult):
        return _entrywise(lambda x: binary(left, x), right)
    if isinstance(left, ast.List) and isinstance(right, ast.List) and not isinstance(operation, ast.Div):
        A, B = _rows(left), _rows(right)
        if not isinstance(operation, ast.Mult) and len(A) == len(B) and len(A[0]) == len(B[0]):
            return _list(_list(map(binary, a, b)) for a, b in zip(A, B, strict=True))
        if isinstance(operation, ast.Mult) and len(A[0]) == len(B):
            columns = list(zip(*B, strict=True))
            add = partial(binary, operator=ast.Add())
            return _list(_list(reduce(add, map(binary, row, column)) for column in columns) for row in A)
    problem = "vectors and matrices of these sizes cannot be combined in this way"
    raise InputError("wrong-shape", "formula", problem=problem)
