"""dalembert dynamics: the terms of the equation of motion at one state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.progress import waiting

if TYPE_CHECKING:
    from dalembert.robot import Robot


@click.command(name="dynamics")
@output.robot_argument
@output.vector_option("q", "Joint positions [rad, m], 30deg for degrees; home if not given.")
@output.vector_option("qd", "Joint velocities; zero if not given.")
@output.vector_option("qdd", "Joint accelerations; zero if not given.")
@click.option("--friction", is_flag=True, help="Include damping, Coulomb friction and springs.")
@output.tip_option
@output.json_option
def command(
    robot: str, q: str | None, qd: str | None, qdd: str | None, friction: bool, tip: str | None, as_json: bool
) -> None:
    """Show M, C, g, the torques τ = M q̈ + C q̇ + g, and the energies at a state.

    \b
    Example: dalembert dynamics planar-2r --q 30deg,60deg --qd 1,0
    """
    arm = output.load(robot, tip)
    zero = [0.0] * arm.n
    state = {
        "q": output.positions("q", q, arm) or arm.home.tolist(),
        "qd": output.numbers("qd", qd, arm.n) or zero,
        "qdd": output.numbers("qdd", qdd, arm.n) or zero,
    }
    import numpy as np

    with waiting("compiling"), np.errstate(all="ignore"):  # what overflows is told below
        terms = _terms(arm, state, friction)
    output.need_numbers(*terms.values())
    if as_json:
        output.print_json({"robot": arm.name, "joints": arm.joint_names, **state, **terms})
    else:
        _show(arm, state, terms)


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
        output.print_table(title, ("", *short), [(names[i], *row) for i, row in enumerate(matrix)])
    K, P = terms["kinetic_energy"], terms["potential_energy"]
    click.echo(f"kinetic energy {output.number(K)} J, potential energy {output.number(P)} J")
    if arm.loops:
        click.echo(f"closed by {', '.join(arm.loops)}: these are the terms of the tree, without the forces of closure")
