"""What may be wrong with a log as a whole, tried together: columns, signs, units, gravity, clock, lag.

A hypothesis is a `Correction`: how the log would have to be read instead. Two witnesses (`witnesses`) judge each, by
regressions over stretches of time that are left out in turn: free bodies, which need kinematics alone, and the model's
bodies, each up to a factor. With e_jw the error held out at joint j, as a part of the variance of its torque,

    J = ½ WEIGHT Σ_jw log (e_jw + FLOOR) + what the hypothesis costs + what limits, sizes and rates say against it

The lowest J wins; anything but the log as it is must win by CLEAR. What is nearly nothing (a tilt of a few degrees, a
factor of 1.3) is within what models and drives are off, and no correction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import Array
from dalembert.caching import cached_property
from dalembert.identification.log import times
from dalembert.identification.log.correction import Correction, Order
from dalembert.identification.log.samples import Samples
from dalembert.identification.log.settings import DEGREE
from dalembert.identification.log.witnesses import G0, Hearing, Motion, Torques, mechanism
from dalembert.robot import Robot

Integers = NDArray[np.int64]

ROUNDS = 3  # of a descent
HEARINGS = 60  # kept, a megabyte each
ROWS, BLOCKS = 480, 5  # samples looked at, stretches of time they are in
WEIGHT = 10.0  # independent samples that a joint is taken to have: residuals of real arms are no white noise
FLOOR = 1e-4  # of the variance of a torque: what is explained better than that is explained
CLEAR = 8.0  # of J: by so much a correction must be better than none
KIND = 4.0  # of J: what each kind of correction costs, beside one for each joint that it singles out
FEW = 4  # one sample in so many, where many readings are tried
NEVER, UNLIKELY = 1e6, 20.0  # of J
RARE = 6.0  # of J: positions of another sign, which small inertias alone may tell
SPREAD = 0.4  # of the logarithm of masses: what CAD may be off as a whole
DRIVES = 0.7  # of the logarithm of gears or torque constants: how different they are in one arm
INERTIA = 0.8  # of the logarithm of inertias against masses: what CAD may be off
# Of a torque's variance, left by free and by known bodies, and of J: beyond these, positions may be others.
DOUBT = 0.01, 0.02, 2.0
# Less than these is no correction: of gravity's direction [°], of single torques' factors (logarithm), of the lag [s].
LEAST_TILT, LEAST_FACTOR, LEAST_LAG = 5.0, 1.2, 1e-3
LEAST_CLOCK = 0.1, 0.45  # where recorded rates tell; where only torques do: inertias of CAD are off by a factor of two
LONGEST_LAG = 0.1  # s
PULL = 0.01  # of a torque's variance: what keeps the factors of torques near one where the others do not tell them
# How much too fast a clock may be: decimated logs, milliseconds, a rate that was guessed.
CLOCKS = tuple(x for k in (2.0, 3.0, 4.0, 5.0, 8.0, 10.0, 20.0, 1000.0) for x in (k, 1 / k))
ROUND = (1.0, 1.2, 1.25, 1.5, 2.0, 2.4, 2.5, 3.0, 4.0, 5.0, 6.0, 7.5, 8.0)  # rates that controllers have, by decades
UNUSUAL_UNITS = (1e-3, 1e3, DEGREE, 2 * np.pi)  # mm, mN m, m, degrees, turns
RATE_UNITS = (1.0, 1 / DEGREE, 30 / np.pi)  # recorded rates, as multiples of rad/s
GEARS = (30, 50, 60, 80, 100, 101, 120, 121, 150, 160, 200)


@dataclass(frozen=True, eq=False)
class Verdict:
    """A correction with its J; the errors held out of both witnesses, (n,), the second None without masses; the size of
    the torques against the model's per joint, (n,), NaN where they do not tell."""

    correction: Correction
    J: float
    free: Array
    known: Array | None
    size: Array


def angle(a: Array, b: Array) -> float:
    """Between two vectors [°]."""
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)))


class Court:
    """Samples of a log and all that is known of it, before which hypotheses are judged."""

    def __init__(self, robot: Robot, samples: Samples, rates: Array, rate: float) -> None:
        """`rates` (n,): the recorded rates as multiples of the positions' derivatives, NaN if there are none; `rate`
        [Hz] of the log."""
        self.robot, self.samples, self.rates, self.rate = robot, samples, rates, rate
        self.arm = mechanism(robot)
        self.masses = robot.mass > 0.0
        self.gravity = np.asarray(robot.gravity, float)
        self.weight = float(np.linalg.norm(self.gravity)) or G0
        rows = np.flatnonzero(_inner(samples))
        rows = rows[:: max(1, len(rows) // ROWS)]
        self.rows = rows[: len(rows) // BLOCKS * BLOCKS].reshape(BLOCKS, -1)
        self.independent = WEIGHT * min(1.0, 1.5 * self.rows.size / ROWS)
        self.turning = np.array([c.joint.turns for c in robot.model.coordinates])
        gears = {joint.name: abs(joint.drive.gear_ratio) for joint in robot.description.joints}
        self.gears = np.array([gears.get(name, 1.0) for name in robot.joint_names])
        told = np.abs(rates[np.isfinite(rates)])
        self.rate_units = RATE_UNITS if len(told) and abs(np.log(np.median(told))) > LEAST_CLOCK[0] else (1.0,)
        self.none = Correction.none(robot.n)
        self._motions: dict[object, Motion] = {}
        self._torques: dict[object, Torques] = {}
        self._hearings: dict[object, Hearing] = {}
        self._verdicts: dict[Correction, Verdict] = {}

    # ------------------------------------------------------------------------------------------ under a hypothesis
    def motion(self, c: Correction, rows: Integers | None = None) -> Motion:
        key = (c.q_order, c.q_factor, rows is None)
        if key not in self._motions:
            at = self.rows if rows is None else rows
            s, order, factor = self.samples, list(c.q_order), np.array(c.q_factor)
            q, qd, qdd = (x[at][..., order] * factor for x in (s.q, s.qd, s.qdd))
            if rows is not None:  # one at a time
                self._motions = {k: m for k, m in self._motions.items() if k[2]}  # type: ignore[index]
            self._motions[key] = Motion(self.arm, q, qd, qdd, s.direction[at][..., order] * np.sign(factor))
        return self._motions[key]

    def tau(self, c: Correction, rows: Integers) -> Array:
        """(K, m, n) in the order of the correction, shifted by its lag, without its factors."""
        s, order = self.samples, list(c.tau_order)
        if not c.lag:
            return np.asarray(s.tau[rows][..., order])
        at = times.interpolate(s.t, s.tau, s.t[rows.ravel()] + c.lag / c.time)
        return np.asarray(at.reshape(*rows.shape, -1)[..., order])

    def torques(self, c: Correction) -> Torques:
        key = (c.q_order, c.q_factor, c.tau_order, c.lag / c.time)
        if key not in self._torques:
            self._torques[key] = self.motion(c).torques(self.tau(c, self.rows))
        return self._torques[key].times(np.array(c.tau_factor))

    def setting(self, c: Correction) -> tuple[Array, float]:
        """(g, a): gravity, and what the motion's part of the torques is multiplied by."""
        return np.array(self.gravity if c.gravity is None else c.gravity), 1.0 / c.time**2

    def hear(self, c: Correction, known: bool) -> Hearing:
        """A witness, joints weighted by their torques' spread."""
        g, a = self.setting(c)
        motion, weights = self.motion(c), 1.0 / self.torques(c).spread
        key = (c.q_order, c.q_factor, known, tuple(g), a, tuple(weights))
        if len(self._hearings) > HEARINGS:
            self._hearings.clear()
        if key not in self._hearings:
            witness = motion.known_bodies(g, a) if known else motion.free_bodies(g, a)
            self._hearings[key] = Hearing(motion, witness, weights)
        return self._hearings[key]

    @property
    def witnesses(self) -> tuple[bool, ...]:
        return (False, True) if self.masses else (False,)

    def likeness(self, c: Correction) -> tuple[Array, Array]:
        """(n,) each: the correlation of torques with the model's, what friction, an offset and an unknown rotor may
        explain left aside, and their size as multiples of the model's; NaN where the model says nothing."""
        motion, torques = self.motion(c), self.torques(c)
        u = motion.model(*self.setting(c))
        rotors = motion.parameters(np.zeros(3), 1.0) @ self.arm.known[:, self.arm.bodies + 4 :]
        gram, cross, squares = motion.gram.sum(axis=0), torques.cross.sum(axis=0), torques.squares.sum(axis=0)
        n, whole = c.n, float(np.einsum("a,jab,b->", u, motion.gram.sum(axis=0), u, optimize=True))
        like, size = np.full(n, np.nan), np.full(n, np.nan)
        for j in range(n):
            own = motion.own[:, [j, n + j, 2 * n + j]]
            own = own if self.arm.rotor_inertias[j] else np.column_stack([own, rotors[:, j]])
            H = own.T @ gram[j] @ own
            both = np.column_stack([own.T @ gram[j] @ u, own.T @ cross[j]])
            rest = both.T @ np.linalg.solve(H + 1e-9 * np.diag(np.diag(H)) + 1e-30 * np.eye(len(H)), both)
            model, inner, left = u @ gram[j] @ u - rest[0, 0], u @ cross[j] - rest[0, 1], squares[j] - rest[1, 1]
            if model > 1e-6 * whole and left > 0:
                like[j], size[j] = inner / np.sqrt(model * left), abs(inner) / model
        return like, size

    def model_gravity(self, c: Correction, without: int | None = None) -> tuple[float, Array]:
        """(a, g): the factor of the motion's part of the model's torques, and the gravity, for the best fit, friction
        and offsets left to each joint; without one block."""
        motion, torques = self.motion(c), self.torques(c)
        x = Hearing(motion, motion.model_under_any_gravity, 1.0 / torques.spread).solution(torques, without)
        return float(x[0]), x[1:4]

    # ------------------------------------------------------------------------------------------ J
    def judge(self, c: Correction) -> Verdict:
        if c not in self._verdicts:
            torques, J = self.torques(c), self.price(c)
            errors = [self.hear(c, known).errors(torques) for known in self.witnesses]
            for e, trust in zip(errors, self.trust, strict=True):
                J += 0.5 * self.independent * float(trust @ np.log(np.clip(e, 0.0, 1.0) + FLOOR))
            size = np.full(c.n, np.nan)
            if self.masses:
                like, size = self.likeness(c)
                size = np.where(like > 0.6, size, np.nan)
                quick, g = self.model_gravity(c)
                if quick > 0 and g.any():  # how much more inertia than weight there is
                    J += min(
                        float(np.log(quick * self.weight * c.time**2 / np.linalg.norm(g))) ** 2 / (2 * INERTIA**2), 20.0
                    )
            J += self.contradiction(c, size)
            self._verdicts[c] = Verdict(c, J, errors[0], errors[1] if self.masses else None, size)
        return self._verdicts[c]

    @cached_property
    def trust(self) -> list[Array]:
        """(n,) of each witness: what it leaves in the sample against what it leaves held out. A short log is learned by
        heart, and what is then held out is told by chance."""
        torques, found = self.torques(self.none), []
        for known in self.witnesses:
            hearing = self.hear(self.none, known)
            inside, outside = hearing.errors(torques, held_out=False), hearing.errors(torques)
            found.append(np.clip((inside + FLOOR) / (outside + FLOOR), 0.1, 1.0))
        return found

    def best(self, some: Iterable[Correction]) -> Verdict:
        return min((self.judge(c) for c in some), key=lambda v: v.J)

    def price(self, c: Correction) -> float:
        """What a hypothesis costs for being one: KIND for each, one more for each joint it singles out, and for numbers
        that are not round. What is nearly nothing is never worth it."""
        n = c.n
        cost = RARE * any(x < 0 for x in c.q_factor)
        for x in (np.array(c.q_factor), np.array(c.tau_factor)):
            wrong, size = int((x < 0).sum()), np.abs(x)
            cost += (KIND + (wrong if wrong < n else 0)) * (wrong > 0)
            other = size[size != 1]
            if len(other):
                alike = np.ptp(np.log(other)) < 1e-9
                usual = any(np.allclose(y, self.gears) for y in (size, 1 / size))
                usual |= bool(alike) and any(np.isclose(other[0], y) for y in UNUSUAL_UNITS)
                cost += KIND + (0 if usual else 1 if alike and len(other) == n else len(other))
                away = 0.0 if usual else np.log(size) - np.median(np.log(size))  # drives of one arm are no worlds apart
                cost += float(np.sum(np.minimum(away**2 / (2 * DRIVES**2), 12.0)))
                large = np.abs(np.log(size)) > LEAST_FACTOR
                if not usual and 2 * large.sum() <= n and (large.sum() < len(other) or (size[large] < 1).any()):
                    # drives that are a little off, or a single torque that is too large: a load, noise
                    cost += UNLIKELY
        cost += (KIND + 1) * len({c.q_order, c.tau_order} - {self.none.q_order})
        if c.gravity is not None:
            cost += KIND + (np.count_nonzero(np.abs(c.gravity) > 1e-9) != 1)
            if self.gravity.any() and angle(np.array(c.gravity), self.gravity) < LEAST_TILT:
                return NEVER
        if c.time != 1.0:
            cost += KIND + (self.round_clock(c.time) != c.time)
            if abs(np.log(c.time)) < self.least_clock:
                return NEVER
        return cost + KIND * (c.lag != 0.0)

    @property
    def least_clock(self) -> float:
        return LEAST_CLOCK[0] if np.isfinite(self.rates).any() else LEAST_CLOCK[1]

    def corrected_rate(self, c: Correction) -> float | None:
        return None if c.time == 1.0 else self.rate / c.time

    def round_clock(self, clock: float) -> float:
        """The factor nearby that makes the rate a usual one; the factor itself if there is none."""
        rate = self.rate / clock
        usual = np.array([m * 10.0 ** (np.floor(np.log10(rate)) + k) for k in (0, 1) for m in ROUND])
        near = float(usual[np.argmin(np.abs(np.log(usual / rate)))])
        return self.rate / near if abs(np.log(near / rate)) < 0.06 else clock

    def contradiction(self, c: Correction, size: Array) -> float:
        """What limits, sizes and recorded rates say against a hypothesis."""
        limits, s = self.robot.limits, self.samples
        reach = np.ptp(s.q, axis=0)[list(c.q_order)] * np.abs(c.q_factor)
        width = limits.upper - limits.lower
        width = np.where(np.isfinite(width) & (width > 0), width, np.where(self.turning, 4 * np.pi, np.inf))
        cost = 3.0 * float(np.sum(np.clip(np.log(np.maximum(reach / width, 1e-9) / 1.2), 0.0, 3.0)))
        told = np.log(size[np.isfinite(size) & (size > 0)])
        if len(told):
            common = float(np.median(told))
            cost += min(common**2 / (2 * SPREAD**2), 60.0) + float(np.sum(np.minimum((told - common) ** 2 / 2, 6.0)))
        top = np.abs(s.tau).max(axis=0)[list(c.tau_order)] * np.abs(c.tau_factor)
        effort = np.where(np.isfinite(limits.effort) & (limits.effort > 0), limits.effort, np.inf)
        over = max(float(np.log(np.maximum(np.median(top / effort), 1e-9) / 3.0)), 0.0)
        cost += min(over**2 / (2 * SPREAD**2), 60.0)
        rates = self.rates[list(c.q_order)] / np.array(c.q_factor) * c.time
        rates = rates[np.isfinite(rates)]
        if len(rates):
            off = float(np.median(np.log(np.abs(rates))))
            wrong = min(40.0 * max(abs(off - np.log(unit)) - 0.05, 0.0) + 3.0 * (unit != 1) for unit in self.rate_units)
            cost += 3.0 * float(np.sum(rates < 0)) + min(wrong, 12.0)
        return cost

    # ------------------------------------------------------------------------------------------ search
    def search(self) -> tuple[Verdict, Verdict]:
        """(the log as it is, the best explanation)."""
        plain = self.judge(self.none)
        found = self.improve(self.none)
        if self.doubtful(found):
            for c in self.readings(found):
                found = min(found, self.improve(c), key=lambda v: v.J)
        found = self.simplify(self.descend(found, self.polish, self.refine, self.shift))
        return plain, found if found.J < plain.J - CLEAR else plain

    def doubtful(self, v: Verdict) -> bool:
        """Whether other positions, or torques in another order, could explain much more."""
        left = v.free.max() > DOUBT[0] or (v.known is not None and v.known.max() > DOUBT[1])
        return bool(left) or self.contradiction(v.correction, v.size) > DOUBT[2]

    def improve(self, c: Correction) -> Verdict:
        """Gravity, clock, signs, factors and lag, for one reading of the positions."""
        found = self.with_signs(c)
        for _ in range(2):  # gravity, and then the clock under it, or the other way round
            before = (found.correction.gravity, found.correction.time)
            found = min((found, *map(self.with_signs, self.settings(found.correction))), key=lambda v: v.J)
            if (found.correction.gravity, found.correction.time) == before:
                break
            found = self.descend(found, self.refine)
        return self.descend(found, self.refine, self.flip, self.scale, self.scale, self.shift)

    def descend(self, v: Verdict, *steps: Callable[[Verdict], list[Correction]]) -> Verdict:
        """Step after step, as long as that helps."""
        for _ in range(ROUNDS):
            before = v.J
            for step in steps:
                v = min((v, *map(self.judge, step(v))), key=lambda v: v.J)
            if before - v.J < 1.0:
                break
        return v

    def with_signs(self, c: Correction) -> Verdict:
        """The best signs of the torques."""
        size = np.abs(np.array(c.tau_factor))
        plain = replace(c, tau_factor=tuple(size.tolist()))
        torques = self.torques(plain)
        some = [np.array(c.tau_factor), size]
        for known in self.witnesses:
            some += [s * x for x in self.hear(plain, known).signs(torques, 2 - known) for s in (size, -size)]
        return self.best(_with_factors(c, x) for x in some)

    def flip(self, v: Verdict) -> list[Correction]:
        """One more torque of another sign, where something is left to explain."""
        worst = v.free if v.known is None else np.maximum(v.free, v.known)
        signs = np.where(np.eye(len(worst), dtype=bool), -1.0, 1.0)[worst > 0.05]
        return [_with_factors(v.correction, np.array(v.correction.tau_factor) * x) for x in signs]

    def settings(self, c: Correction) -> list[Correction]:
        """Other gravities and clocks: the opposite, and those that look best in the sample."""
        axes = [tuple(x) for x in (self.weight * np.concatenate([np.eye(3), -np.eye(3)])).tolist()]
        tried = [replace(c, gravity=g) for g in axes if not np.allclose(g, self.gravity)]
        told = np.abs(self.rates[np.isfinite(self.rates)])
        clocks = tuple(unit / float(np.median(told)) for unit in self.rate_units) if len(told) else CLOCKS
        tried += [replace(c, time=x) for x in clocks if self.gravity.any() and abs(np.log(x)) > self.least_clock]
        tried += self.fit_model(c, clock=not len(told))
        tried += (
            self.gauss_newton(replace(c, gravity=tuple(self.gravity.tolist())), False) if self.gravity.any() else []
        )
        opposite = [x for x in tried if x.gravity is not None and np.allclose(x.gravity, -self.gravity)]
        return [*opposite, *sorted(tried, key=self.rough)[:3]]

    def rough(self, c: Correction) -> float:
        """What the witnesses leave in the sample."""
        torques = self.torques(c)
        return sum(float(np.log(self.hear(c, known).least(torques) + FLOOR)) for known in self.witnesses)

    def fit_model(self, c: Correction, clock: bool) -> list[Correction]:
        """Gravity, and clock, that fit the model's masses best, for a few choices of signs."""
        found: list[Correction] = []
        if not self.masses:
            return found
        size = np.abs(np.array(c.tau_factor))
        for sign in (np.ones(c.n), -np.ones(c.n), *self.hear(c, known=True).signs(self.torques(c), 1)):
            trial = _with_factors(c, sign * size)
            a, g = self.model_gravity(trial)
            length = float(np.linalg.norm(g))
            if a <= 0 or length == 0:
                continue
            turned = replace(trial, gravity=tuple((self.weight * g / length).tolist()))
            fast = float(np.sqrt(length / (self.weight * a)))
            found += [turned]
            if clock and abs(np.log(fast)) > self.least_clock and 1e-4 < fast < 1e4:
                found += [replace(trial, time=fast), replace(turned, time=fast)]
        return found

    def refine(self, v: Verdict) -> list[Correction]:
        """Gravity and clock at which free bodies fit best, and round ones beside them."""
        c = v.correction
        if c.gravity is None and c.time == 1.0:
            return []
        found = self.gauss_newton(c, clock=c.time != 1.0)
        found += self.gauss_newton(c, clock=False) if c.gravity is not None and c.time != 1.0 else []
        found += [replace(x, time=self.round_clock(x.time)) for x in found if x.time != 1.0]
        for x in [x for x in found if x.gravity is not None]:
            g = np.array(x.gravity)
            k = int(np.argmax(np.abs(g)))
            axis = np.sign(g[k]) * self.weight * np.eye(3)[k]
            found += [replace(x, gravity=tuple(axis.tolist()))] if angle(axis, g) < LEAST_TILT else []
        return found

    def gauss_newton(self, c: Correction, clock: bool) -> list[Correction]:
        """Gravity's direction, its size (which stands for the clock's square) or both, from those of the correction, as
        free bodies fit best."""
        motion, torques = self.motion(c), self.torques(c)
        start, a = self.setting(c)
        g = start
        for _ in range(6):
            witness = motion.free_bodies(g, a)
            weights = 1.0 / torques.spread
            slope = motion.slope(Hearing(motion, witness, weights).solution(torques))
            along = g / np.linalg.norm(g)
            slope = slope if c.gravity is not None else slope @ np.outer(along, along)
            W = np.concatenate([witness.W, slope], axis=1)
            step = Hearing(motion, replace(witness, W=W, C=None), weights).solution(torques)[-3:]
            step = step if c.gravity is not None else along * float(along @ step)
            step = step * min(1.0, 0.5 * float(np.linalg.norm(g)) / (float(np.linalg.norm(step)) + 1e-30))
            g = g + step
            if not clock:  # of its full size, what no joint feels included
                unfelt = ~slope.any(axis=0)
                rest = start @ start - np.sum(g[~unfelt] ** 2)
                g = np.where(unfelt, np.sqrt(max(rest, 0.0) / max(unfelt.sum(), 1)), g)
                g = g * np.linalg.norm(start) / np.linalg.norm(g)
            if np.linalg.norm(step) < 1e-3 * np.linalg.norm(g):
                break
        length = float(np.linalg.norm(g))
        turned = None if c.gravity is None else tuple((g * np.linalg.norm(start) / length).tolist())
        return [replace(c, gravity=turned, time=c.time * float(np.sqrt(length / np.linalg.norm(start))))]

    def scale(self, v: Verdict) -> list[Correction]:
        """Factors of the torques: one for all, those of the gears, each joint's own, by size or so that they fit each
        other."""
        c, told = v.correction, np.isfinite(v.size)
        some = [self.gears] if (self.gears > 1).any() else []
        common = float(np.exp(np.median(np.log(v.size[told])))) if told.any() else 1.0
        if abs(np.log(common)) > 0.5 * LEAST_FACTOR or (not self.masses and self.contradiction(c, v.size) > CLEAR):
            some += [np.full(c.n, 1 / common), np.full(c.n, 1e-3)]
        start = np.where(told, 1 / np.where(told, v.size, 1.0), 1 / common)
        start = np.where(np.abs(np.log(start)) < LEAST_FACTOR, 1.0, start)
        for first in (np.ones(c.n), start) if (start != 1).any() else (start,):
            gains = first * self.gains(_with_factors(c, np.array(c.tau_factor) * first))
            some += [first, gains, np.where(np.abs(np.log(gains)) < LEAST_FACTOR, 1.0, gains)]
        return [_with_factors(c, np.array(c.tau_factor) * x) for x in some if (x != 1).any()]

    def gains(self, c: Correction) -> Array:
        """Each joint's factor, with which the torques fit each other best and stay in size what they were: cᵀS c least,
        near ones."""
        gains = np.ones(c.n)
        for _ in range(4):
            turned = _with_factors(c, np.array(c.tau_factor) * gains)
            S = self.hear(turned, known=False).quadratic(self.torques(turned)) / c.n
            more = np.linalg.solve(S + PULL * np.eye(c.n), np.full(c.n, PULL))
            gains = gains * np.where(more > 0.05, more, 1.0)
            gains = gains / np.exp(np.median(np.log(gains)))
        return gains

    def polish(self, v: Verdict) -> list[Correction]:
        """Factors that are each joint's own, turned up and down while that helps: `gains` shrinks what is noisy."""
        if len(np.unique(np.abs(v.correction.tau_factor))) < max(3, v.correction.n // 2):
            return []
        for step in (0.3, 0.1, 0.03):
            for j, up in product(range(v.correction.n), (step, -step)):
                factor = np.array(v.correction.tau_factor)
                factor[j] *= np.exp(up)
                v = min(v, self.judge(_with_factors(v.correction, factor)), key=lambda v: v.J)
        return [v.correction]

    def shift(self, v: Verdict) -> list[Correction]:
        """The lag of the torques at which free bodies leave least in the sample."""
        c, step = v.correction, max(self.samples.dt, LONGEST_LAG / 40)
        motion, hearing, factor = self.motion(c), self.hear(c, known=False), np.array(c.tau_factor)
        most = int(np.ceil(LONGEST_LAG / step))
        shifts, left = np.arange(-most, most + 1), []
        for shift in shifts:
            torques = motion.torques(self.tau(replace(c, lag=float(shift * step * c.time)), self.rows)).times(factor)
            left.append(float(hearing.quadratic(torques).sum()))
        k = int(np.argmin(left))
        if not 0 < k < len(shifts) - 1:
            return []
        bend = left[k - 1] - 2 * left[k] + left[k + 1]
        at = float(shifts[k] + (0.5 * (left[k - 1] - left[k + 1]) / bend if bend > 0 else 0.0)) * step * c.time
        return [replace(c, lag=at)] if abs(at) >= LEAST_LAG else []

    # ------------------------------------------------------------------------------------------ other readings
    def readings(self, v: Verdict) -> list[Correction]:
        """Other units and orders of positions, other orders of torques: the best of them in the sample, gravity and
        clock left open, and from the best once more; and positions of another sign, which only physics tells."""
        cost = {self.none: self.open_cost(self.none)}
        at = self.none
        for _ in range(3):
            for c in self.moves(at):
                if c not in cost:
                    cost[c] = self.open_cost(c)
            best = min(cost, key=lambda c: cost[c])
            if best == at:
                break
            at = best
        found = [c for c in sorted(cost, key=lambda c: cost[c])[:3] if cost[c] < cost[self.none]]
        worst = v.free if v.known is None else np.maximum(v.free, v.known)
        for j in np.flatnonzero(worst > DOUBT[1]):
            turned = self.with_signs(_with_position_signs(v.correction, [int(j)]))
            found += [turned.correction] if turned.J < v.J else []
        return found

    def open_cost(self, c: Correction) -> float:
        """J in the sample, with any gravity and any clock."""
        rows = self.rows[:, ::FEW].reshape(1, -1)
        motion = self.motion(c, rows)
        torques = motion.torques(self.tau(c, rows))
        some = [motion.any_gravity, motion.model_under_any_gravity] if self.masses else [motion.any_gravity]
        left = [Hearing(motion, witness, 1.0 / torques.spread).least(torques) for witness in some]
        J = 0.5 * self.independent * c.n * float(np.sum(np.log(np.array(left) + FLOOR)))
        return J + self.price(c) + self.contradiction(c, np.full(c.n, np.nan))

    def moves(self, c: Correction) -> Iterator[Correction]:
        """Readings one step from another."""
        q, n = np.array(c.q_factor), c.n
        units = [np.where(self.turning, x, 1.0) for x in (DEGREE, 1 / DEGREE, 2 * np.pi)]
        units += [np.where(self.turning, 1.0, x) for x in (1e-3, 1e3)] + [1 / self.gears]
        far = np.ptp(self.samples.q, axis=0)[self.turning] > 8 * np.pi
        units += [np.where(self.turning, 1 / N, 1.0) for N in GEARS] if far.any() and np.mean(far) > 0.5 else []
        for x in units:
            if (x != 1).any() and (np.abs(q) == 1).all():
                yield replace(c, q_factor=tuple((q * x).tolist()))
        same = tuple(range(n))
        swaps = [_swap(same, a, b) for a, b in combinations(range(n), 2)]
        turns = [same[::-1], *(tuple(np.roll(same, k).tolist()) for k in range(1, n))] if n > 2 else []
        for new in (*swaps, *turns):
            torques = tuple(c.tau_order[k] for k in new)
            yield replace(c, tau_order=torques)
        for new in (*swaps, *turns):
            both = tuple(c.q_order[k] for k in new), tuple(c.tau_order[k] for k in new)
            yield replace(c, q_order=both[0], tau_order=both[1])
        for j in range(n):
            yield _with_position_signs(c, [j])

    def simplify(self, v: Verdict) -> Verdict:
        """Without whatever is not missed."""
        for name in ("q_order", "tau_order", "q_factor", "tau_factor", "time", "lag", "gravity"):
            v = min(self.judge(replace(v.correction, **{name: getattr(self.none, name)})), v, key=lambda v: v.J)
        return v


def _inner(samples: Samples) -> NDArray[np.bool_]:
    """Samples at which torques that are shifted are still known; all, if these are few."""
    parts = [samples.t[p] for p in times.pieces(samples.t, samples.dt)]
    inside = np.concatenate([(t >= t[0] + LONGEST_LAG) & (t <= t[-1] - LONGEST_LAG) for t in parts])
    return inside if inside.sum() > ROWS / 2 else np.ones(len(samples), bool)


def _with_factors(c: Correction, factor: Array) -> Correction:
    return replace(c, tau_factor=tuple(factor.tolist()))


def _with_position_signs(c: Correction, turned: list[int]) -> Correction:
    return replace(c, q_factor=tuple(-x if j in turned else x for j, x in enumerate(c.q_factor)))


def _swap(order: Order, a: int, b: int) -> Order:
    new = list(order)
    new[a], new[b] = new[b], new[a]
    return tuple(new)
