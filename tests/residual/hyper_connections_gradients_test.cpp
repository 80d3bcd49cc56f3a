// SPDX-License-Identifier: MIT
#include "placement_gradients.hpp"
#include "placement_hyper_connections.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(ClosedByReader, PlacementGradients, testing::Types<Case<user::ClosedByReader>>);
INSTANTIATE_TYPED_TEST_SUITE_P(HyperConnections2, PlacementGradients, testing::Types<Case<user::HyperConnections<2>>>);
INSTANTIATE_TYPED_TEST_SUITE_P(HyperConnections4, PlacementGradients, testing::Types<Case<user::HyperConnections<4>>>);

}  // namespace
}  // namespace placement
