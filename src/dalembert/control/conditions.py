"""What is proved of a controller, under which conditions, and whether they hold: in words and as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

import numpy as np

from dalembert.arguments import Array
from dalembert.bounds import lengths
from dalembert.bounds.result import Bounds
from dalembert.control.gains import WHOLE, Gain
from dalembert.display import VerdictMark
from dalembert.errors import InputError
from dalembert.findings import Finding, FindingColumn, Findings, Severity
from dalembert.robot import Robot

SAMPLES = 2000  # configurations within the limits
HOLDS, FAILS, UNKNOWN = "holds", "fails", "cannot be checked"
SEVERITIES: dict[str, Severity] = {HOLDS: "note", FAILS: "error", UNKNOWN: "warning"}


@dataclass(frozen=True)
class Condition:
    """One condition: what must be so, the verdict ("holds", "fails", "cannot be checked"), the numbers it rests on."""

    statement: str
    verdict: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    why: str = ""

    @property
    def name(self) -> str:
        return self.statement

    @property
    def shown(self) -> str:
        return ", ".join(f"{name} = {x:.4g}" for name, x in self.numbers.items())

    @property
    def finding(self) -> Finding:
        """The condition as a finding: an error where it fails, a warning where it cannot be checked, else a note."""
        rest = "; ".join(x for x in (self.shown, self.why) if x)
        message = f"{self.statement}: {self.verdict}" + (f" ({rest})" if rest else "")
        return Finding(self.statement, SEVERITIES[self.verdict], message)

    def __str__(self) -> str:
        return f"[{'x' if self.verdict == HOLDS else '!' if self.verdict == FAILS else '?'}] {self.finding.message}"

    def data(self) -> dict[str, object]:
        return {part.name: getattr(self, part.name) for part in fields(self)}


@dataclass(frozen=True)
class Claim:
    """What is claimed if all conditions hold, and where it is proved."""

    claim: str
    source: str


Conditions = Findings[Condition, Claim]
KINDS = {HOLDS: "good", FAILS: "bad", UNKNOWN: "absent"}
COLUMNS: tuple[FindingColumn[Condition], ...] = (
    FindingColumn("", lambda c: VerdictMark(c.verdict, KINDS[c.verdict])),
    FindingColumn("condition", lambda c: c.statement),
    FindingColumn("numbers", lambda c: c.shown),
    FindingColumn("", lambda c: c.why),
)


def make_conditions(words: str, source: str, items: Iterable[Condition]) -> Conditions:
    """Return what is claimed under these conditions, with the source of its proof."""
    title = f"Claim: {words}\nProof: {source}"
    return Findings("controller", tuple(items), Claim(words, source), "conditions", title, COLUMNS)


def above(statement: str, value: float, bound: float, names: tuple[str, str], why: str = "") -> Condition:
    """value > bound, both known."""
    return Condition(statement, HOLDS if value > bound else FAILS, dict(zip(names, (value, bound), strict=True)), why)


def assumed(statement: str, why: str = "") -> Condition:
    """What no computation here can decide."""
    return Condition(statement, UNKNOWN, {}, why)


def exact_model() -> Condition:
    return assumed("the model is the robot", "the robot itself is not known here; `compare` shows what errors do")


# ----------------------------------------------------------------------------------------------- how large M and g are
@dataclass(frozen=True, eq=False)
class Magnitudes:
    """How large gravity, its slope and inertia get, over all q within the limits of sliding joints (any angle of
    turning ones): from above by `dalembert.bounds.lengths`, which are there at once for any robot, from below by
    samples. What `robot.bounds()` has certified is sharper, and is used where it is there.

    slope (n, n): |∂g_i/∂q_j| ≤ slope_ij;  gravity (n,): |g_i| ≤ gravity_i;  mass (n, n): |M_ij| ≤ mass_ij; rotor:
    λ_min(M) ≥ the smallest reflected rotor inertia, 0 if some joint has none.

    Samples within the limits met `seen_slopes` (samples, n, n), the largest |g_i| `seen_gravity` (n,), eigenvalues of M
    from `seen_mass[0]` to `seen_mass[1]`, and M_ii `seen_inertia` (samples, n): the truth lies between."""

    slope: Array
    gravity: Array
    mass: Array
    rotor: float
    seen_slopes: Array
    seen_gravity: Array
    seen_mass: tuple[float, float]
    seen_inertia: Array

    @property
    def slope_norm(self) -> float:
        """‖∂g/∂q‖₂ ≤ this; infinite where a sliding joint has no limits."""
        return lengths.spectral(self.slope)

    @property
    def seen_slope_norm(self) -> float:
        return float(np.linalg.norm(self.seen_slopes, 2, axis=(-2, -1)).max())

    @property
    def mass_norm(self) -> float:
        """λ_max(M) ≤ this."""
        return lengths.spectral(self.mass)


def find_magnitudes(robot: Robot) -> Magnitudes:
    """The magnitudes of a robot's model, computed once."""
    return robot.once("magnitudes for controllers", lambda: _find_magnitudes(robot))


def seen_inertia(robot: Robot) -> Array:
    """M_ii of the driven joints in samples within the limits, what no drive moves left free, (samples, drives)."""
    return robot.once("inertia for controllers", lambda: _seen_inertia(robot))


def _seen_inertia(robot: Robot) -> Array:
    M = robot.mass_matrix(robot.random_configuration(SAMPLES, seed=0))
    own, free = M[:, robot.driven], M[:, ~robot.driven]
    felt = own[..., robot.driven] - own[..., ~robot.driven] @ np.linalg.solve(
        free[..., ~robot.driven], free[..., robot.driven]
    )
    return np.asarray(np.diagonal(felt, axis1=-2, axis2=-1))


def _find_magnitudes(robot: Robot) -> Magnitudes:
    model = robot.model
    q = robot.random_configuration(SAMPLES, seed=0)
    M = robot.mass_matrix(q)
    eigen = np.linalg.eigvalsh(M)
    slope = robot.kernel("gravity_torque").derivative("q")(q)
    g = robot.gravity_torque(q)
    return Magnitudes(
        slope=lengths.slope(model),
        gravity=lengths.gravity(model),
        mass=lengths.mass(model),
        rotor=lengths.least_rotor(model),
        seen_slopes=slope,
        seen_gravity=np.abs(g).max(axis=0),
        seen_mass=(float(eigen[:, 0].min()), float(eigen[:, -1].max())),
        seen_inertia=seen_inertia(robot),
    )


# ------------------------------------------------------------------------------------------ conditions that recur
def positive(*gains: Gain) -> tuple[Condition, ...]:
    """Gains are positive definite: they would have been refused otherwise, and zeros are told."""
    return tuple(
        above(f"{g.symbol} is symmetric and positive definite", g.lowest, 0.0, ("smallest eigenvalue", "needed"))
        if g.names != WHOLE
        else above(f"{g.symbol} > 0", g.values[0], 0.0, (g.symbol, "needed"))
        for g in gains
    )


def resting() -> Condition:
    return assumed("the set point rests", "a moving one leaves an error: take a controller with feedforward")


def proved_above(statement: str, value: float, bound: float, seen: float, names: tuple[str, str, str]) -> Condition:
    """value > something that is at most `bound` and at least `seen`: proved, refuted, or open between the two."""
    verdict = HOLDS if value > bound else FAILS if value <= seen else UNKNOWN
    why = "it lies between what samples met and what is proved" if verdict == UNKNOWN else ""
    return Condition(statement, verdict, dict(zip(names, (value, bound, seen), strict=True)), why)


def stiffer_than_gravity(kp: Gain, robot: Robot, proved: Bounds | None = None) -> Condition:
    """K_p + ∂g/∂q is positive definite everywhere, so that gravity cannot hold the arm in a second place. What
    `robot.bounds` has `proved` of gravity's slope is sharper than what lengths alone say."""
    B = find_magnitudes(robot)
    if np.isfinite(B.slope).all():
        margin = float(np.linalg.eigvalsh(kp.matrix - B.slope)[0]) if not kp.full else kp.lowest - B.slope_norm
    else:
        margin = -np.inf
    seen = float(np.linalg.eigvalsh(kp.matrix + (B.seen_slopes + np.swapaxes(B.seen_slopes, -1, -2)) / 2)[:, 0].min())
    within = ""
    if proved is not None and kp.lowest - _steepest(proved, robot) > margin:
        margin, within = kp.lowest - _steepest(proved, robot), " within the joints' limits"
    verdict = HOLDS if margin > 0 else FAILS if seen <= 0 else UNKNOWN
    return Condition(
        f"K_p + ∂g/∂q is positive definite for every q{within}",
        verdict,
        {"smallest eigenvalue, proved at least": margin, "met in samples": seen},
        "" if verdict != UNKNOWN or within else "robot.bounds(['gravity_slope']), given to conditions(), is sharper",
    )


def _steepest(proved: Bounds, robot: Robot) -> float:
    """‖∂g/∂q‖₂ within the joints' limits, as bounds of this robot prove it; infinite if they do not."""
    own = robot.limits
    turning = np.array([c.joint.periodic for c in robot.model.coordinates])
    whole = turning & (proved.facts.upper - proved.facts.lower >= 2 * np.pi)
    narrow = ~whole & ((proved.facts.lower > own.lower) | (proved.facts.upper < own.upper))
    if proved.source != robot.name or narrow.any():
        raise InputError(f"these are no bounds of {robot.name!r} within its joints' limits: give robot.bounds(…) of it")
    return max((b.certified for b in proved if b.name == "gravity_slope" and b.proved), default=np.inf)


def unclipped() -> Condition:
    return assumed(
        "the torques that the law asks for are applied",
        "its states do not see limits outside the law, such as torque_limits of simulate",
    )


def strong_enough(robot: Robot, own: Gain | None = None) -> Condition:
    """The motors can hold the arm in every place, within the law's own limits too."""
    B, effort = find_magnitudes(robot), robot.limits.effort
    effort = effort if own is None else np.minimum(effort, own.values)
    short = B.seen_gravity - effort
    worst = int(np.argmax(np.where(np.isfinite(effort), B.gravity / np.where(effort > 0, effort, np.inf), 0.0)))
    verdict = HOLDS if (B.gravity < effort).all() else FAILS if (short > 0).any() else UNKNOWN
    return Condition(
        "the torque limits leave room to hold the arm",
        verdict,
        {
            "limit": float(effort[worst]),
            "gravity at most": float(B.gravity[worst]),
            "met in samples": float(B.seen_gravity[worst]),
        },
        f"joint {robot.joint_names[worst]!r} is the nearest to its limit",
    )
