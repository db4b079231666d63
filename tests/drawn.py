"""One of every control law that is drawn: its name, itself, and the title of its diagram."""

from __future__ import annotations

import dalembert as dl
from dalembert.control import PID, Diagram, MassSpringDamper, PartitionedServo, SpringServo, StateSpace, diagrams, lqr


def controllers():
    arm = dl.load("planar-2r")
    model = MassSpringDamper(1, 1, 1)
    c = dl.control
    yield "spring servo", SpringServo(k_p=1, k_v=1), "PD control"
    yield "partitioned", PartitionedServo(model, k_p=4.0, follow=False), "Partitioned PD control"
    yield "following", PartitionedServo(model, k_p=4.0), "Trajectory following"
    yield "following, integral", PartitionedServo(model, k_p=4.0, k_i=1.0), "Trajectory following with integral"
    yield "PID", PID(k_p=1.0, k_i=1.0, high=1.0), "PID control"
    yield "LQR", lqr(StateSpace([[0, 1], [0, 0]], [[0], [1]]), 1, 1), "State feedback"
    yield "robot PD", c.PD(arm, kp=10.0, kd=5.0), "PD control of a robot"
    yield "gravity", c.PDGravity(arm, kp=10.0, kd=5.0), "PD control with gravity compensation"
    yield "computed torque", c.ComputedTorque(arm, omega=10.0, zeta=5.0), "Computed torque control"
    yield "feedforward", c.Feedforward(arm), "Feedforward control"
    yield "feedforward, PD", c.FeedforwardPD(arm, kp=10.0, kd=5.0), "Feedforward control with PD"
    yield "joint PID", c.JointPID(arm, kp=10.0, ki=5.0, kd=1.0), "PID control of a robot"
    yield "independent joints", c.IndependentJoint(arm, omega=10.0), "Independent joint control"
    yield "adaptive", c.AdaptiveControl(arm, kd=10.0, rate=5.0, adaptation=2.0), "Adaptive control"


def diagrams_by_name() -> dict[str, Diagram]:
    found = {name: diagrams.diagram_of(controller) for name, controller, _ in controllers()}
    return {**found, "inverse kinematics": diagrams.inverse_kinematics()}
