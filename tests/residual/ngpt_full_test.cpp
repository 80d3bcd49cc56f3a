// SPDX-License-Identifier: MIT
// The placements of ngpt_test.cpp in the suites of placement_runs.hpp and placement_gradients.hpp.
#include "placement_catalogue_gates.hpp"
#include "placement_gradients.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(NGPT, PlacementRuns, testing::Types<Full<NGPTCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(NGPT, PlacementGradients, testing::Types<NGPTCase>);

}  // namespace
}  // namespace placement
