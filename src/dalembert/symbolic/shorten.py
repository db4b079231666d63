"""Fewer terms for the same trigonometric function, group by group of parallel joints.

Two terms become one where both halves are sums of neighboring joints, and double angles become squares, of cosines or
sines, whichever leaves the smaller constant:

    cos A + cos B = 2 cos((A+B)/2) cos((A−B)/2), and so on
    c cos 2A = 2c cos² A − c = c − 2c sin² A
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, product

from flint import fmpq

from dalembert.symbolic.fourier import Atom, Factor, Function, Key, leading_sign

Choice = str | None
"""Which square stands for cos 2A: "c", "s", or None, the better."""
Part = dict[Atom, fmpq]

# What a reader pays: for a constant, a factor, a factor more, an angle that is not a sum of neighbors, a term.
CONSTANT, FIRST, SECOND, ODD_ANGLE, TERM = 0.8, 1.0, 0.15, 0.6, 0.2
LESS = 1e-9
MOST_SQUARES = 6
TRIED_AT_LENGTH = 40
"""Terms up to which the squares of each group are chosen apart."""


class Shortener:
    """Shortens functions over groups whose joints turn in the given senses (±1 each).

    A sum of neighboring joints is q₂ + q₃ where they turn in one sense, q₂ − q₃ where they turn in opposite ones."""

    def __init__(self, senses: Sequence[Sequence[int]]) -> None:
        self.senses = [tuple(sense) for sense in senses]
        self._nice: dict[tuple[int, tuple[int, ...]], bool] = {}
        self._costs: dict[tuple[int, Atom], float] = {}
        self._known: dict[frozenset[tuple[Key, fmpq]], Function] = {}

    def nice(self, g: int, k: tuple[int, ...]) -> bool:
        """Whether k·q is a plain sum of neighboring joints."""
        known = self._nice.get((g, k))
        if known is None:
            used = [j for j, x in enumerate(k) if x]
            signs = {k[j] * self.senses[g][j] for j in used}
            known = bool(used) and used[-1] - used[0] + 1 == len(used) and signs in ({1}, {-1})
            self._nice[g, k] = known
        return known

    def atom_cost(self, g: int, atom: Atom) -> float:
        if not atom:
            return CONSTANT
        if atom[0][0] in "qv":
            return FIRST
        known = self._costs.get((g, atom))
        if known is None:
            known = FIRST + SECOND * (len(atom) > 1) + sum(0 if self.nice(g, k) else ODD_ANGLE for _, k in atom)
            self._costs[g, atom] = known
        return known

    def key_cost(self, key: Key) -> float:
        return TERM + sum(self.atom_cost(g, atom) for g, atom in enumerate(key) if atom)

    def cost(self, function: Iterable[Key]) -> float:
        return sum(map(self.key_cost, function))

    def shorten(self, function: Function, choice: Choice = None) -> Function:
        """The function, from its Fourier form, in fewer terms."""
        return self._with_choices(function, (choice,) * len(self.senses)) if len(function) > 0 else function

    def shorten_more(self, function: Function) -> Function:
        """The same with every choice of squares tried for each group in turn, until none helps; what multiplies
        different rates is shortened apart, and nothing twice."""
        parts: dict[Atom, Function] = {}
        for key, c in function.items():
            parts.setdefault(key[-1], {})[(*key[:-1], ())] = c
        result: Function = {}
        for motion, part in parts.items():
            unit = part[min(part)]
            scaled = {key: c / unit for key, c in part.items()}
            same = frozenset(scaled.items())
            if same not in self._known:
                self._known[same] = self._best(scaled)
            result |= {(*key[:-1], motion): c * unit for key, c in self._known[same].items()}
        return result

    def _best(self, function: Function) -> Function:
        count = len(self.senses)
        best = self._with_choices(function, (None,) * count)
        active = [g for g in range(count) if any(has_even(key[g]) for key in function)]
        if len(function) <= 2 or not active:
            return best
        for start in (None, "c", "s"):
            choices = [start if g in active else None for g in range(count)]
            found = self._descend(function, choices, active if len(function) <= TRIED_AT_LENGTH else [])
            if self.cost(found) < self.cost(best) - LESS:
                best = found
        return best

    def _descend(self, function: Function, choices: list[Choice], active: list[int]) -> Function:
        best = self._with_choices(function, choices)
        moved = True
        while moved:
            moved = False
            for g, option in product(active, (None, "c", "s")):
                if option == choices[g]:
                    continue
                trial = [*choices[:g], option, *choices[g + 1 :]]
                found = self._with_choices(function, trial)
                if self.cost(found) < self.cost(best) - LESS:
                    best, choices, moved = found, trial, True
        return best

    def _with_choices(self, function: Function, choices: Sequence[Choice]) -> Function:
        """Group by group, forward and backward; the shorter result."""
        active = [g for g in range(len(choices)) if any(key[g] for key in function)]
        forward = self._in_order(function, active, choices)
        if len(active) < 2:
            return forward
        backward = self._in_order(function, active[::-1], choices)
        return backward if self.cost(backward) < self.cost(forward) - LESS else forward

    def _in_order(self, function: Function, order: Sequence[int], choices: Sequence[Choice]) -> Function:
        for g in order:
            parts: dict[tuple[Key, Key], Part] = {}
            for key, c in function.items():
                parts.setdefault((key[:g], key[g + 1 :]), {})[key[g]] = c
            function = {}
            for (before, after), part in parts.items():
                for atom, c in self.shorten_group(g, part, choices[g]).items():
                    function[(*before, atom, *after)] = c
        return function

    def shorten_group(self, g: int, part: Part, choice: Choice) -> Part:
        """One group's function, from its Fourier form."""
        if any(atom and atom[0][0] in "qv" for atom in part) or (len(part) == 1 and not has_even(next(iter(part)))):
            return part
        single = {atom[0]: c for atom, c in part.items() if atom}
        result, used = self._paired(g, single)
        squares: list[tuple[tuple[int, ...], fmpq]] = []
        for (kind, k), c in single.items():
            half = tuple(x // 2 for x in k)
            if (kind, k) in used:
                continue
            if any(x % 2 for x in k) or not self.nice(g, half):
                add(result, ((kind, k),), c)
            elif kind == "s":
                add(result, (("c", half), ("s", half)), 2 * c)
            else:
                squares.append((half, c))
        add(result, (), part.get((), fmpq(0)))
        return squared(result, squares, choice)

    def _paired(self, g: int, single: dict[Factor, fmpq]) -> tuple[Part, set[Factor]]:
        """Pairs of terms as products, the most profitable first, each term once."""
        pairs = []
        for (A, a), (B, b) in combinations(single.items(), 2):
            if A[0] == B[0] and (a == b or a == -b) and (found := self._product(g, A, B, a, a == b)):
                gain = self.atom_cost(g, (A,)) + self.atom_cost(g, (B,)) - self.atom_cost(g, found[0])
                pairs.append((gain, A, B, found))
        pairs.sort(key=lambda pair: -pair[0])
        result: Part = {}
        used: set[Factor] = set()
        for gain, A, B, (atom, c) in pairs:
            if gain > 0 and A not in used and B not in used:
                used |= {A, B}
                add(result, atom, c)
        return result, used

    def _product(self, g: int, A: Factor, B: Factor, c: fmpq, same: bool) -> tuple[Atom, fmpq] | None:
        """c (A ± B) as one product of sums of neighbors, or None."""
        both = list(zip(A[1], B[1], strict=True))
        if any((x + y) % 2 for x, y in both):
            return None
        half_sum, half_difference = tuple((x + y) // 2 for x, y in both), tuple((x - y) // 2 for x, y in both)
        if not (self.nice(g, half_sum) and self.nice(g, half_difference)):
            return None
        first, second, sign = PRODUCTS[A[0], same]
        return in_order((first, half_sum), (second, half_difference), 2 * sign * c)


# (kind, equal signs) → kinds of the factors at half sum and half difference, sign of the product.
PRODUCTS = {
    ("c", True): ("c", "c", 1),
    ("c", False): ("s", "s", -1),
    ("s", True): ("s", "c", 1),
    ("s", False): ("c", "s", 1),
}


def in_order(first: Factor, second: Factor, c: fmpq) -> tuple[Atom, fmpq]:
    """The product of two factors as an atom, their angles with a positive lead."""
    factors = []
    for kind, k in (first, second):
        if leading_sign(k) < 0:
            k = tuple(-x for x in k)
            c = -c if kind == "s" else c
        factors.append((kind, k))
    return tuple(sorted(factors)), c


def squared(result: Part, squares: list[tuple[tuple[int, ...], fmpq]], choice: Choice) -> Part:
    """result + Σ c cos 2A, each as c (2 cos² A − 1) or c (1 − 2 sin² A)."""
    constant = result.pop((), fmpq(0))

    def left(kinds: Sequence[str]) -> fmpq:
        return constant + sum((c if kind == "s" else -c) for kind, (_, c) in zip(kinds, squares, strict=True))

    def price(kinds: Sequence[str]) -> tuple[bool, int, bool, tuple[str, ...]]:
        negative = sum((c < 0) == (kind == "c") for kind, (_, c) in zip(kinds, squares, strict=True))
        rest = left(kinds)
        return rest != 0, negative, rest < 0, tuple(kinds)

    kinds: Sequence[str] = (choice or "c",) * len(squares)
    if choice is None and 0 < len(squares) <= MOST_SQUARES:
        kinds = min(product("cs", repeat=len(squares)), key=price)
    add(result, (), left(kinds))
    for kind, (half, c) in zip(kinds, squares, strict=True):
        add(result, ((kind, half), (kind, half)), 2 * c if kind == "c" else -2 * c)
    return {atom: c for atom, c in result.items() if c != 0}


def add(part: Part, atom: Atom, c: fmpq) -> None:
    part[atom] = part[atom] + c if atom in part else c


def has_even(atom: Atom) -> bool:
    """Whether it is the sine or cosine of a double angle."""
    return bool(atom) and atom[0][0] in "cs" and all(x % 2 == 0 for x in atom[0][1])


def senses(group: Sequence[int], g: int, keys: Iterable[Key]) -> tuple[int, ...]:
    """±1 for each joint of a group: neighbors that are mostly added turn in one sense, mostly subtracted in opposite.

    A group does not say in which sense its joints turn, but the functions of an arm do."""
    votes = [0] * len(group)
    for key in keys:
        for kind, k in key[g]:
            if kind in "cs":
                for j in range(1, len(k)):
                    votes[j] += leading_sign((k[j - 1] * k[j],))
    result = [1] * len(group)
    for j in range(1, len(group)):
        result[j] = result[j - 1] * (-1 if votes[j] < 0 else 1)
    return tuple(result)


def shortener(groups: Sequence[Sequence[int]], keys: Iterable[Key]) -> Shortener:
    """The one for functions over these groups, and rates after them, with the senses that the keys show."""
    keys = list(keys)
    return Shortener([*(senses(group, g, keys) for g, group in enumerate(groups)), (1,)])
