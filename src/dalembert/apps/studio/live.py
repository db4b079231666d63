"""A simulation that runs as long as it is watched: one compiled loop, asked for a few milliseconds at a time.

Gains, set point, payload and what pulls at the robot are inputs of the loop, so that they may change while it runs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dalembert.apps.studio.controllers import choices, no_law, wanted_at
from dalembert.apps.studio.loads import Payload
from dalembert.constrained.system import Constrained
from dalembert.errors import InputError, choose
from dalembert.flows.robot import PAYLOAD
from dalembert.reference import Reference
from dalembert.robot import Robot
from dalembert.simulation.fixed_step import integrate
from dalembert.simulation.loop import DISTURBANCE, add_law_states, close_loop

Array = NDArray[np.float64]
STEP = 1e-3  # [s], of Runge–Kutta's fourth order
PIECE = 8  # steps for which a pull is taken as it was at their start
PATIENCE = 0.1  # [s]: a beat that comes later than this is not made up for
ROWS = 200_000  # kept; older ones are forgotten
NOTHING = Payload()


class Live:
    """The robot under a controller, from (q, 0). `frame` is where its payload hangs and what the tip is."""

    def __init__(
        self,
        robot: Robot,
        name: str,
        q: Array,
        frame: str,
        *,
        omega: float = 6.0,
        zeta: float = 1.0,
        payload: Payload = NOTHING,
        known: bool = False,
        friction: bool = False,
        limited: bool = False,
    ) -> None:
        choose("controller", name, choices(robot))
        if robot.n == 0:
            raise InputError(f"{robot.name!r} has no joints: there is nothing to simulate")
        self.robot, self.name, self.frame = robot, name, frame
        self.choice = choices(robot)[name]
        self.follows = "joints" if self.choice is None else self.choice.follows
        self.payload = payload
        loaded = payload.on(robot, frame)
        # The payload of a closed chain is built in: its flow has no input for it.
        self.believed = (loaded if known else robot).tree()
        self.start = q.copy()
        self.tune(omega, zeta)
        law = no_law(robot) if self.controller is None else self.controller.law()
        if robot.loops:
            flow = Constrained(loaded).flow(friction=friction)
        else:
            carried = robot.model.frame(frame).body >= 0
            flow = robot.flow(friction, frame=frame, energies=True, payload=carried)
        effort = robot.limits.effort
        clip = np.where(np.isfinite(effort), effort, 1e12) if limited else None
        self.law = law
        self.loop = close_loop(flow, law, disturbed=law.outputs, torque_limits=clip)
        self.x = add_law_states(law, np.concatenate([q, np.zeros(robot.n)]), flow.states)
        self.t = 0.0
        self.wanted = wanted_at(self.controller, robot, q, frame)
        self.motion: Reference | None = None
        self._place = {name: k for k, name in enumerate(self.loop.inputs)}
        self._shown = {name: k for k, name in enumerate(self.loop.outputs)}
        self.rows: list[Array] = []
        self.stopped = ""
        self._keep(*self._now())

    def tune(self, omega: float, zeta: float) -> None:
        """Gains for another bandwidth [rad/s] and damping."""
        made = None if self.choice is None else self.choice.make(self.believed, omega, zeta, self.start, self.frame)
        self.controller = made
        self.gains: dict[str, float] = {} if made is None else dict(made.law().parameters)

    # ---------------------------------------------------------------------------------------------------------- state
    @property
    def q(self) -> Array:
        return self.x[: self.robot.n]

    @property
    def qd(self) -> Array:
        return self.x[self.robot.n : 2 * self.robot.n]

    def aim(self, q: Array) -> None:
        """The set point: where the robot would be at the joint positions q."""
        self.wanted = wanted_at(self.controller, self.robot, q, self.frame)

    # ------------------------------------------------------------------------------------------------------ in pieces
    def advance(self, seconds: float, pull: Pull | None = None) -> None:
        """Goes on for so long, in whole steps; nothing once it has stopped."""
        left = round(seconds / STEP)
        while left > 0 and not self.stopped:
            steps = min(left, PIECE)
            self._piece(steps, None if pull is None else pull.torque(self.robot, self.q))
            left -= steps

    def _piece(self, steps: int, tau: Array | None) -> None:
        found = integrate(self.loop, self.x, STEP, steps, self._inputs(steps, tau), t0=self.t, every=steps)
        if (found.diverged_at >= 0).any():
            why = f"the loop is unstable, or too fast for steps of {STEP:g} s"
            self.stopped = f"the simulation diverged at t = {self.t:.3g} s: {why}"
            return
        self.x, self.t = found.x[-1], float(found.t[-1])
        self._keep(self.x, found.y[-1])

    def _inputs(self, steps: int, tau: Array | None) -> Array:
        """u of each step: (steps, inputs)."""
        u = np.zeros((steps, len(self.loop.inputs)))
        for name, value in self.gains.items():
            u[:, self._place[name]] = value
        for name, value in zip(PAYLOAD, (self.payload.mass, *self.payload.com), strict=True):
            if name in self._place:
                u[:, self._place[name]] = value
        if self.law.follows:
            first = self._place[self.law.follows[0]]
            times = np.asarray(self.t + STEP * np.arange(steps), float)
            u[:, first : first + len(self.law.follows)] = self._reference(times)
        if tau is not None:
            for name, value in zip(self.robot.joint_names, tau, strict=True):
                u[:, self._place[f"{name}_torque{DISTURBANCE}"]] = value
        return u

    def _reference(self, t: Array) -> Array:
        orders = len(self.law.follows) // len(self.wanted)
        if self.motion is not None:
            return np.concatenate([np.asarray(x) for x in self.motion(t)[:orders]], axis=-1)
        return np.concatenate([self.wanted, np.zeros((orders - 1) * len(self.wanted))])

    # --------------------------------------------------------------------------------------------------- what was seen
    @property
    def columns(self) -> tuple[str, ...]:
        joints = self.robot.joint_names
        aims = tuple(f"{j}_wanted" for j in joints) if self.follows == "joints" else ()
        return (
            "t",
            *joints,
            *(f"{j}_rate" for j in joints),
            *(f"{j}_torque" for j in joints),
            *aims,
            "kinetic_energy",
            "potential_energy",
        )

    def _now(self) -> tuple[Array, Array]:
        """The state and what is observed of it."""
        still = integrate(self.loop, self.x, STEP, 1, self._inputs(1, None), t0=self.t)
        return self.x, still.y[0]

    def _keep(self, x: Array, y: Array) -> None:
        n, joints = self.robot.n, self.robot.joint_names
        tau = [y[self._shown[f"{j}_torque"]] for j in joints]
        aims: Sequence[float] = ()
        if self.follows == "joints":
            aims = self._reference(np.array([self.t])).reshape(-1)[:n].tolist() if self.law.follows else x[:n].tolist()
        energies = [y[self._shown[name]] for name in ("kinetic_energy", "potential_energy")]
        self.rows.append(np.array([self.t, *x[: 2 * n], *tau, *aims, *energies], float))
        if len(self.rows) > ROWS:
            del self.rows[: ROWS // 10]

    def table(self, seconds: float | None = None) -> dict[str, Array]:
        """Columns of what was seen, of the last so many seconds or of all."""
        rows = self.rows if seconds is None else self.rows[-int(seconds / (STEP * PIECE)) - 1 :]
        return dict(zip(self.columns, np.array(rows).T, strict=True))


class Pull:
    """A rubber band at a point of a body: force k (end − point) [N], as the torques that it puts on the joints."""

    def __init__(self, frame: str, point: Array, stiffness: float) -> None:
        self.frame, self.point, self.stiffness = frame, point, stiffness  # the point in the frame's coordinates
        self.end: Array | None = None
        self.force = np.zeros(3)

    def at(self, robot: Robot, q: Array) -> Array:
        """Where the point is."""
        T = np.asarray(robot.fk(q, self.frame))
        return np.asarray(T[:3, :3] @ self.point + T[:3, 3])

    def torque(self, robot: Robot, q: Array) -> Array:
        """Jᵀ F of the force that acts on the robot there.  (n,)."""
        point = self.at(robot, q)
        self.force = np.zeros(3) if self.end is None else self.stiffness * (self.end - point)
        arm = point - np.asarray(robot.fk(q, self.frame))[:3, 3]
        return robot.static_torque(q, np.concatenate([self.force, np.cross(arm, self.force)]), self.frame)
