"""WebAssembly: the same bits as the interpreter of a machine without fused steps."""

from __future__ import annotations

import base64
import json
import math
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from wasm_host import Host

import dalembert as dl
from dalembert import kernels
from dalembert.compile import Call, compile_function, compile_rollout, wasm
from dalembert.compile.interpret import interpret
from dalembert.compile.kinds import UNFUSED
from dalembert.compile.search import compile_search, settings
from dalembert.compile.wasm import assemble_wasm
from dalembert.errors import DalembertError, InputError
from dalembert.kinematics.ik import numeric
from dalembert.scalar import cos, exp, log, sin
from errors import raises

NODE = shutil.which("node")


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal to the sign of a zero; NaN equals NaN, whose bits no machine promises."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    nan = np.isnan(a) & np.isnan(b)
    return bool(np.all(nan | (a.view(np.int64) == b.view(np.int64))))


def interpreted(kernel, arguments):
    """The outputs of every state, (states, …) each."""
    rows = [
        interpret(kernel.program, [np.ravel(a[k]).tolist() for a in arguments], UNFUSED)
        for k in range(len(arguments[0]))
    ]
    return [np.array([row[j] for row in rows]).reshape(-1, *s) for j, s in enumerate(kernel.outputs)]


def check_kernels(robot: dl.Robot, names, states: int = 3) -> None:
    made = {name: robot.kernel(name) for name in names}
    host, rng = Host(assemble_wasm(made)), np.random.default_rng(1)
    for name, kernel in made.items():
        arguments = [rng.uniform(-1.5, 1.5, (states, *shape)) for shape in kernel.inputs]
        for got, wanted in zip(host.kernel(name, *arguments), interpreted(kernel, arguments), strict=True):
            assert same_bits(got, wanted), (robot.name, name)
        lone = host.kernel(name, *(a[0] for a in arguments))
        assert all(same_bits(a[0], b[0]) for a, b in zip(lone, interpreted(kernel, arguments), strict=True))


@pytest.mark.parametrize("name", ["planar-2r", "stanford", "panda"])
def test_kernels(name: str) -> None:
    check_kernels(dl.load(name), ["fk", "jacobian", "inverse_dynamics", "forward_dynamics", "mass_matrix"])


def test_functions_and_their_limits() -> None:
    kernel = compile_function(lambda x: [sin(x), cos(x), exp(x), log(x), x / (x - 1.0)], [()], [(5,)], "all")
    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 1e308, -745.2, 709.8, 1.6e6, -1.6e6, 1.7e6]
    x = np.concatenate([special, np.random.default_rng(0).uniform(-1.6e6, 1.6e6, 500), np.linspace(-9, 9, 500)])
    got = Host(kernel.wasm()).kernel("all", x)[0]
    assert same_bits(got, interpreted(kernel, [x])[0])
    inside = np.abs(x) <= UNFUSED.largest_angle
    assert np.isnan(got[~inside, :2]).all()
    assert np.abs(got[inside, 0] - np.sin(x[inside])).max() < 1.2e-16
    assert np.abs(got[inside, 1] - np.cos(x[inside])).max() < 1.2e-16


def test_the_reduction_is_exact_as_far_as_it_is_used() -> None:
    """Multiples of π/2 are where the reduction cancels: the sine there is the rounding error of the argument itself."""
    import mpmath

    k = np.concatenate([np.arange(1, 200), np.arange(1_018_000, 1_018_500)])
    x = k * (math.pi / 2)
    kernel = compile_function(lambda x: [sin(x), cos(x)], [()], [(2,)], "both")
    got = np.array([interpret(kernel.program, [[v]], UNFUSED)[0] for v in x.tolist()])
    with mpmath.workdps(60):
        wanted = np.array([[float(mpmath.sin(v)), float(mpmath.cos(v))] for v in x.tolist()])
    assert np.abs(got / wanted - 1.0).max() < 4e-16


def test_rollouts() -> None:
    def rate(t, x, p):
        return [x[1], -p[0] * sin(x[0]) - 0.1 * x[1] + cos(t)]

    def move(dt, x, k, u):
        return [x[0] + dt * k[0], x[1] + dt * (k[1] + u[0])]

    calls = [Call(rate, ("t", "x", "p"), "k"), Call(move, ("dt", "x", "k", "u"), "new")]
    observe = Call(lambda x: [x[0] * x[0] + x[1]], ("x",), "y")
    run = compile_rollout(calls, {"x": 2, "u": 1, "p": 1, "k": 2, "y": 1}, "pendulum", observe)
    host, rng = Host(assemble_wasm({"pendulum": run})), np.random.default_rng(2)
    x0, u = rng.uniform(-1, 1, (3, 2)), rng.uniform(-1, 1, (40, 1))
    xs, ys, x, y, diverged = host.rollout("pendulum", x0, u, np.array([9.81]), 40, 0.01)
    for k in range(3):
        wanted = run.interpret(x0[k], u, [9.81], 40, 0.01, kind=UNFUSED)
        assert same_bits(xs[k], wanted[:-1]) and same_bits(x[k], wanted[-1])
        assert ys[k, 3, 0] == xs[k, 3, 0] ** 2 + xs[k, 3, 1]
    assert (diverged == -1).all() and y.shape == (3, 1)
    *_, end, _, diverged = host.rollout("pendulum", np.array([[np.inf, 0.0]]), u, np.array([9.81]), 40, 0.01)
    assert diverged == 0 and np.isnan(end).all()


def test_searches() -> None:
    find = compile_search(lambda x, a: ([0.5 * (x[0] + a[0] / x[0])], [(x[0] * x[0] - a[0]) ** 2, 0.0, 0.0]), 1, 1, "r")
    host = Host(assemble_wasm({"root": find}))
    a = np.arange(1.0, 12.0)[:, None]
    control = settings((1e-24, 1.0), 50, 0)
    state, info = host.search("root", np.ones((11, 1)), a, np.ones((1, 1)), control)
    assert np.allclose(state, np.sqrt(a), rtol=1e-13) and (info[:, 2] == 1).all()
    wanted, steps = find(np.ones((11, 1)), a, np.ones((1, 1)), control)
    assert (info == steps).all() and np.allclose(state, wanted, rtol=1e-15)


def test_inverse_kinematics_in_one_module_with_kernels() -> None:
    robot = dl.load("ur5e")
    made, control = numeric._prepared(robot, None, "pose", None, 1e-9, True, 20)
    host = Host(assemble_wasm({"ik": made.search, "fk": robot.kernel("fk")}))
    poses = robot.fk(robot.random_configuration(20, seed=3))
    start = np.broadcast_to(made.first, (20, robot.n))
    q, info = host.search("ik", start, poses.reshape(20, 16), made.starts, control)
    assert (info[:, 2] == 1).all()
    assert np.abs(host.kernel("fk", q)[0] - poses).max() < 2e-9


def test_long_chains_are_cut_into_functions() -> None:
    link = dl.describe.Inertial(mass=1.0, inertia=(0.1, 0.02, 0.0, 0.1, 0.01, 0.1))
    robot = dl.Robot.from_dh([{"a": 0.1, "alpha": 1.0, "inertial": link} for _ in range(30)])
    kernel = robot.kernel("inverse_dynamics")
    assert kernel.operations > 1_500
    x = np.random.default_rng(0).uniform(-1, 1, (3, 2, 30))
    got = Host(kernel.wasm()).kernel("inverse_dynamics", *x)[0]
    assert same_bits(got, interpreted(kernel, x)[0])


def test_what_cannot_be_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = compile_function(lambda x: [x[0] * x[1]], [(2,)], [(1,)], "product")
    with raises(InputError, "missing kernels"):
        assemble_wasm({})
    with raises(InputError, "duplicate name"):
        assemble_wasm({"memory": kernel})
    monkeypatch.setattr(wasm, "MOST_LOCALS", 1)
    wide = compile_function(lambda x: [x[0] * x[1] + 0.125, x[1] - x[0]], [(2,)], [(2,)], "wide")
    with raises(InputError, "too-large kernels"):
        wide.wasm()


def test_a_module_imports_nothing_and_comes_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    import wasmtime

    kernel = dl.load("planar-2r").kernel("inverse_dynamics")
    first = kernel.wasm()
    module = wasmtime.Module(wasmtime.Engine(), first.data)
    assert not list(module.imports)
    assert {e.name for e in module.exports} == {"inverse_dynamics", "memory", "base"}
    monkeypatch.setattr("dalembert.compile.llvm.object_code", None)  # from now on nothing can be compiled
    assert kernel.wasm().data == first.data


def run_in_node(folder: Path, runtime: str, given: dict) -> dict:
    if NODE is None:
        pytest.skip("there is no Node.js on this machine")
    (folder / "wasm.mjs").write_text(runtime, encoding="utf-8")
    text = (
        f'import {{ load }} from "./wasm.mjs";\n{MAIN}\nconsole.log(JSON.stringify(await main({json.dumps(given)})));'
    )
    (folder / "run.mjs").write_text(text, encoding="utf-8")
    found = subprocess.run([NODE, "run.mjs"], cwd=folder, capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def run_in_chromium(folder: Path, runtime: str, given: dict) -> dict:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser is driven")
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no Chromium is installed: nothing is run in a browser")
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-background-networking"])
        script = f"(given) => {{ {runtime.replace('export ', '')}\n{MAIN}\nreturn main(given); }}"
        found = browser.new_page().evaluate(script, given)
        browser.close()
    return found


@pytest.mark.parametrize("run", [run_in_node, pytest.param(run_in_chromium, marks=pytest.mark.long)])
def test_the_runtime_in_javascript(tmp_path: Path, run) -> None:
    robot = dl.load("planar-2r")
    names = ("fk", "inverse_dynamics", "forward_dynamics_derivatives")
    made = {name: robot.kernel(name) for name in names}
    made["ik"] = numeric._prepared(robot, None, "planar", None, 1e-9, True, 5)[0].search
    drift = [Call(lambda x, u, dt: [x[0] + dt * u[0]], ("x", "u", "dt"), "new")]
    made["drift"] = compile_rollout(drift, {"x": 1, "u": 1})
    module = assemble_wasm(made)
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 4, 2))
    given = {"signatures": module.signatures, "bytes": base64.b64encode(module.data).decode()}
    given |= {name: a.ravel().tolist() for name, a in (("q", q), ("qd", qd), ("qdd", qdd), ("pose", robot.fk(q[0])))}
    got = run(tmp_path, module.runtime, given)
    wanted = interpreted(made["inverse_dynamics"], [q, qd, qdd])[0]
    still = interpreted(made["inverse_dynamics"], [q, qd * 0, qdd * 0])[0]
    assert same_bits(np.array(got["batch"]).reshape(4, 2), wanted) and same_bits(got["one"], wanted[0])
    assert same_bits(np.array(got["held"]).reshape(4, 2), still)
    assert [len(x) for x in got["several"]] == [4, 4, 4]
    assert np.allclose(robot.fk(got["ik"]), robot.fk(q[0]), atol=1e-8)
    assert got["drift"] == [0.75, 1.75] and got["kept"] == [0.0, 0.5, 1.0, 1.5]
    assert got["errors"] == [
        "q of fk must have 2 numbers, got 3",
        "inverse_dynamics takes q, qd, qdd; got 1 arguments",
        "dt of drift must be above 0 s, got 0",
        "u of drift must have 3 numbers, got 2",
        "this browser has no WebAssembly: nothing can be computed here",
    ]


MAIN = """async function main(given) {
  const bytes = Uint8Array.from(atob(given.bytes), (c) => c.charCodeAt(0));
  const robot = await load(bytes, given.signatures);
  const { q, qd, qdd } = given, list = (a) => Array.from(a), cut = (a) => a.slice(0, 2);
  robot.fk.batch(100000, new Float64Array(200000)); // the memory grows, and what was prepared goes on
  const say = (f) => { try { f(); } catch (e) { return e.message; } };
  const errors = [
    say(() => robot.fk([1, 2, 3])),
    say(() => robot.inverse_dynamics([1, 2])),
    say(() => robot.drift.run({ x: [0], dt: 0, steps: 1 })),
    say(() => robot.drift.run({ x: [0], u: [1, 2], dt: 1, steps: 3 })),
  ];
  const kept = globalThis.WebAssembly;
  delete globalThis.WebAssembly;
  errors.push(await load(bytes, given.signatures).catch((e) => e.message));
  globalThis.WebAssembly = kept;
  return {
    batch: list(robot.inverse_dynamics.batch(4, q, qd, qdd)),
    one: list(robot.inverse_dynamics(cut(q), cut(qd), cut(qdd))),
    held: list(robot.inverse_dynamics.batch(4, q, [0, 0], [0, 0])),
    several: robot.forward_dynamics_derivatives(cut(q), cut(qd), cut(qdd)).map(list),
    ik: list(robot.ik.solve([0.1, 0.1], given.pose, [], { limits: [1e-18, 1e-18], steps: 50 }).state),
    drift: list(robot.drift.run({ x: [0, 1], u: [1.5], dt: 0.25, steps: 2, count: 2 }).x),
    kept: list(robot.drift.run({ x: [0], u: [1, 1, 1, 1, 1, 1, 1, 1], dt: 0.25, steps: 8, every: 2 }).xs),
    errors,
  };
}"""


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in dl.robots.names() if not dl.load(name).loops])
def test_every_kernel_of_every_bundled_robot(name: str) -> None:
    robot, made = dl.load(name), []
    for row in kernels.ROWS:
        try:
            robot.kernel(row)
        except DalembertError:
            continue  # some are refused for some robots
        made.append(row)
    assert len(made) > 15
    check_kernels(robot, made, states=2)
