"""Mutated URDF and TOML files: each loads, or is refused with a DescriptionError; nothing else ever comes out.

Run by `make fuzz`, or: python fuzz/descriptions.py --inputs 1000000 --seconds 3600
"""

from __future__ import annotations

import argparse
import random
import re
import resource
import site
import sys
import time
from pathlib import Path

from dalembert import robots
from dalembert.describe.toml_read import read_toml
from dalembert.describe.urdf_read import read_urdf
from dalembert.errors import DescriptionError

NUMBERS = (b"nan", b"inf", b"-1e400", b"1e308", b"-0", b"1e-320", b"9" * 400, b"0x10", b"1_0", b"", b"--1", b"1 2")
TOKENS = re.compile(rb"[A-Za-z_][\w:.-]*|-?\d[\d.eE+-]*|.", re.DOTALL)


def seeds() -> tuple[list[bytes], list[bytes]]:
    """Small real files: URDFs of the packages, and the bundled TOML."""
    base = Path(site.getsitepackages()[0])
    roots = (base / "cmeel.prefix/share/example-robot-data/robots", base / "rtbdata")
    urdf = [f.read_bytes() for root in roots for f in root.rglob("*.urdf") if f.stat().st_size < 12_000]
    from dalembert.describe.urdf_write import write_urdf

    toml = [robots.text(name).encode() for name in robots.names()]
    urdf += [write_urdf(read_toml(t.decode())).encode() for t in toml]
    return urdf, toml


def mutated(rng: random.Random, data: bytes, other: bytes) -> bytes:
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    rng = random.Random(options.seed)
    urdf, toml = seeds()
    kinds = ((urdf, read_urdf), (toml, lambda data: read_toml(data.decode("utf-8", "surrogateescape"))))
    start, loaded, refused, slowest = time.monotonic(), 0, 0, 0.0
    for count in range(1, options.inputs + 1):
        pool, read = kinds[count % 2]
        data = mutated(rng, rng.choice(pool), rng.choice(pool))
        begin = time.monotonic()
        try:
            read(data)
            loaded += 1
        except DescriptionError as error:
            refused += 1
            assert str(error), data
        except BaseException:
            Path("fuzz-failure.bin").write_bytes(data)
            print(f"failed at input {count} (seed {options.seed}); written to fuzz-failure.bin", file=sys.stderr)
            raise
        slowest = max(slowest, time.monotonic() - begin)
        if time.monotonic() - start > options.seconds:
            break
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{count} inputs: {loaded} loaded, {refused} refused; slowest {slowest:.2f} s, {memory:.0f} MB at most")


if __name__ == "__main__":
    main()
