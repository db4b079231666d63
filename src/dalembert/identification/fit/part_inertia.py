"""Parameters of dismantled parts: weighing and balancing, pendulum tests, and CAD with densities.

Every measured number may be given alone or with its standard deviation, (value, sigma); what comes out has one too.
Lengths [m], masses [kg], times [s], moments [kg m²]; gravity [m/s²].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dalembert.arguments import Array, array, number
from dalembert.describe import mass as mass_of, mesh as mesh_file
from dalembert.describe.chain import to_pose
from dalembert.describe.description import Geometry, Inertial, Mesh, Origin
from dalembert.describe.mass import verdict
from dalembert.errors import InputError, choose
from dalembert.robot import Robot
from dalembert.spatial import Inertia
from dalembert.spatial.vector import matscale, scale

Measured = float | tuple[float, float]  # a number alone, or with its standard deviation
GRAVITY = 9.81
NODES = 64  # of the quadrature over a quarter of a swing
HERE = Origin()


def _measured(name: str, value: object, unit: str) -> tuple[float, float]:
    """(value, sigma) of a number given alone or with its standard deviation; greater than zero."""
    pair = value if isinstance(value, tuple) else (value, 0.0)
    if len(pair) != 2:
        raise InputError(f"{name} is a number or a pair (value, standard deviation), got {value!r}")
    return number(name, pair[0], unit, above=0), number(f"the standard deviation of {name}", pair[1], least=0)


def _direction(name: str, value: ArrayLike) -> Array:
    x = array(name, value, (3,))
    if not x.any():
        raise InputError(f"{name} must be three numbers, not all zero; got {value!r}")
    return np.asarray(x / np.linalg.norm(x))


def _amplitude(value: object) -> float:
    x = number("amplitude", value)
    if not 0 <= x < math.pi:
        raise InputError(f"the amplitude of a swing is an angle from its middle, 0 ≤ amplitude < π rad; got {x:g}")
    return x


# --------------------------------------------------------------------------------------------------- pendulums
@dataclass(frozen=True)
class Moment:
    """The moment of inertia about the line through the center of mass along `direction` (in the part's axes), its
    standard deviation, and the moment about the axis of the test, which is parallel to it."""

    direction: tuple[float, float, float]
    value: float
    sigma: float
    about_axis: float


def pendulum(
    mass: Measured,
    distance: Measured,
    period: Measured,
    *,
    direction: ArrayLike = (0.0, 0.0, 1.0),
    amplitude: float = 0.0,
    gravity: float = GRAVITY,
) -> Moment:
    """A part that swings as a compound pendulum about a horizontal axis, `distance` d from its center of mass.

    I = m g d (T/2π)² a², with a = agm(1, cos ½θ₀) for an amplitude θ₀ [rad]: T = 2π √(I/mgd)/a exactly. About the
    parallel axis through the center of mass I − m d². Short distances lose fewer digits in that difference; the
    period is least, and d then matters least, at d = √(I_c/m)."""
    from scipy.special import ellipk

    m, sm = _measured("mass", mass, "kg")
    d, sd = _measured("distance", distance, "m")
    T, sT = _measured("period", period, "s")
    g = number("gravity", gravity, "m/s²", above=0)
    agm = math.pi / (2 * float(ellipk(math.sin(0.5 * _amplitude(amplitude)) ** 2)))
    k = g * (T * agm / (2 * math.pi)) ** 2  # I = m d k
    value = m * d * (k - d)
    if value < 0:
        point = 2 * math.pi * math.sqrt(d / g)
        raise InputError(
            f"a period of {T:g} s is shorter than that of a point mass at {d:g} m ({point:.4g} s): "
            "check distance, period and amplitude"
        )
    sigma = math.hypot(d * (k - d) * sm, m * (k - 2 * d) * sd, 2 * m * d * k / T * sT)
    x, y, z = _direction("direction", direction).tolist()
    return Moment((x, y, z), value, sigma, m * d * k)


def suspension(
    mass: Measured,
    length: Measured,
    top: Measured,
    bottom: Measured,
    period: Measured,
    *,
    direction: ArrayLike = (0.0, 0.0, 1.0),
    amplitude: float = 0.0,
    gravity: float = GRAVITY,
    platform: tuple[float, float] | None = None,
) -> Moment:
    """A part hung on two (bifilar) or three (trifilar) equal wires that turns about the vertical through its center of
    mass.

    Wires of `length` L are fixed at radii `top` R and `bottom` r from that vertical: I = m g R r T²/(4π² h) with
    h = √(L² − (R − r)²). For an amplitude θ₀ [rad] the period's exact integral over the swing is solved for I: the part
    rises by h − √(h² − 2 R r (1 − cos θ)). `platform`: (mass, moment) of what carries the part, which is taken off."""
    (m, sm), (T, sT) = _measured("mass", mass, "kg"), _measured("period", period, "s")
    given = (("length", length), ("top", top), ("bottom", bottom))
    (L, sL), (R, sR), (r, sr) = (_measured(name, value, "m") for name, value in given)
    g = number("gravity", gravity, "m/s²", above=0)
    under, own = array("platform", platform or (0.0, 0.0), (2,), meaning="a mass and a moment of inertia", least=0)
    if abs(R - r) >= L:
        raise InputError(f"wires of {L:g} m do not reach from a radius of {R:g} m to one of {r:g} m")
    h = math.sqrt(L * L - (R - r) ** 2)
    M = m + under
    I = M * g * R * r * T * T / (4 * math.pi**2 * h)
    theta = _amplitude(amplitude)
    if theta > 0:
        I = _suspended(I, M, R * r, h, theta, T, g)
    if own >= I:
        raise InputError(f"the platform alone has {own:g} kg m², and with the part {I:g} kg m²: check the period")
    # Relative sensitivities of M R r T²/h.
    relative = math.hypot(
        sm / M, sR * (1 / R + (R - r) / h**2), sr * (1 / r - (R - r) / h**2), sL * L / h**2, 2 * sT / T
    )
    x, y, z = _direction("direction", direction).tolist()
    return Moment((x, y, z), I - own, I * relative, I)


def _suspended(I: float, M: float, Rr: float, h: float, theta: float, T: float, g: float) -> float:
    """I with T(I) = T, where ½ (I + M z'²) θ̇² = M g (z₀ − z): the quarter period as an integral over θ = θ₀ sin u."""
    from scipy.optimize import newton

    if 2 * Rr * (1 - math.cos(theta)) >= h * h:
        raise InputError(f"an amplitude of {theta:g} rad lifts the part to where its wires are fixed")
    x, w = np.polynomial.legendre.leggauss(NODES)
    u, weight = 0.25 * math.pi * (x + 1.0), 0.25 * math.pi * w
    angle = theta * np.sin(u)
    drop = np.sqrt(h * h - 2 * Rr * (1 - np.cos(angle)))  # height below the ceiling
    least = math.sqrt(h * h - 2 * Rr * (1 - math.cos(theta)))
    slope = Rr * np.sin(angle) / drop
    # z₀ − z = drop − least, written without cancellation: (drop² − least²)/(drop + least)
    fall = 2 * Rr * (np.cos(angle) - math.cos(theta)) / (drop + least)

    def period(I: float) -> float:
        root = np.sqrt((I + M * slope**2) / (2 * M * g * fall))
        return 4.0 * float(weight @ (theta * np.cos(u) * root))

    return float(newton(lambda I: period(I) - T, I, tol=1e-14 * I))


# ------------------------------------------------------------------------------------------------- full tensor
@dataclass(frozen=True, eq=False)
class MeasuredPart:
    """A part's `inertial`, in the part's axes; `covariance` (6, 6) of its (ixx, ixy, ixz, iyy, iyz, izz) about the
    center of mass; `residuals` of the moments [kg m²]; `verdict`: "feasible", or why no body has such an inertia."""

    inertial: Inertial
    covariance: Array
    residuals: Array
    verdict: str

    @property
    def sigma(self) -> Array:
        """Standard deviations of the six."""
        return np.sqrt(np.diag(self.covariance))


def tensor(mass: float, com: ArrayLike, moments: Sequence[Moment]) -> MeasuredPart:
    """The inertia tensor of a part from moments about six or more directions: uᵀ I u = I_u, by least squares, weighted
    by the moments' standard deviations if all have one."""
    kilograms, center = number("mass", mass, "kg", above=0), array("com", com, (3,), unit="m")
    if not moments or not all(isinstance(x, Moment) for x in moments):
        raise InputError("moments are a list of Moment, as pendulum(…) and suspension(…) give them")
    u = np.array([_direction("direction", x.direction) for x in moments])
    a, b, c = u.T
    A = np.column_stack([a * a, 2 * a * b, 2 * a * c, b * b, 2 * b * c, c * c])
    value, sigma = np.array([x.value for x in moments]), np.array([x.sigma for x in moments])
    weighted = bool((sigma > 0).all())
    w = 1.0 / sigma if weighted else np.ones(len(moments))
    rank = int(np.linalg.matrix_rank(A, tol=1e-6))
    if rank < 6:
        raise InputError(
            f"these {len(moments)} directions determine {rank} of the six numbers of an inertia tensor: measure about "
            "six that lie on no common cone, such as x, y, z and the bisectors (1,1,0), (1,0,1), (0,1,1)"
        )
    six = np.linalg.lstsq(A * w[:, None], value * w, rcond=None)[0]
    residuals = value - A @ six
    inverse = np.linalg.inv((A * w[:, None]).T @ (A * w[:, None]))
    spare = len(moments) - 6
    scale = 1.0 if weighted else (float(residuals @ residuals) / spare if spare else math.nan)
    x, y, z = center.tolist()
    xx, xy, xz, yy, yz, zz = six.tolist()
    words = {
        "feasible": "feasible",
        "indefinite": "no body has it: a principal moment is negative",
        "triangle": "no body has it: the largest principal moment exceeds the sum of the others",
    }
    return MeasuredPart(
        Inertial(kilograms, (xx, xy, xz, yy, yz, zz), Origin((x, y, z))),
        np.asarray(scale * inverse, float),
        residuals,
        words[verdict(six.tolist(), kilograms)],
    )


# ---------------------------------------------------------------------------------------------- center of mass
@dataclass(frozen=True, eq=False)
class Weighing:
    """A part that rests on scales: `points` (k, 3) where it touches them, their `readings` (k,) [kg], and `down`, where
    gravity pulls, all in the part's axes. One point is a part that hangs, or balances on a tip. `sigma` [kg] of a
    scale."""

    points: Any
    readings: Any
    down: Any = (0.0, 0.0, -1.0)
    sigma: float = 0.0


@dataclass(frozen=True, eq=False)
class Balance:
    """A part that balances on an edge through `point` along `edge`, gravity along `down`: its center of mass is in the
    plane of the two."""

    point: Any
    edge: Any
    down: Any = (0.0, 0.0, -1.0)


@dataclass(frozen=True, eq=False)
class Center:
    """Mass [kg] (None if nothing was weighed), center of mass (3,) [m], the covariance of that, and residuals [m]."""

    mass: float | None
    com: Array
    covariance: Array
    residuals: Array


def center_of_mass(tests: Sequence[Weighing | Balance]) -> Center:
    """The center of mass from weighing and balancing in two or more positions, by least squares.

    On scales the reactions' center p̄ = Σ Fᵢ pᵢ/Σ Fᵢ is below the center of mass, (c − p̄) × down = 0; on an edge
    (c − p) · (edge × down) = 0. Every test counts the same. The covariance is that of the scales, or of the residuals
    where those are larger."""
    from scipy.linalg import block_diag

    rows: list[Array] = []
    sides: list[float] = []
    blocks: list[Array] = []
    masses: list[float] = []
    for test in tests:
        if isinstance(test, Weighing):
            p, m, spread, down = _weighed(test)
            masses.append(m)
            across = np.linalg.svd(down[None])[2][1:]  # two directions across gravity
            rows += list(across)
            sides += (across @ p).tolist()
            blocks.append(across @ spread @ across.T)
        elif isinstance(test, Balance):
            point = array("point", test.point, (3,))
            normal = np.cross(_direction("edge", test.edge), _direction("down", test.down))
            if np.linalg.norm(normal) < 1e-6:
                raise InputError("an edge along gravity balances nothing: edge and down must differ in direction")
            normal /= np.linalg.norm(normal)
            rows.append(normal)
            sides.append(float(normal @ point))
            blocks.append(np.zeros((1, 1)))
        else:
            raise InputError(f"tests are Weighing or Balance, got {type(test).__name__}")
    A = np.array(rows).reshape(-1, 3)
    s = np.linalg.svd(A, compute_uv=False) if len(A) else np.zeros(0)
    if len(A) < 3 or s[-1] < 1e-3 * s[0]:
        raise InputError(
            "these tests leave a line on which the center of mass may be anywhere: weigh or balance the part once "
            "more, tilted, with another direction of gravity in its axes"
        )
    b = np.array(sides)
    com = np.linalg.lstsq(A, b, rcond=None)[0]
    residuals = b - A @ com
    P = np.linalg.pinv(A)
    spare = len(A) - 3
    V = block_diag(*blocks)
    seen = float(residuals @ residuals) / spare if spare else 0.0
    if seen > np.trace(V) / len(A):  # the part says more of the noise than the scales do
        V = seen * np.eye(len(A))
    covariance = P @ V @ P.T
    return Center(float(np.mean(masses)) if masses else None, com, covariance, residuals)


def _weighed(test: Weighing) -> tuple[Array, float, Array, Array]:
    """(center of the reactions, total, its covariance from the scales' sigma, down)."""
    p, F = np.atleast_2d(array("points", test.points)), np.atleast_1d(array("readings", test.readings))
    if p.shape[1:] != (3,) or F.shape != (len(p),):
        raise InputError(
            f"points has shape {p.shape} and readings {F.shape}; give (k, 3) and (k,), one reading per point"
        )
    total = float(F.sum())
    if not total > 0 or (F < 0).any():
        raise InputError(f"the readings are {F.tolist()} kg; a part presses on its scales, and weighs something")
    middle = F @ p / total
    arms = (p - middle) / total
    return middle, total, number("sigma", test.sigma) ** 2 * arms.T @ arms, _direction("down", test.down)


# --------------------------------------------------------------------------------------------------- materials
@dataclass(frozen=True)
class Material:
    """Density [kg/m³], what it is, its relative spread, and where the number comes from.

    Typical values. Alloys are those of the usual grades, wrought and fully dense; plastics are solid, so that a printed
    part needs its share of infill; composites depend on how they were laid. `spread` is what the density of another
    batch or grade may differ by; where it matters, weigh the part (`cad` takes its mass)."""

    density: float
    what: str
    spread: float
    source: str


_ASM = "typical handbook value, as in ASM Handbook vol. 1 and 2"
_CDA = "Copper Development Association, alloys.copper.org"
_CRC = "density of the element, as in the CRC Handbook of Chemistry and Physics"

MATERIALS: dict[str, Material] = {
    "steel": Material(7850.0, "carbon and low-alloy steel (AISI 1045, 4140)", 0.005, _ASM),
    "stainless steel": Material(8000.0, "austenitic stainless steel (AISI 304, 316)", 0.01, _ASM),
    "cast iron": Material(7150.0, "gray cast iron", 0.02, _ASM),
    "aluminum 6061": Material(2700.0, "AA 6061-T6, wrought", 0.003, _ASM),
    "aluminum 7075": Material(2810.0, "AA 7075-T6, wrought", 0.003, _ASM),
    "cast aluminum": Material(2680.0, "A356.0, castings of robot links", 0.01, _ASM),
    "magnesium": Material(1770.0, "AZ31B", 0.01, _ASM),
    "titanium": Material(4430.0, "Ti-6Al-4V, grade 5", 0.005, _ASM),
    "brass": Material(8500.0, "free-cutting brass C36000", 0.005, _CDA),
    "bronze": Material(8890.0, "phosphor bronze C54400", 0.01, _CDA),
    "copper": Material(8940.0, "electrolytic tough pitch copper C11000", 0.005, _CDA),
    "lead": Material(11340.0, "pure lead, counterweights", 0.005, _CRC),
    "tungsten": Material(19250.0, "pure tungsten; heavy alloys are 17000 to 18500", 0.005, _CRC),
    "neodymium magnet": Material(7500.0, "sintered NdFeB", 0.02, "typical value"),
    "carbon fiber laminate": Material(
        1570.0,
        "epoxy with 60 % of its volume standard carbon fiber: 0.6 · 1780 + 0.4 · 1250",
        0.04,
        "rule of mixtures with the fiber's and resin's data sheets",
    ),
    "glass fiber laminate": Material(1850.0, "FR-4 circuit boards", 0.03, "typical value"),
    "pla": Material(1240.0, "polylactide, solid", 0.01, "NatureWorks Ingeo 4043D data sheet"),
    "abs": Material(1040.0, "acrylonitrile butadiene styrene, solid", 0.02, "typical value, as of Stratasys ABS-M30"),
    "petg": Material(1270.0, "glycol-modified polyester, solid", 0.01, "typical value, as of Eastman Eastar 6763"),
    "pom": Material(1420.0, "polyoxymethylene homopolymer; copolymer 1410", 0.01, "typical value, as of Delrin 500P"),
    "nylon": Material(1140.0, "polyamide 6.6, dry", 0.01, "typical value, as of Zytel 101"),
    "sintered nylon": Material(930.0, "polyamide 12, laser sintered", 0.03, "typical value, as of EOS PA 2200"),
    "peek": Material(1300.0, "polyether ether ketone", 0.01, "typical value, as of Victrex 450G"),
    "polycarbonate": Material(1200.0, "polycarbonate", 0.01, "typical value, as of Makrolon 2407"),
    "acrylic": Material(1190.0, "polymethyl methacrylate", 0.01, "typical value, as of Plexiglas GS"),
    "polyethylene": Material(950.0, "high-density polyethylene", 0.02, "typical value"),
    "ptfe": Material(2160.0, "polytetrafluoroethylene", 0.02, "typical value"),
}


def material(name: str) -> Material:
    """The material of that name."""
    return MATERIALS[choose("material", name, MATERIALS)]


# --------------------------------------------------------------------------------------------------------- CAD
@dataclass(frozen=True, eq=False)
class Solid:
    """A piece of a part: a shape (Box, Cylinder, Sphere, Capsule, Mesh file) or (vertices, faces) of a closed mesh, of
    a material by name or density [kg/m³], at its `origin` in the part. `filled`: the share that is material, of a
    printed part. A `hole` is taken away: its material is what it is cut from."""

    shape: Geometry | tuple[Any, Any]
    material: str | float
    origin: Origin = HERE
    filled: float = 1.0
    hole: bool = False

    @property
    def density(self) -> float:
        rho = material(self.material).density if isinstance(self.material, str) else self.material
        share = number("filled", self.filled)
        if not 0 < share <= 1:
            raise InputError(f"filled is the share of a solid that is material, 0 < filled ≤ 1; got {share:g}")
        return number("density", rho, "kg/m³", above=0) * share

    def inertia(self) -> Inertia:
        """In the part's frame."""
        if isinstance(self.shape, tuple):
            own = mass_of.mesh(*self.shape, density=self.density)
        elif isinstance(self.shape, Mesh):
            vertices, faces = mesh_file.read(self.shape.filename)
            scale = np.array(self.shape.scale, float)
            turned = faces[:, ::-1] if np.prod(scale) < 0 else faces  # a mirrored mesh looks inwards
            own = mass_of.mesh(vertices * scale, turned, density=self.density)
        else:
            own = mass_of.from_density(self.shape, self.density)
        return own.to_parent(to_pose(self.origin))


def cad(solids: Sequence[Solid], *, mass: float | None = None) -> Inertial:
    """The inertial of a part drawn as solids. If the part was weighed, `mass` [kg] corrects all densities by one
    factor."""
    if not solids or not all(isinstance(s, Solid) for s in solids):
        raise InputError("a part is a list of Solid(shape, material)")
    whole = mass_of.combine(*(s.inertia() for s in solids if not s.hole))
    for hole in (s for s in solids if s.hole):
        whole = whole - hole.inertia()
    if not whole.m > 0:
        raise InputError(f"the holes take away more than there is: {whole.m:g} kg are left")
    if mass is not None:
        factor = number("mass", mass, "kg", above=0) / whole.m
        whole = Inertia(factor * whole.m, scale(factor, whole.h), matscale(factor, whole.I))
    found = mass_of.to_inertial(whole)
    if verdict(found.inertia, found.mass) != "feasible":
        raise InputError("no body has the inertia that is left: a hole lies outside the solids it is taken from")
    return found


def with_parts(robot: Robot, inertials: Mapping[str, Inertial]) -> Robot:
    """The same robot whose links have these inertials, by link's name."""
    links = {link.name for link in robot.description.links}
    for name, value in inertials.items():
        choose("link", name, links)
        if not isinstance(value, Inertial):
            got = type(value).__name__
            raise InputError(f"the inertial of {name!r} is a {got}, where a dalembert.Inertial is needed")
    changed = tuple(
        replace(link, inertial=inertials[link.name]) if link.name in inertials else link
        for link in robot.description.links
    )
    return Robot(replace(robot.description, links=changed), threads=robot.threads, told=robot.warnings)
