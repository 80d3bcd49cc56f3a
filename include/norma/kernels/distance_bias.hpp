// SPDX-License-Identifier: MIT
// Biases of attention's scores that depend on the distance from query to key alone: ALiBi (Press et al., arXiv
// 2108.12409, section 3) and T5's (Raffel et al., arXiv 1910.10683, section 2.1). Both are written out once per pass, a
// row per head and a column per distance, which is linear in tokens.
#pragma once

#include <norma/core/view.hpp>
#include <norma/kernels/simd.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// ALiBi's slope of a head, from 0. For a power of two heads, 2^(-8 / heads) and its powers; for another number those
/// of the power of two below, and then every other one of the power of two above.
inline double alibi_slope(Index head, Index heads) noexcept {
  const auto below = static_cast<Index>(std::bit_floor(static_cast<std::size_t>(heads)));
  const double power = head < below ? static_cast<double>(head + 1) : static_cast<double>(head - below) + 0.5;
  return std::exp2(-8 * power / static_cast<double>(below));
}

/// T5's bucket of a key that stands `distance` tokens after its query.
inline Index relative_bucket(const RelativeBias& bias, Index distance, bool causal) noexcept {
  const Index buckets = causal ? bias.buckets : bias.buckets / 2, exact = buckets / 2;
  const Index first = !causal && distance > 0 ? buckets : 0;
  const Index away = causal ? (std::max)(-distance, Index(0)) : std::abs(distance);
  if (away < exact) return first + away;
  const double ratio = std::log(static_cast<double>(away) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(bias.max_distance) / static_cast<double>(exact));
  // A range begins on its boundary, on whichever side of it the logarithms are rounded to.
  const double range = simd::fma(ratio, static_cast<double>(buckets - exact), 1e-9);
  return first + (std::min)(exact + static_cast<Index>(range), buckets - 1);
}

/// values: [heads, 2 x tokens]; column c is for keys c - tokens after their query. ALiBi's bias if `alibi`, plus that
/// of `table`, [buckets, heads], unless it is null.
template <class T>
void distance_bias(bool alibi, const RelativeBias& relative, const T* table, bool causal,
                   MatrixView<T> values) noexcept {
  const Index heads = values.rows;
  for (Index c = 0; c < values.columns; ++c) {
    const Index distance = c - values.columns / 2;
    const T* learned = table != nullptr ? table + relative_bucket(relative, distance, causal) * heads : nullptr;
    for (Index h = 0; h < heads; ++h) {
      const double slope = alibi ? -alibi_slope(h, heads) : 0;
      values.row(h)[c] = static_cast<T>(simd::fma(slope, static_cast<double>(std::abs(distance)),
                                                  learned != nullptr ? static_cast<double>(learned[h]) : 0.0));
    }
  }
}

/// Adds to d_table, [buckets, heads], the gradients of every sequence's values: [batch x heads, 2 x tokens].
template <class T>
void distance_bias_backward(const RelativeBias& relative, Index heads, bool causal, MatrixView<const T> d_values,
                            T* d_table) noexcept {
  const auto bucket_of = [&](Index c) { return relative_bucket(relative, c - d_values.columns / 2, causal); };
  // The distances of a bucket stand side by side.
  for (Index begin = 0, end = 0; begin < d_values.columns; begin = end) {
    const Index bucket = bucket_of(begin);
    for (end = begin + 1; end < d_values.columns && bucket_of(end) == bucket;) ++end;
    for (Index h = 0; h < heads; ++h) {
      double sum = 0;
      for (Index r = h; r < d_values.rows; r += heads)
        for (Index c = begin; c < end; ++c) sum += static_cast<double>(d_values.row(r)[c]);
      d_table[bucket * heads + h] += static_cast<T>(sum);
    }
  }
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
