"""What a motion must keep to: ranges per joint, and half spaces that frames must not leave.

Where the frames of an arm may go: half spaces for their origins, floors, and how far they stray between samples.

How fast a motion may be for the drives that follow it and the springs in the joints: its highest harmonic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dalembert.algorithms.kinematics import world_poses
from dalembert.arguments import Array, array, count, number, of_kind
from dalembert.caching import cached_property
from dalembert.errors import InputError
from dalembert.flow import Scalars
from dalembert.model import Frame, Model
from dalembert.robot import Limits, Robot
from dalembert.spatial.vector import Vector

HARMONICS = 5
SHARE = 0.5  # of the lowest elastic mode: what lies above it excites the mode (Spong 1987; Craig 2005, §9.9)
DRAWS = 1000  # of positions, to find the lowest mode
TRIALS = 4  # random positions at which origins are compared
SAME = 1e-9  # of the arm's size: origins that are nearer than this at all trials are one point
KINDS = ("position", "velocity", "acceleration", "torque")


@dataclass(frozen=True, eq=False)
class Bandwidth:
    """What the harmonics stay below: `drives` [Hz], and half the lowest elastic mode of joints with a `stiffness` (n,)
    [N m/rad, N/m]; infinite and None where nothing is known."""

    drives: float = math.inf
    stiffness: Array | None = None

    def modes(self, robot: Robot, q: Array) -> Array:
        """The lowest elastic mode [Hz] at positions q (N, n), the motors held: ω² M x = K x, M of the links alone.
        Infinite for stiff joints."""
        if self.stiffness is None:
            return np.full(len(q), np.inf)
        rotors = np.zeros(robot.n)
        for body in robot.model.bodies:
            rotors[body.coordinate] += body.multiplier**2 * body.rotor_inertia
        soft = 1.0 / np.sqrt(self.stiffness)
        compliance = soft[:, None] * (robot.mass_matrix(q) - np.diag(rotors)) * soft
        return np.asarray(1.0 / (2 * np.pi * np.sqrt(np.maximum(np.linalg.eigvalsh(compliance)[:, -1], 1e-300))))

    def top(self, mode: float) -> float:
        """What the highest harmonic may be [Hz]."""
        return min(self.drives, SHARE * mode)


def read_bandwidth(robot: Robot, bandwidth: float | None, stiffness: ArrayLike | None) -> Bandwidth:
    n = robot.n
    if stiffness is not None:
        given = array("stiffness", stiffness, (), (n,), meaning="one per joint", unit="N m/rad", above=0.0)
        stiffness = np.broadcast_to(given, (n,)).copy()
    return Bandwidth(math.inf if bandwidth is None else number("bandwidth", bandwidth, "Hz", above=0.0), stiffness)


def choose_harmonics(
    robot: Robot, harmonics: int | None, frequency: float, bandwidth: Bandwidth, lower: Array, upper: Array
) -> int:
    """As many as are asked for, which is refused if the highest is too fast; else five, or as many as are not."""
    wanted = HARMONICS if harmonics is None else count("harmonics", harmonics, 2)
    low, high = np.where(np.isfinite(lower), lower, -np.pi), np.where(np.isfinite(upper), upper, np.pi)
    q = np.random.default_rng(0).uniform(low, np.maximum(low, high), (DRAWS, robot.n))
    mode = float(bandwidth.modes(robot, q).min())
    top = bandwidth.top(mode)
    most = wanted if math.isinf(top) else int(top / frequency * (1.0 + 1e-12))
    if wanted <= most:
        return wanted
    elastic = SHARE * mode < bandwidth.drives
    what = f"half the lowest elastic mode, {mode:.3g} Hz," if elastic else f"the drives' bandwidth, {top:g} Hz,"
    if most < 2:
        raise InputError(
            "conflict",
            "frequency",
            problem=f"{what} leaves no two harmonics of {frequency:g} Hz",
            remedy=f"Use a base frequency of at most {top / 2:.3g} Hz.",
        )
    if harmonics is not None:
        raise InputError(
            "conflict",
            "harmonics",
            problem=f"{wanted} harmonics of {frequency:g} Hz go up to {wanted * frequency:g} Hz, beyond {what} "
            f"which allows {most}",
            remedy="Use fewer, or a lower base frequency.",
        )
    return most


def content_above(x: Array, period: float, frequency: float) -> Array:
    """(n,): the RMS of what lies above a frequency [Hz], as a share of all that varies, of signals x (N, n) sampled
    over one period."""
    power = np.abs(np.fft.rfft(x, axis=0)) ** 2
    fast = np.arange(len(power)) > frequency * period * (1.0 + 1e-9)
    return np.asarray(np.sqrt(power[fast].sum(axis=0) / np.maximum(power[1:].sum(axis=0), 1e-300)))


@dataclass(frozen=True)
class HalfSpace:
    """A frame's origin stays where normal · p ≥ offset [m], in the base frame: (0, 0, 1) and 0.1 for z ≥ 0.1. Without
    a frame (None), that of every frame that moves."""

    frame: str | None
    normal: tuple[float, float, float]
    offset: float

    def __str__(self) -> str:
        who = "every frame" if self.frame is None else self.frame
        return f"{who}: ({', '.join(f'{x:g}' for x in self.normal)})·p ≥ {self.offset:g} m"


def box(frame: str | None, lower: ArrayLike, upper: ArrayLike) -> tuple[HalfSpace, ...]:
    """A frame's origin, or every one's (None), stays in a box: lower ≤ p ≤ upper [m] in the base frame; ±inf where a
    side is open."""
    low, high = (array(f"{name} of a box", x, (3,), finite=False) for name, x in (("lower", lower), ("upper", upper)))
    if not (low < high).all():
        raise InputError(
            "wrong-order",
            "lower",
            problem=f"the box of {frame!r} is empty: lower {lower!r} must be less than upper {upper!r}",
        )
    sides = []
    for sign, corner in ((1.0, low), (-1.0, high)):
        for k in np.flatnonzero(np.isfinite(corner)):
            a, b, c = (sign if i == k else 0.0 for i in range(3))
            sides.append(HalfSpace(frame, (a, b, c), sign * float(corner[k])))
    return tuple(sides)


def up(model: Model) -> tuple[float, float, float]:
    """Against gravity, in the base frame; z where there is no gravity. Heights are measured along it, from the base
    frame's origin."""
    size = math.hypot(*model.gravity)
    x, y, z = (-g / size + 0.0 for g in model.gravity) if size > 0 else (0.0, 0.0, 1.0)
    return (x, y, z)


# ------------------------------------------------------------------------------------------------------- origins
@dataclass(frozen=True, eq=False)
class Origins:
    """The origins of all frames that move, each once: `frames` (F), for every name the `place` of its origin, and where
    they are at some random positions, `trials` (F, T, 3) [m]."""

    model: Model
    frames: tuple[Frame, ...]
    place: dict[str, int]
    trials: Array

    @cached_property
    def size(self) -> float:
        """Of the arm [m], roughly: the unit of distances."""
        return float(np.abs(self.trials).max(initial=1e-3))

    def at(self, q: Scalars) -> list[Vector]:
        """Where they are, in the base frame; over any scalar."""
        T = world_poses(self.model, q, {frame.body for frame in self.frames})
        return [(T[frame.body] @ frame.pose).p for frame in self.frames]

    def acceleration(self, furthest: Array, speed: Array, acceleration: Array) -> Array:
        """(N, F): what the origins' accelerations [m/s²] never exceed while the joints stay below these magnitudes of
        position (n,), rate and acceleration (N, n).

        From the frame to the base, joint after joint: with |p| ≤ r, |ṗ| ≤ v, |p̈| ≤ a in the body, seen from its parent
        |p̈| ≤ α r + ω² r + 2 ω v + a + s̈ of a joint that turns with ω, α and travels with s̈ along its axis."""
        found = np.zeros((len(speed), len(self.frames)))
        for column, frame in enumerate(self.frames):
            r, v, a = math.hypot(*frame.pose.p), np.zeros(len(speed)), np.zeros(len(speed))
            for i in reversed(self.model.path(frame.body)):
                body = self.model.bodies[i]
                size, k = abs(body.multiplier), body.coordinate
                along = abs(body.joint.travel)
                reach = (size * furthest[k] + abs(body.offset)) * along if along else 0.0
                w, alpha = size * speed[:, k], size * acceleration[:, k]
                s, sd = along * w, along * alpha
                w, alpha = (w, alpha) if body.joint.turns else (0.0 * w, 0.0 * w)
                r, v, a = (
                    r + reach + math.hypot(*body.placement.p),
                    v + w * r + s,
                    a + alpha * r + w * w * r + 2.0 * w * v + sd,
                )
            found[:, column] = a
        return found

    def drop(self, h: float, motion: tuple[Array, Array, Array], largest: tuple[Array, Array]) -> Array:
        """(N, F): by how much [m] origins may be lower, within half a step h [s] of each sample of a motion q, q̇, q̈
        (N, n), than at the samples if they are lowest there; `largest` (n,) bound |q̈| and the jerk at all times."""
        q, qd, qdd = motion
        furthest = np.abs(q).max(axis=0) + 0.5 * h * np.abs(qd).max(axis=0) + h**2 / 8.0 * largest[0]
        rates = np.abs(qd) + 0.5 * h * largest[0], np.abs(qdd) + 0.5 * h * largest[1]
        return h**2 / 8.0 * self.acceleration(furthest, *rates)


def find_origins(model: Model) -> Origins:
    """Frames whose origins some joint moves; several with one origin are one."""
    rng = np.random.default_rng(0)
    trials = [rng.uniform(-1.0, 1.0, model.n).tolist() for _ in range(TRIALS)]
    frames: list[Frame] = []
    seen: list[Array] = []
    place = {}
    carriers = [world_poses(model, q) for q in trials]
    for frame in model.frames:
        if frame.body < 0:
            continue
        p = np.array([(T[frame.body] @ frame.pose).p for T in carriers], float)
        near = SAME * max(float(np.abs(p).max()), 1e-3)
        if np.abs(p - p[0]).max() <= near:
            continue
        same = (k for k, other in enumerate(seen) if np.abs(p - other).max() <= near)
        place[frame.name] = next(same, len(frames))
        if place[frame.name] == len(frames):
            frames.append(frame)
            seen.append(p)
    return Origins(model, tuple(frames), place, np.array(seen).reshape(-1, TRIALS, 3))


# --------------------------------------------------------------------------------------------------------- input
def read_spaces(
    robot: Robot, origins: Origins, workspace: Sequence[HalfSpace], floor: float | Mapping[str | None, float] | None
) -> tuple[HalfSpace, ...]:
    """One half space with a unit normal for every frame that is meant, the floor's first."""
    given: list[object] = []
    if floor is not None:
        heights = floor.items() if isinstance(floor, Mapping) else [(None, floor)]
        given += [HalfSpace(name, up(robot.model), number("floor", height, "m")) for name, height in heights]
    spaces = []
    for space in (*given, *workspace):
        meant = "workspace is a list of HalfSpace(frame, normal, offset), box(…) makes six; got"
        frame, normal, offset = _read_space(robot, origins, of_kind(space, HalfSpace, meant))
        for name in [f.name for f in origins.frames] if frame is None else [frame]:
            heights, near = origins.trials[origins.place[name]] @ normal - offset, SAME * origins.size
            if np.ptp(heights) > near:
                spaces.append(HalfSpace(name, normal, offset))
            elif heights[0] < -near:  # no motion changes it
                where = HalfSpace(name, normal, offset)
                raise InputError(
                    "infeasible",
                    "workspace",
                    problem=f"wherever the arm moves, a frame is {-heights[0]:.3g} m on the wrong side of {where}",
                )
    return tuple(spaces)


def _read_space(
    robot: Robot, origins: Origins, space: HalfSpace
) -> tuple[str | None, tuple[float, float, float], float]:
    if space.frame is not None and robot.model.frame(space.frame).name not in origins.place:
        why = "is fixed to the base" if robot.model.frame(space.frame).body < 0 else "only turns about its origin"
        raise InputError("infeasible", "workspace", problem=f"frame {space.frame!r} {why}, and no motion moves it")
    x = array("normal", space.normal, (3,))
    size = float(np.linalg.norm(x))
    if not size > 0:
        raise InputError("out-of-range", "normal", space.normal, expected="three numbers that are not all zero")
    a, b, c = (x / size).tolist()
    return space.frame, (a, b, c), number("offset", space.offset, "m") / size


@dataclass(frozen=True, eq=False)
class ExcitationLimits:
    """Ranges per joint (n,) of each kind, infinite where there are none; half spaces for the origins of frames."""

    lower: dict[str, Array]
    upper: dict[str, Array]
    origins: Origins
    spaces: tuple[HalfSpace, ...] = ()

    @cached_property
    def places(self) -> list[int]:
        """Which origin every half space is for."""
        return [self.origins.place[str(space.frame)] for space in self.spaces]

    @cached_property
    def planes(self) -> tuple[Array, Array]:
        """Normals (S, 3) and offsets (S,) of the half spaces."""
        normals = np.array([space.normal for space in self.spaces]).reshape(-1, 3)
        return normals, np.array([space.offset for space in self.spaces])

    def scale(self, kind: str) -> Array:
        """What a violation is measured by: half the range, or one where a side is open."""
        half = 0.5 * (self.upper[kind] - self.lower[kind])
        return np.where(np.isfinite(half), half, 1.0)

    def within(self, margin: float) -> ExcitationLimits:
        """The same ranges with a share of each left free at both ends."""
        spare = {kind: margin * self.scale(kind) for kind in self.lower}
        lower = {kind: x + spare[kind] for kind, x in self.lower.items()}
        return replace(self, lower=lower, upper={kind: x - spare[kind] for kind, x in self.upper.items()})

    def excess(self, kind: str, x: Array) -> Array:
        """How far values (..., n) are beyond their range, by its scale: ≤ 0 inside; (..., 2n)."""
        size = self.scale(kind)
        return np.concatenate([(x - self.upper[kind]) / size, (self.lower[kind] - x) / size], axis=-1)

    def usage(self, kind: str, x: Array) -> Array:
        """The largest share of the range from its middle that values (N, n) use, (n,); 0 where it has no end, and 1
        plus the excess where it has one."""
        lower, upper = self.lower[kind], self.upper[kind]
        both = np.isfinite(lower) & np.isfinite(upper)
        middle = np.where(both, 0.5 * (np.where(both, lower, 0) + np.where(both, upper, 0)), 0.0)
        share = np.abs(x - middle).max(axis=0) / self.scale(kind)
        over = self.excess(kind, x).reshape(len(x), 2, -1).max(axis=(0, 1))
        return np.where(both, share, np.where(np.isfinite(over), np.maximum(1.0 + over, 0.0), 0.0))


def read_limits(
    robot: Robot,
    limits: Limits | None,
    position: object,
    velocity: ArrayLike | None,
    acceleration: ArrayLike | None,
    torque: ArrayLike | None,
    workspace: Sequence[HalfSpace] = (),
    floor: float | Mapping[str | None, float] | None = None,
) -> ExcitationLimits:
    """The limits given, and the robot's own of position, velocity and torque where none are given."""
    own = robot.limits if limits is None else limits
    of_kind(own, Limits, "limits must be those of a robot (robot.limits), got")
    lower, upper, n = own.lower, own.upper, robot.n
    if position is not None:
        try:
            low, high = tuple(position)  # type: ignore[arg-type, var-annotated]
        except (TypeError, ValueError):
            raise InputError(
                "wrong-shape", "position", expected="a pair (lower, upper) of numbers or of one number per joint"
            ) from None
        lower, upper = _per_joint("position lower", low, n), _per_joint("position upper", high, n)
    for kind, given, x in (("velocity", velocity, own.velocity), ("torque", torque, own.effort)):
        if given is None and not (x > 0.0).all():  # a zero where nobody knew
            joint = robot.joint_names[int(np.argmin(x > 0.0))]
            raise InputError(
                "conflict",
                kind,
                problem=f"the description of {robot.name!r} limits the {kind} of {joint!r} to zero",
                remedy=f"Pass limits of {kind}.",
            )
    sizes = {
        kind: np.full(n, np.inf) if x is None else _per_joint(kind, x, n, finite=False, above=0.0)
        for kind, x in (
            ("velocity", own.velocity if velocity is None else velocity),
            ("acceleration", acceleration),
            ("torque", own.effort if torque is None else torque),
        )
    }
    bounded = np.isfinite(upper - lower) | np.isfinite(sizes["velocity"]) | np.isfinite(sizes["acceleration"])
    if not bounded.all():
        joint = robot.joint_names[int(np.argmin(bounded))]
        raise InputError(
            "missing",
            "position",
            problem=f"nothing bounds the motion of {joint!r}",
            remedy="Pass limits of position, velocity or acceleration.",
        )
    if (lower >= upper).any():
        joint = robot.joint_names[int(np.argmax(lower >= upper))]
        raise InputError("conflict", "position", problem=f"the position limits of {joint!r} leave no range")
    origins = find_origins(robot.model)
    return ExcitationLimits(
        {"position": lower, **{kind: -x for kind, x in sizes.items()}},
        {"position": upper, **sizes},
        origins,
        read_spaces(robot, origins, workspace, floor),
    )


def _per_joint(name: str, value: object, n: int, finite: bool = True, above: float | None = None) -> Array:
    x = array(name, value, (), (n,), meaning="one per joint", finite=finite, above=above)
    return np.broadcast_to(x, (n,)).copy()
