// SPDX-License-Identifier: MIT
// Hyper-connections, static (Zhu et al., "Hyper-Connections", arXiv 2409.19606, equations 1 to 5 and section 4). The
// stream H is n rows of a token's width, each the embedding at first. For sublayer k, from 0:
//
//   u  = A_m^T H                          a row
//   H' = A_r^T H + B^T F(LN(u))           row i gets B_i times the branch
//   y  = LN(sum of the rows of H)         once, at the end of the stack
//
// Learned parameters: the norms'; per sublayer A_m = e_(k mod n), A_r = I, B = (1 ... 1) at first: every row is then
// Pre-LN's stream. They do not decay. The closing norm is required. The paper also scales the std of attention's and
// the feed-forward's output matrices by sqrt(n) at init; its text leaves open whether up or down, so `output_gain` is 1
// unless set.
#pragma once

#include <norma/residual/combine.hpp>
#include <norma/residual/mix.hpp>
#include <norma/residual/streams.hpp>
#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

template <int Parts = 4>
struct HyperConnections {
  double output_gain = 1;

  auto slots(auto at) const {
    using T = typename decltype(at)::Scalar;
    return place<Parts>()
        .pre(then(ReadMix<T, Parts>(at.site), at.norm))
        .join(WriteMix<T, Parts>())
        .close(then(SumParts<Parts>{}, at.norm))
        .gain(output_gain, kResidualOutput);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
