// SPDX-License-Identifier: MIT
// Attention without masks but the causal one, in the order of the tests' lists.
#pragma once

#include <norma/kernels/attention.hpp>

namespace norma_test {

struct AttentionShape {
  norma::Index batch, queries, keys, heads, head_dim;
  double scale;
  bool causal;

  template <class T>
  norma::kernels::AttentionProblem<T> problem() const {
    return {batch, queries, keys, heads, heads, head_dim, scale, causal};
  }
};

}  // namespace norma_test
