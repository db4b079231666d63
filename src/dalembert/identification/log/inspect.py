"""`inspect_log`: a first look at a log, before anything is estimated from it."""

from __future__ import annotations

from dalembert.errors import InputError
from dalembert.identification.log import inspect_motion, inspect_torques, times
from dalembert.identification.log.findings import Finding, Findings, findings
from dalembert.identification.log.prepare import preparation
from dalembert.identification.log.samples import Log
from dalembert.robot import Robot


def inspect_log(robot: Robot, log: Log) -> Findings:
    """What is suspicious about a log of this robot, the worst first, each with its evidence and a suggestion.

    Without masses in the model, or with loops, only what kinematics tells is looked at; where positions or the order
    of the joints do not fit, what rests on them is not looked at any further."""
    if log.joints != robot.joint_names:
        raise InputError(
            f"the log has the joints {', '.join(log.joints)}; the robot has {', '.join(robot.joint_names)}: read "
            "the log with this robot"
        )
    found = inspect_motion.degrees(robot, log)
    if found:
        return findings(log.source, found)
    made = preparation(log, derivatives="position")
    samples = made.samples
    step = times.common_step(log.t)
    found += inspect_motion.limits(robot, log, samples)
    found += inspect_motion.saturation(robot, log)
    found += inspect_motion.rates(log, step, samples.cutoff)
    found += inspect_motion.excitation(robot, log)
    found += inspect_motion.pauses(samples)
    if robot.mass == 0.0 or robot.loops:
        why = "has no masses" if robot.mass == 0.0 else "has loops"
        said = f"{robot.name!r} {why}: torques are not compared with it"
        return findings(log.source, [*found, Finding("info", "model", None, said)])
    if not log.tau.any():
        said = "the torques are zero throughout"
        return findings(
            log.source, [*found, Finding("error", "torque", None, said, 0.0, "was effort recorded at all?")]
        )
    v = inspect_torques.view(robot, samples)
    wrong_order = inspect_torques.order(v)
    found += wrong_order
    if not wrong_order:
        units, divide = inspect_torques.units(v)
        found += units
        found += inspect_torques.signs_and_gravity(v, divide)
        found += inspect_torques.lag(v, samples)
    return findings(log.source, found)
