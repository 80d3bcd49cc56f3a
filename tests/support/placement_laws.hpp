// SPDX-License-Identifier: MIT
// Two networks on the same weights, compared to the last bit.
#pragma once

#include <algorithm>

#include "placement_tools.hpp"

namespace placement {

inline constexpr Dimensions kDims{21, 3, 17};
inline constexpr Shape kShape{2, 7};

/// Runs the second network on the first one's weights: same layout, or same parameters in the same order.
template <class A, class Z>
bool equal(const A& a, const Z& z) {
  const auto weights = perturbed(a);
  auto same = z.gradients();
  if (weights.size() != same.size()) return false;
  std::copy(weights.flat().begin(), weights.flat().end(), same.flat().begin());
  return same_bits(run(a, weights, kShape, kDims.width), run(z, same, kShape, kDims.width));
}
template <class A, class Z>
bool equal_at_init(const A& a, const Z& z) {
  const auto x = a.initialize(Rng(1)), y = z.initialize(Rng(1));
  return std::equal(x.flat().begin(), x.flat().end(), y.flat().begin(), y.flat().end());
}

}  // namespace placement
