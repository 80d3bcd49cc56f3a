#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what norm_benchmark compares norma with, below a folder outside the repository:
#   benchmarks/install_peers.sh DIR
# and prints the flag that makes CMake find it. Packages come from wherever pip is configured to look. norma itself needs none of
# this: without it, the rows of these libraries are absent.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")/.." && pwd)
case $dir/ in "$here"/*) echo "$dir is inside the repository; choose a folder elsewhere." >&2; exit 2 ;; esac

# One environment each: the two versions of oneDNN install the same files.
install() {  # name package ...
  name=$1
  shift
  [ -x "$dir/$name/bin/pip" ] || python3 -m venv "$dir/$name"
  echo "$name: $*"
  "$dir/$name/bin/pip" install --quiet --disable-pip-version-check "$@"
}
install onednn onednn-devel==2026.1.0
install onednn_openmp onednn-devel-cpu-gomp==2023.2.0
install torch torch==2.13.0

echo
echo "Configure with  -DNORMA_PEERS_DIR=$dir"
