"""Whose letters a formula is written in: D or M for the mass matrix, lc1 or r1, L or l, θ or q.

A `Letters` renames on the way out, in what is printed, and on the way in, in what is read. `names` are of symbols: one
(r1 → lc1) or all of a letter (r → lc; q → theta for the joint coordinates); `quantities` are of M, C, g, …; `same` are
symbols that are one and the same (r1 = l1 in an arm of point masses). PROFILES are the letters of textbooks and notes.

Reading is generous: lc2, L1, theta2, I_{zz,2} are understood by everybody, as far as they can mean one thing only.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from dalembert.errors import InputError, unknown
from dalembert.symbolic.collect import split_name
from dalembert.symbolic.expression import Cosine, Expression, Name, Power, Product, Rate, Sign, Sine, Sum
from dalembert.symbolic.formula import SHORT, read_equation
from dalembert.symbolic.nodes import FUNCTIONS

RATE = re.compile(r"([A-Za-z]+?)(d{0,3})(\d+)")
VALID = re.compile(r"[A-Za-z]+\d*[a-z]{0,2}")
RESERVED = ("s", "c", "sgn", "qd", "qdd")
# The library's letter → other spellings of it. What two symbols could be, neither is.
SPELLINGS: dict[str, tuple[str, ...]] = {
    "q": ("theta", "th", "phi", "vartheta"),
    "l": ("L", "a", "ell"),
    "a": ("l", "L"),
    "r": ("lc", "Lc", "lg", "ac", "rc", "lcm"),
    "m": ("M",),
    "I": ("Izz", "I33", "Ic", "IG", "Icm", "Iz", "Il", "Ibar", "J"),
    "J": ("Jm", "Im"),
    "g": ("g0",),
    "Fv": ("fv", "b", "B", "Bv", "beta"),
    "Fs": ("fs", "Fc", "fc"),
    "tau": ("u", "T", "Q"),
    "kv": ("kd", "Kd"),
    "kd": ("kv", "Kv"),
}
# The library's quantity → other names for it that mean nothing else.
QUANTITIES: dict[str, tuple[str, ...]] = {"M": ("D", "H", "B"), "g": ("G", "phi", "N"), "det": ("detJ",)}
POSE_ENTRY = re.compile("[1-4],?[1-4]")
NAMED = ("M", "C", "Gamma", "K", "P")  # quantities whose letter no symbol has: names={"M": "D"} means them
AXES = {"xx": "11", "xy": "12", "xz": "13", "yy": "22", "yz": "23", "zz": "33"}


@dataclass(frozen=True)
class Letters:
    """How a course writes what the library calls r1, q1, M: `names` of symbols, `same` symbols, `quantities`."""

    names: Mapping[str, str] = field(default_factory=dict)
    same: Mapping[str, str] = field(default_factory=dict)
    quantities: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what in ("names", "same", "quantities"):
            given = getattr(self, what)
            if not isinstance(given, Mapping) or not all(isinstance(x, str) for pair in given.items() for x in pair):
                raise InputError("wrong-type", what, given, expected="a dictionary of names to names, as {'r1': 'lc1'}")
            for ours, name in given.items():
                stem, digits, _ = split_name(name) if VALID.fullmatch(name) else ("", "", "")
                taken = stem in RESERVED or name in FUNCTIONS or (stem == "q" or digits if ours == "q" else stem == "q")
                if not stem or (what == "names" and ours != name and taken):
                    problem = f"{name!r} cannot be the name of a symbol"
                    remedy = (
                        "Use letters and digits, as in lc1 or theta, but not sin, s1, c1, sgn1, q1, qd1, which have a "
                        "meaning."
                    )
                    raise InputError("wrong-value", "names", name, problem=problem, remedy=remedy)

    def outward(self, name: str) -> str:
        """The reader's name of a symbol: lc1 of r1, thetad1 of qd1."""
        if name in self.names:
            return self.names[name]
        if (found := RATE.fullmatch(name)) and found[1] == "q" and "q" in self.names:
            return f"{self.names['q']}{found[2]}{found[3]}"
        letters, digits, rest = split_name(name)
        return self.names.get(letters, letters) + digits + rest

    def quantity(self, name: str) -> str:
        """The reader's name of a quantity: D12 of M12."""
        letters, digits, rest = split_name(name)
        return self.quantities.get(letters, letters) + digits + rest

    def of(self, name: str) -> str:
        """The reader's name of a quantity or a symbol."""
        return self.quantity(name) if split_name(name)[0] in self.quantities else self.outward(name)

    def inward(self, name: str) -> str:
        """The library's name of a quantity, D12 or G: M12, g."""
        letters, digits, rest = split_name(name if "/" in name else re.sub(r"[\\\\_{}\[\]$ ]", "", name))
        if letters == "T" and POSE_ENTRY.fullmatch(digits):  # T14, also where T is the kinetic energy
            return name
        own = {theirs: ours for ours, theirs in self.quantities.items()}
        other = {theirs: ours for ours, several in QUANTITIES.items() for theirs in several}
        return own.get(letters, letters if letters in self.quantities else other.get(letters, letters)) + digits + rest

    def spellings(self, symbols: Collection[str]) -> dict[str, str]:
        """{spelling: symbol} of all that a reader may write for these symbols, which are named outward already."""
        first = {symbol: symbol for symbol in symbols}
        library = {theirs: ours for ours, theirs in self.names.items()}
        for symbol in symbols:
            if symbol.startswith("q") and (theirs := self.outward(symbol)) != symbol:
                first[theirs] = symbol
        count: dict[str, set[str]] = {}
        for symbol in symbols:
            letters, digits, rest = split_name(symbol)
            ours = split_name(library[symbol])[0] if symbol in library else library.get(letters, letters)
            alone = sum(split_name(other)[0] == letters for other in symbols) == 1
            for spelling in dict.fromkeys(_spellings(ours, letters, digits, rest, alone)):
                if split_name(spelling)[0].rstrip("d") in self.quantities.values():  # phi1 where phi is gravity
                    continue
                count.setdefault(spelling, set()).add(symbol)
        single = {spelling: next(iter(several)) for spelling, several in count.items() if len(several) == 1}
        return single | first

    def read(self, text: str, symbols: Collection[str]) -> tuple[str, ast.expr]:
        """(the library's name of the left side, "" if there is none; the tree of the right side in these symbols)."""
        left, tree, _ = self.read_as_written(text, symbols)
        return left, tree

    def read_as_written(self, text: str, symbols: Collection[str]) -> tuple[str, ast.expr, dict[str, str]]:
        """As `read`, and how the writer spells the symbols: {r2: lc2}, and of symbols that do not occur {r1: lc1}."""
        known = self.spellings(symbols)
        left, tree = read_equation(text, known)
        written: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                written.setdefault(known.get(node.id, node.id), node.id)
                lower = node.id[:1].lower() + node.id[1:]
                plain = lower if SHORT.fullmatch(lower) and node.id not in known else node.id  # C12 is cos(q1 + q2)
                node.id = known.get(node.id, plain)
        heads: dict[str, str] = {}
        for ours, theirs in written.items():
            (a, *index), (b, *same) = split_name(ours), split_name(theirs)
            if index == same:
                heads |= {a + dots: b + dots for dots in ("", *(("d", "dd") if a == "q" else ()))}
        for symbol in symbols:
            letters, digits, rest = split_name(symbol)
            theirs = heads.get(letters, letters) + digits + rest
            if known.get(theirs) == symbol:
                written.setdefault(symbol, theirs)
        theirs_of = {ours: theirs for ours, theirs in written.items() if ours != theirs}
        return " = ".join(map(self.inward, left.split(" = "))), tree, theirs_of

    def relabel(self, x: Expression) -> Expression:
        """An expression in the joint coordinates q with the reader's letter for them."""
        q = self.names.get("q", "q")
        if q == "q":
            return x
        match x:
            case Name(name) if (found := RATE.fullmatch(name)) and found[1] in ("q", "sgn"):
                if found[1] == "sgn":
                    return Sign(Rate(q + found[3], 1))
                return Rate(q + found[3], len(found[2])) if found[2] else Name(q + found[3])
            case Cosine(angle) | Sine(angle):
                return type(x)(angle, q)
            case Sum(parts) | Product(parts):
                return type(x)(tuple(map(self.relabel, parts)))
            case Power(base, exponent):
                return Power(self.relabel(base), exponent)
            case Sign(argument):
                return Sign(self.relabel(argument))
        return x


def _spellings(ours: str, letters: str, digits: str, rest: str, alone: bool) -> Iterator[str]:
    """Other ways to write a symbol, of which `ours` is the library's letter."""
    bare, dots = (ours.rstrip("d"), "d" * (len(ours) - len(ours.rstrip("d")))) if ours in ("qd", "qdd") else (ours, "")
    for other in (letters if bare == ours else bare, *((ours,) if ours != letters else ()), *SPELLINGS.get(bare, ())):
        yield other + dots + digits + rest
        if alone and not rest:  # m for the only m1
            yield other + dots
    if ours[:1] in ("k", "K") and len(letters + digits) > 1:  # gains: Kp for kp
        yield ours[:1].swapcase() + ours[1:] + digits + rest
    if rest in AXES:
        yield from (f"{letters}{rest}{digits}", f"{letters}{AXES[rest]}{digits}", f"{letters}{digits}{AXES[rest]}")
        yield f"{letters}{AXES[rest]},{digits}"
    elif bare == "I" and not rest:
        yield from (f"I{digits}zz", f"I33,{digits}")


def choose(
    letters: str | Letters | None = None, names: Mapping[str, str] | None = None, same: Mapping[str, str] | None = None
) -> Letters:
    """A profile by its name, or Letters, with names of one's own over it."""
    if letters is not None and not isinstance(letters, (str, Letters)):
        raise InputError("wrong-type", "letters", letters, expected="the name of a profile, or Letters")
    if isinstance(letters, str) and letters not in PROFILES:
        raise unknown("profile of letters", letters, tuple(PROFILES))
    base = PROFILES[letters] if isinstance(letters, str) else letters or Letters()
    own = Letters(names or {}, same or {})
    named = {name: own.names[name] for name in NAMED if name in own.names}
    symbols = {**base.names, **{name: theirs for name, theirs in own.names.items() if name not in named}}
    return Letters(symbols, {**base.same, **own.same}, {**base.quantities, **named})


PROFILES: dict[str, Letters] = {
    "dalembert": Letters(),
    "spong": Letters({"r": "lc"}, {}, {"M": "D", "Gamma": "c"}),
    "craig": Letters({"q": "theta"}, {}, {"c": "V", "g": "G", "K": "k", "P": "u"}),
    "siciliano": Letters({"q": "theta", "l": "a", "r": "l", "m": "ml", "I": "Il"}, {}, {"M": "B", "K": "T", "P": "U"}),
    "lynch-park": Letters({"q": "theta", "l": "L"}),
    "murray": Letters({"q": "theta"}, {}, {"g": "N", "K": "T", "P": "V"}),
    "poonawala": Letters({"r": "lc"}, {}, {"M": "D", "Gamma": "c"}),
    "fakhari": Letters({"q": "theta", "l": "L"}),
    "lagrange-notes": Letters({"r": "lc"}, {}, {"M": "D", "Gamma": "c", "g": "phi"}),
    "lee": Letters({}, {}, {"M": "D", "g": "G", "K": "T", "P": "V"}),
}
"""The letters of textbooks ([Spong], [Craig], [Siciliano], [Lynch & Park], [Murray, Li & Sastry]) and notes."""


def table() -> str:
    """The profiles as a table in Markdown, a row per letter of the library."""
    rows = {"M": "mass matrix", "C": "Coriolis matrix", "c": "velocity terms C q̇", "g": "gravity torques"}
    rows |= {"Gamma": "Christoffel symbols", "K": "kinetic energy", "P": "potential energy"}
    symbols = {"q": "joint coordinates", "l": "length of a link", "r": "joint to center of mass", "m": "mass"}
    symbols |= {"I": "inertia about the center of mass"}
    lines = [["", "", *PROFILES], ["---"] * (len(PROFILES) + 2)]
    lines += [[name, what, *(p.quantity(name) for p in PROFILES.values())] for name, what in rows.items()]
    lines += [[name, what, *(p.outward(name) for p in PROFILES.values())] for name, what in symbols.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
