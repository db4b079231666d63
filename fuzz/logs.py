"""Mutated logs (CSV, npz, Parquet, ROS bags): each is read, filtered and identified from, or refused with a
DalembertError; nothing else ever comes out, not even a warning of NumPy's.

Run by `make fuzz`, or: python fuzz/logs.py --inputs 1000000 --seconds 3600
"""

from __future__ import annotations

import io
import random
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from descriptions import NUMBERS, mutate
from loop import Read, fuzz, parser

import dalembert as dl
from dalembert.errors import DalembertError
from dalembert.identification import identify, read_log

ROWS = 120
ODD = (0.0, -0.0, 5e-324, 1e-300, 1e-9, 1e9, 1e18, 1e300, 1.7e308, float("nan"), float("inf"), -float("inf"))
NAMES = ("t", "time", "time [ms]", "q", "q1", "q2", "q[0]", "dq1", "tau", "tau1", "current_1", "q" + "9" * 5000, "")
SLOW = 10.0  # seconds of processor time, for a file of a few kilobytes


def motion(rng: random.Random, robot: dl.Robot) -> dict[str, Any]:
    """A log of the robot with a few accidents in its numbers."""
    t = np.arange(ROWS) * 0.01
    q = np.sin(3 * t[:, None] + np.arange(robot.n)) * 0.4
    log = {"t": t, "q": q, "tau": robot.inverse_dynamics(q, np.cos(3 * t)[:, None] * 1.2 + 0 * q, -9 * q)}
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        x = log[rng.choice(list(log))]
        with np.errstate(all="ignore"):
            match rng.randrange(4):
                case 0:
                    x.flat[rng.randrange(x.size)] = rng.choice(ODD)
                case 1:
                    x *= rng.choice(ODD)
                case 2:
                    x += rng.choice(ODD)
                case 3:
                    x[rng.randrange(ROWS) :] = rng.choice(ODD)
    return log


def as_csv(rng: random.Random, robot: dl.Robot) -> bytes:
    log = motion(rng, robot)
    mark = rng.choice((",", ";", "\t", " "))
    names = ["t", *(f"{g}{k + 1}" for g in ("q", "tau") for k in range(robot.n))]
    text = io.StringIO()
    table = np.column_stack([log["t"], log["q"], log["tau"]])
    np.savetxt(text, table, delimiter=mark, header=mark.join(names), comments="", fmt="%.6g")
    data = text.getvalue().encode()
    other = mark.join(NAMES).encode() + b"\n" + mark.encode().join(NUMBERS)
    return data if rng.random() < 0.3 else mutate(rng, data, other)


def rename(rng: random.Random, log: dict[str, Any]) -> dict[str, Any]:
    """The same arrays, some under other names, of other shapes and types."""
    if rng.random() < 0.5:
        return log
    for name in list(log):
        if rng.random() < 0.2:
            log[rng.choice(NAMES[:-2])] = log.pop(name) if rng.random() < 0.5 else log[name]
    for name, x in log.items():
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            match rng.randrange(12):
                case 0:
                    log[name] = x[: rng.randrange(ROWS)]
                case 1:
                    log[name] = x.astype(rng.choice(("i2", "u8", "f2", "c16", "?", "U5", "M8[ns]", "S3")))
                case 2:
                    log[name] = x.reshape(rng.choice(((1, -1), (-1, 1), (ROWS, -1, 1), (-1,))))
                case 3:
                    log[name] = x.flat[0]
    return log


def as_npz(rng: random.Random, robot: dl.Robot) -> bytes:
    file = io.BytesIO()
    np.savez(file, **rename(rng, motion(rng, robot)))
    return damage(rng, file.getvalue())


TYPES = ("float64", "float32", "int64", "string", "bool", "binary", pyarrow.decimal128(38, 9), "date32", "duration[ms]")


def as_parquet(rng: random.Random, robot: dl.Robot) -> bytes:
    columns: dict[str, Any] = {}
    for name, x in rename(rng, motion(rng, robot)).items():
        rows = np.atleast_1d(x).tolist() if np.asarray(x).dtype.kind in "fiub" else [str(x)] * ROWS
        if rng.random() < 0.07:
            rows[rng.randrange(len(rows)) if rows else 0 :] = rng.choice(([None], [[]], [[1.0]], ["a"], [{"a": 1}]))
        rows = (rows + [None] * ROWS)[:ROWS]
        try:
            column = pyarrow.array(rows)
            if rng.random() < 0.07:
                other = column.dictionary_encode()
                column = other if rng.random() < 0.5 else column.cast(rng.choice(TYPES), safe=False)
            elif name.startswith("t") and rng.random() < 0.3:
                unit = rng.choice(("s", "ms", "us", "ns"))
                column = pyarrow.array([rng.choice((0, 1, 2**62)) + k for k in range(ROWS)], pyarrow.timestamp(unit))
            columns[name] = column
        except (pyarrow.ArrowException, ArithmeticError, TypeError, ValueError):
            continue  # not a column that Parquet can hold
    file = io.BytesIO()
    try:
        pyarrow.parquet.write_table(pyarrow.table(columns), file)
    except pyarrow.ArrowException:
        return b"PAR1"
    return damage(rng, file.getvalue())


def as_bag(rng: random.Random, robot: dl.Robot) -> bytes:
    return rng.choice((b"", b"#ROSBAG V2.0\n", b"\x89MCAP0\r\n")) + damage(rng, rng.randbytes(rng.randrange(2000)))


def damage(rng: random.Random, data: bytes) -> bytes:
    """Mostly as it is; else a few bytes changed, or the end torn off."""
    raw = bytearray(data)
    if raw and rng.random() < 0.2:
        for _ in range(rng.choice((1, 3, 30))):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        if rng.random() < 0.2:
            del raw[rng.randrange(len(raw)) :]
    return bytes(raw)


KINDS = {".csv": as_csv, ".npz": as_npz, ".parquet": as_parquet, ".bag": as_bag}


def main() -> None:
    options = parser(__doc__).parse_args()
    warnings.simplefilter("error")
    robot = dl.load("planar-2r")
    with tempfile.TemporaryDirectory() as folder:

        def make(rng: random.Random, number: int) -> tuple[bytes, str, Read]:
            kind = list(KINDS)[number % len(KINDS)]
            data, file = KINDS[kind](rng, robot), Path(folder) / f"log{kind}"
            file.write_bytes(data)

            def read(told: Counter[str]) -> None:
                choices = {"bad_rows": rng.choice(("refuse", "drop")), "still": rng.choice(("refuse", "keep"))}
                try:
                    log = read_log(file, robot, **choices)
                    told[f"{kind} read"] += 1
                    identify(robot, log, consistent=False)
                    told[f"{kind} identified"] += 1
                except DalembertError:
                    told[f"{kind} refused"] += 1
                    raise

            return data, kind, read

        fuzz(options, make, SLOW)


if __name__ == "__main__":
    main()
