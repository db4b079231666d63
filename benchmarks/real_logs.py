"""The logs of three real arms as other laboratories might have kept them, through `dalembert identify` alone.

    python benchmarks/real_logs.py FOLDER [--only ur10] [--apply]

FOLDER has `ur10_unisa`, `panda_unisa` and `staubli_tx40_figaroh` (recorded by others, not part of this repository).
The command gets the first two thirds of a log, changed as `CHANGES` say; what it writes is judged on the last third as
it was recorded: |τ − τ̂| / |τ| over all joints, q and τ low-passed by SciPy, derivatives by central differences.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import dalembert as dl
from dalembert.apps.cli import main as dalembert

Array = np.ndarray


@dataclass(frozen=True)
class Recording:
    """A log on the joints' side, the text of its robot, and what the command is told beside the files."""

    t: Array
    q: Array
    tau: Array
    urdf: str
    qd: Array | None = None
    band: float = 10.0  # Hz, of the judge
    names: tuple[str, ...] = ("t", "q{i}", "qd{i}", "tau{i}")
    digits: int = 9
    told: tuple[str, ...] = field(default=())

    def rows(self, which: slice | Array) -> Recording:
        qd = None if self.qd is None else self.qd[which]
        return replace(self, t=self.t[which], q=self.q[which], tau=self.tau[which], qd=qd)

    def write(self, path: Path) -> None:
        groups = [self.t[:, None], self.q, *([] if self.qd is None else [self.qd]), self.tau]
        called = [name for k, name in enumerate(self.names) if k != 2 or self.qd is not None]
        header = [name.format(i=k + 1, k=k) for name, x in zip(called, groups, strict=True) for k in range(x.shape[1])]
        table = np.concatenate(groups, axis=1)
        np.savetxt(path, table, f"%.{self.digits}f", ",", header=",".join(header) if self.names[0] else "", comments="")


def from_csv(folder: Path, urdf: str, n: int, band: float) -> Recording:
    table = np.loadtxt(folder / "exciting.csv", delimiter=",", skiprows=1)
    t, q, qd, tau = np.split(table, [1, 1 + n, 1 + 2 * n], axis=1)
    return Recording(t[:, 0], q, tau, (folder / urdf).read_text(), qd, band)


def ur10(folder: Path) -> Recording:
    return from_csv(folder / "ur10_unisa", "ur10_erd.urdf", 6, 10.0)


def panda(folder: Path) -> Recording:
    return from_csv(folder / "panda_unisa", "panda_erd.urdf", 7, 5.0)


def tx40(folder: Path) -> Recording:
    """Every fifth row (1 kHz), low-passed, on the joints' side: motor 6 turns with joints 5 and 6."""
    from scipy.signal import decimate

    with np.load(folder / "staubli_tx40_figaroh" / "tx40_motor.npz") as data:
        motor, torque = (decimate(data[name], 5, axis=0) for name in ("q_motor", "i_motor"))
    N = np.diag([32, 32, 45, -48, 45, 32.0])
    G, H = N.copy(), N.copy()
    G[5, 4] = H[4, 5] = 32
    q = motor @ np.linalg.inv(G).T + np.array([0, -np.pi / 2, np.pi / 2, 0, 0, 0])
    urdf = (folder / "staubli_tx40_figaroh" / "tx40_mdh_modified.urdf").read_text()
    return Recording(np.arange(len(q)) / 1000, q, torque @ H.T, urdf, band=40.0)


ARMS = {"ur10": ur10, "panda": panda, "tx40": tx40}


# ------------------------------------------------------------------------------------------------ changes
def scale(r: Recording, *, t: float = 1.0, q: float = 1.0, tau: Array | float = 1.0) -> Recording:
    qd = None if r.qd is None else r.qd * q
    return replace(r, t=r.t * t, q=r.q * q, qd=qd, tau=r.tau * tau)


def thin(r: Recording) -> Recording:
    return r.rows(
        slice(None, None, max(2, round(1 / (50 * (r.t[2] - r.t[1]))))) if r.t[2] - r.t[1] < 0.02 else slice(None)
    )


def currents(r: Recording) -> Recording:
    constant = np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47, 9.2])[: r.q.shape[1]]
    told = ("--set", "torque_constant=" + ",".join(f"{x:g}" for x in constant))
    return replace(scale(r, tau=1 / constant), names=("time", "q_{k}", "qd_{k}", "current_{k}"), told=told)


def hang(r: Recording) -> Recording:
    """The base turned by 90° in the file: its first joint's origin is another."""
    first = re.search(r"<joint[^>]*type=\"(?:revolute|continuous)\".*?</joint>", r.urdf, re.DOTALL)
    assert first is not None
    moved = re.sub(r'rpy="[^"]*"', 'rpy="1.5707963267948966 0 0"', first[0], count=1)
    return replace(r, urdf=r.urdf.replace(first[0], moved))


def stale(r: Recording) -> Recording:
    rows = np.arange(len(r.t))
    source = np.maximum.accumulate(np.where(np.random.default_rng(0).random(len(rows)) < 0.03, 0, rows))
    return replace(r.rows(source), t=r.t)


def lag(r: Recording) -> Recording:
    late = np.stack([np.interp(r.t - 0.02, r.t, x) for x in r.tau.T], axis=1)
    return replace(r, tau=late)


def some_signs(r: Recording) -> Recording:
    return scale(r, tau=np.where(np.arange(r.q.shape[1]) % 3 == 1, -1.0, 1.0))


def swap(r: Recording) -> Recording:
    order = np.arange(r.q.shape[1])
    order[[1, 2]] = 2, 1
    return replace(r, tau=r.tau[:, order])


def drop(r: Recording) -> Recording:
    return r.rows(np.random.default_rng(0).random(len(r.t)) > 0.03)


CHANGES: dict[str, Callable[[Recording], Recording]] = {
    "as it is": lambda r: r,
    "50 Hz": thin,
    "first half": lambda r: r.rows(slice(None, len(r.t) * 3 // 4)),  # of the two thirds
    "without rates": lambda r: replace(r, qd=None),
    "four decimals": lambda r: replace(r, digits=4),
    "other names": lambda r: replace(r, names=("timestamp", "actual_q_{k}", "actual_qd_{k}", "actual_torque_{k}")),
    "no header": lambda r: replace(r, names=("", "", "", "")),
    "degrees": lambda r: scale(r, q=180 / np.pi),
    "ms": lambda r: scale(r, t=1e3),
    "mN m": lambda r: scale(r, tau=1e3),
    "currents": currents,
    "all signs": lambda r: scale(r, tau=-1.0),
    "some signs": some_signs,
    "swapped torques": swap,
    "gravity": hang,
    "stale rows": stale,
    "dropped rows": drop,
    "lag 20 ms": lag,
    "rounded URDF": lambda r: replace(r, urdf=re.sub(r"-?\d+\.\d{5,}", lambda m: f"{float(m[0]):.4f}", r.urdf)),
}


# ------------------------------------------------------------------------------------------------ the judge
def judge(r: Recording, path: Path) -> float:
    """|τ − τ̂| / |τ| of the last third."""
    from scipy.signal import butter, sosfiltfilt

    step = float(np.median(np.diff(r.t)))
    sos = butter(4, r.band * 2 * step, output="sos")
    q, tau = (sosfiltfilt(sos, x, axis=0) for x in (r.q, r.tau))
    qd, qdd = np.gradient(q, step, axis=0), np.gradient(np.gradient(q, step, axis=0), step, axis=0)
    kept = slice(len(q) * 2 // 3, len(q) - round(0.2 / step))
    robot = dl.load(path)
    more = np.zeros((len(q), robot.n - q.shape[1]))  # joints that the log lacks
    q, qd, qdd = (np.concatenate([x, more], axis=1)[kept] for x in (q, qd, qdd))
    said = robot.inverse_dynamics(q, qd, qdd, friction=True)[:, : tau.shape[1]]
    return float(np.linalg.norm(tau[kept] - said) / np.linalg.norm(tau[kept]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a regular expression of 'arm: change'")
    parser.add_argument("--apply", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, read in ARMS.items():
        whole = read(given.folder)
        for change, changed in CHANGES.items():
            if not re.search(given.only, f"{name}: {change}"):
                continue
            with tempfile.TemporaryDirectory() as room:
                r = changed(whole.rows(slice(None, len(whole.t) * 2 // 3)))
                log, robot, out = (Path(room) / x for x in ("log.csv", "robot.urdf", "out.urdf"))
                r.write(log)
                robot.write_text(r.urdf)
                words = [*(["--apply"] if given.apply else []), *r.told]
                done = CliRunner().invoke(dalembert, ["identify", str(robot), str(log), "--output", str(out), *words])
                error = f"{judge(whole, out):7.1%}" if out.exists() else "      –"
                last = (done.output.strip().splitlines() or [repr(done.exception)])[-1]
                print(
                    f"{name:6} {change:16} exit {done.exit_code} {error}  {'' if out.exists() else last[:150]}",
                    flush=True,
                )
                if given.verbose:
                    print(done.output)


if __name__ == "__main__":
    main()
