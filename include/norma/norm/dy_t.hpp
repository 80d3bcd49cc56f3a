// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/pointwise_norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// y = gamma tanh(alpha x) + beta, no statistics of the row (Zhu et al., "Transformers without Normalization", arXiv
/// 2503.10622). Parameters: one number alpha = 0.5, or initial_alpha; gamma = 1 and beta = 0, [width]; beta
/// may be left out, as in the authors' LLaMA. There alpha starts larger in attention than elsewhere, and both smaller
/// with width: 0.8 and 0.2 at width 4096, 0.2 and 0.05 at 8192. Keeps nothing. NaN
/// stays in its element, and infinity is a value like others.
template <class T>
struct DyT {
  using Scalar = T;
  static constexpr bool needs_x = true;

  double initial_alpha = 0.5;
  bool with_beta = true;
  Parameter alpha{}, gamma{}, beta{};

  struct Tape {
    kernels::ColumnSums<T> sums;
    Executor executor;
  };

  void declare(Layout& layout, Index width) {
    alpha = layout.add("alpha", 1, 1, Kind::norm, constant(initial_alpha));
    gamma = layout.add("gamma", 1, width, Kind::norm, constant(1));
    if (with_beta) beta = layout.add("beta", 1, width, Kind::norm, constant(0));
  }
  Tape plan(Plan& p, const Pass& pass) const {
    return {kernels::ColumnSums<T>::plan(p, pass.shape.rows(), 2 * gamma.columns + 2), p.executor()};
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const {
    kernels::pointwise_norm_forward<kernels::Tanh>(x, *alpha.data_in(weights), T(0), gamma.data_in(weights),
                                                   beta.data_in(weights), y, tape.executor);
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& tape) const {
    const Index width = gamma.columns;
    kernels::pointwise_norm_backward<kernels::Tanh>(x, dy, *alpha.data_in(weights), T(0), gamma.data_in(weights), dx,
                                                    write, tape.sums, tape.executor);
    tape.sums.add_to(gamma.data_in(gradients), 0, width);
    if (with_beta) tape.sums.add_to(beta.data_in(gradients), width, width);
    tape.sums.add_to(alpha.data_in(gradients), 2 * width, 1);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
