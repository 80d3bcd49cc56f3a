// SPDX-License-Identifier: MIT
// Placements that normalise the branch, before or after the sublayer.
#include "placement_quick.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Sandwich, PlacementQuick, testing::Types<SandwichCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(PeriLN, PlacementQuick, testing::Types<PeriLNCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(OutputNorm, PlacementQuick, testing::Types<OutputNormCase>);

}  // namespace
}  // namespace placement
