"""The block diagrams that control laws share: errors into gains along a trajectory, and a law as one block in its loop.

Each controller draws itself (`.diagram()`). Shades: what a servo adds is blue, what rests on a model is yellow, the
system itself is gray.
"""

from __future__ import annotations

import re
from typing import Protocol, TypedDict, Unpack, runtime_checkable

from dalembert.draw.blocks import Diagram as Diagram, Node, Signal, block, terminal, total
from dalembert.errors import InputError
from dalembert.law import Law

LONGEST = 24  # letters of a list of names
MOTION, TASK = "q_d, q̇_d, q̈_d", "x_d, ẋ_d, ẍ_d"


def tracking(
    title: str,
    equation: str,
    *,
    x: str = "x",
    rate: str = "ẋ",
    acceleration: str = "ẍ",
    gains: tuple[str, str, str] = ("k_p", "k_v", "k_i"),
    force: str = "f",
    system: str = "m ẍ + b ẋ + k x = f",
    integral: bool = False,
    accelerated: bool = True,
    alpha: str = "",
    alpha_of_position: bool = False,
    beta: str = "",
    beta_of_rate: bool = True,
    ahead: str = "",
    ahead_of: str = "",
) -> Diagram:
    """u = α (ẍ_d + k_v ė + k_p e [+ k_i ∫e]) + β: rows of errors into one sum, then what the model adds; `ahead` is
    what it adds for the motion that is wanted (`ahead_of`), and takes the place of ẍ_d."""
    k_p, k_v, k_i = gains
    nodes: list[Node] = [
        terminal("rate_wanted", f"{rate}_d", 0, 1),
        terminal("wanted", f"{x}_d", 0, 2),
        total("error_rate", 1, 1),
        total("error", 2, 2),
        block("k_v", k_v, 3, 1, tone="servo"),
        block("k_p", k_p, 3, 2, tone="servo"),
        total("servo", 4, 2),
    ]
    signals = [
        Signal("rate_wanted", "error_rate", sign="+"),
        Signal("wanted", "error", sign="+"),
        Signal("error_rate", "k_v", "ė"),
        Signal("error", "k_p", "e"),
        Signal("k_v", "servo", sign="+"),
        Signal("k_p", "servo", sign="+"),
    ]
    last, column = "servo", 5
    if integral:
        nodes.append(block("k_i", f"{k_i} ∫", 3, 3, tone="servo"))
        signals += [Signal("error", "k_i"), Signal("k_i", "servo", sign="+")]
    if accelerated:
        nodes += [terminal("acceleration_wanted", f"{acceleration}_d", 0, 0), total("unit", column, 2)]
        signals += [Signal(last, "unit", sign="+"), Signal("acceleration_wanted", "unit", sign="+")]
        last, column = "unit", column + 1
    elif ahead:
        nodes += [terminal("ahead_of", ahead_of, 0, 0), block("ahead", ahead, 3, 0, tone="model")]
        nodes.append(total("unit", column, 2))
        signals += [Signal("ahead_of", "ahead"), Signal(last, "unit", sign="+"), Signal("ahead", "unit", sign="+")]
        last, column = "unit", column + 1
    if alpha:
        nodes.append(block("alpha", alpha, column, 2, tone="model"))
        signals.append(Signal(last, "alpha", f"{force}′"))
        last, column = "alpha", column + 1
    if beta:
        nodes.append(total("sum", column, 2))
        signals.append(Signal(last, "sum", sign="+"))
        last, column = "sum", column + 1
    nodes.append(block("system", system, column, 2, tone="plant"))
    signals.append(Signal(last, "system", force))
    feedback = [("error", x, 0.6), ("error_rate", rate, -0.6)]
    if beta:
        nodes.append(block("beta", beta, column, 3, flip=True, tone="model"))
        if beta_of_rate:
            signals += [Signal("system", "beta", out=0.6, into=-0.6), Signal("system", "beta", out=-0.6, into=0.6)]
        else:
            signals.append(Signal("system", "beta", out=0.6))
        signals.append(Signal("beta", "sum", sign="+"))
    if alpha and alpha_of_position:
        signals.append(Signal("system", "alpha", out=0.6, lane=2, enter="bottom"))
    bottom = max(node.row for node in nodes)
    for target, label, slot in feedback:
        signals.append(Signal("system", target, label, sign="−", out=slot, lane=bottom, enter="bottom"))
    return Diagram(title, tuple(nodes), tuple(signals), equation)


class _Terms(TypedDict, total=False):
    """What `tracking` may add to the errors."""

    integral: bool
    accelerated: bool
    alpha: str
    alpha_of_position: bool
    beta: str
    beta_of_rate: bool
    ahead: str
    ahead_of: str


def joint_tracking(title: str, equation: str, **terms: Unpack[_Terms]) -> Diagram:
    """What follows a trajectory of a robot's joints."""
    gains = ("K_p", "K_d", "K_i")
    return tracking(title, equation, x="q", rate="q̇", acceleration="q̈", gains=gains, force="τ", system="robot", **terms)


def inverse_kinematics() -> Diagram:
    """q̇ = J⁺ (ẋ_d + K e), integrated: e decays at the rate of K."""
    nodes = (
        terminal("rate_wanted", "ẋ_d", 0, 0),
        terminal("wanted", "x_d", 0, 1),
        total("error", 1, 1),
        block("K", "K", 2, 1, tone="servo"),
        total("sum", 3, 1),
        block("J", "J^+(q)", 4, 1, tone="model"),
        block("integral", "1/s", 5, 1),
        terminal("q", "q", 6, 1),
        block("fk", "forward\nkinematics", 4, 2, flip=True, tone="model"),
    )
    signals = (
        Signal("wanted", "error", sign="+"),
        Signal("error", "K", "e"),
        Signal("K", "sum", sign="+"),
        Signal("rate_wanted", "sum", sign="+"),
        Signal("sum", "J"),
        Signal("J", "integral", "q̇"),
        Signal("integral", "q"),
        Signal("integral", "J", lane=1, enter="bottom"),
        Signal("integral", "fk"),
        Signal("fk", "error", "x", sign="−"),
    )
    return Diagram("Inverse kinematics as a loop", nodes, signals, "q̇ = J^+(q) (ẋ_d + K e), e = x_d − x(q)")


def loop(title: str, equation: str, law: str, inputs: str, output: str, system: str, measured: str) -> Diagram:
    """Any law as one block in its loop."""
    nodes = [block("law", law, 1, 0, tone="servo"), block("system", system, 2, 0, tone="plant")]
    signals = [
        Signal("law", "system", output),
        Signal("system", "law", measured, lane=0, rise=0, into=0.6 if inputs else 0.0),
    ]
    if inputs:
        nodes.append(terminal("wanted", inputs, 0, 0))
        signals.append(Signal("wanted", "law", into=0.0))
    return Diagram(title, tuple(nodes), tuple(signals), equation)


def loop_diagram(law: Law, name: str, equation: str, drawn: tuple[str, str, str, str, str] | None) -> Diagram:
    """A controller's law as one block in its loop: as `drawn` says (title, what it follows, what it puts out, what it
    drives, what it measures), or with its own names."""
    equation = re.sub(r"_([A-Za-z0-9]{2,})", r"_{\1}", equation)  # subscripts may be words: F_ext → F_{ext}
    if drawn is not None:
        title, wanted, output, system, measured = drawn
        return loop(title, equation, title, wanted, output, system, measured)
    title = "".join(
        f" {c.lower()}" if c.isupper() and k else c for k, c in enumerate(name)
    )  # HybridForce: Hybrid force
    return _law_diagram(law, title, equation)


def _law_diagram(law: Law, title: str, equation: str = "") -> Diagram:
    wanted, output, measured = (_list_names(names) for names in (law.follows, law.outputs, law.measures))
    return loop(title, equation, _literal(title), wanted, output, "system", measured)


@runtime_checkable
class Drawn(Protocol):
    """What draws itself."""

    def diagram(self) -> Diagram: ...


def diagram_of(controller: object) -> Diagram:
    """The block diagram of a controller: its own (`.diagram()`), or its law as one block in a loop; so is a `Law`."""
    if isinstance(controller, Drawn):
        return controller.diagram()
    made = getattr(controller, "law", None)
    law = controller if isinstance(controller, Law) else made() if callable(made) else None
    if not isinstance(law, Law):
        raise InputError("wrong-type", "controller", controller, expected="a controller or a Law")
    if law is controller:
        return _law_diagram(law, law.name)
    return loop_diagram(law, type(controller).__name__, str(getattr(controller, "equation", "") or ""), None)


def _list_names(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:2]) + (", …" if len(names) > 2 else "")
    return _literal(shown if len(shown) <= LONGEST or len(names) < 2 else f"{names[0]}, …")


def _literal(text: str) -> str:
    """A name whose underscores are underscores."""
    return text.replace("_", "\\_")
