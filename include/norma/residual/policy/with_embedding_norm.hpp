// SPDX-License-Identifier: MIT
// Any placement with a norm on what enters the stack, before the first block:
//
//   x_0 = LN(e)                   e: the embedded tokens or patches
//
// WithEmbeddingNorm<PostLN> is BERT (Devlin et al., arXiv 1810.04805, as in the authors' code: the sum of the
// embeddings is normed, then dropped) and BLIP-2's Q-Former (Li et al., arXiv 2301.12597, its code);
// WithEmbeddingNorm<PreLN> the image encoder of CLIP (Radford et al., arXiv 2103.00020, section 2.4). Learned
// parameters: those of the norm, open.gamma = 1, open.beta = 0, and the placement's.
#pragma once

#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

template <class Placement>
struct WithEmbeddingNorm {
  Placement placement{};

  auto slots(auto at) const { return placement.slots(at).open(at.norm); }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
