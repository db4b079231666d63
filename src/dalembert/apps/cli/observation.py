"""dalembert observe: what touched an arm, and when, from a log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.log import read_settings
from dalembert.apps.cli.option_table import OutputFile
from dalembert.apps.cli.options import LOGS, ROBOT, command, in_options, pick
from dalembert.apps.cli.terminal import waiting
from dalembert.files import whole

if TYPE_CHECKING:
    from dalembert.identification.contacts import Contact, Observation


@command
def observe(
    robot: str = ROBOT,
    logs: tuple[str, ...] = LOGS,
    calibrate: tuple[str, ...] = pick("calibrate"),
    first: float = pick("first", 0.5),
    false_alarms: float = pick("false-alarms", 1.0),
    gain: str | None = pick("gain", shown="25"),
    no_friction: bool = pick("no-friction"),
    frame: str | None = pick("frame", shown="the tip"),
    components: str | None = pick("components", shown="all"),
    out: tuple[str, ...] = pick("output", type=OutputFile(".csv", ".c")),
    plot: str | None = pick("plot"),
    force: bool = pick("force"),
    settings: str | None = pick("settings"),
    said: tuple[str, ...] = pick("set"),
) -> None:
    """Find contacts in a log of a robot: when, where, and how hard.

    A momentum observer compares the torques with those of the model. Its thresholds come from a log without contact,
    which must not be one that the model was identified from. The output states the uncertainty of the rate of false
    alarms. If the thresholds do not belong to the log, nothing is written and the exit code is 1.

    \b
    Output: residuals and contacts as .csv; the observer with its thresholds as .c, with a header.

    \b
    Example: dalembert observe identified.urdf log.csv --calibrate quiet.csv --false-alarms 1 -o contacts.csv
    """
    from dalembert.flow import WRENCH
    from dalembert.identification.contacts import observe as look
    from dalembert.identification.log.read import read_logs

    if calibrate:
        output.refuse_idle("--calibrate gives the log without contact", "first")
    if not any((out, plot)):
        output.refuse_idle("no file is written: give --output or --plot", "force")
    table, code = output.split_files(out, ".csv", ".c")
    recorded_as = read_settings(settings, said)
    arm = output.load(robot)
    names = WRENCH if components is None else output.names_of("component of a wrench", components, WRENCH)
    gains = output.one_or_each("gain", gain, arm.n)
    with waiting("reading the log") as say:
        recording = read_logs(logs, arm, recorded_as)
        arm, recorded = recording.robot, recording.logs
        if len(recorded) != 1:
            raise click.UsageError(f"these are {len(recorded)} logs: observe them one by one")
        quiet = read_logs(calibrate, arm, recording.settings.without("gravity", "locked", "window")).logs
        say("observing")
        found = look(
            arm,
            recorded[0],
            quiet=quiet or None,
            first=first,
            frame=frame,
            components=names,
            false_alarms=false_alarms,
            gain=25.0 if gains is None else gains,
            friction=not no_friction,
        )
    belongs = not found.report.fails()
    files = _write(found, table, code, plot) if belongs or force else []

    def show() -> None:
        _show(found)
        for note in (*recorded[0].notes, *(note for log in quiet for note in log.notes)):
            click.echo(f"note: {in_options(note)}")
        for finding in found.report:
            click.echo(in_options(str(finding)), err=finding.severity == "error")
        output.print_files(*files)

    output.answer(lambda: _data(found, files), show)
    output.exit_unless(belongs or force)


def _write(found: Observation, out: str | None, c: str | None, plot: str | None) -> list[str]:
    if out is not None:
        found.to_csv(out)
    texts = {} if c is None else found.detector.c_files(Path(c).stem)
    written = [str(Path(c or "").with_name(name)) for name in texts]
    for path, text in zip(written, texts.values(), strict=True):
        whole(path, lambda file, text=text: file.write(text.encode()))  # type: ignore[misc]
    return [*output.save_plot(found.plot, out, plot), *written]


def _data(found: Observation, files: list[str]) -> dict[str, object]:
    made = found.detector
    return {
        "robot": made.robot.name,
        "joints": found.log.joints,
        "units": made.units,
        "thresholds": made.thresholds,
        "false_alarms": {
            "asked": made.asked,
            "interval": made.interval,
            "calibrated": made.tail.seconds,
            "seconds": found.seconds,
            "expected": made.expected(found.seconds),
        },
        "delays": {f"{size:g}": made.delays[:, k] for k, size in enumerate(made.STEPS)},
        "recorded_rates": made.observer.rates,
        "frame": found.frame,
        "contacts": [vars(contact) for contact in found.contacts],
        "findings": [finding.data() for finding in found.report],
        "files": files,
    }


def _show(found: Observation) -> None:
    made = found.detector
    rows = [
        (joint, f"{u:.3g} {unit}", *(_delay(*pair) for pair in each))
        for joint, u, unit, each in zip(found.log.joints, made.thresholds, made.units, made.delays, strict=True)
    ]
    head = ("joint", "threshold", *(f"delay of {size:g} N m (95 %)" for size in made.STEPS))
    title = f"{made.robot.name}: thresholds for {_count(made.asked, 'false alarm')} per hour"
    output.print_table(title, head, rows)
    low, high = made.interval
    least, most = made.expected(found.seconds)
    click.echo(
        f"by {made.tail.seconds:.4g} s without contact: {low:.2g} to {high:.2g} false alarms per hour (95 %), "
        f"{least} to {most} in this log of {found.seconds:.4g} s"
    )
    if not found.contacts:
        click.echo("no contact")
        return
    what = f"wrenches on the robot at {found.frame!r}, in world axes [N, N m]"
    head = ("since [s]", "alarm", "end", "at or beyond", "force", "moment")
    output.print_table(f"{_count(len(found.contacts), 'contact')}; {what}", head, map(_contact, found.contacts))


def _count(number: float, what: str) -> str:
    return f"{number:g} {what}{'s' * (number != 1)}"


def _delay(median: float, slow: float) -> str:
    def say(x: float) -> str:
        return "–" if x != x else "not seen" if x == float("inf") else f"{1e3 * x:.0f} ms"

    return say(median) if say(median) == say(slow) else f"{say(median)} ({say(slow)})"


def _contact(c: Contact) -> tuple[object, ...]:
    told = ["?" if x != x else f"{x:.3g} ± {s:.2g}" if s else "0" for x, s in zip(c.wrench, c.deviation, strict=True)]
    return (c.since, c.alarm, c.end, c.link, ", ".join(told[:3]), ", ".join(told[3:]))
