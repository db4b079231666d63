"""What the tests of controllers share: a motion that can be traced, and a closed loop run in steps."""

from __future__ import annotations

import numpy as np

from dalembert import scalar
from dalembert.reference import Reference
from dalembert.simulation.fixed_step import integrate
from dalembert.simulation.loop import add_law_states, close_loop


class Sine(Reference):
    """x = middle + amplitude sin(ω t + phase)."""

    def __init__(self, middle, amplitude, omega, phase=None):
        self.middle, self.amplitude, self.omega = (np.asarray(x, float) for x in (middle, amplitude, omega))
        self.m, self.duration = len(self.middle), np.inf
        self.phase = np.zeros(self.m) if phase is None else np.asarray(phase, float)

    def __call__(self, t):
        angle = self.omega * np.asarray(t, float)[..., None] + self.phase
        a, w = self.amplitude, self.omega
        return self.middle + a * np.sin(angle), a * w * np.cos(angle), -a * w * w * np.sin(angle)

    def trace(self, t):
        numbers = (x.tolist() for x in (self.middle, self.amplitude, self.omega, self.phase))
        rows = list(zip(*numbers, strict=True))
        return (
            [m + a * scalar.sin(w * t + p) for m, a, w, p in rows],
            [a * w * scalar.cos(w * t + p) for m, a, w, p in rows],
            [-a * w * w * scalar.sin(w * t + p) for m, a, w, p in rows],
        )


def run(flow, controller, reference, x0, dt, steps, every=1, method="rk4", **inputs):
    """The closed loop from the flow's state x0; the law starts where it says."""
    law = controller.law()
    loop = close_loop(flow, law, reference)
    return integrate(
        loop,
        add_law_states(law, x0, flow.states),
        dt,
        steps,
        every=every,
        method=method,
        parameters={**law.parameters, **inputs},
    )


def second_order(t, x0, v0, omega, zeta):
    """x(t) of ẍ + 2ζω ẋ + ω² x = 0."""
    roots = np.roots([1.0, 2 * zeta * omega, omega**2]).astype(complex)
    if zeta == 1.0:
        return (x0 + (v0 + omega * x0) * t) * np.exp(-omega * t)
    a, b = roots
    c = (v0 - b * x0) / (a - b)
    return (c * np.exp(a * t) + (x0 - c) * np.exp(b * t)).real
