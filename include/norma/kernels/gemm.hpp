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
#include <norma/kernels/simd_memory.hpp>

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
// A packed panel of b (kBlockK x kTileColumns) stays in the first-level cache, a packed block of a in the second.
inline constexpr Index kBlockK = 256, kBlockRows = 128, kBlockColumns = 1536;

inline Index round_up(Index n, Index to) { return (n + to - 1) / to * to; }

/// Packs `count` lines of `depth` values, lines side by side in panels of `width`, missing lines as zero:
/// to[panel][p][line].
template <class T>
void pack(const T* from, Index line_stride, Index k_stride, Index count, Index depth, Index width, T* to) {
  for (Index first = 0; first < count; first += width, to += width * depth) {
    const Index lines = (std::min)(width, count - first);
    const T* panel = from + first * line_stride;
    if (k_stride == 1) {  // each line lies along k
      for (Index l = 0; l < lines; ++l)
        for (Index p = 0; p < depth; ++p) to[p * width + l] = panel[l * line_stride + p];
    } else {
      for (Index p = 0; p < depth; ++p)
        for (Index l = 0; l < lines; ++l) to[p * width + l] = panel[l * line_stride + p * k_stride];
    }
    for (Index p = 0; p < depth && lines < width; ++p)
      for (Index l = lines; l < width; ++l) to[p * width + l] = T(0);
  }
}

/// One register tile: c += a b over packed panels. c has full tile size; a stride in elements.
template <class T>
NORMA_INLINE void tile(const T* a, const T* b, Index depth, T* c, Index stride, bool from_zero) {
  using namespace simd;
  Pack<T> sum[kTileRows][kTilePacks];
  NORMA_UNROLL
  for (Index i = 0; i < kTileRows; ++i) {
    NORMA_UNROLL
    for (Index j = 0; j < kTilePacks; ++j) sum[i][j] = from_zero ? zero<T>() : load(c + i * stride + j * kLanes<T>);
  }
  for (Index p = 0; p < depth; ++p, a += kTileRows, b += kTileColumns<T>) {
    Pack<T> row[kTilePacks];
    NORMA_UNROLL
    for (Index j = 0; j < kTilePacks; ++j) row[j] = load(b + j * kLanes<T>);
    NORMA_UNROLL
    for (Index i = 0; i < kTileRows; ++i) {
      const Pack<T> value = broadcast(a[i]);
      NORMA_UNROLL
      for (Index j = 0; j < kTilePacks; ++j) sum[i][j] = fma(value, row[j], sum[i][j]);
    }
  }
  NORMA_UNROLL
  for (Index i = 0; i < kTileRows; ++i) {
    NORMA_UNROLL
    for (Index j = 0; j < kTilePacks; ++j) store(c + i * stride + j * kLanes<T>, sum[i][j]);
  }
}

/// A tile at the edge: computed at full size in a copy.
template <class T>
void edge_tile(const T* a, const T* b, Index depth, T* c, Index stride, Index rows, Index columns, bool from_zero) {
  alignas(kAlignment) T copy[static_cast<std::size_t>(kTileRows * kTileColumns<T>)] = {};
  if (!from_zero)
    for (Index i = 0; i < rows; ++i) std::copy_n(c + i * stride, columns, copy + i * kTileColumns<T>);
  tile(a, b, depth, copy, kTileColumns<T>, from_zero);
  for (Index i = 0; i < rows; ++i) std::copy_n(copy + i * kTileColumns<T>, columns, c + i * stride);
}

}  // namespace detail

/// Elements of scratch that gemm needs for an m x n result over k. Grows with each of them.
template <class T>
Index gemm_scratch(Index m, Index n, Index k) {
  using namespace detail;
  const Index depth = (std::min)(k, kBlockK), granule = kAlignment / static_cast<Index>(sizeof(T));
  return round_up(depth * round_up((std::min)(m, kBlockRows), kTileRows), granule) +
         depth * round_up((std::min)(n, kBlockColumns), kTileColumns<T>);
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
  const Index block_a = round_up((std::min)(m, kBlockRows), kTileRows);
  T* const packed_a = scratch;
  T* const packed_b = scratch + round_up((std::min)(k, kBlockK) * block_a, kAlignment / static_cast<Index>(sizeof(T)));
  for (Index j0 = 0; j0 < n; j0 += kBlockColumns) {
    const Index columns = (std::min)(kBlockColumns, n - j0);
    for (Index p0 = 0; p0 < k; p0 += kBlockK) {
      const Index depth = (std::min)(kBlockK, k - p0);
      const bool from_zero = p0 == 0 && write == Write::assign;
      pack(b.data + p0 * b.row_stride + j0 * b.column_stride, b.column_stride, b.row_stride, columns, depth,
           kTileColumns<T>, packed_b);
      for (Index i0 = 0; i0 < m; i0 += kBlockRows) {
        const Index rows = (std::min)(kBlockRows, m - i0);
        pack(a.data + i0 * a.row_stride + p0 * a.column_stride, a.row_stride, a.column_stride, rows, depth, kTileRows,
             packed_a);
        for (Index j = 0; j < columns; j += kTileColumns<T>)
          for (Index i = 0; i < rows; i += kTileRows) {
            T* const at = c.row(i0 + i) + j0 + j;
            const T *pa = packed_a + i * depth, *pb = packed_b + j * depth;
            if (rows - i >= kTileRows && columns - j >= kTileColumns<T>)
              tile(pa, pb, depth, at, c.stride, from_zero);
            else
              edge_tile(pa, pb, depth, at, c.stride, (std::min)(kTileRows, rows - i),
                        (std::min)(kTileColumns<T>, columns - j), from_zero);
          }
      }
    }
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
