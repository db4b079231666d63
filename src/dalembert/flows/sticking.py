"""A robot whose joints stick: dry friction that holds at rest, as a `Flow`.

Each joint with dry friction has a mode, kept as a state: +1 or −1, it slides that way; 0, it is held. The mode is
constant during a step, so that what is integrated is smooth:

    sliding   friction acts against the mode's direction, whatever the rate does within the step;
    held      q̈ᵢ = 0 is a constraint, and friction the multiplier λᵢ = τᵢ − hᵢ − (M q̈)ᵢ that keeps it.

After each step modes change (`settle`). A joint whose rate crossed zero is caught; a held joint is released, in the
direction of λ, when |λ| exceeds break-away. Which of several joints at rest slide is decided in rounds: the one that
exceeds most is released, the torques on the others are worked out again, and one that was released and would then move
against its mode is held again. For Coulomb friction this seeks the minimum of a convex function (Gauss's principle),
whose active set it is.

Rate and acceleration of a held joint are exactly zero: nothing creeps, and nothing chatters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert import kernels
from dalembert.algorithms import composite, friction as model_friction, joints, linear, newton_euler
from dalembert.errors import InputError
from dalembert.flow import Flow, Scalar, Scalars
from dalembert.flows.books import AppliedWrenches, joints_of, need_frames
from dalembert.friction import laws
from dalembert.model import Model
from dalembert.model.lean import lean
from dalembert.scalar import absolute, maximum, sign, where
from dalembert.spatial import Force

if TYPE_CHECKING:
    from dalembert.robot import Robot

# A crossing is put where the rate was zero, by the acceleration a there, unless a is this small against what friction
# could cause: then the time since the crossing, v/a, is not known.
SLOW = 1e-2
NEEDS_STEPS = "whether a joint sticks is decided between steps, so friction='sticking' needs fixed steps, such as rk4's"


@dataclass(frozen=True)
class Balance:
    """A state as a linear problem: M q̈ = r but for the friction of held joints. With friction that depends on the
    load, L = A q̈ + b is what each joint transmits."""

    M: list[list[Scalar]]
    drive: list[Scalar]  # τ − h − springs
    A: list[list[Scalar]]
    b: list[Scalar]


@dataclass(frozen=True)
class Answer:
    """Accelerations, and per coordinate what friction takes: the law's torque of a sliding joint, λ of a held one; what
    would break it away in the two directions."""

    qdd: list[Scalar]
    friction: list[Scalar]
    plus: list[Scalar]
    minus: list[Scalar]


@dataclass(frozen=True)
class Sticking:
    """The rules above for one model; `dry` are the coordinates that have a mode."""

    model: Model
    dry: tuple[int, ...]
    rounds: int

    def balance(self, q: Scalars, qd: Scalars, tau: Scalars, wrenches: Mapping[int, Force]) -> Balance:
        model = self.model
        h = newton_euler.inverse_dynamics(model, q, qd, [0.0] * model.n, wrenches)
        springs = joints.gather(
            model,
            [
                b.stiffness * (x[0] - b.rest) if b.stiffness else 0.0
                for b, x in zip(model.bodies, joints.positions(model, q), strict=True)
            ],
        )
        drive = [t - x - s for t, x, s in zip(tau, h, springs, strict=True)]
        M = composite.mass_matrix(model, q)
        if not model.friction_by_load:
            return Balance(M, drive, [], [0.0] * len(model.bodies))
        b = newton_euler.joint_loads(model, q, qd, [0.0] * model.n, wrenches)
        return Balance(M, drive, model_friction.load_matrix(model, q), b)

    def modes(self, modes: Scalars) -> list[Scalar | None]:
        """Per coordinate its mode; None for one that never sticks."""
        of = dict(zip(self.dry, modes, strict=True))
        return [of.get(i) for i in range(self.model.n)]

    def _directions(self, modes: Sequence[Scalar | None]) -> list[Scalar | None]:
        """Per joint the way it slides, mimic joints included."""
        of = [(modes[b.coordinate], 1.0 if b.multiplier >= 0 else -1.0) for b in self.model.bodies]
        return [None if mode is None else mode * side for mode, side in of]

    def _friction(self, qd: Scalars, modes: Sequence[Scalar | None], loads: Scalars) -> list[Scalar]:
        """Friction of every coordinate in its mode; a held joint's dry friction counts as zero here."""
        tau: list[Scalar] = []
        rates, directions = joints.rates(self.model, qd), self._directions(modes)
        for body, v, load, along in zip(self.model.bodies, rates, loads, directions, strict=True):
            t: Scalar = 0.0
            for term in body.friction:
                t = t + laws.torque(term, v, load, along if laws.held(term) else None)
            tau.append(t)
        return joints.gather(self.model, tau)

    def _breakaway(self, loads: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        plus: list[Scalar] = [0.0] * self.model.n
        minus: list[Scalar] = [0.0] * self.model.n
        for body, load in zip(self.model.bodies, loads, strict=True):
            c, m = body.coordinate, abs(body.multiplier)
            for term in body.friction:
                a, b = laws.breakaway(term, load)
                a, b = (a, b) if body.multiplier >= 0 else (b, a)
                plus[c], minus[c] = plus[c] + m * a, minus[c] + m * b
        return plus, minus

    def solve(self, at: Balance, qd: Scalars, modes: Sequence[Scalar | None]) -> Answer:
        """Accelerations of the joints that slide, the others held."""
        nothing: list[Scalar] = [0.0] * len(self.model.bodies)
        free = [d - x for d, x in zip(at.drive, self._friction(qd, modes, nothing), strict=True)]
        loads = nothing
        if self.model.friction_by_load:
            parts = model_friction.lost_parts(self.model, qd, self._directions(modes))
            tau = [x + y for x, y in zip(free, joints.gather(self.model, at.b), strict=True)]
            qdd, loads = model_friction.solve_loaded(
                self.model, at.A, at.b, parts, tau, lambda K, r: _masked(K, r, modes, model_friction.solve_column)
            )
        else:
            qdd = _masked(at.M, free, modes, linear.solve_ldl)
        f = self._friction(qd, modes, loads)
        asked = [d - linear.inner(row, qdd) for d, row in zip(at.drive, at.M, strict=True)]
        taken = [x if mode is None else where(_held(mode), a, x) for x, a, mode in zip(f, asked, modes, strict=True)]
        fluid = self._friction(qd, [None if m is None else 0.0 for m in modes], loads)
        plus, minus = self._breakaway(loads)
        return Answer(
            qdd,
            taken,
            [p + x for p, x in zip(plus, fluid, strict=True)],
            [m - x for m, x in zip(minus, fluid, strict=True)],
        )

    def resolve(
        self, at: Balance, qd: Scalars, modes: Sequence[Scalar | None], rest: Sequence[Scalar]
    ) -> list[Scalar | None]:
        """The modes of the joints at rest (`rest` is 1), all held at first; those of the others stay."""
        found = [m if m is None else where(rest[i] > 0.5, 0.0, m) for i, m in enumerate(modes)]
        for _ in range(self.rounds):
            answer = self.solve(at, qd, found)
            wrong, any_wrong = self._against(answer, found, rest)
            excess, worst = self._excess(at, answer, found)
            for i in self.dry:
                release = where(answer.friction[i] > answer.plus[i], 1.0, -1.0)
                chosen = where(excess[i] >= worst, where(any_wrong > 0.5, found[i], release), found[i])
                chosen = where(excess[i] > 0.0, chosen, found[i])
                found[i] = where(wrong[i] > 0.5, 0.0, chosen)
        return found

    def _against(
        self, answer: Answer, modes: Sequence[Scalar | None], rest: Sequence[Scalar]
    ) -> tuple[dict[int, Scalar], Scalar]:
        """Released joints at rest whose acceleration is against their mode, and whether there are any."""
        wrong = {i: where(rest[i] > 0.5, where(answer.qdd[i] * modes[i] < 0.0, 1.0, 0.0), 0.0) for i in self.dry}
        some: Scalar = 0.0
        for x in wrong.values():
            some = maximum(some, x)
        return wrong, some

    def _excess(self, at: Balance, answer: Answer, modes: Sequence[Scalar | None]) -> tuple[dict[int, Scalar], Scalar]:
        """By how much each held joint exceeds break-away, as excess²/M_ii, which has one unit for all joints; the
        most."""
        excess: dict[int, Scalar] = {}
        worst: Scalar = 0.0
        for i in self.dry:
            over = maximum(answer.friction[i] - answer.plus[i], -answer.friction[i] - answer.minus[i])
            size = where(over > 0.0, over * over / at.M[i][i], 0.0)
            excess[i] = where(_held(modes[i]), size, 0.0)
            worst = maximum(worst, excess[i])
        return excess, worst

    def settle(
        self, q: Scalars, qd: Scalars, modes: Scalars, tau: Scalars, wrenches: Mapping[int, Force]
    ) -> list[Scalar]:
        """The state after a step, with its modes: crossings caught, joints released.

        A joint that crossed zero did so before the step ended: v/a ago, a its acceleration while it slid. It is put
        where it was then, and moved on from there as its new mode has it: not at all if it is held. The others, which
        since then accelerated under the old modes, are given the difference."""
        old = self.modes(modes)
        rest: list[Scalar] = [0.0] * self.model.n
        caught: list[Scalar] = [0.0] * self.model.n
        rate = list(qd)
        for i in self.dry:
            caught[i] = where(_held(old[i]), 0.0, where(old[i] * qd[i] <= 0.0, 1.0, 0.0))
            rest[i] = where(_held(old[i]), 1.0, caught[i])
            rate[i] = where(rest[i] > 0.5, 0.0, qd[i])
        at = self.balance(q, rate, tau, wrenches)
        new = self.resolve(at, rate, old, rest)
        before, after = self.solve(at, rate, old).qdd, self.solve(at, rate, new)
        ago: list[Scalar] = [0.0] * self.model.n
        first: Scalar = 0.0
        for i in self.dry:
            jump = (after.plus[i] + after.minus[i]) / at.M[i][i]
            known = before[i] * sign(qd[i]) > SLOW * absolute(jump)
            ago[i] = where(caught[i] > 0.5, where(known, qd[i] / where(known, before[i], 1.0), 0.0), 0.0)
            first = maximum(first, ago[i])
        place = list(q)
        for i, (a, b) in enumerate(zip(before, after.qdd, strict=True)):
            # At the crossing a caught joint was at q − ½ v T, at rest; any other was as if it had not accelerated
            # since.
            T = where(caught[i] > 0.5, ago[i], first)
            place[i] = q[i] + 0.5 * T * where(caught[i] > 0.5, b * T - qd[i], (b - a) * T)
            rate[i] = rate[i] + T * where(caught[i] > 0.5, b, b - a)
        return [*place, *rate, *(new[i] for i in self.dry)]


def _held(mode: Scalar) -> Scalar:
    """A truth value: the mode is 0."""
    return absolute(mode) < 0.5


def _masked(
    M: linear.Rows, r: Scalars, modes: Sequence[Scalar | None], solve: Callable[[linear.Rows, Scalars], list[Scalar]]
) -> list[Scalar]:
    """M q̈ = r with q̈ᵢ = 0 for held i: row and column are those of the unit matrix, and M stays positive definite."""
    n = len(r)
    free = [1.0 if m is None else where(_held(m), 0.0, 1.0) for m in modes]
    A = [[M[i][j] * (free[i] * free[j]) if i != j else M[i][i] for j in range(n)] for i in range(n)]
    for i, m in enumerate(modes):
        if m is not None:
            A[i][i] = where(_held(m), 1.0, M[i][i])
    x = solve(A, [where(_held(m), 0.0, b) if m is not None else b for m, b in zip(modes, r, strict=True)])
    return [where(_held(m), 0.0, a) if m is not None else a for m, a in zip(modes, x, strict=True)]


def _rules(robot: Robot, rounds: int | None) -> Sticking:
    kernels.need_tree(robot.model)
    if robot.n == 0:
        raise InputError(f"{robot.name!r} has no joints: there is nothing to simulate")
    kernels.need_mass(robot.model)
    model = lean(robot.model)
    dry = sorted({b.coordinate for b in model.bodies if any(laws.held(term) for term in b.friction)})
    if not dry:
        raise InputError(
            f"no joint of {robot.name!r} has dry friction, so that none can stick: give one a coulomb, static or "
            "stribeck law that is not smoothed, or simulate the robot itself with friction=True"
        )
    many = 2 * len(dry) - 1 if rounds is None else rounds
    if not isinstance(many, int) or isinstance(many, bool) or many < 1:
        raise InputError(f"rounds must be a whole number, at least 1; got {rounds!r}")
    return Sticking(model, tuple(dry), many)


def sticking(robot: Robot, wrenches: Sequence[str] = (), *, rounds: int | None = None) -> Flow:
    """The robot under joint torques with its friction and springs, its dry friction holding: x = (q, q̇, modes), u = τ.

    `wrenches` names the frames at which wrenches act on the robot, in world axes; they follow τ in u, six numbers
    (force, moment) per frame, with τ = M q̈ + c + g − Σ JᵀF. `rounds`: how often modes are reconsidered after a step,
    enough to release every joint and hold all but one again if not given. Observed: the torque that friction takes from
    each joint, and the power it turns into heat [W]. `start` gives the state to begin with."""
    rules = _rules(robot, rounds)
    n, applied = robot.n, AppliedWrenches(rules.model, need_frames(rules.model, wrenches), robot.n)

    def answer(x: Scalars, u: Scalars) -> Answer:
        q, qd = x[:n], x[n : 2 * n]
        return rules.solve(rules.balance(q, qd, u[:n], applied.wrenches(q, u)), qd, rules.modes(x[2 * n :]))

    def rate(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        modes = rules.modes(x[2 * n :])
        rates = [v if m is None else where(_held(m), 0.0, v) for v, m in zip(x[n : 2 * n], modes, strict=True)]
        return [*rates, *answer(x, u).qdd, *([0.0] * len(rules.dry))]

    def settle(t: Scalar, before: Scalars, x: Scalars, u: Scalars) -> list[Scalar]:
        return rules.settle(x[:n], x[n : 2 * n], x[2 * n :], u[:n], applied.wrenches(x[:n], u))

    def observe(t: Scalar, x: Scalars, u: Scalars) -> list[Scalar]:
        taken = answer(x, u).friction
        return [*taken, linear.inner(taken, x[n : 2 * n])]

    names = robot.joint_names
    return Flow(
        f"{robot.name} with sticking",
        (*names, *(f"{name}_rate" for name in names), *(f"{names[i]}_mode" for i in rules.dry)),
        (*(f"{name}_torque" for name in names), *applied.inputs),
        rate,
        positions=n,
        settle=settle,
        outputs=(*(f"{name}_friction" for name in names), "friction_loss"),
        observe=observe,
        drives=n,
        start=lambda q, qd: start(robot, q, qd),
        joints=joints_of(robot),
        needs_steps=NEEDS_STEPS,
    )


def start(robot: Robot, q: ArrayLike, qd: ArrayLike | None = None, tau: ArrayLike | None = None) -> NDArray[np.float64]:
    """The state (q, q̇, modes) in which a simulation begins, (..., 2n + modes): a joint that moves slides, one at rest
    is held if friction can hold it under the torques τ (zero if not given)."""
    rules = _rules(robot, None)
    n = robot.n
    zero = np.zeros(n)
    try:
        given = [np.asarray(zero if x is None else x, float) for x in (q, qd, tau)]
        states = np.broadcast_arrays(*given)
        if any(a.shape[-1:] != (n,) for a in given):
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(f"q, qd and tau must be (..., {n}), one number per joint of {robot.name!r}") from None
    if not all(np.isfinite(a).all() for a in states):
        raise InputError("q, qd and tau must be finite")
    flat = [a.reshape(-1, n).tolist() for a in states]
    rows = [_begin(rules, *row) for row in zip(*flat, strict=True)]
    return np.array(rows).reshape(*states[0].shape[:-1], 2 * n + len(rules.dry))


def _begin(rules: Sticking, q: list[float], qd: list[float], tau: list[float]) -> list[float]:
    moving = rules.modes([sign(qd[i]) for i in rules.dry])
    rest = [0.0 if m is None or m else 1.0 for m in moving]
    modes = rules.resolve(rules.balance(q, qd, tau, {}), qd, moving, rest)
    return [*q, *qd, *(float(modes[i] or 0.0) for i in rules.dry)]
