"""Names that a stranger gave, made safe for where they are shown: a terminal, Markdown, a table, source code, a file.

Any text may be a name. HTML has `html.escape`; LaTeX is escaped by the printers of `symbolic`.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Sequence

from dalembert.errors import InputError

# What steers a terminal instead of being shown: controls but tabs and ends of lines, and marks of direction; and the
# bytes of a file name that are not UTF-8, which cannot be printed.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAK = re.compile("\\s*[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]\\s*")
_MARKED = re.compile(r"[\\`*$]")
# Names that generated sources use: words and functions of the language, their own variables, modules.
C_WORDS = re.compile(
    "[vt][0-9]+|dalembert_.*|state_|states|INFINITY|NAN|u?int(32|64)_t|auto|break|case|char|const|continue|default|do|"
    "double|else|enum|extern|float|for|goto|if|inline|int|long|register|restrict|return|short|signed|sizeof|static|"
    "struct|switch|typedef|union|unsigned|void|volatile|while|"
    "(a?sin|a?cos|a?tan|atan2|sqrt|exp|log|tanh|fma|fabs|fmin|fmax|floor|ceil|pow)f?"
)
PYTHON_WORDS = re.compile("|".join(["v[0-9]+|out[0-9]+|batch|np|jnp|lax", *keyword.kwlist, *dir(builtins)]))
# How a formula of a spreadsheet begins: in full width too, and after spaces and characters without width.
_FORMULA = re.compile(
    "[\t\r]|[\\s\u00ad\u180e\u200b-\u200f\u2060-\u206f\ufe00-\ufe0f\ufeff]*[=+@\uff1d\uff0b\uff20\ufe62\ufe66\ufe6b\u2212\uff0d\ufe63-]"
)


def in_terminal(text: str) -> str:
    """The text with what would steer a terminal spelled out, \\u001b, as JSON too would write it."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def in_line(text: str) -> str:
    """The text on one line."""
    return _BREAK.sub(" ", text)


def in_markdown(text: str) -> str:
    """One line of Markdown that shows the text: no tags, no links, no formulas."""
    safe = in_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKED.sub(r"\\\g<0>", safe).replace("](", "]&#40;")


def in_table(name: str) -> str:
    """The head of a column, which no spreadsheet takes for a formula."""
    return f"'{name}" if _FORMULA.match(name) else name


def from_table(text: str) -> str:
    """The name that `in_table` wrote: 't Hooft keeps its apostrophe."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text[1:]) else text


def identifier(name: str) -> str:
    """A name of C and of Python."""
    text = "".join(c if c.isalnum() and c.isascii() else "_" for c in name)
    return text if text[:1].isalpha() else f"f_{text}"


def in_docstring(text: str) -> str:
    """Return the text as it must stand between three quotation marks in Python."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def parameter_names(function: str, names: Sequence[str], words: re.Pattern[str]) -> tuple[str, ...]:
    """Return names as those of the parameters of a generated function. `words`: `C_WORDS` or `PYTHON_WORDS`.

    Raises InputError if two of them become the same, or if the generated code needs one for itself."""
    made = tuple(map(identifier, names))
    for given, name in zip(names, made, strict=True):
        if made.count(name) > 1:
            problem = f"two arguments of {function} are called {name!r} in generated code"
            raise InputError("duplicate", "arguments", name, problem=problem, remedy="Rename one of them.")
        if words.fullmatch(name):
            problem = f"generated code needs the name {name!r} for itself"
            raise InputError("conflict", "arguments", given, problem=problem, remedy=f"Rename the argument {given!r}.")
    return made


def function_name(name: str, words: re.Pattern[str]) -> str:
    """Return the name of a generated function. `words`: `C_WORDS` or `PYTHON_WORDS`.

    Raises InputError if the generated code needs the name for itself."""
    made = identifier(name)
    if words.fullmatch(made):
        problem = f"generated code needs the name {made!r} for itself"
        raise InputError("conflict", "name", name, problem=problem, remedy="Give the function another name.")
    return made


def file_name(name: str) -> str:
    """The name of a file, without its ending, in the folder it is written to."""
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip("-.")
    return kept[:100] or "robot"
