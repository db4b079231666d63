"""Joints of several coordinates at the command line: what works, and the one sentence for what does not."""

from __future__ import annotations

import numpy as np
import pytest
from invoking import data, run, words

import dalembert as dl


@pytest.mark.parametrize("base", ("floating", "planar", "spherical"))
def test_files_and_the_command_line(base: str, tmp_path):
    arm, file = dl.load("elbow-3r"), tmp_path / "robot.toml"
    robot = arm.with_payload(3.0, inertia=(0.1, 0, 0, 0.2, 0, 0.3), frame=arm.frames[0]).with_base(base)
    robot.to_toml(file)
    q = robot.random_configuration(seed=2)
    np.testing.assert_allclose(dl.load(file).mass_matrix(q), robot.mass_matrix(q), atol=1e-12)
    numbers = ",".join(f"{float(x)!r}" for x in q)

    card = data("info", file)
    assert (card["nq"], card["nv"]) == (robot.nq, robot.nv)
    found = data("fk", file, "--q0", numbers)
    np.testing.assert_allclose(found["poses"][0]["T"], robot.fk(q), atol=1e-12)
    run("dynamics", file, "--q0", numbers)
    run("simulate", file, "--q0", numbers, "--duration", "0.02")
    to = ",".join(f"{x + 0.05!r}" for x in q[-3:].tolist())
    moved = data("simulate", file, "--q0", numbers, "--to", to, "--controller", "pd", "--duration", "0.02")
    assert len(moved["q"]) == robot.nq and len(moved["final_error"]) == 3 and len(moved["peak_torque"]) == robot.nv
    assert "peak torque" in run("simulate", file, "--controller", "pd", "--duration", "0.01").output
    for asked in (("ik", "--xyz", "0.1,0,0"), ("simulate", "--to", "0,0,0", "--duration", "0.1")):
        assert "whose positions are no vector" in words(run(asked[0], file, *asked[1:], code=1).output), asked
