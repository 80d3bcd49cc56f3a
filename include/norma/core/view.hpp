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
