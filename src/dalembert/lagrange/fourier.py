"""Expressions polynomial in sines and cosines as sums of cos(Σ kᵢ xᵢ) and sin(Σ kᵢ xᵢ): their Fourier form.

It is unique, so that s² + c² is 1 and zero is zero, with no search for identities.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from typing import Any

from dalembert.lagrange.symbols import Expression, sp

Complex = tuple[Fraction, Fraction]
Frequency = tuple[tuple[Any, Fraction], ...]  # (angle, its multiple), by the angle's name
Waves = dict[Frequency, Complex]  # Σ c exp(i k·x)

HALF = Fraction(1, 2)


def tidy(x: Expression) -> Expression:
    """The shorter of the expanded expression and its Fourier form."""
    x = sp.expand(x)
    if not x.has(sp.sin, sp.cos):
        return x
    return min((x, fourier(x)), key=lambda y: y.count_ops())


def fourier(x: Expression) -> Expression:
    """The Fourier form of an expanded expression; what is no polynomial in sines and cosines stays as a factor."""
    sums: dict[Any, dict[Frequency, Complex]] = defaultdict(dict)
    for term in sp.Add.make_args(x):
        factor, waves = _term(term)
        total = sums[factor]
        for frequency, (re, im) in waves.items():
            a, b = total.get(frequency, (Fraction(0), Fraction(0)))
            total[frequency] = (a + re, b + im)
    return sp.Add(*(factor * _written(waves) for factor, waves in sums.items()))


def _term(term: Expression) -> tuple[Expression, Waves]:
    """(factor, waves) of a product. The rational coefficient goes with the waves."""
    number, rest = term.as_coeff_Mul()
    if not number.is_Rational:
        number, rest = sp.Integer(1), term
    waves: Waves = {(): (Fraction(int(number.p), int(number.q)), Fraction(0))}
    others = []
    for part in sp.Mul.make_args(rest):
        base, power = part.as_base_exp()
        if isinstance(base, (sp.sin, sp.cos)) and power.is_Integer and power > 0:
            for _ in range(int(power)):
                waves = _product(waves, _wave(base))
        else:
            others.append(part)
    return sp.Mul(*others), waves


def _wave(function: Expression) -> Waves:
    """cos a = ½ e^{ia} + ½ e^{−ia}, sin a = −½i e^{ia} + ½i e^{−ia}."""
    frequency = _frequency(function.args[0])
    opposite = tuple((x, -k) for x, k in frequency)
    if type(function).__name__ == "cos":
        return {frequency: (HALF, Fraction(0)), opposite: (HALF, Fraction(0))}
    return {frequency: (Fraction(0), -HALF), opposite: (Fraction(0), HALF)}


def _frequency(angle: Expression) -> Frequency:
    """The terms of an angle and their rational coefficients; with any other coefficient a term is an angle itself."""
    found: dict[Any, Fraction] = {}
    for part, k in angle.expand().as_coefficients_dict().items():
        x, multiple = (part, Fraction(int(k.p), int(k.q))) if k.is_Rational else (k * part, Fraction(1))
        found[x] = found.get(x, Fraction(0)) + multiple
    return _sorted(found)


def _sorted(found: dict[Any, Fraction]) -> Frequency:
    return tuple(sorted(((x, k) for x, k in found.items() if k), key=lambda pair: str(pair[0])))


def _product(a: Waves, b: Waves) -> Waves:
    result: Waves = {}
    for f, (p, q) in a.items():
        for g, (r, s) in b.items():
            both = dict(f)
            for x, k in g:
                both[x] = both.get(x, Fraction(0)) + k
            frequency = _sorted(both)
            re, im = result.get(frequency, (Fraction(0), Fraction(0)))
            result[frequency] = (re + p * r - q * s, im + p * s + q * r)
    return result


def _written(waves: Waves) -> Expression:
    """Σ c e^{ik·x} of a real function, as cosines and sines; a constant that meets its like as a square."""
    constant = waves.get((), (Fraction(0), Fraction(0)))[0]
    terms = []
    for frequency, (re, im) in waves.items():
        if not frequency or frequency[0][1] < 0:
            continue  # each wave stands here with its opposite: one of the two is written
        angle = sp.Add(*(_rational(k) * x for x, k in frequency))
        cosine, sine = 2 * re, -2 * im
        if cosine and abs(cosine) == abs(constant) and all(k % 2 == 0 for _, k in frequency):
            square = sp.cos(angle / 2) if cosine == constant else sp.sin(angle / 2)
            terms.append(_rational(2 * constant) * square**2)  # α + α cos 2a = 2α cos² a, α − α cos 2a = 2α sin² a
            cosine = constant = Fraction(0)
        terms += [_rational(cosine) * sp.cos(angle), _rational(sine) * sp.sin(angle)]
    return sp.Add(_rational(constant), *terms)


def _rational(x: Fraction) -> Expression:
    return sp.Rational(x.numerator, x.denominator)
