"""The tab of simulation: a compiled loop that runs as long as it is watched, controllers to choose, gains to tune, live
plots, and the robot to be pulled at with the mouse.

Gains, set point, payload and what pulls at the robot are inputs of the loop, so that they may change while it runs.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.apps.studio import messages
from dalembert.apps.studio.load import Payload
from dalembert.apps.studio.panel import Panel, Plot, real
from dalembert.arguments import Array
from dalembert.constrained.system import Constrained
from dalembert.control.controller import Controller, driven_joints, zero_law
from dalembert.control.registry import OMEGA, ZETA, describe_entry, is_unsupported, suitable
from dalembert.control.task_space import TaskController
from dalembert.errors import InputError, choose
from dalembert.flow import Scalar, Scalars
from dalembert.flows.robot import PAYLOAD
from dalembert.law import Law
from dalembert.reference import Reference
from dalembert.robot import Robot
from dalembert.simulation.fixed_step import integrate
from dalembert.simulation.loop import DISTURBANCE, add_law_states, close_loop
from dalembert.trajectories import sines

if TYPE_CHECKING:
    from viser import GuiNumberHandle, SceneNodeDragEvent

    from dalembert.apps.studio.studio import Studio

HELD = "_held"  # of the command of a law that is asked
STEP = 1e-3  # [s], of Runge–Kutta's fourth order
PIECE = 8  # steps for which a pull is taken as it was at their start
PATIENCE = 0.1  # [s]: a beat that comes later than this is not made up for
ROWS = 200_000  # kept; older ones are forgotten
NOTHING = Payload()
WINDOW = 10.0  # [s] that the plots show
EVERY = 0.4  # [s] between two looks at the plots: pages draw them anew each time
MOST_LINES = 7
MOTIONS = ("set point", "sines")


def wanted_at(controller: Controller | None, robot: Robot, q: Array, frame: str) -> Array:
    """The set point, at joint positions q, in the coordinates that the controller follows."""
    if not isinstance(controller, TaskController):
        return q[[c.position for c in robot.model.drives]]
    return np.asarray(robot.fk(q, frame))[["xyz".index(name) for name in controller.task.names], 3]


def hold_law(law: Law) -> Law:
    """What applies the command of a law that is asked: its outputs as parameters, "<output>_held"."""
    held = {f"{name}{HELD}": 0.0 for name in law.outputs}

    def act(t: Scalar, y: Scalars, r: Scalars, z: Scalars, p: Scalars) -> list[Scalar]:
        return list(p[len(law.parameters) :])

    return Law(law.name, law.measures, law.follows, law.outputs, act, parameters={**law.parameters, **held})


class Live:
    """The robot under a controller, from (q, 0). `frame` is where its payload hangs and what the tip is; without
    `gravity` it floats."""

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
        gravity: bool = True,
    ) -> None:
        choose("controller", name, suitable(robot))
        if robot.nv == 0:
            raise InputError(f"{robot.name!r} has no joints: there is nothing to simulate")
        robot = robot if gravity else robot.with_gravity((0.0, 0.0, 0.0))
        self.robot, self.name, self.frame = robot, name, frame
        self.choice = suitable(robot)[name]
        self.follows = "joints" if self.choice is None else self.choice.follows
        self.payload = payload
        loaded = payload.on(robot, frame)
        # The payload of a closed chain is built in: its flow has no input for it.
        self.believed = (loaded if known else robot).tree()
        self.start = q.copy()
        self.tune(omega, zeta)
        law = zero_law(robot) if self.controller is None else self.controller.law()
        if robot.loops:
            flow = Constrained(loaded).flow(friction=friction)
        else:
            carried = robot.model.frame(frame).body >= 0
            flow = robot.flow(friction, frame=frame, energies=True, payload=carried)
        effort = robot.limits.effort[robot.driven]
        clip = np.where(np.isfinite(effort), effort, 1e12) if limited else None
        self.law = law
        self.held: dict[str, float] = {}
        loop = hold_law(law) if law.asked else law
        self.loop = close_loop(flow, loop, disturbed=law.outputs, torque_limits=clip) if law.outputs else flow
        self.x = add_law_states(law, np.concatenate([q, np.zeros(robot.nv)]), flow.states)
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
        return self.x[: self.robot.nq]

    @property
    def qd(self) -> Array:
        return self.x[self.robot.nq : self.robot.nq + self.robot.nv]

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

    def _ask(self) -> None:
        """The command of a law that is asked, until the next piece."""
        if self.law.asked:
            x, r = self.x[: len(self.robot.states)].tolist(), self._reference(np.array([self.t])).reshape(-1).tolist()
            u = self.law.act(self.t, x, r, (), list(self.gains.values()))
            self.held = {f"{name}{HELD}": float(value) for name, value in zip(self.law.outputs, u, strict=True)}

    def _piece(self, steps: int, tau: Array | None) -> None:
        self._ask()
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
        for name, value in (self.gains | self.held).items():
            u[:, self._place[name]] = value
        for name, value in zip(PAYLOAD, (self.payload.mass, *self.payload.com), strict=True):
            if name in self._place:
                u[:, self._place[name]] = value
        if self.law.follows:
            first = self._place[self.law.follows[0]]
            times = np.asarray(self.t + STEP * np.arange(steps), float)
            u[:, first : first + len(self.law.follows)] = self._reference(times)
        if tau is not None:
            for name, value in zip(self.robot.inputs, tau, strict=True):  # an input of its own where no law acts
                u[:, self._place[f"{name}{DISTURBANCE}" if name in self.law.outputs else name]] = value
        return u

    def _reference(self, t: Array) -> Array:
        orders = len(self.law.follows) // len(self.wanted)
        if self.motion is not None:
            return np.concatenate([np.asarray(x) for x in self.motion(t)[:orders]], axis=-1)
        return np.concatenate([self.wanted, np.zeros((orders - 1) * len(self.wanted))])

    # --------------------------------------------------------------------------------------------------- what was seen
    @property
    def columns(self) -> tuple[str, ...]:
        aims = tuple(f"{j}_wanted" for j in driven_joints(self.robot)) if self.follows == "joints" else ()
        return ("t", *self.robot.states, *self.law.outputs, *aims, "kinetic_energy", "potential_energy")

    def _now(self) -> tuple[Array, Array]:
        """The state and what is observed of it."""
        self._ask()
        still = integrate(self.loop, self.x, STEP, 1, self._inputs(1, None), t0=self.t)
        return self.x, still.y[0]

    def _keep(self, x: Array, y: Array) -> None:
        drives = self.robot.model.drives
        tau = [y[self._shown[name]] for name in self.law.outputs]
        aims: Sequence[float] = ()
        if self.follows == "joints":
            aims = [x[c.position] for c in drives]
            if self.law.follows:
                aims = self._reference(np.array([self.t])).reshape(-1)[: len(drives)].tolist()
        energies = [y[self._shown[name]] for name in ("kinetic_energy", "potential_energy")]
        self.rows.append(np.array([self.t, *x[: len(self.robot.states)], *tau, *aims, *energies], float))
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
        return -robot.static_torque(q, {self.frame: np.concatenate([self.force, np.cross(arm, self.force)])})


class RunPanel(Panel):
    """The robot in motion."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(studio)
        self.live: Live | None = None
        self.playing = False
        self.pull: Pull | None = None
        self._before = self._drawn = 0.0
        self.choices = suitable(studio.robot)
        names = tuple(self.choices)
        with self.gui.add_folder("Simulation"):
            self.play = self.press(self.gui.add_button("Start", icon="player-play", color="green"), self.toggle)
            self.again = self.press(self.gui.add_button("Stop, back to posing", icon="player-stop"), self.stop)
            self.again.disabled = True
            self.told = self.gui.add_html("")
            self.controller = self.gui.add_dropdown("controller", names, initial_value=names[0])
            self.watch(self.controller, lambda _: self._changed())
            self.equation = self.gui.add_html(messages.line(describe_entry(self.choices[names[0]])))
            self.motion = self.gui.add_dropdown(
                "follows",
                MOTIONS,
                initial_value=MOTIONS[0],
                hint="The set point is where the sliders and the tip's handle are; sines swing about it.",
            )
            self.watch(self.motion, lambda _: self._aim())
            self.speed = self.gui.add_slider("speed", 0.1, 1.0, 0.1, 1.0)
            self.watch(self.speed, lambda _: None)
        with self.gui.add_folder("Gains"):
            self.omega = self.gui.add_slider("ω [rad/s]", OMEGA.low, OMEGA.high, OMEGA.step, 6.0)
            self.zeta = self.gui.add_slider("ζ", ZETA.low, ZETA.high, ZETA.step, ZETA.default)
            self.watch(self.omega, self._tune)
            self.watch(self.zeta, self._tune)
            self.each = self.gui.add_folder("one by one", expand_by_default=False)
            self.gains: dict[str, GuiNumberHandle[float]] = {}
        with self.gui.add_folder("World", expand_by_default=False):
            self.known = self.gui.add_checkbox("the controller knows the payload", False)
            self.friction = self.gui.add_checkbox("friction of the model", False)
            self.limited = self.gui.add_checkbox("torque limits", False)
            self.gravity = self.gui.add_checkbox("gravity", not is_unsupported(studio.robot))
            for handle in (self.known, self.friction, self.limited, self.gravity):
                self.watch(handle, lambda _: self._changed())
            self.stiffness = self.gui.add_slider("pull [N/m]", 1.0, 1000.0, 1.0, self._softly())
            self.gui.add_html(messages.line("While it runs, pull at a link with the mouse: a rubber band."))
        joints = studio.robot.joint_names[:MOST_LINES] or ("–",)
        self.window = self.gui.add_panel(visible=False)
        with self.window.add_tab("Plots"):
            aims = [f"{j} wanted" for j in joints]
            self.positions = Plot(self.gui, "position, dashed: wanted [rad, m]", joints, aims)
            self.torques = Plot(self.gui, "torque [N m, N]", joints)
            self.energy = Plot(self.gui, "energy [J]", ("kinetic", "potential"), height=125)
        self.window.dock_left()  # beside the scene: nothing of the robot lies under it
        self.window.set_width(310.0)
        scene = studio.server.scene
        self.band = scene.add_line_segments(
            "/pull", np.zeros((1, 2, 3)), (230, 81, 0), thickness=5.0, thickness_units="screen", visible=False
        )

    def _softly(self) -> float:
        """A rubber band that a tenth of the robot's size stretches to a third of its weight."""
        robot, size = self.studio.robot, self.studio.scene.size
        return float(np.clip(round(0.33 * 9.81 * robot.mass / (0.1 * size)), 1.0, 1000.0))

    # ---------------------------------------------------------------------------------------------------- its controls
    def toggle(self) -> None:
        """Starts, pauses, goes on."""
        if self.live is None or self.live.stopped:
            self._begin()
        elif self.playing:
            self._pause()
        else:
            self._go()

    def stop(self) -> None:
        """Back to posing, with the robot where it is."""
        live, self.live = self.live, None
        self._pause()
        self.play.label, self.again.disabled = "Start", True
        self._draggable(False)
        self.window.visible = False
        self.told.content = ""
        self.studio.watched(None)
        if live is not None:
            self.studio.leave(live.q)

    def _begin(self) -> None:
        studio = self.studio
        studio.watched("run")
        self.told.content = messages.line("compiling the loop …")
        q = studio.posture.q
        try:
            self.live = Live(
                studio.robot,
                str(self.controller.value),
                q,
                studio.posture.frame,
                omega=real(self.omega.value),
                zeta=real(self.zeta.value),
                payload=studio.payload,
                known=bool(self.known.value),
                friction=bool(self.friction.value),
                limited=bool(self.limited.value),
                gravity=bool(self.gravity.value),
            )
        except Exception:
            self.live = None
            self.stop()
            raise
        self._list_gains()
        self._aim()
        self._draggable(True)
        self.window.visible = True
        self._go()

    def _go(self) -> None:
        self.playing = True
        self.play.label, self.again.disabled = "Pause", False
        self._before = time.monotonic()
        self.studio.worker.start_beating()

    def _pause(self) -> None:
        self.playing = False
        self.play.label = "Go on"
        self._let_go()

    def _changed(self) -> None:
        """Another controller, or another world: the loop is made anew, from where the robot is."""
        self.equation.content = messages.line(describe_entry(self.choices[str(self.controller.value)]))
        if self.live is not None:
            wanted = self.studio.posture.q
            self.studio.posture.q = self.live.q.copy()
            self._begin()
            self.studio.posture.q = wanted
            self.aim()

    def aim(self) -> None:
        """The set point is where the sliders are."""
        if self.live is not None and self.live.motion is None:
            self.live.aim(self.studio.posture.q)

    def _aim(self) -> None:
        live = self.live
        if live is None:
            return
        live.motion = None
        live.aim(self.studio.posture.q)
        if self.motion.value == "sines":
            m = len(live.wanted)
            size = 0.3 if live.follows == "joints" else 0.05 * self.studio.scene.size
            f = 0.25 + 0.07 * np.arange(m)  # [Hz]
            live.motion = sines(np.diag(np.full(m, size)), f, offset=live.wanted)

    # ----------------------------------------------------------------------------------------------------------- gains
    def _tune(self, _: object = None) -> None:
        if self.live is not None:
            self.live.tune(real(self.omega.value), real(self.zeta.value))
            for name, handle in self.gains.items():
                handle.value = self.live.gains[name]

    def _list_gains(self) -> None:
        assert self.live is not None
        if set(self.gains) != set(self.live.gains):
            for handle in self.gains.values():
                handle.remove()
            self.gains = {}
            with self.each:
                for name, value in self.live.gains.items():
                    handle = self.gui.add_number(name, float(value), min=0.0)
                    self.gains[name] = self.watch(handle, partial(self._gain, name))
        for name, handle in self.gains.items():
            handle.value = float(self.live.gains[name])

    def _gain(self, name: str, value: object) -> None:
        if self.live is not None and name in self.live.gains:
            self.live.gains[name] = max(real(value), 0.0)

    # ----------------------------------------------------------------------------------------------- pulled at by hand
    def _draggable(self, on: bool) -> None:
        """Links can be grabbed while it runs; otherwise the mouse turns the camera."""
        for node, part in zip(self.studio.scene.shapes, self.studio.scene.look.parts, strict=True):
            if part.body >= 0:
                node.remove_drag_callback("all")
                if on:
                    node.on_drag("left")(self._grab(part.body))

    def _grab(self, body: int) -> Callable[[SceneNodeDragEvent[Any]], Awaitable[None]]:
        frame = self.studio.robot.bodies[body]

        async def dragged(event: SceneNodeDragEvent[Any]) -> None:
            begin, end = np.array(event.start_position, float), np.array(event.end_position, float)
            phase = event.phase
            self.studio.worker.post(("pull", phase), lambda: self._pulled(frame, begin, end, phase))

        return dragged

    def _pulled(self, frame: str, begin: Array, end: Array, phase: str) -> None:
        if phase == "end" or self.live is None:
            self._let_go()
            return
        if self.pull is None or self.pull.frame != frame:
            T = self.studio.robot.fk(self.live.q, frame)
            self.pull = Pull(frame, T[:3, :3].T @ (begin - T[:3, 3]), real(self.stiffness.value))
        if np.isfinite(end).all():
            self.pull.end = end

    def _let_go(self) -> None:
        self.pull = None
        self.band.visible = False

    # ------------------------------------------------------------------------------------------------------- in motion
    def beat(self) -> bool:
        """Goes on by the time that has passed; whether there is more to come."""
        live = self.live
        if live is None or not self.playing:
            return False
        now = time.monotonic()
        passed, self._before = min(now - self._before, PATIENCE), now
        live.advance(real(self.speed.value) * passed, self.pull)
        self.studio.show_motion(live.q)
        self._tell(live)
        if now - self._drawn > EVERY or live.stopped:
            self._drawn = now
            self._draw(live)
        if live.stopped:
            self._pause()
            self.play.label = "Start"
        return self.playing

    def _tell(self, live: Live) -> None:
        if live.stopped:
            self.told.content = messages.line(live.stopped, "bad")
            return
        if self.pull is not None and self.pull.end is not None:
            self.band.points = np.array([[self.pull.at(self.studio.robot, live.q), self.pull.end]], np.float32)
            self.band.visible = True
            pulled = f", pulled with {messages.short(float(np.linalg.norm(self.pull.force)))} N"
        else:
            pulled = ""
        self.told.content = messages.line(f"t = {live.t:.1f} s{pulled}")

    def _draw(self, live: Live) -> None:
        seen = live.table(WINDOW)
        joints = driven_joints(live.robot)[:MOST_LINES]
        aims = [seen.get(f"{j}_wanted", seen[j]) for j in joints]
        self.positions.show(seen["t"], *(seen[j] for j in joints), *aims)
        self.torques.show(seen["t"], *(seen[f"{j}_torque"] for j in joints))
        self.energy.show(seen["t"], seen["kinetic_energy"], seen["potential_energy"])
