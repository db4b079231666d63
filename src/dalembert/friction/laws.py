"""The table of friction laws.

Friction is the torque that a drive must supply against it. Every law is a sum of pieces, each a level times a shape:

    f(v) = Σ level(side) · shape(v),        level its own for each direction of motion where it is given so,

where the shape of a *dry* piece carries the sign of the velocity, σ(v) · profile(|v|), and jumps at zero, and that of a
*fluid* one does not: v, |v|^α sgn v, 1. So the torque is linear in the levels, whose columns of the regressor the
shapes are, and in nothing else. sgn 0 = 0; what dry friction holds at rest is its break-away torque.

Armstrong-Hélouvry, Dupont & Canudas de Wit 1994, "A survey of models … for the control of machines with friction";
Olsson et al. 1998, "Friction models and friction compensation".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dalembert import scalar
from dalembert.arguments import number
from dalembert.errors import InputError, unknown
from dalembert.scalar import Scalar

Sides = tuple[float, float]  # for positive and for negative velocity
Values = Mapping[str, Any]  # a number, or Sides for a level


@dataclass(frozen=True)
class Friction:
    """One friction term of a joint: the name of its law, the law's parameters as (name, value) pairs, and how the sign
    of the velocity is smoothed (None: not), over which width [rad/s or m/s]. `friction(…)` makes one with its
    parameters checked, complete and in order."""

    law: str
    parameters: tuple[tuple[str, float | Sides], ...] = ()
    smooth: str | None = None
    width: float | None = None

    @property
    def values(self) -> dict[str, Any]:
        return dict(self.parameters)

    def __repr__(self) -> str:
        given = [f"{k}={v!r}" for k, v in spoken(self).items() if k != "law"]
        return f"friction({', '.join([repr(self.law), *given])})"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a law: its units (of a turning and of a sliding joint), its default (None: it must be given),
    whether it is a level that may differ by direction, and what it must be: "magnitude" (≥ 0), "positive", "part" (0 ≤
    x < 1) or "any"."""

    units: tuple[str, str]
    default: float | None = None
    sided: bool = True
    must: str = "magnitude"


@dataclass(frozen=True)
class Piece:
    """One summand: the name of its regressor column, its level for each direction, its shape and the shape's slope. A
    dry piece's shape is σ(v) times the profile given here; `load`: times the joint's |load| too."""

    column: str
    level: Sides
    shape: Callable[[Scalar], Scalar]
    slope: Callable[[Scalar], Scalar]
    dry: bool = False
    load: bool = False


@dataclass(frozen=True)
class FrictionLaw:
    """A row. `linear` names the parameters in which the torque is linear, given the others; `holds` gives the level at
    which dry friction breaks away, `None` for a law without a jump. `check` adds what single parameters cannot say."""

    sentence: str
    equation: str
    parameters: dict[str, Parameter]
    pieces: Callable[[Values], list[Piece]]
    linear: tuple[str, ...]
    holds: Callable[[Values], Sides] | None = None
    check: Callable[[Values], str] = lambda p: ""

    @property
    def dry(self) -> bool:
        return self.holds is not None


def _one(v: Scalar) -> Scalar:
    return 1.0


def _zero(v: Scalar) -> Scalar:
    return 0.0


def _viscous(p: Values) -> list[Piece]:
    return [Piece("viscous", p["viscous"], lambda v: v, _one)]


def _coulomb(p: Values) -> list[Piece]:
    return [Piece("coulomb", p["coulomb"], _one, _zero, dry=True), *_load(p)]


def _load(p: Values) -> list[Piece]:
    """μ |load| beside the Coulomb level, not a factor of it: a mesh without friction of its own loses a part of what it
    transmits too, and μ has no unit."""
    mu = p["load"]
    return [Piece("load", (mu, mu), _one, _zero, dry=True, load=True)] if mu else []


def _stribeck(p: Values) -> list[Piece]:
    v_s, delta = p["speed"], p["exponent"]
    bump = (p["breakaway"][0] - p["coulomb"][0], p["breakaway"][1] - p["coulomb"][1])

    def fade(v: Scalar) -> Scalar:
        return scalar.exp(-scalar.power(scalar.absolute(v) / v_s, delta))

    def slope(v: Scalar) -> Scalar:
        x = scalar.absolute(v) / v_s
        return -(delta / v_s) * _lower_power(x, delta) * scalar.sign(v) * fade(v)

    return [*_coulomb(p), Piece("stribeck", bump, fade, slope, dry=True), *_viscous(p)]


def _lower_power(x: Scalar, exponent: float) -> Scalar:
    """x^(exponent − 1), which for an exponent below one is infinite at rest."""
    if exponent > 1.0:
        return scalar.power(x, exponent - 1.0)
    return 1.0 if exponent == 1.0 else scalar.power(x, exponent) / x


def _power(p: Values) -> list[Piece]:
    alpha = p["exponent"]

    def shape(v: Scalar) -> Scalar:
        size = scalar.power(scalar.absolute(v), alpha)
        return scalar.by_sign(v, size, -size)

    return [Piece("power", p["coefficient"], shape, lambda v: alpha * _lower_power(scalar.absolute(v), alpha))]


def _offset(p: Values) -> list[Piece]:
    return [Piece("offset", (p["offset"], p["offset"]), _one, _zero)]


def _at_rest(level: str) -> Callable[[Values], Sides]:
    return lambda p: p[level]


def _order(p: Values) -> str:
    for side, word in ((0, "positive"), (1, "negative")):
        if p["breakaway"][side] < p["coulomb"][side]:
            return (
                f"breakaway {p['breakaway'][side]!r} is below coulomb {p['coulomb'][side]!r} for {word} velocity; what "
                "holds at rest is at least what slides"
            )
    return ""


_DRY = ("N m", "N")
_FLUID = ("N m s/rad", "N s/m")
_SPEED = ("rad/s", "m/s")
_NONE = ("1", "1")
_MU = Parameter(_NONE, 0.0, sided=False, must="part")
_LEVEL = Parameter(_DRY)

LAWS: dict[str, FrictionLaw] = {
    "viscous": FrictionLaw(
        "Proportional to the velocity: lubricated surfaces, slow fluid drag.",
        "b v",
        {"viscous": Parameter(_FLUID)},
        _viscous,
        ("viscous",),
    ),
    "coulomb": FrictionLaw(
        "Dry friction of one level, which holds at rest what it resists in motion.",
        "(F_c + μ |load|) sgn v",
        {"coulomb": _LEVEL, "load": _MU},
        _coulomb,
        ("coulomb", "load"),
        holds=_at_rest("coulomb"),
    ),
    "static": FrictionLaw(
        "Dry friction that holds more at rest (break-away) than it resists in motion: stiction.",
        "(F_c + μ |load|) sgn v; at rest up to F_s + μ |load|",
        {"coulomb": _LEVEL, "breakaway": _LEVEL, "load": _MU},
        _coulomb,
        ("coulomb", "load"),
        holds=_at_rest("breakaway"),
        check=_order,
    ),
    "stribeck": FrictionLaw(
        "Break-away that fades to the Coulomb level as a film builds up, then viscous.",
        "(F_c + (F_s − F_c) exp(−|v/v_s|^δ) + μ |load|) sgn v + b v; at rest up to F_s + μ |load|",
        {
            "coulomb": _LEVEL,
            "breakaway": _LEVEL,
            "speed": Parameter(_SPEED, sided=False, must="positive"),
            "exponent": Parameter(_NONE, 2.0, sided=False, must="positive"),
            "viscous": Parameter(_FLUID, 0.0),
            "load": _MU,
        },
        _stribeck,
        ("coulomb", "breakaway", "viscous", "load"),
        holds=_at_rest("breakaway"),
        check=_order,
    ),
    "power": FrictionLaw(
        "A power of the velocity: α = 2 is turbulent drag, α < 1 a grease that thins.",
        "c |v|^α sgn v",
        {
            "coefficient": Parameter(("N m (s/rad)^α", "N (s/m)^α")),
            "exponent": Parameter(_NONE, 2.0, sided=False, must="positive"),
        },
        _power,
        ("coefficient",),
    ),
    "offset": FrictionLaw(
        "A constant torque, of either sign: an unbalance, a bias of a sensor. It dissipates nothing.",
        "f₀",
        {"offset": Parameter(_DRY, sided=False, must="any")},
        _offset,
        ("offset",),
    ),
}


# The sign of a velocity made smooth, one row per way. A smooth sign rises from −1 to 1 over a stated width v₀. It has a
# derivative everywhere, and nothing holds at rest: under any load the joint creeps, at the speed at which the smooth
# sign balances it.


@dataclass(frozen=True)
class Sign:
    """σ(x) of x = v/v₀, and dσ/dx."""

    sentence: str
    value: Callable[[Scalar], Scalar]
    slope: Callable[[Scalar], Scalar]


def _tanh_slope(x: Scalar) -> Scalar:
    t = scalar.tanh(x)
    return 1.0 - t * t


def _root_slope(x: Scalar) -> Scalar:
    r = x * x + 1.0
    return 1.0 / (r * scalar.sqrt(r))


SIGNS: dict[str, Sign] = {
    "tanh": Sign("tanh(v/v₀): 0.76 at v₀, 0.9999 at 5 v₀", scalar.tanh, _tanh_slope),
    "arctan": Sign(
        "(2/π) arctan(v/v₀): 0.5 at v₀, and slow to reach 1",
        lambda x: (2.0 / math.pi) * scalar.arctan2(x, 1.0),
        lambda x: (2.0 / math.pi) / (x * x + 1.0),
    ),
    "root": Sign("v/√(v² + v₀²): 0.71 at v₀, algebraic", lambda x: x / scalar.sqrt(x * x + 1.0), _root_slope),
    "ramp": Sign(
        "v/v₀ up to v₀, from there on 1: what an identified arm has, whose rates near zero are noise",
        lambda x: scalar.maximum(scalar.minimum(x, 1.0), -1.0),
        lambda x: scalar.where(scalar.absolute(x) < 1.0, 1.0, 0.0),
    ),
}


# making and checking


def friction(
    law: str, *, smooth: str | None = None, width: float | None = None, **parameters: float | Sides
) -> Friction:
    """A friction term: `friction("stribeck", coulomb=0.3, breakaway=0.5, speed=0.02)`. A level is one number, or two,
    for positive and negative velocity. `smooth` ("tanh", "arctan", "root", "ramp") replaces the sign of the velocity by
    a smooth one of that `width`."""
    return checked(Friction(law, tuple(parameters.items()), smooth, width))


def checked(term: Friction) -> Friction:
    """The term with its parameters complete, in order, levels as pairs; or an InputError."""
    if not isinstance(term, Friction):
        raise InputError("wrong-type", "term", term, expected="made by friction(law, …)")
    if not isinstance(term.law, str) or term.law not in LAWS:
        raise unknown("friction law", term.law, LAWS)
    law = LAWS[term.law]
    given = dict(term.parameters)
    for name in given:
        if name not in law.parameters:
            raise unknown(f"parameter of the friction law {term.law!r}", name, law.parameters)
    values = {name: _value(term.law, name, p, given.get(name, p.default)) for name, p in law.parameters.items()}
    if problem := law.check(values):
        raise InputError("wrong-value", "law", problem=f"friction law {term.law!r}: {problem}")
    return Friction(term.law, tuple(values.items()), *_smoothing(term, law))


def _value(law: str, name: str, p: Parameter, value: object) -> float | Sides:
    what = f"friction law {law!r}: {name}"
    if value is None:
        raise InputError(
            "missing", name, problem=f"{what} is missing; pass it in {p.units[0]} ({p.units[1]} for a prismatic joint)"
        )
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if len(pair) > (2 if p.sided else 1) or not pair:
        wanted = "one number, or two for positive and negative velocity" if p.sided else "one number"
        raise InputError("out-of-range", name, value, problem=f"{what} must be {wanted}, got {value!r}")
    numbers = [_number(what, p, x) for x in pair]
    return (numbers[0], numbers[-1]) if p.sided else numbers[0]


# What a parameter must be: greater than the first, not less than the second, not greater than the third; and a word.
MUST: dict[str, tuple[float | None, float | None, float | None, str]] = {
    "any": (None, None, None, ""),
    "magnitude": (None, 0.0, None, "a magnitude"),
    "positive": (0.0, None, None, ""),
    "part": (None, 0.0, math.nextafter(1.0, 0.0), "the lost part of the transmitted torque, below 1"),
}


def _number(what: str, p: Parameter, value: object) -> float:
    above, least, most, word = MUST[p.must]
    return number(what, value, word, above=above, least=least, most=most)


def _smoothing(term: Friction, law: FrictionLaw) -> tuple[str | None, float | None]:
    if term.smooth is None:
        if term.width is not None:
            raise InputError(
                "no-effect",
                "width",
                problem=f"friction law {term.law!r}: a width of {term.width!r} has no effect without `smooth`",
            )
        return None, None
    if not isinstance(term.smooth, str) or term.smooth not in SIGNS:
        raise unknown("smooth sign", term.smooth, SIGNS)
    if not law.dry:
        raise InputError(
            "no-effect",
            "smooth",
            problem=f"friction law {term.law!r} has no sign to smooth",
            remedy="Leave out `smooth`.",
        )
    if term.width is None:
        raise InputError(
            "missing",
            "width",
            problem=f"friction law {term.law!r}: smooth {term.smooth!r} needs its width in rad/s (m/s for a "
            "prismatic joint)",
        )
    positive = Parameter(_SPEED, sided=False, must="positive")
    return term.smooth, _number(f"friction law {term.law!r}: width", positive, term.width)


def spoken(term: Friction) -> dict[str, Any]:
    """The term as a person would write it: defaults left out, equal sides as one number."""
    law = LAWS.get(term.law)
    out: dict[str, Any] = {"law": term.law}
    for name, value in term.parameters:
        default = None if law is None or name not in law.parameters else law.parameters[name].default
        single = value[0] if isinstance(value, tuple) and value[0] == value[-1] else value
        if single != default:
            out[name] = single
    return out | {k: v for k, v in (("smooth", term.smooth), ("width", term.width)) if v is not None}


# what a term does


def pieces(term: Friction) -> list[Piece]:
    return LAWS[term.law].pieces(term.values)


def sign(term: Friction, v: Scalar) -> Scalar:
    """σ(v): the sign of the velocity as this term sees it."""
    return scalar.sign(v) if term.smooth is None else SIGNS[term.smooth].value(v / term.width)


def sign_slope(term: Friction, v: Scalar) -> Scalar:
    """dσ/dv: zero but for the jump where nothing is smoothed."""
    return 0.0 if term.smooth is None else SIGNS[term.smooth].slope(v / term.width) / term.width


def level(sides: Sides, v: Scalar) -> Scalar:
    """The level for the direction of v; plainly a number where the sides agree."""
    return sides[0] if sides[0] == sides[1] else scalar.where(v < 0.0, sides[1], sides[0])


def torque(term: Friction, v: Scalar, load: Scalar = 0.0, direction: Scalar | None = None) -> Scalar:
    """f(v) [N m or N], the torque a drive must supply. `load`: the joint's transmitted torque, for laws that depend on
    it. `direction` (−1, 0, 1) is taken for the sign of v in dry friction, if given: that of a joint about to slide."""
    total: Scalar = 0.0
    for piece in pieces(term):
        total = total + piece_torque(term, piece, v, load, direction)
    return total


def piece_torque(term: Friction, piece: Piece, v: Scalar, load: Scalar, direction: Scalar | None = None) -> Scalar:
    shape = piece.shape(v) * scalar.absolute(load) if piece.load else piece.shape(v)
    if not piece.dry:
        return level(piece.level, v) * shape
    if term.smooth is not None:
        return level(piece.level, v) * (sign(term, v) * shape)
    return scalar.by_sign(v if direction is None else direction, piece.level[0] * shape, -(piece.level[1] * shape))


def held(term: Friction) -> bool:
    """Whether the term holds a joint at rest: dry, and not smoothed."""
    return LAWS[term.law].dry and term.smooth is None


def breakaway(term: Friction, load: Scalar = 0.0) -> tuple[Scalar, Scalar]:
    """The torques that dry friction holds at rest, against motion in the positive and in the negative direction. A
    smoothed law holds nothing."""
    law = LAWS[term.law]
    if law.holds is None or term.smooth is not None:
        return 0.0, 0.0
    mu = term.values["load"]
    plus, minus = law.holds(term.values)
    more = mu * scalar.absolute(load) if mu else 0.0
    return plus + more, minus + more


def depends_on_load(term: Friction) -> bool:
    return bool(term.values.get("load"))
