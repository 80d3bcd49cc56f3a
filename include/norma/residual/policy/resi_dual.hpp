// SPDX-License-Identifier: MIT
// ResiDual (Xie et al., "ResiDual: Transformer with Dual Residual Connections", arXiv 2304.14802; the
// authors' code):
//
//   g  = F(x)                     for every sublayer F
//   x' = LN(x + g)                the Post-LN chain, part 0
//   r' = r + g                    the dual chain, part 1; r starts as x does
//   y  = alpha x + LN(r)          once, at the end of the stack
//
// Learned parameters: the norms'. alpha is 1 unless set. The code also scales r, and what is added to it, by a factor
// for half precision, which the norm takes back: left out. Its eps is 1e-7. The closing norm is required, on the dual
// chain.
#pragma once

#include <norma/residual/streams.hpp>
#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct ResiDual {
  double alpha = 1;

  auto slots(auto at) const {
    return place<2>().join(AddToParts<2>{{1, 1}}).out(at.norm).close(SumOf(Scale{alpha}, at.norm));
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
