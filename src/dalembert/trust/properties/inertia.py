"""Properties of the mass matrix.  [Poonawala] §5.2.2, [Fakhari 2]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.algorithms.massless import unresisted
from dalembert.arguments import Array
from dalembert.bounds import lengths
from dalembert.model.model import Body, Model
from dalembert.robot import Robot
from dalembert.trust.properties.mechanism import Trial, form, judge, largest, times, transpose
from dalembert.trust.properties.property import FAILS, HOLDS, PROVED, Verdict, silent

FAR = (1.0, 10.0, 100.0)  # [m] how far out sliding joints are looked at
BEYOND = (1e2, 1e4)  # [m] and how far to see whether M goes on growing
PLACES = 16  # where that is looked at
ROUNDED = 1e-6  # of an entry: (10 km)² is known to 1e-8 m²


@judge("symmetric mass matrix")
def mass_matrix_symmetric(trial: Trial) -> Verdict:
    """M = Mᵀ: of the matrix as it is given, and of the one whose columns are the torques of unit accelerations."""
    zero, tau = np.zeros_like(trial.q), trial.mechanism.tau
    rest = tau(trial.q, zero, zero)
    columns = np.stack([tau(trial.q, zero, zero + e) - rest for e in np.eye(trial.n)], -1)
    own = trial.relative(trial.M - transpose(trial.M), trial.M)
    made = trial.relative(columns - transpose(columns), columns)
    same = trial.relative(columns - trial.M, trial.M)
    numbers = {"largest entry met": largest(trial.M), "columns of τ against M": float(same.max())}
    return trial.judge(np.maximum(np.maximum(own, made), same), lambda p: p.symmetric(), numbers)


@judge("positive definite mass matrix")
def mass_matrix_definite(trial: Trial) -> Verdict:
    """All eigenvalues of M are positive: measured, and for small arms proved by the signs of M's principal minors."""
    values, vectors = np.linalg.eigh((trial.M + transpose(trial.M)) / 2)
    k = int(np.argmin(values[:, 0]))
    smallest, most = float(values[k, 0]), float(values[:, -1].max())
    condition = float((values[:, -1] / np.where(values[:, 0] > 0, values[:, 0], np.nan)).max())
    numbers = {"smallest eigenvalue met": smallest, "largest eigenvalue met": most}
    if np.isfinite(condition):
        numbers["largest condition number"] = condition
    if trial.given:
        numbers["smallest eigenvalue at the states given"] = float(values[: trial.given, 0].min())
    positive = smallest > trial.mechanism.bound * 1e-3 * most
    shown = f"measured at {len(values)} states, smallest eigenvalue {smallest:.3g}"
    if not positive:
        return Verdict(FAILS, shown, numbers, _why_not(trial, vectors[k, :, 0]))
    p = trial.identities
    formulas = p.minors() if p is not None else {}
    possible = p is not None and _possible(trial.mechanism.robot)
    why = p.definite() if p is not None and possible else ""
    note = trial.why_no_symbols
    if p is not None and possible and not why and p.kinetic():
        note = "never negative at any state: ½ q̇ᵀMq̇ is proved to be the sum of the bodies' energies"
    shown = f"proved: {why}; {shown}" if why else shown
    verdict = PROVED if why else HOLDS
    return Verdict(verdict, shown, numbers, note, formulas=formulas)


def _why_not(trial: Trial, direction: Array) -> str:
    robot = trial.mechanism.robot
    if robot is not None:
        idle = [robot.joint_names[k] for k in unresisted(robot.model)]
        if idle:
            return f"nothing resists {', '.join(idle)}: what moves there has no inertia about that axis"
    return f"q̇ᵀMq̇ is not positive along q̇ = {np.round(direction, 3).tolist()}"


def _possible(robot: Robot | None) -> bool:
    """Whether every body's energy is a sum of squares: m ≥ 0 and I about the center of mass not negative."""
    if robot is None:
        return False
    for body in robot.model.bodies:
        m, I = body.inertia.m, np.array(body.inertia.about_com() if body.inertia.m else body.inertia.I, float)
        if m < 0 or body.rotor_inertia < 0 or (m == 0 and any(body.inertia.h)):
            return False
        if np.linalg.eigvalsh(I)[0] < -1e-12 * max(1e-300, float(np.abs(I).max())):
            return False
    return True


@judge("mass matrix of position alone")
def mass_matrix_of_position(trial: Trial) -> Verdict:
    """τ is affine in q̈ with a matrix that depends on q alone."""
    m = trial.mechanism
    change = m.tau(trial.q, trial.qd, trial.qdd + trial.x) - trial.tau
    wanted = times(trial.M, trial.x)
    p = trial.identities
    formulas = {}
    if p is not None:
        names = m.robot.joint_names if m.robot is not None else ()
        used = sorted(p.depends_on(*(x for row in p.equations.M for x in row)))
        formulas = {"M depends on": ", ".join(names[k] for k in used) or "nothing: it is constant"}
    violation = trial.relative(change - wanted, wanted, trial.tau)
    return trial.judge(violation, lambda p: p.of_position_alone() and p.symmetric(), formulas=formulas)


@judge("kinetic energy")
def kinetic_energy(trial: Trial) -> Verdict:
    """½ q̇ᵀMq̇ against the energies of the bodies, or K as it is given."""
    if trial.mechanism.kinetic_energy is None:
        return silent(f"{trial.mechanism.name!r} knows its kinetic energy only by M")
    K = trial.mechanism.K(trial.q, trial.qd)
    own = 0.5 * form(trial.qd, trial.M, trial.qd)
    return trial.judge(trial.relative(own - K, K), lambda p: p.kinetic(), {"largest K met [J]": largest(K)})


@judge("bounded mass matrix")
def mass_matrix_bounded(trial: Trial) -> Verdict:
    """Eigenvalues of M from below and above; without an upper bound where what slides without end enters M, be it a
    coordinate's own joint or one that follows it. Proved where the bound by lengths is finite, and only there."""
    values = np.linalg.eigvalsh((trial.M + transpose(trial.M)) / 2)
    numbers = {"smallest eigenvalue met": float(values.min()), "largest eigenvalue met": float(values.max())}
    for p, name in ((1, "‖M‖₁"), (2, "‖M‖₂"), (np.inf, "‖M‖∞")):
        sizes = np.linalg.norm(trial.M, p, axis=(1, 2))
        numbers |= {f"{name} from": float(sizes.min()), f"{name} to": float(sizes.max())}
    robot = trial.mechanism.robot
    shown = f"measured at {len(values)} states"
    if robot is None:
        return Verdict(HOLDS, shown, numbers, "as far as the states drawn go")
    endless = endless_slides(robot)
    idle = _without_effect(trial, endless)
    slides = [k for k in endless if k not in idle and _grows(trial, robot, k)]
    if slides:
        numbers |= _growth(robot, slides)
        names = sliding_names(robot, slides)
        note = f"no upper bound: {names} slides without end, and M grows with it; within limits it has one"
        return Verdict(HOLDS, f"{shown}, and far out along {names}", numbers, note)
    model = _held(robot.model, idle)
    most, least = lengths.spectral(lengths.mass(model)), lengths.least_rotor(model)
    numbers["λ_max at most (by lengths)"] = most
    numbers["λ_min at least (by rotors)"] = least
    inside = float(values.max()) <= most * (1 + 1e-12) and float(values.min()) >= least - 1e-12 * abs(values).max()
    if not inside:
        return Verdict(FAILS, shown, numbers, "an eigenvalue was met beyond the bounds by lengths")
    if not np.isfinite(most):
        why = f"{sliding_names(robot, endless)} slides without end, and M did not grow with it up to {BEYOND[1]:g} m"
        note = f"no upper bound is known: {why if endless else 'the sum of its lengths is not finite'}"
        return Verdict(HOLDS, shown, numbers, note)
    note = "no sliding joint without limits enters M: the bounds are constants; certified ones: robot.bounds()"
    shown = f"proved from above by the lengths between joints; {shown}"
    return Verdict(PROVED, shown, numbers, note)


def endless_slides(robot: Robot) -> list[int]:
    """Coordinates without limits with which something slides: their own joint, or one that follows it."""
    ends = robot.limits
    return [
        k
        for k in range(robot.n)
        if not (np.isfinite(ends.lower[k]) and np.isfinite(ends.upper[k])) and reach(robot, k) > 0
    ]


def sliding_names(robot: Robot, coordinates: list[int]) -> str:
    """The joints that slide with these coordinates."""
    return ", ".join(b.joint_name for k in coordinates for b in _sliding(robot, k))


def _sliding(robot: Robot, k: int) -> list[Body]:
    return [b for b in robot.model.bodies if b.coordinate == k and b.joint.travel and b.multiplier]


def reach(robot: Robot, k: int) -> float:
    """How far the furthest slides when a coordinate goes by one."""
    return max((abs(b.multiplier * b.joint.travel) for b in _sliding(robot, k)), default=0.0)


def _without_effect(trial: Trial, endless: list[int]) -> set[int]:
    """Those of them that do not occur in M's polynomials."""
    p = trial.identities
    return set() if p is None else set(endless) - p.depends_on(*(x for row in p.equations.M for x in row))


def _held(model: Model, idle: set[int]) -> Model:
    """The same M: what does not enter it stays where it is."""
    kept = tuple(replace(c, lower=0.0, upper=0.0) if k in idle else c for k, c in enumerate(model.coordinates))
    return replace(model, coordinates=kept)


def _grows(trial: Trial, robot: Robot, k: int) -> bool:
    """Whether M goes on changing far out along a coordinate, each entry as part of √(M_ii M_jj): what only turns with
    it changes no more at ten kilometers than at a hundred meters."""
    d = np.sqrt(np.abs(np.einsum("bii->bi", trial.M)).max(0))
    scale = np.outer(d, d)
    q = trial.q[:PLACES].copy()
    changes = []
    for far in BEYOND:
        q[:, k] = far / reach(robot, k)
        change = np.abs(robot.mass_matrix(q) - trial.M[:PLACES]).max(0)
        changes.append(float((change[scale > 0] / scale[scale > 0]).max(initial=0.0)))
    return changes[1] > max(4 * changes[0], ROUNDED)


def _growth(robot: Robot, slides: list[int]) -> dict[str, float]:
    q = np.zeros((len(FAR), robot.n))
    for k in slides:
        q[:, k] = np.array(FAR) / reach(robot, k)
    sizes = np.linalg.eigvalsh(robot.mass_matrix(q))[:, -1]
    return {f"λ_max at {far:g} m": float(x) for far, x in zip(FAR, sizes, strict=True)}
