"""dalembert export: a kernel as source code."""

from __future__ import annotations

from pathlib import Path

import click

from dalembert.cli import output

SUFFIXES = {"c": ".c", "numpy": ".py"}


@click.command(name="export", short_help="A kernel as C or NumPy source.")
@output.robot_argument
@click.option("--lang", type=click.Choice(list(SUFFIXES)), default="c", show_default=True, help="The language.")
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="Which kernel; may be given several times.")
@click.option("-o", "--out", type=click.Path(file_okay=False), help="A folder to write to, instead of the screen.")
@click.option("--batch", is_flag=True, help="C: add a loop over many states.")
@output.tip_option
@output.json_option
def command(
    robot: str,
    lang: str,
    kernels: tuple[str, ...],
    out: str | None,
    batch: bool,
    tip: str | None,
    as_json: bool,
) -> None:
    """Write a robot's kernels as source code that needs nothing of Dalembert.

    C is C99 with no allocation and no dependency but math.h; it computes the same bits as the kernels. Compile it
    with -std=c99 (or -ffp-contract=off). Without --kernel: inverse_dynamics.

    \b
    Example: dalembert export panda --lang c --kernel inverse_dynamics --kernel fk -o generated
    """
    from dalembert.compile.c_source import identifier

    arm = output.load(robot, tip)
    files: dict[str, str] = {}
    for name in kernels or ("inverse_dynamics",):
        kernel = arm.kernel(name)
        function = identifier(f"{arm.name}_{name}")
        if lang == "c":
            files[f"{function}.c"] = kernel.c_source(function, batch)
            files[f"{function}.h"] = kernel.c_header(function, batch)
        else:
            files[f"{function}.py"] = kernel.numpy_source(function)
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


def _write(folder: Path, files: dict[str, str]) -> None:
    from dalembert.errors import DalembertError

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise DalembertError(f"{folder}: cannot be written: {error.strerror}") from None
