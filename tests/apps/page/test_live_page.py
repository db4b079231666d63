"""The page as a file: whole, well-formed, fetching nothing, its data and its module in order; wrong uses in
sentences."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner

import dalembert as dl
from dalembert.apps.cli import main
from dalembert.apps.page import PANELS
from dalembert.describe.description import Description, Link
from dalembert.errors import InputError, UnknownNameError
from errors import raises

VOID = {"meta", "input", "br", "hr", "img", "link"}


class Elements(HTMLParser):
    """Checks that elements are closed in order, and keeps what scripts hold."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.scripts: dict[str, str] = {}
        self.name = ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.attributes += [(k, v or "") for k, v in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.name = dict(attrs).get("id") or "own"

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(k, v or "") for k, v in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[self.name] = data


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "arm.html"
    page = dl.write_page(dl.load("planar-2r"), path, motion=[[1.0, 0.5]], controllers=["pd-gravity", "none"])
    return page, path.read_text(encoding="utf-8")


def test_a_page_is_one_file_that_fetches_nothing(written):
    page, text = written
    found = Elements(text)
    assert page.size == len(text.encode()) < 150_000 and text.startswith("<!doctype html>")
    assert not [v for k, v in found.attributes if k in ("src", "href") and not v.startswith(("data:", "#"))]
    assert set(re.findall(r"https?://[^\s\"'<>)]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    policy = next(v for _, v in found.attributes if v.startswith("default-src"))
    digest = base64.b64encode(hashlib.sha256(found.scripts["own"].encode()).digest()).decode()
    assert f"'sha256-{digest}' 'wasm-unsafe-eval'" in policy and "connect-src" not in policy
    assert 'class="still"' in text and "<svg" in text  # what is seen without scripts


def test_its_data_are_those_of_the_robot(written):
    page, text = written
    found, robot = Elements(text), dl.load("planar-2r")
    data = json.loads(found.scripts["live-data"])
    laws = data["physics"]["laws"]
    assert page.controllers == ("pd-gravity", "none") == tuple(law["name"] for law in laws)
    assert data["panels"] == list(PANELS) and data["g"] == pytest.approx(9.81) and data["physics"]["motion"] == 2.0
    assert set(data["signatures"]) == {"loop_pd-gravity", "loop_none", "reach", "ellipsoid", "motion"}
    assert [c["name"] for c in data["scene"]["coordinates"]] == list(robot.joint_names)
    module = gzip.decompress(base64.b64decode(found.scripts["live-module"]))
    assert module[:4] == b"\0asm" and len(module) == page.module
    omega, zeta = laws[0]["settings"]
    assert (omega["symbol"], zeta["symbol"], laws[1]["settings"]) == ("ω", "ζ", [])


def test_the_same_robot_gives_the_same_bytes(written, tmp_path):
    robot = dl.load("planar-2r")
    dl.write_page(robot, tmp_path / "b.html", motion=[[1.0, 0.5]], controllers=["pd-gravity", "none"])
    assert (tmp_path / "b.html").read_text(encoding="utf-8") == written[1]


def test_embedded_pages_are_small(tmp_path):
    robot = dl.load("planar-1r")
    page = dl.write_page(
        robot, tmp_path / "p.html", q=[1.2], controllers=["none"], embed=True, panels=["phase"], run=False
    )
    data = json.loads(Elements(page.path.read_text(encoding="utf-8")).scripts["live-data"])
    assert (data["embed"], data["panels"], data["run"], data["scene"]["start"]) == (True, ["phase"], False, [1.2])
    assert page.size < 150_000


def test_a_log_is_written_into_it(tmp_path):
    robot, t = dl.load("planar-2r"), np.linspace(0, 1, 51)
    q = np.stack([np.sin(3 * t), 0.5 * np.cos(5 * t)], -1)
    rows = np.column_stack([t, q, np.cos(t), np.sin(2 * t)])
    np.savetxt(tmp_path / "log.csv", rows, delimiter=",", header="t,q1,q2,tau1,tau2", comments="")
    page = dl.write_page(robot, tmp_path / "p.html", controllers=["none"], log=tmp_path / "log.csv")
    log = json.loads(Elements(page.path.read_text(encoding="utf-8")).scripts["live-data"])["log"]
    assert np.allclose(log["t"], t, atol=1e-4) and np.allclose(log["q"], q, atol=1e-5)


def test_a_log_to_play_needs_no_torques_and_joints_may_rest(tmp_path):
    robot, t, file = dl.load("planar-2r"), np.linspace(0.0, 0.2, 5), tmp_path / "log.csv"
    q = np.stack([np.sin(t), 0 * t + 0.3], -1)
    for head, positions in (("t,joint1,joint2", q), ("t,q1 [deg],q2 [deg]", np.degrees(q))):
        np.savetxt(file, np.column_stack([t, positions]), delimiter=",", header=head, comments="")
        page = dl.write_page(robot, tmp_path / "p.html", controllers=["none"], log=file)
        log = json.loads(Elements(page.path.read_text(encoding="utf-8")).scripts["live-data"])["log"]
        assert np.allclose(log["t"], t) and np.allclose(log["q"], q, atol=1e-5)
    np.savetxt(file, np.column_stack([t, 200 * q]), delimiter=",", header="t,joint1,joint2", comments="")
    with pytest.raises(InputError, match=r"look like degrees.*'joint1 \[deg\]'"):
        dl.write_page(robot, tmp_path / "p.html", controllers=["none"], log=file)


def test_a_closed_chain_begins_with_its_loops_shut(tmp_path):
    robot = dl.load("five-bar")
    page = dl.write_page(robot, tmp_path / "p.html", controllers=["none"], q=[1.0, 1.0, 1.0, 1.0])
    start = json.loads(Elements(page.path.read_text(encoding="utf-8")).scripts["live-data"])["scene"]["start"]
    assert np.abs(dl.Constrained(robot).residual(start)).max() < 1e-9


def test_names_cannot_end_their_element(tmp_path):
    name = "</script><img src=x onerror=alert(1)>"
    tree = dl.load("planar-1r").description
    evil = dl.Robot(Description(name, tree.links, tree.joints))
    page = dl.write_page(evil, tmp_path / "x.html", controllers=["none"])
    Elements(page.path.read_text(encoding="utf-8"))
    assert "<img" not in page.path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words, error, fields",
    [
        ({"controllers": ["pidd"]}, UnknownNameError, "unknown-name"),
        ({"controllers": "pd"}, InputError, "wrong-type controllers"),
        ({"controllers": []}, InputError, "wrong-type controllers"),
        ({"panels": ["plot"]}, UnknownNameError, "unknown-name panels"),
        ({"panels": "plots"}, InputError, "wrong-type panels"),
        ({"embed": "yes"}, InputError, "wrong-type embed"),
        ({"q": [0.1]}, InputError, "wrong-shape q"),
        ({"motion": [[1.0, 2.0, 3.0]]}, InputError, "wrong-shape motion"),
        ({"log": "nothing.csv"}, InputError, "not-readable path"),
        ({"path": "no/such/folder/arm.html"}, InputError, "not-writable path"),
    ],
)
def test_wrong_words_are_refused_in_a_sentence(words, error, fields, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with raises(error, fields):
        dl.write_page(dl.load("planar-2r"), **{"path": "arm.html", "controllers": ["none"], **words})
    assert not (tmp_path / "arm.html").exists()


def test_what_is_no_robot_or_has_no_joints_is_refused(tmp_path):
    with pytest.raises(InputError, match="a page"):
        dl.write_page("panda", tmp_path / "x.html")
    block = dl.Robot(Description("block", (Link("base"),), ()))
    with raises(InputError, "unsupported robot"):
        dl.write_page(block, tmp_path / "x.html")


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr("click.launch", opened.append)
    arguments = ["page", "planar-1r", "--controller", "none,pd", "--embed", "--q0", "30deg", "--through", "1", "--open"]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0 and "wrote planar-1r.html: " in result.output and "under none, pd" in result.output
    assert opened == [(tmp_path / "planar-1r.html").resolve().as_uri()]
    result = CliRunner().invoke(main, ["page", "planar-1r", "--controller", "none", "-o", "a.html", "--json"])
    assert json.loads(result.stdout)["controllers"] == ["none"]
    result = CliRunner().invoke(main, ["page", "planar-1r", "--only", "graphs"])
    assert result.exit_code == 2 and "'graphs'" in result.output


def test_the_runtime_stands_in_a_scope_of_its_own(written):
    script = Elements(written[1]).scripts["own"]
    assert "export " not in script.split("return load;")[0] and script.count("const load = ") == 1
