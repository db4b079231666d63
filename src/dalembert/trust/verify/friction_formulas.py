"""The friction laws once more, as formulas on arrays: what the joints of the independent reference resist with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.friction.laws import Friction
from dalembert.trust.verify.mechanism import Array, Part


def terms(part: Part, x: Array, v: Array, load: Array) -> dict[str, Array]:
    """The torque that each kind of resistance asks of the drive, at position x, rate v and transmitted load."""
    sign = np.sign(v.real)
    coulomb = np.where(sign < 0, part.coulomb[1], part.coulomb[0])
    return {
        "damping": part.damping * v,
        "Coulomb friction": coulomb * sign + 0.0 * v,
        "springs": part.stiffness * (x - part.rest),
        "further friction": sum((_law(term, v, load) for term in part.friction), 0.0 * v),
    }


def _law(term: Friction, v: Array, load: Array) -> Array:
    return LAWS[term.law](term.values, v, np.abs(v.real), _sign(term, v), np.abs(load.real))


def _sign(term: Friction, v: Array) -> Array:
    smooth: dict[str | None, Callable[[Array], Array]] = {
        None: lambda u: np.sign(u.real) + 0.0 * u,
        "tanh": np.tanh,
        "arctan": lambda u: 2.0 / np.pi * np.arctan(u),
        "root": lambda u: u / np.sqrt(1.0 + u * u),
    }
    return smooth[term.smooth](v / (term.width or 1.0))


def _side(sides: Any, v: Array) -> Array:
    return np.where(v.real < 0, sides[1], sides[0])


def _dry(p: dict[str, Any], v: Array, speed: Array, sign: Array, load: Array) -> Array:
    return np.asarray((_side(p["coulomb"], v) + p["load"] * load) * sign)


def _stribeck(p: dict[str, Any], v: Array, speed: Array, sign: Array, load: Array) -> Array:
    low, high = _side(p["coulomb"], v), _side(p["breakaway"], v)
    level = low + (high - low) * np.exp(-((speed / p["speed"]) ** p["exponent"])) + p["load"] * load
    return np.asarray(level * sign + _side(p["viscous"], v) * v)


LAWS: dict[str, Callable[..., Array]] = {
    "viscous": lambda p, v, speed, sign, load: _side(p["viscous"], v) * v,
    "coulomb": _dry,
    "static": _dry,
    "stribeck": _stribeck,
    "power": lambda p, v, speed, sign, load: _side(p["coefficient"], v) * speed ** p["exponent"] * np.sign(v.real),
    "offset": lambda p, v, speed, sign, load: p["offset"] + 0.0 * v,
}
