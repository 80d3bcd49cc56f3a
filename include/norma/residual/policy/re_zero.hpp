// SPDX-License-Identifier: MIT
// ReZero (Bachlechner et al., "ReZero is All You Need", arXiv 2003.04887; one gate for all sublayers of a block, as in
// the authors' code):
//
//   x' = x + a F(x)               for every sublayer F
//
// Learned parameters: a, one number for all sublayers of a block, 0 at first, so that a stack starts as the identity
// and on the first step the gates alone have a gradient. No norms, and no closing norm.
#pragma once

#include <norma/residual/gate.hpp>
#include <norma/residual/table.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct ReZero {
  auto slots(auto at) const {
    using T = typename decltype(at)::Scalar;
    return place().join(ScalarGate<T>(0, Scope::block));
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
