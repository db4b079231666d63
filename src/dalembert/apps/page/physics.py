"""What a page computes with: the loops of a robot under every controller, the search that drags its tip, its
ellipsoid and a motion, traced here and assembled into one module; and what the page's script must know to call
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from dalembert.algorithms import joints, kinematics, linear
from dalembert.algorithms.mechanics import terms_at_rest
from dalembert.apps.page.plant import PULL, SCALES, live_flow
from dalembert.arguments import Array
from dalembert.compile import Kernel, compile_function
from dalembert.compile.rollout import Rollout
from dalembert.compile.search import Search, compile_search
from dalembert.constrained.kernels import ConstrainedModel
from dalembert.constrained.system import Constrained
from dalembert.control.controller import Controller, supporting_joints, zero_law
from dalembert.control.registry import NO_CONTROLLER, Entry, describe_entry, is_unsupported, suitable
from dalembert.control.task_space import TaskController
from dalembert.errors import DalembertError, InputError, choose
from dalembert.kinematics.ik import numeric, step as steps
from dalembert.kinematics.jacobian import moving_part
from dalembert.kinematics.tasks import TRANSLATION
from dalembert.law import Law
from dalembert.model import Frame, Model
from dalembert.reference import Reference
from dalembert.robot import Robot
from dalembert.scalar import Scalar, maximum, sqrt
from dalembert.simulation.fixed_step import compile_loop
from dalembert.simulation.loop import close_loop
from dalembert.simulation.steps import METHODS
from dalembert.simulation.stream import wire
from dalembert.units import position_units

METHOD, STEP = "rk4", 1e-3  # [s]
DRAG = 60  # steps of a search from where the robot is: a hand moves on before more are done
DRAGGED, SHUT_AND_STILL = (
    (1e-12, 1.0),
    (1e-18, 1e-12),
)  # squares that end a search: of the tip's error, or the gap's and step's
SHUT = 1e3  # weight of a loop's gap against the way to a target
FLAT = 1e-5  # of the square of the reach: what has no extent is drawn so thin
MOST = 50_000  # operations of all loops together: some 600 kB of a page
FORM = 1e-9  # relative; a gain that differs more from its formula has none


@dataclass(frozen=True)
class Physics:
    """`parts`, by name, are assembled; `data` is what the script must know of them."""

    parts: dict[str, Kernel | Rollout | Search]
    data: dict[str, Any]


def make_physics(
    robot: Robot,
    start: Array,
    controllers: Sequence[str] | None = None,
    motion: Reference | None = None,
    most: int = MOST,
) -> Physics:
    """Everything of a robot that begins at `start` (n,), of no more operations than `most` if nobody says which.
    `controllers`: names of the registry and "none", all that it can have if not given; the first is the one that a
    page begins with."""
    parts: dict[str, Kernel | Rollout | Search] = {}
    laws, why = [], "" if robot.nv else f"{robot.name!r} has no joints"
    try:
        laws = _loops(robot, start, controllers, parts, most) if robot.nv else []
    except DalembertError as error:  # it can be posed all the same, unless it was asked for
        if controllers is not None:
            raise
        why = str(error)
    tip = None if robot.tip is None else robot.model.frame(robot.tip)
    system, model = Constrained(robot) if robot.loops else None, robot.model
    if model.curved is not None:  # what is dragged is posed in positions that are a vector
        parts["integrate"] = _step(model)
    elif system is not None:
        place = tip if tip is not None else Frame("", -1, robot.model.frames[0].pose)
        parts["reach"] = compile_search(
            partial(_closed_step, system.bound, place, numeric.reach(robot)), robot.n, 4 + 2 * robot.n, "reach"
        )
    elif tip is not None and tip.body >= 0:
        parts["reach"] = _open_search(robot, tip)
        rows = [k for k in moving_part(robot, "position", tip.name, "world").picked or () if k in TRANSLATION]
        ellipsoid = partial(_ellipsoid, robot.model, tip, rows, FLAT * numeric.reach(robot) ** 2)
        parts["ellipsoid"] = compile_function(ellipsoid, [(robot.n,)], [(12,), ()], "ellipsoid", arguments=("q",))
    if motion is not None:
        parts["motion"] = _trace_motion(robot, motion)
    names = supporting_joints(robot, system, start) if model.curved is None or system is None else ()
    units, owners = position_units(model), [c.name for c in model.coordinates for _ in range(c.joint.nq)]
    data = {
        "dt": STEP,
        "method": METHOD,
        "laws": laws,
        "why": why,
        "held": len(SCALES) + len(PULL) + len(robot.model.bodies),
        "driven": [c.position for c in model.drives],
        "gravity": 0.0 if is_unsupported(robot) else 1.0,
        "sliders": [k for k, name in enumerate(owners) if name in names and units[k]],
        "reach": {"limits": DRAGGED if system is None else SHUT_AND_STILL, "steps": DRAG},
        "motion": None if motion is None else float(motion.duration),
        "rough": any(body.friction or body.stiffness for body in robot.model.bodies),
        "carries": tip is not None and tip.body >= 0,
        "stops": bool(np.isfinite([robot.limits.lower, robot.limits.upper]).any()),
        "mass": float(robot.mass),
    }
    return Physics(parts, data)


# -------------------------------------------------------------------------------------------------------- controllers
def _loops(
    robot: Robot, start: Array, names: Sequence[str] | None, parts: dict[str, Kernel | Rollout | Search], most: int
) -> list[dict[str, Any]]:
    """What the script must know of each controller, and its loop among the parts. Where nobody said which, those that
    would make the page too large are left out, never the first nor none."""
    flow, total = live_flow(robot), 0
    laws: list[dict[str, Any]] = []
    for name, entry in _choose(robot, names).items():
        made = _control(entry, robot, start, required=names is not None)
        if made is None:
            continue
        law = zero_law(robot) if entry is None or isinstance(made, bool) else made.law()
        loop = close_loop(flow, law) if law.outputs else flow
        wiring = wire(loop, METHODS[METHOD].nodes, (), law.follows, flagged=False)
        rollout = compile_loop(loop, METHOD, wiring)
        size = sum(program.operations for program in {program for program, _, _ in rollout.calls})
        if names is None and laws and entry is not None and total + size > most:
            continue
        total += size
        parts[f"loop_{name}"] = rollout
        laws.append({"name": name, "nodes": wiring.nodes, **_describe(entry, made, law, robot, start)})
    return laws


def _choose(robot: Robot, names: Sequence[str] | None) -> dict[str, Entry | None]:
    known = {NO_CONTROLLER if entry is None else entry.name: entry for entry in suitable(robot, compiled=True).values()}
    return known if names is None else {choose("controller", name, known): known[name] for name in names}


def _control(entry: Entry | None, robot: Robot, start: Array, required: bool) -> Controller | bool | None:
    """The controller for its default settings; True where there is none; None where a robot cannot have it, unless that
    is said of one that was asked for."""
    if entry is None:
        return True
    try:
        return _make(entry, robot, start, *(s.default for s in entry.settings))
    except InputError:
        if required:
            raise
        return None


def _make(entry: Entry, robot: Robot, start: Array, omega: float = 1.0, zeta: float = 1.0) -> Controller:
    return entry.make(robot.tree(), omega, zeta, start, robot.tip)


def _describe(entry: Entry | None, made: Controller | bool, law: Law, robot: Robot, start: Array) -> dict[str, Any]:
    follows, rows = "joints", [c.position for c in robot.model.drives]
    if isinstance(made, TaskController):
        follows, rows = "tip", ["xyz".index(name) for name in made.task.names]
    rules = [] if entry is None else gain_rules(entry, robot, start, law)
    return {
        "title": "none" if entry is None else entry.title,
        "sentence": describe_entry(entry),
        "follows": follows,
        "rows": rows,
        "orders": len(law.follows) // max(len(rows), 1),
        "settings": [asdict(s) for s in entry.settings] if entry is not None and rules else [],
        "gains": rules or [[0, 0, x, x] for x in law.parameters.values()],
        "initial": list(law.initial),
    }


def gain_rules(entry: Entry, robot: Robot, start: Array, law: Law) -> list[list[float]]:
    """Each parameter of a law as (b, a, c, f), with which it is ζᵇ max(c ωᵃ, f); none where one has not that form,
    which is looked at over the whole range of its settings."""
    if len(entry.settings) != 2:
        return []
    omega, zeta = entry.settings

    def at(w: float, z: float) -> Array:
        return np.array(list(_make(entry, robot, start, w, z).law().parameters.values()))

    high, low = at(omega.high, 1.0), at(omega.low, 1.0)
    with np.errstate(all="ignore"):
        a = np.nan_to_num(np.rint(np.log2(high / at(omega.high / 2, 1.0))))
        b = np.nan_to_num(np.rint(np.log2(at(omega.high, 2.0) / high)))
    c = high / omega.high**a
    rules = np.stack([b, a, c, np.where(low > c * omega.low**a * (1 + FORM), low, 0.0)], -1)
    for w in np.linspace(omega.low, omega.high, 5):
        for z in (zeta.low, zeta.high):
            if not np.allclose(z**b * np.maximum(c * w**a, rules[:, 3]), at(float(w), z), rtol=FORM, atol=0.0):
                return []
    return [row.tolist() for row in rules]


# ------------------------------------------------------------------------------------------------------------ the tip
def _open_search(robot: Robot, tip: Frame) -> Search:
    limits = list(zip(robot.limits.lower.tolist(), robot.limits.upper.tolist(), strict=True))
    wanted, damping = numeric.goal("position", None), steps.careful(numeric.reach(robot))
    return compile_search(partial(steps.step, robot.model, tip, wanted, limits, damping), robot.n, 16, "reach")


def _closed_step(
    bound: ConstrainedModel, tip: Frame, reach: float, q: Sequence[Scalar], data: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """One damped Gauss–Newton step of a closed chain toward a place of its tip, or positions of some joints, the loops
    shut. data: the place (3) and its weight, then a position for each joint, and their weights.

    Out of reach an error of the tip is left, and what bends its way, no more than `reach` [m], counts: damped less
    than by error times bend the linkage would be thrown about."""
    model, n, terms = bound.model, bound.model.n, terms_at_rest(bound, q)
    J = [[SHUT * a / size for a in row] for row, size in zip(terms.A, bound.sizes, strict=True)]
    e = [-SHUT * gap / size for gap, size in zip(terms.phi, bound.sizes, strict=True)]
    gap = linear.inner(e, e)
    away: list[Scalar] = []
    if tip.body >= 0:
        p, columns = _point(model, tip, q)
        J += [[data[3] * column[k] for column in columns] for k in range(3)]
        away = [data[3] * (data[k] - p[k]) for k in range(3)]
    e += away
    J += [[data[4 + n + k] if i == k else 0.0 for i in range(n)] for k in range(n)]
    e += [data[4 + n + k] * (data[4 + k] - q[k]) for k in range(n)]
    cost = linear.inner(e, e)
    columns_of = linear.transposed(J)
    damping = 1e-7 + 1e-3 * cost + reach * sqrt(linear.inner(away, away))
    A = [
        [linear.inner(a, b) + (damping if i == j else 0.0) for j, b in enumerate(columns_of)]
        for i, a in enumerate(columns_of)
    ]
    d = linear.solve_ldl(A, [linear.inner(a, e) for a in columns_of])
    return [x + y for x, y in zip(q, d, strict=True)], [gap, linear.inner(d, d), cost]


def _point(model: Model, tip: Frame, q: Sequence[Scalar]) -> tuple[Sequence[Scalar], list[list[Scalar]]]:
    """Where the tip is, and its velocity at unit rate of each coordinate."""
    T = kinematics.world_poses(model, q, [tip.body])
    p = (T[tip.body] @ tip.pose).p
    columns: list[list[Scalar]] = [[0.0] * 3 for _ in range(model.n)]
    for i in model.path(tip.body):
        body = model.bodies[i]
        v = joints.twists_at(body, T[i], p)[0].v
        columns[body.coordinate] = [a + body.multiplier * b for a, b in zip(columns[body.coordinate], v, strict=True)]
    return p, columns


def _ellipsoid(
    model: Model, tip: Frame, rows: list[int], thin: float, q: Sequence[Scalar]
) -> tuple[list[Scalar], Scalar]:
    """(L | p) row by row, L Lᵀ = J Jᵀ: the unit ball of joint rates as the tip's velocities about its place p; and the
    manipulability √det J Jᵀ of the directions that it has."""
    p, columns = _point(model, tip, q)
    J = linear.transposed(columns)
    G = linear.product(J, linear.transposed(J))
    a = sqrt(G[0][0] + thin)
    b, c = G[1][0] / a, G[2][0] / a
    d = sqrt(maximum(G[1][1] - b * b, 0.0) + thin)
    e = (G[2][1] - b * c) / d
    f = sqrt(maximum(G[2][2] - c * c - e * e, 0.0) + thin)
    some = [J[k] for k in rows]
    square = linear.product(some, linear.transposed(some)) if len(rows) <= model.n else linear.product(columns, J)
    return [a, 0.0, 0.0, p[0], b, d, 0.0, p[1], c, e, f, p[2]], sqrt(maximum(_determinant(square), 0.0))


def _determinant(A: Sequence[Sequence[Scalar]]) -> Scalar:
    if not A:
        return 1.0
    total: Scalar = 0.0
    for k, x in enumerate(A[0]):
        total = total + (-1.0) ** k * x * _determinant([[*row[:k], *row[k + 1 :]] for row in A[1:]])
    return total


def _step(model: Model) -> Kernel:
    return compile_function(
        partial(joints.integrate, model), [(model.nq,), (model.nv,)], [(model.nq,)], "integrate", arguments=("q", "d")
    )


def _trace_motion(robot: Robot, motion: Reference) -> Kernel:
    m = len(robot.model.drives)
    if motion.m != m or not 0 < motion.duration < np.inf:
        problem = f"the motion has {motion.m} coordinates and lasts {motion.duration:g} s"
        remedy = f"Pass a motion of {m} joints that ends."
        raise InputError("wrong-shape", "motion", motion.m, problem=problem, remedy=remedy)
    if motion.trace(0.0) is None:
        problem = "the motion has too many pieces for a page, or no formula"
        remedy = "Pass postures, or a trajectory of at most 16 pieces."
        raise InputError("unsupported", "motion", problem=problem, remedy=remedy)

    def rows(t: Sequence[Scalar]) -> list[Scalar]:
        traced = motion.trace(t[0])
        assert traced is not None
        return [x for part in traced for x in part]

    return compile_function(rows, [(1,)], [(3 * m,)], "motion", arguments=("t",))
