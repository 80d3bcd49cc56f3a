// SPDX-License-Identifier: MIT
// The placements of branch_norms_test.cpp in the suites of placement_runs.hpp and placement_gradients.hpp.
#include "placement_catalogue.hpp"
#include "placement_gradients.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Sandwich, PlacementRuns, testing::Types<Full<SandwichCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Sandwich, PlacementGradients, testing::Types<SandwichCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(PeriLN, PlacementRuns, testing::Types<Full<PeriLNCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(PeriLN, PlacementGradients, testing::Types<PeriLNCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(OutputNorm, PlacementRuns, testing::Types<Full<OutputNormCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(OutputNorm, PlacementGradients, testing::Types<OutputNormCase>);

}  // namespace
}  // namespace placement
