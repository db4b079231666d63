"""What names of columns tell: which quantity, of which joint, in which unit.

Columns that differ by the joint alone are a `ColumnFamily`: actual_q_0 … actual_q_5, or "panda_joint1/position" and its
fellows. Natural names are understood, and those of UR (RTDE), Franka (libfranka, franka_ros), KUKA (Sunrise, FRI, KRC),
ROS exports and PlotJuggler: "q1", "dq_2", "tau_J[3]", "axisQMsr_LBR_iiwa_7[0]", "field.effort2", "time [ms]".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from dalembert.errors import InputError
from dalembert.identification.log.samples import Table
from dalembert.identification.log.settings import find_unit

# Words that say what a column holds, in the order in which they are looked for: a "joint torque limit" is no torque, a
# "joint velocity" no joint. The first two groups, and accelerations, are known lest they are mistaken for others.
WORDS: dict[str, set[str]] = {
    group: set(words.split())
    for group, words in {
        "other": "error err predicted limit limits max min residual ext external contact hat estimate tcp tool ee "
        "flange cart cartesian pose wrench ft gripper scaling fraction factor temperature temperatures voltage mode",
        "commanded": "target desired des cmd command commanded ref reference setpoint goal ipo nominal soll",
        "qdd": "qdd ddq qddot ddtheta acc accel acceleration accelerations",
        "qd": "qd dq qdot qvel jvel dtheta vel velocity velocities speed speeds rate rates qp omega "
        "geschwindigkeit drehzahl vitesse velocidad",
        "current": "current currents curr amps amperage strom courant corriente",
        "tau": "tau jtau jtor effort efforts eff torque torques trq trqs moment moments force forces "
        "drehmoment drehmomente couple par coppia",
        "nsec": "nsec nsecs nanosec nanosecs nanoseconds",
        "sec": "sec secs seconds",
        "t": "t time timestamp timestamps stamp stamps clock zeit ts date datetime duration elapsed temps tiempo tempo",
        "q": "q pos qpos jpos position positions angle angles theta encoder winkel achswinkel posicion posizione",
    }.items()
}
# Pairs of words that are one.
PAIRS = {("q", "dot"): "qd", ("time", "stamp"): "t", ("nano", "sec"): "nsec", ("nano", "secs"): "nsec"}
PAIRS |= {("theta", "dot"): "qd", ("d", "q"): "qd", ("d", "theta"): "qd", ("alpha", "in"): "qd"}
TIMES = ("t", "sec", "nsec")
MEASURED, SECOND, GENERIC = (
    set(words.split())
    for words in (
        "actual act measured meas msr mes real feedback fbk states state in ist",
        "motor encoder theta dtheta raw filtered rotor base",  # beside a plain column, of a gear's other side, or worse
        "joint joints jnt axis axes j a achse gelenk eje axe",  # of which joint, not what
    )
)
RUN_ON = re.compile(r"^(joint|jnt|axis|motor|actual|measured)(?=[a-z]{3,})")  # jointpos, actualtorque
# J1 J2 … V1 V2 … T1 T2 …: a letter and a number mean something beside positions that are named so.
LETTERS = {("t",): "letter t", ("v",): "letter v"}
DIGITS = 9  # a longer number counts no joints (a date, a serial number)
BRACKETED = re.compile(r"^(.*?)\s*[\[(]\s*([^\])\d][^\])]*)\s*[\])]\s*$")

INDEX = re.compile(r"\[\d+\]\s*$")

Joint = int | str  # a number, or a name of the robot's


@dataclass(frozen=True)
class ColumnFamily:
    """Columns that differ by the joint alone: what they hold ("q", "commanded tau", …), the words that they share, and
    the place of each joint, by name or by number."""

    group: str
    words: tuple[str, ...]
    places: dict[Joint, int] = field(default_factory=dict)

    def numbers(self) -> list[int]:
        return sorted(k for k in self.places if isinstance(k, int))

    def whole(self, joints: Sequence[str]) -> bool:
        """Whether it has a column of every joint."""
        n = len(joints)
        counted = self.numbers() in (list(range(n)), list(range(1, n + 1)))
        return counted or all(joint in self.places for joint in joints)

    def rank(self, joints: Sequence[str]) -> tuple[bool, bool, bool]:
        """Of several families with the same quantity the greatest is taken."""
        words = set(self.words)
        return self.whole(joints), bool(words & MEASURED), not words & SECOND


def tokens(name: str) -> list[str]:
    """Words and numbers of a name in lower case: "Joint2_actualPos[rad]" → joint 2 actual pos rad."""
    split = re.sub(r"([A-Z])([A-Z][a-z])", r"\1 \2", re.sub(r"([a-z\d])([A-Z])", r"\1 \2", name))
    words = re.findall(r"[a-zµ°]+|\d+", split.lower())
    return [part for word in words for part in RUN_ON.sub(r"\1 ", word).split()]


def without_unit(name: str) -> tuple[str, str | None]:
    """A name and the unit that stands in brackets, or after an underscore, behind it."""
    match = BRACKETED.match(name)
    if match and (unit := find_unit(match[2])):
        return match[1], unit
    stem, _, last = name.rpartition("_")
    if stem and len(last) > 1 and (unit := find_unit(last)):
        return stem, unit
    return name, None


def group_of(words: Sequence[str]) -> str | None:
    """The quantity that words tell; "commanded tau" and the like of what was not measured."""
    among = set(words)
    if among & WORDS["other"]:
        return None
    pair = next((PAIRS[two] for two in pairwise(words) if two in PAIRS), None)
    measured = [g for g in WORDS if g not in ("other", "commanded") and WORDS[g] & among]
    if measured[:1] == ["current"] and {"tau", "q"} & {*measured}:
        measured = measured[1:]  # a "current position" is the present one
    group = pair or (measured[0] if measured else "q" if {"axis", "act"} <= among else None)
    commanded = among & WORDS["commanded"] or words[-1:] == ["d"]  # q_d: Franka's desired positions
    return f"commanded {group}" if group is not None and commanded else group


def find_families(table: Table, joints: Sequence[str]) -> tuple[list[ColumnFamily], dict[int, str], list[int]]:
    """Families of columns, units by place, and the places of columns that mean nothing."""
    found: dict[tuple[str, tuple[str, ...]], ColumnFamily] = {}
    units: dict[int, str] = {}
    aside: list[int] = []
    known, exact = _spellings(joints), {tuple(tokens(joint)): joint for joint in joints}
    numbered = _listed_joints(table, joints)
    for k, column in enumerate(table.names if table.named else ()):
        stem, unit = without_unit(column)
        unit = unit or find_unit(table.units.get(column, ""))
        # An index in brackets counts the joints, whatever else the name holds: axisQMsr_LBR_iiwa_7_R800_1[0].
        indexed = INDEX.search(column) is not None
        group, joint, words = _meaning(tokens(stem), exact if indexed else known)
        if joint is not None and words in LETTERS:
            group = LETTERS[words]
        if group is None or (joint is None and group not in TIMES):
            aside.append(k)
            continue
        if isinstance(joint, int):
            joint = numbered.get(joint, joint)
        key: Joint = group if group in TIMES or joint is None else joint
        unit = unit or ("A" if group == "current" else None)
        if unit is not None:
            units[k] = unit
        words = (*words, str(joint)) if group in TIMES else words
        family = found.setdefault((group, words), ColumnFamily(group, words))
        if key in family.places:
            first = table.names[family.places[key]]
            raise InputError(
                "conflict",
                "columns",
                problem=f"{table.source}: both {first!r} and {column!r} look like the {group} of joint {key!r}",
            )
        family.places[key] = k
    return list(found.values()), units, aside


def _meaning(
    words: list[str], known: Mapping[tuple[str, ...], str]
) -> tuple[str | None, Joint | None, tuple[str, ...]]:
    """What a column holds, of which joint (its name if the column has it, else the last number), and its other words.
    What only counts joints, "A1" or "joint_2", is called "bare"."""
    for spelled, joint in known.items():
        spots = range(len(words) - len(spelled) + 1)
        at = next((k for k in spots if tuple(words[k : k + len(spelled)]) == spelled), None)
        if at is not None:
            rest = words[:at] + words[at + len(spelled) :]
            group = group_of(rest) or ("bare" if set(rest) <= GENERIC else None)
            if group is not None:
                return group, joint, tuple(rest)
    places = [k for k, w in enumerate(words) if w.isdigit() and len(w) <= DIGITS]
    rest = words[: places[-1]] + words[places[-1] + 1 :] if places else words
    plain = [w for w in rest if not w.isdigit()]
    group = group_of(plain) or ("bare" if places and plain and set(plain) <= GENERIC else None)
    return group, int(words[places[-1]]) if places else None, tuple(rest)


def _spellings(joints: Sequence[str]) -> dict[tuple[str, ...], str]:
    """How each joint may be written, the longest first: with all its words, without those that all joints begin with,
    and without "joint"."""
    split = {joint: tokens(joint) for joint in joints}
    shared = 0
    while len({tuple(words[: shared + 1]) for words in split.values()}) == 1 and len(joints) > 1:
        shared += 1
    ways: dict[tuple[str, ...], set[str]] = {}
    for joint, words in split.items():
        for way in (words, words[shared:], [w for w in words if w not in GENERIC]):
            if any(not w.isdigit() for w in way):
                ways.setdefault(tuple(way), set()).add(joint)
    clear = {way: next(iter(names)) for way, names in ways.items() if len(names) == 1}
    return dict(sorted(clear.items(), key=lambda one: -len(one[0])))


def _listed_joints(table: Table, joints: Sequence[str]) -> dict[int, str]:
    """Number → joint, where columns of text list the names that the numbered columns belong to (ROS: name0, name1, …;
    or one column with all of them)."""
    listed: dict[int, str] = {}
    for column, text in table.texts.items():
        words = tokens(column)
        names = re.findall(r"[^\s,'\"\[\]()]+", text)
        if "name" in words or "names" in words:
            last = int(words[-1]) if words[-1].isdigit() else 0
            listed |= {last + k: name for k, name in enumerate(names)}
    return listed if set(listed.values()) & set(joints) else {}
