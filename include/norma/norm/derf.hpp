// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/pointwise_norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// y = gamma erf(alpha x + shift) + beta, no statistics of the row (arXiv 2512.10938, read in public code, not in the
/// paper). Parameters: one number each alpha = 0.5, or initial_alpha, and shift = 0; gamma = 1 and beta = 0, [width].
/// Keeps nothing. NaN stays in its element, and infinity is a value like others.
template <class T>
struct Derf {
  using Scalar = T;
  static constexpr bool needs_x = true;

  double initial_alpha = 0.5;
  Parameter alpha{}, shift{}, gamma{}, beta{};

  struct Tape {
    kernels::ColumnSums<T> sums;
    Executor executor;
  };

  void declare(Layout& layout, Index width) {
    alpha = layout.add("alpha", 1, 1, Kind::norm, constant(initial_alpha));
    shift = layout.add("shift", 1, 1, Kind::norm, constant(0));
    gamma = layout.add("gamma", 1, width, Kind::norm, constant(1));
    beta = layout.add("beta", 1, width, Kind::norm, constant(0));
  }
  Tape plan(Plan& p, const Pass& pass) const {
    return {kernels::ColumnSums<T>::plan(p, pass.shape.rows(), 2 * gamma.columns + 2), p.executor()};
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const {
    kernels::pointwise_norm_forward<kernels::Erf>(x, *alpha.data_in(weights), *shift.data_in(weights),
                                                  gamma.data_in(weights), beta.data_in(weights), y, tape.executor);
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& tape) const {
    const Index width = gamma.columns;
    kernels::pointwise_norm_backward<kernels::Erf>(x, dy, *alpha.data_in(weights), *shift.data_in(weights),
                                                   gamma.data_in(weights), dx, write, tape.sums, tape.executor);
    tape.sums.add_to(gamma.data_in(gradients), 0, width);
    tape.sums.add_to(beta.data_in(gradients), width, width);
    tape.sums.add_to(alpha.data_in(gradients), 2 * width, 1);
    tape.sums.add_to(shift.data_in(gradients), 2 * width + 1, 1);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
