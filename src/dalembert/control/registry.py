"""The controllers, one row each: what the command line, the studio, the report and the docs read.

To add one: a class in a file of its own, and a row here (or `register`, from outside). A class with `for_bandwidth` is
made from a bandwidth ω and a damping ζ alone, and is then offered wherever controllers are chosen from. Nothing here
imports a controller before it is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, cast

from dalembert.arguments import need
from dalembert.errors import InputError
from dalembert.spatial.vector import dot, matvec

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dalembert.control.controller import Controller
    from dalembert.robot import Robot


@dataclass(frozen=True)
class Setting:
    """A number that a controller is made for: its symbol, unit and meaning, the value if nobody says, and the range and
    step of a slider."""

    name: str
    symbol: str
    unit: str
    meaning: str
    default: float
    low: float
    high: float
    step: float


NO_CONTROLLER = "none"
MIN_FALL_ACCELERATION = 1e-6  # [m/s²] of gravity along a free direction: less is level

OMEGA = Setting("omega", "ω", "rad/s", "Bandwidth", 10.0, 0.5, 40.0, 0.5)
ZETA = Setting("zeta", "ζ", "", "Damping ratio", 1.0, 0.05, 2.0, 0.05)


@dataclass(frozen=True)
class Entry:
    """One controller: its `name` in commands, its `title` in pictures, where its class is (module and name), what it
    does in a `sentence`.

    `needs`: what it takes beyond a robot, in words; nothing if ω and ζ will do. `follows`: "joints", or the "tip".
    `settings`: what it is made for; none for those without gains. `accelerations`: its gains are of those, not of
    torques. `chains`: its torques are right for a closed chain
    too, although the tree it believes in has its joints free. `report`: "quick" if every report compares it, "full" if
    only a full one does. `asked`: it has a loop of its own, and is called with numbers at samples; what compiles laws
    cannot have it. `where`: a dotted path; one that begins with a dot begins in `dalembert.control`."""

    name: str
    title: str
    where: str
    sentence: str
    needs: str = ""
    follows: str = "joints"
    settings: tuple[Setting, ...] = (OMEGA, ZETA)
    accelerations: bool = False
    chains: bool = False
    report: str = ""
    asked: bool = False

    @property
    def controller(self) -> type[Controller]:
        """Its class."""
        module, _, name = self.where.rpartition(".")
        return cast("type[Controller]", getattr(import_module(module, __package__), name))

    def make(
        self,
        robot: Robot,
        omega: float,
        zeta: float,
        q: ArrayLike | None = None,
        frame: str | None = None,
        friction: bool = False,
    ) -> Controller:
        """Return the controller of a robot. One of the tip begins at q, and moves this frame. `friction`: the model's
        friction is compensated."""
        if self.needs:
            place = "dalembert.control" if self.where.startswith(".") else ".".join(self.where.split(".")[:2])
            raise InputError("missing", problem=f"{self.title} needs {self.needs}", remedy=f"Make it by {place}.")
        kept = {} if self.follows == "joints" else {"q": q, "frame": frame}
        made = self.controller.for_bandwidth(robot, omega, zeta, **kept)
        return made.with_friction() if friction else made

    @property
    def compensates(self) -> bool:
        """Whether it has a term for the friction of the model."""
        return "friction" in {field.name for field in fields(self.controller)}  # type: ignore[arg-type]


# From what knows nothing of the robot to what knows all of it.
_TABLE = (
    Entry("pd", "PD", ".joint_space.PD", "τ = K_p e + K_d ė", chains=True),
    Entry(
        "pd-gravity", "PD + gravity", ".joint_space.PDGravity", "τ = K_p e + K_d ė + g(q)", chains=True, report="quick"
    ),
    Entry("pid", "PID", ".joint_space.JointPID", "τ = K_p e + K_d ė + K_i ∫ e dt", chains=True),
    Entry("independent", "independent joints", ".independent.IndependentJoint", "τ_i = J_i q̈_d + k_d ė + k_p e"),
    Entry(
        "feedforward",
        "feedforward",
        ".computed_torque.Feedforward",
        "τ = M(q_d) q̈_d + c + g(q_d)",
        settings=(),
        report="full",
    ),
    Entry(
        "feedforward-pd",
        "feedforward + PD",
        ".computed_torque.FeedforwardPD",
        "τ = M(q_d) q̈_d + c + g(q_d) + K_p e + K_d ė",
        report="full",
    ),
    Entry(
        "computed-torque",
        "computed torque",
        ".computed_torque.ComputedTorque",
        "τ = M (q̈_d + K_d ė + K_p e) + c + g",
        accelerations=True,
        report="quick",
    ),
    Entry(
        "impedance",
        "impedance",
        ".task_space.Impedance",
        "the tip as a mass on a spring: Λ ë + D ė + K e = −F",
        follows="tip",
    ),
    Entry(
        "task-computed-torque",
        "computed torque in task space",
        ".task_space.TaskComputedTorque",
        "ẍ = ẍ_d + K_d ė + K_p e where the tool is",
        needs="the rows of a task",
        follows="tip",
    ),
    Entry(
        "adaptive",
        "adaptive control",
        ".adaptive.AdaptiveControl",
        "τ = Y_r π̂ + K_D s, with parameters that are learned on the way",
        needs="gains of its adaptation",
    ),
    Entry(
        "robust",
        "robust control",
        ".robust.RobustControl",
        "τ = M̂ q̈_r + Ĉ q̇_r + ĝ + K_D s + ρ s/‖s‖",
        needs="an Uncertainty of its model",
    ),
    Entry(
        "hybrid-force",
        "hybrid force and motion",
        ".hybrid.HybridForce",
        "motion along constraints, force across them",
        needs="a Constrained system and a force",
    ),
    Entry(
        "flexible-pd",
        "PD of flexible joints",
        ".flexible_joints.FlexiblePD",
        "τ = K_P (θ_d − θ) − K_D θ̇ + g(q_d)",
        needs="a FlexibleRobot",
    ),
    Entry(
        "flexible-linearizing",
        "linearization of flexible joints",
        ".flexible_joints.FlexibleLinearizing",
        "q⁗ = k₀ e + k₁ ė + k₂ ë + k₃ e⃛ through the springs",
        needs="a FlexibleRobot",
    ),
    Entry(
        "voltage",
        "voltage control",
        ".voltage.VoltageControl",
        "v = R i + K_m θ̇_m for the torques that a controller asks for",
        needs="a DrivenRobot and a controller",
    ),
    Entry(
        "predictive",
        "predictive control",
        "dalembert.optimal.predictive.PredictiveControl",
        "τ = the first torques of the best motion over the next 0.1 s, found anew at each sample, within the efforts",
        asked=True,
    ),
)
CONTROLLERS: dict[str, Entry] = {entry.name: entry for entry in _TABLE}


def register(entry: Entry) -> None:
    """One more controller, offered from now on wherever controllers are chosen from."""
    need(entry, Entry, "register", "a row of the table of controllers")
    for other in CONTROLLERS.values():
        if entry.name == other.name or entry.title == other.title:
            raise InputError("duplicate", "entry", entry.name, expected="a new name: it names another controller")
    CONTROLLERS[entry.name] = entry


def offered(follows: str | None = None, compiled: bool = False) -> dict[str, Entry]:
    """Those that ω and ζ will do for, by name; only those that follow the "joints" or the "tip", if it is said, and
    only those that can be compiled."""
    rows = ((name, e) for name, e in CONTROLLERS.items() if not e.needs and not (compiled and e.asked))
    return {name: e for name, e in rows if follows in (None, e.follows)}


def suitable(robot: Robot, compiled: bool = False) -> dict[str, Entry | None]:
    """Return the controllers to choose from for a robot, by title, and None for "none".

    The first is `default_title(robot)`. A closed chain gets those whose torques are right although its tree has its
    joints free. `compiled`: only controllers that can be compiled."""
    found = {e.title: e for e in offered(compiled=compiled).values() if e.chains or not robot.loops}
    first = default_title(robot)
    return {first: found.pop(first), **found, NO_CONTROLLER: None}


def default_title(robot: Robot) -> str:
    """Return the title of the controller to begin with: gravity is compensated only where something holds the robot."""
    return "PD" if is_unsupported(robot) else "PD + gravity"


def is_unsupported(robot: Robot) -> bool:
    """Return whether nothing holds the robot up: some base of it slides freely along gravity."""
    bases = [(b.joint, b.placement.R) for b in robot.model.bodies if b.parent < 0 and not b.joint.driven]
    directions = [matvec(R, S.v) for joint, R in bases for S in joint.subspace(())]
    return any(abs(float(dot(v, robot.model.gravity))) > MIN_FALL_ACCELERATION for v in directions)


def describe_entry(entry: Entry | None) -> str:
    """Return what a controller does, in one line; None is no controller."""
    return "τ = 0: the robot falls" if entry is None else entry.sentence
