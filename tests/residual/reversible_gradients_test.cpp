// SPDX-License-Identifier: MIT
#include "placement_gradients.hpp"
#include "placement_streams.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Reversible, PlacementGradients, testing::Types<Case<user::Reversible>>);

}  // namespace
}  // namespace placement
