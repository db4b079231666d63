"""A still picture of a scene as SVG, for paper and for pages whose scripts do not run: triangles from back to front."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.apps.page.scene import Scene
from dalembert.arguments import Array
from dalembert.draw.scene import corners_of, place_part
from dalembert.draw.svg.elements import picture

WIDTH, HEIGHT = 720, 460  # [px]
LIGHT = np.array([0.35, 0.6, 0.72]) / np.linalg.norm([0.35, 0.6, 0.72])  # right, up, toward the viewer
MIN_EDGE_PX = 5.0  # vertices that are nearer to each other are merged
MAX_EDGE_PX = 60.0  # longer edges near other parts are bisected, so that triangles are sorted by depth correctly
MAX_BISECTIONS = 12
PER_PX = 10  # units of a path
SHADES = 12  # per color: triangles of one shade are one path unless others lie between them
WINDOW = 1000  # triangles behind one that are looked at before it joins a path
FILLED_PART = 0.9  # of the picture's smaller side


def camera(scene: Scene, width: float = WIDTH, height: float = HEIGHT) -> tuple[Array, Array, float]:
    """(view (3, 3), center (3,), pixels per meter): the whole robot, seen from `scene.view`, fills the box."""
    seen = corners_of(scene.robot, scene.parts, scene.start) @ scene.view.T
    low, high = seen.min(axis=0), seen.max(axis=0)
    size = np.maximum(high - low, 1e-6)
    zoom = FILLED_PART * min(width / size[0], height / size[1])
    return scene.view, np.asarray((low + high) / 2 @ scene.view), float(zoom)


def still_picture(scene: Scene, width: float = WIDTH, height: float = HEIGHT) -> str:
    """Return the robot in its start posture as SVG."""
    corners, colors, owners = _bisect(*_triangles(scene, width, height))
    order = np.argsort(corners[..., 2].mean(axis=-1), kind="stable")
    corners, colors, owners = corners[order, :, :2], colors[order], owners[order]
    low, high = corners.min(axis=1), corners.max(axis=1)
    tones = ["#" + "".join(f"{c:02x}" for c in rgb) for rgb in colors.tolist()]
    paths: list[tuple[str, list[str]]] = []
    latest: dict[str, int] = {}  # path of each tone
    layers = np.zeros(len(tones), np.intp)  # the path of each triangle
    passed = 0  # the last path of those triangles that are not looked at anymore
    for i, (points, tone) in enumerate(zip(corners.tolist(), tones, strict=True)):
        near = slice(max(i - WINDOW, 0), i)
        below = layers[near][_meeting(i, low, high, owners, near)].max(initial=0)
        if i > WINDOW:
            passed = max(passed, int(layers[i - WINDOW - 1]))
        if latest.get(tone, -1) < max(below, passed):
            latest[tone] = len(paths)
            paths.append((tone, []))
        layers[i] = latest[tone]
        paths[latest[tone]][1].append(_piece([(round(PER_PX * x), round(PER_PX * y)) for x, y in points]))
    drawn = [f'<path fill="{tone}" stroke="{tone}" d="{"".join(pieces)}"/>' for tone, pieces in paths]
    look = f'transform="scale({1 / PER_PX:g})" stroke-width="{0.6 * PER_PX:g}" stroke-linejoin="round"'
    return picture(width, height, scene.robot.name, [f"<g {look}>", *drawn, "</g>"])  # strokes close the seams


def _piece(points: list[tuple[int, int]]) -> str:
    """A triangle as a piece of a path, in whole numbers, each corner relative to the one before."""
    (x, y), *rest = points
    steps = ((a - b, c - d) for (a, c), (b, d) in zip(rest, points[:-1], strict=True))
    return f"M{x} {y}l" + " ".join(f"{a} {b}" for a, b in steps) + "z"


def _triangles(scene: Scene, width: float, height: float) -> tuple[Array, NDArray[np.uint8], NDArray[np.intp]]:
    """Visible triangles (t, 3, 3) as x, y [px] and nearness, their colors (t, 3), and the convex part (t,) of each.

    Triangles of one convex part do not hide each other. Each triangle of a mesh counts as a part of its own.
    """
    view, center, zoom = camera(scene, width, height)
    poses = scene.poses(scene.start)
    corners, colors, owners = [np.zeros((0, 3, 3))], [np.zeros((0, 3), np.uint8)], [np.zeros(0, np.intp)]
    known = 0
    for part in scene.parts:
        T, solid = place_part(scene.robot, poses, part), part.solid.merge_vertices(MIN_EDGE_PX / zoom)
        seen = zoom * (solid.vertices @ T[:3, :3].T + T[:3, 3] - center) @ view.T
        seen = seen * (1, -1, 1) + (width / 2, height / 2, 0)
        found = seen[solid.faces]
        normals = np.cross(found[:, 1] - found[:, 0], found[:, 2] - found[:, 0]) * (-1, 1, -1)  # y points down
        size = np.linalg.norm(normals, axis=-1)
        light = np.abs(normals @ LIGHT) / np.where(size > 0, size, 1.0)  # meshes are not always turned outwards
        shown = normals[:, 2] > 0 if solid.outward else size > 0
        rgb = np.array([int(part.color[i : i + 2], 16) for i in (1, 3, 5)])
        level = np.round(SHADES * light[shown, None]) / SHADES
        corners.append(found[shown])
        colors.append(np.clip(rgb * (0.42 + 0.62 * level), 0, 255).astype(np.uint8))
        owners.append(known + np.arange(shown.sum()) * (not solid.outward))
        known += len(found)
    return np.concatenate(corners), np.concatenate(colors), np.concatenate(owners)


def _bisect(
    corners: Array, colors: NDArray[np.uint8], owners: NDArray[np.intp]
) -> tuple[Array, NDArray[np.uint8], NDArray[np.intp]]:
    """Halve triangles at their longest edge until no edge is longer than MAX_EDGE_PX where depth must tell parts apart.

    It must where the box of a triangle (x, y, nearness) meets that of a triangle of another part.
    """
    for _ in range(MAX_BISECTIONS):
        edges = np.linalg.norm((corners - np.roll(corners, -1, axis=1))[..., :2], axis=-1)
        large = np.flatnonzero(edges.max(axis=-1) > MAX_EDGE_PX)
        low, high = corners.min(axis=1), corners.max(axis=1)
        large = large[np.array([_meeting(i, low, high, owners).any() for i in large.tolist()], np.bool_)]
        if not large.size:
            break
        k = (edges[large].argmax(axis=-1)[:, None] + np.arange(3)) % 3  # the longest edge goes from first to second
        a, b, c = np.moveaxis(np.take_along_axis(corners[large], k[..., None], axis=1), 1, 0)
        middle = (a + b) / 2
        halves = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
        corners = np.concatenate([np.delete(corners, large, axis=0), halves])
        colors, owners = (np.concatenate([np.delete(v, large, axis=0), v[large], v[large]]) for v in (colors, owners))
    return corners, colors, owners


def _meeting(
    i: int, low: Array, high: Array, owners: NDArray[np.intp], among: slice = slice(None)
) -> NDArray[np.bool_]:
    """Which triangles of other parts have boxes that meet that of the i-th triangle."""
    return ((low[i] <= high[among]) & (low[among] <= high[i])).all(axis=-1) & (owners[among] != owners[i])
