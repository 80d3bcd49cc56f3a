// SPDX-License-Identifier: MIT
// Placements that change with depth, written as a user would: against the public headers only.
#pragma once

#include "placement_scales.hpp"

namespace user {

/// Pre-LN whose first block has another norm than the rest.
struct TwoNorms {
  auto slots(auto at) const {
    using T = typename decltype(at)::Scalar;
    return place().pre(norma::either(at.depth.layer == 1, norma::RMSNorm<T>{}, norma::LayerNorm<T>{})).close(at.norm);
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
