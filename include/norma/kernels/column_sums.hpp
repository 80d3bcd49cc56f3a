// SPDX-License-Identifier: MIT
// Sums over rows, one per column: the gradients of biases, gamma and beta.
#pragma once

#include <norma/core/plan.hpp>
#include <norma/kernels/simd_memory.hpp>

#include <algorithm>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// Rows are cut into blocks of kBlock, whatever the number of workers. Inside a block up to kRows rows are added in T,
/// then go into the block's total in double; the totals are added pairwise. So the error does not grow with the number
/// of rows, and the bits do not depend on who added what.
template <class T>
struct ColumnSums {
  static constexpr Index kRows = 16, kBlock = 256;
  T* partial = nullptr;     ///< [workers, columns]
  double* total = nullptr;  ///< [blocks, columns]
  Index columns = 0;

  /// Scratch for backward over up to `rows` rows; nothing in inference.
  static ColumnSums plan(Plan& p, Index rows, Index columns) {
    const auto partial = p.gradient<T>((std::min)(p.workers(), std::max<Index>(1, blocks(rows))), columns);
    const auto total = p.gradient<double>(std::max<Index>(1, blocks(rows)), columns);
    return {partial.data, total.data, columns};
  }

  /// For runs of up to kRows rows: add(first, last, partial sums in T, total in double); each row goes into one of the
  /// two. Then the totals are in [0].
  template <class F>
  void over_rows(const Executor& executor, Index rows, const F& add) const {
    executor.split(rows, kBlock, [&](Index worker, Index begin, Index end) {
      T* const sums = partial + worker * columns;
      for (Index first = begin; first < end; first += kBlock) {
        double* const block = total + first / kBlock * columns;
        std::memset(block, 0, static_cast<std::size_t>(columns) * sizeof(double));
        const Index last = (std::min)(end, first + kBlock);
        for (Index r = first; r < last; r += kRows) {
          std::memset(sums, 0, static_cast<std::size_t>(columns) * sizeof(T));
          add(r, (std::min)(last, r + kRows), sums, block);
          simd::add_to(block, sums, columns);
        }
      }
    });
    if (rows == 0) std::memset(total, 0, static_cast<std::size_t>(columns) * sizeof(double));
    for (Index step = 1; step < blocks(rows); step *= 2)
      for (Index b = 0; b + step < blocks(rows); b += 2 * step)
        simd::add_to(total + b * columns, total + (b + step) * columns, columns);
  }
  /// gradient += factor * sums of columns [first, first + count).
  template <class P>
  void add_to(P* gradient, Index first, Index count, double factor = 1) const noexcept {
    for (Index i = 0; i < count; ++i)
      gradient[i] = static_cast<P>(static_cast<T>(gradient[i]) + static_cast<T>(factor * total[first + i]));
  }
  /// gradient += the sum of them all.
  template <class P>
  void add_sum_to(P* gradient, Index first, Index count) const noexcept {
    double sum = 0;
    for (Index i = 0; i < count; ++i) sum += total[first + i];
    *gradient = static_cast<P>(static_cast<T>(*gradient) + static_cast<T>(sum));
  }

 private:
  static Index blocks(Index rows) { return (rows + kBlock - 1) / kBlock; }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
