"""Pictures: units on every axis, nothing on top of anything else, the same bytes twice; and what they show is right."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dalembert as dl
from dalembert import draw
from dalembert.describe.description import (
    Box,
    Capsule,
    Cylinder,
    Description,
    Inertial,
    Joint,
    Link,
    Origin,
    Shape,
    Sphere,
)
from dalembert.draw.arm import Canvas
from dalembert.draw.blocks.figure import mathtext
from dalembert.draw.pyplot import COLORS, style, styled
from dalembert.draw.skeleton import outlines, plane_of, skeleton
from dalembert.identification.log.samples import Log
from drawn import diagrams_by_name
from tolerances import ROUNDING, error
from trees import random_tree

PANDA = [0.0, -0.5, 0.0, -2.0, 0.0, 1.8, 0.7]


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def pendulum() -> dl.Robot:
    return dl.load("planar-1r")


def plant():
    return dl.control.TransferFunction([1.0], [1.0, 3.0, 2.0, 0.0])


def identified():
    """A log of a known motion, its torques with a little noise."""
    robot, rng = dl.load("planar-2r"), np.random.default_rng(0)
    t = np.arange(0, 8, 0.005)
    w, a, p = 2 * np.pi * np.array([0.25, 0.5, 0.75]), rng.uniform(-0.6, 0.6, (2, 3)), rng.uniform(0, 6, (2, 3))
    s, c = np.sin(t[:, None, None] * w + p), np.cos(t[:, None, None] * w + p)
    q, qd, qdd = np.sum(a * s, -1), np.sum(a * w * c, -1), np.sum(-a * w**2 * s, -1)
    tau = robot.inverse_dynamics(q, qd, qdd) + rng.normal(0, 0.05, q.shape)
    return dl.identify(robot, Log(t, q, tau, robot.joint_names, qd))


PICTURES = {
    "planar arm": lambda: draw.robot(dl.load("planar-3r"), [[0.2, 0.3, 0.1], [0.6, 0.9, 0.6]]),
    "arm in space": lambda: draw.robot(dl.load("panda"), PANDA),
    "tall arm": lambda: draw.robot(dl.load("stanford")),
    "sliding arm": lambda: draw.robot(dl.load("scara")),
    "ellipses": lambda: draw.ellipsoids(dl.load("planar-2r"), [0.4, 1.2], kinds=("velocity", "force", "mass")),
    "ellipsoids": lambda: draw.ellipsoids(dl.load("panda"), PANDA),
    "workspace": lambda: draw.workspace(dl.load("planar-2r"), samples=2000),
    "trajectory": lambda: draw.trajectory(
        dl.trajectories.quintic([0.0] * 6, [0.1, -0.2, 0.3, -0.4, 0.5, -0.6], 2.0, robot=dl.load("ur5e"))
    ),
    "run": lambda: draw.run(dl.simulate(dl.load("planar-2r"), q0=[0.5, 0.5], qd0=[0, 0], duration=0.5)),
    "portrait": lambda: draw.phase_portrait(dl.load("planar-1r")),
    "root locus": lambda: draw.root_locus(plant()),
    "bode": lambda: draw.bode(plant()),
    "residuals": lambda: draw.residuals(identified()),
    "step": lambda: draw.step(dl.control.TransferFunction([2.0], [1.0, 1.0, 2.0])),
}


def axes_of(figure) -> list:
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]


def words(figure) -> list[tuple[str, object]]:
    """(text, box) of all that can be read: ticks within the axes, labels, titles, notes, legends."""
    texts = [t for legend in figure.legends for t in legend.get_texts()] + [t for t in (figure._suptitle,) if t]
    for ax in figure.axes:
        texts += [ax.title, *(() if ax.name == "3d" else ax.texts)]  # of space: see the letters of axes below
        if not getattr(ax, "axison", True) and ax.name != "3d":
            continue
        for axis in (getattr(ax, f"{a}axis") for a in "xyz" if hasattr(ax, f"{a}axis")):
            low, high = sorted(axis.get_view_interval())
            texts += [axis.label, *(t.label1 for t in axis.get_major_ticks() if low <= t.get_loc() <= high)]
    shown = [t for t in texts if t.get_visible() and t.get_text().strip()]
    return [(t.get_text(), t.get_window_extent()) for t in shown]


def overlaps(figure, by: float = 1.5) -> list[tuple[str, str]]:
    """Pairs of texts that lie on each other by more than so many pixels."""
    figure.canvas.draw()
    found = words(figure)
    pairs = []
    for k, (a, first) in enumerate(found):
        for b, second in found[k + 1 :]:
            across = min(first.x1, second.x1) - max(first.x0, second.x0)
            along = min(first.y1, second.y1) - max(first.y0, second.y0)
            if across > by and along > by and a != b:
                pairs.append((a, b))
    return pairs


@pytest.mark.parametrize("name", PICTURES)
def test_axes_bear_units_and_words_are_apart(name):
    figure = PICTURES[name]()
    assert axes_of(figure)
    for ax in axes_of(figure):
        left = ax.get_position().x0
        below = ax.get_xlabel() or any(o.get_xlabel() for o in figure.axes if o.get_position().x0 == left)
        assert below and ax.get_ylabel(), f"{name}: an axis without a name"
        for label in (ax.get_xlabel(), ax.get_ylabel()):
            assert not label or ("[" in label and label.endswith("]")), f"{name}: {label!r} has no unit"
    assert overlaps(figure) == []
    width, height = figure.canvas.get_width_height()
    for text, box in words(figure):
        assert box.x0 > -2 and box.y0 > -2 and box.x1 < width + 2 and box.y1 < height + 2, f"{text!r} is cut off"


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_files_have_the_same_bytes_twice(tmp_path, kind):
    one = draw.save(draw.robot(dl.load("planar-2r"), [0.3, 0.4]), tmp_path / f"a.{kind}")
    two = draw.save(draw.robot(dl.load("planar-2r"), [0.3, 0.4]), tmp_path / f"b.{kind}")
    assert one.read_bytes() == two.read_bytes() and one.stat().st_size > 4000


def test_one_look_and_nothing_left_behind():
    before = dict(matplotlib.rcParams)
    seen = {}

    @styled
    def draw() -> str:
        """Says so."""
        seen.update(matplotlib.rcParams)
        return "drawn"

    assert draw() == "drawn" and draw.__doc__ == "Says so."
    assert seen["axes.grid"] and not seen["axes.spines.top"]
    assert dict(matplotlib.rcParams) == before
    cycle = list(style()["axes.prop_cycle"])
    assert len(cycle) == 16 and len({(c["color"], c["linestyle"]) for c in cycle}) == 16
    # Gray print: neighbors of the cycle differ by at least 12 of 100 in lightness (L*), so that each can be told.
    gray = [_lightness(c["color"]) for c in cycle[:4]]
    assert min(np.diff(gray)) > 12
    assert max(gray) < 80  # and none vanishes on white


def _lightness(color: str) -> float:
    linear = [((c + 0.055) / 1.055) ** 2.4 if c > 0.04045 else c / 12.92 for c in matplotlib.colors.to_rgb(color)]
    Y = float(np.dot((0.2126, 0.7152, 0.0722), linear))
    return 116 * Y ** (1 / 3) - 16 if Y > 0.008856 else 903.3 * Y


# ------------------------------------------------------------------------------------------------------ what is shown
@pytest.mark.parametrize("seed", range(4))
def test_the_skeleton_is_where_kinematics_says(seed):
    robot = dl.Robot(random_tree(seed, 6, mimic=seed % 2 == 1))
    q = np.random.default_rng(seed).uniform(-1, 1, robot.n)
    bones = skeleton(robot, q)
    for k, body in enumerate(robot.bodies):
        assert error(bones.joints[k], robot.fk(q, body)[:3, 3], 1.0) < ROUNDING
    for name, T in bones.tips.items():
        assert error(T, robot.fk(q, name)) < ROUNDING
    assert error(bones.center, robot.center_of_mass(q), 1.0) < ROUNDING
    # Every joint hangs on the base by lines: each link's far end is a joint, a tip, or where a slide begins.
    ends = [*bones.joints, *(T[:3, 3] for T in bones.tips.values()), *(r[0] for r in bones.rails)]
    for line in bones.links:
        assert min(float(np.linalg.norm(line[1] - p)) for p in ends) < 1e-12


def test_loops_are_closed_by_lines():
    robot = dl.load("four-bar")
    q = dl.Constrained(robot).close(robot.home).q
    bones = skeleton(robot, q)
    assert bones.closures.shape == (2, 3) and error(bones.closures[0], bones.closures[1]) < 1e-9
    assert sum(np.abs(line[1] - bones.closures[0]).max() < 1e-9 for line in bones.links) == 2
    draw.robot(robot, q)


def test_letters_of_axes_never_cover_each_other():
    robot = dl.load("panda")
    for q in robot.random_configuration(6, seed=2):
        canvas = Canvas(None)
        canvas.line(skeleton(robot, q).points)
        letters = [canvas.word(p, "x", ha="center", va="center") for p in skeleton(robot, q).joints]
        figure = canvas.finish("")
        canvas.untangle(letters)
        boxes = [canvas.box(word) for word in letters if word.get_visible()]
        assert 2 <= len(boxes) < len(letters)  # the wrist's joints lie in one another
        for k, a in enumerate(boxes):
            for b in boxes[k + 1 :]:
                assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        width, height = figure.canvas.get_width_height()
        assert all(a[0] > -2 and a[2] < width + 2 and a[1] > -2 and a[3] < height + 2 for a in boxes)
        plt.close(figure)


def test_planes_of_planar_arms():
    assert plane_of(dl.load("planar-2r")) == (0, 1)
    assert plane_of(dl.load("rp")) == (0, 1)
    assert plane_of(dl.load("panda")) is None and plane_of(dl.load("scara")) is None
    upright = Description(
        "upright",
        (Link("base"), Link("arm", Inertial(1.0, (0.1, 0.0, 0.0, 0.1, 0.0, 0.1)))),
        (Joint("j", "continuous", "base", "arm", Origin(), (0.0, -1.0, 0.0)),),
    )
    assert plane_of(dl.Robot(upright)) == (0, 2)


def test_outlines_lie_on_their_shapes():
    shapes = (
        Shape(Box((0.2, 0.4, 0.6)), Origin((1.0, 0.0, 0.0), (0.0, 0.0, np.pi / 2))),
        Shape(Cylinder(0.1, 0.5)),
        Shape(Sphere(0.3)),
        Shape(Capsule(0.1, 0.4)),
    )
    robot = dl.Robot(Description("shown", (Link("base", None, shapes),)))
    box, cylinder, sphere, capsule = (np.concatenate(lines) for _, lines in outlines(robot))
    assert error(np.ptp(box, axis=0), [0.4, 0.2, 0.6]) < ROUNDING and error(box.mean(0), [1.0, 0, 0]) < ROUNDING
    assert error(np.hypot(*cylinder[:, :2].T), np.full(len(cylinder), 0.1)) < ROUNDING
    assert np.abs(cylinder[:, 2]).max() == 0.25
    assert error(np.linalg.norm(sphere, axis=1), np.full(len(sphere), 0.3)) < ROUNDING
    assert abs(np.abs(capsule[:, 2]).max() - 0.3) < 1e-12
    figure = draw.robot(robot)
    assert figure.axes[0].name == "3d"


def test_ellipses_are_those_of_the_robot():
    robot, q = dl.load("planar-2r"), [0.4, 1.2]
    figure = draw.ellipsoids(robot, q, kinds="velocity")
    (line,) = [x for x in figure.axes[0].lines if x.get_label().startswith("velocity")]
    drawn = np.stack(line.get_data(), -1) - robot.fk(q)[:2, 3]
    e = robot.velocity_ellipsoid(q, rows=("vx", "vy"))
    lengths = np.linalg.norm(drawn, axis=1)
    assert abs(lengths.max() / lengths.min() - e.lengths[0] / e.lengths[1]) < 1e-2  # 120 points of the boundary
    along = drawn[lengths.argmax()] / lengths.max()
    assert abs(abs(along @ e.axes[:, 0]) - 1) < 1e-3
    assert "1.86, 0.5\n[m/s for ‖q̇‖ ≤ 1]" in line.get_label()
    singular = draw.ellipsoids(robot, [0.4, 0.0], kinds="force")
    assert "∞" in singular.legends[0].get_texts()[0].get_text()


def test_a_portrait_of_a_stiff_loop():
    """Steps are shortened until the paths stand still; where that is not enough, paths end with a mark."""
    three = dl.load("planar-3r")
    figure = draw.phase_portrait(three, dl.control.PDGravity(three, kp=50, kd=20), reference=[0, 0, 0])
    paths = [line.get_xydata() for line in figure.axes[0].lines if line.get_linestyle() == "-"]
    assert len(paths) == 8 and max(np.abs(path[-1]).max() for path in paths) < 0.1
    stiff = draw.phase_portrait(three, dl.control.PDGravity(three, kp=2e4, kd=2e4), reference=[0, 0, 0])
    assert any("steps too long" in line.get_label() for line in stiff.axes[0].lines)


def test_a_portrait_shows_the_flow(pendulum):
    figure = draw.phase_portrait(pendulum, starts=[[0.3, 0.0]], duration=2.0)
    ax = figure.axes[0]
    path = np.stack(ax.lines[0].get_data(), -1)
    run = dl.simulate(pendulum, q0=[0.3], qd0=[0.0], duration=2.0, friction=True)
    assert error(path[-1], [run.q[-1, 0], run.qd[-1, 0]]) < 1e-6  # two step lengths of rk4
    assert ax.get_xlabel() == "joint1 [rad]" and ax.get_ylabel() == "joint1 rate [rad/s]"
    pd = dl.control.PDGravity(pendulum, kp=20.0, kd=6.0)
    held = draw.phase_portrait(pendulum, pd, reference=[1.0], starts=[[-1.0, 0.0]], duration=5.0)
    end = np.stack(held.axes[0].lines[0].get_data(), -1)[-1]
    assert error(end, [1.0, 0.0]) < 1e-3  # it has settled where the law wants it
    two = dl.load("planar-2r")
    sliced = draw.phase_portrait(two, states=("joint2", "joint2_rate"), at=[0.3, 0, 0, 0], starts=())
    assert len(sliced.axes[0].lines) == 0


def test_diagrams_show_every_block_and_word():
    robot = dl.load("planar-2r")
    law = dl.control.ComputedTorque(robot, omega=5.0, zeta=1.0)
    figure = draw.diagram(law)
    found = [t.get_text() for t in figure.axes[0].texts]
    layout = dl.control.diagrams.diagram_of(law).layout
    blocks = [node for node in layout.diagram.nodes if node.kind != "sum"]
    assert len(found) == sum(n.text.count("\n") + 1 for n in blocks) + len(layout.labels) + len(layout.signs) + 1
    figure.canvas.draw()
    boxes = {
        node.name: figure.axes[0].transData.transform(np.reshape(layout.boxes[node.name], (2, 2))) for node in blocks
    }
    for text in figure.axes[0].texts:
        box = text.get_window_extent()
        for node in blocks:
            if node.kind == "block" and mathtext(node.text) == text.get_text():
                x0, x1 = boxes[node.name][:, 0]
                assert min(x0, x1) <= box.x0 and box.x1 <= max(x0, x1), f"{node.text} leaves its block"
    assert overlaps(figure) == []


DRAWN = diagrams_by_name()


@pytest.mark.parametrize("name", DRAWN)
def test_every_diagram_can_be_drawn(name, caplog):
    figure = draw.diagram(DRAWN[name])
    # Boxes of signs are taller than their ink, and two may stand at one sum: a few pixels of air are no overlap.
    assert overlaps(figure, 4.0) == []
    assert not caplog.records  # matplotlib knows every letter


def test_formulas_as_matplotlib_sets_them():
    assert mathtext("q̇_d") == r"$\mathregular{\dot{q}}_{\mathregular{d}}$"
    assert mathtext("a_{12} + 50%") == r"$\mathregular{a}_{\mathregular{12}}\mathregular{\ +\ 50\%}$"
    assert mathtext("ë") == r"$\mathregular{\ddot{e}}$"


def test_bad_input_is_told():
    arm, robot = dl.load("planar-2r"), dl.load("panda")
    for call, text in (
        (lambda: draw.robot(arm, [0.1]), "q has shape (1,); it must be (2,), or (k, 2) for several states"),
        (lambda: draw.robot(arm, [0.1, np.nan]), "q[1] is nan; it must be a finite number"),
        (lambda: draw.robot(arm, [0.1, 0.2], "tol"), "unknown frame 'tol'; did you mean 'tool'?"),
        (lambda: draw.robot(arm, shapes=1), "shapes is a switch, True or False; got int"),
        (lambda: draw.robot(robot, ax=plt.subplots()[1]), "ax has not projection='3d', which this arm needs"),
        (lambda: draw.ellipsoids(arm, [0, 0.1], kinds="velocty"), "did you mean 'velocity'?"),
        (lambda: draw.ellipsoids(arm, [[0, 0.1], [0, 0.2]]), "ellipsoids are drawn for one state q (n,)"),
        (lambda: draw.phase_portrait(arm, states=("joint1", "joint3")), "unknown state of 'planar-2r' 'joint3'"),
        (lambda: draw.phase_portrait(arm, window=((1, 0), (0, 1))), "each low below its high"),
        (lambda: draw.phase_portrait(arm, at=[0.0]), "at has shape (1,); 'planar-2r' needs (4,)"),
        (lambda: draw.phase_portrait(arm, reference=[0, 0]), "a reference is followed by a controller"),
        (lambda: draw.phase_portrait(arm, 3), "controller must be a Law or what has one, got int"),
        (lambda: draw.phase_portrait(arm, duration=0), "it must be greater than 0 [s]"),
        (lambda: draw.residuals(3), "residuals are those of an Identification, got int"),
        (lambda: draw.trajectory(3), "a Trajectory of dalembert.trajectories is drawn here, got int"),
        (lambda: draw.run(3), "a Run is drawn here"),
        (lambda: draw.workspace(3), "a drawing of a workspace takes a Robot (dalembert.load gives one), got int"),
        (lambda: draw.workspace(arm.workspace(100), samples=3), "samples= comes too late"),
        (lambda: draw.save(draw.robot(arm), "a.txt"), "'a.txt' must end in one of "),
        (lambda: draw.save(draw.robot(arm), "picture"), "'picture' must end in one of"),
        (lambda: draw.save(3, "a.png"), "a matplotlib figure is saved here, got int"),
        (lambda: draw.diagram(3), "`controller` must be a controller or a Law, got 3 (int)"),
    ):
        with pytest.raises(dl.DalembertError) as told:
            call()
        assert text in str(told.value), str(told.value)


def test_without_matplotlib_there_is_a_sentence(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(dl.MissingExtraError, match=r"matplotlib is not installed: pip install 'dalembert\[plot\]'"):
        draw.robot(dl.load("planar-2r"))
    assert COLORS
