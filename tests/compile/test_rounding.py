"""Bounds on the errors of float32: never exceeded, known exactly where they can be, and not far above what is met."""

from __future__ import annotations

import math
import site
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert import scalar
from dalembert.compile import compile_function
from dalembert.compile.float32 import _draw, compile_single
from dalembert.compile.kinds import SINGLE, SINGLE_UNFUSED
from dalembert.compile.operations import OPERATIONS
from dalembert.compile.rounding import ACCURACY, Rounding
from dalembert.errors import InputError, UnknownNameError
from dalembert.friction import friction, torque
from errors import raises

U = 2.0**-24
STRANGERS = Path(site.getsitepackages()[0]) / "cmeel.prefix/share/example-robot-data/robots"


def kernel(function, outputs=(), inputs=2):
    return compile_function(
        lambda *x: function(*x), [()] * inputs, [outputs], "tried", arguments=("x", "y", "z")[:inputs]
    )


def bound(function, *ranges, outputs=(), boxes=1, fused=True):
    own = kernel(function, outputs, len(ranges))
    return own.float32_error(dict(zip(own.arguments, ranges, strict=True)), boxes, fused)


def check(own, box, boxes=1, fused=True, states=20_000):
    """The law: what is met never exceeds the bound."""
    found = own.float32_error(box, boxes, fused)
    met = found.attained(states)
    assert np.all(
        np.concatenate([np.ravel(x) for x in np.atleast_1d(met)]) <= np.concatenate([b.ravel() for b in found.bounds])
    )
    return found


# ------------------------------------------------------------------------------------------- errors known exactly
def test_one_rounding():
    """Half a unit in the last place of the largest value."""
    assert bound(lambda x, y: x * y, (1, 1.9), (1, 1.9)).bound == pytest.approx(2 * U, rel=1e-5)
    assert bound(lambda x, y: x + y, (1, 1.9), (1, 1.9)).bound == pytest.approx(2 * U, rel=1e-5)
    assert bound(lambda x, y: x / y, (1, 1.9), (1, 1.9)).bound == pytest.approx(U, rel=1e-5)
    assert bound(lambda x: scalar.sqrt(x), (1, 1.9)).bound == pytest.approx(U, rel=1e-5)
    found = bound(lambda x, y: x * y, (1, 1.9), (1, 1.9))
    assert 0.99 * found.bound <= found.attained() <= found.bound


def test_a_constant_that_float32_does_not_have():
    of_constant = abs(float(np.float32(0.1)) - 0.1)
    assert bound(lambda x: 0.1 * x, (1, 1.5)).bound == pytest.approx(1.5 * of_constant + U / 8, rel=1e-5)
    assert bound(lambda x: scalar.where(x < 0, x, 0.1), (1, 2)).bound == pytest.approx(of_constant, rel=1e-5)


def test_fused_and_not():
    def sum_of_product(x, y, z):
        return x * y + z

    ranges = (1, 1.9), (1, 1.9), (4, 4.1)
    assert bound(sum_of_product, *ranges).bound == pytest.approx(4 * U, rel=1e-5)
    assert bound(sum_of_product, *ranges, fused=False).bound == pytest.approx(6 * U, rel=1e-5)
    # of a product of numbers of different sizes
    other = bound(sum_of_product, (16, 17), (1, 1.05), (100, 100.1), fused=False).bound
    assert other == pytest.approx(16 * U + 64 * U, rel=1e-5)
    # x·x − x·x is zero only if the product is rounded twice or never
    assert compile_single(kernel(sum_of_product, inputs=3), False)(*np.float32([1.1, 1.1, -1.1 * 1.1])) == 0
    assert compile_single(kernel(sum_of_product, inputs=3), True)(*np.float32([1.1, 1.1, -1.1 * 1.1])) != 0


def test_what_is_exact():
    for function in (
        lambda x, y: -x,
        lambda x, y: scalar.absolute(x),
        lambda x, y: scalar.minimum(x, y),
        lambda x, y: scalar.maximum(scalar.minimum(x, 0.5), -0.5),
        lambda x, y: scalar.sign(x),
        lambda x, y: scalar.where(x < y, x, -3.0),
    ):
        assert bound(function, (-1, 2), (-3, 1)).bound == 0
    assert bound(lambda x: 4.0 * x, (-1, 2)).bound <= 2.0**-149


def test_what_cancels_counts_once():
    """Two ways lead from 0.1 x to (0.1 x + y) − 0.1 x, and cancel: its rounding, 64 units, does not come out."""
    found = bound(lambda x, y: (0.1 * x + y) - 0.1 * x, (1000, 1100), (0, 1))
    assert found.attained() <= found.bound <= 128 * U * 1.01


# ------------------------------------------------------------------------------------------------------- choices
def test_friction():
    """Signs of what is given are the same in both; NaN for what is no number is never chosen."""
    for term, most in (
        (friction("coulomb", coulomb=2.0), 0.0),
        (friction("stribeck", coulomb=(0.3, 0.4), breakaway=0.5, speed=0.02, viscous=0.1), 2e-7),
        (friction("coulomb", coulomb=2.0, smooth="root", width=0.01), 5e-7),
        (friction("coulomb", coulomb=2.0, smooth="ramp", width=0.01), 5e-7),
    ):
        found = check(kernel(lambda v, term=term: torque(term, v), inputs=1), {"x": (-1, 1)}, 1000)
        assert found.bound <= most and found.why == ()


def test_the_smaller_and_the_larger_do_not_jump():
    found = bound(lambda x, y: scalar.maximum(scalar.minimum(x * y, 0.1), -0.1), (-1, 1), (-1, 1))
    assert found.bound <= 1.1 * U and found.why == ()


def test_a_choice_that_rounding_may_change_counts_as_a_jump():
    found = bound(lambda x: scalar.where(0.1 * x < 0.2, 0.0, 1.0), (1, 3), boxes=200)
    assert found.bound == pytest.approx(1.0, rel=1e-5)
    (sentence,) = found.why
    assert "may choose otherwise" in sentence and "counted as 1" in sentence
    assert bound(lambda x: scalar.where(0.1 * x < 0.2, 0.0, 1.0), (1, 1.9)).bound == 0


def test_what_is_not_chosen_does_not_count():
    assert bound(lambda x, y: scalar.where(x < 0, 1.0 / y, y), (1, 2), (-1, 1)).bound == 0
    assert bound(lambda x, y: scalar.where(x < 3, y, 1.0 / y), (1, 2), (-1, 1)).bound == 0
    assert bound(lambda x, y: [1.0 / y, x], (1, 2), (-1, 1), outputs=(2,)).bound.tolist() == [math.inf, 0.0]


@pytest.mark.parametrize(
    ("function", "side", "words"),
    [
        (lambda x: 1.0 / x, (-1, 1), "divides by a number between -1 and 1, which may be zero"),
        (lambda x: 1.0 / x, (1e-39, 1), "divides by a number between 1e-39 and 1, which may be zero or next to it"),
        (lambda x: scalar.sqrt(x), (-1, 1), "root of a number between -1 and 1"),
        (lambda x: scalar.sqrt(x * x), (0, 1), "of zero it has no slope"),
        (lambda x: scalar.sqrt(scalar.absolute(0.1 * x)), (-1, 1), "root of a number between 0 and 0.1"),
        (lambda x: scalar.log(x), (0, 1), "logarithm of a number between 0 and 1"),
        (lambda x: scalar.sin(x), (0, 1e4), "sin of an angle between 0 and 1e+04 rad; it must be within ±8192 rad"),
        (lambda x: x * x, (0, 1e30), "(multiply) may exceed 3.4e+38"),
        (lambda x: scalar.exp(x), (0, 100), "(exp) may exceed 3.4e+38"),
    ],
)
def test_no_bound_and_why(function, side, words):
    found = bound(function, side)
    assert found.bound == math.inf
    assert words in found.why[0]
    assert words in str(found)


def test_the_first_reason_alone_is_told():
    (sentence,) = bound(lambda x: 3.0 * (1.0 / x) + x, (-1, 1)).why
    assert "divides" in sentence


def test_steps_that_two_others_use_alike():
    """a + b − 2.5 a b with a = 0.1 and b = 0.3 off by what float32 makes of two constants."""

    def function(x, y):
        a, b = 1000.1 * x - 1000.0, 1000.3 * y - 1000.0
        product = a * b
        return (a + b) - 2.5 * product

    errors = [abs(float(np.float32(c)) - c) for c in (1000.1, 1000.3)]
    assert bound(function, (1, 1), (1, 1)).bound == pytest.approx(0.25 * errors[0] + 0.75 * errors[1], rel=0.02)


def test_a_vector_that_is_turned_and_turned_back():
    """c (c v) + s (s v) = v: with the sine and cosine of one angle the weights of v add up to √2 at most, not to 2.
    Most of the error of v is that of a constant, which also counts in the products."""

    def function(x, y):
        v, c, s = 1000.1 * x - 1000.0 * x, scalar.cos(y), scalar.sin(y)
        return c * (c * v) + s * (s * v)

    constant = abs(float(np.float32(1000.1)) - 1000.1)
    found = bound(function, (1, 1), (-3, 3))
    assert constant < found.attained() <= found.bound < 3.5 * constant


@pytest.mark.parametrize(("angles", "sides"), [((0.5, 0.7), (-2, 2)), ((0.1, 1.2), (0.5, 2)), ((3.2, 4.3), (0.5, 2))])
def test_turns_by_angles_that_are_hardly_known(angles, sides):
    """The weight of v is y cos x + sin x: between its ends, and no more than √(1 + y²). The error of v is that of
    a constant: hardly anything else is rounded."""

    def function(x, y, z):
        v = scalar.where(z < 0, z, 1000.1) - 1000.0
        c, s = scalar.cos(x), scalar.sin(x)
        return y * (c * v) + (s * v)

    constant = abs(float(np.float32(1000.1)) - 1000.1)
    x, y = np.meshgrid(np.linspace(*angles, 500), np.linspace(*sides, 500))
    most = np.abs(y * np.cos(x) + np.sin(x)).max()
    found = bound(function, angles, sides, (1, 1))
    assert 0.95 * most * constant < found.attained() <= found.bound < 1.1 * math.hypot(1, sides[1]) * constant


def test_cutting_finds_a_bound_where_one_box_has_none():
    def function(x):
        return 1.0 / (x * x - 1.5 * x + 1.0)

    assert bound(function, (0, 2)).bound == math.inf
    assert bound(function, (0, 2), boxes=500).bound < 2e-6


# ---------------------------------------------------------------------------------------------------------- laws
def random_program(seed, depth=40):
    """Outputs made of random steps on three inputs."""
    rng = np.random.default_rng(seed)

    def function(x, y, z):
        made = [x, y, z, x * rng.normal(), y + rng.normal()]
        for _ in range(depth):
            a, b, c = (made[k] for k in rng.integers(0, len(made), 3))
            made.append(
                [
                    lambda a, b, c: a * b,
                    lambda a, b, c: a * b + c,
                    lambda a, b, c: a - b * rng.normal(),
                    lambda a, b, c: scalar.sin(a) * b + scalar.cos(a) * c,
                    lambda a, b, c: scalar.cos(a) * b - scalar.sin(a) * c,
                    lambda a, b, c: scalar.cos(a + b),
                    lambda a, b, c: a / (b * b + 1.0),
                    lambda a, b, c: scalar.sqrt(a * a + 0.3),
                    lambda a, b, c: scalar.exp(scalar.minimum(a, 1.0)),
                    lambda a, b, c: scalar.log(scalar.absolute(a) + 0.2),
                    lambda a, b, c: scalar.maximum(a, scalar.minimum(b, c)),
                    lambda a, b, c: scalar.where(x < y, a, b),
                ][rng.integers(12)](a, b, c)
            )
            made[-1] = scalar.maximum(scalar.minimum(made[-1], 8.0), -8.0)
        return made[-24:]

    return compile_function(function, [(), (), ()], [(24,)], f"random {seed}", arguments=("x", "y", "z"))


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_nothing_exceeds_the_bound(seed, fused):
    own, rng = random_program(seed), np.random.default_rng(seed)
    for scale in (1e-4, 1e-2, 1.0):
        middle = rng.normal(size=3)
        box = {name: (m - scale, m + scale) for name, m in zip("xyz", middle, strict=True)}
        found = check(own, box, boxes=60, fused=fused)
        assert np.isfinite(found.bound).all()


def test_at_one_state_it_is_the_sum_of_what_every_rounding_does():
    """Each step of the program is moved a little, one at a time: half a unit of its value times what that does."""
    own, state = dl.load("elbow-3r").kernel("inverse_dynamics"), np.random.default_rng(0).uniform(0.1, 1, (3, 3))
    steps, small = own.program.steps, 1e-6

    def run(moved=-1):
        values = []
        for k, step in enumerate(steps):
            x = [-values[o] if flipped else values[o] for o, flipped in zip_longest(step.operands, step.flip)]
            own_value = {"constant": step.value, "input": state[step.value] if step.operation == "input" else None}
            value = own_value[step.operation] if not x else OPERATIONS[step.operation].value(*x)
            values.append(value + small * (k == moved))
        return np.array(values)

    def rounding(step, value, operands):
        said = ACCURACY[SINGLE]
        if step.operation == "constant":
            return abs(float(np.float32(value)) - value)
        if step.operation in ("input", "negate") or (
            step.operation == "multiply" and math.frexp(operands[0])[0] == 0.5
        ):
            return 0.0
        if step.operation in ("sin", "cos"):
            return said.cos if step.operation == "cos" else min(said.sin, said.sin_by_x * operands[0])
        return U * 2.0 ** math.floor(math.log2(abs(value)))

    exact, total, places = run(), np.zeros(3), list(own.program.outputs[0])
    for k, step in enumerate(steps):
        effect = np.abs(run(k) - exact)[places] / small
        total += effect * rounding(step, exact[k], exact[list(step.operands)])
    found = own.float32_error({name: (x, x) for name, x in zip(own.arguments, state, strict=True)})
    assert np.allclose(found.bound, total, rtol=1e-4)


def test_a_part_has_no_larger_bound():
    rng = np.random.default_rng(5)
    for seed in range(2):
        own = random_program(seed)
        low, high = np.full(3, -1.0), np.full(3, 1.5)
        before = math.inf
        for _ in range(4):
            now = own.float32_error({n: (a, b) for n, a, b in zip("xyz", low, high, strict=True)}, 1).bound
            assert np.all(now <= before * (1 + 1e-9))
            before = now
            low, high = low + rng.uniform(0, 0.3, 3) * (high - low), high - rng.uniform(0, 0.3, 3) * (high - low)


def test_cutting_never_hurts():
    own = random_program(1)
    box = {name: (-1.0, 1.0) for name in "xyz"}
    one, many = own.float32_error(box, 1), own.float32_error(box, 400)
    assert np.all(many.bound <= one.bound) and np.any(many.bound < 0.7 * one.bound)
    assert one.boxes == 1 < many.boxes <= 400


def test_boxes_in_pieces_are_those_at_once(monkeypatch):
    own, rng = random_program(1), np.random.default_rng(0)
    analysis = Rounding(own.program, [1, 1, 1])
    low = rng.uniform(-1, 1, (50, 3))
    high = low + rng.uniform(0, 0.3, (50, 3))
    whole = analysis.bound(low, high)
    monkeypatch.setattr("dalembert.compile.rounding.CHUNK", 7 * len(analysis.outputs))
    assert np.isfinite(whole).any() and np.array_equal(analysis.bound(low, high), whole)


def test_a_box_without_bound_leaves_other_outputs_theirs():
    """1/y has no bound where y may be zero, x has the same everywhere; boxes of both kinds at once."""
    found = bound(lambda x, y: [1.0 / (y * y), 0.1 * x], (1, 1.5), (-1, 1), outputs=(2,), boxes=40)
    assert found.boxes > 20 and found.bound[0] == math.inf and 0 < found.bound[1] < 3 * U


def test_boxes_are_counted(monkeypatch):
    """`boxes` is how many were looked at, and no more than asked for."""
    counted, right = [], Rounding.bound

    def bound_and_count(self, low, high):
        counted.append(0 if np.array_equal(low, high) else len(low))
        return right(self, low, high)

    monkeypatch.setattr(Rounding, "bound", bound_and_count)
    for most in (30, 200):
        counted.clear()
        found = random_program(1).float32_error({name: (-1.0, 1.0) for name in "xyz"}, most)
        assert 1 < found.boxes == sum(counted) <= most


@pytest.mark.parametrize("broken", ["half a unit", "sine", "derivatives", "turns"])
def test_a_wrong_bound_is_found_out(broken, monkeypatch):
    """The law is red if the proof is wrong: a unit ten times too small, a sine without error, lost derivatives, turns
    that take the larger of two instead of their square root."""
    if broken == "half a unit":
        right = Rounding._half_unit
        monkeypatch.setattr(Rounding, "_half_unit", lambda self, size: 0.05 * right(self, size))
    elif broken == "sine":
        right = Rounding._round
        monkeypatch.setattr(
            Rounding,
            "_round",
            lambda self, step, *x: None if step.operation in ("sin", "cos") else right(self, step, *x),
        )
    elif broken == "derivatives":
        monkeypatch.setattr(Rounding, "_pass_on", lambda *x: None)
    else:
        monkeypatch.setattr(np, "hypot", lambda a, b: 0.1 * np.maximum(a, b))
    own = compile_function(
        lambda x, y, z: [scalar.sin(x), (scalar.sin(x) * y + scalar.cos(x) * z) ** 2, (x * y) * (y * z) * 0.1, x * y],
        [()] * 3,
        [(4,)],
        "probe",
        arguments=("x", "y", "z"),
    )
    with pytest.raises(AssertionError):
        check(own, {"x": (-3, 3), "y": (1, 1.9), "z": (1, 1.9)})


# --------------------------------------------------------------------------------------------------- sin, cos, exp, log
# (function, its accuracy's name, where every float32 number was tried and this was the worst)
WORST = [
    (scalar.sin, "sin", SINGLE, 2287.899169921875),
    (scalar.cos, "cos", SINGLE, 2829.8154296875),
    (scalar.sin, "sin_by_x", SINGLE, 0.7855769991874695),
    (scalar.exp, "exp", SINGLE, 59.27500534057617),
    (scalar.log, "log", SINGLE, 2.8132340908050537),
    (scalar.sin, "sin", SINGLE_UNFUSED, 2994.78466796875),
    (scalar.cos, "cos", SINGLE_UNFUSED, 379.351318359375),
    (scalar.sin, "sin_by_x", SINGLE_UNFUSED, 0.7855769991874695),
    (scalar.exp, "exp", SINGLE_UNFUSED, 26.688634872436523),
    (scalar.log, "log", SINGLE_UNFUSED, 2.798556089401245),
]


@pytest.mark.parametrize(("function", "name", "kind", "worst"), WORST)
def test_the_accuracy_of_functions(function, name, kind, worst):
    """No number of a large sample is worse than is said, and one is nearly as bad."""
    single = compile_single(compile_function(function, [()], [()], name), kind.fused)
    rng = np.random.default_rng(0)
    x = {"exp": lambda: rng.uniform(-87, 88, 500_000), "log": lambda: np.exp(rng.uniform(-103, 88, 500_000))}.get(
        name, lambda: rng.choice([-1, 1], 500_000) * np.exp2(rng.uniform(-30, 13, 500_000))
    )()
    x = np.concatenate([[worst], x, np.nextafter(np.float32(1), np.float32([0, 2]))]).astype(np.float32)
    exact = getattr(np, function.__name__)(x.astype(float))
    error = np.abs(single(x) - exact) / {"sin": 1.0, "cos": 1.0, "sin_by_x": np.abs(x)}.get(name, np.abs(exact))
    said = getattr(ACCURACY[kind], name)
    assert error.max() <= said
    assert error[0] >= 0.999 * said


@pytest.mark.parametrize("top", [-80, -100, -103.5])
def test_small_results_of_exp(top):
    """Below 1e-38 float32 has fewer digits: at last the smallest number or zero."""
    found = bound(lambda x: scalar.exp(x), (-110, top))
    assert 0 < found.attained() <= found.bound <= 3e-45 + 2e-7 * math.exp(top)


# ---------------------------------------------------------------------------------------------------------- robots
def whole_range(arm):
    sides = np.array([(c.lower, c.upper) for c in arm.model.coordinates]).T
    return tuple(np.where(np.isfinite(sides), sides, np.array([[-math.pi], [math.pi]])))


def ranges(arm, own):
    return {a: whole_range(arm) if a == "q" else (-1, 1) for a in own.arguments}


def test_a_slide_among_turns():
    arm = dl.load("stanford")
    own = arm.kernel("inverse_dynamics")
    assert np.isfinite(check(own, ranges(arm, own), 100).bound).all()


@pytest.mark.long
@pytest.mark.parametrize("name", ["planar-2r", "stanford", "rp", "scara", "puma560"])
def test_arms(name):
    arm = dl.load(name)
    for quantity in ("gravity_torque", "inverse_dynamics", "mass_matrix", "fk"):
        own = arm.kernel(quantity)
        for fused in (True, False):
            assert np.isfinite(
                np.concatenate([b.ravel() for b in check(own, ranges(arm, own), 100, fused).bounds])
            ).all()


def test_panda_at_once():
    """One box over the whole range, and what is met on 100,000 states, which is less than on ten million."""
    arm = dl.load("panda")
    for quantity, most in (("gravity_torque", 40), ("inverse_dynamics", 100)):
        own = arm.kernel(quantity)
        found = check(own, ranges(arm, own), 300)
        assert np.all(found.bound <= most * found.attained(100_000))


@pytest.mark.long
@pytest.mark.parametrize("fused", [True, False])
def test_panda_on_a_million_states(fused):
    arm = dl.load("panda")
    for quantity, most in (("gravity_torque", 25), ("inverse_dynamics", 65)):
        own = arm.kernel(quantity)
        found = own.float32_error(ranges(arm, own), 2000, fused)
        met = found.attained(1_000_000)
        assert np.all(met <= found.bound) and np.all(found.bound <= most * met)


@pytest.mark.long
@pytest.mark.skipif(not STRANGERS.exists(), reason="the package example-robot-data is not installed")
@pytest.mark.parametrize(
    "path", ["g1_description/urdf/g1_29dof_rev_1_0.urdf", "tiago_description/robots/tiago_no_hand.urdf"]
)
def test_strangers(path):
    arm = dl.load(STRANGERS / path)
    for quantity in ("gravity_torque", "inverse_dynamics"):
        own = arm.kernel(quantity)
        assert np.isfinite(check(own, ranges(arm, own), 200, states=200_000).bound).all()


# ------------------------------------------------------------------------------------------------------- interface
def test_shapes_and_words():
    own = compile_function(lambda x: ([x[0] * x[1]], [[x[0] / 3.0]]), [(2,)], [(1,), (1, 1)], "two", arguments=("x",))
    found = own.float32_error({"x": ([1, -1], 1.5)})
    assert [b.shape for b in found.bound] == [(1,), (1, 1)]
    assert [b.shape for b in found.attained(100)] == [(1,), (1, 1)]
    text = str(found)
    assert "two in float32, with fused multiply–adds" in text and "for x from [1 -1] to [1.5 1.5]" in text
    assert "output 1 ≤ [[" in text
    assert "without fused" in str(own.float32_error({"x": (1, 2)}, fused=False))
    point = own.float32_error({"x": (1, 1)})
    assert point.boxes == 1 and np.all(point.attained(10)[0] <= point.bounds[0])


def test_states_are_drawn_within_the_box():
    """A box between two float32 numbers has the one next to it; ends that float32 has are within the box."""
    rng, one = np.random.default_rng(0), np.float32(1)
    for low, high in ((1.0, 1.0), (1.0, 1.0 + 2 * U), (1.0 - U, 1.0), (-1.0, 1.0)):
        x = _draw(rng, np.array([low]), np.array([high]), 1000)
        assert x.dtype == np.float32 and (low <= x).all() and (x <= high).all()
    assert set(_draw(rng, np.array([1 + U / 2]), np.array([1 + U]), 100).ravel()) <= {one, np.nextafter(one, 2)}


def test_refusals():
    own = kernel(lambda x, y: x * y)
    several = compile_function(lambda x: [x[0] * x[1]], [(2,)], [(1,)], "tried", arguments=("x",))
    with raises(InputError, "wrong-order box") as caught:
        several.float32_error({"x": ([0, 1], [1, 0])})
    assert caught.value.argument == "box['x']"
    for box, code, argument in (
        ({"x": (0, 1)}, "missing", "box['y']"),
        ({"x": (0, 1), "y": 3}, "wrong-shape", "box['y']"),
        ({"x": (0, 1), "y": (1, 0)}, "wrong-order", "box['y']"),
        ({"x": (0, 1), "y": (0, math.inf)}, "not-finite", "the upper end of y"),
        ([(0, 1)], "wrong-type", "box"),
    ):
        with pytest.raises(InputError) as caught:
            own.float32_error(box)
        assert (caught.value.code, caught.value.argument) == (code, argument)
    with raises(UnknownNameError, "unknown-name") as caught:
        own.float32_error({"x": (0, 1), "z": (0, 1)})
    assert caught.value.value == "z"
    with raises(InputError, "out-of-range boxes"):
        own.float32_error({"x": (0, 1), "y": (0, 1)}, boxes=0)
    with raises(InputError, "wrong-type fused"):
        own.float32_error({"x": (0, 1), "y": (0, 1)}, fused=1)


def test_a_choice_of_nan_that_rounding_may_make_otherwise_has_no_bound():
    """At 0.45454544 · 1.1 < 0.5 in one arithmetic alone: a number there, NaN here."""

    def chosen(x):
        return scalar.where(1.1 * x < 0.5, math.nan, x)

    assert bound(chosen, (0.4545454, 0.4545455)).bound == np.inf
    assert bound(lambda x: scalar.where(1.1 * x < 0.5, scalar.where(x < 0, math.nan, x), x), (-1, 1)).bound == np.inf
    # A sign is NaN of NaN alone, which no number is: two choices, between 1 and less, between 0 and −1.
    assert bound(lambda x: scalar.sign(1.1 * x), (-1, 1)).bound == pytest.approx(2 + 1, rel=1e-5)
    assert bound(chosen, (0.5, 1.0)).bound == 0.0  # no state of the box chooses NaN
    assert bound(lambda x: scalar.where(x < 0.5, math.nan, x), (0.0, 1.0)).bound == 0.0  # nor is this choice rounded


def test_what_is_clipped_does_not_jump():
    """It is as good as what is clipped: half a unit of 110, and 100 times the error of the constant."""
    own = 64 * U + 100 * abs(float(np.float32(1.1)) - 1.1)
    assert bound(lambda x: scalar.clip(1.1 * x, -1.0, 1.0), (-100.0, 100.0)).bound == pytest.approx(own, rel=1e-5)
