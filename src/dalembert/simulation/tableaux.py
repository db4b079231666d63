"""Explicit Runge–Kutta methods as data.

    kᵢ = f(t + cᵢ h, x + h Σⱼ aᵢⱼ kⱼ),   x⁺ = x + h Σᵢ bᵢ kᵢ,   cᵢ = Σⱼ aᵢⱼ

A row is a method: its order, the rows of A below the diagonal (the first stage has none) and b. The order is proved by
the conditions on rooted trees in tests/simulation/test_fixed.py.
Sources: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, §II.1, II.5; Ralston 1962; Butcher 1964;
Cooper & Verner 1972.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction as F
from math import sqrt

Number = F | float
Row = tuple[Number, ...]


@dataclass(frozen=True)
class Tableau:
    """One method; `a[i]` are the weights of stages 0 … i−1 in stage i."""

    order: int
    a: tuple[Row, ...]
    b: Row

    @property
    def stages(self) -> int:
        return len(self.b)

    @property
    def c(self) -> Row:
        return tuple(sum(row, F(0)) for row in self.a)


_0 = F(0)
_R = sqrt(21.0)

TABLEAUX: dict[str, Tableau] = {
    "euler": Tableau(1, ((),), (F(1),)),
    "midpoint": Tableau(2, ((), (F(1, 2),)), (_0, F(1))),
    "heun": Tableau(2, ((), (F(1),)), (F(1, 2), F(1, 2))),
    "ralston": Tableau(2, ((), (F(2, 3),)), (F(1, 4), F(3, 4))),
    "rk3": Tableau(3, ((), (F(1, 2),), (F(-1), F(2))), (F(1, 6), F(2, 3), F(1, 6))),
    "rk4": Tableau(4, ((), (F(1, 2),), (_0, F(1, 2)), (_0, _0, F(1))), (F(1, 6), F(1, 3), F(1, 3), F(1, 6))),
    "three-eighths": Tableau(
        4, ((), (F(1, 3),), (F(-1, 3), F(1)), (F(1), F(-1), F(1))), (F(1, 8), F(3, 8), F(3, 8), F(1, 8))
    ),
    "dormand-prince": Tableau(  # the fifth-order method of the pair; its seventh stage only estimates the error
        5,
        (
            (),
            (F(1, 5),),
            (F(3, 40), F(9, 40)),
            (F(44, 45), F(-56, 15), F(32, 9)),
            (F(19372, 6561), F(-25360, 2187), F(64448, 6561), F(-212, 729)),
            (F(9017, 3168), F(-355, 33), F(46732, 5247), F(49, 176), F(-5103, 18656)),
        ),
        (F(35, 384), _0, F(500, 1113), F(125, 192), F(-2187, 6784), F(11, 84)),
    ),
    "rk6": Tableau(
        6,
        (
            (),
            (F(1, 3),),
            (_0, F(2, 3)),
            (F(1, 12), F(1, 3), F(-1, 12)),
            (F(-1, 16), F(9, 8), F(-3, 16), F(-3, 8)),
            (_0, F(9, 8), F(-3, 8), F(-3, 4), F(1, 2)),
            (F(9, 44), F(-9, 11), F(63, 44), F(18, 11), _0, F(-16, 11)),
        ),
        (F(11, 120), _0, F(27, 40), F(27, 40), F(-4, 15), F(-4, 15), F(11, 120)),
    ),
    "rk8": Tableau(  # eleven stages; R = √21
        8,
        (
            (),
            (F(1, 2),),
            (F(1, 4), F(1, 4)),
            (F(1, 7), (-7 - 3 * _R) / 98, (21 + 5 * _R) / 49),
            ((11 + _R) / 84, _0, (18 + 4 * _R) / 63, (21 - _R) / 252),
            ((5 + _R) / 48, _0, (9 + _R) / 36, (-231 + 14 * _R) / 360, (63 - 7 * _R) / 80),
            (
                (10 - _R) / 42,
                _0,
                (-432 + 92 * _R) / 315,
                (633 - 145 * _R) / 90,
                (-504 + 115 * _R) / 70,
                (63 - 13 * _R) / 35,
            ),
            (F(1, 14), _0, _0, _0, (14 - 3 * _R) / 126, (13 - 3 * _R) / 63, F(1, 9)),
            (F(1, 32), _0, _0, _0, (91 - 21 * _R) / 576, F(11, 72), (-385 - 75 * _R) / 1152, (63 + 13 * _R) / 128),
            (
                F(1, 14),
                _0,
                _0,
                _0,
                F(1, 9),
                (-733 - 147 * _R) / 2205,
                (515 + 111 * _R) / 504,
                (-51 - 11 * _R) / 56,
                (132 + 28 * _R) / 245,
            ),
            (
                _0,
                _0,
                _0,
                _0,
                (-42 + 7 * _R) / 18,
                (-18 + 28 * _R) / 45,
                (-273 - 53 * _R) / 72,
                (301 + 53 * _R) / 72,
                (28 - 28 * _R) / 45,
                (49 - 7 * _R) / 18,
            ),
        ),
        (F(1, 20), _0, _0, _0, _0, _0, _0, F(49, 180), F(16, 45), F(49, 180), F(1, 20)),
    ),
}
