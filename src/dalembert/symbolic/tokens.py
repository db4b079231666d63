r"""The tokens of a formula: numbers, names, functions and signs, out of plain text, blackboard text, Unicode and LaTeX.

A name is put together from its letters, index and dots (\dot{\theta}_{1}, θ̇₁, theta1_dot are thetad1), or taken apart
where names run together (m₂l₁, mgl, cosq2).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import takewhile

from dalembert.errors import InputError
from dalembert.symbolic.collect import split_name
from dalembert.symbolic.text import GREEK

DIGITS = "0123456789"
LONGEST, DEEPEST, MOST_DIGITS = 200_000, 50, 40  # characters; brackets inside each other; digits of a number
FUNCTIONS = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "abs", "sgn")
ALIASES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "atan2": "atan2", "ln": "log"}
ALIASES |= {"sign": "sgn", "signum": "sgn", "Abs": "abs", "fabs": "abs", "Atan2": "atan2", "tg": "tan", "sen": "sin"}
ALIASES |= {name: name for name in FUNCTIONS}
INVERSE = {"sin": "asin", "cos": "acos", "tan": "atan"}
ONE_OVER = {"sec": "cos", "csc": "sin", "cot": "tan"}
NO_NUMBERS = {"nan", "inf", "infinity", "infty", "true", "false", "none"}
SHORT = re.compile(r"([cs])([1-9]+)")  # c12 = cos(q1 + q2)
ANGLE = re.compile(r"q\d*|(?:theta|phi|psi|alpha|beta|gamma|varphi|vartheta)\d*")

_SYMBOLS = {letter: name for name, (letter, _) in GREEK.items()}
_SAME = str.maketrans({**dict.fromkeys("−–—‐‑‒", "-"), **dict.fromkeys("×⋅·∙•∗∘", "*"), **dict.fromkeys("÷∕⁄", "/")})
_SAME |= str.maketrans({"∆": "Δ", "ℓ": "l", "ϵ": "ε", "“": '"', "’": "'", "′": "'", "″": "''", "≡": "=", "º": "°"})
_SAME |= {ord(c): None for c in "\u200b\u200c\u200d\u2060\ufeff\u2061\u2062\u2063"}
_RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", strict=True))
_LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ₐₑᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", "0123456789+-aeijklmnoprstuvx", strict=True))
_MARKS = {"\u0307": "d", "\u0308": "dd", "\u20db": "ddd", "\u0304": "bar", "\u0302": "hat", "\u0303": "tilde"}
_ACCENTS = {"dot": "d", "ddot": "dd", "bar": "bar", "overline": "bar", "hat": "hat", "widehat": "hat", "tilde": "tilde"}
_FONTS = [
    "mathrm",
    "mathbf",
    "mathit",
    "mathsf",
    "mathcal",
    "mathscr",
    "boldsymbol",
    "bm",
    "text",
    "textrm",
    "operatorname",
    "mathbb",
    "underline",
    "vec",
]
_DROPPED = {
    *[
        "left",
        "right",
        "big",
        "Big",
        "bigg",
        "Bigg",
        "bigl",
        "bigr",
        "Bigl",
        "Bigr",
        "biggl",
        "biggr",
        "Biggl",
        "Biggr",
        "middle",
        "displaystyle",
    ]
}
_DROPPED |= {"limits", "nonumber", "notag", "textstyle", "phantom", "rm", "bf", "it", "cal", "scriptstyle"}
_SPACES = {*",;:! \n", "quad", "qquad", "thinspace", "enspace", "hfill", "hspace", "hline"}
_COMMANDS = {"cdot": "*", "times": "*", "ast": "*", "div": "/", "lvert": "|", "rvert": "|", "vert": "|", "lbrack": "["}
_COMMANDS |= {
    "rbrack": "]",
    "{": "(",
    "}": ")",
    "lbrace": "(",
    "rbrace": ")",
    "equiv": "=",
    "lparen": "(",
    "slash": "/",
}
_VARIANTS = {"ell": "l", "varphi": "phi", "vartheta": "theta", "varepsilon": "epsilon", "varrho": "rho", "imath": "i"}
_TODO = {"partial": "a derivative", "int": "an integral", "sum": "a sum", "prod": "a product", "nabla": "a gradient"}
_TODO |= {"lim": "a limit", "det": "a determinant", "∂": "a derivative", "∫": "an integral", "∑": "a sum", "Σ": "a sum"}
_GRIDS = ("matrix", "bmatrix", "pmatrix", "Bmatrix", "smallmatrix", "array")
_RATE = re.compile(r"(d{1,2})(q|theta|phi)(\d*)|([A-Za-z]+?)(\d*)(d?)dot(\d*)|(q|theta)(\d+)(dd?)")
_GENERIC = re.compile(rf"(?:q|theta|phi)d{{0,3}}\d*|[cs][1-9]+|(?:{'|'.join(GREEK)})\d*")
_NUMBER = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+(?![A-Za-z.]))?")


@dataclass(frozen=True, slots=True)
class Token:
    """kind: number, name, function, end, or the sign itself. `spaced`: blanks stand before it."""

    kind: str
    text: str = ""
    near: str = ""
    spaced: bool = False


def clean(text: str) -> str:
    """The text in few characters: one minus, one product sign, accents as marks of their own."""
    if not isinstance(text, str):
        raise InputError(f"a formula is text, got {type(text).__name__}")
    if len(text) > LONGEST:
        raise InputError(f"a formula of {len(text):,} characters is too long: at most {LONGEST:,} are read")
    out = []
    for c in re.sub(r"[\t\r\n\f\v]+", " ", text.translate(_SAME)):
        if c in _RAISED or c in _LOWERED:
            out.append(c)
            continue
        if unicodedata.category(c) == "No" and "⁄" in (plain := unicodedata.normalize("NFKD", c)):  # ½
            out.append("\\frac{{{}}}{{{}}}".format(*plain.split("⁄")))
            continue
        out.append(unicodedata.normalize("NFKD", c))
    return "".join(out).translate(_SAME)


class Lexer:
    """Text → tokens, names put together from their letters, indices and dots, or taken apart where they run
    together."""

    def __init__(self, names: Collection[str]) -> None:
        self.names = frozenset(names)
        self.spelled = {name.replace("_", ""): name for name in sorted(self.names)}
        self.tex = False
        self.depth = 0

    def lex(self, text: str) -> list[Token]:
        self.tex = "\\" in text or "_{" in text
        return [*self.tokens(text), Token("end", near="the end")]

    def inside(self, text: str) -> list[Token]:
        """The tokens of an argument in braces."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise InputError("the formula is nested too deeply")
        found = list(self.tokens(text))
        self.depth -= 1
        return found

    def tokens(self, text: str) -> Iterator[Token]:
        i, spaced = 0, False
        while i < len(text):
            c, near = text[i], text[i : i + 14]
            if c in " ~$&":
                i, spaced = i + 1, True
                continue
            if c == "\\":
                found, i = self.command(text, i, near, spaced)
            elif (c.isascii() and c.isalpha()) or c in _SYMBOLS:
                found, i = self.word(text, i, near, spaced)
            elif number := _NUMBER.match(text, i):
                i = number.end()
                found = [Token("number", number[0], near, spaced)]
            elif c in _RAISED:
                run = "".join(takewhile(_RAISED.__contains__, text[i:]))
                i += len(run)
                found = [Token("^", "", near), *self.grouped("".join(_RAISED[x] for x in run), near)]
            elif text.startswith("**", i) or c == "^":
                i += 2 if c == "*" else 1
                found, i = self.raised(text, i, near)
            elif c == "{":
                inner, i = _argument(text, i)
                found, i = self.brace(inner, text, i, near, spaced)
            elif c in "+-*/()[],;=|°":
                found, i = [Token(c, "", near, spaced)], i + 1
            elif c == "√":
                found, i = [Token("function", "sqrt", near, spaced)], i + 1
            elif c == "." and not text[i + 1 :].strip(" $."):
                break
            else:
                raise InputError(_no_sign(c, near))
            yield from found
            spaced = False

    def grouped(self, text: str, near: str, spaced: bool = False) -> list[Token]:
        return [Token("(", "", near, spaced), *self.inside(text), Token(")", "", near)]

    def raised(self, text: str, i: int, near: str) -> tuple[list[Token], int]:
        """What follows ^: a group or one sign in LaTeX, an operand in plain text."""
        rest = text[i:].lstrip()
        if not rest.startswith(("{", "\\")):
            return [Token("^", "", near)], i
        inner, j = _argument(text, i)
        if inner.strip() in ("\\circ", "∘", "*"):
            return [Token("°", "", near)], j
        if inner.strip() in ("T", "\\top", "\\mathrm{T}", "\\intercal", "\\mathsf{T}"):
            return [Token("T", "", near)], j
        if not rest.startswith("{"):
            return [Token("^", "", near)], i
        return [Token("^", "", near), *self.grouped(inner, near)], j

    def brace(self, inner: str, text: str, i: int, near: str, spaced: bool) -> tuple[list[Token], int]:
        """{…}: a group; {\\dot q}_1 is one name."""
        tokens = self.inside(inner)
        if len(tokens) == 1 and tokens[0].kind == "name":
            return self.finished(tokens[0].text, "", text, i, near, spaced)
        if inner.strip() == ",":
            raise InputError("write numbers with a decimal point, 0.5, not with a comma")
        return [Token("(", "", near, spaced), *tokens, Token(")", "", near)] if tokens else [], i

    def command(self, text: str, i: int, near: str, spaced: bool) -> tuple[list[Token], int]:
        found = re.compile(r"\\([A-Za-z]+\*?|.?)").match(text, i)
        assert found is not None
        name, i = found[1].rstrip("*") or found[1], found.end()
        if name in _SPACES or name in _DROPPED or (name in "()[]\\" and name):
            if name in ("phantom", "hspace"):
                _, i = _argument(text, i)
            if name in _DROPPED and text[i : i + 1] == "." and not text[i + 1 : i + 2].isdigit():
                i += 1  # \left.
            return [], i
        if name in _COMMANDS:
            return [Token(_COMMANDS[name], "", near, spaced)], i
        if name in ("frac", "tfrac", "dfrac", "cfrac", "nicefrac", "sfrac"):
            over, i = _argument(text, i)
            under, i = _argument(text, i)
            if re.fullmatch(r"\s*(\\mathrm\{d\}|d|\\partial)\b.*", under) or over.strip() in ("d", "\\mathrm{d}"):
                raise InputError("a derivative is to be carried out: write the result")
            parts = [*self.grouped(over, near), Token("/"), *self.grouped(under, near)]
            return [Token("(", "frac", near, spaced), *parts, Token(")", "", near)], i
        if name == "sqrt":
            root = re.compile(r"\s*\[([^\]]*)\]").match(text, i)
            inner, i = _argument(text, root.end() if root else i)
            if root:
                return [*self.grouped(inner, near, spaced), Token("^"), *self.grouped(f"1/({root[1]})", near)], i
            return [Token("function", "sqrt", near, spaced), *self.grouped(inner, near)], i
        if name in _ACCENTS:
            inner, i = _argument(text, i)
            tokens = self.inside(inner)
            if len(tokens) != 1 or tokens[0].kind != "name":
                raise InputError(f"a dot or bar belongs over one letter, near {near!r}")
            letters, digits, rest = split_name(tokens[0].text)
            return self.finished(letters, _ACCENTS[name], text, i, near, spaced, digits + rest)
        if name in _FONTS:
            inner, i = _argument(text, i)
            return self.font(inner, text, i, near, spaced)
        if name in ("begin", "end"):
            return self.environment(name, text, i, near)
        if name in ("label", "tag", "mbox", "color"):
            return [], _argument(text, i)[1]
        if name in ALIASES or name in ONE_OVER:
            return [Token("function", ALIASES.get(name, name), near, spaced)], i
        if name in ("Biggm", "prime"):
            return [Token("'", "", near)], i
        if (name := _VARIANTS.get(name, name)) in GREEK or name == "l" or name == "i":
            return self.finished(name, "", text, i, near, spaced)
        raise InputError(_todo(name) or f"\\{name} has no meaning in a formula here, near {near!r}")

    def font(self, inner: str, text: str, i: int, near: str, spaced: bool) -> tuple[list[Token], int]:
        """\\mathrm{sgn}, \\mathbf{q}_1, \\mathrm{s}_{12}."""
        word = inner.strip().replace(" ", "")
        if word in ALIASES or word in ONE_OVER:
            return [Token("function", ALIASES.get(word, word), near, spaced)], i
        return self.brace(inner, text, i, near, spaced)

    def environment(self, which: str, text: str, i: int, near: str) -> tuple[list[Token], int]:
        kind, i = _argument(text, i)
        kind = kind.strip().rstrip("*")
        if which == "end" or kind not in _GRIDS:
            if kind in ("vmatrix", "Vmatrix", "cases"):
                raise InputError(f"{kind} has no meaning in a formula here: write the result")
            if kind in ("alignedat", "alignat"):
                _, i = _argument(text, i)
            return [], i
        if kind == "array":
            _, i = _argument(text, i)
        end = _end_of(kind, text, i)
        tokens = [Token("[", "rows", near)]
        rows = [row for row in _split(text[i:end], "\\\\") if row.strip()]
        for k, row in enumerate(rows):
            tokens += [Token(",")] * (k > 0) + [Token("[", "rows", near)]
            for j, cell in enumerate(_split(re.sub(r"^\s*\[[^\]]*\]|\\hline", "", row), "&")):
                tokens += [Token(",")] * (j > 0) + self.inside(cell)
            tokens.append(Token("]"))
        return [*tokens, Token("]", "", near)], text.index("}", end) + 1

    # names

    def word(self, text: str, i: int, near: str, spaced: bool) -> tuple[list[Token], int]:
        """Letters and what belongs to them. Of letters before one with a dot of its own, those before are apart."""
        if text[i] in _SYMBOLS:
            return self.finished(_SYMBOLS[text[i]], "", text, i + 1, near, spaced)
        j = i
        while j < len(text) and text[j].isascii() and text[j].isalpha():
            j += 1
        if text[i:j] in ("np", "numpy", "math", "sp", "sympy") and text[j : j + 1] == ".":
            return [], j + 1
        if j < len(text) and text[j] in _MARKS and j - i > 1:
            before = self.apart(text[i : j - 1], near, spaced)
            after, j = self.finished(text[j - 1], "", text, j, near, False)
            return [*before, *after], j
        return self.finished(text[i:j], "", text, j, near, spaced)

    def finished(
        self, base: str, mark: str, text: str, i: int, near: str, spaced: bool, index: str = ""
    ) -> tuple[list[Token], int]:
        """A name whose letters stand before text[i], with its digits, index, dots and primes."""
        raised, greek = "", base in GREEK
        joined = base not in GREEK and not mark
        while i < len(text):
            c = text[i]
            if c in _MARKS:
                mark, i = mark + _MARKS[c], i + 1
            elif c == "'":
                mark, i = mark + "d", i + 1
            elif c in DIGITS and (not index or index[-1] in DIGITS or joined):
                run = re.compile(r"[0-9]+").match(text, i)
                assert run is not None
                index, i = index + run[0], run.end()
            elif c in _LOWERED:
                run_ = "".join(takewhile(_LOWERED.__contains__, text[i:]))
                index, i, joined = index + "".join(_LOWERED[x] for x in run_), i + len(run_), False
            elif c == "_" or (c == " " and text[i:].lstrip()[:1] == "_" and self.tex):
                i = text.index("_", i) + 1
                inner, i = _index(text, i)
                if base in "csCS" and re.search(r"\\|[α-ω]|q|theta", inner) and base not in self.names:
                    head = Token("function", {"c": "cos", "s": "sin"}[base.lower()], near, spaced)
                    return [head, *self.grouped(re.sub(r"^\{|\}$", "", inner), near)], i
                index, joined = index + _plain_index(inner), False
            elif c == "^" and (match := re.compile(r"\^\s*(\{[^{}]*\}|\d)\s*(?=_)").match(text, i)):
                raised, i = match[1], match.end()
            elif c.isascii() and c.isalpha() and joined and index:
                more = re.compile(r"[A-Za-z]+").match(text, i)
                assert more is not None
                if i + len(more[0]) < len(text) and text[more.end()] in _MARKS:  # m2q̇1
                    break
                index, i = index + more[0], more.end()
            else:
                break
        if raised:
            tokens = self.named(base, mark, index, near, spaced, greek)
            return [*tokens, Token("^"), *self.grouped(raised.strip("{}"), near)], i
        if closed := re.compile(r"\s*\(\s*t\s*\)").match(text, i):
            i = closed.end() if "t" not in self.names or mark or ANGLE.fullmatch(base + index) else i
        return self.named(base, mark, index, near, spaced, greek), i

    def named(self, base: str, mark: str, index: str, near: str, spaced: bool, greek: bool) -> list[Token]:
        if mark:
            dots = mark.count("d") if not mark.strip("d") else 0
            word = "dot" * dots if dots and base[:1].isupper() and not greek else mark
            return self.name(base + word + index, near, spaced)
        return self.apart(base + index, near, spaced)

    def name(self, word: str, near: str, spaced: bool) -> list[Token]:
        return [Token("name", self.spelled.get(word.replace("_", ""), word), near, spaced)]

    def apart(self, word: str, near: str, spaced: bool) -> list[Token]:
        """The names and functions that a word is made of."""
        if word.lower() in NO_NUMBERS and word not in self.names:
            raise InputError(f"{word} is no number of a formula")
        pieces = self.pieces(word)
        tokens = []
        for k, piece in enumerate(pieces):
            before = spaced if k == 0 else False
            if piece in self.spelled:
                tokens += self.name(piece, near, before)
            elif piece in ALIASES or piece in ONE_OVER:
                tokens.append(Token("function", ALIASES.get(piece, piece), near, before))
            elif sign := re.fullmatch(r"sgn(\d+)", piece):
                tokens += [
                    Token("function", "sgn", near, before),
                    Token("("),
                    Token("name", f"qd{sign[1]}"),
                    Token(")"),
                ]
            else:
                tokens.append(Token("name", _rate(piece), near, before))
        return tokens

    def pieces(self, word: str) -> list[str]:
        if self.knows(word) or re.fullmatch(r"sgn\d+", word):
            return [word]
        for name in ALIASES:
            if word.startswith(name) and word[len(name) : len(name) + 1].isdigit():
                raise InputError(f"{word} may be {name}^2(…) or {name}(2…): write the power with ^ or the brackets")
        if _RATE.fullmatch(word):
            return [word]
        splits = self.splits(word)
        if splits:
            if len(splits) > 1 and len(splits[1]) == len(splits[0]):
                both = " or ".join("*".join(s) for s in splits[:2])
                raise InputError(f"{word} may be {both}: write the products with * or blanks")
            return splits[0]
        for name in sorted(ALIASES, key=len, reverse=True):
            if word.endswith(name) and len(word) > len(name) + (name in FUNCTIONS[:3] and word[-4:-3] == "a"):
                return [*self.pieces(word[: -len(name)]), name]
        run = re.fullmatch(r"((?:[A-Za-z]{1,2}?\d+)+)([A-Za-z]?)", word)
        if (
            run
            and len(found := re.findall(r"[A-Za-z]+\d+", run[1])) + bool(run[2]) > 1
            and run[2] not in ("x", "y", "z")
        ):
            return [*found, *([run[2]] if run[2] else [])]
        if self.tex and (found_ := re.fullmatch(r"([A-Za-z]+)(\d*)", word)) and len(found_[1]) > 1 and not found_[2]:
            return list(word)
        return [word]

    def knows(self, word: str) -> bool:
        return word in self.spelled or word in ALIASES or word in ONE_OVER or bool(_GENERIC.fullmatch(word))

    def splits(self, word: str) -> list[list[str]]:
        """The ways to take the word apart into known pieces, fewest pieces first: two of them are enough."""
        best: dict[int, list[list[str]]] = {0: [[]]}
        for end in range(1, len(word) + 1):
            found = []
            for start in range(max(0, end - 12), end):
                if start in best and word[start].isalpha() and self.knows(word[start:end]):
                    if end < len(word) and word[end].isdigit():
                        continue
                    found += [[*before, word[start:end]] for before in best[start]]
            if found:
                best[end] = sorted(found, key=len)[:2]
        return best.get(len(word), [])


def _rate(word: str) -> str:
    """qd1 of qdot1, q1_dot, dq1."""
    found = _RATE.fullmatch(word)
    if not found or _GENERIC.fullmatch(word):
        return word
    if found[2]:
        return f"{found[2]}{found[1]}{found[3]}"
    if found[8]:
        return f"{found[8]}{found[10]}{found[9]}"
    if found[4][:1].isupper() and found[4] not in GREEK:
        return f"{found[4]}dot{found[5]}{found[7]}"
    return f"{found[4]}d{found[6]}{found[5]}{found[7]}"


def _argument(text: str, i: int) -> tuple[str, int]:
    """(what a LaTeX command takes at i: a group, a command, or one character; where it ends)."""
    while i < len(text) and text[i] == " ":
        i += 1
    if i >= len(text):
        raise InputError("the formula ends where something in braces should follow")
    if text[i] != "{":
        found = re.compile(r"\\[A-Za-z]+(?:\s*\{[^{}]*\})?|.[\u0307\u0308]*").match(text, i)
        assert found is not None
        return found[0], found.end()
    depth = 0
    for k in range(i, len(text)):
        if text[k] in "{}" and text[k - 1] != "\\":
            depth += 1 if text[k] == "{" else -1
            if depth == 0:
                return text[i + 1 : k], k + 1
    raise InputError(f"a brace is not closed, near {text[i : i + 14]!r}")


def _index(text: str, i: int) -> tuple[str, int]:
    """What follows _: a group; letters and digits in plain text (l_c2, m_12)."""
    run = re.compile(r"\s*(?:[A-Za-z]+\d*|\d+)").match(text, i)
    if run and not text[i:].lstrip().startswith("\\"):
        letters = run[0].strip()
        if letters[0].isdigit() or len(letters) < 4 or letters in ("tip", "dot", "ddot"):
            return letters, run.end()
        return letters, run.end()
    return _argument(text, i)


def _plain_index(inner: str) -> str:
    """c2 of {c_2}, {c,2}, {\\mathrm{c}2}; commas stay between numbers of which one has two digits."""
    plain = re.sub(r"\\(?:mathrm|text|textrm|mathit|mathbf|operatorname)\b|\\[,;:! ]|[{}\s_$]", "", inner)
    plain = re.sub(r"\\([A-Za-z]+)", lambda m: _VARIANTS.get(m[1], m[1]), plain)
    for letter, name in _SYMBOLS.items():
        plain = plain.replace(letter, name)
    plain = plain.translate({ord(c): x for c, x in _LOWERED.items()})
    if re.fullmatch(r"\d+(,\d+)+", plain) and any(len(k) > 1 for k in plain.split(",")):
        return plain
    if re.fullmatch(r"\d(\+\d)+", plain):
        plain = plain.replace("+", "")
    plain = plain.replace(",", "").replace("'", "")
    if not plain.isalnum():
        raise InputError(f"the index {inner!r} is not understood")
    return plain


def _end_of(kind: str, text: str, i: int) -> int:
    depth = 1
    for found in re.compile(r"\\(begin|end)\s*\{([^{}]*)\}").finditer(text, i):
        depth += (1 if found[1] == "begin" else -1) * (found[2].strip().rstrip("*") == kind)
        if depth == 0:
            return found.start()
    raise InputError(f"\\begin{{{kind}}} has no \\end{{{kind}}}")


def _split(text: str, mark: str) -> list[str]:
    """Cut at a mark outside of braces and inner environments."""
    parts, depth, start, i = [], 0, 0, 0
    while i < len(text):
        if text.startswith(("\\begin", "{"), i) and text[i - 1 : i] != "\\":
            depth += 1
        elif text.startswith(("\\end", "}"), i) and text[i - 1 : i] != "\\":
            depth -= 1
        elif depth == 0 and text.startswith(mark, i):
            parts.append(text[start:i])
            i += len(mark)
            start = i
            continue
        i += 2 if text.startswith("\\\\", i) else 1
    return [*parts, text[start:]]


def _todo(name: str) -> str:
    return f"{_TODO[name]} is to be carried out: write the result" if name in _TODO else ""


def _no_sign(c: str, near: str) -> str:
    if c in _TODO:
        return _todo(c)
    if c.isalpha():
        return f"{c!r} is {unicodedata.name(c, 'an unknown letter').lower()}: names have Latin or Greek letters"
    if not c.isprintable():
        return f"the formula holds a character that cannot be printed ({c!r})"
    return f"{near!r} has no meaning in a formula here" if c not in "<>≈" else f"{c} has no place in a formula"
