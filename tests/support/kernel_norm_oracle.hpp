// SPDX-License-Identifier: MIT
// LayerNorm and RMSNorm of one row in long double, straight from the equations, and the rows they are tried on.
#pragma once

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
    const long double first = center == Center::mean ? static_cast<long double>(x[0]) : 0.0L;
    long double mean = 0, square = 0;
    for (Index i = 0; i < width; ++i) mean += (n[at(i)] = static_cast<long double>(x[i]) - first);
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
  template <class T>
  void backward(Center center, const T* dy, const T* gamma, std::vector<long double>& dx,
                std::vector<long double>& size) const {
    const auto width = static_cast<long double>(n.size());
    long double mean_h = 0, mean_hn = 0, size_h = 0, size_hn = 0;
    const auto h = [&](std::size_t i) {
      return static_cast<long double>(dy[i]) * (gamma != nullptr ? static_cast<long double>(gamma[i]) : 1.0L);
    };
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
  constant,
  zero,
  one_step,
  huge,
  tiny,
  subnormal,
  wide_range,
  extremes
};
inline constexpr std::array kAllRows{Rows::normal,   Rows::shifted_1e3, Rows::shifted_1e6, Rows::outlier,
                                     Rows::constant, Rows::zero,        Rows::one_step,    Rows::huge,
                                     Rows::tiny,     Rows::subnormal,   Rows::wide_range,  Rows::extremes};

template <class T>
void fill_row(Rows kind, T* x, Index width, Random& random) {
  constexpr bool kFloat = sizeof(T) == 4;
  const double level = kFloat ? 1000.1 : 1000.1 + 1e-9;
  for (Index i = 0; i < width; ++i) {
    double v = random.normal();
    switch (kind) {
      case Rows::normal:
        break;
      case Rows::shifted_1e3:
        v = 1e3 + v;
        break;
      case Rows::shifted_1e6:
        v = -1e6 + v;
        break;
      case Rows::outlier:
        v = i == width / 2 ? 1e4 : v;
        break;
      case Rows::constant:
      case Rows::one_step:
        v = level;
        break;
      case Rows::zero:
        v = 0;
        break;
      case Rows::huge:
        v *= kFloat ? 1e37 : 1e300;
        break;
      case Rows::tiny:
        v *= kFloat ? 1e-30 : 1e-200;
        break;
      case Rows::subnormal:
        v *= kFloat ? 1e-40 : 1e-310;
        break;
      case Rows::wide_range:
        v = std::ldexp(v, static_cast<int>(random.next() % 41) - 20);
        break;
      case Rows::extremes:
        v = (i % 2 == 0 ? 1 : -1) * static_cast<double>(std::numeric_limits<T>::max());
        break;
    }
    x[i] = static_cast<T>(v);
  }
  if (kind == Rows::one_step) x[width - 1] = std::nextafter(x[width - 1], T(0));
}

}  // namespace norma_test
