// SPDX-License-Identifier: MIT
// What every module is put to: central differences, float against double, and independence of neighbours to the last
// bit.
#pragma once

#include <gtest/gtest.h>

#include <norma/norma.hpp>
#include <norma/testing/gradient_check.hpp>

#include "kernel_memory.hpp"
#include "own_product.hpp"

namespace norma_test {

using norma::Call;
using norma::Shape;
using norma::TensorView;

inline constexpr Shape kShapes[] = {{2, 5}, {2, 7}};

/// Weights away from their initial values, so that nothing is zero or one by luck.
template <class Network>
norma::Parameters<typename Network::Scalar> moved(const Network& network, double by = 0.3) {
  auto weights = network.initialize(norma::Rng(11));
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    const norma::Rng rng = norma::Rng(12).stream(info.name);
    for (Index i = 0; i < map.size(); ++i)
      map.data()[i] += static_cast<typename Network::Scalar>(by * rng.normal(static_cast<std::uint64_t>(i)));
  });
  return weights;
}

/// Every parameter and the input against central differences, at batch 2 and both odd lengths. `zero`: by theory.
template <class Network>
void expect_gradients(const Network& network, const norma::Parameters<double>& weights, Index in, Index out,
                      std::vector<std::string> zero = {}, const Call& call = {}) {
  for (const Shape shape : kShapes) {
    norma::testing::GradientCheckOptions options;
    options.zero_by_theory = zero;
    const auto report = norma::testing::check_gradients(network, weights, shape, in, out, options, call);
    EXPECT_TRUE(report.ok()) << report.text() << "tokens " << shape.tokens << " width " << in << " causal "
                             << call.causal;
    EXPECT_EQ(report.tensors.size(), weights.layout().entries().size() + 1);
  }
}
template <class Network>
void expect_gradients(const Network& network, Index width, std::vector<std::string> zero = {}, const Call& call = {}) {
  expect_gradients(network, moved(network), width, width, std::move(zero), call);
}

/// x, y, dy and dx of one pass, with strides and guard words.
template <class T>
struct Trial {
  Shape shape;
  Guarded<T> x, y, dy, dx;
  norma::Parameters<T> gradients;

  template <class Network>
  Trial(const Network& network, Shape s, Index in, Index out)
      : shape(s),
        x(s.rows(), in, 1, 3),
        y(s.rows(), out, 3, 1),
        dy(s.rows(), out, 2, 2),
        dx(s.rows(), in, 5, 4),
        gradients(network.gradients()) {
    Random random(21);
    for (auto* m : {&x, &dy}) m->fill([&](Index, Index) { return random.normal(); });
  }
  static TensorView<T> view(Shape s, Guarded<T>& m) { return {s, m.view()}; }
  template <class Network>
  void pass(const Network& network, const norma::Parameters<T>& weights, const Call& call = {}) {
    auto workspace = network.workspace(shape);
    network.forward(weights, view(shape, x), view(shape, y), workspace, call);
    gradients.set_zero();
    network.backward(weights, view(shape, x), view(shape, dy), view(shape, dx), gradients, workspace);
    EXPECT_TRUE(x.intact() && y.intact() && dy.intact() && dx.intact());
  }
};

/// The largest difference between float and double, over the largest value of the tensor, in units of float.
template <class NetworkF, class NetworkD>
void expect_float_agrees(const NetworkF& single, const NetworkD& twice, Index in, Index out, double units,
                         const Call& call = {}) {
  const Shape shape{2, 7};
  const auto weights = moved(single);
  Trial<float> f(single, shape, in, out);
  Trial<double> d(twice, shape, in, out);
  d.x.fill([&](Index r, Index c) { return f.x(r, c); });
  d.dy.fill([&](Index r, Index c) { return f.dy(r, c); });
  f.pass(single, weights, call);
  d.pass(twice, weights.template cast<double>(), call);
  const auto compare = [&](const std::string& name, Index n, auto&& a, auto&& b) {
    double largest = 0, difference = 0;
    for (Index i = 0; i < n; ++i) {
      largest = std::max(largest, std::fabs(b(i)));
      difference = std::max(difference, std::fabs(static_cast<double>(a(i)) - b(i)));
    }
    if (name.ends_with("key.bias") || name.ends_with("key_entry.beta")) return;  // zero by theory
    EXPECT_GT(largest, 0) << name;
    EXPECT_LE(difference, units * 0x1p-23 * largest) << name;
  };
  const auto matrix = [&](const char* name, const Guarded<float>& a, const Guarded<double>& b) {
    const Index w = a.width();
    compare(
        name, a.rows() * w, [&](Index i) { return a(i / w, i % w); }, [&](Index i) { return b(i / w, i % w); });
  };
  matrix("y", f.y, d.y);
  matrix("dx", f.dx, d.dx);
  f.gradients.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    const double* other = d.gradients.data() + info.at.offset;
    compare(
        info.name, map.size(), [&](Index i) { return map.data()[i]; }, [&](Index i) { return other[i]; });
  });
}

/// Of a batch of three sequences the middle one alone has the same y and dx, to the last bit.
template <class Network>
void expect_no_batch_mates(const Network& network, Index in, Index out, const Call& call = {}) {
  using T = typename Network::Scalar;
  NORMA_NEEDS_OWN_PRODUCT(T);
  const auto weights = moved(network);
  for (const Index tokens : {5, 7, 33}) {
    Trial<T> all(network, {3, tokens}, in, out), one(network, {1, tokens}, in, out);
    for (Index r = 0; r < tokens; ++r) {
      std::copy_n(all.x.row(tokens + r), in, one.x.row(r));
      std::copy_n(all.dy.row(tokens + r), out, one.dy.row(r));
    }
    all.pass(network, weights, call);
    one.pass(network, weights, call);
    for (Index r = 0; r < tokens; ++r) {
      EXPECT_TRUE(same_bits(one.y.row(r), all.y.row(tokens + r), out)) << "tokens " << tokens << " row " << r;
      EXPECT_TRUE(same_bits(one.dx.row(r), all.dx.row(tokens + r), in)) << "tokens " << tokens << " row " << r;
    }
  }
}

/// Under a causal mask another last token, or none, changes no earlier output, to the last bit.
template <class Network>
void expect_causal(const Network& network, Index in, Index out) {
  using T = typename Network::Scalar;
  NORMA_NEEDS_OWN_PRODUCT(T);
  const auto weights = moved(network);
  const Index tokens = 70;
  Trial<T> all(network, {1, tokens}, in, out);
  all.pass(network, weights, {.causal = true});
  for (const Index kept : {1, 5, 64, 69}) {
    Trial<T> other = all, shorter(network, {1, kept}, in, out);
    for (Index r = kept; r < tokens; ++r)
      for (Index c = 0; c < in; ++c) other.x(r, c) = T(1e3) - other.x(r, c);
    for (Index r = 0; r < kept; ++r) std::copy_n(all.x.row(r), in, shorter.x.row(r));
    other.pass(network, weights, {.causal = true});
    shorter.pass(network, weights, {.causal = true});
    for (Index r = 0; r < kept; ++r)
      EXPECT_TRUE(same_bits(other.y.row(r), all.y.row(r), out) && same_bits(shorter.y.row(r), all.y.row(r), out))
          << kept << " " << r;
    EXPECT_FALSE(same_bits(other.y.row(kept), all.y.row(kept), out));
  }
}

}  // namespace norma_test
