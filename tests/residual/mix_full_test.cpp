// SPDX-License-Identifier: MIT
// The placements of mix_test.cpp in the suites of placement_runs.hpp and placement_gradients.hpp.
#include "placement_catalogue.hpp"
#include "placement_gradients.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(MixLN, PlacementRuns, testing::Types<Full<MixLNCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(MixLN, PlacementGradients, testing::Types<MixLNCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(Mix, PlacementRuns, testing::Types<Full<MixCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Mix, PlacementGradients, testing::Types<MixCase>);

}  // namespace
}  // namespace placement
