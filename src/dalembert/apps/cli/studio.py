"""dalembert studio: a robot on a page in the browser."""

from __future__ import annotations

import threading

import click

from dalembert.apps.cli import output


@click.command(name="studio", short_help="A robot on a page in the browser: pose, load, simulate, play back.")
@output.robot_argument
@output.tip_option
@click.option("--q", metavar="NUMBERS", help="Joint positions to begin at [rad, m]; 30deg for degrees.")
@click.option("--log", type=click.Path(exists=True, dir_okay=False), help="A recorded motion to play back.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="0: any that is free.")
@click.option("--origin", multiple=True, metavar="URL", help="A page elsewhere that may use it, http://name:port.")
@click.option("--package-dir", multiple=True, type=click.Path(exists=True, file_okay=False), help="Where meshes lie.")
@click.option("--plain", is_flag=True, help="No shadows: for a machine without a graphics card.")
@click.option("--no-browser", is_flag=True, help="Do not open the page, only say where it is.")
@output.json_option
def command(
    robot: str,
    tip: str | None,
    q: str | None,
    log: str | None,
    host: str,
    port: int,
    origin: tuple[str, ...],
    package_dir: tuple[str, ...],
    plain: bool,
    no_browser: bool,
    as_json: bool,
) -> None:
    """Open a robot in the browser: drag its tip, load it, simulate it under a controller, pull at it, play back a log.

    The page is served to this machine alone unless --host says otherwise, until Ctrl-C.

    \b
    Example: dalembert studio panda
    """
    from dalembert.apps.studio import server

    server.viser()  # refused before anything is loaded
    arm = output.load(robot, tip, package_dir)
    from dalembert.apps.studio import open as open_studio

    studio = open_studio(
        arm,
        browser=not no_browser,
        host=host,
        port=port,
        q=output.positions("q", q, arm),
        log=log,
        origins=origin,
        package_dirs=output.reading(*package_dir)["package_dirs"],
        plain=plain,
    )
    try:
        if as_json:
            output.print_json({"url": studio.url, "robot": arm.name, "notes": list(studio.scene.look.notes)})
        else:
            click.echo(f"{arm.name} is at {studio.url} (Ctrl-C ends it)")
        for note in studio.scene.look.notes:
            click.echo(f"warning: {note}", err=True)
        if not server.is_loopback(host):
            click.echo(f"warning: every machine that reaches {host} can use this page; there is no password", err=True)
        wait()
    except KeyboardInterrupt:
        pass
    finally:
        studio.stop()
    click.echo("closed", err=True)


def wait() -> None:
    """Until Ctrl-C."""
    threading.Event().wait()
