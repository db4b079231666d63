"""SymPy expressions of a system as expressions for print, in the order of a textbook: what is constant in brackets
before what moves, inertias and masses first, accelerations before rates."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

from dalembert.lagrange.symbols import Alphabet, Expression as Symbolic, sp
from dalembert.symbolic.collect import (
    ACCELERATION,
    GRAVITY,
    INERTIA,
    LENGTH,
    LIKE_INERTIA,
    LIKE_MASS,
    MASS,
    RATE,
    SLIDE,
    TRIGONOMETRIC,
    split_name,
)
from dalembert.symbolic.expression import (
    Cosine,
    Expression,
    Function,
    Name,
    Number,
    Power,
    Product,
    Quotient,
    Rate,
    Sine,
    coefficient,
    size,
    terms_of,
    times,
    total,
)

FORCE = RATE + 0.5
JOINT = re.compile(r"q([1-9])")
HEADS = {"Abs": "abs", "sign": "sgn"}


class Writing:
    """Writes the expressions of one system; `acting` are its forces: inputs or τ, and multipliers."""

    def __init__(self, alphabet: Alphabet, acting: tuple[Any, ...] = ()) -> None:
        a = alphabet
        self.moving = (*a.q, *a.qd, *a.qdd, *acting)
        self._atoms: dict[Any, Expression] = {s: Name(s.name) for s in a.q}
        for order, symbols in ((1, a.qd), (2, a.qdd)):
            self._atoms |= {s: Rate(q.name, order) for s, q in zip(symbols, a.q, strict=True)}
        self._fast, self._leading = (*a.qd, *a.qdd, *acting), (*a.qdd, *acting)
        self._order = {s: k for k, s in enumerate((*a.qdd, *a.qd, *a.q, *acting))}
        self._roles = dict.fromkeys(a.qdd, ACCELERATION) | dict.fromkeys(a.qd, RATE) | dict.fromkeys(a.q, SLIDE)
        self._roles |= dict.fromkeys(acting, FORCE)
        self._joints = {s: int(found[1]) for s in a.q if (found := JOINT.fullmatch(s.name))}

    def __call__(self, x: Symbolic, energy: bool = False) -> Expression:
        """The expression collected: Σ (constant) · (what moves), over one denominator. An `energy` goes by products of
        rates alone."""
        x = sp.sympify(x)
        above, below = sp.fraction(sp.together(x))
        if not below.free_symbols:
            return self._collected(x, energy)
        whole = Quotient(self._collected(above), self._collected(below))
        return whole if below.has(*self.moving) else min((self._collected(x, energy), whole), key=size)

    def _collected(self, x: Symbolic, energy: bool = False) -> Expression:
        """By what moves fast, and then by what moves; or what shares its constant and its sines in one bracket: the
        shorter of the two."""
        x = sp.expand(x)
        apart = self._by(x, self._fast)
        slow, fast = self._parts(x, self._leading)
        return apart if energy else min((apart, total((fast, *self._bracketed(slow)))), key=size)

    def _parts(self, x: Symbolic, symbols: tuple[Any, ...]) -> tuple[Symbolic, Expression]:
        """(what is free of the symbols, the rest written)."""
        rest = sp.Add(*(term for term in sp.Add.make_args(x) if term.has(*symbols)))
        return x - rest, self._by(rest, symbols)

    def _by(self, x: Symbolic, symbols: tuple[Any, ...]) -> Expression:
        """Σ coefficient · product of these symbols, the coefficients by what moves in them."""
        groups = _groups(x, symbols)
        slow = tuple(s for s in self.moving if s not in symbols)
        parts = []
        for monomial in sorted(groups, key=self._place):
            inside = groups[monomial]
            coefficient = self._by(inside, slow) if slow and inside.has(*slow) else self._constant(inside)
            common, rest = _number(coefficient)
            parts.append(_product(common, rest, self._plain(monomial)) if monomial != 1 else coefficient)
        return total(parts)

    def _bracketed(self, x: Symbolic) -> list[Expression]:
        """Σ constant · sines · (polynomial of rates)."""
        shared: dict[tuple[Any, Any], list[Any]] = {}
        for monomial, inside in _groups(x, self.moving).items():
            still, rates = monomial.as_independent(*self._fast, as_Add=False)
            number, factor = self._signed(inside)
            shared.setdefault((factor, still), []).append(number * rates)
        parts = []
        for factor, still in sorted(shared, key=lambda key: self._place(key[1] * shared[key][0])):
            number, inside = sp.factor_terms(sp.Add(*shared[factor, still])).as_coeff_Mul()
            fraction = Number(Fraction(int(number.p), int(number.q))) if number.is_Rational else self._plain(number)
            parts.append(_product(fraction, self._constant(factor), self._plain(still), self._plain(inside)))
        return parts

    def _signed(self, x: Symbolic) -> tuple[Symbolic, Symbolic]:
        """(number, rest): a sum in the rest starts without a minus."""
        number, rest = sp.factor_terms(x).as_coeff_Mul()
        for factor in sp.Mul.make_args(rest):
            if factor.is_Add and min(factor.args, key=self._place).could_extract_minus_sign():
                number, rest = -number, rest.xreplace({factor: -factor})
        return number, rest

    def _constant(self, x: Symbolic) -> Expression:
        """A sum of parameters: what a mass multiplies in one bracket."""
        number, inside = self._signed(x)
        if inside.is_Add:
            masses = [s for s in inside.free_symbols if self._role(s) == MASS]
            inside = sp.collect(sp.expand(inside), masses, sp.factor_terms)
        return _product(self._plain(number), self._plain(inside))

    def _plain(self, x: Symbolic) -> Expression:
        """The expression as it stands, its terms and factors in order."""
        if x in self._atoms:
            return self._atoms[x]
        if x.is_Symbol:
            return Name(x.name)
        if x.is_Rational:
            return Number(Fraction(int(x.p), int(x.q)))
        if x.is_Float:
            return Number(Fraction(str(x)))
        if x.is_Add:
            return total(self._plain(term) for term in sorted(x.args, key=self._place))
        if x.is_Mul:
            above, below = x.as_numer_denom()
            if below.free_symbols:
                return Quotient(self._plain(above), self._plain(below))
            return times(*(self._plain(f) for f in sorted(_factors(x), key=self._rank)))
        if x.is_Pow:
            return self._power(*x.as_base_exp())
        if isinstance(x, (sp.sin, sp.cos)) and (angle := self._angle(x.args[0])):
            return Sine(angle) if isinstance(x, sp.sin) else Cosine(angle)
        if x.is_Function and len(x.args) == 1:
            head = type(x).__name__
            return Function(HEADS.get(head, head), self._plain(x.args[0]))
        return Name(str(x))

    def _power(self, base: Symbolic, exponent: Symbolic) -> Expression:
        if exponent == sp.Rational(1, 2):
            return Function("sqrt", self._plain(base))
        if exponent.is_Integer and exponent > 0:
            return Power(self._plain(base), int(exponent))
        if exponent.is_Rational and exponent < 0:
            return Quotient(Number(Fraction(1)), self._plain(base**-exponent))
        return Name(str(base**exponent))

    def _angle(self, x: Symbolic) -> tuple[tuple[int, int], ...]:
        """A sum of q1, q2, … as (joint, multiple); () if it is none."""
        parts = x.as_coefficients_dict()
        if not all(s in self._joints and k.is_Integer for s, k in parts.items()):
            return ()
        return tuple(sorted((self._joints[s], int(k)) for s, k in parts.items()))

    def _rank(self, x: Symbolic) -> tuple[float, str, int, str]:
        """Where a factor stands in a product."""
        if x.is_Number:
            return -1.0, "", 0, ""
        base = x.as_base_exp()[0]
        if base in self._order:
            return self._roles[base], "", self._order[base], ""
        if base.is_Symbol:
            letters, digits, rest = split_name(base.name)
            return self._role(base), letters, int(digits or 0), rest
        if base.is_Add:
            found = [self._rank(f)[0] for term in base.args for f in sp.Mul.make_args(term) if not f.is_Number]
            role = min(found, default=LENGTH)
            return (role if role <= MASS else max(found, default=LENGTH) + 0.5), "", len(found), str(x)
        angle = self._angle(base.args[0]) if base.is_Function and base.args else ()
        return TRIGONOMETRIC, "", 100 * angle[0][0] + len(angle) if angle else 0, str(x)

    def _role(self, s: Symbolic) -> float:
        if s in self._roles:
            return self._roles[s]
        if LIKE_INERTIA.match(s.name):
            return INERTIA
        if LIKE_MASS.match(s.name) or s.name.startswith("M"):
            return MASS
        return GRAVITY if s.name == "g" else LENGTH

    def _place(self, term: Symbolic) -> tuple[Any, ...]:
        """Where a term stands in a sum: accelerations, rates, the rest; then in the order of its factors."""
        order = sorted(self._order[s] for s in term.free_symbols if s in self._order)
        first = [self._role(s) for s in term.free_symbols if s in self._roles]
        factors = sorted(self._rank(f) for f in _factors(term) if not f.is_Number)
        return -max(first, default=LENGTH) if max(first, default=LENGTH) >= RATE else 0, order, factors


def _product(*factors: Expression) -> Expression:
    """Their product, over one denominator."""
    above, below = [], []
    for f in factors:
        for part in f.factors if isinstance(f, Product) else (f,):
            above.append(part.above if isinstance(part, Quotient) else part)
            below += [part.below] if isinstance(part, Quotient) else []
    return Quotient(times(*above), times(*below)) if below else times(*above)


def _groups(x: Symbolic, symbols: tuple[Any, ...]) -> dict[Any, Any]:
    """{product of these symbols and of functions of them: what it multiplies}."""
    found: dict[Any, Any] = {}
    for term in sp.Add.make_args(x):
        rest, monomial = term.as_independent(*symbols, as_Add=False)
        found[monomial] = found.get(monomial, 0) + rest
    return found


def _number(x: Expression) -> tuple[Number, Expression]:
    """(common number of the terms, what is left): 1/2*a + b*c2 is 1/2*(a + 2*b*c2)."""
    numbers = [coefficient(term)[0] for term in terms_of(x)]
    common = Fraction(math.gcd(*(c.numerator for c in numbers)), math.lcm(*(c.denominator for c in numbers)))
    common *= -1 if all(c < 0 for c in numbers) else 1
    return Number(common), total(_product(Number(1 / common), term) for term in terms_of(x))


def _factors(x: Symbolic) -> list[Any]:
    """The factors of a product, unpacked."""
    return [g for f in sp.Mul.make_args(x) for g in (_factors(f) if f.is_Mul else [f])]
