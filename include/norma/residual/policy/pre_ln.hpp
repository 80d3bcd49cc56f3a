// SPDX-License-Identifier: MIT
// Pre-LN (Xiong et al., "On Layer Normalization in the Transformer Architecture", arXiv 2002.04745, table 1, right):
//
//   x' = x + F(LN(x))             for every sublayer F
//   y  = LN(x)                    once, at the end of the stack
//
// Learned parameters: the norms', gamma = 1, beta = 0. The closing norm is required: the stream is never normalised
// itself.
#pragma once

#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct PreLN {
  auto slots(auto at) const { return place().pre(at.norm).close(at.norm); }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
