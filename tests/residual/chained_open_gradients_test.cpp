// SPDX-License-Identifier: MIT
#include "placement_depth.hpp"
#include "placement_gradients.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Chained, PlacementGradients, testing::Types<Case<user::Chained>>);
INSTANTIATE_TYPED_TEST_SUITE_P(NormedInput, PlacementGradients, testing::Types<Case<user::NormedInput>>);
INSTANTIATE_TYPED_TEST_SUITE_P(ClosedByReader, PlacementGradients, testing::Types<Case<user::ClosedByReader>>);

}  // namespace
}  // namespace placement
