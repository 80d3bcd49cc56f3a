// SPDX-License-Identifier: MIT
// How far one SGD step moves the output of a deep stack (Wang et al., arXiv 2203.00555, theorems 4.1 and 4.2): with
// DeepNorm as far at 96 layers as at 6, with Post-LN further with depth. Bands: measured spread of correct code over
// seeds. Faults they catch: beta missing, value unscaled, alpha = 1, alpha on the branch, beta = (2N)^(-1/4), layers
// counted in sublayers.
#include <gtest/gtest.h>

#include "placement_dynamics.hpp"

namespace {

using namespace placement;

TEST(ModelUpdate, DeepNormDoesNotGrowWithDepth) {
  const double six = update<norma::DeepNorm>(6), deep = update<norma::DeepNorm>(96);
  RecordProperty("deep_norm_96_over_6", std::to_string(deep / six));
  EXPECT_GT(deep / six, 0.75);
  EXPECT_LT(deep / six, 1.2);
}
TEST(ModelUpdate, DeepNormLevel) {
  const double level = update<norma::DeepNorm>(24);
  RecordProperty("deep_norm_24", std::to_string(level));
  EXPECT_GT(level, 0.13);
  EXPECT_LT(level, 0.22);
}
TEST(ModelUpdate, PostLNGrowsWithDepth) {
  const double ratio = update<norma::PostLN>(96) / update<norma::PostLN>(6);
  RecordProperty("post_ln_96_over_6", std::to_string(ratio));
  EXPECT_GT(ratio, 8);
}

}  // namespace
