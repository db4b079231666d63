"""dalembert fk, ik, dynamics: poses of frames, joint positions that reach one, terms of the equation of motion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.options import ROBOT, command, pick
from dalembert.apps.cli.terminal import waiting

if TYPE_CHECKING:
    from dalembert.kinematics.ik.solution import Solution, Solutions
    from dalembert.robot import Robot


@command
def fk(
    robot: str = ROBOT,
    q0: str | None = pick("q0", shown="home"),
    frames: tuple[str, ...] = pick("frame", shown="the tip"),
    every: bool = pick("all"),
    seen_from: str | None = pick("seen-from", shown="the base"),
) -> None:
    """Forward kinematics: where frames are, as x, y, z [m], roll, pitch, yaw [°] and a matrix.

    \b
    Examples: dalembert fk panda --q0 0,30deg,0,-90deg,0,2,0
              dalembert fk planar-2r --q0 30deg,60deg --all
    """
    if every and frames:
        raise click.UsageError("--all means every frame: leave out --frame")
    arm = output.load(robot, several=True)
    at = output.positions("q0", q0, arm) or arm.home.tolist()
    base = seen_from or arm.frames[0]
    wanted = arm.frames if every else frames or (output.tip_of(arm),)
    with waiting("compiling"):
        poses = [_pose(arm, at, base, name) for name in wanted]
    output.need_numbers([p["T"] for p in poses])
    data = {"robot": arm.name, "joints": arm.joint_names, "q": at, "seen_from": base, "poses": poses}
    output.answer(data, lambda: _show_poses(arm, at, base, poses))


def _pose(arm: Robot, q: list[float], base: str, frame: str) -> dict[str, Any]:
    from dalembert.spatial.rotation import to_rpy

    T = arm.transform(q, base, frame).tolist()
    return {"frame": frame, "xyz": [row[3] for row in T[:3]], "rpy": list(to_rpy([row[:3] for row in T[:3]])), "T": T}


def _show_poses(arm: Robot, q: list[float], base: str, poses: list[dict[str, Any]]) -> None:
    click.echo(f"{arm.name} at q = {', '.join(output.number(x) for x in q)}")
    columns = ("frame", "x [m]", "y [m]", "z [m]", "roll [°]", "pitch [°]", "yaw [°]")
    rows = [
        (p["frame"], *p["xyz"], *(math.degrees(x) if abs(x) > output.INVISIBLE else 0.0 for x in p["rpy"]))
        for p in poses
    ]
    output.print_table(f"Seen from {base!r}", columns, rows)
    if len(poses) == 1:
        output.print_table(f"T of {poses[0]['frame']!r}", ("", "", "", ""), poses[0]["T"])


@command
def ik(
    robot: str = ROBOT,
    xyz: str | None = pick("xyz"),
    rpy: str | None = pick("rpy", shown="any orientation"),
    frame: str | None = pick("frame", shown="the tip"),
    q0: str | None = pick("q0"),
    every: bool = pick("all"),
    rows: str | None = pick("rows"),
    axis: str | None = pick("axis"),
    secondary: str | None = pick("secondary"),
    tolerance: float = pick("tolerance", 1e-6),
    limits: tuple[str, ...] = pick("limits"),
) -> None:
    """Inverse kinematics: joint positions that put a frame at a pose, with the error recomputed.

    The solution is near --q0. --limits none allows positions beyond the joint limits. Exit code 1 if the pose is not
    reached; the output then shows the nearest point.

    \b
    Examples: dalembert ik panda --xyz 0.4,0.1,0.5 --rpy 180deg,0,0
              dalembert ik puma560 --xyz 0.5,0.1,0.6 --rpy 0,90deg,0 --all
              dalembert ik planar-2r --xyz 1.2,0.5,0
    """
    import numpy as np

    from dalembert.se3 import pose

    if xyz is None and rpy is None:
        raise click.UsageError("say where the frame is to be: --xyz x,y,z, and its orientation with --rpy r,p,y")
    if every and (rows or axis or secondary):
        raise click.UsageError("--all solves for the whole pose: leave out --rows, --axis and --secondary")
    wanted = rows or ("pose" if xyz and rpy else "position" if xyz else "orientation")
    if (wanted != "orientation" and xyz is None) or (wanted in ("pose", "orientation") and rpy is None):
        raise click.UsageError(f"--rows {wanted} needs --{'xyz' if xyz is None else 'rpy'}")
    bounded = not output.limits(limits, ("none",))
    arm = output.load(robot)
    place = output.numbers("xyz", xyz, 3, "x, y, z") or [0.0] * 3
    turned = output.angles("rpy", rpy, 3, "roll, pitch, yaw") or [0.0] * 3
    first = output.positions("q0", q0, arm)
    frame = frame or output.tip_of(arm)
    T = pose(xyz=place, rpy=turned)
    with waiting("inverse kinematics"):
        if every:
            output.refuse_idle("solutions in closed form are exact", "tolerance")
            found = arm.ik_all(T, frame, bounded, q0=None if first is None else np.array(first))
        else:
            options = {"rows": wanted, "axis": axis, "tolerance": tolerance, "secondary": secondary}
            one = arm.ik(T, frame, first, limits=bounded, **options)  # type: ignore[arg-type]
    target = {"frame": frame, "T": T}
    if every:
        _answer_all(arm, found, target)
    else:
        _answer_one(arm, one, target, wanted)
    output.exit_unless(bool(found.found.any()) if every else bool(one))


def _answer_one(arm: Robot, found: Solution, target: dict[str, Any], rows: str) -> None:
    data = {
        "converged": bool(found.converged),
        "reason": found.reason,
        "position_error": float(found.position_error),
        "orientation_error": float(found.orientation_error),
        "iterations": int(found.iterations),
        "restarts": int(found.restarts),
    }

    def show() -> None:
        lines = [
            (c.name, q, output.number(math.degrees(q)) if c.joint.turns else "", c.lower, c.upper)
            for c, q in zip(arm.model.coordinates, found.q.tolist(), strict=True)
        ]
        title = f"{arm.name}: q for {target['frame']!r}" if found else f"{arm.name}: the nearest that was found"
        output.print_table(title, ("joint", "q [rad, m]", "[°]", "lower", "upper"), lines)
        click.echo(
            f"{data['reason']}; off by {found.position_error:.1e} m and {found.orientation_error:.1e} rad after "
            f"{data['iterations']} iterations and {data['restarts']} restarts"
        )
        if not found and rows == "pose" and arm.n < 6:
            click.echo(f"{arm.n} joints do not reach every pose: --rows position or planar, or --axis z, asks for less")

    output.answer({"robot": arm.name, "joints": arm.joint_names, "q": found.q, "rows": rows, **target, **data}, show)


def _answer_all(arm: Robot, found: Solutions, target: dict[str, Any]) -> None:
    q, residual = found.of(), found.residual[found.found]
    data = {"family": found.family, "task": found.task, "why": found.why(), "q": q, "residual": residual}

    def show() -> None:
        if len(q):
            rows = [(k, *x, f"{r:.1e}") for k, (x, r) in enumerate(zip(q.tolist(), residual.tolist(), strict=True), 1)]
            title = f"{arm.name}: every q for {target['frame']!r} [rad, m]"
            output.print_table(title, ("", *arm.joint_names, "off by"), rows)
        click.echo(f"{found.family}: {found.why()}")

    output.answer({"robot": arm.name, "joints": arm.joint_names, **target, **data}, show)


@command
def dynamics(
    robot: str = ROBOT,
    q0: str | None = pick("q0", shown="home"),
    qd0: str | None = pick("qd0", shown="zero"),
    qdd: str | None = pick("qdd", shown="zero"),
    friction: bool = pick("friction"),
) -> None:
    """Show M, C, g, the torques τ = M q̈ + C q̇ + g, and the energies at a state.

    \b
    Example: dalembert dynamics planar-2r --q0 30deg,60deg --qd0 1,0
    """
    import numpy as np

    arm = output.load(robot, several=True)
    zero = [0.0] * arm.nv
    state = {
        "q": output.positions("q0", q0, arm) or arm.home.tolist(),
        "qd": output.rates("qd0", qd0, arm) or zero,
        "qdd": output.rates("qdd", qdd, arm) or zero,
    }
    with waiting("compiling"), np.errstate(all="ignore"):  # what overflows is told below
        terms = _terms(arm, state, friction)
    output.need_numbers(*terms.values())
    data = {"robot": arm.name, "joints": arm.joint_names, **state, **terms}
    output.answer(data, lambda: _show_terms(arm, state, terms))


def _terms(arm: Robot, state: dict[str, list[float]], friction: bool) -> dict[str, Any]:
    q, qd, qdd = state["q"], state["qd"], state["qdd"]
    return {
        "M": arm.mass_matrix(q),
        "C": arm.coriolis_matrix(q, qd),
        "g": arm.gravity_torque(q),
        "tau": arm.inverse_dynamics(q, qd, qdd, friction=friction),
        "kinetic_energy": float(arm.kinetic_energy(q, qd)),
        "potential_energy": float(arm.potential_energy(q)),
    }


def _show_terms(arm: Robot, state: dict[str, list[float]], terms: dict[str, Any]) -> None:
    names = arm.model.names("coordinate")
    q, *rest = state.values()
    torques = (terms["g"].tolist(), terms["tau"].tolist())
    if arm.model.curved is None:
        rows: Any = zip(names, q, *rest, *torques, strict=True)
        output.print_table(f"{arm.name}: state and torques", ("joint", "q", "q̇", "q̈", "g(q)", "τ"), rows)
    else:
        output.print_table(f"{arm.name}: positions", ("", "q"), zip(arm.model.names("position"), q, strict=True))
        rows = zip(names, *rest, *torques, strict=True)
        output.print_table("Velocities in the bodies' axes, and torques", ("", "v", "v̇", "g(q)", "τ"), rows)
    short = [str(i + 1) for i in range(arm.nv)]
    velocities = "q̇" if arm.model.curved is None else "v"
    for title, key in (("Mass matrix M(q)", "M"), (f"Coriolis matrix C(q, {velocities})", "C")):
        matrix = terms[key].tolist()
        output.print_table(title, ("", *short), [(names[i], *row) for i, row in enumerate(matrix)])
    K, P = terms["kinetic_energy"], terms["potential_energy"]
    click.echo(f"kinetic energy {output.number(K)} J, potential energy {output.number(P)} J")
    if arm.loops:
        click.echo(f"closed by {', '.join(arm.loops)}: these are the terms of the tree, without the forces of closure")
