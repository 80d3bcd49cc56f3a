// SPDX-License-Identifier: MIT
// Attention by itself: the scratch that a problem needs, and shapes without masks but the causal one.
#pragma once

#include <norma/kernels/attention.hpp>

#include <limits>
#include <vector>

namespace norma_test {

/// The problem with scratch for every worker, which holds NaN: one problem at a time.
template <class T>
norma::kernels::AttentionProblem<T> with_packing(norma::kernels::AttentionProblem<T> problem) {
  static std::vector<T> memory;
  const norma::Index workers = problem.executor.workers,
                     each = norma::kernels::attention_scratch<T>(problem.head_dim, true);
  memory.assign(static_cast<std::size_t>(workers * each), std::numeric_limits<T>::quiet_NaN());
  problem.packing = {memory.data(), workers, each};
  return problem;
}

struct AttentionShape {
  norma::Index batch, queries, keys, heads, head_dim;
  double scale;
  bool causal;

  template <class T>
  norma::kernels::AttentionProblem<T> problem() const {
    return with_packing<T>({batch, queries, keys, heads, heads, head_dim, scale, causal});
  }
};

}  // namespace norma_test
