// SPDX-License-Identifier: MIT
// The matrix product. Every element of the result is one chain of multiply-adds over k, in the order of k:
//
//   c = start;  for p = 0 .. k-1:  c = fma(a_p, b_p, c)          start = 0 or a bias (assign), or what c held (add)
//
// Full tiles, edge tiles and a single row run the same chain, and blocking depends on k only, so an element's bits do
// not depend on the other rows and columns. Operands may be transposed: they are given by row and column strides, and
// are packed into scratch that the caller planned, but for a few rows and what was packed before.
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

/// Columns of a right operand that were packed before: see pack_weight.
template <class T>
struct Panels {
  const T* data = nullptr;
  Index columns = 0;  ///< of all panels
  Index first = 0;    ///< the operand's first, at the start of a panel
};

/// An operand, transposed or not: element (r, c) is at data[r * row_stride + c * column_stride].
template <class T>
struct Operand {
  const T* data;
  Index rows, columns, row_stride, column_stride;
  Panels<T> panels{};  ///< of a right operand: the same values

  Operand middle_rows(Index first, Index count) const {
    return {data + first * row_stride, count, columns, row_stride, column_stride};
  }
  /// `first` is the first column of a panel, where there are any.
  Operand middle_columns(Index first, Index count) const {
    return {data + first * column_stride,
            rows,
            count,
            row_stride,
            column_stride,
            {panels.data, panels.columns, panels.first + first}};
  }
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

// Depth: a panel of b (kBlockK x kTileColumns, 96 KiB of float) stays in the second-level cache while the rows of a
// pass along it, and each pass over k reads and writes all of c, which is often beyond that cache: so few passes, and
// deep. Rows: a panel of b is packed anew for every block of rows. docs/products.md derives both.
inline constexpr Index kBlockK = 512, kBlockRows = 1024;
// So few rows of a are read as they lie: packing them costs more than it saves.
inline constexpr Index kThinRows = 2 * kTileRows;

/// Fetches an operand's block into the second-level cache, some lines at a time: packing reads lines that lie pages
/// apart, and would otherwise wait for each.
template <class T>
class FetchAhead {
 public:
  FetchAhead(const T* data, Index row_stride, Index column_stride, Index rows, Index columns)
      : data_(data),
        stride_(column_stride == 1 ? row_stride : column_stride),
        lines_(column_stride == 1 ? rows : columns),
        length_(column_stride == 1 ? columns : rows) {}
  /// Pieces of the size of a cache line.
  Index pieces() const { return lines_ * ((length_ + kPiece - 1) / kPiece); }
  void fetch(Index count) {
    for (; count > 0 && line_ < lines_; --count) {
      __builtin_prefetch(data_ + line_ * stride_ + at_, 0, 2);
      if ((at_ += kPiece) >= length_) at_ = 0, ++line_;
    }
  }

 private:
  static constexpr Index kPiece = kAlignment / static_cast<Index>(sizeof(T));
  const T* data_;
  Index stride_, lines_, length_, line_ = 0, at_ = 0;
};

}  // namespace detail

/// pass(p0, depth) for every block along k: as few as there must be, about as deep as each other.
template <class F>
void for_each_depth(Index k, const F& pass) {
  const Index passes = (k + detail::kBlockK - 1) / detail::kBlockK;
  for (Index i = 0, p0 = 0; i < passes; ++i) {
    const Index depth = (k - p0) / (passes - i);
    pass(p0, depth);
    p0 += depth;
  }
}

namespace detail {
/// Elements of scratch for the rows of a.
template <class T>
Index rows_scratch(Index m, Index k) {
  if (m <= kThinRows) return 0;
  return round_up((std::min)(k, kBlockK) * round_up((std::min)(m, kBlockRows), kTileRows),
                  kAlignment / static_cast<Index>(sizeof(T)));
}
}  // namespace detail

/// Elements of scratch that gemm needs for an m x n result over k; less where b is packed already. Grows with each of
/// them.
template <class T>
Index gemm_scratch(Index m, Index n, Index k, bool packed = false) {
  using namespace detail;
  return rows_scratch<T>(m, k) + (n > 0 && !packed ? (std::min)(k, kBlockK) * kTileColumns<T> : 0);
}

/// Columns of whole panels for so many outputs.
template <class T>
Index panel_columns(Index outputs) {
  return detail::round_up(outputs, detail::kTileColumns<T>);
}
/// Elements that the panels of a weight [outputs, inputs] take.
template <class T>
Index packed_size(Index outputs, Index inputs) {
  return panel_columns<T>(outputs) * inputs;
}
/// Packs a weight [outputs, inputs] as transposed(weight) is read, once for many products.
template <class T>
void pack_weight(MatrixView<const T> weight, T* to) {
  for_each_depth(weight.columns, [&](Index p0, Index depth) {
    detail::pack_panels<T, detail::kTileColumns<T>>(weight.data + p0, weight.stride, 1, weight.rows, depth,
                                                    to + p0 * panel_columns<T>(weight.rows));
  });
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
void gemm(const Operand<T>& a, const Operand<T>& b, MatrixView<T> c, Write write, T* scratch,
          const T* bias = nullptr) noexcept {
  using namespace detail;
  NORMA_ASSERT(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns, "gemm: shapes do not match");
  NORMA_ASSERT(apart(a, c) && apart(b, c), "gemm: the result overlaps an operand; a product cannot work in place");
  NORMA_ASSERT(bias == nullptr || write == Write::assign, "gemm: a product that is added starts from what is there");
  const Index m = c.rows, n = c.columns, k = a.columns;
  if (backend_gemm(a, b, c, write, bias)) return;
  if (k == 0) {
    if (write == Write::assign)
      for (Index i = 0; i < m; ++i) bias != nullptr ? std::copy_n(bias, n, c.row(i)) : std::fill_n(c.row(i), n, T(0));
    return;
  }
  const bool thin = m <= kThinRows;
  T *const packed_a = scratch, *const packed_b = scratch + rows_scratch<T>(m, k);
  for_each_depth(k, [&](Index p0, Index depth) {
    const bool first = p0 == 0 && write == Write::assign;
    const Start<T> start = first ? Start<T>{bias, 0} : Start<T>{c.data, c.stride};
    for (Index i0 = 0; i0 < m; i0 += kBlockRows) {
      const Index rows = (std::min)(kBlockRows, m - i0);
      const T* const block_a = a.data + i0 * a.row_stride + p0 * a.column_stride;
      if (!thin) pack_panels<T, kTileRows>(block_a, a.row_stride, a.column_stride, rows, depth, packed_a);
      for (Index j = 0; j < n; j += kTileColumns<T>) {
        const Index columns = (std::min)(kTileColumns<T>, n - j);
        const T* panel = packed_b;
        if (b.panels.data != nullptr)
          panel = b.panels.data + p0 * b.panels.columns + (b.panels.first + j) * depth;
        else
          pack_panels<T, kTileColumns<T>>(b.data + p0 * b.row_stride + j * b.column_stride, b.column_stride,
                                          b.row_stride, columns, depth, packed_b);
        // Meanwhile the next panel's columns are fetched.
        const Index next = (std::min)(kTileColumns<T>, b.panels.data != nullptr ? 0 : n - j - columns);
        FetchAhead<T> ahead(b.data + p0 * b.row_stride + (j + columns) * b.column_stride, b.row_stride, b.column_stride,
                            depth, next);
        const Index pieces = (ahead.pieces() * kTileRows + rows - 1) / rows;
        for (Index i = 0; i < rows; i += kTileRows) {
          ahead.fetch(pieces);
          T* const at = c.row(i0 + i) + j;
          const Start<T> from = start.below(i0 + i, j);
          const Index tall = (std::min)(kTileRows, rows - i);
          const Lines<T> columns_of_b{panel, 0, kTileColumns<T>};
          if (thin)
            any_tile<T, false>({block_a + i * a.row_stride, a.row_stride, a.column_stride}, columns_of_b, depth, at,
                               c.stride, from, tall, columns);
          else
            any_tile<T, true>({packed_a + i * depth, 1, kTileRows}, columns_of_b, depth, at, c.stride, from, tall,
                              columns);
        }
      }
    }
  });
}

/// The same on an executor's workers, each with a row of `packing`: the rows or columns of c are split, never k.
template <class T>
void gemm(const Executor& executor, const Operand<T>& a, const Operand<T>& b, MatrixView<T> c, Write write,
          MatrixView<T> packing, const T* bias = nullptr) noexcept {
  if (c.rows >= c.columns) {
    executor.split(c.rows, detail::kTileRows, [&](Index worker, Index begin, Index end) {
      gemm(a.middle_rows(begin, end - begin), b, c.middle_rows(begin, end - begin), write, packing.row(worker), bias);
    });
  } else {
    executor.split(c.columns, detail::kTileColumns<T>, [&](Index worker, Index begin, Index end) {
      gemm(a, b.middle_columns(begin, end - begin), c.middle_columns(begin, end - begin), write, packing.row(worker),
           bias != nullptr ? bias + begin : nullptr);
    });
  }
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
