"""The scene: solids are what they are called, the page's joint table moves them as the robot moves, pictures are not
blank."""

from __future__ import annotations

import base64
import re
import struct
from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import label

import dalembert as dl
from dalembert.apps.page.scene import scene_of
from dalembert.apps.page.still import still_picture
from dalembert.apps.report.clearance import postures
from dalembert.apps.report.scheme import skeleton
from dalembert.describe.description import Box, Capsule, Cylinder, Mesh, Shape, Sphere
from dalembert.draw.scene import DrawnPart, Solid, drawn_limits, place_along, posture, triangulate
from trees import random_tree


def volume(solid: Solid) -> float:
    """By the divergence theorem: right, and positive, only if the surface is closed and turned outwards."""
    a, b, c = (solid.vertices[solid.faces[:, k]] for k in range(3))
    return float((a * np.cross(b, c)).sum() / 6)


def closed(solid: Solid) -> bool:
    """Every edge is met once in each direction."""
    edges = [(int(f[i]), int(f[(i + 1) % 3])) for f in solid.faces for i in range(3)]
    return len(set(edges)) == len(edges) and {(b, a) for a, b in edges} == set(edges)


@pytest.mark.parametrize(
    "shape, exact",
    [
        (Box((1.0, 2.0, 3.0)), 6.0),
        (Cylinder(0.5, 2.0), np.pi * 0.25 * 2),
        (Sphere(0.7), 4 / 3 * np.pi * 0.343),
        (Capsule(0.3, 1.0), np.pi * 0.09 * 1 + 4 / 3 * np.pi * 0.027),
    ],
)
def test_solids_are_closed_outward_and_of_the_right_size(shape, exact):
    solid = triangulate(shape)
    assert closed(solid)
    assert volume(solid) == pytest.approx(exact, rel=0.05)  # 24 corners cut off 1.1 % of a disc
    mirror = np.diag([-1.0, 1.0, 1.0, 1.0])
    assert volume(solid.move(mirror)) == pytest.approx(volume(solid))


def test_a_bar_reaches_from_point_to_point():
    bar = DrawnPart(0, Capsule(0.1, 2.0), place_along(np.array([0.0, 0.0, 1.0]), (1.0, 2.0, 4.0)), "#000000").solid
    assert np.allclose([bar.vertices.min(0), bar.vertices.max(0)], [[0.9, 1.9, 2.9], [1.1, 2.1, 5.1]], atol=1e-9)
    assert closed(bar) and volume(bar) > 0


def test_a_lighter_mesh_is_as_large_and_has_few_triangles():
    u = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    rings = [
        np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.full(200, np.cos(v))], -1)
        for v in np.linspace(0.01, np.pi - 0.01, 100)
    ]
    vertices = np.concatenate(rings)
    faces = [
        t
        for i in range(99)
        for j in range(200)
        for t in (
            (200 * i + j, 200 * i + 200 + j, 200 * i + (j + 1) % 200),
            (200 * i + (j + 1) % 200, 200 * i + 200 + j, 200 * i + 200 + (j + 1) % 200),
        )
    ]
    ball = Solid(vertices, np.array(faces))
    small = ball.simplify(1500)
    assert 500 < len(small.faces) <= 1500
    assert np.abs(np.linalg.norm(small.vertices, axis=1) - 1).max() < 0.1
    assert volume(small) == pytest.approx(4 / 3 * np.pi, rel=0.1)
    assert small.simplify(1500) is small


# ------------------------------------------------------------------------------------------ what the page's script does
def by_the_table(data: dict, q: np.ndarray) -> list[np.ndarray]:
    """Poses of the bodies from the JSON alone, in the steps of the script."""
    out: list[np.ndarray] = []
    for body in data["bodies"]:
        P = np.eye(4)
        P[:3] = np.reshape(body["placement"], (3, 4))
        x, J = body["multiplier"] * q[body["position"] :] + body["offset"], np.eye(4)
        m = len(body["slides"])
        J[:3, 3] = np.reshape(body["slides"], (m, 3)).T @ x[:m]
        if "quaternion" in body:
            J[:3, :3] = dl.pose(quat=x[m : m + 4])[:3, :3]
        elif "axis" in body:
            a = np.array(body["axis"])
            K = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
            J[:3, :3] += np.sin(x[m]) * K + (1 - np.cos(x[m])) * K @ K
            J[:3, 3] += x[m] * np.array(body["along"])
        out.append((np.eye(4) if body["parent"] < 0 else out[body["parent"]]) @ P @ J)
    return out


@pytest.mark.parametrize(("seed", "several"), [(0, False), (2, False), (5, False), (21, True), (33, True)])
def test_the_joint_table_is_the_robot(seed, several):
    robot = dl.Robot(random_tree(seed, 7, mimic=not several, several=several))
    data = scene_of(robot).data()
    assert several or any(body["multiplier"] != 1 for body in data["bodies"])
    assert not several or {"quaternion"} <= {key for body in data["bodies"] for key in body}
    q = robot.random_configuration(seed=seed)
    T = by_the_table(data, q)
    mimic = [f["name"] for f in data["frames"] if f["body"] >= 0 and data["bodies"][f["body"]]["multiplier"] != 1]
    for frame in [f for f in data["frames"] if f["name"] in (*mimic[-1:], robot.frames[-1])]:
        P = np.eye(4)
        P[:3] = np.reshape(frame["pose"], (3, 4))
        found = (T[frame["body"]] if frame["body"] >= 0 else np.eye(4)) @ P
        assert np.allclose(found, robot.fk(q, frame["name"]), atol=1e-7)  # written to a nanometer, chains of seven
    center = sum(b["mass"] * (T[k] @ [*b["com"], 1])[:3] for k, b in enumerate(data["bodies"])) / robot.mass
    assert np.allclose(center, robot.center_of_mass(q), atol=1e-7)


def test_solids_survive_their_packing():
    scene = scene_of(dl.load("puma560"))
    for part, packed in zip(scene.parts, scene.data()["parts"], strict=True):
        raw = np.frombuffer(base64.b64decode(packed["vertices"]), "<u2").reshape(-1, 3)
        vertices = np.array(packed["low"]) + np.array(packed["span"]) * raw / 65535
        assert np.abs(vertices - part.solid.vertices).max() < 1e-5
        faces = np.frombuffer(base64.b64decode(packed["faces"]), "<u4" if packed["wide"] else "<u2").reshape(-1, 3)
        assert np.array_equal(faces, part.solid.faces)


def test_a_robot_without_shapes_is_drawn_as_bars():
    scene = scene_of(dl.Robot.from_dh([dict(a=0.5), dict(d=0.2, kind="prismatic"), dict(a=0.1, alpha=1.0)]))
    assert all(part.stick for part in scene.parts) and {part.body for part in scene.parts} >= {0, 1, 2}


RRP = [dict(d=0.4, alpha=np.pi / 2), dict(alpha=np.pi / 2), dict(d=0.2, kind="prismatic")]


@pytest.mark.parametrize("travel", [-0.7, 0.5])
def test_a_sliding_link_without_shapes_is_joined_to_its_carrier(travel):
    robot = dl.Robot.from_dh(RRP)
    q = np.array([0.3, 1.2, travel])
    scene = scene_of(robot)
    (rail,) = (part for part in scene.parts if part.rail)
    poses = scene.poses(q)
    (bar,) = (part for part in postures(scene, [(q, None)]).parts if part.geometry is rail.geometry)
    ends = bar.solid.vertices[-2:]  # the middles of both faces
    axis = poses[2][:3, 2]
    assert np.allclose(sorted((ends - poses[2][:3, 3]) @ axis), sorted((0.0, -travel)))
    assert np.allclose(np.cross(ends - poses[2][:3, 3], axis), 0) and volume(bar.solid) > 0
    (drawn,) = scene.data()["rails"]
    assert drawn["body"] == 2 and drawn["radius"] > 0
    assert len(scene.data()["parts"]) == len(scene.parts) - 1  # the page stretches rails itself
    assert label((pixels(still_picture(scene)) < 255).any(axis=-1))[1] == 1, "the picture is in one piece"


def test_a_link_with_a_shape_needs_no_rail():
    assert not any(part.rail for part in scene_of(dl.load("cartesian-pp")).parts)
    assert not any(part.rail for part in scene_of(dl.Robot.from_dh([dict(a=0.5)])).parts)


def test_a_mesh_that_is_not_there_is_told_and_replaced():
    d = dl.load("planar-2r").description
    links = tuple(replace(link, visuals=(Shape(Mesh("package://a/b.stl")),), collisions=()) for link in d.links)
    scene = scene_of(dl.Robot(replace(d, links=links)))
    assert all(part.stick for part in scene.parts) and len(scene.notes) == 1 and "b.stl" in scene.notes[0]


def test_a_mesh_is_read_from_beside_its_description(tmp_path):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    triangles = b"".join(struct.pack("<12fH", *[0] * 3, *corners[list(f)].ravel(), 0) for f in faces)
    (tmp_path / "part.stl").write_bytes(b"\0" * 80 + struct.pack("<I", len(faces)) + triangles)
    text = dl.load("planar-2r").to_urdf()
    start, end = text.index("<visual"), text.index("</visual>")
    text = text[:start] + '<visual><geometry><mesh filename="part.stl" scale="1 1 -2"/></geometry>' + text[end:]
    (tmp_path / "arm.urdf").write_text(text)
    scene = scene_of(dl.load(tmp_path / "arm.urdf"))
    assert not scene.notes
    part = scene.parts[0]
    assert len(part.solid.faces) == 4 and part.solid.vertices[:, 2].min() == pytest.approx(-2.0)


# -------------------------------------------------------------------------------------------------- postures, pictures
@pytest.mark.parametrize("name", ["planar-2r", "scara", "puma560", "panda", "stanford", "cartesian-pp"])
def test_the_posture_that_is_drawn_is_regular_and_allowed(name):
    robot = dl.load(name)
    q = posture(robot)
    assert not robot.singularities(q).singular
    low, high = np.array(drawn_limits(robot)).T
    assert (q >= low - 0.005).all() and (q <= high + 0.005).all()
    assert np.array_equal(q, posture(robot))


def pixels(svg: str) -> np.ndarray:
    """The colors (h, w, 3) of an SVG of triangles from back to front, white where nothing is drawn, at full pixels."""
    w, h = (round(float(x)) for x in re.search(r'viewBox="0 0 (\S+) (\S+)"', svg).groups())
    image = np.full((h, w, 3), 255, int)
    x, y = np.meshgrid(np.arange(w), np.arange(h))
    scale = float(re.search(r"scale\((.*?)\)", svg)[1])
    for tone, pieces in re.findall(r'<path fill="#(\w{6})" stroke="#\1" d="([^"]*)"', svg):
        for piece in re.findall(r"M([^z]*)z", pieces):
            steps = np.array([float(v) for v in re.findall(r"-?\d+", piece)]).reshape(3, 2)
            a, b, c = scale * np.cumsum(steps, axis=0)
            low = np.maximum(np.floor(np.min([a, b, c], axis=0)).astype(int), 0)
            high = np.ceil(np.max([a, b, c], axis=0)).astype(int) + 1
            box = (slice(low[1], high[1]), slice(low[0], high[0]))
            sides = [
                (q[0] - p[0]) * (y[box] - p[1]) - (q[1] - p[1]) * (x[box] - p[0]) for p, q in ((a, b), (b, c), (c, a))
            ]
            hit = np.all([s >= -1e-9 for s in sides], axis=0) | np.all([s <= 1e-9 for s in sides], axis=0)
            image[box][hit] = [int(tone[i : i + 2], 16) for i in (0, 2, 4)]
    return image


def test_the_still_picture_shows_the_robot():
    scene = scene_of(dl.load("planar-2r"))
    image = pixels(still_picture(scene))
    seen = (image < 255).any(axis=-1)
    assert 0.01 < seen.mean() < 0.5
    assert not seen[0].any() and not seen[:, 0].any() and not seen[-1].any() and not seen[:, -1].any()
    solid = image[seen]
    blue, orange = solid[:, 2] > solid[:, 0] + 40, solid[:, 0] > solid[:, 2] + 40
    assert blue.sum() > 1000 and orange.sum() > 1000  # both links, in their colors
    assert still_picture(scene) == still_picture(scene)


def test_the_still_picture_hides_what_is_behind():
    """A large red box in front of a small blue one: no blue is seen; from the other side it is."""
    scene = scene_of(dl.load("planar-2r"))
    near, far = np.eye(4), np.eye(4)
    near[:3, 3], far[:3, 3] = 2 * scene.view[2], -2 * scene.view[2]
    large, small = Box((1.0, 1.0, 1.0)), Box((0.2, 0.2, 0.2))

    def colors(front: DrawnPart, back: DrawnPart) -> tuple[int, int]:
        image = pixels(still_picture(replace(scene, parts=(front, back))))
        return int((image[..., 0] > image[..., 2] + 40).sum()), int((image[..., 2] > image[..., 0] + 40).sum())

    red, blue = colors(DrawnPart(-1, large, near, "#c02020"), DrawnPart(-1, small, far, "#2020c0"))
    assert red > 1000 and blue == 0
    red, blue = colors(DrawnPart(-1, large, far, "#c02020"), DrawnPart(-1, small, near, "#2020c0"))
    assert red > 1000 and blue > 100


def test_the_view_is_a_rotation_with_up_upwards():
    scene = scene_of(dl.load("scara"))
    assert np.allclose(scene.view @ scene.view.T, np.eye(3), atol=1e-12) and np.linalg.det(scene.view) > 0
    assert scene.view[1] @ scene.up > 0.8  # up is up


@pytest.mark.parametrize("name", ["planar-2r", "puma560", "panda", "delta"])
def test_the_scheme_numbers_every_joint_once(name):
    robot = dl.load(name)
    scene = scene_of(robot)
    svg = skeleton(scene, scene.start)
    words = re.findall(r"<text[^>]*>(\d[^<]*)</text>", svg)
    numbers = [int(x) for w in words for x in re.findall(r"(?:^|, )(\d+)", w)]
    assert sorted(numbers) == list(range(1, len(robot.bodies) + 1))
