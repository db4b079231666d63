"""The options of the command line, one row each: a spelling has one meaning and one help in every command.

A help text is a noun phrase that makes sense without the option's name. Commands pick their options from OPTIONS by
name (`dalembert.apps.cli.options.pick`); a command states only its default and, where they differ, the choices.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import click

PICTURES = (".png", ".svg", ".pdf")
MAX_SEED = 2**32 - 1


def fail_job(message: str) -> NoReturn:
    """Raise the error of a job that cannot be done; its exit code is 1."""
    raise click.ClickException(message)


class NumberInRange(click.FloatRange):
    """A finite number in a range. click alone accepts NaN."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        x = float(super().convert(value, param, ctx))
        if not math.isfinite(x):
            self.fail(f"{value} is not a finite number", param, ctx)
        return x


class InputFile(click.Path):
    """A file to read. A file that does not exist is a failed job, not wrong usage."""

    def __init__(self, *, folder: bool = False) -> None:
        super().__init__()
        self.folder = folder

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = os.fspath(value)
        if not (os.path.isdir if self.folder else os.path.isfile)(path):
            fail_job(f"there is no {'folder' if self.folder else 'file'} {path!r}")
        return path


class OutputFile(click.Path):
    """A file to write, by the endings it may have; checked before anything is computed."""

    def __init__(self, *suffixes: str) -> None:
        super().__init__()
        self.suffixes = suffixes

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> str:
        path = os.fspath(value)
        suffix = os.path.splitext(path)[1].lower()
        if self.suffixes and suffix not in self.suffixes:
            *most, last = self.suffixes
            endings = f"{', '.join(most)} or {last}" if most else last
            self.fail(f"{path}: its name must end in {endings}", param, ctx)
        folder = os.path.dirname(path) or "."
        if os.path.isdir(path):
            fail_job(f"{path!r} cannot be written: Is a directory")
        if not os.path.isdir(folder):
            fail_job(f"{path!r} cannot be written: No such file or directory")
        if not os.access(path if os.path.exists(path) else folder, os.W_OK):
            fail_job(f"{path!r} cannot be written: Permission denied")
        if suffix in PICTURES:
            from dalembert.draw.pyplot import pyplot

            pyplot()  # a missing package is reported now, not after the computation
        return path


POSITIVE = NumberInRange(0, min_open=True)
NOT_NEGATIVE = NumberInRange(0)
SEED = click.IntRange(0, MAX_SEED)
COUNT = click.IntRange(1)


@dataclass(frozen=True)
class OptionRow:
    """One option: help without unit and default, unit, name of its value, type, and further spellings."""

    help: str
    metavar: str | None = None
    unit: str = ""
    type: click.ParamType[Any] | Sequence[str] | None = None
    short: tuple[str, ...] = ()


JOINTS = "X[,X…]"
NAMES = "NAME[,NAME…]"
BANDWIDTH = NumberInRange(0, 1e6, min_open=True)

# Every command that reads a robot has these; `dalembert --help` explains them.
ROBOT_OPTIONS = {
    "tip": OptionRow("Frame that is the robot's tip", "FRAME"),
    "payload": OptionRow("Mass carried at the tip, unknown to controllers", "MASS", "kg", NOT_NEGATIVE),
    "gravity": OptionRow("Gravity in the base frame", "X,Y,Z", "m/s²"),
    "base": OptionRow("Attachment of the base to the world", type=("fixed", "floating", "planar")),
    "robot": OptionRow("First body of the robot to take from a scene", "BODY"),
    "free": OptionRow("Treatment of loose objects in a scene", type=("keep", "drop")),
    "package-dir": OptionRow(
        "Folder that contains the ROS packages of the robot file", "FOLDER", type=InputFile(folder=True)
    ),
    "ignore": OptionRow("MJCF elements to ignore: tendons, actuators, armature, equalities or springs", NAMES),
    "strict": OptionRow("Rejection of files with errors in shapes or colors, too"),
}

OPTIONS = ROBOT_OPTIONS | {
    "against": OptionRow("Second description of the same robot, for a comparison", "ROBOT"),
    "all": OptionRow("Complete result: every frame, solution, comparison, finding or step"),
    "allow": OptionRow("Pair of links that may touch each other", "LINK,LINK"),
    "answer": OptionRow("Answer to one question of an exercise, as in M12='I2 + m2*r2^2'", "NAME=ANSWER"),
    "apply": OptionRow("Correction of a log as the first look at it suggests"),
    "address": OptionRow("Address and port that the page is served on; port 0 takes any that is free", "HOST:PORT"),
    "axis": OptionRow("Only axis of the orientation that must match", type=("x", "y", "z")),
    "batch": OptionRow("C code with a loop over many states"),
    "calibrate": OptionRow("Log without contact, for the thresholds of contact detection", "LOG", type=InputFile()),
    "check": OptionRow("Own work to check: a formula as NAME=FORMULA, or a file with a derivation", "TEXT|FILE"),
    "class": OptionRow("CSV file of students; each gets a sheet with other numbers", "FILE", type=InputFile()),
    "clear": OptionRow("Removal of all compiled code from the cache"),
    "clearance": OptionRow("Least distance of the links from each other and from obstacles", "X", "m", NOT_NEGATIVE),
    "components": OptionRow("Components of a wrench that a contact may have: f_x, f_y, f_z, m_x, m_y, m_z", NAMES),
    "controller": OptionRow("Controller, or several; NAME+friction compensates the joint friction of the model", NAMES),
    "convention": OptionRow("Convention of a DH table", type=("standard", "modified")),
    "count": OptionRow("Number of exercises", "N", type=click.IntRange(1, 1000)),
    "cpu": OptionRow(
        "Processor core: cortex-m4, cortex-m7, cortex-m33, riscv32, riscv64, aarch64, x86-64, or c", "NAME"
    ),
    "cutoff": OptionRow("Cut-off frequency of the low-pass filter", "F", "Hz", POSITIVE),
    "delay": OptionRow("Dead time of a plant", "T", "s", NOT_NEGATIVE),
    "den": OptionRow("Denominator of a plant, falling powers of s: 1,3,3,1 is s³ + 3s² + 3s + 1", "A[,A…]"),
    "double": OptionRow("Arithmetic in double precision"),
    "dt": OptionRow("Time step", "T", "s", POSITIVE),
    "duration": OptionRow("Length of the motion", "T", "s", POSITIVE),
    "embed": OptionRow("Small layout of a page, for a frame in another page"),
    "expand": OptionRow("Abbreviations to write out: lumps (constants of inertia), angles (c12)", NAMES),
    "fail-on": OptionRow("Least severity of a finding that gives exit code 1", type=("error", "warning", "never")),
    "false-alarms": OptionRow("Rate of false alarms per hour", "N", "1/h", NumberInRange(0, 1200, min_open=True)),
    "first": OptionRow("First part of a log, taken to be without contact", "X", type=NumberInRange(0.01, 0.99)),
    "fix": OptionRow("Repair of the file; the repaired copy goes to --output"),
    "force": OptionRow("Output files in spite of errors in the result"),
    "format": OptionRow("Output format"),
    "frame": OptionRow("Frame of the robot", "FRAME"),
    "friction": OptionRow("Joint friction and springs of the model"),
    "gain": OptionRow("Gain of the momentum observer", JOINTS, "1/s"),
    "gap": OptionRow("Relative gap between the proved and the attained bound", "X", type=NumberInRange(0, 10)),
    "half-space": OptionRow(
        "Half space n·p ≥ d that frames must stay in, or the least height of frames", "[FRAME:]NX,NY,NZ,D"
    ),
    "harmonics": OptionRow("Number of sine terms per joint", "N", type=click.IntRange(2, 50)),
    "holdout": OptionRow("Last part of a log, kept for validation", "X", type=NumberInRange(0, 0.9, max_open=True)),
    "joint": OptionRow("Joint to draw", "JOINT"),
    "json": OptionRow("JSON output for programs"),
    "kernel": OptionRow("Algorithm to write, as in inverse_dynamics", "NAME"),
    "letters": OptionRow("Notation of the equations: spong, craig, siciliano, lynch-park, …", "PROFILE"),
    "level": OptionRow("Length of an exercise; 1: one step, 2: a few steps, 3: a page", type=click.IntRange(1, 3)),
    "limits": OptionRow("Limit, as FIELD=VALUE or FIELD alone for that of the robot", "FIELD[=X,…]"),
    "log": OptionRow("Recorded motion to play back", "LOG", type=InputFile()),
    "method": OptionRow("Method of the computation"),
    "move": OptionRow("Duration of the minimum-jerk motion to --to", "T", "s", NOT_NEGATIVE),
    "name": OptionRow("Name of the generated function", "NAME"),
    "names": OptionRow("Other letters for parameters and joints, as in r1=lc1,q=theta", "OLD=NEW[,…]"),
    "no-browser": OptionRow("Page without a browser opened on it"),
    "no-consistent": OptionRow("Fit without the constraints of physical consistency"),
    "no-friction": OptionRow("Model without joint friction"),
    "no-meshes": OptionRow("Check without the mesh files"),
    "num": OptionRow("Numerator of a plant, falling powers of s", "B[,B…]"),
    "omega": OptionRow("Bandwidth ω of the controller", "W", "rad/s", BANDWIDTH),
    "only": OptionRow("Parts of the result, by name", NAMES),
    "open": OptionRow("Page opened in a browser afterwards"),
    "origin": OptionRow("Other page that may use this one, as in http://name:port", "URL"),
    "output": OptionRow("Output file or folder", "FILE", short=("-o",)),
    "paused": OptionRow("Page that does not run until it is started"),
    "plain": OptionRow("Page without shadows, for a computer without a graphics card"),
    "plot": OptionRow("Picture of the result: .png, .svg or .pdf", "FILE", type=OutputFile(*PICTURES)),
    "positions-only": OptionRow("Controller that computes velocities from measured positions"),
    "q0": OptionRow("Joint positions, at the start if there is a motion; 30deg or home", JOINTS, "rad, m"),
    "qd0": OptionRow("Joint velocities, at the start if there is a motion", JOINTS, "rad/s, m/s"),
    "qdd": OptionRow("Joint accelerations", JOINTS, "rad/s², m/s²"),
    "quick": OptionRow("Short report, with fewer samples, states and controllers"),
    "rows": OptionRow("Part of the pose that must match", type=("pose", "position", "orientation", "planar")),
    "rpy": OptionRow("Roll, pitch and yaw of the frame", "R,P,Y", "rad"),
    "rules": OptionRow("List of the rules of the check"),
    "same": OptionRow("Parameters with equal values, as in r1=l1,r2=l2", "ONE=OTHER[,…]"),
    "secondary": OptionRow("Quantity that a redundant robot keeps away from", type=("limits", "singularities")),
    "seconds": OptionRow("Time budget of the computation", "T", "s", NumberInRange(0.1)),
    "seed": OptionRow("Random seed", "N", type=SEED),
    "seen-from": OptionRow("Frame in which poses are expressed", "FRAME"),
    "set": OptionRow("One setting of a log, as in units=q=deg or window=:9", "KEY=VALUE"),
    "settings": OptionRow("TOML file of log settings, as 'dalembert log inspect' writes it", "FILE"),
    "solutions": OptionRow(
        "Place of the solutions: another file, the same file, or nowhere", type=("apart", "inside", "none")
    ),
    "solver": OptionRow("Integration method: rk4, euler, symplectic, DOP853, …", "NAME"),
    "starts": OptionRow("Largest number of starts of the search", "N", type=COUNT),
    "states": OptionRow("Number of random states", "N", type=click.IntRange(4, 1_000_000)),
    "symbolic": OptionRow("Parameters that are symbols: all, inertias, lengths, none, or names as in m1,m2,g", NAMES),
    "terms": OptionRow(
        "Terms to identify: friction (or viscous, coulomb, offset, root, cubic, load), rotor, or none", NAMES
    ),
    "threads": OptionRow("Number of threads", "N", type=click.IntRange(1, 1024)),
    "through": OptionRow("Joint positions to pass", JOINTS, "rad, m"),
    "title": OptionRow("Title of a sheet", "TEXT"),
    "to": OptionRow("Joint positions to reach; 30deg or home", JOINTS, "rad, m"),
    "tolerance": OptionRow("Largest error of the pose", "X", "m, rad", POSITIVE),
    "topic": OptionRow("Topic of exercises, or a part of its name", "TOPIC"),
    "tree": OptionRow("Tree of a closed chain, without its loops"),
    "vary": OptionRow("Parameter that changes between runs, as in payload.mass=0,2", "NAME=X[,…]"),
    "validate": OptionRow("Further log, for validation", "LOG", type=InputFile()),
    "variants": OptionRow(
        "List of variants of a class, as 'exercise make --class' writes it", "FILE", type=InputFile()
    ),
    "without": OptionRow("Method or library to leave out", "NAME"),
    "world": OptionRow("Obstacles: a TOML file, or floor=HEIGHT for a floor", "FILE|floor=Z"),
    "xyz": OptionRow("Position of the frame, in the base frame", "X,Y,Z", "m"),
    "zeta": OptionRow("Damping ratio ζ of the controller", "Z", "", BANDWIDTH),
}
