// SPDX-License-Identifier: MIT
#include "placement_runs.hpp"
#include "placement_scales.hpp"

namespace placement {
namespace {

struct StackGateCase : Case<user::StackGate> {
  // Pre-LN, and per site the branch, d.
  static Index tape_floats(Index d, Index h, Index f) {
    return 2 * (d + 3) + 2 * d + attention_floats(d, h) + 2 * f + d;
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(StackGate, PlacementRuns, testing::Types<StackGateCase>);

struct ClosedByReaderCase : Case<user::ClosedByReader> {
  // A block alone has no ends when its stream is one matrix: as Pre-LN.
  static Index tape_floats(Index d, Index h, Index f) { return 2 * (d + 3) + attention_floats(d, h) + 2 * f + d; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(ClosedByReader, PlacementRuns, testing::Types<ClosedByReaderCase>);

}  // namespace
}  // namespace placement
