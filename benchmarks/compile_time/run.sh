#!/bin/sh
# SPDX-License-Identifier: MIT
# How long one translation unit with a norma block takes to compile at -O2, beside one with Eigen/Dense and a product.
#   benchmarks/compile_time/run.sh [compiler ...]     default: g++ and clang++, where they exist
# Both in turn, seven times; medians of user + system seconds, which other load disturbs least.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
eigen=$(pkg-config --cflags-only-I eigen3 2>/dev/null | sed 's/-I/-isystem /' || true)
[ -n "$eigen" ] || eigen="-isystem /usr/include/eigen3"

seconds() {  # compiler file
  # shellcheck disable=SC2086
  { TIMEFORMAT='%U %S'; export TIMEFORMAT; bash -c "time $1 -std=c++20 -O2 -I'$here/../../include' $eigen -c '$2' -o /dev/null" \
      >/dev/null; } 2>&1 | tail -n 1 | awk '{print $1 + $2}'
}
median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }

[ $# -gt 0 ] || set -- g++ clang++
printf '%-12s %10s %10s %8s\n' compiler 'block, s' 'Eigen, s' ratio
for compiler in "$@"; do
  command -v "$compiler" >/dev/null || continue
  ours='' theirs=''
  for _ in 1 2 3 4 5 6 7; do
    ours="$ours $(seconds "$compiler" "$here/block.cpp")"
    theirs="$theirs $(seconds "$compiler" "$here/eigen.cpp")"
  done
  a=$(printf '%s\n' $ours | median)
  b=$(printf '%s\n' $theirs | median)
  printf '%-12s %10.2f %10.2f %8.2f\n' "$compiler" "$a" "$b" "$(echo "$a $b" | awk '{print $1 / $2}')"
done
