// SPDX-License-Identifier: MIT
// What stands in for a norm and looks at one value at a time, f a function that saturates:
//
//   z = a x + s,  y = gamma f(z) + beta
//   k = gamma dy f'(z);  dx = a k;    dgamma = sum dy f(z), dbeta = sum dy, over rows;  da = sum k x, ds = sum k, over
//   all
#pragma once

#include <norma/kernels/column_sums.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

struct Tanh {
  template <class T>
  static T value(T z) {
    return std::tanh(z);
  }
  /// 1 - tanh(z)^2, written so that its digits stay where tanh(z) is near 1.
  template <class T>
  static T derivative(T z) {
    const T e = std::exp(T(-2) * std::fabs(z)), p = T(1) + e;
    return T(4) * e / (p * p);
  }
};

struct Erf {
  template <class T>
  static T value(T z) {
    return std::erf(z);
  }
  template <class T>
  static T derivative(T z) {
    return T(1.12837916709551257390) * std::exp(-z * z);
  }
};

/// y for every row; y may be x. beta: null for none.
template <class F, class T>
void pointwise_norm_forward(MatrixView<const T> x, T a, T s, const T* gamma, const T* beta, MatrixView<T> y,
                            const Executor& executor = {}) noexcept {
  executor.split(x.rows, 1, [&](Index, Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      const T* const in = x.row(r);
      T* const out = y.row(r);
      for (Index i = 0; i < x.columns; ++i)
        out[i] = simd::fma(gamma[i], F::value(simd::fma(a, in[i], s)), beta != nullptr ? beta[i] : T(0));
    }
  });
}

/// dx (assigned or added) and, left in `sums` of 2 x width + 2 columns, dgamma, dbeta, da and ds. dx may be dy.
template <class F, class T>
void pointwise_norm_backward(MatrixView<const T> x, MatrixView<const T> dy, T a, T s, const T* gamma, MatrixView<T> dx,
                             Write write, const ColumnSums<T>& sums, const Executor& executor = {}) noexcept {
  const Index n = x.columns;
  sums.over_rows(executor, x.rows, [&](Index begin, Index end, T* partial, double* total) {
    T *const d_gamma = partial, *const d_beta = partial + n;
    for (Index r = begin; r < end; ++r) {
      const T *const in = x.row(r), *const grad = dy.row(r);
      T* const out = dx.row(r);
      double da = 0, ds = 0;
      for (Index i = 0; i < n; ++i) {
        const T z = simd::fma(a, in[i], s), g = grad[i], k = gamma[i] * g * F::derivative(z);
        d_gamma[i] = simd::fma(g, F::value(z), d_gamma[i]);
        d_beta[i] += g;
        da = simd::fma(static_cast<double>(k), static_cast<double>(in[i]), da);
        ds += static_cast<double>(k);
        out[i] = simd::fma(a, k, write == Write::add ? out[i] : T(0));
      }
      total[2 * n] += da;
      total[2 * n + 1] += ds;
    }
  });
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
