"""Faults planted one by one, in the reader, in the model and in the algorithms: each is caught, and its cause named.

Pinocchio and MuJoCo are left out here: what is caught must be caught without them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as dl
from dalembert import kernels
from dalembert.algorithms import articulated, composite, derivatives, energy, matrix_form, newton_euler
from dalembert.describe import chain, dh, toml_read, urdf_read
from dalembert.describe.description import Inertial, Mimic, Origin
from dalembert.friction.laws import friction
from dalembert.model import build as model_build
from dalembert.spatial import Inertia, Pose, rotation
from dalembert.spatial.vector import congruence, matmul, matvec, scale, transpose
from trust.verify.array_kernels import on_arrays
from trust.verify.gripper_arm import GRIPPER_ARM

Patch = pytest.MonkeyPatch
NOBODY = ("pinocchio", "mujoco", "drake")
OF_ALGORITHMS = (
    "matrix-form",
    "regressor",
    "derivatives",
    "solved-derivatives",
)  # where a model is at fault, more of it
STATES = 8
BUILD = sys.modules["dalembert.model.build"]  # the module: the package has a function of that name


@pytest.fixture(scope="module")
def arm(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("robots") / "gripper_arm.urdf"
    file.write_text(GRIPPER_ARM)
    return file


# ------------------------------------------------------------------------------------------------- how to plant


def build_of(change) -> Callable[[Patch], None]:
    """A model builder that builds another description."""

    def plant(patch: Patch) -> None:
        for module in ("dalembert.robot", "dalembert.symbolic.exact"):
            patch.setattr(f"{module}.build", lambda d: model_build(change(d)))

    return plant


def model_of(change) -> Callable[[Patch], None]:
    """A model builder that changes the model afterwards."""

    def plant(patch: Patch) -> None:
        for module in ("dalembert.robot", "dalembert.symbolic.exact"):
            patch.setattr(f"{module}.build", lambda d: change(model_build(d)))

    return plant


def inertia_of(change) -> Callable[[Patch], None]:
    """A model builder that reads another inertial."""
    return lambda patch: patch.setattr(
        BUILD, "spatial_inertia", lambda inertial: chain.spatial_inertia(change(inertial))
    )


def joints(change, *names: str):
    """A description with some joints changed."""
    return lambda d: replace(d, joints=tuple(change(j) if j.name in names else j for j in d.joints))


def links(change, *names: str):
    return lambda d: replace(d, links=tuple(change(k) if k.name in names else k for k in d.links))


class Stuck(Inertia):
    """An inertia that stays where it is."""

    def to_parent(self, T):
        return Inertia(self.m, self.h, self.I)


def stuck(inertial):
    I = chain.spatial_inertia(inertial)
    return Stuck(I.m, I.h, I.I)


class Unturned(Inertia):
    """An inertia that is moved to where it belongs, but not turned."""

    def to_parent(self, T):
        return Inertia(self.m, self.h, self.I).to_parent(Pose(p=T.p))


def unturned(inertial):
    I = chain.spatial_inertia(inertial)
    return Unturned(I.m, I.h, I.I)


def other_steiner(inertial):
    """I_c − m (c·c 1 − c cᵀ)."""
    I = chain.spatial_inertia(inertial)
    about = I.about_com()
    return Inertia(
        I.m, I.h, tuple(tuple(2.0 * a - b for a, b in zip(*rows, strict=True)) for rows in zip(about, I.I, strict=True))
    )


def turned_com(inertial: Inertial) -> Inertial:
    R = rotation.from_rpy(inertial.origin.rpy)
    return replace(inertial, origin=Origin(matvec(R, inertial.origin.xyz), inertial.origin.rpy))


def fixed_at_origin(description):
    """Fixed joints without their xyz."""
    fixed = [j.name for j in description.joints if j.kind == "fixed"]
    return joints(lambda j: replace(j, origin=Origin(rpy=j.origin.rpy)), *fixed)(description)


def degrees_unread(patch: Patch) -> None:
    """A reader of TOML that takes degrees for radians."""
    patch.setattr(toml_read, "math", SimpleNamespace(**{**vars(math), "radians": lambda x: x}))


def one_side(patch: Patch) -> None:
    whole = BUILD._friction
    patch.setattr(BUILD, "_friction", lambda drive: whole(replace(drive, coulomb=(drive.coulomb[0],) * 2)))


def wider(model):
    """A model whose lower limits are twice as far."""
    return replace(model, coordinates=tuple(replace(c, lower=2.0 * c.lower) for c in model.coordinates))


def in_local_axes(patch: Patch) -> None:
    row = kernels.ROWS["jacobian"]
    local = replace(row, trace=lambda m, a, o: row.trace(m, a, {**o, "expressed_in": "local"}))
    patch.setitem(kernels.ROWS, "jacobian", local)


def without_steiner(inertial):
    I = chain.spatial_inertia(inertial)
    return Inertia(I.m, I.h, I.about_com()) if I.m else I


def turned_back(inertial):
    xx, xy, xz, yy, yz, zz = inertial.inertia
    R = transpose(rotation.from_rpy(inertial.origin.rpy))
    I = congruence(R, ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
    return Inertia.from_com(inertial.mass, tuple(inertial.origin.xyz), I)


def unsquared(patch: Patch) -> None:
    whole = BUILD._drive
    patch.setattr(BUILD, "_drive", lambda j: whole(j) | {"rotor_inertia": j.drive.gear_ratio * j.drive.rotor_inertia})


def swapped_friction(drive):
    named = [friction("viscous", viscous=drive.coulomb[0])] if any(drive.coulomb) else []
    return (*named, *([friction("coulomb", coulomb=drive.damping)] if drive.damping else []), *drive.friction)


def products(sign: float):
    def change(inertial: Inertial) -> Inertial:
        xx, xy, xz, yy, yz, zz = inertial.inertia
        return replace(inertial, inertia=(xx, sign * xy, sign * xz, yy, sign * yz, zz))

    return change


def wrapped(module, name: str, change) -> Callable[[Patch], None]:
    """A function whose result is changed."""
    whole = getattr(module, name)
    return lambda patch: patch.setattr(module, name, lambda *a, **k: change(whole(*a, **k)))


def minus(rows):
    return [[-1.0 * x for x in row] for row in rows]


def trace_of(kernel: str, change) -> Callable[[Patch], None]:
    """A kernel's row whose result is changed."""
    row = kernels.ROWS[kernel]
    return lambda patch: patch.setitem(
        kernels.ROWS, kernel, replace(row, trace=lambda m, a, o: change(row.trace(m, a, o)))
    )


def half_coriolis(patch: Patch) -> None:
    """Newton–Euler's 2 ω × v of sliding joints without its 2."""
    patch.setattr(newton_euler, "scale", lambda s, v: scale(1.0 if isinstance(s, float) and s == 2.0 else s, v))


def from_rpy(change) -> Callable[[Patch], None]:
    original = rotation.from_rpy
    return lambda patch: patch.setattr(rotation, "from_rpy", lambda rpy: change(original, rpy))


def order_parts(f, rpy):
    """Rx(roll) Ry(pitch) Rz(yaw)."""
    r, p, y = rpy
    return matmul(matmul(f((r, 0.0, 0.0)), f((0.0, p, 0.0))), f((0.0, 0.0, y)))


def origin_of(change) -> Callable[[Patch], None]:
    original = Pose.from_origin
    return lambda patch: patch.setattr(Pose, "from_origin", staticmethod(lambda xyz, rpy: change(original(xyz, rpy))))


def one_turned(patch: Patch) -> None:
    """A model builder that transposes the rotation of j3, which it knows by its place."""

    class Turned(Pose):
        @staticmethod
        def from_origin(xyz, rpy):
            T = Pose.from_origin(xyz, rpy)
            return (
                Pose(transpose(T.R), T.p)
                if [float(abs(x - 0.3)) for x in xyz[:1] if isinstance(x, float)] == [0.0]
                else T
            )

    patch.setattr(BUILD, "Pose", Turned)


def other_dh(patch: Patch) -> None:
    original = dh._joint_and_link
    other = {"standard": "modified", "modified": "standard"}
    patch.setattr(dh, "_joint_and_link", lambda row, i, c, T, parent: original(row, i, other[c], T, parent))


def slow_articulated(patch: Patch) -> None:
    """Articulated bodies without their velocity terms."""
    whole = articulated.articulated_bodies
    patch.setitem(
        articulated.METHODS, "articulated", lambda m, q, qd, tau, wrenches=None: whole(m, q, [0.0] * m.n, tau, wrenches)
    )


def double_coriolis(patch: Patch) -> None:
    whole = composite.CHOICES["christoffel"]
    patch.setitem(composite.CHOICES, "christoffel", lambda m, q, qd: [[2.0 * x for x in r] for r in whole(m, q, qd)])


def rotor_free_composite(patch: Patch) -> None:
    whole = composite.mass_matrix
    patch.setattr(
        composite,
        "mass_matrix",
        lambda m, q: whole(replace(m, bodies=tuple(replace(b, rotor_inertia=0.0) for b in m.bodies)), q),
    )


def turned_base(form):
    return replace(form, V_dot_base=[-1.0 * x for x in form.V_dot_base])


# ------------------------------------------------------------------------------------------------- the table


@dataclass(frozen=True)
class Plant:
    """A fault: where it is planted, the cause that must be named ("" where none is), words or parts of the finding, the
    robot (the gripper arm if none), and how many findings there are: one cause is one finding."""

    name: str
    plant: Callable[[Patch], None]
    cause: str
    says: str = ""
    robot: str = ""
    findings: int = 1


PLANTS = [
    # those of the issue
    Plant(
        "fixed mass dropped",
        build_of(links(lambda k: replace(k, inertial=None), "tool")),
        "fixed-joint lumping",
        "'tool'",
    ),
    Plant(
        "gravity flipped", model_of(lambda m: replace(m, gravity=tuple(-1.0 * g for g in m.gravity))), "gravity sign"
    ),
    Plant(
        "inertial rotation ignored",
        inertia_of(lambda i: replace(i, origin=Origin(i.origin.xyz))),
        "inertial rpy",
        "ignored",
    ),
    Plant(
        "damping and friction swapped",
        lambda patch: patch.setattr(BUILD, "_friction", swapped_friction),
        "friction semantics",
        "swapped",
    ),
    Plant("poses transposed", origin_of(lambda T: Pose(transpose(T.R), T.p)), "transposed rotation", "every rotation"),
    Plant("one joint's rotation transposed", one_turned, "transposed rotation", "joint origin 'j3'"),
    Plant(
        "every rotation transposed", from_rpy(lambda f, rpy: transpose(f(rpy))), "transposed rotation", "every rotation"
    ),
    Plant("modified for standard DH", other_dh, "DH convention", "standard DH table", robot="elbow-3r"),
    Plant("standard for modified DH", other_dh, "DH convention", "modified DH table", robot="panda"),
    # further faults of the model
    Plant(
        "fixed link lumped in place",
        lambda patch: patch.setattr(BUILD, "spatial_inertia", stuck),
        "fixed-joint lumping",
        "without moving",
    ),
    Plant(
        "gravity of 9.80665",
        model_of(lambda m: replace(m, gravity=(0.0, 0.0, -9.80665))),
        "gravity magnitude",
        "9.80665",
    ),
    Plant(
        "gravity along y",
        model_of(lambda m: replace(m, gravity=(0.0, -9.81, 0.0))),
        "gravity direction",
        "(0, -9.81, 0)",
    ),
    Plant("no gravity", model_of(lambda m: replace(m, gravity=(0.0, 0.0, 0.0))), "gravity"),
    Plant(
        "inertial rotation transposed",
        lambda patch: patch.setattr(BUILD, "spatial_inertia", turned_back),
        "inertial rpy",
        "transposed",
    ),
    Plant(
        "center of mass dropped", inertia_of(lambda i: replace(i, origin=Origin(rpy=i.origin.rpy))), "center of mass"
    ),
    Plant("products of inertia turned", inertia_of(products(-1.0)), "products of inertia", "opposite sign"),
    Plant("products of inertia dropped", inertia_of(products(0.0)), "products of inertia", "dropped"),
    Plant(
        "Steiner's term left out",
        lambda patch: patch.setattr(BUILD, "spatial_inertia", without_steiner),
        "parallel axes",
        "about the link's origin",
    ),
    Plant("one link dropped", build_of(links(lambda k: replace(k, inertial=None), "wrist")), "link dropped", "'wrist'"),
    Plant(
        "one mass in grams",
        build_of(links(lambda k: replace(k, inertial=replace(k.inertial, mass=1e3 * k.inertial.mass)), "slider")),
        "units",
        "'slider'",
    ),
    Plant(
        "rotors dropped",
        model_of(lambda m: replace(m, bodies=tuple(replace(b, rotor_inertia=0.0) for b in m.bodies))),
        "rotor inertia",
        "missing",
    ),
    Plant("gear ratio not squared", unsquared, "rotor inertia", "not squared"),
    Plant(
        "mimic ignored",
        build_of(joints(lambda j: replace(j, mimic=Mimic(j.mimic.joint)), "finger_too")),
        "mimic",
        "ignored",
    ),
    Plant(
        "mimic joint free", build_of(joints(lambda j: replace(j, mimic=None), "finger_too")), "mimic", "moved by itself"
    ),
    Plant(
        "base transform dropped",
        build_of(joints(lambda j: replace(j, origin=Origin()), "stand")),
        "base transform",
        "'stand'",
    ),
    Plant(
        "axis turned",
        build_of(joints(lambda j: replace(j, axis=tuple(-x for x in j.axis)), "j2")),
        "joint axis",
        "'j2'",
    ),
    Plant(
        "origin in millimeters",
        build_of(joints(lambda j: replace(j, origin=Origin(tuple(x / 1e3 for x in j.origin.xyz), j.origin.rpy)), "j3")),
        "units",
        "'j3'",
    ),
    Plant(
        "fixed link lumped without turning it",
        lambda patch: patch.setattr(BUILD, "spatial_inertia", unturned),
        "fixed-joint lumping",
        "without turning it",
    ),
    Plant(
        "Steiner's term of the opposite sign",
        lambda patch: patch.setattr(BUILD, "spatial_inertia", other_steiner),
        "parallel axes",
        "opposite sign",
    ),
    Plant(
        "Steiner's term of the opposite sign, one joint",
        lambda patch: patch.setattr(BUILD, "spatial_inertia", other_steiner),
        "parallel axes",
        "opposite sign",
        robot="planar-1r",
    ),
    Plant("center of mass turned", inertia_of(turned_com), "inertial rpy", "turned its center of mass too"),
    Plant(
        "joint origin dropped",
        build_of(joints(lambda j: replace(j, origin=Origin()), "j3")),
        "joint origin",
        "the origin of joint 'j3' were dropped",
    ),
    Plant(
        "tip's origin dropped",
        build_of(joints(lambda j: replace(j, origin=Origin()), "tip_fixed")),
        "joint origin",
        "'tip_fixed'",
    ),
    Plant("fixed joints without xyz", build_of(fixed_at_origin), "", "no fault of the table gives these numbers"),
    Plant("one Coulomb side for both", one_side, "friction semantics", "for both directions", robot="puma560"),
    Plant(
        "damping for Coulomb friction",
        lambda patch: patch.setattr(BUILD, "_friction", lambda drive: (friction("viscous", viscous=drive.coulomb[0]),)),
        "",
        "friction and springs",
    ),
    Plant("limits doubled", model_of(wider), "joint limits", "'j1', lower: -2 in the description, -4 in the model"),
    Plant(
        "a mass that no row of the table has",
        build_of(links(lambda k: replace(k, inertial=replace(k.inertial, mass=1.3 * k.inertial.mass)), "upper")),
        "",
        "Newton–Euler",
    ),
    Plant("angles in another order", from_rpy(lambda f, rpy: order_parts(f, rpy)), "order of rpy"),
    # the reader
    Plant(
        "reader ignores inertial rotations",
        wrapped(urdf_read.Reader, "_inertial", lambda i: replace(i, origin=Origin(i.origin.xyz))),
        "inertial rpy",
        "as it was read",
    ),
    Plant(
        "reader forgets the axis",
        lambda patch: patch.setattr(urdf_read.Reader, "_axis", lambda self, e, who: (1.0, 0.0, 0.0)),
        "joint axis",
        "were x",
    ),
    Plant(
        "reader forgets the multiplier",
        wrapped(urdf_read.Reader, "_mimic", lambda m: m and replace(m, multiplier=1.0)),
        "mimic",
        "multiplier",
    ),
    Plant(
        "reader drops mimics",
        lambda patch: patch.setattr(urdf_read.Reader, "_mimic", lambda self, e, who: None),
        "mimic",
        "moved by itself",
    ),
    Plant("reader takes degrees for radians", degrees_unread, "units", "alpha of the DH rows", robot="puma560"),
    # the algorithms
    Plant("half of Coriolis", half_coriolis, "", "it requires a velocity"),
    Plant("Coriolis matrix doubled", double_coriolis, "", "composite bodies"),
    Plant("rotors forgotten by composite bodies", rotor_free_composite, "rotor inertia", "composite bodies"),
    Plant("articulated bodies without velocity", slow_articulated, "", "articulated bodies", robot="scara"),
    Plant(
        "articulated bodies that do not give way",
        lambda patch: patch.setattr(articulated.ArticulatedInertia, "freed", lambda self, U, inverse, free: self),
        "",
        "articulated bodies",
        robot="scara",
    ),
    Plant(
        "sign of ∂τ/∂q̇",
        wrapped(derivatives, "inverse_dynamics_derivatives", lambda D: (D[0], minus(D[1]), D[2])),
        "",
        "∂τ/∂q̇",
    ),
    Plant(
        "∂τ/∂q a little off",
        wrapped(derivatives, "inverse_dynamics_derivatives", lambda D: ([[1.01 * x for x in r] for r in D[0]], *D[1:])),
        "",
        "∂τ/∂q",
    ),
    Plant(
        "gravity sign in the matrix form",
        wrapped(matrix_form, "matrix_form", turned_base),
        "gravity sign",
        "closed matrix form",
    ),
    Plant(
        "potential energy turned", wrapped(energy, "potential_energy", lambda P: -1.0 * P), "gravity sign", "energies"
    ),
    Plant("gravity left out of τ", trace_of("gravity_torque", lambda g: [0.0 * x for x in g]), "", "Newton–Euler"),
    Plant(
        "kinetic energy without its half", wrapped(energy, "kinetic_energy", lambda K: 2.0 * K), "", "kinetic energy K"
    ),
    Plant(
        "Jacobian's angular rows turned",
        trace_of("jacobian", lambda J: [*J[:3], *minus(J[3:])]),
        "",
        "ωx per joint 'j1'",
    ),
    Plant("Jacobian in the frame's own axes", in_local_axes, "", "Jacobian"),
    Plant(
        "Newton–Euler a little off",
        trace_of("inverse_dynamics", lambda tau: [1.01 * x for x in tau]),
        "",
        "Newton–Euler",
    ),
]


IN_SYMBOLS = 3  # of the faults, the first ones, Euler–Lagrange too has to have the numbers
FIRST_ALGORITHM = next(i for i, p in enumerate(PLANTS) if p.name == "half of Coriolis")


@pytest.mark.filterwarnings("ignore::dalembert.UnitWarning")  # a planted fault makes angles that look like degrees
@pytest.mark.parametrize("plant", PLANTS, ids=[p.name for p in PLANTS])
def test_caught_and_named(plant: Plant, arm: Path, monkeypatch: Patch):
    on_arrays(monkeypatch)
    plant.plant(monkeypatch)
    place = PLANTS.index(plant)
    without = NOBODY if place >= FIRST_ALGORITHM else (*NOBODY, *OF_ALGORITHMS)
    if place >= IN_SYMBOLS:
        without = (*without, "euler-lagrange")
    certificate = dl.verify(plant.robot or arm, states=STATES, without=without)
    assert not certificate and certificate.errors and certificate.facts.causes
    causes = [finding.cause for finding in certificate.facts.causes]
    told = "\n".join(str(finding) for finding in certificate.facts.causes)
    assert plant.cause in causes, told
    assert plant.says in told
    assert len(certificate.facts.causes) == plant.findings, told


def test_the_arm_itself_agrees(arm: Path, monkeypatch: Patch):
    on_arrays(monkeypatch)
    certificate = dl.verify(arm, states=STATES)
    assert certificate, str(certificate)
    assert max(row.difference for row in certificate.rows) < 1e-11
    assert np.isfinite([row.difference for row in certificate.rows]).all()
