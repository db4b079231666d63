"""The parts of a description look at themselves when they are made."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert import control
from dalembert.describe.description import Box, Capsule, Cylinder, Description, Joint, Link, Mesh, Shape, Sphere
from dalembert.draw.blocks import Node
from dalembert.identification import Log, Samples

ARM = dl.load("planar-2r")
T, Q = np.arange(3.0), np.ones((3, 2))
SIX = (0.1, 0.0, 0.0, 0.2, 0.0, 0.3)
WRONG = [
    (lambda: dl.describe.Inertial(1, (1, 1, 1)), "inertia of Inertial is (1, 1, 1); give six numbers (ixx,"),
    (lambda: dl.describe.Inertial(1, 0.1), "inertia of Inertial is 0.1; give six numbers"),
    (lambda: dl.describe.Inertial(1, [[1, 2, 0], [0, 1, 0], [0, 0, 1]]), "or a symmetric 3×3 matrix"),
    (lambda: dl.describe.Inertial("heavy", SIX), "mass of Inertial is 'heavy'; give a number"),
    (lambda: dl.describe.Inertial(1, SIX, (0, 0, 0.1)), "origin of Inertial is (0, 0, 0.1); give Origin(…)"),
    (lambda: dl.describe.Drive(coulomb="much"), "coulomb of Drive is 'much'; give 2 numbers"),
    (lambda: dl.describe.Drive(coulomb=(1, 2, 3)), "coulomb of Drive is (1, 2, 3); give 2 numbers"),
    (lambda: dl.describe.Drive(damping=[0.1]), "damping of Drive is [0.1]; give a number"),
    (lambda: dl.describe.Drive(friction="viscous"), "friction of Drive is 'viscous'; give a list"),
    (lambda: dl.describe.Limit("low"), "lower of Limit is 'low'; give a number"),
    (lambda: dl.describe.Limit(effort=np.ones(2)), "effort of Limit"),
    (lambda: dl.describe.Origin(0.1), "xyz of Origin is 0.1; give 3 numbers"),
    (lambda: dl.describe.Origin(rpy=(0, 0)), "rpy of Origin is (0, 0); give 3 numbers"),
    (lambda: dl.describe.Mimic(3), "joint of Mimic is 3; give text"),
    (lambda: dl.describe.Loop("l", "weld", "a", "b", first_origin=(0, 0, 1)), "first_origin of Loop"),
    (lambda: Link("a", inertial=1.0), "inertial of Link is 1.0; give Inertial(…)"),
    (lambda: Link("a", visuals=Sphere(1.0)), "visuals of Link"),
    (lambda: Joint("j", "revolute", "a", "b", axis=2), "axis of Joint is 2; give 3 numbers"),
    (lambda: Joint("j", "revolute", "a", "b", limit=(0, 1)), "limit of Joint is (0, 1); give Limit(…)"),
    (lambda: Joint("j", "revolute", "a", "b", drive=None), "drive of Joint is None; give Drive(…)"),
    (lambda: Shape(1.0), "geometry of Shape is 1.0; give Box(…)"),
    (lambda: Shape(Sphere(1.0), color="red"), "color of Shape is 'red'; give 4 numbers"),
    (lambda: Box(1.0), "size of Box"),
    (lambda: Cylinder("r", 1.0), "radius of Cylinder"),
    (lambda: Capsule(1.0, None), "length of Capsule is None"),
    (lambda: Mesh(1), "filename of Mesh"),
    (lambda: Description("d", links=Link("a")), "links of Description"),
    (lambda: dl.describe.Drive(friction=[1.0]), "friction of Drive is 1.0; give Friction(…)"),
    (lambda: dl.describe.DHRow(theta="x"), "theta of DHRow is 'x'; give a number"),
    (lambda: dl.describe.DHRow(a=float("nan")), "a of DHRow is nan; give a finite number"),
    (lambda: dl.describe.DHRow(drive=None), "drive of DHRow is None; give Drive(…)"),
    (lambda: dl.describe.DHRow(kind=np.ones(2)), "unknown joint kind array([1., 1.]); choose from 'revolute'"),
    (lambda: control.PID(k_p=1.0, rate=np.ones(2)), "rate is a switch, True or False; got ndarray"),
    (lambda: control.PID(k_p=1.0, names=None), "names are three"),
    (lambda: control.PID(k_p=1.0, names="yru"), "names are three"),
    (lambda: control.PID(k_p=1.0, anti_windup=["clamp"]), "unknown anti-windup ['clamp']; choose from"),
    (lambda: control.Uncertainty(1.0, 1.0, 1.0, 1.0), "inertia of an Uncertainty must be 2 finite numbers, got 1.0"),
    (lambda: control.Uncertainty(1.0, 1.0, 1.0, (2.0, 1.0)), "0 < smallest ≤ largest; got (2.0, 1.0)"),
    (lambda: control.Uncertainty(1.0, 1.0, 1.0, (1.0, 2.0), "yes"), "certified is a switch"),
    (lambda: control.PDGravity(ARM, kp=1.0, kd=1.0, gravity=np.ones(2)), "unknown gravity to compensate"),
    (
        lambda: control.Impedance(ARM, stiffness=1.0, damping=1.0, rows=("x", "y"), angles=np.ones(2)),
        "unknown Euler sequence",
    ),
    (
        lambda: control.AdaptiveControl(ARM, kd=1.0, rate=1.0, adaptation=1.0, rotor=np.ones(2)),
        "rotor is a switch, True or False",
    ),
    (lambda: control.Diagram("a", 1, ()), "nodes of Diagram is 1; give a list of Node(…)"),
    (lambda: control.Diagram("a", ("b",), ()), "nodes of Diagram is 'b'; give Node(…)"),
    (lambda: control.Diagram("a", (Node("b", "b", 0.5, 0),), ()), "column of Node is 0.5; give a whole"),
    (lambda: Log(T, Q, Q, "ab"), "joints of Log is 'ab'; give the names of the joints"),
    (lambda: Log(T, Q[:2], Q, ("a", "b")), "q of Log has shape (2, 2); it must be (3, 2)"),
    (lambda: Log(T, Q, "text", ("a", "b")), "tau of Log must be real numbers, got dtype <U4"),
    (lambda: Log(0.1, Q, Q, ("a", "b")), "t of Log has shape (); it must be (N,)"),
    (lambda: Samples(T, Q, Q, Q, Q, ("a", "b"), 0.1, 5.0, 1.0, [1.0, 1.0]), "rest of Samples has shape (); it must"),
    (lambda: dl.DCMotor(1.0, 1.0, max_voltage=np.ones(2)), "largest voltage"),
]


@pytest.mark.parametrize(("make", "says"), WRONG)
def test_wrong_parts_are_named(make, says):
    with pytest.raises(dl.DalembertError) as caught:
        make()
    assert says in str(caught.value)


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
    with pytest.raises(dl.DescriptionError, match="link 'link1' is (nan|inf)"):
        dl.Robot.from_dh([{"a": 1.0, "inertial": dl.describe.Inertial(number, SIX)}])
