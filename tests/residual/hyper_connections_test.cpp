// SPDX-License-Identifier: MIT
#include "placement_hyper_connections.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

struct HyperConnections2Case : Case<user::HyperConnections<2>> {
  // Per site: the mix, d, its norm, d + 3, the branch, d, and N parts. Close: the sum of the parts, d + 3.
  static Index tape_floats(Index d, Index h, Index f) {
    return 2 * (d + (d + 3) + d + 2 * d) + attention_floats(d, h) + 2 * f + (d + 3);
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(HyperConnections2, PlacementRuns, testing::Types<HyperConnections2Case>);

struct HyperConnections4Case : Case<user::HyperConnections<4>> {
  // N = 4.
  static Index tape_floats(Index d, Index h, Index f) {
    return 2 * (d + (d + 3) + d + 4 * d) + attention_floats(d, h) + 2 * f + (d + 3);
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(HyperConnections4, PlacementRuns, testing::Types<HyperConnections4Case>);

struct ClosedByReaderCase : Case<user::ClosedByReader> {
  // A block alone has no ends when its stream is one matrix: as Pre-LN.
  static Index tape_floats(Index d, Index h, Index f) { return 2 * (d + 3) + attention_floats(d, h) + 2 * f + d; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(ClosedByReader, PlacementRuns, testing::Types<ClosedByReaderCase>);

}  // namespace
}  // namespace placement
