// SPDX-License-Identifier: MIT
// Placements with norms and scales inside the sublayers.
#include "placement_quick.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(NormFormer, PlacementQuick, testing::Types<NormFormerCase<true>>);
INSTANTIATE_TYPED_TEST_SUITE_P(NormFormerWithoutRho, PlacementQuick, testing::Types<NormFormerCase<false>>);
INSTANTIATE_TYPED_TEST_SUITE_P(SubLN, PlacementQuick, testing::Types<SubLNCase>);

}  // namespace
}  // namespace placement
