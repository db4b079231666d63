"""Parameters of dismantled parts: pendulum tests, and CAD models with the densities of materials.

A measured number is a value or a pair (value, standard deviation). The results carry standard deviations, too.
Lengths are in m, masses in kg, times in s, moments of inertia in kg m², gravity in m/s².
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
HERE = Origin()


def _measured(name: str, value: object, unit: str) -> tuple[float, float]:
    """(value, sigma) of a number given alone or with its standard deviation; greater than zero."""
    pair = value if isinstance(value, tuple) else (value, 0.0)
    if len(pair) != 2:
        raise InputError("wrong-type", name, value, expected="a number or a pair (value, standard deviation)")
    return number(name, pair[0], unit, above=0), number(f"the standard deviation of {name}", pair[1], least=0)


def _direction(name: str, value: ArrayLike) -> Array:
    x = array(name, value, (3,))
    if not x.any():
        raise InputError("out-of-range", name, value, expected="three numbers that are not all zero")
    return np.asarray(x / np.linalg.norm(x))


def _amplitude(value: object) -> float:
    x = number("amplitude", value)
    if not 0 <= x < math.pi:
        raise InputError(
            "out-of-range", "amplitude", x, expected="an angle from the middle of the swing in [0, π) [rad]"
        )
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
            "not-physical",
            "period",
            T,
            problem=f"a period of {T:g} s is shorter than that of a point mass at {d:g} m ({point:.4g} s)",
            remedy="Check distance, period and amplitude.",
        )
    sigma = math.hypot(d * (k - d) * sm, m * (k - 2 * d) * sd, 2 * m * d * k / T * sT)
    x, y, z = _direction("direction", direction).tolist()
    return Moment((x, y, z), value, sigma, m * d * k)


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
        raise InputError("wrong-type", "moments", expected="a list of Moment, as `pendulum` returns them")
    u = np.array([_direction("direction", x.direction) for x in moments])
    a, b, c = u.T
    A = np.column_stack([a * a, 2 * a * b, 2 * a * c, b * b, 2 * b * c, c * c])
    value, sigma = np.array([x.value for x in moments]), np.array([x.sigma for x in moments])
    weighted = bool((sigma > 0).all())
    w = 1.0 / sigma if weighted else np.ones(len(moments))
    rank = int(np.linalg.matrix_rank(A, tol=1e-6))
    if rank < 6:
        raise InputError(
            "too-few",
            "moments",
            problem=f"these {len(moments)} directions determine {rank} of the six numbers of an inertia tensor",
            remedy="Measure about x, y, z and the bisectors (1,1,0), (1,0,1), (0,1,1).",
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
            raise InputError("out-of-range", "filled", share, expected="a share in (0, 1]")
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
        raise InputError("wrong-type", "solids", expected="a list of Solid(shape, material)")
    whole = mass_of.combine(*(s.inertia() for s in solids if not s.hole))
    for hole in (s for s in solids if s.hole):
        whole = whole - hole.inertia()
    if not whole.m > 0:
        raise InputError(
            "not-physical", "solids", problem=f"the holes have more mass than the solids: {whole.m:g} kg are left"
        )
    if mass is not None:
        factor = number("mass", mass, "kg", above=0) / whole.m
        whole = Inertia(factor * whole.m, scale(factor, whole.h), matscale(factor, whole.I))
    found = mass_of.to_inertial(whole)
    if verdict(found.inertia, found.mass) != "feasible":
        raise InputError(
            "not-physical",
            "solids",
            problem="no rigid body has the remaining inertia, because a hole lies outside the solids",
        )
    return found


def with_parts(robot: Robot, inertials: Mapping[str, Inertial]) -> Robot:
    """The same robot whose links have these inertials, by link's name."""
    links = {link.name for link in robot.description.links}
    for name, value in inertials.items():
        choose("link", name, links)
        if not isinstance(value, Inertial):
            raise InputError("wrong-type", name, value, expected="a dalembert.describe.Inertial")
    changed = tuple(
        replace(link, inertial=inertials[link.name]) if link.name in inertials else link
        for link in robot.description.links
    )
    return Robot(replace(robot.description, links=changed), threads=robot.threads, told=robot.warnings)
