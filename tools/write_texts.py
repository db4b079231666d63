"""Write tests/texts.txt: the text of every error and warning of `src`, with its code, from the fields in the source.

python tools/write_texts.py             write the file, after a message was reworded
python tools/write_texts.py --uncoded   print the places in `src` that raise a sentence without a code
"""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

from dalembert.errors import CODE, DalembertError, InputError

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "dalembert"
FILE = ROOT / "tests" / "texts.txt"
FIELDS = ("code", "argument", "value", "expected", "remedy", "problem")
METHODS = {"refuse", "error"}  # that return an error: Place.refuse, Element.refuse, Source.error
NAMED = {"UnknownNameError", "unknown"}  # their code is unknown-name, their first argument what is named


class Placeholder:
    """A value that the source does not know: its text is the expression that computes it, in braces."""

    def __init__(self, expression: ast.expr) -> None:
        self.text = "{" + ast.unparse(expression) + "}"

    def __repr__(self) -> str:
        return self.text


@cache
def modules() -> list[tuple[str, ast.Module]]:
    files = sorted(SRC.rglob("*.py"))
    return [(file.relative_to(SRC).as_posix(), ast.parse(file.read_text(encoding="utf-8"))) for file in files]


@cache
def error_classes() -> set[str]:
    """Names of the errors and warnings of Dalembert and of the methods and functions that return one."""
    bases = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {"DalembertError", "DalembertWarning"}
    while new := {name for name, own in bases.items() if own & found} - found:
        found |= new
    return found


@cache
def calls() -> list[tuple[str, ast.Call, str]]:
    """(module, call, name of what is called) of every error and warning that `src` makes."""
    found = []
    for module, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func).rpartition(".")[2]
                if name in error_classes() or name in NAMED or (name in METHODS and any(map(is_code, node.args))):
                    found.append((module, node, name))
    return found


def is_code(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in documented_codes()


@cache
def assigned() -> dict[int, dict[str, ast.expr]]:
    """The texts that names stand for in each call: the last assignments before its statement, in the same block."""
    found: dict[int, dict[str, ast.expr]] = {}
    for _, tree in modules():
        for block in (b for node in ast.walk(tree) for b in (getattr(node, "body", []), getattr(node, "orelse", []))):
            names: dict[str, ast.expr] = {}
            for statement in block if isinstance(block, list) else ():
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    names[statement.targets[0].id] = statement.value
                elif isinstance(statement, (ast.Raise, ast.Return)):
                    found |= {id(n): dict(names) for n in ast.walk(statement) if isinstance(n, ast.Call)}
    return found


def has_code(call: ast.Call) -> bool:
    first = call.args[0] if call.args else None
    return isinstance(first, ast.Constant) and isinstance(first.value, str) and bool(CODE.fullmatch(first.value))


def uncoded() -> list[str]:
    """Places that make an error of a sentence alone."""
    passed_on = (ast.Name, ast.Attribute, ast.Starred)  # the code or the fields of another error
    return [
        f"{module}:{call.lineno} {ast.unparse(call)[:100]}"
        for module, call, name in calls()
        if name not in {*NAMED, *METHODS}
        and not has_code(call)
        and call.args
        and not isinstance(call.args[0], passed_on)
    ]


def codes() -> set[str]:
    """Codes that `src` uses."""
    return {call.args[0].value for _, call, name in calls() if name not in NAMED and has_code(call)}  # type: ignore[attr-defined]


@cache
def documented_codes() -> set[str]:
    """Codes that docs/errors.md lists."""
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8").partition("## Codes")[2]
    return set(re.findall(r"^\| `([\w-]+)` \|", text, re.MULTILINE))


def template(node: ast.expr) -> str:
    """The text of an expression, with what it computes in braces."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(template, node.values))
    if isinstance(node, ast.FormattedValue):
        return "{" + ast.unparse(node.value) + "}"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return template(node.left) + template(node.right)
    return "{" + ast.unparse(node) + "}"


def text_of(call: ast.Call, name: str) -> str:
    """`code: text` of an error, with what only a run knows in braces."""
    if name in NAMED:
        kind = template(call.args[0]) if call.args else "{kind}"
        return f"unknown-name: unknown {kind} {{name}}"
    if name.endswith("Warning"):
        return ": ".join(template(argument) for argument in call.args[:2])
    own = call.args[next(k for k, node in enumerate(call.args) if is_code(node) or name not in METHODS) :]
    fields = dict(zip(FIELDS, own, strict=False)) | {w.arg: w.value for w in call.keywords if w.arg in FIELDS}
    texts = assigned().get(id(call), {})
    fields = {key: texts.get(x.id, x) if isinstance(x, ast.Name) and key != "value" else x for key, x in fields.items()}
    known: dict[str, object] = {field: template(node) for field, node in fields.items() if field != "value"}
    if known.get("argument") == "None":
        known["argument"] = None
    if "value" in fields:
        known["value"] = Placeholder(fields["value"])
    return f"{known['code']}: {' '.join(str(make(known)).split())}"


def make(fields: dict[str, object]) -> DalembertError:
    problem, code, argument = (str(fields.pop(f, "") or "") for f in ("problem", "code", "argument"))
    value = fields.pop("value", ...)
    return InputError(code, argument or None, value, problem=problem, **{f: str(v) for f, v in fields.items()})


def texts() -> str:
    """The contents of tests/texts.txt."""
    found: dict[str, set[str]] = {}
    for module, call, name in calls():
        if has_code(call) or name in NAMED or name in METHODS:
            found.setdefault(module, set()).add(text_of(call, name))
    return "".join(f"# {module}\n" + "".join(f"{line}\n" for line in sorted(found[module])) for module in sorted(found))


if __name__ == "__main__":
    if "--uncoded" in sys.argv:
        print(*uncoded(), sep="\n")
    else:
        FILE.write_text(texts(), encoding="utf-8")
