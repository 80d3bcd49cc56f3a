// SPDX-License-Identifier: MIT
// The placements of two_streams_test.cpp in the suites of placement_runs.hpp and placement_gradients.hpp.
#include "placement_catalogue_gates.hpp"
#include "placement_gradients.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(ResiDual, PlacementRuns, testing::Types<Full<ResiDualCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(ResiDual, PlacementGradients, testing::Types<ResiDualCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(SiameseNorm, PlacementRuns, testing::Types<Full<SiameseNormCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(SiameseNorm, PlacementGradients, testing::Types<SiameseNormCase>);

}  // namespace
}  // namespace placement
