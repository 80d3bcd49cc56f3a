// SPDX-License-Identifier: MIT
// What theory says of a stack at initialisation, in the setting of the theorem.
#include <gtest/gtest.h>

#include <cmath>

#include "placement_tools.hpp"

namespace {

using namespace placement;

// Xiong et al., arXiv 2002.04745, lemma 2: without attention weights (W_Q = W_K = 0), with hidden = width and ReLU, the
// mean square of Pre-LN's stream after block l lies between 1 + l / 2 and 1 + 3 l / 2. Ten seeds, 3 % slack.
TEST(AtInit, PreLNStreamGrowsAsLemma2Says) {
  constexpr int kLayers = 12, kSeeds = 10;
  const Index width = 64, tokens = 32;
  const norma::Encoder<norma::Block<norma::PreLN, float, norma::LayerNorm, norma::Attention, norma::ReLU>> net(
      {width, 4, width}, kLayers);
  std::vector<double> square(kLayers, 0.0);
  auto workspace = net.workspace({1, tokens});
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Rng rng(100 + static_cast<std::uint64_t>(seed));
    auto weights = net.initialize(rng);
    weights.for_each_parameter([](const norma::ParameterInfo& info, auto map) {
      if (contains(norma::Kind::query | norma::Kind::key, info.kind)) map.setZero();
    });
    std::vector<float> x(static_cast<std::size_t>(tokens * width));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(rng.stream("x").normal(i));
    forward(net, weights, {1, tokens}, x, workspace);
    for (int l = 0; l < kLayers; ++l) {
      const auto s = net.stream(workspace, l);
      for (Index i = 0; i < s.size(); ++i)
        square[static_cast<std::size_t>(l)] += double(s.data[i]) * double(s.data[i]) / double(s.size()) / kSeeds;
    }
  }
  for (int l = 1; l <= kLayers; ++l) {
    EXPECT_GE(square[static_cast<std::size_t>(l - 1)], 0.97 * (1 + 0.5 * l)) << "after block " << l;
    EXPECT_LE(square[static_cast<std::size_t>(l - 1)], 1.03 * (1 + 1.5 * l)) << "after block " << l;
  }
}

}  // namespace
