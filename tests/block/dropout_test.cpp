// SPDX-License-Identifier: MIT
// Dropout and drop path: rates, independence, evaluation.
#include "kernel_attention.hpp"
#include "kernel_network.hpp"

namespace {

using namespace norma;

template <class B>
std::vector<float> forward(const B& net, Shape shape, const Call& call) {
  std::vector<float> x(static_cast<std::size_t>(shape.rows() * 12)), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(Rng(1).normal(i));
  auto workspace = net.workspace(shape);
  const auto view = [&](std::vector<float>& v) { return TensorView<float>{shape, {v.data(), shape.rows(), 12}}; };
  net.forward(net.initialize(Rng(2)), view(x), view(y), workspace, call);
  return y;
}
Block<PreLN> block(const DropRates& rates) {
  return Block<PreLN>({.width = 12, .heads = 3, .hidden = 10, .dropout = rates});
}

TEST(Dropout, DoesNothingUnlessTraining) {
  const Shape shape{8, 3};
  const auto plain = forward(block({}), shape, {});
  const DropRates rates{.branch = 0.5, .attention = 0.5, .hidden = 0.5, .path = 0.5};
  EXPECT_EQ(forward(block(rates), shape, {.seed = 3}), plain);
  EXPECT_EQ(forward(block({}), shape, {.training = true, .seed = 3}), plain);
  EXPECT_NE(forward(block(rates), shape, {.training = true, .seed = 3}), plain);
}
TEST(Dropout, SeedAndStepSayWhatIsDropped) {
  const Shape shape{8, 3};
  const auto net = block({.branch = 0.5});
  const auto first = forward(net, shape, {.training = true, .seed = 3, .step = 1});
  EXPECT_EQ(forward(net, shape, {.training = true, .seed = 3, .step = 1}), first);
  EXPECT_NE(forward(net, shape, {.training = true, .seed = 3, .step = 2}), first);
  EXPECT_NE(forward(net, shape, {.training = true, .seed = 4, .step = 1}), first);
}
// Blocks stacked by hand drop what a stack of them drops, each its own.
TEST(Dropout, ABlockAloneDropsByItsDepth) {
  const Dimensions dims{
      .width = 12, .heads = 3, .hidden = 10, .dropout = {.branch = 0.3, .attention = 0.3, .hidden = 0.3, .path = 0.3}};
  const Shape shape{4, 3};
  const Call call{.training = true, .seed = 3, .step = 5};
  const Encoder<Block<PostLN>> stack(dims, 2);
  const auto weights = stack.initialize(Rng(2));
  std::vector<float> x(144);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(Rng(1).normal(i));
  const auto run = [&](const auto& net, const auto& own, std::vector<float>& in) {
    std::vector<float> y(in.size());
    auto workspace = net.workspace(shape);
    const auto view = [&](std::vector<float>& v) { return TensorView<float>{shape, {v.data(), shape.rows(), 12}}; };
    net.forward(own, view(in), view(y), workspace, call);
    return y;
  };
  std::vector<float> y = x;
  for (int layer = 1; layer <= 2; ++layer) {
    const Block<PostLN> block(dims, {.layer = layer, .layers = 2});
    auto own = block.gradients();
    own.for_each_parameter(
        [&](const ParameterInfo& p, auto map) { map = weights["layers." + std::to_string(layer - 1) + "." + p.name]; });
    y = run(block, own, y);
  }
  EXPECT_EQ(y, run(stack, weights, x));
}
// Case I05: the scale is 1 / (1 - rate), of the mask and not of zeros in x; the rate is met.
TEST(Dropout, ScaleAndRate) {
  const kernels::Dropout dropout{0.25, Rng(7)};
  Index kept = 0;
  const Index n = 100000;
  for (Index i = 0; i < n; ++i) {
    const double factor = dropout.factor(i);
    EXPECT_TRUE(factor == 0 || std::fabs(factor - 4.0 / 3) < 1e-15);
    kept += factor != 0;
  }
  EXPECT_NEAR(static_cast<double>(kept) / n, 0.75, 0.006);  // four standard deviations
  float row[] = {0, 0, 3, std::numeric_limits<float>::quiet_NaN()}, gradient[] = {1, 2, 3, 4};
  kernels::drop_elements<float>(dropout, {row, 1, 4});
  kernels::drop_elements<float>(dropout, {gradient, 1, 4});
  for (Index i = 0; i < 4; ++i) {
    const bool keeps = dropout.factor(i) != 0;
    EXPECT_FLOAT_EQ(gradient[i], keeps ? static_cast<float>(i + 1) * 4 / 3 : 0);
    if (!keeps) {
      EXPECT_EQ(row[i], 0.0f);  // also where it was NaN
    }
  }
}
// Case I07: one draw per sequence and branch; rate 1 leaves the stream alone, without 0 / 0.
TEST(Dropout, DropPathTakesWholeSequences) {
  const Shape shape{8, 3};
  const auto all_gone = forward(block({.path = 1}), shape, {.training = true, .seed = 1});
  for (std::size_t i = 0; i < all_gone.size(); ++i)
    EXPECT_EQ(all_gone[i], static_cast<float>(Rng(1).normal(i))) << "the stream passes as it is";
  std::vector<float> x(288, 1.0f);
  const kernels::Dropout path{0.5, Rng(3)};
  kernels::drop_samples<float>(path, shape.tokens, {x.data(), shape.rows(), 12});
  bool some = false, none = false;
  for (std::size_t b = 0; b < 8; ++b) {
    const float value = x[b * 36];
    EXPECT_TRUE(value == 0 || value == 2);
    for (std::size_t i = 0; i < 36; ++i) EXPECT_EQ(x[b * 36 + i], value);
    (value == 0 ? none : some) = true;
  }
  EXPECT_TRUE(some && none);
}
TEST(Dropout, DropPathRisesWithDepth) {
  const Encoder<Block<PreLN>> rising({.width = 12, .heads = 3, .hidden = 8, .dropout = {.path = 1, .path_rises = true}},
                                     2),
      plain({.width = 12, .heads = 3, .hidden = 8}, 2);
  // The first block drops nothing, the last all: the stream after block 1 is that after block 0.
  std::vector<float> x(36, 0.0f), y(36);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(Rng(1).normal(i));
  const auto view = [](std::vector<float>& v) { return TensorView<float>{{1, 3}, {v.data(), 3, 12}}; };
  auto a = rising.workspace({1, 3}), b = plain.workspace({1, 3});
  const auto weights = rising.initialize(Rng(2));
  rising.forward(weights, view(x), view(y), a, {.training = true});
  plain.forward(weights, view(x), view(y), b);
  for (Index i = 0; i < 36; ++i) {
    EXPECT_EQ(rising.stream(a, 0).data[i], plain.stream(b, 0).data[i]);
    EXPECT_EQ(rising.stream(a, 1).data[i], rising.stream(a, 0).data[i]);
  }
}
// Case I06: dropped attention weights do not enter the softmax's backward as if they were the weights.
TEST(Dropout, AttentionBackwardUsesTheWeightsBeforeTheDrop) {
  for (std::uint64_t seed = 0;; ++seed) {
    auto p = norma_test::with_packing<double>({1, 1, 2, 1, 1, 1, 1});
    p.dropout = {0.5, Rng(seed)};
    if (p.dropout.factor(0) == 0 || p.dropout.factor(1) != 0) continue;  // keep the first, drop the second
    const double q = 0, k[] = {1, 0}, v[] = {1, 3}, d_o = 1;
    double o, lse, dq, dk[2], dv[2];
    kernels::attention_forward<double>(p, {&q, 1, 1}, {k, 2, 1}, {v, 2, 1}, {&o, 1, 1}, {&lse, 1, 1});
    kernels::attention_backward<double>(p, {&q, 1, 1}, {k, 2, 1}, {v, 2, 1}, {&o, 1, 1}, {&lse, 1, 1}, {&d_o, 1, 1},
                                        {&dq, 1, 1}, {dk, 2, 1}, {dv, 2, 1});
    EXPECT_DOUBLE_EQ(o, 1);
    EXPECT_DOUBLE_EQ(dq, 0.5);  // dS = [0.5, -0.5], keys 1 and 0
    EXPECT_DOUBLE_EQ(dv[0], 1);
    EXPECT_EQ(dv[1], 0);
    return;
  }
}
TEST(Dropout, RatesAreChecked) {
  EXPECT_THROW(block({.branch = 1.5}), Error);
  EXPECT_THROW(block({.path = -0.1}), Error);
}

}  // namespace
