"""One of every control law that is drawn: its name, itself, and the title of its diagram."""

from __future__ import annotations

import dalembert as dl
from dalembert.control import PID, Diagram, MassSpringDamper, PartitionedServo, SpringServo, StateSpace, diagrams, lqr


def controllers():
    arm = dl.load("planar-2r")
    model = MassSpringDamper(1, 1, 1)
    c = dl.control
    yield "spring servo", SpringServo(1, 1), "PD control"
    yield "partitioned", PartitionedServo(model, 4.0, follow=False), "Partitioned PD control"
    yield "following", PartitionedServo(model, 4.0), "Trajectory following"
    yield "following, integral", PartitionedServo(model, 4.0, k_i=1.0), "Trajectory following with integral"
    yield "PID", PID(1.0, 1.0, high=1.0), "PID control"
    yield "LQR", lqr(StateSpace([[0, 1], [0, 0]], [[0], [1]]), 1, 1), "State feedback"
    yield "robot PD", c.PD(arm, 10.0, 5.0), "PD control of a robot"
    yield "gravity", c.PDGravity(arm, 10.0, 5.0), "PD control with gravity compensation"
    yield "computed torque", c.ComputedTorque(arm, 10.0, 5.0), "Computed torque control"
    yield "feedforward", c.Feedforward(arm), "Feedforward control"
    yield "feedforward, PD", c.FeedforwardPD(arm, 10.0, 5.0), "Feedforward control with PD"
    yield "joint PID", c.JointPID(arm, 10.0, 5.0, 1.0), "PID control of a robot"
    yield "independent joints", c.IndependentJoint(arm, 10.0), "Independent joint control"
    yield "adaptive", c.AdaptiveControl(arm, 10.0, 5.0, 2.0), "Adaptive control"


def diagrams_by_name() -> dict[str, Diagram]:
    found = {name: diagrams.diagram_of(controller) for name, controller, _ in controllers()}
    return {**found, "inverse kinematics": diagrams.inverse_kinematics()}
