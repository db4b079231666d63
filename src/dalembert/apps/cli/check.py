"""dalembert check: a doctor for models."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from dalembert.apps.cli import output
from dalembert.apps.cli.option_table import ROBOT_OPTIONS, OutputFile
from dalembert.apps.cli.options import JSON, argument, command, complete_robots, in_options, pick
from dalembert.findings import SEVERITIES

if TYPE_CHECKING:
    from dalembert.findings import Severity
    from dalembert.trust.doctor import Repair
    from dalembert.trust.doctor.check import CheckUp

FORMATS = ("table", "json", "sarif", "junit")
# Of no effect where rules are listed.
IDLE = ("fix", "output", "all", "fail-on", "no-meshes", *ROBOT_OPTIONS)
MAX_FILE_ROWS = 60  # files that a summary lists one by one; of more, only those with errors
PROGRESS_PERIOD_S = 2.0


class How(output.ReadingOptions):
    """How a file is to be examined."""

    meshes: bool


@command
def check(
    paths: tuple[str, ...] = argument(
        reads_robot=True, nargs=-1, metavar="ROBOT|FOLDER…", shell_complete=complete_robots
    ),
    fix: bool = pick("fix"),
    out: str | None = pick("output", type=OutputFile()),
    style: str = pick("format", "table", type=FORMATS),
    as_json: bool = JSON,
    fail_on: str = pick("fail-on", "error"),
    no_meshes: bool = pick("no-meshes"),
    every: bool = pick("all"),
    rules: bool = pick("rules"),
) -> None:
    """Examine robot descriptions: syntax, structure, physics. Files (.urdf, .xacro, .toml), bundled names, or folders,
    of which every .urdf is examined.

    --fix repairs one file; --output may name that file itself. Exit code 1 if a finding is at least as severe as
    --fail-on.

    \b
    Examples: dalembert check robot.urdf
              dalembert check robot.urdf --fix -o repaired.urdf
              dalembert check models/ --format sarif > findings.sarif
    """
    style = "json" if as_json else style
    if rules:
        output.refuse_idle("--rules only lists the rules", *IDLE)
        _show_rules(style)
        return
    if not paths:
        raise click.UsageError("name a file, a bundled robot or a folder")
    output.refuse_idle("a file is checked as it is", *output.ARRANGING)
    said = output.reading()
    how: How = {
        "meshes": not no_meshes,
        "strict": said["strict"],
        "allow": said["allow"],
        "package_dirs": said["package_dirs"],
    }
    _require_paths(paths, fix, out)
    if fix:
        ups = [_repair(paths[0], str(out), how, style)]
    else:
        ups = _examine(paths, how)
        _show(ups, paths, style, every)
    output.exit_unless(fail_on == "never" or not any(up.fails(cast("Severity", fail_on)) for up in ups))


def _require_paths(paths: Sequence[str], fix: bool, out: str | None) -> None:
    from dalembert import robots
    from dalembert.errors import unknown

    names = robots.names()
    for path in paths:
        if not Path(path).exists() and path not in names:
            if os.sep in path or Path(path).suffix:
                raise click.ClickException(f"{path}: there is no such file or folder")
            raise click.UsageError(str(unknown("robot", path, names)))
    if fix and (len(paths) != 1 or Path(paths[0]).is_dir()):
        raise click.UsageError("--fix repairs one file at a time")
    if fix != (out is not None):
        raise click.UsageError("--fix and --output go together: --output names the repaired copy")


def _examine(paths: Sequence[str], how: How) -> list[CheckUp]:
    from dalembert.trust.doctor import check as examine, check_all

    found: list[CheckUp] = []
    started, told = time.monotonic(), time.monotonic()

    def each(k: int, n: int, _up: CheckUp) -> None:
        nonlocal told
        now = time.monotonic()
        if n > 1 and now - told > PROGRESS_PERIOD_S:
            click.echo(f"{k} of {n} files, {now - started:.0f} s", err=True)
            told = now

    for path in paths:
        if Path(path).exists():
            found += check_all([path], **how, each=each)
        else:
            found.append(examine(path, **how))
    return found


# tables


def _visible(text: str) -> str:
    """Text that every terminal takes: names of files may hold bytes that are no text."""
    text = text.encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    cells = [[_visible(x) if isinstance(x, str) else x for x in row] for row in rows]
    output.print_table(_visible(title), columns, cells)


def _show(ups: Sequence[CheckUp], paths: Sequence[str], style: str, details: bool) -> None:
    if style != "table":
        from dalembert.trust.doctor.check import FORMATS as WRITERS

        text = WRITERS[style](ups)
        output.print_json(json.loads(text)) if style == "json" else click.echo(text)
    elif len(ups) == 1:
        _one(ups[0])
    else:
        if details:
            for up in ups:
                if up.rows:
                    _one(up)
        _summary(ups, paths)


def _one(up: CheckUp) -> None:
    if up.rows:
        _table(up.source, *_cells(up))
        why = {f.rule: f.why for f in up}
        _table("Why it matters", ("rule", "why"), sorted(why.items()))
    click.echo(_visible(f"{up.message} ({up.facts.seconds:.2f} s)"))
    if any(f.fixable for f in up):
        click.echo("dalembert check --fix -o FILE repairs the lines marked with *")


def _cells(up: CheckUp) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
    """The columns and rows of findings; what can be repaired ends with *."""
    made = up.cells()
    marks = (" *" if f.fixable else "" for f in up)
    return made.columns, [
        (*row[:-1], in_options(f"{row[-1]}{mark}")) for row, mark in zip(made.rows, marks, strict=True)
    ]


def _summary(ups: Sequence[CheckUp], paths: Sequence[str]) -> None:
    """Files, then rules, then the folders that were named."""
    columns = ("errors", "warnings", "notes", "loads", "seconds")
    rows = [(name, *_totals(group)) for name, group in _rows(ups, paths)]
    _table("Files", ("file", *columns), rows)
    hits = Counter(f.rule for up in ups for f in up)
    files = Counter(name for up in ups for name in {f.rule for f in up})
    if hits:
        from dalembert.trust.doctor import RULES

        table = [(name, RULES[name].severity, RULES[name].title, hits[name], files[name]) for name in sorted(hits)]
        _table("Rules", ("rule", "severity", "title", "findings", "files"), table)
    groups = [(path, [up for up in ups if _below(up.source, path)]) for path in paths]
    rows_of_folders = [(path, len(group), *_totals(group)) for path, group in [*groups, ("all", list(ups))]]
    _table("Summary", ("", "files", *columns), rows_of_folders)


def _rows(ups: Sequence[CheckUp], paths: Sequence[str]) -> list[tuple[str, list[CheckUp]]]:
    """Every file; of very many, those with errors, and the others by the folder they are in."""
    rows: dict[tuple[str, str], list[CheckUp]] = {}
    for up in ups:
        folder = next((path for path in paths if _below(up.source, path)), "")
        name = Path(up.source).relative_to(folder).as_posix() if folder and Path(folder).is_dir() else up.source
        if len(ups) > MAX_FILE_ROWS and not up.errors:
            name = f"{name.split('/')[0]}/…" if "/" in name else "…"
        rows.setdefault((folder, name), []).append(up)
    return [(f"{name} ({len(g)} files)" if len(g) > 1 else name, g) for (_, name), g in rows.items()]


def _totals(ups: Sequence[CheckUp]) -> tuple[object, ...]:
    counts = (sum(up.counts[severity] for up in ups) for severity in SEVERITIES)
    good = sum(up.facts.loads for up in ups)
    loads = ("yes" if good else "no") if len(ups) == 1 else f"{good} of {len(ups)}"
    return (*counts, loads, round(sum(up.facts.seconds for up in ups), 2))


def _below(file: str, path: str) -> bool:
    return file == path or Path(file).is_relative_to(path)


def _show_rules(style: str) -> None:
    from dalembert.trust.doctor import RULES

    rows = [RULES[name] for name in sorted(RULES)]
    data = [{"rule": r.identifier, "severity": r.severity, "title": r.title, "why": r.why} for r in rows]
    if style == "table":
        _table("Rules", ("rule", "severity", "title", "why it matters"), [tuple(row.values()) for row in data])
    else:
        output.print_json({"rules": data})


# repairs


def _repair(path: str, out: str, how: How, style: str) -> CheckUp:
    """The check-up of what was written."""
    from dalembert.trust.doctor import check as examine, repair

    repaired = repair(examine(path, **how))
    written = bool(repaired.changes) or repaired.after.facts.loads  # not a copy that is no better
    if written:
        repaired.save(out)
    if style == "json":
        changes, to = [change.data() for change in repaired.changes], out if written else None
        output.print_json({"file": path, "output": to, "changes": changes, "after": repaired.after.data()})
    elif style != "table":
        _show([repaired.after], [out], style, False)
    else:
        _show_repair(repaired, path, out, written)
    return repaired.after


def _show_repair(repaired: Repair, path: str, out: str, written: bool) -> None:
    if repaired.changes:
        rows = [(c.rule, "–" if c.line is None else str(c.line), c.element, c.text) for c in repaired.changes]
        _table(f"{path}: {len(rows)} repairs", ("rule", "line", "element", "change"), rows)
    else:
        click.echo(f"{_visible(path)}: there is nothing that can be repaired safely")
    still = "" if repaired.after.facts.loads else "; it does not load"
    click.echo(f"written to {_visible(out)}{still}" if written else f"nothing was written{still}")
    left = replace(repaired.after, rows=(*repaired.after.errors, *repaired.after.warnings))
    if left.rows:
        _table("Left for you", *_cells(left))
    if written and Path(out).resolve().parent != Path(path).resolve().parent:
        click.echo("the copy is in another folder: meshes with relative paths are looked for from there")
