// SPDX-License-Identifier: MIT
// Norms on the output of the sublayers alone (OLMo 2, "2 OLMo 2 Furious", arXiv 2501.00656, "reordered norm";
// the authors' code):
//
//   x' = x + LN(F(x))             for every sublayer F
//   y  = LN(x)                    once, at the end of the stack
//
// Learned parameters: the norms', gamma = 1, beta = 0. The closing norm is required: the stream is never normalised
// itself. OLMo 2 norms queries and keys too, over their whole width: WithQKNorm<OutputNorm, WholeQKNorm>. Without that,
// nothing bounds what enters a sublayer, and gradients at the first blocks are hundreds of times those at the last.
#pragma once

#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct OutputNorm {
  auto slots(auto at) const { return place().post(at.norm).close(at.norm); }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
