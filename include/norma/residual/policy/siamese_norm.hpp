// SPDX-License-Identifier: MIT
// SiameseNorm (arXiv 2602.08064), as in the authors' DeiT model; their OLMo model differs:
//
//   x  = LNa(x)                           part 0, normalised at each site
//   g  = F(LNi(x + LNb(y)))               for every sublayer F
//   x' = x + g / c,  c = sqrt(2 l)        l: the block, from 1
//   y' = y + g                            part 1, never normalised
//   z  = LN(LN(x) + LN(y))                once, at the end of the stack
//
// Learned parameters: three norms per sublayer and three at the end. The closing norms are required.
#pragma once

#include <norma/residual/streams.hpp>
#include <norma/residual/table.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct SiameseNorm {
  auto slots(auto at) const {
    const double c = std::sqrt(2.0 * at.depth.layer);
    return place<2>()
        .in(at.norm)
        .pre(then(SumOf(Scale{1}, at.norm), at.norm))
        .join(AddToParts<2>{{1 / c, 1}})
        .close(then(SumOf(at.norm, at.norm), at.norm));
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
