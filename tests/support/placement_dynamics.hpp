// SPDX-License-Identifier: MIT
// Stacks at initialisation, as papers study them: ReLU, Xavier normal, inputs N(0, 1), a random head.
#pragma once

#include <cmath>

#include "placement_tools.hpp"

namespace placement {

inline constexpr Index kWidth = 64, kHidden = 128, kHeads = 2, kTokens = 32, kVocabulary = 128;

/// d (mean cross-entropy) / d (output) under the head W ~ N(0, 1 / width) and uniform labels.
inline std::vector<double> loss_gradient(const std::vector<double>& y, const Rng& rng) {
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

/// How a matrix is stepped: along its gradient, or along the signs of it, as Adam's first step does.
enum class Step { gradient, sign };

/// RMS change of the output per unit of step, mean over seeds. Matrices alone are stepped.
template <class Policy>
double update(int layers, Step kind = Step::gradient) {
  constexpr int kSeeds = 5;
  const double step = kind == Step::gradient ? 1e-4 : 1e-6;
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
      if (!info.decays()) return;
      if (kind == Step::gradient)
        map -= step * gradients[info.name];
      else
        map -= step * gradients[info.name].cwiseSign();
    });
    const auto after = forward(net, weights, shape, x, workspace);
    double square = 0;
    for (std::size_t i = 0; i < x.size(); ++i) square += (after[i] - before[i]) * (after[i] - before[i]);
    mean += std::sqrt(square / double(x.size())) / step / kSeeds;
  }
  return mean;
}

/// The mean square of the stream after every block, over ten seeds; hidden = 4 x width.
template <class Policy>
std::vector<double> mean_squares(int layers) {
  constexpr int kSeeds = 10;
  using B = norma::Block<Policy, double, norma::LayerNorm, norma::Attention, norma::ReLU>;
  const norma::Decoder<B> net({kWidth, 4, 4 * kWidth}, layers);
  const Shape shape{1, kTokens};
  auto workspace = net.workspace(shape);
  std::vector<double> squares(static_cast<std::size_t>(layers), 0.0);
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Rng rng(100 + static_cast<std::uint64_t>(seed));
    std::vector<double> x(kTokens * kWidth);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = rng.stream("x").normal(i);
    forward(net, net.initialize(rng), shape, x, workspace);
    for (int l = 0; l < layers; ++l) {
      const auto s = net.stream(workspace, l);
      for (Index i = 0; i < s.size(); ++i)
        squares[static_cast<std::size_t>(l)] += s.data[i] * s.data[i] / double(s.size()) / kSeeds;
    }
  }
  return squares;
}

/// The norm of the gradient of W_2 in the first block over that in the last, geometric mean over five seeds.
template <class Policy>
double first_over_last(int layers) {
  constexpr int kSeeds = 5;
  using B = norma::Block<Policy, double, norma::LayerNorm, norma::Attention, norma::ReLU>;
  const norma::Decoder<B> net({kWidth, 4, 4 * kWidth}, layers);
  const Shape shape{1, kTokens};
  auto workspace = net.workspace(shape);
  double log_ratio = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const Rng rng(300 + static_cast<std::uint64_t>(seed));
    const auto weights = net.initialize(rng);
    std::vector<double> x(kTokens * kWidth), dx(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = rng.stream("x").normal(i);
    auto gradients = net.gradients();
    const auto y = forward(net, weights, shape, x, workspace);
    net.backward(weights, tensor(x, shape), tensor(loss_gradient(y, rng), shape), tensor(dx, shape), gradients,
                 workspace);
    const auto norm_of = [&](int layer) {
      return gradients["layers." + std::to_string(layer) + ".feed_forward.down.weight"].norm();
    };
    log_ratio += std::log(norm_of(0) / norm_of(layers - 1)) / kSeeds;
  }
  return std::exp(log_ratio);
}

}  // namespace placement
