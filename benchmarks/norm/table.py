#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ratios between the rows of norm_benchmark.

    table.py results.json [more.json ...] [--svg figure.svg] [--time process|real] [--of median|min] [--types f32,bf16]
    table.py results.json --run norm_benchmark [ARGUMENT ...]      runs the program first; its arguments come last

Every figure is of the median over a row's repetitions, or of the least where other programs use the memory.
A speed is the other's time over norma's: above 1, norma is faster.
"""
import argparse
import html
import math
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import rows
from rows import geometric, place, show, table

FORWARD, BACKWARD = "forward", "backward"
KINDS = ("layer_norm", "rms_norm", "residual_layer_norm", "residual_rms_norm")
# Interleaved rows come in any order; these are the tables'.
SHAPES = ("8x768", "64x768", "257x769", "512x768", "2048x1024", "1024x4096", "65536x768", "16384x4096", "1000x1")
IMPLS = ("eigen", "unfused", "onednn", "onednn_openmp", "torch")
TYPES = ("f32", "f64", "bf16")
LARGE = 64 * 2**20


def sort_key(key):
    op, impl, dtype, shape = key
    kind = next((k for k in KINDS if op.startswith(k)), op)
    return (place(TYPES, dtype), place(KINDS, kind), BACKWARD in op, op, place(SHAPES, shape), place(IMPLS, impl), impl)


def read(paths, clock, middle):
    """Row name -> (ns, bytes), context, names of rows that failed."""
    runs, context, failed = rows.read(paths)
    time = rows.real_ns if clock == "real" else lambda run: run["process_ns"]
    return {n: (middle([time(run) for run in found]), found[0]["bytes"]) for n, found in runs.items()}, context, failed


class Results:
    def __init__(self, values):
        values = {tuple(name.split("/")): value for name, value in values.items()}
        self.rows = {key: values[key] for key in sorted(values, key=sort_key)}
        found = {impl for _, impl, _, _ in self.rows} - {"norma", "memcpy"}
        self.impls = sorted(found, key=lambda impl: (place(IMPLS, impl), impl))

    def ns(self, op, impl, dtype, shape):
        found = self.rows.get((op, impl, dtype, shape))
        return found[0] if found else None

    def ratio(self, a, b):
        """Time of row a over time of row b, or None."""
        x, y = self.ns(*a), self.ns(*b)
        return x / y if x and y else None

    def keys(self, impl="norma"):
        return [(op, dtype, shape) for op, i, dtype, shape in self.rows if i == impl]


def extent(shape):
    height, width = shape.split("x")
    return int(height), int(width)


def bytes_of(dtype, shape):
    height, width = extent(shape)
    return height * width * {"f32": 4, "f64": 8, "bf16": 2}[dtype]


def throughput(shape):
    height, width = extent(shape)
    return height >= 512 and width >= 768


def latency(shape):
    return shape in ("8x768", "64x768")


def copies(results, dtype):
    lines = []
    for op, _, d, shape in results.rows:
        if op == "copy" and d == dtype:
            ns, size = results.rows[("copy", "memcpy", d, shape)]
            lines.append([shape, show(size / 2 / 2**20, 1), show(ns, 0), show(size / ns, 1)])
    print(f"{dtype}: memcpy of one matrix, bytes read and written per second")
    table(["shape", "MiB", "memcpy, ns", "GB/s"], lines)


def each_row(results, dtype):
    head = ["operation", "shape", "norma, ns", "GB/s", "/ memcpy"] + [f"vs {i}" for i in results.impls]
    lines = []
    for op, d, shape in results.keys():
        if d != dtype:
            continue
        ns, size = results.rows[(op, "norma", d, shape)]
        lines.append([op, shape, f"{ns:.0f}", show(size / ns, 1),
                      show(results.ratio((op, "norma", d, shape), ("copy", "memcpy", d, shape)))]
                     + [show(results.ratio((op, i, d, shape), (op, "norma", d, shape))) for i in results.impls])
    # Without norma's row (a fused operation that does not exist yet): the others' times.
    rest = {(op, shape) for op, i, d, shape in results.rows if d == dtype and op != "copy"
            and results.ns(op, "norma", d, shape) is None}
    if lines:
        print(f"{dtype}: norma's time, bytes that must be moved per second, time over memcpy's of one matrix, speed against others")
        table(head, lines)
    if rest:
        ordered = [k for k in dict.fromkeys((op, shape) for op, i, d, shape in results.rows) if k in rest]
        print(f"{dtype}, rows that norma does not have: ns")
        table(["operation", "shape"] + results.impls,
              [[op, shape] + [show(results.ns(op, i, dtype, shape), 0) for i in results.impls] for op, shape in ordered])


def summaries(results):
    """[(title, [(label, ratio)])]: geometric means of speeds, and the worst."""
    out = []
    dtypes = list(dict.fromkeys(d for _, d, _ in results.keys()))
    for dtype in dtypes:
        keys = [(op, shape) for op, d, shape in results.keys() if d == dtype]

        def speeds(impl, wanted):
            return [(results.ratio((op, impl, dtype, shape), (op, "norma", dtype, shape)), op, shape)
                    for op, shape in keys if wanted(op, shape)]

        for title, fits in (("throughput (rows >= 512, width >= 768)", throughput), ("latency (8x768, 64x768)", latency)):
            for kind in KINDS:
                for way in (FORWARD, BACKWARD):
                    lines = []
                    for impl in results.impls:
                        mean = geometric(v for v, _, _ in speeds(impl, lambda op, s: op.startswith(f"{kind}_{way}") and fits(s)))
                        if mean:
                            lines.append((f"{kind} {way} vs {impl}", mean))
                    if lines:
                        out.append((f"{dtype} {title}", lines))
        worst = []
        for impl in results.impls:
            found = [s for s in speeds(impl, lambda op, s: s != "1000x1") if s[0]]
            if found:
                value, op, shape = min(found)
                worst.append((f"vs {impl}: {op} {shape}", value))
        out.append((f"{dtype} worst (without 1000x1)", worst))
        near = []
        for kind in KINDS:
            for way in (FORWARD, BACKWARD):
                mean = geometric(results.ratio(("copy", "memcpy", dtype, shape), (op, "norma", dtype, shape))
                                 for op, shape in keys
                                 if op.startswith(f"{kind}_{way}") and bytes_of(dtype, shape) >= LARGE)
                if mean:
                    near.append((f"{kind} {way}", 1 / mean))
        if near:
            out.append((f"{dtype} 64 MiB and more: time over memcpy's of the input matrix (smaller is better)", near))
    wide = []
    for kind in KINDS:
        for way in (FORWARD, BACKWARD):
            mean = geometric(results.ratio((op, "norma", "f32", shape), (op, "norma", d, shape))
                             for op, d, shape in results.keys()
                             if d == "bf16" and op.startswith(f"{kind}_{way}") and throughput(shape))
            if mean:
                wide.append((f"{kind} {way}", mean))
    if wide:
        out.append(("bf16 against norma's f32 of as many elements, throughput", wide))
    merged = {}
    for title, lines in out:
        merged.setdefault(title, []).extend(lines)
    return [(t, l) for t, l in merged.items() if l]


def svg(groups, context, path):
    """Horizontal dots on a logarithmic axis, one panel for each summary."""
    left, width, row, top = 380, 520, 20, 70
    values = [v for _, lines in groups for _, v in lines]
    low = min(0.5, 2 ** math.floor(math.log2(min(values) * 0.75)))  # room for the number
    high = max(2.0, 2 ** math.ceil(math.log2(max(values) * 1.05)))
    at = lambda v: left + width * (math.log2(v) - math.log2(low)) / (math.log2(high) - math.log2(low))
    text = lambda x, y, s, more="": f'<text x="{x:.1f}" y="{y:.1f}" {more}>{html.escape(s)}</text>'
    ticks, t = [], low
    while t <= high * 1.001:
        ticks.append(t)
        t *= 2
    parts, y = [], top
    for title, lines in groups:
        parts.append(text(16, y, title, 'class="title"'))
        y += 12
        begin = y
        body = []
        for label, value in lines:
            y += row
            middle = y - row / 2
            better = value <= 1 if "smaller" in title else value >= 1
            colour = "#8a8f98" if "smaller" in title else "#1b6ca8" if better else "#c8553d"
            body.append(text(left - 12, middle + 4, label, 'text-anchor="end"'))
            body.append(f'<line x1="{at(1):.1f}" x2="{at(value):.1f}" y1="{middle:.1f}" y2="{middle:.1f}" stroke="{colour}" '
                        'stroke-width="3"/>')
            body.append(f'<circle cx="{at(value):.1f}" cy="{middle:.1f}" r="5" fill="{colour}"/>')
            side = value >= 1
            body.append(text(at(value) + (10 if side else -10), middle + 4, f"{value:.2f}",
                             'class="value"' + ("" if side else ' text-anchor="end"')))
        for tick in ticks:
            strong = "#555" if tick == 1 else "#dde1e6"
            parts.append(f'<line x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="{begin}" y2="{y}" stroke="{strong}"/>')
            parts.append(text(at(tick), y + 14, f"{tick:g}", 'class="tick" text-anchor="middle"'))
        parts += body
        y += 44
    machine = context.get("norm_benchmark", "").split("\n")
    processor = next((l.split(";")[0] for l in machine if l.startswith("processor")), "")
    head = [text(16, 26, "norma's norms: speed against others (other's time / norma's; right of 1: norma is faster)",
                 'class="head"'),
            text(16, 44, processor + ", one thread", 'class="tick"')]
    total = left + width + 70
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{y}" viewBox="0 0 {total} {y}" '
                   'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">\n'
                   "<style>.head{font-size:15px;font-weight:bold}.title{font-size:13px;font-weight:bold}"
                   ".tick{font-size:11px;fill:#666}.value{font-size:11px}</style>\n"
                   f'<rect width="{total}" height="{y}" fill="white"/>\n' + "\n".join(head + parts) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+")
    parser.add_argument("--svg", help="also draw the summaries")
    parser.add_argument("--time", choices=("process", "real"), default="process",
                        help="processor time of the process (default: other programs disturb it least), or the wall clock's")
    parser.add_argument("--of", choices=("median", "min"), default="median", help="which of a row's repetitions")
    parser.add_argument("--types", default=",".join(TYPES), help="only these, comma-separated")
    parser.add_argument("--run", nargs=argparse.REMAINDER, default=[], metavar="PROGRAM [ARGUMENT ...]",
                        help="first run this with random interleaving, its results to the first file")
    arguments = parser.parse_args()
    if arguments.run:
        rows.run(arguments.run, arguments.results[0])
    middle = statistics.median if arguments.of == "median" else min
    values, context, failed = read(arguments.results, arguments.time, middle)
    print(context.get("norm_benchmark", ""), end="")
    print(f"time: {'processor time of the process' if arguments.time == 'process' else 'wall clock'}, "
          f"{arguments.of} over repetitions\n")
    types = arguments.types.split(",")
    results = Results({name: value for name, value in values.items() if name.split("/")[2] in types})
    for dtype in dict.fromkeys(d for _, _, d, _ in results.rows):
        if any(d == dtype and op != "copy" for op, _, d, _ in results.rows):
            copies(results, dtype)
            each_row(results, dtype)
    groups = summaries(results)
    for title, lines in groups:
        print(title)
        table(["", "ratio"], [[label, show(value)] for label, value in lines])
    if arguments.svg and groups:
        svg(groups, context, arguments.svg)
        print(f"figure: {arguments.svg}")
    if failed:
        print("FAILED rows:", *failed, sep="\n  ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
