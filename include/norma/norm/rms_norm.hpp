// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/norm.hpp>
#include <norma/kernels/residual_norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// y = x / sqrt(mean(x^2) + eps) * gamma, per row (Zhang and Sennrich, arXiv 1910.07467, equation 4; eps inside the
/// root as in LLaMA). Parameter: gamma = 1, [width]; with unit_offset the factor is 1 + gamma and gamma = 0 (Gemma).
/// May be left out. Keeps rstd per row.
template <class T>
struct RMSNorm {
  using Scalar = T;
  static constexpr bool needs_x = true;

  double eps = 1e-5;
  bool unit_offset = false, with_gamma = true;
  Parameter gamma{};

  struct Tape {
    MatrixView<T> rstd;
    kernels::ColumnSums<T> sums;
    Executor executor;
  };

  void declare(Layout& layout, Index width) {
    kernels::check_eps(eps);
    if (with_gamma) gamma = layout.add("gamma", 1, width, Kind::norm, constant(unit_offset ? 0 : 1));
  }
  Tape plan(Plan& p, const Pass& pass) const {
    return {p.keep<T>(pass.shape.rows(), 1), kernels::ColumnSums<T>::plan(p, pass.shape.rows(), 2 * gamma.columns),
            p.executor()};
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const {
    kernels::norm_forward<kCenter, T>(x, gamma.data_in(weights), nullptr, eps, y, saved(tape), unit_offset,
                                      tape.executor);
  }
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& tape) const {
    kernels::norm_backward<kCenter, T>(x, dy, gamma.data_in(weights), eps, saved(tape), dx, write,
                                       gamma.data_in(gradients), nullptr, tape.sums, unit_offset, tape.executor);
  }
  void forward_sum(const T* weights, const kernels::ScaledSum<T>& sum, MatrixView<T> s, MatrixView<T> y,
                   const Tape& tape) const {
    kernels::residual_norm_forward<kCenter>(sum, gamma.data_in(weights), static_cast<const T*>(nullptr), eps, s, y,
                                            saved(tape), unit_offset, tape.executor);
  }
  void backward_sum(const T* weights, const kernels::ScaledSum<T>& sum, MatrixView<const T> s, MatrixView<const T> dy,
                    MatrixView<T> dx, MatrixView<T> dw, T* gradients, const Tape& tape) const {
    kernels::residual_norm_backward<kCenter>(sum, s, dy, {}, gamma.data_in(weights), eps, saved(tape), dx,
                                             Write::assign, dw, gamma.data_in(gradients), static_cast<T*>(nullptr),
                                             tape.sums, unit_offset, tape.executor);
  }

 private:
  static constexpr auto kCenter = kernels::Center::none;
  static kernels::SavedStatistics<T> saved(const Tape& tape) { return {nullptr, nullptr, tape.rstd.data}; }
};
template <class T>
inline constexpr bool kNormsSums<RMSNorm<T>> = true;

}  // namespace norma::inline v0_1::inline NORMA_TARGET
