"""`dalembert check` over every real URDF of example-robot-data, rtb-data and pybullet, or of any folders.

    make corpus
    make corpus FOLDERS="my/robots other/robots"

The first two packages come with the extra [test]. Of pybullet only its data is wanted: where it is not installed, a
wheel of it is downloaded, of whatever Python and system, and its URDFs and meshes are unpacked into .venv/corpus;
nothing of it is built or run. What cannot be had is said, and the rest is checked.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

KEPT = Path(__file__).parent.parent / ".venv" / "corpus"
WHEELS = (("3.11", "manylinux2014_x86_64"), ("3.10", "manylinux2014_x86_64"), ("3.9", "manylinux2014_x86_64"))
SECONDS = 300  # for one download


def example_robot_data() -> Path | None:
    below = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
    return below if below.is_dir() else None


def installed(name: str) -> Path | None:
    """The folder of a package, found without importing it."""
    spec = importlib.util.find_spec(name)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


def pybullet() -> Path | None:
    return installed("pybullet_data") or unpacked() or (download() and unpacked()) or None


def unpacked() -> Path | None:
    folder = KEPT / "pybullet_data"
    return folder if (KEPT / "whole").is_file() and folder.is_dir() else None


def download() -> bool:
    """A wheel of any Python, of which only the data is unpacked."""
    for version, platform in WHEELS:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
                       "--only-binary=:all:", f"--python-version={version}", f"--platform={platform}",
                       "--implementation=cp", "-d", folder, "pybullet"]  # fmt: skip
            try:
                subprocess.run(command, check=True, capture_output=True, timeout=SECONDS)
            except (subprocess.SubprocessError, OSError):
                continue
            for wheel in Path(folder).glob("*.whl"):
                with zipfile.ZipFile(wheel) as archive:
                    names = [n for n in archive.namelist() if n.startswith("pybullet_data/")]
                    archive.extractall(KEPT, names)
                (KEPT / "whole").write_text(wheel.name)
                return True
    return False


def main() -> None:
    folders = [Path(given) for given in sys.argv[1:]]
    if not folders:
        found = {"example-robot-data": example_robot_data(), "rtb-data": installed("rtbdata"), "pybullet": pybullet()}
        for name, folder in found.items():
            print(f"{name}: {folder or 'not installed, and the package index has none for here; left out'}", flush=True)
        folders = [folder for folder in found.values() if folder is not None]
    if not folders:
        sys.exit("none of the packages is here; name folders of URDFs")
    command = [sys.executable, "-m", "dalembert", "check", "--fail-on", "never", *map(str, folders)]
    sys.exit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
