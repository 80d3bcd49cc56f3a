// SPDX-License-Identifier: MIT
// Pre-LN whose parallel blocks have a norm for each sublayer (Black et al., "GPT-NeoX-20B", arXiv 2204.06745, from
// general knowledge), in place of one that they share (GPT-J):
//
//   x' = x + A(LN1(x)) + F(LN2(x))        in a ParallelBlock
//   x' = x + F(LN(x))                     for every sublayer F of any other block: Pre-LN
//   y  = LN(x)                            once, at the end of the stack
//
// Learned parameters: the norms'. The closing norm is required.
#pragma once

#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct PreLNPerBranch {
  auto slots(auto at) const {
    if constexpr (at.role == Role::parallel)
      return place().branch(at.norm).close(at.norm);
    else
      return place().pre(at.norm).close(at.norm);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
