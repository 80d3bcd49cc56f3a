// SPDX-License-Identifier: MIT
// Placements whose branch has a learned gate.
#include "placement_catalogue_gates.hpp"
#include "placement_quick.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(ReZero, PlacementQuick, testing::Types<ReZeroCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(LayerScale, PlacementQuick, testing::Types<LayerScaleCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(GatedCrossAttention, PlacementQuick, testing::Types<GatedCrossAttentionCase>);

}  // namespace
}  // namespace placement
