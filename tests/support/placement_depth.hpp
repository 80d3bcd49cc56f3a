// SPDX-License-Identifier: MIT
// Placements that change with depth, written as a user would: against the public headers only.
#pragma once

#include "placement_scales.hpp"

namespace user {

/// KEEL (arXiv 2601.19895): LN(alpha x + F(LN x)), alpha the number of sublayers; the first block is Pre-LN.
struct Keel {
  std::optional<double> alpha{};
  auto slots(auto at) const {
    const bool first = at.depth.layer == 1;
    return place()
        .pre(at.norm)
        .join(scaled_skip(first ? 1 : alpha.value_or(2.0 * at.depth.layers)))
        .out(when(!first, at.norm));
  }
};

/// Mix-LN (arXiv 2412.13795): the first share of the blocks is Post-LN, the rest Pre-LN.
struct MixLN {
  double share = 0.25;
  auto slots(auto at) const {
    const bool post = at.depth.layer <= static_cast<int>(share * at.depth.layers);
    return place().pre(when(!post, at.norm)).out(when(post, at.norm)).close(when(share < 1, at.norm));
  }
};

/// Pre-LN whose first block has another norm than the rest.
struct TwoNorms {
  auto slots(auto at) const {
    using T = typename decltype(at)::Scalar;
    return place().pre(norma::either(at.depth.layer == 1, norma::RMSNorm<T>{}, norma::LayerNorm<T>{})).close(at.norm);
  }
};

/// LayerNorm Scaling (arXiv 2502.05795): F(LN(x) / sqrt(layer)).
struct LayerNormScaling {
  auto slots(auto at) const {
    return place().pre(then(at.norm, Scale{1 / std::sqrt(double(at.depth.layer))})).close(at.norm);
  }
};

/// A chain whose members come and go with depth: neither in block 1, the first alone in 2, both from 3 on.
struct Chained {
  auto slots(auto at) const {
    const int layer = at.depth.layer;
    return place().pre(then(when(layer >= 2, at.norm), when(layer >= 3, at.norm))).out(at.norm);
  }
};

}  // namespace user
