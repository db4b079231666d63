"""Mutated MJCF files: each loads, and its mass matrix is finite, or it is refused with a DalembertError; nothing else
ever comes out.

Run by `make fuzz`, or: python fuzz/mjcf.py --seconds 3600 folder-of-models …
"""

from __future__ import annotations

import importlib.util
import math
import random
import re
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from descriptions import NUMBERS, mutate
from loop import Read, fuzz, parser

from dalembert.algorithms.composite import mass_matrix
from dalembert.describe.mjcf import read_mjcf
from dalembert.describe.mjcf.read import ALLOWED
from dalembert.describe.scene import BASES, FREE, arrange, root_bodies
from dalembert.model.build import build

SMALL = 40_000  # bytes of a seed
SLOW = 20.0  # seconds of the processor that no file of that size may take
EXTREME = (*NUMBERS, *b"1e155,-1e155,1e200,1e-200,5e-324,0,1e49,-1,1e9,2.5,0 0 0".split(b","))
TAG = re.compile(rb"<[^>]*>")
ATTRIBUTE = re.compile(rb"""([\w-]+)\s*=\s*"([^"]*)\"""")
# What real files have too seldom: meshes written out, fits, copies, attached models, equalities, tendons, actuators.
FEATURES = b"""<mujoco model="f">
<compiler angle="radian" autolimits="true" fitaabb="false" boundmass="0" settotalmass="-1"/>
<default><geom density="500"/><joint damping=".1"/><equality active="true"/><tendon stiffness="0"/><mesh scale="1 1 1"/>
  <default class="c"><geom type="capsule" size=".1 .2"/><joint axis="0 1 0"/></default></default>
<asset><model name="other" file="other.xml"/><material name="m" rgba="1 0 0 1"/>
  <mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1 0 1 3 1 2 3 0 3 2" inertia="exact" refpos="0 0 0"/>
  <mesh name="u" vertex="0 0 0 1 0 0 0 1 0 0 0 1 1 1 1" refquat="1 0 0 0" inertia="shell"/></asset>
<worldbody><geom type="plane" size="1 1 1"/><include file="part.xml"/>
  <body name="a" childclass="c"><joint name="j" range="-1 1" ref=".1"/><geom name="g" material="m"/>
    <body name="b" pos=".1 0 0" quat="1 0 .1 0"><joint name="k" type="slide" armature=".1"/><geom type="mesh" mesh="t"/>
      <geom type="box" mesh="u" fitscale="1.1"/><site name="s" pos="0 0 .1"/></body></body>
  <replicate count="3" offset="0 .2 0" euler="0 0 .3" sep="-"><frame pos="1 0 0" euler=".1 0 0"><body name="r">
    <joint name="q"/><inertial pos="0 0 .1" mass="1" diaginertia=".1 .1 .1"/><site name="z"/></body></frame></replicate>
  <body name="free" pos="0 1 .5" quat="1 .2 0 0"><freejoint name="root" align="auto"/><geom size=".1"/>
    <body name="socket" pos=".1 0 0"><joint name="ball" type="ball" pos="0 0 .1" armature=".1" damping=".2"/>
      <geom size=".1"/></body></body>
  <body name="loose"><joint type="free" damping=".1"/><geom size=".1"/></body>
  <body name="h"><attach model="other" body="palm" prefix="x/"/></body></worldbody>
<tendon><fixed name="w"><joint joint="j" coef="1"/><joint joint="k" coef="-2"/></fixed></tendon>
<equality><connect body1="b" body2="h" anchor="0 0 .1"/><weld body1="a" relpose="0 0 0 1 0 0 0"/><tendon tendon1="w"/>
  <joint joint1="q-0" joint2="q-1" polycoef="0 1"/><weld site1="s" site2="z-2" torquescale="0"/></equality>
<actuator><motor joint="j" gear="3" armature=".1" damping=".1"/></actuator>
<keyframe><key name="home" qpos="0 0 0 0 0 0 0 1 .5 1 .2 0 0 1 0 0 0 0 0 0 1 0 0 0 0 0"/></keyframe></mujoco>"""
OTHER = b"""<mujoco><default><joint axis="1 0 0"/></default>
<worldbody><body name="palm"><joint name="p"/><geom size=".1"/><body name="tip" pos="0 0 .1">
<joint name="o"/><geom size=".1"/></body></body></worldbody>
<equality><joint joint1="p" joint2="o"/></equality></mujoco>"""
PART = b'<mujocoinclude><body name="i"><joint name="ij"/><geom size=".1" pos=".1 0 0"/></body></mujocoinclude>'


def seeds(folders: list[Path], own: Path) -> list[tuple[bytes, Path]]:
    """(text, where it is) of small real files, and of one that has everything."""
    found = [(FEATURES, own / "features.xml")] * 20
    package = importlib.util.find_spec("gymnasium")
    assert package is not None and package.origin is not None
    for folder in folders or [Path(package.origin).parent / "envs" / "mujoco" / "assets"]:
        for file in sorted(folder.rglob("*.xml")):
            if file.is_file() and file.stat().st_size < SMALL and b"<mujoco" in (data := file.read_bytes()):
                found.append((data, file))
    return found


def reword(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A few accidents that leave the XML well-formed: values, attributes and whole tags that stand elsewhere."""
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        tags = [m for m in TAG.finditer(data) if not m[0].startswith((b"</", b"<!", b"<?"))]
        if not tags:
            return data
        tag = rng.choice(tags)
        attributes = list(ATTRIBUTE.finditer(tag[0]))
        donors = list(ATTRIBUTE.finditer(rng.choice((data, other))))
        way, fresh = rng.randrange(6), tag[0]
        if way == 0 and tag[0].endswith(b"/>"):
            fresh = rng.choice((b"", tag[0] * 2, tag[0] + rng.choice([m[0] for m in TAG.finditer(other)] or [b""])))
        elif attributes and way < 4:
            chosen = rng.choice(attributes)
            words = chosen[2].split() or [b""]
            words[rng.randrange(len(words))] = rng.choice(EXTREME)
            value = b" ".join(words) if way < 3 or not donors else rng.choice(donors)[2]
            fresh = tag[0][: chosen.start(2)] + value + tag[0][chosen.end(2) :]
        elif attributes and way == 4:
            chosen = rng.choice(attributes)
            fresh = tag[0][: chosen.start()] + tag[0][chosen.end() :]
        elif donors and not tag[0].startswith(b"<mujoco"):
            donor = rng.choice(donors)[0]
            if donor.partition(b"=")[0] not in tag[0]:
                name, blank, rest = tag[0].partition(b" ")
                fresh = name + b" " + donor + blank + rest if blank else fresh
        data = data[: tag.start()] + fresh + data[tag.end() :]
    return data


def load(data: bytes, file: Path, rng: random.Random) -> None:
    allow = ALLOWED if rng.random() < 0.8 else ()
    description = read_mjcf(data, file=str(file), strict=rng.random() < 0.2, allow=allow)
    if rng.random() < 0.5:
        links = [link.name for link in description.links]
        robot = rng.choice((None, *root_bodies(description), rng.choice(links)))
        base, free = rng.choice((None, *BASES)), rng.choice((None, *FREE))
        description = arrange(description, robot=robot, base=base, free=free)
    model = build(description)
    if model.nv <= 18:
        q = [x for c in model.coordinates for x in c.joint.normalize([0.3] * c.joint.nq)]
        M = mass_matrix(model, q)
        assert all(math.isfinite(x) for row in M for x in row), "the mass matrix is not finite"


def main() -> None:
    options_of = parser(__doc__)
    options_of.add_argument("folders", nargs="*", type=Path)
    options = options_of.parse_args()
    warnings.simplefilter("error", RuntimeWarning)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "other.xml").write_bytes(OTHER)
        (Path(folder) / "part.xml").write_bytes(PART)
        pool = seeds(options.folders, Path(folder))

        def make(rng: random.Random, number: int) -> tuple[bytes, str, Read]:
            (seed, file), (other, _) = rng.choice(pool), rng.choice(pool)
            data = (mutate if rng.random() < 0.1 else reword)(rng, seed, other)

            def read(told: Counter[str]) -> None:
                load(data, file, rng)
                told["loaded"] += 1

            return data, ".xml", read

        fuzz(options, make, SLOW)


if __name__ == "__main__":
    main()
