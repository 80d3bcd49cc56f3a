// SPDX-License-Identifier: MIT
// A residual connection with factors, where no norm follows it in the same visit:
//
//   s = a x + g w + bias                                      rounded as in residual_norm.hpp
//   dx = a ds,  dw = g ds,  da = sum of ds x,  dg = sum of ds w          sums over rows
#pragma once

#include <norma/kernels/residual_norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// s for every row of a ScaledSum or a ChannelSum. s: [rows, width], may be x or w.
template <class Sum, class S>
void residual_sum_forward(const Sum& sum, MatrixView<S> s, const Executor& executor = {}) noexcept {
  executor.split(s.rows, 1, [&](Index, Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const auto row = sum.row(r);
      simd::for_each_pack<Compute<S>>(
          s.columns, [&](Index i, Index k) NORMA_INLINE_LAMBDA { simd::store_up_to(s.row(r) + i, row.load(i, k), k); });
    }
  });
}

/// ds, the gradient of s, becomes dx; dw is assigned and lies apart from ds, x and w. da, dg: added, [width], or one
/// value for a factor that is a number; null: not wanted, and then dw may be w. `sums` is scratch of width columns for
/// each of the two that is wanted.
template <class S, class P>
void residual_sum_backward(const ChannelSum<S, P>& sum, MatrixView<S> ds, MatrixView<S> dw, P* da, P* dg,
                           const ColumnSums<Compute<S>>& sums, const Executor& executor = {}) noexcept {
  using T = Compute<S>;
  const Index n = ds.columns, g_first = da != nullptr ? n : 0;
  const auto one = simd::broadcast(T(1));
  sums.over_rows(executor, ds.rows, [&](Index first, Index last, T* partial, double*) {
    T *const a_sums = da != nullptr ? partial : nullptr, *const g_sums = dg != nullptr ? partial + g_first : nullptr;
    for (Index r = first; r < last; ++r) {
      const detail::ChannelGradientRow<S, P> row{{sum.row(r), nullptr, ds.row(r), dw.row(r), Write::assign},
                                                 nullptr,
                                                 a_sums,
                                                 g_sums,
                                                 nullptr,
                                                 nullptr,
                                                 nullptr};
      simd::for_each_pack<T>(n, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
        row.store(simd::load_up_to(ds.row(r) + i, k), one, i, k, false);
      });
    }
  });
  detail::add_factor_gradient(da, sum.a, sums, 0, n);
  detail::add_factor_gradient(dg, sum.g, sums, g_first, n);
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
