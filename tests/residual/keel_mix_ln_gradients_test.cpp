// SPDX-License-Identifier: MIT
#include "placement_depth.hpp"
#include "placement_gradients.hpp"

namespace placement {
namespace {

struct MixCase : Case<user::MixLN> {
  static user::MixLN policy() { return {.share = 0.4}; }
  static user::MixLN gated() { return {.share = 0.4}; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Keel, PlacementGradients, testing::Types<Case<user::Keel>>);
INSTANTIATE_TYPED_TEST_SUITE_P(MixLN, PlacementGradients, testing::Types<MixCase>);

}  // namespace
}  // namespace placement
