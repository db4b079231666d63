"""dalembert excite: the motion that shows an arm's parameters best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.option_table import OutputFile
from dalembert.apps.cli.options import ROBOT, command, pick
from dalembert.apps.cli.terminal import waiting

if TYPE_CHECKING:
    from dalembert.identification.excitation.excitation import Excitation
    from dalembert.robot import Robot

KINDS = ("position", "velocity", "acceleration", "torque")
WORDS = ("--half-space 0", "--q0")  # the options for a floor and a start, in messages
LIMITED = ("lower", "upper", "velocity", "acceleration", "torque", "bandwidth", "stiffness", "margin")
FIGURES = ("period", "duration", "criterion", "condition", "random_condition", "log_det")


@command
def excite(
    robot: str = ROBOT,
    seconds: float = pick("seconds", 30.0),
    starts: int = pick("starts", 8),
    duration: float | None = pick("duration", shown="10 s"),
    harmonics: int | None = pick("harmonics", shown="5, or fewer if the bandwidth requires it"),
    limits: tuple[str, ...] = pick("limits"),
    half_space: tuple[str, ...] = pick("half-space"),
    clearance: float | None = pick("clearance", shown="0.01"),
    world: tuple[str, ...] = pick("world", shown="a floor at the base"),
    criterion: str = pick("method", "condition", type=("condition", "d-optimal")),
    terms: str = pick("terms", "friction,rotor"),
    seed: int = pick("seed", 0),
    q0: str | None = pick("q0"),
    dt: float = pick("dt", 0.01),
    out: str | None = pick("output", type=OutputFile(".csv")),
    plot: str | None = pick("plot"),
) -> None:
    """Find a periodic motion within an arm's limits that shows its parameters best, and certify the limits.

    The file has t, q, q̇, q̈ and τ, one row per --dt; the robot's controller plays it. With --q0 it goes from there to
    the motion and back. 'dalembert identify' reads what the robot records.

    \b
    Limits: lower, upper [rad, m], velocity, acceleration, torque [N m, N], one for all joints or one
            per joint; bandwidth of the drives [Hz]; stiffness of elastic joints [N m/rad];
            margin, the share of each range that stays free (default: 0.05).

    Links with shapes keep clear of each other and of --world; --world none ignores both. Frames keep to --half-space:
    tool0:0.1 is a height, tool0:1,0,0,-0.4 a plane; without a name it is for all frames.

    \b
    Example: dalembert excite ur5e --half-space 0.1 --half-space tool0:1,0,0,-0.4 --q0 home -o motion.csv
    """
    from dalembert.identification.excitation.design import excite as find_excitation
    from dalembert.identification.excitation.limits import HalfSpace

    bounds = output.limits(limits, LIMITED)
    if ("lower" in bounds) != ("upper" in bounds):
        raise click.UsageError("--limits lower=X,… and --limits upper=X,… go together")
    if out is None:
        output.refuse_idle("it is for the file: give -o FILE", "dt", "q0")
    rows = (duration or 10.0) / dt
    if out is not None and abs(rows - round(rows)) > 1e-6 * rows:  # reported now, not after the search
        raise click.UsageError(f"the motion has {rows:g} rows of {dt:g} s: choose a --dt that gives a whole number")
    chosen = output.names_of("term", terms, ("friction", "rotor", "none"))
    ignore_contacts = tuple(world) == ("none",)
    if ignore_contacts:
        output.refuse_idle("with --world none nothing is avoided", "clearance")
    arm = output.load(robot)
    begin = output.positions("q0", q0, arm, within=True)
    floors: dict[str | None, float] = {}
    spaces = []
    for text in half_space:
        if text.count(",") - text.rpartition(":")[0].count(",") == 0:
            floors.update({frame: z for frame, (z,) in _by_frame("half-space", text, 1, "a height", arm)})
        else:
            named = _by_frame("half-space", text, 4, "nx, ny, nz and d of n·p ≥ d, or a height", arm)
            spaces += [HalfSpace(frame, (x, y, z), d) for frame, (x, y, z, d) in named]
    low, high = (output.positions("limits", bounds.get(end), arm) for end in ("lower", "upper"))
    one = {name: output.one_or_each("limits", bounds.get(name), arm.n) for name in LIMITED[2:]}
    obstacles = None if ignore_contacts else output.read_world(world)
    with waiting(f"searching for {seconds:g} s") as say:
        found = find_excitation(
            arm,
            duration=duration,
            harmonics=harmonics,
            position=None if low is None or high is None else (low, high),
            velocity=one["velocity"],
            acceleration=one["acceleration"],
            torque=one["torque"],
            floor=floors,
            workspace=spaces,
            avoid=False if ignore_contacts else obstacles,
            clear=clearance,
            bandwidth=_single("bandwidth", one["bandwidth"]),
            start=begin,
            stiffness=one["stiffness"],
            margin=_single("margin", one["margin"]) or 0.0 if "margin" in bounds else 0.05,
            criterion=criterion,
            friction="friction" in chosen,
            rotor="rotor" in chosen,
            starts=starts,
            seconds=seconds,
            seed=seed,
            progress=say,
        )
    held = found.certificate.feasible
    if out is not None and held:
        found.to_csv(out, 1 / dt)
    files = output.save_plot(found.plot, out if held else None, plot)
    output.answer(lambda: _excitation_data(found, files), lambda: _show_excitation(found, files))
    output.exit_unless(held)


def _single(field: str, value: float | list[float] | None) -> float | None:
    if isinstance(value, list):
        raise click.UsageError(f"--limits {field} takes one number")
    return value


def _by_frame(option: str, text: str, n: int, each: str, arm: Robot) -> Iterator[tuple[str | None, list[float]]]:
    """[FRAME,FRAME:]x,x,… as the frames that are named, or None for all, and n numbers."""
    names, colon, rest = text.rpartition(":")
    frames = output.names_of("frame", names, arm.frames) if colon else [None]
    values = output.numbers(option, rest, n, each) or []
    for frame in frames:
        yield frame, values


def _excitation_data(found: Excitation, files: list[str]) -> dict[str, object]:
    certificate = found.certificate
    return {
        "robot": found.robot.name,
        "joints": found.robot.joint_names,
        **{key: getattr(found, key) for key in FIGURES},
        "base_parameters": found.names,
        "feasible": certificate.feasible,
        "points": certificate.points,
        "used": {kind: getattr(certificate, kind) for kind in KINDS},
        "peaks": certificate.peaks,
        "begin": found.begin,
        "lowest": dict(zip(certificate.frames, certificate.lowest, strict=True)),
        "clearance": [[str(s), x] for s, x in zip(certificate.spaces, certificate.clearance, strict=True)],
        "highest_harmonic": certificate.top,
        "lowest_mode": certificate.mode,
        "said": list(found.sentences(*WORDS)),
        "starts": found.starts,
        "seconds": found.seconds,
        "message": found.message,
        "files": files,
    }


def _show_excitation(found: Excitation, files: list[str]) -> None:
    robot, certificate = found.robot, found.certificate
    units = tuple(c.joint.unit for c in robot.model.coordinates)
    rows = [[joint, *certificate.cells(k, units)] for k, joint in enumerate(robot.joint_names)]
    title = f"{robot.name}: shares of the limits that are used, over {output.number(found.period)} s"
    output.print_table(title, ("joint", *KINDS, "jerk"), rows)
    heights = zip(certificate.frames, certificate.lowest.tolist(), certificate.room.tolist(), strict=True)
    title = "Frames: lowest point above the base, distance to their half spaces [m]"
    output.print_table(title, ("frame", "lowest", "clearance"), heights)
    click.echo(f"{len(found.names)} base parameters, condition number {output.number(found.condition, 4)}")
    click.echo(f"{found.message} ({found.seconds:.1f} s, {found.evaluations} evaluations)")
    for sentence in found.sentences(*WORDS):
        click.echo(sentence)
    output.print_files(*files)
