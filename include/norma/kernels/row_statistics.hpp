// SPDX-License-Identifier: MIT
// The statistics of one row: mean, and 1 / sqrt(variance + eps), by the corrected two-pass method (Chan, Golub and
// LeVeque, "Algorithms for computing the sample variance", 1983, equation 1.7), shifted by the mean of a quarter row.
//
//   m = round(mean of the first quarter of x)    first pass
//   c = sum (x - m) / n                          second pass
//   variance = sum (x - m)^2 / n - c^2           biased
//   mean = m + c, kept as hi = round(m + c) and lo = round(m + c - hi)
//
// Whatever the row holds, the mean of a quarter of it is within sqrt(3) standard deviations of its mean (Cauchy and
// Schwarz), so that c^2 is at most three parts of four: the difference loses two bits, no more. Where c^2 is more than
// a quarter of the variance, those bits count, and a third pass starts from m + c.
//
// Lanes of float add at most kFlush values before they go into a sum in double.
#pragma once

#include <norma/core/check.hpp>
#include <norma/kernels/simd_memory.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// \throws Error for an eps that is negative or not finite.
inline void check_eps(double eps) {
  if (!simd::is_finite(eps) || eps < 0) fail("eps is " + std::to_string(eps) + ", wanted 0 or more");
}

/// LayerNorm centres a row on its mean, RMSNorm does not.
enum class Center { mean, none };

/// What forward keeps of a row: the normalised row is ((x - hi) - lo) * rstd.
template <class T>
struct RowStatistics {
  T hi, lo, rstd;
};

namespace detail {

using simd::Pack;

/// 16 packs of float per accumulator, then a flush; four accumulators hide the latency of the addition.
inline constexpr Index kFlush = 16, kAccumulators = 4;

/// K sums over [0, n) in double. add(i, count, lanes) adds the terms at element i, lanes from `count` on as zero.
template <class T, int K, class F>
NORMA_INLINE std::array<double, K> row_sums(Index n, F&& add) {
  constexpr Index kLanes = simd::kLanes<T>, kBlock = kLanes * kAccumulators * kFlush;
  simd::WideSum<T> wide[K];
  for (Index begin = 0; begin < n; begin += kBlock) {
    const Index end = (std::min)(n, begin + kBlock);
    Pack<T> lane[kAccumulators][K];
    for (auto& a : lane)
      for (auto& s : a) s = simd::zero<T>();
    Index i = begin;
    for (; i + kAccumulators * kLanes <= end; i += kAccumulators * kLanes) {
      NORMA_UNROLL
      for (Index a = 0; a < kAccumulators; ++a) add(i + a * kLanes, kLanes, lane[a]);
    }
    NORMA_UNROLL
    for (Index a = 0; a < kAccumulators - 1; ++a)
      if (i + kLanes <= end) {
        add(i, kLanes, lane[a]);
        i += kLanes;
      }
    if (i < end) add(i, end - i, lane[kAccumulators - 1]);
    for (auto& a : lane)
      for (int k = 0; k < K; ++k) wide[k].add(a[k]);
  }
  std::array<double, K> sums;
  for (int k = 0; k < K; ++k) sums[k] = wide[k].total();
  return sums;
}

/// Below zero becomes zero, NaN stays NaN. On the bits, because -ffast-math may turn a comparison around.
NORMA_INLINE double clamp_negative(double v) {
  const auto bits = bits_as<std::uint64_t>(v);
  return bits > 0x8000000000000000u && bits <= 0xFFF0000000000000u ? 0.0 : v;
}

/// Mean square + eps below this, or a sum that is not finite, sends the row to the scaled path.
inline constexpr double kSmallestMeanSquare = 0x1p-100;

/// The range that rstd has when the plain path was good enough in forward; backward decides by it.
template <class T>
NORMA_INLINE bool is_plain(T rstd) {
  constexpr double kLowest = sizeof(T) == 4 ? 0x1p-65 : 0x1p-520;
  const double r = static_cast<double>(rstd);
  return simd::is_finite(r) && r > kLowest && r <= 0x1p50;
}

/// The sum of f(i) over [begin, end), halves added to halves: double has no wider type for a long sum.
template <class F>
double pairwise_sum(Index begin, Index end, const F& f) {
  if (end - begin > 16) {
    const Index middle = begin + (end - begin) / 2;
    return pairwise_sum(begin, middle, f) + pairwise_sum(middle, end, f);
  }
  double sum = 0;
  for (Index i = begin; i < end; ++i) sum += f(i);
  return sum;
}

/// A row whose squares leave the range of T: statistics of scale * x, scale a power of two, in double.
struct ScaledStatistics {
  double scale, hi, lo, rstd;  ///< normalised value: ((scale * x - hi) - lo) * rstd
  template <class T>
  RowStatistics<T> unscaled() const {
    return {static_cast<T>(hi / scale), static_cast<T>(lo / scale), static_cast<T>(scale * rstd)};
  }
  double normalized(double x) const { return ((scale * x - hi) - lo) * rstd; }
};

/// Of a row that has at(i): its element i in double.
template <Center C, class Row>
NORMA_COLD ScaledStatistics scaled_statistics(const Row& row, Index n, double eps) {
  double largest = std::sqrt(eps);
  bool finite = true;
  for (Index i = 0; i < n; ++i) {
    const double magnitude = std::fabs(row.at(i));
    finite = finite && simd::is_finite(magnitude);
    largest = largest < magnitude ? magnitude : largest;
  }
  if (!finite) {  // NaN or infinity spoils its whole row, and says so; as bits, for -ffast-math
    const double nan = bits_as<double>(std::uint64_t{0x7FF8000000000000});
    return {1, nan, nan, nan};
  }
  // The largest of |x| and sqrt(eps) comes to about one; its exponent is clipped so that scale and 1/scale are normal.
  const int exponent = largest > 0 ? std::clamp(std::ilogb(largest), -1000, 1000) : 0;
  ScaledStatistics s{std::ldexp(1.0, -exponent), 0, 0, 0};
  const double count = static_cast<double>(n);
  const auto scaled = [&](Index i) { return s.scale * row.at(i); };
  if constexpr (C == Center::mean) {
    // Rounded mean, its correction, and then what is left of it: hi may differ from the first by more than the spread.
    const double m = pairwise_sum(0, n, scaled) / count;
    s.hi = m + pairwise_sum(0, n, [&](Index i) { return scaled(i) - m; }) / count;
    s.lo = pairwise_sum(0, n, [&](Index i) { return scaled(i) - s.hi; }) / count;
  }
  const double squares = pairwise_sum(0, n, [&](Index i) {
    const double d = (scaled(i) - s.hi) - s.lo;
    return d * d;
  });
  const double variance = squares / count + eps * s.scale * s.scale;
  s.rstd = variance == 0 ? 0 : 1 / std::sqrt(variance);  // a row without spread, and eps 0: zeros
  return s;
}

}  // namespace detail

/// A value near the row's mean, to subtract before squaring: the rounded mean of its first quarter; nothing for
/// RMSNorm.
template <Center C, class T, class Row>
NORMA_INLINE T row_shift(const Row& row, Index n) {
  if constexpr (C == Center::none) return T(0);
  constexpr Index kLanes = simd::kLanes<T>;
  const Index quarter = (std::min)(n, ((n + 3) / 4 + kLanes - 1) / kLanes * kLanes);
  const auto [sum] = detail::row_sums<T, 1>(
      quarter, [&](Index i, Index k, simd::Pack<T>* lane) NORMA_INLINE_LAMBDA { lane[0] = lane[0] + row.load(i, k); });
  return static_cast<T>(sum / static_cast<double>(quarter));
}

namespace detail {
template <Center C, class T, class Row>
NORMA_COLD RowStatistics<T> third_pass(const Row& row, T m, Index n, double eps, bool& good);
}

/// Statistics of one row by the plain path, from its row_shift m. `good` tells whether they stand; else the row is
/// for the scaled path.
template <Center C, class T, bool kThird = false, class Row>
NORMA_INLINE RowStatistics<T> row_statistics(const Row& row, T m, Index n, double eps, bool& good) {
  using namespace simd;
  const double count = static_cast<double>(n);
  if constexpr (C == Center::mean) {
    const Pack<T> mean = broadcast(m);
    const auto [s1, s2] = detail::row_sums<T, 2>(n, [&](Index i, Index k, Pack<T>* lane) NORMA_INLINE_LAMBDA {
      const Pack<T> v = simd::keep(row.load(i, k) - mean), d = k == kLanes<T> ? v : first(v, k);
      lane[0] = lane[0] + d;
      lane[1] = fma(d, d, lane[1]);
    });
    const double c = s1 / count, mean_square = detail::clamp_negative(fma(-c, c, s2 / count)) + eps;
    const T hi = static_cast<T>(static_cast<double>(m) + c);
    good = is_finite(s1) && is_finite(s2) && mean_square >= detail::kSmallestMeanSquare;
    if constexpr (!kThird)
      if (good && 4 * c * c > mean_square) return detail::third_pass<C>(row, hi, n, eps, good);
    // Where values of double differ by a few units in the last place, m may miss the mean by more than the spread, and
    // double has no digits to spare for the difference of s2 / n and c^2.
    good = good && (sizeof(T) == 4 || c * c <= 16 * mean_square);
    const T lo = static_cast<T>((static_cast<double>(m) - static_cast<double>(hi)) + c);
    return {hi, lo, static_cast<T>(1 / std::sqrt(mean_square))};
  } else {
    const auto [s2] = detail::row_sums<T, 1>(n, [&](Index i, Index k, Pack<T>* lane) NORMA_INLINE_LAMBDA {
      const Pack<T> v = row.load(i, k);
      lane[0] = fma(v, v, lane[0]);
    });
    const double mean_square = s2 / count + eps;
    good = is_finite(s2) && mean_square >= detail::kSmallestMeanSquare;
    return {T(0), T(0), static_cast<T>(1 / std::sqrt(mean_square))};
  }
}

namespace detail {
template <Center C, class T, class Row>
NORMA_COLD RowStatistics<T> third_pass(const Row& row, T m, Index n, double eps, bool& good) {
  return row_statistics<C, T, true>(row, m, n, eps, good);
}
}  // namespace detail

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
