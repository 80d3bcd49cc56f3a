// SPDX-License-Identifier: MIT
#include "placement_depth.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

struct TwoNormsCase : Case<user::TwoNorms> {
  // Block 2 is Pre-LN with LayerNorm.
  static Index tape_floats(Index d, Index h, Index f) { return 2 * (d + 3) + attention_floats(d, h) + 2 * f + d; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(TwoNorms, PlacementRuns, testing::Types<TwoNormsCase>);

}  // namespace
}  // namespace placement
