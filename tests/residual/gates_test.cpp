// SPDX-License-Identifier: MIT
#include "placement_runs.hpp"
#include "placement_scales.hpp"

namespace placement {
namespace {

struct ReZeroCase : Case<user::ReZero> {
  // Per site: the branch, d, which the gate's gradient reads. The sublayers, the stream between the sites.
  static Index tape_floats(Index d, Index h, Index f) { return 2 * d + attention_floats(d, h) + 2 * f + d; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(ReZero, PlacementRuns, testing::Types<ReZeroCase>);

struct StackGateCase : Case<user::StackGate> {
  // Pre-LN, and per site the branch, d.
  static Index tape_floats(Index d, Index h, Index f) {
    return 2 * (d + 3) + 2 * d + attention_floats(d, h) + 2 * f + d;
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(StackGate, PlacementRuns, testing::Types<StackGateCase>);

}  // namespace
}  // namespace placement
