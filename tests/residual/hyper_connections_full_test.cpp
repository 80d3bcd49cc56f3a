// SPDX-License-Identifier: MIT
// The placements of hyper_connections_test.cpp in the suites of placement_runs.hpp and placement_gradients.hpp.
#include "placement_catalogue_gates.hpp"
#include "placement_gradients.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(HyperConnections1, PlacementRuns, testing::Types<Full<HyperConnectionsCase<1>>>);
INSTANTIATE_TYPED_TEST_SUITE_P(HyperConnections1, PlacementGradients, testing::Types<HyperConnectionsCase<1>>);
INSTANTIATE_TYPED_TEST_SUITE_P(HyperConnections4, PlacementRuns, testing::Types<Full<HyperConnectionsCase<4>>>);
INSTANTIATE_TYPED_TEST_SUITE_P(HyperConnections4, PlacementGradients, testing::Types<HyperConnectionsCase<4>>);
INSTANTIATE_TYPED_TEST_SUITE_P(DynamicHyperConnections1, PlacementRuns,
                               testing::Types<Full<DynamicHyperConnectionsCase<1>>>);
INSTANTIATE_TYPED_TEST_SUITE_P(DynamicHyperConnections1, PlacementGradients,
                               testing::Types<DynamicHyperConnectionsCase<1>>);
INSTANTIATE_TYPED_TEST_SUITE_P(DynamicHyperConnections4, PlacementRuns,
                               testing::Types<Full<DynamicHyperConnectionsCase<4>>>);
INSTANTIATE_TYPED_TEST_SUITE_P(DynamicHyperConnections4, PlacementGradients,
                               testing::Types<DynamicHyperConnectionsCase<4>>);

}  // namespace
}  // namespace placement
