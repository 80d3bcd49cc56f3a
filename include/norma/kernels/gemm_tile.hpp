// SPDX-License-Identifier: MIT
// The register tile of every product: rows x packs accumulators, each element one chain of multiply-adds along k.
#pragma once

#include <norma/core/buffer.hpp>
#include <norma/core/view.hpp>
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
inline constexpr Index kAhead = 4;

/// Element (row, p) is data[row * row_stride + p * step]; of the other operand, row p begins at data + p * step.
template <class T>
struct Lines {
  const T* data;
  Index row_stride, step;
};

/// What the chains of a tile start from: zero, or what lies at data + row * stride, a row of which is c's.
template <class T>
struct Start {
  const T* data = nullptr;
  Index stride = 0;
  Start below(Index rows, Index columns) const {
    return data != nullptr ? Start{data + rows * stride + columns, stride} : *this;
  }
};

/// A whole tile of kRows rows: c = start + a b over `depth`. start may be c. Of the last pack of b `last` columns are
/// read, and `rows` rows of a: what is missing is computed from what is there. With kPanels, a and b are panels: a's
/// values lie side by side, so one pointer serves all rows, and nothing is missing.
template <class T, Index kRows, Index kPacks, bool kPanels>
void tile(Lines<T> a, Lines<T> b, Index depth, T* c, Index stride, Start<T> start, Index rows, Index last) {
  using namespace simd;
  Pack<T> sum[kRows][kPacks];
  [[maybe_unused]] const T* line[kRows];
  NORMA_UNROLL
  for (Index i = 0; i < kRows; ++i) {
    if constexpr (!kPanels) line[i] = a.data + (std::min)(i, rows - 1) * a.row_stride;
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j)
      sum[i][j] = start.data != nullptr ? load(start.data + i * start.stride + j * kLanes<T>) : zero<T>();
  }
  // The tile below is next, and its rows lie pages apart: no prefetcher finds them.
  for (Index i = 0; i < kRows; ++i)
    for (Index j = 0; j < kPacks; ++j) __builtin_prefetch(c + (kRows + i) * stride + j * kLanes<T>, 1);
  for (Index p = 0; p < depth; ++p, b.data += b.step) {
    Pack<T> row[kPacks];
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j) __builtin_prefetch(b.data + kAhead * b.step + j * kLanes<T>);
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j)
      row[j] = j + 1 == kPacks && !kPanels ? load_first(b.data + j * kLanes<T>, last) : load(b.data + j * kLanes<T>);
    NORMA_UNROLL
    for (Index i = 0; i < kRows; ++i) {
      const Pack<T> value = broadcast(kPanels ? a.data[i] : line[i][p * a.step]);
      NORMA_UNROLL
      for (Index j = 0; j < kPacks; ++j) sum[i][j] = fma(value, row[j], sum[i][j]);
    }
    if constexpr (kPanels) a.data += kRows;
  }
  NORMA_UNROLL
  for (Index i = 0; i < kRows; ++i) {
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j) store(c + i * stride + j * kLanes<T>, sum[i][j]);
  }
}

/// The same for up to kTileRows rows and up to kTileColumns columns. At an edge it is computed whole in a copy: a tile
/// that asked at every element whether it is there would not stay in registers, and be three times the code.
/// One row alone has a tile of its own: a stream's next token is nothing else.
template <class T, bool kPanels = false>
void any_tile(Lines<T> a, Lines<T> b, Index depth, T* c, Index stride, Start<T> start, Index rows, Index columns) {
  static_assert(kTilePacks == 3);
  constexpr Index kLanes = simd::kLanes<T>;
  const Index packs = (columns + kLanes - 1) / kLanes, last = columns - (packs - 1) * kLanes;
  auto run = packs == 3   ? tile<T, kTileRows, 3, kPanels>
             : packs == 2 ? tile<T, kTileRows, 2, kPanels>
                          : tile<T, kTileRows, 1, kPanels>;
  bool whole = rows == kTileRows;
  if constexpr (!kPanels) {
    if (rows == 1) {
      run = packs == 3 ? tile<T, 1, 3, false> : packs == 2 ? tile<T, 1, 2, false> : tile<T, 1, 1, false>;
      whole = true;
    }
  }
  if (whole && last == kLanes) return run(a, b, depth, c, stride, start, rows, last);
  alignas(kAlignment) T copy[static_cast<std::size_t>(kTileRows * kTileColumns<T>)];
  std::fill_n(copy, (whole ? rows : kTileRows) * kTileColumns<T>, T(0));
  if (start.data != nullptr)
    for (Index i = 0; i < rows; ++i) std::copy_n(start.data + i * start.stride, columns, copy + i * kTileColumns<T>);
  run(a, b, depth, copy, kTileColumns<T>, {copy, kTileColumns<T>}, rows, last);
  for (Index i = 0; i < rows; ++i) std::copy_n(copy + i * kTileColumns<T>, columns, c + i * stride);
}

/// c = start + a b for a few rows and columns, unpacked. c: [rows, columns].
template <class T>
void small_product(Lines<T> a, Lines<T> b, Index depth, MatrixView<T> c, Start<T> start) {
  // As few tiles side by side as there must be, about as wide as each other.
  const Index packs = (c.columns + simd::kLanes<T> - 1) / simd::kLanes<T>,
              tiles = (packs + kTilePacks - 1) / kTilePacks,
              width = tiles > 0 ? (packs + tiles - 1) / tiles * simd::kLanes<T> : 0;
  for (Index j = 0; j < c.columns; j += width)
    for (Index i = 0; i < c.rows; i += kTileRows)
      any_tile<T>({a.data + i * a.row_stride, a.row_stride, a.step}, {b.data + j, 0, b.step}, depth, c.row(i) + j,
                  c.stride, start.below(i, j), (std::min)(kTileRows, c.rows - i), (std::min)(width, c.columns - j));
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels::detail
