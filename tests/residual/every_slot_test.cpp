// SPDX-License-Identifier: MIT
#include "placement_every_slot.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

struct EverySlotCase : Case<user::EverySlot<false>> {
  // Per site: In d + 3, Pre d + 3 after a sum d + 3, the branch before and after Post, 2 d + 3, what Out normalises, d
  // + 3, both parts, 2 d. Attention: q, k, v before their norms, 3 d, with 3 statistics per head each; the heads
  // scaled, d, and normed, d + 3. Feed-forward: before the norms, 2 f, 3 statistics each. Close: two norms' statistics.
  // A block alone is closed, for its stream has two parts, but not opened.
  static Index tape_floats(Index d, Index h, Index f) {
    return 2 * (8 * d + 15) + attention_floats(d, h) + (5 * d + 9 * h + 3) + (4 * f + 6) + 6;
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(EverySlot, PlacementRuns, testing::Types<EverySlotCase>);

}  // namespace
}  // namespace placement
