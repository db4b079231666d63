"""Dynamics of Panda beside Pinocchio, MuJoCo, CasADi and JAX: processor time per state of a batch, on one thread.

Pinocchio loops over the states in C++, MuJoCo is called from a loop in Python, and stays microseconds in each call;
CasADi and JAX evaluate Dalembert's formulas, handed over by `dalembert.interchange`, over the whole batch. Writes
benchmarks/results/peers.json, from which `docs/make_pictures.py` draws.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import casadi
import jax
import mujoco
import numpy as np
import pinocchio as pin
from compiler import LOOP, Pinocchio, mujoco_model
from timing import best_of_each

import dalembert as dl

RESULTS = Path(__file__).parent / "results"
STATES = 20_000
ROUNDS = 15


def candidates(arm: dl.Robot, name: str) -> dict[str, tuple[Callable[[], object], int]]:
    """{who: (run, states per run)}."""
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, STATES, arm.n))
    out = np.empty((STATES, arm.n))
    inverse = name == "inverse_dynamics"
    ours = getattr(arm, name)
    theirs = Pinocchio(arm)
    in_c = theirs.parallel(pin.rneaInParallel if inverse else pin.abaInParallel, 1)
    model = mujoco_model(arm)
    data = mujoco.MjData(model)

    def in_mujoco() -> None:
        call, given = (mujoco.mj_inverse, data.qacc) if inverse else (mujoco.mj_forward, data.qfrc_applied)
        for k in range(LOOP):
            data.qpos[:], data.qvel[:], given[:] = q[k], v[k], a[k]
            call(model, data)

    mapped = dl.interchange.casadi_function(arm, name).map(STATES)
    columns = [casadi.DM(x.T) for x in (q, v, a)]
    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(dl.interchange.jax_function(arm, name))
    given = [jax.numpy.asarray(x) for x in (q, v, a)]
    return {
        "Dalembert": (lambda: ours(q, v, a, out=out), STATES),
        "Pinocchio": (in_c, 10 * LOOP),
        "MuJoCo": (in_mujoco, LOOP),
        "CasADi": (lambda: mapped(*columns), STATES),
        "JAX": (lambda: compiled(*given).block_until_ready(), STATES),
    }


def main() -> None:
    arm = dl.load("panda")
    found = {}
    for name in ("inverse_dynamics", "forward_dynamics"):
        all_of_them = candidates(arm, name)
        for run, _ in all_of_them.values():
            run()
        times = best_of_each(ROUNDS, {who: run for who, (run, _) in all_of_them.items()}, time.process_time)
        found[name] = {who: times[who] / count * 1e9 for who, (_, count) in all_of_them.items()}
        print(name, {who: f"{t:.0f} ns" for who, t in found[name].items()})
    versions = {m.__name__: m.__version__ for m in (pin, mujoco, casadi, jax)}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "peers.json").write_text(json.dumps({"ns": found, "versions": versions}, indent=1))


if __name__ == "__main__":
    main()
