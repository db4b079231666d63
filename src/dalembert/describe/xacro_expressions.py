"""What stands in xacro's ${…} and $(eval …), evaluated by walking its syntax tree, not by Python's `eval`.

A node is evaluated only if its kind has a row here, and a function is called only if xacro documents it. An attribute
is an entry of a namespace or dictionary, or a method of text, a list or a dictionary. Every value is looked at as it
arises, so that no class, frame or module can be come by. Imports nothing of Dalembert: the worker loads it alone.
"""

from __future__ import annotations

import ast
import datetime
import math
import operator
import string
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

LONGEST = 1_000_000  # characters or elements of one value
BITS = 4096  # of one integer; the largest double has 1024
LARGEST = 1000  # argument of math.factorial, comb and perm
_GROWING = (math.factorial, math.comb, math.perm)
# What must not be handed to another function, which would call it past the looks that are taken here.
_WATCHED = (map, filter, *_GROWING)

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_SIZED = (str, bytes, list, tuple, dict, set, frozenset)
_KINDS = {
    *_SIZED,
    *(bool, int, float, complex, type(None), range, slice, datetime.date, datetime.datetime),
    *(map, filter, zip, enumerate, reversed),
    *(type({}.keys()), type({}.values()), type({}.items()), type(iter([]))),
    *(type(reversed([])), type(reversed({})), type(reversed(range(0)))),
}
_METHODS = {
    kind: {name for name in dir(kind) if not name.startswith("_")} - {"format_map", "maketrans", "encode"}
    for kind in (str, list, tuple, dict, set, frozenset)
}


Names = Mapping[str, object]


class NotAllowed(Exception):
    """An expression that is more than an expression."""


class _Formatter(string.Formatter):
    """str.format without the attributes and entries that its fields can ask for."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> object:
        if not (field_name.isidentifier() or field_name.isdigit()):
            raise NotAllowed(f"the field {field_name!r:.60} of a format asks for more than a value")
        return super().get_field(field_name, args, kwargs)


class Evaluator:
    """Expressions in which `functions` may be called, and the entries of `namespaces` and `records` (types of
    dictionaries) are attributes; records have a dictionary's methods besides."""

    def __init__(
        self, functions: Iterable[ast.AST | None], namespaces: tuple[type, ...] = (), records: tuple[type, ...] = ()
    ) -> None:
        self.functions = {id(f): f for f in functions}
        self.namespaces = namespaces
        self.spaces = (*namespaces, *records)

    def evaluate(self, text: str, names: Names) -> object:
        """The value of an expression over these names."""
        try:
            tree = ast.parse(text.strip(), "<expression>", "eval")
        except (MemoryError, RecursionError):
            raise NotAllowed("the expression is nested too deeply") from None
        return self._value(tree.body, names)

    def _value(self, node: ast.AST | None, names: Names) -> object:
        row = None if node is None else self._rows.get(type(node))
        if row is None:
            raise NotAllowed(
                f"an expression may hold numbers, text, properties, arithmetic, comparisons, lists, dictionaries and "
                f"xacro's functions, but not {ast.unparse(node) if node else '**':.60}"
            )
        return self._known(row(self, node, names))

    def _known(self, value: object) -> object:
        """The value, if it is one that an expression may have."""
        if isinstance(value, int) and value.bit_length() > BITS:
            raise NotAllowed(f"an integer in an expression may have {BITS} bits, not {value.bit_length()}")
        if isinstance(value, _SIZED) and len(value) > LONGEST:
            raise NotAllowed(f"a value in an expression may be {LONGEST} long, not {len(value)}")
        if type(value) in _KINDS or isinstance(value, self.spaces) or id(value) in self.functions:
            return value
        raise NotAllowed(f"an expression may not have a value of type {type(value).__name__!r}")

    def _values(self, nodes: Iterable[ast.AST | None], names: Names) -> list[object]:
        return [self._value(node, names) for node in nodes]

    # ---------------------------------------------------------------- rows
    def _name(self, node: ast.Name, names: Names) -> object:
        try:
            return names[_plain(node.id)]
        except KeyError:
            raise NameError(f"name {node.id!r} is not defined") from None

    def _unary(self, node: ast.UnaryOp, names: Names) -> object:
        return _OPERATORS[type(node.op)](self._value(node.operand, names))

    def _binary(self, node: ast.BinOp, names: Names) -> object:
        a, b = self._value(node.left, names), self._value(node.right, names)
        if isinstance(node.op, ast.Pow) and isinstance(a, int) and isinstance(b, int) and abs(a) > 1:
            _modest(b * a.bit_length(), BITS, f"the exponent {b}")
        return _OPERATORS[type(node.op)](a, b)

    def _boolean(self, node: ast.BoolOp, names: Names) -> object:
        for part in node.values:
            value = self._value(part, names)
            if bool(value) is isinstance(node.op, ast.Or):
                break
        return value

    def _compare(self, node: ast.Compare, names: Names) -> object:
        left = self._value(node.left, names)
        for kind, part in zip(node.ops, node.comparators, strict=True):
            right = self._value(part, names)
            result = _OPERATORS[type(kind)](left, right)
            if not result:
                break
            left = right
        return result

    def _choice(self, node: ast.IfExp, names: Names) -> object:
        return self._value(node.body if self._value(node.test, names) else node.orelse, names)

    def _dictionary(self, node: ast.Dict, names: Names) -> object:
        return dict(zip(self._values(node.keys, names), self._values(node.values, names), strict=True))

    def _entry(self, node: ast.Subscript, names: Names) -> object:
        base = self._value(node.value, names)
        if not isinstance(base, (str, bytes, list, tuple, dict, range)):
            raise NotAllowed(f"a value of type {type(base).__name__!r} has no entries")
        place: Any = self._value(node.slice, names)
        return base[place]

    def _slice(self, node: ast.Slice, names: Names) -> object:
        return slice(*(part and self._value(part, names) for part in (node.lower, node.upper, node.step)))

    def _attribute(self, node: ast.Attribute, names: Names) -> object:
        return self._of(self._value(node.value, names), _plain(node.attr))

    def _of(self, base: object, name: str) -> object:
        if not isinstance(base, self.spaces) or not isinstance(base, dict):
            raise NotAllowed(f"{name!r} of a value of type {type(base).__name__!r} is not for expressions")
        try:
            return base[name]
        except KeyError:
            raise NameError(f"name {name!r} is not defined") from None

    def _call(self, node: ast.Call, names: Names) -> object:
        if isinstance(node.func, ast.Attribute):
            function = self._method(self._value(node.func.value, names), _plain(node.func.attr))
        else:
            function = self._function(self._value(node.func, names))
        values = self._values(node.args, names)
        named = {str(k.arg): self._value(k.value, names) for k in node.keywords}
        if any(value is watched for value in (*values, *named.values()) for watched in _WATCHED):
            raise NotAllowed(f"{', '.join(f.__name__ for f in _WATCHED)} may be called, but not handed on")
        if None in (k.arg for k in node.keywords):
            raise NotAllowed("arguments in an expression are written one by one, not as **")
        if function in _GROWING:
            _modest(max((abs(x) for x in values if isinstance(x, int)), default=0), LARGEST, "an argument")
        return function(*values, **named)

    def _function(self, value: object) -> Callable[..., object]:
        if id(value) not in self.functions or not callable(value):
            raise NotAllowed(f"a value of type {type(value).__name__!r} is not for calling in an expression")
        return value

    def _method(self, base: object, name: str) -> Callable[..., object]:
        """A method of text, a list, a dictionary, …; else a function that is an entry."""
        for kind, methods in _METHODS.items():
            if isinstance(base, kind) and name in methods and not isinstance(base, self.namespaces):
                if name == "format" and kind is str:
                    return lambda *values, **named: _Formatter().vformat(str(base), values, named)
                method: Callable[..., object] = getattr(base, name)
                return method
        return self._function(self._known(self._of(base, name)))

    def _each(self, node: ast.ListComp | ast.GeneratorExp, names: Names) -> object:
        found = [self._value(node.elt, scope) for scope in self._scopes(node.generators, names)]
        return found if isinstance(node, ast.ListComp) else iter(found)

    def _scopes(self, generators: list[ast.comprehension], names: Names) -> Iterator[Names]:
        """The names inside a comprehension, once for each of its elements."""
        if not generators:
            yield names
            return
        first = generators[0]
        if first.is_async:
            raise NotAllowed("an expression waits for nothing: write for, not async for")
        elements: Any = self._value(first.iter, names)
        for value in elements:
            scope: Names = ChainMap(self._bound(first.target, value), names)  # type: ignore[arg-type]
            if all(self._value(condition, scope) for condition in first.ifs):
                yield from self._scopes(generators[1:], scope)

    def _bound(self, target: ast.AST, value: object) -> dict[str, object]:
        if isinstance(target, ast.Name):
            return {_plain(target.id): self._known(value)}
        if not isinstance(target, ast.Tuple):
            raise NotAllowed(f"a comprehension goes over names, not over {type(target).__name__}")
        entries: Any = self._known(value)
        pairs = zip(target.elts, entries, strict=True)
        return {name: x for part, entry in pairs for name, x in self._bound(part, entry).items()}

    _rows: Mapping[type[ast.AST], Callable[[Evaluator, Any, Names], object]] = {
        ast.Constant: lambda self, node, names: node.value,
        ast.Name: _name,
        ast.UnaryOp: _unary,
        ast.BinOp: _binary,
        ast.BoolOp: _boolean,
        ast.Compare: _compare,
        ast.IfExp: _choice,
        ast.List: lambda self, node, names: self._values(node.elts, names),
        ast.Tuple: lambda self, node, names: tuple(self._values(node.elts, names)),
        ast.Dict: _dictionary,
        ast.Subscript: _entry,
        ast.Slice: _slice,
        ast.Attribute: _attribute,
        ast.Call: _call,
        ast.ListComp: _each,
        ast.GeneratorExp: _each,
    }


def _plain(name: str) -> str:
    """A name as people give them; Python's own begin with two underscores."""
    if name.startswith("__"):
        raise NotAllowed(f"the name {name!r:.60} is Python's own, not for expressions")
    return name


def _modest(value: int, largest: int, what: str) -> None:
    if value > largest:
        raise NotAllowed(f"{what[:60]} is too large in an expression")
