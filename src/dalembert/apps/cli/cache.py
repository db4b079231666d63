"""dalembert cache: the compiled kernels on disk."""

from __future__ import annotations

import click

from dalembert.apps.cli import output


@click.command(name="cache")
@click.option("--clear", is_flag=True, help="Remove them all; they are made again when needed.")
@output.json_option
def command(clear: bool, as_json: bool) -> None:
    """Show where compiled kernels are kept, how many and how large; or remove them.

    The folder is chosen by DALEMBERT_CACHE; set to nothing, it turns the cache off. It may have as many megabytes as
    DALEMBERT_CACHE_SIZE says, 512 else; what was not used for longest is removed.

    \b
    Example: dalembert cache --clear
    """
    from dalembert.compile import cache

    removed = cache.clear() if clear else 0
    folder, files = cache.folder(), cache.entries()
    size, most = sum(files.values()), cache.largest()
    why = cache.unused(folder) if folder is not None else None
    if as_json:
        where = None if folder is None else str(folder)
        data = {"folder": where, "kernels": len(files), "bytes": size, "removed": removed}
        output.print_json(data if why is None else data | {"unused": why})
    elif folder is None:
        click.echo("the cache is turned off: DALEMBERT_CACHE is empty")
    elif why is not None:
        click.echo(f"the cache {str(folder)!r} is not used: {why}")
    else:
        if clear:
            click.echo(f"removed {removed} kernels")
        click.echo(f"{folder}: {len(files)} kernels, {size / 1e6:.1f} MB of at most {most / 1e6:g} MB")
