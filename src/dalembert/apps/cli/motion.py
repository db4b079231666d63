"""dalembert simulate, plan, phase: one run of a robot and what became of it, a motion through joint positions, and the
phase portrait of a joint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.control import COMPENSATE, CONTROLLERS, FRICTION, OMEGA, TUNED, ZETA
from dalembert.apps.cli.options import (
    POSITIVE,
    ROBOT,
    TIP,
    NewFile,
    Number,
    Picture,
    command,
    complete_frames,
    option,
    picture,
    vector,
)
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
LIMITS = ("stop", "bounce", "report")


@command
def simulate(
    robot: str = ROBOT,
    controller: str | None = option(
        "Its law; computed-torque if there is a goal, else none: the arm falls.",
        type=click.Choice((*CONTROLLERS, FREE)),
    ),
    omega: float = OMEGA,
    zeta: float = ZETA,
    q0: str | None = vector("Where it begins [rad, m], 30deg for degrees; home if not given."),
    qd0: str | None = vector("Its velocities there; zero if not given."),
    to: str | None = vector("Where it is to go; it stays where it begins if not given."),
    move: float | None = option(
        "Seconds for the way there, of least jerk; 0: a step. Half the duration if not given.", type=Number(0)
    ),
    duration: float = option("Of the run [s].", type=POSITIVE, default=2.0),
    dt: float = option("Step [s].", type=POSITIVE, default=1e-3),
    method: str = option("Of integration: rk4, euler, symplectic, DOP853, …", default="rk4"),
    payload: float = option(
        "Mass at the tip [kg]; the law is not told.", type=Number(0), default=0.0, show_default=False
    ),
    friction: bool = FRICTION,
    compensate_friction: bool = COMPENSATE,
    torque_limits: bool = option("Torques end at the robot's efforts."),
    limits: str | None = option(
        "Where a joint reaches its limit: end the run, bounce, or go on and say when.", type=click.Choice(LIMITS)
    ),
    world: str | None = option("Obstacles, a TOML file: says when links touch them or each other.", metavar="FILE"),
    floor: float | None = option("A floor at this height [m]: says when links touch it or each other.", type=Number()),
    out: str | None = option(
        "The run: .csv, .parquet.", "-o", "--out", type=NewFile(".csv", ".parquet"), metavar="FILE"
    ),
    plot: str | None = picture("Draw positions, rates, torques and energies"),
    tip: str | None = TIP,
) -> None:
    """Simulate a robot, free or under a controller: final errors, peak torques, energy books.

    The payload is unknown to the controller, and so is friction without --compensate-friction. Exit code 1 if the run
    did not come to its end.

    \b
    Examples: dalembert simulate planar-2r --q0 0,0 --duration 5
              dalembert simulate panda --to 0.5,0.5,0,-1.2,0,2,0 --payload 2 -o run.csv
              dalembert simulate puma560 --controller pd-gravity --omega 8 --plot run.svg
    """
    from dalembert.simulation import JointLimits, Solver, simulate as simulate_robot
    from dalembert.simulation.run import import_arrow

    name = controller or (FREE if to is None else "computed-torque")
    if name == FREE and to is not None:
        raise click.UsageError("--to is for a controller to go there: leave out --controller none")
    if to is None and move is not None:
        raise click.UsageError("--move is the time for the way --to a goal, and there is no goal")
    if name == FREE:
        idle = ("omega", "zeta", "torque-limits", "compensate-friction")
        output.refuse_idle("they are a controller's, and the arm is free", *idle)
    if name == "feedforward":
        output.refuse_idle("feedforward has no gains", "omega", "zeta")
    if not payload:
        output.refuse_idle("it says where --payload hangs", "tip")
    if out is not None and out.lower().endswith(".parquet"):
        import_arrow()  # missed now, not after the run
    arm = output.load(robot, tip, several=True)
    start = output.positions("q0", q0, arm) or arm.home.tolist()
    rates = output.rates("qd0", qd0, arm)
    goal = output.goal("to", to, arm)
    law = None if name == FREE else CONTROLLERS[name].make(arm, omega, zeta, friction=compensate_friction)
    with waiting("compiling the loop", heavy=True) as say:
        run = simulate_robot(
            _plant(arm, payload),
            law,
            q0=start,
            qd0=rates,
            duration=duration,
            dt=dt,
            solver=Solver(method, progress=lambda part: say(f"simulating: {part:.0%}")),
            reference=None if law is None else _reference(arm, start, goal, duration / 2 if move is None else move),
            friction=True if friction or compensate_friction else None,
            limits=JointLimits("robot" if torque_limits else None, limits),
            world=None if world is None and floor is None else _read_world(world, floor),
        )
    if out is not None:
        (run.to_csv if Path(out).suffix.lower() == ".csv" else run.to_parquet)(out)
    files = output.save_plot(run.plot, out, plot)
    output.answer(lambda: {"controller": name, **_data(arm, run, files)}, lambda: _show_run(arm, run, name, files))
    output.exit_unless(run.ok, INTERRUPTED if run.status == "interrupted" else 1)


def _plant(arm: Robot, payload: float) -> Robot | Constrained:
    """What moves: the arm with what it carries; a closed chain keeps its loops closed."""
    loaded = arm.with_payload(payload) if payload else arm
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
        click.echo("--torque-limits holds torques within their limits")
    for event in run.events:
        if event.message != run.message:
            click.echo(f"event: {event.message}")
    click.echo(run.message)
    output.print_files(*files)


@command
def plan(
    robot: str = ROBOT,
    through: tuple[str, ...] = option(
        "Joint positions [rad, m], 30deg for degrees; repeated, in order.", metavar="x,x,…"
    ),
    q0: str | None = option("Where the motion begins; home if not given.", "--from", "--q0", metavar="x,x,…"),
    to: str | None = vector("Where it is to go, touching nothing; instead of --through."),
    pose: str | None = vector("The same, as a pose of the tip or of --frame [m, rad].", "x,y,z,r,p,y"),
    frame: str | None = option("What --pose is of; the tip.", metavar="FRAME", shell_complete=complete_frames),
    world: str | None = option("Obstacles, a TOML file.", metavar="FILE"),
    floor: float | None = option("Everything below this height over the base is solid [m].", type=Number()),
    clear: float = option("Kept free of the arm itself and of obstacles [m].", type=Number(0), default=0.0),
    allow: tuple[str, ...] = option("Two links that may touch; repeated for more pairs.", metavar="LINK,LINK"),
    seed: int = option("Of the search: another one goes another way.", type=click.IntRange(0), default=0),
    duration: float | None = option("Of the motion [s]; as fast as the limits allow if not given.", type=POSITIVE),
    acceleration: str | None = vector("Largest acceleration, one for all or one per joint; none if not given."),
    rate: float = option("Rows per second.", type=POSITIVE, default=100.0),
    out: str | None = option("The motion, t, q, q̇, q̈: .csv.", "-o", "--out", type=NewFile(".csv"), metavar="FILE"),
    plot: str | None = picture("Draw positions, velocities and accelerations"),
    tip: str | None = TIP,
) -> None:
    """Plan a smooth motion from rest to rest within the robot's limits: through joint positions, or to a goal.

    Without --duration the spline through them is followed as fast as velocities, torques and --acceleration allow.
    To a goal the arm goes around what is in the way, and what is proved of its clearance is said; exit code 1 if the
    motion found is not proved.

    \b
    Examples: dalembert plan panda --through 0,0.3,0,-1.5,0,1.8,0 --through 0.5,0.5,0,-1.2,0,2,0 -o motion.csv
              dalembert plan planar-2r --q0 0,0 --through 1,0.5 --duration 2 --plot motion.svg
              dalembert plan ur5e --pose 0.4,0.2,0.3,180deg,0,0 --world world.toml --floor 0 -o path.csv
    """
    from dalembert.kernels import need_tree
    from dalembert.trajectories import spline, time_optimal

    if [bool(through), to is not None, pose is not None].count(True) != 1:
        raise click.UsageError("say where to go: --through x,x,… once or more, or --to x,x,…, or --pose x,y,z,r,p,y")
    if out is None:
        output.refuse_idle("it says how many rows are written: give -o FILE", "rate")
    if pose is None:
        output.refuse_idle("it says what --pose is of", "frame", "tip")
    arm = output.load(robot, tip)
    need_tree(arm.model)
    start = output.positions("from", q0, arm) or arm.home.tolist()
    most = output.one_or_each("acceleration", acceleration, arm.n)
    if not through:
        output.refuse_idle("the arm goes to a goal as fast as its limits allow", "duration")
        goal: Any = output.positions("to", to, arm, within=True)
        if pose is not None:
            goal = {arm.model.frame(frame).name: _read_pose(pose)}
        around, pairs = _read_world(world, floor), [_read_pair(text) for text in allow]
        with waiting("planning"):
            found = arm.plan(start, goal, around, clear=clear, allow=pairs, seed=seed, acceleration=most)
        _answer_plan(arm, found, around, out, plot, rate)
        output.exit_unless(found.proved)
        return
    output.refuse_idle("obstacles are avoided on the way --to a goal", "world", "floor", "clear", "allow", "seed")
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
        motion.to_csv(out, 1.0 / rate)
    _answer_motion(arm, motion.duration, points, peaks, output.save_plot(motion.plot, out, plot))


def _read_pair(text: str) -> tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        words = f"must be the names of two links, as in left_finger,right_finger; got {text!r}"
        raise click.BadParameter(words, param_hint="--allow")
    return names[0], names[1]


def _read_pose(text: str) -> NDArray[np.float64]:
    from dalembert.poses import pose

    x = output.numbers("pose", text, 6, "x, y, z, roll, pitch, yaw") or []
    return pose(xyz=x[:3], rpy=x[3:])


def _read_world(file: str | None, floor: float | None) -> World:
    from dalembert.collision.world import World

    world = World() if file is None else World.load(file)
    return world if floor is None else world.floor(floor)


def _answer_plan(arm: Robot, found: Plan, world: World, out: str | None, plot: str | None, rate: float) -> None:
    motion = found.trajectory
    assert motion is not None  # it was asked for
    if out is not None:
        motion.to_csv(out, 1.0 / rate)
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


@command
def phase(
    robot: str = ROBOT,
    joint: str | None = option("Whose position and velocity are drawn; the first if not given.", metavar="JOINT"),
    controller: str | None = option("Its law; the arm is free if not given.", type=click.Choice(TUNED)),
    omega: float = OMEGA,
    zeta: float = ZETA,
    q0: str | None = vector("Where the other joints are [rad, m]; home if not given."),
    to: str | None = vector("Where the controller holds the arm; --q0 if not given."),
    duration: float = option("Of the trajectories [s].", type=POSITIVE, default=5.0),
    friction: bool = option("With the model's friction and springs."),
    out: str = option("A .png, .svg or .pdf.", "-o", "--out", type=Picture(), required=True, metavar="FILE"),
) -> None:
    """Draw where the states of a joint go: its velocity against its position, the others starting at rest at --q0.

    \b
    Example: dalembert phase planar-2r --joint joint2 --controller pd-gravity -o phase.png
    """
    from dalembert import draw
    from dalembert.draw.pyplot import save
    from dalembert.errors import unknown

    if controller is None:
        output.refuse_idle("it is a controller's, and the arm is free", "omega", "zeta", "to")
    arm = output.load(robot)
    name = joint or arm.joint_names[0]
    if name not in arm.joint_names:
        raise click.BadParameter(str(unknown("joint", name, arm.joint_names)), param_hint="--joint")
    start = output.positions("q0", q0, arm) or arm.home.tolist()
    goal = output.positions("to", to, arm, within=True) or start
    with waiting("drawing"):
        law = None if controller is None else CONTROLLERS[controller].make(arm, omega, zeta)
        states = [*start, *([0.0] * arm.n), *([0.0] * len(law.law().states) if law else [])]
        portrait = draw.phase_portrait(
            arm,
            law,
            states=(name, f"{name}_rate"),
            at=states,
            reference=None if law is None else goal,
            duration=duration,
            friction=True if friction else None,
        )
        save(portrait, out)
    data = {"robot": arm.name, "joint": name, "controller": controller, "files": [out]}
    output.answer(data, lambda: output.print_files(out))
