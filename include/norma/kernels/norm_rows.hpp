// SPDX-License-Identifier: MIT
// What LayerNorm and RMSNorm do to rows, whatever the rows are: a matrix's, or the sums of a residual connection.
//
// S is how activations are stored, P how parameters are, Compute<S> what everything is computed in.
#pragma once

#include <norma/core/executor.hpp>
#include <norma/kernels/column_sums.hpp>
#include <norma/kernels/row_statistics.hpp>
#include <norma/kernels/streaming.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// Statistics of all rows, one value per row. hi and lo are null for RMSNorm; all null: not saved, and backward finds
/// them again.
template <class T>
struct SavedStatistics {
  T* hi = nullptr;
  T* lo = nullptr;
  T* rstd = nullptr;

  constexpr operator SavedStatistics<const T>() const requires(!std::is_const_v<T>) { return {hi, lo, rstd}; }
};

namespace detail {

/// Whether a gradient bypasses the caches.
template <class S>
bool streams(MatrixView<S> dx, MatrixView<const S> dy, Write write, MatrixView<S> dw = {}) {
  return write == Write::assign && dx.data != dy.data && exceeds_caches(dx, dw);
}

/// A row of a matrix.
template <class S>
struct StoredRow {
  const S* x;
  NORMA_INLINE Pack<Compute<S>> load(Index i, Index k) const { return simd::load_up_to(x + i, k); }
  NORMA_INLINE void store_sum(Index, Pack<Compute<S>>, Index, bool) const {}
  NORMA_INLINE void prefetch(Index i) const { __builtin_prefetch(x + i); }
  /// Element i in double.
  double at(Index i) const { return static_cast<double>(x[i]); }
  void store_sum_at(Index) const {}
};

/// Statistics of one row in registers.
template <Center C, class T>
struct Normalizer {
  Pack<T> hi, minus_lo_rstd, rstd;
  NORMA_INLINE explicit Normalizer(const RowStatistics<T>& s)
      : hi(simd::broadcast(s.hi)), minus_lo_rstd(simd::broadcast(-s.lo * s.rstd)), rstd(simd::broadcast(s.rstd)) {}
  NORMA_INLINE Pack<T> operator()(Pack<T> x) const {
    // hi is subtracted first and alone: a constant row comes to zero exactly, and so to beta.
    if constexpr (C == Center::mean)
      return simd::fma(simd::keep(x - hi), rstd, minus_lo_rstd);
    else
      return simd::keep_if_fast(x * rstd);  // or gamma is multiplied first in one loop and not in another
  }
};

/// gamma and beta. As usual: LayerNorm has both, RMSNorm gamma alone. Else either may be null, and offset is 1 with
/// unit offset.
template <Center C, bool kAsUsual, class T, class P>
struct Affine {
  static constexpr bool kUsual = kAsUsual;
  const P* gamma;
  const P* beta;
  T offset;

  NORMA_INLINE Pack<T> factor(Index i, Index k) const {
    if constexpr (kUsual) return simd::load_up_to(gamma + i, k);
    return gamma != nullptr ? simd::broadcast(offset) + simd::load_up_to(gamma + i, k) : simd::broadcast(T(1));
  }
  NORMA_INLINE Pack<T> apply(Pack<T> u, Index i, Index k) const {
    if constexpr (kUsual && C == Center::none) return u * factor(i, k);
    return simd::fma(u, factor(i, k), kUsual || beta != nullptr ? simd::load_up_to(beta + i, k) : simd::zero<T>());
  }
  double factor_at(Index i) const {
    return gamma != nullptr ? static_cast<double>(offset + static_cast<T>(gamma[i])) : 1.0;
  }
  double shift_at(Index i) const { return beta != nullptr ? static_cast<double>(beta[i]) : 0.0; }
};
/// f(affine, general): with what is usual told at compile time where it holds, and without.
template <Center C, class T, class P, class F>
void with_affine(const P* gamma, const P* beta, bool beta_as_usual, bool unit_offset, const F& f) {
  const Affine<C, false, T, P> general{gamma, beta, unit_offset ? T(1) : T(0)};
  if (gamma != nullptr && beta_as_usual && !unit_offset)
    f(Affine<C, true, T, P>{gamma, beta, T(0)}, general);
  else
    f(general, general);
}

template <Center C, class T, class Row, class A, class S>
NORMA_COLD RowStatistics<T> forward_scaled(const Row& row, const A& affine, S* y, Index n, double eps) {
  const ScaledStatistics s = scaled_statistics<C>(row, n, eps);
  for (Index i = 0; i < n; ++i) {
    const double v = s.normalized(row.at(i)) * affine.factor_at(i) + affine.shift_at(i);
    row.store_sum_at(i);
    y[i] = static_cast<S>(v);
  }
  return s.unscaled<T>();
}

/// Rows up to this size are pipelined: several of them and the parameters stay in a first-level cache. Longer ones have
/// work enough of their own.
inline constexpr Index kPipelinedBytes = 4 << 10;

/// y = norm(row_of(r)) for every row. Pipelined, four rows are in flight: one is fetched, and the three before it are
/// at their first pass, their second, and written; so nothing waits for memory, or for the statistics of its own row.
template <Center C, class S, class P, class RowOf>
void forward_rows(const RowOf& row_of, const P* gamma, const P* beta, bool unit_offset, double eps, MatrixView<S> y,
                  SavedStatistics<Compute<S>> saved, bool beyond_cache, const Executor& executor) noexcept {
  using T = Compute<S>;
  const Index n = y.columns;
  const Index lag = n * static_cast<Index>(sizeof(S)) <= kPipelinedBytes ? 1 : 0;
  const bool beta_as_usual = (beta != nullptr) == (C == Center::mean);
  with_affine<C, T>(gamma, beta, beta_as_usual, unit_offset, [&](const auto affine, const auto& general) {
    const auto write = [&](const auto& row, const auto& ahead, const RowStatistics<T>& s, S* out) NORMA_INLINE_LAMBDA {
      const Normalizer<C, T> normalize(s);
      const auto local = affine;
      with_streams<affine.kUsual>(beyond_cache, [&](auto streams) NORMA_INLINE_LAMBDA {
        // Full packs at aligned addresses: what streaming needs, and ordinary stores would cross cache lines.
        simd::for_each_pack_after<T>(simd::elements_to_stream(out), n, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
          ahead.prefetch(i);
          const Pack<T> v = row.load(i, k), r = local.apply(normalize(v), i, k);
          row.store_sum(i, v, k, streams);
          store_or_stream(out + i, r, k, streams);
        });
      });
    };
    executor.split(y.rows, 1, [&](Index, Index begin, Index end) {
      T shift[2]{};
      RowStatistics<T> found[2]{};
      bool good[2]{};
      for (Index r = begin - 2 * lag; r < end; ++r) {
        const Index first = r + 2 * lag, second = r + lag, fetched = (std::min)(first + 1, end - 1);
        if (first < end) shift[first % 2] = row_shift<C, T>(row_of(first), n);
        if (second >= begin && second < end)
          found[second % 2] = row_statistics<C>(row_of(second), shift[second % 2], n, eps, good[second % 2]);
        if (r < begin) continue;
        RowStatistics<T> s = found[r % 2];
        if (good[r % 2])
          write(row_of(r), row_of(fetched), s, y.row(r));
        else
          s = forward_scaled<C, T>(row_of(r), general, y.row(r), n, eps);
        if (C == Center::mean && saved.hi != nullptr) {
          saved.hi[r] = s.hi;
          saved.lo[r] = s.lo;
        }
        if (saved.rstd != nullptr) saved.rstd[r] = s.rstd;
      }
      if (beyond_cache) simd::stream_fence();
    });
  });
}

/// Where the gradient of a matrix's row goes. d rstd is the gradient.
template <class S>
struct GradientRow {
  S* dx;
  Write write;

  S* address() const { return dx; }
  template <class T>
  NORMA_INLINE void store(Pack<T> d, Pack<T> rstd, Index i, Index k, bool streams) const {
    if (write == Write::add)
      simd::store_up_to(dx + i, simd::fma(d, rstd, simd::load_up_to(dx + i, k)), k);
    else
      store_or_stream(dx + i, d * rstd, k, streams);
  }
  void store_at(Index i, double d) const {
    dx[i] = static_cast<S>(write == Write::add ? static_cast<double>(dx[i]) + d : d);
  }
};

/// How many rows backward writes side by side: for as many, the sums for gamma and beta stay in registers.
inline constexpr int kRowsAtOnce = simd::kLanes<float> == 16 ? 4 : 2;

template <Center C, class Row, class A, class S, class Output>
NORMA_COLD void backward_scaled(const Row& row, const S* dy, const A& affine, const Output& output, Index n, double eps,
                                double* sums) {
  const ScaledStatistics s = scaled_statistics<C>(row, n, eps);
  const auto h = [&](Index i) { return static_cast<double>(dy[i]) * affine.factor_at(i); };
  const double count = static_cast<double>(n);
  double mean_h = pairwise_sum(0, n, [&](Index i) { return h(i) / count; });
  const double mean_hn = pairwise_sum(0, n, [&](Index i) { return h(i) * s.normalized(row.at(i)) / count; });
  if constexpr (C == Center::none) mean_h = 0;
  for (Index i = 0; i < n; ++i) {
    const double u = s.normalized(row.at(i)), d = (h(i) - mean_h - u * mean_hn) * s.rstd * s.scale;
    if (sums != nullptr) {
      sums[i] += static_cast<double>(dy[i]) * u;
      sums[n + i] += static_cast<double>(dy[i]);
    }
    output.store_at(i, d);
  }
}

/// What backward needs of one row: its statistics, and d = h - mean(h) - n mean(h n).
template <class T>
struct RowGradient {
  RowStatistics<T> statistics;
  T minus_mean_h, minus_mean_hn;
  bool good;  ///< else the row is for the scaled path
};
template <Center C, class T, class Row, class A, class S>
NORMA_OUT_OF_LINE RowGradient<T> row_gradient(const Row& row, const RowStatistics<T>& statistics, const S* dy,
                                              const A affine, Index n) {
  const Normalizer<C, T> normalize(statistics);
  const auto [sum_h, sum_hn] = row_sums<T, 2>(n, [&](Index i, Index k, Pack<T>* lane) NORMA_INLINE_LAMBDA {
    const Pack<T> g = simd::load_up_to(dy + i, k), f = affine.factor(i, k);  // zero beyond the row
    lane[0] = simd::fma(g, f, lane[0]);
    lane[1] = simd::fma(g * f, normalize(row.load(i, k)), lane[1]);
  });
  const double count = static_cast<double>(n);
  return {statistics, C == Center::mean ? static_cast<T>(-sum_h / count) : T(0), static_cast<T>(-sum_hn / count),
          simd::is_finite(sum_h) && simd::is_finite(sum_hn)};
}
/// What forward did not save, as it would have.
template <Center C, class T, class Row>
NORMA_COLD RowStatistics<T> found_again(const Row& row, Index n, double eps) {
  bool good = true;
  const RowStatistics<T> s = row_statistics<C>(row, row_shift<C, T>(row, n), n, eps, good);
  return good ? s : scaled_statistics<C>(row, n, eps).template unscaled<T>();
}

/// Rows [r, r + Count) of backward's second pass, whose outputs begin equally far from an aligned address. `ahead`:
/// elements to the rows that follow, fetched meanwhile.
template <Center C, int Count, class T, class Row, class Output, class A, class S>
NORMA_INLINE void write_gradients(const Row (&row)[Count], const S* const (&dy)[Count],
                                  const RowGradient<T> (&gradient)[Count], const Output (&output)[Count],
                                  const A affine, Index n, T* partial, bool beyond_cache, Index ahead) {
  const auto write = [&](Index i, Index k, auto streams) NORMA_INLINE_LAMBDA {
    const Pack<T> f = affine.factor(i, k);
    Pack<T> dgamma = simd::zero<T>(), dbeta = simd::zero<T>();
    if (partial != nullptr) {
      dgamma = simd::load_up_to(partial + i, k);
      dbeta = simd::load_up_to(partial + n + i, k);
    }
    NORMA_UNROLL
    for (int j = 0; j < Count; ++j) {
      const Normalizer<C, T> normalize(gradient[j].statistics);
      if (streams) {  // from memory, not from a cache that the reads themselves keep busy
        row[j].prefetch(i + ahead);
        __builtin_prefetch(dy[j] + i + ahead);
      }
      const Pack<T> u = normalize(row[j].load(i, k)), g = simd::load_up_to(dy[j] + i, k);
      dgamma = simd::fma(g, u, dgamma);
      dbeta = dbeta + g;
      const Pack<T> h = simd::fma(g, f, simd::broadcast(gradient[j].minus_mean_h));
      output[j].store(simd::fma(u, simd::broadcast(gradient[j].minus_mean_hn), h), normalize.rstd, i, k, streams);
    }
    if (partial != nullptr) {
      simd::store_up_to(partial + i, dgamma, k);
      simd::store_up_to(partial + n + i, dbeta, k);
    }
  };
  with_streams<(Count > 1)>(beyond_cache, [&](auto streams) NORMA_INLINE_LAMBDA {
    simd::for_each_pack_after<T>(simd::elements_to_stream(output[0].address()), n,
                                 [&](Index i, Index k) NORMA_INLINE_LAMBDA { write(i, k, streams); });
  });
}

/// The gradient of every row goes to output_of(r, partial, total); the sums of gamma's and beta's gradients to columns
/// [0, n) and [n, 2n) of `sums`, unless sums.columns is 0. `in_phase`: all outputs begin equally far from an aligned
/// address, else rows go one by one.
template <Center C, class S, class P, class RowOf, class OutputOf>
void backward_rows(const RowOf& row_of, MatrixView<const S> dy, const P* gamma, bool unit_offset, double eps,
                   SavedStatistics<const Compute<S>> saved, const OutputOf& output_of, bool beyond_cache, bool in_phase,
                   const ColumnSums<Compute<S>>& sums, const Executor& executor) noexcept {
  using T = Compute<S>;
  const Index n = dy.columns;
  const P* const no_beta = nullptr;
  with_affine<C, T>(gamma, no_beta, true, unit_offset, [&](const auto affine, const auto& general) {
    const auto statistics = [&](Index r) -> RowStatistics<T> {
      if (saved.rstd == nullptr) return found_again<C, T>(row_of(r), n, eps);
      return {C == Center::mean ? saved.hi[r] : T(0), C == Center::mean ? saved.lo[r] : T(0), saved.rstd[r]};
    };
    /// Rows [r, r + Count), if none of them is for the scaled path.
    const auto rows = [&]<int Count>(std::integral_constant<int, Count>, Index r, T* partial, double* total) {
      decltype(row_of(r)) row[Count];
      const S* grad[Count];
      RowGradient<T> gradient[Count];
      decltype(output_of(r, partial, total)) output[Count];
      NORMA_UNROLL
      for (int j = 0; j < Count; ++j) {
        row[j] = row_of(r + j);
        grad[j] = dy.row(r + j);
        output[j] = output_of(r + j, partial, total);
        const RowStatistics<T> s = statistics(r + j);
        if (!is_plain(s.rstd)) return false;
        gradient[j] = row_gradient<C, T>(row[j], s, grad[j], affine, n);
        if (!gradient[j].good) return false;
      }
      write_gradients<C, Count, T>(row, grad, gradient, output, affine, n, partial, beyond_cache, Count * dy.stride);
      return true;
    };
    constexpr int kSideBySide = affine.kUsual ? kRowsAtOnce : 1;
    const auto run = [&](Index begin, Index end, T* partial, double* total) NORMA_OUT_OF_LINE {
      for (Index r = begin; r < end;) {
        if constexpr (kSideBySide > 1)
          if (in_phase && r + kSideBySide <= end &&
              rows(std::integral_constant<int, kSideBySide>(), r, partial, total)) {
            r += kSideBySide;
            continue;
          }
        if (!rows(std::integral_constant<int, 1>(), r, partial, total))
          backward_scaled<C>(row_of(r), dy.row(r), general, output_of(r, partial, total), n, eps, total);
        ++r;
      }
      if (beyond_cache) simd::stream_fence();
    };
    if (sums.columns == 0)
      executor.split(dy.rows, 1, [&](Index, Index begin, Index end) { run(begin, end, nullptr, nullptr); });
    else
      sums.over_rows(executor, dy.rows, run);
  });
}

}  // namespace detail

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
