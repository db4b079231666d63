"""What a simulation gives: labeled columns over time, with a sentence on how it ended; as a picture and as files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from dalembert.display import Displayed
from dalembert.draw.pyplot import pyplot, styled
from dalembert.errors import InputError, MissingExtraError, unknown
from dalembert.files import whole, whole_table
from dalembert.flow import ENERGY, LOSS, SUPPLY, Array
from dalembert.simulation.limits import Excess
from dalembert.simulation.record import FINISHED, Event

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dalembert.collision import ContactSpan
    from dalembert.constrained.contacts import ContactLoss

VERDICTS = {True: "yes", False: "no", None: "cannot be told: the gap is as large; a shorter dt would tell"}
AT_ONCE = 10_000  # rows turned into text at a time
OPEN = 0.1  # a relative gap beyond this is not one of the steps: energy comes from where the books do not look
TITLES = {
    "q": "position",
    "qd": "rate",
    "tau": "input",
    "u": "input",
    "energies": "energy",
    "multipliers": "multiplier",
    "x": "state",
    "reference": "reference",
    "controller": "state of the law",
}
MOST_LINES = 8  # lines that a legend inside a panel can name


@dataclass(frozen=True)
class Audit:
    """The energy books of a run [J]: H(T) − H(0) = ∫ supplied power dt − ∫ losses dt, passivity.

    `work` and `loss` were integrated with the motion by its own method, `change` is H(T) − H(0); `gap` is what they
    disagree by at the end, `largest` the most at any kept time, `relative` that as part of the largest energy in play.
    `passive`: at no time was more stored than had been supplied; None where it looks like more, but by less than the
    steps themselves lost or made: a shorter dt would tell."""

    work: float
    loss: float
    change: float
    gap: float
    largest: float
    relative: float
    passive: bool | None

    def __str__(self) -> str:
        rows = (("supplied", self.work), ("lost", self.loss), ("stored", self.change), ("gap", self.gap))
        lines = [f"{name:>9} {value: .6e} J" for name, value in rows]
        return "\n".join([*lines, f" relative {self.relative: .1e}", f"  passive {VERDICTS[self.passive]}"])


@dataclass(frozen=True, eq=False)
class Run(Displayed):
    """A run of one system: `columns` by name, all of one length, and `groups` of them that belong together.

    t (rows,) [s]; q, qd, u (what reached the system), x (all its states), reference, energy and whatever was observed,
    each as `run.name` or `run["name"]`: a group gives (rows, m), a column (rows,). Where a column bears the name of a
    group, `run["x"]` is the column.
    `ok`: it ran to its end, and its contacts with the ground can be sustained. `message`: how it ended. `events`:
    limits reached. `contact_losses`: contacts that cannot be sustained at the steps (of adaptive methods: in the kept
    rows), the earliest first; what follows their times is not what the robot would do. `beyond`: limits of position,
    velocity and effort that the kept rows pass, by how much. `measures`: what was measured of the run, by name.
    `contacts`: when links touch each other or the world that was given, at the kept rows; None without a world."""

    name: str
    columns: Mapping[str, Array]
    groups: Mapping[str, tuple[str, ...]]
    units: Mapping[str, str]
    status: str
    message: str
    method: str
    dt: float
    events: tuple[Event, ...] = ()
    evaluations: int = 0
    residual: float = 0.0
    drive: str = field(default="torque")
    beyond: tuple[Excess, ...] = ()
    measures: Mapping[str, float] = field(default_factory=dict)
    contacts: tuple[ContactSpan, ...] | None = None
    contact_losses: tuple[ContactLoss, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether it ran to its end and its contacts with the ground can be sustained."""
        return self.status == FINISHED

    # ---------------------------------------------------------------------------------------------------- the data
    def __getitem__(self, name: str) -> Array:
        if name in self.columns:
            return self.columns[name]
        if name in self.groups:
            return self.group(name)
        raise unknown(f"column of the run of {self.name!r}", name, [*self.groups, *self.columns])

    def group(self, name: str) -> Array:
        """The columns of a group side by side, (rows, m)."""
        picked = [self.columns[key] for key in self.groups[name]]
        return np.stack(picked, -1) if picked else np.empty((len(self.columns["t"]), 0))

    def __contains__(self, name: object) -> bool:
        return name in self.columns or name in self.groups

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns["t"])

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_") or name in ("columns", "groups") or name not in self:
            raise AttributeError(f"a run of {self.__dict__.get('name')!r} has no {name!r}")
        return self[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.groups, *(c for c in self.columns if c.isidentifier())})

    @property
    def t(self) -> Array:
        """Times [s], (rows,)."""
        return self.columns["t"]

    @property
    def q(self) -> Array:
        """Positions, (rows, n)."""
        return self.group("q")

    @property
    def qd(self) -> Array:
        """Their rates, (rows, n)."""
        return self.group("qd")

    @property
    def x(self) -> Array:
        """All states of the system, (rows, states)."""
        return self.group("x")

    @property
    def u(self) -> Array:
        """What reached the system: commands and given inputs, limited, with disturbances, (rows, inputs)."""
        return self.group("u")

    @property
    def tau(self) -> Array:
        """The torques or forces among them, (rows, drives)."""
        if self.drive != "torque":
            named = ", ".join(self.groups["tau"][:3])
            raise InputError(f"the inputs of {self.name!r} are not torques but {named}: run.u")
        return self.group("tau")

    @property
    def reference(self) -> Array:
        """Where the system should have been, (rows, m)."""
        if not self.groups["reference"]:
            raise InputError(f"this run of {self.name!r} followed no reference")
        return self.group("reference")

    @property
    def multipliers(self) -> Array:
        """λ of the constraints, (rows, k): τ = M q̈ + h + Aᵀλ."""
        return self.group("multipliers")

    @property
    def energy(self) -> Array:
        """All that is stored [J], (rows,)."""
        if not self.groups["energies"]:
            raise InputError(f"{self.name!r} observes no energy: an output whose name ends in {ENERGY!r} would be one")
        return np.asarray(self.group("energies").sum(-1))

    # --------------------------------------------------------------------------------------------------- the books
    def audit(self, tolerance: float = 1e-6) -> Audit:
        """The energy books; `tolerance` is the relative gap that still counts as passive."""
        if "work" not in self.columns:
            raise InputError(
                f"{self.name!r} keeps no books: its outputs must name {SUPPLY[0]!r}, what is lost as …{LOSS}, and what "
                f"is stored as …{ENERGY}"
            )
        work, loss, H = self["work"], self["loss"], self.energy
        gaps = H - H[0] - work + loss
        parts = np.array([*(self.columns[name] for name in self.groups["energies"]), work, loss])
        scale = float((parts.max(-1) - parts.min(-1)).max())
        if "kinetic_energy" in self.columns:  # in play even where it stays what it is
            scale = max(scale, float(self["kinetic_energy"].max()))
        scale = max(scale, float(np.spacing(np.abs(H).max())))  # nothing is told below the rounding of what is stored
        largest = float(np.abs(gaps).max())
        relative = largest / scale if scale > 0 else (0.0 if largest == 0 else np.inf)
        excess = float((H - H[0] - work).max())
        passive: bool | None = excess <= tolerance * scale
        if not passive and excess <= largest and relative <= OPEN:
            passive = None
        return Audit(
            float(work[-1]), float(loss[-1]), float(H[-1] - H[0]), float(gaps[-1]), largest, float(relative), passive
        )

    # ------------------------------------------------------------------------------------------------- to elsewhere
    def save(self, path: str | PathLike[str]) -> Path:
        """Write the run to a file, which `dalembert.read_run` reads.

        Parameters
        ----------
        path : str or path
            A file with the ending .npz, which contains everything, or .csv or .parquet, which contain the columns.

        Returns
        -------
        pathlib.Path
            The path of the file.
        """
        from dalembert.simulation.saved import save_run

        return save_run(self, path)

    def to_dict(self) -> dict[str, Array]:
        """Columns by name, each (rows,): what pandas.DataFrame and polars.DataFrame take as it is."""
        return {name: np.array(values) for name, values in self.columns.items()}

    def to_csv(self, path: str | PathLike[str]) -> None:
        """One line per row, every digit kept; the file appears whole or not at all."""
        table = np.stack(list(self.columns.values()), -1)
        pieces = (table[first : first + AT_ONCE].tolist() for first in range(0, len(table), AT_ONCE))
        whole_table(path, self.columns, (row for piece in pieces for row in piece))

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """The columns as a Parquet file (extra `parquet`); it appears whole or not at all."""
        pyarrow = import_arrow()
        table = pyarrow.table({name: np.ascontiguousarray(values) for name, values in self.columns.items()})
        whole(path, lambda file: pyarrow.parquet.write_table(table, file))

    def plot(self, *what: str, axes: Axes | Sequence[Axes] | None = None) -> Figure:
        """A matplotlib figure (extra `plot`) of groups or columns by name, one panel each; of q with its reference, qd,
        tau and the energies if not given."""
        return _draw(self, what, axes)

    def __repr__(self) -> str:
        span = f"{len(self)} rows, t = 0 … {self.t[-1]:.6g} s"
        return f"<Run of {self.name!r} by {self.method}: {span}; {self.message}>"


def import_arrow() -> ModuleType:
    """pyarrow with its Parquet files, or what would add it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow is not installed: pip install 'dalembert[parquet]', or use to_csv") from None
    found: ModuleType = pyarrow
    return found


# ---------------------------------------------------------------------------------------------------------- a picture
@styled
def _draw(run: Run, what: tuple[str, ...], axes: Axes | Sequence[Axes] | None) -> Figure:
    """One panel for each group or column, time along the bottom."""
    wanted = what or tuple(name for name in ("q", "qd", "tau", "energies") if run.groups[name] and _told(run, name))
    if not wanted:
        wanted = ("x",)
    plt = pyplot()
    if axes is None:
        height = 1.2 + 2.1 * len(wanted)
        figure, grid = plt.subplots(
            len(wanted), 1, sharex=True, squeeze=False, figsize=(8.0, height), layout="constrained"
        )
        panels = list(grid[:, 0])
        figure.suptitle(run.name if run.ok else f"{run.name}: {run.message}", fontsize="medium", wrap=True)
    else:
        panels = list(axes) if isinstance(axes, (Sequence, np.ndarray)) else [axes]
        figure = panels[0].figure
        if len(panels) != len(wanted):
            raise InputError(f"{len(panels)} axes for {len(wanted)} panels: {', '.join(wanted)}")
    for panel, name in zip(panels, wanted, strict=True):
        _panel(panel, run, name)
    panels[-1].set_xlabel("time [s]")
    figure.align_ylabels(panels)
    return figure


def _told(run: Run, name: str) -> bool:
    """Inputs that are zero all along say nothing."""
    return name != "tau" or bool(run.group("tau").any())


def _panel(panel: Axes, run: Run, name: str) -> None:
    run[name]  # refused in words if it is not there
    names = (name,) if name in run.columns else run.groups[name]
    lines = []
    for column in names:
        (line,) = panel.plot(run.t, run[column], label=_short(column, name))
        lines.append(line)
    if name == "q" and run.groups["reference"]:
        for line, column in zip(lines, run.groups["reference"], strict=False):
            panel.plot(run.t, run[column], ls=":", lw=1.1, color=line.get_color())
        panel.plot([], [], ls=":", lw=1.1, color="0.4", label="reference")
    if name == "energies" and len(names) > 1:
        panel.plot(run.t, run.energy, color="0.2", lw=1.0, label="total")
    units = sorted({run.units.get(column, "") for column in names} - {""})
    title = TITLES.get(name, name.replace("_", " "))
    panel.set_ylabel(f"{title} [{', '.join(units)}]" if units else title)
    panel.margins(x=0)
    if len(names) > 1 or (name == "q" and run.groups["reference"]):
        columns = 1 + (len(names) > MOST_LINES)
        panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small", frameon=False, ncols=columns)
    for t in (*(event.t for event in run.events), *(loss.t for loss in run.contact_losses)):
        panel.axvline(t, color="tab:red", lw=0.8, ls=":")
    touching = np.zeros(len(run), bool)
    for span in run.contacts or ():
        touching |= (run.t >= span.start) & (run.t <= span.end)
    if touching.any():
        over = panel.get_xaxis_transform()
        panel.fill_between(run.t, 0, 1, where=touching, transform=over, color="tab:red", alpha=0.12, lw=0)


def _short(column: str, group: str) -> str:
    """A column's name without what the panel says already."""
    endings = {"qd": ("_rate",), "energies": ("_energy",), "tau": ("_torque", "_voltage"), "u": ("_torque",)}
    for ending in endings.get(group, ()):
        column = column.removesuffix(ending)
    return column.removeprefix("multiplier of ")
