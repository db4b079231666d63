"""dalembert export, report, page, studio: a robot's kernels as source code, everything about it as one page of HTML,
the robot to play with in one file, and on a page that is served."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.option_table import OutputFile
from dalembert.apps.cli.options import ROBOT, command, pick
from dalembert.apps.cli.terminal import waiting
from dalembert.files import whole

if TYPE_CHECKING:
    from dalembert.apps.report import Page
    from dalembert.compile import Kernel

MAX_PORT = 65535
SUFFIXES = {"c": ".c", "numpy": ".py", "jax": ".py", "casadi": ".casadi"}
WASM = "wasm"
HTML = pick("output", type=OutputFile(".html", ".htm"), shown="ROBOT.html")


@command
def export(
    robot: str = ROBOT,
    lang: str = pick("format", "c", type=(*SUFFIXES, WASM)),
    kernels: tuple[str, ...] = pick("kernel", shown="inverse_dynamics, or the usual ones for wasm"),
    out: str | None = pick("output", type=click.Path(file_okay=False), shown="the screen"),
    batch: bool = pick("batch"),
) -> None:
    """Write a robot's kernels as source code that needs nothing of Dalembert.

    C is C99 with no allocation and no dependency but math.h; it computes the same bits as the kernels. Compile it
    with -std=c99 (or -ffp-contract=off). numpy and jax are Python modules; casadi is a file for casadi.Function.load,
    and needs the extra casadi. Without --kernel: inverse_dynamics.

    wasm is a folder for npm: one WebAssembly module, an ES module with its types, README and package.json. Without
    --kernel it has the usual kernels; besides kernels there are ik and simulate (free motion under torques).

    \b
    Example: dalembert export panda --format c --kernel inverse_dynamics --kernel fk -o generated
             dalembert export panda --format casadi --kernel forward_dynamics -o generated
             dalembert export panda --format wasm -o panda-wasm
    """
    from dalembert.names import identifier

    arm = output.load(robot, several=True)
    files: dict[str, str | bytes] = {}
    if batch and lang != "c":
        raise click.BadParameter(f"is for C; {lang} takes many states as it is", param_hint="--batch")
    if lang == WASM and not out:
        raise click.UsageError("a package for npm is a folder: say where, as -o FOLDER")
    with waiting("writing"):
        if lang == WASM:
            from dalembert.interchange import javascript

            files |= javascript.javascript_package(arm, kernels or None)
        for name in () if lang == WASM else kernels or ("inverse_dynamics",):
            kernel = arm.kernel(name)
            function = identifier(f"{arm.name}_{name}")
            if lang == "c":
                files[f"{function}.c"] = kernel.c_source(function, batch)
                files[f"{function}.h"] = kernel.c_header(function, batch)
            else:
                files[f"{function}{SUFFIXES[lang]}"] = _write_source(lang, kernel, function)
    if out:
        _write_files(Path(out), files)

    def show() -> None:
        for file, text in files.items():
            if out:
                click.echo(f"{arm.name}: written to {Path(out) / file}")
            elif not file.endswith(".h"):
                click.echo(text, nl=False)

    output.answer({"robot": arm.name, "format": lang, "out": out, "files": list(files) if out else files}, show)


def _write_source(lang: str, kernel: Kernel, function: str) -> str:
    if lang == "numpy":
        return kernel.numpy_source(function)
    if lang == "jax":
        return kernel.jax_source(function)
    from dalembert.interchange.functions import casadi_file

    return casadi_file(kernel, function)


def _write_files(folder: Path, files: dict[str, str | bytes]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"{folder}: cannot be written: {error.strerror}") from None
    for name, text in files.items():
        data = text if isinstance(text, bytes) else text.encode()
        whole(folder / name, lambda file, data=data: file.write(data))  # type: ignore[misc]


@command
def report(
    robot: str = ROBOT,
    file: str | None = HTML,
    only: str | None = pick("only"),
    seconds: float = pick("seconds", 90.0),
    quick: bool = pick("quick"),
    show: bool = pick("open"),
) -> None:
    """Write a report of ROBOT: one page that needs no network and no other file.

    Robot and drawing, frames, equations, workspace, singularities, properties, certified bounds, verification,
    a simulated task with controllers compared, and what a check-up of the model found.

    \b
    Examples:
      dalembert report planar-2r
      dalembert report arm.urdf -o arm.html --open
      dalembert report panda --only robot,equations,task --quick
    """
    from dalembert.apps.report import write_report

    arm = output.load(robot, several=True)
    with waiting("report", heavy=True) as say:
        found = write_report(
            arm, file, sections=_split(only), seconds=seconds, quick=quick, progress=lambda title, word: say(title)
        )
    output.answer(found.data, lambda: _show_report(found))
    if show:
        click.launch(found.path.resolve().as_uri())
    output.exit_unless(not found.failed)


def _show_report(report: Page) -> None:
    rows = [(s.title, s.verdict or s.state, f"{s.seconds:.1f}") for s in report.sections]
    output.print_table(f"Report of {report.robot}", ("section", "", "s"), rows)
    click.echo(f"wrote {report.path} ({report.size / 1024:.0f} KiB) in {report.seconds:.1f} s")
    for name in report.failed:
        click.echo(f"warning: section {name!r} failed; the page says why", err=True)


@command
def page(
    robot: str = ROBOT,
    file: str | None = HTML,
    controllers: str | None = pick("controller", shown="all"),
    only: str | None = pick("only", shown="all panels"),
    embed: bool = pick("embed"),
    q0: str | None = pick("q0", shown="home"),
    through: tuple[str, ...] = pick("through"),
    log: str | None = pick("log"),
    paused: bool = pick("paused"),
    show: bool = pick("open"),
) -> None:
    """Write a live page of ROBOT: one file that needs no network, to be opened from disk, also on a phone.

    --only takes the panels to show, --controller the controllers to offer, the first one chosen.

    Drag its tip, drop it, pull at its links, choose a controller and its gains, a payload, friction, gravity; watch
    positions, torques, energy and the phase portrait; play back a log; share the state as a link.

    \b
    Examples:
      dalembert page panda -o panda.html --open
      dalembert page planar-1r --controller none,pd --embed
      dalembert page planar-2r --through 1,0.5 --through 0,-0.5
    """
    from dalembert.apps.page import write_page

    arm = output.load(robot, several=True)
    postures = [output.positions("through", text, arm, within=True) or [] for text in through]
    with waiting("page", heavy=True):
        found = write_page(
            arm,
            file,
            q=output.positions("q0", q0, arm, within=True),
            controllers=_split(controllers),
            panels=_split(only),
            embed=embed,
            run=not paused,
            motion=postures or None,
            log=log,
        )
    output.answer(found.data, lambda: click.echo(f"wrote {found} in {found.seconds:.1f} s"))
    if show:
        click.launch(found.path.resolve().as_uri())


def _split(names: str | None) -> list[str] | None:
    return None if names is None else [name.strip() for name in names.split(",") if name.strip()]


@command
def studio(
    robot: str = ROBOT,
    q0: str | None = pick("q0", shown="home"),
    log: str | None = pick("log"),
    address: str = pick("address", "127.0.0.1:8080"),
    origin: tuple[str, ...] = pick("origin"),
    plain: bool = pick("plain"),
    world: tuple[str, ...] = pick("world"),
    no_browser: bool = pick("no-browser"),
) -> None:
    """Open a robot in the browser: drag its tip, load it, simulate it under a controller, pull at it, play back a log.

    The page is served to this machine alone unless --address names another host, until Ctrl-C.

    \b
    Example: dalembert studio panda
    """
    from dalembert.apps.studio import open as open_studio, server

    host, port = _read_address(address)
    server.viser()  # refused before anything is loaded
    arm = output.load(robot, several=True)
    page = open_studio(
        arm,
        browser=not no_browser,
        host=host,
        port=port,
        q=output.positions("q0", q0, arm),
        log=log,
        origins=origin,
        package_dirs=output.reading()["package_dirs"],
        plain=plain,
        world=output.read_world(world),
    )
    try:
        data = {"url": page.url, "robot": arm.name, "notes": list(page.scene.look.notes)}
        output.answer(data, lambda: click.echo(f"{arm.name} is at {page.url} (Ctrl-C ends it)"))
        for note in page.scene.look.notes:
            click.echo(f"warning: {note}", err=True)
        if not server.is_loopback(host):
            click.echo(f"warning: every machine that reaches {host} can use this page; there is no password", err=True)
        wait()
    except KeyboardInterrupt:
        pass
    finally:
        page.stop()
    click.echo("closed", err=True)


def _read_address(text: str) -> tuple[str, int]:
    """Return the host and the port of HOST:PORT."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > MAX_PORT:
        raise click.BadParameter(f"{text!r} is not HOST:PORT with a port up to {MAX_PORT}", param_hint="--address")
    return host.strip("[]"), int(port)


def wait() -> None:
    """Until Ctrl-C."""
    threading.Event().wait()
