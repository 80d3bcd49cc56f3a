// SPDX-License-Identifier: MIT
// One placement in the first blocks of a stack, another in the rest; and Mix-LN (Li, Yin and Liu, "Mix-LN", arXiv
// 2412.13795; the authors' code), where they are Post-LN and Pre-LN:
//
//   x' = LN(x + F(x))             in blocks 1 to floor(share L)
//   x' = x + F(LN(x))             in the others
//   y  = LN(x)                    once, at the end of the stack
//
// Learned parameters: the norms', gamma = 1, beta = 0. What opens the stack is the first block's placement's, what
// closes it the last one's: so the closing norm is required unless all blocks are Post-LN. That a quarter is the best
// share is read in secondary texts only.
#pragma once

#include <norma/residual/either_table.hpp>
#include <norma/residual/policy/post_ln.hpp>
#include <norma/residual/policy/pre_ln.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

template <class First, class Rest>
struct Mix {
  double share = 0.25;
  First first{};
  Rest rest{};

  auto slots(auto at) const {
    const bool is_first = at.depth.layer <= static_cast<int>(share * at.depth.layers);
    return either(is_first, first.slots(at), rest.slots(at));
  }
};
using MixLN = Mix<PostLN, PreLN>;

}  // namespace norma::inline v0_1::inline NORMA_TARGET
