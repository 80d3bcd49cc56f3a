// SPDX-License-Identifier: MIT
// Operands of a product as its register tile reads them: panels of a few lines side by side, to[p][line], p along k.
#pragma once

#include <norma/core/buffer.hpp>
#include <norma/kernels/simd_memory.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels::detail {

inline Index round_up(Index n, Index to) { return (n + to - 1) / to * to; }

#if !defined(NORMA_SCALAR)
/// a[0] b[0] a[1] b[1] ..., from lane kFrom of each on.
template <Index kFrom, class V, std::size_t... Lane>
NORMA_INLINE V zip(V a, V b, std::index_sequence<Lane...>) {
  constexpr int kLanes = sizeof...(Lane);
  return __builtin_shufflevector(
      a, b, (static_cast<int>(kFrom) + static_cast<int>(Lane) / 2 + (Lane % 2 == 0 ? 0 : kLanes))...);
}
#endif

/// As many packs as lanes, transposed. Every round halves the distance of neighbours (a perfect shuffle).
template <class T>
NORMA_INLINE void transpose([[maybe_unused]] simd::Pack<T> (&v)[simd::kLanes<T>]) {
#if !defined(NORMA_SCALAR)
  constexpr Index kLanes = simd::kLanes<T>;
  constexpr auto kAll = std::make_index_sequence<static_cast<std::size_t>(kLanes)>();
  for (Index rounds = kLanes; rounds > 1; rounds /= 2) {
    simd::Pack<T> next[kLanes];
    NORMA_UNROLL
    for (Index i = 0; i < kLanes / 2; ++i) {
      next[2 * i].v = zip<0>(v[i].v, v[i + kLanes / 2].v, kAll);
      next[2 * i + 1].v = zip<kLanes / 2>(v[i].v, v[i + kLanes / 2].v, kAll);
    }
    NORMA_UNROLL
    for (Index i = 0; i < kLanes; ++i) v[i] = next[i];
  }
#endif
}

/// Up to a pack of lines, which lie along k, into a panel of kWidth.
template <class T, Index kWidth>
NORMA_INLINE void pack_along(const T* from, Index line_stride, Index lines, Index depth, T* to) {
  using namespace simd;
  for (Index p = 0; p < depth; p += kLanes<T>) {
    const Index count = (std::min)(kLanes<T>, depth - p);
    Pack<T> v[kLanes<T>];
    NORMA_UNROLL
    for (Index l = 0; l < kLanes<T>; ++l) v[l] = l < lines ? load_up_to(from + l * line_stride + p, count) : zero<T>();
    transpose(v);
    NORMA_UNROLL
    for (Index q = 0; q < kLanes<T>; ++q)
      if (q < count) store(to + (p + q) * kWidth, v[q]);
  }
}

/// Lines side by side into panels of kWidth. Some steps along k at a time, which may lie pages apart: each is read in
/// order, as prefetchers like it, and a panel is written in whole cache lines.
template <class T, Index kWidth>
NORMA_INLINE void pack_across(const T* from, Index k_stride, Index lines, Index depth, T* to) {
  constexpr Index kSteps = 8;
  const Index whole = lines / kWidth * kWidth, rest = lines - whole;
  for (Index begin = 0; begin < depth; begin += kSteps) {
    const Index end = (std::min)(begin + kSteps, depth);
    for (Index l = 0; l < whole; l += kWidth)
      for (Index p = begin; p < end; ++p)
        std::memcpy(to + l * depth + p * kWidth, from + p * k_stride + l, sizeof(T) * kWidth);
    if (rest == 0) continue;
    for (Index p = begin; p < end; ++p) {
      T* const at = to + whole * depth + p * kWidth;
      std::copy_n(from + p * k_stride + whole, rest, at);
      std::fill_n(at + rest, kWidth - rest, T(0));
    }
  }
}

/// `lines` lines of `depth` values as panels of whole packs one after the other, the last filled up with zeros. Lines
/// lie along k (k_stride 1), or side by side (line_stride 1).
template <class T, Index kWidth>
void pack_panels(const T* from, Index line_stride, Index k_stride, Index lines, Index depth, T* to) {
  if (k_stride != 1) return pack_across<T, kWidth>(from, k_stride, lines, depth, to);
  for (; lines > 0; lines -= kWidth, from += kWidth * line_stride, to += kWidth * depth)
    for (Index l = 0; l < kWidth; l += simd::kLanes<T>)
      pack_along<T, kWidth>(from + l * line_stride, line_stride, lines - l, depth, to + l);
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels::detail
