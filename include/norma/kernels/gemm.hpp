// SPDX-License-Identifier: MIT
// The matrix product. Every element of the result is one chain of multiply-adds over k, in the order of k:
//
//   c = start;  for p = 0 .. k-1:  c = fma(a_p, b_p, c)          start = 0 or a bias (assign), or what c held (add)
//
// Full tiles, edge tiles and a single row run the same chain, and blocking depends on k only, so an element's bits do
// not depend on the other rows and columns. Operands may be transposed: they are given by row and column strides. What
// the tile cannot read as it lies is packed into scratch that the caller planned.
#pragma once

#include <norma/core/buffer.hpp>
#include <norma/core/check.hpp>
#include <norma/core/executor.hpp>
#include <norma/core/view.hpp>
#include <norma/kernels/gemm_backend.hpp>
#include <norma/kernels/gemm_panels.hpp>
#include <norma/kernels/gemm_tile.hpp>

#include <algorithm>
#include <type_traits>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// Columns of a right operand that were packed before: see `packed`.
template <class T>
struct Panels {
  const T* data = nullptr;
  Index columns = 0;  ///< panel_columns of the whole weight
  Index first = 0;    ///< the operand's first, at the start of a panel
};

/// An operand, transposed or not: element (r, c) is at data[r * row_stride + c * column_stride]; one stride is 1. Rows
/// may overlap, repeat or run backwards: a sliding window over a signal is {x, frames, taps, hop, 1}.
template <class T>
struct Operand {
  const T* data;
  Index rows, columns, row_stride, column_stride;
  Panels<T> panels{};  ///< of a right operand: the same values

  /// Without panels.
  Operand middle_rows(Index first, Index count) const {
    return {data + first * row_stride, count, columns, row_stride, column_stride};
  }
  /// `first` is the first column of a panel, where there are any.
  Operand middle_columns(Index first, Index count) const {
    NORMA_ASSERT(panels.data == nullptr || (panels.first + first) % detail::kTileColumns<T> == 0,
                 "gemm: columns of packed panels begin with a panel");
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

/// What follows a product: run(context, row, column, rows, columns) for every part of the result, as soon as it is done
/// and still in a cache. Parts are disjoint, cover the result, and are seldom whole rows; several workers call it at
/// the same time, each for the parts that it made. It does not throw. Nothing by default. Does not own the context.
struct Finish {
  void (*run)(const void* context, Index row, Index column, Index rows, Index columns) = nullptr;
  const void* context = nullptr;
  Index row = 0, column = 0;  ///< where the product's result begins in what run counts by

  /// f(row, column, rows, columns), of the result. f outlives the product: an object with a name.
  template <class F>
  static Finish with(const F& f) {
    return {[](const void* object, Index r, Index c, Index rows, Index columns) {
              (*static_cast<const F*>(object))(r, c, rows, columns);
            },
            &f};
  }
  Finish below(Index rows, Index columns) const { return {run, context, row + rows, column + columns}; }
  void operator()(Index r, Index c, Index rows, Index columns) const {
    if (run != nullptr && rows > 0 && columns > 0) run(context, row + r, column + c, rows, columns);
  }
};

namespace detail {

// A block of b (kBlockK x kBlockColumns, 864 KiB of float with AVX-512) stays in the second-level cache while the rows
// of a pass along it, and a tile goes along a row of blocks, so that c is read and written in order. docs/products.md
// derives the sizes.
inline constexpr Index kBlockK = 512;
template <class T>
inline constexpr Index kBlockColumns = 9 * kTileColumns<T>;
// Rows of a transposed operand that are packed together: each lies as a column, a cache line of which holds some.
inline constexpr Index kBlockRows = 128;
// So few rows of a are read as they lie, transposed or not: packing them costs more than it saves.
inline constexpr Index kThinRows = 2 * kTileRows;

/// block(first, count) for every block of [0, total): as few of at most `most` as there must be, multiples of unit, and
/// about as long as each other.
template <class F>
void for_each_block(Index total, Index most, Index unit, const F& block) {
  for (Index left = (total + most - 1) / most, first = 0; left > 0; --left) {
    const Index rest = total - first,
                count = left == 1 ? rest : (std::min)(round_up((rest + left - 1) / left, unit), rest);
    block(first, count);
    first += count;
  }
}

/// Elements of scratch in whole cache lines.
template <class T>
Index panels_scratch(Index depth, Index lines) {
  return round_up((std::min)(depth, kBlockK) * lines, kAlignment / static_cast<Index>(sizeof(T)));
}
/// For the rows of a, where it is transposed.
template <class T>
Index rows_scratch(Index m, Index k) {
  return m <= kThinRows ? 0 : panels_scratch<T>(k, round_up((std::min)(m, kBlockRows), kTileRows));
}
/// For the columns of b, where they are not packed already.
template <class T>
Index columns_scratch(Index n, Index k) {
  return panels_scratch<T>(k, round_up((std::min)(n, kBlockColumns<T>), kTileColumns<T>));
}
}  // namespace detail

/// How the operands of a product are given, as far as its scratch depends on it.
struct Given {
  bool transposed_a = false;  ///< its column_stride is not 1
  bool packed_b = false;      ///< it has panels
};
/// Elements of scratch that gemm needs for an m x n result over k. Grows with each of them.
template <class T>
Index gemm_scratch(Index m, Index n, Index k, Given given) {
  return (given.transposed_a ? detail::rows_scratch<T>(m, k) : 0) +
         (given.packed_b ? 0 : detail::columns_scratch<T>(n, k));
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
void pack_weight(std::type_identity_t<MatrixView<const T>> weight, T* to) {
  detail::for_each_block(weight.columns, detail::kBlockK, 1, [&](Index p0, Index depth) {
    detail::pack_panels<T, detail::kTileColumns<T>>(weight.data + p0, weight.stride, 1, weight.rows, depth,
                                                    to + p0 * panel_columns<T>(weight.rows));
  });
}

/// transposed(weight), whose panels pack_weight has put at `panels`.
template <class T>
Operand<T> packed(std::type_identity_t<MatrixView<const T>> weight, const T* panels) {
  Operand<T> b = transposed(weight);
  b.panels = {panels, panel_columns<T>(weight.rows)};
  return b;
}

namespace detail {
/// Whether the tile, or packing, can read it.
template <class T>
bool has_unit_stride(const Operand<T>& o) {
  return o.row_stride == 1 || o.column_stride == 1 || o.rows == 0 || o.columns == 0;
}
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
void gemm(const Operand<T>& a, const Operand<T>& b, MatrixView<T> c, Write write, std::type_identity_t<T>* scratch,
          const std::type_identity_t<T>* bias = nullptr, const Finish& finish = {}) noexcept {
  using namespace detail;
  NORMA_ASSERT(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns, "gemm: shapes do not match");
  NORMA_ASSERT(has_unit_stride(a) && has_unit_stride(b), "gemm: one stride of an operand is 1");
  NORMA_ASSERT(apart(a, c) && apart(b, c), "gemm: the result overlaps an operand; a product cannot work in place");
  NORMA_ASSERT(bias == nullptr || write == Write::assign, "gemm: a product that is added starts from what is there");
  const Index m = c.rows, n = c.columns, k = a.columns;
  if (backend_gemm(a, b, c, write, bias)) return finish(0, 0, m, n);
  if (k == 0) {
    if (write == Write::assign)
      for (Index i = 0; i < m; ++i) bias != nullptr ? std::copy_n(bias, n, c.row(i)) : std::fill_n(c.row(i), n, T(0));
    return finish(0, 0, m, n);
  }
  const bool rows_in_place = a.column_stride == 1 || m <= kThinRows,
             columns_in_place = b.column_stride == 1 && m <= kThinRows && b.panels.data == nullptr;
  T *const packed_b = scratch, *const packed_a = scratch + (b.panels.data != nullptr ? 0 : columns_scratch<T>(n, k));
  for_each_block(k, kBlockK, 1, [&](Index p0, Index depth) {
    const bool first = p0 == 0 && write == Write::assign;
    const Start<T> start = first ? Start<T>{bias, 0} : Start<T>{c.data, c.stride};
    for_each_block(n, kBlockColumns<T>, kTileColumns<T>, [&](Index j0, Index width) {
      const T* const block_b = b.data + p0 * b.row_stride + j0 * b.column_stride;
      const T* panels = packed_b;
      if (b.panels.data != nullptr)
        panels = b.panels.data + p0 * b.panels.columns + (b.panels.first + j0) * depth;
      else if (!columns_in_place)
        pack_panels<T, kTileColumns<T>>(block_b, b.column_stride, b.row_stride, width, depth, packed_b);
      for (Index i = 0; i < m; i += kTileRows) {
        const T* const rows_a = a.data + i * a.row_stride + p0 * a.column_stride;
        const Index packed_row = i % kBlockRows;
        if (!rows_in_place && packed_row == 0)
          pack_across<T, kTileRows>(rows_a, a.column_stride, (std::min)(kBlockRows, m - i), depth, packed_a);
        const Lines<T> rows = rows_in_place ? Lines<T>{rows_a, a.row_stride, a.column_stride}
                                            : Lines<T>{packed_a + packed_row * depth, 1, kTileRows};
        for (Index j = 0; j < width; j += kTileColumns<T>) {
          const Lines<T> columns = columns_in_place ? Lines<T>{block_b + j, 0, b.row_stride}
                                                    : Lines<T>{panels + j * depth, 0, kTileColumns<T>};
          any_tile<T>(rows, columns, depth, c.row(i) + j0 + j, c.stride, start.below(i, j0 + j),
                      (std::min)(kTileRows, m - i), (std::min)(kTileColumns<T>, width - j));
        }
        if (p0 + depth == k) finish(i, j0, (std::min)(kTileRows, m - i), width);
      }
    });
  });
}

/// The same on an executor's workers: the rows or columns of c are split, never k. packing: for each worker a row of as
/// many elements as gemm_scratch says for the whole c.
template <class T>
void gemm(const Executor& executor, const Operand<T>& a, const Operand<T>& b, MatrixView<T> c, Write write,
          std::type_identity_t<MatrixView<T>> packing, const std::type_identity_t<T>* bias = nullptr,
          const Finish& finish = {}) noexcept {
  if (c.rows >= c.columns) {
    executor.split(c.rows, detail::kTileRows, [&](Index worker, Index begin, Index end) {
      gemm(a.middle_rows(begin, end - begin), b, c.middle_rows(begin, end - begin), write, packing.row(worker), bias,
           finish.below(begin, 0));
    });
  } else {
    executor.split(c.columns, detail::kTileColumns<T>, [&](Index worker, Index begin, Index end) {
      gemm(a, b.middle_columns(begin, end - begin), c.middle_columns(begin, end - begin), write, packing.row(worker),
           bias != nullptr ? bias + begin : nullptr, finish.below(0, begin));
    });
  }
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
