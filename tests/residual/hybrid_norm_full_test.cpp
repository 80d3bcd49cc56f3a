// SPDX-License-Identifier: MIT
// The placements of hybrid_norm_test.cpp in the suites of placement_runs.hpp and placement_gradients.hpp.
#include "placement_catalogue.hpp"
#include "placement_gradients.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Starred, PlacementRuns, testing::Types<Full<HybridNormCase<true>>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Starred, PlacementGradients, testing::Types<HybridNormCase<true>>);

}  // namespace
}  // namespace placement
