"""LLVM IR of a loop's step as C99: what `sweep` writes for the processor it runs on, for any other.

One line of IR is one statement; vectors are arrays of as many numbers, computed lane after lane; jumps are jumps. Only
what the step uses is known here, and anything else is refused.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from dalembert.compile.c_source import literal
from dalembert.compile.kinds import DOUBLE

Lane = Callable[[str], str]  # lane → C

_WORDS = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/", "and": "&", "or": "|", "add": "+"}
_COMPARISONS = {"ogt": ">", "olt": "<", "ole": "<=", "oge": ">=", "one": "!=", "slt": "<", "eq": "=="}
_CALLS = {"fma": "fma", "fabs": "fabs"}
_TYPES = {"double": "double", "i1": "int", "i64": "long"}
_VECTOR = r"<(\d+) x (?:double|i1)>"


def translate(ir: str) -> str:
    """The C of one function of IR, static."""
    return _Function(ir.splitlines()).text()


class _Function:
    def __init__(self, lines: list[str]) -> None:
        head = re.match(r"define internal (\w+) @(\w+)\((.*?)\)", lines[0])
        assert head is not None
        self.head, self.lines = head, [line.strip() for line in lines[1:-1]]
        self.body: list[str] = []
        self.first: list[str] = []
        self.pointers: dict[str, tuple[str, int]] = {}
        self.vectors: dict[str, Lane] = {}
        self.written: set[str] = set()  # parameters
        self.phis: dict[str, list[tuple[str, str, str]]] = {}  # block → (variable, value, from)
        self.block, self.lanes = "entry", 0

    def text(self) -> str:
        for parameter in re.findall(r"ptr %(\w+)", self.head[3]):
            self.pointers[parameter] = (parameter, 0)
        used = self._used()
        targets = {name for line in self.lines for name in re.findall(r"label %(\w+)", line)}
        self._find_phis()
        for line in self.lines:
            if line.endswith(":"):
                self.block = line[:-1]
                self.body += [f"{self.block}:;"] if self.block in targets else []
            elif " = " in line:
                name, what = line[1:].split(" = ", 1)
                if name in used or what.startswith("call i1"):
                    self._value(name, what, name in used)
            else:
                self._statement(line)
        kind = {"void": "void", "i1": "int"}[self.head[1]]
        parameters = ", ".join(
            f"{'' if name in self.written else 'const '}double *{name}"
            for name in re.findall(r"ptr %(\w+)", self.head[3])
        )
        lane = ["    int l;"] if self.lanes else []
        unused = [f"    (void){name};" for name in re.findall(r"ptr %(\w+)", self.head[3])]
        lines = [f"static {kind} {self.head[2]}({parameters})", "{", *lane, *self.first, *unused, *self.body, "}", ""]
        return "\n".join(lines)

    def _used(self) -> set[str]:
        """Values that something comes of."""
        found: set[str] = set()
        for line in reversed([*self.lines, *self.lines]):  # twice: what a loop's head takes comes after it
            name, _, what = line.rpartition(" = ")
            if not name or name[1:] in found or what.startswith("call i1"):
                found.update(re.findall(r"%(\w+)", what))
        return found

    def _find_phis(self) -> None:
        block = "entry"
        for line in self.lines:
            if line.endswith(":"):
                block = line[:-1]
            found = re.match(r"%(\w+) = phi i64 (.*)", line)
            if found:
                self.first.append(f"    long {found[1]};")
                for value, source in re.findall(r"\[([^,]+), %(\w+)\]", found[2]):
                    self.phis.setdefault(block, []).append((found[1], self._scalar(value), source))

    # ----------------------------------------------------------------------------------------------------- operands
    def _scalar(self, text: str) -> str:
        text = text.strip()
        if text in ("true", "false"):
            return str(int(text == "true"))
        if text.startswith("%"):
            return text[1:]
        return literal(float(text), DOUBLE) if "." in text else text

    def _place(self, pointer: str, more: str = "") -> str:
        base, offset = self.pointers[pointer.lstrip("%")]
        return f"{base}[{more}]" if more and not offset else f"{base}[{offset}{' + ' * bool(more)}{more}]"

    def _vector(self, text: str) -> Lane:
        """A vector that has a name, or one that is the same number in all lanes."""
        text = text.strip()
        if text.startswith("%"):
            return self.vectors[text[1:]]
        (bits,) = {*re.findall(r"double (0x[0-9A-Fa-f]+)", text)}
        value = literal(struct.unpack(">d", bytes.fromhex(bits[2:]))[0], DOUBLE)
        return lambda lane: value

    def _let_vector(self, name: str, width: str, lane: Lane) -> None:
        self.lanes = int(width)
        self.body.append(f"    double {name}[{width}];")
        self.body.append(f"    for (l = 0; l < {width}; l++) {name}[l] = {lane('l')};")
        self.vectors[name] = lambda lane: f"{name}[{lane}]"

    # ------------------------------------------------------------------------------------------------------- values
    def _value(self, name: str, what: str, used: bool) -> None:
        if what.startswith("phi "):
            return
        for pattern, method in (
            (r"getelementptr double, ptr (%\w+), i64 (\d+)$", self._moved),
            (rf"shufflevector {_VECTOR} (%\w+), .*, <\d+ x i32> (zeroinitializer|<i32 (\d+),.*)$", self._spread),
            (rf"insertelement {_VECTOR} (.+), double (%\w+), i\d+ (\d+)$", self._insert),
            (rf"load {_VECTOR}, ptr (%\w+)", self._load_vector),
            (rf"(fadd|fmul|fneg) {_VECTOR} (.+)$", self._vector_operation),
            (rf"call {_VECTOR} @llvm\.fma\.\w+\((.*)\)$", self._vector_fma),
            (rf"select {_VECTOR} <([^>]*)>, {_VECTOR} (%\w+|<.*?>), {_VECTOR} (.+)$", self._vector_select),
        ):
            found = re.match(pattern, what)
            if found:
                method(name, *found.groups())
                return
        kind, expression = self._expression(what)
        self.body.append(f"    const {kind} {name} = {expression};" if used else f"    (void){expression};")

    def _expression(self, what: str) -> tuple[str, str]:
        found = re.match(r"load double, ptr (%\w+)$", what)
        if found:
            return "double", self._place(found[1])
        found = re.match(r"(fadd|fsub|fmul|fdiv|and|or|add) (double|i1|i64) ([^,]+), ([^,]+)$", what)
        if found:
            return _TYPES[found[2]], f"{self._scalar(found[3])} {_WORDS[found[1]]} {self._scalar(found[4])}"
        found = re.match(r"[fi]cmp (\w+) \w+ ([^,]+), ([^,]+)$", what)
        if found:
            a, b = self._scalar(found[2]), self._scalar(found[3])
            ordered = f"({a} < {b} || {a} > {b})" if found[1] == "one" else f"{a} {_COMPARISONS[found[1]]} {b}"
            return "int", ordered
        found = re.match(r"fneg double (%\w+)$", what)
        if found:
            return "double", f"-{self._scalar(found[1])}"
        found = re.match(r"xor i1 (%\w+), true$", what)
        if found:
            return "int", f"!{self._scalar(found[1])}"
        found = re.match(r"select i1 ([^,]+), (\w+) ([^,]+), \w+ ([^,]+)$", what)
        if found:
            c, a, b = (self._scalar(found[k]) for k in (1, 3, 4))
            return _TYPES[found[2]], f"{c} ? {a} : {b}"
        found = re.match(r"extractelement <\d+ x double> (%\w+), i64 (\d+)$", what)
        if found:
            return "double", self._vector(found[1])(found[2])
        found = re.match(r"call double @llvm\.(\w+)\.f64\((.*)\)$", what)
        if found:
            given = ", ".join(self._scalar(x.replace("double ", "")) for x in found[2].split(", "))
            return "double", f"{_CALLS[found[1]]}({given})"
        found = re.match(r"call i1 @(\w+)\((.*)\)$", what)
        if found:
            return "int", self._call(found[1], found[2])
        raise ValueError(f"no C for the IR {what!r}")

    def _moved(self, name: str, base: str, offset: str) -> None:
        root, first = self.pointers[base[1:]]
        self.pointers[name] = (root, first + int(offset))

    def _spread(self, name: str, _: str, source: str, where: str, k: str | None) -> None:
        value = self._vector(source)(k or "0")
        self.vectors[name] = lambda lane: value

    def _insert(self, name: str, width: str, source: str, value: str, k: str) -> None:
        if source == "poison":
            self.vectors[name] = lambda lane: self._scalar(value)
            return
        self._let_vector(name, width, self._vector(source))
        self.body.append(f"    {name}[{k}] = {self._scalar(value)};")

    def _load_vector(self, name: str, width: str, pointer: str) -> None:
        self._let_vector(name, width, lambda lane: self._place(pointer, lane))

    def _vector_operation(self, name: str, word: str, width: str, operands: str) -> None:
        given = [self._vector(x) for x in (operands.split(", ", 1) if word != "fneg" else [operands])]
        if word == "fneg":
            self.vectors[name] = lambda lane: f"-{given[0](lane)}"
        else:
            self._let_vector(name, width, lambda lane: f"{given[0](lane)} {_WORDS[word]} {given[1](lane)}")

    def _vector_fma(self, name: str, width: str, operands: str) -> None:
        given = [self._vector(x) for x in re.split(rf",? ?{_VECTOR} (?=%|<)", operands)[2::2]]
        assert len(given) == 3
        self._let_vector(name, width, lambda lane: f"fma({', '.join(x(lane) for x in given)})")

    def _vector_select(self, name: str, width: str, mask: str, _: str, a: str, __: str, b: str) -> None:
        bits = [x == "i1 1" for x in mask.split(", ")]
        count = sum(bits)
        assert bits == sorted(bits, reverse=True)  # the first lanes
        one, other = self._vector(a), self._vector(b)
        if count in (0, len(bits)):
            self.vectors[name] = one if count else other
        else:
            self._let_vector(name, width, lambda lane: f"{lane} < {count} ? {one(lane)} : {other(lane)}")

    # --------------------------------------------------------------------------------------------------- statements
    def _call(self, name: str, given: str) -> str:
        roots = [self.pointers[x] for x in re.findall(r"ptr %(\w+)", given)]
        self.written |= {root for root, _ in roots}
        return f"{name}({', '.join(root if not at else f'{root} + {at}' for root, at in roots)})"

    def _jump(self, target: str) -> str:
        moves = [f"{x} = {value}; " for x, value, source in self.phis.get(target, ()) if source == self.block]
        return f"{''.join(moves)}goto {target};"

    def _statement(self, line: str) -> None:
        found = re.match(rf"store {_VECTOR} (.+), ptr (%\w+), align \d+$", line)
        if found:
            self.lanes, value = int(found[1]), self._vector(found[2])
            self.written.add(self.pointers[found[3][1:]][0])
            at = self._place(found[3], "l")
            self.body.append(f"    for (l = 0; l < {found[1]}; l++) {at} = {value('l')};")
            return
        found = re.match(r"store double ([^,]+), ptr (%\w+)$", line)
        if found:
            self.written.add(self.pointers[found[2][1:]][0])
            self.body.append(f"    {self._place(found[2])} = {self._scalar(found[1])};")
            return
        found = re.match(r"call void @(\w+)\((.*)\)$", line)
        if found:
            self.body.append(f"    {self._call(found[1], found[2])};")
            return
        found = re.match(r"br i1 ([^,]+), label %(\w+), label %(\w+)$", line)
        if found:
            condition = self._scalar(found[1])
            self.body.append(f"    if ({condition}) {{ {self._jump(found[2])} }} else {{ {self._jump(found[3])} }}")
            return
        found = re.match(r"br label %(\w+)$", line)
        if found:
            self.body.append(f"    {self._jump(found[1])}")
            return
        found = re.match(r"ret (?:void|i1 (.+))$", line)
        if found is None:
            raise ValueError(f"no C for the IR {line!r}")
        self.body.append(f"    return {self._scalar(found[1])};" if found[1] else "    return;")
