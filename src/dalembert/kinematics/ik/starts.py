"""Where the iteration begins, and where it begins again: one table per robot, frame and goal, the same for every pose.

`probe` are the settings of the search with which candidates are tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dalembert.arguments import Array
from dalembert.compile import cache
from dalembert.compile.search import Search
from dalembert.joints import Joint
from dalembert.system import Jointed

COUNT = 128
CANDIDATES = 256
PROBES = 1000


def kept(robot: Jointed, frame: str, search: Search, middle: Array, half: Array, probe: Array) -> Array:
    """The starts, from the cache beside the kernels if they were found before: that takes a fifth of a second."""
    name = cache.key(
        "starts", search.text, repr((middle.tolist(), half.tolist())), repr((CANDIDATES, PROBES, COUNT, probe.tolist()))
    )
    size = (COUNT, len(middle))
    data = cache.load(name)
    if data is None or len(data) != 8 * size[0] * size[1]:
        data = _ordered(robot, frame, search, middle, half, probe).tobytes()
        cache.store(name, data)
    return np.frombuffer(data).reshape(size).copy()


def _ordered(robot: Jointed, frame: str, search: Search, middle: Array, half: Array, probe: Array) -> Array:
    """Where to begin, and where next: COUNT rows.

    Of some candidates, each tried on some poses of the robot, the first is the one that solves most poses per step
    spent, the next the one that solves most of what is left, and so on; then come random ones. (The order by mere
    success would put near-duplicates first.)"""
    rng = np.random.default_rng(0)
    n = len(middle)
    spread = np.linspace(0.25, 1.0, CANDIDATES - 1)[:, None]
    candidates = np.concatenate([middle[None], middle + rng.uniform(-1, 1, (CANDIDATES - 1, n)) * half * spread])
    poses = robot.fk(middle + rng.uniform(-1, 1, (PROBES, n)) * half, frame).reshape(PROBES, 16)
    _, info = search.ufunc(candidates[:, None], poses, candidates[:1], probe)
    spent, good = info[..., 0], info[..., 2] > 0
    left = np.ones(PROBES, bool)
    order: list[int] = []
    while left.any():
        gain = (good & left).sum(1)
        score = gain / np.where(left, spent, 0.0).sum(1)
        score[order] = -1.0
        chosen = int(score.argmax())
        if gain[chosen] == 0:
            break
        order.append(chosen)
        left &= ~good[chosen]
    order = order or [0]
    more = middle + rng.uniform(-1, 1, (COUNT - len(order), n)) * half
    return np.concatenate([candidates[order], more])


def box(lower: Array, upper: Array, joints: Sequence[Joint]) -> tuple[Array, Array]:
    """Middle and half width of where starts are drawn: the limits, a turn at most; a meter each way for an unlimited
    slide."""
    reach = np.array([joint.half_range for joint in joints])
    low = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * reach, -reach))
    high = np.where(np.isfinite(upper), upper, low + 2 * reach)
    middle = 0.5 * (low + high)
    most = np.array([math.pi if joint.periodic else math.inf for joint in joints])
    return middle, np.minimum(0.5 * (high - low), most)
