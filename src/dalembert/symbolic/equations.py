"""The equations of a robot: the numeric algorithms run on polynomials, and what is derived by differentiation.

    M(q) q̈ + C(q, q̇) q̇ + g(q) = τ,    C_kj = Σᵢ Γ_ijk q̇ᵢ,    Γ_ijk = ½ (∂ᵢM_kj + ∂ⱼM_ki − ∂ₖM_ij),    g = ∂P/∂q

Of a robot with planar, spherical or floating joints, whose velocities v are the bodies' own,

    M(q) v̇ + C(q, v) v + g(q) = τ,    q̇ = N(q) v,    g = Nᵀ ∂P/∂q,

with the C of composite bodies, for which Ṁ − 2C is skew too; positions are q1, q2, …, a quaternion being four of them.

Every entry is a polynomial in normal form, so that identities (Ṁ − 2C is skew, say) are equalities, not claims about
numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.algorithms import composite, energy, jacobians, joints, kinematics, regressor
from dalembert.caching import cached_property
from dalembert.describe.description import Description
from dalembert.errors import InputError, unknown
from dalembert.files import whole
from dalembert.model.model import Body, Coordinate, Model
from dalembert.names import in_line
from dalembert.spatial.vector import matvec
from dalembert.symbolic import entries, exact, parameters
from dalembert.symbolic.expression import DIGITS, Expression
from dalembert.symbolic.factor import determinant, factored, jacobian_for_determinant
from dalembert.symbolic.letters import Letters, choose
from dalembert.symbolic.lumps import LUMPED_AT_MOST, Legible, legible
from dalembert.symbolic.polynomial import Polynomial, Ring

if TYPE_CHECKING:
    from dalembert.compile import Kernel
    from dalembert.symbolic.compare import Comparison, Quantity
    from dalembert.symbolic.document import Derivation

SHOWN = 400  # terms of M that a notebook shows by itself
MOST_ANGLES = 6  # fixed angles as symbols: a chain of three oblique joints has 1,400 terms in M, of four 56,000
LONGEST_CHAIN = 9  # joints one after another of what moves freely, with symbols: ten take minutes
# What is written in lumped constants; kinematics and potentials are not.
RATES = re.compile(r"qd\d*$")  # q̇ = N v has no measured number: ½ q₄ v₁
LUMPED = re.compile(r"(M|Mdot|C|c|g|tau|Gamma|K|centripetal|coriolis|d/dt dL/dqd|d[LK]/dqd?)[\d,_\[{]*[\d,\]} ]*$")
Row = list[Polynomial]
Square = list[Row]


class Equations:
    """The dynamics and kinematics of a description, symbolic in the parameters that were asked for."""

    def __init__(
        self,
        description: Description,
        symbolic: str | Sequence[str] = "all",
        zeros: bool = True,
        friction: bool = False,
        angles: str = "symbols",
        letters: str | Letters | None = None,
        names: Mapping[str, str] | None = None,
        same: Mapping[str, str] | None = None,
    ) -> None:
        if angles not in ("symbols", "numbers"):
            raise unknown("choice of angles", angles, ("symbols", "numbers"))
        model, _, self._angles = exact.exact_model(description, angles == "numbers")
        self.description = description
        self.friction = friction
        self.letters = choose(letters, names, same)
        asked = {"symbolic": symbolic, "zeros": zeros, "friction": friction, "angles": angles, "letters": self.letters}
        self._asked: dict[str, Any] = asked
        found = parameters.parameters(model, zeros)
        chosen = parameters.chosen(found, symbolic)
        symbols = parameters.rename(chosen, self.letters, [p.name for p in found.values()])
        self._symbols = {p.name: p for p in symbols.values()}
        if len(self._symbols) != len({self.letters.same.get(p.name, p.name) for p in chosen.values()}):
            problem = f"two parameters of {model.name!r} would have the same name"
            raise InputError("duplicate", "parameters", problem=problem)
        numbers = range(1, model.nv + 1)
        extra = [name for k in numbers for name in (f"Fv{k}", f"Fs{k}")] if friction else []
        rate, sign, acceleration = ("qd", "sgn", "qdd") if model.curved is None else ("v", "sgnv", "vd")
        self.letter_of = {"q": "q", "qd": rate, "qdd": acceleration}  # what stands before the numbers of each
        self.signs = {f"{sign}{k}": f"{rate}{k}" for k in numbers if friction}  # {sgn(q̇): q̇}
        positions = (letters for c in model.coordinates for letters in c.joint.symbols)
        self.ring = Ring(
            [tuple(f"{letter}{k}" for letter in letters) for k, letters in enumerate(positions, 1)],
            self._angles.names(),
            [*self._symbols, *extra],
            [*(f"{rate}{k}" for k in numbers), *self.signs],
            [f"{acceleration}{k}" for k in numbers],
            model.quaternions,
        )
        self.model: Model = parameters.symbolic_model(model, self.ring, symbols)
        self._refuse_odd_planes()
        self._refuse_odd_mimics()
        self._refuse_long_chains()
        self._refuse_many_angles()

    def _refuse_odd_planes(self) -> None:
        for c in self.model.coordinates:
            if not c.joint.direct and any(isinstance(x, Polynomial) for x in c.joint.axis):
                problem = (
                    f"the axis of the {c.joint.kind} joint {c.name!r} must be x, y or z, because the axes of its "
                    "plane would contain roots"
                )
                remedy = "Turn the joint's frame (rpy) so that its axis is z."
                raise InputError("unsupported", "axis", problem=problem, remedy=remedy)

    def _refuse_odd_mimics(self) -> None:
        for body in self.model.bodies:
            followed = self._followed(body)
            if body.joint.kind != followed.joint.kind:
                problem = (
                    f"joint {body.joint_name!r} ({body.joint.kind}) follows {followed.name!r} "
                    f"({followed.joint.kind}), and equations of a revolute and a prismatic joint that are coupled are "
                    "not polynomials in sines and cosines"
                )
                raise InputError("unsupported", "mimic", body.joint_name, problem=problem)
            if body.joint.turns and body.multiplier != int(body.multiplier):
                problem = (
                    f"joint {body.joint_name!r} turns {body.multiplier:g} times as far as the joint it follows, and "
                    "only whole multiples have equations in sines and cosines of the coordinates"
                )
                raise InputError("unsupported", "mimic", body.joint_name, problem=problem)

    def _followed(self, body: Body) -> Coordinate:
        """The coordinate that moves a body: its own joint's, or that of the joint it follows."""
        return next(c for c in self.model.coordinates if c.first == body.coordinate)

    def _refuse_many_angles(self) -> None:
        """Every oblique fixed angle multiplies the number of terms, several times over."""
        known = {name for pair in self.ring.angles for name in pair}
        used: set[str] = set()
        for body in self.model.bodies:
            T, I = body.placement, body.inertia
            for x in (*(x for row in T.R for x in row), *T.p, *body.joint.axis, *I.h, *(x for row in I.I for x in row)):
                used |= (x.uses() & known) if isinstance(x, Polynomial) else set()
        count = sum(any(name in used for name in pair) for pair in self.ring.angles)
        if count > MOST_ANGLES:
            problem = (
                f"{self.name!r} has {count} fixed angles that are not multiples of π/2, and with each as a symbol the "
                "equations would have millions of terms"
            )
            raise InputError("too-large", "angles", problem=problem, remedy="Pass angles='numbers'.")

    def _refuse_long_chains(self) -> None:
        """M of a base that moves grows with everything it carries: 10⁵ terms with seven joints, 3·10⁶ with ten."""
        longest = max((len(self.model.path(i)) for i in range(len(self.model.bodies))), default=0)
        if self.model.curved is not None and longest > LONGEST_CHAIN and self.ring.parameters:
            raise InputError(
                "too-large",
                "symbolic",
                problem=f"{self.name!r} moves freely and has {longest} joints one after another, so that its "
                "equations would have millions of terms",
                remedy="Use kernels for its numbers (robot.mass_matrix, coriolis_matrix, …), or try "
                "symbolic='none', with numbers for all parameters.",
            )

    def of(self, description: Description) -> Equations:
        """The equations of another description, with the same choices."""
        return Equations(description, **self._asked)

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def n(self) -> int:
        """How many coordinates there are; where q̇ ≠ v, what asks for it is refused in words."""
        return self.model.n

    @property
    def nv(self) -> int:
        """The length of v, and of τ."""
        return self.model.nv

    @cached_property
    def q(self) -> list[Any]:
        """The coordinates as scalars of the algorithms."""
        ring = self.ring
        return [
            ring.angle(k, self._angles) if k in ring.turning else ring[names[0]] for k, names in enumerate(ring.joints)
        ]

    @cached_property
    def qd(self) -> Row:
        """The velocities: q̇, or v where they differ."""
        return [self.ring[name] for name in self.ring.rates[: self.nv]]

    @cached_property
    def qdd(self) -> Row:
        return [self.ring[name] for name in self.ring.accelerations]

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Runs of angles about parallel axes, one after another on a chain, which add up; other positions alone."""
        angle = {} if self.model.mimics else dict(_angles_of(self.model))
        runs = {k: [k] for k in range(self.model.nq)}  # by the angle a run ends with
        for i, k in angle.items():
            if (before := angle.get(self.model.bodies[i].parent)) in runs and self._continues(i):
                runs[k] = [*runs.pop(before), k]
        return tuple(tuple(run) for run in sorted(runs.values()))

    def _continues(self, i: int) -> bool:
        """Whether body i turns about an axis parallel to its parent's."""
        a, b = self.model.bodies[self.model.bodies[i].parent], self.model.bodies[i]
        axis = matvec(b.placement.R, b.joint.axis)
        return all(x == y for x, y in zip(axis, a.joint.axis, strict=True))

    # ------------------------------------------------------------------ dynamics

    def _square(self, A: Sequence[Sequence[Any]]) -> Square:
        return [[self.ring.scalar(x) for x in row] for row in A]

    @cached_property
    def M(self) -> Square:
        """M(q), n×n."""
        return self._square(composite.mass_matrix(self.model, self.q))

    @cached_property
    def N(self) -> Square:
        """N(q) of q̇ = N v, nq×nv: the identity where q̇ = v."""
        units = [[1.0 if i == k else 0.0 for i in range(self.nv)] for k in range(self.nv)]
        columns = [joints.position_rates(self.model, self.q, unit) for unit in units]
        return self._square(list(zip(*columns, strict=True)))

    @cached_property
    def position_rates(self) -> Row:
        """q̇ = N(q) v."""
        return [self._sum(x * v for x, v in zip(row, self.qd, strict=True)) for row in self.N]

    def slope(self, p: Polynomial, k: int) -> Polynomial:
        """∂p/∂q_k; where q̇ ≠ v the slope along velocity k, Σᵢ N_ik ∂p/∂q_i."""
        if self.model.curved is None:
            return p.by_coordinate(k)
        return self._sum(p.by_coordinate(i) * row[k] for i, row in enumerate(self.N) if row[k])

    @cached_property
    def dM(self) -> list[Square]:
        """∂M/∂q, [i][j][k] = ∂M_jk/∂q_i, or along velocity i where q̇ ≠ v."""
        n, M = self.nv, self.M
        upper = {(i, j, k): self.slope(M[j][k], i) for i in range(n) for j in range(n) for k in range(j, n)}
        return [[[upper[i, min(j, k), max(j, k)] for k in range(n)] for j in range(n)] for i in range(n)]

    @cached_property
    def christoffel(self) -> list[Square]:
        """Γ(q), n×n×n: [i][j][k] = ½ (∂ᵢM_kj + ∂ⱼM_ki − ∂ₖM_ij), the equation's index last."""
        if (c := self.model.curved) is not None:
            problem = (
                f"Christoffel symbols need coordinates with q̇ = v, and {self.name!r} has the {c.joint.kind} joint "
                f"{c.name!r}"
            )
            remedy = "Use C, with Ṁ − 2C skew-symmetric and c = C v."
            raise InputError("unsupported", "christoffel", problem=problem, remedy=remedy)
        n, D = self.n, self.dM
        upper = {
            (i, j, k): (D[i][k][j] + D[j][k][i] - D[k][i][j]) / 2
            for i in range(n)
            for j in range(i, n)
            for k in range(n)
        }
        return [[[upper[min(i, j), max(i, j), k] for k in range(n)] for j in range(n)] for i in range(n)]

    @cached_property
    def C(self) -> Square:
        """C(q, q̇) of the Christoffel symbols, n×n; where q̇ ≠ v, which has none, that of composite bodies."""
        if self.model.curved is not None:
            return self._square(composite.coriolis_matrix(self.model, self.q, self.qd))
        G, n = self.christoffel, self.n
        return [[self._sum(G[i][j][k] * self.qd[i] for i in range(n)) for j in range(n)] for k in range(n)]

    def coriolis_matrix(self, choice: str = "christoffel") -> Square:
        """One of the choices: "christoffel", "kronecker" (equal), "mdot-u/2", "ut-u/2"."""
        if choice == "christoffel":
            return self.C
        if choice not in composite.FROM_PARTIALS:
            raise unknown("choice of C", choice, tuple(composite.CHOICES))
        if self.model.curved is not None:
            problem = f"{choice!r} computes C from ∂M/∂q alone, which is not enough where q̇ ≠ v"
            raise InputError("unsupported", "choice", choice, problem=problem, remedy="Use 'christoffel'.")
        return self._square(composite.FROM_PARTIALS[choice](self.dM, self.qd))

    def rate_of(self, x: Any) -> Polynomial:
        """dx/dt = Σᵢ ∂x/∂q_i q̇_i of a function of the positions."""
        p = self.ring.scalar(x)
        return self._sum(p.by_coordinate(i) * rate for i, rate in enumerate(self.position_rates))

    @cached_property
    def M_dot(self) -> Square:
        """Ṁ = Σᵢ ∂M/∂q_i q̇_i."""
        n, D = self.nv, self.dM
        return [[self._sum(D[i][j][k] * self.qd[i] for i in range(n)) for k in range(n)] for j in range(n)]

    def keeps_skew_symmetry(self, choice: str = "christoffel") -> bool:
        """Whether Ṁ − 2C is skew-symmetric for this choice of C: as polynomials, so for every state."""
        C, D, n = self.coriolis_matrix(choice), self.M_dot, self.nv
        return all(not (D[i][j] + D[j][i] - 2 * C[i][j] - 2 * C[j][i]) for i in range(n) for j in range(i, n))

    @cached_property
    def P(self) -> Polynomial:
        """The potential energy P(q)."""
        return self.ring.scalar(energy.potential_energy(self.model, self.q))

    @cached_property
    def K(self) -> Polynomial:
        """The kinetic energy ½ q̇ᵀ M q̇."""
        n, v = self.nv, self.qd
        return self._sum(self.M[i][j] * v[i] * v[j] / (2 if i == j else 1) for i in range(n) for j in range(i, n))

    @cached_property
    def momentum_rates(self) -> Row:
        """d/dt ∂L/∂q̇ = M q̈ + Ṁ q̇."""
        M, D, n = self.M, self.M_dot, self.nv
        return [self._sum(M[k][j] * self.qdd[j] + D[k][j] * self.qd[j] for j in range(n)) for k in range(n)]

    @cached_property
    def g(self) -> Row:
        """g(q) = ∂P/∂q, or Nᵀ ∂P/∂q."""
        return [self.slope(self.P, k) for k in range(self.nv)]

    @cached_property
    def _factors(self) -> list[Square]:
        """What multiplies the products of velocities, [i][j][k] with c_k = Σᵢⱼ [i][j][k] vᵢ vⱼ: Γ, or that of C."""
        if self.model.curved is None:
            return self.christoffel
        span, rates = range(self.nv), self.ring.rates
        return [[[self.C[k][j].derivative(rates[i]) for k in span] for j in span] for i in span]

    @cached_property
    def centripetal(self) -> Row:
        """The terms with q̇ᵢ², per joint: Σᵢ Γ_iik q̇ᵢ²."""
        v, G, n = self.qd, self._factors, self.nv
        return [self._sum(G[i][i][k] * v[i] * v[i] for i in range(n)) for k in range(n)]

    @cached_property
    def coriolis(self) -> Row:
        """The terms with q̇ᵢ q̇ⱼ, i ≠ j, per joint: Σ_{i<j} 2 Γ_ijk q̇ᵢ q̇ⱼ."""
        v, G, n = self.qd, self._factors, self.nv
        pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        return [self._sum((G[i][j][k] + G[j][i][k]) * v[i] * v[j] for i, j in pairs) for k in range(n)]

    @cached_property
    def friction_torque(self) -> Row:
        """F_v q̇ + F_s sgn(q̇) per coordinate; zeros unless friction was asked for."""
        if not self.friction:
            return [self.ring.zero] * self.nv
        r = self.ring
        return [r[f"Fv{k}"] * r[v] + r[f"Fs{k}"] * r[sign] for k, (sign, v) in enumerate(self.signs.items(), 1)]

    @cached_property
    def tau(self) -> Row:
        """The joint equations: τ = M q̈ + c + g, and friction if asked for."""
        return [
            self._sum(self.M[k][j] * self.qdd[j] for j in range(self.nv))
            + self.centripetal[k]
            + self.coriolis[k]
            + self.g[k]
            + self.friction_torque[k]
            for k in range(self.nv)
        ]

    @cached_property
    def regressor(self) -> list[Row]:
        """Y(q, q̇, q̈) in the standard parameters: per body (m, m c, I about the joint frame's origin); then, where there
        are rotors, N² J_m per coordinate; then, if friction was asked for, F_v and F_s per coordinate."""
        Y = self._square(regressor.regressor(self.model, self.q, self.qd, self.qdd))
        for column in self._extra_columns():
            Y = [[*row, *(column[i] if i == j else self.ring.zero for j in range(self.nv))] for i, row in enumerate(Y)]
        return Y

    def _extra_columns(self) -> list[Row]:
        """What multiplies the rotor inertias and friction coefficients, coordinate by coordinate."""
        columns = [self.qdd] if self.has_rotors else []
        if self.friction:
            columns += [self.qd, [self.ring[name] for name in self.signs]]
        return columns

    @property
    def has_rotors(self) -> bool:
        return any(body.rotor_inertia != 0 for body in self.model.bodies)

    @property
    def regressor_columns(self) -> list[str]:
        """What the columns of the regressor multiply."""
        letters = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
        names = [f"{x} of {body.name}" for body in self.model.bodies for x in letters]
        moved = self.model.names("coordinate")
        names += [f"J of {joint}" for joint in moved if self.has_rotors]
        return names + [f"{x} of {joint}" for x in ("F_v", "F_s") if self.friction for joint in moved]

    def regressor_in(self, names: Sequence[str]) -> tuple[list[Row], Row]:
        """(Y, rest) with τ = Y π + rest for the parameters π of those names, in which τ must be linear; `rest` is
        what does not depend on them."""
        for name in names:
            if name not in self.ring.parameters:
                raise unknown("parameter", name, self.ring.parameters)
        if len(set(names)) != len(names):
            raise InputError("duplicate", "names", problem="a parameter is named twice")
        Y = [[t.derivative(name) for name in names] for t in self.tau]
        for row in Y:
            for name, entry in zip(names, row, strict=True):
                again = sorted(entry.uses() & set(names))
                if again:
                    problem = (
                        f"τ is not linear in {', '.join(names)}, because {name} is multiplied by "
                        f"{again[0]}{' itself' if again[0] == name else ''}"
                    )
                    remedy = "Leave one out, or use the standard parameters."
                    raise InputError("unsupported", "names", problem=problem, remedy=remedy)
        rest = [
            t - self._sum(y * self.ring[name] for y, name in zip(row, names, strict=True))
            for t, row in zip(self.tau, Y, strict=True)
        ]
        return Y, rest

    def _sum(self, terms: Iterable[Polynomial]) -> Polynomial:
        total: Any = self.ring.zero
        for t in terms:
            total = total + t
        return self.ring.scalar(total)

    # ------------------------------------------------------------------ kinematics

    def fk(self, frame: str | None = None) -> Square:
        """T_0f(q), 4×4."""
        return self._square(kinematics.frame_pose(self.model, self.q, self.model.frame(frame)).matrix())

    def jacobian(self, frame: str | None = None, expressed_in: str = "world") -> Square:
        """J(q), 6×n, linear rows first."""
        if expressed_in not in jacobians.EXPRESSIONS:
            raise unknown("frame of expression", expressed_in, jacobians.EXPRESSIONS)
        return self._square(jacobians.jacobian(self.model, self.q, self.model.frame(frame), expressed_in))

    def velocity_accelerations(self, frame: str | None = None) -> tuple[Row, Row]:
        """(centripetal, Coriolis): the accelerations of a frame, (a, ω̇) in world axes, that squares and products of the
        rates give when q̈ = 0, J̇ q̇ taken apart."""
        J, v, n = self.jacobian(frame), self.qd, self.nv
        centripetal = [self._sum(self.slope(row[i], i) * v[i] * v[i] for i in range(n)) for row in J]
        coriolis = [
            self._sum(self.slope(row[j], i) * v[i] * v[j] for i in range(n) for j in range(n) if i != j) for row in J
        ]
        return centripetal, coriolis

    def com_jacobian(self, link: str) -> Square:
        """(J_vc; J_ω), 6×n, of a link's center of mass."""
        body = self.model.frame(link).body
        if body < 0:
            problem = f"link {link!r} is fixed to the base, so that its center of mass does not move"
            raise InputError("unsupported", "link", link, problem=problem)
        return self._square(jacobians.com_jacobian(self.model, self.q, body))

    def det_jacobian(self, frame: str | None = None, rows: Sequence[int] | None = None) -> Polynomial:
        """The determinant of n rows of J (0 … 5: vx, vy, vz, ωx, ωy, ωz): all six of a six-joint arm, else by default
        the first n that do not vanish. Where it is zero the arm is singular."""
        target = self.model.frame(frame)
        J, _ = jacobian_for_determinant(self.model, self.ring, self.q, target, rows)
        return determinant(self.ring, J)

    # ------------------------------------------------------------------ for people

    def entry(self, name: str) -> Polynomial:
        """One entry by its name: "M12", "C21", "g1", "Gamma112", "tau2", "K", "P", "J11", "T14", "det"."""
        return entries.entry(self, self.letters.inward(name) if isinstance(name, str) else name)[1]

    def legible(self, *what: str, lump: bool = True) -> Legible:
        """Quantities ("M", "C", "g", …) in sums of angles, with lumped constants or in the physical parameters."""
        lumps: dict[str, Expression] = {}
        found: dict[str, Expression] = {}
        decimals = False

        def key(name: str) -> tuple[bool, bool]:
            inward = self.letters.inward(name)
            return bool(LUMPED.match(inward)), bool(RATES.match(inward))

        for (of_motion, of_rates), names in groupby(what or ("M", "C"), key):
            chosen = {n: p for name in names for n, p in entries.entries(self, self.letters.inward(name)).items()}
            det = chosen.pop("det", None)
            form = self.form(chosen, lump and of_motion) if chosen else Legible({}, {})
            lumps, decimals = lumps | form.lumps, decimals or (form.decimals and not of_rates)
            found |= {self.letters.quantity(name): x for name, x in form.entries.items()}
            if det is not None:
                found["det"] = self.letters.relabel(factored(det, self.groups))
        return Legible(lumps, found, decimals)

    def form(self, given: Mapping[str, Polynomial | float], lump: bool = False) -> Legible:
        """Any entries as a person writes them, in the letters of these equations; with `lump` in their lumped
        constants."""
        form = legible(given, self.groups, lump, self._lumped.basis if lump else ())
        shown = {name: self.letters.relabel(x) for name, x in form.entries.items()}
        return Legible(form.lumps, shown, form.decimals, form.basis)

    @cached_property
    def _lumped(self) -> Legible:
        """The lumped constants of M and C (whose own lie in the span of M's), then of g: one letter, one meaning."""
        M, C, g = (entries.entries(self, what) for what in ("M", "C", "g"))
        few = sum(map(len, (*M.values(), *C.values()))) <= LUMPED_AT_MOST
        if sum(map(len, M.values())) > LUMPED_AT_MOST:
            return Legible({}, {})
        together = few and self.model.curved is None  # C of a free body has sums of M's, Ixx + Iyy − Izz: M first
        found = legible(M | C if together else M, self.groups)
        for more in (*([C] if few and not together else []), g):
            if sum(map(len, more.values())) <= LUMPED_AT_MOST:
                next_ = legible(more, self.groups, True, found.basis)
                found = Legible(found.lumps | next_.lumps, {}, found.decimals or next_.decimals, next_.basis)
        return found

    @property
    def lumps(self) -> dict[str, Expression]:
        """What the lumped constants stand for, those of M and C first, then those of g."""
        return self._lumped.lumps

    def text(self, *what: str, lump: bool = True, long: bool = False) -> str:
        """Plain text. Without a choice M and C in lumped constants, then g, and q̇ = N v where q̇ ≠ v; `long` writes
        cos(q1 + q2) for c12."""
        from dalembert.symbolic.text import equation

        lines = []
        for form in self.forms(what, lump):
            digits = DIGITS if form.decimals else None
            for name, x in (*form.lumps.items(), *form.entries.items()):
                lines.append(equation(name, x, long, digits=digits))
        return "\n".join(lines) + "\n"

    def latex(self, *what: str, lump: bool = True, long: bool = False) -> str:
        """LaTeX for math mode: equations below each other. Without a choice M, C, g, and q̇ where it is not v."""
        from dalembert.symbolic.latex import aligned

        lines: dict[str, Any] = {}
        decimals = False
        for form in self.forms(what, lump):
            lines |= form.lumps | form.entries
            decimals |= form.decimals
        return aligned(lines, long, DIGITS if decimals else None)

    def forms(self, what: Sequence[str] = (), lump: bool = True) -> list[Legible]:
        """What `text` and `latex` write: what is asked for; without a choice M, C, g, and q̇ where it is not v."""
        if what:
            return [self.legible(*what, lump=lump)]
        also = [self.legible("qd")] if self.model.curved else []
        return [self.legible("M", "C", lump=lump), self.legible("g", lump=False), *also]

    def _repr_latex_(self) -> str | None:
        """For notebooks; what is long is shown by its size (`__repr__`) instead."""
        if sum(len(p) for row in self.M for p in row) > SHOWN:
            return None
        return f"$\\displaystyle {self.latex()}$"

    def __repr__(self) -> str:
        terms = sum(len(p) for row in self.M for p in row)
        joints, symbols = len(self.model.coordinates), len(self.parameters)
        return f"<Equations of {self.name!r}: {joints} joints, {symbols} symbols, M has {terms} terms>"

    def factored(self, name: str) -> str:
        """An entry, "det" above all, as a product."""
        from dalembert.symbolic.text import text

        return text(self.letters.relabel(factored(self.entry(name), self.groups)))

    def derivation(
        self, method: str = "lagrange", *, at: Sequence[Sequence[float]] | None = None, convention: str = "standard"
    ) -> Derivation:
        """The derivation step by step, as "kinematics", "lagrange" or "newton-euler"; of a large robot its structure.

        `at` = (q, q̇, q̈) puts numbers into newton-euler; `convention` is that of the DH table, "standard" or
        "modified". The result has .text(), .markdown(), .latex(), .html(), .save(file)."""
        from dalembert.symbolic.derivation import derive

        return derive(self, method, at, convention)

    def structure(self) -> str:
        """How large the equations are, and which joints couple, as text."""
        from dalembert.symbolic.derivation import structure
        from dalembert.symbolic.typeset import as_text

        return "\n\n".join(as_text(part) for part in structure(self)) + "\n"

    def normal_form(self, *what: str) -> str:
        """The full closed form, an entry to a line: text that `compare` and SymPy read. By default M, the Christoffel
        symbols and g; where q̇ ≠ v, M, C, g and q̇."""
        usual = ("M", "C", "g", "qd") if self.model.curved else ("M", "Gamma", "g")
        chosen = [entries.entries(self, quantity) for quantity in what or usual]
        lines = [f"{name} = {p!r}".replace("^", "**") for part in chosen for name, p in part.items()]
        head = [f"# {in_line(self.name)}: s1 = sin(q1), c1 = cos(q1), …"]
        head += [f"# {' + '.join(f'{name}**2' for name in names)} = 1" for names in self.ring.quaternions]
        return "\n".join([*head, *lines]) + "\n"

    def save(self, file: str | os.PathLike[str], *what: str) -> Path:
        """`normal_form` in a file."""
        return whole(file, lambda opened: opened.write(self.normal_form(*what).encode()))

    def quantity(self, name: str) -> Quantity:
        """An entry ("M12"), a vector or a matrix ("g", "J") as what a formula can be compared with."""
        return entries.comparable(self, self.letters.inward(name) if isinstance(name, str) else name)

    def compare(self, name: str, formula: str) -> Comparison:
        """Check a derivation: is `formula` equal to the derived entry, vector or matrix? If not, which slip was it?

        >>> robot.equations().compare("M12", "I2 + m2*(r2**2 + l1*r2*sin(q2))")    # doctest: +SKIP
        """
        from dalembert.symbolic.compare import compare

        quantity = self.quantity(name)
        defined = entries.lumps(self, formula) | entries.named_entries(self, quantity.name, formula)
        result = compare(quantity, formula, defined=defined, letters=self.letters)
        return replace(result, name=self.letters.quantity(result.name))

    # ------------------------------------------------------------------ code

    def sympy(self, what: str) -> Any:
        """A quantity ("M", "tau", …) or one entry ("M12") as SymPy expressions, in sin and cos of q1, q2, …"""
        from dalembert.symbolic.code import to_sympy

        return to_sympy(self, what)

    def kernel(self, what: str, parameters: Sequence[str] = ()) -> Kernel:
        """A quantity as a compiled kernel with the robot's numbers, of q, q̇ and q̈ as far as they occur, and of the
        named parameters: `.numpy_source()` and `.c_source()` print it."""
        from dalembert.symbolic.code import kernel

        return kernel(self, what, parameters)

    # ------------------------------------------------------------------ numbers

    @cached_property
    def parameters(self) -> dict[str, parameters.Parameter]:
        """The symbols that occur in the dynamics or the tip's position, with their numbers and meanings."""
        used = set().union(*(p.uses() for p in (self.K, self.P)))
        if self.model.tip is not None:
            used = used.union(*(x.uses() for row in self.fk() for x in row))
        return {name: p for name, p in self._symbols.items() if name in used}

    @cached_property
    def values(self) -> dict[str, float]:
        """The robot's own numbers for all symbols and fixed angles; F_v and F_s as the drives have them, as far as they
        fit (`friction_fits`)."""
        fixed = self._angles.values()
        found = {name: exact.constant_value(p.value, fixed) for name, p in self._symbols.items()}
        if self.friction:
            for coordinate in self.model.coordinates:
                body = next(b for b in self.model.bodies if b.joint_name == coordinate.name)
                for k in range(coordinate.first + 1, coordinate.first + coordinate.joint.nv + 1):
                    found |= {f"Fv{k}": body.damping, f"Fs{k}": sum(body.coulomb) / 2}
        return fixed | found

    @property
    def friction_fits(self) -> str:
        """Why F_v q̇ + F_s sgn(q̇) is not what the robot's drives do; "" if it is."""
        for body in self.model.bodies:
            if body.stiffness:
                return f"joint {body.joint_name!r} has a spring"
            if body.coulomb[0] != body.coulomb[1]:
                return f"the Coulomb friction of joint {body.joint_name!r} differs between its directions"
            for term in body.friction:
                plus, minus = body.friction_level("viscous")
                if term.law not in ("viscous", "coulomb") or term.smooth or term.values.get("load") or plus != minus:
                    return f"the friction of joint {body.joint_name!r} is {term!r}"
            followed = self._followed(body).name
            if body.joint_name != followed and (body.damping or any(body.coulomb)):
                return f"joint {body.joint_name!r}, which follows {followed!r}, has friction of its own"
        return ""

    @property
    def notes(self) -> list[str]:
        """What was taken as exact though it was written in decimals, and what the symbols do not express."""
        found = [f"{where}: the angle {x!r} is taken as {count}·π/2" for where, x, count in self._angles.snapped]
        if self.friction and self.friction_fits:
            found.append(f"friction is F_v q̇ + F_s sgn(q̇), but {self.friction_fits}")
        return found

    def snapped_description(self) -> Description:
        """The description that these equations are of, in floats."""
        return exact.snapped_description(self.description)


def _angles_of(model: Model) -> Iterator[tuple[int, int]]:
    """(body, the position that is its angle) of every joint that has one, from 0."""
    for i, body in enumerate(model.bodies):
        yield from ((i, body.position + k) for k, letters in enumerate(body.joint.symbols) if "s" in letters)
