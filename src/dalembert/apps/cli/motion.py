"""dalembert simulate, plan, phase: one run of a robot and what became of it, a motion through joint positions, and the
phase portrait of a joint."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.control import CONTROLLERS, TUNED, read_controller
from dalembert.apps.cli.option_table import PICTURES, OutputFile
from dalembert.apps.cli.options import ROBOT, command, pick
from dalembert.apps.cli.terminal import INTERRUPTED, waiting
from dalembert.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from dalembert.collision.world import World
    from dalembert.constrained.system import Constrained
    from dalembert.planning.motion import Plan
    from dalembert.reference import Reference
    from dalembert.robot import Robot
    from dalembert.simulation.run import Run
    from dalembert.trajectories import Trajectory

FREE = "none"
LIMIT_ACTIONS = ("stop", "bounce", "report")


@partial(command, controllers=(*CONTROLLERS, FREE))
def simulate(
    robot: str = ROBOT,
    controller: str | None = pick("controller", shown="computed-torque if --to is given, otherwise none"),
    omega: float = pick("omega", 10.0),
    zeta: float = pick("zeta", 1.0),
    q0: str | None = pick("q0", shown="home"),
    qd0: str | None = pick("qd0", shown="zero"),
    to: str | None = pick("to", shown="the start"),
    move: float | None = pick("move", shown="half of the duration"),
    duration: float = pick("duration", 2.0),
    dt: float = pick("dt", 1e-3),
    solver: str = pick("solver", "rk4"),
    friction: bool = pick("friction"),
    limits: tuple[str, ...] = pick("limits"),
    world: tuple[str, ...] = pick("world"),
    out: str | None = pick("output", type=OutputFile(".csv", ".parquet")),
    plot: str | None = pick("plot"),
) -> None:
    """Simulate a robot, free or under a controller, with final errors, peak torques and the energy balance.

    \b
    Controllers: {controllers}
    Limits:      torque clips torques; position=stop, bounce or report acts at joint limits.
    Output:      .csv or .parquet.

    The payload and, without NAME+friction, the joint friction are unknown to the controller. With --world the output
    lists contacts. --move 0 makes the motion a step. Exit code 1 if the run ends early.

    \b
    Examples: dalembert simulate planar-2r --q0 0,0 --duration 5
              dalembert simulate panda --to 0.5,0.5,0,-1.2,0,2,0 --payload 2 -o run.csv
              dalembert simulate puma560 --controller pd-gravity --omega 8 --plot run.svg
    """
    from dalembert.simulation import JointLimits, Solver, simulate as simulate_robot
    from dalembert.simulation.run import import_arrow

    name, compensates = read_controller(controller or (FREE if to is None else "computed-torque"), (*CONTROLLERS, FREE))
    if name == FREE and compensates:
        raise click.UsageError(f"a free robot has no controller to compensate friction: leave out {controller!r}")
    if name == FREE and to is not None:
        raise click.UsageError("--to needs a controller: leave out --controller none")
    if to is None and move is not None:
        raise click.UsageError("--move is the duration of the motion to --to, which is not given")
    bounded = output.limits(limits, ("torque", "position"))
    if name == FREE:
        output.refuse_idle("the robot has no controller", "omega", "zeta")
        if "torque" in bounded:
            raise click.UsageError("--limits torque has no effect here: the robot has no controller")
    if name == "feedforward":
        output.refuse_idle("feedforward has no gains", "omega", "zeta")
    at_limit = bounded.get("position")
    if at_limit is not None and at_limit not in LIMIT_ACTIONS:
        raise click.UsageError(f"--limits position takes {', '.join(LIMIT_ACTIONS)}; got {at_limit!r}")
    if bounded.get("torque"):
        raise click.UsageError("--limits torque takes the limits of the robot; leave out the value")
    if out is not None and out.lower().endswith(".parquet"):
        import_arrow()  # a missing package is reported now, not after the run
    if not click.get_current_context().params["robot_payload"]:
        output.refuse_idle("it is the frame that carries --payload", "tip")
    arm = output.load(robot, nominal=True, several=True)
    start = output.positions("q0", q0, arm) or arm.home.tolist()
    rates = output.rates("qd0", qd0, arm)
    goal = output.goal("to", to, arm)
    obstacles = output.read_world(world)
    law = None if name == FREE else CONTROLLERS[name].make(arm, omega, zeta, friction=compensates)
    with waiting("compiling the loop", heavy=True) as say:
        run = simulate_robot(
            _plant(arm),
            law,
            q0=start,
            qd0=rates,
            duration=duration,
            dt=dt,
            solver=Solver(solver, progress=lambda part: say(f"simulating: {part:.0%}")),
            reference=None if law is None else _reference(arm, start, goal, duration / 2 if move is None else move),
            friction=True if friction or compensates else None,
            limits=JointLimits("robot" if "torque" in bounded else None, at_limit),
            world=obstacles,
        )
    if out is not None:
        (run.to_csv if Path(out).suffix.lower() == ".csv" else run.to_parquet)(out)
    files = output.save_plot(run.plot, out, plot)
    output.answer(lambda: {"controller": name, **_data(arm, run, files)}, lambda: _show_run(arm, run, name, files))
    output.exit_unless(run.ok, INTERRUPTED if run.status == "interrupted" else 1)


def _plant(arm: Robot) -> Robot | Constrained:
    """Return the robot with its payload; a closed chain keeps its loops closed."""
    loaded = output.loaded(arm)
    if not loaded.loops:
        return loaded
    from dalembert.constrained.system import Constrained

    return Constrained(loaded)


def _reference(arm: Robot, q0: list[float], goal: list[float] | None, move: float) -> Reference | list[float]:
    """The way of least jerk of the driven joints, then rest; a set point where there is no way."""
    from dalembert.trajectories import minimum_jerk

    start = [q0[c.position] for c in arm.model.drives]
    if goal is None or goal == start or move == 0:
        return start if goal is None else goal
    return minimum_jerk(start, goal, move)


def _errors(arm: Robot, run: Run) -> NDArray[np.float64] | None:
    """q_d − q of the driven joints, (rows, n); None for a run that followed nothing."""
    places = [c.position for c in arm.model.drives]
    return run.reference - run.q[:, places] if run.groups["reference"] else None


def _data(arm: Robot, run: Run, files: list[str]) -> dict[str, Any]:
    import numpy as np

    e, audit = _errors(arm, run), run.audit()
    return {
        "robot": run.name,
        "status": run.status,
        "message": run.message,
        "method": run.method,
        "dt": run.dt,
        "end": float(run.t[-1]),
        "rows": len(run),
        "joints": run.groups["q"],
        "q": run.q[-1],
        "qd": run.qd[-1],
        "final_error": None if e is None else e[-1],
        "largest_error": None if e is None else np.abs(e).max(axis=0),
        "peak_torque": np.abs(run.tau).max(axis=0),
        "energy": {name: getattr(audit, name) for name in ("work", "loss", "change", "gap", "relative", "passive")},
        "events": [event.message for event in run.events],
        "beyond": [vars(excess) for excess in run.beyond],
        "contacts": None if run.contacts is None else [vars(span) for span in run.contacts],
        "files": files,
    }


def _show_run(arm: Robot, run: Run, controller: str, files: list[str]) -> None:
    import numpy as np

    from dalembert.simulation.single import SAID

    e, drives = _errors(arm, run), arm.model.drives
    own = [c.first for c in drives]
    peak, effort = np.abs(run.tau).max(axis=0)[own], arm.limits.effort[own]

    def spread(values: NDArray[np.float64]) -> list[object]:
        """Of the driven joints, blank beside the others."""
        known = dict(zip([c.position for c in drives], values.tolist(), strict=True))
        return [known.get(k, "") for k in range(arm.nq)]

    parts: dict[str, Sequence[object]] = {
        "joint": arm.model.names("position"),
        "q at start": run.q[0].tolist(),
        "at the end": run.q[-1].tolist(),
    }
    if e is not None:
        parts |= {"final error": spread(e[-1]), "largest error": spread(np.abs(e).max(axis=0))}
    if controller != FREE:
        parts |= {"peak torque [N m, N]": spread(peak), "its limit": spread(effort)}
    driven = "free" if controller == FREE else f"under {controller}"
    title = f"{arm.name} {driven}, {output.number(float(run.t[-1]))} s by {run.method} [rad, m]"
    output.print_table(title, list(parts), zip(*parts.values(), strict=True))
    audit = run.audit()
    output.print_table(
        "Energy [J]",
        ("supplied", "lost", "stored", "gap", "relative gap"),
        [(audit.work, audit.loss, audit.change, f"{audit.gap:.1e}", f"{audit.relative:.1e}")],
    )
    for excess in run.beyond[SAID:]:  # the message names the others
        click.echo(f"limit: {excess}")
    for span in (run.contacts or ())[SAID:]:
        click.echo(f"contact: {span}")
    if any(excess.kind == "effort" for excess in run.beyond):
        click.echo("--limits torque holds torques within their limits")
    for event in run.events:
        if event.message != run.message:
            click.echo(f"event: {event.message}")
    click.echo(run.message)
    output.print_files(*files)


@command
def plan(
    robot: str = ROBOT,
    through: tuple[str, ...] = pick("through"),
    q0: str | None = pick("q0", shown="home"),
    to: str | None = pick("to"),
    xyz: str | None = pick("xyz"),
    rpy: str | None = pick("rpy"),
    frame: str | None = pick("frame", shown="the tip"),
    world: tuple[str, ...] = pick("world"),
    clearance: float = pick("clearance", 0.0),
    allow: tuple[str, ...] = pick("allow"),
    seed: int = pick("seed", 0),
    duration: float | None = pick("duration", shown="the shortest that the limits allow"),
    limits: tuple[str, ...] = pick("limits"),
    dt: float = pick("dt", 0.01),
    out: str | None = pick("output", type=OutputFile(".csv")),
    plot: str | None = pick("plot"),
) -> None:
    """Plan a smooth motion from rest to rest within the robot's limits: through joint positions, or to a goal.

    The motion passes --through joint positions, or goes --to joint positions, or to a pose of a frame with --xyz and
    --rpy. It is as fast as velocities, torques and --limits acceleration=… allow. To a goal it avoids obstacles, and
    the output states the clearance that is proved. Exit code 1 if the motion found is not proved. The file has t, q, q̇
    and q̈, with one row per --dt.

    \b
    Examples: dalembert plan panda --through 0,0.3,0,-1.5,0,1.8,0 --through 0.5,0.5,0,-1.2,0,2,0 -o motion.csv
              dalembert plan planar-2r --q0 0,0 --through 1,0.5 --duration 2 --plot motion.svg
              dalembert plan ur5e --xyz 0.4,0.2,0.3 --rpy 180deg,0,0 --world world.toml --world floor=0
    """
    from dalembert.collision.world import World
    from dalembert.kernels import need_tree
    from dalembert.trajectories import spline, time_optimal

    at_pose = xyz is not None or rpy is not None
    if [bool(through), to is not None, at_pose].count(True) != 1:
        raise click.UsageError(
            "one goal is needed: --through X,… once or more, or --to X,…, or --xyz X,Y,Z --rpy R,P,Y"
        )
    if at_pose and None in (xyz, rpy):
        raise click.UsageError("--xyz and --rpy go together: the goal is a whole pose")
    if out is None:
        output.refuse_idle("it is the time between rows of the file: give -o FILE", "dt")
    if not at_pose:
        output.refuse_idle("it is the frame of --xyz and --rpy", "frame", "tip")
    arm = output.load(robot)
    need_tree(arm.model)
    start = output.positions("q0", q0, arm) or arm.home.tolist()
    most = output.one_or_each("limits", output.limits(limits, ("acceleration",)).get("acceleration"), arm.n)
    if not through:
        output.refuse_idle("the arm goes to a goal as fast as its limits allow", "duration")
        goal: Any = output.positions("to", to, arm, within=True)
        if at_pose:
            goal = {arm.model.frame(frame).name: _read_pose(xyz, rpy)}
        around, pairs = output.read_world(world) or World(), [_read_pair(text) for text in allow]
        with waiting("planning"):
            found = arm.plan(start, goal, around, clear=clearance, allow=pairs, seed=seed, acceleration=most)
        _answer_plan(arm, found, around, out, plot, dt)
        output.exit_unless(found.proved)
        return
    output.refuse_idle("obstacles are avoided on the way to a goal", "world", "clearance", "allow", "seed")
    given = [start, *(output.positions("through", text, arm, within=True) or [] for text in through)]
    points = [q for before, q in zip([None, *given], given, strict=False) if q != before]  # named twice: passed once
    if len(points) == 1:
        raise click.BadParameter("the motion ends where it begins", param_hint="--through")
    with waiting("planning"):
        motion: Trajectory
        if duration is not None:
            speed = arm.limits.velocity
            motion = spline(points, duration=duration, ends="clamped", velocity=speed, acceleration=most, robot=arm)
        else:
            motion = time_optimal(spline(points, duration=1.0), arm, acceleration=most)
    peaks = _peaks(arm, motion)
    for name, peak, limit in zip(arm.joint_names, peaks["torque"], arm.limits.effort, strict=True):
        if duration is not None and peak > limit:
            numbers = f"torque {output.number(peak)}, beyond its limit {output.number(limit)}"
            raise InputError(f"in {output.number(motion.duration)} s {name!r} needs {numbers}: give another --duration")
    if out is not None:
        motion.to_csv(out, dt)
    _answer_motion(arm, motion.duration, points, peaks, output.save_plot(motion.plot, out, plot))


def _read_pair(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        words = f"must be the names of two links, as in left_finger,right_finger; got {text!r}"
        raise click.BadParameter(words, param_hint="--allow")
    return names[0], names[1]


def _read_pose(xyz: str | None, rpy: str | None) -> NDArray[np.float64]:
    from dalembert.se3 import pose

    place = output.numbers("xyz", xyz, 3, "x, y, z") or []
    return pose(xyz=place, rpy=output.angles("rpy", rpy, 3, "roll, pitch, yaw") or [])


def _answer_plan(arm: Robot, found: Plan, world: World, out: str | None, plot: str | None, dt: float) -> None:
    motion = found.trajectory
    assert motion is not None  # it was asked for
    if out is not None:
        motion.to_csv(out, dt)
    files, peaks = output.save_plot(motion.plot, out, plot), _peaks(arm, motion)

    def show() -> None:
        _show_motion(arm, f"around {', '.join(world.names) or 'itself'}", found.duration, found.path.tolist(), peaks)
        click.echo(str(found))
        output.print_files(*files)

    data = {
        "robot": arm.name,
        "joints": arm.joint_names,
        "obstacles": world.names,
        "path": found.path,
        "length": found.length,
        "duration": found.duration,
        "clearance": found.clearance,
        "proved": found.proved,
        "proof": str(found.proof),
        **{f"peak_{name}": x for name, x in peaks.items()},
        "files": files,
    }
    output.answer(data, show)


def _peaks(arm: Robot, motion: Trajectory) -> dict[str, Any]:
    import numpy as np

    t = np.linspace(0.0, motion.duration, 2001)
    torque = np.abs(arm.inverse_dynamics(*motion(t))).max(axis=0)
    return {"velocity": motion.limits().velocity, "acceleration": motion.limits().acceleration, "torque": torque}


def _show_motion(arm: Robot, way: str, duration: float, points: list[list[float]], peaks: dict[str, Any]) -> None:
    limits = {"velocity": arm.limits.velocity, "torque": arm.limits.effort}
    parts = [("joint", arm.joint_names), ("from", points[0]), ("to", points[-1])]
    for name, x in peaks.items():
        parts.append((f"peak {name}", x.tolist()))
        if name in limits:
            parts.append(("its limit", limits[name].tolist()))
    title = f"{arm.name} {way} in {output.number(duration)} s [rad, m, s, N m, N]"
    output.print_table(title, [name for name, _ in parts], zip(*(x for _, x in parts), strict=True))


def _answer_motion(
    arm: Robot, duration: float, points: list[list[float]], peaks: dict[str, Any], files: list[str]
) -> None:
    def show() -> None:
        _show_motion(arm, f"through {len(points)} positions", duration, points, peaks)
        output.print_files(*files)

    task = {"robot": arm.name, "through": points, "duration": duration, "joints": arm.joint_names}
    output.answer({**task, **{f"peak_{name}": x for name, x in peaks.items()}, "files": files}, show)


@partial(command, controllers=TUNED)
def phase(
    robot: str = ROBOT,
    joint: str | None = pick("joint", shown="the first"),
    controller: str | None = pick("controller", shown="none"),
    omega: float = pick("omega", 10.0),
    zeta: float = pick("zeta", 1.0),
    q0: str | None = pick("q0", shown="home"),
    to: str | None = pick("to", shown="the start"),
    duration: float = pick("duration", 5.0),
    friction: bool = pick("friction"),
    out: str = pick("output", type=OutputFile(*PICTURES), required=True),
) -> None:
    """Draw the phase portrait of a joint: its velocity against its position. The other joints start at rest at --q0.

    \b
    Controllers: {controllers}
    Output:      .png, .svg or .pdf.

    The controller holds the robot at --to.

    \b
    Example: dalembert phase planar-2r --joint joint2 --controller pd-gravity -o phase.png
    """
    from dalembert import draw
    from dalembert.draw.pyplot import save
    from dalembert.errors import unknown

    if controller is None:
        output.refuse_idle("it is a controller's, and the arm is free", "omega", "zeta", "to")
    chosen, compensates = read_controller(controller or TUNED[0], TUNED)
    arm = output.load(robot)
    name = joint or arm.joint_names[0]
    if name not in arm.joint_names:
        raise click.BadParameter(str(unknown("joint", name, arm.joint_names)), param_hint="--joint")
    start = output.positions("q0", q0, arm) or arm.home.tolist()
    goal = output.positions("to", to, arm, within=True) or start
    with waiting("drawing"):
        law = None if controller is None else CONTROLLERS[chosen].make(arm, omega, zeta, friction=compensates)
        states = [*start, *([0.0] * arm.n), *([0.0] * len(law.law().states) if law else [])]
        portrait = draw.phase_portrait(
            arm,
            law,
            states=(name, f"{name}_rate"),
            at=states,
            reference=None if law is None else goal,
            duration=duration,
            friction=True if friction or (controller is not None and compensates) else None,
        )
        save(portrait, out)
    data = {"robot": arm.name, "joint": name, "controller": controller, "files": [out]}
    output.answer(data, lambda: output.print_files(out))
