// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// y = x / sqrt(mean(x^2) + eps) * gamma, per row (Zhang and Sennrich, arXiv 1910.07467, equation 4; eps inside the root as in
/// LLaMA). Parameter: gamma = 1, [width]. Keeps rstd per row.
template <class T>
struct RMSNorm {
  using Scalar = T;
  static constexpr bool needs_x = true;

  double eps = 1e-5;
  Parameter gamma{};

  struct Tape {
    MatrixView<T> rstd;
    kernels::ColumnSums<T> sums;
  };

  void declare(Layout& layout, Index width) { gamma = layout.add("gamma", 1, width, Kind::norm, constant(1)); }
  Tape plan(Plan& p, const Pass& pass) const {
    return {p.keep<T>(pass.shape.rows(), 1), kernels::ColumnSums<T>::plan(p, 2 * gamma.columns)};
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const {
    kernels::norm_forward<kernels::Center::none, T>(x, gamma.in(weights).data, nullptr, eps, y,
                                                    {nullptr, nullptr, tape.rstd.data});
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write, T* gradients,
                const Tape& tape) const {
    kernels::norm_backward<kernels::Center::none, T>(x, dy, gamma.in(weights).data, eps, {nullptr, nullptr, tape.rstd.data}, dx,
                                                     write, gamma.in(gradients).data, nullptr, tape.sums);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
