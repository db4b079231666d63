"""A robot's parameters as symbols, named as a textbook would: m1, l1, r1, I1, a2, d4, g.

Bodies are numbered from 1 in the order of the tree, the base is 0. Of body i:

    m_i                     mass
    r_i, or x_i, y_i, z_i   center of mass in the joint's frame (r_i where it lies on one axis)
    I_ixx … I_izz           inertia about the center of mass, in the joint frame's axes (I_i for a planar arm)
    J_i                     N² J_m, the rotor's inertia seen from the joint
    a_i, b_i, d_i           where the next joint sits, along x, y, z of the joint's frame (l_i if all lie along x)
    g                       gravity

What is zero stays zero, unless all ten inertial parameters of each body are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dalembert.errors import InputError, unknown
from dalembert.joints import Joint
from dalembert.model.model import Body, Frame, Model
from dalembert.scalar import Scalar
from dalembert.spatial import Inertia, Pose
from dalembert.symbolic.collect import split_name
from dalembert.symbolic.letters import SPELLINGS, Letters
from dalembert.symbolic.polynomial import Ring

KINDS = ("length", "mass", "center", "inertia", "rotor", "gravity")
CHOICES = {"all": KINDS, "inertias": ("mass", "center", "inertia", "rotor"), "lengths": ("length",), "none": ()}
TENSOR = ((0, 0, "xx"), (0, 1, "xy"), (0, 2, "xz"), (1, 1, "yy"), (1, 2, "yz"), (2, 2, "zz"))
OFFSETS = "abd"


@dataclass(frozen=True)
class Parameter:
    """A symbol and the number it stands for: a polynomial in the fixed angles, a rational most often."""

    name: str
    kind: str
    value: Any
    meaning: str


Place = tuple[str, int, int]  # (what, of which body, which component)


def parameters(model: Model, zeros: bool) -> dict[Place, Parameter]:
    """Every parameter of the exact model that could be a symbol, by its place; with `zeros` only those that differ
    from zero."""
    found: dict[Place, Parameter] = {}
    for place, parameter in (*_lengths(model), *_inertial(model, zeros), *_gravity(model)):
        found[place] = parameter
    return found


def is_planar(model: Model) -> bool:
    """Whether every joint turns about z of its frame, and all these axes are parallel."""
    return all(
        ("s", "c") in b.joint.symbols and tuple(b.joint.axis) == (0.0, 0.0, 1.0) and _along_z(b.placement)
        for b in model.bodies
    )


def _along_z(T: Pose) -> bool:
    column = [T.R[k][2] for k in range(3)]
    return column[0] == 0 and column[1] == 0 and column[2] == 1


def _attached(model: Model) -> Iterator[tuple[str, int, int, Pose]]:
    """(what, index, the body that carries it or −1, pose) of every joint's frame, and of the tip."""
    for i, body in enumerate(model.bodies):
        yield "joint", i, body.parent, body.placement
    if model.tip is not None:
        frame = model.frame(model.tip)
        if frame.body >= 0:
            yield "tip", 0, frame.body, frame.pose


def _lengths(model: Model) -> Iterator[tuple[Place, Parameter]]:
    attached = list(_attached(model))
    straight = all(T.p[k] == 0 for _, _, _, T in attached for k in (1, 2))
    carriers = [carrier for _, _, carrier, _ in attached]
    for what, i, carrier, T in attached:
        for k in range(3):
            if T.p[k] == 0:
                continue
            letter = "l" if straight else OFFSETS[k]
            branch = "" if carriers.count(carrier) == 1 else f"_{i + 1}" if what == "joint" else "_tip"
            target = f"joint {model.bodies[i].joint_name!r}" if what == "joint" else f"frame {model.tip!r}"
            origin = f"link {model.bodies[carrier].name!r}" if carrier >= 0 else "the base"
            meaning = f"{'xyz'[k]} of {target} in {origin} [m]"
            yield (what, i, k), Parameter(f"{letter}{carrier + 1}{branch}", "length", T.p[k], meaning)
    for i, body in enumerate(model.bodies):
        for name, (letter, unit) in body.joint.numbers.items():
            meaning = f"{name} of joint {body.joint_name!r} [{unit}]"
            yield (name, i, 0), Parameter(f"{letter}{i + 1}", "length", getattr(body.joint, name), meaning)


def center(inertia: Inertia) -> Sequence[Any]:
    """The center of mass; the origin of what weighs nothing."""
    return inertia.com() if inertia.m else (0.0, 0.0, 0.0)


def tensor(inertia: Inertia) -> Sequence[Sequence[Any]]:
    """The inertia about the center of mass."""
    return inertia.about_com() if inertia.m else inertia.I


def _inertial(model: Model, zeros: bool) -> Iterator[tuple[Place, Parameter]]:
    planar = is_planar(model)
    for i, body in enumerate(model.bodies):
        n, of = i + 1, f"of link {body.name!r}"
        I, c = tensor(body.inertia), center(body.inertia)
        if body.inertia.m or not zeros:
            yield ("mass", i, 0), Parameter(f"m{n}", "mass", body.inertia.m, f"mass {of} [kg]")
        lone = zeros and sum(x != 0 for x in c) == 1
        for k in range(3):
            if c[k] != 0 or not zeros:
                name = f"r{n}" if lone else f"{'xyz'[k]}{n}"
                meaning = f"{'xyz'[k]} of the center of mass {of} [m]"
                yield ("center", i, k), Parameter(name, "center", c[k], meaning)
        for k, (a, b, letters) in enumerate(TENSOR):
            if I[a][b] != 0 or not zeros:
                name = f"I{n}" if planar and letters == "zz" else f"I{n}{letters}"
                meaning = f"I_{letters} {of} about its center of mass [kg m²]"
                yield ("inertia", i, k), Parameter(name, "inertia", I[a][b], meaning)
        if body.rotor_inertia != 0:
            meaning = f"rotor inertia N² J_m of joint {body.joint_name!r} [kg m²]"
            yield ("rotor", i, 0), Parameter(f"J{n}", "rotor", body.rotor_inertia, meaning)


def _gravity(model: Model) -> Iterator[tuple[Place, Parameter]]:
    g = model.gravity
    present = [k for k in range(3) if g[k] != 0]
    for k in present:
        name = "g" if len(present) == 1 else f"g{'xyz'[k]}"
        value = abs(g[k]) if len(present) == 1 else g[k]
        yield ("gravity", 0, k), Parameter(name, "gravity", value, "acceleration of gravity [m/s²]")


def chosen(found: dict[Place, Parameter], symbolic: str | Sequence[str]) -> dict[Place, Parameter]:
    """Those that stay symbols: by a word ("all", "inertias", "lengths", "none"), or by names and kinds."""
    if isinstance(symbolic, str) and symbolic in CHOICES:
        kinds = CHOICES[symbolic]
        return {place: p for place, p in found.items() if p.kind in kinds}
    if isinstance(symbolic, str):
        problem = f"symbolic={symbolic!r} must be one of {', '.join(map(repr, CHOICES))}"
        remedy = "Pass names of parameters in a list."
        raise InputError("unknown-name", "symbolic", symbolic, problem=problem, remedy=remedy)
    if not isinstance(symbolic, (list, tuple, set, frozenset)) or not all(isinstance(x, str) for x in symbolic):
        raise InputError("wrong-type", "symbolic", symbolic, expected="a word or a list of names")
    names = {p.name for p in found.values()}
    wanted = list(symbolic)
    for name in wanted:
        if name not in names and name not in KINDS:
            raise unknown("parameter", name, sorted(names))
    return {place: p for place, p in found.items() if p.name in wanted or p.kind in wanted}


def symbolic_model(model: Model, ring: Ring, symbols: dict[Place, Parameter]) -> Model:
    """The exact model with its chosen parameters replaced by the ring's symbols."""

    def take(place: Place, value: Scalar) -> Scalar:
        return ring[symbols[place].name] if place in symbols else ring.convert(value)

    def pose(what: str, i: int, T: Pose) -> Pose:
        R = tuple(tuple(ring.convert(x) for x in row) for row in T.R)
        return Pose(R, tuple(take((what, i, k), T.p[k]) for k in range(3)))

    def inertia(i: int, body: Body) -> Inertia:
        I, c = tensor(body.inertia), center(body.inertia)
        part = {(a, b): take(("inertia", i, k), I[a][b]) for k, (a, b, _) in enumerate(TENSOR)}
        I_c = tuple(tuple(part[min(a, b), max(a, b)] for b in range(3)) for a in range(3))
        m = take(("mass", i, 0), body.inertia.m)
        return Inertia.from_com(m, tuple(take(("center", i, k), c[k]) for k in range(3)), I_c)

    def joint(i: int, own: Joint) -> Joint:
        numbers = {name: take((name, i, 0), getattr(own, name)) for name in own.numbers}
        return replace(own.over(ring.convert), **numbers)

    bodies = tuple(
        replace(
            body,
            placement=pose("joint", i, body.placement),
            joint=joint(i, body.joint),
            inertia=inertia(i, body),
            rotor_inertia=take(("rotor", i, 0), body.rotor_inertia),
        )
        for i, body in enumerate(model.bodies)
    )
    frames = tuple(
        Frame(f.name, f.body, pose("tip" if f.name == model.tip and f.body >= 0 else "", 0, f.pose))
        for f in model.frames
    )
    against = [place for place, p in symbols.items() if place[0] == "gravity" and p.value != model.gravity[place[2]]]
    gravity = tuple(  # g stands for a magnitude: its direction is the number's
        -take(place, x) if (place := ("gravity", 0, k)) in against else take(place, x)
        for k, x in enumerate(model.gravity)
    )
    return replace(model, bodies=bodies, frames=frames, gravity=gravity)


def rename(symbols: dict[Place, Parameter], letters: Letters, known: Sequence[str]) -> dict[Place, Parameter]:
    """The parameters in a reader's letters; those that are the same as another are that one. `known` are the names of
    all parameters, of which some may be numbers."""
    own = {p.name: p for p in symbols.values()}
    stems = {*SPELLINGS, *(split_name(name)[0] for name in known)}
    for word in (*letters.same, *letters.same.values(), *letters.names):
        if word not in known and not (word in letters.names and word in stems):
            raise unknown("parameter", word, sorted(known))
    for name, other in letters.same.items():
        if name in own and other in own and own[name].value != own[other].value:
            problem = (
                f"{name} and {other} differ in this robot ({own[name].value} and {own[other].value}), so that they "
                "cannot share one name"
            )
            raise InputError("conflict", "same", problem=problem)
    taken = {place: own.get(letters.same.get(p.name, p.name), p) for place, p in symbols.items()}
    return {place: replace(p, name=letters.outward(p.name)) for place, p in taken.items()}
