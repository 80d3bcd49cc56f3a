// SPDX-License-Identifier: MIT
// The placements of learned_gates_test.cpp in the suites of placement_runs.hpp and placement_gradients.hpp.
#include "placement_catalogue_gates.hpp"
#include "placement_gradients.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(ReZero, PlacementRuns, testing::Types<Full<ReZeroCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(ReZero, PlacementGradients, testing::Types<ReZeroCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(LayerScale, PlacementRuns, testing::Types<Full<LayerScaleCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(LayerScale, PlacementGradients, testing::Types<LayerScaleCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(GatedCrossAttention, PlacementRuns, testing::Types<Full<GatedCrossAttentionCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(GatedCrossAttention, PlacementGradients, testing::Types<GatedCrossAttentionCase>);

}  // namespace
}  // namespace placement
