// SPDX-License-Identifier: MIT
// A residual connection and the norm after it, in one visit of every row:
//
//   s = a x + g w + bias,   y = norm(s)                      fma(a, x, fma(g, w, bias)), rounded as it is stored
//   t = norm's gradient at dy, plus ds                       ds: what arrives on the stream beside y
//   dx = a t,  dw = g t,  dbias = sum of t,  da = sum of t x,  dg = sum of t w          sums over rows
//
// Equal to the last bit to the sum stored first and then normalised, because the statistics are those of the rounded
// sum.
#pragma once

#include <norma/kernels/norm_rows.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

namespace detail {

/// A row of a x + g w, formed anew wherever it is read.
template <class S>
struct SummedRow {
  using T = Compute<S>;
  const S *x, *w;
  S* to;  ///< where forward leaves the sum; null: nowhere
  bool streams_too;
  T a, g;

  NORMA_INLINE Pack<T> load(Index i, Index k) const {
    const Pack<T> branch = simd::broadcast(g) * simd::load_up_to(w + i, k);
    return simd::rounded<S>(simd::fma(simd::broadcast(a), simd::load_up_to(x + i, k), branch));
  }
  NORMA_INLINE void prefetch(Index i) const {
    __builtin_prefetch(x + i);
    __builtin_prefetch(w + i);
  }
  NORMA_INLINE void store_sum(Index i, Pack<T> v, Index k, bool streams) const {
    if (to != nullptr) store_or_stream(to + i, v, k, streams && streams_too);
  }
  double at(Index i) const { return static_cast<double>(sum_at(i)); }
  void store_sum_at(Index i) const {
    if (to != nullptr) to[i] = sum_at(i);
  }

 private:
  S sum_at(Index i) const { return static_cast<S>(simd::fma(a, static_cast<T>(x[i]), g * static_cast<T>(w[i]))); }
};

/// Likewise, with factors and a bias per channel, each of which may be null.
template <class S, class P>
struct ChannelSummedRow : SummedRow<S> {
  using T = Compute<S>;
  const P *a_channel, *g_channel, *bias;

  NORMA_INLINE Pack<T> load(Index i, Index k) const {
    return simd::rounded<S>(simd::fma(skip_factor(i, k), simd::load_up_to(this->x + i, k),
                                      simd::fma(branch_factor(i, k), simd::load_up_to(this->w + i, k),
                                                bias != nullptr ? simd::load_up_to(bias + i, k) : simd::zero<T>())));
  }
  NORMA_INLINE Pack<T> skip_factor(Index i, Index k) const {
    return a_channel != nullptr ? simd::load_up_to(a_channel + i, k) : simd::broadcast(this->a);
  }
  NORMA_INLINE Pack<T> branch_factor(Index i, Index k) const {
    return g_channel != nullptr ? simd::load_up_to(g_channel + i, k) : simd::broadcast(this->g);
  }
  double at(Index i) const { return static_cast<double>(sum_at(i)); }
  void store_sum_at(Index i) const {
    if (this->to != nullptr) this->to[i] = sum_at(i);
  }
  T skip_factor_at(Index i) const { return a_channel != nullptr ? static_cast<T>(a_channel[i]) : this->a; }
  T branch_factor_at(Index i) const { return g_channel != nullptr ? static_cast<T>(g_channel[i]) : this->g; }

 private:
  S sum_at(Index i) const {
    const T b = bias != nullptr ? static_cast<T>(bias[i]) : T(0);
    return static_cast<S>(simd::fma(skip_factor_at(i), static_cast<T>(this->x[i]),
                                    simd::fma(branch_factor_at(i), static_cast<T>(this->w[i]), b)));
  }
};

/// Where the gradient t of a sum goes: a t to the skip, g t to the branch.
template <class S, class Row>
struct SumGradientRow {
  using T = Compute<S>;
  Row row;
  const S* ds;
  S *dx, *dw;
  Write write;

  S* address() const { return dx; }
  NORMA_INLINE Pack<T> total(Pack<T> d, Pack<T> rstd, Index i, Index k) const {
    return simd::rounded<S>(ds != nullptr ? simd::fma(d, rstd, simd::load_up_to(ds + i, k)) : d * rstd);
  }
  NORMA_INLINE void spread(Pack<T> t, Pack<T> a, Pack<T> g, Index i, Index k, bool streams) const {
    if (dw != nullptr) store_or_stream(dw + i, g * t, k, streams);
    if (write == Write::add)
      simd::store_up_to(dx + i, simd::fma(a, t, simd::load_up_to(dx + i, k)), k);
    else
      store_or_stream(dx + i, a * t, k, streams);
  }
  NORMA_INLINE void store(Pack<T> d, Pack<T> rstd, Index i, Index k, bool streams) const {
    spread(total(d, rstd, i, k), simd::broadcast(row.a), simd::broadcast(row.g), i, k, streams);
  }
  void store_at(Index i, double d) const { spread_at(total_at(i, d), row.a, row.g, i); }
  T total_at(Index i, double d) const {
    return static_cast<T>(static_cast<S>(ds != nullptr ? static_cast<double>(ds[i]) + d : d));
  }
  void spread_at(T t, T a, T g, Index i) const {
    if (dw != nullptr) dw[i] = static_cast<S>(g * t);
    dx[i] = static_cast<S>(write == Write::add ? simd::fma(a, t, static_cast<T>(dx[i])) : a * t);
  }
};

/// Likewise, with the sums of t, t x and t w, where they are asked for.
template <class S, class P>
struct ChannelGradientRow : SumGradientRow<S, ChannelSummedRow<S, P>> {
  using T = Compute<S>;
  T *dbias, *da, *dg;                         ///< partial sums
  double *dbias_total, *da_total, *dg_total;  ///< for a row that is redone

  NORMA_INLINE void store(Pack<T> d, Pack<T> rstd, Index i, Index k, bool streams) const {
    const Pack<T> t = this->total(d, rstd, i, k);
    const auto add = [&](T* sum, Pack<T> factor) NORMA_INLINE_LAMBDA {
      if (sum != nullptr) simd::store_up_to(sum + i, simd::fma(t, factor, simd::load_up_to(sum + i, k)), k);
    };
    add(dbias, simd::broadcast(T(1)));
    add(da, simd::load_up_to(this->row.x + i, k));
    add(dg, simd::load_up_to(this->row.w + i, k));
    this->spread(t, this->row.skip_factor(i, k), this->row.branch_factor(i, k), i, k, streams);
  }
  void store_at(Index i, double d) const {
    const T t = this->total_at(i, d);
    if (dbias_total != nullptr) dbias_total[i] += static_cast<double>(t);
    if (da_total != nullptr) da_total[i] += static_cast<double>(t) * static_cast<double>(this->row.x[i]);
    if (dg_total != nullptr) dg_total[i] += static_cast<double>(t) * static_cast<double>(this->row.w[i]);
    this->spread_at(t, this->row.skip_factor_at(i), this->row.branch_factor_at(i), i);
  }
};

}  // namespace detail

/// s = a x + g w. x, w: [rows, width].
template <class S>
struct ScaledSum {
  MatrixView<const S> x, w;
  double a = 1, g = 1;

  NORMA_INLINE detail::SummedRow<S> row(Index r, S* to = nullptr, bool streams = false) const {
    return {x.row(r), w.row(r), to, streams, static_cast<Compute<S>>(a), static_cast<Compute<S>>(g)};
  }
};

/// A factor on one side of a sum: a number, or one per channel, [width].
template <class P>
struct ChannelFactor {
  double scalar = 1;
  const P* channel = nullptr;  ///< null: the number
};
/// s = a x + g w + bias, with factors that may differ by channel; bias: [width] or null.
template <class S, class P>
struct ChannelSum {
  MatrixView<const S> x, w;
  ChannelFactor<P> a{}, g{};
  const P* bias = nullptr;

  NORMA_INLINE detail::ChannelSummedRow<S, P> row(Index r, S* to = nullptr, bool streams = false) const {
    return {{x.row(r), w.row(r), to, streams, static_cast<Compute<S>>(a.scalar), static_cast<Compute<S>>(g.scalar)},
            a.channel,
            g.channel,
            bias};
  }
};

/// y = norm(s) for every row, s a ScaledSum or a ChannelSum, and s itself where s_out is not null. s_out may be x or w;
/// y may be one of them if s_out is not. Parameters as in norm_forward.
template <Center C, class Sum, class S, class P>
void residual_norm_forward(const Sum& sum, const P* gamma, const P* beta, double eps, MatrixView<S> s_out,
                           MatrixView<S> y, SavedStatistics<Compute<S>> saved, bool unit_offset = false,
                           const Executor& executor = {}) noexcept {
  const bool streams_too = same_phase(s_out, y);
  detail::forward_rows<C, S, P>(
      [&](Index r)
          NORMA_INLINE_LAMBDA { return sum.row(r, s_out.data != nullptr ? s_out.row(r) : nullptr, streams_too); },
      gamma, beta, unit_offset, eps, y, saved, exceeds_caches(y, s_out), executor);
}

namespace detail {

/// rows: what forward normalised, as a matrix or as the sum; output_of: see backward_rows.
template <Center C, class Rows, class S, class P, class OutputOf>
void residual_backward_rows(const Rows& rows, MatrixView<const S> dy, MatrixView<const S> ds, const P* gamma,
                            double eps, SavedStatistics<const Compute<S>> saved, MatrixView<S> dx, Write write,
                            MatrixView<S> dw, const OutputOf& output_of, bool unit_offset,
                            const ColumnSums<Compute<S>>& sums, const Executor& executor) noexcept {
  const bool beyond_cache =
      streams(dx, dy, write, dw) && dx.data != ds.data && (dw.data == nullptr || same_phase(dx, dw));
  backward_rows<C, S, P>(
      [&](Index r) NORMA_INLINE_LAMBDA {
        if constexpr (std::is_same_v<Rows, MatrixView<const S>>)
          return StoredRow<S>{rows.row(r)};
        else
          return rows.row(r);
      },
      dy, gamma, unit_offset, eps, saved, output_of, beyond_cache, in_phase(dx), sums, executor);
}

}  // namespace detail

/// dx (assigned or added), dw (assigned; null: not wanted) and dgamma, dbeta (added; null where absent) from dy and
/// from ds, the gradient that arrives on the stream beside y, or null. rows: the sum that forward stored, or `sum`
/// again where it stored none. dx may be dy or ds; dw neither of the two nor dx. `sums` is scratch of 2 x width
/// columns.
template <Center C, class Rows, class S, class P>
void residual_norm_backward(const ScaledSum<S>& sum, const Rows& rows, MatrixView<const S> dy, MatrixView<const S> ds,
                            const P* gamma, double eps, SavedStatistics<const Compute<S>> saved, MatrixView<S> dx,
                            Write write, MatrixView<S> dw, P* dgamma, P* dbeta, const ColumnSums<Compute<S>>& sums,
                            bool unit_offset = false, const Executor& executor = {}) noexcept {
  using Row = detail::SummedRow<S>;
  const Row factors = sum.row(0);
  const bool wanted = dgamma != nullptr || dbeta != nullptr;
  detail::residual_backward_rows<C, Rows, S, P>(
      rows, dy, ds, gamma, eps, saved, dx, write, dw,
      [&](Index r, auto*, auto*) NORMA_INLINE_LAMBDA {
        return detail::SumGradientRow<S, Row>{factors, ds.data != nullptr ? ds.row(r) : nullptr, dx.row(r),
                                              dw.data != nullptr ? dw.row(r) : nullptr, write};
      },
      unit_offset, wanted ? sums : ColumnSums<Compute<S>>{}, executor);
  if (dgamma != nullptr) sums.add_to(dgamma, 0, dy.columns);
  if (dbeta != nullptr) sums.add_to(dbeta, dy.columns, dy.columns);
}

namespace detail {

/// gradient += the sums in columns [first, first + n): one by one, or all together for a factor that is a number.
template <class P, class T>
void add_factor_gradient(P* gradient, const ChannelFactor<P>& factor, const ColumnSums<T>& sums, Index first, Index n) {
  if (gradient == nullptr) return;
  if (factor.channel != nullptr)
    sums.add_to(gradient, first, n);
  else
    sums.add_sum_to(gradient, first, n);
}

}  // namespace detail

/// Gradients of a norm's and a sum's parameters, added; null where not wanted. Of a factor that is a number: one value.
template <class P>
struct ResidualGradients {
  P *gamma = nullptr, *beta = nullptr, *bias = nullptr, *a = nullptr, *g = nullptr;
  static constexpr Index kColumns = 5;  ///< x width: what ColumnSums needs
};
/// Likewise for a ChannelSum. `sums` is scratch of 5 x width columns. dx, where it is assigned, must not be x or w.
template <Center C, class Rows, class S, class P>
void residual_norm_backward(const ChannelSum<S, P>& sum, const Rows& rows, MatrixView<const S> dy,
                            MatrixView<const S> ds, const P* gamma, double eps, SavedStatistics<const Compute<S>> saved,
                            MatrixView<S> dx, Write write, MatrixView<S> dw, const ResidualGradients<P>& gradients,
                            const ColumnSums<Compute<S>>& sums, bool unit_offset = false,
                            const Executor& executor = {}) noexcept {
  const Index n = dy.columns;
  detail::residual_backward_rows<C, Rows, S, P>(
      rows, dy, ds, gamma, eps, saved, dx, write, dw,
      [&](Index r, auto* partial, auto* total) NORMA_INLINE_LAMBDA {
        const auto at = [n](auto* sums_of, const P* gradient, Index part) NORMA_INLINE_LAMBDA {
          return sums_of != nullptr && gradient != nullptr ? sums_of + part * n : nullptr;
        };
        return detail::ChannelGradientRow<S, P>{{sum.row(r), ds.data != nullptr ? ds.row(r) : nullptr, dx.row(r),
                                                 dw.data != nullptr ? dw.row(r) : nullptr, write},
                                                at(partial, gradients.bias, 2),
                                                at(partial, gradients.a, 3),
                                                at(partial, gradients.g, 4),
                                                at(total, gradients.bias, 2),
                                                at(total, gradients.a, 3),
                                                at(total, gradients.g, 4)};
      },
      unit_offset, sums, executor);
  if (gradients.gamma != nullptr) sums.add_to(gradients.gamma, 0, n);
  if (gradients.beta != nullptr) sums.add_to(gradients.beta, n, n);
  if (gradients.bias != nullptr) sums.add_to(gradients.bias, 2 * n, n);
  detail::add_factor_gradient(gradients.a, sum.a, sums, 3 * n, n);
  detail::add_factor_gradient(gradients.g, sum.g, sums, 4 * n, n);
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
