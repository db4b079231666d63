"""Mesh paths as descriptions write them, and whether they stay where they belong.

`package://name/meshes/a.stl` belongs to the package `name`: `..` must not leave it. A relative path
belongs to the folder of its description or, because `urdf/robot.urdf` beside `meshes/a.stl` is how most
packages are laid out, to the folders just above it: it may climb CLIMB levels, no more. An absolute path
or `file://` belongs to no package; it is kept as written, and `mesh.resolve` opens it only below a folder
that the caller names.
"""

from __future__ import annotations

from pathlib import Path

# robots/<name>/urdf/x.urdf with meshes/ beside robots/ is the deepest layout seen.
CLIMB = 3


def split(filename: str) -> tuple[str, str]:
    """(scheme, rest): ("package", "name/a.stl"), ("file", "/a.stl"), ("", "../a.stl")."""
    head, separator, tail = filename.partition("://")
    return (head.lower(), tail) if separator else ("", filename)


def depth_below(path: str) -> int:
    """The lowest folder level that a path passes through: -1 for `a/../../b`, counted from its start."""
    level = lowest = 0
    for part in path.replace("\\", "/").split("/"):
        if part == "..":
            level -= 1
        elif part not in ("", "."):
            level += 1
        lowest = min(lowest, level)
    return lowest


def climbed(base: Path, path: str) -> Path:
    """The folder that a path written in `base` may not leave: as far above it as the path itself climbs."""
    return [base, *base.parents][min(-depth_below(path), len(base.parents))]


def escape(filename: str) -> str | None:
    """Why the name of a file that a description names is refused, as a sentence, or None."""
    scheme, rest = split(filename)
    if not rest.strip():
        return f"its file name is {filename!r}; name a file"
    if "\0" in filename:
        return f"its file name {filename!r} holds a NUL character"
    if scheme in ("package", "model"):
        # Three slashes, package:///name/…, are seen in real files and mean the same.
        package, _, inside = rest.replace("\\", "/").lstrip("/").partition("/")
        if package in ("", ".", ".."):
            return f"{filename!r} names no package; write {scheme}://name/path"
        if depth_below(inside) < 0:
            return f"{filename!r} leaves its package {package!r}; keep meshes inside the package"
    elif scheme == "" and depth_below(rest) < -CLIMB:
        return f"{filename!r} climbs more than {CLIMB} folders above its description; keep it nearer"
    elif scheme not in ("", "file"):
        return f"{filename!r} has the scheme {scheme!r}; write package://, file:// or a path"
    return None
