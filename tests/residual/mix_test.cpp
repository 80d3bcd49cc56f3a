// SPDX-License-Identifier: MIT
// Placements that change with depth.
#include "placement_quick.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(MixLN, PlacementQuick, testing::Types<MixLNCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(Mix, PlacementQuick, testing::Types<MixCase>);

}  // namespace
}  // namespace placement
