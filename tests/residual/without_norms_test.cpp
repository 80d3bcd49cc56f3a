// SPDX-License-Identifier: MIT
// Placements that an initialisation replaces the norms of, and one that it scales the skip of.
#include "placement_catalogue_gates.hpp"
#include "placement_quick.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(TFixup, PlacementQuick, testing::Types<TFixupCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(Fixup, PlacementQuick, testing::Types<FixupCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(Admin, PlacementQuick, testing::Types<AdminCase>);

}  // namespace
}  // namespace placement
