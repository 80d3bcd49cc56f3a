// SPDX-License-Identifier: MIT
// DeepNorm's constants against the published values, where they act, and what the initialiser makes of them.
#include <gtest/gtest.h>

#include <cmath>

#include "placement_tools.hpp"

namespace {

using norma::DeepNorm;
using norma::Depth;
using norma::Kind;
using norma::Side;

struct Published {
  Depth depth;
  double alpha, beta;
};

TEST(DeepNormConstants, MatchThePublishedValues) {
  const auto single = [](int layers) { return Depth{1, layers}; };
  const Published table[] = {
      {single(6), 1.8612, 0.3799},
      {single(12), 2.2134, 0.3195},
      {single(24), 2.6321, 0.2686},
      {single(48), 3.1302, 0.2259},
      {single(96), 3.7224, 0.1900},
      {single(1000), 6.6874, 0.1057},
      {{1, 6, Side::encoder, 6, 6}, 1.4179, 0.4970},
      {{1, 6, Side::decoder, 6, 6}, 2.0598, 0.3433},
      {{1, 12, Side::encoder, 12, 12}, 1.7609, 0.4002},
      {{1, 12, Side::decoder, 12, 12}, 2.4495, 0.2887},
      {{1, 100, Side::encoder, 100, 100}, 3.4157, 0.2063},
      {{1, 100, Side::decoder, 100, 100}, 4.1618, 0.1699},
  };
  for (const auto& [depth, alpha, beta] : table) {
    const auto c = DeepNorm::constants(depth);
    EXPECT_NEAR(c.alpha, alpha, 5.1e-5) << depth.layers;
    EXPECT_NEAR(c.beta, beta, 5.1e-5) << depth.layers;
  }
  // Which of the two depths counts where they differ: 0.81 (N^4 M)^(1/16) with N = 2, M = 3, and (3 M)^(1/4).
  EXPECT_NEAR(DeepNorm::constants({1, 2, Side::encoder, 2, 3}).alpha, 0.81 * std::pow(48, 1.0 / 16), 1e-14);
  EXPECT_NEAR(DeepNorm::constants({1, 2, Side::encoder, 2, 3}).beta, 0.87 / std::pow(48, 1.0 / 16), 1e-14);
  EXPECT_NEAR(DeepNorm::constants({1, 3, Side::decoder, 2, 3}).alpha, std::pow(9, 0.25), 1e-14);
  EXPECT_NEAR(DeepNorm::constants({1, 3, Side::decoder, 2, 3}).beta, std::pow(36, -0.25), 1e-14);
}
TEST(DeepNormConstants, BetaAndAlphaBelongTogether) {
  for (int layers = 1; layers < 200; ++layers) {
    const auto [alpha, beta] = DeepNorm::constants({1, layers});
    EXPECT_NEAR(2 * beta * beta / (alpha * alpha), 1.0 / (2 * layers), 1e-15);
  }
}
TEST(DeepNormConstants, ASideNeedsBothDepths) {
  EXPECT_THROW(DeepNorm::constants({1, 6, Side::encoder}), norma::Error);
  EXPECT_THROW(DeepNorm::constants({1, 6, Side::encoder, 6, 0}), norma::Error);
  EXPECT_THROW(DeepNorm::constants({1, 6, Side::decoder, 0, 6}), norma::Error);
}

TEST(DeepNormConstants, BetaActsOnValueOutputAndFeedForward) {
  const auto check = [](const auto& net, double beta) {
    int scaled = 0;
    for (const auto& info : net.layout().entries()) {
      const bool drawn = !info.initial;
      const bool has_gain = contains(Kind::value | Kind::output | Kind::up | Kind::down, info.kind);
      if (drawn) {
        EXPECT_EQ(info.gain, has_gain ? beta : 1) << info.name;
      }
      scaled += drawn && has_gain;
    }
    return scaled;
  };
  const norma::Dimensions dims{12, 3, 10};
  const double beta = std::pow(8.0 * 5, -0.25);
  EXPECT_EQ(check(norma::Block<DeepNorm>(dims, {2, 5}), beta), 4);
  EXPECT_EQ(check(norma::Encoder<norma::Block<DeepNorm>>(dims, 5), beta), 20);
  using Gated = norma::Block<DeepNorm, float, norma::LayerNorm, norma::Attention, norma::SwiGLU>;
  EXPECT_EQ(check(Gated(dims, {2, 5}), beta), 5);
  EXPECT_EQ(check(norma::Block<DeepNorm>(dims, {2, 5}, {.beta = 0.125}), 0.125), 4);
  EXPECT_EQ(check(norma::Block<DeepNorm>(dims, {2, 5, Side::decoder, 7, 5}), std::pow(60, -0.25)), 4);
}
TEST(DeepNormConstants, InitialStandardDeviations) {
  // 12 layers, width 64, hidden 256, Xavier normal: query and key sqrt(2 / 128), the rest times beta.
  const norma::Block<DeepNorm> block({64, 4, 256}, {1, 12});
  const auto weights = block.initialize(norma::Rng(3));
  const auto deviation = [&](const char* name) {
    const auto w = weights[name];
    return std::sqrt(double(w.squaredNorm()) / double(w.size()));
  };
  const struct {
    const char* name;
    double wanted;
  } table[] = {{"attention.query.weight", 0.125},     {"attention.key.weight", 0.125},
               {"attention.value.weight", 0.0399339}, {"attention.output.weight", 0.0399339},
               {"feed_forward.up.weight", 0.0252564}, {"feed_forward.down.weight", 0.0252564}};
  for (const auto& [name, wanted] : table) EXPECT_NEAR(deviation(name) / wanted, 1, 0.05) << name;
}

}  // namespace
