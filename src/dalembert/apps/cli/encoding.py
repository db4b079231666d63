"""Print mathematical symbols on a terminal or into a file whose encoding lacks them: tau for τ, qd for q̇, - for −."""

from __future__ import annotations

import codecs
import io
import re
import unicodedata
from typing import TextIO

ERRORS = "dalembert-ascii"  # the name of the error handler
PLAIN_ASCII = "dalembert_ascii"  # ASCII by a name that click does not replace by UTF-8
_SPELLED = {
    **{"−": "-", "–": "-", "—": "-", "‐": "-", "─": "-", "━": "-", "⁄": "/", "×": "x", "·": "*", "⋅": "*", "•": "*"},
    **{"∞": "inf", "°": "deg", "µ": "u", "±": "+/-", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "≡": "=="},
    **{"→": "->", "←": "<-", "↔": "<->", "⇒": "=>", "√": "sqrt", "∫": "int ", "∂": "d", "∑": "sum", "∆": "Delta"},
    **{"‖": "||", "∥": "||", "∣": "|", "∈": "in", "⊥": "perp", "∎": "QED", "✓": "yes", "✗": "no", "§": "sec. "},
    **{"“": '"', "”": '"', "‘": "'", "’": "'", "′": "'", "▸": ">", "█": "#", "�": "?"},
    **dict.fromkeys("⎡⎢⎣", "["),
    **dict.fromkeys("⎤⎥⎦", "]"),
    **{
        "⪰": ">=",
        "⪯": "<=",
        "≃": "~",
        "≅": "~",
        "≜": ":=",
        "∓": "-/+",
        "÷": "/",
        "∕": "/",
        "∗": "*",
        "∙": "*",
        "∘": "o",
    },
    **{"↦": "->", "∇": "grad ", "∮": "int ", "∠": "angle ", "⟨": "<", "⟩": ">", "⋯": "...", "∴": "=>", "○": "o"},
    **{"⊕": "(+)", "⊖": "(-)", "⊗": "(x)", "‒": "-", "│": "|", "┃": "|", "ß": "ss"},
    **dict.fromkeys("┌┐└┘├┤┬┴┼", "+"),
    # combining marks
    **{"\u0307": "d", "\u0308": "dd", "\u20db": "ddd", "\u0302": "_hat", "\u0303": "_tilde", "\u0304": "_bar"},
}
_VOWELS = frozenset("aiouAEIOU")  # ë and ÿ are derivatives in formulas; ä, ï, ö, ü and ô are letters of names


def is_unicode(stream: TextIO) -> bool:
    """Return True if the stream can encode every character."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-").startswith("utf-")


def prepare(stream: io.TextIOWrapper) -> None:
    """Let the stream spell in ASCII what it cannot encode."""
    ascii_only = codecs.lookup(stream.encoding).name == "ascii"
    stream.reconfigure(encoding=PLAIN_ASCII if ascii_only else None, errors=ERRORS)


def encodable(text: str, stream: TextIO) -> str:
    """Return the text with the characters that the stream cannot encode spelled in ASCII."""
    if text.isascii() or is_unicode(stream):
        return text
    return text.encode(stream.encoding, ERRORS).decode(stream.encoding)


def spell(text: str) -> str:
    """Return the text in ASCII: q̇ becomes qd, τ becomes tau, M⁻¹ becomes M^-1; unknown characters become ?."""
    spelled, raised = "", False
    for character in text:
        superscript = _is_superscript(character)
        spelled += ("^" if superscript and not raised else "") + _spell(character)
        raised = superscript
    return spelled


def _spell(character: str) -> str:
    if character.isascii():
        return character
    if character in _SPELLED:
        return _SPELLED[character]
    if (parts := unicodedata.normalize("NFKD", character)) != character:
        first, marks = parts[0], parts[1:]
        if unicodedata.combining(marks[:1] or first):  # an accent on a letter
            means = marks == "\u0307" or (marks in ("\u0308", "\u0302") and first not in _VOWELS)
            return _spell(first) + (_SPELLED[marks] if means else "")
        return "".join(map(_spell, parts))
    if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
        return ""
    name = unicodedata.name(character, "")
    if name.startswith("GREEK "):
        letter = name.split(" ")[-1].replace("LAMDA", "LAMBDA")
        return letter.capitalize() if character.isupper() else letter.lower()
    if found := re.fullmatch(r"LATIN (?:CAPITAL|SMALL) LETTER ([A-Z]{1,2})(?: WITH .*)?", name):  # ø, Ł, æ
        return found[1].capitalize() if character.isupper() else found[1].lower()
    return "?"


def _is_superscript(character: str) -> bool:
    return unicodedata.decomposition(character).startswith("<super>")


def _handle(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text, end = error.object, error.end
    while end < len(text) and _is_superscript(text[end - 1]) and _is_superscript(text[end]):
        end += 1  # ⁻¹ is one exponent, although Latin-1 has ¹
    return spell(text[error.start : end]), end


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name != PLAIN_ASCII:
        return None
    found = codecs.lookup("ascii")
    parts = (found.encode, found.decode, found.streamreader, found.streamwriter)
    return codecs.CodecInfo(*parts, found.incrementalencoder, found.incrementaldecoder, PLAIN_ASCII)


codecs.register_error(ERRORS, _handle)
codecs.register(_find_codec)
