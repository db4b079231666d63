"""dalembert bench: how fast the kernels of a robot are on this machine; a quick look."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import completing, output
from dalembert.apps.cli.progress import waiting

if TYPE_CHECKING:
    from dalembert.robot import Robot

ROUNDS, LEAST = 3, 0.02  # rounds per figure, and seconds that one lasts at least
# What is timed: a kernel, and how many arguments it takes.
ROWS = {
    "inverse dynamics": ("inverse_dynamics", 3),
    "forward dynamics": ("forward_dynamics", 3),
    "mass matrix": ("mass_matrix", 1),
    "forward kinematics": ("fk", 1),
    "Jacobian": ("jacobian", 1),
}


@click.command(name="bench")
@click.argument("robot", metavar="[ROBOT]", default="panda", shell_complete=completing.robots)
@click.option("--states", type=click.IntRange(8, 1_000_000), default=10_000, show_default=True, help="In a batch.")
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True, help="For a batch.")
@output.tip_option
@output.json_option
def command(robot: str, states: int, threads: int, tip: str | None, as_json: bool) -> None:
    """Time inverse and forward dynamics, M, kinematics and J on this machine: one state, a batch, and the same
    algorithm run by NumPy on arrays, an operation at a time.

    Each figure is the best of three short rounds on a machine that may be busy: a quick look, no measurement. The
    project's measurements against other libraries are those of 'make bench'.

    \b
    Example: dalembert bench ur5e --states 100000
    """
    arm = output.load(robot, tip).tree().with_threads(threads)
    output.tip_of(arm)
    if not arm.n:
        raise click.UsageError(f"{arm.name!r} has no joints: there is nothing to time")
    with waiting("compiling") as say:
        rows = [_row(arm, name, states, say) for name in ROWS]
    if as_json:
        output.print_json({"robot": arm.name, "states": states, "threads": threads, "rows": rows})
        return
    columns = ("", "one call [µs]", "in a batch [ns]", "states/s", "NumPy [ns]", "NumPy / ours", "they differ by")
    output.print_table(
        f"{arm.name}, {arm.n} joints: time per state, batch of {states}",
        columns,
        [
            (
                r["what"],
                f"{1e6 * r['call']:.2f}",
                f"{1e9 * r['state']:.0f}",
                f"{1 / r['state']:.2e}",
                f"{1e9 * r['numpy']:.0f}",
                f"{r['numpy'] / r['state']:.1f}",
                f"{r['difference']:.0e}",
            )
            for r in rows
        ],
    )
    click.echo(f"a quick look: the best of {ROUNDS} short rounds each, on {threads} thread{'s' * (threads > 1)}")


def _row(arm: Robot, name: str, states: int, say: Callable[[str], None]) -> dict[str, Any]:
    import numpy as np

    kernel, count = ROWS[name]
    q = arm.random_configuration(states, seed=0)
    rest = np.random.default_rng(0).uniform(-1, 1, (2, states, arm.n))
    arguments = [q, *rest][:count]
    call = getattr(arm, kernel)
    batch = np.asarray(call(*arguments))  # compiled here
    say(f"timing {name}")
    first = [np.ascontiguousarray(x[0]) for x in arguments]
    plain, by_numpy = _by_numpy(arm, kernel, arguments)
    scale = max(1.0, float(np.abs(batch).max()))
    return {
        "what": name,
        "call": _best(lambda: call(*first)),
        "state": _best(lambda: call(*arguments)) / states,
        "numpy": _best(plain, ROUNDS) / states,
        "difference": float(np.abs(by_numpy - batch).max()) / scale,
    }


def _by_numpy(arm: Robot, kernel: str, arguments: list[Any]) -> tuple[Callable[[], Any], Any]:
    """The algorithm behind a kernel on arrays of all states, and what it gives, in the kernel's shape."""
    import numpy as np

    from dalembert import kernels
    from dalembert.scalar import arrays as _arrays  # noqa: F401 - registers arrays as scalars

    row = kernels.ROWS[kernel]
    columns = {name: list(x.T.copy()) for name, x in zip(row.arguments, arguments, strict=True)}
    options = kernels.TABLE.read_options(kernel, {})
    model = row.prepare(arm.model, row.arguments, options) if row.prepare else arm.model  # as the kernel has it

    def run() -> Any:
        return row.trace(model, dict(columns), options)

    states = len(arguments[0])
    (shape,) = row.shapes(arm.model, options)
    flat = [np.broadcast_to(np.asarray(x, float), (states,)) for x in _entries(run())]
    return run, np.stack(flat, axis=-1).reshape(states, *shape)


def _entries(value: Any) -> list[Any]:
    """The numbers of nested lists, in order."""
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in _entries(part)]
    return [value]


def _best(run: Callable[[], Any], most: int = 1_000_000) -> float:
    """The least time of one call [s], each round long enough for the clock."""
    start = time.perf_counter()
    run()
    once = max(time.perf_counter() - start, 1e-7)
    repeat = max(1, min(most, round(LEAST / once)))
    least = once
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(repeat):
            run()
        least = min(least, (time.perf_counter() - start) / repeat)
    return least
