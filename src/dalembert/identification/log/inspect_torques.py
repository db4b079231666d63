"""What a log tells of itself beside the model's masses: order and signs of the torques, gravity's direction, units,
lag.

Per joint, what friction and an offset can explain is projected out of both sides; what the model says is split into
gravity by its three components and the rest, τ = Σ_k g_k G_k(q) + d(q, q̇, q̈), so that a base that is not upright
is a vector g of its own."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from dalembert.identification.log.findings import Finding
from dalembert.identification.log.samples import Samples
from dalembert.robot import Robot

Array = NDArray[np.float64]
Order = tuple[int, ...]

ROWS = 1500  # samples looked at
FEW = 100  # for each order of the joints that is tried
WORTH = 0.02  # of the torques explained, for which one more exchange of joints is believed
BLOCKS = 8  # stretches of time left out in turn, for the uncertainty of gravity's direction
TILT = 5.0  # degrees: less is within what CAD masses can do
LAG = 0.1  # s
CLEAR = 0.2  # correlation with the model's torque below which something else must have told


def model_parts(robot: Robot, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
    """G (..., n, 3), the torques of a unit of gravity along each axis of the base, and d (..., n), what motion
    takes."""
    still = np.zeros_like(q)
    g = robot.gravity_torque(q)
    axes = [g - robot.inverse_dynamics(q, still, still, base_acceleration=np.eye(6)[k]) for k in range(3)]
    return np.stack(axes, axis=-1), robot.inverse_dynamics(q, qd, qdd) - g


def friction_basis(qd: Array, rest: Array) -> Array:
    """1, q̇ and its direction: (..., n, 3)."""
    return np.stack([np.ones_like(qd), qd, np.clip(qd / rest, -1, 1)], axis=-1)


def _without(basis: Array, x: Array) -> Array:
    """x (M, k) less its part in the span of basis (M, b)."""
    Q, _ = np.linalg.qr(basis)
    return np.asarray(x - Q @ (Q.T @ x))


@dataclass(frozen=True, eq=False)
class View:
    """The samples that are looked at, and the model's parts there, raw and with friction projected out."""

    robot: Robot
    samples: Samples
    G: Array  # (M, n, 3)
    d: Array  # (M, n)
    free: Array  # (M, n, 5): G, d, tau without what friction and offset explain

    @property
    def n(self) -> int:
        return self.robot.n


def view(robot: Robot, samples: Samples) -> View:
    s = samples.part(slice(None, None, max(1, len(samples) // ROWS)))
    G, d = model_parts(robot, s.q, s.qd, s.qdd)
    basis = friction_basis(s.qd, s.rest)
    together = np.concatenate([G, d[..., None], s.tau[..., None]], axis=-1)
    free = np.stack([_without(basis[:, j], together[:, j]) for j in range(robot.n)], axis=1)
    return View(robot, s, G, d, free)


# ------------------------------------------------------------------------------------------------ order
def _likeness(model: Array, tau: Array, gravity: Array) -> Array:
    """The mean over joints of how much of tau (..., n, M) the model (..., n, M, 4) explains, each joint up to a
    factor of its own: under the gravity that the model has, or under the one that fits all joints best, whichever is
    more."""
    w = 1.0 / (np.einsum("...jm,...jm->...j", tau, tau) + 1e-30)
    A = np.einsum("...j,...jmi,...jmk->...ik", w, model, model)
    b = np.einsum("...j,...jmi,...jm->...i", w, model, tau)
    ridge = 1e-6 * np.einsum("...ii->...i", A)[..., None] * np.eye(4) + 1e-12 * np.eye(4)
    fitted = np.linalg.solve(A + ridge, b[..., None])[..., 0]
    best = np.zeros(tau.shape[:-2])
    for x in (np.append(gravity, 1.0), fitted):
        said = np.einsum("...jmi,...i->...jm", model, np.broadcast_to(x, fitted.shape))
        cross = np.einsum("...jm,...jm->...j", said, tau) ** 2
        share = cross * w / (np.einsum("...jm,...jm->...j", said, said) + 1e-30)
        best = np.maximum(best, share.mean(axis=-1))
    return np.asarray(best)


def order(v: View) -> list[Finding]:
    """Whether the columns fit better in another order, of torques alone or of everything."""
    n, names = v.n, v.samples.joints
    if n < 2:
        return []
    same = tuple(range(n))
    own = float(_orders(v, [same], torques_only=True)[0])
    found: list[Finding] = []
    best = own
    rows = (
        ("the torques", True, "columns={'tau': [...]}"),
        ("positions and torques", False, "columns={'q': [...], 'tau': [...]}"),
    )
    for what, torques_only, how in rows:
        new, score = _climbed(v, torques_only)
        if _better(score, own) and score > best + WORTH:
            best, found = score, [_reordered(what, names, new, score, own, how)]
    return found


def _climbed(v: View, torques_only: bool) -> tuple[Order, float]:
    """The best order found from the columns as they are, reversed, and rolled, by exchanging two as long as that
    helps."""
    n = v.n
    same = tuple(range(n))
    starts = [same, same[::-1], *(tuple(np.roll(same, k).tolist()) for k in range(1, n))]
    scores = _orders(v, starts, torques_only)
    best, top = same, float(scores[0])
    for k in (0, *(int(k) for k in np.argsort(-scores)[:3] if k)):  # what lies nearest is believed first
        at, score = starts[k], float(scores[k])
        while True:
            near = [tuple(at[i] for i in _swapped(n, a, b)) for a, b in combinations(range(n), 2)]
            tried = _orders(v, near, torques_only)
            if tried.max() <= score + WORTH:
                break
            at, score = near[int(np.argmax(tried))], float(tried.max())
        if score > top + WORTH:
            best, top = at, score
    return best, top


def _better(score: float, own: float) -> bool:
    return score > own + 0.05 and (1 - score) < 0.65 * (1 - own)


def _swapped(n: int, a: int, b: int) -> Order:
    new = list(range(n))
    new[a], new[b] = b, a
    return tuple(new)


def _orders(v: View, orders: list[Order], torques_only: bool) -> Array:
    """For each order of the columns, how well model and torques go together.  (orders,)."""
    s = v.samples.part(slice(None, None, max(1, len(v.samples) // FEW)))
    found = []
    for first in range(0, len(orders), 200):
        index = np.array(orders[first : first + 200])  # (P, n)
        moved = index[:1] * 0 + np.arange(v.n) if torques_only else index
        q, qd, qdd, tau = (
            np.moveaxis(x[:, i], 0, 1) for x, i in ((s.q, moved), (s.qd, moved), (s.qdd, moved), (s.tau, index))
        )
        G, d = model_parts(v.robot, q, qd, qdd)  # (P, M, n, 3), (P, M, n)
        model = np.moveaxis(np.concatenate([G, d[..., None]], axis=-1), 2, 1)
        basis = np.moveaxis(friction_basis(qd, s.rest[moved][:, None, :]), 2, 1)
        Q, _ = np.linalg.qr(basis)  # (P, n, M, 3)
        model = model - Q @ (np.swapaxes(Q, -1, -2) @ model)
        tau = np.moveaxis(tau, 2, 1)
        tau = tau - (Q @ (np.swapaxes(Q, -1, -2) @ tau[..., None]))[..., 0]
        found.append(_likeness(np.broadcast_to(model, (*tau.shape, 4)), tau, v.robot.gravity))
    return np.concatenate(found)


def _reordered(what: str, names: tuple[str, ...], new: Order, score: float, own: float, how: str) -> Finding:
    moved = ", ".join(f"{names[j]!r} has that of {names[c]!r}" for j, c in enumerate(new) if c != j)
    said = (
        f"the order of the joints does not fit: with {what} in another order the model explains {100 * score:.0f} "
        "% instead of "
        f"{100 * own:.0f} %: by the look of it {moved}"
    )
    return Finding("error", "order", None, said, score, f"give the right order with {how}")


# ------------------------------------------------------------------------------------------------ units
def units(v: View) -> tuple[list[Finding], Array]:
    """Torques whose size is far from the model's, and what to divide each joint's by.  (n,)."""
    n, s = v.n, v.samples
    said, tau = v.free[..., :3] @ v.robot.gravity + v.free[..., 3], v.free[..., 4]
    unknown_rotor = [j for j in range(n) if not any(b.rotor_inertia for b in v.robot.model.bodies if b.coordinate == j)]
    for j in unknown_rotor:  # a rotor that the model lacks makes torques of its own, along q̈
        basis = np.column_stack([friction_basis(s.qd, s.rest)[:, j], s.qdd[:, j]])
        both = _without(basis, np.column_stack([said[:, j], tau[:, j]]))
        said[:, j], tau = both[:, 0], np.column_stack([tau[:, :j], both[:, 1:], tau[:, j + 1 :]])
    norms = np.linalg.norm(said, axis=0), np.linalg.norm(tau, axis=0)
    like = np.abs(np.einsum("mj,mj->j", said, tau)) / (norms[0] * norms[1] + 1e-30)
    size = like * norms[1] / (norms[0] + 1e-12)
    whole = v.G @ v.robot.gravity + v.d
    raw = np.linalg.norm(s.tau, axis=0) / (np.linalg.norm(whole, axis=0) + 1e-12)
    told = (like > 0.7) & (norms[0] > 1e-3 * np.linalg.norm(norms[0]))
    if not told.any():
        return [], np.ones(n)
    common = float(np.exp(np.median(np.log(size[told]))))
    if 300 < common < 3000:
        text = f"the torques are about {common:.3g} times the model's: they look like mN m"
        milli = Finding("error", "units", None, text, common, "read the log with units={'tau': 'mNm'}")
        return [milli], np.full(n, 1000.0)
    found, divide = [], np.ones(n)
    gears = {joint.name: joint.drive.gear_ratio for joint in v.robot.description.joints}
    for j in np.flatnonzero(told & ((size > 6) | (size < 1 / 6)) & ((raw > 4) | (raw < 1 / 4))).tolist():
        joint, N = v.samples.joints[j], abs(gears.get(v.samples.joints[j], 1.0))
        text = f"the torque of {joint!r} is {size[j]:.3g} times the model's"
        if size[j] < 1 and N > 1 and 0.4 < size[j] * N < 2.5:
            text += f": it looks like the motor's, before the gear of {N:g}"
        elif size[j] < 1:
            text += f": it looks like the motor's, before a gear of about {1 / size[j]:.2g}, or like a current"
        grave, how = "error", "see ratio=, torque_constant= and units="
        if size[j] > 1:
            grave, how = "warning", "does it carry a load that the model lacks? else see units="
        found.append(Finding(grave, "units", joint, text, float(size[j]), how))
        divide[j] = size[j]
    return found, divide


# ------------------------------------------------------------------------------------------------ signs and gravity
def signs_and_gravity(v: View, divide: Array) -> list[Finding]:
    """Torques of the wrong sign, and a base that is not upright, told apart: of the simplest explanations the best.

    cost(s, g) = Σ_j w_j |s_j τ_j − d_j − G_j g|², w_j one over the torque's own size, plus w_j times the friction's
    part if friction with that sign would drive the joint."""
    n, tau = v.n, v.free[..., 4] / divide
    G, d = v.free[..., :3], v.free[..., 3]
    w = 1.0 / (np.einsum("mj,mj->j", tau, tau) + 1e-12 * np.sum(tau**2) + 1e-300)
    driving = w * _friction_part(v, divide)
    all_signs = np.array(list(product((1, -1), repeat=n))) if n <= 10 else np.array([np.ones(n), -np.ones(n)])
    against = np.where(all_signs * driving < 0, np.abs(driving), 0.0)  # (S, n)

    def costs(g: Array) -> Array:  # (S, n) for g (3,) or (S, 3)
        r = np.einsum("mjk,...k->...mj", G, g) + d
        cross, own = np.einsum("...mj,mj->...j", r, tau), np.einsum("...mj,...mj->...j", r, r)
        return np.asarray(w * (own - 2 * all_signs * cross) + 1.0 + against)

    A = np.einsum("j,mja,mjb->ab", w, G, G)
    given = v.robot.gravity
    free = np.array([_gravity(A, np.einsum("j,mja,mj->a", w, G, s * tau - d)) for s in all_signs])
    upright = costs(given)
    plain = float(upright[0].sum())
    best_signs = np.where(upright[0] <= upright[-1], 1, -1) if n <= 10 else np.ones(n)
    flipped = float(np.minimum(upright[0], upright[-1]).sum())
    tilted_by_signs = np.array([costs(g)[k].sum() for k, g in enumerate(free)])
    tilted = float(tilted_by_signs[0])
    both = int(np.argmin(tilted_by_signs))
    if plain <= 1.3 * float(tilted_by_signs.min()) + 0.02 * n:
        signs, g = np.ones(n), free[0]
    elif float(tilted_by_signs[both]) < 0.6 * min(flipped, tilted) - 0.01 * n:
        signs, g = all_signs[both], free[both]
    elif flipped <= tilted:
        signs = best_signs
        g = free[int(np.argmin(np.abs(all_signs - signs).sum(axis=1)))]
    else:
        signs, g = np.ones(n), free[0]
    found = _wrong_signs(v, signs, upright, costs(g), divide)
    return found + _tilt(v, G, d, tau, w, signs, g, plain)


def _gravity(A: Array, b: Array) -> Array:
    return np.asarray(np.linalg.lstsq(A, b, rcond=1e-8)[0])


def _friction_part(v: View, divide: Array) -> Array:
    """How much of each torque is friction, |part|², negative if it drives the joint instead of braking it.  (n,)."""
    s = v.samples
    basis = friction_basis(s.qd, s.rest)
    found = []
    for j in range(v.n):
        X = np.concatenate([basis[:, j], v.G[:, j], v.d[:, j, None]], axis=1)
        scale = np.linalg.norm(X, axis=0) + 1e-12
        x = np.linalg.lstsq(X / scale, s.tau[:, j] / divide[j], rcond=1e-6)[0] / scale
        part = _without(np.ones((len(X), 1)), (basis[:, j, 1:] @ x[1:3])[:, None])[:, 0]
        found.append(float(np.sign(part @ s.qd[:, j]) * (part @ part)))
    return np.array(found)


def _wrong_signs(v: View, signs: Array, upright: Array, costs: Array, divide: Array) -> list[Finding]:
    found = []
    for j in np.flatnonzero(signs < 0):
        model = v.free[:, j, :3] @ v.robot.gravity + v.free[:, j, 3]
        tau = v.free[:, j, 4]
        like = float(model @ tau / (np.linalg.norm(model) * np.linalg.norm(tau) + 1e-30))
        joint = v.samples.joints[j]
        said = f"the torque of {joint!r} has the wrong sign: its correlation with the model's is {like:+.2f}"
        if like > -CLEAR:  # it was friction that told
            like = -1.0
            said = f"the torque of {joint!r} has the wrong sign: with it, friction would drive the joint"
        found.append(Finding("error", "sign", joint, said, like, f"sign={{'tau': …}} with −1 for {joint!r}"))
    return found


def _tilt(v: View, G: Array, d: Array, tau: Array, w: Array, signs: Array, g: Array, plain: float) -> list[Finding]:
    given = v.robot.gravity
    if not given.any() or np.linalg.matrix_rank(np.einsum("j,mja,mjb->ab", w, G, G), tol=1e-6) < 3:
        return []
    target = signs * tau - d
    parts = np.einsum("j,mja,mj->mja", w, G, target), np.einsum("j,mja,mjb->mjab", w, G, G)
    b, A = parts[0].sum(axis=(0, 1)), parts[1].sum(axis=(0, 1))
    blocks = np.array_split(np.arange(len(G)), BLOCKS)
    by_time = [_gravity(A - parts[1][k].sum(axis=(0, 1)), b - parts[0][k].sum(axis=(0, 1))) for k in blocks]
    by_joint = [_gravity(A - parts[1][:, j].sum(axis=0), b - parts[0][:, j].sum(axis=0)) for j in range(v.n)]
    angle = _angle(g, given)
    spread = 0.0
    for some in (by_time, by_joint):  # jackknife: (k − 1)/k Σ (x_i − x̄)², over stretches of time, and over joints
        k = len(some)
        if k > 2 and all(np.linalg.norm(x) > 0.05 * np.linalg.norm(g) for x in some):
            turns = np.array([_angle(x, g) for x in some])
            spread = float(np.hypot(spread, np.sqrt((k - 1) / k * np.sum(turns**2))))
    size = float(np.linalg.norm(g))
    direction = ", ".join(f"{x:.2f}" for x in g / (size or 1.0))
    left = float((w * np.einsum("mj,mj->j", target - G @ g, target - G @ g)).sum())
    if angle > max(TILT, 3 * spread) and left < 0.8 * plain:
        said = (
            f"the base does not stand as the model says: gravity lies {angle:.1f} ± {max(spread, 0.1):.1f}° from "
            "the model's, "
            f"along ({direction}) in its base frame"
        )
        return [
            Finding(
                "error",
                "tilt",
                None,
                said,
                angle,
                f"robot.with_gravity(({', '.join(f'{9.81 * x / (size or 1):.3f}' for x in g)}))",
            )
        ]
    said = (
        f"gravity, as the torques feel it, lies {angle:.1f} ± {max(spread, 0.1):.1f}° from the model's, and is "
        f"{size:.3g} m/s² with its masses"
    )
    return [Finding("info", "gravity", None, said, angle)]


def _angle(a: Array, b: Array) -> float:
    cross, dot = float(np.linalg.norm(np.cross(a, b))), float(a @ b)
    return float(np.degrees(np.arctan2(cross, dot)))


# ------------------------------------------------------------------------------------------------ lag
def lag(v: View, samples: Samples) -> list[Finding]:
    """Torques that come late: the shift at which the model, with friction, explains most of them."""
    step = samples.dt
    most = int(np.ceil(LAG / step))
    rows = min(len(samples) - 2 * most, 20_000)
    if rows < 50 or (np.diff(samples.t[: rows + 2 * most]) > 1.5 * step).any():
        return []
    s = samples.part(slice(most, most + rows))
    G, d = model_parts(v.robot, s.q, s.qd, s.qdd)
    basis = np.concatenate([G, d[..., None], friction_basis(s.qd, s.rest)], axis=-1)
    shifts = np.arange(-most, most + 1)
    left = np.zeros(len(shifts))
    for j in range(v.n):
        scale = np.linalg.norm(basis[:, j], axis=0)
        X = basis[:, j][:, scale > 1e-9 * scale.max()]
        Q = np.linalg.svd(X / np.linalg.norm(X, axis=0), full_matrices=False)[0]
        late = np.stack([samples.tau[most + k : most + k + rows, j] for k in shifts], axis=1)
        late = late - late.mean(axis=0)
        part = Q.T @ late
        left += 1 - np.sum(part**2, axis=0) / (np.sum(late**2, axis=0) + 1e-30)
    k = int(np.argmin(left))
    if not 0 < k < len(shifts) - 1:
        return []
    bend = left[k - 1] - 2 * left[k] + left[k + 1]
    at = float(shifts[k] + (0.5 * (left[k - 1] - left[k + 1]) / bend if bend > 0 else 0.0)) * step
    gain = 1 - left[k] / (left[most] + 1e-30)
    if abs(at) < 1e-3 or gain < 0.2:
        return []
    said = f"the torques {'lag behind' if at > 0 else 'run ahead of'} the motion by {1e3 * abs(at):.3g} ms"
    how = "shift one of the two, or record both with one clock"
    return [Finding("warning", "torque lag", None, said, 1e3 * at, how)]
