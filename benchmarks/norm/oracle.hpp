// SPDX-License-Identifier: MIT
// What the results are compared with: the equations in double, row by row, without any library.
#pragma once

#include "problem.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace norm_benchmark {

/// Errors are divided by what the terms of the result add up to. Wide enough for plain summation in T over the largest
/// shape; a wrong term, factor or row is far outside.
template <class T>
inline constexpr double kTolerance = std::is_same_v<T, double>  ? 1e-11
                                     : std::is_same_v<T, float> ? 2e-5
                                                                : 0x1p-7;
/// Sums over rows: the error of adding one row after the other grows with their number.
template <class T>
inline constexpr double kSumTolerance = std::is_same_v<T, double>  ? 1e-10
                                        : std::is_same_v<T, float> ? 1e-3
                                                                   : 2e-2;

/// All bits set: NaN in every type, so that what is not written is found.
template <class T>
void poison(T* to, Index size) {
  std::memset(static_cast<void*>(to), 0xff, sizeof(T) * static_cast<std::size_t>(size));
}

/// Compares what a call left in `b` with the equations. Empty if right, else the first difference.
template <class T>
std::string wrong(const Operation& operation, const Buffers<T>& b, bool check_sums) {
  const Index n = b.extent.width, rows = b.extent.rows;
  const double count = static_cast<double>(n);
  const auto size = static_cast<std::size_t>(n);
  std::string message;
  const auto compare = [&](const char* what, Index r, Index i, double is, double should, double scale, double bound) {
    if (std::abs(is - should) <= bound * scale || !message.empty()) return;  // false for NaN
    std::ostringstream text;
    text.precision(17);
    text << what << " at row " << r << ", column " << i << " is " << is << ", should be " << should;
    message = text.str();
  };
  std::vector<double> v(size), u(size), h(size), dgamma(size), dbeta(size), gamma_scale(size), beta_scale(size);
  const bool sum = operation.residual && operation.forward();
  for (Index r = 0; r < rows && message.empty(); ++r) {
    const Index row = r * n;
    for (Index i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      if (sum) {
        // Rounded to T, as it is stored: the norm is that of the stored sum.
        v[k] = to_double(from_double<T>(to_double(b.x[row + i]) + to_double(b.w[row + i])));
        if (operation.pass == Pass::forward) compare("s", r, i, to_double(b.s[row + i]), v[k], 1, 0);
      } else {
        v[k] = to_double((operation.forward() ? b.x : b.input)[row + i]);
      }
    }
    double mean = 0, square = 0;
    if (!operation.rms) {
      for (const double t : v) mean += t;
      mean /= count;
    }
    for (const double t : v) square += (t - mean) * (t - mean);
    const double rstd = 1 / std::sqrt(square / count + kEps);
    for (std::size_t k = 0; k < size; ++k) u[k] = (v[k] - mean) * rstd;
    if (operation.forward()) {
      for (Index i = 0; i < n; ++i) {
        const auto k = static_cast<std::size_t>(i);
        const double beta = operation.rms ? 0 : to_double(b.beta[i]), scaled = u[k] * to_double(b.gamma[i]);
        // The difference to the mean is as exact as its two terms.
        const double terms = (std::abs(v[k]) + std::abs(mean)) * rstd * std::abs(to_double(b.gamma[i]));
        compare("y", r, i, to_double(b.y[row + i]), scaled + beta, terms + std::abs(beta), kTolerance<T>);
      }
      continue;
    }
    double mean_h = 0, mean_hu = 0;
    for (Index i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const double dy = to_double(b.dy[row + i]);
      h[k] = dy * to_double(b.gamma[i]);
      mean_h += h[k];
      mean_hu += h[k] * u[k];
      dgamma[k] += dy * u[k];
      dbeta[k] += dy;
      gamma_scale[k] += std::abs(dy) * (std::abs(v[k]) + std::abs(mean)) * rstd;
      beta_scale[k] += std::abs(dy);
    }
    mean_h = operation.rms ? 0 : mean_h / count;
    mean_hu /= count;
    for (Index i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const double ds = operation.residual ? to_double(b.ds[row + i]) : 0;
      const double terms = std::abs(h[k]) + std::abs(mean_h) + (1 + std::abs(u[k])) * std::abs(mean_hu);
      compare("dx", r, i, to_double(b.dx[row + i]), rstd * (h[k] - mean_h - u[k] * mean_hu) + ds,
              rstd * terms + std::abs(ds), kTolerance<T>);
    }
  }
  if (!operation.forward() && check_sums)
    for (Index i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      compare("dgamma", 0, i, to_double(b.dgamma[i]), dgamma[k], gamma_scale[k], kSumTolerance<T>);
      if (!operation.rms) compare("dbeta", 0, i, to_double(b.dbeta[i]), dbeta[k], beta_scale[k], kSumTolerance<T>);
    }
  return message;
}

}  // namespace norm_benchmark
