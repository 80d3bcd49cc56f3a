// SPDX-License-Identifier: MIT
#include "placement_gradients.hpp"
#include "placement_streams.hpp"

namespace placement {
namespace {

struct AlphaCase : Case<user::ResiDual> {
  static user::ResiDual policy() { return {.alpha = 0.5}; }
  static user::ResiDual gated() { return {.alpha = 0.5}; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(ResiDual, PlacementGradients, testing::Types<AlphaCase>);

}  // namespace
}  // namespace placement
