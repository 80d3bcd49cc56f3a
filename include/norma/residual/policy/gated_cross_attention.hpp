// SPDX-License-Identifier: MIT
// Gated cross-attention (Alayrac et al., "Flamingo: a Visual Language Model for Few-Shot Learning", arXiv 2204.14198),
// blocks that are put between those of a model that is trained already:
//
//   y = x + tanh(a) XA(LN(x), memory)
//   z = y + tanh(b) FFN(LN(y))
//
// Learned parameters: the norms', and one gate per sublayer, 0 at first: a new block is the identity, and on the first
// step its gates alone have a gradient. The equations are given from general knowledge of the paper. The closing norm
// is the model's: where these blocks stand alone in a stack, it is required, as of Pre-LN.
//
//   CrossAttentionBlock<GatedCrossAttention> reader(dims);          before a block of the model:
//   reader.forward(reader_weights, x, y, reader_workspace, {.memory = image});
//   block.forward(weights, y, z, workspace);
#pragma once

#include <norma/residual/gate.hpp>
#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct GatedCrossAttention {
  auto slots(auto at) const {
    using Gate = ScalarGate<typename decltype(at)::Scalar>;
    return place().pre(at.norm).join(Gate(0, Scope::site, Gate::Squash::tanh)).close(at.norm);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
