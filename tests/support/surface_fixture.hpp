// SPDX-License-Identifier: MIT
// One network on every kind of Eigen object: the fixture of tests/surface/.
#pragma once

#include <algorithm>
#include <cmath>
#include <surface_helpers.hpp>
#include <utility>

namespace surface {

using norma::Block;
using norma::Encoder;
using norma::LayerNorm;
using norma::Standalone;

inline constexpr Index kTokens = 5, kWidth = 12;
inline constexpr norma::Dimensions kDims{.width = kWidth, .heads = 3, .hidden = 21};

template <class Net>
struct Make {
  static Net net() { return Net(kDims, {.layer = 1, .layers = 2}); }
};
template <class B>
struct Make<Encoder<B>> {
  static Encoder<B> net() { return Encoder<B>(kDims, 2); }
};
template <class M>
struct Make<Standalone<M>> {
  static Standalone<M> net() { return Standalone<M>(M{}, kWidth); }
};

/// One network, its numbers, and the result by plain pointers.
template <class Net>
class Surfaces : public testing::Test {
 protected:
  static constexpr Shape kShape{1, kTokens};
  const Net net_ = Make<Net>::net();
  const norma::Parameters<float> weights_ = some_weights(net_);
  norma::Workspace workspace_ = net_.workspace(kShape);
  const std::vector<float> x_ = numbers(kTokens * kWidth, "x"), dy_ = numbers(kTokens * kWidth, "dy");
  std::vector<float> y_ = numbers(kTokens * kWidth, "noise"), dx_ = y_;
  norma::Parameters<float> gradients_ = net_.gradients();

  void SetUp() override {
    const auto x = view(x_, kShape, kWidth), dy = view(dy_, kShape, kWidth);
    net_.forward(weights_, x, view(y_, kShape, kWidth), workspace_);
    net_.backward(weights_, x, dy, view(dx_, kShape, kWidth), gradients_, workspace_);
    for (float v : y_) ASSERT_TRUE(std::isfinite(v));
    for (float v : dx_) ASSERT_TRUE(std::isfinite(v));
  }

  template <class E>
  static void store(const std::vector<float>& from, E&& to) {
    const auto v = norma::tensor_view<float>(to);
    for (Index r = 0; r < kTokens; ++r)
      std::copy_n(&from[static_cast<std::size_t>(r * kWidth)], kWidth, v.matrix.row(r));
  }
  template <class E>
  static bool holds(const E& e, const std::vector<float>& wanted) {
    const auto v = norma::tensor_view<const float>(e);
    for (Index r = 0; r < kTokens; ++r)
      if (!same_bits(v.matrix.row(r), &wanted[static_cast<std::size_t>(r * kWidth)], kWidth)) return false;
    return true;
  }

  /// Forward and backward on these objects, outputs full of noise before.
  template <class X, class Y, class DY, class DX>
  void check(X&& x, Y&& y, DY&& dy, DX&& dx) {
    store(x_, x);
    store(dy_, dy);
    store(numbers(kTokens * kWidth, "noise"), y);
    store(numbers(kTokens * kWidth, "noise"), dx);
    auto gradients = net_.gradients();
    net_.forward(weights_, std::as_const(x), std::forward<Y>(y), workspace_);
    EXPECT_TRUE(holds(y, y_));
    EXPECT_TRUE(holds(x, x_)) << "forward changed x";
    net_.backward(weights_, std::as_const(x), std::as_const(dy), std::forward<DX>(dx), gradients, workspace_);
    EXPECT_TRUE(holds(dx, dx_));
    EXPECT_TRUE(holds(x, x_)) << "backward changed x";
    EXPECT_TRUE(holds(dy, dy_)) << "backward changed dy";
    EXPECT_TRUE(holds(y, y_)) << "backward changed y";
    EXPECT_TRUE(same_bits(gradients, gradients_));
  }
};
using Nets = testing::Types<Block<norma::PreLN>, Block<norma::PostLN>, Encoder<Block<norma::PreLN>>,
                            Standalone<LayerNorm<float>>>;

}  // namespace surface
