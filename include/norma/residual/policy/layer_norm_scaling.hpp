// SPDX-License-Identifier: MIT
// LayerNorm Scaling (Sun et al., "The Curse of Depth in Large Language Models", arXiv 2502.05795):
//
//   x' = x + F(LN(x) / sqrt(l))   for every sublayer F of block l, l from 1
//   y  = LN(x)                    once, at the end of the stack
//
// Learned parameters: the norms', gamma = 1, beta = 0. The closing norm is required. The authors warn against an
// initialiser that scales the output matrices by depth as well: not with TruncatedNormal's default.
#pragma once

#include <norma/residual/combine.hpp>
#include <norma/residual/table.hpp>

#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct LayerNormScaling {
  auto slots(auto at) const {
    return place().pre(then(at.norm, Scale{1 / std::sqrt(double(at.depth.layer))})).close(at.norm);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
