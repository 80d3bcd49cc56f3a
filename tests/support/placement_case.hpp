// SPDX-License-Identifier: MIT
// A placement under test. Its test files instantiate two suites, PlacementGradients and PlacementRuns, on cases:
//
//   struct MyCase : placement::Case<MyPolicy> {
//     static Index tape_floats(Index d, Index h, Index f) { ... }    floats per token that a block in mid-stack keeps
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(MyPolicy, PlacementRuns, testing::Types<MyCase>);
#pragma once

#include <string>
#include <vector>

#include "placement_tools.hpp"

namespace placement {

/// What attention keeps per token: q, k, v, o and a log-sum-exp per head.
inline Index attention_floats(Index d, Index h) { return 4 * d + h; }

/// `Policy` for an ungated feed-forward and `Gated` for a gated one differ only where the policy norms the gate.
template <class PolicyType, class GatedType = PolicyType>
struct Case {
  using Policy = PolicyType;
  using Gated = GatedType;
  static PolicyType policy() { return {}; }
  static GatedType gated() { return {}; }
  /// How far weights are moved from their initial values where gradients are checked.
  static double perturbation() { return 0.3; }
  /// Adding a constant to all keys moves all scores of a query alike, which the softmax takes back.
  static std::vector<std::string> zero_by_theory() { return {"key.bias"}; }
};

}  // namespace placement
