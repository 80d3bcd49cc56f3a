// SPDX-License-Identifier: MIT
// How far one SGD step moves the output of a deep stack (Wang et al., arXiv 2203.00555, theorems 4.1 and 4.2): with
// DeepNorm as far at 96 layers as at 6, with Post-LN further with depth. Bands: measured spread of correct code over
// seeds. Faults they catch: beta missing, value unscaled, alpha = 1, alpha on the branch, beta = (2N)^(-1/4), layers
// counted in sublayers.
#include <gtest/gtest.h>

#include <cmath>

#include "placement_tools.hpp"

namespace {

using namespace placement;

constexpr Index kWidth = 64, kHidden = 128, kHeads = 2, kTokens = 32, kVocabulary = 128;

/// d (mean cross-entropy) / d (output) under the head W ~ N(0, 1 / width) and uniform labels.
std::vector<double> loss_gradient(const std::vector<double>& y, const Rng& rng) {
  std::vector<double> dy(y.size(), 0.0), p(kVocabulary), w(kVocabulary * kWidth);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = rng.stream("head").normal(i) / std::sqrt(double(kWidth));
  for (Index t = 0; t < kTokens; ++t) {
    const double* row = y.data() + t * kWidth;
    double sum = 0;
    for (Index v = 0; v < kVocabulary; ++v) {
      double logit = 0;
      for (Index i = 0; i < kWidth; ++i) logit += w[static_cast<std::size_t>(v * kWidth + i)] * row[i];
      sum += p[static_cast<std::size_t>(v)] = std::exp(logit);
    }
    const auto label = static_cast<Index>(rng.stream("labels").uniform(static_cast<std::uint64_t>(t)) * kVocabulary);
    for (Index v = 0; v < kVocabulary; ++v) {
      const double d = (p[static_cast<std::size_t>(v)] / sum - (v == label ? 1 : 0)) / kTokens;
      for (Index i = 0; i < kWidth; ++i)
        dy[static_cast<std::size_t>(t * kWidth + i)] += d * w[static_cast<std::size_t>(v * kWidth + i)];
    }
  }
  return dy;
}

/// RMS change of the output per unit of step, mean over seeds. Matrices alone are stepped.
template <class Policy>
double update(int layers) {
  constexpr int kSeeds = 5;
  constexpr double kStep = 1e-4;
  using B = norma::Block<Policy, double, norma::LayerNorm, norma::Attention, norma::ReLU>;
  const norma::Decoder<B> net({kWidth, kHeads, kHidden}, layers);
  const Shape shape{1, kTokens};
  auto workspace = net.workspace(shape);
  double mean = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Rng rng(200 + static_cast<std::uint64_t>(seed));
    auto weights = net.initialize(rng);
    std::vector<double> x(kTokens * kWidth), dx(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = rng.stream("x").normal(i);
    auto gradients = net.gradients();
    const auto before = forward(net, weights, shape, x, workspace);
    net.backward(weights, tensor(x, shape), tensor(loss_gradient(before, rng), shape), tensor(dx, shape), gradients,
                 workspace);
    weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
      if (info.decays()) map -= kStep * gradients[info.name];
    });
    const auto after = forward(net, weights, shape, x, workspace);
    double square = 0;
    for (std::size_t i = 0; i < x.size(); ++i) square += (after[i] - before[i]) * (after[i] - before[i]);
    mean += std::sqrt(square / double(x.size())) / kStep / kSeeds;
  }
  return mean;
}

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
