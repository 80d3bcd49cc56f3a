// SPDX-License-Identifier: MIT
#include "placement_gradients.hpp"
#include "placement_scales.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(StackGate, PlacementGradients, testing::Types<Case<user::StackGate>>);

}  // namespace
}  // namespace placement
