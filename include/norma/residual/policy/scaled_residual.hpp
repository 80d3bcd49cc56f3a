// SPDX-License-Identifier: MIT
// Pre-LN whose skip and branch are multiplied by constants:
//
//   x' = skip x + branch F(LN(x))     for every sublayer F
//   y  = LN(x)                        once, at the end of the stack
//
// With 1 and 1 it is Pre-LN. A branch of 1 / sqrt(2 L), L the layers, keeps the stream's variance bounded at any depth
// (Hayou et al., "Stable ResNet", arXiv 2010.12859, uniform scaling). Learned parameters: the norms',
// gamma = 1, beta = 0. The closing norm is required.
#pragma once

#include <norma/residual/combine.hpp>
#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct ScaledResidual {
  double skip = 1, branch = 1;

  auto slots(auto at) const { return place().pre(at.norm).post(Scale{branch}).join(scaled_skip(skip)).close(at.norm); }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
