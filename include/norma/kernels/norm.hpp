// SPDX-License-Identifier: MIT
// LayerNorm (Ba et al., arXiv 1607.06450, equations 3 and 4) and RMSNorm (Zhang and Sennrich, arXiv 1910.07467,
// equation 4) over rows.
//
//   n = ((x - hi) - lo) * rstd          hi + lo the mean (zero for RMSNorm), rstd = 1 / sqrt(variance + eps)
//   y = n * gamma + beta
//   h = dy * gamma
//   dx = rstd * (h - mean(h) - n * mean(h * n))          without mean(h) for RMSNorm
//   dgamma = sum over rows of dy * n,  dbeta = sum over rows of dy
//
// Saved for backward: hi, lo (LayerNorm only) and rstd per row. gamma and beta may be null: one and zero. With unit
// offset the factor is 1 + gamma (Gemma's form), formed in the type that is computed in. x, y and their gradients are
// stored as S: float, double, bfloat16 or half; parameters as P, which is S unless said otherwise.
#pragma once

#include <norma/kernels/norm_rows.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// y = norm(x) for every row. x, y: [rows, width]; gamma, beta: [width] or null; y may be x. \see norm.hpp for the
/// equations.
template <Center C, class S, class P = S>
void norm_forward(MatrixView<const S> x, const std::type_identity_t<P>* gamma, const std::type_identity_t<P>* beta,
                  double eps, MatrixView<S> y, SavedStatistics<Compute<S>> saved, bool unit_offset = false,
                  const Executor& executor = {}) noexcept {
  detail::forward_rows<C, S, P>([&](Index r) NORMA_INLINE_LAMBDA { return detail::StoredRow<S>{x.row(r)}; }, gamma,
                                beta, unit_offset, eps, y, saved, exceeds_caches(y), executor);
}

/// dx (assigned or added) from dy, and dgamma, dbeta (added; null where absent). dx may be dy. Shapes as in forward;
/// `eps` is forward's, for rows that are redone. `sums` is scratch of 2 x width columns, gamma's, then
/// beta's; not used if both are absent.
template <Center C, class S, class P = S>
void norm_backward(MatrixView<const S> x, MatrixView<const S> dy, const std::type_identity_t<P>* gamma, double eps,
                   SavedStatistics<const Compute<S>> saved, MatrixView<S> dx, Write write,
                   std::type_identity_t<P>* dgamma, std::type_identity_t<P>* dbeta, const ColumnSums<Compute<S>>& sums,
                   bool unit_offset = false, const Executor& executor = {}) noexcept {
  const bool wanted = dgamma != nullptr || dbeta != nullptr;
  detail::backward_rows<C, S, P>(
      [&](Index r) NORMA_INLINE_LAMBDA { return detail::StoredRow<S>{x.row(r)}; }, dy, gamma, unit_offset, eps, saved,
      [&](Index r, auto*, auto*) NORMA_INLINE_LAMBDA {
        return detail::GradientRow<S>{dx.row(r), write};
      },
      detail::streams(dx, dy, write), in_phase(dx), wanted ? sums : ColumnSums<Compute<S>>{}, executor);
  if (dgamma != nullptr) sums.add_to(dgamma, 0, x.columns);
  if (dbeta != nullptr) sums.add_to(dbeta, x.columns, x.columns);
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
