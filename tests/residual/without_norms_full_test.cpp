// SPDX-License-Identifier: MIT
// The placements of without_norms_test.cpp in the suites of placement_runs.hpp and placement_gradients.hpp.
#include "placement_catalogue_gates.hpp"
#include "placement_gradients.hpp"
#include "placement_runs.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(TFixup, PlacementRuns, testing::Types<Full<TFixupCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(TFixup, PlacementGradients, testing::Types<TFixupCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(Fixup, PlacementRuns, testing::Types<Full<FixupCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Fixup, PlacementGradients, testing::Types<FixupCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(Admin, PlacementRuns, testing::Types<Full<AdminCase>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Admin, PlacementGradients, testing::Types<AdminCase>);

}  // namespace
}  // namespace placement
