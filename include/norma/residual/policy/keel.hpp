// SPDX-License-Identifier: MIT
// KEEL (Chen and Wei, "Post-LayerNorm Is Back: Stable, Expressive, and Deep", arXiv 2601.19895):
//
//   x' = LN(alpha x + F(LN(x)))   for every sublayer F,  alpha the number of sublayers, 2 L
//   x' = x + F(LN(x))             in the first block
//
// Learned parameters: the norms', gamma = 1, beta = 0. No closing norm. The equation rests on three texts that explain
// the paper, alpha and the first block on one of them; none of it was read in the paper. With cross-attention a stack
// has 3 L sublayers, of parallel blocks L. Public code also offers L and sqrt(L): so alpha can be set.
#pragma once

#include <norma/residual/combine.hpp>
#include <norma/residual/table.hpp>

#include <optional>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct Keel {
  std::optional<double> alpha{};  ///< in place of the number of sublayers

  auto slots(auto at) const {
    const bool first = at.depth.layer == 1;
    return place()
        .pre(at.norm)
        .join(scaled_skip(first ? 1 : alpha.value_or(double(at.sublayers) * at.depth.layers)))
        .out(when(!first, at.norm));
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
