"""Gymnasium environments: the checker, determinism, one against many, tasks, rewards, what is refused."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

import dalembert as dl
from dalembert.interchange import Reach, Track

gymnasium = pytest.importorskip("gymnasium", reason="no gymnasium")

from dalembert.interchange.environment import Environment, VectorEnvironment, register  # noqa: E402


@pytest.fixture(scope="module")
def arm() -> dl.Robot:
    """A planar arm whose drives and joints have limits."""
    return dl.load("planar-2r")


OPTIONS = {"torque_limits": [40.0, 15.0], "duration": 1.0, "stop_at_limits": False}


def test_the_checker_is_content(arm):
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():  # observations have no bounds: rates have none
        warnings.filterwarnings("ignore", message=".*Box observation space.*")
        warnings.filterwarnings("ignore", message=".*not having a spec.*")
        check_env(Environment(arm, **OPTIONS, render_mode="rgb_array"), skip_render_check=False)


def test_a_step_is_the_simulation(arm):
    env = Environment(arm, **OPTIONS, friction=False)
    q0, qd0 = np.array([0.4, -0.3]), np.array([0.1, 0.2])
    observation, info = env.reset(seed=1, options={"q": q0, "qd": qd0, "goal": [1.0, 1.0, 0.0]})
    assert np.array_equal(observation[:4], np.float32([0.4, -0.3, 0.1, 0.2]))
    assert np.allclose(info["error"], [1.0, 1.0, 0.0] - arm.fk(q0)[:3, 3])
    observation, reward, terminated, truncated, info = env.step([0.5, -0.25])
    run = dl.simulate(arm, q0=q0, qd0=qd0, duration=0.02, dt=0.002, friction=False, tau=[20.0, -3.75])
    assert np.allclose(observation[:4], [*run.q[-1], *run.qd[-1]], rtol=1e-6)
    distance = np.linalg.norm([1.0, 1.0, 0.0] - arm.fk(run.q[-1])[:3, 3])
    assert abs(reward - (-distance - 1e-3 * (0.5**2 + 0.25**2))) < 1e-9
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


def test_leaving_the_limits_ends_an_episode():
    arm = dl.load("ur5e")
    env = Environment(arm)
    env.reset(seed=0, options={"q": arm.limits.upper - 1e-3, "qd": np.full(6, 1.0)})
    terminated = env.step(np.zeros(6))[2]
    assert terminated
    free = Environment(arm, stop_at_limits=False)
    free.reset(seed=0, options={"q": arm.limits.upper - 1e-3, "qd": np.full(6, 1.0)})
    assert not free.step(np.zeros(6))[2]


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
    assert observation.shape == (8,) and seen[0].t.tolist() == [0.02]
    assert abs(value + np.abs(seen[0].error).sum()) < 1e-12
    env = Environment(arm, Track([0.5, 0.5]), **{**OPTIONS, "torque_limits": [200.0, 80.0]}, friction=False)
    env.reset(seed=0, options={"q": [0.0, 0.0]})
    for _ in range(40):  # a controller as the agent: it ends where the task wants it
        s = env.world.now()
        M, h = arm.mass_matrix(s.q[0]), arm.bias_torque(s.q[0], s.qd[0])
        tau = M @ (100 * (0.5 - s.q[0]) - 20 * s.qd[0]) + h
        info = env.step(tau / [200.0, 80.0])[4]
    assert info["success"]


def test_registered_names():
    register()
    register()  # twice is once
    env = gymnasium.make("dalembert/Reach-v0", robot="ur5e", duration=0.5)
    assert env.reset(seed=0)[0].shape == (15,)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*")
        mode = "vector_entry_point"
        many = gymnasium.make_vec("dalembert/Reach-v0", num_envs=3, robot="ur5e", vectorization_mode=mode)
    assert many.reset(seed=0)[0].shape == (3, 15)


def test_render_gives_pixels(arm):
    env = Environment(arm, render_mode="rgb_array", **OPTIONS)
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (480, 640, 3) and picture.dtype == np.uint8 and picture.std() > 5
    assert Environment(arm, **OPTIONS).render() is None
    many = VectorEnvironment(arm, 2, render_mode="rgb_array", **OPTIONS)
    many.reset(seed=0)
    assert len(many.render()) == 2


def test_bad_input_is_told(arm, monkeypatch):
    env = Environment(arm, **OPTIONS)
    env.reset(seed=0)
    for call, text in (
        (lambda: Environment(arm), "joint 'joint1' of 'planar-2r' has no largest effort"),
        (lambda: Environment("pandaa"), "did you mean 'panda'?"),
        (lambda: Environment(arm, 3, **OPTIONS), "task must be a Reach, a Track or a Task of your own, got int"),
        (lambda: Environment(arm, Reach("tol"), **OPTIONS), "did you mean 'tool'?"),
        (lambda: Environment(arm, Reach(tolerance=0.0), **OPTIONS), "the tolerance of Reach is 0.0"),
        (lambda: Environment(arm, Track([0.1]), **OPTIONS), "a motion of the 2 joints of 'planar-2r'; got one of 1"),
        (lambda: Environment(arm, Track(lambda t: [0.1, t]), **OPTIONS), "Track needs the rates of its motion"),
        (lambda: Environment(arm, step=0.01, dt=0.003, **OPTIONS), "must be a whole number of dt = 0.003 s"),
        (lambda: Environment(arm, dt=-1.0, **OPTIONS), "it must be greater than 0 [s]"),
        (lambda: Environment(arm, reward=3, **OPTIONS), "reward must be a function"),
        (lambda: Environment(arm, render_mode="humn", **OPTIONS), "unknown render_mode 'humn'"),
        (lambda: VectorEnvironment(arm, 0, **OPTIONS), "at least 1; got 0"),
        (lambda: VectorEnvironment(arm, 3, **OPTIONS).reset(seed=[1, 2]), "2 seeds for 3 environments"),
        (lambda: env.step([0.1]), "an action is 2 finite numbers in −1…1 for each environment; got shape (1, 1)"),
        (lambda: env.step([np.nan, 0.0]), "with numbers that are not finite"),
        (lambda: env.reset(options={"Q": 1}), "unknown option 'Q' of reset; choose from q, qd, goal"),
        (lambda: env.reset(options={"q": [1.0]}), "option 'q' of reset must be 2 finite numbers"),
    ):
        with pytest.raises(dl.DalembertError) as told:
            call()
        assert text in str(told.value), str(told.value)
    wrong = Environment(arm, reward=lambda s: 1.0, **OPTIONS)
    wrong.reset(seed=0)
    with pytest.raises(dl.InputError, match="one finite number for each environment, shape"):
        wrong.step([0.0, 0.0])
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "dalembert.interchange.environment")
    with pytest.raises(dl.MissingExtraError, match=r"gymnasium is not installed: pip install 'dalembert\[gym\]'"):
        import dalembert.interchange.environment  # noqa: F401
