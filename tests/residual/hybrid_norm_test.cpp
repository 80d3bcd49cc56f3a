// SPDX-License-Identifier: MIT
// HybridNorm, both forms.
#include "placement_quick.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(HybridNorm, PlacementQuick, testing::Types<HybridNormCase<false>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Starred, PlacementQuick, testing::Types<HybridNormCase<true>>);

}  // namespace
}  // namespace placement
