"""What needs an optional library says so in one sentence, with the command that adds it, before it computes."""

from __future__ import annotations

import sys

import pytest
from invoking import run

# The library that is not there, the command that would need it, the extra that adds it.
MISSING = [
    ("matplotlib", ("simulate", "planar-1r", "--plot", "run.svg"), "dalembert[plot]"),
    ("matplotlib", ("compare", "planar-1r", "--plot", "errors.svg"), "dalembert[plot]"),
    ("matplotlib", ("excite", "planar-1r", "--plot", "motion.svg"), "dalembert[plot]"),
    ("matplotlib", ("properties", "planar-1r", "--plot", "books.svg"), "dalembert[plot]"),
    ("pyarrow", ("simulate", "planar-1r", "-o", "run.parquet"), "dalembert[parquet]"),
    ("pyarrow", ("identify", "planar-1r", "log.parquet"), "dalembert[parquet]"),
    ("rosbags", ("identify", "planar-1r", "log.mcap"), "dalembert[ros]"),
    ("h5py", ("identify", "planar-1r", "log.h5"), "dalembert[hdf5]"),
    ("sympy", ("equations", "planar-2r", "--format", "sympy"), "dalembert[lagrange]"),
    ("casadi", ("export", "planar-1r", "--format", "casadi"), "dalembert[casadi]"),
    ("viser", ("studio", "planar-1r"), "dalembert[studio]"),
    ("xacro", ("info", "arm.xacro"), "dalembert[xacro]"),
]


@pytest.mark.parametrize(("library", "arguments", "extra"), MISSING, ids=[f"{m[0]} {m[1][0]}" for m in MISSING])
def test_a_missing_extra_is_one_sentence(library, arguments, extra, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("log.parquet", "log.mcap"):
        (tmp_path / name).write_bytes(b"PAR1")
    (tmp_path / "log.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    (tmp_path / "arm.xacro").write_text("<robot/>")
    for name in {library, *(m for m in sys.modules if m.startswith(f"{library}."))}:
        monkeypatch.setitem(sys.modules, name, None)
    result = run(*arguments, code=1)
    assert f"pip install '{extra}'" in result.stderr and not result.stdout
    assert result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1


def test_a_table_of_thousands_of_rows_has_them_all(capsys):
    from dalembert.apps.cli import output

    rows = [(f"joint{k}", 0.5 * k, None) for k in range(1001)]
    output.print_table("Joints", ("joint", "lower", "upper"), rows)
    title, head, _, *lines, blank = capsys.readouterr().out.splitlines()
    assert (title, head.split(), blank) == ("Joints", ["joint", "lower", "upper"], "")
    assert [line.split() for line in lines] == [[name, output.number(x), "None"] for name, x, _ in rows]
    assert len({line.index(" None") for line in lines}) == 1
