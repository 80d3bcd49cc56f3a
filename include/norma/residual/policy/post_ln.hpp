// SPDX-License-Identifier: MIT
// Post-LN (Vaswani et al., "Attention Is All You Need", arXiv 1706.03762, section 3.1):
//
//   x' = LN(x + F(x))             for every sublayer F
//
// Learned parameters: the norms', gamma = 1, beta = 0. No closing norm: the last sublayer ends with one.
#pragma once

#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct PostLN {
  auto slots(auto at) const { return place().out(at.norm); }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
