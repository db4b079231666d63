"""The loop of simulations: each rollout by itself, whatever the batch; what is kept; what diverges."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dalembert import scalar
from dalembert.compile import cache
from dalembert.compile.rollout import Call, Rollout, compile_rollout, run

DT, T0 = 0.01, 0.3
STEP = ("t", "dt", "x", "u", "p")


def pendulum(t, dt, x, u, p):
    """Semi-implicit Euler of a driven pendulum: p = (g/l, damping)."""
    rate = x[1] + dt * (u[0] + scalar.sin(3.0 * t) - p[0] * scalar.sin(x[0]) - p[1] * x[1])
    return [x[0] + dt * rate, rate]


def watched(t, x, u, p):
    return [t, u[0], x[0] + p[0]]


@pytest.fixture(scope="module")
def loop() -> Rollout:
    sizes = {"x": 2, "u": 1, "p": 2, "y": 3}
    return compile_rollout([Call(pendulum, STEP, "new")], sizes, "pendulum", Call(watched, ("t", "x", "u", "p"), "y"))


def problem(batch: tuple[int, ...], steps: int):
    rng = np.random.default_rng(3)
    return rng.normal(size=(*batch, 2)), rng.normal(size=(*batch, steps, 1)), rng.uniform(0.1, 2, (*batch, 2))


def test_the_bits_of_the_interpreter(loop):
    x0, u, p = problem((11,), 40)
    xs, ys, last, y_last, diverged = loop(x0, u, p, 40, DT, T0)
    for k in range(11):
        wanted = loop.interpret(x0[k], u[k], p[k], 40, DT, T0)
        assert np.array_equal(xs[k], wanted[:-1]) and np.array_equal(last[k], wanted[-1])
    assert (diverged == -1).all()
    t = T0 + DT * np.arange(41)
    assert np.abs(ys[0, :, 0] - t[:-1]).max() < 1e-15 and abs(y_last[0, 0] - t[-1]) < 1e-15
    # y belongs to the state before the step, and the last one to the last input
    assert np.array_equal(ys[..., 1], u[..., 0]) and np.array_equal(y_last[:, 1], u[:, -1, 0])
    assert np.array_equal(ys[..., 2], xs[..., 0] + p[:, None, 0])


def test_plain_floats_agree_to_rounding(loop):
    x0, u, p = problem((), 200)
    x = x0.tolist()
    for k in range(200):
        x = run(
            [Call(pendulum, STEP, "new")], {"t": T0 + k * DT, "dt": DT, "x": x, "u": u[k].tolist(), "p": p.tolist()}
        )["new"]
    # a pendulum neither loses nor multiplies rounding much in two seconds: 200 steps, a few ulp each
    assert np.abs(loop(x0, u, p, 200, DT, T0)[2] - x).max() < 1e-13


def test_the_same_bits_alone_and_in_any_batch(loop):
    x0, u, p = problem((37,), 30)
    whole = loop(x0, u, p, 30, DT, T0, every=7)
    for first, size in ((0, 1), (5, 2), (3, 7), (4, 8), (9, 9), (20, 17)):
        part = loop(*(a[first : first + size] for a in (x0, u, p)), 30, DT, T0, every=7)
        for a, b in zip(whole, part, strict=True):
            assert np.array_equal(a[first : first + size], b)
    alone = loop(x0[6], u[6], p[6], 30, DT, T0, every=7)
    assert all(np.array_equal(a[6], b) for a, b in zip(whole, alone, strict=True))
    wide = Rollout("wide", loop.sizes, loop.calls, loop.observed)
    wide.__dict__["width"] = 2  # as on a machine without wide registers
    assert all(np.array_equal(a, b) for a, b in zip(whole, wide(x0, u, p, 30, DT, T0, every=7), strict=True))


def test_every_so_many_are_kept(loop):
    x0, u, p = problem((5,), 20)
    full, y_full, last, _, _ = loop(x0, u, p, 20, DT, T0)
    for every in (1, 2, 3, 7, 19, 20, 21, 1000):
        xs, ys, end, _, _ = loop(x0, u, p, 20, DT, T0, every=every)
        assert np.array_equal(xs, full[:, ::every]) and np.array_equal(ys, y_full[:, ::every])
        assert np.array_equal(end, last)


def test_a_run_in_pieces_has_the_same_bits(loop):
    x0, u, p = problem((5,), 20)
    whole = loop(x0, u, p, 20, DT, T0)
    first = loop(x0, u[:, :8], p, 8, DT, T0)
    second = loop(first[2], u[:, 8:], p, 12, DT, T0, first=8)
    assert np.array_equal(np.concatenate((first[0], second[0]), 1), whole[0])
    assert np.array_equal(np.concatenate((first[1], second[1]), 1), whole[1])
    assert np.array_equal(second[2], whole[2])


def test_the_time_is_a_product_not_a_sum():
    loop = compile_rollout([Call(lambda t, x: [t], ("t", "x"), "new")], {"x": 1}, "clock")
    last = loop(np.zeros(1), np.zeros((1, 0)), np.zeros(0), 100_001, 0.1, 0.0, every=200_000)[2]
    assert last[0] == 100_000 * 0.1  # summed up it would be off by 2e-8


def test_inputs_held_broadcast_strided_and_cast(loop):
    x0, u, p = problem((3, 5), 12)
    wanted = loop(x0, u, p, 12, DT)
    # one input for all steps
    held = loop(x0, u[..., :1, :], p, 12, DT)
    assert np.array_equal(held[0], loop(x0, np.repeat(u[..., :1, :], 12, -2), p, 12, DT)[0])
    assert not np.array_equal(held[0], wanted[0])
    # any strides
    big = np.zeros((3, 5, 24, 3))
    big[..., ::2, 1:2] = u
    state = np.asfortranarray(x0)
    backwards = loop(state[::-1, ::-1], big[::-1, ::-1, ::2, 1:2], np.repeat(p, 2, -1)[::-1, ::-1, ::2], 12, DT)
    assert np.array_equal(backwards[0][::-1, ::-1], wanted[0])
    # leading dimensions that broadcast, in parts; a step length for each
    spread = loop(x0[:, :1], u[0], p, 12, np.array([DT, 2 * DT, DT])[:, None], every=4)
    assert spread[0].shape == (3, 5, 3, 2)
    for i, j in ((0, 2), (1, 4), (2, 0)):
        one = loop(x0[i, 0], u[0, j], p[i, j], 12, (DT, 2 * DT, DT)[i], every=4)
        assert np.array_equal(spread[0][i, j], one[0])
    # results into arrays of any strides
    target = np.zeros((15, 12, 4))
    out = (
        target[..., ::2],
        np.zeros((15, 3, 12)).swapaxes(1, 2),
        np.zeros((15, 4))[:, 1:3],
        np.zeros((15, 3)),
        np.zeros(15),
    )
    loop(x0.reshape(15, 2), u.reshape(15, 12, 1), p.reshape(15, 2), 12, DT, out=out)
    assert np.array_equal(out[0].reshape(3, 5, 12, 2), wanted[0]) and (target[..., 1::2] == 0).all()
    assert np.array_equal(out[1].reshape(3, 5, 12, 3), wanted[1])


def test_no_steps_one_step_one_rollout_none(loop):
    x0, u, p = problem((3,), 1)
    xs, ys, last, y_last, diverged = loop(x0, u[:, :0], p, 0, DT, T0)
    assert xs.shape == (3, 0, 2) and ys.shape == (3, 0, 3) and np.array_equal(last, x0)
    assert (y_last[:, 0] == T0).all() and (diverged == -1).all()
    one = loop(x0, u, p, 1, DT, T0)
    assert np.array_equal(one[0][:, 0], x0)
    assert np.array_equal(one[2][0], loop.interpret(x0[0], u[0], p[0], 1, DT, T0)[-1])
    assert loop(x0[:1], u[:1], p[:1], 1, DT, T0)[2].shape == (1, 2)
    empty = loop(x0[:0], u[:0], p[:0], 1, DT, T0)
    assert [a.shape for a in empty] == [(0, 1, 2), (0, 1, 3), (0, 2), (0, 3), (0,)]


def test_the_memory_around_a_partial_tile_is_not_touched(loop):
    x0, u, p = problem((loop.width + 3,), 5)
    guard = [np.full((loop.width + 5, *s), 7.25) for s in ((5, 2), (5, 3), (2,), (3,), ())]
    out = tuple(a[1:-1] for a in guard)
    loop(x0, u, p, 5, DT, out=out)
    assert all((a[0] == 7.25).all() and (a[-1] == 7.25).all() for a in guard)
    assert np.isfinite(out[0]).all()


def squares(t, dt, x, u, p):
    """x⁺ = x²: beyond one it overflows; `where` would cure a NaN."""
    return [scalar.where(x[0] * x[0] >= 0.0, x[0] * x[0], 0.0)]


def test_what_diverges_is_marked_and_neighbors_are_untouched():
    loop = compile_rollout([Call(squares, STEP, "new")], {"x": 1}, "squares", None)
    x0 = np.array([[0.5], [10.0], [-0.9], [1e200], [2.0], [0.1], [1.0], [1e100], [0.0]])
    nothing = np.zeros((1, 0)), np.zeros(0)
    with np.errstate(all="ignore"):
        xs, _, last, _, diverged = loop(x0, *nothing, 12, DT)
        alone = [loop(x, *nothing, 12, DT) for x in x0]
        sure = loop(np.array([[np.nan], [np.inf], [0.5]]), *nothing, 3, DT)
    # 10^(2^k) > 1.8e308 from k = 9 on: the ninth step, number 8, overflows; 2^(2^k) from k = 10 on
    assert diverged.tolist() == [-1, 8, -1, 0, 9, -1, -1, 1, -1]
    for k, (x, d) in enumerate(zip(xs, diverged.astype(int), strict=True)):
        good = 12 if d < 0 else d + 1
        assert np.isfinite(x[:good]).all() and np.isnan(x[good:]).all(), k  # and no `where` brings it back
        assert np.array_equal(x, alone[k][0], equal_nan=True) and alone[k][4] == d
        assert np.isnan(last[k]).all() == (d >= 0)
    assert sure[4].tolist() == [0, 0, -1] and np.isnan(sure[2][:2]).all()


def test_several_calls_share_one_function():
    """Heun's rule, its rate called twice and compiled once; a block that is constant in part."""

    def rate(x, u):
        return [x[1], -x[0] + u[0], 1.0]

    def ahead(dt, x, k):
        return [a + dt * b for a, b in zip(x, k, strict=True)]

    def finish(dt, x, k, l):
        return [a + 0.5 * dt * (b + c) for a, b, c in zip(x, k, l, strict=True)]

    def same(x):
        return x

    calls = [
        Call(same, ("x",), "at"),
        Call(rate, ("at", "u"), "k"),
        Call(ahead, ("dt", "x", "k"), "at"),
        Call(rate, ("at", "u"), "l"),
        Call(finish, ("dt", "x", "k", "l"), "new"),
    ]
    loop = compile_rollout(calls, {"x": 3, "u": 1, "at": 3, "k": 3, "l": 3}, "heun")
    assert loop.calls[1][0] is loop.calls[3][0]
    x0 = np.array([1.0, 0.0, 0.0])
    for steps in (50, 100):
        last = loop(x0, np.zeros((1, 1)), np.zeros(0), steps, 1.0 / steps)[2]
        assert np.array_equal(last, loop.interpret(x0, [0.0], [], steps, 1.0 / steps)[-1])
        assert np.abs(last[:2] - [np.cos(1), -np.sin(1)]).max() < 0.2 / steps**2
        assert abs(last[2] - 1) < 1e-14


def test_long_steps_are_cut_and_agree_with_the_interpreter():
    """Thousands of operations, in many functions, with a record too large for the stack."""

    def step(t, dt, x, u, p):
        for _ in range(4):
            x = [0.5 * x[i] + 0.49 * scalar.sin(x[i - 1] + t) * x[i - 7] - 0.1 * x[i] * x[i - 3] for i in range(150)]
        return x

    loop = compile_rollout([Call(step, STEP, "new")], {"x": 150, "work": 1500}, "long")
    assert loop.operations > 3000
    x0 = np.random.default_rng(0).normal(size=(6, 150))
    last = loop(x0, np.zeros((1, 0)), np.zeros(0), 3, 0.1)[2]
    assert np.array_equal(last[4], loop.interpret(x0[4], [], [], 3, 0.1)[-1])


def test_two_threads_at_once(loop):
    x0, u, p = problem((64,), 300)
    wanted = loop(x0, u, p, 300, DT)
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(loop, x0, u, p, 300, DT) for _ in range(8)]
        for job in jobs:
            assert all(np.array_equal(a, b) for a, b in zip(job.result(), wanted, strict=True))


def test_pickles_and_is_found_on_disk(loop, tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "kernels"))
    x0, u, p = problem((4,), 9)
    wanted = loop(x0, u, p, 9, DT)[2]
    copy = pickle.loads(pickle.dumps(loop))
    assert copy is not loop and "ufunc" not in copy.__dict__
    assert np.array_equal(copy(x0, u, p, 9, DT)[2], wanted)
    assert len(cache.entries()) == 1
    monkeypatch.setattr("dalembert.compile.llvm.object_code", None)  # from now on nothing can be compiled
    again = pickle.loads(pickle.dumps(loop))
    assert np.array_equal(again(x0, u, p, 9, DT)[2], wanted)


def test_misuse_is_refused(loop):
    x0, u, p = problem((4,), 9)
    with pytest.raises(ValueError, match=r"takes x0 \(…, 2\), u \(…, steps, 1\) and p \(…, 2\)"):
        loop(x0[:, :1], u, p, 9, DT)
    with pytest.raises(ValueError, match="9 rows of inputs for 10 steps"):
        loop(x0, u, p, 10, DT)
    with pytest.raises(ValueError, match="may only read"):
        compile_rollout([Call(pendulum, STEP, "x")], {"x": 2, "u": 1, "p": 2})
    with pytest.raises(ValueError, match="must write 'new'"):
        compile_rollout([Call(pendulum, STEP, "other")], {"x": 2, "u": 1, "p": 2, "other": 2})


@pytest.mark.parametrize("name", ["t0", "mark", "t", "dt", "new"])
def test_blocks_of_the_loop_itself_are_no_names_for_others(name):
    """A second block of that name was written past the record of the loop."""
    calls = [Call(pendulum, STEP, "stage"), Call(lambda a: list(a[:2]), ("stage",), "new")]
    sizes = {"x": 2, "u": 1, "p": 2, "stage": 2}
    compile_rollout(calls, sizes)
    with pytest.raises(ValueError, match=f"'{name}'"):
        compile_rollout(calls, {**sizes, name: 40})


def test_a_block_without_a_size_and_an_input_that_is_written():
    for reads, writes in ((("x", "nowhere"), "new"), (("x",), "nowhere"), (("x",), "u")):
        with pytest.raises(ValueError, match=f"'{'u' if writes == 'u' else 'nowhere'}'"):
            compile_rollout([Call(lambda *a: list(a[0]), reads, writes)], {"x": 2, "u": 2})
