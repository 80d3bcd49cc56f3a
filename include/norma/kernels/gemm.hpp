// SPDX-License-Identifier: MIT
// The matrix product. Every element of the result is one chain of multiply-adds over k, in the order of k:
//
//   c = start;  for p = 0 .. k-1:  c = fma(a_p, b_p, c)          start = 0 (assign) or what c held (add)
//
// Full tiles, edge tiles and a single row run the same chain, and blocking depends on k only, so an element's bits do
// not depend on the other rows and columns. Operands may be transposed: they are given by row and column strides and
// are packed into scratch that the caller planned.
#pragma once

#include <norma/core/buffer.hpp>
#include <norma/core/check.hpp>
#include <norma/core/executor.hpp>
#include <norma/core/view.hpp>
#include <norma/kernels/gemm_panels.hpp>

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

// The register tile: kTileRows x kTilePacks accumulators, one row of packs of b and one broadcast of a must fit into
// the registers: 32 with AVX-512 and NEON, else 16.
#if defined(NORMA_AVX512) || defined(NORMA_NEON)
inline constexpr Index kTileRows = 8, kTilePacks = 3;
#else
inline constexpr Index kTileRows = 4, kTilePacks = 3;
#endif
template <class T>
inline constexpr Index kTileColumns = kTilePacks* simd::kLanes<T>;
// A packed block of a (kBlockRows x kBlockK, 1 MiB of float) stays in the second-level cache while every panel of b
// (kBlockK x kTileColumns) passes along it. Each pass over k reads and writes all of c, which is often beyond that
// cache: so the panel is long, and comes from the second-level cache, too, kAhead steps before it is needed.
inline constexpr Index kBlockK = 512, kBlockRows = 512, kAhead = 8;

inline Index round_up(Index n, Index to) { return (n + to - 1) / to * to; }

/// One register tile: c (assigned or added to) = a b over packed panels. At an edge, `rows` of its rows exist, and
/// `last` columns of its last pack.
template <class T, Index kPacks, bool kEdge>
NORMA_INLINE void tile(const T* a, const T* b, Index depth, T* c, Index stride, bool from_zero, Index rows,
                       Index last) {
  using namespace simd;
  Pack<T> sum[kTileRows][kPacks];
  NORMA_UNROLL
  for (Index i = 0; i < kTileRows; ++i) {
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j) {
      const T* const at = c + i * stride + j * kLanes<T>;
      if (from_zero || (kEdge && i >= rows))
        sum[i][j] = zero<T>();
      else
        sum[i][j] = kEdge && j + 1 == kPacks ? load_up_to(at, last) : load(at);
    }
  }
  // The tile below is next, and its rows lie pages apart: no prefetcher finds them.
  for (Index i = 0; i < kTileRows; ++i)
    for (Index j = 0; j < kPacks; ++j) __builtin_prefetch(c + (kTileRows + i) * stride + j * kLanes<T>, 1);
  for (Index p = 0; p < depth; ++p, a += kTileRows, b += kTileColumns<T>) {
    Pack<T> row[kPacks];
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j) __builtin_prefetch(b + kAhead * kTileColumns<T> + j * kLanes<T>);
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j) row[j] = load(b + j * kLanes<T>);
    NORMA_UNROLL
    for (Index i = 0; i < kTileRows; ++i) {
      const Pack<T> value = broadcast(a[i]);
      NORMA_UNROLL
      for (Index j = 0; j < kPacks; ++j) sum[i][j] = fma(value, row[j], sum[i][j]);
    }
  }
  NORMA_UNROLL
  for (Index i = 0; i < kTileRows; ++i) {
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j) {
      T* const at = c + i * stride + j * kLanes<T>;
      if (kEdge && i >= rows) continue;
      if (kEdge && j + 1 == kPacks)
        store_up_to(at, sum[i][j], last);
      else
        store(at, sum[i][j]);
    }
  }
}

/// The same for a tile at an edge, of `columns` columns.
template <class T>
void edge_tile(const T* a, const T* b, Index depth, T* c, Index stride, bool from_zero, Index rows, Index columns) {
  constexpr Index kLanes = simd::kLanes<T>;
  const Index packs = (columns + kLanes - 1) / kLanes, last = columns - (packs - 1) * kLanes;
  static_assert(kTilePacks == 3);
  if (packs == 1)
    tile<T, 1, true>(a, b, depth, c, stride, from_zero, rows, last);
  else if (packs == 2)
    tile<T, 2, true>(a, b, depth, c, stride, from_zero, rows, last);
  else
    tile<T, 3, true>(a, b, depth, c, stride, from_zero, rows, last);
}

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
template <class T>
void gemm(Operand<T> a, Operand<T> b, MatrixView<T> c, Write write, T* scratch) noexcept {
  using namespace detail;
  NORMA_ASSERT(a.columns == b.rows && a.rows == c.rows && b.columns == c.columns, "gemm: shapes do not match");
  NORMA_ASSERT(apart(a, c) && apart(b, c), "gemm: the result overlaps an operand; a product cannot work in place");
  const Index m = c.rows, n = c.columns, k = a.columns;
  if (k == 0 && write == Write::assign)
    for (Index i = 0; i < m; ++i) std::fill_n(c.row(i), n, T(0));
  T* const packed_a = scratch;
  T* const packed_b = scratch + round_up((std::min)(k, kBlockK) * round_up((std::min)(m, kBlockRows), kTileRows),
                                         kAlignment / static_cast<Index>(sizeof(T)));
  // As few blocks as there must be, about as deep as each other.
  const Index passes = (k + kBlockK - 1) / kBlockK;
  for (Index pass = 0, p0 = 0; pass < passes; ++pass) {
    const Index depth = (k - p0) / (passes - pass);
    const bool from_zero = p0 == 0 && write == Write::assign;
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
          const T* const pa = packed_a + i * depth;
          const Index tall = (std::min)(kTileRows, rows - i);
          if (tall == kTileRows && columns == kTileColumns<T>)
            tile<T, kTilePacks, false>(pa, packed_b, depth, at, c.stride, from_zero, tall, columns);
          else
            edge_tile(pa, packed_b, depth, at, c.stride, from_zero, tall, columns);
        }
      }
    }
    p0 += depth;
  }
}

/// The same on an executor's workers, each with a row of `packing`: the rows or columns of c are split, never k.
template <class T>
void gemm(const Executor& executor, Operand<T> a, Operand<T> b, MatrixView<T> c, Write write,
          MatrixView<T> packing) noexcept {
  if (c.rows >= c.columns) {
    executor.split(c.rows, detail::kTileRows, [&](Index worker, Index begin, Index end) {
      const Operand<T> part{a.data + begin * a.row_stride, end - begin, a.columns, a.row_stride, a.column_stride};
      gemm(part, b, c.middle_rows(begin, end - begin), write, packing.row(worker));
    });
  } else {
    executor.split(c.columns, detail::kTileColumns<T>, [&](Index worker, Index begin, Index end) {
      const Operand<T> part{b.data + begin * b.column_stride, b.rows, end - begin, b.row_stride, b.column_stride};
      gemm(a, part, c.middle_columns(begin, end - begin), write, packing.row(worker));
    });
  }
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
