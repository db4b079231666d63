"""The spheres and convex pieces that enclose a robot's links, and the pairs of links that are compared.

Every point of a link lies within one of its fine spheres, which lie within its coarse sphere, and within one of its
pieces. Spheres are compared with the world, pieces with each other; links without pieces meet others as spheres.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.arguments import array, number
from dalembert.collision.pieces import Pieces
from dalembert.errors import InputError, UnknownNameError, unknown
from dalembert.files import parse_toml, whole
from dalembert.model import Model
from dalembert.model.model import BASE

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
WORDS = ("spheres", "pairs", "overestimate", "allowed", "apart", "pieces", "reached")  # of files
ROUNDS = 200  # steps toward the smallest sphere around others: its radius is within a percent by then


@dataclass(frozen=True, eq=False)
class Spheres:
    """N spheres: the body that carries each (index into the model's bodies, −1 the base) (N,), the center in that
    body's frame [m] (N, 3), the radius [m] (N,), and the link it belongs to (N names)."""

    body: Indices
    center: Array
    radius: Array
    link: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.radius)

    def take(self, rows: Sequence[int] | NDArray[Any]) -> Spheres:
        """Those of these rows."""
        rows = np.asarray(rows, np.int64)
        return Spheres(self.body[rows], self.center[rows], self.radius[rows], tuple(self.link[k] for k in rows))

    def grown(self, by: float) -> Spheres:
        """The same with larger radii."""
        return Spheres(self.body, self.center, self.radius + by, self.link)


@dataclass(frozen=True, eq=False)
class SphereModel:
    """A robot as spheres. `parent` (N_fine,) is the coarse sphere that encloses each fine one; `pairs` (P, 2) are the
    coarse spheres of which the fine ones may meet; no fine sphere reaches farther than `overestimate` [m] beyond the
    shapes that it encloses. `apart` (A, 2) are pairs left out since they are proved never to meet within the limits of
    the joints: beyond these they are compared. `allowed` are pairs of links that may touch, by the user's word.
    `reached` [m] is the overestimate of the spheres of each link, if it is known."""

    coarse: Spheres
    fine: Spheres
    parent: Indices
    pairs: Indices
    overestimate: float
    apart: Indices = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    pieces: Pieces = field(default_factory=Pieces.none)
    allowed: tuple[tuple[str, str], ...] = ()
    reached: tuple[float, ...] = ()

    @property
    def fine_pairs(self) -> Indices:
        """(Q, 2) fine spheres that may meet."""
        own = [np.flatnonzero(self.parent == k) for k in range(len(self.coarse))]
        met = [np.stack(np.meshgrid(own[a], own[b], indexing="ij"), -1).reshape(-1, 2) for a, b in self.pairs]
        return np.concatenate(met) if met else np.zeros((0, 2), np.int64)

    def without(self, *pairs: tuple[str, str]) -> SphereModel:
        """Return the same without pairs of links that may touch."""
        links = self.coarse.link
        for name in (name for pair in read_pairs(pairs) for name in pair):
            if name not in links:
                raise unknown("link with a shape", name, sorted(set(links)))
        allowed = {frozenset(pair) for pair in pairs}

        def others(pairs: Indices) -> Indices:
            return pairs[[frozenset((links[a], links[b])) not in allowed for a, b in pairs]]

        named = tuple(dict.fromkeys((*self.allowed, *((a, b) for a, b in pairs))))
        return replace(self, pairs=others(self.pairs), apart=others(self.apart), allowed=named)

    @property
    def enlarged(self) -> str:
        """A phrase for messages: how far pieces and spheres reach beyond the shapes."""
        own = self.pieces.reach if len(self.pieces) else self.overestimate
        return f"with shapes enlarged by up to {own:.2g} m (between links) and {self.overestimate:.2g} m (to obstacles)"

    def excess(self, first: str, second: str) -> float:
        """Return how far what is compared of two links, or of a link and an obstacle, reaches beyond the shapes [m]."""
        index = {link: k for k, link in enumerate(self.coarse.link)}
        links = [index[name] for name in (first, second) if name in index]
        if len(links) == 2 and np.isin(links, self.pieces.link).all():
            return float(self.pieces.overestimate[links].sum())
        return sum(self.reached[k] if self.reached else self.overestimate for k in links)

    # ------------------------------------------------------------------------------------------------------ files
    def save(self, path: str | Path) -> None:
        """Write it as JSON: for each link its body, the coarse spheres and their fine ones (x, y, z, radius)."""
        whole(path, lambda file: file.write(self.to_json().encode()), InputError)

    def to_json(self) -> str:
        """What `save` writes."""
        links = []
        for k, name in enumerate(self.coarse.link):
            body = int(self.coarse.body[k])
            fine = _rows(self.fine.take(np.flatnonzero(self.parent == k)))
            links.append({"link": name, "body": body, "coarse": _rows(self.coarse.take([k]))[0], "fine": fine})
        text = {
            "overestimate": self.overestimate,
            "spheres": links,
            "pairs": self.pairs.tolist(),
            "allowed": [list(pair) for pair in self.allowed],
            "apart": self.apart.tolist(),
            "pieces": self.pieces.rows(),
            "reached": list(self.reached),
        }
        return json.dumps(text, indent=1)

    @staticmethod
    def from_json(text: str) -> SphereModel:
        """Of what `to_json` wrote."""
        return _saved(json.loads(text))

    @staticmethod
    def load(path: str | Path, model: Model | None = None) -> SphereModel:
        """Of what `save` wrote, or of TOML or JSON with `spheres = {link = [[x, y, z, radius], …], …}` in the frames
        of the links of `model`, and if wanted `pairs = [[link, link], …]` and `overestimate`. Without pairs, those that
        never meet or always touch are left out as for spheres that are made."""
        file = Path(path)
        try:
            read = parse_toml if file.suffix.lower() == ".toml" else json.loads
            text = read(file.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise InputError("not-readable", "path", problem=f"{file}: cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise InputError("syntax", "path", problem=f"{file} is neither TOML nor JSON ({error})") from None
        if not isinstance(text, dict) or not text.get("spheres"):
            raise InputError(
                "missing",
                "spheres",
                problem=f"{file} contains no spheres",
                remedy="Write spheres = {link = [[x, y, z, radius], …], …}.",
            )
        for word in text:
            if word not in WORDS:
                raise unknown(f"word of spheres in {file}", word, WORDS)
        try:
            found = _saved(text) if isinstance(text["spheres"], list) else _given(text, model)
        except UnknownNameError:
            raise
        except (KeyError, TypeError, IndexError) as error:
            raise InputError(
                "not-readable",
                "path",
                problem=f"{file} does not have the format of `save` ({type(error).__name__}: {error})",
            ) from None
        if model is not None:
            need_links(model, found)
        return found


def read_pairs(pairs: object) -> list[tuple[str, str]]:
    """Return pairs of names of links as a list of tuples."""
    rows: list[Any] = list(pairs) if isinstance(pairs, (list, tuple, set, frozenset)) else [pairs]
    for pair in rows:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise InputError("wrong-type", "allow", pairs, expected="a list of pairs of link names, [('a', 'b')]")
    return [(a, b) for a, b in rows]


def need_links(model: Model, spheres: SphereModel) -> None:
    """Spheres of another robot are refused: their bodies would be others."""
    known = {frame.name: frame.body for frame in model.frames}
    for link, body in zip(spheres.coarse.link, spheres.coarse.body.tolist(), strict=True):
        if known.get(link, body) != body or not BASE <= body < len(model.bodies):
            raise InputError(
                "conflict",
                "spheres",
                problem=f"the spheres are not those of {model.name!r}: {link!r} is on another body there",
            )


def _rows(spheres: Spheres) -> list[list[float]]:
    rows: list[list[float]] = np.column_stack((spheres.center, spheres.radius)).tolist()
    return rows


def _saved(text: Mapping[str, Any]) -> SphereModel:
    links = text["spheres"]
    coarse = array("coarse", [entry["coarse"] for entry in links], (None, 4))
    fine = array("fine", [row for entry in links for row in entry["fine"]], (None, 4))
    parent = np.repeat(np.arange(len(links)), [len(entry["fine"]) for entry in links])
    body, names = np.array([entry["body"] for entry in links], np.int64), [entry["link"] for entry in links]
    pairs, apart = (np.array(text.get(word, ()), np.int64).reshape(-1, 2) for word in ("pairs", "apart"))
    for some in (pairs, apart):
        if some.size and not 0 <= some.min() <= some.max() < len(links):
            raise InputError(
                "wrong-value",
                "pairs",
                problem=f"a pair names a sphere that does not exist: there are {len(links)} coarse ones, from 0",
            )
    over = np.linalg.norm(fine[:, :3] - coarse[parent, :3], axis=1) + fine[:, 3] - coarse[parent, 3]
    for wrong, what in ((fine[:, 3] < 0, "has a negative radius"), (over > 1e-9, "does not lie within the coarse one")):
        if wrong.any():
            raise InputError(
                "wrong-value", "spheres", problem=f"a sphere of {names[parent[int(wrong.argmax())]]!r} {what}"
            )
    return SphereModel(
        Spheres(body, coarse[:, :3], coarse[:, 3], tuple(names)),
        Spheres(body[parent], fine[:, :3], fine[:, 3], tuple(names[k] for k in parent)),
        parent,
        pairs,
        number("overestimate", text["overestimate"], "m", least=0.0),
        apart,
        Pieces.read(text.get("pieces", ()), len(links)),
        tuple((str(a), str(b)) for a, b in text.get("allowed", ())),
        tuple(float(x) for x in text.get("reached", ())),
    )


def _given(text: Mapping[str, Any], model: Model | None) -> SphereModel:
    if model is None:
        raise InputError("missing", "model", problem="spheres by link need the model of a robot")
    rows = {name: array(f"the spheres of {name}", value, (None, 4)) for name, value in text["spheres"].items()}
    over = number("overestimate", text.get("overestimate", 0.0), "m", least=0.0)
    found = sphere_model(model, on_links(model, rows), over)
    if "pairs" not in text:
        from dalembert.collision.pairs import settle_pairs  # which looks at distances

        return settle_pairs(model, found)
    index = {name: k for k, name in enumerate(found.coarse.link)}
    for pair in text["pairs"]:
        if not isinstance(pair, list) or len(pair) != 2 or pair[0] == pair[1]:
            raise InputError("wrong-type", "pairs", pair, expected="pairs of link names")
        for name in pair:
            if name not in index:
                raise unknown("link with spheres", name, index)
    pairs = np.array([[index[a], index[b]] for a, b in text["pairs"]], np.int64).reshape(-1, 2)
    return replace(found, pairs=pairs)


# ------------------------------------------------------------------------------------------------------- making them
def on_links(model: Model, rows: Mapping[str, Array]) -> Spheres:
    """Spheres (k, 4), center and radius, in frames by name, carried to the bodies of these."""
    body, center, radius, link = [], [], [], []
    for name, values in rows.items():
        frame = model.frame(name)
        if not (values[:, 3] >= 0).all():
            raise InputError("out-of-range", "radius", problem=f"a sphere of {name!r} has a negative radius")
        R, p = np.array(frame.pose.R, float), np.array(frame.pose.p, float)
        body += [frame.body] * len(values)
        center.append(values[:, :3] @ R.T + p)
        radius.append(values[:, 3])
        link += [name] * len(values)
    if not link:
        raise InputError("missing", "robot", problem=f"{model.name!r} has no shapes to enclose in spheres")
    return Spheres(np.array(body, np.int64), np.concatenate(center), np.concatenate(radius), tuple(link))


def sphere_model(model: Model, fine: Spheres, overestimate: float = 0.0) -> SphereModel:
    """Fine spheres with a coarse one around those of each link; pairs are all but those of links on one body or on
    bodies of which one carries the other."""
    names = tuple(dict.fromkeys(fine.link))
    index = {name: k for k, name in enumerate(names)}
    parent = np.array([index[name] for name in fine.link], np.int64)
    table = np.column_stack((fine.center, fine.radius))
    centers, radii = enclosing_spheres([table[parent == k] for k in range(len(names))])
    first = [fine.link.index(name) for name in names]
    coarse = Spheres(fine.body[first], centers, radii, names)
    return SphereModel(coarse, fine, parent, movable_pairs(model, coarse), overestimate)


def movable_pairs(model: Model, coarse: Spheres) -> Indices:
    """(P, 2) of coarse spheres on bodies that move to each other and are not connected by a joint, or by several joints
    that turn about one point and between which no body has a shape."""
    body = coarse.body.tolist()
    carrier = [_carrier(model, k, set(body)) for k in range(len(model.bodies))]
    count = range(len(body))
    pairs = [
        (i, j)
        for i in count
        for j in count[i + 1 :]
        if not neighbors(model, body[i], body[j])
        and (body[i] == BASE or carrier[body[i]] != body[j])
        and (body[j] == BASE or carrier[body[j]] != body[i])
    ]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _carrier(model: Model, body: int, shaped: set[int]) -> int:
    """The body on which the joint of a body sits: beyond bodies without shapes that turn about the same point."""
    parent = model.parents[body]
    while parent != BASE and parent not in shaped and not any(model.bodies[body].placement.p):
        if model.bodies[body].joint.travel or model.bodies[parent].joint.travel:
            break
        body, parent = parent, model.parents[parent]
    return parent


def neighbors(model: Model, a: int, b: int) -> bool:
    """Whether two bodies (−1 the base) are one, or connected by a joint, also one that closes a loop."""
    joined = a == b or (a != BASE and model.parents[a] == b) or (b != BASE and model.parents[b] == a)
    return joined or any({loop.first.body, loop.second.body} == {a, b} for loop in model.loops)


def enclosing_spheres(parts: Sequence[Array], rounds: int = ROUNDS) -> tuple[Array, Array]:
    """Centers (P, 3) and radii (P,) of small spheres around the spheres (k, 4) of each part, found together."""
    size = np.array([len(rows) for rows in parts], np.int64)
    first = np.cumsum(size) - size
    longest = int(size.max(initial=0))
    members = np.minimum(first[:, None] + np.arange(longest), (first + size - 1)[:, None])  # the last again
    return enclosing_sphere(np.concatenate((*parts, np.zeros((0, 4))))[members], rounds)


def enclosing_sphere(rows: Array, rounds: int = ROUNDS) -> tuple[Array, Array]:
    """Centers (..., 3) and radii (...) of small spheres around others (..., k, 4), by so many steps toward the farthest
    (Bădoiu and Clarkson 2003)."""
    c, r = rows[..., :3], rows[..., 3]
    middle = 0.5 * ((c - r[..., None]).min(axis=-2) + (c + r[..., None]).max(axis=-2))
    best, least = middle, np.full(middle.shape[:-1], np.inf)
    for k in range(rounds):
        reach = np.linalg.norm(c - middle[..., None, :], axis=-1) + r
        far = reach.argmax(axis=-1)[..., None]
        most = np.take_along_axis(reach, far, -1)
        best = np.where(most < least[..., None], middle, best)
        least = np.minimum(least, most[..., 0])
        away = np.take_along_axis(c, far[..., None], -2)[..., 0, :] - middle
        length = np.linalg.norm(away, axis=-1, keepdims=True)
        middle = middle + away * (most / np.where(length > 0, length, np.inf)) / (k + 2.0)
    return best, least * (1 + 1e-12)
