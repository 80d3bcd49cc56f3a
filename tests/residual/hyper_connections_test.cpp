// SPDX-License-Identifier: MIT
// Streams of several rows that learned matrices mix.
#include "placement_catalogue_gates.hpp"
#include "placement_quick.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(HyperConnections2, PlacementQuick, testing::Types<HyperConnectionsCase<2>>);
INSTANTIATE_TYPED_TEST_SUITE_P(HyperConnections4, PlacementQuick, testing::Types<HyperConnectionsCase<4>>);
INSTANTIATE_TYPED_TEST_SUITE_P(DynamicHyperConnections2, PlacementQuick,
                               testing::Types<DynamicHyperConnectionsCase<2>>);

}  // namespace
}  // namespace placement
