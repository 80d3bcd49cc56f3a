// SPDX-License-Identifier: MIT
// HybridNorm (Zhuo et al., "HybridNorm", arXiv 2503.04598; the authors' code):
//
//   u = x + softmax(LN(q) LN(k)^T / sqrt(head_dim)) LN(v) W_O     q, k, v from x as it is, normed per head
//   m = LN(u)
//   y = m + FFN(m)
//
// and its starred form, in whose first block the attention's input is normed too, and the feed-forward is Pre-LN's:
//
//   u = x + A(LN(x)),  y = u + FFN(LN(u))
//
// Learned parameters: the norms', gamma = 1, beta = 0; those of q, k, v are [head_dim] and shared by the heads. The
// authors' norm is RMSNorm. A norm closes the stack: the last feed-forward adds to the stream what nothing normalises.
// That the paper's models have it is general knowledge, not read in it. Cross-attention is treated as attention is.
#pragma once

#include <norma/residual/combine.hpp>
#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct HybridNorm {
  bool starred = false;

  auto slots(auto at) const {
    const bool first = starred && at.depth.layer == 1;
    const auto table = place().pre(when(first, at.norm)).close(at.norm);
    if constexpr (at.role == Role::feed_forward)
      return table.in(when(!first, at.norm));
    else if constexpr (at.role == Role::attention || at.role == Role::cross_attention)
      return table.query(at.norm).key(at.norm).value(at.norm);
    else
      return table;
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
