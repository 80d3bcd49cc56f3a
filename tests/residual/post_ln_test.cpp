// SPDX-License-Identifier: MIT
#include "placement_runs.hpp"

namespace placement {
namespace {

struct PostLNCase : Case<norma::PostLN> {
  // Per site: the sum that Out normalises, d, and its three statistics. The sublayers, and the stream between the
  // sites, d. The sublayers read the stream itself.
  static Index tape_floats(Index d, Index h, Index f) { return 2 * (d + 3) + attention_floats(d, h) + 2 * f + d; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(PostLN, PlacementRuns, testing::Types<PostLNCase>);

}  // namespace
}  // namespace placement
