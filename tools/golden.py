"""Golden results: what some 800 public calls of Dalembert return, recorded once and compared after every change.

    python tools/golden.py record FILE               # FILE ends in .json or .json.gz
    python tools/golden.py compare FILE [--only PATTERN] [--json] [--tolerance 1e-13]
    python tools/golden.py list [--only PATTERN]

A call is a short function with a name "group/what". Its result is stored as data: numbers in full, arrays with their
shape and a SHA-256 of their bytes, texts and written files as they are (temporary paths, dates, versions and timings
taken out), exceptions as class and message, warnings, what was printed. A call that fails is a result like any other.

Names move; so calls go through the front door (`dl.…`, methods of Robot), and whatever else they need is looked up in
`WHERE`, place by place. British names fall back to American ones by themselves. What a call cannot find any more is
recorded as an exception, and so shows up as a difference.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import gzip
import hashlib
import html
import importlib
import importlib.metadata
import importlib.util
import inspect
import io
import json
import math
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = 1e-13  # relative; arrays are measured by their largest entry
ROUNDING = 1e-12  # numbers this small are what rounding leaves over; two of them count as close
LONGEST = 400  # entries of an array that are stored; of longer ones this many, evenly spread, and the hash of all
DEPTH = 4  # how far results inside results are followed

# ---------------------------------------------------------------- where things are
# Names that are not at the front door, and the places to try in turn, "module:attribute". Where a name moves to a place
# that `MOVED` does not tell, add the new place to its tuple (WHERE["name"] += ("dalembert.new:name",)).
WHERE: dict[str, tuple[str, ...]] = {
    name: (f"dalembert.{module}:{name}",)
    for module, names in {
        "actuation.driven": "ENERGIES LOSSES",
        "actuation.flexible_link": "FlexibleLink",
        "actuation.gear_effects": "gear_report geared_model",
        "actuation.rotors": "Rotor with_rotors",
        "flows.sticking": "start sticking",
        "actuation.transmission": "differential remote",
        "bounds.symbolic": "symbolic_bounds",
        "compile": "compile_function",
        "compile.rollout": "Call compile_rollout",
        "describe.description": "Box Cylinder",
        "describe.dh": "check_dh_frames dh_parameters",
        "flow": "Flow",
        "friction": "LAWS breakaway equivalent_damping friction slope structural_damping torque",
        "identification.base": "base",
        "identification.columns": "Columns",
        "identification.compress": "compress",
        "identification.drive_gains": "drive_gains",
        "identification.estimate": "least_squares",
        "identification.excite": "excite",
        "identification.first_look": "inspect_log",
        "identification.groupings": "groupings",
        "identification.instruments": "instrumental_variables",
        "identification.motion_limits": "HalfSpace box",
        "identification.nonlinear_friction": "nonlinear_friction",
        "identification.parts": "Solid cad pendulum tensor with_parts",
        "identification.payload": "identify_payload",
        "identification.prepare": "preparation prepare",
        "identification.robust": "robust_least_squares",
        "identification.samples": "Samples",
        "identification.tip_measurements": "Distances Points Poses SamePoint",
        "identification.calibrate": "calibrate",
        "ik.closed_form": "reason",
        "ik.tracking": "Task limited_velocity tracking_velocity",
        "lagrange.examples": "EXAMPLES",
        "law": "Law",
        "motion.nearest": "perturbed_singularity singular_set",
        "motion.statics": "holding_torque largest_wrench virtual_work",
        "motion.velocity": "pseudo_inverse",
        "motion.wrist": "decouple",
        "scalar": "sin",
        "simulation.loop": "add_law_states",
        "spatial": "Pose",
        "svg": "Curve bars heat lines",
    }.items()
    for name in names.split()
}
# Packages that move, old → new: tried on every place of `WHERE` and on public packages of the front door.
MOVED: dict[str, tuple[str, ...]] = {
    "dalembert.motion": ("dalembert.kinematics",),
    "dalembert.ik": ("dalembert.kinematics.ik", "dalembert.kinematics"),
    "dalembert.doctor": ("dalembert.trust.doctor",),
    "dalembert.verification": ("dalembert.trust.verify",),
    "dalembert.properties": ("dalembert.trust.properties",),
    "dalembert.svg": ("dalembert.draw.svg", "dalembert.draw"),
    "dalembert.show": ("dalembert.draw.show", "dalembert.draw"),
    "dalembert.cli": ("dalembert.apps.cli",),
    "dalembert.report": ("dalembert.apps.report",),
    "dalembert.studio": ("dalembert.apps.studio",),
    "dalembert.identification": (
        "dalembert.identification.log",
        "dalembert.identification.fit",
        "dalembert.identification.excitation",
        "dalembert.identification.calibration",
    ),
}
# Packages to look through for a name that is at none of its places.
PUBLIC = (
    *("simulation", "identification", "control", "kinematics", "actuation", "friction", "constrained", "lagrange"),
    *("trust", "draw", "describe", "joints", "system", "compile"),
)
# Keywords of `simulate` and `rollouts` that become members of a group: group → (class, {keyword: member}).
GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "sensors": ("Sensors", {k: k for k in ("noise", "quantization", "delay", "seed", "sample_time")}),
    "sampling": ("Sampling", {k: k for k in ("sample_time", "delay")}),
    "solver": ("Solver", {k: k for k in ("method", "dt", "rtol", "atol", "iterations", "every", "progress")}),
    "inputs": ("Inputs", {k: k for k in ("tau", "f_tip", "frame", "wrenches", "disturbance")}),
    "limits": ("JointLimits", {"torque_limits": "torque"}),
}
# Old → new words of texts and fields that were changed on purpose, as the changelog lists them under "Renamed".
RENAMED: dict[str, str] = {}

# Old → new names of functions, classes, methods and modules.
NAMES = {
    "Adaptive": "AdaptiveControl",
    "blended": "blends",
    "Task": "VelocityGoal",
    "state_space": "first_order_form",
    "discretized": "discretize",
    "extrapolated": "extrapolate",
    "geared": "add_gears",
    "linearized": "linearize",
    "proved": "prove",
    "sampled": "table",
    "seen_from_joints": "reflect_motors",
    "sensed": "add_sensors",
    "sources": "springs",
    "tuned": "for_bandwidth",
}

# British → American, in words and in names.
SPELLING = (
    (r"(?i)(cent)r(?=ed\b|ing\b)", r"\1er"),
    (r"(?i)(cent|met|lit|fib)re(?=s?\b|s?_)", r"\1er"),
    (r"(?i)(colo|behavio|neighbo|favo|labo|hono|armo)ur", r"\1r"),
    (
        r"(?i)(linear|optim|minim|maxim|normal|organ|quant|discret|synchron|general|factor|stabil|penal|real|recogn"
        r"|summar|local|symmetr|initial|parameter|visual|central|digit|ideal|special|emphas|character|diagonal|util)is"
        r"(?=e|i(?:ng|on)|at)",
        r"\1iz",
    ),
    (r"(?i)(anal)ys(?=e|ing)", r"\1yz"),
    (r"(?i)(mode|labe|trave|cance|leve|signa|tota|channe|pane)ll(?=ed|ing|er)", r"\1l"),
    (r"(?i)(alumin)ium", r"\1um"),
    (r"(?i)\b(gr)ey", r"\1ay"),
    (r"(?i)(judg)ement", r"\1ment"),
    (r"(?i)\b(per) (?=cent\b)", r"\1"),
    (r"(?i)\b(art)e(?=fact)", r"\1i"),
    (r"(?i)\b((?:an|di|cat)alog)ue", r"\1"),
    (r"(?i)(licen|defen|offen)ce", r"\1se"),
    (r"(?i)(toward)s\b", r"\1"),
)


def american(text: str) -> str:
    """A text or name in American spelling."""
    for pattern, replacement in SPELLING:
        text = re.sub(pattern, replacement, text)
    return text


def _attribute(owner: Any, name: str) -> Any:
    """An attribute by its name, by its American one, or by the one it has now."""
    for spelled in dict.fromkeys((name, american(name), NAMES.get(name, name))):
        with contextlib.suppress(AttributeError):
            return getattr(owner, spelled)
    raise AttributeError(f"{getattr(owner, '__name__', type(owner).__name__)} has no {name!r}")


def _places(place: str) -> Iterator[str]:
    """A place, and where it may have moved to."""
    yield place
    for old, news in MOVED.items():
        if re.match(re.escape(old) + r"\b", place):
            rest = place[len(old) :]
            yield from (new + rest for new in news)
            if ":" in place:
                yield from (f"{new}:{place.partition(':')[2]}" for new in news)


class At:
    """`at.name`: what `WHERE` lists under a name, from the first place that has it."""

    def __getattr__(self, name: str) -> Any:
        places = [moved for place in WHERE[name] for moved in _places(place)]
        places += [f"dalembert:{name}", *(f"dalembert.{package}:{name}" for package in PUBLIC)]
        return _first(name, [place.split(":") for place in places], modules=False)


class Door:
    """A public package, whose names may have become American, and whose modules may have moved."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        places = [(module, name) for module in _places(self._name)]
        places += [place.rsplit(".", 1) for place in _places(f"{self._name}.{name}")]
        places += [(f"{self._name}.{part}", name) for part in ("se3", "describe", "lagrange")]
        value = _first(name, places)
        return Door(value.__name__) if isinstance(value, types.ModuleType) else value


def _first(name: str, places: Sequence[Sequence[str]], modules: bool = True) -> Any:
    """The first of (module, attribute) that there is, if wanted a module too; else what went wrong everywhere."""
    why = []
    for module, attribute in places:
        try:
            value = _attribute(importlib.import_module(module), attribute)
            if modules or not isinstance(value, types.ModuleType):
                return value
        except (ImportError, AttributeError) as error:
            why.append(str(error))
        if modules:
            with contextlib.suppress(ImportError):
                return importlib.import_module(f"{module}.{attribute}")
    raise LookupError(f"{name} is nowhere, so that WHERE or MOVED lacks its place: {'; '.join(dict.fromkeys(why))}")


at = At()
dl = Door("dalembert")
HAS_EXPERIMENT = hasattr(importlib.import_module("dalembert"), "Experiment")


def spelled(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """A call with today's keywords: American where the function knows them only so, grouped where it wants groups."""
    known = inspect.signature(function).parameters
    free = any(p.kind is p.VAR_KEYWORD for p in known.values())
    direct: dict[str, Any] = {}
    grouped: dict[str, dict[str, Any]] = {}
    for word, value in keywords.items():
        name = word if free or word in known else american(word)
        home = next((g for g, (_, members) in GROUPS.items() if g in known and name in members), None)
        if name in known or home is None:
            direct[name] = value
        else:
            grouped.setdefault(home, {})[GROUPS[home][1][name]] = value
    made = {home: getattr(dl.simulation, GROUPS[home][0])(**members) for home, members in grouped.items()}
    return function(*arguments, **direct, **made)


def flow_of(system: Any, **options: Any) -> Any:
    """A system's flow: its own, or what simulation once made of it."""
    for name in ("robot_flow", "lagrangian_flow"):
        with contextlib.suppress(AttributeError, LookupError, dl.InputError):
            return getattr(dl.simulation, name)(system, **options)
    return system.flow(**options)


def closed(*arguments: Any, **options: Any) -> Any:
    """A flow under a law as one flow."""
    with contextlib.suppress(AttributeError, LookupError):
        return dl.simulation.close_loop(*arguments, **options)
    return dl.simulation.closed(*arguments, **options)


def method(owner: Any, name: str) -> Any:
    """A method by its name, or by the one it has now."""
    return _attribute(owner, name)


def worded(function: Callable[[str], Any], word: str) -> Any:
    """A call with a word as an argument, which may have become American."""
    try:
        return function(word)
    except dl.UnknownNameError:
        return function(american(word))


def rate_of(system: Any) -> Any:
    """ẋ(x, u) of a system with drives, compiled: once its `kernel`, now one of its kernels."""
    return system.kernel("rate") if inspect.ismethod(system.kernel) else system.kernel


def simulate(system: Any, controller: Any = None, **options: Any) -> Any:
    """`dl.simulate` with today's keywords."""
    if "z0" in options and "z0" not in inspect.signature(dl.simulate).parameters:
        z, q, qd = options.pop("z0"), options.pop("q0"), options.pop("qd0", None)
        options["x0"] = [*q, *(np.zeros(len(q)) if qd is None else qd), *z]
    return spelled(dl.simulate, system, controller, **options)


def rollouts(*arguments: Any, **options: Any) -> Any:
    """Many runs: `Experiment.batch`, once `dl.simulation.rollouts`, with that one's keywords."""
    if not HAS_EXPERIMENT:
        return spelled(dl.simulation.rollouts, *arguments, **options)
    e, start, rest = _experiment(*arguments, **options)
    return e.batch(**start, **rest)


def _experiment(system: Any, controller: Any = None, *start: Any, **options: Any) -> tuple[Any, dict[str, Any], Any]:
    """(an Experiment, where its runs begin, other keywords of `Experiment.batch`)."""
    s, get = dl.simulation, options.pop
    begin = dict(zip(("q0", "qd0"), start, strict=False)) | {k: get(k) for k in ("q0", "qd0", "x0") if k in options}
    limit, measures = get("torque_limits", None), get("measures", ())
    e = dl.Experiment(
        system,
        controller,
        reference=get("reference", None),
        inputs=s.Inputs(payload=get("payload", None)),
        limits=None if limit is None else s.JointLimits(torque=limit),
        friction=get("friction", None),
        solver=s.Solver(get("method", "rk4"), every=get("every", 1)),
        dt=get("dt"),
        measures=measures,
    )
    vary = {**get("parameters", {}), **{f"disturbance.{k}": v for k, v in get("disturbances", {}).items()}}
    options |= {"count": get("number")} if "number" in options else {}
    return e, begin, {"vary": vary, **options}


# ---------------------------------------------------------------- results as data
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
SCRUBBED = (
    (re.compile(r"\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    (re.compile(rf"\b\d{{1,2}} (?:{MONTHS}) 20\d\d"), "<date>"),
    (re.compile(r'\btime="[\d.e-]+"'), 'time="<time>"'),
    (re.compile(r"0x[0-9a-f]{6,}"), "<address>"),
    (re.compile(r"/\S*/site-packages/"), "<packages>/"),
)
TIMINGS = re.compile(r"\b\d+(?:\.\d+)?(?:e-\d+)? ?(?:s|ms|µs|seconds)\b")
UNSTABLE_KEYS = ("seconds", "version", "date")


def scrub(text: str) -> str:
    """A text without what changes from run to run: the temporary folder, dates, versions, addresses."""
    here = os.getcwd()
    for path in (here, os.path.realpath(here)):
        text = text.replace(path, "<tmp>")
    text = re.sub(rf"(?<![\d.]){re.escape(dl.__version__)}(?!\.?\d)", "<version>", text)
    for pattern, replacement in SCRUBBED:
        text = pattern.sub(replacement, text)
    return text


def untimed(text: str) -> str:
    """A text without durations."""
    return TIMINGS.sub("<time>", text)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def stored(size: int) -> np.ndarray:
    """Which entries of an array are stored: all, or some of them, evenly spread."""
    return np.arange(size) if size <= LONGEST else np.linspace(0, size - 1, LONGEST).astype(int)


def array_data(a: np.ndarray) -> dict[str, Any]:
    """An array: shape, type, hash, and its entries, or some of them."""
    flat = np.ascontiguousarray(a).ravel()
    shown = flat[stored(flat.size)]
    entries = [[z.real, z.imag] for z in shown.tolist()] if np.iscomplexobj(a) else shown.tolist()
    if a.dtype == object or a.dtype.kind in "US":
        return {"shape": list(a.shape), "texts": [str(entry) for entry in entries]}
    finite = np.abs(flat[np.isfinite(flat)]).astype(float)
    data = {"shape": list(a.shape), "dtype": str(a.dtype), "sha256": digest(flat.tobytes()), "entries": entries}
    return data | {
        "norm": float(math.sqrt(finite @ finite)),
        "total": float(np.sum(finite)),
        "finite": int(finite.size),
    }


def data_of(value: Any, depth: int = DEPTH) -> Any:
    """A result as JSON: numbers in full, arrays with shape and hash, texts, and public fields of anything else."""
    match value:
        case None | bool() | int():
            return value
        case np.bool_() | np.integer() | np.floating() | float():
            return value.item() if isinstance(value, np.generic) else value
        case complex() | np.complexfloating():
            return {"complex": [value.real, value.imag]}
        case str():
            return scrub(value)
        case bytes():
            return {"bytes": len(value), "sha256": digest(value)}
        case os.PathLike():
            return Path(value).name
        case np.ndarray():
            return array_data(value)
        case Mapping():
            return {str(k): "<unstable>" if k in UNSTABLE_KEYS else data_of(v, depth) for k, v in value.items()}
        case tuple() | list() if hasattr(value, "_fields"):
            return {k: data_of(v, depth) for k, v in zip(value._fields, value, strict=True)}
        case tuple() | list():
            if len(value) > 3 and all(type(v) in (float, int) for v in value):
                return array_data(np.array(value, float))
            return [data_of(v, depth) for v in value]
        case set() | frozenset():
            return sorted(str(v) for v in value)
    module = type(value).__module__.partition(".")[0]
    if module == "sympy":
        return str(value)
    if module == "dalembert" and depth > 0:
        return object_data(value, depth)
    return f"<{type(value).__name__}>"


def object_data(value: Any, depth: int) -> Any:
    """What an object of the library shows: its text, if it has one of its own, and its public fields and properties."""
    if isinstance(value, dl.Robot):
        return {"robot": value.name, "joints": list(value.joint_names)}
    kind = type(value)
    found: dict[str, Any] = {}
    if kind.__str__ is not object.__str__ or not hasattr(kind.__repr__, "__wrapped__"):
        text = scrub(str(value))
        if "<address>" not in text and " object at " not in text:
            found["text"] = text
    names = [f.name for f in fields(value)] if is_dataclass(value) else list(getattr(value, "__dict__", ()))
    names += [n for n in dir(kind) if isinstance(getattr(kind, n, None), property)]
    for name in names:
        if name.startswith("_") or name in UNSTABLE_KEYS or name in ("robot", "description", "model", "request"):
            continue
        try:
            inner = getattr(value, name)
        except Exception as error:
            found[name] = error_data(error)
            continue
        if not callable(inner) or is_dataclass(inner):
            found[name] = data_of(inner, depth - 1)
    return found


def error_data(error: BaseException) -> dict[str, str]:
    return {"error": type(error).__name__, "message": scrub(str(error))}


# ---------------------------------------------------------------- the table of calls
CALLS: dict[str, Callable[[], Any]] = {}


def calls(group: str, table: Mapping[str, Callable[[], Any]]) -> None:
    """Add a table of calls to a group."""
    for name, function in table.items():
        key = f"{group}/{name}"
        assert key not in CALLS, f"{key} stands twice"
        CALLS[key] = function


def call(name: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """A call of more than one line, under its name."""

    def add(function: Callable[[], Any]) -> Callable[[], Any]:
        group, _, rest = name.partition("/")
        calls(group, {rest: function})
        return function

    return add


@cache
def arm(name: str) -> Any:
    """A bundled robot, loaded once; its warnings are told by the calls "load/bundled …"."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return dl.load(name)


@cache
def states(n: int, count: int = 5, seed: int = 0) -> np.ndarray:
    """q, q̇, q̈ (or τ) of so many states, the same every time."""
    made = np.random.default_rng(seed).uniform(-1, 1, (3, count, n))
    made.flags.writeable = False
    return made


def one(n: int) -> np.ndarray:
    """q, q̇, q̈ of one state."""
    return states(n)[:, 0]


def write(name: str, text: str) -> str:
    """A file of the call's own folder, and its name."""
    Path(name).write_text(text, encoding="utf-8")
    return name


def written(*names: str) -> dict[str, str]:
    """Texts of files that a call has written."""
    return {name: Path(name).read_text(encoding="utf-8") for name in names}


def pick(value: Any, names: str) -> dict[str, Any]:
    """Some attributes of a result, by name; methods are called."""
    found = {name: _attribute(value, name) for name in names.split()}
    return {name: v() if callable(v) else v for name, v in found.items()}


def robot_data(robot: Any) -> dict[str, Any]:
    """What a loaded robot is: names, limits, tip, gravity, and a few numbers at a state."""
    q, qd, qdd = one(robot.n)
    return {
        **pick(robot, "name n joint_names frames loops tip bodies gravity mass warnings home limits"),
        "fk": robot.fk(q, robot.frames[-1]),
        "tau": robot.inverse_dynamics(q, qd, qdd),
        "M": robot.mass_matrix(q),
    }


def run_data(run: Any, *more: str) -> dict[str, Any]:
    """What a run is: its rows, its message, its energy books."""
    data = {**pick(run, "ok t x u message method"), "columns": list(run), "text": repr(run)}
    with contextlib.suppress(Exception):
        data["energy"] = run.energy
        data["audit"] = run.audit()
    return {**data, **{name: getattr(run, name) for name in more}}


def motion_data(motion: Any, *times: float) -> dict[str, Any]:
    """A trajectory at times, with its extremes."""
    end = motion.duration if math.isfinite(motion.duration) else 3.0
    t = np.asarray(times) if times else np.linspace(0, end, 13)
    return {"duration": motion.duration, "at": list(motion(t)), "limits": motion.limits()}


def visible(page: str) -> str:
    """The words of an HTML page, without its scripts, styles and pictures."""
    page = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", " ", page)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def figure_data(figure: Any) -> dict[str, Any]:
    """What a matplotlib figure shows: labels and curves."""
    figure = getattr(figure, "figure", figure)
    return {
        "axes": [
            {
                "labels": [a.get_title(), a.get_xlabel(), a.get_ylabel()],
                "curves": [np.asarray(line.get_xydata(), float) for line in a.get_lines()][:12],
                "count": [len(a.lines), len(a.patches), len(a.collections), len(a.texts)],
                "texts": [t.get_text() for t in a.texts],
            }
            for a in figure.axes
        ]
    }


@cache
def matplotlib() -> Any:
    """matplotlib without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    return matplotlib


def shown(make: Callable[[Any], Any]) -> Callable[[], Any]:
    """A call that draws: what its figure shows."""

    def draw() -> Any:
        pyplot = importlib.import_module(f"{matplotlib().__name__}.pyplot")
        try:
            return figure_data(make(dl.show))
        finally:
            pyplot.close("all")

    return draw


# ---------------------------------------------------------------- names
PACKAGES = "control trajectories simulation identification constrained properties interchange show"
MAY_GROW = "(may grow)"  # marks a dictionary in which only what is gone is a difference


def names_of(names: Sequence[str]) -> dict[str, bool]:
    """Names that users may use: more is welcome, less is a difference."""
    return {MAY_GROW: True, **dict.fromkeys(names, True)}


def members(value: Any) -> dict[str, bool]:
    """The public attributes of a class."""
    return names_of([n for n in dir(value) if not n.startswith("_")])


calls("names", {f"dalembert.{p}": lambda p=p: names_of(getattr(dl, p).__all__) for p in PACKAGES.split()})
calls(
    "names",
    {
        "dalembert": lambda: names_of(dl.__all__),
        **{
            n: lambda n=n: members(getattr(dl, n))
            for n in ("Robot", "Constrained", "LagrangianSystem", "DrivenRobot", "FlexibleRobot", "Run", "CheckUp")
        },
        "Equations": lambda: members(type(equations("planar-2r"))),
        "Kernel": lambda: members(type(arm("planar-2r").kernel("fk"))),
        "errors": lambda: {
            n: [c.__name__ for c in getattr(dl, n).__mro__]
            for n in ("DescriptionError", "InputError", "MissingExtraError", "SingularityError", "UnknownNameError")
        },
        "warnings": lambda: {n: [c.__name__ for c in getattr(dl, n).__mro__] for n in ("ModelWarning", "UnitWarning")},
    },
)

# ---------------------------------------------------------------- poses
W, V = np.array([0.1, -0.7, 0.3]), np.array([0.4, 0.1, -0.2, 0.3, -0.5, 0.9])
T_ANY = dict(xyz=(0.4, 0.1, 0.2), rpy=(0.3, -0.5, 1.1))

calls(
    "poses",
    {
        "pose": lambda: [
            dl.pose(**T_ANY),
            dl.pose((1, 2, 3), quat=(0.5, 0.5, -0.5, 0.5)),
            dl.pose(euler=(0.1, 0.2, 0.3), angles="zxz"),
            dl.pose(rotation_matrix=dl.exp3(W)),
        ],
        "inverse": lambda: dl.inverse(dl.pose(**T_ANY)),
        "exp and log": lambda: [dl.exp3(W), dl.log3(dl.exp3(W)), dl.exp6(V), dl.log6(dl.exp6(V))],
        "log at a half turn": lambda: dl.log3(dl.exp3([np.pi, 0, 0])),
        "axis_angle": lambda: [*dl.axis_angle(W), *dl.axis_angle(V)],
        "screw": lambda: [dl.screw([0, 0, 1], point=(1, 2, 3), pitch=0.1), dl.screw_parameters(V)],
        "adjoint": lambda: [dl.adjoint(dl.pose(**T_ANY)), dl.ad(V)],
        "project": lambda: [
            dl.project_so3(dl.exp3(W) + 0.01 * states(3, 3)[0]),
            dl.project_se3(dl.exp6(V) + 1e-3),
            dl.distance_so3(dl.exp3(W) + 0.01),
            dl.distance_se3(dl.exp6(V) + 1e-3),
        ],
        "euler_angles": lambda: {a: dl.euler_angles(dl.exp3(W), a) for a in ("rpy", "zyz", "zxz", "xyz")},
    },
)

# ---------------------------------------------------------------- loading
URDF = """<robot name="arm">
  <link name="base"/>
  <link name="rod">
    <inertial>
      <origin xyz="0.15 0 0"/> <mass value="1.0"/>
      <!-- straight out of a CAD program, in g mm² -->
      <inertia ixx="600000" ixy="0" ixz="0" iyy="7800000" iyz="0" izz="7800000"/>
    </inertial>
    <visual><origin xyz="0.15 0 0"/><geometry><box size="0.3 0.06 0.06"/></geometry></visual>
  </link>
  <joint name="elbow" type="revolute">
    <parent link="base"/> <child link="rod"/>
    <axis xyz="0 0 2"/>
    <limit lower="2" upper="-2" effort="40" velocity="3"/>
  </joint>
</robot>
"""
FORK = """<robot name="fork"><link name="base"/><link name="left"/><link name="right"/>
<joint name="a" type="continuous"><parent link="base"/><child link="left"/></joint>
<joint name="b" type="continuous"><parent link="base"/><child link="right"/></joint></robot>
"""
GOOD_URDF = """<robot name="two">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.2 0 0" rpy="0.1 0.2 0.3"/><mass value="2.0"/>
      <inertia ixx="0.002" ixy="1e-4" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial>
    <visual><origin xyz="0.2 0 0"/><geometry><cylinder radius="0.03" length="0.4"/></geometry></visual>
    <collision><origin xyz="0.2 0 0"/><geometry><sphere radius="0.05"/></geometry></collision>
  </link>
  <link name="fore">
    <inertial><origin xyz="0.15 0 0"/><mass value="1.0"/>
      <inertia ixx="0.0005" ixy="0" ixz="0" iyy="0.008" iyz="0" izz="0.008"/></inertial>
    <visual><geometry><mesh filename="package://two_description/meshes/fore.stl"/></geometry></visual>
  </link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="60" velocity="3"/><dynamics damping="0.3" friction="0.1"/></joint>
  <joint name="slide" type="prismatic"><parent link="upper"/><child link="fore"/><origin xyz="0.4 0 0" rpy="0 0.1 0"/>
    <axis xyz="1 0 0"/><limit lower="0" upper="0.5" effort="30" velocity="1"/></joint>
  <joint name="flange" type="fixed"><parent link="fore"/><child link="tool"/><origin xyz="0.3 0 0"/></joint>
</robot>
"""
MJCF = """<mujoco model="swing">
  <compiler angle="degree"/>
  <default><geom type="capsule" size=".03" density="800"/></default>
  <worldbody>
    <body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" range="-120 120" damping=".1"/>
      <geom fromto="0 0 0 0 0 -.4"/>
      <body name="lower" pos="0 0 -.4"><joint name="elbow" axis="0 1 0" armature=".01"/>
        <geom fromto="0 0 0 0 0 -.3"/><site name="hand" pos="0 0 -.3"/></body></body>
  </worldbody>
</mujoco>"""
TENDON = MJCF.replace(
    "</mujoco>", '<tendon><fixed name="t" stiffness="5"><joint joint="elbow" coef="1"/></fixed></tendon></mujoco>'
)
XACRO = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="length" default="0.25"/>
  <xacro:property name="l" value="$(arg length)"/>
  <xacro:macro name="body" params="name m"><link name="${name}"><inertial><origin xyz="${l/2} 0 0"/><mass value="${m}"/>
    <inertia ixx="${m*l*l/100}" ixy="0" ixz="0" iyy="${m*l*l/12}" iyz="0" izz="${m*l*l/12}"/></inertial></link>
  </xacro:macro>
  <link name="base"/>
  <xacro:body name="a" m="2"/> <xacro:body name="b" m="1"/>
  <joint name="j1" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
  <joint name="j2" type="continuous"><parent link="a"/><child link="b"/><origin xyz="${l} 0 0"/><axis xyz="0 1 0"/>
  </joint>
</robot>
"""
TOML_DH = """
format = 1
name = "elbow"
gravity = [0, -9.81, 0]
tip = "hand"

[[dh.rows]]
joint = "shoulder"
a = 0.4
limit = { lower_deg = -120, upper_deg = 120, effort = 50 }
inertial = { mass = 3, com = [-0.2, 0, 0], inertia = [0.01, 0.05, 0.05] }
drive = { rotor_inertia = 2e-4, gear_ratio = 100, damping = 0.3, coulomb = [0.5, 0.6] }

[[dh.rows]]
joint = "elbow"
a = 0.3
inertial = { mass = 2, com = [-0.15, 0, 0], inertia = [0.005, 0.02, 0.02] }
drive = { damping = 0.2, friction = [{ law = "static", coulomb = [1.0, 1.2], breakaway = 1.5 }] }
shapes = [{ capsule = { radius = 0.03, from = [-0.3, 0, 0], to = [0, 0, 0] }, color = "#2f6fb0" }]
"""
TOML_LINKS = """
name = "slider"

[[links]]
name = "rail"
[[links]]
name = "cart"
inertial = { mass = 1.5 }
[[links]]
name = "mirror"
inertial = { mass = 1.5 }

[[joints]]
name = "slide"
kind = "prismatic"
parent = "rail"
child = "cart"
axis = [1, 0, 0]
limit = { lower = -0.5, upper = 0.5 }

[[joints]]
name = "follow"
kind = "prismatic"
parent = "rail"
child = "mirror"
axis = [1, 0, 0]
mimic = { joint = "slide", multiplier = -1 }

[[frames]]
name = "camera"
link = "cart"
xyz = [0, 0, 0.1]
rpy_deg = [0, 90, 0]
"""
TOML_LOOP = """
name = "dyad"
gravity = [0, -9.81, 0]
tip = "tool"
loops = [{ kind = "distance", first = "tool", second = "base", second_xyz = [1, 0, 0], length = 0.5 }]
home_deg = { joint1 = 60, joint2 = -60 }

[[dh.rows]]
a = 1
inertial = { mass = 1, com = [-0.5, 0, 0], inertia = [0.001, 0.083, 0.083] }

[[dh.rows]]
a = 1
inertial = { mass = 1, com = [-0.5, 0, 0], inertia = [0.001, 0.083, 0.083] }
"""
SCREWS = [[0, 0, 0, 0, 0, 1], [0, -0.4, 0, 0, 0, 1]]
TREES = [
    "panda",
    "ur5e",
    "ur10e",
    "iiwa7",
    "puma560",
    "stanford",
    "scara",
    "elbow-3r",
    "planar-1r",
    "planar-2r",
    "planar-3r",
    "planar-1r-points",
    "planar-2r-points",
    "planar-3r-points",
    "rp",
    "cartesian-pp",
]
CHAINS = ["four-bar", "five-bar", "parallelogram-arm", "delta", "stewart"]


def rod(m: float, length: float) -> Any:
    """A thin rod that ends at the frame of its DH row."""
    moment = m * length**2 / 12
    return dl.Inertial(mass=m, inertia=(1e-3, 0, 0, moment, 0, moment), origin=dl.Origin((-length / 2, 0, 0)))


@cache
def dh_arm() -> Any:
    """Three joints by a DH table, with inertias."""
    rows = [
        {"d": 0.3, "alpha": np.pi / 2, "inertial": rod(4.0, 0.1)},
        {"a": 0.4, "inertial": rod(2.0, 0.4), "kind": "revolute", "offset": 0.1},
        {"a": 0.3, "inertial": rod(1.0, 0.3)},
    ]
    return dl.Robot.from_dh(rows, name="three-joints")


calls("load", {f"bundled {name}": lambda name=name: robot_data(dl.load(name)) for name in (*TREES, *CHAINS)})
calls(
    "load",
    {
        "urdf": lambda: robot_data(dl.load(write("two.urdf", GOOD_URDF))),
        "urdf with a tip": lambda: robot_data(dl.load(write("fork.urdf", FORK), tip="right")),
        "urdf description": lambda: repr(dl.load(write("two.urdf", GOOD_URDF)).description),
        "mjcf": lambda: robot_data(dl.load(write("swing.xml", MJCF))),
        "mjcf without tendons": lambda: robot_data(dl.load(write("swing.xml", TENDON), allow=("tendons",))),
        "xacro": lambda: robot_data(dl.load(write("r.xacro", XACRO), xacro={"length": "0.5"})),
        "toml of DH rows": lambda: robot_data(dl.load(write("elbow.toml", TOML_DH))),
        "toml of links": lambda: robot_data(dl.load(write("slider.toml", TOML_LINKS), tip="camera")),
        "toml with a loop": lambda: robot_data(dl.load(write("dyad.toml", TOML_LOOP))),
        "DH": lambda: robot_data(dh_arm()),
        "modified DH": lambda: robot_data(
            dl.Robot.from_dh([{"a": 0.1, "alpha": 0.3}, {"d": 0.4, "kind": "prismatic"}], convention="modified")
        ),
        "DHRow": lambda: repr(dl.DHRow(a=1.0, alpha=0.2, inertial=rod(1.0, 1.0))),
        "screws": lambda: robot_data(dl.Robot.from_screws(SCREWS, dl.pose((0.7, 0, 0)))),
        "description types": lambda: [
            repr(x)
            for x in (
                dl.Drive(damping=0.2),
                dl.Limit(-1.0, 1.0),
                dl.Mimic("a"),
                dl.Origin((1, 2, 3)),
                dl.Loop("l", "hinge", "a", "b"),
            )
        ],
    },
)
calls(
    "write",
    {
        **{f"urdf {n}": lambda n=n: arm(n).to_urdf() for n in ("panda", "scara", "four-bar")},
        **{f"toml {n}": lambda n=n: arm(n).to_toml() for n in ("puma560", "planar-2r", "stewart")},
        "dh": lambda: {c: repr(arm("ur5e").to_dh(c)) for c in ("standard", "modified")},
        "screws": lambda: [*arm("ur5e").to_screws(), arm("scara").screw_bodies()],
        "files": lambda: [dh_arm().to_urdf("a.urdf"), dh_arm().to_toml("a.toml"), written("a.urdf", "a.toml")],
        "urdf and back": lambda: (
            dl.load(write("p.urdf", arm("puma560").to_urdf())).description == arm("puma560").description
        ),
    },
)
calls(
    "robot",
    {
        "repr": lambda: [repr(arm(n)) for n in ("panda", "four-bar")],
        "with_payload": lambda: robot_data(
            arm("ur5e").with_payload(2.0, com=(0, 0, 0.08), inertia=(0.01, 0, 0, 0.01, 0, 0.005))
        ),
        "without_payload": lambda: robot_data(arm("ur5e").with_payload(2.0).without_payload()),
        "with_gravity": lambda: arm("panda").with_gravity((0, 0, 9.81)).gravity_torque(one(7)[0]),
        "with_tip": lambda: arm("panda").with_tip("panda_link5").fk(one(7)[0]),
        "with_mass_error": lambda: arm("panda").with_mass_error(0.1).gravity_torque(one(7)[0]),
        "with_home": lambda: arm("planar-2r").with_home([0.1, 0.2]).home,
        "with_loop": lambda: repr(
            arm("four-bar")
            .tree()
            .with_loop("hinge", "coupler", "rocker", first_origin=(0.5, 0, 0), second_origin=(0.4, 0, 0), name="c")
            .description.loops
        ),
        "tree": lambda: robot_data(arm("four-bar").tree()),
        "locked": lambda: robot_data(
            dl.identification.locked(arm("panda"), dict.fromkeys(arm("panda").joint_names[4:], 0.0))
        ),
        "random_configuration": lambda: [
            arm("panda").random_configuration(seed=0),
            arm("scara").random_configuration(4, seed=2),
        ],
        "limits": lambda: arm("panda").limits,
        "bodies": lambda: arm("puma560").bodies,
        "parameters": lambda: [arm("puma560").parameters(rotor=True), arm("puma560").parameter_names(rotor=True)],
    },
)


# ---------------------------------------------------------------- core
def batch(n: int) -> Any:
    """A large batch, by which "bit for bit" is told."""
    return states(n, 2000, 1)


def dynamics(name: str) -> dict[str, Any]:
    """Kinematics and dynamics of a robot in five states."""
    robot = arm(name)
    q, qd, qdd = states(robot.n)
    tau = robot.inverse_dynamics(q, qd, qdd)
    return {
        "fk": robot.fk(q),
        "jacobian": robot.jacobian(q),
        "inverse_dynamics": tau,
        "forward_dynamics": robot.forward_dynamics(q, qd, tau),
        "mass_matrix": robot.mass_matrix(q),
        "coriolis_matrix": robot.coriolis_matrix(q, qd),
        "gravity_torque": robot.gravity_torque(q),
        "energies": [robot.kinetic_energy(q, qd), robot.potential_energy(q)],
    }


def of_panda(function: Callable[..., Any]) -> Callable[[], Any]:
    """A call with Panda and its five states."""
    return lambda: function(arm("panda"), *states(7))


FRAME_TERMS = ("world", "local", "spatial")
PUSH = np.array([1.0, -2.0, 5.0, 0.1, 0.2, -0.3])


def acts_on_robots() -> bool:
    """Whether wrenches act on robots: since 0.3.0. Before, robots applied them to their surroundings."""
    return "f_tip" not in inspect.signature(dl.Robot.inverse_dynamics).parameters


def applied(F: Any) -> Any:
    """The wrench that a robot applies."""
    return 0.0 - F if acts_on_robots() else F


def tip_input(F: Any, frame: str) -> dict[str, Any]:
    """The keywords of a simulation under the wrench F that a frame applies."""
    return {"wrenches": {frame: -np.asarray(F)}} if acts_on_robots() else {"f_tip": F, "frame": frame}


def by_tip(method: Callable[..., Any], *args: Any, F: Any, frame: str | None = None, **more: Any) -> Any:
    """A method under the wrench F that a frame applies: `f_tip` of 0.2.0, or `wrenches` with the opposite sign."""
    words = inspect.signature(method).parameters
    if "f_tip" in words:
        return method(*args, f_tip=F, **({} if frame is None else {"frame": frame}), **more)
    if "wrench" in words:
        return method(args[0], F, *args[1:], **more)
    robot = getattr(method, "__self__", None)
    robot = getattr(robot, "robot", robot)
    name = frame or (args[0].tip if robot is None else robot.tip)
    return method(*args, wrenches={name: -np.asarray(F, float)}, **more)


calls("dynamics", {name: lambda name=name: dynamics(name) for name in TREES})
calls(
    "dynamics",
    {
        "batch inverse": lambda: arm("panda").inverse_dynamics(*batch(7)),
        "batch forward": lambda: arm("panda").forward_dynamics(*batch(7)),
        "batch fk": lambda: arm("ur5e").fk(batch(6)[0]),
        "batch jacobian": lambda: arm("puma560").jacobian(batch(6)[0]),
        "batch mass matrix": lambda: arm("panda").mass_matrix(batch(7)[0]),
        "batch with threads": lambda: arm("panda").with_threads(2).inverse_dynamics(*batch(7)),
        "single precision": lambda: arm("panda").inverse_dynamics(*(x.astype(np.float32) for x in states(7))),
        "empty batch": lambda: arm("panda").inverse_dynamics(*np.empty((3, 0, 7))),
        "not finite": lambda: arm("planar-3r").inverse_dynamics([np.nan, 0, 0], [0, 0, 0], [0, 0, 0]),
        "out": lambda: arm("planar-2r").mass_matrix([0.1, 0.2], out=np.empty((2, 2))),
        "transform": of_panda(lambda a, q, v, u: a.transform(q, "panda_link3", "panda_link8")),
        "all frames": of_panda(lambda a, q, v, u: {f: a.fk(q, f) for f in a.frames}),
        "jacobian terms": of_panda(lambda a, q, v, u: {e: a.jacobian(q, expressed_in=e) for e in FRAME_TERMS}),
        "jacobian of a frame": of_panda(lambda a, q, v, u: a.jacobian(q, "panda_link4")),
        "jacobian_dot": of_panda(
            lambda a, q, v, u: {e: a.jacobian_dot(q, v, expressed_in=e) for e in ("world", "local")}
        ),
        "hessian": of_panda(lambda a, q, v, u: a.hessian(q)),
        "analytic_jacobian": of_panda(lambda a, q, v, u: {k: a.analytic_jacobian(q, angles=k) for k in ("rpy", "zyz")}),
        "fk_jacobian": of_panda(lambda a, q, v, u: list(a.fk_jacobian(q))),
        "com_jacobian": of_panda(lambda a, q, v, u: a.com_jacobian(q, "panda_link4")),
        "center of mass": of_panda(lambda a, q, v, u: [a.center_of_mass(q), a.center_of_mass_jacobian(q)]),
        "mass_matrix_dot": of_panda(lambda a, q, v, u: a.mass_matrix_dot(q, v)),
        "coriolis choices": of_panda(
            lambda a, q, v, u: {
                c: a.coriolis_matrix(q, v, c) for c in ("christoffel", "kronecker", "mdot-u/2", "ut-u/2")
            }
        ),
        "torques": of_panda(lambda a, q, v, u: [a.coriolis_torque(q, v), a.bias_torque(q, v)]),
        "friction_torque": lambda: arm("puma560").friction_torque(*states(6)[:2]),
        "christoffel": of_panda(lambda a, q, v, u: a.christoffel(q)),
        "momentum": of_panda(lambda a, q, v, u: [a.momentum(q, v), a.momentum(q, v, about="com")]),
        "with friction": lambda: arm("puma560").inverse_dynamics(*states(6), friction=True),
        "f_tip": of_panda(
            lambda a, q, v, u: [
                by_tip(a.inverse_dynamics, q, v, u, F=PUSH),
                by_tip(a.forward_dynamics, q, v, u, F=PUSH),
            ]
        ),
        "wrenches": of_panda(
            lambda a, q, v, u: a.inverse_dynamics(
                q,
                v,
                u,
                wrenches={
                    name: PUSH if "f_tip" in inspect.signature(a.inverse_dynamics).parameters else -PUSH
                    for name in ("panda_link3", "panda_link6")
                },
            )
        ),
        "moving base": of_panda(lambda a, q, v, u: a.inverse_dynamics(q, v, u, base_velocity=PUSH)),
        "forward methods": of_panda(
            lambda a, q, v, u: [
                worded(lambda m: a.forward_dynamics(q, v, u, method=m), w) for w in ("articulated", "factorised")
            ]
        ),
        "regressor": of_panda(lambda a, q, v, u: a.regressor(q, v, u)),
        "regressor with friction and rotors": lambda: arm("puma560").regressor(*states(6), friction=True, rotor=True),
        "inverse_dynamics_derivatives": of_panda(lambda a, q, v, u: list(a.inverse_dynamics_derivatives(q, v, u))),
        "forward_dynamics_derivatives": of_panda(lambda a, q, v, u: list(a.forward_dynamics_derivatives(q, v, u))),
        "linearize": of_panda(lambda a, q, v, u: list(a.linearize(q, v, u))),
        "matrix_form": lambda: list(arm("planar-3r").matrix_form([0.1, 0.2, 0.3])),
        "kernel derivative": lambda: arm("planar-3r").kernel("gravity_torque").derivative("q")(states(3)[0]),
        "kernel second derivative": lambda: (
            arm("planar-2r").kernel("potential_energy").derivative("q").derivative("q")([0.1, 0.2])
        ),
        "task_space": of_panda(lambda a, q, v, u: a.task_space(q, v)),
        "task_space rpy": of_panda(lambda a, q, v, u: pick(a.task_space(q, v, jacobian="rpy"), "M C c g J rows")),
        "task_space forces": lambda: [
            (task := arm("panda").task_space(*one(7)[:2])).force(PUSH),
            task.torque(PUSH),
            task.torque(PUSH, null=one(7)[2]),
            task.acceleration(PUSH),
        ],
        "task_space damped": lambda: pick(arm("planar-2r").task_space([0.3, 0.0], damping=0.1), "M J_bar rows"),
        "task_regressor": lambda: arm("puma560").task_regressor(*states(6), rotor=True),
    },
)

# ---------------------------------------------------------------- kinematics
Q7 = np.array([0.1, 0.4, 0.2, -1.8, 0.3, 1.9, 0.5])
X6 = np.array([0.3, -0.5, 0.8, 0.2, 0.7, 0.1])
MEASURES = ("yoshikawa", "condition", "isotropy", "smallest", "asada", "dynamic")
ROWS = ("pose", "position", "orientation", "planar", "z-axis", ("vx", "wz"))
TWIST = [0.1, 0, 0, 0, 0, 0.2]

calls(
    "kinematics",
    {
        "inverse_velocity": lambda: [
            arm("panda").inverse_velocity(Q7, TWIST),
            arm("panda").inverse_velocity(Q7, TWIST, joint_weights=[9, 9, 4, 4, 1, 1, 1]),
            arm("panda").inverse_velocity(Q7, TWIST, null_term=[0, 0, 1, 0, 0, 0, 0]),
            arm("planar-2r").inverse_velocity([0.3, 1e-3], [0.1, 0], damping=0.05),
        ],
        "inverse_velocity rows": lambda: [
            pick(arm("panda").inverse_velocity(Q7, v, rows=r), "qd rank")
            for r, v in (("position", [0.1, 0, 0]), (("vx", "wz"), [0.1, 0.2]))
        ],
        "null_space": lambda: pick(arm("panda").null_space(Q7), "projector dimension"),
        "pseudo_inverse": lambda: [
            at.pseudo_inverse(arm("panda").jacobian(Q7)),
            at.pseudo_inverse(arm("planar-2r").jacobian([0.1, 0.5])[:2]),
        ],
        "singularities": lambda: [
            arm("planar-2r").singularities([0.0, 0.0]),
            arm("puma560").singularities([0.3, 0.2, 0.1, 0.5, 0, 0.7]),
        ],
        "singularities of a batch": lambda: pick(
            arm("ur5e").singularities(states(6)[0]), "singular_values rank singular closeness"
        ),
        "nearest_singularity": lambda: pick(
            arm("puma560").nearest_singularity(X6), "q distance converged kinds words message"
        ),
        "singular_set": lambda: at.singular_set(arm("puma560"), 60).counts,
        "perturbed_singularity": lambda: [
            pick(at.perturbed_singularity(a, q), "kept removed size")
            for a, q in (
                (dl.Robot.from_dh([{"a": 1.0, "alpha": np.pi / 2}, {"a": 1.0}]), [0.3, np.pi]),
                (arm("planar-2r"), [0.3, 0.0]),
            )
        ],
        "decouple": lambda: at.decouple(arm("puma560"), X6),
        "manipulability": lambda: {m: arm("panda").manipulability(Q7, measure=m) for m in MEASURES},
        "manipulability rows": lambda: {str(r): arm("panda").manipulability(Q7, rows=r) for r in ROWS},
        "manipulability weights": lambda: [
            arm("panda").manipulability(Q7, rows=r) for r in ([1, 1, 1, 0, 0, 0.5], [True] * 3 + [False] * 3, [0, 0, 1])
        ],
        "manipulability batch": lambda: arm("ur5e").manipulability(batch(6)[0]),
        "manipulability_gradient": lambda: arm("panda").manipulability_gradient(Q7),
        "velocity_ellipsoid": lambda: [
            arm("planar-2r").velocity_ellipsoid([0.3, 0.8]),
            arm("panda").velocity_ellipsoid(Q7, joint_rates="limits"),
        ],
        "force_ellipsoid": lambda: [
            arm("planar-2r").force_ellipsoid([0.3, 0.8]),
            arm("panda").force_ellipsoid(Q7, torques="limits"),
        ],
        "acceleration_ellipsoid": lambda: arm("panda").acceleration_ellipsoid(Q7, rows="position"),
        "effective_mass": lambda: arm("planar-2r-points").effective_mass([0.0, np.pi / 2]),
        "effective_mass along": lambda: arm("panda").effective_mass(Q7, rows="position").along([1, 1, 0]),
        "static_torque": lambda: [
            by_tip(arm("panda").static_torque, Q7, F=PUSH),
            by_tip(arm("panda").static_torque, Q7, F=PUSH, gravity=True),
        ],
        "largest_force": lambda: arm("panda").largest_force(Q7, [0, 0, 1 if acts_on_robots() else -1]),
        "holding_torque": lambda: at.holding_torque(arm("panda"), Q7, 2.0),
        "virtual_work": lambda: (
            np.negative(at.virtual_work(arm("panda"), Q7, {arm("panda").tip: -PUSH}, np.ones(7), np.ones(7)))
            if acts_on_robots()
            else at.virtual_work(arm("panda"), Q7, PUSH, np.ones(7), np.ones(7))
        ),
        "largest_wrench": lambda: pick(
            at.largest_wrench(
                arm("planar-2r"),
                [0.3, 0.8],
                [0, -1 if acts_on_robots() else 1, 0, 0, 0, 0],
                torque_limits=30.0,
                A_eq=[[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 1]],
                b_eq=[0] * 4,
            ),
            "value wrench torque status",
        ),
        "workspace": lambda: pick(arm("planar-3r").workspace(2000), "q points phi values plane reach extent"),
        "workspace slice": lambda: pick(arm("planar-3r").workspace(2000).slice("phi", 0.0, 0.2), "points reach"),
        "workspace in space": lambda: pick(
            arm("panda").workspace(500, seed=3, measure="isotropy"), "points values reach extent"
        ),
    },
)

T6 = [0.4, -1.2, 1.1, -0.7, 0.9, 0.3]
Q_IK = [0.1, -0.4, 0.2, -2.0, 0.1, 1.7, 0.3]
SOLVED = "q converged position_error orientation_error iterations restarts reason"


def all_solutions(name: str, q: Sequence[float], **options: Any) -> dict[str, Any]:
    """Every closed-form solution of a robot for the pose of q."""
    found = arm(name).ik_all(arm(name).fk(q), **options)
    return {**pick(found, "q found singular family count"), "small": bool(np.nanmax(found.residual) < 1e-9)}


def solved(name: str, target: Any = None, **options: Any) -> dict[str, Any]:
    """What the numeric solver finds."""
    robot = arm(name)
    found = robot.ik(robot.fk(Q_IK[: robot.n]) if target is None else target, **options)
    data = {n: getattr(found, n) for n in SOLVED.split() if hasattr(found, n)}
    return {k: "small" if k.endswith("_error") and np.max(v) < 1e-6 else v for k, v in data.items()}


calls(
    "ik",
    {
        **{
            f"all {n}": lambda n=n: all_solutions(n, X6[: arm(n).n])
            for n in ("ur10e", "puma560", "stanford", "planar-3r", "planar-2r", "elbow-3r")
        },
        "all ur5e": lambda: all_solutions("ur5e", T6),
        "all scara": lambda: all_solutions("scara", [0.3, -1.2, 0.1, 0.4], limits=False),
        "all at a singularity": lambda: all_solutions(
            "puma560", [0.3, 0.2, 0.1, 0.5, 0.0, 0.7], q0=[0, 0, 0, 0, 0, 0.7]
        ),
        "all of a batch": lambda: all_solutions("ur5e", arm("ur5e").random_configuration(100, seed=0)),
        "out of reach": lambda: arm("ur5e").ik_all(dl.pose((5.0, 0, 0))).why(),
        "reason": lambda: [at.reason(arm("ur5e")), at.reason(arm("panda"))],
        "panda": lambda: solved("panda"),
        "positions": lambda: solved("panda", [[0.4, 0.2, 0.5], [3.0, 0.0, 0.0]], rows="position"),
        "away from limits": lambda: solved("panda", secondary="limits"),
        "near a posture": lambda: solved("panda", secondary=[0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.8]),
        "away from singularities": lambda: solved("panda", secondary="singularities"),
        "from a start": lambda: solved("ur5e", arm("ur5e").fk(T6), q0=[0.3, -1.0, 1.0, -0.5, 0.7, 0.2]),
        "batch": lambda: solved("panda", arm("panda").fk(arm("panda").random_configuration(20, seed=0))),
        "planar rows": lambda: solved("planar-3r", dl.pose((1.5, 0.5, 0), rpy=(0, 0, 0.5)), rows="planar"),
        "tracking_velocity": lambda: at.tracking_velocity(
            arm("panda"), Q_IK, arm("panda").fk(np.array(Q_IK) + 0.05), twist=np.zeros(6), gain=5.0
        ),
        "limited_velocity": lambda: at.limited_velocity(
            arm("panda"),
            Q_IK,
            [at.Task(arm("panda").jacobian(Q_IK)[:3], [0.1, 0, 0]), at.Task(np.eye(7), -np.array(Q_IK), level=1)],
            dt=0.01,
        ),
    },
)

# ---------------------------------------------------------------- symbols
SLIP = "I2 + m2*(r2**2 + l1*r2*sin(q2))"


@cache
def equations(name: str, **options: Any) -> Any:
    return arm(name).equations(**options)


calls(
    "symbolic",
    {
        **{
            f"text {n}": lambda n=n: equations(n).text()
            for n in ("planar-2r", "planar-2r-points", "rp", "cartesian-pp", "scara", "elbow-3r")
        },
        "text without lumps": lambda: equations("planar-2r").text(lump=False),
        "latex": lambda: equations("planar-2r").latex(),
        **{
            f"document {f}": lambda f=f: equations("planar-2r").derivation().write(f)
            for f in ("text", "markdown", "latex")
        },
        "entries": lambda: {
            x: equations("planar-2r").text(x)
            for x in ("M", "C", "g", "tau", "Gamma", "K", "P", "T", "J", "det", "Y", "M12")
        },
        "fk and jacobians": lambda: [
            str((e := equations("planar-3r")).fk()),
            str(e.jacobian()),
            str(e.com_jacobian("link2")),
        ],
        "centripetal and Coriolis": lambda: [
            str(equations("planar-2r").centripetal),
            str(equations("planar-2r").coriolis),
        ],
        "choices of C": lambda: {
            c: [str((e := equations("planar-2r")).coriolis_matrix(c)), e.keeps_skew_symmetry(c)]
            for c in ("christoffel", "ut-u/2")
        },
        "factored": lambda: [equations("planar-2r").factored("det"), equations("puma560").factored("det")],
        "regressor_in": lambda: str(
            equations("planar-2r-points", friction=True).regressor_in(["m1", "m2", "Fs1", "Fv1", "Fs2", "Fv2"])
        ),
        "friction": lambda: equations("planar-2r-points", friction=True).text("tau"),
        "numbers": lambda: equations("planar-2r", symbolic="none").text("M"),
        "lengths": lambda: equations("scara", symbolic="lengths").text("M"),
        "compare right": lambda: str(equations("planar-2r").compare("M12", "I2 + m2*(r2**2 + l1*r2*cos(q2))")),
        "compare wrong": lambda: str(equations("planar-2r").compare("M12", SLIP)),
        "kernel": lambda: equations("planar-2r").kernel("C")([0.1, 0.2], [1.0, 0.5]),
        "kernel sources": lambda: [
            equations("planar-2r").kernel("M").numpy_source(),
            equations("planar-2r").kernel("M").c_source(),
        ],
        "sympy": lambda: equations("planar-2r").sympy("M"),
        "of a constrained arm": lambda: str(wall().equations(symbolic="none").sympy("lambda")),
    },
)

# ---------------------------------------------------------------- code
calls(
    "code",
    {
        **{
            f"c {k}": lambda k=k: arm("planar-3r").kernel(k).c_source()
            for k in ("fk", "jacobian", "inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity_torque")
        },
        "c header": lambda: arm("scara").kernel("inverse_dynamics").c_header(),
        "c of panda": lambda: arm("panda").kernel("inverse_dynamics").c_source(),
        "numpy": lambda: arm("scara").kernel("inverse_dynamics").numpy_source(),
        "jax": lambda: arm("planar-2r").kernel("inverse_dynamics").jax_source(),
        "repr": lambda: [
            repr(arm("panda").kernel(k)) for k in ("fk", "inverse_dynamics", "mass_matrix", "coriolis_matrix")
        ],
        "derivative as c": lambda: arm("planar-2r").kernel("gravity_torque").derivative("q").c_source(),
        "compile_function": lambda: [
            (k := pendulum_kernel()).signature,
            k([0.3, 0.1], 0.5),
            k.derivative("x")([0.3, 0.0], 0.0),
            k.numpy_source(),
        ],
        "compile_rollout": lambda: list(
            swing_loop()(
                np.zeros((8, 2)), np.ones((8, 500, 1)), np.linspace(1, 9, 8)[:, None], steps=500, dt=0.01, every=100
            )
        ),
    },
)


def pendulum_kernel() -> Any:
    return at.compile_function(
        lambda x, u: [x[1], u - 9.81 * at.sin(x[0])], [(2,), ()], [(2,)], "pendulum", arguments=("x", "u")
    )


def swing_loop() -> Any:
    def swing(t: Any, dt: Any, x: Any, u: Any, p: Any) -> list[Any]:
        rate = x[1] + dt * (u[0] - p[0] * at.sin(x[0]))
        return [x[0] + dt * rate, rate]

    return at.compile_rollout([at.Call(swing, ("t", "dt", "x", "u", "p"), "new")], {"x": 2, "u": 1, "p": 1}, "swing")


# ---------------------------------------------------------------- friction
FRICTION = {
    "viscous": {"viscous": 0.3},
    "coulomb": {"coulomb": (0.3, 0.4)},
    "static": {"coulomb": 1.0, "breakaway": 1.5},
    "stribeck": {"coulomb": (0.3, 0.4), "breakaway": 0.5, "speed": 0.02, "viscous": 0.1},
}


@cache
def rough() -> Any:
    """Two joints with static friction."""
    drive = dl.Drive(damping=0.2, friction=(at.friction("static", coulomb=1.0, breakaway=1.5),))
    d = arm("planar-2r").description
    return dl.Robot(replace(d, joints=tuple(j if j.kind == "fixed" else replace(j, drive=drive) for j in d.joints)))


FRICTION_NAMES = ("viscous", "coulomb+", "coulomb-", "offset")
calls(
    "friction",
    {
        **{
            f"law {name}": lambda name=name, given=given: [
                [at.torque(term := at.friction(name, **given), v), at.slope(term, v)]
                for v in (-2.0, -0.01, 0.005, 0.3, 2.0)
            ]
            for name, given in FRICTION.items()
        },
        "laws": lambda: {name: [law.sentence, law.equation, law.parameters] for name, law in at.LAWS.items()},
        "smooth": lambda: [
            at.torque(at.friction("coulomb", coulomb=2.0, smooth="tanh", width=0.01), v) for v in (0.001, 0.1)
        ],
        "breakaway": lambda: [at.breakaway(at.friction(n, **g)) for n, g in FRICTION.items()],
        "equivalent damping": lambda: [
            at.equivalent_damping(at.friction("coulomb", coulomb=1.5), amplitude=0.1, frequency=5.0),
            at.structural_damping(100.0, 0.02, 5.0),
        ],
        "in the dynamics": lambda: rough().inverse_dynamics(*states(2), friction=True),
        "regressor": lambda: [
            rough().regressor(*states(2), friction=FRICTION_NAMES),
            rough().parameters(friction=FRICTION_NAMES),
            rough().parameter_names(friction=FRICTION_NAMES),
        ],
        "sticking": lambda: pick(
            dl.simulation.integrate(at.sticking(rough()), at.start(rough(), [0.4, 0.5]), 1e-3, 5000, every=250), "t x y"
        ),
        "simulate sticking": lambda: run_data(
            simulate(rough(), q0=[0.4, 0.5], duration=2.0, friction="sticking", every=50)
        ),
    },
)

# ---------------------------------------------------------------- constrained, closed chains
CRANK = [0.2, 0, 0]


@cache
def four_bar() -> Any:
    return dl.Constrained(arm("four-bar"))


@cache
def turned() -> Any:
    """The four-bar with its crank turned, closed again, and moving."""
    q = four_bar().close(arm("four-bar").home + CRANK, fixed=["crank"]).q
    return four_bar().project(q, np.array([1.0, 0, 0]), steps=2)


@cache
def wall() -> Any:
    """A planar arm whose tip slides along x = 1."""
    row = {"a": 1.0, "inertial": dl.Inertial(1.0, (0,) * 6)}
    planar = dl.Robot.from_dh([row] * 2, gravity=(0, 0, 0))
    return dl.Constrained(planar, dl.constrained.plane(point=(1, 0, 0), normal=(1, 0, 0), name="channel"))


Q_WALL, QD_WALL = [-np.pi / 3, 2 * np.pi / 3], [1, 0]


@call("constrained/ring")
def _ring() -> Any:
    panda = arm("panda")
    ring = dl.constrained.holonomic(
        lambda q, tip: [tip.p[0] * tip.p[0] + tip.p[2] * tip.p[2] - 0.25, tip.p[1]], frames=[None], name="ring"
    )
    system = dl.Constrained(panda, [ring, dl.constrained.couple({"panda_joint1": 1.0}, name="waist")])
    q = system.close(panda.random_configuration(seed=1)).q
    return [q, system.rank(q), system.freedoms(q), system.jacobian(q)]


@call("constrained/knife edge")
def _pfaffian() -> Any:
    system = dl.Constrained(arm("cartesian-pp"), dl.constrained.pfaffian(lambda q: [[at.sin(q[0]), -1.0]], name="edge"))
    q = np.array([0.3, 0.1])
    return list(system.forward_dynamics(q, *system.project(q, np.array([1.0, 0.2]))[1:], np.array([1.0, 2.0])))


@call("constrained/channel and hold")
def _channel() -> Any:
    made = {
        "channel": dl.constrained.channel(point=(1, 0, 0), direction=(0, 1, 0)),
        "hold": dl.constrained.hold("ball", at=dl.pose((1.0, 0.5, 0.0))),
    }
    found = {}
    for name, constraint in made.items():
        system = dl.Constrained(arm("planar-3r"), constraint)
        close = system.close([0.3, 0.6, -0.9])
        found[name] = [close.q, close.closed, system.rank(close.q), system.freedoms(close.q), system.redundant(close.q)]
    return found


calls(
    "constrained",
    {
        "close": lambda: pick(four_bar().close(arm("four-bar").home + CRANK, fixed=["crank"]), "q closed"),
        "project": lambda: list(turned()),
        "freedoms": lambda: [
            four_bar().freedoms(turned()[0]),
            four_bar().rank(turned()[0]),
            four_bar().redundant(turned()[0]),
        ],
        "forward_dynamics": lambda: list(four_bar().forward_dynamics(*turned(), np.array([0.5, 0, 0]))),
        "reduced": lambda: [
            (r := four_bar().reduced(turned()[0], ["crank"])).coordinates(turned()[1]),
            r.forward_dynamics(turned()[0], r.coordinates(turned()[1]), np.array([0.5, 0, 0])),
        ],
        "inverse_dynamics of stewart": lambda: (s := dl.Constrained(arm("stewart"))).inverse_dynamics(
            arm("stewart").home,
            np.zeros(24),
            np.zeros(24),
            actuated=[n for n in s.robot.joint_names if n.startswith("leg")],
        ),
        "homes": lambda: {n: pick(dl.Constrained(arm(n)).close(arm(n).home), "q closed") for n in CHAINS},
        "wall": lambda: [
            *wall().forward_dynamics(Q_WALL, QD_WALL, tau=[0, 0]),
            wall().projection(Q_WALL),
            wall().jacobian(Q_WALL),
            wall().jacobian_dot(Q_WALL, QD_WALL),
            applied(wall().tip_wrench(Q_WALL, [-1 / 6])),
            applied(wall().tip_wrench(Q_WALL, [-1 / 6], rows=("vx", "vy"))),
        ],
        "wall projections": lambda: [
            wall().acceleration_projection(Q_WALL),
            applied(wall().constraint_wrench(Q_WALL, [-1 / 6], "channel")),
            wall().residual(Q_WALL),
            wall().k,
        ],
        "wall inverse_dynamics": lambda: wall().inverse_dynamics(
            Q_WALL, QD_WALL, [0.3, -2 / np.sqrt(3)], multipliers=[5.0]
        ),
        "flow": lambda: pick(
            dl.simulation.integrate(wall().flow(), [*Q_WALL, *QD_WALL], dt=1e-3, steps=1000, every=100), "t x y"
        ),
        "simulate": lambda: run_data(
            simulate(four_bar(), q0=turned()[0], qd0=turned()[1], duration=0.5, tau=[1.5, 0, 0], every=20),
            "multipliers",
        ),
        "violated": lambda: wall().forward_dynamics(Q_WALL, [0, 1], [0, 0]),
        "tree only": lambda: arm("four-bar").forward_dynamics(arm("four-bar").home, np.zeros(3), np.zeros(3)),
    },
)


# ---------------------------------------------------------------- Lagrange
@cache
def pendulum() -> Any:
    """A damped pendulum in symbols."""
    import sympy as sp

    theta = dl.coordinates("theta")
    m, l, g, b = sp.symbols("m l g b", positive=True)
    return dl.LagrangianSystem(
        theta,
        kinetic=m * l**2 * dl.rate(theta) ** 2 / 2,
        potential=-m * g * l * sp.cos(theta),
        dissipation=b * dl.rate(theta) ** 2 / 2,
        name="pendulum",
    )


@cache
def swing() -> Any:
    return pendulum().with_parameters(m=2, l=0.5, g=9.81, b=0.1)


@cache
def example(name: str) -> Any:
    return at.EXAMPLES[name]()


@cache
def bob() -> Any:
    """A pendulum by a constraint."""
    import sympy as sp

    x, y = dl.coordinates("x y")
    m, l, g = sp.symbols("m l g", positive=True)
    return dl.LagrangianSystem.from_bodies(
        (x, y), dl.Particle(m, (x, y)), (0, -g), constraints=[x**2 + y**2 - l**2], parameters={m: 2, l: 0.5, g: 9.81}
    )


BOB = ([0.3, -0.4], [0.8, 0.6], [0.0, 0.0])
EXAMPLES = [
    "bead-on-a-hoop",
    "five-bar",
    "geared-arm",
    "geared-link",
    "knife-edge",
    "mass-spring-damper",
    "particle-on-a-line",
    "planar-2r",
    "rod-and-ball",
    "two-particles-on-a-wire",
]


def lagrangian(name: str) -> dict[str, Any]:
    """An example in symbols."""
    system = example(name)
    return {**pick(system, "M C g equations"), "latex": system.latex()}


@call("lagrange/from_bodies")
def _bodies() -> Any:
    import sympy as sp

    q1, q2 = dl.coordinates("q1 q2")
    m1, m2, l1, r1, r2, I1, I2, g, F = sp.symbols("m1 m2 l1 r1 r2 I1 I2 g F", positive=True)

    def unit(angle: Any) -> Any:
        return sp.Matrix([sp.cos(angle), sp.sin(angle)])

    far = l1 * unit(q1) + r2 * unit(q1 + q2)
    two = dl.LagrangianSystem.from_bodies(
        (q1, q2),
        [dl.RigidBody(m1, I1, r1 * unit(q1), angle=q1), dl.RigidBody(m2, I2, far, angle=q1 + q2)],
        gravity=(0, -g),
    )
    pushed = dl.LagrangianSystem((q1, q2), two.kinetic, forces=[((F, 0), far)], inputs=[F])
    return [two.M, two.C, two.g, str(two.Gamma), pushed.B]


calls(
    "lagrange",
    {
        **{f"example {n}": lambda n=n: lagrangian(n) for n in EXAMPLES},
        "pendulum": lambda: [pendulum().equations, pendulum().M, pendulum().g, pendulum().latex(), repr(pendulum())],
        "rate": lambda: dl.rate((c := dl.coordinates("x y"))[0] * c[1], list(c)),
        "dynamics": lambda: [
            swing().inverse_dynamics(*states(1)),
            swing().forward_dynamics(*states(1)),
            swing().mass_matrix(states(1)[0]),
        ],
        "linearize": lambda: list(swing().linearize([0.0], [0.0], [0.0])),
        "code": lambda: swing().kernel("forward_dynamics").c_source(),
        "parameters": lambda: [
            (k := pendulum().kernel("inverse_dynamics", parameters=("m", "l", "g", "b")))(
                *states(1), [2, 0.5, 9.81, 0.1]
            ),
            k.derivative("parameters")(*states(1), [2, 0.5, 9.81, 0.1]),
        ],
        "constraint": lambda: [
            bob().forward_dynamics(*BOB),
            bob().multipliers(*BOB),
            bob().degrees_of_freedom,
            bob().virtual_displacements,
        ],
        "constraint numbers": lambda: [
            bob().jacobian(BOB[0]),
            bob().jacobian_dot(*BOB[:2]),
            bob().residual(BOB[0]),
            bob().kinetic_energy(*BOB[:2]),
            bob().potential_energy(BOB[0]),
        ],
        "symbols": lambda: pick(
            bob(), "A A_dot lagrangian multiplier_symbols free_parameters velocities accelerations"
        ),
        "state_space": lambda: pick(method(pendulum(), "state_space")(), "f x u"),
        "planar-2r numbers": lambda: [
            (e := example("planar-2r")).forward_dynamics(*states(2)),
            e.coriolis_matrix(*states(2)[:2]),
            e.kinetic_energy(*states(2)[:2]),
        ],
        "simulate": lambda: run_data(simulate(swing(), q0=[0.8], duration=2.0, every=50)),
        "simulate a constraint": lambda: run_data(simulate(bob(), q0=BOB[0], qd0=BOB[1], duration=0.5, every=20)),
        "flow with parameters": lambda: pick(
            dl.simulation.integrate(
                flow_of(pendulum().with_parameters(g=9.81, b=0.1), parameters=("m", "l")),
                [0.5, 0.0],
                1e-3,
                500,
                every=50,
                parameters={"m": 2.0, "l": np.array([0.4, 0.6])},
            ),
            "t x",
        ),
    },
)


# ---------------------------------------------------------------- actuation
@cache
def motor() -> Any:
    return dl.DCMotor(
        resistance=1.2,
        torque_constant=0.05,
        inductance=2e-3,
        damping=1e-5,
        inertia=2e-5,
        max_voltage=24,
        max_current=10,
    )


@cache
def driven(**options: Any) -> Any:
    return dl.DrivenRobot(arm("planar-2r"), motor(), [50, 30], **options)


@cache
def soft() -> Any:
    return dl.FlexibleRobot(arm("planar-2r"), stiffness=[400, 250], rotor_inertia=2e-5, gear_ratio=[80, 60])


@cache
def beam() -> Any:
    return at.FlexibleLink(length=1.0, density=0.5, bending_stiffness=20.0, hub_inertia=0.05, modes=4)


X_DRIVEN = np.array([0.3, 0.5, 0.1, -0.2, 1.0, 0.5])
X_SOFT = np.concatenate([states(2)[0, 0], states(2)[0, 0] + 0.01, states(2)[1, 0], states(2)[1, 0]])

calls(
    "actuation",
    {
        "motor": lambda: {
            **pick(
                motor(),
                "stall_torque no_load_speed K_m electrical_time_constant mechanical_time_constant total_damping",
            ),
            "poles": motor().poles(load=1e-4),
            "curve": motor().steady_torque(np.full(9, 24.0), np.linspace(0, 400, 9)),
            "efficiency": motor().efficiency(np.full(9, 24.0), np.linspace(1, 400, 9)),
            "text": repr(motor()),
        },
        "transmissions": lambda: [
            (belts := at.remote([50, 30])).matrix,
            at.differential(20).matrix,
            belts.reflected([2e-5, 2e-5]),
            repr(dl.Transmission.gears([dl.Gear(50, efficiency=0.9), 30])),
        ],
        "driven": lambda: [
            driven().states,
            driven().inputs,
            rate_of(driven())(X_DRIVEN, [12.0, 6.0]),
            driven().mass_matrix([0.3, 0.5]),
        ],
        "driven, reduced": lambda: [
            driven(reduced=True).states,
            rate_of(driven(reduced=True))(X_DRIVEN[:4], [12.0, 6.0]),
        ],
        "holding": lambda: pick(driven().holding([0.3, 0.5]), "input torque state reachable"),
        "linearize": lambda: list(driven().linearize(X_DRIVEN, [12.0, 6.0])),
        "equilibrium": lambda: pick(driven().equilibrium([-0.5, 0.2], q0=[-1.5, 0.0]), "q converged stable message"),
        "driven flow": lambda: pick(
            dl.simulation.integrate(driven().flow(), np.zeros(6), 1e-4, 2000, [12.0, 6.0], every=100), "t x y"
        ),
        "driven outputs": lambda: [driven().flow().outputs, at.LOSSES, at.ENERGIES],
        "lossy gears": lambda: rate_of(
            dl.DrivenRobot(
                arm("planar-1r"), dl.TorqueSource(), dl.Transmission.gears([dl.Gear(50, efficiency=0.8, backward=0.7)])
            )
        )([[0.3, 0.5], [0.3, -0.5]], [0.2]),
        "fluid drive": lambda: rate_of(
            d := dl.DrivenRobot(arm("planar-1r"), dl.FluidDrive(gain=100.0, max_force=500.0, time_constant=0.05), [1.0])
        )(np.linspace(0.1, 0.3, len(d.states)), [2.0]),
        "gear_report": lambda: [
            str(r := at.gear_report(arm("planar-2r"), motor(), [600, 600], samples=500)),
            r.verdict(),
        ],
        "geared_model": lambda: at.geared_model(driven(), [0.1, 0.2], [0.3, 0.4]),
        "rotors": lambda: at.with_rotors(
            arm("elbow-3r"), {n: at.Rotor(inertia=1e-4, ratio=80) for n in arm("elbow-3r").joint_names}
        ).mass_matrix(states(3)[0]),
        "flexible": lambda: [
            soft().states,
            soft().inputs,
            rate_of(soft())(X_SOFT, [1.0, 0.5]),
            soft().joint_torque(*np.split(X_SOFT, 4)),
        ],
        "deflection": lambda: pick(by_tip(soft().deflection, [0.5, -0.4], F=[0, 30, 0, 0, 0, 0]), "q converged stable"),
        "motor_positions": lambda: by_tip(soft().motor_positions, [0.4, -0.3], F=[0, 30, 0, 0, 0, 0]),
        "rigid_acceleration": lambda: [
            soft().rigid_acceleration([0.3, 0.5], [0.1, 0.2], [1.0, 0.5]),
            soft().slow_motor_positions([0.3, 0.5], [0.1, 0.2], [1.0, 0.5]),
        ],
        "modes": lambda: [(m := soft().modes([0.3, 0.5])).locked, m.free[2:]],
        "flexible simulate": lambda: run_data(
            simulate(soft(), q0=[0.3, 0.5], duration=0.1, dt=1e-4, tau=[0.2, 0.1], every=50)
        ),
        "driven simulate": lambda: run_data(
            simulate(driven(), q0=[0.5, 0.3], duration=0.1, dt=1e-4, tau=[2.0, 1.0], every=50)
        ),
        "flexible link": lambda: [
            beam().roots,
            beam().frequencies("clamped"),
            beam().frequencies("free"),
            beam().states,
            beam().mass_matrix,
        ],
    },
)

# ---------------------------------------------------------------- mass
calls(
    "mass",
    {
        "solids": lambda: {
            "box": dl.mass.box(2.0, (0.1, 0.2, 0.3)).matrix(),
            "cylinder": dl.mass.cylinder(2.0, 0.1, 0.4).matrix(),
            "capsule": dl.mass.capsule(2.0, 0.1, 0.4).matrix(),
            "sphere": dl.mass.sphere(2.0, 0.1, hollow=True).matrix(),
            "cone": dl.mass.cone(2.0, 0.1, 0.4).matrix(),
            "rod": dl.mass.rod(2.0, 0.4).matrix(),
        },
        "composed": lambda: [
            (
                link := dl.mass.compose(
                    [
                        (
                            at.Pose(),
                            dl.mass.without(dl.mass.cylinder(8.5, 0.05, 0.4), dl.mass.cylinder(6.9, 0.045, 0.4)),
                        ),
                        (at.Pose(p=(0, 0, 0.2)), dl.mass.cylinder(1.5, 0.04, 0.1)),
                    ]
                )
            ).m,
            link.com(),
            np.array(link.about_com()),
            repr(dl.mass.to_inertial(link)),
        ],
        "from density": lambda: [
            (c := dl.mass.from_density(at.Cylinder(radius=0.05, length=0.4), lambda x, y, z: 2.7e3 * (1 - 0.5 * z))).m,
            c.com(),
        ],
        "mesh": lambda: dl.mass.mesh(
            [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], density=600.0
        ).matrix(),
        "about axes": lambda: [
            dl.mass.moment_about_axis(dl.mass.box(2.0, (0.1, 0.2, 0.3)), (0.1, 0, 0), (0, 0, 1)),
            dl.mass.parallel_axis(np.eye(3), 2.0, (0.1, 0.2, 0.3)),
        ],
    },
)

# ---------------------------------------------------------------- trajectories
A7 = np.array([0, -0.5, 0, -2, 0, 1.6, 0.8])
B7 = A7 + np.array([0.6, 0.4, -0.3, 0.5, 0.2, 0.3, -0.4])
SINES = ([[0.5, 0.0], [0.0, 0.4]], [0.32, 0.48])


@cache
def sines() -> Any:
    """A motion of two joints."""
    return dl.trajectories.sines(*SINES, offset=[0.3, -0.4])


@cache
def circle() -> Any:
    """A circle that Panda's tool goes round."""
    T = arm("panda").fk(A7)
    return dl.trajectories.circle(T[:3, 3] + [0.1, 0, 0], [0, 0, 1], T)


@cache
def on_circle() -> Any:
    law = dl.trajectories.trapezoid(0, circle().duration, velocity=0.25, acceleration=1.0)
    return dl.trajectories.along(circle(), law)


MOTIONS: dict[str, Callable[[Door], Any]] = {
    "cubic": lambda tr: tr.cubic(A7, B7, 2.0, start_velocity=0.1),
    "quintic": lambda tr: tr.quintic(A7, B7, 2.0, end_acceleration=0.2),
    "quintic as fast as allowed": lambda tr: tr.quintic(A7, B7, velocity=1.0, acceleration=4.0),
    "septic": lambda tr: tr.septic(A7, B7, 2.0, start_jerk=0.3),
    "minimum_jerk": lambda tr: tr.minimum_jerk(A7, B7, 2.0, robot=arm("panda")),
    "trapezoid": lambda tr: tr.trapezoid(A7, B7, acceleration=5.0, robot=arm("panda")),
    "trapezoid by time": lambda tr: spelled(tr.trapezoid, A7, B7, acceleration=5.0, velocity=1.0, synchronise="time"),
    "s_curve": lambda tr: tr.s_curve(A7, B7, acceleration=5.0, jerk=50.0, robot=arm("panda")),
    "jerk_limited": lambda tr: tr.jerk_limited([0, 0.1], [1, 0.5], velocity=1.0, acceleration=2.0, jerk=10.0),
    "spline": lambda tr: tr.spline(np.stack([A7, A7 + 0.2, B7, A7]), ends="clamped", velocity=1.0, acceleration=3.0),
    "spline with times": lambda tr: tr.spline([[0, 0], [1, 0.5], [0, 1]], times=[0, 1, 2.5]),
    "spline of degree 5": lambda tr: tr.spline([[0, 0], [1, 0.5], [0, 1], [0.2, 0.3]], duration=3.0, degree=5),
    "periodic spline": lambda tr: tr.spline([[0, 0], [1, 0.5], [0, 1], [0, 0]], duration=3.0, ends="periodic"),
    "sampled": lambda tr: tr.sampled(*tr.quintic([0, 0], [1, 2], 2.0).sample(0.1), interpolation="quintic"),
    "set_point": lambda tr: tr.set_point([0.1, 0.2], 0.5),
    "sequence": lambda tr: tr.sequence(
        tr.minimum_jerk(A7, B7, 1.0), tr.set_point(B7, 0.5), tr.minimum_jerk(B7, A7, 1.0)
    ),
    "sines": lambda tr: sines(),
    "fourier": lambda tr: tr.fourier([[0.1, 0.2], [-0.1, 0.3]], [[0.2, 0.1], [0.0, 0.1]], 0.2),
    "random_fourier": lambda tr: tr.random_fourier(arm("panda"), harmonics=5, frequency=0.1, acceleration=10.0, seed=1),
    "blended": lambda tr: tr.blended([[0, 0], [1, 0.5], [0, 1]], times=[0, 1, 2], blend=0.2),
    "blended of degree 5": lambda tr: tr.blended([[0, 0], [1, 0.5], [0, 1]], times=[0, 1, 2], blend=0.2, degree=5),
    "line": lambda tr: tr.line([0, 0, 0], [0.1, 0.2, 0.3]),
    "line of poses": lambda tr: tr.line(dl.pose(), dl.pose(**T_ANY)),
    "circle": lambda tr: circle(),
    "arc": lambda tr: tr.arc([1, 0, 0], [0, 1, 0], [-1, 0, 0]),
    "via": lambda tr: tr.via([[0, 0, 0], [1, 0, 0.2], [1, 1, 0.1]]),
    "via poses": lambda tr: tr.via([dl.pose(), dl.pose(**T_ANY), dl.pose((1, 1, 0))]),
    "along": lambda tr: on_circle(),
    "screw": lambda tr: tr.along(tr.screw(dl.pose(), dl.pose(**T_ANY)), tr.quintic(0, 1, 2.0)),
    "to_joints": lambda tr: tr.to_joints(arm("panda"), on_circle(), A7),
}

calls("trajectories", {name: lambda make=make: motion_data(make(dl.trajectories)) for name, make in MOTIONS.items()})


@cache
def fastest() -> Any:
    tr = dl.trajectories
    path = tr.spline([[0.0, 0.0], [0.5, 0.3], [1.0, 0.2]], duration=1.0)
    return tr.time_optimal(path, arm("planar-2r"), velocity=3.0, torque=[40.0, 15.0], grid=200)


calls(
    "trajectories",
    {
        "poses": lambda: list(dl.trajectories.poses(on_circle(), [0.0, 0.5, 1.0])),
        "time_optimal": lambda: {**motion_data(fastest()), "certificate": fastest().certificate},
        "time_optimal by acceleration": lambda: motion_data(
            dl.trajectories.time_optimal(
                dl.trajectories.line([0, 0, 0], [0.1, 0.2, 0.3]), velocity=1.0, acceleration=10.0, grid=200
            )
        ),
        "to_joints certificate": lambda: (
            dl.trajectories.to_joints(arm("panda"), on_circle(), A7).certificate.position_error < 1e-6
        ),
        "csv": lambda: [fastest().to_csv("m.csv", 0.1), written("m.csv")],
        "samples": lambda: list(dl.trajectories.minimum_jerk([0, 0], [1, 2], 1.0).sample(0.1)),
        "jerk": lambda: dl.trajectories.quintic([0, 0], [1, 2], 1.0).jerk(np.linspace(0, 1, 5)),
        "repr": lambda: [repr(sines()), repr(dl.trajectories.quintic([0, 0], [1, 2], 1.0))],
    },
)

# ---------------------------------------------------------------- simulation
FIXED = [
    "euler",
    "semi-implicit-euler",
    "midpoint",
    "heun",
    "ralston",
    "verlet",
    "implicit-midpoint",
    "rk3",
    "rk4",
    "three-eighths",
    "dormand-prince",
    "rk6",
    "rk8",
]
ADAPTIVE = ["DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA"]
GO = {"q0": [0.5, 0.3], "duration": 0.5, "every": 25}


def two(controller: Any = None, **options: Any) -> dict[str, Any]:
    """A run of the planar arm with two joints."""
    return run_data(simulate(arm("planar-2r"), controller, **{**GO, **options}))


def pd_function(t: float, q: Any, qd: Any) -> Any:
    """A controller that is a plain function."""
    return 80 * (np.array([0.2, 0.1]) - q) - 20 * qd + arm("planar-2r").gravity_torque(q)


@cache
def pd_law() -> Any:
    names = ("joint1", "joint2", "joint1_rate", "joint2_rate")
    return at.Law(
        "pd",
        names,
        ("r1", "r2"),
        ("joint1_torque", "joint2_torque"),
        lambda t, y, r, z, p: [p[0] * (r[k] - y[k]) - p[1] * y[2 + k] for k in range(2)],
        parameters={"kp": 200.0, "kd": 30.0},
    )


def followed(t: float) -> list[float]:
    return [0.2 * math.sin(t), 0.1]


LAW = {"reference": followed, "sample_time": 0.002}
calls("simulate", {f"method {m}": lambda m=m: two(method=m, dt=1e-3) for m in FIXED})
calls("simulate", {f"method {m}": lambda m=m: two(method=m, dt=0.02, every=1) for m in ADAPTIVE})
calls(
    "simulate",
    {
        "symplectic": lambda: two(method="symplectic"),
        "tolerances": lambda: two(method="DOP853", dt=0.05, every=1, rtol=1e-12, atol=1e-12),
        "torques": lambda: two(tau=lambda t: [3 * np.sin(t), 0.5]),
        "torque rows": lambda: two(tau=np.linspace(0, 1, 1000).reshape(500, 2)),
        "f_tip": lambda: two(**tip_input([0, 2.0, 0, 0, 0, 0], "tool")),
        "f_tip in a frame": lambda: two(**tip_input([0, 2.0, 0, 0, 0, 0], "link1")),
        "disturbance": lambda: two(disturbance=lambda t: [0.1, -0.2 * t]),
        "function": lambda: two(pd_function),
        "function, sampled": lambda: two(pd_function, sample_time=0.005, torque_limits=30),
        "law": lambda: two(pd_law(), reference=[0.2, 0.1]),
        "law, sampled": lambda: two(pd_law(), **LAW),
        "delay": lambda: two(pd_law(), delay=0.004, **LAW),
        "noise": lambda: two(pd_law(), noise={"q": 1e-4}, seed=1, **LAW),
        "noise of everything": lambda: two(pd_law(), noise=1e-4, seed=3, **LAW),
        "quantization": lambda: two(pd_law(), quantisation={"q": 2 * np.pi / 4096}, **LAW),
        "all sensors": lambda: two(
            pd_law(),
            noise={"q": 1e-4, "qd": 1e-3},
            quantisation={"q": 1e-3},
            delay=0.004,
            torque_limits=20,
            seed=1,
            **LAW,
        ),
        "every": lambda: two(every=100),
        "motion as reference": lambda: two(dl.control.ComputedTorque(arm("planar-2r"), omega=8.0), reference=sines()),
        "torque limits": lambda: two(
            dl.control.PDGravity(arm("planar-2r"), kp=80.0, kd=20.0), reference=[1, 1], torque_limits=[25, 8]
        ),
        "windup is told": lambda: two(
            method(dl.control.JointPID, "tuned")(arm("planar-2r"), 6.0), reference=[1.0, 1.0], torque_limits=[21, 8]
        ),
        "z0": lambda: two(
            method(dl.control.JointPID, "tuned")(arm("planar-2r"), 6.0), reference=[1.0, 1.0], z0=[0.1, 0.2]
        ),
        "x0": lambda: run_data(simulate(arm("planar-2r"), x0=[0.1, 0.2, 0.3, -0.4], duration=0.2, every=20)),
        "puma with friction": lambda: run_data(simulate(arm("puma560"), q0=X6, duration=0.2, friction=True, every=20)),
        "panda": lambda: run_data(simulate(arm("panda"), q0=Q7, duration=0.2, every=20)),
        "panda, controlled": lambda: run_data(
            simulate(
                arm("panda"),
                dl.control.ComputedTorque(arm("panda"), omega=10.0),
                q0=Q7,
                reference=Q7 + 0.2,
                duration=0.5,
                every=50,
            )
        ),
        "limits stop": lambda: (
            run_data(
                r := simulate(arm("scara"), q0=[0.1, 0.2, 0.1, 0.0], duration=1.0, limits="stop", every=50), "status"
            )
            | {"events": r.events, "beyond": r.beyond}
        ),
        "limits bounce": lambda: run_data(
            simulate(arm("scara"), q0=[0.1, 0.2, 0.1, 0.0], duration=1.0, limits="bounce", every=50)
        ),
        "limits report": lambda: (
            run_data(r := simulate(arm("scara"), q0=[0.1, 0.2, 0.1, 0.0], duration=1.0, limits="report", every=50))
            | {"events": r.events, "beyond": r.beyond}
        ),
        "not a number": lambda: two(tau=lambda t: [0, np.nan if t > 0.25 else 1], every=None),
        "diverged": lambda: run_data(
            simulate(
                arm("planar-2r"),
                lambda t, q, qd: 1e5 * qd,
                q0=[0.5, 0.3],
                qd0=[0.1, 0],
                duration=1.0,
                dt=0.01,
                every=10,
            )
        ),
        "flow": lambda: run_data(
            simulate(
                at.Flow("spring", ("x", "v"), ("force",), lambda t, x, u: [x[1], u[0] - 4 * x[0]], positions=1),
                q0=[1.0],
                duration=1.0,
                tau=[0.5],
                every=50,
            )
        ),
        "csv": lambda: [
            simulate(arm("planar-2r"), q0=[0.5, 0.3], duration=0.02, every=5).to_csv("run.csv"),
            written("run.csv"),
        ],
        "dictionary": lambda: simulate(arm("planar-2r"), q0=[0.5, 0.3], duration=0.1, every=20).to_dict(),
        "audit": lambda: str(simulate(arm("planar-2r"), q0=[0.5, 0.3], duration=1.0, tau=[1.0, 0.5]).audit()),
    },
)

GOAL = np.array([0.0, 0.3, 0.0, -1.5, 0.0, 1.8, 0.0])


def starts(count: int = 50) -> np.ndarray:
    return GOAL + np.random.default_rng(0).uniform(-0.2, 0.2, (count, 7))


@cache
def panda_law() -> Any:
    return dl.control.ComputedTorque(arm("panda"), omega=10.0, zeta=1.0)


def integrated(flow: Any, *arguments: Any, **options: Any) -> dict[str, Any]:
    return pick(dl.simulation.integrate(flow, *arguments, **options), "t x y diverged_at")


@cache
def gain_loop() -> tuple[Any, Any]:
    c = method(dl.control.PDGravity, "tuned")(arm("planar-2r"), omega=6.0)
    return c, closed(flow_of(arm("planar-2r")), c.law(), [0.5, 0.3])


def plant_and_law() -> tuple[Any, Any]:
    """A mass, and a PD law for it."""
    plant = at.Flow("mass", ("x", "v"), ("force",), lambda t, x, u: [x[1], u[0]], positions=1)
    law = at.Law(
        "PD",
        ("x", "v"),
        ("x_d", "v_d"),
        ("force",),
        lambda t, y, r, z, p: [p[0] * (r[0] - y[0]) + p[1] * (r[1] - y[1])],
        parameters={"kp": 4.0, "kd": 2.0},
    )
    return plant, law


def batch_data(found: Any, *measures: str) -> dict[str, Any]:
    return {**pick(found, "q qd diverged_at"), **{m: found[m] for m in measures}}


def random_runs(*arguments: Any, **options: Any) -> Any:
    """Runs with random numbers: once `dl.simulation.monte_carlo`."""
    return (rollouts if HAS_EXPERIMENT else dl.simulation.monte_carlo)(*arguments, **options)


@call("batches/rollouts")
def _rollouts() -> Any:
    found = rollouts(
        arm("panda"),
        panda_law(),
        q0=starts(),
        reference=GOAL,
        duration=0.3,
        dt=1e-3,
        payload=(0, 0, 0.05),
        parameters={"payload_mass": np.linspace(0.0, 3.0, 50)},
        measures=("rms_error", "peak_torque"),
    )
    return batch_data(found, "rms_error", "peak_torque")


@call("batches/rollouts, all measures")
def _measures() -> Any:
    names = tuple(sorted(dl.simulation.MEASURES))
    c = dl.control.ComputedTorque(arm("planar-2r"), omega=8.0)
    found = rollouts(
        arm("planar-2r"), c, q0=states(2, 20)[0], reference=[0.5, 0.3], duration=1.0, dt=1e-3, measures=names
    )
    return {"names": names, **batch_data(found, *names)}


@call("batches/rollouts, kept rows")
def _kept() -> Any:
    c = method(dl.control.PDGravity, "tuned")(arm("planar-2r"), omega=6.0)
    options = {"q0": states(2, 6)[0], "reference": sines(), "duration": 0.5, "dt": 1e-3, "torque_limits": 30.0}
    found = rollouts(arm("planar-2r"), c, **options, every=50, keep="all", friction=True)
    return {"t": found.t, "names": found.names, "rows": found.rows}


@call("batches/monte_carlo")
def _monte_carlo() -> Any:
    s = dl.simulation
    study = random_runs(
        arm("panda"),
        panda_law(),
        q0=s.uniform(GOAL - 0.2, GOAL + 0.2),
        reference=GOAL,
        duration=0.2,
        dt=1e-3,
        number=60,
        seed=7,
        payload=(0, 0, 0),
        parameters={"payload_mass": s.uniform(0, 3)},
        disturbances={"panda_joint4_torque": s.Noise(2.0, hold=0.01)},
        measures=("rms_error", "final_error"),
    )
    batch = getattr(study, "batch", study)
    return {"q": batch.q, "rms": batch["rms_error"]}


@call("batches/sweep")
def _sweep() -> Any:
    grid = {"kp": [1.0, 2.0, 4.0], "kd": np.linspace(0.5, 4, 15)}
    plant, law = plant_and_law()
    if HAS_EXPERIMENT:
        e = dl.Experiment(plant, law, reference=[1.0], dt=0.02, measures=("ise", "overshoot"))
        found = e.batch(vary=dl.grid(grid), q0=[0.0], duration=10)
        return [found["ise"].reshape(found.shape)]
    found = dl.simulation.sweep(
        plant, law, [0.0], grid=grid, measure="ise", measures="overshoot", reference=[1.0], duration=10, dt=0.02
    )
    return [found.mean()]


@call("batches/distributions")
def _distributions() -> Any:
    s = dl.simulation
    study = random_runs(
        *plant_and_law(),
        s.normal(0.0, 0.1),
        number=40,
        seed=5,
        reference=[1.0],
        duration=1.0,
        dt=0.01,
        parameters={"kp": s.log_uniform(1.0, 9.0), "kd": s.choice([1.0, 2.0])},
    )
    batch = getattr(study, "batch", study)
    return {"parameters": batch.parameters(), "q": batch.q}


@call("batches/gains")
def _gains() -> Any:
    c, loop = gain_loop()
    gains = c.vary(kd=np.array(c.kd.values) * np.array([[0.2], [1.0], [3.0]]))
    return integrated(loop, np.zeros(4), 1e-3, 1000, parameters={**c.law().parameters, **gains}, every=100)


@call("batches/spring")
def _spring() -> Any:
    spring = at.Flow(
        "spring",
        ("x", "v"),
        ("stiffness", "damping", "force"),
        lambda t, x, u: [x[1], u[2] - u[0] * x[0] - u[1] * x[1]],
        positions=1,
    )
    given = {"stiffness": np.linspace(1, 9, 50)[:, None], "damping": np.array([0.1, 1.0])}
    return integrated(spring, [1.0, 0.0], 0.01, 1000, np.sin(np.arange(1000) * 0.01)[:, None], parameters=given)


calls(
    "batches",
    {
        "integrate": lambda: integrated(
            flow_of(arm("panda"), energies=True),
            np.concatenate((states(7, 100)[0], np.zeros((100, 7))), axis=1),
            dt=1e-3,
            steps=200,
            every=50,
        ),
        "integrate with payload": lambda: integrated(
            flow_of(arm("ur5e"), payload=(0, 0, 0.1), friction=True),
            np.zeros(12),
            1e-3,
            100,
            parameters={"payload_mass": np.linspace(0, 5, 9)},
            every=20,
        ),
        "momenta": lambda: integrated(
            flow_of(arm("planar-2r"), momenta=True, energies=True),
            [-1.2, 0.3, 0, 0],
            0.01,
            2000,
            method="implicit-midpoint",
            every=200,
        ),
        **{
            f"method {m}": lambda m=m: integrated(
                flow_of(arm("planar-2r")),
                np.concatenate((states(2, 9)[0], states(2, 9)[1]), axis=1),
                1e-3,
                200,
                method=m,
                every=50,
            )
            for m in FIXED
        },
        "burst": lambda: integrated(
            at.Flow("burst", ("x",), (), lambda t, x, u: [x[0] * x[0]]), [[0.1], [2.0]], 0.01, 100
        ),
        "closed": lambda: [(loop := gain_loop()[1]).states, loop.inputs, loop.outputs, loop.name],
        "rollouts in threads": lambda: batch_data(
            rollouts(
                arm("panda"),
                panda_law(),
                q0=starts(16),
                reference=GOAL,
                duration=0.1,
                dt=1e-3,
                threads=2,
                measures="rms_error",
            ),
            "rms_error",
        ),
        "rollouts, free": lambda: batch_data(rollouts(arm("planar-3r"), q0=states(3, 8)[0], duration=0.5, dt=1e-3)),
        "methods and measures": lambda: [sorted(dl.simulation.METHODS), sorted(dl.simulation.MEASURES)],
    },
)


# ---------------------------------------------------------------- control
@cache
def uncertainty() -> Any:
    kind = dl.control.Uncertainty
    return (getattr(kind, "sampled", None) or kind.sample)(
        arm("planar-2r"), [arm("planar-2r").with_payload(m) for m in (0.1, 1.0)]
    )


# Controllers of the planar arm with two joints: all of one signature (t, q, qd, reference).
CONTROLLERS: dict[str, Callable[[Any, Any], Any]] = {
    "IndependentJoint": lambda c, a: c.IndependentJoint(a, omega=8.0, zeta=0.9, integral=1.0),
    "PD": lambda c, a: c.PD(a, kp=100.0, kd=20.0),
    "JointPID": lambda c, a: c.JointPID(a, kp=100.0, ki=20.0, kd=20.0, limit=50.0),
    "JointPID with gravity": lambda c, a: c.JointPID(a, kp=100.0, ki=20.0, kd=20.0, gravity=True),
    "PDGravity": lambda c, a: c.PDGravity(a, kp=[100.0, 50.0], kd=[20.0, 10.0]),
    "PDGravity, desired": lambda c, a: method(c.PDGravity, "tuned")(a, 6.0, gravity="desired"),
    "Feedforward": lambda c, a: c.Feedforward(a),
    "FeedforwardPD": lambda c, a: method(c.FeedforwardPD, "tuned")(a, 10.0),
    "ComputedTorque": lambda c, a: c.ComputedTorque(a, omega=8.0, zeta=0.7),
    "ComputedTorque by gains": lambda c, a: c.ComputedTorque(a, kp=[60.0, 40.0], kd=12.0, ki=5.0),
    "TaskComputedTorque": lambda c, a: c.TaskComputedTorque(a, omega=8.0, rows=("x", "y")),
    "Impedance": lambda c, a: c.Impedance(a, stiffness=[200.0, 400.0], damping=40.0, rows=("x", "y")),
    "Adaptive": lambda c, a: c.Adaptive(
        a, kd=15.0, rate=6.0, adaptation=3.0, parameters=["link2:m", "link2:mx", "link2:Izz"]
    ),
    "RobustControl": lambda c, a: c.RobustControl(a, uncertainty(), kd=20.0, rate=5.0, layer=0.1),
    "MomentumObserver": lambda c, a: c.MomentumObserver(a, gain=20.0).with_controller(c.ComputedTorque(a, omega=8.0)),
}


def reference_of(controller: Any, a: Any) -> Any:
    """A goal that a controller follows: joints, or a point of the tool."""
    task = "Task" in type(controller).__name__ or "Impedance" in type(controller).__name__
    return a.fk([0.5, 0.7])[:2, 3] if task else np.array([0.5, 0.7])


def controlled(make: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """A controller: its law, its conditions, its explanation, and a run."""
    a = arm("planar-2r")
    c = make(dl.control, a)
    law = c.law()
    goal = reference_of(c, a)
    run = simulate(a.with_payload(0.3), c, q0=[0.1, 0.4], reference=goal, duration=1.0, every=50)
    data = {"law": pick(law, "name measures follows outputs states parameters"), "run": run_data(run)}
    for name in ("explain", "conditions", "equation", "source"):
        value = getattr(c, name, None)
        data[name] = value() if callable(value) else value
    with contextlib.suppress(TypeError):
        data["tau"] = c(0.0, [0.1, 0.2], [0.3, -0.1], goal)
    return data


calls("controller", {name: lambda make=make: controlled(make) for name, make in CONTROLLERS.items()})
calls(
    "diagram",
    {
        name: lambda make=make: [
            (d := dl.control.diagram_of(make(dl.control, arm("planar-2r")))).describe(),
            d.svg(),
            d.faults(),
        ]
        for name, make in CONTROLLERS.items()
        if name in ("PD", "PDGravity", "ComputedTorque", "Adaptive", "Impedance", "JointPID")
    },
)


@cache
def second_order() -> Any:
    return dl.control.MassSpringDamper(mass=1.0, damping=1.0, stiffness=1.0)


@cache
def cubic_plant() -> Any:
    return dl.control.TransferFunction([1.0], np.poly([-1, -1, -1]))


@cache
def servo_plant() -> Any:
    return dl.control.TransferFunction([1.0], np.poly([0, -1, -5]))


@cache
def upright() -> Any:
    return dl.control.linearized(arm("planar-2r"), [math.pi / 2, 0.0])


@call("control/compare")
def _compare() -> Any:
    c, a = dl.control, arm("planar-2r")
    found = c.compare(
        {
            "PD + gravity": method(c.PDGravity, "tuned")(a, 10.0),
            "feedforward": c.Feedforward(a),
            "computed torque": c.ComputedTorque(a, omega=10.0),
        },
        a,
        sines(),
        2.0,
        dt=2e-3,
    )
    return [str(found), found.argument(), found.rows(), found.criteria]


@call("control/compare geared")
def _compare_geared() -> Any:
    c, a = dl.control, arm("planar-2r")
    scenarios = {"exact": c.Scenario(), "payload": c.Scenario(payload=0.5)}
    found = c.compare(
        {"independent": c.IndependentJoint(a, omega=10.0)},
        a,
        sines(),
        1.0,
        scenarios=scenarios,
        gears=(1, 30),
        rotor_inertia=1e-3,
    )
    return [str(found), found.rows()]


@call("control/HybridForce")
def _hybrid() -> Any:
    three, q0 = arm("planar-3r"), np.array([0.3, 0.6, -0.9])
    surface = dl.constrained.plane((0, float(three.fk(q0)[1, 3]), 0), (0, 1, 0))
    system = dl.Constrained(three, surface)
    press = dl.control.HybridForce(system, force=7.0, omega=5.0)
    q1 = system.close(q0 + np.array([0.2, 0.1, -0.1])).q
    loop = closed(system.flow(), press.law(), q1)
    run = integrated(loop, [*q0, 0, 0, 0], 1e-3, 500, every=100, parameters=press.law().parameters)
    return [run, press.explain(), press.law().parameters]


@call("control/Impedance with a sensor")
def _impedance() -> Any:
    three, q0, c = arm("planar-3r"), np.array([0.3, 0.6, -0.9]), dl.control
    law = c.Impedance(three, stiffness=[200.0, 400.0], damping=40.0, inertia=2.0, rows=("x", "y")).law()
    flow = flow_of(three, **({"wrenches": ["tool"]} if acts_on_robots() else {"f_tip": True}))
    wrench = flow.inputs[3:]
    flow = c.sensed(flow, wrench, 0.005)
    loop = closed(flow, law, three.fk(q0)[:2, 3])
    given = {**law.parameters, **dict.fromkeys(wrench, 0.0), wrench[0]: 10.0 if acts_on_robots() else -10.0}
    return integrated(loop, [*q0, *[0.0] * 9], 1e-3, 1000, every=200, parameters=given)


@call("control/PID step by step")
def _pid() -> Any:
    pid = dl.control.PID(k_p=3.0, k_i=2.0, k_d=0.5, filter_time=0.05, low=-1.0, high=1.0, proportional_weight=0.7)
    controller = pid.controller(period=0.01, start=(0.2, 0.0, 0.0))
    before = [controller(y=0.0, r=0.01 * k) for k in range(30)]
    controller.set(k_p=6.0)
    return [before, [controller(0.1, 0.2) for _ in range(10)], pid.standard, pid.series, repr(pid)]


@call("control/flexible")
def _flexible() -> Any:
    found = {}
    for name, c in {
        "FlexiblePD": dl.control.FlexiblePD(soft(), kp=60.0, kd=10.0),
        "FlexibleLinearising": dl.control.FlexibleLinearising(soft(), omega=8.0),
    }.items():
        run = simulate(soft(), c, q0=[0.3, 0.5], reference=[0.5, 0.3], duration=0.1, dt=1e-4, every=100)
        found[name] = [run_data(run), c.explain(), c.law().parameters]
    return found


calls(
    "control",
    {
        "VoltageControl": lambda: [
            (
                v := dl.control.VoltageControl(driven(), dl.control.ComputedTorque(arm("planar-2r"), omega=8.0))
            ).explain(),
            run_data(simulate(driven(), v, q0=[0.1, 0.2], reference=[0.5, 0.3], duration=0.2, dt=1e-4, every=100)),
        ],
        "seen_from_joints": lambda: dl.control.seen_from_joints(driven()).mass_matrix([0.1, 0.2]),
        "geared": lambda: dl.control.geared(arm("planar-2r"), 1e-3, 30).mass_matrix([0.1, 0.2]),
        "steady_error": lambda: dl.control.ComputedTorque(arm("planar-2r"), omega=8.0).steady_error(
            [0.5, 0.3], arm("planar-2r").with_payload(0.3)
        ),
        "weak gains": lambda: dl.control.PDGravity(arm("planar-2r"), kp=1.0, kd=1.0, gravity="desired").conditions(),
        "independent limits": lambda: dl.control.IndependentJoint(arm("planar-2r"), omega=8.0).limits(),
        "robust ball": lambda: dl.control.RobustControl(
            arm("planar-2r"), uncertainty(), kd=20.0, rate=5.0, layer=0.1
        ).ball(rho=20.0),
        "uncertainty": lambda: uncertainty(),
        "vary": lambda: method(dl.control.PDGravity, "tuned")(arm("planar-2r"), 6.0).vary(kd=np.ones((3, 2))),
        "observer": lambda: dl.control.MomentumObserver(arm("planar-2r"), gain=20.0).momentum(*one(2)[:2]),
        "mass spring damper": lambda: {
            **pick(second_order(), "regime damping_ratio natural_frequency damped_frequency overshoot poles"),
            "response": list(second_order().response(np.linspace(0, 10, 21), x0=0.2, v0=-1.0, force=0.5, ramp=0.1)),
            "gains": second_order().gains_for(16.0),
        },
        "regimes": lambda: [dl.control.MassSpringDamper(1, b, 1).regime for b in (0, 1, 2, 3)],
        "partitioned servo": lambda: [
            (s := dl.control.PartitionedServo(second_order(), k_p=16.0)).steady_state_error(0.8),
            list(s.error(np.linspace(0, 2, 9), e0=0.1, e0_rate=0.0)),
            s.poles,
            dl.control.PartitionedServo(
                second_order(), **dict(zip(("k_p", "k_v", "k_i"), dl.control.triple_pole_gains(3.0), strict=True))
            ).largest_integral_gain,
        ],
        "servo in a loop": lambda: integrated(
            closed(
                second_order().flow(load=True),
                (law := dl.control.PartitionedServo(second_order(), k_p=16.0).law()),
                [0.5],
            ),
            [0.0, 0.0],
            1e-3,
            1000,
            [0.8, *law.parameters.values()],
            every=100,
        ),
        "sources": lambda: [
            dl.control.sources.joint_system(
                arm("planar-2r"),
                [-math.pi / 2, 0.0],
                1,
                damping=dl.control.sources.back_emf_damping(dl.DCMotor(2.0, 0.1), 50),
            ),
            dl.control.sources.gravity_stiffness(arm("planar-2r"), [0.1, 0.2]),
            dl.control.sources.in_series(100.0, 200.0),
            dl.control.sources.in_parallel(100.0, 200.0),
            dl.control.sources.shaft_stiffness(8e10, 1e-9, 0.2),
        ],
        "PID forms": lambda: [
            dl.control.PID.of(dl.control.Standard(2.0, 4.0, 0.5)).parallel,
            dl.control.PID(k_p=3.0, k_i=2.0, k_d=0.5, filter_time=0.05).transfer(),
        ],
        "transfer function": lambda: [
            str(cubic_plant()),
            cubic_plant().poles,
            (6 * servo_plant()).feedback().poles,
            cubic_plant().stable,
            servo_plant()(1j),
        ],
        "ultimate": lambda: dl.control.ultimate(cubic_plant()),
        "relay": lambda: [
            (first := dl.control.relay_experiment(cubic_plant())).ultimate,
            dl.control.extrapolated(first, dl.control.relay_experiment(cubic_plant(), hysteresis=0.1 * first.harmonic)),
        ],
        "Ziegler and Nichols": lambda: {
            r: repr(dl.control.ziegler_nichols(dl.control.ultimate(cubic_plant()), r))
            for r in dl.control.ZIEGLER_NICHOLS
        },
        "measured reaction curve": lambda: dl.control.reaction_curve(
            t := np.linspace(0, 20, 400), 1 - np.exp(-t) * (1 + t + t**2 / 2)
        ),
        "SpringServo": lambda: [
            (s := dl.control.SpringServo(k_p=16.0, k_v=8.0)).law().parameters,
            s.diagram().describe(),
        ],
        "reaction curve": lambda: [
            (f := dl.control.reaction_of(cubic_plant())),
            repr(dl.control.ziegler_nichols_step(f)),
        ],
        "linearized": lambda: [
            upright().A,
            upright().B,
            upright().poles,
            upright().controllability,
            upright().observability,
            upright().stable,
        ],
        "discretized": lambda: [(d := method(upright(), "discretized")(0.01)).A, d.B],
        "state space response": lambda: list(upright().simulate(np.linspace(0, 0.1, 11), x0=[0.01, 0, 0, 0])),
        "transfer of one": lambda: str(
            upright().of(inputs=upright().inputs[0], outputs=upright().states[0]).transfer()
        ),
        "lqr": lambda: [
            (r := dl.control.lqr(upright(), Q=[100, 100, 1, 1], R=0.01)).K,
            r.P,
            r.poles,
            r.stable,
            run_data(simulate(arm("planar-2r"), r, q0=[math.pi / 2 + 0.2, -0.1], duration=0.5, every=50)),
        ],
        "root locus": lambda: [
            (locus := dl.control.RootLocus(servo_plant())).for_damping(0.5),
            locus.breakaways(),
            locus.asymptotes(),
            locus.at(-0.4),
            locus.poles(3.0),
        ],
        "lead_for_pole": lambda: dl.control.lead_for_pole(servo_plant(), -1.5 + 2j, zero=1.0),
        "lead_for_margin": lambda: dl.control.lead_for_margin(servo_plant(), math.radians(50), 1.0),
        "lag_for_accuracy": lambda: dl.control.lag_for_accuracy(servo_plant(), 10.0, 0.5),
        "margins": lambda: [
            dl.control.margins(6 * servo_plant()),
            dl.control.margins(dl.control.TransferFunction([1.0], np.poly([1, -2, -3]))),
        ],
        "frequency_response": lambda: list(dl.control.frequency_response(servo_plant(), np.geomspace(0.1, 10, 7))),
        "step_figures": lambda: dl.control.step_figures(second_order()),
        "critical_gains": lambda: [
            dl.control.critical_gains(3.0),
            dl.control.unit_mass(4.0),
            dl.control.triple_pole_gains(3.0),
        ],
        "lyapunov": lambda: dl.control.PDGravity(arm("planar-2r"), kp=80.0, kd=20.0).lyapunov(
            [0.1, 0.2], [0.3, 0.1], [0.5, 0.3]
        ),
    },
)


# ---------------------------------------------------------------- identification
def wave(n: int, seconds: float, dt: float, seed: int = 0, size: float = 0.4) -> tuple[np.ndarray, ...]:
    """t, q, q̇, q̈ of a motion of sines."""
    t = np.arange(0, seconds, dt)
    w = 2 * np.pi / 10 * np.arange(1, 6)
    a = np.random.default_rng(seed).normal(0, size, (5, n))
    s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    return t, s @ a, (c * w) @ a, -(s * w**2) @ a


def recorded(robot: Any, seed: int = 0, seconds: float = 10.0) -> Any:
    """Samples of a robot, with noise in the torques."""
    t, q, qd, qdd = wave(robot.n, seconds, 0.01, seed)
    noise = np.random.default_rng(seed + 10).normal(size=q.shape)
    tau = robot.inverse_dynamics(q, qd, qdd, friction=True) + 0.2 * noise
    n = robot.n
    return at.Samples(t, q, qd, qdd, tau, robot.joint_names, 0.01, np.inf, np.zeros(n), np.ones(n))


@cache
def log_text(name: str = "ur5e") -> str:
    """A log as a controller would have written it."""
    robot = arm(name)
    t, q, qd, qdd = wave(robot.n, 12.0, 0.008)
    noise = np.random.default_rng(1)
    tau = robot.inverse_dynamics(q, qd, qdd) + 3 * qd + 4 * np.tanh(qd / 0.02)
    joints = robot.joint_names
    head = ["time [ms]", *(f"{j}/position [deg]" for j in joints), *(f"{j}/effort" for j in joints)]
    table = np.column_stack(
        [1e3 * t, np.degrees(q + 1e-5 * noise.normal(size=q.shape)), tau + 0.3 * noise.normal(size=q.shape)]
    )
    text = io.StringIO()
    np.savetxt(text, table, delimiter=",", header=",".join(head), comments="")
    return text.getvalue()


@cache
def log(name: str = "ur5e") -> Any:
    """The log, read; from a file in the call's folder."""
    return dl.read_log(write("log.csv", log_text(name)), arm(name))


@cache
def identified() -> Any:
    return dl.identify(arm("planar-2r"), recorded(arm("planar-2r").with_payload(0.5)))


def identification_data(found: Any) -> dict[str, Any]:
    return {
        "summary": untimed(found.summary()),
        "table": found.table(),
        "beta": found.estimate.beta,
        "deviation": found.estimate.deviation,
        "parameters": found.parameters,
        "held out": found.held_out.total,
    }


@cache
def columns2() -> tuple[Any, Any]:
    columns = at.Columns(arm("planar-2r"))
    return columns, at.base(columns)


@call("identification/calibrate")
def _calibrate() -> Any:
    robot = arm("ur5e")
    q = np.clip(robot.random_configuration(60, seed=1), -3, 3)
    station = dl.pose(xyz=(2.0, 0.5, 0.0), rpy=(0, 0, 3))
    off = np.array([0.0, 4e-3, -3e-3, 2e-3, 5e-3, 0.0])
    seen = (station @ robot.fk(q + off))[:, :3, 3] + 5e-5 * np.random.default_rng(0).normal(size=(60, 3))
    found = at.calibrate(robot, at.Points(q=q, p=seen, sigma=5e-5))
    return [found.summary(), found.table(), found.converged, found.unidentifiable]


@call("identification/calibrate by distances")
def _calibrate_distances() -> Any:
    robot = arm("planar-3r")
    q = states(3, 40)[0]
    far = np.linalg.norm(robot.fk(q + np.array([0, 0.01, -0.02]))[:, :3, 3] - [2.0, 0.5, 0.0], axis=1)
    found = at.calibrate(robot, at.Distances(q=q, distance=far, anchor=(2.0, 0.5, 0.0), sigma=1e-4), free=("offsets",))
    return [found.summary(), found.table(), found.converged]


@call("identification/excite")
def _excite() -> Any:
    motion = at.excite(
        arm("planar-2r"),
        duration=10,
        harmonics=3,
        position=(-2.5, 2.5),
        velocity=2.0,
        acceleration=8.0,
        torque=60.0,
        workspace=[at.HalfSpace("tool", (0, 1, 0), -1.8)],
        starts=1,
        seconds=60,
    )
    return {
        "feasible": motion.certificate.feasible,
        "condition": float(f"{motion.condition:.4g}"),
        "better": motion.condition < motion.random_condition,
        "names": list(motion.table(rate=100)),
    }


@call("identification/robust")
def _robust() -> Any:
    run = recorded(arm("planar-2r"))
    spoiled = replace(run, tau=run.tau + 10 * (np.random.default_rng(4).random(run.tau.shape) < 0.05))
    return {
        loss: [(r := at.robust_least_squares(*columns2(), spoiled, loss)).estimate.beta, r.doubted]
        for loss in ("huber", "tukey")
    }


@call("identification/instruments")
def _instruments() -> Any:
    run = recorded(arm("planar-2r"))
    noise = np.random.default_rng(5).normal(size=run.q.shape)
    measured = replace(run, qdd=run.qdd - noise, tau=run.tau + 2 * noise)
    found = at.instrumental_variables(*columns2(), measured, run)
    plain = at.least_squares(at.compress(*columns2(), measured))
    return [found.beta, found.deviation, plain.beta, plain.deviation]


@call("identification/nonlinear friction")
def _nonlinear() -> Any:
    run = recorded(arm("planar-2r"))
    term = at.friction("stribeck", coulomb=1.0, breakaway=3.0, speed=0.1)
    more = np.array([[at.torque(term, v) for v in row] for row in run.qd.tolist()])
    found = at.nonlinear_friction(columns2()[0], replace(run, tau=run.tau + more), "stribeck")
    return [found.values, found.deviations, found.present, found.gain]


@call("identification/drive gains")
def _drive_gains() -> Any:
    robot, k = arm("planar-2r"), np.array([8.0, 5.0])
    loaded = robot.with_payload(3.0, (0.1, 0.0, 0.0), 0.01 * np.eye(3))
    empty, full = (replace(r, tau=r.tau / k) for r in (recorded(robot), recorded(loaded, seed=1)))
    found = at.drive_gains(columns2()[0], empty, full, payload={"m": 3.0})
    return [found.gains, found.deviation]


@call("identification/parts")
def _parts() -> Any:
    swung = at.pendulum(
        mass=(1.2, 0.002), distance=(0.15, 5e-4), period=(0.93, 1e-3), amplitude=0.1, direction=(0, 0, 1)
    )
    link = worded(
        lambda metal: at.cad(
            [
                at.Solid(at.Box((0.30, 0.06, 0.04)), metal, dl.Origin((0.15, 0, 0))),
                at.Solid(at.Cylinder(0.015, 0.04), metal, dl.Origin((0.28, 0, 0)), hole=True),
            ]
        ),
        "aluminium 6061",
    )
    planar = at.with_parts(arm("planar-2r"), {"link2": link})
    return [swung.value, swung.sigma, repr(link), planar.mass_matrix([0.1, 0.2])]


calls(
    "identification",
    {
        "read_log": lambda: pick(log(), "t q tau joints notes"),
        "read_log from arrays": lambda: pick(
            dl.read_log({"t": log().t, "q": log().q, "tau": log().tau}, arm("ur5e")), "t q tau joints notes"
        ),
        "read_log from npz": lambda: [
            np.savez("log.npz", t=log().t, q=log().q, tau=log().tau),
            pick(dl.read_log("log.npz", arm("ur5e")), "t q tau joints notes"),
        ],
        "read_log, wrong": lambda: dl.read_log(write("log.csv", "a,b\n1,2\n3,4\n"), arm("ur5e")),
        "inspect_log": lambda: str(dl.identification.inspect_log(arm("ur5e"), log())),
        "inspect_log, wrong sign": lambda: str(
            at.inspect_log(arm("ur5e"), replace(log(), tau=log().tau * [1, -1, 1, 1, 1, 1]))
        ),
        "inspect_log, hung": lambda: str(at.inspect_log(arm("ur5e").with_gravity((0, 9.81, 0)), log())),
        **{
            f"prepare {m}": lambda m=m: pick(
                at.preparation(log(), cutoff=15.0, method=m).samples, "t q qd qdd tau rest quiet notes"
            )
            for m in ("butterworth", "central", "savgol")
        },
        "prepare, chosen": lambda: [
            (made := at.preparation(log())).spectra.cutoff,
            made.decimation,
            made.trimmed,
            made.samples.notes,
        ],
        "identify": lambda: identification_data(identified()),
        "identify, plain": lambda: identification_data(
            dl.identify(
                arm("planar-2r"), recorded(arm("planar-2r")), consistent=False, friction=("viscous",), rotor=False
            )
        ),
        "identify a log": lambda: identification_data(dl.identify(arm("ur5e"), log(), consistent=False)),
        "identified robot": lambda: [identified().robot.mass_matrix([0.1, 0.2]), identified().consistent.feasible],
        "compare": lambda: str(identified().compare()),
        "essential": lambda: str(identified().essential()),
        "too poor": lambda: dl.identify(
            arm("planar-2r"), replace(r := recorded(arm("planar-2r")), q=r.q * 0, qd=r.qd * 0, qdd=r.qdd * 0)
        ),
        "payload": lambda: pick(
            dl.identification.identify_payload(
                arm("ur5e"), recorded(arm("ur5e").with_payload(1.2, (0.02, -0.03, 0.06)))
            ),
            "mass mass_deviation com com_deviation inertia",
        ),
        "base parameters": lambda: {
            n: at.base(at.Columns(arm(n), friction=(), rotor=False)).formulas() for n in ("planar-2r", "scara")
        },
        "base rank": lambda: at.base(at.Columns(arm("panda"), friction=(), rotor=False)).rank,
        "groupings": lambda: {
            n: [(g := at.groupings(arm(n))).rank, g.formulas(), g.formulas(short=True)] for n in ("planar-2r", "scara")
        },
        "groupings of puma560": lambda: at.groupings(arm("puma560")).formulas(short=True),
    },
)


# ---------------------------------------------------------------- trust
SINGLE_PROPERTIES = (
    *(
        "bilinear",
        "choices_of_c",
        "dissipation",
        "energy_linear",
        "gravity_bounded",
        "gravity_gradient",
        "gravity_work",
    ),
    *("kinetic_energy", "l2_gain", "mass_matrix_bounded", "mass_matrix_of_position", "mass_matrix_rate", "passivity"),
    *("mass_matrix_symmetric", "power_balance", "skew_symmetry", "velocity_torque_bounded", "workless"),
)


def own_mechanism() -> Any:
    """A mechanism whose C is right in torque and wrong in its matrix."""

    def M(q: Any) -> Any:
        b = 0.5 * np.cos(q[1])
        return [[2 + 2 * b, 0.5 + b], [0.5 + b, 0.5]]

    def C(q: Any, v: Any) -> Any:
        h = 0.5 * np.sin(q[1])
        return [[-2 * h * v[1], -h * v[1]], [h * v[0], 0]]

    return dl.properties.Mechanism("mine", 2, M, C, lambda q: [0, 0], lambda q: 0.0)


def report_data(report: Any) -> dict[str, Any]:
    return {
        "ok": report.ok,
        "failed": [p.name for p in getattr(report, "failed", ()) or report.errors],
        "properties": [
            {k: getattr(p, k) for k in ("name", "statement", "verdict", "source", "latex", "formulas", "note")}
            for p in report
        ],
    }


def checked(text: str) -> dict[str, Any]:
    """What the doctor says of a URDF, and what it repairs."""
    up = dl.check(write("arm.urdf", text))
    data = {
        "findings": [[f.severity, f.rule, f.line, f.message, f.fix] for f in up],
        "loads": getattr(up, "facts", up).loads,
    }
    with contextlib.suppress(dl.DalembertError):
        repair = up.repaired() if hasattr(up, "repaired") else dl.doctor.repair(up)
        data["repair"] = [repair.text, [str(c) for c in repair.changes], len(repair.after)]
    return data


BROKEN = {
    "inertia in g mm² and swapped limits": URDF,
    "good": GOOD_URDF,
    "negative mass": GOOD_URDF.replace('mass value="2.0"', 'mass value="-2.0"'),
    "no triangle inequality": GOOD_URDF.replace('ixx="0.0005"', 'ixx="0.9"'),
    "unknown parent": GOOD_URDF.replace('parent link="upper"', 'parent link="uper"'),
    "two roots": GOOD_URDF.replace('<link name="tool"/>', '<link name="tool"/><link name="loose"/>'),
    "zero axis": GOOD_URDF.replace('axis xyz="1 0 0"', 'axis xyz="0 0 0"'),
    "limits in degrees": GOOD_URDF.replace('lower="-2" upper="2"', 'lower="-120" upper="120"'),
    "no limit": GOOD_URDF.replace('<limit lower="0" upper="0.5" effort="30" velocity="1"/>', ""),
    "malformed": GOOD_URDF.replace("</robot>", ""),
    "not a number": GOOD_URDF.replace('mass value="1.0"', 'mass value="one"'),
    "duplicate name": GOOD_URDF.replace('name="slide"', 'name="shoulder"'),
    "center of mass far away": GOOD_URDF.replace('origin xyz="0.15 0 0"', 'origin xyz="150 0 0"'),
}


def certificate_data(certificate: Any) -> dict[str, Any]:
    """A certificate without its rounding errors."""
    causes = certificate.findings if hasattr(certificate, "findings") else certificate.facts.causes
    return {
        "verdict": getattr(certificate, "verdict", "") or certificate.message,
        "passed": bool(certificate),
        "rows": [[r.quantity, r.left, r.right, r.passed] for r in certificate.rows],
        "findings": [str(f).removeprefix("error: ") for f in causes],
        "notes": getattr(certificate, "remarks", None) or certificate.notes,
    }


def bounds_data(found: Any, *names: str) -> dict[str, Any]:
    """Certified bounds, to the digits that the search does not decide."""
    return {n: [found[n].certified, found[n].attained, found[n].symbol, found[n].unit, found[n].side] for n in names}


calls("check", {name: lambda text=text: checked(text) for name, text in BROKEN.items()})
calls("check", {f"bundled {n}": lambda n=n: [str(f) for f in dl.check(n)] for n in ("panda", "planar-2r", "stewart")})
calls(
    "trust",
    {
        "verify": lambda: certificate_data(dl.verify("planar-2r", states=20, without=["mujoco"])),
        "verify puma560": lambda: certificate_data(dl.verify("puma560", states=10, without=["mujoco", "pinocchio"])),
        "verify mujoco": lambda: certificate_data(dl.verify("scara", states=10)),
        "verify four-bar": lambda: certificate_data(dl.verify("four-bar", states=10, without=["mujoco", "pinocchio"])),
        "verify against": lambda: certificate_data(
            dl.verify(
                arm("scara"),
                against=replace(arm("scara").description, gravity=(0.0, 0.0, 9.81)),
                states=12,
                without=["pinocchio", "mujoco"],
            )
        ),
        "properties of planar-2r": lambda: report_data(dl.properties.lab(arm("planar-2r"), states=50)),
        "properties of panda": lambda: report_data(dl.properties.lab(arm("panda"), states=20)),
        "properties of one's own": lambda: report_data(dl.properties.lab(own_mechanism(), states=50)),
        "properties of a Lagrangian system": lambda: report_data(dl.properties.lab(swing(), states=30)),
        "definite": lambda: dl.properties.mass_matrix_definite(arm("planar-2r"), q=[0.3, 1.2]).formulas,
        "choices of C": lambda: [str(t := dl.properties.coriolis_choices(arm("planar-2r"))), t.keep_skew, t.lose_skew],
        "family": lambda: [
            str(dl.properties.family_in_symbols(arm("planar-2r"))),
            dl.properties.coriolis_family(
                arm("planar-2r"),
                [0.3, 1.1],
                [1.0, -0.5],
                np.arange(8.0).reshape(2, 2, 2) - np.arange(8.0).reshape(2, 2, 2).transpose(0, 2, 1),
            ),
        ],
        "coriolis_matrix": lambda: {
            c: dl.properties.coriolis_matrix(arm("planar-2r"), [0.3, 1.1], [1.0, -0.5], c)
            for c in ("christoffel", "half-slope", "rank-one")
        },
        "skewness": lambda: dl.properties.skewness(arm("planar-2r"), [1.0, 2.0]).power["mdot-u/2"],
        "energy_books": lambda: [
            (b := dl.properties.energy_books(arm("planar-2r"), seed=2)).supplied,
            b.stored,
            b.beta,
            b.balanced,
            b.passive,
        ],
        "energy_regressor": lambda: dl.properties.energy_regressor(arm("planar-2r"), *one(2)[:2]),
        "interconnection": lambda: [
            (
                i := dl.properties.interconnection(
                    arm("planar-2r"), [0.5, 0.3], kp=60, kd=6, q0=[-1.0, 0.4], duration=1.0
                )
            ).V,
            i.falls,
        ],
        "feedback": lambda: [dl.properties.feedback(arm("planar-2r"), kd=k).verdict for k in (5.0, -1.0)],
        "linear_in_parameters": lambda: dl.properties.linear_in_parameters(arm("planar-2r")).numbers,
        "each property": lambda: {
            p: pick(getattr(dl.properties, p)(arm("planar-2r")), "name statement latex source verdict formulas note")
            for p in SINGLE_PROPERTIES
        },
        "lowest_potential": lambda: dl.properties.lowest_potential(arm("planar-2r")),
        "bounds": lambda: bounds_data(
            arm("elbow-3r").bounds(["mu1", "mu2", "gravity_2"], gap=0.1), "mu1", "mu2", "gravity_2"
        ),
        "bounds in a box": lambda: bounds_data(
            arm("planar-2r").bounds(["mu2", "gravity_slope", "coriolis_1"], limits=(-1.0, 1.0)),
            "mu2",
            "gravity_slope",
            "coriolis_1",
        ),
        "no bound": lambda: (
            arm("rp").bounds(["mu2"], limits=((-math.pi, -math.inf), (math.pi, math.inf)))["mu2"].verdict(0.05)
        ),
        "bounds as text": lambda: untimed(str(arm("planar-2r").bounds(["mu1", "mu2"]))),
        "symbolic bounds": lambda: str(at.symbolic_bounds(equations("planar-2r-points"), (-math.pi / 2, math.pi / 2))),
        "proved uncertainty": lambda: method(dl.control.Uncertainty, "proved")(arm("planar-2r"), gap=0.1),
    },
)


# ---------------------------------------------------------------- interchange
def stepped(env: Any, action: Any) -> list[Any]:
    """A reset and three steps of an environment."""
    found: list[Any] = [env.reset(seed=0)[0]]
    for _ in range(3):
        observation, reward, terminated, truncated, _ = env.step(action)
        found.append([observation, reward, terminated, truncated])
    return found


@call("interchange/jax")
def _jax() -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    function = dl.interchange.jax_function(arm("planar-2r"), "inverse_dynamics")
    return np.asarray(function(*states(2)))


@call("interchange/pinocchio")
def _pinocchio() -> Any:
    import pinocchio

    model = pinocchio.buildModelFromXML(arm("ur5e").to_urdf())
    return robot_data(dl.interchange.from_pinocchio(model))


calls(
    "interchange",
    {
        "casadi": lambda: [
            str(f := dl.interchange.casadi_function(arm("planar-2r"), "forward_dynamics")),
            np.asarray(f(*one(2))),
            f.name(),
        ],
        "casadi of a kernel's Jacobian": lambda: np.asarray(
            dl.interchange.casadi_function(arm("planar-3r"), "jacobian")(states(3)[0, 0])
        ),
        "python-control": lambda: [
            (s := dl.interchange.to_control(arm("planar-2r"), [0.3, 0.4], outputs="joint2")).A,
            s.B,
            s.C,
            s.input_labels,
            s.state_labels,
        ],
        "python-control, sampled": lambda: [
            (s := dl.interchange.to_control(arm("planar-2r"), [0.3, 0.4], dt=0.01)).A,
            s.dt,
        ],
        "environment": lambda: stepped(
            dl.interchange.Environment("ur5e", dl.interchange.Reach(tolerance=0.02), duration=4.0), np.full(6, 0.1)
        ),
        "environment, track": lambda: stepped(
            dl.interchange.Environment(
                "panda", dl.interchange.Track(dl.trajectories.minimum_jerk(A7, B7, 2.0)), duration=2.0
            ),
            np.full(7, 0.1),
        ),
        "vector environment": lambda: stepped(dl.interchange.VectorEnvironment("ur5e", 8), np.full((8, 6), 0.1)),
        **{
            f"data frame {kind}": lambda kind=kind: [
                list(
                    (
                        f := dl.interchange.data_frame(simulate(arm("planar-2r"), q0=[0.5, 0.2], duration=0.1), kind)
                    ).columns
                ),
                len(f),
                f["joint1"].to_numpy(),
            ]
            for kind in ("pandas", "polars")
        },
        "columns": lambda: list(dl.interchange.columns(simulate(arm("planar-2r"), q0=[0.5, 0.2], duration=0.1))),
        "dask": lambda: (
            arm("ur5e")
            .gravity_torque(importlib.import_module("dask.array").from_array(np.asarray(batch(6)[0]), chunks=(500, 6)))
            .compute(scheduler="synchronous")
        ),
        "pickle": lambda: (
            (pickle := importlib.import_module("pickle")).loads(pickle.dumps(arm("scara"))).mass_matrix(states(4)[0])
        ),
    },
)

# ---------------------------------------------------------------- pictures
calls(
    "show",
    {
        "robot": shown(lambda show: show.robot(arm("planar-3r"), [[0.2, 0.3, 0.1], [0.4, 0.6, 0.3]])),
        "robot in space": shown(lambda show: show.robot(arm("panda"), Q7)),
        "ellipsoids": shown(
            lambda show: show.ellipsoids(arm("planar-2r"), [0.4, 1.2], kinds=("velocity", "force", "mass"))
        ),
        "workspace": shown(lambda show: show.workspace(arm("planar-2r"), samples=500)),
        "phase_portrait": shown(lambda show: show.phase_portrait(arm("planar-1r"), window=((-5, 5), (-9, 9)))),
        "phase_portrait, controlled": shown(
            lambda show: show.phase_portrait(
                arm("planar-1r"), dl.control.PDGravity(arm("planar-1r"), kp=20.0, kd=4.0), reference=[1.0], duration=3.0
            )
        ),
        "diagram": shown(lambda show: show.diagram(dl.control.ComputedTorque(arm("planar-2r"), omega=5.0, zeta=1.0))),
        "root_locus": shown(lambda show: show.root_locus(dl.control.TransferFunction([1], [1, 3, 2, 0]))),
        "bode": shown(lambda show: show.bode(servo_plant())),
        "step": shown(lambda show: show.step(second_order())),
        "run": shown(lambda show: show.run(simulate(arm("planar-2r"), q0=[0.5, 0.3], duration=0.5, every=5))),
        "trajectory": shown(lambda show: show.trajectory(dl.trajectories.quintic([0, 0], [1, 2], 1.0), points=50)),
        "residuals": shown(lambda show: show.residuals(identified())),
        "run.plot": shown(
            lambda show: simulate(arm("planar-2r"), q0=[0.5, 0.3], duration=0.5, every=5).plot("q", "kinetic_energy")
        ),
        "motion.plot": shown(lambda show: sines().plot()),
    },
)
calls(
    "svg",
    {
        "lines": lambda: at.lines(
            [at.Curve(t := np.linspace(0, 10, 200), np.sin(t), "q1"), at.Curve(t, np.cos(t), "q2")],
            x="t [s]",
            y="q [rad]",
        ),
        "lines, logarithmic": lambda: at.lines(
            [at.Curve(np.arange(1, 20.0), np.exp(-np.arange(1, 20.0)), "e")], log=True, title="error"
        ),
        "bars": lambda: at.bars(["a", "b", "c"], [[1.0, 2.0, 3.0]], series=("x",), y="kg"),
        "heat": lambda: at.heat(
            np.linspace(0, 1, 8),
            np.linspace(0, 2, 6),
            np.outer(np.arange(5.0), np.arange(7.0)),
            x_name="x",
            y_name="y",
            name="w",
        ),
        "diagram of a servo": lambda: [
            (d := dl.control.diagram_of(dl.control.PartitionedServo(second_order(), k_p=16.0))).save("d.svg"),
            written("d.svg"),
            d.faults(),
        ],
    },
)

# ---------------------------------------------------------------- report
SECTIONS = [
    "robot",
    "frames",
    "equations",
    "workspace",
    "singularities",
    "properties",
    "bounds",
    "verification",
    "task",
    "findings",
]


def page_data(page: str) -> dict[str, Any]:
    """The words of a report, and how many pictures it has."""
    return {"words": visible(page), "pictures": len(re.findall(r"<svg\b", page))}


@call("report/studio")
def _studio() -> Any:
    studio = dl.studio.open(arm("planar-2r"), browser=False, port=0)
    try:
        studio.move([0.3, 0.5])
        return {k: v for k, v in studio.state().items() if "url" not in k and "port" not in k}
    finally:
        studio.stop()


def report_page(robot: Any, sections: Sequence[str] | None = None) -> dict[str, Any]:
    report = dl.write_report(robot, "arm.html", quick=True, sections=sections, seconds=60.0)
    return {
        **page_data(Path("arm.html").read_text(encoding="utf-8")),
        "failed": report.failed,
        "sections": [[s.name, s.title, s.state, s.verdict] for s in report.sections],
    }


calls("report", {f"planar-2r {s}": lambda s=s: report_page(arm("planar-2r"), [s]) for s in SECTIONS})
calls("report", {"scara robot and equations": lambda: report_page(arm("scara"), ["robot", "equations"])})

# ---------------------------------------------------------------- command line
COMMANDS = """
--help
robots
robots --json
info panda
info panda --json
info four-bar
check panda
check planar-2r --json
check --rules
check broken.urdf
check broken.urdf --format sarif
check broken.urdf --format junit
check broken.urdf --fix -o repaired.urdf
convert puma560 -o puma.urdf
convert scara --to urdf
convert scara --to toml
convert puma560 --to dh
convert puma560 --to modified-dh --json
convert scara --to dh -o scara_dh.toml
convert ur5e --to screws
fk panda --q 0,30deg,0,-90deg,0,2,0
fk planar-2r --q 30deg,60deg --all
fk panda --frame panda_link8 --seen-from panda_link4 --json
ik panda --xyz 0.4,0.1,0.5 --rpy 180deg,0,0
ik ur5e --xyz 0.4,0.2,0.3 --rpy 180deg,0,0 --all
ik ur5e --xyz 0.4,0.2,0.3 --rpy 180deg,0,0 --all --json
ik planar-3r --xyz 1.5,0.5,0 --rpy 0,0,30deg --rows planar
ik ur5e --xyz 5,0,0 --rpy 0,0,0 --all
dynamics planar-2r --q 30deg,60deg --qd 1,0
dynamics puma560 --q 0.1,0.2,0.3,0.4,0.5,0.6 --qd 1,1,1,1,1,1 --friction --json
equations planar-2r
equations planar-2r --json
equations planar-2r --of M,g --format latex
equations rp --format sympy --of M
derive planar-2r --format markdown -o arm.md
equations planar-2r --check M12 "I2 + m2*(r2**2 + l1*r2*cos(q2))"
equations planar-2r --check M12 "I2 + m2*(r2**2 + l1*r2*sin(q2))"
properties planar-2r --states 20
properties planar-2r --choices
properties planar-2r --states 20 --only "skew symmetry"
bounds planar-2r --only mu2
bounds planar-2r-points --formulas
verify planar-2r --states 10 --without mujoco --without pinocchio
simulate planar-2r --q0 0,0 --duration 0.5
simulate planar-2r --to 0.5,0.5 --payload 1 --dt 0.01 -o run.csv
simulate planar-2r --controller pd-gravity --omega 8 --to 0.5,0.5 --json
simulate scara --limits stop --duration 1
compare planar-2r --controllers pd-gravity,computed-torque --scenarios exact,payload --rest 0.2 --move 0.5
compare planar-2r --controllers pd,computed-torque --scenarios exact --rest 0.2 --move 0.5 --json
plan planar-2r --q0 0,0 --through 0.5,0.3 --through 1,0.2 --duration 2 --rate 10 -o motion.csv
plan panda --through 0.5,0.5,0,-1.2,0,2,0 --json
phase planar-1r -o phase.svg --json
tune panda --omega 15
tune planar-2r --controller pd-gravity --omega 8 --zeta 0.7
tune planar-2r --controller pid --json
tune --den 1,3,3,1 --delay 0.2
identify planar-2r log.csv --no-consistent --out identified.urdf
identify planar-2r log.csv --no-consistent --json
identify planar-2r log.csv --no-consistent --report identified.html
report planar-2r --sections robot,frames --quick -o arm.html --json
simulate planar-2r --duration 0.1 --plot run.svg
--strict info scara
--allow tendons info swing.xml
simulate --help
ik --help
export planar-2r --to c --kernel inverse_dynamics
export planar-2r --to c --kernel fk --batch -o generated
export planar-2r --to numpy --kernel fk
export planar-2r --to jax --kernel gravity_torque
completion bash
""".strip().splitlines()
WRONG_COMMANDS = """
robots panda
robots --jso
info pandas
info arm.urdf
info panda --tip panda_link9
info
check
check panda --format xml
verify panda --states 1
report panda --sections nothing
studio panda --port 70000
fk panda --q 1,2
fk panda --q 1,2,3,4,5,6,nan
fk panda --frame link3
fk panda --all --frame panda_link3
ik panda
ik panda --xyz 1,0,0 --rows pose
ik panda --xyz 1,0,0 --rpy 0,0,0 --all
ik four-bar --xyz 1,0,0
dynamics planar-1r --q x
equations planar-2r --of Q
equations planar-2r --symbolic m9
equations planar-2r --check M12 "I2 +"
properties planar-2r --qd 1,1
bounds planar-2r --lower 0,0
convert panda
convert panda --to dh -o x.txt
simulate planar-2r --controller pdd
simulate planar-2r --method rk9
simulate planar-2r --duration 1 --dt 0.3
simulate panda --to 0,0,0,1,0,0,0
simulate planar-2r -o run.xls
compare planar-2r --scenarios storm
plan planar-2r --through 1,1
phase planar-2r --joint joint3 -o x.png
tune
tune --den 1,2
excite planar-2r --lower 0,0
identify planar-2r nothing.csv
export scara --kernel massmatrix
export scara --lang numpy --batch
completion tcsh
--strict robots
nothing
""".strip().splitlines()

TIMED_COMMANDS = ("bounds", "check", "verify", "report")  # they print how long they took


@cache
def command() -> Any:
    """Return the click command behind `dalembert`."""
    return _first("main", [(module, "main") for module in _places("dalembert.cli")])


# Words of the recorded lines, and the words of the command line with one table of options.
NEW_COMMANDS = {
    r"^(--\w+(?: tendons)?) (\w+ [\w.-]+)$": r"\2 \1",
    r"--allow ": "--ignore ",
    r"^((?:convert|export) .*)--to ": r"\1--format ",
    r"--lang ": "--format ",
    r"--q ": "--q0 ",
    r"--qd ": "--qd0 ",
    r"--of ": "--only ",
    r"--check (\w+) \"": r'--check "\1 = ',
    r"--choices": "--only choices",
    r"--formulas": "--method symbolic",
    r"--lower ": "--limits lower=",
    r"--limits stop": "--limits position=stop",
    r"--controllers ": "--controller ",
    r"--scenarios exact,payload --rest 0.2 --move 0.5": "--vary payload.mass=0,1 --duration 0.7 --move 0.5",
    r"--scenarios exact --rest 0.2 --move 0.5": "--vary payload.mass=0 --duration 0.7 --move 0.5",
    r"--scenarios ": "--vary ",
    r"--rate 10": "--dt 0.1",
    r"--out ": "-o ",
    r"--report ": "-o ",
    r"--sections ": "--only ",
    r"--port 70000": "--address 127.0.0.1:70000",
    r"^(simulate .*)--method ": r"\1--solver ",
}


def in_new_words(line: str) -> str:
    """Return a recorded line in the words of the command line of this version."""
    if importlib.util.find_spec("dalembert.apps") is None or not importlib.util.find_spec(
        "dalembert.apps.cli.option_table"
    ):
        return line
    for old, new in NEW_COMMANDS.items():
        line = re.sub(old, new, line)
    return line


def commanded(line: str) -> dict[str, Any]:
    """What a command prints, its exit code, and the files it writes."""
    from click.testing import CliRunner

    write("broken.urdf", URDF)
    write("swing.xml", TENDON)
    write("log.csv", log_text("planar-2r")) if "log.csv" in line else None
    before = set(Path().rglob("*"))
    runner, words = CliRunner(), shlex.split(in_new_words(line))
    result = runner.invoke(command(), words, env={"COLUMNS": "200", "SHELL": "/bin/nu"}, prog_name="dalembert")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    timed = words[0] in TIMED_COMMANDS
    output: Any = untimed(result.stdout) if timed else result.stdout
    if "--json" in words and result.exit_code in (0, 1):
        with contextlib.suppress(ValueError):
            output = json.loads(result.stdout)
    files = {p.as_posix(): p for p in sorted(set(Path().rglob("*")) - before) if p.is_file()}
    texts: dict[str, Any] = {
        n: p.read_text(encoding="utf-8") for n, p in files.items() if p.suffix not in (".png", ".svg")
    }
    texts |= {n: page_data(text) for n, text in texts.items() if n.endswith(".html")}
    return {
        "exit": result.exit_code,
        "out": output,
        "err": untimed(result.stderr) if timed else result.stderr,
        "files": list(files),
        "texts": texts,
    }


@call("cli/python -m dalembert")
def _module() -> Any:
    found = []
    for line in ("fk planar-2r --q 30deg,60deg --json", "info pandas"):
        done = subprocess.run(
            [sys.executable, "-m", "dalembert", *shlex.split(in_new_words(line))],
            capture_output=True,
            text=True,
            encoding="utf-8",
        )
        found.append([done.returncode, done.stdout, done.stderr])
    return found


calls("cli", {line: lambda line=line: commanded(line) for line in COMMANDS})
calls("cli wrong", {line: lambda line=line: commanded(line) for line in WRONG_COMMANDS})

# ---------------------------------------------------------------- wrong input
Z7 = np.zeros(7)


def of_zeros(function: Callable[[Any, np.ndarray], Any]) -> Callable[[], Any]:
    """A wrong call of Panda at zero."""
    return lambda: function(arm("panda"), Z7)


calls(
    "wrong",
    {
        "length": of_zeros(lambda a, q: a.fk(q[:6])),
        "a scalar": of_zeros(lambda a, q: a.fk(0.5)),
        "text": of_zeros(lambda a, q: a.fk("home")),
        "None": of_zeros(lambda a, q: a.fk(None)),
        "ragged": of_zeros(lambda a, q: a.fk([[1, 2], [3]])),
        "complex": of_zeros(lambda a, q: a.fk(q * 1j)),
        "objects": of_zeros(lambda a, q: a.fk([object()] * 7)),
        "batches": of_zeros(lambda a, q: a.inverse_dynamics(np.zeros((2, 7)), np.zeros((3, 7)), q)),
        "the third argument": of_zeros(lambda a, q: a.inverse_dynamics(q, q, q[:2])),
        "wrench": of_zeros(lambda a, q: by_tip(a.inverse_dynamics, q, q, q, F=[1, 2, 3])),
        "out shape": of_zeros(lambda a, q: a.mass_matrix(q, out=np.empty((7, 6)))),
        "out type": of_zeros(lambda a, q: a.mass_matrix(q, out=np.empty((7, 7), np.int64))),
        "frame": of_zeros(lambda a, q: a.fk(q, "panda_link9")),
        "frame as a list": of_zeros(lambda a, q: a.fk(q, ["panda_link8"])),
        "expressed_in": of_zeros(lambda a, q: a.jacobian(q, expressed_in="body")),
        "choice of C": of_zeros(lambda a, q: a.coriolis_matrix(q, q, "kristoffel")),
        "angles": of_zeros(lambda a, q: a.analytic_jacobian(q, angles="zzy")),
        "method": of_zeros(lambda a, q: a.forward_dynamics(q, q, q, method="abba")),
        "kernel": of_zeros(lambda a, q: a.kernel("inverse_dynamic")),
        "kernel option": of_zeros(lambda a, q: a.kernel("fk", fram="x")),
        "robot": lambda: dl.load("pandas"),
        "tip": lambda: dl.load("panda", tip="hand"),
        "no file": lambda: dl.load("arm.urdf"),
        "suffix": lambda: dl.load("arm.obj"),
        "number for a robot": lambda: dl.load(5),
        "two tips": lambda: dl.load(write("fork.urdf", FORK)).fk([0, 0]),
        "broken urdf": lambda: dl.load(write("arm.urdf", URDF)),
        "malformed urdf": lambda: dl.load(write("arm.urdf", BROKEN["malformed"])),
        "toml key": lambda: dl.load(write("e.toml", TOML_DH.replace("joint = ", "jiont = "))),
        "toml syntax": lambda: dl.load(write("e.toml", TOML_DH.replace("[[dh.rows]]", "[[dh.rows]"))),
        "toml units": lambda: dl.load(write("e.toml", TOML_DH.replace("mass = 3", "mass = -3"))),
        "mjcf tendon": lambda: dl.load(write("swing.xml", TENDON)),
        "xacro argument": lambda: dl.load(write("r.xacro", XACRO.replace("$(arg length)", "$(arg lenght)"))),
        "xacro code": lambda: dl.load(write("r.xacro", XACRO.replace("${l/2}", "${__import__('os')}"))),
        "dh rows": lambda: dl.Robot.from_dh([{"a": 1.0, "alfa": 0.2}]),
        "dh in degrees": lambda: dl.Robot.from_dh([{"a": 1.0, "alpha": 90}]),
        "screws": lambda: dl.Robot.from_screws([[0, 0, 0, 0, 0, 2]], np.eye(4)),
        "payload": lambda: arm("panda").with_payload(-1.0),
        "no payload": lambda: arm("panda").without_payload(),
        "singular angles": lambda: arm("planar-2r").analytic_jacobian([0.1, 0.2]),
        "singular task": lambda: arm("planar-2r").task_space([0.3, 0.0]),
        "ik of a batch of points": lambda: arm("panda").ik([[0.4, 0.2]], rows="position"),
        "ik target": lambda: arm("panda").ik(np.eye(3)),
        "no closed form": lambda: arm("panda").ik_all(np.eye(4)),
        "rows": lambda: arm("panda").manipulability(Q7, rows="vw"),
        "measure": lambda: arm("panda").manipulability(Q7, measure="yoshi"),
        "equations entry": lambda: equations("planar-2r").entry("Q"),
        "formula": lambda: equations("planar-2r").compare("M12", "I2 +"),
        "duration": lambda: simulate(arm("planar-2r"), q0=[0, 0], duration=-1.0),
        "uneven steps": lambda: simulate(arm("planar-2r"), q0=[0, 0], duration=1.0, dt=0.3),
        "integrator": lambda: simulate(arm("planar-2r"), q0=[0, 0], duration=1.0, method="rk9"),
        "reference": lambda: simulate(arm("planar-2r"), pd_law(), q0=[0, 0], duration=1.0, reference=[1, 2, 3]),
        "seed without noise": lambda: simulate(arm("planar-2r"), q0=[0, 0], duration=1.0, seed=1),
        "sample_time": lambda: simulate(
            arm("planar-2r"), pd_law(), q0=[0, 0], reference=[1, 1], duration=1.0, sample_time=0.0015
        ),
        "not a system": lambda: simulate("panda", q0=[0, 0], duration=1.0),
        "controller": lambda: simulate(arm("planar-2r"), 5, q0=[0, 0], duration=1.0),
        "controller of another robot": lambda: simulate(
            arm("planar-3r"),
            dl.control.PD(arm("planar-2r"), kp=1.0, kd=1.0),
            q0=[0, 0, 0],
            reference=[0, 0, 0],
            duration=1.0,
        ),
        "gains": lambda: dl.control.PD(arm("planar-2r"), kp=-1.0, kd=1.0),
        "gain matrix": lambda: dl.control.PD(arm("planar-2r"), kp=[[1, 2], [0, 1]], kd=1.0),
        "omega": lambda: dl.control.ComputedTorque(arm("planar-2r"), omega=0.0),
        "measure of a batch": lambda: rollouts(arm("planar-2r"), q0=[0, 0], duration=0.1, dt=1e-3, measures="rms"),
        "parameter of a batch": lambda: rollouts(
            arm("planar-2r"), q0=[0, 0], duration=0.1, dt=1e-3, parameters={"mass": 1.0}
        ),
        "trajectory limits": lambda: dl.trajectories.trapezoid([0.0], [1.0]),
        "trajectory sizes": lambda: dl.trajectories.quintic([0.0, 1.0], [1.0], 1.0),
        "gap in a sequence": lambda: dl.trajectories.sequence(
            dl.trajectories.quintic([0.0], [1.0], 1.0), dl.trajectories.quintic([2.0], [1.0], 1.0)
        ),
        "path out of reach": lambda: dl.trajectories.to_joints(
            arm("panda"), dl.trajectories.line(T := arm("panda").fk(A7), T @ dl.pose((0, 0, 2.0))), A7
        ),
        "joint limits": lambda: dl.trajectories.minimum_jerk(A7, A7 + 5.0, 2.0, robot=arm("panda")),
        "stability": lambda: dl.control.step_figures(dl.control.TransferFunction([1.0], [1.0, -1.0])),
        "no ultimate gain": lambda: dl.control.ultimate(dl.control.TransferFunction([1.0], [1.0, 2.0])),
        "report section": lambda: dl.write_report(arm("planar-2r"), "a.html", sections=["nothing"]),
        "unknown name": lambda: importlib.import_module("dalembert").nothing,
        "degrees": lambda: dl.pose(rpy=(90, 0, 0)),
        "motor": lambda: dl.DCMotor(resistance=-1.0, torque_constant=0.1),
        "gears of another number": lambda: dl.DrivenRobot(arm("planar-2r"), motor(), [50]),
        "efficiency": lambda: dl.Gear(50, efficiency=1.2),
        "spring": lambda: dl.FlexibleRobot(arm("planar-2r"), stiffness=[-1.0, 1.0]),
        "friction law": lambda: at.friction("stribek", coulomb=1.0),
        "friction parameter": lambda: at.friction("coulomb", coulom=1.0),
        "constraint frame": lambda: dl.Constrained(
            arm("planar-2r"), dl.constrained.plane((1, 0, 0), (1, 0, 0), frame="hand")
        ),
        "closing what cannot close": lambda: four_bar().close([0.1, 2.0, 0.3], fixed=["crank", "coupler"]),
        "Lagrangian without rates": lambda: dl.LagrangianSystem(dl.coordinates("x"), 1, 0).mass_matrix([0.1]),
        "parameters without numbers": lambda: pendulum().mass_matrix([0.1]),
        "log without torques": lambda: dl.identify(arm("planar-2r"), 5),
        "points that are too few": lambda: at.calibrate(arm("ur5e"), at.Points(q=np.zeros((9, 6)), p=np.zeros((8, 3)))),
        "bounds name": lambda: arm("planar-2r").bounds(["mu9"]),
        "property": lambda: dl.properties.lab(arm("planar-2r"), only=["skewness"]),
        "verify without": lambda: dl.verify("planar-2r", states=4, without=["matlab"]),
        "loop frame": lambda: arm("planar-2r").with_loop("hinge", "link1", "link9"),
        "gravity": lambda: arm("planar-2r").with_gravity((0, 1)),
        "threads": lambda: arm("planar-2r").with_threads(0),
        "kernel for casadi": lambda: dl.interchange.casadi_function(arm("planar-2r"), "fkk"),
    },
)


# ---------------------------------------------------------------- running the calls
def outcome(function: Callable[[], Any]) -> dict[str, Any]:
    """What a call gives: its value or error, its warnings, what it prints. In a folder of its own."""
    found: dict[str, Any] = {}
    home, printed = os.getcwd(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                found["value"] = data_of(function())
        except Exception as error:
            found |= error_data(error)
        finally:
            texts = [f"{w.category.__name__}: {scrub(str(w.message))}" for w in caught]
            if ours := sorted({t for t in texts if not t.startswith(("DeprecationWarning", "ResourceWarning"))}):
                found["warnings"] = ours
            if text := scrub(printed.getvalue()).strip():
                found["printed"] = untimed(text)
            os.chdir(home)
    return found


def chosen(only: Sequence[str]) -> dict[str, Callable[[], Any]]:
    """The calls whose names match a pattern: a glob, or a part of the name."""
    if not only:
        return CALLS
    return {n: f for n, f in CALLS.items() if any(p in n or fnmatch.fnmatchcase(n, p) for p in only)}


def run_all(only: Sequence[str], slow: float, quiet: bool) -> dict[str, Any]:
    """Outcomes of all calls, by name."""
    found, begun = {}, time.perf_counter()
    for name, function in chosen(only).items():
        start = time.perf_counter()
        found[name] = outcome(function)
        took = time.perf_counter() - start
        if took > slow:
            print(f"{took:6.1f} s  {name}", file=sys.stderr)
    if not quiet:
        print(f"{len(found)} calls in {time.perf_counter() - begun:.0f} s", file=sys.stderr)
    return found


def about() -> dict[str, str]:
    """On what a record was made: bits may differ elsewhere."""
    versions = {"dalembert": dl.__version__, "numpy": np.__version__, "python": platform.python_version()}
    return {**versions, "machine": platform.machine(), "system": platform.system()}


def read(file: Path) -> dict[str, Any]:
    """The results of a record."""
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as stream:
        return json.load(stream)["calls"]


def save(file: Path, results: dict[str, Any]) -> None:
    """Write a record."""
    text = json.dumps({"about": about(), "calls": results}, ensure_ascii=False, indent=1, sort_keys=True)
    if file.suffix == ".gz":
        file.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        file.write_text(text, encoding="utf-8")


# ---------------------------------------------------------------- comparison
NUMBER = re.compile(r"[−-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+−-]?\d+)?")
BITS, CLOSE, SPELLED, DIFFERENT = "bits", "close", "spelling", "different"


@dataclass
class Difference:
    """Where two results differ: the path inside the result, what was there and what is."""

    path: str
    before: Any
    after: Any
    relative: float | None = None

    def lines(self, width: int = 300) -> str:
        size = "" if self.relative is None else f"  (relative {self.relative:.2g})"
        before, after = _short(self.before, width), _short(self.after, width)
        return f"    at {self.path or '(the result)'}{size}\n      before {before}\n      after  {after}"


def _short(value: Any, width: int) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= width else f"{text[:width]} … ({len(text)} characters)"


@dataclass
class Verdict:
    """How a result compares with the recorded one."""

    kind: str = BITS
    differences: list[Difference] = field(default_factory=list)
    relative: float = 0.0

    def note(self, kind: str) -> None:
        order = (BITS, CLOSE, SPELLED, DIFFERENT)
        self.kind = max(self.kind, kind, key=order.index)

    def differ(self, path: str, before: Any, after: Any, relative: float | None = None) -> None:
        self.note(DIFFERENT)
        self.relative = max(self.relative, relative or 0.0)
        self.differences.append(Difference(path, before, after, relative))


def normal(text: str) -> str:
    """A text in American spelling, with names as they are now, however its lines are broken."""
    for old, new in RENAMED.items():
        text = text.replace(old, new)
    return " ".join(re.sub(r"[─━═-]{3,}", "───", american(text)).split())


def distance(a: float, b: float, scale: float) -> float:
    """The relative difference of two numbers; 0 if both are what rounding leaves."""
    if a == b or (a != a and b != b):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    if abs(a) < ROUNDING and abs(b) < ROUNDING:
        return sys.float_info.min  # not the same bits, and no difference
    return abs(a - b) / max(scale, abs(a), abs(b))


class Comparison:
    """Compares two results as data, number by number and text by text."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance = tolerance

    def of(self, before: dict[str, Any], after: dict[str, Any]) -> Verdict:
        """The verdict of one call: two outcomes."""
        verdict = Verdict()
        if ("error" in before) == ("error" in after):
            self._any("", before, after, verdict)
        else:  # a value then, an exception now, or the other way round
            verdict.differ(
                "", *(f"{o['error']}: {o['message']}" if "error" in o else o["value"] for o in (before, after))
            )
        return verdict

    def _any(self, path: str, a: Any, b: Any, verdict: Verdict) -> None:
        if isinstance(a, dict) and isinstance(b, dict):
            if "sha256" in a and "sha256" in b and "entries" in a and "entries" in b:
                self._arrays(path, a, b, verdict)
            else:
                self._dictionaries(path, a, b, verdict)
        elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            for k, (x, y) in enumerate(zip(a, b, strict=True)):
                self._any(f"{path}[{k}]", x, y, verdict)
        elif isinstance(a, str) and isinstance(b, str):
            self._texts(path, a, b, verdict)
        elif _number(a) and _number(b):
            self._numbers(path, [a], [b], 0.0, verdict)
        elif type(a) is not type(b) or a != b:
            verdict.differ(path, a, b)

    def _dictionaries(self, path: str, a: dict[str, Any], b: dict[str, Any], verdict: Verdict) -> None:
        if a.keys() != b.keys():
            a, b = ({normal(k): v for k, v in d.items()} for d in (a, b))
            if a.keys() == b.keys():
                verdict.note(SPELLED)
        for key in [*a, *(k for k in b if k not in a and MAY_GROW not in b)]:
            inner = f"{path}.{key}" if path else key
            if key not in b:
                verdict.differ(inner, a[key], "(gone)")
            elif key not in a:
                verdict.differ(inner, "(was not there)", b[key])
            else:
                self._any(inner, a[key], b[key], verdict)

    def _arrays(self, path: str, a: dict[str, Any], b: dict[str, Any], verdict: Verdict) -> None:
        if (a["shape"], a["dtype"]) != (b["shape"], b["dtype"]):
            verdict.differ(path, f"{a['dtype']} {a['shape']}", f"{b['dtype']} {b['shape']}")
        elif a["sha256"] != b["sha256"]:
            x, y = (np.array(z["entries"], float).ravel() for z in (a, b))
            finite = np.abs(x[np.isfinite(x)])
            verdict.note(CLOSE)
            index = None if "complex" in a["dtype"] else stored(math.prod(a["shape"]))
            self._numbers(path, x.tolist(), y.tolist(), float(finite.max(initial=0.0)), verdict, index)
            for sum_of_all in ("norm", "total", "finite"):  # what is not among the entries shows in these
                self._numbers(f"{path}.{sum_of_all}", [a[sum_of_all]], [b[sum_of_all]], 0.0, verdict)

    def _numbers(
        self, path: str, a: Any, b: Any, scale: float, verdict: Verdict, index: Sequence[int] | None = None
    ) -> None:
        far = [distance(x, y, scale) for x, y in zip(a, b, strict=True)]
        worst = int(np.argmax(far)) if far else 0
        if not far or far[worst] == 0.0:
            return
        if far[worst] <= self.tolerance:
            verdict.note(CLOSE)
            verdict.relative = max(verdict.relative, far[worst])
        else:
            place = f"{path}[{worst if index is None else index[worst]}]" if len(far) > 1 else path
            verdict.differ(place, a[worst], b[worst], far[worst])

    def _texts(self, path: str, a: str, b: str, verdict: Verdict) -> None:
        if a == b:
            return
        x, y = normal(a), normal(b)
        if x == y:
            verdict.note(SPELLED)
            return
        if NUMBER.sub("#", x) == NUMBER.sub("#", y):
            numbers = [[float(n.replace("−", "-")) for n in NUMBER.findall(text)] for text in (x, y)]
            far = max(distance(p, q, 0.0) for p, q in zip(*numbers, strict=True))
            if far <= self.tolerance:
                verdict.note(CLOSE)
                return
        k = next((k for k, (p, q) in enumerate(zip(x, y, strict=False)) if p != q), min(len(x), len(y)))
        start = max(0, k - 60)
        verdict.differ(f"{path} (character {k})", f"…{x[start : k + 120]}", f"…{y[start : k + 120]}")


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def compare(file: Path, only: Sequence[str], tolerance: float, as_json: bool, slow: float, most: int) -> int:
    """Run the calls again and say what differs from a record. 1 if anything does."""
    before = read(file)
    after = run_all(only, slow, as_json)
    judge = Comparison(tolerance)
    known = {name: judge.of(before[name], after[name]) for name in after if name in before}
    new = [name for name in after if name not in before]
    gone = [name for name in before if name not in CALLS]
    counts = {kind: sum(v.kind == kind for v in known.values()) for kind in (BITS, CLOSE, SPELLED, DIFFERENT)}
    largest = max((v.relative for v in known.values() if v.kind == CLOSE), default=0.0)
    if as_json:
        data = {
            "calls": len(known),
            **counts,
            "tolerance": tolerance,
            "new": new,
            "gone": gone,
            "differences": {name: [vars(d) for d in v.differences] for name, v in known.items() if v.kind == DIFFERENT},
        }
        print(json.dumps(data, ensure_ascii=False, indent=1))
        return int(bool(counts[DIFFERENT] or gone))
    for name, verdict in known.items():
        if verdict.kind != DIFFERENT:
            continue
        size = f", largest relative difference {verdict.relative:.2g}" if verdict.relative else ""
        print(f"{name}: {len(verdict.differences)} differences{size}")
        print(*(d.lines() for d in verdict.differences[:most]), sep="\n")
        if len(verdict.differences) > most:
            print(f"    … and {len(verdict.differences) - most} more")
    for title, names in (("not in the record", new), ("in the record and no longer called", gone)):
        if names:
            print(f"{title}: {', '.join(names)}")
    print(f"{len(known)} calls")
    print(f"{counts[BITS]:5} equal bit for bit")
    print(f"{counts[CLOSE]:5} equal to {tolerance:g} relative (largest {largest:.2g})")
    print(f"{counts[SPELLED]:5} equal after American spelling (and RENAMED)")
    print(f"{counts[DIFFERENT]:5} different")
    return int(bool(counts[DIFFERENT] or gone))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of this tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "compare", "list"))
    parser.add_argument("file", nargs="?", type=Path, help="the record: .json or .json.gz")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="calls by a part of their name")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="relative (%(default)s)")
    parser.add_argument("--json", action="store_true", help="the comparison as data")
    parser.add_argument("--slow", type=float, default=math.inf, metavar="SECONDS", help="tell calls that take longer")
    parser.add_argument("--most", type=int, default=4, help="differences to show of one call (%(default)s)")
    given = parser.parse_args(arguments)
    if given.what == "list":
        print(*chosen(given.only), sep="\n")
        return 0
    if given.file is None:
        parser.error("name the file of the record")
    file = given.file.resolve()
    if given.what == "compare":
        return compare(file, given.only, given.tolerance, given.json, given.slow, given.most)
    results = run_all(given.only, given.slow, quiet=False)
    save(file, results)
    failed = [name for name, found in results.items() if "error" in found]
    print(f"{len(results)} calls recorded in {file.name}, of which {len(failed)} end in an exception")
    return 0


if __name__ == "__main__":
    sys.exit(main())
