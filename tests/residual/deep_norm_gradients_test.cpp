// SPDX-License-Identifier: MIT
#include "placement_gradients.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(DeepNorm, PlacementGradients, testing::Types<Case<norma::DeepNorm>>);

}  // namespace
}  // namespace placement
