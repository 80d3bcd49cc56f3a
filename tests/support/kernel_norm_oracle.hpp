// SPDX-License-Identifier: MIT
// LayerNorm and RMSNorm of one row in long double, straight from the equations, and the rows they are tried on.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <norma/kernels/row_statistics.hpp>

#include "kernel_memory.hpp"

namespace norma_test {

using norma::kernels::Center;

struct NormOracle {
  std::vector<long double> n;  ///< the normalised row
  long double rstd = 0;
  long double largest = 0;  ///< of |n|
  long double rms = 0;      ///< of n; one, unless eps counts

  template <class T>
  NormOracle(Center center, const T* x, Index width, double eps) : n(static_cast<std::size_t>(width)) {
    // Differences from the first element are exact or nearly so; so a large mean costs no digits.
    const long double first = center == Center::mean ? exact(x[0]) : 0.0L;
    long double mean = 0, square = 0;
    for (Index i = 0; i < width; ++i) mean += (n[at(i)] = exact(x[i]) - first);
    mean = center == Center::mean ? mean / static_cast<long double>(width) : 0.0L;
    for (auto& v : n) {
      v -= mean;
      square += v * v;
    }
    const long double variance = square / static_cast<long double>(width) + static_cast<long double>(eps);
    rstd = variance > 0 ? 1 / std::sqrt(variance) : 0.0L;  // no spread and no eps: n = 0
    for (auto& v : n) {
      v *= rstd;
      largest = std::max(largest, std::fabs(v));
    }
    rms = rstd * std::sqrt(square / static_cast<long double>(width));
  }

  /// dx, and the size of its terms, to which its error is compared: n is known within units of |n_j| + rms, so
  /// rstd (|h_j| + mean |h| + (|n_j| + rms) mean |h n| + |n_j| rms mean |h|).
  template <class T, class P>
  void backward(Center center, const T* dy, const P* gamma, std::vector<long double>& dx,
                std::vector<long double>& size) const {
    const auto width = static_cast<long double>(n.size());
    long double mean_h = 0, mean_hn = 0, size_h = 0, size_hn = 0;
    const auto h = [&](std::size_t i) { return exact(dy[i]) * (gamma != nullptr ? exact(gamma[i]) : 1.0L); };
    for (std::size_t i = 0; i < n.size(); ++i) {
      mean_h += h(i) / width;
      mean_hn += h(i) * n[i] / width;
      size_h += std::fabs(h(i)) / width;
      size_hn += std::fabs(h(i) * n[i]) / width;
    }
    if (center == Center::none) mean_h = 0;
    dx.resize(n.size());
    size.resize(n.size());
    for (std::size_t i = 0; i < n.size(); ++i) {
      dx[i] = rstd * (h(i) - mean_h - n[i] * mean_hn);
      const long double mean = center == Center::mean ? size_h : 0.0L;
      size[i] = rstd * (std::fabs(h(i)) + mean + (std::fabs(n[i]) + rms) * size_hn + std::fabs(n[i]) * rms * size_h);
    }
  }

 private:
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
};

/// Rows that break careless norms.
enum class Rows {
  normal,
  shifted_1e3,
  shifted_1e6,
  outlier,
  first_outlier,
  high_quarter,  ///< the shift of the variance is the mean of the first quarter: here it is far from the row's
  low_quarter,
  half_and_half,
  constant,
  zero,
  one_step,
  huge,
  overflowing,  ///< squares do, the rest does not: backward takes the plain path, forward the scaled one
  tiny,
  subnormal,
  wide_range,
  extremes
};
inline constexpr std::array kAllRows{Rows::normal,        Rows::shifted_1e3,  Rows::shifted_1e6, Rows::outlier,
                                     Rows::first_outlier, Rows::high_quarter, Rows::low_quarter, Rows::half_and_half,
                                     Rows::constant,      Rows::zero,         Rows::one_step,    Rows::huge,
                                     Rows::overflowing,   Rows::tiny,         Rows::subnormal,   Rows::wide_range,
                                     Rows::extremes};

/// Scales of a storage type.
template <class S>
struct Scales {
  double level, far, huge, tiny, subnormal;  ///< far: an outlier, or a mean of many spreads
};
template <class S>
constexpr Scales<S> scales() {
  if constexpr (std::is_same_v<S, norma::half>) return {1000.1, 3e4, 1e4, 1e-3, 1e-6};
  if constexpr (sizeof(S) == 8) return {1000.1 + 1e-9, 1e6, 1e300, 1e-200, 1e-310};
  return {1000.1, 1e6, 1e37, 1e-30, 1e-40};
}

template <class S>
void fill_row(Rows kind, S* x, Index width, Random& random) {
  constexpr Scales<S> kScale = scales<S>();
  // One value for a long stretch, its last bits anything: rounding errors of sums go one way.
  const double stretch = 1 + random.uniform();
  for (Index i = 0; i < width; ++i) {
    double v = random.normal();
    switch (kind) {
      case Rows::normal:
        break;
      case Rows::shifted_1e3:
        v = 1e3 + v;
        break;
      case Rows::shifted_1e6:
        v = -kScale.far + v;
        break;
      case Rows::outlier:
        v = i == width / 2 ? 1e4 : v;
        break;
      case Rows::first_outlier:
        v = i == 0 ? -kScale.far : v;
        break;
      case Rows::high_quarter:
        v = i < width / 4 ? kScale.far : 0;
        break;
      case Rows::low_quarter:
        v = i < width / 4 ? 0 : stretch;
        break;
      case Rows::half_and_half:
        v = i < width / 2 ? stretch : -1;
        break;
      case Rows::constant:
      case Rows::one_step:
        v = kScale.level;
        break;
      case Rows::zero:
        v = 0;
        break;
      case Rows::huge:
        v *= kScale.huge;
        break;
      case Rows::overflowing:
        v *= std::sqrt(largest<S>());
        break;
      case Rows::tiny:
        v *= kScale.tiny;
        break;
      case Rows::subnormal:
        v *= kScale.subnormal;
        break;
      case Rows::wide_range:
        v = std::ldexp(v, static_cast<int>(random.next() % 41) - 20);
        break;
      case Rows::extremes:
        v = (i % 2 == 0 ? 1 : -1) * largest<S>();
        break;
    }
    if (std::fabs(v) > largest<S>()) v = std::copysign(largest<S>(), v);
    x[i] = static_cast<S>(v);
  }
  if (kind == Rows::one_step) x[width - 1] = std::bit_cast<S>(static_cast<Bits<S>>(bits(x[width - 1]) - 1));
}

/// How rows and parameters are stored, for typed tests.
template <class Row, class Parameter>
struct Storage {
  using S = Row;
  using P = Parameter;
  using T = norma::Compute<S>;
};
using AllStorage =
    testing::Types<Storage<float, float>, Storage<double, double>, Storage<norma::bfloat16, norma::bfloat16>,
                   Storage<norma::bfloat16, float>, Storage<norma::half, norma::half>, Storage<norma::half, float>>;
/// Every type of rows, and both kinds of parameters: where more would take the compiler minutes.
using MostStorage = testing::Types<Storage<float, float>, Storage<double, double>, Storage<norma::bfloat16, float>,
                                   Storage<norma::half, norma::half>>;

}  // namespace norma_test
