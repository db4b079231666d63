"""The same robot in Pinocchio, with arguments and results matched by joint name."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from dalembert.describe.urdf_write import write_urdf
from dalembert.robot import Robot


class PinocchioModel:
    """Pinocchio's model of a robot. Mimic joints by its own `mimic=True` where it can; where it cannot (a joint
    that follows one of another branch), with all joints free and folded here: q_i = m q_k + o, τ_k = Σ m τ_i."""

    def __init__(self, robot: Robot, file: str | None = None) -> None:
        text = None if file else write_urdf(robot.description)
        self.robot = robot
        self.folded = False
        try:
            self.model = self._read(file, text, mimic=True)
        except (ValueError, RuntimeError):
            self.model = self._read(file, text, mimic=False)
            self.folded = True
        self.model.gravity.linear = robot.gravity
        self.data = self.model.createData()
        self.rows = self._rows()
        n, nv = robot.n, self.model.nv
        self.G = np.zeros((nv, n))
        for coordinate, multiplier, _, _, iv in self.rows:
            self.G[iv, coordinate] = multiplier
        for body in robot.model.bodies:
            if body.rotor_inertia:
                joint = self.model.joints[self.model.getJointId(body.joint_name)]
                self.model.armature[joint.idx_v] = body.rotor_inertia

    @staticmethod
    def _read(file: str | None, text: str | None, mimic: bool) -> pin.Model:
        if file:
            return pin.buildModelFromUrdf(file, mimic=mimic)
        return pin.buildModelFromXML(text, mimic=mimic)

    def _rows(self):
        """(coordinate, multiplier, offset, joint, velocity index) of each of Pinocchio's independent joints."""
        rows = []
        for body in self.robot.model.bodies:
            joint = self.model.joints[self.model.getJointId(body.joint_name)]
            master = self.robot.model.coordinates[body.coordinate].name == body.joint_name
            if master or self.folded:
                rows.append((body.coordinate, body.multiplier, body.offset, joint, joint.idx_v))
        assert len(rows) == self.model.nv
        return rows

    def q(self, q: np.ndarray) -> np.ndarray:
        out = pin.neutral(self.model)
        for k, multiplier, offset, joint, _ in self.rows:
            x = multiplier * q[k] + offset
            out[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
        return out

    def v(self, qd: np.ndarray) -> np.ndarray:
        return self.G @ qd

    def inverse_dynamics(self, q, qd, qdd):
        return self.G.T @ pin.rnea(self.model, self.data, self.q(q), self.v(qd), self.v(qdd))

    def mass_matrix(self, q):
        data = self.model.createData()  # with mimic joints, crba adds to what an earlier call left in M
        M = pin.crba(self.model, data, self.q(q)).reshape(self.model.nv, self.model.nv)
        M = np.triu(M) + np.triu(M, 1).T
        return self.G.T @ M @ self.G

    def forward_dynamics(self, q, qd, tau):
        if not self.folded and not self.robot.model.mimics:
            G = self.G  # a permutation
            return G.T @ pin.aba(self.model, self.data, self.q(q), self.v(qd), G @ tau)
        h = self.inverse_dynamics(q, qd, np.zeros_like(qd))
        return np.linalg.solve(self.mass_matrix(q), tau - h)

    def coriolis_times_qd(self, q, qd):
        zero = np.zeros_like(qd)
        return self.inverse_dynamics(q, qd, zero) - self.inverse_dynamics(q, zero, zero)

    def gravity_torque(self, q):
        return self.G.T @ pin.computeGeneralizedGravity(self.model, self.data, self.q(q))

    def fk(self, q, frame):
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        return self.data.oMf[self._frame(frame)].homogeneous

    def _frame(self, frame: str) -> int:
        return self.model.getFrameId(frame, pin.FrameType.BODY)

    def jacobian(self, q, frame, reference=pin.LOCAL_WORLD_ALIGNED):
        J = pin.computeFrameJacobian(self.model, self.data, self.q(q), self._frame(frame), reference)
        return J.reshape(6, self.model.nv) @ self.G
