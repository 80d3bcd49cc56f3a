// SPDX-License-Identifier: MIT
#include "placement_runs.hpp"
#include "placement_scales.hpp"

namespace placement {
namespace {

struct NormedInputCase : Case<user::NormedInput> {
  // A block alone has no ends: as Pre-LN.
  static Index tape_floats(Index d, Index h, Index f) { return 2 * (d + 3) + attention_floats(d, h) + 2 * f + d; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(NormedInput, PlacementRuns, testing::Types<NormedInputCase>);

}  // namespace
}  // namespace placement
