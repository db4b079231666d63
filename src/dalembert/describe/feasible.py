"""Whether an inertia can belong to a body.

The inertia tensor about the center of mass of any distribution of positive mass has principal moments
J₁ ≤ J₂ ≤ J₃ with J₁ ≥ 0 and J₁ + J₂ ≥ J₃: each is a sum of two of the three second moments ∫x², ∫y²,
∫z² dm, which are not negative. Source: Wensing, Kim, Slotine 2018, section II.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

# Files give inertias with four digits, or fewer: a thin plate's J₁ + J₂ = J₃ then fails by that much.
ROUNDING = 1e-3
# Radius of gyration [m] below which a body is a point and the signs of its moments are noise: files
# made by programs hold 1e-20 where zero is meant.
POINT = 1e-6

Verdict = Literal["feasible", "indefinite", "triangle"]


def principal_moments(inertia: Sequence[float]) -> tuple[float, float, float]:
    """J₁ ≤ J₂ ≤ J₃ [kg m²] of (ixx, ixy, ixz, iyy, iyz, izz)."""
    import numpy as np

    xx, xy, xz, yy, yz, zz = inertia
    size = max(abs(x) for x in inertia)
    if size == 0.0:
        return (0.0, 0.0, 0.0)
    # Scaled to 1, because the solver squares what it is given and files may hold 1e300.
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) / size
    first, second, third = (float(J) * size for J in np.linalg.eigvalsh(tensor))
    return (first, second, third)


def verdict(inertia: Sequence[float], mass: float = 0.0, tolerance: float = ROUNDING) -> Verdict:
    """Whether (ixx, ixy, ixz, iyy, iyz, izz) [kg m²] is possible, has a negative principal moment
    ("indefinite"), or has J₁ + J₂ < J₃ ("triangle"), by more than `tolerance` of the largest moment."""
    first, second, third = principal_moments(inertia)
    slack = max(tolerance * max(abs(first), abs(third)), mass * POINT * POINT)
    if first < -slack:
        return "indefinite"
    if first + second < third - slack:
        return "triangle"
    return "feasible"
