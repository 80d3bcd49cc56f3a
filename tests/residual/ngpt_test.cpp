// SPDX-License-Identifier: MIT
// On the hypersphere.
#include "placement_catalogue_gates.hpp"
#include "placement_quick.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(NGPT, PlacementQuick, testing::Types<NGPTCase>);

}  // namespace
}  // namespace placement
