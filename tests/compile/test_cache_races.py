"""The cache under several writers: processes at once, one of them killed, threads at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dalembert as dl

WORK = """
import dalembert as dl, numpy as np, sys
robot = dl.load("scara")
q = np.full(4, 0.3)
print("ready", flush=True)
sys.stdin.readline()
print(robot.mass_matrix(q).sum() + robot.inverse_dynamics(q, q, q).sum() + robot.fk(q).sum())
"""


def start(folder):
    return subprocess.Popen(
        [sys.executable, "-c", WORK],
        env={**os.environ, "DALEMBERT_CACHE": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def wanted() -> str:
    robot, q = dl.load("scara"), np.full(4, 0.3)
    return str(robot.mass_matrix(q).sum() + robot.inverse_dynamics(q, q, q).sum() + robot.fk(q).sum())


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_two_processes_write_and_one_is_killed(tmp_path):
    for delay in (0.0, 0.02, 0.05):
        folder = tmp_path / f"cache{delay}"
        first, second = start(folder), start(folder)
        for process in (first, second):
            assert process.stdout.readline().strip() == "ready"
        for process in (first, second):
            process.stdin.write("\n")
            process.stdin.flush()
        time.sleep(delay)
        first.kill()
        first.communicate()
        assert second.communicate(timeout=60)[0].strip() == wanted()
        third = start(folder)  # what the two left works
        third.stdout.readline()
        assert third.communicate("\n", timeout=60)[0].strip() == wanted()


def test_ten_threads_compile_and_call_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path))
    names = ("mass_matrix", "gravity_torque", "fk", "jacobian", "potential_energy")
    q = np.random.default_rng(0).uniform(-1, 1, (200, 4))
    reference = {name: getattr(dl.load("scara"), name)(q) for name in names}
    shared, errors = dl.load("scara"), []
    barrier = threading.Barrier(10)

    def work(k: int) -> None:
        robot = shared if k % 2 else dl.load("scara")
        barrier.wait()
        for j in range(25):
            name = names[(j + k) % len(names)]
            if not np.array_equal(getattr(robot, name)(q), reference[name]):
                errors.append(name)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
