"""WebAssembly in Node and in Chromium: the bits of every kernel, and speed and size beside MuJoCo's module from npm.

    python benchmarks/wasm.py bits [--foreign 50]     every kernel of every bundled robot and of so many strangers'
    python benchmarks/wasm.py speed                   Panda beside @mujoco/mujoco, which npm installs into .venv/npm
    python benchmarks/wasm.py tab                     1,000 Pandas, steps of 1 ms, in one tab

Needs Node.js with npm, and Chromium with playwright; what is missing is said. Bits are those of the interpreter of a
machine without fused steps (`compile.kinds.UNFUSED`); a NaN equals any other.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from compiler import bare
from corpus import example_robot_data, installed

import dalembert as dl
from dalembert import kernels
from dalembert.compile.interpret import interpret
from dalembert.compile.kinds import UNFUSED
from dalembert.compile.wasm import WasmModule, assemble_wasm
from dalembert.simulation.fixed_step import compile_loop

NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PACKAGES = Path(__file__).parent.parent / ".venv" / "npm"
MOST_OPERATIONS = 60_000  # of a kernel that is looked at: the interpreter takes a second for as many
STATES = 3

# given → [[kernel, numbers that differ, numbers]]
COMPARE = """async function compare(load, { wasm, signatures, cases }) {
  const numbers = (text) => new Float64Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const robot = await load(Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0)), signatures);
  return cases.map(([name, count, given, wanted]) => {
    const found = robot[name].batch(count, ...given.map(numbers));
    const all = wanted.length === 1 ? [found] : found;
    const differs = (x, y) => !Object.is(x, y);
    let bad = 0, total = 0;
    wanted.map(numbers).forEach((w, k) => w.forEach((y, i) => { bad += differs(all[k][i], y); total++; }));
    return [name, bad, total];
  });
}"""


def encode(a: np.ndarray | bytes) -> str:
    return base64.b64encode(a if isinstance(a, bytes) else np.ascontiguousarray(a, float).tobytes()).decode()


def in_node(script: str, given: object) -> object:
    """What an async function `main(load, given)` gives, in Node."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "wasm.mjs").write_text(runtime(), encoding="utf-8")
        Path(folder, "given.json").write_text(json.dumps(given), encoding="utf-8")
        body = 'import fs from "fs"; import { load } from "./wasm.mjs";\n' + script
        body += '\nconsole.log(JSON.stringify(await main(load, JSON.parse(fs.readFileSync("given.json")))));'
        Path(folder, "main.mjs").write_text(body, encoding="utf-8")
        done = subprocess.run([NODE, "main.mjs"], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def runtime() -> str:
    return WasmModule(b"", {}).runtime


@contextmanager
def tab() -> Iterator[Callable[[str, object], object]]:
    """The same in a tab of Chromium."""
    from playwright.sync_api import sync_playwright

    plain = runtime().replace("export ", "")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        yield lambda script, given: page.evaluate(
            f"(given) => {{ {plain}\n{script}\nreturn main(load, given); }}", given
        )
        browser.close()


# --------------------------------------------------------------------------------------------------------------- bits
def strangers(count: int) -> Iterator[dl.Robot]:
    """Robots of other people's files, the first `count` that load and move."""
    folders = [f for f in (example_robot_data(), installed("rtbdata")) if f]
    files = sorted({f for folder in folders for f in folder.rglob("*.urdf")}, key=lambda f: (f.name, str(f)))
    for file in files:
        try:
            robot = dl.load(file)
        except dl.DalembertError:
            continue
        if robot.n and not robot.loops:
            yield robot
            count -= 1
        if not count:
            return


def cases_of(robot: dl.Robot) -> dict[str, object]:
    """One module with every kernel that the robot has, states, and the bits that are wanted."""
    made = {}
    for name in kernels.ROWS:
        try:
            kernel = robot.kernel(name)
        except dl.DalembertError:
            continue  # refused for this robot, in a sentence
        if kernel.operations <= MOST_OPERATIONS:
            made[name] = kernel
    module, rng, cases = assemble_wasm(made), np.random.default_rng(0), []
    for name, kernel in made.items():
        given = [rng.uniform(-1.5, 1.5, (STATES, *shape)) for shape in kernel.inputs]
        rows = [interpret(kernel.program, [np.ravel(a[k]).tolist() for a in given], UNFUSED) for k in range(STATES)]
        wanted = [np.array([row[j] for row in rows]) for j in range(len(kernel.outputs))]
        cases.append([name, STATES, [encode(a) for a in given], [encode(w) for w in wanted]])
    return {"wasm": encode(module.data), "signatures": module.signatures, "cases": cases}


def compare_bits(foreign: int) -> int:
    bundled = (dl.load(name) for name in dl.robots.names())
    robots = [*(r for r in bundled if r.n and not r.loops), *strangers(foreign)]
    script, wrong, totals = COMPARE + "\nconst main = compare;", 0, {"node": [0, 0], "chromium": [0, 0]}
    print(f"{'robot':28} {'joints':>6} {'kernels':>7} {'kB':>7}   numbers that differ, of all: Node, Chromium")
    with tab() as in_tab:
        for robot in robots:
            given = cases_of(robot)
            shown = []
            for where, run in (("node", in_node), ("chromium", in_tab)):
                found = run(script, given)
                bad, total = (sum(row[k] for row in found) for k in (1, 2))
                totals[where][0] += bad
                totals[where][1] += total
                wrong += bad
                shown.append(f"{bad} of {total}")
            size = len(given["wasm"]) * 0.75e-3
            print(
                f"{robot.name:28.28} {robot.n:6} {len(given['cases']):7} {size:7.0f}   {', '.join(shown)}", flush=True
            )
    for where, (bad, total) in totals.items():
        print(f"{where}: {len(robots)} robots, {bad} of {total:,} numbers differ")
    return wrong


# -------------------------------------------------------------------------------------------------------------- speed
SPEED = """
const best = (rounds, runs) => {  // the least time of each, in turns [ms]
  const least = runs.map(() => Infinity);
  for (let r = 0; r < rounds; r++) runs.forEach((run, k) => {
    const start = performance.now();
    run();
    least[k] = Math.min(least[k], performance.now() - start);
  });
  return least;
};
async function main(load, { wasm, signatures, urdf, mujoco: where, count }) {
  const robot = await load(Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0)), signatures);
  const mujoco = await (await import(where)).default();
  const model = mujoco.MjModel.from_xml_string(urdf), data = new mujoco.MjData(model);
  model.opt.disableflags |= 1;  // constraints: nobody else here heeds them
  const n = 7, numbers = () => Float64Array.from({ length: n * count }, () => 2 * Math.random() - 1);
  const q = numbers(), qd = numbers(), a = numbers(), { qpos, qvel, qacc, qfrc_applied, qfrc_inverse } = data;
  const part = (x, k) => x.subarray(k * n, k * n + n);
  const loop = (given, call) => () => {
    for (let k = 0; k < count; k++) {
      qpos.set(part(q, k));
      qvel.set(part(qd, k));
      given.set(part(a, k));
      call(model, data);
    }
  };
  const single = (f) => () => { for (let k = 0; k < count; k++) f(part(q, k), part(qd, k), part(a, k)); };
  const rows = {}, pairs = [
    ["inverse_dynamics", qacc, mujoco.mj_inverse, qfrc_inverse],
    ["forward_dynamics", qfrc_applied, mujoco.mj_forward, qacc],
  ];
  for (const [name, given, call, theirs] of pairs) {
    const f = robot[name], runs = [loop(given, call), single(f), () => f.batch(count, q, qd, a)];
    runs[0]();
    const last = count - 1, ours = f(part(q, last), part(qd, last), part(a, last));
    const off = Math.max(...ours.map((x, k) => Math.abs(x - theirs[k]) / (1 + Math.abs(x))));
    rows[name] = [...best(15, runs).map((t) => (1e6 * t) / count), off];
  }
  return rows;
}"""


def install_mujoco() -> Path:
    found = PACKAGES / "node_modules" / "@mujoco" / "mujoco"
    if not found.is_dir():
        PACKAGES.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", PACKAGES, "@mujoco/mujoco"], check=True)
    return found


def compare_speed() -> None:
    arm, theirs = dl.load("panda"), install_mujoco()
    module = assemble_wasm({name: arm.kernel(name) for name in ("inverse_dynamics", "forward_dynamics")})
    whole = dl.interchange.javascript_package(arm)["panda.wasm"]
    extension = '<mujoco><compiler balanceinertia="true" boundmass="1e-6" boundinertia="1e-9"/></mujoco>'
    urdf = bare(arm).replace("</robot>", extension + "</robot>")
    given = {"wasm": encode(module.data), "signatures": module.signatures, "urdf": urdf, "count": 2000}
    rows = in_node(SPEED, given | {"mujoco": (theirs / "mujoco.js").as_uri()})
    size = (theirs / "mujoco.wasm").stat().st_size
    version = json.loads((theirs / "package.json").read_text())["version"]
    print(f"@mujoco/mujoco {version}: {size:,} bytes; the whole Panda here {len(whole):,}: 1/{size / len(whole):.0f}")
    print(
        "Panda in Node, ns a state, best of 15 rounds in turns; MuJoCo loops over states in JavaScript, as its users do"
    )
    print(f"{'':20} {'MuJoCo':>8} {'one call':>9} {'batch':>8}   times as fast        largest difference")
    for name, (a, b, c, off) in rows.items():
        print(f"{name:20} {a:8.0f} {b:9.0f} {c:8.0f}   {a / b:6.1f} and {a / c:6.1f}   {off:.1e}")


# ---------------------------------------------------------------------------------------------------------------- tab
# Each worker has its share of the robots, a pair at least, and a module of its own; a frame ends with the last of them.
WORKER = """onmessage = async ({ data: { wasm, signatures } }) => {
  const robot = await load(Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0)), signatures);
  onmessage = ({ data: { name, given } }) => postMessage(robot[name].run(given).x);
  postMessage(null);
};"""
MANY = """async function main(load, { wasm, signatures, x, count, seconds, script, workers }) {
  const source = URL.createObjectURL(new Blob([script])), found = {}, n = x.length / count;
  const all = Array.from({ length: workers }, () => new Worker(source));
  const ask = (worker, message) => new Promise((done) => {
    worker.onmessage = (e) => done(e.data);
    worker.postMessage(message);
  });
  await Promise.all(all.map((worker) => ask(worker, { wasm, signatures })));
  for (const name of Object.keys(signatures)) {
    const share = Math.ceil(count / workers), frames = [];
    let states = all.map((_, k) => Float64Array.from(x.slice(k * share * n, (k + 1) * share * n)));
    for (let k = 0; k < seconds * 50; k++) {  // frames of 20 steps
      const start = performance.now();
      const given = (x) => ({ x, count: x.length / n, dt: 0.001, steps: 20, first: 20 * k });
      states = await Promise.all(all.map((worker, i) => ask(worker, { name, given: given(states[i]) })));
      frames.push(performance.now() - start);
    }
    const finite = states.every((state) => state.every(Number.isFinite));
    found[name] = [frames.reduce((a, b) => a + b) / 1000, Math.max(...frames), finite];
  }
  all.forEach((worker) => worker.terminate());
  return found;
}"""


def run_tab(count: int, seconds: int) -> None:
    arm = dl.load("panda")
    flow = arm.flow()
    module = assemble_wasm({m: compile_loop(flow, m) for m in ("semi-implicit-euler", "rk4")})
    q = arm.home + np.random.default_rng(0).uniform(-0.5, 0.5, (count, arm.n))
    x = np.concatenate([q, np.zeros_like(q)], -1).ravel().tolist()
    given = {"wasm": encode(module.data), "signatures": module.signatures, "x": x, "count": count, "seconds": seconds}
    script = runtime().replace("export ", "") + WORKER
    for workers in (1, os.cpu_count() or 1):
        with tab() as in_tab:
            found = in_tab(MANY, given | {"script": script, "workers": workers})
        for name, (took, worst, finite) in found.items():
            print(
                f"{count} Pandas for {seconds} s in steps of 1 ms, {name}, workers: {workers}: {took:.2f} s in one tab "
                f"({seconds / took:.1f} times real time), worst frame of 20 ms: {worst:.1f} ms, all finite: {finite}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["bits", "speed", "tab"], nargs="*", default=["speed", "tab"])
    parser.add_argument("--foreign", type=int, default=50)
    asked = parser.parse_args()
    if NODE is None or CHROMIUM is None:
        sys.exit("Node.js and Chromium are needed, and one of them is not installed")
    if "speed" in asked.what:
        compare_speed()
    if "tab" in asked.what:
        run_tab(1000, 2)
    if "bits" in asked.what and compare_bits(asked.foreign):
        sys.exit(1)


if __name__ == "__main__":
    main()
