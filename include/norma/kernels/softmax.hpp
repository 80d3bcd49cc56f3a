// SPDX-License-Identifier: MIT
// Softmax over a row, whole; and its pieces, of which the loss takes the maximum. Attention has its own, by blocks.
//
//   p_i = exp(s_i - max s) / sum_j exp(s_j - max s),    lse = max s + log sum_j exp(s_j - max s)
//   ds_i = p_i (dp_i - sum_j p_j dp_j)
#pragma once

#include <norma/core/shape.hpp>
#include <norma/kernels/simd_memory.hpp>

#include <cmath>
#include <limits>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// Largest value of a row that is not empty. NaN wins.
template <class T>
NORMA_INLINE T row_maximum(const T* s, Index n) {
  T m = s[0];
  for (Index i = 1; i < n; ++i) m = s[i] <= m || simd::is_nan(static_cast<double>(m)) ? m : s[i];
  return m;
}

/// s becomes exp(s - shift) in place; returns the sum, in double. shift is not minus infinity; NaN in it, or in s,
/// comes through.
template <class T>
NORMA_INLINE double exponentials(T* s, Index n, T shift) {
  double sum = 0;
  for (Index i = 0; i < n; ++i) {
    s[i] = std::exp(s[i] - shift);
    sum += static_cast<double>(s[i]);
  }
  return sum;
}

/// Softmax of a row, in place. A row of nothing but minus infinity gives zeros. Returns the log of the sum of
/// exponentials.
template <class T>
T softmax(T* s, Index n) noexcept {
  const T m = n > 0 ? row_maximum(s, n) : -std::numeric_limits<T>::infinity();
  if (simd::is_minus_infinity(m)) {
    for (Index i = 0; i < n; ++i) s[i] = T(0);
    return m;
  }
  const double sum = exponentials(s, n, m);
  const T scale = static_cast<T>(1 / sum);
  for (Index i = 0; i < n; ++i) s[i] *= scale;
  return m + static_cast<T>(std::log(sum));
}

/// ds from p = softmax(s) and dp. ds may be dp.
template <class T>
void softmax_backward(const T* p, const T* dp, T* ds, Index n) noexcept {
  double inner = 0;
  for (Index i = 0; i < n; ++i) inner = simd::fma(static_cast<double>(p[i]), static_cast<double>(dp[i]), inner);
  const T mean = static_cast<T>(inner);
  for (Index i = 0; i < n; ++i) ds[i] = p[i] * (dp[i] - mean);
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
