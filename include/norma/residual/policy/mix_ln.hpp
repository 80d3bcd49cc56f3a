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

#include <cmath>
#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

template <class First, class Rest>
struct Mix {
  double share = 0.25;  ///< of all blocks of the stack, also where a Mix is part of another
  First first{};
  Rest rest{};

  /// \throws Error for a share that is not between 0 and 1.
  auto slots(auto at) const {
    if (!(share >= 0 && share <= 1)) fail("Mix: share is " + std::to_string(share) + ", wanted 0 to 1");
    // So that 0.29 of 100 blocks are 29: the product is rounded.
    const bool is_first = at.depth.layer <= std::floor(share * at.depth.layers + 1e-9);
    return either(is_first, first.slots(at), rest.slots(at));
  }
};
using MixLN = Mix<PostLN, PreLN>;

}  // namespace norma::inline v0_1::inline NORMA_TARGET
