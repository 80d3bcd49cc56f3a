// SPDX-License-Identifier: MIT
// Peri-LN (Kim et al., "Peri-LN: Revisiting Normalization Layer in the Transformer Architecture", arXiv 2502.02732;
// Gemma 2 and 3):
//
//   x  = LN(x)                    once, at the start of the stack, if embedding_norm
//   x' = x + LN(F(LN(x)))         for every sublayer F, each norm with its own parameters
//   y  = LN(x)                    once, at the end of the stack
//
// Between the ends the equations are Sandwich-LN's. Learned parameters: the norms', gamma = 1, beta = 0. The closing
// norm is required. That the norm of the embedding belongs to the paper's models is read in secondary texts only, and
// Gemma has none: so it is an option.
#pragma once

#include <norma/residual/combine.hpp>
#include <norma/residual/policy/sandwich.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct PeriLN {
  bool embedding_norm = false;

  auto slots(auto at) const { return Sandwich{}.slots(at).open(when(embedding_norm, at.norm)); }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
