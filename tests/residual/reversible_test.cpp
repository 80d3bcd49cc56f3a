// SPDX-License-Identifier: MIT
#include "placement_runs.hpp"
#include "placement_streams.hpp"

namespace placement {
namespace {

struct ReversibleCase : Case<user::Reversible> {
  // Per site: the part that it reads, d, its norm, d + 3, and the one part that it writes, d. Close: two norms'
  // statistics.
  static Index tape_floats(Index d, Index h, Index f) {
    return 2 * (d + (d + 3) + d) + attention_floats(d, h) + 2 * f + 6;
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Reversible, PlacementRuns, testing::Types<ReversibleCase>);

}  // namespace
}  // namespace placement
