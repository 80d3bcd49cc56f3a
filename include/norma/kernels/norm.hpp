// SPDX-License-Identifier: MIT
// LayerNorm (Ba et al., arXiv 1607.06450, equations 3 and 4) and RMSNorm (Zhang and Sennrich, arXiv 1910.07467,
// equation 4) over rows.
//
//   n = ((x - hi) - lo) * rstd          hi + lo the mean (zero for RMSNorm), rstd = 1 / sqrt(variance + eps)
//   y = n * gamma + beta
//   h = dy * gamma
//   dx = rstd * (h - mean(h) - n * mean(h * n))          without mean(h) for RMSNorm
//   dgamma = sum over rows of dy * n,  dbeta = sum over rows of dy
//
// Saved for backward: hi, lo (LayerNorm only) and rstd per row. gamma and beta may be null: one and zero. With unit
// offset the factor is 1 + gamma (Gemma's form), formed in the scalar type.
#pragma once

#include <norma/core/view.hpp>
#include <norma/kernels/column_sums.hpp>
#include <norma/kernels/row_statistics.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// Statistics of all rows, one value per row. hi and lo are null for RMSNorm.
template <class T>
struct SavedStatistics {
  T* hi = nullptr;
  T* lo = nullptr;
  T* rstd = nullptr;
};

namespace detail {

template <class T>
NORMA_INLINE Pack<T> normalized(Pack<T> x, Pack<T> hi, Pack<T> lo, Pack<T> rstd) {
  // Subtracted one after the other: a constant row comes to zero exactly, and so to beta.
  return (simd::keep(x - hi) - lo) * rstd;
}

/// The factor on the normalised row.
template <class T>
struct Factor {
  const T* gamma;
  T offset;  ///< 1 with unit offset

  NORMA_INLINE Pack<T> load(Index i, Index k) const {
    return gamma != nullptr ? simd::broadcast(offset) + simd::load_up_to(gamma + i, k) : simd::broadcast(T(1));
  }
  double at(Index i) const { return gamma != nullptr ? static_cast<double>(offset + gamma[i]) : 1.0; }
};

template <Center C, class T>
NORMA_COLD RowStatistics<T> norm_row_scaled(const T* x, Factor<T> factor, const T* beta, T* y, Index n, double eps) {
  const ScaledStatistics s = scaled_statistics<C>(x, n, eps);
  for (Index i = 0; i < n; ++i) {
    const double b = beta != nullptr ? static_cast<double>(beta[i]) : 0.0;
    y[i] = static_cast<T>(s.normalized(x[i]) * factor.at(i) + b);
  }
  return {static_cast<T>(s.hi / s.scale), static_cast<T>(s.lo / s.scale), static_cast<T>(s.unscaled_rstd())};
}

}  // namespace detail

/// y = norm(x) for every row. x, y: [rows, width]; gamma, beta: [width] or null; y may be x. \see norm.hpp for the
/// equations.
template <Center C, class T>
void norm_forward(MatrixView<const T> x, const T* gamma, const T* beta, double eps, MatrixView<T> y,
                  SavedStatistics<T> saved, bool unit_offset = false, const Executor& executor = {}) noexcept {
  using namespace simd;
  const Index n = x.columns;
  const detail::Factor<T> factor{gamma, unit_offset ? T(1) : T(0)};
  const Pack<T> none = zero<T>();
  executor.split(x.rows, 1, [&](Index, Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const T* in = x.row(r);
      T* out = y.row(r);
      bool good = false;
      RowStatistics<T> s = row_statistics<C>(in, n, eps, good);
      if (good) {
        const Pack<T> hi = broadcast(s.hi), lo = broadcast(s.lo), rstd = broadcast(s.rstd);
        for_each_pack<T>(n, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
          const Pack<T> v = load_up_to(in + i, k);
          const Pack<T> u = C == Center::mean ? detail::normalized(v, hi, lo, rstd) : v * rstd;
          const Pack<T> b = beta != nullptr ? load_up_to(beta + i, k) : none;
          store_up_to(out + i, fma(u, factor.load(i, k), b), k);
        });
      } else {
        s = detail::norm_row_scaled<C>(in, factor, beta, out, n, eps);
      }
      if constexpr (C == Center::mean) {
        saved.hi[r] = s.hi;
        saved.lo[r] = s.lo;
      }
      saved.rstd[r] = s.rstd;
    }
  });
}

namespace detail {

template <Center C, class T>
NORMA_COLD void norm_row_backward_scaled(const T* x, const T* dy, Factor<T> factor, T* dx, Write write, Index n,
                                         double eps, double* sums) {
  const ScaledStatistics s = scaled_statistics<C>(x, n, eps);
  const auto h = [&](Index i) { return static_cast<double>(dy[i]) * factor.at(i); };
  const double count = static_cast<double>(n);
  double mean_h = pairwise_sum(0, n, [&](Index i) { return h(i) / count; });
  const double mean_hn = pairwise_sum(0, n, [&](Index i) { return h(i) * s.normalized(x[i]) / count; });
  if constexpr (C == Center::none) mean_h = 0;
  for (Index i = 0; i < n; ++i) {
    const double u = s.normalized(x[i]), d = (h(i) - mean_h - u * mean_hn) * s.rstd * s.scale;
    if (sums != nullptr) {
      sums[i] += static_cast<double>(dy[i]) * u;
      sums[n + i] += static_cast<double>(dy[i]);
    }
    dx[i] = write == Write::assign ? static_cast<T>(d) : static_cast<T>(static_cast<double>(dx[i]) + d);
  }
}

}  // namespace detail

/// dx (assigned or added) from dy, and dgamma, dbeta (added; null where absent). dx may be dy. Shapes as in forward;
/// `eps` is forward's, for rows that are redone. `sums` is scratch of 2 x width columns, gamma's, then
/// beta's; not used if both are absent.
template <Center C, class T>
void norm_backward(MatrixView<const T> x, MatrixView<const T> dy, const T* gamma, double eps,
                   SavedStatistics<const T> saved, MatrixView<T> dx, Write write, T* dgamma, T* dbeta,
                   const ColumnSums<T>& sums, bool unit_offset = false, const Executor& executor = {}) noexcept {
  using namespace simd;
  const Index n = x.columns;
  const detail::Factor<T> factor{gamma, unit_offset ? T(1) : T(0)};
  // Parameter sums go to `partial`, those of a redone row to `total`; both null where no one asks for them.
  const auto row = [&](Index r, T* partial, double* total) {
    const T *in = x.row(r), *grad = dy.row(r);
    T* out = dx.row(r);
    const Pack<T> rstd = broadcast(saved.rstd[r]);
    const Pack<T> hi = broadcast(C == Center::mean ? saved.hi[r] : T(0)),
                  lo = broadcast(C == Center::mean ? saved.lo[r] : T(0));
    const auto load_n = [&](Index i, Index k) NORMA_INLINE_LAMBDA {
      const Pack<T> v = load_up_to(in + i, k);
      return C == Center::mean ? detail::normalized(v, hi, lo, rstd) : v * rstd;
    };
    bool good = detail::is_plain(saved.rstd[r]);
    std::array<double, 2> s{};
    if (good) {
      s = detail::row_sums<T, 2>(n, [&](Index i, Index k, Pack<T>* lane) NORMA_INLINE_LAMBDA {
        const Pack<T> g = load_up_to(grad + i, k), f = factor.load(i, k);  // zero beyond the row, so all products are
        lane[0] = fma(g, f, lane[0]);
        lane[1] = fma(g * f, load_n(i, k), lane[1]);
      });
      good = is_finite(s[0]) && is_finite(s[1]);
    }
    if (good) {
      const Pack<T> minus_mean_h = broadcast(C == Center::mean ? static_cast<T>(-s[0] / static_cast<double>(n)) : T(0));
      const Pack<T> minus_mean_hn = broadcast(static_cast<T>(-s[1] / static_cast<double>(n)));
      for_each_pack<T>(n, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
        const Pack<T> u = load_n(i, k), g = load_up_to(grad + i, k);
        if (partial != nullptr) {
          T *dg = partial + i, *db = partial + n + i;
          store_up_to(dg, fma(g, u, load_up_to(dg, k)), k);
          store_up_to(db, load_up_to(db, k) + g, k);
        }
        const Pack<T> d = fma(u, minus_mean_hn, fma(g, factor.load(i, k), minus_mean_h));
        store_up_to(out + i, write == Write::assign ? d * rstd : fma(d, rstd, load_up_to(out + i, k)), k);
      });
    } else {
      detail::norm_row_backward_scaled<C>(in, grad, factor, out, write, n, eps, total);
    }
  };
  if (dgamma == nullptr && dbeta == nullptr) {
    executor.split(x.rows, 1, [&](Index, Index begin, Index end) {
      for (Index r = begin; r < end; ++r) row(r, nullptr, nullptr);
    });
    return;
  }
  sums.over_rows(executor, x.rows, row);
  if (dgamma != nullptr) sums.add_to(dgamma, 0, n);
  if (dbeta != nullptr) sums.add_to(dbeta, n, n);
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
