"""dalembert dynamics: the terms of the equation of motion at one state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dalembert.cli import output

if TYPE_CHECKING:
    from dalembert.robot import Robot

F = TypeVar("F", bound=Callable[..., Any])


def _state_option(name: str, what: str) -> Callable[[F], F]:
    return click.option(
        f"--{name}", metavar="x,x,…", help=f"{what}, one number per joint; angles may be written as 30deg."
    )


@click.command(name="dynamics", short_help="M, C, g, torques and energies at a state.")
@output.robot_argument
@_state_option("q", "Joint positions [rad, m]; the robot's home, or else the middle of the limits, if not given")
@_state_option("qd", "Joint velocities; zero if not given")
@_state_option("qdd", "Joint accelerations; zero if not given")
@click.option("--friction", is_flag=True, help="Include damping, Coulomb friction and springs.")
@output.tip_option
@output.json_option
def command(
    robot: str,
    q: str | None,
    qd: str | None,
    qdd: str | None,
    friction: bool,
    tip: str | None,
    as_json: bool,
) -> None:
    """Show M, C, g, the torques τ = M q̈ + C q̇ + g, and the energies at a state.

    \b
    Example: dalembert dynamics planar-2r --q 30deg,60deg --qd 1,0
    """
    arm = output.load(robot, tip)
    zero = [0.0] * arm.n
    state = {
        "q": output.numbers("q", q, arm.n) or _start(arm),
        "qd": output.numbers("qd", qd, arm.n) or zero,
        "qdd": output.numbers("qdd", qdd, arm.n) or zero,
    }
    terms = _terms(arm, state, friction)
    if as_json:
        output.print_json({"robot": arm.name, "joints": arm.joint_names, **state, **terms})
    else:
        _show(arm, state, terms)


def _start(arm: Robot) -> list[float]:
    """The robot's home; if it has none, the middle of the limits, and zero where there are none."""
    import numpy as np

    if arm.description.home:
        home: list[float] = arm.home.tolist()
        return home
    lower, upper = arm.limits.lower, arm.limits.upper
    finite = np.isfinite(lower) & np.isfinite(upper)
    both = np.where(finite, lower, 0.0), np.where(finite, upper, 0.0)
    middle: list[float] = (0.5 * (both[0] + both[1])).tolist()
    return middle


def _terms(arm: Robot, state: dict[str, list[float]], friction: bool) -> dict[str, Any]:
    q, qd, qdd = state["q"], state["qd"], state["qdd"]
    return {
        "M": arm.mass_matrix(q),
        "C": arm.coriolis_matrix(q, qd),
        "g": arm.gravity_torque(q),
        "tau": arm.inverse_dynamics(q, qd, qdd, friction=friction),
        "kinetic_energy": float(arm.kinetic_energy(q, qd)),
        "potential_energy": float(arm.potential_energy(q)),
    }


def _show(arm: Robot, state: dict[str, list[float]], terms: dict[str, Any]) -> None:
    names = arm.joint_names
    columns = ("joint", "q", "q̇", "q̈", "g(q)", "τ")
    rows = zip(names, *state.values(), terms["g"].tolist(), terms["tau"].tolist(), strict=True)
    output.print_table(f"{arm.name}: state and torques", columns, rows)
    short = [str(i + 1) for i in range(arm.n)]
    for title, key in (("Mass matrix M(q)", "M"), ("Coriolis matrix C(q, q̇)", "C")):
        matrix = terms[key].tolist()
        output.print_table(
            title, ("", *short), [(names[i], *row) for i, row in enumerate(matrix)]
        )
    K, P = terms["kinetic_energy"], terms["potential_energy"]
    click.echo(f"kinetic energy {output.number(K)} J, potential energy {output.number(P)} J")
    if arm.loops:
        click.echo(f"closed by {', '.join(arm.loops)}: these are the terms of the tree, without the forces of closure")
