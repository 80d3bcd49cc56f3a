// SPDX-License-Identifier: MIT
// What the papers say of their placements at initialisation. Bands: measured spread of correct code over seeds, wide
// enough for other seeds; the exact tests of equations and initial deviations stand beside them, in tests/residual.
#include <gtest/gtest.h>

#include "placement_dynamics.hpp"

namespace {

using namespace placement;

// Every normed branch adds about 1 to the mean square of the stream, two a block: 1 + 2 l after block l.
template <class Policy>
void expect_linear_growth() {
  const auto squares = mean_squares<Policy>(12);
  for (std::size_t l = 1; l <= squares.size(); ++l)
    EXPECT_NEAR(squares[l - 1] / (1 + 2 * double(l)), 1, 0.2) << "after block " << l;
}
TEST(Dynamics, PeriLNGrowsLinearly) { expect_linear_growth<norma::PeriLN>(); }
TEST(Dynamics, OutputNormGrowsLinearly) { expect_linear_growth<norma::OutputNorm>(); }

// LayerNorm Scaling: block l adds in proportion to 1 / l. With the index of the sublayer in place of the block's, the
// ratio would be 0.3.
TEST(Dynamics, LayerNormScalingGrowsLikeTheHarmonicNumbers) {
  for (const int layers : {12, 32}) {
    double harmonic = 0;
    for (int l = 1; l <= layers; ++l) harmonic += 1.0 / l;
    const double ratio = (mean_squares<norma::LayerNormScaling>(layers).back() - 1) / harmonic;
    RecordProperty("ratio_" + std::to_string(layers), std::to_string(ratio));
    EXPECT_GT(ratio, 0.5) << layers;
    EXPECT_LT(ratio, 0.85) << layers;
  }
}

// GLM's constants are those for which Adam's first step moves the output as far at any depth.
TEST(Dynamics, GLMDeepNormDoesNotGrowWithDepthUnderSignSteps) {
  const double ratio = update<norma::GLMDeepNorm>(96, Step::sign) / update<norma::GLMDeepNorm>(6, Step::sign);
  RecordProperty("glm_96_over_6", std::to_string(ratio));
  EXPECT_GT(ratio, 0.8);
  EXPECT_LT(ratio, 1.15);
}

// Without a norm before the sublayer, gradients grow towards the input.
TEST(Dynamics, OutputNormAloneHasLargeGradientsInTheFirstBlocks) {
  const double output = first_over_last<norma::OutputNorm>(32), peri = first_over_last<norma::PeriLN>(32);
  RecordProperty("output_norm_first_over_last", std::to_string(output));
  RecordProperty("peri_ln_first_over_last", std::to_string(peri));
  EXPECT_GT(output, 50);
  EXPECT_GT(output, 10 * peri);
}

}  // namespace
