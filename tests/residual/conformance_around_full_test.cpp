// SPDX-License-Identifier: MIT
#include "placement_conformance.hpp"

namespace placement {
namespace {

using Cases = testing::Types<GLMDeepNormCase, SandwichCase, PeriLNCase, OutputNormCase, ScaledResidualCase, B2TCase,
                             KeelCase, MixLNCase, MixCase>;
INSTANTIATE_TYPED_TEST_SUITE_P(Around, PlacementConforms, Cases);

}  // namespace
}  // namespace placement
