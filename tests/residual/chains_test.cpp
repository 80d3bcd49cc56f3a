// SPDX-License-Identifier: MIT
#include "placement_depth.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

struct ChainedCase : Case<user::Chained> {
  // Block 2: the first of the chain alone, as in Pre-LN, and per site what Out normalises, d + 3.
  static Index tape_floats(Index d, Index h, Index f) { return 4 * (d + 3) + attention_floats(d, h) + 2 * f + d; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Chained, PlacementRuns, testing::Types<ChainedCase>);

}  // namespace
}  // namespace placement
