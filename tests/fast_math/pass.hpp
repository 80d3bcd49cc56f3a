// SPDX-License-Identifier: MIT
// One forward and backward pass, compiled twice: with and without -ffast-math.
#pragma once

#include <norma/norma.hpp>

#include <cmath>
#include <vector>

struct Results {
  std::vector<double> y, dx, gradients;
};
enum class Net { pre_ln, deep_norm_swiglu };

/// In plain.cpp, without -ffast-math.
Results plain_pass(Net net, bool is_double);

namespace {

template <class T, class N>
Results pass(const N& net) {
  constexpr norma::Shape kShape{2, 7};
  constexpr norma::Index kWidth = 20, kSize = 2 * 7 * 20;
  std::vector<T> x(kSize), y(kSize), dy(kSize), dx(kSize);
  for (std::size_t i = 0; i < kSize; ++i) {
    x[i] = static_cast<T>(std::sin(1.0 + 3.0 * static_cast<double>(i)));
    dy[i] = static_cast<T>(std::cos(2.0 + 5.0 * static_cast<double>(i)));
  }
  const auto view = [&](auto& v) { return norma::TensorView<T>{kShape, {v.data(), kShape.rows(), kWidth}}; };
  const norma::Index lengths[] = {7, 4};
  const auto weights = net.initialize(norma::Rng(3));
  auto gradients = net.gradients();
  auto workspace = net.workspace(kShape);
  net.forward(weights, view(x), view(y), workspace, {.causal = true, .lengths = lengths});
  net.backward(weights, view(x), view(dy), view(dx), gradients, workspace);
  return {{y.begin(), y.end()}, {dx.begin(), dx.end()}, {gradients.data(), gradients.data() + gradients.size()}};
}

template <class T>
Results pass(Net net) {
  using namespace norma;
  constexpr Dimensions kDims{.width = 20, .heads = 4, .hidden = 33};
  if (net == Net::pre_ln) return pass<T>(Block<PreLN, T>(kDims));
  return pass<T>(Decoder<Block<DeepNorm, T, RMSNorm, Attention, SwiGLU>>(kDims, 3));
}

}  // namespace
