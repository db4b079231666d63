"""Gymnasium environments: the checker, determinism, one against many, tasks, rewards, what is refused."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

import dalembert as dl
from dalembert.errors import InputError
from dalembert.interchange import Reach, Track
from dalembert.interchange.world import around_the_middle

gymnasium = pytest.importorskip("gymnasium", reason="no gymnasium")

from dalembert.interchange.environment import Environment, VectorEnvironment, register  # noqa: E402
from errors import fields_of, raises  # noqa: E402


@pytest.fixture(scope="module")
def arm() -> dl.Robot:
    """A planar arm whose drives and joints have limits."""
    return dl.load("planar-2r")


OPTIONS = {"torque_limits": [40.0, 15.0], "duration": 1.0, "at_limits": "pass", "actions": "torque"}


def test_the_checker_is_content(arm):
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():  # observations have no bounds: rates have none
        warnings.filterwarnings("ignore", message=".*Box observation space.*")
        warnings.filterwarnings("ignore", message=".*not having a spec.*")
        check_env(Environment(arm, **OPTIONS, render_mode="rgb_array"), skip_render_check=False)
        check_env(Environment("ur5e"))


def test_a_step_is_the_simulation(arm):
    env = Environment(arm, **OPTIONS, friction=False)
    q0, qd0 = np.array([0.4, -0.3]), np.array([0.1, 0.2])
    observation, info = env.reset(seed=1, options={"q": q0, "qd": qd0, "goal": [1.0, 1.0, 0.0]})
    assert np.array_equal([*info["q"], *info["qd"]], [0.4, -0.3, 0.1, 0.2])
    seen = [*np.cos(q0), *np.sin(q0), *qd0 / np.pi, *info["error"], *np.tanh(info["error"] / 0.1)]
    assert np.allclose(observation, seen, rtol=1e-6)  # this arm turns without limits
    assert np.allclose(info["error"], [1.0, 1.0, 0.0] - arm.fk(q0)[:3, 3])
    observation, reward, terminated, truncated, info = env.step([0.5, -0.25])
    run = dl.simulate(arm, q0=q0, qd0=qd0, duration=0.04, dt=0.002, friction=False, inputs=dl.Inputs(tau=[20.0, -3.75]))
    assert np.allclose([*info["q"], *info["qd"]], [*run.q[-1], *run.qd[-1]], rtol=1e-12)
    distance = np.linalg.norm([1.0, 1.0, 0.0] - arm.fk(run.q[-1])[:3, 3])
    assert abs(reward - (np.exp(-distance / 0.1) - distance - 1e-3 * (0.5**2 + 0.25**2))) < 1e-9
    assert not terminated and not truncated and not info["success"]


def play(env, seed: int, steps: int = 30) -> list:
    rng = np.random.default_rng(9)
    rows = [env.reset(seed=seed)[0]]
    shape = env.action_space.shape
    for _ in range(steps):
        rows.append(np.asarray(env.step(rng.uniform(-1, 1, shape))[0]))
    return rows


def test_the_same_seed_is_the_same_episode(arm):
    one, two, other = (play(Environment(arm, **OPTIONS), seed) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert not np.array_equal(one[0], other[0])


def test_many_are_as_many_lone_ones(arm):
    """Bit for bit, resets included: robot k under seed s is a lone one under seed s + k."""
    options = {**OPTIONS, "duration": 0.2}
    many = VectorEnvironment(arm, 5, **options)
    lone = [Environment(arm, **options) for _ in range(5)]
    together, _ = many.reset(seed=7)
    apart = np.stack([env.reset(seed=7 + k)[0] for k, env in enumerate(lone)])
    assert np.array_equal(together, apart)
    listed, _ = VectorEnvironment(arm, 5, **options).reset(seed=[7, 8, 9, 10, 11])
    assert np.array_equal(listed, together)
    rng, over = np.random.default_rng(0), np.zeros(5, bool)
    resets = 0
    for _ in range(25):
        action = rng.uniform(-1, 1, (5, 2))
        observation, reward, terminated, truncated, info = many.step(action)
        for k, env in enumerate(lone):
            if over[k]:
                o, r, te, tr = env.reset()[0], 0.0, False, False
                resets += 1
            else:
                o, r, te, tr, _ = env.step(action[k])
            assert np.array_equal(observation[k], o) and reward[k] == r
            assert (terminated[k], truncated[k]) == (te, tr)
            over[k] = te or tr
        assert info["error"].shape == (5, 3)
    assert resets >= 10
    assert many.observation_space.contains(observation) and many.action_space.shape == (5, 2)


TORQUES = {"actions": "compensated", "step": 0.02, "duration": 5.0}  # without a servo, decisions are better quick


def earned(info) -> float:
    """The reward of a place, without actions."""
    distance = np.linalg.norm(info["error"])
    return float(np.exp(-distance / 0.1) - distance)


def test_what_happens_at_the_limits():
    arm = dl.load("ur5e")
    start = {"q": arm.limits.upper - 1e-3, "qd": np.full(6, 1.0)}
    for at_limits, ends in (("end", True), ("rest", False), ("pass", False)):
        env = Environment(arm, at_limits=at_limits, **TORQUES)
        env.reset(seed=0, options=start)
        _, reward, terminated, _, info = env.step(np.zeros(6))
        q, qd = np.split(env.world.x[0], 2)
        assert terminated == ends
        assert (q == arm.limits.upper).all() == (at_limits == "rest") == (qd == 0).all()
        cost = {"end": 249.0, "rest": 1.0, "pass": 0.0}[at_limits] * Reach().worst(arm)
        assert np.isclose(reward, earned(info) + cost, rtol=1e-12)
    env = Environment(arm, **TORQUES)  # one of six joints runs into its limit, rests there, and then costs nothing
    env.reset(seed=0, options={"q": [0.1, 0.2, 0.3, 0.4, arm.limits.lower[4] + 1e-3, 0.5], "qd": [0, 0, 0, 0, -1.0, 0]})
    _, reward, _, _, info = env.step(np.zeros(6))
    assert np.isclose(reward, earned(info) + Reach().worst(arm) / 6, rtol=1e-12)
    _, reward, _, _, info = env.step(0.01 * np.eye(6)[4])
    assert np.isclose(reward, earned(info) - 1e-7, rtol=1e-12)


def played(env, policy, seed: int) -> float:
    """The return of an episode."""
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(policy(env, observation))
        total, over = total + reward, terminated or truncated
    return total


def still(env, observation):
    return np.zeros(env.world.robot.n)


def controlled(env, observation):
    """To a posture that has the tip at the goal: the velocities, or M times what is missing beyond gravity's torque."""
    robot, world = env.world.robot, env.world
    q, qd = np.split(world.x[0], 2)
    if world.steps[0] == 0:
        env.posture = robot.ik(world.goal[0], q0=q, rows="position", secondary="limits").q
    rate = np.clip(3 * (env.posture - q), -1.5, 1.5)
    if world.actions == "velocity":
        return np.clip(rate / robot.limits.velocity, -1, 1)
    wanted = robot.mass_matrix(q) @ (10 * (rate - qd))
    largest = world._torque_of(np.ones((1, robot.n)))[0] - robot.gravity_torque(q)
    share = wanted / largest
    return share / max(1.0, np.abs(share).max())  # all of them less, so that coupled joints stay together


@pytest.mark.parametrize("options", [{}, TORQUES], ids=["velocity", "compensated"])
@pytest.mark.parametrize("at_limits", ["rest", "end"])
@pytest.mark.parametrize("name", ["ur5e", "panda"])
def test_to_crash_never_pays(name, at_limits, options):
    """Holding still beats full torque, either way and random; a controller beats holding still."""
    env = Environment(name, at_limits=at_limits, **options)
    rng = np.random.default_rng(0)
    policies = {
        "controller": controlled,
        "still": still,
        "full": lambda env, o: np.ones(env.world.robot.n),
        "full the other way": lambda env, o: -np.ones(env.world.robot.n),
        "random": lambda env, o: rng.uniform(-1, 1, env.world.robot.n),
    }
    returns = {word: np.array([played(env, p, seed) for seed in range(5)]) for word, p in policies.items()}
    for word in ("full", "full the other way"):
        assert (returns["still"] > returns[word]).all(), word
    if at_limits == "rest":  # else a limit that is only touched on the way costs the rest of the episode
        for word in ("still", "full", "full the other way", "random"):
            assert (returns["controller"] > returns[word]).all(), word
    plain = Environment(name, at_limits=at_limits, **{**options, "actions": "torque"})
    assert played(plain, policies["full"], 0) < returns["still"][0]
    free = Environment(name, penalty=0.0, at_limits=at_limits, **options)
    assert played(free, policies["full"], 0) > returns["full"][0]


def test_what_is_seen_is_around_one():
    """Whatever the robot: places within −1…1, rates as shares of the largest."""
    for name in ("ur5e", "panda", "stanford", "scara"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dl.ModelWarning)
            robot = dl.load(name)
        env = VectorEnvironment(robot, 50, torque_limits=np.full(robot.n, 500.0))
        observation, _ = env.reset(seed=0)
        assert np.abs(observation).max() < 3 and observation.shape == env.observation_space.shape
        assert np.ptp(observation[:, : env.world._placed.sum()], axis=0).min() > 0.2


def test_a_crash_at_the_last_step_costs_one_more():
    arm = dl.load("ur5e")
    options = {"q": arm.limits.upper - 1e-3, "qd": np.full(6, 1.0)}
    env, many = (make(arm) for make in (_short, lambda arm: VectorEnvironment(arm, 2, duration=0.04, at_limits="end")))
    env.reset(seed=0, options=options)
    many.reset(seed=0, options=options)
    _, reward, terminated, _, info = env.step(np.zeros(6))
    assert terminated and np.isclose(reward, earned(info) + Reach().worst(arm), rtol=1e-12)
    assert many.step(np.zeros((2, 6)))[1][0] == reward


def _short(arm):
    return Environment(arm, duration=0.04, at_limits="end")


@pytest.mark.parametrize("name", ["ur5e", "panda", "planar-2r", "stanford", "cartesian-pp"])
def test_no_reward_falls_below_the_worst(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dl.ModelWarning)
        robot = dl.load(name)
    q, other = robot.random_configuration(2000, seed=0), robot.random_configuration(2000, seed=1)
    task = Reach()
    away = np.linalg.norm(robot.fk(q)[:, :3, 3] - robot.fk(other)[:, :3, 3], axis=-1)
    assert (-away - task.effort * robot.n >= task.worst(robot)).all() and task.worst(robot) > -4 * away.max()
    track = Track(np.zeros(robot.n))
    turn = np.square(q - other).sum(-1)
    assert (-turn - track.effort * robot.n >= track.worst(robot)).all()


def test_no_action_holds_the_arm_and_full_actions_are_within_its_torques():
    for name in ("ur5e", "panda"):
        robot = dl.load(name)
        env = Environment(robot, friction=False)
        env.reset(seed=2)
        start = env.world.x.copy()
        env.step(np.zeros(robot.n))
        assert np.abs(env.world.x - start).max() < 1e-9
        for sign in (1.0, -1.0):
            torque = env.world._torque_of(np.full((1, robot.n), sign))[0]
            assert (np.abs(torque) <= robot.limits.effort).all()
        for actions, share in (("compensated", 0.2), ("velocity", 0.4)):  # 0.04 s of 0.2 s, and of 0.1 s
            env = Environment(robot, friction=False, actions=actions)
            env.reset(seed=2)
            env.step(0.2 * np.eye(robot.n)[0])
            assert np.isclose(env.world.x[0, robot.n] / robot.limits.velocity[0], 0.2 * share, rtol=0.1)
        for _ in range(12):
            env.step(0.2 * np.eye(robot.n)[0])
        assert np.allclose(env.world.x[0, robot.n :] / robot.limits.velocity, 0.2 * np.eye(robot.n)[0], atol=0.05)


def test_only_those_of_a_mask_are_reset(arm):
    many = VectorEnvironment(arm, 3, **OPTIONS)
    many.reset(seed=0)
    before, *_ = many.step(np.ones((3, 2)))
    after, _ = many.reset(options={"reset_mask": np.array([False, True, False])})
    assert np.array_equal(after[[0, 2]], before[[0, 2]]) and not np.array_equal(after[1], before[1])
    assert many.world.steps.tolist() == [1, 0, 1]
    with raises(dl.InputError, "wrong-shape reset_mask"):
        many.reset(options={"reset_mask": [0, 1, 0]})


def test_tracking_and_a_reward_of_ones_own(arm):
    def reference(t):
        s, c = np.sin(t), np.cos(t)
        return [0.3 * s, 0.2 * c], [0.3 * c, -0.2 * s], [-0.3 * s, -0.2 * c]

    seen = []

    def reward(s):
        seen.append(s)
        return -np.abs(s.error).sum(-1)

    env = Environment(arm, Track(reference), reward=reward, **OPTIONS)
    env.reset(seed=0, options={"q": [0.0, 0.2]})
    observation, value, *_ = env.step([0.0, 0.0])
    assert observation.shape == (10,) and seen[0].t.tolist() == [0.04]
    assert abs(value + np.abs(seen[0].error).sum()) < 1e-12
    env = Environment(arm, Track([0.5, 0.5]), **{**OPTIONS, "torque_limits": [200.0, 80.0]}, friction=False)
    env.reset(seed=0, options={"q": [0.0, 0.0]})
    for _ in range(25):  # a controller as the agent: it ends where the task wants it
        s = env.world.now()
        M, h = arm.mass_matrix(s.q[0]), arm.bias_torque(s.q[0], s.qd[0])
        tau = M @ (100 * (0.5 - s.q[0]) - 20 * s.qd[0]) + h
        info = env.step(tau / [200.0, 80.0])[4]
    assert info["success"]


def test_registered_names():
    register()
    register()  # twice is once
    env = gymnasium.make("dalembert/Reach-v0", robot="ur5e", duration=0.5)
    assert env.reset(seed=0)[0].shape == (30,)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*")
        mode = "vector_entry_point"
        many = gymnasium.make_vec("dalembert/Reach-v0", num_envs=3, robot="ur5e", vectorization_mode=mode)
    assert many.reset(seed=0)[0].shape == (3, 30)


def test_render_gives_pixels(arm):
    env = Environment(arm, render_mode="rgb_array", **OPTIONS)
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (480, 640, 3) and picture.dtype == np.uint8 and picture.std() > 5
    assert Environment(arm, **OPTIONS).render() is None
    many = VectorEnvironment(arm, 2, render_mode="rgb_array", **OPTIONS)
    many.reset(seed=0)
    assert len(many.render()) == 2


def test_render_draws_the_goal(arm):
    """The same arm in the same place: what differs is the goal, a point or a faint posture."""
    env = Environment(arm, render_mode="rgb_array", **OPTIONS)
    pictures = []
    for goal in ([1.0, 1.0, 0.0], [1.2, 0.8, 0.0], [1.0, 1.0, 0.0]):
        env.reset(seed=0, options={"q": [0.4, -0.3], "goal": goal})
        pictures.append(env.render())
    assert not np.array_equal(pictures[0], pictures[1]) and np.array_equal(pictures[0], pictures[2])
    from dalembert.draw.arm import rgb_array

    assert not np.array_equal(pictures[0], rgb_array(arm, [0.4, -0.3]))
    wanted = []
    for goal in ([0.5, 0.5], [0.9, 0.2]):
        env = Environment(arm, Track(goal), render_mode="rgb_array", **OPTIONS)
        env.reset(seed=0, options={"q": [0.4, -0.3]})
        wanted.append(env.render())
    assert not np.array_equal(*wanted)


def test_bad_input_is_told(arm, monkeypatch):
    env = Environment(arm, **OPTIONS)
    env.reset(seed=0)
    for call, fields, text in (
        (lambda: Environment(arm), "missing torque_limits", "'joint1' of 'planar-2r'"),
        (lambda: Environment("pandaa"), "unknown-name", "'panda'?"),
        (lambda: Environment(arm, 3, **OPTIONS), "wrong-type task", "int"),
        (lambda: Environment(arm, Reach("tol"), **OPTIONS), "unknown-name", "'tool'?"),
        (lambda: Environment(arm, Reach(tolerance=0.0), **OPTIONS), "out-of-range", "tolerance of Reach is 0.0"),
        (lambda: Environment(arm, Track([0.1]), **OPTIONS), "wrong-shape reference", "the 2 joints of 'planar-2r'"),
        (lambda: Environment(arm, Track(lambda t: [0.1, t]), **OPTIONS), "missing reference", "rates"),
        (lambda: Environment(arm, step=0.01, dt=0.003, **OPTIONS), "conflict step", "`dt=0.003`"),
        (lambda: Environment(arm, dt=-1.0, **OPTIONS), "out-of-range", "greater than 0 [s]"),
        (lambda: Environment(arm, reward=3, **OPTIONS), "wrong-type reward", "function"),
        (lambda: Environment(arm, penalty=-1.0, **OPTIONS), "out-of-range", "penalty of the environment is -1.0"),
        (lambda: Environment(arm, **{**OPTIONS, "actions": "torqe"}), "unknown-name", "'torque'?"),
        (lambda: Environment(arm, render_mode="humn", **OPTIONS), "unknown-name", "render_mode 'humn'"),
        (lambda: VectorEnvironment(arm, 0, **OPTIONS), "out-of-range num_envs", "got 0"),
        (lambda: VectorEnvironment(arm, 3, **OPTIONS).reset(seed=[1, 2]), "wrong-shape seed", "got 2"),
        (lambda: env.step([0.1]), "wrong-shape", "shape (1, 1); it must be (1, 2): a number in −1…1 per joint"),
        (lambda: env.step([np.nan, 0.0]), "not-finite", "the action is nan at [0, 0]"),
        (lambda: env.reset(options={"Q": 1}), "unknown-name options", "'Q'; choose from 'q', 'qd', 'goal'"),
        (lambda: env.reset(options={"q": [1.0]}), "wrong-shape", "option 'q' of reset must be 2 finite numbers"),
    ):
        with pytest.raises(dl.DalembertError) as told:
            call()
        assert fields_of(told.value) == fields, str(told.value)
        assert text in str(told.value), str(told.value)
    wrong = Environment(arm, reward=lambda s: 1.0, **OPTIONS)
    wrong.reset(seed=0)
    with pytest.raises(dl.InputError, match=r"the reward has shape .*it must be .*: one number for each environment"):
        wrong.step([0.0, 0.0])
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "dalembert.interchange.environment")
    with pytest.raises(dl.MissingExtraError, match=r"pip install 'dalembert\[gym\]'"):
        import dalembert.interchange.environment  # noqa: F401


def test_obstacles_are_kept_off():
    """Starts and goals are clear, to touch ends the episode at the worst price, many robots do what one does."""
    arm, floor = dl.load("ur5e"), dl.World().floor(0.0).sphere("lamp", 0.15, (0.4, 0.2, 0.5))
    env = Environment(arm, avoid=floor)
    assert min(float(arm.clearance(around_the_middle(arm, np.random.default_rng(k)), floor)) for k in range(20)) < 0
    for k in range(20):
        _, info = env.reset(seed=k)
        assert info["clearance"] == arm.clearance(info["q"], floor) > 0
        assert arm.ik(info["goal"], rows="position", avoid=floor)
    down = np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    _, info = env.reset(seed=0, options={"q": [0.0, -1.0, 0.5, -1.2, 0.4, 0.0]})
    played = [env.step(down) for _ in range(50)]
    first = next(k for k, (_, _, lost, _, _) in enumerate(played) if lost)
    assert [info["clearance"] > 0 for *_, info in played[: first + 1]] == [True] * first + [False]
    assert played[first][1] < Reach().worst(arm) * (49 - first) + 1.0
    many = VectorEnvironment(arm, 2, avoid=floor)
    _, infos = many.reset(seed=3)
    assert np.array_equal(infos["clearance"][1], env.reset(seed=4)[1]["clearance"])
    free = Environment(arm)
    assert np.isinf(free.reset(seed=0)[1]["clearance"])
    with raises(InputError, "infeasible options"):
        env.reset(options={"q": [0.0, 0.5, 0.5, -1.2, 0.4, 0.0]})
    with raises(InputError, "infeasible avoid"):
        Environment(arm, avoid=dl.World().floor(2.0)).reset(seed=0)
    with raises(InputError, "wrong-type avoid"):
        Environment(arm, avoid=3)
