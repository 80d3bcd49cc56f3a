// SPDX-License-Identifier: MIT
// The register tile of every product: rows x packs accumulators, each element one chain of multiply-adds along k.
#pragma once

#include <norma/kernels/simd_memory.hpp>

#include <algorithm>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels::detail {

// kTileRows x kTilePacks accumulators, one row of packs of b and one broadcast of a must fit into the registers: 32
// with AVX-512 and NEON, else 16.
#if defined(NORMA_AVX512) || defined(NORMA_NEON)
inline constexpr Index kTileRows = 8, kTilePacks = 3;
#else
inline constexpr Index kTileRows = 4, kTilePacks = 3;
#endif
template <class T>
inline constexpr Index kTileColumns = kTilePacks* simd::kLanes<T>;
// Steps along k from which b is fetched ahead.
inline constexpr Index kAhead = 8;

/// Element (row, p) is data[row * row_stride + p * step]; of the other operand, row p begins at data + p * step.
template <class T>
struct Lines {
  const T* data;
  Index row_stride, step;
};

/// What of a tile exists: `rows` of its rows, `last` columns of its last pack. Where b is padded, its packs can be read
/// whole, and where a is, its rows.
enum class Edge { none, padded, bare };

/// c (assigned or added to) = a b over `depth`.
template <class T, Index kPacks, Edge kEdge>
NORMA_INLINE void tile(Lines<T> a, Lines<T> b, Index depth, T* c, Index stride, bool from_zero, Index rows,
                       Index last) {
  using namespace simd;
  constexpr bool kWhole = kEdge == Edge::none;
  Pack<T> sum[kTileRows][kPacks];
  const T* line[kTileRows];
  NORMA_UNROLL
  for (Index i = 0; i < kTileRows; ++i) {
    line[i] = a.data + (kEdge == Edge::bare ? (std::min)(i, rows - 1) : i) * a.row_stride;
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j) {
      const T* const at = c + i * stride + j * kLanes<T>;
      if (from_zero || (!kWhole && i >= rows))
        sum[i][j] = zero<T>();
      else
        sum[i][j] = !kWhole && j + 1 == kPacks ? load_up_to(at, last) : load(at);
    }
  }
  // The tile below is next, and its rows lie pages apart: no prefetcher finds them.
  for (Index i = 0; i < kTileRows; ++i)
    for (Index j = 0; j < kPacks; ++j) __builtin_prefetch(c + (kTileRows + i) * stride + j * kLanes<T>, 1);
  for (Index p = 0; p < depth; ++p, b.data += b.step) {
    Pack<T> row[kPacks];
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j) __builtin_prefetch(b.data + kAhead * b.step + j * kLanes<T>);
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j)
      row[j] = kEdge == Edge::bare && j + 1 == kPacks ? load_up_to(b.data + j * kLanes<T>, last)
                                                      : load(b.data + j * kLanes<T>);
    NORMA_UNROLL
    for (Index i = 0; i < kTileRows; ++i) {
      const Pack<T> value = broadcast(line[i][p * a.step]);
      NORMA_UNROLL
      for (Index j = 0; j < kPacks; ++j) sum[i][j] = fma(value, row[j], sum[i][j]);
    }
  }
  NORMA_UNROLL
  for (Index i = 0; i < kTileRows; ++i) {
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j) {
      T* const at = c + i * stride + j * kLanes<T>;
      if (!kWhole && i >= rows) continue;
      if (!kWhole && j + 1 == kPacks)
        store_up_to(at, sum[i][j], last);
      else
        store(at, sum[i][j]);
    }
  }
}

/// The same for a tile at an edge, of `columns` columns.
template <class T, Edge kEdge>
void edge_tile(Lines<T> a, Lines<T> b, Index depth, T* c, Index stride, bool from_zero, Index rows, Index columns) {
  constexpr Index kLanes = simd::kLanes<T>;
  const Index packs = (columns + kLanes - 1) / kLanes, last = columns - (packs - 1) * kLanes;
  static_assert(kTilePacks == 3);
  if (packs == 1)
    tile<T, 1, kEdge>(a, b, depth, c, stride, from_zero, rows, last);
  else if (packs == 2)
    tile<T, 2, kEdge>(a, b, depth, c, stride, from_zero, rows, last);
  else
    tile<T, 3, kEdge>(a, b, depth, c, stride, from_zero, rows, last);
}

/// c (assigned or added to) = a b for a few rows and columns, unpacked. c: [rows, columns]; b has whole packs to read
/// only where its rows end in the middle of more.
template <class T>
void small_product(Lines<T> a, Lines<T> b, Index depth, MatrixView<T> c, bool from_zero) {
  for (Index i = 0; i < c.rows; i += kTileRows)
    for (Index j = 0; j < c.columns; j += kTileColumns<T>) {
      const Lines<T> rows{a.data + i * a.row_stride, a.row_stride, a.step}, columns{b.data + j, 0, b.step};
      const Index tall = (std::min)(kTileRows, c.rows - i), wide = (std::min)(kTileColumns<T>, c.columns - j);
      if (tall == kTileRows && wide == kTileColumns<T>)
        tile<T, kTilePacks, Edge::none>(rows, columns, depth, c.row(i) + j, c.stride, from_zero, tall, wide);
      else
        edge_tile<T, Edge::bare>(rows, columns, depth, c.row(i) + j, c.stride, from_zero, tall, wide);
    }
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels::detail
