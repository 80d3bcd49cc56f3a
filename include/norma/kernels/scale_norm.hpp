// SPDX-License-Identifier: MIT
// ScaleNorm (Nguyen and Salazar, "Transformers without Tears", arXiv 1910.05895, equation 5), and the l2 norm it is
// made of:
//
//   l = max(|x|, eps),  n = x / l,  y = g n
//   |x| > eps:  dx = g / l (dy - n (n . dy)),  else dx = g / l dy;    dg = sum over rows of n . dy
//
// The norm is clamped, as in the authors' code, not eps added. Saved for backward: 1 / l per row, negative where it was
// clamped. x, y and their gradients are stored as S.
#pragma once

#include <norma/kernels/norm_rows.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

namespace detail {

/// 1 / l of one row, negative where it was clamped.
template <class S>
double inverse_length(const StoredRow<S>& row, Index n, double eps) {
  const auto [squares] = row_sums<Compute<S>, 1>(n, [&](Index i, Index k, Pack<Compute<S>>* lane) NORMA_INLINE_LAMBDA {
    const auto v = row.load(i, k);
    lane[0] = simd::fma(v, v, lane[0]);
  });
  double length = std::sqrt(squares);
  if (!simd::is_finite(squares) || squares < kSmallestMeanSquare) {
    // The scaled path of the other norms, with eps 0: |x| = sqrt(n) / rstd.
    const ScaledStatistics s = scaled_statistics<Center::none>(row, n, 0);
    length = s.rstd == 0 ? 0 : std::sqrt(static_cast<double>(n)) / s.rstd / s.scale;
  }
  return length <= eps ? -1 / eps : 1 / length;
}

/// Whether products with 1 / l stay in the range of T; else the row is computed in double.
template <class T>
bool fits(double inverse) {
  return sizeof(T) == 8 || (std::fabs(inverse) > 0x1p-60 && std::fabs(inverse) < 0x1p60);
}

}  // namespace detail

/// y = g x / max(|x|, eps) for every row. x, y: [rows, width]; y may be x. inverse: one value per row, or null.
template <class S>
void scale_norm_forward(MatrixView<const S> x, Compute<S> g, double eps, MatrixView<S> y, Compute<S>* inverse,
                        const Executor& executor = {}) noexcept {
  using T = Compute<S>;
  executor.split(x.rows, 1, [&](Index, Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const detail::StoredRow<S> row{x.row(r)};
      S* const out = y.row(r);
      const double saved = detail::inverse_length(row, x.columns, eps), inv = std::fabs(saved);
      if (inverse != nullptr) inverse[r] = static_cast<T>(saved);
      if (detail::fits<T>(inv)) {
        const auto factor = simd::broadcast(static_cast<T>(inv)), gain = simd::broadcast(g);
        simd::for_each_pack<T>(x.columns, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
          simd::store_up_to(out + i, row.load(i, k) * factor * gain, k);
        });
      } else {
        for (Index i = 0; i < x.columns; ++i) out[i] = static_cast<S>(row.at(i) * inv * static_cast<double>(g));
      }
    }
  });
}

/// dx (assigned or added) from dy, and dg (added; null: not wanted). dx may be dy. `sums` is scratch of one column.
template <class S, class P = S>
void scale_norm_backward(MatrixView<const S> x, MatrixView<const S> dy, Compute<S> g, const Compute<S>* inverse,
                         MatrixView<S> dx, Write write, std::type_identity_t<P>* dg, const ColumnSums<Compute<S>>& sums,
                         const Executor& executor = {}) noexcept {
  using T = Compute<S>;
  const Index n = x.columns;
  const auto row_backward = [&](Index r) {
    const detail::StoredRow<S> row{x.row(r)};
    const S* const grad = dy.row(r);
    const detail::GradientRow<S> out{dx.row(r), write};
    const double saved = static_cast<double>(inverse[r]), inv = std::fabs(saved), gain = static_cast<double>(g) * inv;
    const bool clamped = saved < 0;
    if (detail::fits<T>(inv)) {
      const auto factor = simd::broadcast(static_cast<T>(inv));
      const auto [inner] = detail::row_sums<T, 1>(n, [&](Index i, Index k, simd::Pack<T>* lane) NORMA_INLINE_LAMBDA {
        lane[0] = simd::fma(row.load(i, k) * factor, simd::load_up_to(grad + i, k), lane[0]);
      });
      if (simd::is_finite(inner)) {
        const auto minus_along = simd::broadcast(static_cast<T>(clamped ? 0 : -inner)),
                   scale = simd::broadcast(static_cast<T>(gain));
        simd::for_each_pack<T>(n, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
          const auto d = simd::fma(row.load(i, k) * factor, minus_along, simd::load_up_to(grad + i, k));
          out.store(d, scale, i, k, false);
        });
        return inner;
      }
    }
    const double inner =
        detail::pairwise_sum(0, n, [&](Index i) { return row.at(i) * inv * static_cast<double>(grad[i]); });
    for (Index i = 0; i < n; ++i)
      out.store_at(i, gain * (static_cast<double>(grad[i]) - row.at(i) * inv * (clamped ? 0 : inner)));
    return inner;
  };
  sums.over_rows(executor, x.rows, [&](Index begin, Index end, T*, double* total) {
    for (Index r = begin; r < end; ++r) total[0] += row_backward(r);
  });
  if (dg != nullptr) sums.add_to(dg, 0, 1);
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
