r"""The Markdown of exercises, read once and written as LaTeX, as HTML, and as lines for a terminal.

Headings (#), paragraphs, lists (- and 1.), tables (|), **bold**, *emphasis*, `code`, $formulas$ and $$formulas on
lines of their own$$: no more than exercises need. Whatever else is in a text stands for itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence

from markupsafe import Markup, escape

from dalembert.display import align
from dalembert.draw import html as page
from dalembert.symbolic.text import GREEK

DISPLAYED = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
LINE = {"heading": r"#{1,3} ", "ul": r"[-*] ", "ol": r"\d+[.)] ", "table": r"\|"}
PIECE = re.compile(
    r"(?<!\\)\$(?P<math>[^$]+?)(?<!\\)\$|`(?P<code>[^`]+)`|\*\*(?P<strong>.+?)\*\*"
    r"|(?<![\w*])\*(?P<em>[^\s*](?:[^*]*[^\s*])?)\*(?![\w*])|(?P<blank>_{4,})"
)
Form = Mapping[str, Callable[..., str]]  # how each kind of block and each kind of piece is written


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """(kind, lines) of a text: heading, p, ul, ol (a line per item), table (a line per row), math (one line)."""
    for k, part in enumerate(DISPLAYED.split(text)):
        if k % 2:
            yield "math", [part.strip()]
            continue
        kind, lines = "", list[str]()
        for line in [*part.split("\n"), ""]:
            words = line.strip()
            new = next((name for name, start in LINE.items() if re.match(start, words)), "p" if words else "")
            if kind in ("ul", "ol") and new == "p":  # an item goes on
                lines[-1] += f" {words}"
                continue
            if new != kind or kind == "heading":
                if kind:
                    yield kind, lines
                kind, lines = new, []
            if kind in ("ul", "ol"):
                words = words.partition(" ")[2]
            lines += [words] if words else []


def _cells(row: str) -> list[str]:
    """The cells of a table's row; a bar within a formula or code is none."""
    marked = PIECE.sub(lambda m: m[0].replace("|", "\0") if m["math"] or m["code"] else m[0], row.strip().strip("|"))
    return [cell.strip().replace("\0", "|") for cell in marked.split("|")]


def _rows(lines: list[str]) -> list[list[str]]:
    """Head and rows, as many cells each; the line of dashes is none."""
    rows = [_cells(line) for line in lines if not re.fullmatch(r"[|\s:-]+", line)]
    width = max(map(len, rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows]


def write(text: str, form: Form, between: str = "\n\n") -> str:
    """The text in another form."""
    out = []
    for kind, lines in _blocks(text):
        if kind == "math":
            out.append(form["display"](lines[0]))
        elif kind == "heading":
            marks, _, words = lines[0].partition(" ")
            out.append(form["heading"](len(marks), write_line(words, form)))
        elif kind == "table":
            out.append(form["table"]([[write_line(cell, form) for cell in row] for row in _rows(lines)]))
        elif kind == "p":
            out.append(form["p"](write_line(" ".join(lines), form)))
        else:
            out.append(form[kind]([write_line(item, form) for item in lines]))
    return between.join(out)


def write_line(text: str, form: Form) -> str:
    """One line, its formulas and words each in the form."""
    out, at = [], 0
    for found in PIECE.finditer(text):
        kind = found.lastgroup or "text"
        inner = write_line(found[kind], form) if kind in ("strong", "em") else found[kind]
        out += [form["text"](text[at : found.start()].replace("\\$", "$")), form[kind](inner)]
        at = found.end()
    return "".join([*out, form["text"](text[at:].replace("\\$", "$"))])


# ------------------------------------------------------------------------------------------------------------ LaTeX
# A sign in words or formulas → LaTeX in math mode. Letters with accents need none.
NAMED = re.findall(
    r"(\S) (\S+)",
    r"""· \cdot × \times ° ^\circ ½ \tfrac{1}{2} ¼ \tfrac{1}{4} ≤ \le ≥ \ge ≈ \approx ≠ \ne ± \pm → \to ∞ \infty
∂ \partial Σ \sum ∑ \sum ∫ \int √ \surd … \dots ∈ \in ⊥ \perp ⋅ \cdot ∠ \angle ∥ \parallel""",
)
SIGNS = {c: f"{tex} " if tex.startswith("\\") else tex for c, tex in GREEK.values()}
SIGNS |= {c: tex if tex.endswith("}") else f"{tex} " for c, tex in NAMED}
SIGNS |= {"−": "-", "ᵀ": "^T", "⁻": "^{-}", "′": "'"}
SIGNS |= {c: f"^{k}" for k, c in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")} | {c: f"_{k}" for k, c in enumerate("₀₁₂₃₄₅₆₇₈₉")}
SPECIAL = {c: f"\\{c}" for c in "&%$#_{}"} | {c: f"${c}$" for c in "<>|"}
SPECIAL |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", '"': "''"}
SPECIAL |= {"–": "--", "—": "---", "“": "``", "”": "''", "’": "'", "‘": "`"}
DOTTED = re.compile("(.)([\u0307\u0308])")  # a letter with one dot or two


def escape_latex(words: str) -> str:
    """Words as LaTeX shows them, in a font of Latin letters; a letter of another script is a question mark."""
    words = DOTTED.sub(lambda m: f"\1{m[1]}{m[2]}\1", unicodedata.normalize("NFC", words))
    parts = words.split("\1")
    return "".join(f"${latex_math(part)}$" if k % 2 else "".join(map(_letter, part)) for k, part in enumerate(parts))


def _letter(c: str) -> str:
    if c in SPECIAL or c in SIGNS:
        return SPECIAL.get(c) or f"${SIGNS[c]}$"
    return c if c < "\u0180" and (c.isprintable() or c == "\n") else "?"


def latex_math(tex: str) -> str:
    """A formula with signs that LaTeX does not know as letters spelled out."""
    dots = {"\u0307": r"\dot ", "\u0308": r"\ddot "}
    tex = DOTTED.sub(lambda m: f"{{{dots[m[2]]}{SIGNS.get(m[1], m[1])}}}", unicodedata.normalize("NFD", tex))
    return "".join(SIGNS.get(c, c if c < "\u0180" else "?") for c in tex)


def _latex_list(name: str) -> Callable[[Sequence[str]], str]:
    return lambda items: "\n".join(
        [f"\\begin{{{name}}}\\itemsep2pt\\parskip0pt", *(f"\\item {x}" for x in items), f"\\end{{{name}}}"]
    )


def _latex_table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = [f"{' & '.join(row)} \\\\" for row in rows]
    body = "\n".join([f"{head} \\hline", *rest])
    return f"\\begin{{center}}\\begin{{tabular}}{{{'l' * len(rows[0])}}}\n{body}\n\\end{{tabular}}\\end{{center}}"


LATEX: Form = {
    "heading": lambda level, words: f"\\{'sub' * (level - 1)}section*{{{words}}}",
    "p": str,
    "ul": _latex_list("itemize"),
    "ol": _latex_list("enumerate"),
    "table": _latex_table,
    "display": lambda tex: f"\\[\n{latex_math(tex)}\n\\]",
    "math": lambda tex: f"${latex_math(tex)}$",
    "code": lambda words: f"\\texttt{{{escape_latex(words)}}}",
    "strong": lambda words: f"\\textbf{{{words}}}",
    "em": lambda words: f"\\emph{{{words}}}",
    "blank": lambda line: "\\rule{40mm}{0.4pt}\\nobreak\\hrulefill{}",
    "text": escape_latex,
}


# ------------------------------------------------------------------------------------------------------------- HTML
def _tag(name: str, item: str = "") -> Callable[..., str]:
    """An element of what is HTML already; with `item`, of a list, each in such an element."""
    return lambda x: page.tag(name, *(page.tag(item, Markup(k)) for k in x) if item else [Markup(x)])


def _html_table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = [[Markup(cell) for cell in row] for row in rows]
    return page.table(head, rest)


HTML: Form = {
    "heading": lambda level, words: page.tag(f"h{level}", Markup(words)),
    "p": _tag("p"),
    "ul": _tag("ul", "li"),
    "ol": _tag("ol", "li"),
    "table": _html_table,
    "display": lambda tex: page.math(latex_math(tex), display=True),
    "math": lambda tex: page.math(latex_math(tex)),
    "code": page.code,
    "strong": _tag("strong"),
    "em": _tag("em"),
    "blank": lambda line: page.tag("span", class_="blank"),
    "text": escape,
}
# As learning platforms have it: formulas are typeset by MathJax, there.
MOODLE: Form = HTML | {"display": lambda tex: escape(f"\\[{tex}\\]"), "math": lambda tex: escape(f"\\({tex}\\)")}  # type: ignore[operator]


# --------------------------------------------------------------------------------------------------------- terminal
WORDS = {tex: sign for sign, tex in NAMED}
WORDS |= {r"\cdot": "·", r"\sum": "Σ", r"\circ": "°", r"\quad": "  ", r"\ldots": "…", r"\cdots": "⋯"}
WORDS |= {r"\Rightarrow": "⇒", r"\mid": "|"}
WORDS |= {tex: sign for sign, tex in GREEK.values()}
HIGH = str.maketrans("0123456789+-T", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵀ")
LOW = str.maketrans("0123456789+-", "₀₁₂₃₄₅₆₇₈₉₊₋")
ARGUMENT = r"(?![A-Za-z])\s*(?:\{([^{}]*)\}|(\\?[A-Za-z]+|\d))"  # after a command; \dots is not \dot and s
SCRIPT = ARGUMENT.removeprefix("(?![A-Za-z])").replace(r"|\d", r"|\d|\+")
ALONE = re.compile(r"\\?√?(?:[^\W\d_]|\\[A-Za-z]+)[\u0302-\u0308]?(?:_\w+|[₀-₉]+)?|√?[\d.]+")  # needs no brackets


def plain_math(tex: str) -> str:
    r"""A formula as a line of text: \dot{q}_1^2 is q̇₁², \frac{a}{b + c} is a/(b + c), a matrix [1, 2; 3, 4]."""
    tex = re.sub(r"(?<!\\)\\(?:(?:left|right|[bB]igg?[lr]?|displaystyle)(?![A-Za-z])|!)", "", tex)
    tex = re.sub(r"(?<!\\)\\[,;: ]", " ", tex)
    tex = re.sub(r"\\begin\{([bp]|v)matrix\}(.*?)\\end\{[bpv]matrix\}", _plain_matrix, tex, flags=re.DOTALL)
    tex = re.sub(r"\\(begin|end)\{\w+\*?\}|&", "", tex).replace("\\\\", "\n")
    tex = re.sub(r"\\operatorname\s*\{([A-Za-z]+)\}", r"\\\1", tex)
    tex = re.sub(r"(\\[A-Za-z]+)(?=\\(?:d?dot|hat|bar|vec|text|math|bold|operat|sqrt|[td]?frac))", r"\1 ", tex)
    for _ in range(12):  # from the inside out
        before = tex
        for word, mark in ((r"\\dot", "\u0307"), (r"\\ddot", "\u0308"), (r"\\hat", "\u0302"), (r"\\bar", "\u0304")):
            tex = re.sub(word + ARGUMENT, lambda m, mark=mark: _word(m[1] or m[2]) + mark, tex)  # type: ignore[misc]
        tex = re.sub(r"\\(?:text|mathrm|mathsf|mathbf|boldsymbol|operatorname|vec)" + ARGUMENT, _either, tex)
        tex = re.sub(r"\\sqrt" + ARGUMENT, lambda m: f"√{_grouped(m[1] or m[2])}", tex)
        tex = re.sub(r"\\[td]?frac" + ARGUMENT + SCRIPT, _fraction, tex)
        tex = re.sub(r"\^" + SCRIPT, lambda m: _raised(m[1] or m[2], HIGH, "^"), tex)
        tex = re.sub(r"_" + SCRIPT, lambda m: _raised(m[1] or m[2], LOW, "_"), tex)
        if tex == before:
            break
    tex = re.sub(r"\\[A-Za-z]+", _apart, tex)
    tex = re.sub(r"[{}]|\\(?=[^A-Za-z])|(?<=∂) ", "", tex).replace("^°", "°")
    return re.sub(r"[ \t]+", " ", tex.replace(" - ", " − ")).strip()


def _word(tex: str) -> str:
    return WORDS.get(tex, tex.lstrip("\\"))


def _either(m: re.Match[str]) -> str:
    return m[1] or m[2] or ""


def _apart(m: re.Match[str]) -> str:
    """A sign, or the name of a function, apart from the letters beside it: g cos q."""
    if m[0] in WORDS:
        return WORDS[m[0]]
    before, after = m.string[: m.start()][-1:], m.string[m.end() :][:1]
    left = before.isalnum() or before in (")", "\u0307", "\u0308")
    right = after.isalpha() or (after.isascii() and after.isdigit()) or after == "\\" or after == "√"
    return f"{' ' * left}{m[0][1:]}{' ' * right}"


def _grouped(words: str) -> str:
    words = words.strip()
    return words if ALONE.fullmatch(words) else f"({words})"


def _fraction(m: re.Match[str]) -> str:
    made = f"{_grouped(m[1] or m[2])}/{_grouped(m[3] or m[4])}"
    return f"({made})" if m.string[: m.start()].rstrip().endswith("/") else made


def _raised(words: str, table: dict[int, int], mark: str) -> str:
    if all(ord(c) in table for c in words):
        return words.translate(table)
    return f"{mark}{words if re.fullmatch(r'[^-+ ]*', words) else f'({words})'}"


def _plain_matrix(m: re.Match[str]) -> str:
    rows = [", ".join(cell.strip() for cell in row.split("&")) for row in m[2].strip().split("\\\\") if row.strip()]
    return f"[{'; '.join(rows)}]"


PLAIN: Form = {name: str for name in ("p", "code", "strong", "em", "blank", "text")} | {
    "heading": lambda level, words: words,
    "ul": lambda items: "\n".join(f"- {item}" for item in items),
    "ol": lambda items: "\n".join(f"{k}. {item}" for k, item in enumerate(items, 1)),
    "table": lambda rows: "\n".join(align(rows)),
    "display": lambda tex: "\n".join(f"    {line.strip()}" for line in plain_math(tex).splitlines()),
    "math": plain_math,
}
