// SPDX-License-Identifier: MIT
// Placements with two streams.
#include "placement_catalogue_gates.hpp"
#include "placement_quick.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(ResiDual, PlacementQuick, testing::Types<ResiDualCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(SiameseNorm, PlacementQuick, testing::Types<SiameseNormCase>);

}  // namespace
}  // namespace placement
