"""`Robot`: what a user holds. It checks input once, and binds algorithms to compiled kernels.

Every method takes anything NumPy takes, with any leading batch dimensions, which broadcast. Arrays go straight
to the kernel, a NumPy ufunc that checks shapes and types itself; only if it objects is the input looked at
again, to say in words what is wrong with it.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert import kernels
from dalembert.algorithms import regressor
from dalembert.arguments import array, need, number, read_wrenches, six_of_inertia, switch, three
from dalembert.describe.chain import counted
from dalembert.describe.check import check
from dalembert.describe.description import Description, Inertial, Joint, Link, Loop, Origin
from dalembert.describe.scene import ROOT, with_base
from dalembert.display import Displayed, align
from dalembert.errors import DescriptionError, InputError, ModelWarning, UnknownNameError, unknown
from dalembert.files import whole
from dalembert.kernels import TABLE, need_tree
from dalembert.lazy import LateMethod
from dalembert.model import Model, build
from dalembert.system import REFUSED, Kernels, Key, Limits, Linearization, read_state, second_order
from dalembert.units import position_units, state_units

if TYPE_CHECKING:
    import dalembert  # the front door: planning and notebooks stand above robots
    from dalembert.bounds.search import bounds as bounds_
    from dalembert.collision import along as along_, edges as edges_, of_robot as of_robot_
    from dalembert.compile import Kernel
    from dalembert.describe.description import Drive, Limit
    from dalembert.describe.dh import DHRow, DHTable
    from dalembert.flow import Flow
    from dalembert.kinematics import (
        jacobian as jacobian_,
        manipulability as manipulability_,
        nearest_singularity as nearest_,
        singular as singular_,
        statics as statics_,
        task_space as task_,
        velocity as velocity_,
        workspace as workspace_,
    )
    from dalembert.kinematics.ik import closed_form as closed_form_, numeric as numeric_, prioritized as prioritized_
    from dalembert.symbolic.equations import Equations
    from dalembert.symbolic.letters import Letters

Array = NDArray[np.float64]
T = TypeVar("T")
ORIGIN, BASE = Origin(), Link("base")
NO_LOADS: tuple[tuple[str, ...], tuple[object, ...], tuple[str, ...]] = ((), (), ())
PAYLOAD = ":payload"  # ends the name of the fixed joint that holds one
FRAME = ":frame"  # ends the name of the fixed joint of a frame that was added


class Robot(Displayed):
    """A mechanism with its kinematics and dynamics.

    Made by `dalembert.load`, `Robot.from_dh`, `Robot.from_screws` or from a `Description`. Never changed:
    `with_payload`, `with_gravity` and their like return another robot.
    """

    def __init__(
        self, description: Description, tip: str | None = None, threads: int | str = 1, *, told: Sequence[str] = ()
    ) -> None:
        """A robot of a description, which is checked here: what cannot be is refused, what is doubtful is warned of
        (but for the warnings already `told`)."""
        if not isinstance(description, Description):
            raise InputError(
                f"a Robot is made of a Description, not of {type(description).__name__}; "
                "dalembert.load takes names and files"
            )
        if tip is not None:
            links = [link.name for link in description.links]
            if tip not in links:
                raise unknown("frame", tip, links)
            description = replace(description, tip=tip)
        self.description = check(description)
        self.threads = 1 if type(threads) is int and threads == 1 else _threads(threads)
        known = set(told)
        for message in self.description.warnings:
            if message not in known:
                warnings.warn(message, ModelWarning, stacklevel=3)
        self.model: Model = build(self.description)
        model = self.model  # not held through self: nothing must keep a robot alive that nobody holds
        self._kernels = Kernels(
            TABLE, lambda: model, self.name, self.joint_names, self.threads, kernels.check_positions(model)
        )
        self._calls = self._kernels.calls
        self._made: dict[Hashable, Any] = {}

    # ----------------------------------------------------------------------------------- other ways to make one
    @classmethod
    def from_dh(
        cls,
        rows: Sequence[DHRow | Mapping[str, Any]],
        convention: str = "standard",
        *,
        name: str = "robot",
        base: Origin = ORIGIN,
        tool: Origin = ORIGIN,
        gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
        tip: str = "tool",
        root: Link = BASE,
        notes: str = "",
    ) -> Robot:
        """From a DH table: rows are `describe.dh.DHRow`s or dictionaries with the same keys (theta, d, a, alpha,
        kind, offset, inertial, …). `convention` is "standard" or "modified". The frame after the last row and `tool`
        becomes the link `tip`; `root` is the link before the first joint."""
        from dalembert.describe.dh import from_dh

        options: dict[str, Any] = {"name": name, "base": base, "tool": tool, "gravity": gravity, "tip": tip}
        return cls(from_dh(rows, convention, **options, root=root, notes=notes))

    @classmethod
    def from_screws(
        cls,
        axes: ArrayLike,
        home: ArrayLike,
        *,
        order: str = "linear-first",
        screws: str = "space",
        link_homes: Sequence[ArrayLike] | None = None,
        inertials: Sequence[Inertial | None] | None = None,
        limits: Sequence[Limit | None] | None = None,
        drives: Sequence[Drive] | None = None,
        joint_names: Sequence[str] | None = None,
        link_names: Sequence[str] | None = None,
        name: str = "robot",
        gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
        root: str = "base",
        tip: str = "tool",
        notes: str = "",
    ) -> Robot:
        """From screw axes (n, 6) in the base frame, linear part first, and the tip's pose at q = 0 (4, 4):
        T(q) = exp(S₁ q₁) ⋯ exp(Sₙ qₙ) home. `inertials[i]` is given in `link_homes[i]` (4, 4) at q = 0."""
        from dalembert.describe.screws import from_screws

        bodies = {"link_homes": link_homes, "inertials": inertials, "limits": limits, "drives": drives}
        names = {"joint_names": joint_names, "link_names": link_names, "name": name, "root": root, "tip": tip}
        options: dict[str, Any] = {"order": order, "screws": screws, **bodies, **names, "notes": notes}
        return cls(from_screws(axes, home, gravity=gravity, **options))

    def with_gravity(self, gravity: Sequence[float]) -> Robot:
        """The same robot under another gravity, a vector in the base frame [m/s²]."""
        return self._remade(replace(self.description, gravity=three("gravity", gravity)))

    def with_tip(self, tip: str) -> Robot:
        """The same robot whose methods mean this frame when none is named."""
        self.model.frame(tip)
        return self._remade(replace(self.description, tip=tip))

    def with_threads(self, threads: int | str = "all") -> Robot:
        """The same robot, whose methods cut large batches into pieces for so many threads (at most one per
        processor; "all" of them). Robots start with one."""
        return Robot(self.description, threads=threads, told=self.warnings)

    def with_payload(
        self,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        *,
        frame: str | None = None,
        name: str = "payload",
    ) -> Robot:
        """The same robot holding a body: mass [kg], center of mass in the frame (the tip), and inertia about
        that center, 3×3 or (ixx, ixy, ixz, iyy, iyz, izz) [kg m²], zero if not given."""
        d = self.description
        carrier = self.model.frame(frame).name
        if name in {link.name for link in d.links}:
            raise InputError(f"{d.name!r} already has a link {name!r}: give this payload another name=")
        kilograms = number("mass", mass, "kg")
        link = Link(name, Inertial(kilograms, six_of_inertia(inertia), Origin(three("com", com))))
        joint = Joint(f"{name}{PAYLOAD}", "fixed", carrier, name)
        tip = d.tip if d.tip is not None else self.model.tip
        loaded = replace(d, links=(*d.links, link), joints=(*d.joints, joint), tip=tip)
        return self._remade(loaded)

    def with_mass_error(self, relative: float, links: Sequence[str] | None = None) -> Robot:
        """The same robot with every mass and inertia 1 + `relative` times as large, or those of the links named: what a
        model may be wrong by. Rotors behind gears stay as they are."""
        d = self.description
        more = 1.0 + number("relative", relative)
        if not more > 0:
            raise InputError(f"a mass error of {relative!r} leaves nothing of the robot: it must be above -1")
        known = [link.name for link in d.links]
        for name in known if links is None else links:
            if name not in known:
                raise unknown(f"link of {d.name!r}", name, known)

        def heavier(link: Link) -> Link:
            if link.inertial is None or (links is not None and link.name not in links):
                return link
            own = link.inertial
            xx, xy, xz, yy, yz, zz = (more * x for x in own.inertia)
            return replace(link, inertial=replace(own, mass=more * own.mass, inertia=(xx, xy, xz, yy, yz, zz)))

        return self._remade(replace(d, links=tuple(heavier(link) for link in d.links)))

    def with_loop(
        self,
        kind: str,
        first: str,
        second: str,
        *,
        first_origin: Origin | Sequence[float] = ORIGIN,
        second_origin: Origin | Sequence[float] = ORIGIN,
        axis: Sequence[float] = (0.0, 0.0, 1.0),
        length: float | None = None,
        name: str | None = None,
    ) -> Robot:
        """The same robot with two of its links held together by a further joint, which closes a loop.

        `kind` is one of "weld", "hinge", "ball", "slider", "cylinder", "plane", "line", "flush", "universal",
        "distance", "orientation". The origins are that joint's frames on the two links, an `Origin` or a point;
        `axis` is in the first. `length` [m] is what "distance" keeps. `name`: loop1, loop2, … if not given."""
        d = self.description
        taken = {loop.name for loop in d.loops}
        numbered = (f"loop{i}" for i in range(len(taken) + 1, 2 * len(taken) + 2))
        loop = Loop(
            name if name is not None else next(n for n in numbered if n not in taken),
            kind,
            first,
            second,
            _origin("first_origin", first_origin),
            _origin("second_origin", second_origin),
            three("axis", axis),
            None if length is None else number("length", length, "m"),
        )
        return self._remade(replace(d, loops=(*d.loops, loop)))

    def with_base(
        self,
        kind: str = "floating",
        *,
        name: str = ROOT,
        origin: Origin | Sequence[float] = ORIGIN,
        axis: Sequence[float] = (0.0, 0.0, 1.0),
    ) -> Robot:
        """The same robot with its first link on a joint of that kind, "floating" or "planar" for example, instead of
        fixed to the world; `name`, `origin` (an `Origin` or a point) and `axis` are that joint's."""
        place, along = _origin("origin", origin), three("axis", axis)
        return self._remade(with_base(self.description, kind, name=name, origin=place, axis=along))

    def tree(self) -> Robot:
        """The same robot without its loops: itself, if it has none."""
        if not self.loops:
            return self
        return self.once("tree", lambda: self._remade(replace(self.description, loops=())))

    def with_frame(self, name: str, T: ArrayLike | None = None, *, parent: str | None = None) -> Robot:
        """Return the same robot with one more frame, fixed to another.

        Parameters
        ----------
        name : str
            Name of the new frame.
        T : array_like, shape (4, 4), optional
            Pose of the new frame in `parent`, as `dalembert.pose` returns it. The identity if not given.
        parent : str, optional
            The frame that carries the new one; the tip if not given.

        Examples
        --------
        >>> import dalembert as dl
        >>> arm = dl.load("planar-2r").with_frame("tcp", dl.pose([0.1, 0, 0])).with_tip("tcp")
        >>> arm.fk([0.0, 0.0])[:3, 3]
        array([2.1, 0. , 0. ])
        """
        d = self.description
        if not isinstance(name, str) or not name:
            raise InputError("wrong-type", "name", name, expected="the name of the new frame")
        if name in {link.name for link in d.links} or f"{name}{FRAME}" in {joint.name for joint in d.joints}:
            raise InputError(
                "duplicate", "name", name, expected=f"a name that no frame of {d.name!r} has", remedy="Choose another."
            )
        carrier = self.model.frame(parent).name
        origin = ORIGIN if T is None else _origin_of(T)
        tip = d.tip if d.tip is not None else self.model.tip
        joints = (*d.joints, Joint(f"{name}{FRAME}", "fixed", carrier, name, origin))
        return self._remade(replace(d, links=(*d.links, Link(name)), joints=joints, tip=tip))

    def lock(self, positions: Mapping[str, float]) -> Robot:
        """Return the same robot with some joints fixed for good: a gripper's fingers, a rail.

        Parameters
        ----------
        positions : dict of float
            Position [rad, m] of each joint that is fixed, by its name.

        Returns
        -------
        Robot
            Its joints are the others, in their order. Joints that mimic a locked one are fixed, too.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("planar-3r").lock({"joint2": 0.5}).joint_names
        ('joint1', 'joint3')
        """
        from dalembert.describe.lock import lock

        if not isinstance(positions, Mapping):
            raise InputError("wrong-type", "positions", positions, expected="a dictionary of joint names and positions")
        for name in positions:
            if name not in self.joint_names:
                raise UnknownNameError("joint", name, self.joint_names, argument="positions")
        several = [c.name for c in self.model.coordinates if c.joint.nq > 1 and c.name in positions]
        if several:
            raise InputError(
                "unsupported", "positions", several[0], expected="joints of one coordinate", remedy="Use another base."
            )
        fixed = {name: number(f"positions[{name!r}]", value) for name, value in positions.items()}
        return self._remade(replace(lock(self.description, fixed), tip=self.description.tip or self.tip))

    def configuration(self, positions: Mapping[str, float] | None = None) -> Array:
        """Return joint positions by name, with the other joints at home.  (nq,).

        Parameters
        ----------
        positions : dict of float
            Position [rad, m] of each joint by its name. Joints of several positions have a name for each:
            "base_x", …, as in `states`.

        Examples
        --------
        >>> import dalembert as dl
        >>> dl.load("planar-3r").configuration({"joint2": 0.3})
        array([0. , 0.3, 0. ])
        """
        if positions is not None and not isinstance(positions, Mapping):
            raise InputError("wrong-type", "positions", positions, expected="a dictionary of joint names and positions")
        q, names = self.home, self.model.names("position")
        for name, value in (positions or {}).items():
            if name not in names:
                raise UnknownNameError("joint", name, names, argument="positions")
            q[names.index(name)] = number(f"positions[{name!r}]", value)
        return q

    def with_home(self, q: ArrayLike) -> Robot:
        """The same robot that starts from these joint positions, (nq,)."""
        home = array("home", q, (self.nq,))
        kernels.check_quaternions(self.model, "home", home)
        named = tuple(zip(self.model.names("position"), home.tolist(), strict=True))
        return self._remade(replace(self.description, home=named))

    def _remade(self, description: Description) -> Robot:
        return Robot(description, threads=self.threads, told=self.warnings)

    def without_payload(self, name: str = "payload") -> Robot:
        """The same robot with that payload taken off again."""
        d = self.description
        payloads = [j.child for j in d.joints if j.name == f"{j.child}{PAYLOAD}"]
        if name not in payloads:
            raise unknown("payload", name, payloads)
        links = tuple(link for link in d.links if link.name != name)
        joints = tuple(joint for joint in d.joints if joint.child != name)
        return self._remade(replace(d, links=links, joints=joints))

    # --------------------------------------------------------------------------------------------- what it is
    @property
    def name(self) -> str:
        """What the description calls it."""
        return self.model.name

    @property
    def n(self) -> int:
        """Number of independent joints: the length of q and q̇. Only of robots in which q̇ = v; see `nq` and `nv`."""
        return self.model.n

    @property
    def nq(self) -> int:
        """The length of q: 7 for a floating joint (x, y, z and a unit quaternion x, y, z, w), 4 for a spherical one
        (the quaternion), 3 for a planar one (x, y, angle), 1 for all others."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """The length of velocities v (body-fixed where they are no rates q̇), accelerations and torques: 6 for a
        floating joint (v, ω), 3 for a spherical and a planar one, 1 for all others."""
        return self.model.nv

    @property
    def driven(self) -> NDArray[np.bool_]:
        """Which of the velocities a drive acts along, (nv,) of bool: not those of floating, spherical and planar
        joints."""
        return np.array(self.model.driven, bool)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the independent joints, in the order of q."""
        return tuple(c.name for c in self.model.coordinates)

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the state x = (q, q̇): each joint, then each joint_rate."""
        return (*self.model.names("position"), *self.model.names("rate"))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs, joint_torque of each joint."""
        return self.model.names("effort")

    @property
    def units(self) -> dict[str, str]:
        """The unit of each state and input by its name: rad or m, rad/s or m/s, N m or N."""
        return state_units(self.model)

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of all frames: every link, fixed ones included."""
        return tuple(frame.name for frame in self.model.frames)

    @property
    def loops(self) -> tuple[str, ...]:
        """Names of what closes loops; empty for a tree.

        Kinematics (`fk`, Jacobians, centers of mass) and the terms of the dynamics (M, C, g, energies, inverse
        dynamics, the regressor) are those of the tree, in which every joint is a coordinate. What would take the joints
        for free (forward dynamics, inverse kinematics, manipulability and the like, `equations`) is refused: it is
        asked of `dalembert.Constrained(robot)`, or of `tree()`."""
        return tuple(loop.name for loop in self.model.loops)

    @property
    def home(self) -> Array:
        """Joint positions to start from, (n,): those of the description; for joints that it does not name 0, or the
        middle of the limits where 0 lies outside them (the limit itself where there is only one)."""
        home = dict(self.description.home)
        for c in self.model.coordinates:
            if c.joint.nq > 1:
                parts = (f"{c.name}{part}" for part in c.joint.position_names)
                home = {**dict(zip(parts, c.joint.neutral, strict=True)), **home}
                continue
            zero = min(max(0.0, c.lower), c.upper)
            home.setdefault(c.name, 0.5 * (c.lower + c.upper) if zero and np.isfinite(c.upper - c.lower) else zero)
        return np.array([home[name] for name in self.model.names("position")], float)

    @property
    def tip(self) -> str | None:
        """The frame that methods mean when none is named."""
        return self.model.tip

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the moving bodies, in the order of the regressor's columns."""
        return tuple(body.name for body in self.model.bodies)

    @property
    def gravity(self) -> Array:
        """Acceleration of free fall, in the base frame [m/s²].  (3,)."""
        return np.array(self.model.gravity)

    @property
    def mass(self) -> float:
        """Mass of all moving bodies [kg]; `total_mass` includes the links that do not move."""
        return float(sum(body.inertia.m for body in self.model.bodies))

    @property
    def total_mass(self) -> float:
        """Mass of all links of the description [kg], the root and what is fixed to it included."""
        return float(sum(link.inertial.mass for link in self.description.links if link.inertial is not None))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the description's reader objected to."""
        return self.description.warnings

    @property
    def limits(self) -> Limits:
        """Bounds of every coordinate, as the description has them; ±inf where it has none, or one of 1e9 or more: of
        positions (nq,), of effort and velocity (nv,)."""
        places = [c for c in self.model.coordinates for _ in range(c.joint.nq)]
        rates = [c for c in self.model.coordinates for _ in range(c.joint.nv)]
        return Limits(
            np.array([x.lower for x in places]) + 0.0,  # no −0.0, which NumPy takes for less than 0.0
            np.array([x.upper for x in places]) + 0.0,
            np.array([x.effort for x in rates]),
            np.array([x.velocity for x in rates]),
        )

    def random_configuration(
        self, size: int | tuple[int, ...] = (), *, seed: int | np.random.Generator | None = None
    ) -> Array:
        """Joint positions drawn evenly within the limits (±π or ±1 m where there are none), quaternions over all
        rotations, (*size, nq)."""
        try:
            rng = np.random.default_rng(seed)
        except (TypeError, ValueError):
            raise InputError(f"seed must be a whole number or a NumPy generator, got {seed!r}") from None
        limits = self.limits
        ranges = {"rad": np.pi, "m": 1.0, "": 1.0}
        free = np.array([ranges[unit] for unit in position_units(self.model)])
        lower = np.where(np.isfinite(limits.lower), limits.lower, np.minimum(-free, limits.upper - 2 * free))
        upper = np.where(np.isfinite(limits.upper), limits.upper, np.maximum(free, lower + 2 * free))
        try:
            batch = tuple(operator.index(k) for k in (size if isinstance(size, tuple) else (size,)))
        except TypeError:
            batch = (-1,)
        if any(k < 0 for k in batch):
            raise InputError(f"size must be a number of states or a shape, got {size!r}")
        q = rng.uniform(lower, upper, (*batch, self.nq))
        for at in self.model.quaternions:
            q[..., at : at + 4] = rng.normal(size=(*batch, 4))
        return self.normalize(q) if self.model.quaternions else q

    @property
    def neutral(self) -> Array:
        """The positions at which every body is where the description draws it: zeros, and quaternions (0, 0, 0, 1).
        (nq,)."""
        return np.array([x for c in self.model.coordinates for x in c.joint.neutral])

    def integrate(self, q: ArrayLike, d: ArrayLike) -> Array:
        """q ⊕ d: the positions reached from q (..., nq) along d = v Δt (..., nv), a constant body-fixed velocity for a
        while; q + d where q̇ = v.  (..., nq)."""
        return self._run(("integrate", ()), None, q, d)

    def difference(self, q0: ArrayLike, q1: ArrayLike) -> Array:
        """d (..., nv) with q0 ⊕ d = q1, the shortest turn of quaternions; q1 − q0 where q̇ = v. Angles of planar joints
        are numbers: the way goes as often round as they do."""
        return self._run(("difference", ()), None, q0, q1)

    def interpolate(self, q0: ArrayLike, q1: ArrayLike, t: ArrayLike) -> Array:
        """q0 ⊕ t (q1 ⊖ q0), from q0 at t = 0 to q1 at t = 1.  (..., nq)."""
        return self._run(("interpolate", ()), None, q0, q1, t)

    def normalize(self, q: ArrayLike) -> Array:
        """q (..., nq) with its quaternions brought to length one; one of length 0 is refused."""
        return self._run(("normalize", ()), None, q)

    def position_rates(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """q̇ (..., nq) at velocities v (..., nv): v itself but for floating, spherical and planar joints."""
        return self._run(("position_rates", ()), None, q, qd)

    def __repr__(self) -> str:
        count = len(self.joint_names)
        joints = "1 joint" if count == 1 else f"{count} joints"
        joints += f" (nq = {self.nq}, nv = {self.nv})" if self.model.curved else ""
        loops = f"{counted(len(self.loops))}, " if self.loops else ""
        return f"<Robot {self.name!r}: {joints}, {loops}{len(self.frames)} frames>"

    def __str__(self) -> str:
        """A card: masses and gravity, and a line per joint with its limits."""
        limits, rows = self.limits, [("joint", "kind", "position", "velocity", "effort")]
        for c in self.model.coordinates:
            turns, one = "rad" in c.joint.units[0], c.joint.nq == 1
            unit = "rad" if turns else "m"
            span = limits.lower[c.position], limits.upper[c.position]
            low, high, speed, force = (
                f"{x:.4g}".replace("inf", "∞") for x in (*span, limits.velocity[c.first], limits.effort[c.first])
            )
            own = (f"{low} … {high} {unit}", f"{speed} {unit}/s", f"{force} {'N m' if turns else 'N'}")
            rows.append((c.name, c.joint.kind, *(own if one else ("", "", ""))))
        card = repr(self).strip("<>").replace("Robot ", "", 1)
        gravity = ", ".join(f"{x:g}" for x in self.model.gravity)
        head = f"{card}, tip {self.tip!r}, {self.total_mass:.4g} kg, gravity ({gravity}) m/s²"
        return "\n".join([head, *("  " + line for line in align(rows))])

    def __reduce__(self) -> Any:
        return (_restored, (self.description, self.threads))

    # ------------------------------------------------------------------------------------------ kinematics
    def fk(self, q: ArrayLike, frame: str | None = None, *, out: Array | None = None) -> Array:
        """Pose of a frame in the base frame, T_0f(q).  (..., 4, 4)."""
        return self._run(("fk", (), frame), out, q)

    def transform(self, q: ArrayLike, to: str, of: str, *, out: Array | None = None) -> Array:
        """T_ab(q): the frame b = `of` seen from the frame a = `to`.  (..., 4, 4).  [Poonawala] eq. 2."""
        return self._run(("transform", (), to, of), out, q)

    def jacobian(
        self, q: ArrayLike, frame: str | None = None, expressed_in: str = "world", *, out: Array | None = None
    ) -> Array:
        """Geometric Jacobian J(q), (v, ω) = J q̇.  (..., 6, n).  `expressed_in`: "world" (velocity of the frame's
        origin, world axes), "local" (body twist), "spatial" (twist at the world's origin)."""
        return self._run(("jacobian", (), frame, expressed_in), out, q)

    def jacobian_dot(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        frame: str | None = None,
        expressed_in: str = "world",
        *,
        out: Array | None = None,
    ) -> Array:
        """Rate of the Jacobian, J̇(q, q̇).  (..., 6, n)."""
        return self._run(("jacobian_dot", (), frame, expressed_in), out, q, qd)

    def analytic_jacobian(self, q: ArrayLike, frame: str | None = None, angles: str = "zyz") -> Array:
        """Analytic Jacobian J_a(q), (ḋ, α̇) = J_a q̇ for the frame's position d and Euler angles α.  (..., 6, n).

        `angles` is "rpy" or a sequence in the order of multiplication ("zyz" is Rz Ry Rz). Where the angles are
        singular (det B(α) = 0) this is an error."""
        with np.errstate(divide="ignore", invalid="ignore"):  # a singular state is told below, in words
            J, det = self._run(("analytic_jacobian", (), frame, angles), None, q)
        bad = np.argwhere(np.asarray(det) < kernels.SINGULAR_ANGLES)
        if len(bad):
            where = f" in state {tuple(int(i) for i in bad[0])}" if np.ndim(det) else ""
            raise kernels.singular_angles(angles, self.model.frame(frame).name, where)
        return J

    def fk_jacobian(self, q: ArrayLike, frame: str | None = None, expressed_in: str = "world") -> tuple[Array, Array]:
        """Pose and Jacobian of a frame from one kernel, which shares what they have in common."""
        return self._run(("fk_jacobian", (), frame, expressed_in), None, q)

    def com_jacobian(self, q: ArrayLike, link: str) -> Array:
        """(J_vc; J_ω) of the moving body that carries this link: velocity of its center of mass and its angular
        velocity, world axes.  (..., 6, n).  [Lagrange notes], [Lee]."""
        return self._run(("com_jacobian", (), link), None, q)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Center of mass of all moving bodies in the base frame [m].  (..., 3)."""
        return self._run(("center_of_mass", ()), None, q)

    def center_of_mass_jacobian(self, q: ArrayLike) -> Array:
        """Velocity of that center of mass, J_com(q).  (..., 3, n)."""
        return self._run(("center_of_mass_jacobian", ()), None, q)

    # What the Jacobian tells, inverse kinematics and bounds are functions of kinematics/ and bounds/, imported when a
    # method is first asked for.
    if TYPE_CHECKING:
        hessian = jacobian_.hessian
        inverse_velocity, null_space = velocity_.inverse_velocity, velocity_.null_space
        singularities, nearest_singularity = singular_.singularities, nearest_.nearest_singularity
        manipulability = manipulability_.manipulability
        manipulability_gradient = manipulability_.manipulability_gradient
        velocity_ellipsoid = manipulability_.velocity_ellipsoid
        force_ellipsoid = manipulability_.force_ellipsoid
        acceleration_ellipsoid, effective_mass = manipulability_.acceleration_ellipsoid, manipulability_.effective_mass
        static_torque, largest_force = statics_.static_torque, statics_.largest_force
        task_space, task_regressor = task_.task_space, task_.task_regressor
        workspace = workspace_.workspace
        bounds = bounds_
        ik, ik_all, ik_tasks = numeric_.ik, closed_form_.closed_form, prioritized_.ik_tasks
        collision, clearance, contacts = of_robot_.collision, of_robot_.clearance, of_robot_.contacts
        certify_edge, certify_path = edges_.certify_edge, edges_.certify_path
        certify_motion, contact_spans = along_.certify_motion, along_.contact_spans
        plan, show = dalembert.planning.plan, dalembert.notebook.show
        properties = dalembert.properties.lab
        impact = dalembert.constrained.system.impact
    else:
        hessian = LateMethod("dalembert.kinematics.jacobian:hessian")
        inverse_velocity = LateMethod("dalembert.kinematics.velocity:inverse_velocity")
        null_space = LateMethod("dalembert.kinematics.velocity:null_space")
        singularities = LateMethod("dalembert.kinematics.singular:singularities")
        nearest_singularity = LateMethod("dalembert.kinematics.nearest_singularity:nearest_singularity")
        manipulability = LateMethod("dalembert.kinematics.manipulability:manipulability")
        manipulability_gradient = LateMethod("dalembert.kinematics.manipulability:manipulability_gradient")
        velocity_ellipsoid = LateMethod("dalembert.kinematics.manipulability:velocity_ellipsoid")
        force_ellipsoid = LateMethod("dalembert.kinematics.manipulability:force_ellipsoid")
        acceleration_ellipsoid = LateMethod("dalembert.kinematics.manipulability:acceleration_ellipsoid")
        effective_mass = LateMethod("dalembert.kinematics.manipulability:effective_mass")
        static_torque = LateMethod("dalembert.kinematics.statics:static_torque")
        largest_force = LateMethod("dalembert.kinematics.statics:largest_force")
        task_space = LateMethod("dalembert.kinematics.task_space:task_space")
        task_regressor = LateMethod("dalembert.kinematics.task_space:task_regressor")
        workspace = LateMethod("dalembert.kinematics.workspace:workspace")
        bounds = LateMethod("dalembert.bounds.search:bounds")
        ik = LateMethod("dalembert.kinematics.ik.numeric:ik")
        ik_all = LateMethod("dalembert.kinematics.ik.closed_form:closed_form")
        ik_tasks = LateMethod("dalembert.kinematics.ik.prioritized:ik_tasks")
        collision = LateMethod("dalembert.collision.of_robot:collision")
        clearance = LateMethod("dalembert.collision.of_robot:clearance")
        contacts = LateMethod("dalembert.collision.of_robot:contacts")
        certify_edge = LateMethod("dalembert.collision.edges:certify_edge")
        certify_path = LateMethod("dalembert.collision.edges:certify_path")
        certify_motion = LateMethod("dalembert.collision.along:certify_motion")
        contact_spans = LateMethod("dalembert.collision.along:contact_spans")
        plan = LateMethod("dalembert.planning.motion:plan")
        properties = LateMethod("dalembert.trust.properties.lab:lab")
        impact = LateMethod("dalembert.constrained.system:impact")
        show = LateMethod("dalembert.apps.notebook.show:show")
        show = LateMethod("dalembert.apps.notebook.robot_scene:show")

    # -------------------------------------------------------------------------------------------- dynamics
    def inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        friction: bool = False,
        base_velocity: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Return the joint torques τ = M q̈ + c + g − Σ J_iᵀ F_i [+ friction], by the Newton–Euler recursion.

        Parameters
        ----------
        q, qd, qdd : array_like, shapes (..., nq), (..., nv), (..., nv)
            Joint positions, velocities and accelerations.
        wrenches : dict of array_like of shape (..., 6), optional
            External wrenches that act **on** the robot, by the name of the frame: (force [N], moment [N m]) in world
            axes, at the origin of the frame.
        friction : bool
            Add the friction and the joint springs of the model.
        base_velocity, base_acceleration : array_like, shape (..., 6), optional
            Motion of a moving base in its own axes: (v, ω), and (a, ω̇) with the acceleration a of its origin.
        out : numpy.ndarray, optional
            Array for the result.

        Returns
        -------
        numpy.ndarray, shape (..., nv)
            Torques [N m], forces of prismatic joints [N].

        Examples
        --------
        >>> import dalembert as dl
        >>> arm = dl.load("planar-2r")
        >>> rest = [0.0, 0.0]
        >>> arm.inverse_dynamics(rest, rest, rest, wrenches={"tool": [0, 10.0, 0, 0, 0, 0]})  # an upward push helps
        array([-0.38 , -5.095])
        """
        given, extra, frames = NO_LOADS
        if wrenches is not None or base_velocity is not None or base_acceleration is not None:
            given, extra, frames = _read_loads(wrenches, base_velocity, base_acceleration)
        elif friction is False and out is None:
            try:
                return self._calls["inverse_dynamics"](q, qd, qdd)  # the short way: a look-up, and the compiled call
            except REFUSED:
                pass  # the long way says what is wrong
        key = ("inverse_dynamics", given, switch("friction", friction), frames)
        return self._run(key, out, q, qd, qdd, *extra)

    def forward_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        friction: bool = False,
        method: str | None = None,
        base_velocity: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None,
        out: Array | None = None,
    ) -> Array:
        """Return the joint accelerations q̈ = M⁻¹ (τ − c − g + Σ J_iᵀ F_i [− friction]).

        Parameters
        ----------
        q, qd, tau : array_like, shapes (..., nq), (..., nv), (..., nv)
            Joint positions, velocities and torques.
        wrenches : dict of array_like of shape (..., 6), optional
            External wrenches that act **on** the robot, by the name of the frame: (force [N], moment [N m]) in world
            axes, at the origin of the frame.
        friction : bool
            Subtract the friction and the joint springs of the model.
        method : {"articulated", "factorized"}, optional
            Articulated-body algorithm, or factorization of M; the faster one if not given.
        base_velocity, base_acceleration, out
            As in `inverse_dynamics`, whose inverse this is.

        Returns
        -------
        numpy.ndarray, shape (..., nv)
            Accelerations [rad/s², m/s²].
        """
        given, extra, frames = NO_LOADS
        if wrenches is not None or base_velocity is not None or base_acceleration is not None:
            given, extra, frames = _read_loads(wrenches, base_velocity, base_acceleration)
        elif method is None and friction is False and out is None:
            try:
                return self._calls["forward_dynamics"](q, qd, tau)  # the short way: a look-up, and the compiled call
            except REFUSED:
                pass  # the long way says what is wrong
        key = ("forward_dynamics", given, switch("friction", friction), method, frames)
        return self._run(key, out, q, qd, tau, *extra)

    def flow(
        self,
        friction: bool | str = False,
        *,
        wrenches: Sequence[str] = (),
        energies: bool = False,
        books: bool = False,
        momenta: bool = False,
        payload: bool | Sequence[float] = False,
        frame: str | None = None,
        parameters: Sequence[str] = (),
    ) -> Flow:
        """Return the robot under joint torques, as `simulate` takes it: x = (q, q̇), u = (τ [, F_i …] [, payload]),
        q̈ = M⁻¹ (τ − c − g + Σ J_iᵀ F_i [− friction]).

        `friction` adds the model's friction, damping and springs; "sticking": dry friction holds joints at rest.
        `wrenches` names frames; the wrench that acts on the robot at each, (force, moment) in world axes, is an input
        of six numbers, "tool.f_x" to "tool.n_z" of the frame "tool", after τ.
        `energies`: kinetic and potential energy are observed [J]; `books`: also what is supplied, stored in springs and
        lost. With `payload`, a point in the tip's frame (or `frame`'s) [m], the mass of a load there is an input,
        payload_mass [kg]; with True the point too: payload_x, payload_y, payload_z. Runs of one batch then carry
        different loads. `parameters` named here, of `flow_parameters`, are inputs too, the last, in place of the
        model's numbers. With `momenta` the state is (q, p), p = M q̇, the coordinates in which implicit midpoint is
        symplectic: q̇ = M⁻¹ p, ṗ = Cᵀ q̇ − g + τ; there are no friction and no wrenches then, and q̇ is observed first.

        Made once for the same words, so that its loops are compiled once."""
        from dalembert.flows.robot import robot_flow

        where = payload if isinstance(payload, bool) else three("payload", payload)
        frames = kernels.read_frames(wrenches)
        words = (friction, frames, energies, books, momenta, where, frame, tuple(parameters))
        key = ("flow", *words, type(friction))
        return self.once(key, lambda: robot_flow(self, *words))

    @property
    def flow_parameters(self) -> dict[str, float]:
        """What `flow` may take as inputs, by name, and the model's values: the ten inertial parameters of each body,
        rotor inertias, viscous and Coulomb friction."""
        return dict(
            zip(self.parameter_names(friction=True, rotor=True), self.parameters(True, True).tolist(), strict=True)
        )

    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """M(q), symmetric positive definite, rotor inertias included.  (..., n, n)."""
        return self._run(("mass_matrix", ()), out, q)

    def mass_matrix_dot(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Ṁ(q, q̇) = C + Cᵀ.  (..., n, n)."""
        return self._run(("mass_matrix_dot", ()), None, q, qd)

    def coriolis_matrix(
        self, q: ArrayLike, qd: ArrayLike, choice: str = "christoffel", *, out: Array | None = None
    ) -> Array:
        """C(q, q̇) with C q̇ = c.  (..., n, n).  The standard choice, "christoffel", makes Ṁ − 2C skew-symmetric, and
        so does "kronecker", the same matrix by the formula of [Fakhari 2]; "mdot-u/2" and "ut-u/2" do not."""
        return self._run(("coriolis_matrix", (), choice), out, q, qd)

    def coriolis_torque(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """c(q, q̇) = C q̇: Coriolis and centripetal torques.  (..., n)."""
        return self._run(("coriolis_torque", ()), None, q, qd)

    def bias_torque(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """h(q, q̇) = c + g.  (..., n)."""
        return self._run(("bias_torque", ()), None, q, qd)

    def friction_torque(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike | None = None) -> Array:
        """Friction of every law and joint springs, as the torque a drive must supply.  (..., n).

        `qdd` matters to friction that depends on the load: without it, the load of a motion without acceleration."""
        if qdd is None:
            return self._run(("friction_torque", ()), None, q, qd)
        return self._run(("friction_torque", ("qdd",)), None, q, qd, qdd)

    def christoffel(self, q: ArrayLike) -> Array:
        """Christoffel symbols Γ(q): [i, j, k] = ½ (∂ᵢM_kj + ∂ⱼM_ki − ∂ₖM_ij), the equation's index last.
        (..., n, n, n)."""
        return self._run(("christoffel", ()), None, q)

    def gravity_torque(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """g(q) = ∂P/∂q.  (..., n)."""
        return self._run(("gravity_torque", ()), out, q)

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """K = ½ q̇ᵀ M q̇ [J].  (...)."""
        return self._run(("kinetic_energy", ()), None, q, qd)

    def potential_energy(self, q: ArrayLike) -> Array:
        """P(q) = −Σ mᵢ gᵀ cᵢ [J], moving bodies, zero at the base frame's origin.  (...)."""
        return self._run(("potential_energy", ()), None, q)

    def momentum(self, q: ArrayLike, qd: ArrayLike, about: str = "origin") -> Array:
        """Linear and angular momentum in world axes, the latter about the world's "origin" or the center of mass
        ("com").  (..., 6)."""
        return self._run(("momentum", (), about), None, q, qd)

    def centroidal_momentum_matrix(self, q: ArrayLike) -> Array:
        """A(q) with h = A v, the momentum of all bodies, linear and angular about the center of mass, world axes.
        (..., 6, nv)."""
        return self._run(("centroidal_momentum_matrix", ()), None, q)

    def centroidal_momentum_matrix_dot(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Ȧ(q, v) along the motion: ḣ = A v̇ + Ȧ v.  (..., 6, nv)."""
        return self._run(("centroidal_momentum_matrix_dot", ()), None, q, qd)

    def centroidal_inertia(self, q: ArrayLike) -> Array:
        """The inertia of all bodies as one about the center of mass, world axes, diag(m 1, I).  (..., 6, 6)."""
        return self._run(("centroidal_inertia", ()), None, q)

    def capture_point(self, q: ArrayLike, qd: ArrayLike, height: ArrayLike = 0.0) -> Array:
        """Where on level ground at that height [m] to step in order to come to rest, c + ċ √(z/g), of the linear
        inverted pendulum; NaN with the center of mass below the ground.  (..., 3)."""
        return self._run(("capture_point", ()), None, q, qd, height)

    def regressor(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        friction: bool | Sequence[str] = False,
        rotor: bool = False,
        *,
        out: Array | None = None,
    ) -> Array:
        """Y(q, q̇, q̈) with Y π = M q̈ + c + g.  (..., n, 10·bodies [+ n rotor] [+ 2n friction]).

        π is `parameters(...)`. Wrenches F_i that act on the robot add to the measured side, Y π = τ + Σ J_iᵀ F_i. Rotor
        inertia is part of M and of inverse dynamics: with rotors, Y π equals inverse dynamics only if rotor=True. The
        friction columns are viscous and symmetric Coulomb friction, or those named: friction=("viscous", "coulomb+",
        "coulomb-", "offset", "stribeck", "power"), n columns each, with + and − those of one direction. Springs have
        none; where one column stands for both directions, π holds the mean."""
        columns = regressor.friction_columns(friction)
        return self._run(("regressor", (), columns, switch("rotor", rotor)), out, q, qd, qdd)

    def parameters(self, friction: bool | Sequence[str] = False, rotor: bool = False) -> Array:
        """π in the order of the regressor's columns: per moving body (m, mc, I about the joint frame's origin)."""
        return np.array(regressor.parameters(self.model, friction, rotor))

    def parameter_names(self, friction: bool | Sequence[str] = False, rotor: bool = False) -> list[str]:
        """Names of the regressor's columns."""
        return regressor.parameter_names(self.model, friction, rotor)

    def inverse_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        friction: bool = False,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        out: tuple[Array, Array, Array] | None = None,
    ) -> tuple[Array, Array, Array]:
        """Return (∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈) of inverse dynamics; the last is M.  (..., n, n) each.

        `wrenches` act on the robot as in `inverse_dynamics`, constant in world axes: −∂(Σ J_iᵀ F_i)/∂q is part of the
        first."""
        key = ("inverse_dynamics_derivatives", (), switch("friction", friction))
        if not wrenches:
            return self._run(key, out, q, qd, qdd)
        from dalembert.kinematics.statics import static_stiffness

        D_q, *others = self._run(key, None, q, qd, qdd)
        return _filled(out, D_q - static_stiffness(self, q, wrenches), *others)

    def forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        friction: bool = False,
        *,
        wrenches: Mapping[str, ArrayLike] | None = None,
        out: tuple[Array, Array, Array] | None = None,
    ) -> tuple[Array, Array, Array]:
        """Return (∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ) of forward dynamics; the last is M⁻¹.  (..., n, n) each.

        `wrenches` act on the robot as in `forward_dynamics`, constant in world axes: M⁻¹ ∂(Σ J_iᵀ F_i)/∂q is part of
        the first."""
        key = ("forward_dynamics_derivatives", (), switch("friction", friction))
        if not wrenches:
            return self._run(key, out, q, qd, tau)
        from dalembert.kinematics.statics import static_stiffness, static_torque

        D_q, D_qd, D_tau = self._run(key, None, q, qd, array("tau", tau, nan=True) - static_torque(self, q, wrenches))
        return _filled(out, D_q + D_tau @ static_stiffness(self, q, wrenches), D_qd, D_tau)

    def equations(
        self,
        symbolic: str | Sequence[str] = "all",
        *,
        zeros: bool = True,
        friction: bool = False,
        angles: str = "symbols",
        letters: str | Letters | None = None,
        names: Mapping[str, str] | None = None,
        same: Mapping[str, str] | None = None,
    ) -> Equations:
        """The closed-form equations, exact. `symbolic` says which parameters are symbols: "all", "inertias",
        "lengths", "none" (numbers), or a list of names and kinds. With `zeros`, parameters that are zero stay
        zero; without, all ten of each body are symbols. `friction` adds F_v q̇ + F_s sgn(q̇). Fixed angles that are no
        multiples of π/2 become pairs of constants, or with angles="numbers" decimals.

        `letters` is whose letters they are written and read in: "spong", "craig", "siciliano", "lynch-park", …; `names`
        are of one's own, {"r1": "lc1"} or {"r": "lc", "q": "theta"}; `same` are parameters that are one, as r1 and l1
        of an arm of point masses, {"r1": "l1"}."""
        from dalembert.symbolic.equations import Equations

        need_tree(self.model)
        return Equations(self.description, symbolic, zeros, friction, angles, letters, names, same)

    def linearize(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, friction: bool = False) -> tuple[Array, Array]:
        """(A, B) of ẋ ≈ f + A δx + B δτ about a state, x = (q, q̇).  (..., 2n, 2n) and (..., 2n, n).

        Where q̇ ≠ v, δq is the tangent vector to the state beside it, q ⊕ δq, whose rate is δv − [v, δq]."""
        A, B = second_order(*self.forward_dynamics_derivatives(q, qd, tau, friction))
        if self.model.curved is not None:
            A[..., : self.nv, : self.nv] = self._run(("drift", ()), None, qd)
        return A, B

    def linearize_at(
        self, x: ArrayLike | None = None, u: ArrayLike | None = None, *, friction: bool = False
    ) -> Linearization:
        """The same about one state x = (q, q̇), or q alone at rest, and torques u, those that hold it there if not
        given."""
        n = self.n
        state = read_state(x, {n: "q, at rest", 2 * n: "(q, q̇)"})
        q, qd = state[:n], state[n:] if len(state) == 2 * n else np.zeros(n)
        tau = self.inverse_dynamics(q, qd, np.zeros(n), friction=friction) if u is None else array("u", u, (n,))
        A, B = self.linearize(q, qd, tau, friction)
        return Linearization(A, B, np.concatenate((q, qd)), np.asarray(tau), self.states, self.inputs)

    def matrix_form(self, q: ArrayLike) -> tuple[Array, ...]:
        """(A, L, W, G, V̇_base) of the closed matrix form M = AᵀLᵀGLA, twists linear first.  [Fakhari 2]."""
        return self._run(("matrix_form", ()), None, q)

    # ----------------------------------------------------------------------------------------- compilation
    def kernel(self, name: str, given: Sequence[str] = (), **options: object) -> Kernel:
        """The compiled object behind a method: callable on arrays, with its operations, signature and IR.

        `given` names the optional arguments that will be passed ("base_velocity", …); `options` are the method's,
        wrenches=["tool"] for one."""
        return self._kernels.get(name, given, options)

    def run(self, key: Key, *arguments: object) -> Any:
        """What the kernel of a key gives for these arguments, for functions that compute more with it. A key is (name,
        optional arguments given, *options in the order of the kernel's row)."""
        return self._run(key, None, *arguments)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made once for this robot and kept under this key: a solver, a flow, a kernel."""
        found: T | None = self._made.get(key)
        if found is None:
            found = self._made[key] = make()
        return found

    def _run(self, key: Key, out: object, *arguments: object) -> Any:
        """`Kernels.run`, here once more: another call would cost a lone state 5 %."""
        try:
            if out is None:
                return self._calls[key](*arguments)
            return self._calls[key](*arguments, out)
        except REFUSED:
            pass  # what is raised below, outside this block, stands alone
        return self._kernels.run_first(key, out, *arguments)

    # ---------------------------------------------------------------------------------------------- export
    def save(self, path: str | Path) -> Path:
        """Write the robot to a file, which `dalembert.load` reads.

        Parameters
        ----------
        path : str or Path
            A file with the ending .urdf or .toml.

        Returns
        -------
        pathlib.Path
            The path of the file.
        """
        ending = Path(path).suffix.lower()
        if ending not in (".urdf", ".toml"):
            raise InputError("unsupported", "path", str(path), expected="a .urdf or .toml file")
        (self.to_urdf if ending == ".urdf" else self.to_toml)(path)
        return Path(path)

    def to_urdf(self, path: str | Path | None = None) -> str:
        """The robot as URDF text; written to `path` if given."""
        from dalembert.describe.urdf_write import write_urdf

        return _write(write_urdf(self.description), path)

    def to_toml(self, path: str | Path | None = None) -> str:
        """The robot as Dalembert's TOML; written to `path` if given."""
        from dalembert.describe.toml_write import write_toml

        return _write(write_toml(self.description), path)

    def to_dh(self, convention: str = "standard", *, tip: str | None = None) -> DHTable:
        """The robot, if it is a serial chain, as a `describe.dh.DHTable` with inertias carried along."""
        from dalembert.describe.dh import to_dh

        return to_dh(self.description, convention, tip=tip or self.tip)

    def to_screws(self, frame: str | None = None) -> tuple[Array, Array]:
        """Screw axes (n, 6), linear part first, in the base frame, and the frame's pose at q = 0 (4, 4)."""
        from dalembert.describe.screws import to_screws

        return to_screws(self.description, frame or self.tip)

    def screw_bodies(self, frame: str | None = None) -> dict[str, Any]:
        """What `from_screws` takes beside the axes and the home pose to make the same robot again: `link_homes`
        (n, 4, 4) at q = 0, `inertials` in them, `limits`, `drives`, names and gravity."""
        from dalembert.describe.screws import screw_bodies

        frame = frame or self.tip
        homes, inertials = screw_bodies(self.description, frame)
        joints = {joint.name: joint for joint in self.description.joints}
        chain = [joints[body.joint_name] for body in self.model.bodies]
        return {
            "link_homes": homes,
            "inertials": inertials,
            "limits": [joint.limit for joint in chain],
            "drives": [joint.drive for joint in chain],
            "joint_names": [joint.name for joint in chain],
            "link_names": [joint.child for joint in chain],
            "gravity": self.description.gravity,
            "name": self.name,
        }


def need_robot(value: object, what: str) -> Robot:
    """The robot that a function or a class takes, or a sentence that says so."""
    return need(value, Robot, what, "dalembert.load gives one")


def _threads(threads: int | str) -> int:
    """How many threads are meant. Not imported at once: a robot that is only looked at needs no compiler."""
    from dalembert.compile.threads import checked

    return checked(threads)


def _restored(description: Description, threads: int) -> Robot:
    """What pickle calls: nothing is told twice."""
    return Robot(description, threads=threads, told=description.warnings)


def _read_loads(
    wrenches: Mapping[str, ArrayLike] | None, base_velocity: ArrayLike | None, base_acceleration: ArrayLike | None
) -> tuple[tuple[str, ...], tuple[object, ...], tuple[str, ...]]:
    """Return the names of the optional arguments of the dynamics that were given, their values, and the frames at which
    wrenches act."""
    named = {"base_velocity": base_velocity, "base_acceleration": base_acceleration}
    given = {name: value for name, value in named.items() if value is not None}
    frames, values = read_wrenches(wrenches)
    return tuple(given), (*given.values(), *values), frames


def _filled(out: tuple[Array, Array, Array] | None, *values: Array) -> tuple[Array, Array, Array]:
    """Return the values, in the arrays `out` if given."""
    if out is not None:
        for array, value in zip(out, values, strict=True):
            array[...] = value
    D_q, D_qd, D_u = values if out is None else out
    return D_q, D_qd, D_u


def _origin_of(T: ArrayLike) -> Origin:
    """Return a pose (4, 4) as the origin of a joint."""
    from dalembert.se3 import euler_angles, read_pose

    pose = read_pose("T", array("T", T, (4, 4)))
    xyz, rpy = three("T", pose[:3, 3]), three("T", euler_angles(pose[:3, :3], "rpy"))
    return Origin(xyz, rpy)


def _origin(name: str, value: Origin | Sequence[float]) -> Origin:
    return value if isinstance(value, Origin) else Origin(three(name, value))


def _write(text: str, path: str | Path | None) -> str:
    if path is not None:
        whole(path, lambda file: file.write(text.encode()), DescriptionError)
    return text


__all__ = ["Limits", "Robot", "need_robot"]
