#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ratios between the rows of block_benchmark.

    table.py results.json [more.json ...] [--per second|cycle]
    table.py results.json --run block_benchmark [ARGUMENT ...]     runs the program first; its arguments come last

Every figure is of the median over a row's repetitions, by the wall clock, or in cycles of the clock as it was found right after
the row (--per cycle), where other programs make it rise and fall. A repetition beside which other processes used more
than a tenth of a processor counts only where a row has no other, and the row is marked with *. A speed is the other's time over
norma's: above 1, norma is faster.
"""
import argparse
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import rows
from rows import geometric, place, show, table

OPERATIONS = ("gemm", "block_forward", "block_forward_backward", "small_block_forward")
IMPLS = ("norma", "norma_blas", "norma_onednn", "eigen", "cblas", "onednn", "onednn_matmul", "torch", "torch_fused")
QUIET = 0.1


class Results:
    """Rows by (operation, implementation, variant, threads, shape)."""

    def __init__(self, runs, per):
        self.rows, self.loud, self.per = {}, set(), per
        self.scale, self.unit = (1e9, "GFLOP/s") if per == "second" else (1, "flop per cycle")
        for name, found in runs.items():
            op, impl, variant, _, threads, shape = name.split("/")[:6]  # /iterations:1 may follow
            key = (op, impl, variant, int(threads[1:]), shape)
            quiet = [run for run in found if run["others"] <= QUIET]
            if not quiet:
                self.loud.add(key)
            self.rows[key] = quiet or found

    def value(self, key, name):
        found = self.rows.get(key)
        return statistics.median(run[name] for run in found) if found else None

    def rate(self, op, impl, variant, threads, shape):
        return self.value((op, impl, variant, threads, shape), "flop_per_" + self.per)

    def peak(self, threads):
        return next((self.value(k, "flop_per_" + self.per) for k in self.rows if k[0] == "peak" and k[3] == threads), None)

    def impls(self, op):
        found = {impl for o, impl, _, _, _ in self.rows if o == op} - {"norma"}
        return sorted(found, key=lambda impl: (place(IMPLS, impl), impl))

    def keys(self, op, impl="norma"):
        """[(variant, threads, shape)], as the program lists them."""
        return [(v, t, s) for o, i, v, t, s in self.rows if o == op and i == impl]


def over(a, b):
    return a / b if a and b else None


def best(values):
    return max((v for v in values if v), default=None)


def each_row(results, op):
    impls = results.impls(op)
    number = lambda rate: show(rate and rate / results.scale, 1)
    # A row that norma does not have (a filter left it out) is shown without ratios.
    keys = dict.fromkeys(k for impl in ["norma", *impls] for k in results.keys(op, impl))
    order = sorted(keys, key=lambda k: (k[1], k[0] != "PreLN", k[0], [int(n) for n in k[2].split("x")]))
    lines = []
    for variant, threads, shape in order:
        own = results.rate(op, "norma", variant, threads, shape)
        loud = any((op, impl, variant, threads, shape) in results.loud for impl in ["norma", *impls])
        lines.append([f"{variant} t{threads} {shape}" + (" *" if loud else ""), number(own),
                      show(over(own, results.peak(threads)))]
                     + [cell for impl in impls for other in [results.rate(op, impl, variant, threads, shape)]
                        for cell in (number(other), show(over(own, other)))])
    if lines:
        print(f"{op}: {results.unit}, share of peak, and norma's speed against others (vs)")
        table(["", "norma", "/ peak"] + [c for impl in impls for c in (impl, "vs")], lines)


def summary(results):
    lines = []

    def line(what, values, wanted):
        mean = geometric(values)
        if mean:
            worst = min(v for v in values if v)
            lines.append([what, show(mean), show(worst), wanted])

    def speeds(op, threads, impls, fits=lambda variant: True):
        return [over(results.rate(op, "norma", v, t, s), best(results.rate(op, i, v, t, s) for i in impls))
                for v, t, s in results.keys(op) if t == threads and fits(v)]

    for threads in (1, 2):
        for impl in results.impls("gemm"):
            line(f"gemm t{threads} vs {impl}", speeds("gemm", threads, [impl]), "1.25" if impl == "eigen" else "")
        # Of oneDNN's two ways, the faster of each shape.
        line(f"gemm t{threads} vs oneDNN's best", speeds("gemm", threads, ["onednn", "onednn_matmul"]), "0.95")
        line(f"gemm t{threads} / peak", [over(results.rate("gemm", "norma", *k), results.peak(threads))
                                         for k in results.keys("gemm") if k[1] == threads], "0.85")
        # Of what torch offers for inference, the faster.
        for op, wanted in (("block_forward_backward", "1.20"), ("block_forward", "1.30")):
            line(f"{op} t{threads} vs torch", speeds(op, threads, ["torch", "torch_fused"]), wanted)
    line("small_block_forward vs eigen", speeds("small_block_forward", 1, ["eigen"]), "1.00")
    gain = over(results.peak(2), results.peak(1))
    for op in OPERATIONS:
        gains = [over(results.rate(op, "norma", v, 2, s), results.rate(op, "norma", v, 1, s))
                 for v, t, s in results.keys(op) if t == 1]
        line(f"{op} 2 threads / 1, over peak's {show(gain)}", [over(g, gain) for g in gains], "0.90")
    if lines:
        print("geometric means over the rows, the worst row, and what is wanted")
        table(["", "mean", "worst", "wanted"], lines)


def peaks(results):
    lines = [[f"t{key[3]}" + (" *" if key in results.loud else ""), show(results.value(key, "flop_per_second") / 1e9, 1),
              show(results.value(key, "flop_per_cycle") / key[3], 1), show(results.value(key, "clock_ghz"))]
             for key in sorted(results.rows) if key[0] == "peak"]
    if lines:
        print("peak: multiply-adds on registers alone")
        table(["", "GFLOP/s", "flop per cycle and thread", "GHz"], lines)


def latencies(results):
    lines = []
    for key in sorted(results.rows):
        if key[0] != "latency":
            continue
        median, tail, loop_median, loop_tail = (
            results.value(key, name) for name in ("median_ns", "tail_ns", "loop_median_ns", "loop_tail_ns"))
        lines.append([f"{key[1]} {key[2]} {key[4]}" + (" *" if key in results.loud else ""), show(median, 0), show(tail, 0),
                      show(tail / median), show(loop_median, 0), show(loop_tail, 0), show(loop_tail / loop_median),
                      show(tail / median / (loop_tail / loop_median))])
    if lines:
        print("latency of single calls beside a loop on registers of the same length; at most 1.5 is wanted")
        table(["", "median, ns", "99.99 %", "/ median", "loop, ns", "99.99 %", "/ median", "ratio"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+")
    parser.add_argument("--per", choices=("second", "cycle"), default="second", help="what rates and ratios are of")
    parser.add_argument("--run", nargs=argparse.REMAINDER, default=[], metavar="PROGRAM [ARGUMENT ...]",
                        help="first run this with random interleaving, its results to the first file")
    arguments = parser.parse_args()
    if arguments.run:
        rows.run(arguments.run, arguments.results[0])
    runs, context, failed = rows.read(arguments.results)
    print(context.get("block_benchmark", ""))
    results = Results(runs, arguments.per)
    peaks(results)
    for op in OPERATIONS:
        each_row(results, op)
    latencies(results)
    summary(results)
    if results.loud:
        print("* measured beside other processes")
    if failed:
        print("FAILED rows:", *failed, sep="\n  ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
