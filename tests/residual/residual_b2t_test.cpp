// SPDX-License-Identifier: MIT
#include "placement_runs.hpp"
#include "placement_streams.hpp"

namespace placement {
namespace {

struct ResiDualCase : Case<user::ResiDual> {
  static user::ResiDual policy() { return {.alpha = 0.5}; }
  // Per site: what Out normalises, d + 3, and both parts, 2 d: the last ones too, for a stream of two is closed even in
  // a block alone. Close: three statistics.
  static Index tape_floats(Index d, Index h, Index f) {
    return 2 * (d + 3) + 4 * d + attention_floats(d, h) + 2 * f + 3;
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(ResiDual, PlacementRuns, testing::Types<ResiDualCase>);

}  // namespace
}  // namespace placement
