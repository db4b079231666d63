"""A picture of the scene for paper and for pages whose scripts do not run: triangles through a depth buffer, as PNG."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from dalembert.apps.page.scene import Scene
from dalembert.arguments import Array
from dalembert.draw.scene import corners_of, place_part
from dalembert.draw.svg.elements import picture, short

WIDTH, HEIGHT = 720, 460
FINE = 2  # samples per picture element, across and up
SCALE = 1.35  # picture elements of the file per pixel of the page
LIGHT = np.array([0.35, 0.6, 0.72]) / np.linalg.norm([0.35, 0.6, 0.72])  # right, up, toward the viewer
TRIANGLES = 5000  # of meshes: a small picture shows no more
FILL = 0.9  # of the picture's smaller side


def camera(scene: Scene, width: float = WIDTH, height: float = HEIGHT) -> tuple[Array, Array, float]:
    """(view (3, 3), center (3,), pixels per meter): the whole robot, seen from `scene.view`, fills the box."""
    seen = corners_of(scene.robot, scene.parts, scene.start) @ scene.view.T
    low, high = seen.min(axis=0), seen.max(axis=0)
    size = np.maximum(high - low, 1e-6)
    zoom = FILL * min(width / size[0], height / size[1])
    return scene.view, np.asarray((low + high) / 2 @ scene.view), float(zoom)


def rendered(scene: Scene, width: int = WIDTH, height: int = HEIGHT) -> str:
    """The robot as an SVG that holds a PNG."""
    w, h = round(width * SCALE), round(height * SCALE)
    pixels = _pixels(scene, w * FINE, h * FINE, width, height)
    every = [(i, j) for i in range(FINE) for j in range(FINE)]
    total = sum((pixels[i::FINE, j::FINE].astype(np.uint16) for i, j in every), np.zeros((h, w, 4), np.uint16))
    hit = total[..., 3:] // 255  # samples that met something; the others are black, and add nothing
    image = np.concatenate([total[..., :3] // np.maximum(hit, 1), total[..., 3:] // FINE**2], axis=-1).astype(np.uint8)
    data = base64.b64encode(png(image)).decode()
    drawn = f'<image href="data:image/png;base64,{data}" width="{short(width)}" height="{short(height)}"/>'
    return picture(width, height, scene.robot.name, [drawn])


def _pixels(scene: Scene, w: int, h: int, width: float, height: float) -> NDArray[np.uint8]:
    view, center, zoom = camera(scene, width, height)
    zoom *= w / width
    poses = scene.poses(scene.start)
    image, depth = np.zeros((h, w, 4), np.uint8), np.full((h, w), -np.inf)
    some = TRIANGLES / max(sum(len(part.solid.faces) for part in scene.parts), 1)
    for part in scene.parts:
        T, solid = place_part(scene.robot, poses, part), part.solid
        if some < 1 and not solid.outward:
            solid = solid.simplify(max(120, int(some * len(solid.faces))))
        seen = (solid.vertices @ T[:3, :3].T + T[:3, 3] - center) @ view.T
        x, y = w / 2 + zoom * seen[:, 0], h / 2 - zoom * seen[:, 1]
        corners = np.stack([x, y, seen[:, 2]], axis=-1)[solid.faces]
        normals = np.cross(*(seen[solid.faces[:, k]] - seen[solid.faces[:, 0]] for k in (1, 2)))
        size = np.linalg.norm(normals, axis=-1)
        light = np.abs(normals @ LIGHT) / np.where(size > 0, size, 1.0)  # meshes are not always turned outwards
        color = np.array([int(part.color[i : i + 2], 16) for i in (1, 3, 5)])
        shades = np.clip(color * (0.42 + 0.62 * light[:, None]), 0, 255).astype(np.uint8)
        shown = normals[:, 2] > 0 if solid.outward else size > 0
        for (a, b, c), shade in zip(corners[shown], shades[shown], strict=True):
            _triangle(image, depth, a, b, c, shade)
    return image


def _triangle(image: NDArray[np.uint8], depth: Array, a: Array, b: Array, c: Array, shade: NDArray[np.uint8]) -> None:
    """One triangle with corners (x, y, nearness) into the picture, where nothing is nearer."""
    h, w = depth.shape
    left, right = max(int(min(a[0], b[0], c[0])), 0), min(int(max(a[0], b[0], c[0])) + 1, w - 1)
    top, bottom = max(int(min(a[1], b[1], c[1])), 0), min(int(max(a[1], b[1], c[1])) + 1, h - 1)
    area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    if left > right or top > bottom or abs(area) < 1e-12:
        return
    x = np.arange(left, right + 1) + 0.5
    y = (np.arange(top, bottom + 1) + 0.5)[:, None]
    u = ((b[0] - x) * (c[1] - y) - (b[1] - y) * (c[0] - x)) / area
    v = ((c[0] - x) * (a[1] - y) - (c[1] - y) * (a[0] - x)) / area
    near = u * a[2] + v * b[2] + (1 - u - v) * c[2]
    box = (slice(top, bottom + 1), slice(left, right + 1))
    hit = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9) & (near > depth[box])
    depth[box][hit] = near[hit]
    image[box][hit, :3] = shade
    image[box][hit, 3] = 255


def png(image: NDArray[np.uint8]) -> bytes:
    """(h, w, 4) bytes as a PNG file: each line as differences to the one above, which packs well."""
    h, w, _ = image.shape
    up = image.copy()
    up[1:] = image[1:] - image[:-1]
    lines = np.concatenate([np.full((h, 1), 2, np.uint8), up.reshape(h, 4 * w)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", w, h, 8, 6, 0, 0, 0)
    body = zlib.compress(lines.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
