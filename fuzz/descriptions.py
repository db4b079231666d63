"""Mutated URDF and TOML files: each loads, or is refused with a DescriptionError; nothing else ever comes out.

Run by `make fuzz`, or: python fuzz/descriptions.py --inputs 1000000 --seconds 3600
"""

from __future__ import annotations

import random
import re
import site
from collections import Counter
from pathlib import Path

from loop import Read, fuzz, parser

from dalembert import robots
from dalembert.describe.scene import BASES, put_on_base
from dalembert.describe.toml_read import read_toml
from dalembert.describe.urdf_read import read_urdf

NUMBERS = (b"nan", b"inf", b"-1e400", b"1e308", b"-0", b"1e-320", b"9" * 400, b"0x10", b"1_0", b"", b"--1", b"1 2")
SLOW = 20.0  # seconds of the processor that no file of a few kilobytes may take
# Joints of several coordinates, which no bundled robot has.
SEVERAL = b"""name = "several"
home = { base = [0, 0, 0.5, 0, 0, 0, 1], floor_angle = 0.3 }
[[links]]
name = "world"
[[links]]
name = "body"
inertial = { mass = 2.0, inertia = [0.1, 0.2, 0.25] }
[[links]]
name = "arm"
inertial = { mass = 1.0, com = [0, 0, 0.2], inertia = [0.1, 0.1, 0.05] }
[[links]]
name = "cart"
[[links]]
name = "hand"
[[joints]]
name = "base"
kind = "floating"
parent = "world"
child = "body"
[[joints]]
name = "socket"
kind = "spherical"
parent = "body"
child = "arm"
drive = { rotor_inertia = 0.1, damping = 0.2 }
[[joints]]
name = "floor"
kind = "planar"
axis = [0, 0, 1]
parent = "body"
child = "cart"
[[joints]]
name = "cross"
kind = "universal"
axis = [0, 0, 1]
second_axis = [0, 1, 0]
parent = "arm"
child = "hand"
"""
TOKENS = re.compile(rb"[A-Za-z_][\w:.-]*|-?\d[\d.eE+-]*|.", re.DOTALL)


def seeds() -> tuple[list[bytes], list[bytes]]:
    """Small real files: URDFs of the packages, and the bundled TOML."""
    base = Path(site.getsitepackages()[0])
    roots = (base / "cmeel.prefix/share/example-robot-data/robots", base / "rtbdata")
    urdf = [f.read_bytes() for root in roots for f in root.rglob("*.urdf") if f.stat().st_size < 12_000]
    from dalembert.describe.urdf_write import write_urdf

    toml = [SEVERAL, *(robots.text(name).encode() for name in robots.names())]
    urdf += [write_urdf(read_toml(t.decode())).encode() for t in toml[1:]]
    urdf += [write_urdf(put_on_base(read_urdf(text), kind)).encode() for text in urdf[-3:] for kind in BASES[1:]]
    return urdf, toml


def mutate(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """A few small accidents."""
    tokens = TOKENS.findall(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        if not tokens:
            break
        k = rng.randrange(len(tokens))
        way = rng.randrange(8)
        if way == 0:
            del tokens[k : k + rng.choice((1, 2, 20))]
        elif way == 1:
            tokens[k] = rng.choice(NUMBERS)
        elif way == 2:
            tokens[k:k] = tokens[k : k + rng.choice((1, 5, 40))]
        elif way == 3:
            tokens[k] = rng.choice(tokens)
        elif way == 4:
            tokens[k] = bytes(rng.randrange(256) for _ in range(rng.randrange(4)))
        elif way == 5:
            tokens = tokens[:k]
        elif way == 6:
            there = TOKENS.findall(other)
            j = rng.randrange(len(there))
            tokens[k:k] = there[j : j + rng.choice((1, 10, 60))]
        else:
            token = bytearray(tokens[k])
            if token:
                token[rng.randrange(len(token))] ^= 1 << rng.randrange(8)
            tokens[k] = bytes(token)
    return b"".join(tokens)


def main() -> None:
    options = parser(__doc__).parse_args()
    urdf, toml = seeds()

    def make(rng: random.Random, number: int) -> tuple[bytes, str, Read]:
        pool, ending = ((urdf, ".urdf"), (toml, ".toml"))[number % 2]
        data = mutate(rng, rng.choice(pool), rng.choice(pool))

        def read(told: Counter[str]) -> None:
            if ending == ".urdf":
                read_urdf(data)
            else:
                read_toml(data.decode("utf-8", "surrogateescape"))
            told["loaded"] += 1

        return data, ending, read

    fuzz(options, make, SLOW)


if __name__ == "__main__":
    main()
