"""What sections are given, and what they give back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from markupsafe import Markup

from dalembert.apps.page.scene import Scene, scene_of
from dalembert.arguments import Array
from dalembert.caching import cached_property
from dalembert.errors import InputError
from dalembert.robot import Robot
from dalembert.system import System

if TYPE_CHECKING:
    from dalembert.symbolic.equations import Equations


LONGEST_CHAIN = 8  # coordinates one after another: M of nine, all symbolic, takes minutes


class NotHereError(Exception):
    """A section that does not apply to this robot; its text says why, in a sentence."""


@dataclass(frozen=True)
class Made:
    """A section's content, and its verdict in a few words, judged "good", "doubt" or "bad" ("" where nothing was)."""

    html: Markup
    verdict: str = ""
    kind: str = ""


@dataclass
class SystemContext:
    """A system that is no robot, and how much time there is."""

    system: System
    quick: bool = False
    seconds: float = 20.0


@dataclass
class Context:
    """The robot, what is shared between sections, and how much time there is.

    `ends`: those among which the tip was chosen, where none was named; `seconds` is what the section at work may take;
    `motion` (t, q) is what the scene plays, once a task was run."""

    robot: Robot
    quick: bool = False
    ends: tuple[str, ...] = ()
    seconds: float = 20.0
    motion: tuple[Array, Array] | None = None

    @cached_property
    def scene(self) -> Scene:
        return scene_of(self.robot)

    @cached_property
    def start(self) -> Array:
        """The posture that is drawn, and that the task begins from."""
        return self.scene.start

    @cached_property
    def equations(self) -> Equations:
        """The closed form, all parameters symbols; many oblique angles as decimals, which are fewer terms."""
        model = self.robot.model
        # A quaternion's polynomials are as long as those of twice as many angles.
        size = [b.joint.nq if b.joint.quaternion is None else b.joint.nq + 4 for b in model.bodies]
        chain = max((sum(size[i] for i in model.path(k)) for k in range(len(model.bodies))), default=0)
        if chain > LONGEST_CHAIN:
            raise NotHereError(
                "A chain as long as this one has more terms in closed form than anybody reads, or waits for; numbers "
                "come from compiled kernels all the same. robot.equations('none') tries."
            )
        try:
            return self.robot.equations()
        except InputError as error:
            if model.curved is not None:
                raise NotHereError(f"There is no closed form of them here: {error}.") from None
            return self.robot.equations(angles="numbers")

    def need(
        self, *, tree: bool = False, joints: bool = True, tip: bool = False, mass: bool = False, vector: bool = False
    ) -> None:
        """Leave the section, in words, where the robot has not what it needs."""
        robot = self.robot
        if joints and not robot.nv:
            raise NotHereError("This robot has no joints: nothing moves.")
        if vector and robot.model.curved is not None:
            joint = robot.model.curved
            raise NotHereError(
                f"This is asked of robots whose positions are a vector, and {joint.name!r} is {joint.joint.kind}: a "
                "robot with that joint held would have it."
            )
        if tree and robot.loops:
            raise NotHereError(
                "This robot has closed loops, and its joints do not move freely: what this section asks of an open "
                "chain is asked of dalembert.Constrained(robot) instead."
            )
        if tip and robot.tip is None:
            several = ", ".join(robot.model.tips[:8])
            raise NotHereError(f"This robot has several ends ({several}), and none was named as its tip: give --tip.")
        if mass and not robot.mass > 0:
            raise NotHereError("No moving body of this robot has a mass: it has no dynamics.")


@dataclass(frozen=True)
class Section:
    """A row of the table of sections: its name (also that of its anchor), its title, the function of a Context or a
    SystemContext that writes it, and the most that it may take of the whole time [s].

    The function may be given as "module.function" in `dalembert.apps.report`; it is imported when it is needed."""

    name: str
    title: str
    writer: str | Callable[[Any], Made]
    seconds: float = 5.0

    @property
    def make(self) -> Callable[[Any], Made]:
        """The function that writes the section."""
        if callable(self.writer):
            return self.writer
        module, _, function = self.writer.partition(".")
        return cast("Callable[[Any], Made]", getattr(import_module(f"dalembert.apps.report.{module}"), function))
