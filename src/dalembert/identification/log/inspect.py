"""`inspect_log`: a first look at a log, before anything is estimated from it.

Without any masses: units and limits of positions, rates that are none, flat tops, joints at rest. Beside the model's
masses: order and signs of the torques, gravity's direction, units, lag. Per joint, what friction and an offset can
explain is projected out of both sides; what the model says is split into gravity by its three components and the rest,
τ = Σ_k g_k G_k(q) + d(q, q̇, q̈), so that a base that is not upright is a vector g of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import InputError
from dalembert.findings import Finding, Report, Severity, sort_findings
from dalembert.identification.log import checks, filters, times
from dalembert.identification.log.prepare import preparation
from dalembert.identification.log.samples import Log, Samples
from dalembert.identification.log.units import DEGREE
from dalembert.robot import Robot

Array = NDArray[np.float64]
Order = tuple[int, ...]

LEAST_MOTION = 0.1  # rad, m: a joint that moves less tells little of what it carries
PAUSE = 0.2  # s of standing still that are worth a word
LONGEST_RATE_LAG = 0.25  # s
LONGEST_TORQUE_LAG = 0.1  # s
ROWS = 1500  # samples looked at
FEW = 100  # for each order of the joints that is tried
WORTH = 0.02  # of the torques explained, for which one more exchange of joints is believed
BLOCKS = 8  # stretches of time left out in turn, for the uncertainty of gravity's direction
TILT = 5.0  # degrees: less is within what CAD masses can do
TELLING = 0.2  # correlation with the model's torque below which something else must have told


def inspect_log(robot: Robot, log: Log) -> Report:
    """What is suspicious about a log of this robot, the worst first, each with its evidence and a suggestion.

    Without masses in the model, or with loops, only what kinematics tells is looked at; where positions or the order
    of the joints do not fit, what rests on them is not looked at any further."""
    if log.joints != robot.joint_names:
        raise InputError(
            f"the log has the joints {', '.join(log.joints)}; the robot has {', '.join(robot.joint_names)}: read "
            "the log with this robot"
        )
    return Report(log.source, sort_findings(_look(robot, log)))


def _look(robot: Robot, log: Log) -> list[Finding]:
    if evidence := checks.find_degrees(robot, log.q):
        said = f"the positions look like degrees: {evidence}"
        return [_found("error", "degrees", said, np.abs(log.q).max(), "read the log with units={'q': 'deg'}")]
    samples = preparation(log, derivatives="position").samples
    step = times.common_step(log.t)
    found = [
        *find_limits(robot, log, samples),
        *find_saturation(log),
        *find_wrong_rates(log, step, samples.cutoff),
        *find_still_joints(robot, log),
        *find_pauses(samples),
    ]
    if robot.mass == 0.0 or robot.loops:
        why = "has no masses" if robot.mass == 0.0 else "has loops"
        return [*found, _found("note", "model", f"{robot.name!r} {why}: torques are not compared with it")]
    if not log.tau.any():
        said = "the torques are zero throughout"
        return [*found, _found("error", "torque", said, 0.0, "was effort recorded at all?")]
    v = view(robot, samples)
    if wrong_order := find_order(v):
        return [*found, *wrong_order]
    wrong_units, divide = find_units(v)
    return [*found, *wrong_units, *find_signs_and_gravity(v, divide), *find_torque_lag(v, samples)]


def _found(
    severity: Severity, rule: str, said: str, evidence: float | None = None, fix: str = "", joint: str = ""
) -> Finding:
    number = None if evidence is None else float(evidence)
    return Finding(rule, severity, said, fix, element=joint, evidence=number)


def _peak(x: NDArray[np.int64], y: Array, k: int) -> float:
    """Where the parabola through three neighboring points of a curve has its top or bottom."""
    bend = y[k - 1] - 2 * y[k] + y[k + 1]
    return float(x[k] + (0.5 * (y[k - 1] - y[k + 1]) / bend if bend else 0.0))


# ------------------------------------------------------------------------------------------------ without masses
def find_limits(robot: Robot, log: Log, samples: Samples) -> list[Finding]:
    """Positions, rates and torques beyond what the robot's description allows."""
    lim = robot.limits
    rows = (
        ("position", np.maximum(log.q - lim.upper, lim.lower - log.q).max(axis=0), np.full(log.n, 1e-3)),
        ("rate", np.abs(samples.qd).max(axis=0) - lim.velocity, 0.05 * lim.velocity),
        ("torque", np.abs(samples.tau).max(axis=0) - lim.effort, 0.05 * lim.effort),
    )
    hints = {
        "position": "are zeros or signs other than the model's? see offset= and sign=",
        "rate": "are the units right?",
        "torque": "is it the motor's, or in mN m?",
    }
    found = []
    for word, excess, slack in rows:
        for j in np.flatnonzero(np.isfinite(excess) & (excess > slack)):
            name, joint = log.joints[j], robot.model.coordinates[j].joint
            unit = {"position": joint.unit, "rate": f"{joint.unit}/s", "torque": joint.effort_unit}[word]
            said = f"the {word} of {name!r} goes {excess[j]:.3g} {unit} beyond its limit"
            found.append(_found("warning", "limits", said, excess[j], hints[word], name))
    return found


def find_saturation(log: Log) -> list[Finding]:
    """Torques that stay at their highest or lowest value, to the bit, much longer than at any other."""
    found = []
    for j, joint in enumerate(log.joints):
        x = log.tau[:, j]
        starts = np.flatnonzero(np.concatenate([[True], np.diff(x) != 0]))
        lengths = np.diff(np.concatenate([starts, [len(x)]]))
        usual = float(np.quantile(lengths, 0.95)) if len(lengths) > 20 else np.inf
        for level in (x.max(), x.min()):
            at = x[starts] == level
            if at.any() and lengths[at].max() >= max(5.0, 3 * usual) and abs(level) > 0.5 * np.abs(x).max():
                said = (
                    f"the torque of {joint!r} has flat tops: {int(lengths[at].sum())} samples stay at {level:.4g} N m"
                )
                fix = "a drive at its limit, or a clipped signal: leave such stretches out"
                found.append(_found("warning", "saturation", said, level, fix, joint))
    return found


def find_wrong_rates(log: Log, step: float, cutoff: float) -> list[Finding]:
    """Recorded rates against the derivative of the positions, both low-passed alike: scale, lag, likeness."""
    if log.qd is None:
        return []
    piece = max(times.pieces(log.t, step), key=lambda p: p.stop - p.start)
    band = min(cutoff, 0.4 / step)
    _, derived = filters.smooth(log.q[piece], step, band, 4, (0, 1))
    (recorded,) = filters.smooth(log.qd[piece], step, band, 4)
    trim = min(filters.settling(band, step, 4), len(derived) // 4)
    inner = slice(trim, len(derived) - trim)
    found = []
    for j, joint in enumerate(log.joints):
        a, b = (x[inner, j] - x[inner, j].mean() for x in (derived, recorded))
        if not a.any() or not b.any():
            continue
        rates = f"the recorded rates of {joint!r}"
        lag, likeness = best_lag(a, b, round(LONGEST_RATE_LAG / step))
        size, ms = float(np.linalg.norm(b) / np.linalg.norm(a)), 1e3 * lag * step
        if abs(likeness) < 0.9:
            said = f"{rates} are not the derivative of its positions (correlation {likeness:.2f})"
            found.append(_found("warning", "rates", said, likeness, "use derivatives='position'", joint))
            continue
        if likeness < 0:
            said = f"{rates} have the opposite sign of its positions' derivative"
            found.append(_found("error", "rates", said, likeness, f"sign={{'qd': …}} with −1 for {joint!r}", joint))
        if not 0.9 < size < 1.1:
            near = abs(size * DEGREE - 1) < 0.1 or abs(size / DEGREE - 1) < 0.1
            fix = "one of them is in degrees: see units=" if near else "see units= and ratio="
            said = f"{rates} are {size:.4g} times the derivative of its positions"
            found.append(_found("warning", "rates", said, size, fix, joint))
        if abs(lag) > 0.5:
            said = f"{rates} {'lag behind' if lag > 0 else 'run ahead of'} its positions by {abs(ms):.3g} ms"
            found.append(_found("warning", "rate lag", said, ms, "use derivatives='position'", joint))
    return found


def best_lag(a: Array, b: Array, most: int) -> tuple[float, float]:
    """The lag of b behind a in samples, to a fraction, at which they correlate best (by absolute value), and that
    correlation. The ends of a, which some shifts would leave without a partner, are not looked at."""
    N = len(a)
    most = max(2, min(most, N // 4))
    inner = np.zeros_like(a)
    inner[most : N - most] = a[most : N - most]
    size = 1 << (2 * N).bit_length()
    shifts = np.arange(-most, most + 1)
    cross = np.fft.irfft(np.conj(np.fft.rfft(inner, size)) * np.fft.rfft(b, size), size)[shifts]
    squares = np.concatenate([[0.0], np.cumsum(b**2)])
    c = cross / np.sqrt(np.sum(inner**2) * (squares[N - most + shifts] - squares[most + shifts]) + 1e-300)
    k = int(np.argmax(np.abs(c)))
    inside = 0 < k < len(c) - 1
    return _peak(shifts, c, k) if inside else float(shifts[k]), float(c[k])


def find_still_joints(robot: Robot, log: Log) -> list[Finding]:
    """Joints that hardly move."""
    found = []
    for j in np.flatnonzero(np.ptp(log.q, axis=0) < LEAST_MOTION):
        unit, moved = robot.model.coordinates[j].joint.unit, float(np.ptp(log.q[:, j]))
        said = f"{log.joints[j]!r} hardly moves: {moved:.3g} {unit} in the whole log"
        found.append(_found("warning", "excitation", said, moved, "record a motion that excites it", log.joints[j]))
    return found


def find_pauses(samples: Samples) -> list[Finding]:
    """Stretches in which every joint stands still."""
    still = (np.abs(samples.qd) < samples.rest).all(axis=1)
    starts, ends = np.flatnonzero(np.diff(np.concatenate([[0], still.astype(int), [0]]))).reshape(-1, 2).T
    long = (ends - starts) * samples.dt >= PAUSE
    if not long.any():
        return []
    starts, lengths = starts[long], (ends - starts)[long]
    k, share = int(np.argmax(lengths)), float(lengths.sum() / len(samples))
    said = (
        f"the arm stands still for {100 * share:.2g} % of the log, longest {lengths[k] * samples.dt:.3g} s from "
        f"t = {samples.t[starts[k]]:.4g} s"
    )
    return [_found("note", "rest", said, share, "friction has no direction there: such samples say little of it")]


# ------------------------------------------------------------------------------------------------ with masses
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
    """x (..., M, k) less its part in the span of basis (..., M, b)."""
    Q, _ = np.linalg.qr(basis)
    return np.asarray(x - Q @ (np.swapaxes(Q, -1, -2) @ x))


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
    together = np.concatenate([G, d[..., None], s.tau[..., None]], axis=-1)
    free = _without(np.swapaxes(friction_basis(s.qd, s.rest), 0, 1), np.swapaxes(together, 0, 1))
    return View(robot, s, G, d, np.swapaxes(free, 0, 1))


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


def find_order(v: View) -> list[Finding]:
    """Whether the columns fit better in another order, of torques alone or of everything."""
    names = v.samples.joints
    if v.n < 2:
        return []
    own = float(_score_orders(v, [tuple(range(v.n))], torques_only=True)[0])
    found: list[Finding] = []
    best = own
    for what, groups in (("the torques", ("tau",)), ("positions and torques", ("q", "tau"))):
        new, score = _best_order(v, torques_only=groups == ("tau",))
        if score > max(own + 0.05, best + WORTH) and (1 - score) < 0.65 * (1 - own):
            best = score
            moved = ", ".join(f"{names[j]!r} has that of {names[c]!r}" for j, c in enumerate(new) if c != j)
            said = (
                f"the order of the joints does not fit: with {what} in another order the model explains "
                f"{100 * score:.0f} % instead of {100 * own:.0f} %: by the look of it {moved}"
            )
            how = ", ".join(f"{group!r}: [...]" for group in groups)
            found = [_found("error", "order", said, score, f"give the right order with columns={{{how}}}")]
    return found


def _best_order(v: View, torques_only: bool) -> tuple[Order, float]:
    """The best order found from the columns as they are, reversed, and rolled, by exchanging two as long as that
    helps."""
    n = v.n
    same = tuple(range(n))
    starts = [same, same[::-1], *(tuple(np.roll(same, k).tolist()) for k in range(1, n))]
    scores = _score_orders(v, starts, torques_only)
    best, top = same, float(scores[0])
    for k in (0, *(int(k) for k in np.argsort(-scores)[:3] if k)):  # what lies nearest is believed first
        at, score = starts[k], float(scores[k])
        while True:
            near = [_swap(at, a, b) for a, b in combinations(range(n), 2)]
            tried = _score_orders(v, near, torques_only)
            if tried.max() <= score + WORTH:
                break
            at, score = near[int(np.argmax(tried))], float(tried.max())
        if score > top + WORTH:
            best, top = at, score
    return best, top


def _score_orders(v: View, orders: list[Order], torques_only: bool) -> Array:
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
        basis = np.moveaxis(friction_basis(qd, s.rest[moved][:, None, :]), 2, 1)  # (P, n, M, 3)
        model = _without(basis, np.moveaxis(np.concatenate([G, d[..., None]], axis=-1), 2, 1))
        tau = _without(basis, np.moveaxis(tau, 2, 1)[..., None])[..., 0]
        found.append(_likeness(np.broadcast_to(model, (*tau.shape, 4)), tau, v.robot.gravity))
    return np.concatenate(found)


def _swap(order: Order, a: int, b: int) -> Order:
    new = list(order)
    new[a], new[b] = new[b], new[a]
    return tuple(new)


# ------------------------------------------------------------------------------------------------ units
def find_units(v: View) -> tuple[list[Finding], Array]:
    """Torques whose size is far from the model's, and what to divide each joint's by.  (n,)."""
    n, s = v.n, v.samples
    said, tau = v.free[..., :3] @ v.robot.gravity + v.free[..., 3], v.free[..., 4].copy()
    unknown_rotor = [j for j in range(n) if not any(b.rotor_inertia for b in v.robot.model.bodies if b.coordinate == j)]
    for j in unknown_rotor:  # a rotor that the model lacks makes torques of its own, along q̈
        basis = np.column_stack([friction_basis(s.qd, s.rest)[:, j], s.qdd[:, j]])
        both = _without(basis, np.column_stack([said[:, j], tau[:, j]]))
        said[:, j], tau[:, j] = both.T
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
        fix = "read the log with units={'tau': 'mNm'}"
        return [_found("error", "units", text, common, fix)], np.full(n, 1000.0)
    found, divide = [], np.ones(n)
    gears = {joint.name: joint.drive.gear_ratio for joint in v.robot.description.joints}
    for j in np.flatnonzero(told & ((size > 6) | (size < 1 / 6)) & ((raw > 4) | (raw < 1 / 4))).tolist():
        joint, N = v.samples.joints[j], abs(gears.get(v.samples.joints[j], 1.0))
        text = f"the torque of {joint!r} is {size[j]:.3g} times the model's"
        if size[j] < 1 and N > 1 and 0.4 < size[j] * N < 2.5:
            text += f": it looks like the motor's, before the gear of {N:g}"
        elif size[j] < 1:
            text += f": it looks like the motor's, before a gear of about {1 / size[j]:.2g}, or like a current"
        if size[j] > 1:
            fix = "does it carry a load that the model lacks? else see units="
            found.append(_found("warning", "units", text, size[j], fix, joint))
        else:
            found.append(_found("error", "units", text, size[j], "see ratio=, torque_constant= and units=", joint))
        divide[j] = size[j]
    return found, divide


# ------------------------------------------------------------------------------------------------ signs and gravity
def find_signs_and_gravity(v: View, divide: Array) -> list[Finding]:
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
    return _wrong_signs(v, signs) + _tilt(v, G, d, tau, w, signs, g, plain)


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


def _wrong_signs(v: View, signs: Array) -> list[Finding]:
    found = []
    for j in np.flatnonzero(signs < 0):
        model = v.free[:, j, :3] @ v.robot.gravity + v.free[:, j, 3]
        tau = v.free[:, j, 4]
        like = float(model @ tau / (np.linalg.norm(model) * np.linalg.norm(tau) + 1e-30))
        joint = v.samples.joints[j]
        said = f"the torque of {joint!r} has the wrong sign: its correlation with the model's is {like:+.2f}"
        if like > -TELLING:  # it was friction that told
            like = -1.0
            said = f"the torque of {joint!r} has the wrong sign: with it, friction would drive the joint"
        found.append(_found("error", "sign", said, like, f"sign={{'tau': …}} with −1 for {joint!r}", joint))
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
            f"the model's, along ({direction}) in its base frame"
        )
        fix = f"robot.with_gravity(({', '.join(f'{9.81 * x / (size or 1):.3f}' for x in g)}))"
        return [_found("error", "tilt", said, angle, fix)]
    said = (
        f"gravity, as the torques feel it, lies {angle:.1f} ± {max(spread, 0.1):.1f}° from the model's, and is "
        f"{size:.3g} m/s² with its masses"
    )
    return [_found("note", "gravity", said, angle)]


def _angle(a: Array, b: Array) -> float:
    cross, dot = float(np.linalg.norm(np.cross(a, b))), float(a @ b)
    return float(np.degrees(np.arctan2(cross, dot)))


# ------------------------------------------------------------------------------------------------ lag
def find_torque_lag(v: View, samples: Samples) -> list[Finding]:
    """Torques that come late: the shift at which the model, with friction, explains most of them."""
    step = samples.dt
    most = int(np.ceil(LONGEST_TORQUE_LAG / step))
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
    at = _peak(shifts, left, k) * step
    gain = 1 - left[k] / (left[most] + 1e-30)
    if abs(at) < 1e-3 or gain < 0.2:
        return []
    said = f"the torques {'lag behind' if at > 0 else 'run ahead of'} the motion by {1e3 * abs(at):.3g} ms"
    how = "shift one of the two, or record both with one clock"
    return [_found("warning", "torque lag", said, 1e3 * at, how)]
