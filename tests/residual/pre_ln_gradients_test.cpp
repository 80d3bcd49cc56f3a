// SPDX-License-Identifier: MIT
#include "placement_gradients.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(PreLN, PlacementGradients, testing::Types<Case<norma::PreLN>>);

}  // namespace
}  // namespace placement
