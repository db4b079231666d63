"""Energy books drawn over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from dalembert.draw.pyplot import QUIET, pyplot, styled
from dalembert.trust.properties.property import write_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dalembert.trust.properties.coriolis import Skewness
    from dalembert.trust.properties.energy import Books, Interconnection


def _panels(axes: Sequence[Axes] | None, title: str) -> tuple[Figure, Axes, Axes]:
    if axes is not None:
        upper, lower = axes
        return cast("Figure", upper.figure), upper, lower
    figure, (upper, lower) = pyplot().subplots(
        2, 1, sharex=True, figsize=(8.0, 5.0), height_ratios=(3, 1), layout="constrained"
    )
    figure.suptitle(title)
    return figure, upper, lower


@styled
def draw_books(books: Books, axes: Sequence[Axes] | None = None) -> Figure:
    """Supplied, stored and lost energy over −β; below, what the books disagree by."""
    figure, upper, lower = _panels(axes, f"{books.system}: ∫ q̇ᵀτ dt = H(t) − H(0) + losses ≥ −β")
    upper.plot(books.t, books.supplied, label="supplied ∫ q̇ᵀτ dt")
    upper.plot(books.t, books.stored, ls="--", label="stored H − H(0)")
    if np.any(books.lost):
        upper.plot(books.t, books.lost, label="lost")
    if math.isfinite(books.beta):
        upper.axhline(-books.beta, color=QUIET, ls=":", label=f"−β = {write_number(-books.beta)} J")
    upper.set_ylabel("energy [J]")
    upper.legend()
    lower.plot(books.t, books.supplied - books.lost - books.stored)
    lower.set_ylabel("gap [J]")
    lower.set_xlabel("time [s]")
    upper.margins(x=0)
    return figure


@styled
def draw_interconnection(loop: Interconnection, axes: Sequence[Axes] | None = None) -> Figure:
    """What the arm and the law store, and their sum, which falls."""
    figure, upper, lower = _panels(axes, f"{loop.system} under PD control: two passive systems in a loop")
    upper.plot(loop.t, loop.V, label="V, both")
    upper.plot(loop.t, loop.arm, label="arm H − min P")
    upper.plot(loop.t, loop.law, label="law ½ eᵀK_p e")
    upper.plot(loop.t, loop.V[0] - loop.heat, color=QUIET, ls=":", label="V(0) − heat of K_d")
    upper.set_ylabel("energy [J]")
    upper.legend()
    lower.plot(loop.t, loop.V[0] - loop.V - loop.heat)
    lower.set_ylabel("gap [J]")
    lower.set_xlabel("time [s]")
    upper.margins(x=0)
    return figure


@styled
def draw_skewness(found: Skewness, axes: Axes | None = None) -> Figure:
    """A line for each choice of C; those that keep Ṁ − 2C skew lie on zero."""
    if axes is None:
        figure, axes = pyplot().subplots(figsize=(8.0, 3.6), layout="constrained")
        figure.suptitle(f"{found.system}: what each choice of C adds to a Lyapunov function's rate")
    for name, power in found.power.items():
        axes.plot(found.t, power, label=name)
    axes.set_xlabel("time [s]")
    axes.set_ylabel("xᵀ(Ṁ − 2C) x [W]")
    axes.margins(x=0)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return cast("Figure", axes.figure)
