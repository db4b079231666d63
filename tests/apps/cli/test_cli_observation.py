"""dalembert observe: from two logs to contacts, a picture, a table and C."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from invoking import data, run, words

import dalembert as dl


def write(path, seed, push=(), payload=0.0, seconds=60, rate=100.0):
    """A log of a planar arm: moves from place to place, noise, a push (from, to, wrench on the tip)."""
    arm = dl.load("planar-2r")
    true = arm.with_payload(payload, (0, 0, 0)) if payload else arm
    rng, t = np.random.default_rng(seed), np.arange(round(seconds * rate)) / rate
    w, a, p = rng.uniform(0.5, 3, (6, 2)), rng.normal(0, 0.3, (6, 2)), rng.uniform(0, 6, (6, 2))
    angle = t[:, None, None] * w + p
    q, qd, qdd = ((a * np.sin(angle)).sum(1), (a * w * np.cos(angle)).sum(1), (-a * w**2 * np.sin(angle)).sum(1))
    tau = true.inverse_dynamics(q, qd, qdd) + 0.2 * rng.normal(size=q.shape)
    for start, end, f in push:
        inside = (t >= start) & (t < end)
        tau[inside] -= np.einsum("tij,i->tj", arm.jacobian(q[inside]), f)
    table = np.column_stack([t, q, qd, tau])
    np.savetxt(path, table, delimiter=",", header="t,q1,q2,qd1,qd2,tau1,tau2", comments="", fmt="%.9g")
    return path


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    push = [(20.0, 21.0, (0.0, 8.0, 0, 0, 0, 0)), (40.0, 40.5, (10.0, 0, 0, 0, 0, 0))]
    return (
        write(folder / "quiet.csv", 0, seconds=120),
        write(folder / "touched.csv", 0, push),
        write(folder / "loaded.csv", 0, payload=2.0),
    )


def test_contacts(logs, tmp_path):
    quiet, touched, _ = logs
    out, picture, source = tmp_path / "contacts.csv", tmp_path / "contacts.svg", tmp_path / "watch.c"
    where = ("observe", "planar-2r", touched, "--calibrate", quiet, "--components", "f_x,f_y")
    got = data(*where, "--false-alarms", "5", "-o", out, "--plot", picture, "-o", source)
    assert [round(c["alarm"]) for c in got["contacts"]] == [20, 40]
    assert np.allclose(got["contacts"][0]["wrench"][:2], [0, 8], atol=2)
    assert got["false_alarms"]["asked"] == 5.0 and got["false_alarms"]["interval"][1] > 5
    assert got["delays"]["20"][0][0] < 0.1 and got["frame"] and got["units"] == ["N m", "N m"]
    assert got["files"] == [str(out), str(picture), str(source), str(source.with_suffix(".h"))]
    assert b"<svg" in picture.read_bytes() and "void watch(const double *q" in source.with_suffix(".h").read_text()
    with open(out, newline="") as table:
        head, *rows = list(csv.reader(table))
    assert head[:4] == ["t", "r_joint1", "r_joint2", "contact"] and head[4:6] == ["f_x", "f_y"] and len(rows) == 6000
    assert {float(row[3]) for row in rows} == {0.0, 1.0, 2.0}
    assert abs(float(next(row for row in rows if row[0] == "20.5")[5]) - 8) < 2 and rows[0][5] == "nan"
    text = run(*where, "--gain", "20,40").output
    assert (
        "2 contacts; wrenches on the robot at" in text
        and "delay of 5 N m (95 %)" in text
        and "false alarms per hour" in text
    )


def test_the_first_part_of_the_log_itself(logs):
    quiet, *_ = logs
    got = data("observe", "planar-2r", quiet, "--first", "0.7", "--false-alarms", "10")
    assert got["false_alarms"]["seconds"] == pytest.approx(36.0)
    assert len(got["contacts"]) <= got["false_alarms"]["expected"][1]
    assert "no contact" in run("observe", "planar-2r", quiet, "--false-alarms", "0.01").output


def test_thresholds_that_do_not_belong_to_the_log_are_no_answer(logs, tmp_path):
    quiet, _, loaded = logs
    out = tmp_path / "out.csv"
    where = ("observe", "planar-2r", loaded, "--calibrate", quiet, "-o", out)
    told = run(*where, code=1)
    assert "the thresholds do not belong to this log; another payload" in words(told.output) and not out.exists()
    assert run(*where, "--force").exit_code == 0 and out.exists()


def test_wrong_words(logs):
    quiet, touched, _ = logs
    said = run("observe", "planar-2r", touched, "--calibrate", quiet, "--first", "0.3", code=2)
    assert "--first has no effect here" in words(said.output)
    assert "--force has no effect" in words(run("observe", "planar-2r", touched, "--force", code=2).output)
    assert "these are 2 logs" in words(run("observe", "planar-2r", touched, quiet, code=2).output)
    assert "2 possible" not in run("observe", "planar-2r", touched, "--frame", "nowhere", code=2).output
    assert "component of a wrench" in words(run("observe", "planar-2r", touched, "--components", "f", code=2).output)
