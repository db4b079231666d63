"""Arguments in messages, and values of options as text.

A message names an argument with `assign` or `mention`, in backticks, as in `` `rate=100` ``. The command line maps it
to its option with `with_options`, --rate 100. `read_value` reads the values of options: q=deg,tau=mNm, 1,-1,1 or 90deg.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence

# 1.5, 90deg, 90°, pi, -pi/2, 3pi/4, 0.5*π; a minus sign also as tables print it.
NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<factor>nan|inf|[\d.]*(?:e[+-]?\d+)?)\*?(?P<unit>deg|°|pi|π)?(?:/(?P<by>[\d.]+))?"
)
UNITS = {None: 1.0, "deg": math.pi / 180, "°": math.pi / 180, "pi": math.pi, "π": math.pi}
NUMBERS = re.compile(r"[-+−\d.e\s,]+")  # between which blanks may stand for commas
RANGE = re.compile(r"(\d+)-(\d+)")  # 1-6: whole numbers, the last one too


def with_options(text: str, options: Mapping[str, str]) -> str:
    """Return a message with `` `q0` `` and `` `rate=100` `` as options of a command, --q0 and --rate 100.

    `options` has the spelling of each argument that is an option; other names keep their backticks. A spelling that
    ends with an equals sign, as in "--set rate=", is followed by the value directly.
    """

    def write(found: re.Match[str]) -> str:
        name, key, value = found.groups()
        if name not in options:
            return found[0]
        given = f"{key}=…" if key else "" if value is None else write_value(_read_python(value))
        option = options[name]
        return f"{option}{given}" if given and option.endswith("=") else f"{option.removesuffix('=')} {given}".strip()

    return re.sub(r"`(\w+)(?:\['(\w+)'\])?(?:=([^`]+))?`", write, text)


def assign(name: str, value: object = ...) -> str:
    """Return an argument with its value, for a message: `` `units={'q': 'deg'}` ``.

    An ellipsis stands for a value that only the reader knows.
    """
    return f"`{name}={_in_python(value)}`"


def mention(name: str, group: str | None = None) -> str:
    """Return the name of an argument, or of one group of it, for a message: `` `rate` `` or `` `sign['tau']` ``."""
    return f"`{name}[{group!r}]`" if group else f"`{name}`"


def _read_python(text: str) -> object:
    """The value of a Python literal, of … and of range(a, b)."""
    text = re.sub(r"range\((\d+), (\d+)\)", lambda m: str(list(range(int(m[1]), int(m[2])))), text)
    return ast.literal_eval(text.replace("…", "..."))


def _in_python(value: object) -> str:
    if value is ...:
        return "…"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_in_python(x)}" for key, x in value.items()) + "}"
    if run := _whole_run(value):
        return repr(run)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_in_python, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else repr(value)


def _whole_run(value: object) -> range | None:
    """The range of whole numbers ≥ 0 that a value is, if it has three of them or more."""
    if not isinstance(value, (list, tuple, range)) or len(value) < 3 or not isinstance(value[0], int) or value[0] < 0:
        return None
    run = range(value[0], value[0] + len(value))
    return run if list(value) == list(run) else None


# ------------------------------------------------------------------------------------------------ values as text
def write_value(value: object) -> str:
    """A value as an option takes it; `read_value` reads it back. In quotes if a shell would split or expand it."""
    text = _written(value)
    return f'"{text}"' if re.search(r"[\s{}()\[\]$*;|]", text) else text


def _written(value: object) -> str:
    if value is None:
        return "none"
    if value is ...:
        return "…"
    if isinstance(value, Mapping):
        return ",".join(f"{key}={_written(x)}" for key, x in value.items())
    if run := _whole_run(value):
        return f"{run.start}-{run.stop - 1}"
    if isinstance(value, float):
        return f"{value:.12g}"
    if hasattr(value, "tolist"):
        return _written(value.tolist())
    if isinstance(value, Iterable) and not isinstance(value, str):
        rows = list(value)
        return (";" if any(isinstance(x, (list, tuple)) for x in rows) else ",").join(map(_written, rows))
    return str(value)


def read_value(text: str, keys: Sequence[str] = ()) -> object:
    """What an option says: numbers where they are numbers, else words; 'none' is None, 1-6 a range; several with commas
    are a list, with semicolons a list of lists; with `key=` before them, if it is one of these keys (any, if there
    are none), a dictionary."""
    if ";" in text:
        return [_several(row.split(",")) for row in text.split(";") if row.strip()]
    groups: dict[str, list[str]] = {}
    plain: list[str] = []
    blank = r"\s*,\s*|\s+" if NUMBERS.fullmatch(text) else rf",|\s+(?=(?:{'|'.join(keys) or '$^'})=)"
    for part in re.split(blank, text.strip()):
        key, mark, rest = part.partition("=")
        if mark and (key.strip() in keys or not keys):
            groups[key.strip()] = plain = [rest]
        else:
            plain.append(part)
    if groups:
        return {key: _one_or_several(parts) for key, parts in groups.items()}
    return _one_or_several(plain)


def _several(parts: Iterable[str]) -> list[object]:
    found: list[object] = []
    for part in (p.strip() for p in parts):
        bounds = RANGE.fullmatch(part)
        found += range(int(bounds[1]), int(bounds[2]) + 1) if bounds else [_word(part)]
    return found


def _one_or_several(parts: Sequence[str]) -> object:
    found = _several(parts)
    return found[0] if len(found) == 1 else found


def _word(part: str) -> object:
    if part.lower() == "none":
        return None
    value = read_number(part)
    if value is None:
        return part
    return int(value) if re.fullmatch(r"[-+]?\d+", part) else value


def read_number(part: str) -> float | None:
    """A number as people write one, angles with their unit; None if it is none."""
    found = NUMBER.fullmatch(part.strip().lower().replace("−", "-"))
    try:
        if found is None:
            return None
        unit = found["unit"]
        factor = found["factor"] or ("1" if unit in ("pi", "π") else "")
        return float(found["sign"] + factor) * UNITS[unit] / float(found["by"] or 1)
    except (ValueError, ZeroDivisionError):
        return None
