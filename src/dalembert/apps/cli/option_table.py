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


class Number(click.FloatRange):
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


POSITIVE = Number(0, min_open=True)
NOT_NEGATIVE = Number(0)
SEED = click.IntRange(0, MAX_SEED)
COUNT = click.IntRange(1)


@dataclass(frozen=True)
class Row:
    """One option: help without unit and default, unit, name of its value, type, and further spellings."""

    help: str
    metavar: str | None = None
    unit: str = ""
    type: click.ParamType[Any] | Sequence[str] | None = None
    short: tuple[str, ...] = ()


JOINTS = "X[,X…]"
NAMES = "NAME[,NAME…]"
BANDWIDTH = Number(0, 1e6, min_open=True)

# Every command that reads a robot has these; `dalembert --help` explains them.
ROBOT_OPTIONS = {
    "tip": Row("Frame that is the robot's tip", "FRAME"),
    "payload": Row("Mass carried at the tip, unknown to controllers", "MASS", "kg", NOT_NEGATIVE),
    "gravity": Row("Gravity in the base frame", "X,Y,Z", "m/s²"),
    "base": Row("Attachment of the base to the world", type=("fixed", "floating", "planar")),
    "robot": Row("First body of the robot to take from a scene", "BODY"),
    "free": Row("Treatment of loose objects in a scene", type=("keep", "drop")),
    "package-dir": Row(
        "Folder that contains the ROS packages of the robot file", "FOLDER", type=InputFile(folder=True)
    ),
    "ignore": Row("MJCF elements to ignore: tendons, actuators, armature, equalities or springs", NAMES),
    "strict": Row("Rejection of files with errors in shapes or colors, too"),
}

OPTIONS = ROBOT_OPTIONS | {
    "against": Row("Second description of the same robot, for a comparison", "ROBOT"),
    "all": Row("Complete result: every frame, solution, comparison, finding or step"),
    "allow": Row("Pair of links that may touch each other", "LINK,LINK"),
    "answer": Row("Answer to one question of an exercise, as in M12='I2 + m2*r2^2'", "NAME=ANSWER"),
    "apply": Row("Correction of a log as the first look at it suggests"),
    "address": Row("Address and port that the page is served on; port 0 takes any that is free", "HOST:PORT"),
    "axis": Row("Only axis of the orientation that must match", type=("x", "y", "z")),
    "batch": Row("C code with a loop over many states"),
    "calibrate": Row("Log without contact, for the thresholds of contact detection", "LOG", type=InputFile()),
    "check": Row("Own work to check: a formula as NAME=FORMULA, or a file with a derivation", "TEXT|FILE"),
    "class": Row("CSV file of students; each gets a sheet with other numbers", "FILE", type=InputFile()),
    "clear": Row("Removal of all compiled code from the cache"),
    "clearance": Row("Least distance of the links from each other and from obstacles", "X", "m", NOT_NEGATIVE),
    "components": Row("Components of a wrench that a contact may have: f_x, f_y, f_z, m_x, m_y, m_z", NAMES),
    "controller": Row("Controller, or several; NAME+friction compensates the joint friction of the model", NAMES),
    "convention": Row("Convention of a DH table", type=("standard", "modified")),
    "count": Row("Number of exercises", "N", type=click.IntRange(1, 1000)),
    "cpu": Row("Processor core: cortex-m4, cortex-m7, cortex-m33, riscv32, riscv64, aarch64, x86-64, or c", "NAME"),
    "cutoff": Row("Cut-off frequency of the low-pass filter", "F", "Hz", POSITIVE),
    "delay": Row("Dead time of a plant", "T", "s", NOT_NEGATIVE),
    "den": Row("Denominator of a plant, falling powers of s: 1,3,3,1 is s³ + 3s² + 3s + 1", "A[,A…]"),
    "double": Row("Arithmetic in double precision"),
    "dt": Row("Time step", "T", "s", POSITIVE),
    "duration": Row("Length of the motion", "T", "s", POSITIVE),
    "embed": Row("Small layout of a page, for a frame in another page"),
    "expand": Row("Abbreviations to write out: lumps (constants of inertia), angles (c12)", NAMES),
    "fail-on": Row("Least severity of a finding that gives exit code 1", type=("error", "warning", "never")),
    "false-alarms": Row("Rate of false alarms per hour", "N", "1/h", Number(0, 1200, min_open=True)),
    "first": Row("First part of a log, taken to be without contact", "X", type=Number(0.01, 0.99)),
    "fix": Row("Repair of the file; the repaired copy goes to --output"),
    "force": Row("Output files in spite of errors in the result"),
    "format": Row("Output format"),
    "frame": Row("Frame of the robot", "FRAME"),
    "friction": Row("Joint friction and springs of the model"),
    "gain": Row("Gain of the momentum observer", JOINTS, "1/s"),
    "gap": Row("Relative gap between the proved and the attained bound", "X", type=Number(0, 10)),
    "half-space": Row(
        "Half space n·p ≥ d that frames must stay in, or the least height of frames", "[FRAME:]NX,NY,NZ,D"
    ),
    "harmonics": Row("Number of sine terms per joint", "N", type=click.IntRange(2, 50)),
    "holdout": Row("Last part of a log, kept for validation", "X", type=Number(0, 0.9, max_open=True)),
    "joint": Row("Joint to draw", "JOINT"),
    "json": Row("JSON output for programs"),
    "kernel": Row("Algorithm to write, as in inverse_dynamics", "NAME"),
    "letters": Row("Notation of the equations: spong, craig, siciliano, lynch-park, …", "PROFILE"),
    "level": Row("Length of an exercise; 1: one step, 2: a few steps, 3: a page", type=click.IntRange(1, 3)),
    "limits": Row("Limit, as FIELD=VALUE or FIELD alone for that of the robot", "FIELD[=X,…]"),
    "log": Row("Recorded motion to play back", "LOG", type=InputFile()),
    "method": Row("Method of the computation"),
    "move": Row("Duration of the minimum-jerk motion to --to", "T", "s", NOT_NEGATIVE),
    "name": Row("Name of the generated function", "NAME"),
    "names": Row("Other letters for parameters and joints, as in r1=lc1,q=theta", "OLD=NEW[,…]"),
    "no-browser": Row("Page without a browser opened on it"),
    "no-consistent": Row("Fit without the constraints of physical consistency"),
    "no-friction": Row("Model without joint friction"),
    "no-meshes": Row("Check without the mesh files"),
    "num": Row("Numerator of a plant, falling powers of s", "B[,B…]"),
    "omega": Row("Bandwidth ω of the controller", "W", "rad/s", BANDWIDTH),
    "only": Row("Parts of the result, by name", NAMES),
    "open": Row("Page opened in a browser afterwards"),
    "origin": Row("Other page that may use this one, as in http://name:port", "URL"),
    "output": Row("Output file or folder", "FILE", short=("-o",)),
    "paused": Row("Page that does not run until it is started"),
    "plain": Row("Page without shadows, for a computer without a graphics card"),
    "plot": Row("Picture of the result: .png, .svg or .pdf", "FILE", type=OutputFile(*PICTURES)),
    "positions-only": Row("Controller that computes velocities from measured positions"),
    "q0": Row("Joint positions, at the start if there is a motion; 30deg or home", JOINTS, "rad, m"),
    "qd0": Row("Joint velocities, at the start if there is a motion", JOINTS, "rad/s, m/s"),
    "qdd": Row("Joint accelerations", JOINTS, "rad/s², m/s²"),
    "quick": Row("Short report, with fewer samples, states and controllers"),
    "rows": Row("Part of the pose that must match", type=("pose", "position", "orientation", "planar")),
    "rpy": Row("Roll, pitch and yaw of the frame", "R,P,Y", "rad"),
    "rules": Row("List of the rules of the check"),
    "same": Row("Parameters with equal values, as in r1=l1,r2=l2", "ONE=OTHER[,…]"),
    "secondary": Row("Quantity that a redundant robot keeps away from", type=("limits", "singularities")),
    "seconds": Row("Time budget of the computation", "T", "s", Number(0.1)),
    "seed": Row("Random seed", "N", type=SEED),
    "seen-from": Row("Frame in which poses are expressed", "FRAME"),
    "set": Row("One setting of a log, as in units=q=deg or window=:9", "KEY=VALUE"),
    "settings": Row("TOML file of log settings, as 'dalembert log inspect' writes it", "FILE"),
    "solutions": Row(
        "Place of the solutions: another file, the same file, or nowhere", type=("apart", "inside", "none")
    ),
    "solver": Row("Integration method: rk4, euler, symplectic, DOP853, …", "NAME"),
    "starts": Row("Largest number of starts of the search", "N", type=COUNT),
    "states": Row("Number of random states", "N", type=click.IntRange(4, 1_000_000)),
    "symbolic": Row("Parameters that are symbols: all, inertias, lengths, none, or names as in m1,m2,g", NAMES),
    "terms": Row("Terms to identify: friction (or viscous, coulomb, offset, root, cubic, load), rotor, or none", NAMES),
    "threads": Row("Number of threads", "N", type=click.IntRange(1, 1024)),
    "through": Row("Joint positions to pass", JOINTS, "rad, m"),
    "title": Row("Title of a sheet", "TEXT"),
    "to": Row("Joint positions to reach; 30deg or home", JOINTS, "rad, m"),
    "tolerance": Row("Largest error of the pose", "X", "m, rad", POSITIVE),
    "topic": Row("Topic of exercises, or a part of its name", "TOPIC"),
    "tree": Row("Tree of a closed chain, without its loops"),
    "vary": Row("Parameter that changes between runs, as in payload.mass=0,2", "NAME=X[,…]"),
    "validate": Row("Further log, for validation", "LOG", type=InputFile()),
    "variants": Row("List of variants of a class, as 'exercise make --class' writes it", "FILE", type=InputFile()),
    "without": Row("Method or library to leave out", "NAME"),
    "world": Row("Obstacles: a TOML file, or floor=HEIGHT for a floor", "FILE|floor=Z"),
    "xyz": Row("Position of the frame, in the base frame", "X,Y,Z", "m"),
    "zeta": Row("Damping ratio ζ of the controller", "Z", "", BANDWIDTH),
}
