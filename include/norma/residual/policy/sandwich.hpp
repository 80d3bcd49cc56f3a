// SPDX-License-Identifier: MIT
// Sandwich-LN (Ding et al., "CogView", arXiv 2105.13290; the authors' code):
//
//   x' = x + LN(F(LN(x)))         for every sublayer F, each norm with its own parameters
//   y  = LN(x)                    once, at the end of the stack
//
// Learned parameters: the norms', gamma = 1, beta = 0: two norms per sublayer. The closing norm is required: the stream
// is never normalised itself. The authors' code draws N(0, 0.02), output matrices times 1 / sqrt(2 L): what
// TruncatedNormal draws, not cut.
#pragma once

#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct Sandwich {
  auto slots(auto at) const { return place().pre(at.norm).post(at.norm).close(at.norm); }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
