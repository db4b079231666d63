"""Feet on the ground: contacts held as constraints, with what the ground can bear.

A contact is a constraint like any other, so that `Constrained` gives motion and multipliers. What the ground adds is
that it only pushes, within friction: a foot's wrench is a sum of forces at the corners of its sole, each inside its own
cone |f_t| ≤ μ f_n (Caron, Pham & Nakamura 2015). A floating base has no drives, so that its six equations

    0 = (M v̇ + h + Aᵀλ)_base

say what the ground must do, and `balance` shares it out among the corners by a quadratic program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert import scalar
from dalembert.algorithms import constraints, joints, linear
from dalembert.arguments import Array, array, number, switch, three
from dalembert.caching import cached_property
from dalembert.constrained.constraint import Constraint, Hold, hold
from dalembert.errors import InputError
from dalembert.law import Law
from dalembert.model import Model
from dalembert.quadratic import need_daqp, solve_qp
from dalembert.spatial.rotation import basis

if TYPE_CHECKING:
    from dalembert.constrained.system import Constrained
    from dalembert.flow import Scalar, Scalars

FACES = 8  # of the pyramid inside each cone: 8 lose 8 % of the friction at worst
FEW_FACES = 4
EXACT = 1e-8  # of the weight: what a wrench may miss a sum of corner forces by
EDGE = 1e-6  # of the sole's size: centers of pressure further outside are not sums of corner forces
NEGLIGIBLE = 1e-6  # of the weight: a contact that bears less bears nothing, and pulls that are weaker are none


@dataclass(frozen=True)
class GroundContact(Constraint):
    """A frame on the ground: `hold` keeps it there, its multipliers being the force (and moment) that it presses with,
    in the contact's axes (z along the normal, x as near to the frame's own as can be) at the frame's origin. `corners`
    (c, 3) are in the same axes."""

    name: str
    hold: Hold
    friction: float
    corners: tuple[tuple[float, float, float], ...]
    axes: tuple[tuple[float, ...], ...]  # its rotation in the world

    def bind(self, model: Model) -> constraints.FrameConstraint:
        return self.hold.bind(model)

    def rows(self, count: int) -> tuple[str, ...]:
        return self.hold.rows(count)

    @property
    def grasp(self) -> Array:
        """G (3 or 6, 3c): what forces at the corners amount to, on the robot, in the contact's axes."""
        blocks = []
        for x, y, z in self.corners:
            turns = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
            blocks.append(np.vstack([np.eye(3), turns]) if self.hold.kind == "weld" else np.eye(3))
        return np.hstack(blocks)

    def rays(self, faces: int) -> Array:
        """(3 or 6, m): what forces along the edges of pyramids in the corners' cones amount to, on the robot."""
        angle = 2 * np.pi * np.arange(faces) / faces
        rays = np.stack([self.friction * np.cos(angle), self.friction * np.sin(angle), np.ones_like(angle)])
        return np.hstack([self.grasp[:, 3 * k : 3 * k + 3] @ rays for k in range(len(self.corners))])

    @cached_property
    def certain(self) -> Array:
        """(m, 6), of a sole: E with E (f_x, f_y, n_x, n_y, n_z, f_z) ≤ 0 for wrenches that it bears for certain, sums
        of forces in the pyramids of FACES faces."""
        from scipy.spatial import ConvexHull

        return np.asarray(ConvexHull(self.rays(FACES)[[0, 1, 3, 4, 5]].T).equations)

    @cached_property
    def sufficient(self) -> Array:
        """(m, 6): `certain` with pyramids of FEW_FACES faces, few enough for the loop of a batch."""
        from scipy.spatial import ConvexHull

        equations = ConvexHull(self.rays(FEW_FACES)[[0, 1, 3, 4, 5]].T).equations
        return np.asarray(np.unique(np.round(equations, 12), axis=0))

    @property
    def faces(self) -> Array:
        """P (FACES, 3): P f ≤ 0 is a pyramid inside the cone of friction, f_n ≥ 0 included."""
        angle = 2 * np.pi * (np.arange(FACES) + 0.5) / FACES
        level = np.full(FACES, -self.friction * np.cos(np.pi / FACES))
        return np.stack([np.cos(angle), np.sin(angle), level], -1)

    @property
    def edges(self) -> Array:
        """(k, 3): a x + b y + c ≤ 0 inside the sole, with (a, b) of length one; none for a point."""
        if len(self.corners) < 3:
            return np.zeros((0, 3))
        from scipy.spatial import ConvexHull

        return np.asarray(ConvexHull(np.array(self.corners)[:, :2]).equations)


def contact(
    frame: str,
    at: ArrayLike,
    *,
    sole: ArrayLike | None = None,
    friction: float = 0.7,
    normal: Sequence[float] = (0.0, 0.0, 1.0),
    name: str | None = None,
) -> GroundContact:
    """A frame that stands on the ground, for `Constrained(robot, [contact(…), …])`.

    `at` is where: a pose (4, 4), robot.fk(q, frame) for one, of a foot that cannot turn, or a point (3,). A foot has a
    `sole`: (length, width) [m] about the frame's origin along its x and y, or corners (c, 3) in the frame. `friction`
    is μ, `normal` the ground's, in the world."""
    place = array("at", at, (3,), (4, 4), meaning="a position, or the pose of a foot")
    up = np.array(three("normal", normal))
    if not np.linalg.norm(up) > 0:
        raise InputError("out-of-range", "normal", normal, problem="normal is zero: it must point out of the ground")
    up = up / np.linalg.norm(up)
    mu = number("friction", friction, above=0.0)
    if place.ndim == 1:
        if sole is not None:
            raise InputError(
                "conflict",
                "sole",
                problem="a point has no sole",
                remedy="Give the pose of the foot, at=robot.fk(q, frame), or leave sole out.",
            )
        C = np.stack(basis(tuple(up.tolist())), -1)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = C, place
        return _contact(name or frame, hold("ball", frame, at=pose), mu, np.zeros((1, 3)), C)
    if sole is None:
        raise InputError(
            "missing",
            "sole",
            problem=f"a foot needs its sole: (length, width) or corners in {frame!r}; a point is given by its (3,)",
        )
    given = array("sole", sole, (2,), (None, 3), meaning="(length, width), or corners")
    if given.ndim == 1:
        x, y = 0.5 * array("sole", given, (2,), above=0.0)
        given = np.array([[x, y, 0.0], [-x, y, 0.0], [-x, -y, 0.0], [x, -y, 0.0]])
    if len(given) < 3:
        raise InputError(
            "too-few",
            "sole",
            given,
            problem=f"a sole has three corners at least, got {len(given)}: a point is given by its position (3,)",
        )
    R = place[:3, :3]
    ahead = R[:, 0] if abs(up @ R[:, 0]) < 0.9 else R[:, 1]  # the frame's x, unless it stands up
    along = ahead - up * (up @ ahead)
    C = np.stack([along, np.cross(up, along), up], -1) / np.array([np.linalg.norm(along)] * 2 + [1.0])
    pose, turn = place.copy(), np.eye(4)
    pose[:3, :3], turn[:3, :3] = C, R.T @ C
    corners = given @ (R.T @ C)
    return _contact(name or frame, hold("weld", frame, at=pose, point=turn), mu, corners, C)


def _contact(name: str, held: Hold, friction: float, corners: Array, axes: Array) -> GroundContact:
    points = tuple((float(x), float(y), float(z)) for x, y, z in corners)
    made = GroundContact(name, held, friction, points, tuple(tuple(row) for row in axes.tolist()))
    if len(corners) > 1:
        extent = np.linalg.svd(corners[:, :2] - corners[:, :2].mean(0), compute_uv=False)[1]
        if not extent > 1e-9:
            raise InputError(
                "wrong-value",
                "sole",
                problem=f"the sole of {name!r} is a line seen along the normal: it has no area to stand on",
            )
    return made


# ------------------------------------------------------------------------------------------------------ what it bears
class Load(NamedTuple):
    """What a contact bears, all (...) but as said: the `force` (..., 3) and `moment` on the robot, world axes, at the
    frame's origin; `normal` [N]; `friction`, the share of μ f_n that is used (beyond 1 it slips); the
    `center_of_pressure` (..., 2) in the contact's axes, `inside` the sole's edges by so much [m] (infinite for a
    point); `holds`: whether forces at the corners, all within their cones, make it up, and it presses at all."""

    force: Array
    moment: Array
    normal: Array
    friction: Array
    center_of_pressure: Array
    inside: Array
    holds: NDArray[np.bool_]


def loads(system: Constrained, multipliers: ArrayLike) -> dict[str, Load]:
    """What each contact bears at these multipliers (..., k), of forward dynamics or a run for example."""
    lam = array("multipliers", multipliers, (..., system.k), meaning="one per row", nan=True)
    return {c.name: _load(c, -lam[..., system.place(c.name)]) for c in need_contacts(system)}


def need_contacts(system: Constrained) -> tuple[GroundContact, ...]:
    if not system.contacts:
        raise InputError(
            "missing",
            "constraints",
            problem=f"nothing of {system.name!r} stands on the ground: constrain it by "
            "dalembert.constrained.contact(frame, …)",
        )
    return system.contacts


def _load(c: GroundContact, wrench: Array) -> Load:
    f, normal = wrench[..., :3], wrench[..., 2]
    n = wrench[..., 3:] if wrench.shape[-1] == 6 else np.zeros_like(f)
    height = float(np.mean([z for _, _, z in c.corners]))
    with np.errstate(divide="ignore", invalid="ignore"):
        used = np.where(normal > 0, np.hypot(f[..., 0], f[..., 1]) / (c.friction * normal), np.inf)
        x = (height * f[..., 0] - n[..., 1]) / normal
        y = (height * f[..., 1] + n[..., 0]) / normal
    center = np.stack([x, y], -1)
    edges = c.edges
    over = np.max(center @ edges[:, :2].T + edges[:, 2], axis=-1) if len(edges) else np.full(normal.shape, -np.inf)
    inside = np.where(normal > 0, -over, -np.inf)
    R = np.array(c.axes)
    return Load(f @ R.T, n @ R.T, normal, used, center, inside, _holds(c, wrench, used, inside))


def _holds(c: GroundContact, wrench: Array, used: Array, inside: Array) -> NDArray[np.bool_]:
    """Whether a wrench is a sum of forces along the edges of the corners' pyramids, none negative; of a point its own
    cone says so."""
    if c.hold.kind != "weld":
        return np.asarray(used <= 1.0)
    from scipy.optimize import nnls

    with np.errstate(divide="ignore", invalid="ignore"):
        shape = wrench[..., [0, 1, 3, 4, 5]] / wrench[..., 2:3]
    out = np.asarray((wrench[..., 2] > 0) & (shape @ c.certain[:, :-1].T + c.certain[:, -1] <= 0).all(-1))
    G = c.rays(4 * FACES)  # finer than the program's
    size = max(float(np.max(np.abs(c.corners))), 1e-3)
    scale = np.array([1.0] * 3 + [1.0 / size] * 3)
    near = (used <= 1.0 + EXACT) & (inside >= -EDGE * size)
    open_ = ~out & np.isfinite(wrench).all(-1) & (wrench[..., 2] > 0) & near
    for index in map(tuple, np.argwhere(open_)):
        w = scale * wrench[index]
        out[index] = nnls(scale[:, None] * G, w)[1] <= EXACT * np.linalg.norm(w)
    return out


# ------------------------------------------------------------------------------------------------------------- losses
LOSSES = {
    "pull": "the ground would have to pull with up to {:.4g} N",
    "friction": "it needs up to {:.4g} times the friction available",
    "sole": "its center of pressure lies up to {:.4g} m outside the sole",
    "moment": "friction within the sole cannot provide its moment about the normal",
}


@dataclass(frozen=True)
class ContactLoss:
    """A contact that cannot be sustained: first at time `t` [s], and in a `share` of all steps. `kind`, at the first
    time: "pull", "friction", "sole" or "moment". `amount`, the largest: of the force that would have to pull [N], of
    the friction that is needed (as a multiple of μ f_n), or of the distance between center of pressure and sole [m]."""

    contact: str
    t: float
    kind: str
    amount: float
    share: float

    def __str__(self) -> str:
        what = LOSSES[self.kind].format(self.amount)
        when = f"from t = {self.t:.6g} s on ({self.share:.0%} of the time)"
        return f"contact {self.contact!r} cannot be sustained {when}: {what}"


class LossFinder:
    """Finds the contacts of a system that cannot be sustained, in rows that are added piece by piece."""

    def __init__(self, system: Constrained) -> None:
        self.system, self.rows = system, 0
        self.tallies: dict[str, _Tally] = {}

    def add(self, t: Array, x: Array, y: Array) -> None:
        """Add rows: times t (rows,), states x (rows, ·) that begin with q, outputs y (rows, ·) that begin with λ."""
        system, multipliers = self.system, y[:, : self.system.k]
        borne, least = loads(system, multipliers), NEGLIGIBLE * _weight(system)
        lost = {c: _bears(load, least) & ~load.holds for c, load in borne.items()}
        rows = np.flatnonzero(np.any(list(lost.values()), axis=0))
        q = x[:, : system.robot.nq]
        if len(rows) and system.rank(q[rows[0]]) < system.k:  # λ is one of many: another may be borne
            fine = [k for k in rows if _bearable(system, q[k], multipliers[k])]
            for own in lost.values():
                own[fine] = False
        for c, own in lost.items():
            if own.any():
                _count(self.tallies, c, t, borne[c], own)
        self.rows += len(t)

    @property
    def losses(self) -> tuple[ContactLoss, ...]:
        """The contacts that cannot be sustained in the rows so far, the earliest first."""
        found = [
            ContactLoss(c, tally.t, tally.kind, tally.amounts.get(tally.kind, np.nan), tally.count / self.rows)
            for c, tally in self.tallies.items()
        ]
        return tuple(sorted(found, key=lambda loss: loss.t))


@dataclass
class _Tally:
    """Of a contact: when it is lost first, and by which kind of loss, in how many rows, the largest amount by kind."""

    t: float
    kind: str
    count: int
    amounts: dict[str, float]


def _weight(system: Constrained) -> float:
    """The robot's weight [N], in space that of one m/s²."""
    return float(system.robot.mass * (np.linalg.norm(system.robot.gravity) or 1.0))


def _bears(load: Load, least: float) -> NDArray[np.bool_]:
    force = np.linalg.norm(load.force, axis=-1)
    return np.asarray(np.isfinite(force) & (np.maximum(force, np.linalg.norm(load.moment, axis=-1)) > least))


def _count(tallies: dict[str, _Tally], name: str, t: Array, load: Load, lost: NDArray[np.bool_]) -> None:
    """Add the rows in which a contact is lost to its tally."""
    first = int(np.argmax(lost))
    kinds = {
        "pull": np.where(load.normal <= 0, -load.normal, -np.inf),
        "friction": np.where((load.normal > 0) & (load.friction > 1), load.friction, -np.inf),
        "sole": np.where((load.normal > 0) & (load.inside < 0), -load.inside, -np.inf),
    }
    kind = next((kind for kind, amount in kinds.items() if amount[first] >= 0), "moment")
    tally = tallies.setdefault(name, _Tally(float(t[first]), kind, 0, {}))
    tally.count += int(lost.sum())
    for kind, amount in kinds.items():
        tally.amounts[kind] = max(tally.amounts.get(kind, -np.inf), float(amount[lost].max()))


def _bearable(system: Constrained, q: Array, multipliers: Array) -> bool:
    """Whether forces at the corners of all contacts, within their cones, do the same as these multipliers."""
    from scipy.optimize import nnls

    A, columns = system.jacobian(q), []
    for c in system.constraints:
        rows = A[system.place(c.name)].T
        columns += [-rows @ c.rays(4 * FACES)] if isinstance(c, GroundContact) else [rows, -rows]
    b = A.T @ multipliers
    scale = 1.0 / np.maximum(np.abs(b).max(), 1e-300)
    return bool(nnls(np.hstack(columns), scale * b)[1] <= EXACT * np.linalg.norm(scale * b))


def excess(system: Constrained, multipliers: Scalars) -> tuple[Scalar, Scalar]:
    """Return by how much the contacts have to pull, slip or tilt, [N] and [N m] added up, as (least, most).

    `least` is zero unless a contact cannot be sustained. It adds up necessary conditions: force within the cone of
    friction, center of pressure inside the sole, moment about the normal no more than friction at the farthest corner
    has. `most` is zero only if every contact can be sustained. Of a sole it adds up sufficient conditions, forces in
    pyramids inside the cones of its corners. Where contacts depend on one another, these multipliers are some of many
    that do the same, and `least` is zero."""
    negligible = NEGLIGIBLE * _weight(system)
    least: Scalar = 0.0
    most: Scalar = 0.0
    for c in system.contacts:
        f = [-x for x in multipliers[system.place(c.name)]]
        cone = [scalar.sqrt(f[0] * f[0] + f[1] * f[1]) - c.friction * f[2]]
        necessary, sufficient = cone, cone
        if c.hold.kind == "weld":
            x, y, z = np.mean(c.corners, axis=0).tolist()
            rim = [a * (z * f[0] - f[4]) + b * (z * f[1] + f[3]) + d * f[2] for a, b, d in c.edges.tolist()]
            reach = c.friction * float(np.linalg.norm(np.array(c.corners)[:, :2] - (x, y), axis=1).max())
            necessary = [*cone, *rim, scalar.absolute(f[5] - (x * f[1] - y * f[0])) - reach * f[2]]
            g = (f[0], f[1], f[3], f[4], f[5], f[2])
            sufficient = [-f[2], *(linear.inner(row, g) for row in c.sufficient.tolist())]
        for row in necessary:
            least = least + scalar.maximum(row - negligible, 0.0)
        for row in sufficient:
            most = most + scalar.maximum(row - negligible, 0.0)
    return (least if system.independent_rows else 0.0), most


# ------------------------------------------------------------------------------------------------------------ balance
@dataclass(frozen=True)
class Balance:
    """Torques τ (..., nv), zero where there is no drive, and multipliers λ (..., k) that give a motion, with their
    certificate: `residual` (...), the largest entry of M v̇ + h + Aᵀλ − τ over the weight, recomputed; `loads` of the
    contacts; `feasible` (...): that the residual vanishes and every contact holds; and why not, in `messages`."""

    q: Array
    tau: Array
    multipliers: Array
    residual: Array
    loads: dict[str, Load]
    feasible: NDArray[np.bool_]
    messages: tuple[str, ...]
    system: Constrained

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Whether every contact can be sustained: `feasible`."""
        return self.feasible

    def __bool__(self) -> bool:
        return bool(np.all(self.feasible))

    def law(self, omega: float = 30.0, zeta: float = 1.0) -> Law:
        """Holds the posture: τ + K (q_d ⊖ q) − D v at the driven joints, a PD whose poles are those of s² + 2ζω s + ω²
        about it but for gravity, as a law for `simulate`.

        Where a part stands on end, ω² must exceed what gravity pulls it over with, g over its length. With N the
        motions that the contacts allow, N_d their driven rows: K = ω² N_d⁺ᵀ (NᵀMN) N_d⁺, D = 2ζ/ω K."""
        system, robot = self.system, self.system.robot
        if self.tau.ndim > 1:
            raise InputError(
                "wrong-shape",
                "tau",
                problem="a law holds one posture, and this balance is of a batch: balance one state",
            )
        w, damp = number("omega", omega, "rad/s", above=0.0), number("zeta", zeta, above=0.0)
        places = np.flatnonzero(robot.driven).tolist()
        N = np.linalg.svd(system.jacobian(self.q))[2][int(system.rank(self.q)) :].T
        inverse = np.linalg.pinv(N[places], rcond=1e-9)
        K = w**2 * inverse.T @ (N.T @ robot.mass_matrix(self.q) @ N) @ inverse
        model, nq, goal, tau = robot.model, robot.nq, self.q.tolist(), self.tau.tolist()

        def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
            off, v = joints.difference(model, y[:nq], goal), y[nq:]
            pull = linear.apply(K.tolist(), [off[i] - (2.0 * damp / w) * v[i] for i in places])
            return [tau[i] + x for i, x in zip(places, pull, strict=True)]

        outputs = tuple(robot.inputs[i] for i in places)
        return Law(f"{robot.name} holds its posture", robot.states, (), outputs, act)


def balance(
    system: Constrained,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    *,
    cones: bool = True,
    limits: bool = True,
    effort: float = 0.1,
    press: float = 0.0,
) -> Balance:
    """See `Constrained.balance`."""
    need_contacts(system)
    robot, nv = system.robot, system.nv
    states = [array("q", q, (..., system.nq))]
    states += [array(n, np.zeros(nv) if x is None else x, (..., nv)) for n, x in (("qd", qd), ("qdd", qdd))]
    weight, press = number("effort", effort, above=0.0), number("press", press, "N", least=0.0)
    if switch("cones", cones):
        need_daqp("a balance within cones of friction")
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in states))
    Q, V, W = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in states)
    b = system.inverse_dynamics(Q, V, W)
    A = np.broadcast_to(system.jacobian(Q), (*batch, system.k, nv))
    program = _Program(system, cones, switch("limits", limits), weight, press)
    tau, lam = np.zeros((*batch, nv)), np.zeros((*batch, system.k))
    missing = np.zeros(batch, bool)
    for index in np.ndindex(batch):
        lam[index], missing[index] = program.solve(A[index], b[index])
    tau = np.where(robot.driven, np.asarray(system.inverse_dynamics(Q, V, W, lam)), 0.0)
    left = b + np.einsum("...kn,...k->...n", A, lam) - tau
    residual = np.max(np.abs(left), axis=-1) / program.weight
    borne = loads(system, lam)
    held = np.all([load.holds for load in borne.values()], axis=0)
    drives = np.asarray(robot.driven, bool)
    strong = (np.abs(tau) <= robot.limits.effort * (1 + 1e-9)) | ~drives
    within = np.all(strong, axis=-1) if limits else np.ones(batch, bool)
    feasible = np.asarray((residual <= 1e-6) & held & within & ~missing)
    said = tuple(_message(index, feasible, residual, borne, missing, within) for index in np.ndindex(batch))
    return Balance(Q, tau, lam, residual, borne, feasible, said, system)


def _message(
    index: tuple[int, ...], feasible: Array, residual: Array, borne: Mapping[str, Load], missing: Array, within: Array
) -> str:
    if feasible[index]:
        return "balanced"
    if missing[index]:
        return (
            f"no forces within the cones and torques within their limits do this: the nearest leave "
            f"{residual[index]:.2g} of the weight over; lean less, move slower, or give more friction or a larger sole"
        )
    slips = [name for name, load in borne.items() if not load.holds[index]]
    if slips:
        return f"the ground cannot bear what {', '.join(map(repr, slips))} would need: it would slip, tilt or pull"
    if not within[index]:
        return "some torque passes its limit"
    return f"the driven joints cannot make this motion: {residual[index]:.2g} of the weight is left over"


class _Program:
    """min ½ (‖f‖² + w² ‖τ‖²) over corner forces f and the multipliers of other constraints, subject to the rows without
    drives, cones and limits; scaled by the robot's weight."""

    def __init__(self, system: Constrained, cones: bool, limits: bool, effort: float, press: float) -> None:
        robot = system.robot
        g = float(np.linalg.norm(robot.gravity)) or 1.0
        self.weight, self.effort, self.cones = robot.mass * g, effort, cones
        self.driven = np.asarray(robot.driven, bool)
        self.bound = np.where(limits, robot.limits.effort[self.driven], np.inf) / self.weight
        columns, faces, low = [], [], []
        for c in system.constraints:
            at = system.place(c.name)
            if isinstance(c, GroundContact):
                block = np.zeros((system.k, 3 * len(c.corners)))
                block[at] = -c.grasp
                faces += [c.faces] * len(c.corners)
                low += [-np.inf, -np.inf, press / self.weight if cones else -np.inf] * len(c.corners)
            else:
                block = np.zeros((system.k, at.stop - at.start))
                block[at] = np.eye(at.stop - at.start)
                faces += [np.zeros((0, at.stop - at.start))]
                low += [-np.inf] * (at.stop - at.start)
            columns.append(block)
        self.L = np.hstack(columns)  # λ = L x
        self.low = np.array(low)
        self.faces = np.zeros((sum(len(f) for f in faces), self.L.shape[1]))
        row = column = 0
        for f in faces:
            self.faces[row : row + len(f), column : column + f.shape[1]] = f
            row, column = row + len(f), column + f.shape[1]

    def solve(self, A: Array, b: Array) -> tuple[Array, bool]:
        """λ, and whether nothing satisfies everything: then it is the nearest that the ground can do."""
        if not (np.isfinite(A).all() and np.isfinite(b).all()):
            return np.full(len(A), np.nan), False
        E, b = A.T @ self.L, b / self.weight
        free, own = E[~self.driven], E[self.driven]
        b_free, b_own = b[~self.driven], b[self.driven]
        H = np.eye(E.shape[1]) + self.effort**2 * own.T @ own
        f = self.effort**2 * own.T @ b_own
        if not self.cones:
            n, m = len(H), len(free)
            K = np.block([[H, free.T], [free, np.zeros((m, m))]])
            x = np.linalg.lstsq(K, np.concatenate([-f, -b_free]), rcond=1e-12)[0][:n]
            return self.weight * self.L @ x, False
        bounded = np.isfinite(self.bound)
        rows = np.vstack([self.faces, own[bounded]])
        upper = np.concatenate([np.zeros(len(self.faces)), (self.bound - b_own)[bounded]])
        lower = np.concatenate([np.full(len(self.faces), -np.inf), (-self.bound - b_own)[bounded]])
        x_low, x_high = self.low, np.full(len(self.low), np.inf)
        found = solve_qp(H, f, x_low, x_high, rows, lower, upper, free, -b_free)
        if found is None:
            H, f = free.T @ free + 1e-9 * np.eye(len(H)), free.T @ b_free
            found = solve_qp(H, f, x_low, x_high, rows, lower, upper)
        x = np.zeros(len(H)) if found is None else found
        return self.weight * self.L @ x, bool(np.max(np.abs(free @ x + b_free), initial=0.0) > 1e-6)
