// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/check.hpp>
#include <norma/core/view.hpp>
#include <norma/kernels/cross_entropy.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// A target that counts nothing: padding.
inline constexpr std::int32_t kIgnoredTarget = -1;

/// Mean over the rows that count of -log softmax(logits)[target], in nats. logits: [rows, classes]; targets: [rows];
/// log_sums: [rows], kept for backward. No row that counts: zero.
template <class T>
double cross_entropy(MatrixView<const T> logits, const std::int32_t* targets, MatrixView<T> log_sums) noexcept {
  double sum = 0;
  Index counted = 0;
  for (Index r = 0; r < logits.rows; ++r) {
    T& log_sum = *log_sums.row(r);
    log_sum = T(0);
    if (targets[r] == kIgnoredTarget) continue;
    sum += kernels::cross_entropy(logits.row(r), logits.columns, targets[r], log_sum);
    ++counted;
  }
  return counted > 0 ? sum / static_cast<double>(counted) : 0;
}

/// The logits become their gradient.
template <class T>
void cross_entropy_backward(MatrixView<T> logits, const std::int32_t* targets, MatrixView<const T> log_sums) noexcept {
  Index counted = 0;
  for (Index r = 0; r < logits.rows; ++r) counted += targets[r] != kIgnoredTarget;
  for (Index r = 0; r < logits.rows; ++r) {
    if (targets[r] == kIgnoredTarget)
      std::fill_n(logits.row(r), logits.columns, T(0));
    else
      kernels::cross_entropy_backward(logits.row(r), logits.columns, targets[r], *log_sums.row(r),
                                      static_cast<T>(1.0 / static_cast<double>(counted)));
  }
}

/// Of `count` targets from `first` on. \throws Error for one that is neither a class nor kIgnoredTarget.
inline void check_targets(const std::int32_t* targets, Index count, Index classes, Index first = 0) {
  for (Index r = first; r < first + count; ++r)
    if (targets[r] != kIgnoredTarget && (targets[r] < 0 || targets[r] >= classes))
      fail("targets[" + std::to_string(r) + "] is " + std::to_string(targets[r]) + ", wanted 0 to " +
           std::to_string(classes - 1) + ", or -1 to count nothing");
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
