"""dalembert completion: the script that lets a shell complete commands, robots and files."""

from __future__ import annotations

import os

import click

from dalembert.apps.cli import output

SHELLS = ("bash", "zsh", "fish")
PLACES = {
    "bash": 'eval "$(dalembert completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(dalembert completion zsh)" in ~/.zshrc',
    "fish": "dalembert completion fish > ~/.config/fish/completions/dalembert.fish",
}


@click.command(name="completion")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@output.json_option
def command(shell: str | None, as_json: bool) -> None:
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
    if as_json:
        output.print_json({"shell": name, "script": script, "use": PLACES[name]})
    else:
        click.echo(script)
