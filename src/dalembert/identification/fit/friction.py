"""Friction with a speed or an exponent to be found: separable least squares.

Torques are linear in everything but a few numbers θ of each joint (the speed at which the Stribeck bump fades, the
exponent of a power law). For given θ the rest is least squares, and what is left is a function of θ alone (variable
projection; Golub & Pereyra 1973, Kaufman 1975):

    r(θ) = min_β ‖τ − Y β − Σ_k c_k φ(q̇_k; θ_k)‖²

A dictionary of shapes on a coarse grid, one pass over the log, gives the start; Gauss–Newton over log θ does the rest,
with the columns φ and ∂φ/∂log θ, one pass each step. The last step's matrix gives the deviations. (By hand: the joints'
weights follow their residuals at every step, and the linear parameters are solved for in each, which SciPy's solvers do
not offer.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import Array
from dalembert.caching import cached_property
from dalembert.errors import InputError, choose
from dalembert.friction import LAWS, Friction, friction
from dalembert.friction.laws import pieces
from dalembert.identification.fit.estimate import Estimate, least_squares, solve, spread_of
from dalembert.identification.fit.regression import Compressed, Regression, regression, triangle
from dalembert.identification.fit.regressor import Base, Columns, base
from dalembert.identification.log.samples import Samples

Theta = dict[str, Array]  # values of each joint (n,)
STEPS = 30
WIDEST = 0.7  # of one step of log θ
SETTLED = 1e-3  # of its deviation: a step of log θ that is none
LOOSE = 1e-4  # pull on log θ, as a part of its column's size: a joint without the effect stays where it is


@dataclass(frozen=True)
class Sought:
    """A row: the shape φ(v, direction, θ), the linear columns it needs beside it and those it stands for, and for each
    θ the grid to start from (speeds as parts of the fastest)."""

    shape: Callable[[Array, Array, Mapping[str, Array]], Array]
    needs: tuple[str, ...]
    instead: tuple[str, ...]
    grids: dict[str, tuple[float, ...]]
    level: str  # the parameter of the law that the shape's coefficient gives


SOUGHT: dict[str, Sought] = {
    "stribeck": Sought(
        lambda v, s, x: s * np.exp(-((np.abs(v) / x["speed"]) ** x["exponent"])),
        ("coulomb",),
        (),
        {"speed": tuple(np.geomspace(0.01, 0.5, 9)), "exponent": (2.0,)},
        "breakaway",
    ),
    "power": Sought(
        lambda v, s, x: np.sign(v) * np.abs(v) ** x["exponent"],
        (),
        ("viscous",),
        {"exponent": (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)},
        "coefficient",
    ),
}


def law_torques(terms: Sequence[Friction], v: Array, s: Array) -> Array:
    """What a law of each joint asks of its drive, (N, n), of rates and of the direction of dry friction."""
    total = np.zeros_like(v)
    for j, term in enumerate(terms):
        for piece in pieces(term):
            level = np.where(v[:, j] < 0, piece.level[1], piece.level[0])
            total[:, j] += level * piece.shape(v[:, j]) * (s[:, j] if piece.dry else 1.0)
    return total


@dataclass(frozen=True, eq=False)
class NonlinearFriction:
    """`values` and `deviations` by the names of the law's parameters, (n,) each; `present` (n,): whether the shape's
    coefficient differs from zero by three deviations (else its θ means nothing); `rms` [N m] per joint beside that with
    Coulomb and viscous friction alone, `plain`; `estimate` of all linear parameters (then log θ), `names` theirs."""

    law: str
    values: Theta
    deviations: Theta
    present: NDArray[np.bool_]
    rms: Array
    plain: Array
    estimate: Estimate
    names: tuple[str, ...]
    steps: int
    converged: bool

    @property
    def gain(self) -> Array:
        """1 − rms/plain per joint: what the law explains that Coulomb and viscous friction do not."""
        return np.asarray(1.0 - self.rms / np.maximum(self.plain, 1e-300))

    def terms(self) -> tuple[Friction, ...]:
        """The law of each joint, as a `Robot` takes it. A level less than three deviations below what it may be (zero;
        for break-away, the Coulomb level) is taken as that; a worse one is refused: the log does not follow the law."""
        return tuple(self._term(k) for k in range(len(self.rms)))

    def _term(self, k: int) -> Friction:
        values = {name: float(x[k]) for name, x in self.values.items()}
        for name in LAWS[self.law].linear:
            if name in values:
                least = values["coulomb"] if name == "breakaway" else 0.0
                if least - 3 * self.deviations[name][k] < values[name] < least:
                    values[name] = least
        return friction(self.law, **values)  # type: ignore[arg-type]


def nonlinear_friction(
    columns: Columns,
    samples: Samples | Sequence[Samples],
    law: str = "stribeck",
    *,
    free: Sequence[str] | None = None,
    parallel: int = 1,
) -> NonlinearFriction:
    """The parameters of a friction law of every joint, together with all of the columns'.

    `law`: "stribeck" (beside the columns' "coulomb" and "viscous") or "power" (instead of "viscous"). `free`: which of
    its nonlinear parameters are looked for, of ("speed", "exponent"); "speed" alone for Stribeck, whose exponent is
    then 2."""
    choose("friction law with nonlinear parameters", law, SOUGHT)
    row = SOUGHT[law]
    wanted = (next(iter(row.grids)),) if free is None else tuple(free)
    for name in wanted:
        choose(f"nonlinear parameter of the law {law!r}", name, row.grids)
    if not wanted:
        raise InputError(
            "missing", "free", problem="no nonlinear parameter is free", remedy="Fit the linear ones with `identify`."
        )
    for kind in row.needs:
        if kind not in columns.friction:
            raise InputError(
                "missing",
                "friction",
                problem=f"the law {law!r} needs the column {kind!r}",
                remedy="Add it to `friction`.",
            )
    usual = tuple(dict.fromkeys((*columns.friction, "coulomb", "viscous")))
    plain = replace(columns, friction=usual)
    problem = regression(plain, base(plain), samples, parallel)
    fastest = np.max([np.abs(run.qd).max(0) for run in problem.runs], axis=0)
    still = [joint for joint, speed in zip(columns.robot.joint_names, fastest, strict=True) if speed == 0]
    if still:
        raise InputError("too-few", "samples", problem=f"{', '.join(still)} never moves, so its friction is unknown")
    rms = least_squares(problem.compress()).sigma
    linear = replace(columns, friction=tuple(kind for kind in columns.friction if kind not in row.instead))
    return _Search(linear, problem.runs, parallel, law, wanted, rms).run(fastest)


@dataclass(frozen=True)
class _Shaped(Columns):
    """The columns, and beside them shapes φ of every joint: for several θ, and their slopes along log θ."""

    row: Sought | None = None
    thetas: tuple[Theta, ...] = ()
    slopes: tuple[str, ...] = ()
    compiled: ClassVar[bool] = False  # θ changes from pass to pass

    @cached_property
    def own(self) -> Columns:
        """The same columns without shapes."""
        return Columns(self.robot, self.friction, self.rotor, self.springs, self.inertial, self.coupling, {})

    @cached_property
    def all_names(self) -> tuple[str, ...]:
        own = self.own.all_names
        kinds = [f"shape{g}" for g in range(len(self.thetas))] + [f"slope of {name}" for name in self.slopes]
        return (*own, *(f"{joint}:{kind}" for kind in kinds for joint in self.robot.joint_names))

    def matrices(self, q: Array, qd: Array, qdd: Array, s: Array) -> Array:
        assert self.row is not None
        way = s[..., : self.robot.n]
        shapes = [self.row.shape(qd, way, theta) for theta in self.thetas]
        h = 1e-4
        for name in self.slopes:
            at = self.thetas[0]
            up, down = (self.row.shape(qd, way, at | {name: at[name] * np.exp(x)}) for x in (h, -h))
            shapes.append((up - down) / (2 * h))
        diagonal = [x[..., None] * np.eye(self.robot.n) for x in shapes]
        return np.concatenate([self.own.matrices(q, qd, qdd, s), *diagonal], axis=-1)


@dataclass(frozen=True, eq=False)
class _Search:
    """Gauss–Newton over log θ of all joints, everything linear solved in each step."""

    linear: Columns
    runs: tuple[Samples, ...]
    parallel: int
    law: str
    wanted: tuple[str, ...]
    plain: Array

    @property
    def n(self) -> int:
        return self.linear.robot.n

    def _shaped(self, thetas: Sequence[Theta], slopes: tuple[str, ...] = ()) -> Regression:
        """Columns with shapes, and base parameters of the linear ones with every shape kept."""
        given = {f.name: getattr(self.linear, f.name) for f in fields(Columns)}
        shaped = _Shaped(**given, row=SOUGHT[self.law], thetas=tuple(thetas), slopes=slopes)
        b = base(self.linear)
        p, more = len(self.linear.names), len(shaped.names) - len(self.linear.names)
        kept = np.concatenate([b.kept, np.arange(p, p + more)])
        whole = Base(shaped.names, kept, b.rest, np.vstack([b.K, np.zeros((more, b.K.shape[1]))]))
        return Regression(shaped, whole, self.runs, self.parallel)

    def _start(self, fastest: Array) -> Theta:
        """The best of the grid, joint by joint in turns."""
        n, grids = self.n, SOUGHT[self.law].grids
        mesh = np.stack(np.meshgrid(*grids.values(), indexing="ij"), axis=-1).reshape(-1, len(grids))
        thetas: list[Theta] = [
            {name: x * (fastest if name == "speed" else np.ones(n)) for name, x in zip(grids, point, strict=True)}
            for point in mesh.tolist()
        ]
        data = self._shaped(thetas).compress()
        p = data.p - n * len(thetas)
        weights = least_squares(data.only(np.arange(p))).weights
        choice = np.full(n, len(thetas) // 2)
        for k in (*range(n), *range(n)):
            costs = []
            for g in range(len(thetas)):
                choice[k] = g
                picked = np.concatenate([np.arange(p), p + n * choice + np.arange(n)])
                R = data.stacked(weights, picked)
                costs.append(float(R[-1, -1] ** 2) if len(R) == len(picked) + 1 else 0.0)
            choice[k] = int(np.argmin(costs))
        return {name: np.array([thetas[g][name][k] for k, g in enumerate(choice)]) for name in grids}

    def _at(self, theta: Theta) -> tuple[Compressed, Estimate, int]:
        """(all columns compressed, the linear ones solved, how many they are)."""
        data = self._shaped([theta], self.wanted).compress()
        p = data.p - self.n * len(self.wanted)
        return data, least_squares(data.only(np.arange(p))), p

    def _step(self, data: Compressed, found: Estimate, p: int) -> tuple[Array, Array, float, Array]:
        """A step of (β, log θ), (AᵀA)⁻¹, the condition, and what columns are multiplied by: slopes times their
        coefficients are those of log θ."""
        joints = np.tile(np.arange(self.n), len(self.wanted))
        level = found.beta[p - self.n : p][joints]
        scale = np.concatenate([np.ones(p), level])
        tangent = replace(data, triangles=data.triangles * np.append(scale, 1.0))
        # What a change of log θ by one would do if the bump were as large as the joint's noise, in weighted units.
        slopes = np.linalg.norm(data.triangles[..., p:-1], axis=1).max(0)
        sizes = slopes * np.maximum(np.abs(level), found.sigma[joints]) * found.weights[joints]
        extra = np.zeros((len(sizes), data.p + 1))
        extra[:, p:-1] = np.diag(LOOSE * np.maximum(sizes, 1e-9))
        return *solve(triangle(np.vstack([tangent.stacked(found.weights), extra]))), scale

    def run(self, fastest: Array) -> NonlinearFriction:
        def cost(found: Estimate, unit: Array) -> float:
            """The sum of squares in units of `unit`."""
            return float(np.sum((found.sigma / np.maximum(unit, 1e-300)) ** 2))

        theta = self._start(fastest)
        data, found, p = self._at(theta)
        done, converged = 0, False
        while done < STEPS and not converged:
            done += 1
            answer, inverse, _, _ = self._step(data, found, p)
            step = np.clip(answer[p:], -WIDEST, WIDEST)
            if (np.abs(step) <= SETTLED * np.sqrt(np.diag(inverse)[p:]) + 1e-9).all():
                converged = True
                break
            least = cost(found, found.sigma)
            for _ in range(6):
                parts = zip(self.wanted, step.reshape(-1, self.n), strict=True)
                tried = theta | {name: theta[name] * np.exp(x) for name, x in parts}
                new_data, new_found, _ = self._at(tried)
                if cost(new_found, found.sigma) < least:
                    theta, data, found = tried, new_data, new_found
                    break
                step = step / 3
            else:
                converged = True  # no step along the slope is better: the bottom, to rounding
        return self._result(theta, data, found, p, done, converged)

    def _result(
        self, theta: Theta, data: Compressed, found: Estimate, p: int, done: int, converged: bool
    ) -> NonlinearFriction:
        _, inverse, condition, scale = self._step(data, found, p)
        problem = self._shaped([theta], self.wanted)
        left = problem.residuals(np.concatenate([found.beta, np.zeros(data.p - p)]))
        spread = spread_of(problem, left, found.weights, inverse, scale)
        beta = np.concatenate([found.beta, *(np.log(theta[name]) for name in self.wanted)])
        estimate = Estimate(beta, spread, found.sigma, found.weights, condition, done)
        names = tuple(problem.columns.names[k] for k in problem.base.kept)
        values, deviations = self._name_values(theta, estimate, names, p)
        bump = slice(p - self.n, p)
        present = np.abs(beta[bump]) > 3 * estimate.deviation[bump]
        return NonlinearFriction(
            self.law, values, deviations, present, found.sigma, self.plain, estimate, names, done, converged
        )

    def _name_values(self, theta: Theta, estimate: Estimate, names: tuple[str, ...], p: int) -> tuple[Theta, Theta]:
        """Values and deviations by the law's own names; a sum of two columns has the deviation of the sum."""
        row, joints, n = SOUGHT[self.law], self.linear.robot.joint_names, self.n
        bump = list(range(p - n, p))
        rows: dict[str, list[list[int]]] = {}
        for kind in LAWS[self.law].linear:
            found = [f"{joint}:{kind}" for joint in joints]
            if all(name in names for name in found):
                rows[kind] = [[names.index(name)] for name in found]
        rows[row.level] = [[k, *(rows[kind][j][0] for kind in row.needs)] for j, k in enumerate(bump)]
        values = {kind: np.array([estimate.beta[k].sum() for k in where]) for kind, where in rows.items()}
        spread = estimate.covariance
        deviations = {
            kind: np.sqrt(np.array([max(spread[np.ix_(k, k)].sum(), 0.0) for k in where]))
            for kind, where in rows.items()
        }
        for j, name in enumerate(self.wanted):
            deviations[name] = theta[name] * estimate.deviation[p + j * n : p + (j + 1) * n]
        return values | theta, {name: np.zeros(n) for name in theta} | deviations
