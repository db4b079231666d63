"""Files that are no files, never end, or unpack to more than there is: a sentence, soon, and little memory."""

from __future__ import annotations

import bz2
import io
import os
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dalembert import files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes with a name, links and /dev/zero are POSIX")

MEMORY = 4 << 30  # bytes of address space; most of it are libraries
ENDLESS = "it is no regular file, but a pipe, a device or the like"
LARGE = "it is larger than {} MiB, the most that is read of such a file"


def told(code: str, folder: Path) -> str:
    """The one sentence that a program ends with, which has little memory and little time."""
    script = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))\n"
        f"import dalembert as dl\ntry:\n    {code}\nexcept dl.DalembertError as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def pipe(path: Path) -> None:
    os.mkfifo(path)


def sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(5 << 30)


SENTENCES: dict[Callable[[Path], None], str] = {endless: ENDLESS, pipe: ENDLESS, sparse: "it is larger than "}


@pytest.mark.parametrize("make", SENTENCES)
@pytest.mark.parametrize("name", ["arm.urdf", "arm.toml", "arm.xml", "arm.xacro"])
def test_descriptions(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    make(tmp_path / name)
    for code in ("dl.load(NAME)", "print(dl.check(NAME).rows[0].message)", "dl.verify(NAME)"):
        assert SENTENCES[make] in told(code.replace("NAME", repr(name)), tmp_path)


LOGS = [(name, make) for name in ("log.csv", "log.npz", "log.bag", "log.mcap") for make in SENTENCES]


# A ROS bag may be as large as a sparse file: cameras fill it.
@pytest.mark.parametrize(("name", "make"), [x for x in LOGS if x[1] is not sparse or x[0] in ("log.csv", "log.npz")])
def test_logs(tmp_path: Path, name: str, make: Callable[[Path], None]) -> None:
    make(tmp_path / name)
    said = told(f"dl.read_log({name!r}, dl.load('planar-2r'))", tmp_path)
    assert said.startswith(f"{name}: cannot be read: {SENTENCES[make]}"), said


MODEL = """<mujoco><asset><mesh name="m" file="MESH"/></asset><worldbody><body name="b"><joint name="j"/>
<geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("name", ["m.stl", "m.obj", "m.dae"])
def test_meshes(tmp_path: Path, name: str) -> None:
    sparse(tmp_path / name)
    (tmp_path / "arm.xml").write_text(MODEL.replace("MESH", name))
    assert LARGE.format(256) in told("dl.load('arm.xml')", tmp_path)


def test_what_a_mesh_names_is_not_opened(tmp_path: Path) -> None:
    pipe(tmp_path / "m.mtl")
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    (tmp_path / "m.obj").write_text(f"mtllib m.mtl\n{corners}usemtl a\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    (tmp_path / "arm.xml").write_text(MODEL.replace("MESH", "m.obj"))
    assert told("print(dl.load('arm.xml').n)", tmp_path) == "1"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("/dev/zero", "leads to /dev/zero, outside the model's folder"),
        ("/etc/hostname", "outside the model's folder"),
        ("link.xml", "outside the model's folder"),
        ("pipe.xml", f"the included file 'pipe.xml' cannot be read: {ENDLESS}"),
        ("sparse.xml", "the included file 'sparse.xml' cannot be read: " + LARGE.format(64)),
    ],
)
def test_includes(tmp_path: Path, name: str, says: str) -> None:
    endless(tmp_path / "link.xml")
    pipe(tmp_path / "pipe.xml")
    sparse(tmp_path / "sparse.xml")
    (tmp_path / "arm.xml").write_text(f'<mujoco><include file="{name}"/></mujoco>')
    assert says in told("dl.load('arm.xml')", tmp_path)


def bomb(path: Path, size: int = (1 << 30) + (1 << 20)) -> None:
    """An npz of a few bytes that unpacks to zeros, so many bytes of them."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "|i1", "fortran_order": False, "shape": (size,)})
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("q.npy", "w", force_zip64=True) as entry,
    ):
        entry.write(head.getvalue())
        for _ in range(size >> 20):
            entry.write(bytes(1 << 20))


def test_an_archive_that_unpacks_to_more_than_there_is(tmp_path: Path) -> None:
    bomb(tmp_path / "log.npz")
    says = "log.npz: it unpacks to 1025 MiB; of a log at most 1024 MiB are read"
    assert told("dl.read_log('log.npz', dl.load('planar-2r'))", tmp_path) == says
    # The same, sent by a page.
    sent = "read_upload('a.npz', open('log.npz', 'rb').read(), dl.load('rp'))"
    sent = f"from dalembert.apps.studio.log import read_upload; {sent}"
    assert told(sent, tmp_path) == says.replace("log.npz", "a.npz")


def test_small_numbers_that_become_large_ones(tmp_path: Path) -> None:
    bomb(tmp_path / "log.npz", 256 << 20)  # a byte each, and eight as a float
    says = "log.npz: it unpacks to 2048 MiB; of a log at most 1024 MiB are read"
    assert told("dl.read_log('log.npz', dl.load('planar-2r'))", tmp_path) == says


def test_an_array_that_claims_to_be_larger_than_its_file(tmp_path: Path) -> None:
    with open(tmp_path / "log.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 3)})
    assert "log.npy: cannot be read as NumPy's npy" in told("dl.read_log('log.npy', dl.load('planar-2r'))", tmp_path)


def test_columns_of_equal_values(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = 20 << 20
    table = pyarrow.table({f"c{k}": pyarrow.array(np.zeros(rows)) for k in range(7)})
    parquet.write_table(table, tmp_path / "log.parquet")
    assert (tmp_path / "log.parquet").stat().st_size < 1 << 20
    says = "log.parquet: it unpacks to 1120 MiB; of a log at most 1024 MiB are read"
    assert told("dl.read_log('log.parquet', dl.load('planar-2r'))", tmp_path) == says
    text = pyarrow.table({"t": np.arange(9.0), "note": ["a" * (30 << 20)] * 9})  # left unread
    parquet.write_table(text, tmp_path / "log.parquet")
    assert "among the columns 't';" in told("dl.read_log('log.parquet', dl.load('planar-1r'))", tmp_path)


def _record(data: bytes, **fields: bytes) -> bytes:
    """A record of a ROS bag of the first generation: its fields, then its data, each with its length before it."""
    each = [name.encode() + b"=" + value for name, value in fields.items()]
    head = b"".join(struct.pack("<I", len(field)) + field for field in each)
    return struct.pack("<I", len(head)) + head + struct.pack("<I", len(data)) + data


def bag(size: int) -> bytes:
    """A bag with one chunk of joint states, which unpacks to zeros, so many bytes of them."""
    one, zero, packer = struct.pack("<I", 1), bytes(4), bz2.BZ2Compressor()
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(size >> 20)) + packer.flush()
    chunk = _record(packed, op=b"\x05", compression=b"bz2", size=struct.pack("<I", size))
    index = _record(one + bytes(8), op=b"\x04", ver=one, conn=zero, count=one)
    words = {"message_definition": b"string[] name", "md5sum": b"3f2d21c30868b92dc41a0431bacd47b2"}
    described = _record(b"", topic=b"/joints", type=b"sensor_msgs/JointState", **words)[4:-4]
    connection = _record(described, op=b"\x07", conn=zero, topic=b"/joints")
    first = len(b"#ROSBAG V2.0\n") + 4096
    times = {"start_time": one + zero, "end_time": one + zero}
    info = _record(zero + one, op=b"\x06", ver=one, chunk_pos=struct.pack("<Q", first), count=one, **times)
    place = struct.pack("<Q", first + len(chunk) + len(index))
    head = _record(b"", op=b"\x03", index_pos=place, conn_count=one, chunk_count=one)[:-4]
    padded = head + struct.pack("<I", 4092 - len(head)) + b" " * (4092 - len(head))
    return b"#ROSBAG V2.0\n" + padded + chunk + index + connection + info


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell a process its size")
def test_a_chunk_of_a_bag_that_unpacks_to_more_than_there_is(tmp_path: Path) -> None:
    (tmp_path / "log.bag").write_bytes(bag(512 << 20))
    less = "from dalembert.identification.log import bag; bag.MEMORY = 256 << 20"
    less = f"from contextlib import suppress; {less}"
    read = "dl.read_log('log.bag', dl.load('rp'))"
    says = "log.bag: it unpacks to more than 256 MiB, the most that is read of a bag"
    assert told(f"{less}; {read}", tmp_path) == says
    lines = (less, f"with suppress(dl.DalembertError): {read}", "print(resource.getrlimit(resource.RLIMIT_AS)[0])")
    assert told("\n    ".join(lines), tmp_path) == str(MEMORY)  # as before


def test_contents(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"12345678")
    assert files.contents(file, 8) == b"12345678"
    with pytest.raises(OSError, match="larger than 0 MiB"):
        files.contents(file, 7)
    if Path("/proc/self/maps").exists():  # a regular file without a size
        with pytest.raises(OSError, match="longer than 0 MiB"):
            files.contents("/proc/self/maps", 10)
