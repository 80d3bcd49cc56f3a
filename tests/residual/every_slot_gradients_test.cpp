// SPDX-License-Identifier: MIT
#include "placement_every_slot.hpp"
#include "placement_gradients.hpp"

namespace placement {
namespace {

// With keys normed, it is the shift after the norm that the softmax takes back.
struct EveryCase : Case<user::EverySlot<false>, user::EverySlot<true>> {
  static std::vector<std::string> zero_by_theory() { return {"key_entry.beta"}; }
};
INSTANTIATE_TYPED_TEST_SUITE_P(EverySlot, PlacementGradients, testing::Types<EveryCase>);

}  // namespace
}  // namespace placement
