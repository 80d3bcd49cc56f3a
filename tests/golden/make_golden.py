# SPDX-License-Identifier: MIT
"""Writes the golden files: forward and backward of small stacks, by other people's code or by a paper's equations.

    python make_golden.py                                     all, into tests/golden/data
    python make_golden.py --out <directory> --seed 7 --tokens 11 --only pre_ln --only post_ln
    python make_golden.py --list                              what each case rests on: the table of docs/golden.md

docs/golden.md says what to install.

A file is <case>.safetensors: x, y, dy, dx, memory and dmemory where there is one, and weights.<name> and
gradients.<name> by norma's names, all float32. Of a system: ids or what else it reads, y, dy, and weights and
gradients by the package's names. Inputs and weights are float32 numbers; results are computed from them
in float64 and rounded. Metadata: sizes, options, what made it, and which gradients are zero by theory. To compare norma
with files of your own making, set NORMA_GOLDEN_DIR to their directory and run golden_test. Some cases set sizes of
their own, which the options here do not change.
"""
import argparse
import pathlib

import attention  # noqa: F401  (registers its cases)
import encoders  # noqa: F401
import equations  # noqa: F401
import golden
import packages  # noqa: F401
import systems  # noqa: F401

SIZES = ("width", "heads", "hidden", "layers", "batch", "tokens")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "data")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=sorted(golden.CASES), metavar="CASE")
    parser.add_argument("--list", action="store_true")
    for size in SIZES:
        parser.add_argument("--" + size, type=int)
    arguments = parser.parse_args()

    names = arguments.only or sorted(golden.CASES)
    if arguments.list:
        for name in names:
            print(f"| `{name}` | {golden.CASES[name]['network']} | {golden.provenance(golden.CASES[name]['source'])} |")
        return
    overrides = {size: getattr(arguments, size) for size in SIZES if getattr(arguments, size) is not None}
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = arguments.out / f"{name}.safetensors"
        golden.write(path, *golden.CASES[name]["run"](name, arguments.seed, overrides))
        print(f"{path.stat().st_size:8} {path}")


if __name__ == "__main__":
    main()
