// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// y = (x - mean) / sqrt(variance + eps) * gamma + beta, per row, biased variance (Ba, Kiros and Hinton, arXiv 1607.06450,
/// equations 3 and 4). Parameters: gamma = 1, beta = 0, [width]. Keeps the mean as two numbers and rstd per row.
template <class T>
struct LayerNorm {
  using Scalar = T;
  static constexpr bool needs_x = true;

  double eps = 1e-5;
  Parameter gamma{}, beta{};

  struct Tape {
    MatrixView<T> hi, lo, rstd;
    kernels::ColumnSums<T> sums;
  };

  void declare(Layout& layout, Index width) {
    gamma = layout.add("gamma", 1, width, Kind::norm, constant(1));
    beta = layout.add("beta", 1, width, Kind::norm, constant(0));
  }
  Tape plan(Plan& p, const Pass& pass) const {
    const Index rows = pass.shape.rows();
    return {p.keep<T>(rows, 1), p.keep<T>(rows, 1), p.keep<T>(rows, 1), kernels::ColumnSums<T>::plan(p, 2 * gamma.columns)};
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const {
    kernels::norm_forward<kernels::Center::mean, T>(x, gamma.in(weights).data, beta.in(weights).data, eps, y,
                                                    {tape.hi.data, tape.lo.data, tape.rstd.data});
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write, T* gradients,
                const Tape& tape) const {
    kernels::norm_backward<kernels::Center::mean, T>(x, dy, gamma.in(weights).data, eps,
                                                     {tape.hi.data, tape.lo.data, tape.rstd.data}, dx, write,
                                                     gamma.in(gradients).data, beta.in(gradients).data, tape.sums);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
