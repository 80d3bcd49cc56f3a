// SPDX-License-Identifier: MIT
#include "placement_catalogue_gates.hpp"
#include "placement_conformance.hpp"

namespace placement {
namespace {

using Cases =
    testing::Types<ReZeroCase, LayerScaleCase, GatedCrossAttentionCase, AdminCase, TFixupCase, FixupCase, NGPTCase>;
INSTANTIATE_TYPED_TEST_SUITE_P(Gates, PlacementConforms, Cases);

}  // namespace
}  // namespace placement
