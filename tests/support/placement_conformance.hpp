// SPDX-License-Identifier: MIT
// norma's own check of a user's placement, on the library's: with cross-attention, padding and accumulation too.
#pragma once

#include <norma/testing/conformance.hpp>

#include "placement_catalogue.hpp"

namespace placement {

template <class C>
class PlacementConforms : public testing::Test {};
TYPED_TEST_SUITE_P(PlacementConforms);

TYPED_TEST_P(PlacementConforms, AsCheckPolicySays) {
  norma::testing::ConformanceOptions options{
      .dims = {.width = 12, .heads = 3, .hidden = 7}, .shape = {2, 3}, .layers = 2};
  options.zero_by_theory = TypeParam::zero_by_theory();
  for (const std::string& failure : norma::testing::check_policy(TypeParam::policy(), options))
    ADD_FAILURE() << failure;
}
REGISTER_TYPED_TEST_SUITE_P(PlacementConforms, AsCheckPolicySays);

}  // namespace placement
