// SPDX-License-Identifier: MIT
// Any placement with normed queries and keys.
#include "placement_quick.hpp"

namespace placement {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(PerHead, PlacementQuick, testing::Types<QKNormCase<norma::PerHeadQKNorm>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Whole, PlacementQuick, testing::Types<QKNormCase<norma::WholeQKNorm>>);
INSTANTIATE_TYPED_TEST_SUITE_P(Cosine, PlacementQuick, testing::Types<QKNormCase<norma::CosineQKNorm>>);

}  // namespace
}  // namespace placement
