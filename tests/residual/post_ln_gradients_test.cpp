// SPDX-License-Identifier: MIT
#include "placement_gradients.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(PostLN, PlacementGradients, testing::Types<Case<norma::PostLN>>);

}  // namespace
}  // namespace placement
