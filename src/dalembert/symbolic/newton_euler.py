"""The recursion of Newton and Euler as taught: outward the velocities and accelerations of each link in its own frame,
inward the forces and moments between the links; with symbols, or with numbers at one state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dalembert.algorithms import joints
from dalembert.algorithms.joints import Coordinates
from dalembert.model import Body, Model
from dalembert.scalar import Scalar
from dalembert.spatial import Pose
from dalembert.spatial.vector import ZERO, Vector, add, cross, dot, matvec, matvec_t, neg, scale
from dalembert.symbolic.blackboard import Blackboard, title
from dalembert.symbolic.document import Formulas, Heading, Line, Part, Words
from dalembert.symbolic.parameters import center, tensor
from dalembert.symbolic.text import SUBSCRIPTS


class Motion(NamedTuple):
    """How a link moves, in its own axes: ω, ω̇, the acceleration of its frame's origin."""

    w: Vector = ZERO
    wd: Vector = ZERO
    a: Vector = ZERO

    def at(self, r: Vector) -> Vector:
        """The acceleration of a point r of the link: a + ω̇ × r + ω × (ω × r)."""
        return add(self.a, add(cross(self.wd, r), cross(self.w, cross(self.w, r))))


def newton_euler(board: Blackboard, model: Model, q: Coordinates, qd: Coordinates, qdd: Coordinates) -> Iterator[Part]:
    """The two passes on a model over polynomials, or over numbers."""
    yield from _formulas(board, model)
    T = joints.poses(model, q)
    rate, second = joints.rates(model, qd), joints.rates(model, qdd)
    ground = Motion(a=neg(model.gravity))
    yield Heading("Outward, from the base to the tip")
    yield Words("The base rests. Gravity is put in as an acceleration of the base, upward:")
    yield Formulas((board.line("p̈₀", ground.a),))
    moved: list[Motion] = []
    forces: list[tuple[Vector, Vector]] = []
    for i, body in enumerate(model.bodies):
        before = moved[body.parent] if body.parent >= 0 else ground
        R, S = T[i].R, joints.column(body)
        slide, turn = scale(rate[i], S.v), scale(rate[i], S.w)
        w = matvec_t(R, before.w)
        a = add(matvec_t(R, before.at(T[i].p)), add(scale(second[i], S.v), scale(2.0, cross(w, slide))))
        a = add(a, cross(turn, slide))
        wd = add(matvec_t(R, before.wd), add(scale(second[i], S.w), cross(w, turn)))
        moved.append(Motion(add(w, turn), wd, a))
        forces.append(_inertia_forces(body, moved[i]))
        yield from _outward(board, body, i + 1, T[i], moved[i], *forces[i])
    yield Heading("Inward, from the tip to the base")
    total: list[tuple[Vector, Vector]] = [(ZERO, ZERO)] * len(model.bodies)
    loads: list[Scalar] = [0.0] * len(model.bodies)
    for i in reversed(range(len(model.bodies))):
        body = model.bodies[i]
        F, N = forces[i]
        f, n = F, add(N, cross(tuple(center(body.inertia)), F))
        children = [j for j, other in enumerate(model.bodies) if other.parent == i]
        for j in children:
            carried = matvec(T[j].R, total[j][0])
            f, n = add(f, carried), add(n, add(matvec(T[j].R, total[j][1]), cross(T[j].p, carried)))
        total[i] = f, n
        S = joints.column(body)
        loads[i] = dot(S.v, f) + dot(S.w, n) + body.rotor_inertia * second[i]
        yield from _inward(board, body, i + 1, children, f, n, loads[i])
    if model.mimics:
        yield Words("Joints that follow another add their torques to its own, times how often they turn with it:")
        tau = joints.gather(model, loads)
        yield Formulas(tuple(board.line(f"tau{k + 1}", x) for k, x in enumerate(tau)))


def _inertia_forces(body: Body, motion: Motion) -> tuple[Vector, Vector]:
    """(F, N): m a_c and I ω̇ + ω × I ω."""
    c, I = tuple(center(body.inertia)), tensor(body.inertia)
    turning = add(matvec(I, motion.wd), cross(motion.w, matvec(I, motion.w)))
    return scale(body.inertia.m, motion.at(c)), turning


# What each vector is, and in words.
RECURSION = {
    "ω": ("Rᵢᵀ ωᵢ₋₁ + zᵢ @q̇ᵢ", "the joint adds its rate"),
    "ω̇": ("Rᵢᵀ ω̇ᵢ₋₁ + zᵢ @q̈ᵢ + (Rᵢᵀ ωᵢ₋₁) × zᵢ @q̇ᵢ", "its axis is carried around"),
    "p̈": ("Rᵢᵀ (p̈ᵢ₋₁ + ω̇ᵢ₋₁ × pᵢ + ωᵢ₋₁ × (ωᵢ₋₁ × pᵢ))", "the frame's origin"),
    "p̈_c": ("p̈ᵢ + ω̇ᵢ × r_cᵢ + ωᵢ × (ωᵢ × r_cᵢ)", "the center of mass"),
    "F": ("mᵢ p̈_cᵢ", "Newton"),
    "N": ("Iᵢ ω̇ᵢ + ωᵢ × Iᵢ ωᵢ", "Euler, about the center of mass"),
    "f": ("Fᵢ + Rᵢ₊₁ fᵢ₊₁", "the force that the joint hands on"),
    "n": ("Nᵢ + r_cᵢ × Fᵢ + Rᵢ₊₁ nᵢ₊₁ + pᵢ₊₁ × Rᵢ₊₁ fᵢ₊₁", "the moment, about the frame's origin"),
    "τ": ("zᵢᵀ nᵢ", "the drive's share; the bearing carries the rest"),
}
SLIDING = {
    "ω": "Rᵢᵀ ωᵢ₋₁",
    "ω̇": "Rᵢᵀ ω̇ᵢ₋₁",
    "p̈": "Rᵢᵀ (p̈ᵢ₋₁ + ω̇ᵢ₋₁ × pᵢ + ωᵢ₋₁ × (ωᵢ₋₁ × pᵢ)) + zᵢ @q̈ᵢ + 2 ωᵢ × zᵢ @q̇ᵢ",
    "τ": "zᵢᵀ fᵢ",
}
LAST = {"f": "Fᵢ", "n": "Nᵢ + r_cᵢ × Fᵢ"}  # of a link that carries no other


def _formulas(board: Blackboard, model: Model) -> Iterator[Part]:
    """What is used again and again."""
    yield Heading("The recursion")
    yield board.words(
        "Vectors of link i are in the axes of its own frame, which moves with it. {0} turns them into the axes of the "
        "link before, {1} is where the frame sits there, {2} the axis of joint i, {3} the center of mass.",
        "Rᵢ",
        "pᵢ",
        "zᵢ",
        "r_cᵢ",
    )
    slides = any(not body.joint.turns for body in model.bodies)
    lines = []
    for name, (formula, why) in RECURSION.items():
        lines.append(Line(f"{name}ᵢ", board.math(formula), why))
        if slides and name in SLIDING:
            lines.append(Line("", board.math(SLIDING[name]), "if joint i slides"))
    yield Formulas(tuple(lines))


def _reason(board: Blackboard, name: str, body: Body, k: int, after: int | None) -> Words | str:
    """The formula of a vector with the numbers of its links."""
    if name not in RECURSION or (body.joint.turns and any(joints.column(body).v)):  # a screw does both
        return ""
    formula = RECURSION[name][0] if body.joint.turns else SLIDING.get(name, RECURSION[name][0])
    if after is None:
        formula = LAST.get(name, formula)
    for mark, number in (("ᵢ₋₁", body.parent + 1), ("ᵢ₊₁", after or 0), ("ᵢ", k)):
        formula = formula.replace(mark, str(number).translate(SUBSCRIPTS))
    return board.words("{0}", formula)


def _outward(board: Blackboard, body: Body, k: int, T: Pose, motion: Motion, F: Vector, N: Vector) -> Iterator[Part]:
    c, index = tuple(center(body.inertia)), str(k).translate(SUBSCRIPTS)
    yield Heading(f"{title('Link', k, body.name)}, on a {body.joint.kind} joint", 3)
    yield from board.matrix(f"R{k}", T.R)
    shown = {"p": T.p, "z": body.joint.axis, "ω": motion.w, "ω̇": motion.wd, "p̈": motion.a}
    if body.inertia.m:
        shown |= {"r_c": c, "p̈_c": motion.at(c), "F": F}
    shown["N"] = N
    yield Formulas(tuple(board.line(name + index, x, _reason(board, name, body, k, None)) for name, x in shown.items()))


def _inward(
    board: Blackboard, body: Body, k: int, children: Sequence[int], f: Vector, n: Vector, load: Scalar
) -> Iterator[Part]:
    yield Heading(title("Joint", k, body.joint_name), 3)
    after = children[0] + 1 if children else None
    index = str(k).translate(SUBSCRIPTS)
    found = {"f": f, "n": n, "τ": load}
    yield Formulas(
        tuple(board.line(name + index, x, _reason(board, name, body, k, after)) for name, x in found.items())
    )
    if len(children) > 1:
        yield Words(f"Links {', '.join(str(j + 1) for j in children)} hand their forces on alike, and they add up.")
    if body.rotor_inertia:
        yield Words("The rotor's own inertia, times the acceleration of its joint, is in the torque.")
