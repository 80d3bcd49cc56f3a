// SPDX-License-Identifier: MIT
#include "placement_catalogue_gates.hpp"
#include "placement_conformance.hpp"

namespace placement {
namespace {

using Cases = testing::Types<ResiDualCase, SiameseNormCase, HyperConnectionsCase<4>, DynamicHyperConnectionsCase<2>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Streams, PlacementConforms, Cases);

}  // namespace
}  // namespace placement
