// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/scale_norm.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// y = g x / max(|x|, eps), per row, |x| the Euclidean length (Nguyen and Salazar, arXiv 1910.05895, equation 5).
/// Parameter: one number g = sqrt(width). Keeps 1 / max(|x|, eps) per row.
template <class T>
struct ScaleNorm {
  using Scalar = T;
  static constexpr bool needs_x = true;

  double eps = 1e-5;
  Parameter g{};

  struct Tape {
    MatrixView<T> inverse;
    kernels::ColumnSums<T> sums;
    Executor executor;
  };

  void declare(Layout& layout, Index width) {
    kernels::check_eps(eps);
    g = layout.add("g", 1, 1, Kind::norm, constant(std::sqrt(static_cast<double>(width))));
  }
  Tape plan(Plan& p, const Pass& pass) const {
    const Index rows = pass.shape.rows();
    return {p.keep<T>(rows, 1), kernels::ColumnSums<T>::plan(p, rows, 1), p.executor()};
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const {
    kernels::scale_norm_forward<T>(x, *g.data_in(weights), eps, y, tape.inverse.data, tape.executor);
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& tape) const {
    kernels::scale_norm_backward<T>(x, dy, *g.data_in(weights), tape.inverse.data, dx, write, g.data_in(gradients),
                                    tape.sums, tape.executor);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
