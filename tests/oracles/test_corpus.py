"""Every URDF of the packages example-robot-data and rtb-data: it loads and agrees with Pinocchio, or is refused
with a reason."""

from __future__ import annotations

import site
import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import dalembert as dl
from oracles.pinocchio_model import PinocchioModel
from tolerances import ORACLE, error

_SITE = Path(site.getsitepackages()[0])
_ROOTS = (_SITE / "cmeel.prefix/share/example-robot-data/robots", _SITE / "rtbdata")
FILES = sorted(file for root in _ROOTS for file in root.rglob("*.urdf"))

# What cannot be used, and the words by which its message must say why.
REFUSED = {
    "alex_psyonic_hands.urdf": "mimics the unknown joint 'index_q1'",
    "ur3.urdf": "has no link",
    "test.urdf": "the XML is malformed",
}


def cases(files: list[Path], *marks: pytest.MarkDecorator) -> list[object]:
    """Every third file and all that must be refused, by their package and name; the other files nightly."""

    def case(k: int, file: Path) -> object:
        rest = () if k % 3 == 0 or file.name in REFUSED else (pytest.mark.nightly,)
        return pytest.param(file, marks=(*marks, *rest), id=f"{file.parent.parent.name}/{file.name}")

    return [case(k, file) for k, file in enumerate(files)]


def load(file: Path) -> dl.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        return dl.load(file)


def test_the_packages_are_there():
    assert len(FILES) >= 70


@pytest.mark.parametrize("file", cases(FILES))
def test_agrees_with_pinocchio_or_is_refused(file: Path):
    if file.name in REFUSED:
        with pytest.raises(dl.DescriptionError, match=REFUSED[file.name]) as refusal:
            load(file)
        assert str(file) in str(refusal.value)
        return
    robot = load(file)
    oracle = PinocchioModel(robot, str(file))
    rng = np.random.default_rng(0)
    for _ in range(3):
        compare(robot, oracle, *rng.uniform(-1, 1, (3, robot.n)))


def compare(robot: dl.Robot, oracle: PinocchioModel, q, qd, x) -> None:
    wanted = oracle.inverse_dynamics(q, qd, x)
    size = float(np.abs(wanted).max(initial=0))
    assert error(robot.inverse_dynamics(q, qd, x), wanted) < ORACLE
    assert error(robot.gravity_torque(q), oracle.gravity_torque(q), size) < ORACLE
    C = robot.coriolis_matrix(q, qd)
    assert error(C @ qd, oracle.coriolis_times_qd(q, qd), size) < ORACLE
    M = oracle.mass_matrix(q)
    assert error(robot.mass_matrix(q), M) < ORACLE
    for frame in robot.frames[:: max(1, len(robot.frames) // 3)]:
        assert error(robot.fk(q, frame), oracle.fk(q, frame)) < ORACLE
        assert error(robot.jacobian(q, frame), oracle.jacobian(q, frame), 1.0) < ORACLE
    if robot.n:
        compare_forward_dynamics(robot, oracle, M, q, qd, x)


def compare_forward_dynamics(robot, oracle, M, q, qd, x) -> None:
    """Both solve the same system; what each may be off by grows with M's condition. Massless bodies make M
    singular: then loading has warned of it, and forward dynamics refuses in words."""
    condition = np.linalg.cond(M)
    if condition > 1e14:
        assert robot.warnings
        with pytest.raises(dl.SingularityError, match="because its mass matrix is singular"):
            robot.forward_dynamics(q, qd, x)
        return
    tau = oracle.inverse_dynamics(q, qd, x)  # so that the accelerations are of order one
    wanted = oracle.forward_dynamics(q, qd, tau)
    assert error(robot.forward_dynamics(q, qd, tau), wanted, 1.0) < max(ORACLE, 1e-15 * condition)


def test_frames_of_reference_of_the_jacobian():
    robot = load(next(f for f in FILES if f.name == "ur5_robot.urdf"))
    oracle = PinocchioModel(robot)
    q = np.random.default_rng(3).uniform(-2, 2, robot.n)
    for name, reference in (("world", pin.LOCAL_WORLD_ALIGNED), ("local", pin.LOCAL), ("spatial", pin.WORLD)):
        J = robot.jacobian(q, "ee_link", expressed_in=name)
        assert error(J, oracle.jacobian(q, "ee_link", reference)) < ORACLE
