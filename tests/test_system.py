"""Every system of ours is a `System`: names, units, kernels by name, and a flow that calls its states the same."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as dl
from dalembert.lagrange import EXAMPLES
from dalembert.system import Kernels, KernelTable, Row, System

ARM = dl.load("planar-2r")
MOTOR = dl.DCMotor(1.0, 0.05, inductance=1e-3, inertia=1e-5)
SYSTEMS: dict[str, System] = {
    "robot": ARM,
    "slide": dl.load("cartesian-pp"),
    "constrained": dl.Constrained(dl.load("four-bar")),
    "driven": dl.DrivenRobot(ARM, MOTOR, [50.0, 50.0]),
    "flexible": dl.FlexibleRobot(ARM, 100.0, rotor_inertia=0.1),
    "lagrangian": EXAMPLES["five-bar"](),
    "with inputs": EXAMPLES["geared-arm"](),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_names_and_units(name):
    system = SYSTEMS[name]
    assert isinstance(system.name, str) and system.name
    assert set(system.units) == {*system.states, *system.inputs}
    flow = system.flow()
    assert (flow.name, flow.states, flow.inputs) == (system.name, system.states, system.inputs)
    with pytest.raises(dl.UnknownNameError, match="unknown kernel 'no such thing'"):
        system.kernel("no such thing")


def test_units_are_those_of_the_joints():
    assert list(SYSTEMS["slide"].units.values()) == ["m", "m/s", "N"] * 2
    driven = SYSTEMS["driven"].units
    assert (driven["joint1"], driven["joint1_current"], driven["joint2_voltage"]) == ("rad", "A", "V")


@pytest.mark.parametrize("name", ["robot", "driven", "flexible", "lagrangian", "with inputs"])
def test_linearizations_are_the_flows(name):
    """A and B of a system's own linearization against differences of its flow."""
    system = SYSTEMS[name]
    near = system.linearize_at(np.linspace(0.3, 0.5, 2))
    assert (near.states, near.inputs) == (system.states, system.inputs)
    flow, step = system.flow(), 1e-6

    def rate(x, u):
        return np.array(flow.rate(0.0, x.tolist(), u.tolist()), float)

    scale = 1.0 + np.abs(near.A).max() + np.abs(near.B).max()
    for k, e in enumerate(np.eye(len(near.x)) * step):
        column = (rate(near.x + e, near.u) - rate(near.x - e, near.u)) / (2 * step)
        assert np.abs(column - near.A[:, k]).max() < 1e-6 * scale
    for k, e in enumerate(np.eye(len(near.u)) * step):
        column = (rate(near.x, near.u + e) - rate(near.x, near.u - e)) / (2 * step)
        assert np.abs(column - near.B[:, k]).max() < 1e-6 * scale


def test_a_table_of_ones_own():
    """A stranger's kernels: rows, options with defaults, derivatives, and a sentence for a division by zero."""

    def pull(stiffness, a, o):
        return [stiffness * x if o["soft"] else x * (1.0 / (stiffness - stiffness)) for x in a["q"]]

    row = Row(("q",), pull, lambda s, o: ((2,),), {"soft": True})
    table = KernelTable(
        {"pull": row, "pull_derivatives": Row(("q",), pull, row.shapes, {"soft": True}, derivative=("q",))},
        lambda s, o: {"q": (2,)},
        lambda s, name: dl.SingularityError(f"{name} divides by {s - s:g}"),
    )
    kernels = Kernels(table, lambda: 3.0, "springs", ("a", "b"))
    assert kernels.run(("pull", ()), None, [1.0, 2.0]).tolist() == [3.0, 6.0]
    assert kernels.get("pull_derivatives", (), {})([1.0, 2.0]).tolist() == [[3.0, 0.0], [0.0, 3.0]]
    with pytest.raises(dl.SingularityError, match="pull divides by 0"):
        kernels.get("pull", (), {"soft": False})
    with pytest.raises(dl.InputError, match=r"q has shape \(3,\); its last dimension must be 2 "):
        kernels.run(("pull", ()), None, [1.0, 2.0, 3.0])
    with pytest.raises(dl.UnknownNameError, match="unknown option of pull 'hard'"):
        kernels.get("pull", (), {"hard": True})
