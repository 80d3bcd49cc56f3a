// SPDX-License-Identifier: MIT
// Cases G: softmax and attention, as far as masks exist.
#include <norma/norma.hpp>

#include "kernel_attention.hpp"
#include "kernel_case_norm.hpp"

namespace {

using namespace norma_test;
using norma::TensorView;

/// Zero queries: every visible key has the same weight. One head of width 1.
std::vector<float> means(Index queries, bool causal, std::vector<float> values) {
  const auto keys = static_cast<Index>(values.size());
  const std::vector<float> q(static_cast<std::size_t>(queries)), k(values.size(), 3);
  std::vector<float> o(q.size(), 99), lse(q.size());
  norma::kernels::attention_forward<float>(norma_test::with_packing<float>({1, queries, keys, 1, 1, 1, 1, causal}),
                                           {q.data(), queries, 1}, {k.data(), keys, 1}, {values.data(), keys, 1},
                                           {o.data(), queries, 1}, {lse.data(), queries, 1});
  return o;
}

TEST(CasesG, G03_CausalIsBottomRight) {
  expect_near(means(1, true, {1, 2, 3, 4}), {2.5}, 1e-6);
  expect_near(means(2, true, {1, 2, 3, 4}), {2.0, 2.5}, 1e-6);
  expect_near(means(4, true, {1, 2, 3, 4}), {1, 1.5, 2, 2.5}, 1e-6);
  expect_near(means(4, false, {1, 2, 3, 4}), {2.5, 2.5, 2.5, 2.5}, 1e-6);
}

TEST(CasesG, G03_CausalSelfAttention) {
  const norma::Standalone attention(norma::Attention<float>({.width = 1, .heads = 1}, {}), 1);
  auto weights = attention.initialize(norma::Rng(1));
  weights.set_zero();
  weights["value.weight"](0, 0) = 1;
  weights["output.weight"](0, 0) = 1;
  auto workspace = attention.workspace({1, 4});
  std::vector<float> x{1, 2, 3, 4}, y(4);
  const auto view = [](std::vector<float>& v) { return TensorView<float>{{1, 4}, {v.data(), 4, 1}}; };
  attention.forward(weights, view(x), view(y), workspace, {.causal = true});
  expect_near(y, {1, 1.5, 2, 2.5}, 1e-6);
  attention.forward(weights, view(x), view(y), workspace);
  expect_near(y, {2.5, 2.5, 2.5, 2.5}, 1e-6);
}

TEST(CasesG, G07_SoftmaxNeedsItsMaximum) {
  std::vector<float> a{7999.99f, 8000, 2, 1}, b{-1000, -1001}, c{-200, -201, -199};
  norma::kernels::softmax(a.data(), 4);
  norma::kernels::softmax(b.data(), 2);
  norma::kernels::softmax(c.data(), 3);
  expect_near(a, {0.4975586, 0.5024414, 0, 0}, 1e-6);
  expect_near(b, {0.7310586, 0.2689414}, 1e-6);
  expect_near(c, {0.2447285, 0.0900306, 0.6652410}, 1e-6);
}

TEST(CasesG, G09_ScaleIsThatOfTheHead) {
  const norma::Standalone attention(norma::Attention<float>({.width = 8, .heads = 2}, {}), 8);
  auto weights = attention.initialize(norma::Rng(1));
  weights.set_zero();
  weights["query.bias"](0, 0) = 4;    // q = (4, 0, 0, 0) in head 0
  weights["key.weight"](0, 0) = 1;    // k = (x_0, 0, 0, 0)
  weights["value.weight"](0, 0) = 1;  // v likewise: the output is the weight of the token with x_0 = 1
  weights["output.weight"](0, 0) = 1;
  std::vector<float> x(16), y(16);
  x[0] = 1;
  auto workspace = attention.workspace({1, 2});
  attention.forward(weights, TensorView<float>{{1, 2}, {x.data(), 2, 8}}, TensorView<float>{{1, 2}, {y.data(), 2, 8}},
                    workspace);
  EXPECT_NEAR(y[0], 0.880797, 1e-6);
  EXPECT_NEAR(y[8], 0.880797, 1e-6);
}

TEST(CasesG, G10_SoftmaxBackwardIsNotDiagonal) {
  const std::vector<float> p{0.5f, 0.5f}, dp{1, 0};
  std::vector<float> ds(2);
  norma::kernels::softmax_backward(p.data(), dp.data(), ds.data(), 2);
  expect_near(ds, {0.25, -0.25}, 0);
}

}  // namespace
