// SPDX-License-Identifier: MIT
#include "kernel_network.hpp"

namespace {

using namespace norma_test;
using norma::Standalone;

template <template <class, class> class F>
struct Of {
  template <class T, class Table = norma::Table<1>>
  static auto make(Index width, Index hidden, const Table& table = {}) {
    const auto entries = norma::inner_entries(table);
    using Module = F<T, std::remove_const_t<decltype(entries)>>;
    return Standalone(Module({.width = width, .heads = 1, .hidden = hidden}, entries), width);
  }
};
template <class F>
struct FeedForward : testing::Test {};
using Smooth = testing::Types<Of<norma::GELU>, Of<norma::GELUTanh>, Of<norma::SiLU>, Of<norma::SwiGLU>>;
TYPED_TEST_SUITE(FeedForward, Smooth);

TYPED_TEST(FeedForward, Gradients) {
  expect_gradients(TypeParam::template make<double>(12, 31), 12);
  expect_gradients(TypeParam::template make<double>(21, 17), 21);
}

// ReLU is differentiable off its kink: biases of +-4 keep every argument there, half of the units on.
TEST(ReLU, Gradients) {
  for (const auto& [width, hidden] : {std::pair<Index, Index>{12, 31}, {21, 17}}) {
    const auto network = Of<norma::ReLU>::make<double>(width, hidden);
    auto weights = moved(network);
    weights["up.weight"] *= 0.2;
    for (Index i = 0; i < hidden; ++i) weights["up.bias"](0, i) = i % 2 == 0 ? 4 : -4;
    expect_gradients(network, weights, width, width);
  }
}
/// y straight from the equations.
template <class F, class Act>
void check_equations(bool gated, Act&& act) {
  const Index width = 12, hidden = 31;
  const auto network = F::template make<double>(width, hidden);
  const auto w = moved(network);
  Trial<double> run(network, {1, 3}, width, width);
  run.pass(network, w);
  const auto project = [&](const std::string& name, Index r, Index o) {
    double sum = w[name + ".bias"](0, o);
    for (Index i = 0; i < width; ++i) sum += run.x(r, i) * w[name + ".weight"](o, i);
    return sum;
  };
  for (Index r = 0; r < 3; ++r)
    for (Index c = 0; c < width; ++c) {
      double y = w["down.bias"](0, c);
      for (Index i = 0; i < hidden; ++i)
        y += w["down.weight"](c, i) *
             (gated ? act(project("gate", r, i)) * project("up", r, i) : act(project("up", r, i)));
      EXPECT_NEAR(run.y(r, c), y, 1e-12);
    }
}
TEST(FeedForwardEquations, PlainAndGated) {
  const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  check_equations<Of<norma::ReLU>>(false, [](double x) { return x > 0 ? x : 0; });
  check_equations<Of<norma::GELU>>(false, [](double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); });
  check_equations<Of<norma::GELUTanh>>(false, [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
  });
  check_equations<Of<norma::SiLU>>(false, silu);
  check_equations<Of<norma::SwiGLU>>(true, silu);
}

}  // namespace
