// SPDX-License-Identifier: MIT
// The placements of post_norms_test.cpp in the suites of placement_runs.hpp and placement_gradients.hpp.
#include "placement_catalogue.hpp"
#include "placement_gradients.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(GLMDeepNorm, PlacementRuns, testing::Types<Full<GLMDeepNormCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(GLMDeepNorm, PlacementGradients, testing::Types<GLMDeepNormCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(B2T, PlacementRuns, testing::Types<Full<B2TCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(B2T, PlacementGradients, testing::Types<B2TCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(Keel, PlacementRuns, testing::Types<Full<KeelCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Keel, PlacementGradients, testing::Types<KeelCase>);

}  // namespace
}  // namespace placement
