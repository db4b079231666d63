"""Batches on a Dask cluster: the same bits as in this process, also when a worker is killed in the middle."""

from __future__ import annotations

import logging
import os
import signal

import numpy as np
import pytest
from tests.rollout_words import rollouts

import dalembert as dl
from dalembert.control.computed_torque import ComputedTorque
from dalembert.errors import InputError
from dalembert.simulation import Experiment, Noise, grid, normal, uniform

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("dask"),  # one cluster, by one worker of the tests
    pytest.mark.filterwarnings("ignore"),  # of the cluster's own doing, when a process of it is killed
]

ARM = dl.load("planar-2r")
CONTROLLER = ComputedTorque(ARM, omega=10.0, zeta=0.8)
TASK = {
    "q0": normal([0.0, 0.0], [1.0, 1.0]),
    "reference": [0.3, -0.4],
    "duration": 0.5,
    "dt": 1e-3,
    "number": 300,
    "seed": 11,
    "parameters": {"payload_mass": uniform(0, 2)},
    "measures": ("rms_error", "overshoot"),
    "disturbances": {f"{ARM.joint_names[0]}_torque": Noise(1.0, 0.01)},
}


@pytest.fixture(scope="module")
def client():
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    options = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    # Two on any machine: `scheduler="local"` starts no more than there are processors.
    with distributed.LocalCluster(n_workers=2, **options) as cluster, distributed.Client(cluster) as client:
        yield client


def alike(a, b) -> bool:
    return (
        np.array_equal(a.last, b.last)
        and np.array_equal(a.diverged_at, b.diverged_at)
        and all(np.array_equal(a.measures[name], b.measures[name]) for name in a.measures)
    )


def test_the_cluster_gives_the_same_bits(client):
    here = rollouts(ARM, CONTROLLER, keep="all", every=100, **TASK)
    there = rollouts(ARM, CONTROLLER, keep="all", every=100, scheduler=client, chunk=37, **TASK)
    assert alike(here, there) and np.array_equal(here.rows, there.rows)
    spread = [
        rollouts(ARM, CONTROLLER, keep="statistics", every=100, scheduler=s, chunk=c, **TASK).moments
        for s, c in ((None, 300), (client, 23))
    ]
    assert np.array_equal(spread[0].mean, spread[1].mean) and np.array_equal(spread[0].squares, spread[1].squares)


def test_arrays_are_cut(client):
    """What is given as arrays reaches the tasks in parts."""
    rng = np.random.default_rng(0)
    given = {
        "q0": rng.normal(size=(50, 2)),
        "reference": [0.0, 0.0],
        "duration": 0.1,
        "dt": 1e-3,
        "parameters": {"payload_mass": rng.uniform(0, 1, 50)},
        "disturbances": {f"{ARM.joint_names[1]}_torque": rng.normal(size=(50, 100))},
    }
    assert alike(rollouts(ARM, CONTROLLER, **given), rollouts(ARM, CONTROLLER, scheduler=client, chunk=13, **given))
    e = Experiment(ARM, CONTROLLER, reference=[0.5, 0.5], measures="ise")
    words = {"vary": grid({"payload.mass": [0.0, 1.0, 2.0]}), "q0": [0.0, 0.0], "duration": 0.1}
    here, there = (e.batch(**words, **more) for more in ({}, {"on": client, "chunk": 1}))
    assert np.array_equal(here["ise"], there["ise"]) and here.shape == (3,)


def test_a_worker_killed_in_the_middle_loses_nothing(client):
    here = rollouts(ARM, CONTROLLER, **TASK)
    pids = list(client.run(os.getpid).values())
    assert len(pids) == 2 and os.getpid() not in pids
    seen = []

    def kill_one(done: float) -> None:
        seen.append(done)
        if done >= 0.25 and pids:
            os.kill(pids.pop(), signal.SIGKILL)
            pids.clear()

    there = rollouts(ARM, CONTROLLER, scheduler=client, chunk=10, progress=kill_one, **TASK)
    assert not pids and len(seen) == 30 and seen[-1] == 1.0  # it was killed, and every chunk came once
    assert alike(here, there)


def test_by_address_and_by_itself(client):
    here = rollouts(ARM, CONTROLLER, **TASK)
    address = client.scheduler.address
    assert address.startswith("tcp://")
    assert alike(here, rollouts(ARM, CONTROLLER, scheduler=address, **TASK))
    client.run(os.getpid)  # that one is still there
    with pytest.raises(InputError, match="on is 'local', an address or a Dask client; got int"):
        rollouts(ARM, CONTROLLER, scheduler=3, **TASK)


def test_nobody_answers():
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises(InputError, match="no Dask scheduler answers at 'tcp://127.0.0.1:9'"),
    ):
        rollouts(ARM, CONTROLLER, scheduler="tcp://127.0.0.1:9", **TASK)


def test_an_embedded_cluster():
    here = rollouts(ARM, CONTROLLER, **TASK)
    assert alike(here, rollouts(ARM, CONTROLLER, scheduler="local", threads=1, **TASK))
