"""How fast a motion may be for the drives that follow it and the springs in the joints: its highest harmonic."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dalembert.arguments import array, count, number
from dalembert.errors import InputError
from dalembert.robot import Robot

Array = NDArray[np.float64]
HARMONICS = 5
SHARE = 0.5  # of the lowest elastic mode: what lies above it excites the mode (Spong 1987; Craig 2005, §9.9)
DRAWS = 1000  # of positions, to find the lowest mode


@dataclass(frozen=True, eq=False)
class Bandwidth:
    """What the harmonics stay below: `drives` [Hz], and half the lowest elastic mode of joints with a `stiffness` (n,)
    [N m/rad, N/m]; infinite and None where nothing is known."""

    drives: float = math.inf
    stiffness: Array | None = None

    def modes(self, robot: Robot, q: Array) -> Array:
        """The lowest elastic mode [Hz] at positions q (N, n), the motors held: ω² M x = K x, M of the links alone.
        Infinite for stiff joints."""
        if self.stiffness is None:
            return np.full(len(q), np.inf)
        rotors = np.zeros(robot.n)
        for body in robot.model.bodies:
            rotors[body.coordinate] += body.multiplier**2 * body.rotor_inertia
        soft = 1.0 / np.sqrt(self.stiffness)
        compliance = soft[:, None] * (robot.mass_matrix(q) - np.diag(rotors)) * soft
        return np.asarray(1.0 / (2 * np.pi * np.sqrt(np.maximum(np.linalg.eigvalsh(compliance)[:, -1], 1e-300))))

    def top(self, mode: float) -> float:
        """What the highest harmonic may be [Hz]."""
        return min(self.drives, SHARE * mode)


def read_bandwidth(robot: Robot, bandwidth: float | None, stiffness: ArrayLike | None) -> Bandwidth:
    n = robot.n
    if stiffness is not None:
        given = array("stiffness", stiffness, (), (n,), meaning="one per joint", unit="N m/rad", above=0.0)
        stiffness = np.broadcast_to(given, (n,)).copy()
    return Bandwidth(math.inf if bandwidth is None else number("bandwidth", bandwidth, "Hz", above=0.0), stiffness)


def choose_harmonics(
    robot: Robot, harmonics: int | None, frequency: float, bandwidth: Bandwidth, lower: Array, upper: Array
) -> int:
    """As many as are asked for, which is refused if the highest is too fast; else five, or as many as are not."""
    wanted = HARMONICS if harmonics is None else count("harmonics", harmonics, 2)
    low, high = np.where(np.isfinite(lower), lower, -np.pi), np.where(np.isfinite(upper), upper, np.pi)
    q = np.random.default_rng(0).uniform(low, np.maximum(low, high), (DRAWS, robot.n))
    mode = float(bandwidth.modes(robot, q).min())
    top = bandwidth.top(mode)
    most = wanted if math.isinf(top) else int(top / frequency * (1.0 + 1e-12))
    if wanted <= most:
        return wanted
    elastic = SHARE * mode < bandwidth.drives
    what = f"half the lowest elastic mode, {mode:.3g} Hz," if elastic else f"the drives' bandwidth, {top:g} Hz,"
    if most < 2:
        raise InputError(
            f"{what} leaves no two harmonics of {frequency:g} Hz: choose a base frequency of at most {top / 2:.3g} Hz"
        )
    if harmonics is not None:
        raise InputError(
            f"{wanted} harmonics of {frequency:g} Hz go up to {wanted * frequency:g} Hz, beyond {what} which allows "
            f"{most}; give fewer, or a lower base frequency"
        )
    return most


def content_above(x: Array, period: float, frequency: float) -> Array:
    """(n,): the RMS of what lies above a frequency [Hz], as a share of all that varies, of signals x (N, n) sampled
    over one period."""
    power = np.abs(np.fft.rfft(x, axis=0)) ** 2
    fast = np.arange(len(power)) > frequency * period * (1.0 + 1e-9)
    return np.asarray(np.sqrt(power[fast].sum(axis=0) / np.maximum(power[1:].sum(axis=0), 1e-300)))
