"""Derivatives of rollouts: against differences of fourth order, on every kind of system, loop and loss."""

import numpy as np
import pytest
from tests.rollout_words import rollout_gradient, rollouts

import dalembert as dl
from dalembert import scalar
from dalembert.errors import DalembertError, InputError
from dalembert.law import read_law
from dalembert.simulation import METHODS, Experiment, Loss, Sensors, Solver
from free_arm import free_arm

ARM = dl.load("planar-2r")
PID = dl.control.JointPID(ARM, kp=50, ki=10, kd=20)
START = np.random.default_rng(1).uniform(-0.4, 0.4, (3, 2))
MEASURES = {"rms_error": 1.0, "rms_torque": 0.01, "itse": 2.0, "final_error": 0.3}
STEPS, DT = 60, 5e-3
TIMES = {"duration": STEPS * DT, "dt": DT}


def slope(f, h=1e-4):
    """f'(0) to h⁴."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def check(system, controller, start, loss, of, parameters=None, disturbances=None, at="q0", h=1e-4, **words):
    """Every derivative, along a random direction."""
    words = {**TIMES, **words}
    law = read_law(controller)
    own = {**getattr(system, "flow_parameters", {}), **(law.parameters if law is not None else {})}
    groups = {"start": {at: start}, "parameters": dict(parameters or {}), "disturbances": dict(disturbances or {})}
    for name in of:
        if not any(name in group for group in groups.values()):
            groups["parameters"][name] = own[name]

    def run(groups):
        given = {key: groups[key] or None for key in ("parameters", "disturbances")}
        return rollout_gradient(system, controller, **groups["start"], loss=loss, of=of, **given, **words)

    found = run(groups)
    assert np.isfinite(found.loss).all() and (found.diverged_at == -1).all()
    rng = np.random.default_rng(0)
    for name in of:
        key = next(key for key, group in groups.items() if name in group)
        value = np.asarray(groups[key][name], float)
        d = rng.normal(size=value.shape)

        def moved(h, key=key, name=name, value=value, d=d):
            return run({**groups, key: {**groups[key], name: value + h * d}}).loss

        got = found[name] * d
        got = got.sum(tuple(range(1, got.ndim)))
        expected = slope(moved, h)
        scale = np.abs(expected) + 1e-3 * np.abs(found.loss)
        assert (np.abs(got - expected) <= 1e-7 * scale).all(), (name, got, expected)
    return found


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method):
    check(ARM, PID, START, MEASURES, ("q0", "kp_joint1", "link2:m"), reference=[0.2, -0.1], method=method)


@pytest.mark.parametrize("loss", ["iae", "ise", "itae", "effort", "peak_error", "peak_torque", "overshoot"])
def test_every_measure(loss):
    check(ARM, PID, START, loss, ("q0", "kd_joint2", "ki_joint1"), reference=[1.0, -1.0])


def test_loss_is_what_rollouts_measure():
    found = rollout_gradient(ARM, PID, START, loss=MEASURES, of="q0", reference=[0.2, -0.1], **TIMES)
    batch = rollouts(ARM, PID, START, measures=tuple(MEASURES), reference=[0.2, -0.1], **TIMES)
    np.testing.assert_array_equal(found.loss, sum(w * batch[name] for name, w in MEASURES.items()))
    np.testing.assert_array_equal(found.last[:, :4], batch.last[:, :4])


def test_sampled_delayed_and_clipped():
    sensors = Sensors(sample_time=2 * DT, delay=2 * DT)
    of = ("q0", "kp_joint1", "link1:Izz")
    check(ARM, PID, START, MEASURES, of, reference=[0.2, -0.1], sensors=sensors, torque_limits=8.0, h=1e-5)


def test_loads_disturbances_and_motions():
    rng = np.random.default_rng(4)
    law = dl.control.ComputedTorque(ARM, omega=6, zeta=1)
    motion = dl.trajectories.quintic([0.0, 0.0], [0.5, -0.5], duration=STEPS * DT)
    push = {"joint1_torque": rng.normal(size=(3, STEPS)), "joint2_torque": rng.normal(size=3)}
    parameters = {"payload_mass": np.array([0.1, 0.2, 0.3]), "payload_x": 0.1}
    of = ("q0", "payload_mass", "payload_x", "joint1_torque", "joint2_torque", "kp_joint1", "joint1:viscous")
    check(ARM, law, START, MEASURES, of, parameters, push, reference=motion, payload=True, friction=True)


def test_a_law_that_starts_by_what_it_measures_and_learns():
    law = dl.control.AdaptiveControl(ARM, kd=5.0, rate=10.0, adaptation=0.5)
    names = tuple(read_law(law).parameters)[:2]
    check(ARM, law, START, {"ise": 1.0, "rms_torque": 0.1}, ("q0", *names), reference=[0.2, -0.1])


@pytest.mark.parametrize(
    ("system", "x0"),
    [
        (dl.lagrange.EXAMPLES["cart-pole"](), [0.1, 0.3, 0.0, 0.2]),
        (dl.FlexibleRobot(ARM, stiffness=[400, 250], rotor_inertia=2e-5, gear_ratio=[80, 60]), None),
        (dl.Constrained(dl.load("five-bar")), "start"),
    ],
    ids=["Lagrangian", "flexible", "closed chain"],
)
def test_other_systems(system, x0):
    flow = system.flow()
    n = len(flow.states)
    if x0 == "start":
        q = np.asarray(system.assemble(system.robot.home) if hasattr(system, "assemble") else system.robot.home)
        x0 = np.concatenate((np.asarray(q).reshape(-1)[: n // 2], np.zeros(n - n // 2)))
    start = np.array([np.linspace(0.1, 0.3, n) if x0 is None else x0], float)
    names = tuple(name for name, value in getattr(system, "flow_parameters", {}).items() if value)[:2]
    final = Loss(running=lambda t, x: t * x[0] * x[0] + scalar.cos(x[1]), final=lambda x: x[0] * x[1] + x[-1] * x[-1])
    push = np.random.default_rng(0).normal(size=(1, STEPS))
    inputs = {flow.driven[0]: push}
    check(system, None, start, final, ("x0", flow.driven[0], *names), inputs, at="x0", dt=1e-3, duration=0.06)


def test_alone_and_in_a_batch_are_the_same_bits():
    start = np.random.default_rng(0).uniform(-0.4, 0.4, (70, 2))
    words = {"loss": MEASURES, "of": ("q0", "kp_joint1", "link2:m"), "reference": [0.2, -0.1], **TIMES}
    many = rollout_gradient(ARM, PID, start, **words)
    for k in (0, 33, 69):
        one = rollout_gradient(ARM, PID, start[k : k + 1], **words)
        for name in words["of"]:
            np.testing.assert_array_equal(one[name][0], many[name][k])


def test_on_the_reference_nothing_is_nan():
    loss = ("final_error", "peak_error", "overshoot")
    found = rollout_gradient(ARM, PID, [0.0, 0.0], loss=loss, of="kp_joint1", reference=[0.0, 0.0], **TIMES)
    assert np.isfinite(found["kp_joint1"]).all()


# ----------------------------------------------------------------------------------------------- functions of arrays
def test_a_function_of_arrays():
    names = ("link2:m", "link1:Izz")
    f = Experiment(ARM, solver=Solver(every=7), dt=DT).function(("x0", "inputs.tau", *names), duration=STEPS * DT)
    assert f.cores == ((4,), (STEPS, 2), (), ())
    values = np.array([ARM.flow_parameters[name] for name in names])
    rng = np.random.default_rng(0)
    x0, u = rng.normal(size=(2, 3, 4)), rng.normal(size=(3, STEPS, 2))
    x = f(x0, u, *values)
    assert x.shape == (2, 3, len(f.t), 4) and f.t[-1] == pytest.approx(0.3)
    torques = {"inputs.tau": u}
    batch = rollouts(ARM, x0=x0[1], parameters=torques, keep="all", every=7, **TIMES)
    np.testing.assert_allclose(x[1], batch.rows[..., :4], rtol=1e-12, atol=1e-13)
    w, dx, du, dp = (rng.normal(size=a.shape) for a in (x, x0, u, values))
    a, b, *each = f.pull_back(w, x0, u, *values)
    c = np.stack(each, -1)
    assert a.shape == (2, 3, 4) and b.shape == (2, 3, STEPS, 2) and c.shape == (2, 3, 2)
    got = (a * dx).sum(-1) + (b * du).sum((-2, -1)) + c @ dp
    expected = slope(lambda h: (w * f(x0 + h * dx, u + h * du, *(values + h * dp))).sum((-2, -1)))
    np.testing.assert_allclose(got, expected, rtol=1e-7)
    same, slopes = f.sensitivity(x0, u, *values, wrt=names[::-1])
    assert slopes.shape == (*x.shape, 6)
    np.testing.assert_array_equal(same, x)
    of_w = (w[..., None] * slopes).sum((-3, -2))
    np.testing.assert_allclose(of_w, np.concatenate((a, c[..., ::-1]), -1), rtol=1e-10, atol=1e-12)
    alone = f.sensitivity(x0[1, 2], u[2], *values, wrt=names[::-1])
    np.testing.assert_array_equal(alone[1], slopes[1, 2])
    with pytest.raises(DalembertError, match="unknown argument of this function 'link9:m'"):
        f.sensitivity(x0, u, *values, wrt=("link9:m",))


FLOATING = free_arm("floating")
HINGED = dl.Constrained(FLOATING, dl.constrained.hold("ball", "b", at=FLOATING.fk(FLOATING.home, "b")[:3, 3]))


@pytest.mark.parametrize("system", [FLOATING, HINGED], ids=["floating base", "constrained"])
def test_a_function_of_states_on_a_manifold(system):
    f = Experiment(system).function(("x0", "inputs.tau"), duration=0.02)
    rng = np.random.default_rng(0)
    v, u = rng.normal(size=system.nv), rng.normal(size=(20, system.nv))
    x0 = np.r_[FLOATING.home, v if system is FLOATING else HINGED.project(FLOATING.home, v)[1]]
    x = f(x0, u)
    torques = {"inputs.tau": u[None]}
    batch = rollouts(system, x0=x0, parameters=torques, keep="all", duration=0.02, dt=1e-3)
    np.testing.assert_allclose(x, batch.rows[0, :, : x.shape[1]], rtol=1e-12, atol=1e-13)
    w, du, d = rng.normal(size=x.shape), rng.normal(size=u.shape), rng.normal(size=system.nv)
    a, b = f.pull_back(w, x0, u)
    np.testing.assert_allclose((b * du).sum(), slope(lambda h: (w * f(x0, u + h * du)).sum()), rtol=1e-6)
    if system is FLOATING:  # along the manifold

        def moved(h):
            return np.r_[FLOATING.integrate(x0[: FLOATING.nq], h * d), x0[FLOATING.nq :] + h * v]

        expected = slope(lambda h: (w * f(moved(h), u)).sum())
        np.testing.assert_allclose(a @ slope(moved), expected, rtol=1e-6)
    with pytest.raises(InputError, match="quaternion"):
        f(0 * x0, u)
    if system is HINGED:
        with pytest.raises(InputError, match="constraints"):
            f(np.r_[FLOATING.home, v], u)


def test_a_function_under_a_controller():
    def motion(t):
        return [0.2 * t, 0.1], [0.2, 0.0], [0.0, 0.0]

    names, values = ("kp_joint1", "link2:m"), np.array([50.0, ARM.flow_parameters["link2:m"]])
    f = Experiment(ARM, PID, reference=motion, dt=DT).function(("x0", *names), duration=STEPS * DT)
    x0 = np.random.default_rng(0).normal(size=(2, 4)) * 0.2
    assert f.states[4:]
    w = np.random.default_rng(1).normal(size=f(x0, *values).shape)
    c = np.stack(f.pull_back(w, x0, *values)[1:], -1)
    expected = slope(lambda h: (w * f(x0, *(values + h * np.array([1.0, 0.3])))).sum((-2, -1)))
    np.testing.assert_allclose(c @ [1.0, 0.3], expected, rtol=1e-7)
    slopes = f.sensitivity(x0, *values, wrt=names)[1]
    assert slopes.shape == (*w.shape, 6)
    np.testing.assert_allclose((w * (slopes[..., 4:] @ [1.0, 0.3])).sum((-2, -1)), expected, rtol=1e-7)


def test_not_finite_is_no_mistake_if_said():
    f = Experiment(ARM, dt=DT).function(("x0", "inputs.tau"), duration=STEPS * DT)
    x0, u = np.zeros((2, 4)), np.zeros((2, STEPS, 2))
    u[1, 3] = np.nan
    with pytest.raises(InputError, match="inputs.tau"):
        f(x0, u)
    assert np.isnan(f(x0, u, nan=True)[1, -1]).all() and np.isfinite(f(x0, u, nan=True)[0]).all()
    with pytest.raises(InputError, match="2 arrays: x0, inputs.tau"):
        f(x0)
    with pytest.raises(InputError, match="do not broadcast"):
        f(np.zeros((3, 4)), np.zeros((2, STEPS, 2)))


# ------------------------------------------------------------------------------------------------------------ refusals
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"loss": "settling_time"}, "settling_time jumps"),
        ({"loss": "rms"}, "rms_error"),
        ({"loss": {"ise": np.nan}}, "weight of 'ise' must be a finite number"),
        ({"loss": 3}, "loss is the name of a measure"),
        ({"loss": {}}, "loss is the name of a measure"),
        ({"of": ()}, "wrt= names what to differentiate by"),
        ({"of": "kp_joint9"}, "kp_joint1"),
        ({"of": "x0"}, "not what these runs begin with"),
        ({"of": "link9:m"}, "link9:m"),
        ({"of": "joint1:coulomb"}, "friction=True takes it in"),
        ({"loss": Loss(final=lambda x: np.sin(x[0]))}, "cannot be traced"),
        ({"loss": Loss(final=lambda x: x[0]), "error": {"joint1": 0.0}}, "leave it out"),
        ({"method": "rk5"}, "rk4"),
    ],
)
def test_refusals(words, message):
    given = {"loss": "ise", "of": "q0", "reference": [0.0, 0.0], **TIMES, **words}
    with pytest.raises(DalembertError, match=message):
        rollout_gradient(ARM, PID, START, **given)


def test_a_loss_of_nothing():
    with pytest.raises(InputError, match="running part, a final one"):
        Loss()
    with pytest.raises(InputError, match="each once"):
        Experiment(ARM).function(("x0", "joint1_torque", "joint1_torque"), duration=0.1)


# -------------------------------------------------------------------------------------------- parameters of the model
@pytest.mark.parametrize("name", ["panda", "ur5e", "stanford", "scara"])
def test_parameters_as_inputs_are_those_of_the_model(name):
    arm = dl.load(name)
    own = arm.flow_parameters
    rng = np.random.default_rng(0)
    x, u = rng.uniform(-1, 1, 2 * arm.n).tolist(), rng.uniform(-1, 1, arm.n).tolist()
    flow = arm.flow(friction=True, parameters=tuple(own))
    np.testing.assert_allclose(
        flow.rate(0.0, x, [*u, *own.values()]), arm.flow(friction=True).rate(0.0, x, u), rtol=1e-9
    )
    # M q̈ + h + friction is linear in them: the regressor says what other values need.
    other = np.array(list(own.values())) * rng.uniform(0.95, 1.05, len(own))
    qdd = flow.rate(0.0, x, [*u, *other])[arm.n :]
    Y = arm.regressor(x[: arm.n], x[arm.n :], qdd, friction=True, rotor=True)
    np.testing.assert_allclose(Y @ other, u, rtol=1e-8, atol=1e-8)


def test_parameters_that_are_none():
    with pytest.raises(DalembertError, match="link2:m"):
        ARM.flow(parameters=("link2:mass",))
    with pytest.raises(InputError, match="without sticking joints"):
        ARM.flow(friction="sticking", parameters=("link2:m",))


# ------------------------------------------------------------------------------------------------- a shorter last step
@pytest.mark.parametrize("duration", [0.1003, 0.003, 0.0501])
@pytest.mark.parametrize("loss", ["rms_error", "final_error", Loss(running=lambda t, x: t * x[0] * x[0])])
def test_a_last_step_that_is_shorter(duration, loss):
    words = {"reference": [0.2, -0.1], "sensors": Sensors(sample_time=0.01), "dt": 5e-3, "duration": duration}
    found = check(ARM, PID, START, loss, ("q0", "kp_joint1", "link2:m"), **words)
    own = {"parameters": {"link2:m": ARM.flow_parameters["link2:m"]}}
    batch = rollouts(ARM, PID, START, **own, **words)
    np.testing.assert_array_equal(found.last[:, :4], batch.last[:, :4])
