"""`write_report`: everything that follows from a robot's description, as one page of HTML that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import math
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from dalembert import __version__
from dalembert.apps.page.page import asset, live_data, record, script
from dalembert.apps.page.physics import MOST
from dalembert.apps.page.scene import summary, with_tip
from dalembert.apps.report.context import Context, Made, NotHereError, Section, SystemContext
from dalembert.arguments import switch
from dalembert.draw import html
from dalembert.errors import DalembertError, InputError, choose
from dalembert.files import place_of, whole
from dalembert.names import file_name
from dalembert.robot import Robot, need_robot
from dalembert.system import SYSTEM, System

if TYPE_CHECKING:
    from jinja2 import Template

SECONDS = 90.0
ALWAYS = 5.0  # s: a section that takes no longer is written whatever the clock says
OK, ABSENT, FAILED = "ok", "absent", "failed"
SECTIONS = (
    Section("robot", "The robot", "card.card"),
    Section("frames", "Frames and Denavit–Hartenberg table", "frames.frames"),
    Section("equations", "Equations of motion", "equations.equations", 15.0),
    Section("workspace", "Workspace and manipulability", "workspace.workspace"),
    Section("singularities", "Singularities", "workspace.singular"),
    Section("properties", "Properties of the dynamics", "judgments.properties", 10.0),
    Section("bounds", "Certified bounds", "judgments.bounds", 20.0),
    Section("verification", "Verification certificate", "judgments.certificate", 20.0),
    Section("task", "A simulated task", "task.task", 20.0),
    Section("clearance", "What touches, and a plan around an obstacle", "clearance.clearance", 10.0),
    Section("findings", "What a check-up of the model found", "judgments.findings"),
)
SYSTEM_SECTIONS = (
    Section("system", "The system", "system.names"),
    Section("linearization", "At rest", "system.linearization"),
    Section("properties", "Properties of the dynamics", "system.properties", 10.0),
    Section("motion", "A free motion", "system.motion", 10.0),
)
PANELS_SHOWN = ("controller", "world", "joints", "playback", "plots")
NAMES = tuple(section.name for section in SECTIONS)
Progress = Callable[[str, str], None]  # (title, "begun" or how it ended)


@dataclass(frozen=True)
class Written:
    """What became of one section: `state` "ok", "absent" (it does not apply, and the page says why) or "failed";
    `verdict` in words, judged "good", "doubt", "bad" or ""; `seconds` that it took."""

    name: str
    title: str
    state: str
    verdict: str
    kind: str
    seconds: float


@dataclass(frozen=True)
class Page:
    """A report on disk: its `path`, `size` [bytes], the sections in it and the `seconds` it took."""

    path: Path
    robot: str
    size: int
    seconds: float
    sections: tuple[Written, ...]

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of the sections that failed: an error in Dalembert, told in the page."""
        return tuple(s.name for s in self.sections if s.state == FAILED)

    def data(self) -> dict[str, object]:
        """The report as plain data."""
        own = {"path": str(self.path), "robot": self.robot, "size": self.size, "seconds": self.seconds}
        return {**own, "sections": [asdict(s) for s in self.sections]}

    def __str__(self) -> str:
        wide = max((len(s.title) for s in self.sections), default=0)
        lines = [f"{s.title.ljust(wide)}  {s.verdict or s.state}" for s in self.sections]
        return "\n".join([f"{self.path}: {self.size / 1024:.0f} KiB, {len(self.sections)} sections", *lines])

    def __repr__(self) -> str:
        return f"<Report of {self.robot!r}: {self.path}, {self.size} bytes>"


def write_report(
    robot: Robot | System,
    path: str | PathLike[str] | None = None,
    *,
    sections: Iterable[str] | None = None,
    seconds: float = SECONDS,
    quick: bool = False,
    date: str | None = None,
    progress: Progress | None = None,
) -> Page:
    """Write the report of a robot: one HTML page, equations as MathML, plots as SVG, the robot in three dimensions. Of
    any other system: its states, its poles at rest, the properties of its dynamics, a free motion.

    `path`: where; "<robot>.html" if not given. `sections`: names of those wanted (`NAMES` lists them), in the order of
    the page; all if not given. `seconds`: about how long it may take; what is searched within a time (bounds,
    the certificate) gets its share, and what no time is left for is told in the page. `quick`: fewer samples, states,
    controllers. `date`: what the page says of its day; today. `progress(title, word)` hears of every section. A section
    that does not apply, or fails, says so in the page and does not end the report."""
    if not hasattr(robot, "description") and isinstance(robot, System):
        context: Context | SystemContext = SystemContext(robot, switch("quick", quick))
        chosen = _choose_sections(sections, SYSTEM_SECTIONS)
    else:
        if not hasattr(robot, "description") and hasattr(robot, "flow"):
            lacks = ", ".join(name for name in SYSTEM if not hasattr(robot, name))
            raise InputError(f"a report takes a Robot or a system, and {type(robot).__name__} lacks {lacks}")
        arm = need_robot(robot, "a report")
        context = Context(with_tip(arm), switch("quick", quick), ends=arm.model.tips if arm.tip is None else ())
        chosen = _choose_sections(sections, SECTIONS)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < math.inf:
        raise InputError(f"seconds must be a positive number, got {seconds!r}")
    place = Path(f"{file_name(robot.name)}.html" if path is None else path)
    folder = place_of(place).parent
    if not folder.is_dir():  # said now, not after a minute of work
        problem = f"{str(place)!r} cannot be written: the folder {str(folder)!r} does not exist"
        raise InputError("not-writable", "path", str(place), problem=problem)
    begun = time.perf_counter()
    made: list[tuple[Written, Made]] = []
    tell = progress or (lambda title, word: None)
    for k, section in enumerate(chosen):
        left = seconds - (time.perf_counter() - begun)
        rest = sum(s.seconds for s in chosen[k:])
        context.seconds = max(0.0, min(section.seconds, left * section.seconds / rest))
        tell(section.title, "begun")
        made.append(_write_section(section, context, left))
        tell(section.title, made[-1][0].verdict or made[-1][0].state)
    text = _page(context, made, date or datetime.now(UTC).strftime("%Y-%m-%d"))
    whole(place, lambda file: file.write(text.encode()))
    rows = tuple(w for w, _ in made)
    return Page(place, robot.name, len(text.encode()), time.perf_counter() - begun, rows)


def _choose_sections(names: Iterable[str] | None, table: Sequence[Section]) -> list[Section]:
    if names is None:
        return list(table)
    if isinstance(names, str):
        raise InputError(f"sections is a list of names, as [{names!r}]")
    wanted = list(names)
    for name in wanted:
        choose("section", name, [section.name for section in table])
    if not wanted:
        raise InputError("sections is empty: a report has at least one")
    return [s for s in table if s.name in wanted]


def _write_section(section: Section, context: Context | SystemContext, left: float) -> tuple[Written, Made]:
    """A section, or a sentence in its place."""
    begun = time.perf_counter()
    state = OK
    try:
        if left <= 0 and section.seconds > ALWAYS:
            raise NotHereError("No time was left for this section: give more with --seconds.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = section.make(context)
    except NotHereError as reason:
        late = left <= 0 and section.seconds > ALWAYS
        words, kind = ("no time was left", "doubt") if late else ("does not apply", "")
        state, made = ABSENT, Made(html.tag("p", str(reason), class_="missing"), words, kind)
    except DalembertError as error:
        said = f"This was refused: {error}."
        state, made = ABSENT, Made(html.tag("p", said, class_="missing"), "refused", "doubt")
    except Exception as error:  # a page with nine good sections is worth more than none
        said = f"This section failed, which is an error in Dalembert; please report it. {type(error).__name__}: {error}"
        state, made = FAILED, Made(html.tag("p", said, class_="missing"), "failed", "bad")
    took = time.perf_counter() - begun
    return Written(section.name, section.title, state, made.verdict, made.kind, took), made


def _page(context: Context | SystemContext, made: list[tuple[Written, Made]], date: str) -> str:
    own = Markup(script() + "openPage();\n")
    digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
    drawn = any(w.name == "robot" and w.state == OK for w, _ in made)
    sections = [{**asdict(w), "html": m.html} for w, m in made]
    if isinstance(context, SystemContext):
        system, live = context.system, Markup("")
        counts = ((len(system.states), "state"), (len(system.inputs), "input"))
        words = ", ".join(f"{k} {noun}{'' if k == 1 else 's'}" for k, noun in counts)
        head = {"name": system.name, "kind": "system", "summary": words, "source": ""}
    else:
        live = _live(context) if drawn else Markup("")
        robot = context.robot
        head = {"name": robot.name, "kind": "robot", "summary": summary(robot), "source": _source(robot)}
    return _template().render(
        **head,
        version=__version__,
        date=date,
        style=html.style() + Markup(asset("page.css")),
        script=own,
        script_hash=Markup(digest),
        live=live,
        sections=sections,
        verdicts=[s for s in sections if s["kind"]],
    )


def _source(robot: Robot) -> str:
    """The description's file, without the folders that it lies in, which are nobody's business."""
    file = robot.description.place.file
    return Path(file).name if file else ""


def _live(context: Context) -> Markup:
    """What the page's first section moves by: the robot under its controllers, and the task to be played back."""
    log = None if context.motion is None else record(*context.motion)
    live = live_data(context.scene, log=log, most=0 if context.quick else MOST)
    words = {"panels": PANELS_SHOWN, "embed": True, "run": False, "link": False}
    return html.joined([html.data("live-data", {**live.data, **words}), live.module])


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(asset("page.html.jinja", "dalembert.apps.report"))
