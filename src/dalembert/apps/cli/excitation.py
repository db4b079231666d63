"""dalembert excite: the motion that shows an arm's parameters best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.options import POSITIVE, ROBOT, TIP, NewFile, Number, command, option, picture, vector
from dalembert.apps.cli.terminal import waiting

if TYPE_CHECKING:
    from dalembert.identification.excitation.excitation import Excitation
    from dalembert.robot import Robot

KINDS = ("position", "velocity", "acceleration", "torque")
WORDS = ("--floor 0", "--from")  # how a floor and a start are asked for here
FIGURES = ("period", "duration", "criterion", "condition", "random_condition", "log_det")


@command
def excite(
    robot: str = ROBOT,
    seconds: float = option("Time to spend searching.", type=Number(0.1), default=30.0),
    starts: int = option("Most starts of the search.", type=click.IntRange(1), default=8),
    duration: float | None = option("Of the motion [s], whole periods; one.", type=POSITIVE),
    base_frequency: float | None = option("[Hz]; 0.1, or one period, if not given.", type=POSITIVE),
    harmonics: int | None = option("Sines per joint; 5, or what the bandwidth allows.", type=click.IntRange(2, 50)),
    velocity: str | None = vector("Largest speed [rad/s, m/s], one for all or one per joint; the robot's."),
    acceleration: str | None = vector("Largest acceleration, one for all or one per joint; none if not given."),
    torque: str | None = vector("Largest torque [N m, N], one for all or one per joint; the robot's efforts."),
    lower: str | None = vector("Lowest positions, one per joint; the robot's."),
    upper: str | None = vector("Highest positions, one per joint; the robot's."),
    floor: tuple[str, ...] = option(
        "Frames stay above this height over the base [m]; of all, or of those named.",
        "--floor",
        "--keep-above",
        metavar="[FRAME:]Z",
    ),
    half_space: tuple[str, ...] = option(
        "Frames stay where n·p ≥ d, in the base frame [m]; all, or those named.", metavar="[FRAME:]nx,ny,nz,d"
    ),
    clear: float | None = option("Links keep so far from each other and from obstacles [m]; 0.01.", type=Number(0)),
    avoid: str | None = option("Obstacles, a TOML file; the floor if not given.", metavar="FILE"),
    ignore_contacts: bool = option("Neither the floor nor the arm itself is avoided."),
    bandwidth: float | None = option("Of the drives [Hz]: no harmonic is faster.", type=POSITIVE),
    stiffness: str | None = vector("Of elastic joints [N m/rad]: harmonics stay below half the lowest mode."),
    gravity: str | None = vector("In the base frame [m/s²]; the robot's.", "x,y,z"),
    margin: float = option("Kept free of each range.", type=Number(0, 0.5), default=0.05),
    criterion: str = option("What is made best.", type=click.Choice(("condition", "d-optimal")), default="condition"),
    no_friction: bool = option("Friction is not to be identified."),
    no_rotor: bool = option("Rotor inertias are not to be identified."),
    seed: int = option("Of the starts.", type=click.IntRange(0), default=0),
    rate: float = option("Rows per second.", type=POSITIVE, default=100.0),
    start: str | None = option(
        "Joint positions, or 'home': the file goes from there to the motion and back.", "--from", metavar="x,x,…"
    ),
    out: str | None = option("The motion, t, q, q̇, q̈, τ: .csv.", "-o", "--out", type=NewFile(".csv"), metavar="FILE"),
    plot: str | None = picture("Draw one period"),
    tip: str | None = TIP,
) -> None:
    """Find a periodic motion within an arm's limits that shows its parameters best, and certify the limits.

    The file goes to the arm's controller; what it records goes to 'dalembert identify'. Links with shapes keep
    clear of each other and of the base plane, or of --floor and what --avoid names; frames keep to --half-space.

    \b
    Example: dalembert excite ur5e --floor 0.1 --half-space tool0:1,0,0,-0.4 --from home -o motion.csv
    """
    from dalembert.collision.world import World
    from dalembert.identification.excitation.design import excite as find_excitation
    from dalembert.identification.excitation.limits import HalfSpace

    if (lower is None) != (upper is None):
        raise click.UsageError("--lower and --upper go together")
    if out is None:
        output.refuse_idle("it says how many rows are written: give -o FILE", "rate")
        output.refuse_idle("it is for the file: give -o FILE", "from")
    rows = rate * (duration or 1 / (base_frequency or 0.1))
    if out is not None and abs(rows - round(rows)) > 1e-6 * rows:  # told now, not after the search
        raise click.UsageError(f"at {rate:g} rows per second the motion has {rows:g}: choose a --rate for a whole")
    arm = output.load(robot, tip)
    if gravity is not None:
        arm = arm.with_gravity(output.numbers("gravity", gravity, 3, "x, y and z") or ())
    begin = arm.home.tolist() if start == "home" else output.positions("from", start, arm, within=True)
    floors: dict[str | None, float] = {}
    for text in floor:
        floors.update({frame: z for frame, (z,) in _by_frame("floor", text, 1, "a height", arm)})
    spaces = [
        HalfSpace(frame, (x, y, z), d)
        for text in half_space
        for frame, (x, y, z, d) in _by_frame("half-space", text, 4, "nx, ny, nz and d of n·p ≥ d", arm)
    ]
    if ignore_contacts:
        output.refuse_idle("with --ignore-contacts nothing is avoided", "clear", "avoid")
    low, high = output.positions("lower", lower, arm), output.positions("upper", upper, arm)
    with waiting(f"searching for {seconds:g} s") as say:
        found = find_excitation(
            arm,
            duration=duration,
            base_frequency=base_frequency,
            harmonics=harmonics,
            position=None if low is None or high is None else (low, high),
            velocity=output.one_or_each("velocity", velocity, arm.n),
            acceleration=output.one_or_each("acceleration", acceleration, arm.n),
            torque=output.one_or_each("torque", torque, arm.n),
            floor=floors,
            workspace=spaces,
            avoid=False if ignore_contacts else None if avoid is None else World.load(avoid),
            clear=clear,
            bandwidth=bandwidth,
            start=begin,
            stiffness=output.one_or_each("stiffness", stiffness, arm.n),
            margin=margin,
            criterion=criterion,
            friction=not no_friction,
            rotor=not no_rotor,
            starts=starts,
            seconds=seconds,
            seed=seed,
            progress=say,
        )
    held = found.certificate.feasible
    if out is not None and held:
        found.to_csv(out, rate)
    files = output.save_plot(found.plot, out if held else None, plot)
    output.answer(lambda: _excitation_data(found, files), lambda: _show_excitation(found, files))
    output.exit_unless(held)


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
