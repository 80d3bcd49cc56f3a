// SPDX-License-Identifier: MIT
// Cases I: activations and gates.
#include <norma/norma.hpp>

#include "kernel_case_norm.hpp"

namespace {

using namespace norma_test;
using norma::TensorView;

/// A feed-forward of width and hidden 1 with weights 1 and biases 0: y is the activation, dx its derivative.
template <template <class, class> class FeedForward>
struct Scalar {
  norma::Standalone<FeedForward<float, norma::Entries<>>> network{
      FeedForward<float, norma::Entries<>>({.width = 1, .heads = 1, .hidden = 1}, {}), 1};
  norma::Parameters<float> weights = network.initialize(norma::Rng(1));
  std::vector<float> y, dx;

  explicit Scalar(std::vector<float> x) : y(x.size()), dx(x.size()) {
    weights.set_zero();
    weights["up.weight"](0, 0) = weights["down.weight"](0, 0) = 1;
    const auto rows = static_cast<Index>(x.size());
    const auto view = [&](std::vector<float>& v) { return TensorView<float>{{1, rows}, {v.data(), rows, 1}}; };
    auto workspace = network.workspace({1, rows});
    auto gradients = network.gradients();
    std::vector<float> dy(x.size(), 1);
    network.forward(weights, view(x), view(y), workspace);
    network.backward(weights, view(x), view(dy), view(dx), gradients, workspace);
  }
};

TEST(CasesI, I01_ErfOrTanh) {
  const Scalar<norma::GELU> erf({1, -2, 3});
  expect_near(erf.y, {0.8413447, -0.0455003, 2.9959503}, 2e-7);
  EXPECT_NEAR(erf.dx[0], 1.0833155, 2e-7);
  const Scalar<norma::GELUTanh> tanh({1, -2, 3});
  expect_near(tanh.y, {0.8411920, -0.0454023, 2.9963626}, 3e-7);
  EXPECT_NEAR(tanh.dx[0], 1.0829641, 2e-7);
}

TEST(CasesI, I02_TanhFarOut) {
  const Scalar<norma::GELUTanh> a({-13.24f, 13.24f, -50, 50, 21.66f, -13.24f, 13.24f, -50, 50, 21.66f, -1e30f});
  for (const std::size_t i : {0u, 2u, 5u, 7u, 10u}) {
    EXPECT_NEAR(a.y[i], 0, 1e-30);
    EXPECT_EQ(a.dx[i], 0.0f);
  }
  for (const auto& [i, right] :
       {std::pair{1u, 13.24f}, {3u, 50.0f}, {4u, 21.66f}, {6u, 13.24f}, {8u, 50.0f}, {9u, 21.66f}}) {
    EXPECT_EQ(a.y[i], right);
    EXPECT_EQ(a.dx[i], 1.0f);
  }
}

TEST(CasesI, I04_SwiGLUGatesWithTheGate) {
  const norma::Standalone network(norma::SwiGLU<float>({.width = 1, .heads = 1, .hidden = 1}, {}), 1);
  auto weights = network.initialize(norma::Rng(1));
  weights.set_zero();
  weights["gate.bias"](0, 0) = 1;
  weights["up.bias"](0, 0) = 2;
  weights["down.weight"](0, 0) = 1;
  std::vector<float> x{0}, y{0};
  auto workspace = network.workspace({1, 1});
  network.forward(weights, TensorView<float>{{1, 1}, {x.data(), 1, 1}}, TensorView<float>{{1, 1}, {y.data(), 1, 1}},
                  workspace);
  EXPECT_NEAR(y[0], 1.4621172, 2e-7);
}

// gate_up.weight is g0, g1, u0, u1. A file of g0, u0, g1, u1 is read with a step of two rows.
TEST(CasesI, I04_RowsOfAPackedGate) {
  const norma::Dimensions dims{.width = 2, .heads = 1, .hidden = 2, .feed_forward_bias = false};
  auto packed_dims = dims;
  packed_dims.packed_gate = true;
  const norma::Standalone apart(norma::SwiGLU<float>(dims, {}), 2), packed(norma::SwiGLU<float>(packed_dims, {}), 2);
  const auto forward = [](const auto& network, const norma::Parameters<float>& weights) {
    std::vector<float> x{1, 2}, y(2);
    auto workspace = network.workspace({1, 1});
    network.forward(weights, TensorView<float>{{1, 1}, {x.data(), 1, 2}}, TensorView<float>{{1, 1}, {y.data(), 1, 2}},
                    workspace);
    return y;
  };
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, 2, Eigen::RowMajor>;
  Rows gate(2, 2), up(2, 2), halves(4, 2), alternating(4, 2);
  gate << 1, -2, 0.5f, 3;
  up << -1, 4, 2, 0.25f;
  halves << gate, up;
  alternating << gate.row(0), up.row(0), gate.row(1), up.row(1);

  auto weights = apart.initialize(norma::Rng(1)), in_one = packed.initialize(norma::Rng(1));
  weights["gate.weight"] = gate;
  weights["up.weight"] = up;
  const auto right = forward(apart, weights);
  auto fused = in_one["gate_up.weight"];
  fused = halves;
  EXPECT_EQ(forward(packed, in_one), right);
  fused = alternating;
  EXPECT_NE(forward(packed, in_one), right) << "the orders differ";
  for (const Index part : {0, 1})
    fused.middleRows(2 * part, 2) =
        Eigen::Map<const Rows, 0, Eigen::OuterStride<>>(alternating.row(part).data(), 2, 2, Eigen::OuterStride<>(4));
  EXPECT_EQ(forward(packed, in_one), right);
}

}  // namespace
