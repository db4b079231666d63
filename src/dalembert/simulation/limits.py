"""What drives can give: limits as users write them, and commands held within them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import InputError, unknown
from dalembert.flow import Array, Flow
from dalembert.system import Limits

TorqueLimits = dict[str, tuple[float, float]]  # lower and upper, by the name of an input
ROUNDING = 1e-9  # of a limit: what is beyond it by less is not


@dataclass(frozen=True)
class Excess:
    """A limit that a joint passed, one of its position, velocity or effort: from t [s] on, by `most` at its worst."""

    joint: str
    kind: str
    limit: float
    t: float
    most: float
    unit: str

    def __str__(self) -> str:
        what, by = f"{self.kind} limit {self.limit:.6g}", f"by up to {self.most:.4g} {self.unit}".rstrip()
        return f"{self.joint!r} is beyond its {what} from t = {self.t:.4g} s on, {by}"


def find_excesses(t: Array, values: Mapping[str, Array], flow: Flow) -> tuple[Excess, ...]:
    """The limits of a flow's joints that are passed in rows at times t; `values`: "position", "velocity", "effort",
    each (rows, n), where they are known."""
    if flow.joints is None:
        return ()
    own, units, moving = flow.joints.limits, flow.joints.units, flow.joints.moving_units
    joints = flow.states[: flow.n]
    rates, efforts = (joints, joints) if flow.velocities is None else (flow.rates, flow.inputs[: len(own.effort)])
    ranges = {
        "position": (own.lower, own.upper, units, joints),
        "velocity": (-own.velocity, own.velocity, tuple(f"{unit}/s" for unit in moving), rates),
        "effort": (-own.effort, own.effort, tuple("N" if unit == "m" else "N m" for unit in moving), efforts),
    }
    found = []
    for kind, x in values.items():
        low, high, unit, names = ranges[kind]
        if not ((x < low) | (x > high)).any():
            continue
        for k, joint in enumerate(names):
            for limit, side in ((low[k], -1.0), (high[k], 1.0)):
                over = side * (x[:, k] - limit) if np.isfinite(limit) else np.zeros(1)
                out = over > ROUNDING * max(1.0, abs(limit))
                if out.any():
                    first = float(t[int(np.argmax(out))])
                    found.append(Excess(joint, kind, float(limit), first, float(np.nanmax(over)), unit[k]))
    return tuple(found)


def read_torque_limits(value: object, drives: tuple[str, ...], flow: Flow) -> TorqueLimits:
    """(lower, upper) of each drive: from "robot" for its efforts, a number, one per drive, or (lower, upper). Two
    numbers for two drives are one each, unless the first is negative."""
    if value is None:
        return {}
    n = len(drives)
    if isinstance(value, (str, Limits)):
        if isinstance(value, str) and value != "robot":
            raise unknown("torque_limits", value, ("robot",))
        limits = flow.joints.limits if isinstance(value, str) and flow.joints is not None else value
        own = limits.effort if isinstance(limits, Limits) else ()
        named = [f"{joint}_torque" for joint in flow.states] if flow.velocities is None else flow.inputs
        efforts = dict(zip(named, own, strict=False))
        if not all(drive in efforts for drive in drives):
            raise InputError(f"the inputs of {flow.name!r} are not the torques of a robot's joints: give numbers")
        value = [efforts[drive] for drive in drives]
    try:
        if isinstance(value, (tuple, list, np.ndarray)) and len(value) == 2 and _is_pair(value, n):
            lower, upper = (np.broadcast_to(np.asarray(part, float), (n,)) for part in value)
        else:
            upper = np.broadcast_to(np.asarray(value, float), (n,))
            lower = -upper
    except (TypeError, ValueError):
        raise InputError(
            f"torque_limits must be a number, {n} of them, or (lower, upper) of {n} each; got {value!r:.60}"
        ) from None
    if np.isnan(lower).any() or np.isnan(upper).any() or not (lower <= upper).all():
        raise InputError(f"torque_limits must not be negative, nor lower above upper; got {value!r:.60}")
    return dict(zip(drives, zip(lower.tolist(), upper.tolist(), strict=True), strict=True))


def _is_pair(value: Sequence[float] | Array, n: int) -> bool:
    return any(np.ndim(part) for part in value) or n != 2 or bool(value[0] < 0)
