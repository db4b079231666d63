"""A robot as a package for JavaScript: its kernels, inverse kinematics and free motion as WebAssembly, with types."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dalembert
from dalembert.compile import Kernel
from dalembert.compile.kinds import UNFUSED
from dalembert.compile.wasm import Entry, assemble_wasm
from dalembert.errors import InputError, unknown
from dalembert.kernels import ROWS
from dalembert.kinematics.ik import numeric
from dalembert.names import identifier, in_line, in_markdown
from dalembert.robot import Robot
from dalembert.simulation.fixed_step import compile_loop

METHOD = "rk4"
IK, SIMULATE = "ik", "simulate"  # offered beside kernels
SEARCH, FINISH = "ik_search", "ik_finish"  # what the first is made of
ASSETS = Path(__file__).parent / "assets"
USUAL = ("fk", "jacobian", "mass_matrix", "gravity_torque", "inverse_dynamics", "forward_dynamics", IK, SIMULATE)
LONGEST = 100  # letters of a file's name, and of a package's, which npm ends at 214
STARTS = 24  # of inverse kinematics, after the first


def javascript_package(robot: Robot, names: Sequence[str] | None = None) -> dict[str, bytes]:
    """The files of the package, by name. `names`: kernels, "ik" and "simulate" (free motion under torques, rk4); if not
    given the usual ones, with "integrate" in place of "ik" where positions are no vector."""
    if names is None:
        names = USUAL if robot.model.curved is None else tuple("integrate" if name == IK else name for name in USUAL)
    if not names:
        raise InputError("missing", "names", problem=f"names must contain kernels, {IK!r} or {SIMULATE!r}, got none")
    entries: dict[str, Entry] = {}
    title = identifier(robot.name)[:LONGEST]
    about: dict[str, Any] = {
        IK: None,
        SIMULATE: None,
        "name": robot.name,
        "module": f"./{title}.wasm",
        "joints": robot.model.names("position"),
        "lower": [_finite(x) for x in robot.limits.lower],
        "upper": [_finite(x) for x in robot.limits.upper],
        "home": robot.home.tolist(),
        "tip": robot.tip,
        "largest_angle": UNFUSED.largest_angle,
    }
    for name in names:
        if name == IK:
            rows = "pose" if robot.n >= 6 else "position"  # shorter arms reach few poses
            solver = numeric.solver(robot, None, numeric.goal(rows, None), True)
            entries |= {SEARCH: solver.search, FINISH: solver.finish}
            about[IK] = {
                "rows": rows,
                "first": solver.first.tolist(),
                "starts": solver.starts[:STARTS].ravel().tolist(),
                "steps": numeric.STEPS,
                "halfway": numeric.HALFWAY,
                "cost": numeric.HOPELESS,
                "beyond": numeric.BEYOND,
            }
        elif name == SIMULATE:
            flow = robot.flow(energies=True)
            entries[name] = compile_loop(flow, METHOD)
            about[SIMULATE] = {"states": flow.states, "inputs": flow.inputs, "outputs": flow.outputs}
        elif name in ROWS:
            entries[name] = robot.kernel(name)
        else:
            raise unknown("kernel", name, (*ROWS, IK, SIMULATE))
    module = assemble_wasm(entries)
    package = title.lower().replace("_", "-").strip("-") + "-dynamics"
    described = {
        "name": package,
        "version": "0.1.0",
        "description": f"Kinematics and dynamics of {in_line(robot.name)} as WebAssembly",
        "type": "module",
        "exports": {".": {"types": "./index.d.ts", "default": "./index.js"}},
        "files": ["index.js", "index.d.ts", "robot.js", "wasm.js", f"{title}.wasm"],
        "sideEffects": False,
    }
    given = {
        "about": about,
        "kernels": {n: e for n, e in entries.items() if isinstance(e, Kernel) and n != FINISH},
        "title": in_markdown(robot.name),
        "package": package,
        "version": dalembert.__version__,
        "size": len(module.data),
    }
    data = {"about": about, "signatures": module.signatures}
    texts = {
        "index.js": (ASSETS / "index.js").read_text(encoding="utf-8"),
        "index.d.ts": _render("index.d.ts", given),
        "robot.js": "".join(f"export const {name} = {json.dumps(value)};\n" for name, value in data.items()),
        "wasm.js": module.runtime,
        "package.json": json.dumps(described, indent=2) + "\n",
        "README.md": _render("README.md", given),
    }
    return {f"{title}.wasm": module.data, **{name: text.encode() for name, text in texts.items()}}


def _finite(x: float) -> float | None:
    return float(x) if math.isfinite(x) else None


def _render(name: str, given: dict[str, Any]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    pages = Environment(loader=FileSystemLoader(ASSETS), undefined=StrictUndefined, trim_blocks=True)
    pages.filters |= {"shape": lambda shape: "×".join(map(str, shape)) or "1", "product": math.prod}
    return pages.get_template(f"{name}.jinja").render(**given) + "\n"
