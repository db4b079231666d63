"""Mass properties from geometry: mass [kg], lengths [m], densities [kg/m³] → spatial Inertia.

Every function gives the inertia in the shape's own frame, about that frame's origin; `compose` puts
shapes together, each at its pose. Bodies are solid and of one density unless said otherwise. Formulas:
any table of moments of inertia; each is tested against the density integral of a mesh.

Whether an inertia can belong to a body.

The inertia tensor about the center of mass of any distribution of positive mass has principal moments
J₁ ≤ J₂ ≤ J₃ with J₁ ≥ 0 and J₁ + J₂ ≥ J₃: each is a sum of two of the three second moments ∫x², ∫y²,
∫z² dm, which are not negative. Source: Wensing, Kim, Slotine 2018, section II.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import number, three
from dalembert.describe.description import Box, Capsule, Cylinder, Geometry, Inertial, Mesh, Origin, Sphere
from dalembert.describe.mesh import closed_mesh, hull
from dalembert.errors import InputError, choose
from dalembert.spatial import Inertia, Pose
from dalembert.spatial.inertia import second_moment
from dalembert.spatial.vector import IDENTITY, ZERO, Matrix, Vector, dot, matadd, matscale, matvec, neg, scale

# Files give inertias with four digits, or fewer: a thin plate's J₁ + J₂ = J₃ then fails by that much.
ROUNDING = 1e-3
# Radius of gyration [m] below which a body is a point and the signs of its moments are noise: files
# made by programs hold 1e-20 where zero is meant.
POINT = 1e-6

Verdict = Literal["feasible", "indefinite", "triangle"]
Array = NDArray[np.float64]
Density = Callable[[Array, Array, Array], ArrayLike]
POINTS = (8, 16, 32, 64)  # in each direction
SETTLED, UNSETTLED = 1e-12, 1e-6
MESH_RULES = ("exact", "legacy", "convex", "shell")


def principal_moments(inertia: Sequence[float]) -> tuple[float, float, float]:
    """J₁ ≤ J₂ ≤ J₃ [kg m²] of (ixx, ixy, ixz, iyy, iyz, izz)."""
    import numpy as np

    xx, xy, xz, yy, yz, zz = inertia
    size = max(abs(x) for x in inertia)
    if size == 0.0:
        return (0.0, 0.0, 0.0)
    # Scaled to 1, because the solver squares what it is given and files may hold 1e300.
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) / size
    first, second, third = (float(J) * size for J in np.linalg.eigvalsh(tensor))
    return (first, second, third)


def verdict(inertia: Sequence[float], mass: float = 0.0, tolerance: float = ROUNDING) -> Verdict:
    """Whether (ixx, ixy, ixz, iyy, iyz, izz) [kg m²] is possible, has a negative principal moment
    ("indefinite"), or has J₁ + J₂ < J₃ ("triangle"), by more than `tolerance` of the largest moment."""
    first, second, third = principal_moments(inertia)
    slack = max(tolerance * max(abs(first), abs(third)), mass * POINT * POINT)
    if first < -slack:
        return "indefinite"
    if first + second < third - slack:
        return "triangle"
    return "feasible"


"""Relative change of the integrals from one rule to the next at which they are believed, and at the last, are not."""

# shapes


def point(mass: float, position: Vector = ZERO) -> Inertia:
    """A point mass at `position`: I = m r² about every axis at distance r."""
    return Inertia.from_com(_amount("mass", mass), three("the position", position), matscale(0.0, IDENTITY))


def rod(mass: float, length: float) -> Inertia:
    """A thin rod along x, from −length/2 to length/2: I = m l²/12 about y and z."""
    m, length = _amount("mass", mass), _amount("length", length)
    transverse = m * length * length / 12.0
    return _diagonal(m, 0.0, transverse, transverse)


def box(mass: float, size: Vector) -> Inertia:
    """A block with edges `size` along x, y, z, its center at the origin: I_xx = m (y² + z²)/12."""
    m = _amount("mass", mass)
    x, y, z = (_amount("size", s) for s in three("the size", size))
    return _diagonal(m, m * (y * y + z * z) / 12.0, m * (x * x + z * z) / 12.0, m * (x * x + y * y) / 12.0)


def cylinder(mass: float, radius: float, length: float) -> Inertia:
    """A cylinder along z, its center at the origin: I_zz = m r²/2, I_xx = m (3 r² + l²)/12."""
    m, r, length = _amount("mass", mass), _amount("radius", radius), _amount("length", length)
    transverse = m * (3.0 * r * r + length * length) / 12.0
    return _diagonal(m, transverse, transverse, 0.5 * m * r * r)


def sphere(mass: float, radius: float, hollow: bool = False) -> Inertia:
    """A ball (2/5 m r²), or a thin shell if hollow (2/3 m r²), its center at the origin."""
    m, r = _amount("mass", mass), _amount("radius", radius)
    moment = (2.0 / 3.0 if hollow else 2.0 / 5.0) * m * r * r
    return _diagonal(m, moment, moment, moment)


def capsule(mass: float, radius: float, length: float) -> Inertia:
    """A cylinder of `length` along z between two half balls, its center at the origin.

    The half balls' centers of mass are 3r/8 beyond the cylinder's ends, so together, with mass m_b,
    they have I_xx = m_b (2/5 r² + l²/4 + 3/8 l r).
    """
    m, r, length = _amount("mass", mass), _amount("radius", radius), _amount("length", length)
    whole = length + 4.0 * r / 3.0  # volume / (π r²)
    m_c = m * length / whole if whole > 0 else 0.0
    m_b = m - m_c
    ends = m_b * (0.4 * r * r + 0.25 * length * length + 0.375 * length * r)
    transverse = m_c * (3.0 * r * r + length * length) / 12.0 + ends
    return _diagonal(m, transverse, transverse, 0.5 * m_c * r * r + 0.4 * m_b * r * r)


def cone(mass: float, radius: float, height: float) -> Inertia:
    """A cone that stands on the x–y plane: the base's center at the origin, the tip at z = height.

    About the center of mass, at z = height/4: I_zz = 3/10 m r², I_xx = 3/80 m (4 r² + h²).
    """
    m, r, h = _amount("mass", mass), _amount("radius", radius), _amount("height", height)
    transverse = 3.0 / 80.0 * m * (4.0 * r * r + h * h)
    tensor = _tensor(transverse, transverse, 0.3 * m * r * r)
    return Inertia.from_com(m, (0.0, 0.0, 0.25 * h), tensor)


def of_geometry(geometry: Geometry, mass: float) -> Inertia:
    """The inertia of a description's shape with the given mass, in the shape's frame."""
    match geometry:
        case Box(size):
            return box(mass, size)
        case Cylinder(radius, length):
            return cylinder(mass, radius, length)
        case Sphere(radius):
            return sphere(mass, radius)
        case Capsule(radius, length):
            return capsule(mass, radius, length)
        case Mesh(filename):
            raise _mesh_file(filename)


def from_density(geometry: Geometry, density: float | Density) -> Inertia:
    """The inertia of a description's shape, in the shape's frame: of one material [kg/m³], or with a density
    ρ(x, y, z) that varies, a function of three arrays (`integrated`)."""
    if callable(density):
        return integrated(geometry, density)
    return of_geometry(geometry, _amount("density", density) * volume(geometry))


def volume(geometry: Geometry) -> float:
    """Volume [m³] of a description's shape."""
    match geometry:
        case Box((x, y, z)):
            return x * y * z
        case Cylinder(radius, length):
            return math.pi * radius * radius * length
        case Sphere(radius):
            return 4.0 / 3.0 * math.pi * radius * radius * radius
        case Capsule(radius, length):
            return math.pi * radius * radius * (length + 4.0 / 3.0 * radius)
        case Mesh(filename):
            raise _mesh_file(filename)


def _mesh_file(filename: str) -> InputError:
    problem = f"the mesh {filename!r} is only a file name here"
    remedy = "Read its vertices and faces with describe.mesh.read, and pass them to mass.mesh."
    return InputError("wrong-type", "mesh", filename, problem=problem, remedy=remedy)


# meshes


def mesh(
    vertices: ArrayLike,
    faces: ArrayLike,
    *,
    density: float | None = None,
    mass: float | None = None,
    rule: str = "exact",
) -> Inertia:
    """The inertia of the solid inside a closed mesh, in the mesh's frame, from its density or its mass.

    vertices (n, 3) [m]; faces (k, 3) indices, counter-clockwise seen from outside. The integrals over
    the solid are sums over tetrahedra from a reference point to each face (a, b, c), with d = a·(b × c):
    V = Σ d/6, ∫x = Σ d/24 s, ∫x xᵀ = Σ d/120 (s sᵀ + a aᵀ + b bᵀ + c cᵀ), s = a + b + c.

    `rule`, as MuJoCo names them: "exact" is this, and refuses a mesh that is not closed. "legacy" takes |d|, first from
    the faces' centroid, then from the center of mass that this gives: right for what is closed and without hollows,
    and defined for any mesh. "convex" fills the convex hull. "shell" is a thin skin, its density in kg/m².
    """
    if (density is None) == (mass is None):
        raise InputError("conflict", "density", problem="the mesh needs density= or mass=, exactly one of them")
    choose("rule for the mass of a mesh", rule, MESH_RULES)
    x, f = closed_mesh(vertices, faces, closed=rule == "exact")
    f = hull(x) if rule == "convex" else f
    # From the middle: far from the origin, sums from there would cancel badly.
    middle = x.mean(axis=0) if rule == "exact" else _centroid(x, f)
    size, h, C, terms = _moments(x, f, middle, rule)
    # A flat mesh leaves rounding, of either sign, of the terms that canceled.
    if size <= 1e-12 * terms:
        why = "its faces look inwards; reverse their order" if size < 0 else "it encloses nothing"
        raise InputError("wrong-value", "faces", problem=f"the mesh has a volume of {size:.3g} m³: {why}")
    if rule != "exact":
        middle = middle + h / size
        size, _, C, _ = _moments(x, f, middle, rule)
        h = np.zeros(3)
    rho = _amount("density", density) if density is not None else _amount("mass", mass) / size
    tensor = rho * (np.trace(C) * np.eye(3) - C)
    own = Inertia(rho * size, tuple((rho * h).tolist()), tuple(tuple(row) for row in tensor.tolist()))
    return own.to_parent(Pose(IDENTITY, tuple(middle.tolist())))


def _centroid(x: Array, f: NDArray[np.int64]) -> Array:
    """Of the faces, each weighing its area."""
    a, b, c = (x[f[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    if not area.sum() > 0:
        raise InputError("wrong-value", "faces", problem="no face of the mesh has an area")
    middle: Array = (area @ (a + b + c)) / (3.0 * area.sum())
    return middle


def _moments(x: Array, f: NDArray[np.int64], middle: Array, rule: str) -> tuple[float, Array, Array, float]:
    """V, ∫x and ∫x xᵀ about a point (of a shell over its area), and the sum of the terms of V without their signs."""
    a, b, c = (x[f[:, k]] - middle for k in range(3))
    if rule == "shell":
        d = np.linalg.norm(np.cross(b - a, c - a), axis=1)
        n, first, second = 2.0, 6.0, 24.0
    else:
        d = np.einsum("ij,ij->i", a, np.cross(b, c))
        d = d if rule == "exact" else np.abs(d)
        n, first, second = 6.0, 24.0, 120.0
    s = a + b + c
    C = sum(np.einsum("i,ij,ik->jk", d, v, v) for v in (s, a, b, c)) / second
    return float(d.sum()) / n, (d @ s) / first, C, float(np.abs(d).sum())


# a density that varies: by Gauss's rule, refined until the integrals stand still


def integrated(geometry: Geometry, density: Density) -> Inertia:
    """m = ∫ρ dV, h = ∫r ρ dV, I = ∫(r·r 1 − r rᵀ) ρ dV over the shape, in its frame, for ρ(x, y, z) [kg/m³] that takes
    and gives arrays. Exact for polynomials; a density that jumps inside the shape is refused."""
    before = _density_moments(geometry, density, POINTS[0])
    change = np.inf
    for n in POINTS[1:]:
        now = _density_moments(geometry, density, n)
        change = float(np.abs(now - before).max() / max(float(now.max()), np.finfo(float).tiny))
        before = now
        if change <= SETTLED:
            break
    if change > UNSETTLED:
        problem = (
            f"the integrals of this density still change by {change:.1g} of themselves with {POINTS[-1]} points in "
            "each direction, because it is not smooth inside the shape"
        )
        remedy = "Where it jumps, cut the shape, and combine the parts with mass.compose."
        raise InputError("not-converged", "density", problem=problem, remedy=remedy)
    size = _size(geometry)
    m, h, C = float(before[0, 0]), before[0, 1:] * size, before[1:, 1:] * size**2
    I = np.trace(C) * np.eye(3) - C
    return Inertia(m, tuple(h.tolist()), tuple(tuple(row) for row in I.tolist()))


def _density_moments(geometry: Geometry, density: Density, n: int) -> Array:
    """∫ (1, r)(1, r)ᵀ ρ dV, (4, 4), lengths in units of the shape's size so that all entries compare."""
    points, weights = _rule(geometry, n)
    try:
        rho = np.broadcast_to(np.asarray(density(*points.T), float), weights.shape)
    except (TypeError, ValueError) as error:
        problem = (
            "the density must be a function ρ(x, y, z) that takes three arrays and returns one, as NumPy's functions "
            f"do: {error}"
        )
        raise InputError("wrong-type", "density", problem=problem) from None
    if not (np.isfinite(rho) & (rho >= 0)).all():
        where = points[np.argmin(np.isfinite(rho) & (rho >= 0))]
        problem = f"the density at {where.round(4).tolist()} must be a number ≥ 0"
        raise InputError("out-of-range", "density", problem=problem)
    r = np.column_stack([np.ones(len(points)), points / _size(geometry)])
    return np.asarray(r.T @ (r * (weights * rho)[:, None]))


def _size(geometry: Geometry) -> float:
    match geometry:
        case Box(size):
            return max(size) or 1.0
        case Cylinder(radius, length) | Capsule(radius, length):
            return max(radius, length) or 1.0
        case Sphere(radius):
            return radius or 1.0
    raise AssertionError  # _rule has refused


def _rule(geometry: Geometry, n: int) -> tuple[Array, Array]:
    """(points (N, 3), weights (N,)) of the shape's volume."""
    match geometry:
        case Box((x, y, z)):
            (a, u), (b, v), (c, w) = (_line(-s / 2, s / 2, n) for s in (x, y, z))
            points = np.stack(np.meshgrid(a, b, c, indexing="ij"), axis=-1).reshape(-1, 3)
            return points, np.einsum("i,j,k->ijk", u, v, w).ravel()
        case Cylinder(radius, length):
            return _turned(_line(0.0, radius, n), _line(-length / 2, length / 2, n), n, ball=False)
        case Sphere(radius):
            return _turned(_line(0.0, radius, n), _line(-1.0, 1.0, n), n, ball=True)
        case Capsule(radius, length):
            points, weights = _rule(Cylinder(radius, length), n)
            up, half = _turned(_line(0.0, radius, n), _line(0.0, 1.0, n), n, ball=True)
            up[:, 2] += length / 2
            return np.concatenate([points, up, up * (1, 1, -1)]), np.concatenate([weights, half, half])
    problem = "a density that varies needs a box, cylinder, sphere or capsule"
    raise InputError("unsupported", "density", problem=problem, remedy="Pass one number as the density of a mesh.")


def _line(low: float, high: float, n: int) -> tuple[Array, Array]:
    x, w = np.polynomial.legendre.leggauss(n)
    return (low + high) / 2 + (high - low) / 2 * x, (high - low) / 2 * w


def _turned(radii: tuple[Array, Array], across: tuple[Array, Array], n: int, ball: bool) -> tuple[Array, Array]:
    """Around z: of a cylinder across is the height, dV = r dr dφ dz; of a ball the cosine u, dV = r² dr dφ du."""
    phi = 2 * np.pi * np.arange(2 * n) / (2 * n)
    r, f, u = np.meshgrid(radii[0], phi, across[0], indexing="ij")
    weights = np.einsum("i,k->ik", radii[1] * radii[0] ** (2 if ball else 1), across[1]) * (np.pi / n)
    rho, z = (r * np.sqrt(1 - u**2), r * u) if ball else (r, u)
    points = np.stack([rho * np.cos(f), rho * np.sin(f), z], axis=-1).reshape(-1, 3)
    return points, np.broadcast_to(weights[:, None, :], r.shape).ravel()


# putting together and taking apart


def parallel_axis(I_c: Matrix, mass: float, d: Vector) -> Matrix:
    """Inertia about a point at `d` from the center of mass: I = I_c + m (d·d 1 − d dᵀ)  (Steiner)."""
    return matadd(I_c, matscale(_amount("mass", mass), second_moment(d)))


def compose(parts: Iterable[tuple[Pose, Inertia]]) -> Inertia:
    """One body made of parts, each an inertia in its own frame and that frame's pose in the body."""
    return combine(*(inertia.to_parent(T) for T, inertia in parts))


def combine(*inertias: Inertia) -> Inertia:
    """The sum of inertias given in one frame: a link with its payload."""
    total = Inertia()
    for inertia in inertias:
        total = total + inertia
    return total


def without(total: Inertia, part: Inertia) -> Inertia:
    """What is left of `total` when `part`, in the same frame, is taken away: a payload put down."""
    rounding = 1e-9 * abs(total.m)
    if part.m > total.m + rounding:
        problem = f"a part of {part.m:g} kg cannot be removed from a body of {total.m:g} kg"
        raise InputError("out-of-range", "part", problem=problem)
    return total - part


def moment_about_axis(inertia: Inertia, point: Vector, axis: Vector) -> float:
    """uᵀ I_p u [kg m²]: the moment about the line through `point` along `axis`, of any length but zero."""
    length = math.hypot(*three("the axis", axis))
    if length == 0.0:
        raise InputError("out-of-range", "axis", axis, expected="not be zero")
    u = scale(1.0 / length, axis)
    there = inertia.to_parent(Pose(IDENTITY, neg(three("the point", point))))
    return float(dot(u, matvec(there.I, u)))


def to_inertial(inertia: Inertia) -> Inertial:
    """As a description writes it: mass, center of mass, inertia about that, in the frame's own axes."""
    if inertia.m <= 0:
        raise InputError("out-of-range", "mass", inertia.m, problem=f"a body of {inertia.m:g} kg has no center of mass")
    x, y, z = (float(v) for v in inertia.com())
    I = inertia.about_com()
    return Inertial(
        float(inertia.m),
        (float(I[0][0]), float(I[0][1]), float(I[0][2]), float(I[1][1]), float(I[1][2]), float(I[2][2])),
        Origin(xyz=(x, y, z)),
    )


# helpers


def _tensor(xx: float, yy: float, zz: float) -> Matrix:
    return ((xx, 0.0, 0.0), (0.0, yy, 0.0), (0.0, 0.0, zz))


def _diagonal(m: float, xx: float, yy: float, zz: float) -> Inertia:
    """A body whose center of mass is the origin and whose principal axes are the frame's."""
    return Inertia(m, ZERO, _tensor(xx, yy, zz))


def _amount(name: str, value: float | None) -> float:
    return number(f"the {name}", value, least=0.0)
