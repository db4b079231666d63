"""What holds for the whole model: the compiler's settings, and gravity."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dalembert.describe.description import Vector
from dalembert.describe.mjcf.document import Document, choice, switch
from dalembert.describe.xml import Element

OWNER = "the model"
# Settings that would change a mechanism and are not followed here, and the only value that is.
_ONLY = {"coordinate": "local"}


@dataclass(frozen=True)
class Settings:
    """`angle`: radians in one unit of the file. `sequence`: of Euler angles, small letters about axes that turn along,
    capitals about fixed ones. `from_geoms`: "auto", "true", "false". `groups`: of the geoms whose mass counts.
    `strip_path`: names of files lose their folders. `fit_box`: simple shapes are fitted to boxes around meshes."""

    angle: float = math.pi / 180
    sequence: str = "xyz"
    autolimits: bool = True
    from_geoms: str = "auto"
    least_mass: float = 0.0
    least_inertia: float = 0.0
    balance: bool = False
    total_mass: float = -1.0
    groups: tuple[float, ...] = (0.0, 5.0)
    mesh_folder: str = ""
    strip_path: bool = False
    fit_box: bool = False
    gravity: Vector = (0.0, 0.0, -9.81)


def settings_of(document: Document, warnings: list[str]) -> Settings:
    e, option = document.settings("compiler"), document.settings("option")
    for name, value in _ONLY.items():
        if e.attributes.get(name, value) != value:
            raise e.refuse(f"<compiler {name}={e.attributes[name]!r}> is not read; write the model with {value!r}")
    sequence = e.attributes.get("eulerseq", "xyz")
    if len(sequence) != 3 or any(letter not in "xyzXYZ" for letter in sequence):
        raise e.refuse(f"<compiler eulerseq={sequence!r:.20}> must be three of x, y, z (turning axes), X, Y, Z (fixed)")
    return Settings(
        angle=1.0 if choice(e, "angle", ("degree", "radian"), OWNER) == "radian" else math.pi / 180,
        sequence=sequence,
        autolimits=switch(e, "autolimits", True, OWNER),
        from_geoms=choice(e, "inertiafromgeom", ("auto", "true", "false"), OWNER) or "auto",
        least_mass=e.number("boundmass", OWNER, 0.0),
        least_inertia=e.number("boundinertia", OWNER, 0.0),
        balance=switch(e, "balanceinertia", False, OWNER),
        total_mass=e.number("settotalmass", OWNER, -1.0),
        groups=e.numbers("inertiagrouprange", 2, OWNER) if "inertiagrouprange" in e.attributes else (0.0, 5.0),
        mesh_folder=e.attributes.get("meshdir", e.attributes.get("assetdir", "")),
        strip_path=switch(e, "strippath", False, OWNER),
        fit_box=switch(e, "fitaabb", False, OWNER),
        gravity=_gravity(option, warnings),
    )


def _gravity(option: Element, warnings: list[str]) -> Vector:
    for name in ("density", "viscosity"):
        if option.number(name, OWNER, 0.0):
            warnings.append(f"{option.place}: forces of a surrounding fluid (<option {name}=…>) are not carried")
    if any(flag.attributes.get("gravity") == "disable" for flag in option.all("flag")):
        return (0.0, 0.0, 0.0)
    x, y, z = option.numbers("gravity", 3, OWNER) if "gravity" in option.attributes else (0.0, 0.0, -9.81)
    return (x, y, z)
