// SPDX-License-Identifier: MIT
#include "placement_gradients.hpp"
#include "placement_scales.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(NormFormer, PlacementGradients, testing::Types<Case<user::NormFormer>>);
INSTANTIATE_TYPED_TEST_SUITE_P(SubLN, PlacementGradients, testing::Types<Case<user::SubLN>>);

}  // namespace
}  // namespace placement
