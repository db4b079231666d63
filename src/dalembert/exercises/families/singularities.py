"""Singular postures: determinants and ranks of Jacobians."""

from __future__ import annotations

import math

from dalembert.exercises.chapter import Drawn, Random, chapter, draw

make = chapter(__file__, "singularities")
POSTURES = ("straight or folded", "elbow at a right angle", "first link vertical", "never")


@make
def singular_2r(random: Random) -> Drawn:
    l1, l2 = draw(random, 0.3, 0.4, 0.5, 0.8), draw(random, 0.2, 0.3, 0.5, 0.6)
    q2, side = draw(random, 30, 90, 150), draw(random, 1, -1)
    value = side * l1 * l2 * math.sin(math.radians(q2))
    given = {"l1": l1, "l2": l2, "q2": side * q2, "sin": side * math.sin(math.radians(q2))}
    return given | {
        "det": ("l1*l2*sin(q2)", "l1*l2*cos(q2)", "l1*l2*sin(q1 + q2)", "l1*l2*sin(q1)", "-l1*l2*sin(q2)"),
        "value": (value, side * l1 * l2, l1 * l2 * math.cos(math.radians(q2)), -value),
        "posture": POSTURES,
    }


@make
def singular_rpp(random: Random) -> Drawn:
    a, e, r = draw(random, 0.1, 0.2, 0.3, 0.4), draw(random, 0.05, 0.1, 0.15), draw(random, 0.2, 0.4, 0.5, 0.6)
    given = {"a": a, "e": e, "r": r}
    return given | {
        "det": (f"r + {a}", "r", f"r + {a} + {e}", f"-r - {a}"),
        "value": (r + a, r, r + a + e),
        "r_singular": (-a, 0.0, a),
        "rank": (2.0, 3.0, 1.0),
    }


@make
def singular_3r(random: Random) -> Drawn:
    l1, l2, l3 = draw(random, 0.4, 0.5, 0.6), draw(random, 0.2, 0.3, 0.5), draw(random, 0.1, 0.2)
    q2, q3 = draw(random, 30, 90, -30, -90), draw(random, 45, 60, 90)
    det = l1 * l2 * math.sin(math.radians(q2))
    given = {"l1": l1, "l2": l2, "l3": l3, "q2": q2, "q3": q3, "sin": math.sin(math.radians(q2))}
    return given | {
        "det": (det, det * l3, l1 * l2 * math.sin(math.radians(q2 + q3)), l1 * (l2 + l3) * math.sin(math.radians(q2))),
        "rank_all": (2.0, 3.0, 1.0),
        "rank_place": (2.0, 1.0),
        "rank_line": (1.0, 2.0, 0.0),
    }
