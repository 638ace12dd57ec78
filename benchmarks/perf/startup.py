"""How long it takes until something happens: importing the package, ``trace-s2s --help``, both beside plain Python.

Run: ``python benchmarks/perf/startup.py``. Each figure is the median of five new processes.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

N_RUNS = 5
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import trace_s2s": [sys.executable, "-c", "import trace_s2s"],
    "from trace_s2s import evaluate, RunSpec": [sys.executable, "-c", "from trace_s2s import evaluate, RunSpec"],
    "trace-s2s --help": [str(Path(sys.executable).with_name("trace-s2s")), "--help"],
}


def median_s(command: list[str]) -> float:
    """Median wall time of a command, in seconds."""
    times = []
    for _ in range(N_RUNS):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> None:
    """Print a row a command."""
    plain = median_s(COMMANDS["python -c pass"])
    print("| command | seconds | less bare Python |\n|---|---|---|")
    for name, command in COMMANDS.items():
        seconds = median_s(command)
        print(f"| `{name}` | {seconds:.2f} | {seconds - plain:.2f} |")


if __name__ == "__main__":
    main()
