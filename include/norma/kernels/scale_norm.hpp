// SPDX-License-Identifier: MIT
// ScaleNorm (Nguyen and Salazar, "Transformers without Tears", arXiv 1910.05895, equation 5), and the l2 norm it is
// made of:
//
//   l = max(|x|, eps),  n = x / l,  y = g n
//   |x| > eps:  dx = g / l (dy - n (n . dy)),  else dx = g / l dy;    dg = sum over rows of n . dy
//
// The norm is clamped, as in the authors' code, not eps added. Saved for backward: 1 / l per row, negative where it was
// clamped.
#pragma once

#include <norma/core/view.hpp>
#include <norma/kernels/norm_rows.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// y = g x / max(|x|, eps) for every row; y may be x. inverse: one value per row.
template <class T>
void scale_norm_forward(MatrixView<const T> x, T g, double eps, MatrixView<T> y, T* inverse) noexcept {
  using namespace simd;
  for (Index r = 0; r < x.rows; ++r) {
    const T* in = x.row(r);
    T* out = y.row(r);
    const auto [squares] = detail::row_sums<T, 1>(x.columns, [&](Index i, Index k, Pack<T>* lane) NORMA_INLINE_LAMBDA {
      const Pack<T> v = load_up_to(in + i, k);
      lane[0] = fma(v, v, lane[0]);
    });
    double length = std::sqrt(squares), scale = 1;
    if (!is_finite(squares) || squares < detail::kSmallestMeanSquare) {
      // The scaled path of the other norms, with eps 0: |x| = sqrt(n) / rstd.
      const detail::ScaledStatistics s =
          detail::scaled_statistics<Center::none>(detail::StoredRow<T>{in}, x.columns, 0);
      scale = s.scale;
      length = s.rstd == 0 ? 0 : std::sqrt(static_cast<double>(x.columns)) / s.rstd / s.scale;
    }
    const bool clamped = length <= eps;
    const double l = clamped ? eps : length;
    inverse[r] = static_cast<T>(clamped ? -1 / l : 1 / l);
    if (scale == 1) {
      const Pack<T> factor = broadcast(static_cast<T>(1 / l)), gain = broadcast(g);
      for_each_pack<T>(x.columns, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
        store_up_to(out + i, load_up_to(in + i, k) * factor * gain, k);
      });
    } else {
      for (Index i = 0; i < x.columns; ++i)
        out[i] = static_cast<T>(static_cast<double>(in[i]) / l * static_cast<double>(g));
    }
  }
}

/// dx (assigned or added) from dy; returns dg. dx may be dy.
template <class T>
double scale_norm_backward(MatrixView<const T> x, MatrixView<const T> dy, T g, const T* inverse, MatrixView<T> dx,
                           Write write) noexcept {
  double dg = 0;
  for (Index r = 0; r < x.rows; ++r) {
    const T *in = x.row(r), *grad = dy.row(r);
    T* out = dx.row(r);
    const double saved = static_cast<double>(inverse[r]), inv = std::fabs(saved);
    const double inner = detail::pairwise_sum(
        0, x.columns, [&](Index i) { return static_cast<double>(in[i]) * inv * static_cast<double>(grad[i]); });
    dg += inner;
    const double along = saved < 0 ? 0 : inner, gain = static_cast<double>(g) * inv;
    for (Index i = 0; i < x.columns; ++i) {
      const double d = gain * (static_cast<double>(grad[i]) - static_cast<double>(in[i]) * inv * along);
      out[i] = static_cast<T>(write == Write::assign ? d : static_cast<double>(out[i]) + d);
    }
  }
  return dg;
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
