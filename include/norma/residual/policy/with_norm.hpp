// SPDX-License-Identifier: MIT
// A placement with a norm of its own, whatever norm the block has: Mix<WithNorm<PostLN, RMSNorm>, PreLN> has one norm
// in the first blocks and another in the rest. The norm has its default options; others are those of a type that says
// so, template <class T> struct Exact : RMSNorm<T> { Exact() { this->eps = 1e-6; } };
#pragma once

#include <norma/residual/at.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

template <class Placement, template <class> class Norm>
struct WithNorm {
  Placement placement{};

  auto slots(auto at) const {
    using Own = Norm<typename decltype(at)::Scalar>;
    return placement.slots(at.with_norm(Own{}));
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
