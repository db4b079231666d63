"""What a page computes with, before it is assembled: the flow with its world as inputs, gains by formula, the search
that drags a tip, the ellipsoid."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert.apps.page.physics import gain_rules, make_physics
from dalembert.apps.page.plant import PULL, SCALES, live_flow
from dalembert.control.controller import torques
from dalembert.control.registry import CONTROLLERS, offered
from dalembert.describe.description import Description, Joint, Link
from dalembert.errors import InputError, UnknownNameError
from errors import raises
from free_arm import free_arm
from trees import random_tree


def world(flow: dl.Flow, **given: float) -> list[float]:
    """Inputs of a live flow, zero but for those that are given; gravity as it is."""
    return [float({"gravity_scale": 1.0, **given}.get(name, 0.0)) for name in flow.inputs]


def state(robot: dl.Robot, seed: int) -> list[float]:
    return np.random.default_rng(seed).uniform(-1, 1, 2 * robot.n).tolist()


@pytest.mark.parametrize("name", ["planar-2r", "rp", "panda"])
def test_gravity_payload_and_friction_are_those_of_a_robot_that_has_them(name):
    robot = dl.load(name)
    flow, x = live_flow(robot), state(robot, 1)
    heavier = robot.with_payload(0.7).with_gravity(0.4 * np.array(robot.gravity))
    found = flow.rate(0.0, x, world(flow, payload_mass=0.7, gravity_scale=0.4))
    assert found == pytest.approx(heavier.flow().rate(0.0, x, [0.0] * robot.n), rel=1e-9, abs=1e-9)
    seen = flow.observe(0.0, x, world(flow, payload_mass=0.7, gravity_scale=0.4))
    q, qd = np.array(x[: robot.n]), np.array(x[robot.n :])
    assert seen == pytest.approx([heavier.kinetic_energy(q, qd), heavier.potential_energy(q)], rel=1e-9)
    slowed = flow.rate(0.0, x, world(flow, friction_scale=2.0))[robot.n :]
    free = flow.rate(0.0, x, world(flow))[robot.n :]
    lost = robot.mass_matrix(q) @ (np.array(free) - slowed)
    assert lost == pytest.approx(2.0 * np.diagonal(robot.mass_matrix(robot.home)) * qd)


def test_friction_of_a_model_is_scaled():
    robot = dl.Robot(random_tree(3, 5, friction=True))
    flow, x = live_flow(robot), state(robot, 2)
    rough = robot.flow(friction=True).rate(0.0, x, [0.0] * robot.n)
    assert flow.rate(0.0, x, world(flow, friction_scale=1.0)) == pytest.approx(rough, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_a_hand_pulls_as_its_force_does_at_that_point(seed):
    """On random trees, mimic joints and free ones among them: Jᵀ F of a spring and a damper at a point of a body."""
    robot = dl.Robot(random_tree(seed, 6, mimic=1 < seed < 4, several=seed > 3))
    assert (robot.model.curved is not None) == (seed > 3)
    rng, n = np.random.default_rng(seed), robot.nv
    q, qd = robot.random_configuration(seed=rng), rng.uniform(-1, 1, n)
    body, at, to = int(rng.integers(len(robot.model.bodies))), rng.uniform(-0.2, 0.2, 3), rng.uniform(-1, 1, 3)
    flow, name = live_flow(robot), robot.model.bodies[body].name
    given = dict(zip(PULL, (300.0, 4.0, *at, *to), strict=True)) | {f"pull on {name}": 1.0}
    free, pulled = (flow.rate(0.0, [*q, *qd], world(flow, **words))[n:] for words in ({}, given))
    T, J = robot.fk(q, name), robot.jacobian(q, name)
    arm = T[:3, :3] @ at
    J_v = J[:3] - np.cross(np.eye(3), arm) @ J[3:]  # v + ω × r
    force = 300.0 * (to - T[:3, 3] - arm) - 4.0 * (J_v @ qd)
    moved = robot.mass_matrix(q) @ (np.array(pulled) - free)
    assert live_flow(robot).inputs[: len(robot.model.drives)] == torques(robot)
    assert moved == pytest.approx(J_v.T @ force, rel=1e-6, abs=1e-6 * np.linalg.norm(force))


def test_end_stops_push_back_beyond_the_limits_alone():
    robot = dl.load("panda")
    flow, n, upper = live_flow(robot), robot.n, robot.limits.upper
    for beyond in (-0.01, 0.01):
        x = [*robot.home.tolist(), *[0.0] * n]
        x[2] = float(upper[2] + beyond)
        free, stopped = (np.array(flow.rate(0.0, x, world(flow, stop_scale=s))[n:]) for s in (0.0, 1.0))
        assert (stopped[2] - free[2] < -1.0) == (beyond > 0) and ((stopped == free).all() == (beyond < 0))


def test_a_closed_chain_moves_as_its_constrained_system():
    robot = dl.load("five-bar")
    flow, wanted = live_flow(robot), dl.Constrained(robot).flow()
    x = [*robot.home.tolist(), *[0.0] * robot.n]
    assert flow.rate(0.0, x, world(flow)) == pytest.approx(wanted.rate(0.0, x, [0.0] * robot.n), abs=1e-9)
    off = [value + 1e-4 for value in x]
    assert flow.settle(0.0, x, off, world(flow)) == wanted.settle(0.0, x, off, [0.0] * robot.n)


@pytest.mark.parametrize("name", ["planar-2r", "panda"])
def test_gains_follow_omega_and_zeta_by_their_formula(name):
    robot, rng = dl.load(name), np.random.default_rng(0)
    start = np.asarray(robot.home) + 0.3
    tuned = [entry for entry in offered().values() if entry.settings]
    assert len(tuned) >= 6
    for entry in tuned:
        law = entry.make(robot, 10.0, 1.0, start, robot.tip).law()
        rules = np.array(gain_rules(entry, robot, start, law))
        omega, zeta = rng.uniform(0.6, 39.0), rng.uniform(0.1, 1.9)
        b, a, c, least = rules.T
        wanted = list(entry.make(robot, omega, zeta, start, robot.tip).law().parameters.values())
        assert zeta**b * np.maximum(c * omega**a, least) == pytest.approx(wanted, rel=1e-12), entry.name


def test_a_controller_of_another_form_keeps_its_gains(monkeypatch):
    class Odd(dl.control.PD):
        @classmethod
        def for_bandwidth(cls, robot, omega, zeta=1.0):
            return cls(robot, kp=np.exp(omega), kd=zeta)

    robot, entry = dl.load("planar-2r"), CONTROLLERS["pd"]
    monkeypatch.setattr(type(entry), "controller", property(lambda self: Odd))
    law = Odd.for_bandwidth(robot, 10.0).law()
    assert gain_rules(entry, robot, robot.home, law) == []


def test_the_tip_is_dragged_open_and_closed():
    arm = dl.load("panda")
    start = np.array([0.1, -0.7, 0.1, -2.2, 0.1, 1.6, 0.8])
    search = make_physics(arm, start, ["none"]).parts["reach"]
    T = arm.fk(start)
    T[:3, 3] += (0.05, -0.04, 0.03)
    q, info = search(start, T.reshape(-1), start[None], [1e-12, 1.0, 60, 0, 0, 0])
    assert info[2] == 1 and arm.fk(q)[:3, 3] == pytest.approx(T[:3, 3], abs=1e-6)

    linkage = dl.load("five-bar")
    system, home, n = dl.Constrained(linkage), linkage.home, linkage.n
    search = make_physics(linkage, home, ["none"]).parts["reach"]
    place = linkage.tree().fk(home)[:3, 3] + np.array([0.03, 0.02, 0.0])
    q, info = search(home, [*place, 1.0, *home, *[0.0] * n], home[None], [1e-18, 1e-12, 60, 0, 0, 0])
    assert info[2] == 1 and np.abs(system.residual(q)).max() < 1e-9
    assert linkage.tree().fk(q)[:3, 3] == pytest.approx(place, abs=1e-6)
    aim = home + np.array([0.2, 0.0, 0.0, 0.0])  # a slider: the first joint moves, the second stays, the others follow
    q, info = search(home, [0.0] * 4 + [*aim, 1.0, 1.0, 0.0, 0.0], home[None], [1e-18, 1e-12, 60, 0, 0, 0])
    assert info[2] == 1 and q[:2] == pytest.approx(aim[:2], abs=1e-6) and np.abs(system.residual(q)).max() < 1e-9


@pytest.mark.parametrize("name", ["five-bar", "delta"])
def test_a_closed_chain_stays_calm_out_of_reach(name):
    """A hand that goes on beyond what the linkage reaches: as near as it can, the loops nearly shut, nothing spins."""
    robot = dl.load(name)
    q, n, tip = np.array(robot.home), robot.n, robot.tree().fk(robot.home)[:3, 3]
    search = make_physics(robot, q, ["none"]).parts["reach"]
    residual = dl.Constrained(robot).residual
    for k in range(1, 41):
        place = tip + np.array([0.03, 0.02, 0.0]) * k
        found, info = search(q, [*place, 1.0, *q, *[0.0] * n], q[None], [1e-18, 1e-12, 60, 0, 0, 0])
        assert np.abs(found - q).max() < 1.5 and np.abs(residual(found)).max() < 1e-5
        q = found
    assert info[2] == 0  # it was out of reach indeed


@pytest.mark.parametrize("name", ["planar-1r", "planar-2r", "rp", "panda"])
def test_the_ellipsoid_is_that_of_the_jacobian(name):
    robot = dl.load(name)
    q = np.random.default_rng(4).uniform(-1, 1, robot.n)
    matrix, mu = make_physics(robot, q, ["none"]).parts["ellipsoid"](q)
    shape, J = np.reshape(matrix, (3, 4)), robot.jacobian(q)[:3]
    assert shape[:, 3] == pytest.approx(robot.fk(q)[:3, 3])
    assert shape[:, :3] @ shape[:, :3].T == pytest.approx(J @ J.T, abs=1e-3)  # and somewhat thick, to be seen
    assert mu == pytest.approx(float(robot.manipulability(q, rows="position")), rel=1e-9)


def test_what_cannot_move_can_be_posed():
    base, arm = Link("base"), Link("arm")
    joint = Joint("j", "revolute", "base", "arm", axis=(0.0, 0.0, 1.0))
    robot = dl.Robot(Description("light", (base, arm), (joint,)))
    made = make_physics(robot, robot.home)
    assert made.data["laws"] == [] and "moves no mass" in made.data["why"] and "reach" in made.parts


def test_refusals_are_sentences():
    robot = dl.load("planar-2r")
    with raises(UnknownNameError, "unknown-name") as caught:
        make_physics(robot, robot.home, ["pdd"])
    assert caught.value.nearest == ("pd", "pid")
    with raises(InputError, "conflict rows"):
        make_physics(dl.load("planar-1r"), np.zeros(1), ["impedance"])
    with raises(InputError, "wrong-shape motion"):
        make_physics(robot, robot.home, ["none"], dl.trajectories.minimum_jerk([0.0], [1.0], 1.0))
    many = dl.trajectories.spline(np.random.default_rng(0).uniform(-1, 1, (30, 2)), duration=9.0)
    with raises(InputError, "unsupported motion"):
        make_physics(robot, robot.home, ["none"], many)


def test_scales_stand_where_the_script_puts_them():
    """The script fills the parameters of a loop in this order."""
    flow = live_flow(dl.load("planar-1r"))
    assert flow.inputs[1:] == (*SCALES, *PULL, "pull on link1")
    assert SCALES == ("payload_mass", "gravity_scale", "friction_scale", "stop_scale")
    assert PULL == ("pull_stiffness", "pull_damping", "at_x", "at_y", "at_z", "to_x", "to_y", "to_z")


@pytest.mark.parametrize("base", ["floating", "planar"])
def test_a_robot_on_a_free_base_moves_as_in_python(base):
    """The page's loops, run here: the same steps on the manifold as `simulate`; a robot that nothing holds up begins
    without gravity, and what no drive moves has no torque."""
    robot = free_arm(base)
    q0 = robot.integrate(robot.home, np.linspace(-0.3, 0.4, robot.nv))
    physics = make_physics(robot, q0, ["pd", "none"])
    assert physics.data["gravity"] == (0.0 if base == "floating" else 1.0) and physics.data["driven"] == [
        robot.nq - 2,
        robot.nq - 1,
    ]
    assert [k for k in range(robot.nq) if k not in physics.data["sliders"]] == [
        at + k for at in robot.model.quaternions for k in range(4)
    ]
    assert set(physics.parts) == {"loop_pd", "loop_none", "integrate"}
    law = dl.control.PD.for_bandwidth(robot, 10.0)
    held = [0.0, 1.0, 0.0, 0.0, *[0.0] * (len(PULL) + len(robot.model.bodies))]
    aim = [0.3, -0.2]
    for name, controller in (("pd", law), ("none", None)):
        gains = [] if controller is None else list(law.law().parameters.values())
        loop, (entry,) = physics.parts[f"loop_{name}"], [x for x in physics.data["laws"] if x["name"] == name]
        nodes = entry["nodes"]
        row = [] if controller is None else [*[*aim, 0.0, 0.0] * len(nodes), *[5e-4, 1e-3][: len(nodes) - 1]]
        assert not row or entry["rows"] == physics.data["driven"]
        v0 = 0.2 * np.ones(robot.nv)
        wanted = {} if controller is None else {"reference": aim}
        run = dl.simulate(robot, controller, q0=q0, qd0=v0, duration=1.0, **wanted)
        p = np.array([*held, *gains])
        _, _, last, _, diverged = loop(np.concatenate((q0, v0)), np.array(row).reshape(1, -1), p, 1000, 1e-3)
        assert diverged < 0 and np.abs(robot.difference(last[: robot.nq], run.q[-1])).max() < 1e-11
    with pytest.raises(InputError, match="ComputedTorque|whose positions are no vector"):
        make_physics(robot, q0, ["computed-torque"])
