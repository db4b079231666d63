"""The report: whole, alone, harmless, the same twice; every section there, or a sentence in its place."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import dalembert as dl
from dalembert.apps.report import NAMES, page, write_report
from dalembert.apps.report.context import Made, NotHereError, Section
from dalembert.apps.report.judgments import source_of
from dalembert.apps.report.page import SECTIONS
from dalembert.describe.description import Description, Joint, Link, Origin
from errors import raises

DAY = "2026-01-01"
VOID = {"meta", "img", "br", "wbr", "hr", "input", "link"}
ALERT = "</script ><script >alert(1)</script ><!--<img src=x onerror=alert(2)>\"'{{7*7}}&lt;"


class Page(HTMLParser):
    """The elements of a page, each closed where it should be; the text of every section."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: dict[str, str] = {}
        self.section = ""
        self.scripts: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.section = dict(attrs)["id"]
        if tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.words[self.section] = self.words.get(self.section, "") + data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)

    @property
    def scene(self) -> dict:
        return json.loads(self.scripts[0])["scene"]


def written(robot, path: Path, **options) -> tuple[dl.write_report.__class__, str]:
    report = write_report(robot, path, date=DAY, **{"quick": True, "seconds": 1e4, **options})
    return report, path.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def planar(tmp_path_factory):
    """(report, its text, the text taken apart) of the whole quick report of planar-2r."""
    report, text = written(dl.load("planar-2r"), tmp_path_factory.mktemp("report") / "planar.html")
    return report, text, Page(text)


# ------------------------------------------------------------------------------------------------------------ the page
def test_every_section_is_there(planar):
    report, text, parsed = planar
    assert [s.name for s in report.sections] == list(NAMES)
    assert [s.state for s in report.sections] == ["ok"] * len(NAMES), str(report)
    assert report.failed == ()
    ids = [a["id"] for tag, a in parsed.tags if tag == "section"]
    assert ids == list(NAMES)
    links = [a["href"] for tag, a in parsed.tags if tag == "a"]
    assert set(links) <= {f"#{name}" for name in NAMES} and len(links) >= len(NAMES)
    assert report.size == len(text.encode()) < 1_000_000


def test_what_a_reader_finds(planar):
    _, _, parsed = planar
    words = parsed.words
    assert "Every link is a uniform rod of length l = 1 m" in words["robot"]
    assert "joint2" in words["frames"] and "Standard:" in words["frames"]
    assert "Lumped constants" in words["equations"] and "M has 14 terms" in words["equations"]
    assert "as far as 2 m" in words["workspace"] or "1.9" in words["workspace"]
    assert "elbow" in words["singularities"]
    assert "skew symmetry" in words["properties"] and "proved" in words["properties"]
    assert "certified" in words["bounds"]
    assert "all agree" in words["verification"]
    assert "computed torque" in words["task"] and "settled" in words["task"]
    assert "No problems were found" in words["findings"]
    assert parsed.count("math") > 20 and parsed.count("svg") >= 8 and parsed.count("canvas") == 1


def test_the_equations_are_those_of_the_robot(planar):
    """M11 = a + 2 b c2 as MathML: the letters in their order."""
    _, text, _ = planar
    plain = re.sub(r"<[^>]+>", "", text[text.index("Mass matrix") : text.index("Coriolis and centripetal")])
    assert "M=[a+2bc2d+bc2d+bc2d]" in plain


def test_numbers_have_units_and_maps_have_words(tmp_path):
    """The Stanford arm: five joints that turn and one that slides, which is never at 0 m."""
    arm = dl.load("stanford")
    report, text = written(arm, tmp_path / "s.html", sections=["robot", "frames", "workspace", "task"])
    words = {name: text.replace("\N{NO-BREAK SPACE}", " ") for name, text in Page(text).words.items()}
    T = arm.fk(arm.home)
    assert f"{arm.home[2]:.4g} m" in words["robot"] and f"{T[2, 3]:.5g}" in words["frames"]
    assert "From above." in words["workspace"] and "From the side" in words["workspace"]
    assert "half axis [m/s]along (vx, vy, vz)" in words["workspace"]
    assert "half axis [rad/s]along (wx, wy, wz)" in words["workspace"]
    for head in ("RMS error [rad, m]", "largest error [rad, m]", "peak torque [N m, N]", "energy [J]"):
        assert head in words["task"]
    assert report.sections[-1].verdict.endswith("has the smallest worst-case error")


def test_it_needs_no_network(planar):
    _, text, parsed = planar
    for tag, attributes in parsed.tags:
        assert tag not in ("link", "iframe", "object", "embed", "img", "audio", "video", "form", "base"), tag
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "href", "action", "data"):
                assert value.startswith("#"), value
    assert {u for u in re.findall(r"https?://[^\s\"'<)]+", text)} <= {"http://www.w3.org/2000/svg"}
    assert "@import" not in text and "url(" not in text


def test_the_policy_lets_only_our_script_run(planar):
    _, _, parsed = planar
    policy = next(a["content"] for tag, a in parsed.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'") and "connect-src" not in policy
    assert len(parsed.scripts) == 3  # data, module, script
    digest = base64.b64encode(hashlib.sha256(parsed.scripts[2].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_the_same_robot_is_the_same_bytes(planar, tmp_path):
    """All but what is searched by the clock."""
    _, text, _ = planar
    names = [name for name in NAMES if name != "bounds"]
    _, again = written(dl.load("planar-2r"), tmp_path / "again.html", sections=names)

    def parts(page: str) -> list[str]:
        return [re.search(rf'<section id="{name}">.*?</h2>(.*?)</section>', page, re.DOTALL)[1] for name in names]

    assert parts(again) == parts(text)
    assert again[again.index("<script") :] == text[text.index("<script") :]


def test_only_the_day_differs(tmp_path):
    arm = dl.load("planar-2r")
    a, b = (write_report(arm, tmp_path / f"{d}.html", date=d, sections=["frames"], quick=True) for d in ("x1x", "y2y"))
    assert a.path.read_text().replace("x1x", "y2y") == b.path.read_text()
    today = write_report(arm, tmp_path / "t.html", sections=["frames"]).path.read_text()
    assert re.search(r"<time>\d{4}-\d\d-\d\d</time>", today)


def test_where_the_description_lies_is_not_told(tmp_path):
    file = tmp_path / "secret-folder" / "arm.toml"
    file.parent.mkdir()
    dl.load("planar-2r").to_toml(file)
    _, text = written(dl.load(file), tmp_path / "r.html", sections=["robot", "verification", "findings"])
    assert "arm.toml" in text and "secret-folder" not in text


# ------------------------------------------------------------------------------------------------------------- safety
def dangerous() -> dl.Robot:
    """A robot whose every name would like to be a script."""
    d = dl.load("planar-2r").description
    names = {link.name: f"{link.name}{ALERT}" for link in d.links}
    links = tuple(replace(link, name=names[link.name]) for link in d.links)
    joints = tuple(replace(j, name=f"{j.name}{ALERT}", parent=names[j.parent], child=names[j.child]) for j in d.joints)
    return dl.Robot(replace(d, name=ALERT, links=links, joints=joints, tip=names[d.tip], notes=ALERT))


def test_names_are_words_and_never_markup(tmp_path):
    report, text = written(dangerous(), tmp_path / "x.html", sections=[name for name in NAMES if name != "bounds"])
    assert report.failed == (), str(report)
    parsed = Page(text)
    assert len(parsed.scripts) == 3 and parsed.count("img") == 0
    assert not any(name.startswith("on") for _, a in parsed.tags for name in a)
    assert "alert(1)" not in parsed.scripts[2]
    assert parsed.scene["coordinates"][0]["name"] == f"joint1{ALERT}"
    assert not set("<>&") & set(parsed.scripts[0])
    assert ALERT in parsed.words[""] and "{{7*7}}" in text and ">49<" not in text


def test_a_file_named_after_the_robot_is_a_safe_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    robot = dl.Robot(replace(dl.load("planar-2r").description, name="../..//etc/<b>arm"))
    report = write_report(robot, sections=["frames"])
    assert report.path == Path("etc--b-arm.html") and report.path.is_file()


# ------------------------------------------------------------------------------------------------- sections that fail
def with_section(monkeypatch, make, seconds=1.0):
    rows = tuple(Section("frames", s.title, make, seconds) if s.name == "frames" else s for s in SECTIONS)
    monkeypatch.setattr(page, "SECTIONS", rows)


def test_a_section_that_fails_does_not_end_the_report(monkeypatch, tmp_path):
    with_section(monkeypatch, lambda context: 1 // 0)
    report, text = written(dl.load("planar-2r"), tmp_path / "r.html", sections=["frames", "findings"])
    assert report.failed == ("frames",) and report.sections[1].state == "ok"
    assert "This section failed, which is an error in Dalembert; please report it. ZeroDivisionError" in text


@pytest.mark.parametrize(
    "error, words",
    [
        (NotHereError("It is too early."), "It is too early."),
        (dl.InputError("q is <odd>"), "This was refused: q is &lt;odd&gt;."),
    ],
)
def test_a_section_that_does_not_apply_says_why(monkeypatch, tmp_path, error, words):
    def make(context):
        raise error

    with_section(monkeypatch, make)
    report, text = written(dl.load("planar-2r"), tmp_path / "r.html", sections=["frames"])
    assert report.failed == () and report.sections[0].state == "absent" and words in text


def test_no_time_left_is_told(monkeypatch, tmp_path):
    with_section(monkeypatch, lambda context: Made(page.html.paragraph("done")), seconds=10.0)
    report, text = written(dl.load("planar-2r"), tmp_path / "r.html", sections=["robot", "frames"], seconds=1e-6)
    assert [s.state for s in report.sections] == ["ok", "absent"]
    assert "No time was left for this section" in text and report.sections[1].verdict == "no time was left"


def test_a_section_hears_how_long_it_may_take(monkeypatch, tmp_path):
    heard = []

    def make(context):
        heard.append(context.seconds)
        return Made(page.html.paragraph("done"))

    with_section(monkeypatch, make, seconds=30.0)
    written(dl.load("planar-2r"), tmp_path / "r.html", sections=["frames"], seconds=7.0)
    assert 6.0 < heard[0] <= 7.0


def test_progress_is_told_of_every_section(tmp_path):
    told = []
    write_report(
        dl.load("planar-2r"),
        tmp_path / "r.html",
        sections=["frames", "findings"],
        progress=lambda title, word: told.append((title, word)),
    )
    assert [word for _, word in told] == ["begun", "ok", "begun", "no problems"]


# ---------------------------------------------------------------------------------------------------------- odd robots
def test_a_robot_without_joints(tmp_path):
    robot = dl.Robot(Description("stone", (Link("stone"),)))
    report, text = written(robot, tmp_path / "r.html", sections=[n for n in NAMES if n != "bounds"])
    assert report.failed == (), text
    assert "This robot has no joints: nothing moves." in text


def test_a_robot_without_masses(tmp_path):
    robot = dl.Robot.from_dh([dict(a=0.5), dict(a=0.3)])
    report, text = written(robot, tmp_path / "r.html", sections=["robot", "frames", "equations", "task"])
    assert report.failed == () and "No moving body of this robot has a mass" in text


def test_a_closed_chain_says_what_it_cannot_be_asked(tmp_path):
    report, text = written(dl.load("four-bar"), tmp_path / "r.html", sections=["robot", "frames", "equations", "task"])
    states = {s.name: s.state for s in report.sections}
    assert states == {"robot": "ok", "frames": "ok", "equations": "absent", "task": "absent"}
    assert "dalembert.Constrained(robot)" in text and Page(text).scene["loops"] == 1


def test_of_several_ends_one_is_taken_and_named(tmp_path):
    d = dl.load("planar-2r").description
    d = replace(
        d,
        links=(*d.links, Link("camera")),
        tip=None,
        joints=(*d.joints, Joint("eye", "fixed", "link2", "camera", Origin((0.1, 0, 0)))),
    )
    robot = dl.Robot(d)
    assert robot.tip is None
    report, text = written(robot, tmp_path / "r.html", sections=["robot", "workspace"])
    assert report.sections[1].state == "ok" and "the end of the longest chain was taken, not camera" in text


def test_a_payload_is_reported_on_and_not_the_file_without_it(tmp_path):
    loaded = dl.load("planar-2r").with_payload(3.0)
    _, text = written(loaded, tmp_path / "r.html", sections=["robot", "verification"])
    assert "5 kg" in text and "all agree" in text
    assert source_of(loaded) is loaded and source_of(dl.load("planar-2r")) == "planar-2r"


def test_a_large_arm_is_told_by_what_can_be_read(tmp_path):
    """Panda: g and the short entries of M in full, the rest by its size; no line wider than a page."""
    _, text = written(dl.load("panda"), tmp_path / "r.html", sections=["equations"])
    words = Page(text).words["equations"]
    assert "M has 13668 terms" in words and "is too long to be read" in words and "73 parameters" in words
    assert text.count("<details>") >= 3


# ---------------------------------------------------------------------------------------------------------- wrong uses
def test_wrong_uses_get_a_sentence(tmp_path):
    arm = dl.load("planar-2r")
    with pytest.raises(dl.InputError, match=r"a report takes a Robot \(dalembert.load gives one\), got str"):
        write_report("planar-2r", tmp_path / "r.html")
    with pytest.raises(dl.UnknownNameError, match="unknown section 'equation'; did you mean 'equations'"):
        write_report(arm, tmp_path / "r.html", sections=["equation"])
    with pytest.raises(dl.InputError, match=r"sections is a list of names, as \['task'\]"):
        write_report(arm, tmp_path / "r.html", sections="task")
    with pytest.raises(dl.InputError, match="sections is empty"):
        write_report(arm, tmp_path / "r.html", sections=[])
    for seconds in (0, -1, np.nan, np.inf, True, "ten"):
        with pytest.raises(dl.InputError, match="seconds must be a positive number"):
            write_report(arm, tmp_path / "r.html", seconds=seconds)
    with raises(dl.InputError, "not-writable path"):
        write_report(arm, tmp_path / "nowhere" / "r.html")
    with pytest.raises(dl.InputError, match="quick is a switch"):
        write_report(arm, tmp_path / "r.html", quick="yes")
    assert list(tmp_path.iterdir()) == []


def test_a_report_shows_itself(planar):
    report, _, _ = planar
    assert "The robot" in str(report) and repr(report).startswith("<Report of 'planar-2r': ")
    data = report.data()
    assert data["sections"][0]["name"] == "robot" and json.dumps(data)
