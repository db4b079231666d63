"""Columns without names: what they hold, by what is in them and by how many joints there are.

Times increase by even steps; rates are the derivatives of positions; what is neither is the torques, if only one block
of as many columns as there are joints is left. Anything less clear is left to the user.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dalembert.identification.log.samples import Table

Array = NDArray[np.float64]

EVEN = 0.5  # steps of a clock lie within this part of their median, nearly all of them
ALIKE = 0.9  # correlation of recorded rates with the differences of positions
FACTORS = 1.5  # between the factors of the joints, by which rates are slopes
SAMPLES = 20_000  # rows that are looked at


def guess_columns(table: Table, n: int) -> tuple[dict[str, tuple[int, ...]], list[str]]:
    """Places of t, q, qd and tau, as far as they can be told, and a note; nothing if they cannot. Where several blocks
    might be torques (those of a controller beside the measured ones), there is no tau."""
    x = table.values[:SAMPLES]
    x = x[np.isfinite(x).all(axis=1)]
    if len(x) < 20:
        return {}, []
    width = x.shape[1]
    clocks = [k for k in range(width) if is_clock(x[:, k])]
    # A counter of the rows beside the times is no use; alone it may be milliseconds.
    clock = min(clocks, key=lambda k: bool((np.diff(x[:, k]) == 1).all()), default=None)
    rest = [k for k in range(width) if k not in clocks]
    if len(rest) % n or len(rest) // n < 2:
        return {}, []
    order = np.array(rest)
    blocks = len(rest) // n
    # q1 q2 … qd1 qd2 …, or q1 qd1 tau1 q2 …
    ways = [found for way in (order.reshape(blocks, n), order.reshape(n, blocks).T) if (found := _tell(x, way))]
    chosen = [found for found in ways if "qd" in found] or ways
    if len(chosen) != 1:
        return {}, []
    (found,) = chosen
    places: dict[str, tuple[int, ...]] = {} if clock is None else {"t": (clock,)}
    places |= {group: tuple(int(k) for k in columns) for group, columns in found.items()}
    shown = ", ".join(f"{g} = {_range(columns)}" for g, columns in places.items())
    return places, [f"columns without names, told by what is in them (from 0): {shown}"]


def _tell(x: Array, blocks: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Which of the blocks of columns are q, qd and tau."""
    count = len(blocks)
    slopes = {(a, b): _is_rate(x[:, blocks[a]], x[:, blocks[b]]) for a in range(count) for b in range(count) if a != b}
    pairs = [pair for pair, alike in slopes.items() if alike]
    if pairs:
        rates = {b for _, b in pairs}
        positions = sorted({a for a, _ in pairs} - rates)
        left = [k for k in range(count) if k not in rates and k not in positions]
        if len(positions) != 1:
            return {}
        first = next(b for a, b in pairs if a == positions[0])
        found = {"q": blocks[positions[0]], "qd": blocks[first]}
        return found | {"tau": blocks[left[0]]} if len(left) == 1 else found
    rough = [_roughness(x[:, block]) for block in blocks]
    for a, b in ((0, 1), (1, 0)) if count == 2 else ():  # torques hold what positions' second derivatives do
        if rough[a].max() < rough[b].min():
            return {"q": blocks[a], "tau": blocks[b]}
    return {}


def is_clock(t: Array) -> bool:
    """Whether numbers increase by even steps, nearly all of them."""
    steps = np.diff(t)
    step = float(np.median(steps))
    return bool(step > 0 and (steps >= 0).all() and (np.abs(steps - step) <= EVEN * step).mean() > 0.9)


def _is_rate(q: Array, qd: Array) -> bool:
    """Whether the second block is the slopes of the first, all columns that move by the same factor."""
    reach = max(1, len(q) // 2000)
    slope, rate = q[2 * reach :] - q[: -2 * reach], qd[reach:-reach]
    slope, rate = slope - slope.mean(axis=0), rate - rate.mean(axis=0)
    both, one, two = (slope * rate).sum(axis=0), (slope**2).sum(axis=0), (rate**2).sum(axis=0)
    moving = (one > 0) & (two > 0)
    if not moving.any() or (both[moving] <= ALIKE * np.sqrt(one * two)[moving]).any():
        return False
    factors = both[moving] / two[moving]
    return bool(factors.max() < FACTORS * factors.min())


def _roughness(x: Array) -> Array:
    """Second differences beside the range, of each column that moves."""
    spread, bend = np.ptp(x, axis=0), np.abs(np.diff(x, 2, axis=0)).mean(axis=0)
    return bend[spread > 0] / spread[spread > 0] if spread.any() else np.zeros(1)


def _range(columns: tuple[int, ...]) -> str:
    whole = len(columns) > 1 and columns == tuple(range(columns[0], columns[-1] + 1))
    return f"{columns[0]}-{columns[-1]}" if whole else ",".join(map(str, columns))
