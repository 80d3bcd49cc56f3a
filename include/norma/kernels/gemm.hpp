// SPDX-License-Identifier: MIT
// The matrix product. Every element of the result is one chain of multiply-adds over k, in the order of k:
//
//   c = start;  for p = 0 .. k-1:  c = fma(a_p, b_p, c)          start = 0 or a bias (assign), or what c held (add)
//
// Full tiles, edge tiles and a single row run the same chain, and blocking depends on k only, so an element's bits do
// not depend on the other rows and columns. Operands may be transposed: they are given by row and column strides and
// are packed into scratch that the caller planned.
#pragma once

#include <norma/core/buffer.hpp>
#include <norma/core/check.hpp>
#include <norma/core/executor.hpp>
#include <norma/core/view.hpp>
#include <norma/kernels/gemm_backend.hpp>
#include <norma/kernels/gemm_panels.hpp>
#include <norma/kernels/gemm_tile.hpp>

#include <algorithm>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// An operand, transposed or not: element (r, c) is at data[r * row_stride + c * column_stride].
template <class T>
struct Operand {
  const T* data;
  Index rows, columns, row_stride, column_stride;
};
template <class T>
Operand<std::remove_const_t<T>> plain(MatrixView<T> m) {
  return {m.data, m.rows, m.columns, m.stride, 1};
}
template <class T>
Operand<std::remove_const_t<T>> transposed(MatrixView<T> m) {
  return {m.data, m.columns, m.rows, 1, m.stride};
}

namespace detail {

// A packed block of a (kBlockRows x kBlockK, 1 MiB of float) stays in the second-level cache while every panel of b
// (kBlockK x kTileColumns) passes along it. Each pass over k reads and writes all of c, which is often beyond that
// cache: so the panel is long, and comes from the second-level cache, too, fetched ahead.
inline constexpr Index kBlockK = 512, kBlockRows = 512;

inline Index round_up(Index n, Index to) { return (n + to - 1) / to * to; }

}  // namespace detail

/// Elements of scratch that gemm needs for an m x n result over k. Grows with each of them.
template <class T>
Index gemm_scratch(Index m, Index n, Index k) {
  using namespace detail;
  const Index depth = (std::min)(k, kBlockK), granule = kAlignment / static_cast<Index>(sizeof(T));
  return round_up(depth * round_up((std::min)(m, kBlockRows), kTileRows), granule) +
         (n > 0 ? depth * kTileColumns<T> : 0);
}

namespace detail {
template <class T>
bool apart(const Operand<T>& a, const MatrixView<T>& c) {
  // As it lies in memory: its rows, or what were the columns of a transposed operand.
  const MatrixView<const T> lines = a.column_stride == 1
                                        ? MatrixView<const T>(a.data, a.rows, a.columns, a.row_stride)
                                        : MatrixView<const T>(a.data, a.columns, a.rows, a.column_stride);
  return !overlap(lines, c);
}
}  // namespace detail

/// c (assigned or added to) = a b. c: [m, n], a: [m, k], b: [k, n]; c overlaps neither. scratch: gemm_scratch elements.
/// bias: [n], or null: what every row that is assigned starts from, in place of zero.
template <class T>
void gemm(Operand<T> a, Operand<T> b, MatrixView<T> c, Write write, T* scratch, const T* bias = nullptr) noexcept {
  using namespace detail;
  NORMA_ASSERT(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns, "gemm: shapes do not match");
  NORMA_ASSERT(apart(a, c) && apart(b, c), "gemm: the result overlaps an operand; a product cannot work in place");
  const Index m = c.rows, n = c.columns, k = a.columns;
  NORMA_ASSERT(bias == nullptr || write == Write::assign, "gemm: a product that is added starts from what is there");
  if (backend_gemm(a, b, c, write, bias)) return;
  if (k == 0 && write == Write::assign)
    for (Index i = 0; i < m; ++i) bias != nullptr ? std::copy_n(bias, n, c.row(i)) : std::fill_n(c.row(i), n, T(0));
  T* const packed_a = scratch;
  T* const packed_b = scratch + round_up((std::min)(k, kBlockK) * round_up((std::min)(m, kBlockRows), kTileRows),
                                         kAlignment / static_cast<Index>(sizeof(T)));
  // As few blocks as there must be, about as deep as each other.
  const Index passes = (k + kBlockK - 1) / kBlockK;
  for (Index pass = 0, p0 = 0; pass < passes; ++pass) {
    const Index depth = (k - p0) / (passes - pass);
    const bool first = p0 == 0 && write == Write::assign;
    const Start<T> start = first ? Start<T>{bias, 0} : Start<T>{c.data, c.stride};
    for (Index i0 = 0; i0 < m; i0 += kBlockRows) {
      const Index rows = (std::min)(kBlockRows, m - i0);
      pack_panels<T, kTileRows>(a.data + i0 * a.row_stride + p0 * a.column_stride, a.row_stride, a.column_stride, rows,
                                depth, packed_a);
      for (Index j = 0; j < n; j += kTileColumns<T>) {
        const Index columns = (std::min)(kTileColumns<T>, n - j);
        pack_panels<T, kTileColumns<T>>(b.data + p0 * b.row_stride + j * b.column_stride, b.column_stride, b.row_stride,
                                        columns, depth, packed_b);
        for (Index i = 0; i < rows; i += kTileRows) {
          T* const at = c.row(i0 + i) + j;
          const Lines<T> rows_of_a{packed_a + i * depth, 1, kTileRows}, rows_of_b{packed_b, 0, kTileColumns<T>};
          const Start<T> from = start.below(i0 + i, j);
          const Index tall = (std::min)(kTileRows, rows - i);
          any_tile<T>(rows_of_a, rows_of_b, depth, at, c.stride, from, tall, columns);
        }
      }
    }
    p0 += depth;
  }
}

/// The same on an executor's workers, each with a row of `packing`: the rows or columns of c are split, never k.
template <class T>
void gemm(const Executor& executor, Operand<T> a, Operand<T> b, MatrixView<T> c, Write write, MatrixView<T> packing,
          const T* bias = nullptr) noexcept {
  if (c.rows >= c.columns) {
    executor.split(c.rows, detail::kTileRows, [&](Index worker, Index begin, Index end) {
      const Operand<T> part{a.data + begin * a.row_stride, end - begin, a.columns, a.row_stride, a.column_stride};
      gemm(part, b, c.middle_rows(begin, end - begin), write, packing.row(worker), bias);
    });
  } else {
    executor.split(c.columns, detail::kTileColumns<T>, [&](Index worker, Index begin, Index end) {
      const Operand<T> part{b.data + begin * b.column_stride, b.rows, end - begin, b.row_stride, b.column_stride};
      gemm(a, part, c.middle_columns(begin, end - begin), write, packing.row(worker),
           bias != nullptr ? bias + begin : nullptr);
    });
  }
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
