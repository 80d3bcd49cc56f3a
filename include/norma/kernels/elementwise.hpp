// SPDX-License-Identifier: MIT
// Loops over two or three matrices, element by element. Outputs may be inputs.
#pragma once

#include <norma/core/view.hpp>
#include <norma/kernels/column_sums.hpp>
#include <norma/kernels/streaming.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// A view that is read. T comes from the written view: a mutable input needs no add<T>(...).
template <class T>
using Input = std::type_identity_t<MatrixView<const T>>;

/// y = f(x...) in packs over every row. All views have y's shape.
template <class T, class F, class... In>
NORMA_INLINE void transform(MatrixView<T> y, F&& f, In... x) {
  const bool streams = exceeds_caches(y) && ((x.data != y.data) && ...);
  for (Index r = 0; r < y.rows; ++r)
    simd::for_each_pack_after<Compute<T>>(
        streams ? simd::elements_to_stream(y.row(r)) : 0, y.columns, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
          store_or_stream(y.row(r) + i, f(simd::load_up_to(x.row(r) + i, k)...), k, streams);
        });
  if (streams) simd::stream_fence();
}

template <class T>
void fill(MatrixView<T> y, T value) noexcept {
  for (Index r = 0; r < y.rows; ++r) std::fill_n(y.row(r), y.columns, value);
}
template <class T>
void copy(Input<T> x, MatrixView<T> y) noexcept {
  if (x.data == y.data && x.stride == y.stride) return;
  for (Index r = 0; r < y.rows; ++r) std::copy_n(x.row(r), y.columns, y.row(r));
}
/// y = a + b
template <class T>
void add(Input<T> a, Input<T> b, MatrixView<T> y) noexcept {
  transform(
      y, [](auto p, auto q) NORMA_INLINE_LAMBDA { return p + q; }, a, b);
}
/// y = s x
template <class T>
void scale(Input<T> x, std::type_identity_t<T> s, MatrixView<T> y) noexcept {
  const auto factor = simd::broadcast(s);
  transform(
      y, [&](auto p) NORMA_INLINE_LAMBDA { return factor * p; }, x);
}
/// y = s x + b
template <class T>
void scale_add(Input<T> x, std::type_identity_t<T> s, Input<T> b, MatrixView<T> y) noexcept {
  const auto factor = simd::broadcast(s);
  transform(
      y, [&](auto p, auto q) NORMA_INLINE_LAMBDA { return simd::fma(factor, p, q); }, x, b);
}
/// y += a b
template <class T>
void multiply_add(Input<T> a, Input<T> b, MatrixView<T> y) noexcept {
  transform(
      y, [](auto p, auto q, auto z) NORMA_INLINE_LAMBDA { return simd::fma(p, q, z); }, a, b, MatrixView<const T>(y));
}
/// y = s x, or y += s x
template <class T>
void scale_write(Input<T> x, std::type_identity_t<T> s, MatrixView<T> y, Write write) noexcept {
  if (write == Write::assign)
    scale(x, s, y);
  else
    scale_add(x, s, y, y);
}
/// The sums of the columns of x, left in `sums`.
template <class T>
void column_sums(const Executor& executor, MatrixView<const T> x, const ColumnSums<T>& sums) noexcept {
  sums.over_rows(executor, x.rows, [&](Index first, Index last, T* partial, double*) {
    const MatrixView<T> to{partial, 1, x.columns};
    for (Index r = first; r < last; ++r) add<T>(to, x.middle_rows(r, 1), to);
  });
}
/// Sum over all elements of a b, rows in double.
template <class T>
double dot(MatrixView<const T> a, MatrixView<const T> b) noexcept {
  double sum = 0;
  for (Index r = 0; r < a.rows; ++r)
    for (Index i = 0; i < a.columns; ++i)
      sum = simd::fma(static_cast<double>(a.row(r)[i]), static_cast<double>(b.row(r)[i]), sum);
  return sum;
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
