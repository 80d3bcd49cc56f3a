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
inline constexpr Index kAhead = 8;

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

/// kRows x kPacks: c = start + a b over `depth`. start may be c. With kWhole nothing is missing; otherwise `rows` rows
/// of a are read, and `last` columns of b's last pack: what is missing is computed from what is there.
template <class T, Index kRows, Index kPacks, bool kWhole>
void tile(const Lines<T>& a, const Lines<T>& b, Index depth, T* c, Index stride, const Start<T>& start, Index rows,
          Index last) {
  using namespace simd;
  // An address is a pointer and up to two strides: three rows share a pointer, or there would not be enough registers.
  constexpr Index kShare = kWhole ? 3 : 1, kLines = (kRows + kShare - 1) / kShare;
  const T* line[kLines];
  NORMA_UNROLL
  for (Index i = 0; i < kLines; ++i) line[i] = a.data + (kWhole ? i * kShare : (std::min)(i, rows - 1)) * a.row_stride;
  Pack<T> sum[kRows][kPacks];
  const bool from_zero = start.data == nullptr;
  NORMA_UNROLL
  for (Index i = 0; i < kRows; ++i) {
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j)
      sum[i][j] = from_zero ? zero<T>() : load(start.data + i * start.stride + j * kLanes<T>);
  }
  // In a large product the tile to the right is next, and its rows lie pages apart.
  for (Index i = 0; i < kRows; ++i)
    for (Index j = kPacks; j < 2 * kPacks; ++j) __builtin_prefetch(c + i * stride + j * kLanes<T>, 1);
  const T* line_b = b.data;
  Index p = 0;
  do {  // not a for loop: GCC would store what it holds for the case of none
    Pack<T> row[kPacks];
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j) __builtin_prefetch(line_b + kAhead * b.step + j * kLanes<T>);
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j)
      row[j] = j + 1 == kPacks && !kWhole ? load_first(line_b + j * kLanes<T>, last) : load(line_b + j * kLanes<T>);
    NORMA_UNROLL
    for (Index i = 0; i < kRows; ++i) {
      const Pack<T> value = broadcast(line[i / kShare][i % kShare * a.row_stride]);
      NORMA_UNROLL
      for (Index j = 0; j < kPacks; ++j) sum[i][j] = fma(value, row[j], sum[i][j]);
    }
    NORMA_UNROLL
    for (Index i = 0; i < kLines; ++i) line[i] += a.step;
    line_b += b.step;
  } while (++p < depth);
  NORMA_UNROLL
  for (Index i = 0; i < kRows; ++i) {
    NORMA_UNROLL
    for (Index j = 0; j < kPacks; ++j) store(c + i * stride + j * kLanes<T>, sum[i][j]);
  }
}

/// The same for up to kTileRows rows and up to kTileColumns columns. At an edge it is computed whole in a copy: a tile
/// that asked at every element whether it is there would not stay in registers, and be three times the code.
/// One row alone has a tile of its own: a stream's next token is nothing else.
template <class T>
void any_tile(const Lines<T>& a, const Lines<T>& b, Index depth, T* c, Index stride, const Start<T>& start, Index rows,
              Index columns) {
  static_assert(kTilePacks == 3);
  constexpr Index kLanes = simd::kLanes<T>;
  const Index packs = (columns + kLanes - 1) / kLanes, last = columns - (packs - 1) * kLanes;
  const auto of_width = [packs](auto three, auto two, auto one) { return packs == 3 ? three : packs == 2 ? two : one; };
  const bool all_rows = rows == kTileRows || rows == 1;
  const auto run =
      rows == 1 ? of_width(tile<T, 1, 3, false>, tile<T, 1, 2, false>, tile<T, 1, 1, false>)
      : all_rows && last == kLanes
          ? of_width(tile<T, kTileRows, 3, true>, tile<T, kTileRows, 2, true>, tile<T, kTileRows, 1, true>)
          : of_width(tile<T, kTileRows, 3, false>, tile<T, kTileRows, 2, false>, tile<T, kTileRows, 1, false>);
  if (all_rows && last == kLanes) return run(a, b, depth, c, stride, start, rows, last);
  alignas(kAlignment) T copy[static_cast<std::size_t>(kTileRows * kTileColumns<T>)];
  std::fill_n(copy, (all_rows ? rows : kTileRows) * kTileColumns<T>, T(0));
  if (start.data != nullptr)
    for (Index i = 0; i < rows; ++i) std::copy_n(start.data + i * start.stride, columns, copy + i * kTileColumns<T>);
  run(a, b, depth, copy, kTileColumns<T>, Start<T>{copy, kTileColumns<T>}, rows, last);
  for (Index i = 0; i < rows; ++i) std::copy_n(copy + i * kTileColumns<T>, columns, c + i * stride);
}

/// c = start + a b for a few rows and columns, unpacked. c: [rows, columns].
template <class T>
void small_product(const Lines<T>& a, const Lines<T>& b, Index depth, MatrixView<T> c, const Start<T>& start) {
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
