// SPDX-License-Identifier: MIT
// Pre-LN with constants.
#include "placement_quick.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(ScaledResidual, PlacementQuick, testing::Types<ScaledResidualCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(LayerNormScaling, PlacementQuick, testing::Types<LayerNormScalingCase>);

}  // namespace
}  // namespace placement
