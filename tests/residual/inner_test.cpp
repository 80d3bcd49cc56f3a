// SPDX-License-Identifier: MIT
#include "placement_runs.hpp"
#include "placement_scales.hpp"

namespace placement {
namespace {

struct NormFormerCase : Case<user::NormFormer> {
  // Pre-LN. At attention: the branch before its norm, d + 3, and the heads after their scale, d. At the feed-forward:
  // the hidden row after its norm, f + 3. The skip that the scale reads is the stream.
  static Index tape_floats(Index d, Index h, Index f) {
    return 2 * (d + 3) + attention_floats(d, h) + (d + 3) + d + 2 * f + (f + 3) + d;
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(NormFormer, PlacementRuns, testing::Types<NormFormerCase>);

struct SubLNCase : Case<user::SubLN> {
  // Pre-LN. At attention: the heads after their norm, d + 3. At the feed-forward: the hidden row after its, f + 3.
  static Index tape_floats(Index d, Index h, Index f) {
    return 2 * (d + 3) + attention_floats(d, h) + (d + 3) + 2 * f + (f + 3) + d;
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(SubLN, PlacementRuns, testing::Types<SubLNCase>);

struct NormedInputCase : Case<user::NormedInput> {
  // A block alone has no ends: as Pre-LN.
  static Index tape_floats(Index d, Index h, Index f) { return 2 * (d + 3) + attention_floats(d, h) + 2 * f + d; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(NormedInput, PlacementRuns, testing::Types<NormedInputCase>);

}  // namespace
}  // namespace placement
