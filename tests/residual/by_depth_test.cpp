// SPDX-License-Identifier: MIT
#include "placement_depth.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

struct KeelCase : Case<user::Keel> {
  // Block 2: Pre-LN, and per site what Out normalises, d + 3.
  static Index tape_floats(Index d, Index h, Index f) { return 4 * (d + 3) + attention_floats(d, h) + 2 * f + d; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Keel, PlacementRuns, testing::Types<KeelCase>);

struct MixLNCase : Case<user::MixLN> {
  static user::MixLN policy() { return {.share = 0.4}; }
  // Block 2 of 3 is Pre-LN: nothing is kept for the norms that are absent.
  static Index tape_floats(Index d, Index h, Index f) { return 2 * (d + 3) + attention_floats(d, h) + 2 * f + d; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(MixLN, PlacementRuns, testing::Types<MixLNCase>);

struct TwoNormsCase : Case<user::TwoNorms> {
  // Block 2 is Pre-LN with LayerNorm.
  static Index tape_floats(Index d, Index h, Index f) { return 2 * (d + 3) + attention_floats(d, h) + 2 * f + d; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(TwoNorms, PlacementRuns, testing::Types<TwoNormsCase>);

}  // namespace
}  // namespace placement
