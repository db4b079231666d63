"""Random formulas against the verdict: no wrong formula is judged right, and no right formula in any form wrong.

Wrong formulas are nonsense, right ones with a change, and right ones plus a term that floats lose. A formula that is
judged right is evaluated again with 400 digits by mpmath: it must be right to eight digits.

Run by `make fuzz`, or: python fuzz/verdict.py --inputs 100000
"""

from __future__ import annotations

import ast
import random
import re
from collections import Counter
from functools import cache

import mpmath
from loop import fuzz, parser

import dalembert as dl
from dalembert.errors import DalembertError
from dalembert.exercises.exercise import all_families
from dalembert.lagrange import EXAMPLES
from dalembert.symbolic.compare import SIGNED, Quantity, compare, formula_quantity
from dalembert.symbolic.formula import read_formula

SLOW = 20.0  # seconds of the processor
DIGITS = 400
POINTS = 12
NUMBERS = ("0", "1", "2", "3", "7", "0.5", "0.001", "pi", "9.81", "1e-20", "1e20", "1e300", "1e-300", "1000000.00")
NUMBERS += ("9007199254740993", "9007199254740992", "0.30000000000000000001", "sqrt(-1)", "1e-17")
EXPONENTS = ("2", "3", "8", "64", "1000", "-1", "-7", "0.5", "(1/3)", "1e6", "(1 + 1e20 - 1e20)")
FUNCTIONS = ("sin", "cos", "tan", "exp", "log", "sqrt", "abs", "sgn", "asin", "acos", "atan")
MP = {
    name: getattr(mpmath, name) for name in ("sin", "cos", "tan", "exp", "log", "sqrt", "asin", "acos", "atan", "atan2")
}
MP |= {"abs": abs, "sgn": mpmath.sign, "sign": mpmath.sign}


@cache
def quantities() -> list[tuple[Quantity, str]]:
    """What is asked for, each with its right formula."""
    found = []
    for robot, names in (
        ("planar-2r", "M11 M12 M22 C11 C12 C22 g1 g2 tau1 tau2 K P Gamma112 Gamma222 det J11 T14 vc1 omega2"),
        ("rp", "M11 M22 C12 g1 g2 tau1 K P"),
        ("elbow-3r", "M23 g2 det"),
    ):
        e = dl.load(robot).equations()
        found += [(e.quantity(name), e.quantity(name).derived) for name in names.split()]
    e = dl.load("planar-2r").equations(friction=True)
    found.append((e.quantity("tau1"), e.quantity("tau1").derived))
    for system, names in (("cart-pole", "M12 tau1 qdd1"), ("bead-on-a-hoop", "tau1 P")):
        s = EXAMPLES[system]()
        found += [(s.quantity(name), s.quantity(name).derived) for name in names.split()]
    for family in all_families():
        for a in family.variant(1).answers:
            if a.symbols and a.kind == "formula":
                found.append((formula_quantity(a.name, str(a.value), a.symbols), str(a.value)))
    return [(q, right) for q, right in found if not right.startswith("[")]


def expression(rng: random.Random, names: list[str], depth: int) -> str:
    """A random formula in these names."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(names) if rng.random() < 0.75 else rng.choice(NUMBERS)

    def part() -> str:
        return expression(rng, names, depth - 1)

    way = rng.randrange(10)
    if way < 3:
        return f"({part()} {rng.choice('+-')} {part()})"
    if way < 5:
        return f"({part()})*({part()})"
    if way == 5:
        return f"({part()})/({part()})"
    if way == 6:
        return f"({part()})^{rng.choice(EXPONENTS)}"
    if way == 7:
        big = rng.choice(("1e20", "1e300", "1e16*pi"))
        return f"({part()} + {big} - {big})"
    if way == 8 and rng.random() < 0.2:
        return f"atan2({part()}, {part()})"
    return f"{rng.choice(FUNCTIONS)}({part()})"


def wrong(rng: random.Random, names: list[str], right: str) -> str:
    """A formula that is almost surely wrong."""
    other = expression(rng, names, rng.randrange(1, 5))
    way = rng.randrange(6)
    if way == 0:
        words = list(re.finditer(r"[A-Za-z]\w*|\d+", right))
        if words:
            at = rng.choice(words)
            return f"{right[: at.start()]}{rng.choice([*names, '2', f'({other})'])}{right[at.end() :]}"
    if way == 1:
        return f"({right}) {rng.choice('+-')} {other}"
    if way == 2:
        return f"({right})*({other})"
    if way == 3:
        return f"({right}) + sgn({other})*({rng.choice(names)} + 1e20 - 1e20)"
    if way == 4:
        return f"({right})^({other})"
    return other


def rewritten(rng: random.Random, quantity: Quantity, right: str) -> str:
    """The right formula in another form."""
    positive = [name for name, x in quantity.symbols.items() if not SIGNED.fullmatch(name) and (x is None or x > 0)]
    names = list(quantity.symbols)
    for _ in range(rng.randrange(1, 4)):
        x, y = rng.choice(names), rng.choice(positive or ["2"])
        k = rng.randrange(2, 9)
        right = rng.choice(
            (
                f"({right}) + {x}^{k} - {x}^{k}",
                f"({right})*(sin({x})^2 + cos({x})^2)^{k}",
                f"({right})*{y}^{k}/{y}^{k}",
                f"-(-1)*({right})*0.5*2",
                f"({right})*exp(log({y}))/{y}",
                f"({right})*sqrt({y})*sqrt({y})/abs({y})",
                f"(({right}) + {y})*{k} - {k - 1}*({right}) - {k}*{y}",
                f"({right}) + 1e{k}*(sin(2*{x}) - 2*sin({x})*cos({x}))",
                f"({right})*(1 + tan({y}/7)^2)*cos({y}/7)^2",
                f"((({right}) + 3)^2 - ({right})^2 - 9)/6",
                re.sub(r"cos\(([^()]*)\)", r"sin(\1 + pi/2)", right),
                re.sub(r"sin\(([^()]*)\)", r"(2*sin((\1)/2)*cos((\1)/2))", right),
                re.sub(r"\b1/2\b", "0.5", right),
            )
        )
    return right


def value(tree: ast.expr, values: dict[str, mpmath.mpf], wide: bool = False) -> mpmath.mpf:
    """The value of a formula with many digits; an ArithmeticError or ValueError where it has no real one, or none at
    all if `wide`."""
    match tree:
        case ast.Constant(value=x):
            return mpmath.mpf(repr(x))
        case ast.Name(id=name):
            if name in values:
                return values[name]
            if name in ("pi", "e"):
                return +getattr(mpmath, name)
            angle = sum((values[f"q{k}"] for k in name[1:]), mpmath.mpf(0))
            return (mpmath.cos if name[0] == "c" else mpmath.sin)(angle)
        case ast.UnaryOp(operand=x):
            return -value(x, values, wide)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            parts = [value(x, values, wide) for x in arguments]
            if name == "atan2" and any(isinstance(x, mpmath.mpc) for x in parts):
                raise ValueError("atan2 is real")
            found = MP[name](*parts)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = value(left, values, wide), value(right, values, wide)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div():
                    return a / b
            found = a**b if a or isinstance(b, mpmath.mpc) or b <= 0 else a  # 0^b of a huge b
        case _:
            raise ValueError("no formula")
    if (isinstance(found, mpmath.mpc) and not wide) or not mpmath.isfinite(found):
        raise ValueError("no real number")
    return found


CONDITION = re.compile(r"(\w+) = ([-\w.+]+)")  # of "where g = 9.81, r1 = l1"
ROUNDED = 0.02  # relative: what numbers rounded by the writer may change


def points(quantity: Quantity, where: str) -> list[dict[str, mpmath.mpf]]:
    """Random values of the symbols, under the condition that the verdict names."""
    rng = random.Random(7)
    found = []
    for k in range(POINTS):
        values = {}
        for name, own in quantity.symbols.items():
            x = rng.uniform(0.3, 1.3) * (5 if own is None and SIGNED.fullmatch(name) and k % 2 else 1)
            sign = -1 if own is not None and own < 0 else rng.choice((1, -1)) if own is None and k > 5 else 1
            values[name] = mpmath.mpf(x if own is None and not SIGNED.fullmatch(name) else sign * x)
        for name, x in CONDITION.findall(where):
            values[name] = values[x] if x in values else mpmath.mpf(x)
        found.append(values)
    return found


def is_right(quantity: Quantity, right: str, text: str, where: str = "", wide: bool = False) -> bool:
    """Whether a formula equals the right one wherever both are defined, with many digits; a potential energy up to a
    constant in the parameters, and under the condition that the verdict names. What has no real value anywhere, as
    0*asin(5), is compared by its complex one."""
    a, b = (read_formula(x, [*quantity.symbols]) for x in (right, text))
    pairs = []
    with mpmath.workdps(DIGITS):
        for values in points(quantity, where):
            other = {
                name: values[name] if own is not None else -values[name] / 2 for name, own in quantity.symbols.items()
            }
            try:
                x, y = (value(tree, values, wide or quantity.floating) for tree in (a, b))
                if quantity.floating:  # the constant may be complex
                    x, y = x - value(a, other, True), y - value(b, other, True)
            except (ArithmeticError, ValueError, MemoryError):
                continue
            pairs.append((x, y))
        if not pairs and not wide:
            return is_right(quantity, right, text, where, True)
        size = max((abs(x) for x, _ in pairs), default=0)
        near = ROUNDED if "to the digits" in where else 1e-8
        return bool(pairs) and all(abs(x - y) <= near * (abs(x) + size) for x, y in pairs)


def make(rng: random.Random, number: int):
    quantity, right = rng.choice(quantities())
    names = [name for name in quantity.symbols if re.search(rf"\b{name}\b", right)] or list(quantity.symbols)
    must = number % 5 == 0
    text = rewritten(rng, quantity, right) if must else wrong(rng, names, right)

    def read(told: Counter[str]) -> None:
        try:
            result = compare(quantity, text, slips=number % 100 == 1)
        except DalembertError:
            assert not must, f"{quantity.name}: refused {text}"
            raise
        if must:
            assert result, f"{quantity.name}: {text} is right and judged wrong"
            told["right ones"] += 1
        elif not result:
            told["wrong ones"] += 1
        else:
            assert is_right(quantity, right, text, result.where), (
                f"{quantity.name}: {text} is wrong and judged right {result.where}"
            )
            told["right by chance"] += 1

    return f"{quantity.name}: {text}".encode(), ".txt", read


if __name__ == "__main__":
    fuzz(parser(__doc__).parse_args(), make, SLOW)
