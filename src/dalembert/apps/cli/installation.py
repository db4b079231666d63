"""dalembert bench, cache, completion: how fast the kernels are on this machine, where they are kept, the script that
lets a shell complete commands, robots and files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.options import argument, command, complete_robots, pick
from dalembert.apps.cli.terminal import waiting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dalembert.robot import Robot
    from dalembert.scalar import Scalar

    Array = NDArray[np.float64]
    Nested = Scalar | list["Nested"] | tuple["Nested", ...]

ROUNDS, LEAST = 3, 0.02  # rounds per figure, and seconds that one lasts at least
# What is timed: a kernel, and how many arguments it takes.
ROWS = {
    "inverse dynamics": ("inverse_dynamics", 3),
    "forward dynamics": ("forward_dynamics", 3),
    "mass matrix": ("mass_matrix", 1),
    "forward kinematics": ("fk", 1),
    "Jacobian": ("jacobian", 1),
}
SHELLS = ("bash", "zsh", "fish")
PLACES = {
    "bash": 'eval "$(dalembert completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(dalembert completion zsh)" in ~/.zshrc',
    "fish": "dalembert completion fish > ~/.config/fish/completions/dalembert.fish",
}


@command
def bench(
    robot: str = argument(reads_robot=True, metavar="[ROBOT]", default="panda", shell_complete=complete_robots),
    states: int = pick("states", 10_000, type=click.IntRange(8, 1_000_000)),
    threads: int = pick("threads", 1),
) -> None:
    """Time inverse and forward dynamics, M, kinematics and J on this machine: one state, a batch, and the same
    algorithm run by NumPy on arrays, an operation at a time.

    Each figure is the best of three short rounds on a machine that may be busy: a quick look, no measurement. The
    project's measurements against other libraries are those of 'make bench'.

    \b
    Example: dalembert bench ur5e --states 100000
    """
    arm = output.load(robot, several=True).tree().with_threads(threads)
    output.tip_of(arm)
    if not arm.nv:
        raise click.UsageError(f"{arm.name!r} has no joints: there is nothing to time")
    with waiting("compiling") as say:
        rows = [_bench_row(arm, name, states, say) for name in ROWS]

    def show() -> None:
        columns = ("", "one call [µs]", "in a batch [ns]", "states/s", "NumPy [ns]", "NumPy / ours", "they differ by")
        title = f"{arm.name}, {len(arm.joint_names)} joints: time per state, batch of {states}"
        output.print_table(title, columns, [_bench_cells(**row) for row in rows])
        click.echo(f"a quick look: the best of {ROUNDS} short rounds each, on {threads} thread{'s' * (threads > 1)}")

    output.answer({"robot": arm.name, "states": states, "threads": threads, "rows": rows}, show)


def _bench_cells(what: str, call: float, state: float, numpy: float, difference: float) -> tuple[str, ...]:
    times = (f"{1e6 * call:.2f}", f"{1e9 * state:.0f}", f"{1 / state:.2e}", f"{1e9 * numpy:.0f}")
    return what, *times, f"{numpy / state:.1f}", f"{difference:.0e}"


def _bench_row(arm: Robot, name: str, states: int, say: Callable[[str], None]) -> dict[str, Any]:
    import numpy as np

    kernel, count = ROWS[name]
    q = arm.random_configuration(states, seed=0)
    rest = np.random.default_rng(0).uniform(-1, 1, (2, states, arm.nv))
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


def _by_numpy(arm: Robot, kernel: str, arguments: list[Array]) -> tuple[Callable[[], Nested], Array]:
    """The algorithm behind a kernel on arrays of all states, and what it gives, in the kernel's shape."""
    import numpy as np

    from dalembert import kernels

    row = kernels.ROWS[kernel]
    columns = {name: list(x.T.copy()) for name, x in zip(row.arguments, arguments, strict=True)}
    options = kernels.TABLE.read_options(kernel, {})
    model = row.prepare(arm.model, row.arguments, options) if row.prepare else arm.model  # as the kernel has it

    def run() -> Nested:
        return row.trace(model, dict(columns), options)

    states = len(arguments[0])
    (shape,) = row.shapes(arm.model, options)
    flat = [np.broadcast_to(np.asarray(x, float), (states,)) for x in _entries(run())]
    return run, np.stack(flat, axis=-1).reshape(states, *shape)


def _entries(value: Nested) -> list[Scalar]:
    """The numbers of nested lists, in order."""
    if isinstance(value, (list, tuple)):
        return [x for part in value for x in _entries(part)]
    return [value]


def _best(run: Callable[[], object], most: int = 1_000_000) -> float:
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


@command
def cache(clear: bool = pick("clear")) -> None:
    """Show where compiled kernels are kept, how many and how large; or remove them.

    The folder is chosen by DALEMBERT_CACHE; set to nothing, it turns the cache off. It may have as many megabytes as
    DALEMBERT_CACHE_SIZE says, 512 else; what was not used for longest is removed.

    \b
    Example: dalembert cache --clear
    """
    from dalembert.compile import cache as kernels

    removed = kernels.clear() if clear else 0
    folder, files = kernels.folder(), kernels.entries()
    size, most = sum(files.values()), kernels.largest()
    why = kernels.unused(folder) if folder is not None else None
    if folder is None:
        words = "the cache is turned off: DALEMBERT_CACHE is empty"
    elif why is not None:
        words = f"the cache {str(folder)!r} is not used: {why}"
    else:
        words = f"removed {removed} kernels\n" if clear else ""
        words += f"{folder}: {len(files)} kernels, {size / 1e6:.1f} MB of at most {most / 1e6:g} MB"
    where = None if folder is None else str(folder)
    data = {"folder": where, "kernels": len(files), "bytes": size, "removed": removed}
    output.answer(data if why is None else data | {"unused": why}, lambda: click.echo(words))


@command
def completion(shell: str | None = argument(type=click.Choice(SHELLS), required=False)) -> None:
    """Print the completion script of bash, zsh or fish; of the shell in $SHELL if none is named.

    Put `eval "$(dalembert completion bash)"` into ~/.bashrc (zsh: ~/.zshrc). Commands, options, bundled robots, files
    and frames are completed then.

    \b
    Examples: eval "$(dalembert completion bash)"
              dalembert completion fish > ~/.config/fish/completions/dalembert.fish
    """
    from click.shell_completion import get_completion_class

    from dalembert.apps.cli import main

    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    if name not in SHELLS:
        raise click.UsageError(f"there is no script for the shell {name!r}: name one of {', '.join(SHELLS)}")
    kind = get_completion_class(name)
    assert kind is not None  # click has all three
    script = kind(main, {}, "dalembert", "_DALEMBERT_COMPLETE").source()
    output.answer({"shell": name, "script": script, "use": PLACES[name]}, lambda: click.echo(script))
