// SPDX-License-Identifier: MIT
#include "placement_runs.hpp"

namespace placement {
namespace {

struct DeepNormCase : Case<norma::DeepNorm> {
  // As Post-LN: alpha costs nothing.
  static Index tape_floats(Index d, Index h, Index f) { return 2 * (d + 3) + attention_floats(d, h) + 2 * f + d; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(DeepNorm, PlacementRuns, testing::Types<DeepNormCase>);

}  // namespace
}  // namespace placement
