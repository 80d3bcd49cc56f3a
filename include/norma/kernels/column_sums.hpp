// SPDX-License-Identifier: MIT
// Sums over rows, one per column: the gradients of biases, gamma and beta.
#pragma once

#include <algorithm>

#include <norma/core/plan.hpp>
#include <norma/kernels/simd.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// Up to kRows rows are added in T, then go into a total in double; so the error does not grow with the number of rows.
template <class T>
struct ColumnSums {
  static constexpr Index kRows = 16;
  T* partial = nullptr;
  double* total = nullptr;
  Index columns = 0;

  /// Scratch for backward; nothing in inference.
  static ColumnSums plan(Plan& p, Index columns) {
    const auto partial = p.gradient<T>(1, columns);
    const auto total = p.gradient<double>(1, columns);
    return {partial.data, total.data, columns};
  }
  void begin() const noexcept {
    std::fill_n(partial, columns, T(0));
    std::fill_n(total, columns, 0.0);
  }
  /// Call after each row with its 0-based number.
  void end_row(Index row) const noexcept {
    if ((row + 1) % kRows == 0) flush();
  }
  /// The partial sums go into the total.
  void flush() const noexcept {
    for (Index i = 0; i < columns; ++i) total[i] += static_cast<double>(partial[i]);
    std::fill_n(partial, columns, T(0));
  }
  /// gradient += sums of columns [first, first + count).
  void add_to(T* gradient, Index first, Index count) const noexcept {
    for (Index i = 0; i < count; ++i) gradient[i] += static_cast<T>(total[first + i]);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
