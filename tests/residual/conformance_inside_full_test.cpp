// SPDX-License-Identifier: MIT
#include "placement_conformance.hpp"

namespace placement {
namespace {

using Cases =
    testing::Types<LayerNormScalingCase, NormFormerCase<true>, SubLNCase, HybridNormCase<true>,
                   QKNormCase<norma::PerHeadQKNorm>, QKNormCase<norma::WholeQKNorm>, QKNormCase<norma::CosineQKNorm>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Inside, PlacementConforms, Cases);

}  // namespace
}  // namespace placement
