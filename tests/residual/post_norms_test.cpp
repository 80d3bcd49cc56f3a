// SPDX-License-Identifier: MIT
// Placements that normalise the stream itself.
#include "placement_quick.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(GLMDeepNorm, PlacementQuick, testing::Types<GLMDeepNormCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(B2T, PlacementQuick, testing::Types<B2TCase>);
INSTANTIATE_TYPED_TEST_SUITE_P(Keel, PlacementQuick, testing::Types<KeelCase>);

}  // namespace
}  // namespace placement
