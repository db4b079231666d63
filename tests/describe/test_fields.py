"""The parts of a description look at themselves when they are made."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert import control
from dalembert.describe.description import Box, Capsule, Cylinder, Description, Joint, Link, Mesh, Shape, Sphere
from dalembert.draw.blocks import Node
from dalembert.identification import Log, Samples
from errors import raises

ARM = dl.load("planar-2r")
T, Q = np.arange(3.0), np.ones((3, 2))
SIX = (0.1, 0.0, 0.0, 0.2, 0.0, 0.3)
WRONG = [
    (lambda: dl.describe.Inertial(1, (1, 1, 1)), "inertia"),
    (lambda: dl.describe.Inertial(1, 0.1), "inertia"),
    (lambda: dl.describe.Inertial(1, [[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "inertia"),
    (lambda: dl.describe.Inertial("heavy", SIX), "mass"),
    (lambda: dl.describe.Inertial(1, SIX, (0, 0, 0.1)), "origin"),
    (lambda: dl.describe.Drive(coulomb="much"), "coulomb"),
    (lambda: dl.describe.Drive(coulomb=(1, 2, 3)), "coulomb"),
    (lambda: dl.describe.Drive(damping=[0.1]), "damping"),
    (lambda: dl.describe.Drive(friction="viscous"), "friction"),
    (lambda: dl.describe.Limit("low"), "lower"),
    (lambda: dl.describe.Limit(effort=np.ones(2)), "effort"),
    (lambda: dl.describe.Origin(0.1), "xyz"),
    (lambda: dl.describe.Origin(rpy=(0, 0)), "rpy"),
    (lambda: dl.describe.Mimic(3), "joint"),
    (lambda: dl.describe.Loop("l", "weld", "a", "b", first_origin=(0, 0, 1)), "first_origin"),
    (lambda: Link("a", inertial=1.0), "inertial"),
    (lambda: Link("a", visuals=Sphere(1.0)), "visuals"),
    (lambda: Joint("j", "revolute", "a", "b", axis=2), "axis"),
    (lambda: Joint("j", "revolute", "a", "b", limit=(0, 1)), "limit"),
    (lambda: Joint("j", "revolute", "a", "b", drive=None), "drive"),
    (lambda: Shape(1.0), "geometry"),
    (lambda: Shape(Sphere(1.0), color="red"), "color"),
    (lambda: Box(1.0), "size"),
    (lambda: Cylinder("r", 1.0), "radius"),
    (lambda: Capsule(1.0, None), "length"),
    (lambda: Mesh(1), "filename"),
    (lambda: Description("d", links=Link("a")), "links"),
    (lambda: dl.describe.Drive(friction=[1.0]), "friction"),
    (lambda: dl.describe.DHRow(theta="x"), "theta"),
    (lambda: dl.describe.DHRow(a=float("nan")), "a"),
    (lambda: dl.describe.DHRow(drive=None), "drive"),
    (lambda: dl.describe.DHRow(kind=np.ones(2)), "kind"),
    (lambda: control.PID(k_p=1.0, rate=np.ones(2)), "rate"),
    (lambda: control.PID(k_p=1.0, names=None), "names"),
    (lambda: control.PID(k_p=1.0, names="yru"), "names"),
    (lambda: control.PID(k_p=1.0, anti_windup=["clamp"]), "anti-windup"),
    (lambda: control.Uncertainty(1.0, 1.0, 1.0, 1.0), "inertia"),
    (lambda: control.Uncertainty(1.0, 1.0, 1.0, (2.0, 1.0)), "0"),
    (lambda: control.Uncertainty(1.0, 1.0, 1.0, (1.0, 2.0), "yes"), "certified"),
    (lambda: control.PDGravity(ARM, kp=1.0, kd=1.0, gravity=np.ones(2)), "gravity"),
    (lambda: control.Impedance(ARM, stiffness=1.0, damping=1.0, rows=("x", "y"), angles=np.ones(2)), "Euler"),
    (lambda: control.AdaptiveControl(ARM, kd=1.0, rate=1.0, adaptation=1.0, rotor=np.ones(2)), "rotor"),
    (lambda: control.Diagram("a", 1, ()), "nodes"),
    (lambda: control.Diagram("a", ("b",), ()), "nodes"),
    (lambda: control.Diagram("a", (Node("b", "b", 0.5, 0),), ()), "column"),
    (lambda: Log(T, Q, Q, "ab"), "joints"),
    (lambda: Log(T, Q[:2], Q, ("a", "b")), "q"),
    (lambda: Log(T, Q, "text", ("a", "b")), "tau"),
    (lambda: Log(0.1, Q, Q, ("a", "b")), "t"),
    (lambda: Samples(T, Q, Q, Q, Q, ("a", "b"), 0.1, 5.0, 1.0, [1.0, 1.0]), "rest"),
    (lambda: dl.DCMotor(1.0, 1.0, max_voltage=np.ones(2)), "the"),
]


@pytest.mark.parametrize(("make", "part"), WRONG)
def test_wrong_parts_are_named(make, part):
    with pytest.raises(dl.DalembertError) as caught:
        make()
    assert part in str(caught.value)


def test_what_is_meant_is_taken():
    assert dl.describe.Inertial(1, np.diag([1.0, 2.0, 3.0])).inertia == (1.0, 0.0, 0.0, 2.0, 0.0, 3.0)
    assert dl.describe.Drive(coulomb=1).coulomb == (1.0, 1.0)
    assert dl.describe.Origin(np.array([1, 2, 3])).xyz == (1.0, 2.0, 3.0)
    arm = dl.Robot.from_dh(
        [{"a": 1.0, "drive": dl.describe.Drive(coulomb=1.0), "inertial": dl.describe.Inertial(1, np.eye(3))}]
    )
    assert arm.friction_torque([0.0], [1.0]) == 1.0 and arm.mass_matrix([0.0]) == 2.0


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_is_not_finite_is_refused_with_its_link(number):
    with raises(dl.DescriptionError, "not-finite"):
        dl.Robot.from_dh([{"a": 1.0, "inertial": dl.describe.Inertial(number, SIX)}])
