"""How long the command line takes to start, beside Python itself and `import numpy`, which it cannot do without.

Run by `make bench`; writes benchmarks/results/startup.md. Figures are the best of ten runs in which all candidates
take turns; processor time (user and system, of the run that took the least) stands beside, because machines are shared.
"""

from __future__ import annotations

import compileall
import resource
import subprocess
import sys
from pathlib import Path

from timing import best_of_each

import dalembert as dl

RESULTS = Path(__file__).parent / "results"
ROUNDS = 10
LIMITS = {"dalembert --help": 0.25, "dalembert info panda": 0.6}  # [s]
CANDIDATES = {
    "python -c pass": ("-c", "pass"),
    "import numpy": ("-c", "import numpy"),
    "import dalembert": ("-c", "import dalembert"),
    "dalembert --help": ("-m", "dalembert", "--help"),
    "dalembert info panda": ("-m", "dalembert", "info", "panda"),
    "dalembert info panda --json": ("-m", "dalembert", "info", "panda", "--json"),
    "dalembert fk panda": ("-m", "dalembert", "fk", "panda"),
}


def processor_time() -> float:
    """Of all processes that this one has waited for [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    compileall.compile_dir(Path(dl.__file__).parent, quiet=2)  # as an installed package is
    least = dict.fromkeys(CANDIDATES, float("inf"))

    def once(name: str) -> None:
        before = processor_time()
        subprocess.run([sys.executable, *CANDIDATES[name]], check=True, stdout=subprocess.DEVNULL)
        least[name] = min(least[name], processor_time() - before)

    best = best_of_each(ROUNDS, {name: lambda name=name: once(name) for name in CANDIDATES})
    rows = ["| | best of ten [s] | processor time [s] | limit [s] |", "|---|---|---|---|"]
    for name in CANDIDATES:
        limit = f"{LIMITS[name]:g}" if name in LIMITS else ""
        rows.append(f"| {name} | {best[name]:.3f} | {least[name]:.3f} | {limit} |")
    text = "\n".join(["# Start of the command line", "", *rows, ""])
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "startup.md").write_text(text, encoding="utf-8")
    print(text)
    late = [name for name, limit in LIMITS.items() if best[name] > limit]
    if late:
        sys.exit(f"over the limit: {', '.join(late)}")


if __name__ == "__main__":
    main()
