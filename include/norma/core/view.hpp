// SPDX-License-Identifier: MIT
// The view that every module takes: a pointer with rows, columns and a row stride. Trivially copyable, owns nothing.
#pragma once

#include <norma/core/shape.hpp>

#include <array>
#include <type_traits>

namespace norma::inline v0_1 {

template <class T>
struct MatrixView {
  T* data = nullptr;
  Index rows = 0, columns = 0, stride = 0;  ///< stride: elements from one row to the next

  constexpr MatrixView() = default;
  constexpr MatrixView(T* d, Index r, Index c) : MatrixView(d, r, c, c) {}
  constexpr MatrixView(T* d, Index r, Index c, Index s) : data(d), rows(r), columns(c), stride(s) {}

  constexpr T* row(Index r) const { return data + r * stride; }
  constexpr Index size() const { return rows * columns; }
  constexpr bool contiguous() const { return stride == columns; }

  /// `count` rows from row `first` on.
  constexpr MatrixView middle_rows(Index first, Index count) const { return {row(first), count, columns, stride}; }

  /// `count` columns from column `first` on.
  constexpr MatrixView middle_columns(Index first, Index count) const { return {data + first, rows, count, stride}; }

  constexpr operator MatrixView<const T>() const requires(!std::is_const_v<T>) { return {data, rows, columns, stride}; }
};

/// A stream of several matrices of one shape, by value.
template <int Parts, class T>
using Stream = std::array<MatrixView<T>, Parts>;

template <int Parts, class T>
constexpr Stream<Parts, const T> as_const(const Stream<Parts, T>& s) {
  Stream<Parts, const T> r;
  for (int i = 0; i < Parts; ++i) r[i] = s[i];
  return r;
}

}  // namespace norma::inline v0_1

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Whether two views touch a common byte. Of two views with different strides whose rows lie between each other's, yes.
template <class T, class U>
bool overlap(const MatrixView<T>& a, const MatrixView<U>& b) {
  if (a.size() == 0 || b.size() == 0) return false;
  const auto* a0 = reinterpret_cast<const std::byte*>(a.data);
  const auto* b0 = reinterpret_cast<const std::byte*>(b.data);
  const auto* a1 = reinterpret_cast<const std::byte*>(a.row(a.rows - 1) + a.columns);
  const auto* b1 = reinterpret_cast<const std::byte*>(b.row(b.rows - 1) + b.columns);
  if (a0 >= b1 || b0 >= a1) return false;
  // Blocks of columns of one matrix lie between each other's rows without touching.
  constexpr auto kSize = static_cast<Index>(sizeof(T));
  static_assert(sizeof(T) == sizeof(U));
  const Index stride = (a.rows > 1 ? a.stride : b.stride) * kSize;
  if (stride <= 0 || (b.rows > 1 && stride != b.stride * kSize)) return true;
  const Index apart = ((b0 - a0) % stride + stride) % stride;  // from the start of a's rows to that of b's
  return apart < a.columns * kSize || stride - apart < b.columns * kSize;
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
