// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/norm.hpp>
#include <norma/kernels/residual_norm.hpp>

#include <algorithm>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// y = (x - mean) / sqrt(variance + eps) * gamma + beta, per row, biased variance (Ba, Kiros and Hinton, arXiv
/// 1607.06450, equations 3 and 4). Parameters: gamma = 1, beta = 0, [width], either of which may be left out. Keeps the
/// mean as two numbers and rstd per row. A row whose variance + eps is zero gives beta, and a zero gradient.
template <class T>
struct LayerNorm {
  using Scalar = T;
  static constexpr bool needs_x = true;

  double eps = 1e-5;
  bool with_gamma = true, with_beta = true;
  Parameter gamma{}, beta{};

  struct Tape {
    MatrixView<T> hi, lo, rstd;
    kernels::ColumnSums<T> sums;
    Executor executor;
  };

  void declare(Layout& layout, Index width) {
    kernels::check_eps(eps);
    if (with_gamma) gamma = layout.add("gamma", 1, width, Kind::norm, constant(1));
    if (with_beta) beta = layout.add("beta", 1, width, Kind::norm, constant(0));
  }
  Tape plan(Plan& p, const Pass& pass) const {
    const Index rows = pass.shape.rows();
    return {p.keep<T>(rows, 1), p.keep<T>(rows, 1), p.keep<T>(rows, 1),
            kernels::ColumnSums<T>::plan(p, rows, 2 * (std::max)(gamma.columns, beta.columns)), p.executor()};
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const {
    kernels::norm_forward<kCenter, T>(x, gamma.data_in(weights), beta.data_in(weights), eps, y, saved(tape), false,
                                      tape.executor);
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& tape) const {
    kernels::norm_backward<kCenter, T>(x, dy, gamma.data_in(weights), eps, saved(tape), dx, write,
                                       gamma.data_in(gradients), beta.data_in(gradients), tape.sums, false,
                                       tape.executor);
  }
  void forward_sum(const T* weights, const kernels::ScaledSum<T>& sum, MatrixView<T> s, MatrixView<T> y,
                   const Tape& tape) const {
    kernels::residual_norm_forward<kCenter>(sum, gamma.data_in(weights), beta.data_in(weights), eps, s, y, saved(tape),
                                            false, tape.executor);
  }
  void backward_sum(const T* weights, const kernels::ScaledSum<T>& sum, MatrixView<const T> s, MatrixView<const T> dy,
                    MatrixView<T> dx, MatrixView<T> dw, T* gradients, const Tape& tape) const {
    kernels::residual_norm_backward<kCenter>(sum, s, dy, {}, gamma.data_in(weights), eps, saved(tape), dx,
                                             Write::assign, dw, gamma.data_in(gradients), beta.data_in(gradients),
                                             tape.sums, false, tape.executor);
  }

 private:
  static constexpr auto kCenter = kernels::Center::mean;
  static kernels::SavedStatistics<T> saved(const Tape& tape) { return {tape.hi.data, tape.lo.data, tape.rstd.data}; }
};
template <class T>
inline constexpr bool kNormsSums<LayerNorm<T>> = true;

}  // namespace norma::inline v0_1::inline NORMA_TARGET
