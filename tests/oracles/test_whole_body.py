"""Humanoids with welded feet, and with point contacts, against Pinocchio's constraint dynamics and the KKT system."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import dalembert as dl
from bipeds import HUMANOIDS, ROBOTS, humanoid


@pytest.mark.long
@pytest.mark.parametrize("kind", ["weld", "ball"])
@pytest.mark.parametrize("name", HUMANOIDS)
def test_accelerations_and_forces_are_pinocchios(name, kind):
    robot, home, _ = humanoid(name)
    file, feet, *_ = HUMANOIDS[name]
    model = pin.buildModelFromUrdf(str(ROBOTS / file), pin.JointModelFreeFlyer())
    data = model.createData()
    at = [model.idx_vs[model.getJointId(n)] for n in robot.joint_names[1:]]
    order = np.r_[:6, at]
    rng = np.random.default_rng(0)
    system = None
    for _ in range(3):
        q = robot.integrate(home, 0.2 * rng.normal(size=robot.nv))
        if system is None:
            held = [dl.constrained.hold(kind, f, at=robot.fk(q, f), name=f) for f in feet]
            system = dl.Constrained(robot, held)
            fixed = [robot.fk(q, f) for f in feet]
        q, v = system.project(system.close(q).q, rng.normal(size=robot.nv), steps=2)
        tau = 20 * rng.normal(size=robot.nv)
        ours = system.forward_dynamics(q, v, tau)
        theirs_q, theirs_v, theirs_tau = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        theirs_q[np.r_[:7, np.array(at) + 1]], theirs_v[order], theirs_tau[order] = q, v, tau
        # M v̇ + Jᵀλ = τ − h, J v̇ = −J̇ v.
        pin.computeAllTerms(model, data, theirs_q, theirs_v)
        M = np.triu(data.M) + np.triu(data.M, 1).T
        pin.forwardKinematics(model, data, theirs_q, theirs_v, 0 * theirs_v)
        pin.updateFramePlacements(model, data)
        rows = 6 if kind == "weld" else 3
        world = pin.LOCAL_WORLD_ALIGNED
        frames = [model.getFrameId(f) for f in feet]
        J = np.vstack([pin.getFrameJacobian(model, data, i, world)[:rows] for i in frames])
        drift = [pin.getFrameClassicalAcceleration(model, data, i, world).vector[:rows] for i in frames]
        K = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
        found = np.linalg.solve(K, np.r_[theirs_tau - data.nle, -np.concatenate(drift)])
        scale = 1 + np.abs(found[: model.nv]).max()
        np.testing.assert_allclose(ours.qdd / scale, found[order] / scale, atol=1e-9)
        forces = [-system.constraint_wrench(q, ours.multipliers, f)[:rows] for f in feet]
        np.testing.assert_allclose(np.concatenate(forces), found[model.nv :], rtol=1e-9, atol=1e-9)
        # Pinocchio's own solver, whose forces are those on the robot, in the foot's axes.
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        contact = pin.ContactType.CONTACT_6D if kind == "weld" else pin.ContactType.CONTACT_3D
        for f, T in zip(feet, fixed, strict=True):
            frame = model.frames[model.getFrameId(f)]
            made = pin.RigidConstraintModel(
                contact, model, frame.parentJoint, frame.placement, 0, pin.SE3(T), pin.LOCAL
            )
            models.append(made)
            datas.append(made.createData())
        pin.initConstraintDynamics(model, data, models, datas)
        settings = pin.ProximalSettings(1e-14, 1e-10, 100)
        pin.constraintDynamics(model, data, theirs_q, theirs_v, theirs_tau, models, datas, settings)
        np.testing.assert_allclose(ours.qdd / scale, data.ddq[order] / scale, atol=1e-9)
