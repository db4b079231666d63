"""What a shell offers after the tabulator: bundled robots, files, frames."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def robots(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Bundled names, and files. Files come first: bash forgets what stood before them."""
    from click.shell_completion import CompletionItem

    from dalembert import robots as bundled

    names = [CompletionItem(name) for name in bundled.names() if name.startswith(incomplete)]
    return [CompletionItem(incomplete, type="file"), *names]


def frames(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Frames of the robot that was named already, if it can be read."""
    from click.shell_completion import CompletionItem

    from dalembert.apps.cli.output import reading
    from dalembert.errors import DalembertError
    from dalembert.loading import load

    # An option that still lacks its value stops click's parser: then the robot is left among the arguments.
    source = ctx.params.get("robot") or next(iter(ctx.args), None)
    if not source:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = load(source, **reading(context=ctx)).frames
    except (DalembertError, OSError):
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
