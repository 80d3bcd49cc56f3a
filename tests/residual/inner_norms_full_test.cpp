// SPDX-License-Identifier: MIT
// The placements of inner_norms_test.cpp in the suites of placement_runs.hpp and placement_gradients.hpp.
#include "placement_catalogue.hpp"
#include "placement_gradients.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(NormFormer, PlacementRuns, testing::Types<Full<NormFormerCase<true>>>);
INSTANTIATE_TYPED_TEST_SUITE_P(NormFormer, PlacementGradients, testing::Types<NormFormerCase<true>>);
INSTANTIATE_TYPED_TEST_SUITE_P(SubLN, PlacementRuns, testing::Types<Full<SubLNCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(SubLN, PlacementGradients, testing::Types<SubLNCase>);

}  // namespace
}  // namespace placement
