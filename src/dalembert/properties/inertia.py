"""Properties of the mass matrix.  Seeds 000 §5.2.2, 004."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.algorithms.resistance import unresisted
from dalembert.control.bounds import bounds
from dalembert.properties.case import Case, case_of, found, largest, silent
from dalembert.properties.property import FAILS, HOLDS, PROVED, Property
from dalembert.robot import Robot

Array = NDArray[np.float64]
FAR = (1.0, 10.0, 100.0)  # [m] how far out sliding joints are looked at


def mass_matrix_symmetric(system: Any, **options: Any) -> Property:
    """M = Mᵀ: of the matrix as it is given, and of the one whose columns are the torques of unit accelerations."""
    case = case_of(system, **options)
    columns = _columns(case)
    own = case.relative(case.M - np.swapaxes(case.M, 1, 2), case.M)
    made = case.relative(columns - np.swapaxes(columns, 1, 2), columns)
    same = case.relative(columns - case.M, case.M)
    return case.finding(
        "symmetric mass matrix", np.maximum(np.maximum(own, made), same), lambda p: p.symmetric(),
        {"largest entry met": largest(case.M), "columns of τ against M": float(same.max())},
    )  # fmt: skip


def _columns(case: Case) -> Array:
    """[.., j] = τ(q, 0, e_j) − τ(q, 0, 0)."""
    zero = np.zeros_like(case.q)
    rest = case.mechanism.tau(case.q, zero, zero)
    units = [case.mechanism.tau(case.q, zero, zero + e) - rest for e in np.eye(case.n)]
    return np.stack(units, -1)


def mass_matrix_definite(system: Any, **options: Any) -> Property:
    """All eigenvalues of M are positive: measured, and for small arms proved by the signs of M's principal minors."""
    case = case_of(system, **options)
    values, vectors = np.linalg.eigh((case.M + np.swapaxes(case.M, 1, 2)) / 2)
    k = int(np.argmin(values[:, 0]))
    smallest, most = float(values[k, 0]), float(values[:, -1].max())
    condition = float((values[:, -1] / np.where(values[:, 0] > 0, values[:, 0], np.nan)).max())
    numbers = {"smallest eigenvalue met": smallest, "largest eigenvalue met": most}
    if np.isfinite(condition):
        numbers["largest condition number"] = condition
    if case.given:
        numbers["smallest eigenvalue at the states given"] = float(values[: case.given, 0].min())
    positive = smallest > case.mechanism.bound * 1e-3 * most
    shown = f"measured at {len(values)} states, smallest eigenvalue {smallest:.3g}"
    if not positive:
        return found("positive definite mass matrix", FAILS, shown, numbers, _why_not(case, vectors[k, :, 0]))
    p = case.identities
    formulas = p.minors() if p is not None else {}
    possible = p is not None and _possible(case.mechanism.robot)
    why = p.definite() if p is not None and possible else ""
    note = case.why_no_symbols
    if p is not None and possible and not why and p.kinetic():
        note = "never negative at any state: ½ q̇ᵀMq̇ is proved to be the sum of the bodies' energies"
    shown = f"proved: {why}; {shown}" if why else shown
    verdict = PROVED if why else HOLDS
    return found("positive definite mass matrix", verdict, shown, numbers, note, formulas=formulas)


def _why_not(case: Case, direction: Array) -> str:
    robot = case.mechanism.robot
    if robot is not None:
        idle = [robot.joint_names[k] for k in unresisted(robot.model)]
        if idle:
            return f"nothing resists {', '.join(idle)}: what moves there has no inertia about that axis"
    return f"q̇ᵀMq̇ is not positive along q̇ = {np.round(direction, 3).tolist()}"


def _possible(robot: Robot | None) -> bool:
    """Whether every body's energy is a sum of squares: m ≥ 0 and I about the centre of mass not negative."""
    if robot is None:
        return False
    for body in robot.model.bodies:
        m, I = body.inertia.m, np.array(body.inertia.about_com() if body.inertia.m else body.inertia.I, float)
        if m < 0 or body.rotor_inertia < 0 or (m == 0 and any(body.inertia.h)):
            return False
        if np.linalg.eigvalsh(I)[0] < -1e-12 * max(1e-300, float(np.abs(I).max())):
            return False
    return True


def mass_matrix_of_position(system: Any, **options: Any) -> Property:
    """τ is affine in q̈ with a matrix that depends on q alone."""
    case = case_of(system, **options)
    m = case.mechanism
    change = m.tau(case.q, case.qd, case.qdd + case.x) - case.tau
    wanted = np.einsum("bij,bj->bi", case.M, case.x)
    p = case.identities
    formulas, note = {}, ""
    if p is not None:
        names = m.robot.joint_names if m.robot is not None else ()
        used = sorted(p.depends_on(*(x for row in p.equations.M for x in row)))
        formulas = {"M depends on": ", ".join(names[k] for k in used) or "nothing: it is constant"}
    return case.finding(
        "mass matrix of position alone", case.relative(change - wanted, wanted, case.tau),
        lambda p: p.of_position_alone() and p.symmetric(), None, formulas, note,
    )  # fmt: skip


def kinetic_energy(system: Any, **options: Any) -> Property:
    """½ q̇ᵀMq̇ against the energies of the bodies, or K as it is given."""
    case = case_of(system, **options)
    if case.mechanism.kinetic_energy is None:
        return silent("kinetic energy", f"{case.mechanism.name!r} knows its kinetic energy only by M")
    K = case.mechanism.K(case.q, case.qd)
    own = 0.5 * np.einsum("bi,bij,bj->b", case.qd, case.M, case.qd)
    return case.finding(
        "kinetic energy", case.relative(own - K, K), lambda p: p.kinetic(), {"largest K met [J]": largest(K)}
    )


def mass_matrix_bounded(system: Any, **options: Any) -> Property:
    """Eigenvalues of M from below and above; without an upper bound where a sliding joint enters M and has no end."""
    case = case_of(system, **options)
    values = np.linalg.eigvalsh((case.M + np.swapaxes(case.M, 1, 2)) / 2)
    numbers = {"smallest eigenvalue met": float(values.min()), "largest eigenvalue met": float(values.max())}
    for p, name in ((1, "‖M‖₁"), (2, "‖M‖₂"), (np.inf, "‖M‖∞")):
        sizes = np.linalg.norm(case.M, p, axis=(1, 2))
        numbers |= {f"{name} from": float(sizes.min()), f"{name} to": float(sizes.max())}
    robot = case.mechanism.robot
    shown = f"measured at {len(values)} states"
    if robot is None:
        return found("bounded mass matrix", HOLDS, shown, numbers, "as far as the states drawn go")
    slides = _endless(robot, np.abs(case.dM).max(axis=(0, 1, 2)))
    if not slides:
        B = bounds(robot)
        numbers["λ_max at most (by lengths)"] = B.mass_norm
        numbers["λ_min at least (by rotors)"] = B.rotor
        note = "no sliding joint without limits enters M: the bounds are constants; certified ones: robot.bounds()"
        inside = float(values.max()) <= B.mass_norm * (1 + 1e-12) and float(values.min()) >= B.rotor - 1e-12
        shown = f"proved from above by the lengths between joints; {shown}"
        return found("bounded mass matrix", PROVED if inside else FAILS, shown, numbers, note)
    numbers |= _growth(robot, slides)
    names = ", ".join(robot.joint_names[k] for k in slides)
    note = f"no upper bound: {names} slides without end, and M grows with it; within limits it has one"
    return found("bounded mass matrix", HOLDS, f"{shown}, and far out along {names}", numbers, note)


def _endless(robot: Robot, slope: Array) -> list[int]:
    """Sliding joints without limits on which something depends."""
    ends = robot.limits
    return [
        k
        for k, c in enumerate(robot.model.coordinates)
        if c.kind == "prismatic" and slope[k] > 1e-9 and not (np.isfinite(ends.lower[k]) and np.isfinite(ends.upper[k]))
    ]


def _growth(robot: Robot, slides: list[int]) -> dict[str, float]:
    q = np.zeros((len(FAR), robot.n))
    q[:, slides] = np.array(FAR)[:, None]
    sizes = np.linalg.eigvalsh(robot.mass_matrix(q))[:, -1]
    return {f"λ_max at {far:g} m": float(x) for far, x in zip(FAR, sizes, strict=True)}
