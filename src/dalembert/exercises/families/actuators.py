"""Actuators: gears, DC motors, friction, a flexible joint."""

from __future__ import annotations

import math

from dalembert.actuation.motors import DCMotor
from dalembert.exercises.chapter import Drawn, Random, chapter, draw

make = chapter(__file__, "actuators")


@make
def reflected_inertia(random: Random) -> Drawn:
    N, J_m, tau = draw(random, 10, 20, 50, 100), draw(random, 1, 2, 4, 5), draw(random, 0.1, 0.2, 0.3, 0.5)
    J_l, reflected = draw(random, 0.5, 1, 1.5, 2), N * N * J_m * 1e-4
    J, T = J_l + reflected, N * tau
    given = {"N": N, "J_m": J_m, "J_l": J_l, "tau": tau, "reflected": reflected, "T": T}
    return given | {
        "J": (J, J_l + N * J_m * 1e-4, J_l + J_m * 1e-4, J_l + J_m * 1e-4 / N**2),
        "qdd": (T / J, tau / J, T / J_l, N * T / J),
        "part": (100 * reflected / J, 100 * J_l / J, 100 * reflected / J_l),
    }


@make
def best_gear(random: Random) -> Drawn:
    N, J_m, tau = draw(random, 10, 20, 30, 50), draw(random, 1, 2, 5), draw(random, 0.1, 0.2, 0.5)
    J_l, other = N * N * J_m * 1e-4, draw(random, 2, 0.5)
    best, worse = N * tau / (2 * J_l), other * N * tau / (J_l * (1 + other**2))
    given = {"J_m": J_m, "J_l": J_l, "tau": tau, "N_other": other * N, "own": other**2 * J_l}
    return given | {
        "N": (float(N), float(N * N), 1 / N),
        "qdd": (best, 2 * best, tau / (2 * J_l)),
        "ratio": (100 * worse / best, 100 * other, 50.0),
    }


@make
def dc_motor(random: Random) -> Drawn:
    V, R = draw(random, 12, 24, 48), draw(random, 0.5, 1, 2)
    K, part = draw(random, 0.02, 0.04, 0.05), draw(random, 25, 50, 75)
    motor, w = DCMotor(resistance=R, torque_constant=K), part / 100 * V / K
    stall, loaded = float(motor.torque([], 0.0, float(V))), float(motor.torque([], w, float(V)))
    given = {"V": V, "R": R, "K": K, "speed": w, "emf": K * w, "i_stall": V / R}
    return given | {
        "stall": (stall, V / R, K * V * R),
        "free": (V / K, V / (K * R), V * K),
        "tau": (loaded, stall, K * K * w / R),
        "damping": (K * K / R, K / R, K * R),
    }


@make
def gear_friction(random: Random) -> Drawn:
    N, B = draw(random, 20, 50, 100), draw(random, 1, 2, 4)
    c, w = draw(random, 0.01, 0.02, 0.05), draw(random, 0.5, 1, 2)
    viscous, dry = N * N * B * 1e-4, N * c
    total = viscous * w + dry
    given = {"N": N, "B": B, "c": c, "speed": w, "viscous_torque": viscous * w}
    return given | {
        "viscous": (viscous, N * B * 1e-4, B * 1e-4),
        "dry": (dry, N * dry, c),
        "tau": (total, viscous * w, viscous + dry, B * 1e-4 * w + c),
        "power": (total * w, total * w * N, viscous * w * w),
    }


@make
def breakaway(random: Random) -> Drawn:
    m, r, J = draw(random, 4, 5, 8), draw(random, 0.3, 0.4, 0.5), draw(random, 0.5, 1, 2)
    cos, place = draw(random, (1.0, "horizontally"), (0.5, "at 60° above the horizontal"))
    f, ratio = draw(random, 2, 3, 4), draw(random, 0.5, 0.75)
    load, slide = m * 10 * r * cos, ratio * f
    given = {"m": m, "r": r, "place": place, "cos": cos, "J": J, "f": f, "slide": slide, "load": load}
    return given | {
        "up": (load + f, load, load + slide, load - f),
        "down": (load - f, load, load - slide, load + f),
        "qdd": ((f - slide) / J, f / J, (load + f - slide) / J),
    }


@make
def flexible_joint(random: Random) -> Drawn:
    pairs = ((1.5, 0.5), (3.0, 1.0), (0.8, 0.1), (1.6, 0.2), (4.0, 0.5), (0.9, 1.6), (1.0, 0.8), (2.0, 1.6))
    w, (J, rotor), tau = draw(random, 10, 20, 40), draw(random, *pairs), draw(random, 2, 4, 10)
    k, times = J * w * w, math.sqrt(1 + J / rotor)
    given = {"k": k, "J": J, "rotor": rotor, "tau": tau, "square": k / J, "free_square": times**2 * w * w}
    return given | {
        "locked": (math.sqrt(k / J), k / J, math.sqrt(k / rotor)),
        "free": (times * w, math.sqrt(k / (J + rotor)), math.sqrt(k / rotor), times**2 * w * w),
        "twist": (1000 * tau / k, 1000 * k / tau, 1000 * tau / k * J / (J + rotor)),
    }
