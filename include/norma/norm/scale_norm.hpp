// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/scale_norm.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// y = g x / max(|x|, eps), per row, |x| the Euclidean length (Nguyen and Salazar, arXiv 1910.05895, equation 5).
/// Parameter: one number g = sqrt(width), or initial_g; without it, g is 1. Keeps 1 / max(|x|, eps) per row.
template <class T>
struct ScaleNorm {
  using Scalar = T;
  static constexpr bool needs_x = true;

  double eps = 1e-5;
  double initial_g = 0;  ///< 0: sqrt(width)
  bool with_g = true;
  Parameter g{};

  struct Tape {
    MatrixView<T> inverse;
    kernels::ColumnSums<T> sums;
    Executor executor;
  };

  void declare(Layout& layout, Index width) {
    kernels::check_eps(eps);
    const double initial = initial_g != 0 ? initial_g : std::sqrt(static_cast<double>(width));
    if (with_g) g = layout.add("g", 1, 1, Kind::norm, constant(initial));
  }
  Tape plan(Plan& p, const Pass& pass) const {
    const Index rows = pass.shape.rows();
    return {p.keep<T>(rows, 1), kernels::ColumnSums<T>::plan(p, rows, 1), p.executor()};
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const {
    kernels::scale_norm_forward<T>(x, gain(weights), eps, y, tape.inverse.data, tape.executor);
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& tape) const {
    kernels::scale_norm_backward<T>(x, dy, gain(weights), tape.inverse.data, dx, write, g.data_in(gradients), tape.sums,
                                    tape.executor);
  }

 private:
  T gain(const T* weights) const { return with_g ? *g.data_in(weights) : T(1); }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
