# SPDX-License-Identifier: MIT
"""What the tables of all benchmarks need: running a program, reading its rows, means, and columns of text."""
import json
import math
import subprocess


def run(command, out):
    """Runs a program with random interleaving, its rows to the file `out`. A row that fails is among them."""
    subprocess.run([*command, "--benchmark_enable_random_interleaving=true", "--benchmark_out_format=json",
                    f"--benchmark_out={out}"], check=False, stdout=subprocess.DEVNULL)


def read(paths):
    """Row name -> its repetitions as Google Benchmark wrote them, context, names of rows that failed."""
    found, failed, context = {}, set(), {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        context = context or data.get("context", {})
        for row in data["benchmarks"]:
            if row.get("error_occurred"):
                failed.add(row["name"])
            elif row.get("run_type", "iteration") == "iteration":
                found.setdefault(row["name"], []).append(row)
    return found, context, sorted(failed)


def real_ns(row):
    return row["real_time"] * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[row["time_unit"]]


def place(order, value):
    return order.index(value) if value in order else len(order)


def geometric(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def show(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def table(head, lines):
    if not lines:
        return
    widths = [max(len(str(line[i])) for line in [head, *lines]) for i in range(len(head))]
    for line in [head, *lines]:
        print("  ".join(str(c).ljust(w) if i == 0 else str(c).rjust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip())
    print()
