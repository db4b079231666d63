"""dalembert export: a kernel as source code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.progress import waiting
from dalembert.files import whole

if TYPE_CHECKING:
    from dalembert.compile import Kernel

SUFFIXES = {"c": ".c", "numpy": ".py", "jax": ".py", "casadi": ".casadi"}


@click.command(name="export")
@output.robot_argument
@click.option(
    "--lang", "--to", "lang", type=click.Choice(list(SUFFIXES)), default="c", show_default=True, help="The language."
)
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="Which kernel; may be given several times.")
@click.option("-o", "--out", type=click.Path(file_okay=False), help="A folder to write to, instead of the screen.")
@click.option("--batch", is_flag=True, help="C: add a loop over many states.")
@output.tip_option
@output.json_option
def command(
    robot: str, lang: str, kernels: tuple[str, ...], out: str | None, batch: bool, tip: str | None, as_json: bool
) -> None:
    """Write a robot's kernels as source code that needs nothing of Dalembert.

    C is C99 with no allocation and no dependency but math.h; it computes the same bits as the kernels. Compile it
    with -std=c99 (or -ffp-contract=off). numpy and jax are Python modules; casadi is a file for casadi.Function.load,
    and needs the extra casadi. Without --kernel: inverse_dynamics.

    \b
    Example: dalembert export panda --to c --kernel inverse_dynamics --kernel fk -o generated
             dalembert export panda --to casadi --kernel forward_dynamics -o generated
    """
    from dalembert.names import identifier

    arm = output.load(robot, tip)
    files: dict[str, str] = {}
    if batch and lang != "c":
        raise click.BadParameter(f"is for C; {lang} takes many states as it is", param_hint="--batch")
    with waiting("writing"):
        for name in kernels or ("inverse_dynamics",):
            kernel = arm.kernel(name)
            function = identifier(f"{arm.name}_{name}")
            if lang == "c":
                files[f"{function}.c"] = kernel.c_source(function, batch)
                files[f"{function}.h"] = kernel.c_header(function, batch)
            else:
                files[f"{function}{SUFFIXES[lang]}"] = _text(lang, kernel, function)
    if out:
        _write(Path(out), files)
    if as_json:
        output.print_json({"robot": arm.name, "lang": lang, "out": out, "files": list(files) if out else files})
    elif out:
        for file in files:
            click.echo(f"{arm.name}: written to {Path(out) / file}")
    else:
        for file, text in files.items():
            if not file.endswith(".h"):
                click.echo(text, nl=False)


def _text(lang: str, kernel: Kernel, function: str) -> str:
    if lang == "numpy":
        return kernel.numpy_source(function)
    if lang == "jax":
        return kernel.jax_source(function)
    from dalembert.interchange.casadi_functions import casadi_file

    return casadi_file(kernel, function)


def _write(folder: Path, files: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"{folder}: cannot be written: {error.strerror}") from None
    for name, text in files.items():
        whole(folder / name, lambda file, text=text: file.write(text.encode()))  # type: ignore[misc]
