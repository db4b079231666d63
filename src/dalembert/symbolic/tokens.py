r"""The tokens of a formula: numbers, names, functions and signs, out of plain text, blackboard text, Unicode and LaTeX.

A name is put together from its letters, index and dots (\dot{\theta}_{1}, θ̇₁ and theta1_dot are thetad1), or taken
apart where names run together (m₂l₁, mgl, cosq2). Every token knows its place in the text as it was typed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

from dalembert.errors import InputError
from dalembert.symbolic.collect import split_name
from dalembert.symbolic.text import GREEK

LONGEST, LONGEST_NAME, DEEPEST = 100_000, 60, 50  # characters, characters; brackets inside each other
FUNCTIONS = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "abs", "sgn")
ALIASES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "Atan2": "atan2", "ln": "log"}
ALIASES |= {"sign": "sgn", "signum": "sgn", "Abs": "abs", "fabs": "abs", "tg": "tan", "sen": "sin", "Sin": "sin"}
ALIASES |= {name: name for name in (*FUNCTIONS, "sec", "csc", "cot")} | {"Cos": "cos", "Sqrt": "sqrt"}
ANGLE = re.compile(r"q[a-z]{0,2}\d*|(?:theta|phi|psi|alpha|beta|gamma)[a-z]{0,3}\d*")
NO_NUMBERS = ("nan", "inf", "infinity", "infty", "true", "false", "none")

_BLANK = " ~$&"
_LETTER = {letter: name for name, (letter, _) in GREEK.items()}
_STROKES = str.maketrans(dict.fromkeys("−–—‐‑‒", "-") | dict.fromkeys("×⋅·∙•∗", "*") | dict.fromkeys("÷∕⁄", "/"))
_ALIKE = str.maketrans({"∆": "Δ", "ℓ": "l", "’": "'", "′": "'", "″": "''", "≡": "=", "º": "°", "∘": "°"})
_UNSEEN = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u2061\u2062\u2063"))
_SAME: dict[int, str | None] = {**_STROKES, **_ALIKE, **_UNSEEN, **dict.fromkeys(map(ord, "\t\r\n"), " ")}
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀ", "0123456789+-T", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ₐₑᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", "0123456789+-aeijklmnoprstuvx", strict=True))
_MARKS = {"\u0307": "d", "\u0308": "dd", "\u20db": "ddd", "\u0304": "bar", "\u0302": "hat", "\u0303": "tilde"}
# LaTeX: what stands for a sign, for a letter; what is dropped, alone or with its argument.
_ACCENTS = {"dot": "d", "ddot": "dd", "dddot": "ddd", "bar": "bar", "overline": "bar", "hat": "hat", "tilde": "tilde"}
_SIGNS = {"cdot": "*", "times": "*", "ast": "*", "div": "/", "lvert": "|", "rvert": "|", "vert": "|", "equiv": "="}
_SIGNS |= {"lbrack": "[", "rbrack": "]", "lbrace": "(", "rbrace": ")", "{": "(", "}": ")", "circ": "°", "prime": "'"}
_LETTERS = {"ell": "l", "varphi": "phi", "vartheta": "theta", "varepsilon": "epsilon", "varrho": "rho"}
_FRACTIONS = re.compile(r"[tdc]?frac|nicefrac|sfrac")
_FONTS = re.compile(r"math(rm|bf|it|sf|cal|scr|frak|bb)|boldsymbol|bm|pmb|text(rm|it|bf)?|operatorname|mbox")
_DROPPED = re.compile(
    r"left|right|middle|[bB]igg?[lrm]?|(display|text)style|nonumber|notag|q?quad|hline|rm|bf|[,;:! ()\[\]\\]"
)
_DROPPED_WITH_ARGUMENT = re.compile(r"label|tag|hspace|phantom|color")
_GRIDS = re.compile(r"([bpB]|small)?matrix|array")
_LAYOUTS = re.compile(r"align(ed)?|equation|split|gather(ed)?|multline|eqnarray|displaymath|math")
_UNFINISHED = {
    "partial": "a derivative",
    "int": "an integral",
    "sum": "a sum",
    "prod": "a product",
    "nabla": "a gradient",
}
_UNFINISHED |= {"lim": "a limit", "∂": "a derivative", "∫": "an integral", "∑": "a sum"}
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+(?![A-Za-z.]))?")
_WORD = re.compile(r"[A-Za-z]+")
_COMMAND = re.compile(r"\\([A-Za-z]+|.?)\*?")
_RATE = re.compile(r"(?P<d>dd?)(?P<a>q|theta|phi)(?P<i>\d*)|(?P<b>[A-Za-z]+?)(?P<j>\d*)(?P<e>d?)dot(?P<k>\d*)")
_ALWAYS = re.compile(rf"(?:q|theta|phi)d{{0,3}}\d*|[cs][1-9]+|det|sgn\d+|(?:{'|'.join(GREEK)})\d*")
_RUN = re.compile(r"((?:[A-Za-z]{1,2}\d+)+)([A-Za-z]?)")  # m2l1g, where nothing is known of the names


@dataclass(frozen=True, slots=True)
class Token:
    """kind: number, name, function, end, or the sign itself. `spaced`: blanks stand before it."""

    kind: str
    text: str
    start: int
    end: int
    spaced: bool = False


def clean(text: str) -> tuple[str, list[int]]:
    """(the text in few characters: one minus, one product sign, accents as marks of their own, indices and powers as
    _{…} and ^{…}; where each character stood)."""
    if not isinstance(text, str):
        raise InputError("wrong-type", "formula", text, expected="text")
    if len(text) > LONGEST:
        problem = f"a formula may have at most {LONGEST:,} characters, got {len(text):,}"
        raise InputError("too-large", "formula", problem=problem)
    out: list[tuple[str, int]] = []
    before = ""
    for k, c in enumerate(text):
        kind = "^" if c in _RAISED else "_" if c in _LOWERED else ""
        if before and kind != before:
            out.append(("}", k - 1))
        if kind:
            out.append((("" if kind == before else kind + "{") + (_RAISED.get(c) or _LOWERED[c]), k))
        elif "⁄" in (plain := c if c.isascii() else unicodedata.normalize("NFKD", c)) and len(plain) > 1:  # ½
            out.append(("\\frac{{{}}}{{{}}}".format(*plain.split("⁄")), k))
        else:
            out.append((plain.translate(_SAME), k))
        before = kind
    out.append(("}" if before else "", len(text) - 1))
    return "".join(part for part, _ in out), [k for part, k in out for _ in part]


class Lexer:
    """`names` are those that may occur."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.source = text
        self.text, self.origin = clean(text)
        self.names = frozenset(names)
        self.spelled = {name.replace("_", ""): name for name in sorted(self.names)}
        self.tex = "\\" in self.text or "_{" in text
        self.out: list[Token] = []
        self.spaced, self.depth = False, 0
        self.scan(0, len(self.text))
        self.put("end", "", len(self.text), len(self.text))

    def put(self, kind: str, text: str, start: int, end: int) -> None:
        place = [*self.origin[start : start + 1], len(self.source)][0]
        self.out.append(Token(kind, text, place, self.origin[end - 1] + 1 if end > start else place, self.spaced))
        self.spaced = False

    def near(self, i: int) -> str:
        return repr(self.source[self.origin[i] :][:14]) if i < len(self.origin) else "the end"

    def scan(self, i: int, end: int) -> list[Token]:
        """Read a stretch of text; what was found is taken off the list again only by those who ask for it."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise InputError("too-large", "formula", problem="the formula is nested too deeply")
        first = len(self.out)
        while i < end:
            i = self.step(i, end)
        self.depth -= 1
        return self.out[first:]

    def step(self, i: int, end: int) -> int:
        c = self.text[i]
        if c in _BLANK:
            self.spaced = True
            return i + 1
        if c == "\\":
            return self.command(i, end)
        if c in _LETTER:
            return self.name(i, _LETTER[c], i + 1, end)
        if word := _WORD.match(self.text, i, end):
            return self.word(i, word.end(), end)
        if number := _NUMBER.match(self.text, i, end):
            self.put("number", number[0], i, number.end())
            return number.end()
        if c == "^" or self.text.startswith("**", i):
            return self.power(i, i + 1 + (c == "*"), end)
        if c == "{":
            a, b, after = self.argument(i, end)
            return self.brace(i, a, b, after, end)
        if c == ")" and self.text[i + 1 : i + 2] == "_" and [t.kind for t in self.out[-2:]] == ["(", "name"]:
            name = self.out.pop()  # (I_{33})_1
            self.out.pop()
            return self.goes_on(i, name.text, i + 1, end)
        if c in "+-*/()[],;=|°√":
            self.put(*(("function", "sqrt") if c == "√" else (c, "")), i, i + 1)
            return i + 1
        if c == "." and not self.text[i:end].strip(" .$"):
            return end
        raise InputError("syntax", "formula", problem=self.no_sign(c, i))

    def no_sign(self, c: str, i: int) -> str:
        if c in _UNFINISHED:
            return f"{_UNFINISHED[c]} is to be carried out: write the result"
        if not c.isprintable():
            return f"the formula holds a character that cannot be printed: {c!r}"
        if c.isalpha():
            return f"{c!r} is {unicodedata.name(c, 'an unknown letter').lower()}: names have Latin or Greek letters"
        return f"{c!r} has no meaning in a formula, near {self.near(i)}"

    def argument(self, i: int, end: int) -> tuple[int, int, int]:
        """(start and end of what a LaTeX command takes: a group, a command, one character; where it goes on)."""
        while i < end and self.text[i] == " ":
            i += 1
        if i >= end:
            raise InputError("syntax", "formula", problem="the formula ends where something in braces should follow")
        if self.text[i] == "\\" and (command := _COMMAND.match(self.text, i, end)):
            known = _FONTS.fullmatch(command[1]) or command[1] in _ACCENTS
            return i, (stop := self.argument(command.end(), end)[2] if known else command.end()), stop
        if self.text[i] != "{":
            return i, i + 1, i + 1
        depth = 0
        for k in range(i, end):
            if self.text[k] in "{}" and self.text[k - 1] != "\\":
                depth += 1 if self.text[k] == "{" else -1
                if depth == 0:
                    return i + 1, k, k + 1
        raise InputError("syntax", "formula", problem=f"a brace is not closed, near {self.near(i)}")

    def group(self, at: int, a: int, b: int, text: str = "") -> None:
        self.put("(", text, at, a)
        self.scan(a, b)
        self.put(")", "", b - 1, b)

    def brace(self, at: int, a: int, b: int, after: int, end: int) -> int:
        """{…}: a group; {\\dot q}_1 is one name."""
        if self.text[a:b].strip() == ",":
            remedy = "Write numbers with a decimal point, as in 0.5."
            raise InputError("syntax", "formula", problem="a decimal comma is ambiguous", remedy=remedy)
        word = self.text[a:b].replace(" ", "")
        if word in ALIASES:
            self.put("function", ALIASES[word], at, after)
            return after
        first, spaced = len(self.out), self.spaced
        found = self.scan(a, b)
        if len(found) == 1 and found[0].kind == "name":
            self.out.pop()
            self.spaced = spaced
            return self.goes_on(at, found[0].text, after, end)
        if len(found) > 1:
            opened = Token("(", "", found[0].start, found[0].start, spaced)
            self.out[first:] = [opened, *found]
            self.put(")", "", after - 1, after)
        return after

    def power(self, at: int, i: int, end: int) -> int:
        """What follows ^: a group or one sign in LaTeX, an operand in plain text."""
        if not re.compile(r"\s*[{\\T°]").match(self.text, i, end):
            self.put("^", "", at, i)
            return i
        a, b, after = self.argument(i, end)
        inner = self.text[a:b].strip()
        if inner in ("\\circ", "°"):
            self.put("°", "", at, after)
        elif inner in ("T", "\\top", "\\mathrm{T}", "\\intercal", "\\mathsf{T}"):
            self.put("T", "", at, after)
        elif self.text[a - 1] == "{":
            self.put("^", "", at, a)
            self.group(a, a, b)
        else:
            self.put("^", "", at, i)
            return i
        return after

    def command(self, at: int, end: int) -> int:
        found = _COMMAND.match(self.text, at, end)
        assert found is not None
        name, i = found[1], found.end()
        if _DROPPED.fullmatch(name):
            self.spaced = True
            return i + (name in ("left", "right") and self.text[i : i + 1] == ".")
        if name in _SIGNS:
            self.put(_SIGNS[name], "", at, i)
        elif _FRACTIONS.fullmatch(name):
            a, b, i = self.argument(i, end)
            c, d, i = self.argument(i, end)
            if self.text[a:b].strip() in ("d", "\\mathrm{d}", "{\\rm d}") or "\\partial" in self.text[a:d]:
                problem = "the formula contains a derivative"
                raise InputError("unsupported", "formula", problem=problem, remedy="Carry it out and write the result.")
            self.put("(", "frac", at, a)
            self.group(a, a, b)
            self.put("/", "", b, c)
            self.group(c, c, d)
            self.put(")", "", i - 1, i)
        elif name == "sqrt":
            self.put("function", name, at, i)
            if root := re.compile(r"\s*\[([^\[\]]*)\]").match(self.text, i, end):
                self.put("root", root[1], i, root.end())
                i = root.end()
            a, b, i = self.argument(i, end)
            self.group(a, a, b)
        elif name in _ACCENTS:
            a, b, i = self.argument(i, end)
            spaced = self.spaced
            inner = self.scan(a, b)
            if len(inner) != 1 or inner[0].kind != "name":
                problem = f"a dot or bar must be over one letter, near {self.near(at)}"
                raise InputError("syntax", "formula", problem=problem)
            self.out.pop()
            self.spaced = spaced
            return self.goes_on(at, inner[0].text, i, end, _ACCENTS[name])
        elif _FONTS.fullmatch(name):
            a, b, i = self.argument(i, end)
            return self.brace(at, a, b, i, end)
        elif name in ("begin", "end"):
            return self.environment(name, at, i, end)
        elif _DROPPED_WITH_ARGUMENT.fullmatch(name):
            return self.argument(i, end)[2]
        elif name in ALIASES:
            self.put("function", ALIASES[name], at, i)
        elif (letter := _LETTERS.get(name, name)) in GREEK or name in _LETTERS or name == "det":
            return self.name(at, letter, i, end)
        elif name in _UNFINISHED:
            problem = f"the formula contains {_UNFINISHED[name]}"
            raise InputError("unsupported", "formula", problem=problem, remedy="Carry it out and write the result.")
        else:
            problem = f"\\{name} has no meaning in a formula here, near {self.near(at)}"
            raise InputError("syntax", "formula", problem=problem)
        return i

    def environment(self, which: str, at: int, i: int, end: int) -> int:
        a, b, i = self.argument(i, end)
        kind = self.text[a:b].strip().rstrip("*")
        if not _GRIDS.fullmatch(kind):
            if not _LAYOUTS.fullmatch(kind):
                problem = f"the environment {kind} has no meaning in a formula here"
                raise InputError("syntax", "formula", problem=problem)
            return i
        if which == "end":
            raise InputError("syntax", "formula", problem=f"\\\\end{{{kind}}} has no beginning")
        i = self.argument(i, end)[2] if kind == "array" else i
        self.put("[", "rows", at, i)
        cell, row, depth = i, 0, 0
        marks = re.compile(r"\\begin\b|\\end\s*\{[^{}]*\}|\\\\(?:\[[^\[\]]*\])?|\\[{}]|[{}&]")
        for mark in marks.finditer(self.text, i, end):
            sign = mark[0]
            last = sign.startswith("\\end") and depth == 0
            if depth == 0 and (last or sign == "&" or sign.startswith("\\\\")):
                if not (last and not self.text[cell : mark.start()].replace("\\hline", "").strip()):
                    self.put(*(("&", "") if row else ("[", "rows")), cell, cell)
                    self.scan(cell, mark.start())
                    row += 1
                cell = mark.end()
                if sign != "&" and row:
                    self.put("]", "", cell, cell)
                    self.put(*(("]", "") if last else ("&", "")), mark.start(), cell)
                    row = 0
                elif last:
                    self.out[-1] = Token("]", "", self.out[-1].start, self.out[-1].end)
                if last:
                    return cell
            depth += (sign == "{" or sign == "\\begin") - (sign == "}" or sign.startswith("\\end"))
        raise InputError("syntax", "formula", problem=f"\\begin{{{kind}}} has no \\end{{{kind}}}")

    # Names.

    def word(self, i: int, j: int, end: int) -> int:
        """Letters, of which the last may have a dot or prime of its own."""
        letters = self.text[i:j]
        if letters in ("np", "numpy", "math", "sp", "sympy") and self.text[j : j + 1] == ".":
            return j + 1
        dotted = j < end and self.text[j] in (*_MARKS, "'")
        if len(letters) > 1 and dotted and letters not in GREEK and letters not in self.spelled:
            self.apart(i, letters[:-1], "", j - 1)
            return self.name(j - 1, letters[-1], j, end)
        return self.name(i, letters, j, end)

    def goes_on(self, at: int, name: str, i: int, end: int, mark: str = "") -> int:
        """A name that may have more after it: {\\dot q}_1, (I_{33})_1."""
        letters, digits, rest = split_name(name)
        return self.name(at, letters, i, end, mark, digits + rest)

    def name(self, at: int, base: str, i: int, end: int, mark: str = "", index: str = "") -> int:
        """A name whose letters end before i, with its digits, index, dots and primes."""
        open_, raised = base not in GREEK and not mark, None
        while i < end:
            c = self.text[i]
            if c in _MARKS or c == "'":
                mark += _MARKS.get(c) or ("d" if ANGLE.fullmatch(base) or base in "xyz" else "prime")
                i += 1
            elif c in "0123456789":
                run = re.compile(r"[0-9]+").match(self.text, i, end)
                assert run is not None
                index, i = index + run[0], run.end()
            elif below := re.compile(r"\s*_\s*" if self.tex else "_").match(self.text, i, end):
                a, b, i = self.index(below.end(), end)
                inner = self.text[a:b]
                if base in ("c", "s", "C", "S") and base not in self.names and re.search(r"\\[^,]|[α-ω]|q|th", inner):
                    self.put("function", {"c": "cos", "s": "sin"}[base.lower()], at, a)
                    self.group(a, a, b)
                    return i
                index, open_ = index + self.plain_index(inner), False
            elif c == "^" and (above := re.compile(r"\^\s*(\{[^{}]*\}|[0-9])\s*(?=_)").match(self.text, i, end)):
                raised, i = above.span(1), above.end()  # l^2_1
            elif open_ and index and not mark and (more := _WORD.match(self.text, i, end)):  # m2l1, I1zz
                if self.text[more.end() : more.end() + 1] in (*_MARKS, "'"):
                    break
                index, i = index + more[0], more.end()
            elif base == "I" and (axes := re.compile(r"[xyz]{2}(?![A-Za-z])").match(self.text, i, end)):  # I₁zz
                index, i = index + axes[0], axes.end()
            else:
                break
        if mark.startswith("d") and base[:1].isupper() and base not in GREEK:
            mark = "dot" if mark == "d" else "ddot"
        if time := re.compile(r"\s*\(\s*t\s*\)").match(self.text, i, end):  # q_1(t)
            i = time.end() if "t" not in self.names or mark or ANGLE.fullmatch(base + index) else i
        if (mark or base).endswith("d") and index.startswith("d"):  # \\ddot{x}_d is no third rate
            word = base + mark + index
            self.put("name", self.spelled.get(word, f"{base}{mark}_{index}"), at, i)
        elif mark:
            word = base + mark + index
            if word not in self.spelled and mark in ("bar", "hat", "tilde") and base + index in self.spelled:
                word = base + index
            self.put("name", self.spelled.get(word, word), at, i)
        else:
            self.apart(at, base, index, i, open_)
        if raised:
            self.put("^", "", i, i)
            self.group(raised[0], *((raised[0] + 1, raised[1] - 1) if self.text[raised[0]] == "{" else raised))
        return i

    def index(self, i: int, end: int) -> tuple[int, int, int]:
        """What follows _: a group; else digits, or letters: one in LaTeX, as many as there are in plain text."""
        letters = "[A-Za-z]" if self.tex else "[A-Z]?[a-z]+|[A-Z]"
        if run := re.compile(rf"(?:{letters}|[0-9]+)").match(self.text, i, end):
            stop = run.end() - (len(run[0]) > 1 and self.text[run.end() : run.end() + 1] in _MARKS)  # k_vẋ
            return i, stop, stop
        return self.argument(i, end)

    def plain_index(self, inner: str) -> str:
        """c2 of {c_2}, {c,2}, {\\mathrm{c}2}; commas stay between numbers of which one has two digits."""
        plain = re.sub(rf"\\(?:{_FONTS.pattern})\b|\\[,;:! ]|[{{}}\s_$]", "", inner)
        plain = re.sub(r"\\([A-Za-z]+)", lambda m: _LETTERS.get(m[1], m[1]), plain)
        plain = "".join(_LETTER.get(c, c) for c in plain)
        if re.fullmatch(r"\d+(,\d+)+", plain) and any(len(k) > 1 for k in plain.split(",")):
            return plain
        if re.fullmatch(r"\d(\+\d)+", plain):
            plain = plain.replace("+", "")
        plain = plain.replace(",", "").replace("'", "prime")
        if not plain.isalnum() or not plain.isascii():
            raise InputError("syntax", "formula", problem=f"the index {inner!r} cannot be read")
        return plain

    def apart(self, at: int, base: str, index: str, end: int, open_: bool = True) -> None:
        """The names and functions that a word is made of, as tokens. Unless `open_`, its index belongs to the last."""
        word = base + index
        if len(word) > LONGEST_NAME:
            problem = f"{word[:12]}… is a name of {len(word)} characters"
            raise InputError("too-large", "formula", problem=problem, remedy="Write products with * or blanks.")
        if word.lower() in NO_NUMBERS and word not in self.names:
            raise InputError("syntax", "formula", problem=f"{word} is not a number of a formula")
        i, plain = at, self.text[at:end] == word
        for piece in self.pieces(word, len(word) if open_ or not index else len(base)):
            j = i + len(piece) if plain else end
            if piece in self.spelled:
                self.put("name", self.spelled[piece], i, j)
            elif piece in ALIASES:
                self.put("function", ALIASES[piece], i, j)
            elif sign := re.fullmatch(r"sgn(\d+)", piece):
                self.put("function", "sgn", i, j)
                self.put("name", f"qd{sign[1]}", i, j)
            else:
                self.put("name", _rate(piece), i, j)
            i = j if plain else at

    def pieces(self, word: str, last: int) -> list[str]:
        """A word in pieces, the last of which begins before `last`."""
        if self.knows(word):
            return [word]
        for name in ALIASES:
            if word.startswith(name) and word[len(name) : len(name) + 1].isdigit():
                problem = f"{word} may be {name}^2(…) or {name}(2…)"
                raise InputError("syntax", "formula", problem=problem, remedy="Write the power with ^, or brackets.")
        if splits := self.splits(word, last):
            if len(splits) > 1 and len(splits[1]) == len(splits[0]):
                both = " or ".join("*".join(s) for s in splits[:2])
                problem = f"{word} may be {both}"
                raise InputError("syntax", "formula", problem=problem, remedy="Write the products with * or blanks.")
            return splits[0]
        for name in ("sin", "cos", "tan", "sqrt", "exp"):  # Asin(…)
            if word.endswith(name) and word != name:
                return [*self.pieces(word[: -len(name)], last), name]
        if last < len(word):  # gL_1, though L_1 is not known
            before = self.splits(word[: last - 1], last) or ([[*word[: last - 1]]] if self.tex and last < 5 else [])
            return [*before[0], word[last - 1 :]] if before else [word]
        if (run := _RUN.fullmatch(word)) and run[2] not in ("x", "y", "z"):
            found = [*re.findall(r"[A-Za-z]+\d+", run[1]), *run[2]]
            if len(found) > 1:
                return found
        return list(word) if self.tex and word.isalpha() and len(word) < 5 else [word]

    def knows(self, word: str) -> bool:
        return word in self.spelled or word in ALIASES or bool(_ALWAYS.fullmatch(word) or _RATE.fullmatch(word))

    def splits(self, word: str, last: int) -> list[list[str]]:
        """The ways to take the word apart into known pieces, fewest pieces first: two of them are enough."""
        best: dict[int, list[list[str]]] = {0: [[]]}
        for end in range(1, len(word) + 1):
            if word[end : end + 1].isdigit() or last <= end < len(word):
                continue
            ways = [
                [*way, word[start:end]]
                for start in range(max(0, end - 12), end)
                if start in best and word[start].isalpha() and self.knows(word[start:end])
                for way in best[start]
            ]
            if ways:
                best[end] = sorted(ways, key=len)[:2]
        return best.get(len(word), [])


def _rate(word: str) -> str:
    """qd1 of qdot1, q1_dot, dq1."""
    found = _RATE.fullmatch(word)
    if not found or _ALWAYS.fullmatch(word):
        return word
    if found["a"]:
        return f"{found['a']}{found['d']}{found['i']}"
    dot = "d" if found["b"] in GREEK or not found["b"][0].isupper() else "dot"
    return f"{found['b']}{found['e']}{dot}{found['j']}{found['k']}"
