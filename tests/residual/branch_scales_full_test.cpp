// SPDX-License-Identifier: MIT
// The placements of branch_scales_test.cpp in the suites of placement_runs.hpp and placement_gradients.hpp.
#include "placement_catalogue.hpp"
#include "placement_gradients.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(ScaledResidual, PlacementRuns, testing::Types<Full<ScaledResidualCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(ScaledResidual, PlacementGradients, testing::Types<ScaledResidualCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(LayerNormScaling, PlacementRuns, testing::Types<Full<LayerNormScalingCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(LayerNormScaling, PlacementGradients, testing::Types<LayerNormScalingCase>);

}  // namespace
}  // namespace placement
