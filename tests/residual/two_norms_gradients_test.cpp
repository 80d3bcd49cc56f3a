// SPDX-License-Identifier: MIT
#include "placement_depth.hpp"
#include "placement_gradients.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(TwoNorms, PlacementGradients, testing::Types<Case<user::TwoNorms>>);

}  // namespace
}  // namespace placement
