"""Loops with memory and decisions, written in a subset of Python and compiled to machine code.

A traced function has no branches; a search has little else. Such loops are plain functions whose annotations name the
machine's types, translated statement by statement:

    Int, Truth       a whole number of 64 bits, a truth
    Real, Vector     a number of the kind, and W of them        Mask      W truths
    Reals, Ints      where numbers lie; a[i] is one of them, a[i:] where the i-th lies

There are assignments, if, while, for … in range(…), calls of each other and of `INTRINSICS`. Nothing is converted but
whole constants, and a number where W are wanted. No fast math: bits are the same at every optimization.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

from dalembert.compile.kinds import Kind
from dalembert.compile.writer import Lines

Int = int
Truth = bool
Real = float
Vector = Any
Mask = Any
Reals = Any
Ints = Any

ARITHMETIC: dict[type, tuple[Callable[..., Any], str, str]] = {  # of constants, whole numbers, numbers
    ast.Add: (operator.add, "add", "fadd"),
    ast.Sub: (operator.sub, "sub", "fsub"),
    ast.Mult: (operator.mul, "mul", "fmul"),
    ast.Div: (operator.truediv, "", "fdiv"),
    ast.FloorDiv: (operator.floordiv, "sdiv", ""),
    ast.Mod: (operator.mod, "srem", ""),
    ast.BitAnd: (operator.and_, "and", ""),
    ast.BitOr: (operator.or_, "or", ""),
    ast.BitXor: (operator.xor, "xor", ""),
    ast.LShift: (operator.lshift, "shl", ""),
    ast.RShift: (operator.rshift, "lshr", ""),
}
COMPARISONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
NUMBERS = ("Real", "Vector")


class Value(NamedTuple):
    """What an expression became: its type and its name in LLVM. A constant is a Python number, of no type yet."""

    type: str
    text: str
    constant: int | float | None = None


# Functions that the machine has: arguments' types → result. The Python below runs the same steps on NumPy's arrays.
INTRINSICS = (
    *("fma", "sqrt", "absolute", "maximum", "minimum", "ceil", "where", "wide", "ramp", "load", "store"),
    *("bits", "lowest", "count", "real", "whole", "largest", "smallest", "lane"),
)


class Module:
    """The functions, as IR for vectors of `width` numbers of a kind. `constants` are numbers by name; `external` are
    functions written elsewhere, with their parameters' types and that of their result."""

    def __init__(
        self, width: int, kind: Kind, constants: Mapping[str, int | float], external: Mapping[str, Sequence[str]]
    ) -> None:
        self.width, self.kind, self.constants = width, kind, constants
        E = kind.name
        self.llvm = {
            "Int": "i64",
            "Truth": "i1",
            "Real": E,
            "Vector": f"<{width} x {E}>",
            "Mask": f"<{width} x i1>",
            "Reals": "ptr",
            "Ints": "ptr",
            "None": "void",
        }
        self.signatures: dict[str, tuple[list[str], str]] = {}
        for name, types in external.items():
            self.signatures[name] = (list(types[:-1]), types[-1])

    def text(
        self,
        functions: Sequence[Callable[..., Any]],
        exported: Sequence[str],
        attributes: Mapping[str, str] | None = None,
    ) -> str:
        """Those `exported` are called from outside; `attributes`, by name, tell LLVM how to compile a function."""
        self.attributes = attributes or {}
        trees = [_tree(function) for function in functions]
        for tree in trees:
            parameters = [ast.unparse(a.annotation) for a in tree.args.args if a.annotation is not None]
            self.signatures[tree.name] = (parameters, ast.unparse(tree.returns) if tree.returns else "None")
        parts = [_Function(self, tree, tree.name in exported).text() for tree in trees]
        V, E, v, e = self.llvm["Vector"], self.kind.name, f"v{self.width}f{self.kind.bits}", f"f{self.kind.bits}"
        declared = [
            f"declare {t} @llvm.{name}.{s}({', '.join([t] * (3 if name == 'fma' else 1))})"
            for t, s in ((V, v), (E, e))
            for name in ("fma", "sqrt", "fabs", "ceil")
        ]
        own = [line for line in declared if not (f".{v}(" in line and "ceil" not in line)]  # the others a Writer has
        parts += [*own, "declare i64 @llvm.cttz.i64(i64, i1)", "declare i64 @llvm.ctpop.i64(i64)"]
        return "\n".join(parts) + "\n"


def _tree(function: Callable[..., Any]) -> ast.FunctionDef:
    """A function's text, parsed; that of its file once for all."""
    for node in _statements(source(function)):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            return node
    raise TypeError(f"{function.__name__} is no function of a file")


def source(function: Callable[..., Any]) -> str:
    """The text of the file of a function."""
    return "".join(linecache.getlines(inspect.getfile(function)))


@lru_cache(maxsize=4)
def _statements(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


class _Function(Lines):
    """Writes one function. Variables lie in memory; LLVM moves them into registers."""

    def __init__(self, module: Module, tree: ast.FunctionDef, exported: bool) -> None:
        super().__init__()
        self.m, self.tree, self.exported = module, tree, exported
        self.variables: dict[str, tuple[str, str]] = {}
        self.places: list[str] = []
        self.loops: list[tuple[str, str]] = []
        self.blocks = 0
        self.result = module.signatures[tree.name][1]

    def text(self) -> str:
        types = self.m.signatures[self.tree.name][0]
        names = [a.arg for a in self.tree.args.args]
        for name, kind in zip(names, types, strict=True):
            self.assign(name, Value(kind, f"%{name}"))
        self.run(self.tree.body)
        self.do("ret void" if self.result == "None" else "unreachable")
        parameters = ", ".join(f"{self.m.llvm[t]} %{name}" for t, name in zip(types, names, strict=True))
        linkage = "" if self.exported else "internal "
        head = f"define {linkage}{self.m.llvm[self.result]} @{self.tree.name}({parameters}) nounwind"
        head += f" {self.m.attributes.get(self.tree.name, '')} {{"
        return "\n".join([head, "entry:", *self.places, *self.lines, "}"])

    def fail(self, node: ast.AST, why: str) -> NoReturn:
        raise TypeError(f"{self.tree.name}: {why}: {ast.unparse(node)}")

    # --------------------------------------------------------------------------------------------------- statements
    def run(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            getattr(self, f"run_{type(statement).__name__}", self.refuse)(statement)

    def refuse(self, node: ast.AST) -> NoReturn:
        self.fail(node, "no statement of the subset")

    def block(self, name: str) -> str:
        self.blocks += 1
        return f"{name}{self.blocks}"

    def go(self, label: str) -> None:
        self.do(f"br label %{label}")

    def after_jump(self) -> None:
        self.label(self.block("never"))

    def assign(self, name: str, value: Value) -> None:
        if value.constant is not None:
            value = self.typed(value, self.variables[name][0] if name in self.variables else None)
        if name not in self.variables:
            self.variables[name] = (value.type, f"%{name}_at")
            self.places.append(f"  %{name}_at = alloca {self.m.llvm[value.type]}")
        kind, at = self.variables[name]
        if kind == "Vector" and value.type == "Real":
            value = self.widened(value)
        if kind != value.type:
            raise TypeError(f"{self.tree.name}: {name} is {kind}, not {value.type}")
        self.do(f"store {self.m.llvm[kind]} {value.text}, ptr {at}")

    def run_Assign(self, node: ast.Assign) -> None:
        (target,) = node.targets
        if isinstance(target, ast.Name):
            self.assign(target.id, self.value(node.value))
        elif isinstance(target, ast.Subscript):
            at, kind = self.element(target)
            value = self.typed(self.value(node.value), kind)
            self.do(f"store {self.m.llvm[kind]} {value.text}, ptr {at}")
        else:
            self.fail(node, "one target, a name or an element")

    def run_AnnAssign(self, node: ast.AnnAssign) -> None:
        assert isinstance(node.target, ast.Name) and node.value is not None
        self.assign(node.target.id, self.typed(self.value(node.value), ast.unparse(node.annotation)))

    def run_AugAssign(self, node: ast.AugAssign) -> None:
        load = ast.parse(ast.unparse(node.target), mode="eval").body
        changed = ast.Assign([node.target], ast.BinOp(load, node.op, node.value))
        self.run_Assign(changed)

    def run_Expr(self, node: ast.Expr) -> None:
        if not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
            self.value(node.value)

    def run_Return(self, node: ast.Return) -> None:
        if node.value is None:
            self.do("ret void")
        else:
            value = self.typed(self.value(node.value), self.result)
            self.do(f"ret {self.m.llvm[value.type]} {value.text}")
        self.after_jump()

    def run_If(self, node: ast.If) -> None:
        then, other, end = (self.block(name) for name in ("then", "else", "end"))
        self.do(f"br i1 {self.truth(node.test)}, label %{then}, label %{other}")
        for label, body in ((then, node.body), (other, node.orelse)):
            self.label(label)
            self.run(body)
            self.go(end)
        self.label(end)

    def run_While(self, node: ast.While, first: str = "", following: Sequence[ast.stmt] = ()) -> None:
        head, body, step, end = (self.block(name) for name in ("head", "body", "step", "end"))
        self.go(head)
        self.label(head)
        self.do(f"br i1 {self.truth(node.test)}, label %{body}, label %{end}")
        self.label(body)
        self.loops.append((step, end))
        self.run(node.body)
        self.loops.pop()
        self.go(step)
        self.label(step)
        self.run(following)
        self.go(head)
        self.label(end)

    def run_For(self, node: ast.For) -> None:
        if not (isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func) == "range"):
            self.fail(node.iter, "for runs over range(…)")
        assert isinstance(node.target, ast.Name)
        name, given = node.target.id, node.iter.args
        first = self.value(given[0]) if len(given) > 1 else Value("", "0", 0)
        self.assign(name, self.typed(first, "Int"))
        last = f"{name}_last"
        self.assign(last, self.typed(self.value(given[min(len(given) - 1, 1)]), "Int"))
        test = ast.parse(f"{name} < {last}", mode="eval").body
        self.run_While(ast.While(test, node.body, []), following=ast.parse(f"{name} = {name} + 1").body)

    def run_Break(self, node: ast.Break) -> None:
        self.go(self.loops[-1][1])
        self.after_jump()

    def run_Continue(self, node: ast.Continue) -> None:
        self.go(self.loops[-1][0])
        self.after_jump()

    # -------------------------------------------------------------------------------------------------- expressions
    def truth(self, node: ast.expr) -> str:
        value = self.value(node)
        if value.type != "Truth":
            self.fail(node, "a condition is a truth")
        return value.text

    def value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return Value("", "", node.value)
        if isinstance(node, ast.Name):
            return self.named(node)
        handler = getattr(self, f"value_{type(node).__name__}", None)
        if handler is None:
            self.fail(node, "no expression of the subset")
        found: Value = handler(node)
        return found

    def named(self, node: ast.Name) -> Value:
        if node.id in self.variables:
            kind, at = self.variables[node.id]
            return Value(kind, self.let(f"load {self.m.llvm[kind]}, ptr {at}"))
        if node.id in self.m.constants:
            return Value("", "", self.m.constants[node.id])
        self.fail(node, "unknown name")

    def typed(self, value: Value, wanted: str | None) -> Value:
        """A constant as a number of this type (whole or not as it is written, else); a number in all lanes where W are
        wanted; everything else as it is."""
        if value.constant is not None:
            kind = wanted or (
                "Truth" if isinstance(value.constant, bool) else "Real" if isinstance(value.constant, float) else "Int"
            )
            if kind in NUMBERS:
                one = Value("Real", self.m.kind.constant(float(value.constant)))
                return self.widened(one) if kind == "Vector" else one
            return Value(kind, str(value.constant).lower() if kind == "Truth" else str(int(value.constant)))
        if wanted == "Vector" and value.type == "Real":
            return self.widened(value)
        if wanted is not None and value.type != wanted:
            raise TypeError(f"{self.tree.name}: {value.type} where {wanted} is wanted ({value.text})")
        return value

    def widened(self, value: Value) -> Value:
        V, W = self.m.llvm["Vector"], self.m.width
        one = self.let(f"insertelement {V} poison, {self.m.llvm['Real']} {value.text}, i32 0")
        return Value("Vector", self.let(f"shufflevector {V} {one}, {V} poison, <{W} x i32> zeroinitializer"))

    def same(self, *values: Value) -> list[Value]:
        """The values with one type: that of those that have one, a vector before a number."""
        kinds = {value.type for value in values if value.constant is None}
        constants = [value.constant for value in values if value.constant is not None]
        if not kinds:
            kinds = {"Real" if any(isinstance(x, float) for x in constants) else "Int"}
        wanted = "Vector" if kinds == {"Real", "Vector"} else next(iter(kinds))
        return [self.typed(value, wanted) for value in values]

    def value_BinOp(self, node: ast.BinOp) -> Value:
        a, b = self.value(node.left), self.value(node.right)
        if a.constant is not None and b.constant is not None:
            return Value("", "", ARITHMETIC[type(node.op)][0](a.constant, b.constant))
        a, b = self.same(a, b)
        name = ARITHMETIC[type(node.op)][2 if a.type in NUMBERS else 1]
        if not name or a.type in ("Reals", "Ints"):
            self.fail(node, f"not of {a.type}")
        return Value(a.type, self.let(f"{name} {self.m.llvm[a.type]} {a.text}, {b.text}"))

    def value_UnaryOp(self, node: ast.UnaryOp) -> Value:
        x = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            x = self.typed(x, "Truth")
            return Value("Truth", self.let(f"xor i1 {x.text}, true"))
        if not isinstance(node.op, ast.USub):
            self.fail(node, "no operation of the subset")
        if x.constant is not None:
            return Value("", "", -x.constant)
        text = f"fneg {self.m.llvm[x.type]} {x.text}" if x.type in NUMBERS else f"sub i64 0, {x.text}"
        return Value(x.type, self.let(text))

    def value_Compare(self, node: ast.Compare) -> Value:
        if len(node.ops) != 1:
            self.fail(node, "one comparison at a time")
        a, b = self.same(self.value(node.left), self.value(node.comparators[0]))
        word = COMPARISONS[type(node.ops[0])]
        if a.type in NUMBERS:
            text = f"fcmp {'u' if word == 'ne' else 'o'}{word} {self.m.llvm[a.type]} {a.text}, {b.text}"
            return Value("Mask" if a.type == "Vector" else "Truth", self.let(text))
        signed = word if word in ("eq", "ne") else f"s{word}"
        return Value("Truth", self.let(f"icmp {signed} {self.m.llvm[a.type]} {a.text}, {b.text}"))

    def value_BoolOp(self, node: ast.BoolOp) -> Value:
        """The second is not looked at where the first decides."""
        name, end = f"truth{self.blocks}", self.block("decided")
        for operand in node.values:
            self.assign(name, Value("Truth", self.truth(operand)))
            more, known = self.block("more"), self.named(ast.Name(name)).text
            yes, no = (more, end) if isinstance(node.op, ast.And) else (end, more)
            self.do(f"br i1 {known}, label %{yes}, label %{no}")
            self.label(more)
        self.go(end)
        self.label(end)
        return self.named(ast.Name(name))

    def value_IfExp(self, node: ast.IfExp) -> Value:
        """Both are computed."""
        condition = self.truth(node.test)
        a, b = self.same(self.value(node.body), self.value(node.orelse))
        t = self.m.llvm[a.type]
        return Value(a.type, self.let(f"select i1 {condition}, {t} {a.text}, {t} {b.text}"))

    def element(self, node: ast.Subscript) -> tuple[str, str]:
        """Where an element lies, and its type."""
        base, index = self.value(node.value), self.typed(self.value(node.slice), "Int")
        if base.type not in ("Reals", "Ints"):
            self.fail(node, "only of Reals and Ints")
        kind = base.type[:-1]
        return self.let(f"getelementptr {self.m.llvm[kind]}, ptr {base.text}, i64 {index.text}"), kind

    def value_Subscript(self, node: ast.Subscript) -> Value:
        if isinstance(node.slice, ast.Slice):
            assert node.slice.lower is not None and node.slice.upper is None
            base = self.value(node.value)
            at, _ = self.element(ast.Subscript(node.value, node.slice.lower))
            return Value(base.type, at)
        at, kind = self.element(node)
        return Value(kind, self.let(f"load {self.m.llvm[kind]}, ptr {at}"))

    def value_Call(self, node: ast.Call) -> Value:
        name = ast.unparse(node.func)
        if name in INTRINSICS:
            found: Value = getattr(self, f"call_{name}")(*(self.value(a) for a in node.args))
            return found
        if name not in self.m.signatures:
            self.fail(node, "unknown function")
        types, result = self.m.signatures[name]
        if len(types) != len(node.args):
            self.fail(node, f"{len(types)} arguments are wanted")
        given = [self.typed(self.value(a), t) for a, t in zip(node.args, types, strict=True)]
        text = f"call {self.m.llvm[result]} @{name}({', '.join(f'{self.m.llvm[x.type]} {x.text}' for x in given)})"
        if result == "None":
            self.do(text)
            return Value("None", "")
        return Value(result, self.let(text))

    # --------------------------------------------------------------------------------------------------- intrinsics
    def _llvm(self, name: str, *values: Value) -> Value:
        same = self.same(*values)
        kind = same[0].type
        suffix = f"{f'v{self.m.width}' if kind == 'Vector' else ''}f{self.m.kind.bits}"
        t = self.m.llvm[kind]
        return Value(kind, self.let(f"call {t} @llvm.{name}.{suffix}({', '.join(f'{t} {x.text}' for x in same)})"))

    def call_fma(self, a: Value, b: Value, c: Value) -> Value:
        return self._llvm("fma", a, b, c)

    def call_sqrt(self, x: Value) -> Value:
        return self._llvm("sqrt", x)

    def call_absolute(self, x: Value) -> Value:
        return self._llvm("fabs", x)

    def call_ceil(self, x: Value) -> Value:
        return self._llvm("ceil", x)

    def _chosen(self, word: str, a: Value, b: Value) -> Value:
        a, b = self.same(a, b)
        t = self.m.llvm[a.type]
        compare = f"fcmp o{word}" if a.type in NUMBERS else f"icmp s{word}"
        c = self.let(f"{compare} {t} {a.text}, {b.text}")
        kind = self.m.llvm["Mask"] if a.type == "Vector" else "i1"
        return Value(a.type, self.let(f"select {kind} {c}, {t} {a.text}, {t} {b.text}"))

    def call_maximum(self, a: Value, b: Value) -> Value:
        return self._chosen("gt", a, b)

    def call_minimum(self, a: Value, b: Value) -> Value:
        return self._chosen("lt", a, b)

    def call_where(self, mask: Value, a: Value, b: Value) -> Value:
        a, b = (self.typed(x, "Vector") for x in (a, b))
        V = self.m.llvm["Vector"]
        return Value("Vector", self.let(f"select {self.m.llvm['Mask']} {mask.text}, {V} {a.text}, {V} {b.text}"))

    def call_wide(self, x: Value) -> Value:
        return self.typed(x, "Vector")

    def call_ramp(self, first: Value, step: Value) -> Value:
        """first + step · (0, 1, …, W − 1)."""
        E = self.m.llvm["Real"]
        numbers = ", ".join(f"{E} {self.m.kind.constant(float(k))}" for k in range(self.m.width))
        return self.call_fma(Value("Vector", f"<{numbers}>"), self.call_wide(step), self.call_wide(first))

    def _place(self, a: Value, i: Value) -> str:
        return self.let(f"getelementptr {self.m.llvm['Real']}, ptr {a.text}, i64 {self.typed(i, 'Int').text}")

    def call_load(self, a: Value, i: Value) -> Value:
        at = self._place(a, i)
        return Value("Vector", self.let(f"load {self.m.llvm['Vector']}, ptr {at}, align {self.m.kind.bytes}"))

    def call_store(self, a: Value, i: Value, x: Value) -> Value:
        x, at = self.typed(x, "Vector"), self._place(a, i)
        self.do(f"store {self.m.llvm['Vector']} {x.text}, ptr {at}, align {self.m.kind.bytes}")
        return Value("None", "")

    def call_bits(self, mask: Value) -> Value:
        """The lanes in which it is true, as bits of a whole number."""
        W = self.m.width
        packed = self.let(f"bitcast {self.m.llvm['Mask']} {mask.text} to i{W}")
        return Value("Int", self.let(f"zext i{W} {packed} to i64") if W < 64 else packed)

    def call_lowest(self, x: Value) -> Value:
        """Which bit is the lowest that is set, of a number that is not zero."""
        return Value("Int", self.let(f"call i64 @llvm.cttz.i64(i64 {self.typed(x, 'Int').text}, i1 true)"))

    def call_count(self, x: Value) -> Value:
        return Value("Int", self.let(f"call i64 @llvm.ctpop.i64(i64 {self.typed(x, 'Int').text})"))

    def call_real(self, x: Value) -> Value:
        return Value("Real", self.let(f"sitofp i64 {self.typed(x, 'Int').text} to {self.m.llvm['Real']}"))

    def call_whole(self, x: Value) -> Value:
        return Value("Int", self.let(f"fptosi {self.m.llvm['Real']} {self.typed(x, 'Real').text} to i64"))

    def _folded(self, word: str, x: Value) -> Value:
        """The lanes halved until one is left."""
        V, W, half = self.m.llvm["Vector"], self.m.width, self.m.width // 2
        while half:
            order = ", ".join(f"i32 {(k + half) % W}" for k in range(W))
            other = Value("Vector", self.let(f"shufflevector {V} {x.text}, {V} poison, <{W} x i32> <{order}>"))
            x, half = self._chosen(word, x, other), half // 2
        return Value("Real", self.let(f"extractelement {V} {x.text}, i32 0"))

    def call_largest(self, x: Value) -> Value:
        return self._folded("gt", x)

    def call_smallest(self, x: Value) -> Value:
        return self._folded("lt", x)

    def call_lane(self, x: Value, k: Value) -> Value:
        """One of the W numbers."""
        V, one = self.m.llvm["Vector"], self.typed(k, "Int")
        return Value("Real", self.let(f"extractelement {V} {x.text}, i64 {one.text}"))
