// SPDX-License-Identifier: MIT
// Cross-entropy of a row of logits against the index of the right class:
//
//   loss = lse(z) - z_target,    dz_i = softmax(z)_i - (i == target)
#pragma once

#include <norma/kernels/softmax.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// The loss of one row. z stays as it is; its log-sum-exp is left in lse.
template <class T>
double cross_entropy(const T* z, Index classes, Index target, T& lse) noexcept {
  const T m = row_maximum(z, classes);
  double sum = 0;
  for (Index i = 0; i < classes; ++i) sum += std::exp(static_cast<double>(z[i]) - static_cast<double>(m));
  const double log_sum = static_cast<double>(m) + std::log(sum);
  lse = static_cast<T>(log_sum);
  return log_sum - static_cast<double>(z[target]);
}

/// z becomes its gradient, times `factor`.
template <class T>
void cross_entropy_backward(T* z, Index classes, Index target, T lse, T factor) noexcept {
  for (Index i = 0; i < classes; ++i) z[i] = factor * (std::exp(z[i] - lse) - (i == target ? T(1) : T(0)));
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
