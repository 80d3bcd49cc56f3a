// SPDX-License-Identifier: MIT
// The placements of qk_norm_test.cpp in the suites of placement_runs.hpp and placement_gradients.hpp.
#include "placement_catalogue.hpp"
#include "placement_gradients.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(PerHead, PlacementRuns, testing::Types<Full<QKNormCase<norma::PerHeadQKNorm>>>);
INSTANTIATE_TYPED_TEST_SUITE_P(PerHead, PlacementGradients, testing::Types<QKNormCase<norma::PerHeadQKNorm>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Whole, PlacementRuns, testing::Types<Full<QKNormCase<norma::WholeQKNorm>>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Whole, PlacementGradients, testing::Types<QKNormCase<norma::WholeQKNorm>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Cosine, PlacementRuns, testing::Types<Full<QKNormCase<norma::CosineQKNorm>>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Cosine, PlacementGradients, testing::Types<QKNormCase<norma::CosineQKNorm>>);

}  // namespace
}  // namespace placement
