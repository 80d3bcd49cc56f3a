// SPDX-License-Identifier: MIT
#include "placement_runs.hpp"
#include "placement_streams.hpp"

namespace placement {
namespace {

struct SiameseNormCase : Case<user::SiameseNorm> {
  // Per site: In's output, d + 3; the sum that the reader's last norm reads, d, its output, d, two norms' statistics;
  // both parts, 2 d. Close: the sum of two norms, d, and the statistics of three.
  static Index tape_floats(Index d, Index h, Index f) {
    return 2 * ((d + 3) + (2 * d + 6) + 2 * d) + attention_floats(d, h) + 2 * f + (d + 9);
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(SiameseNorm, PlacementRuns, testing::Types<SiameseNormCase>);

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
