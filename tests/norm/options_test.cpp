// SPDX-License-Identifier: MIT
// Norms with their options: parameters left out, unit offset, ScaleNorm, Identity; each at any site.
#include "kernel_network.hpp"

namespace {

using namespace norma;
using norma_test::expect_gradients;

TEST(NormOptions, Gradients) {
  for (const Index width : {12, 21}) {
    expect_gradients(Standalone(LayerNorm<double>{.with_beta = false}, width), width);
    expect_gradients(Standalone(LayerNorm<double>{.with_gamma = false}, width), width);
    expect_gradients(Standalone(LayerNorm<double>{.with_gamma = false, .with_beta = false}, width), width);
    expect_gradients(Standalone(RMSNorm<double>{.unit_offset = true}, width), width);
    expect_gradients(Standalone(RMSNorm<double>{.with_gamma = false}, width), width);
    expect_gradients(Standalone(ScaleNorm<double>{}, width), width);
    expect_gradients(Standalone(ScaleNorm<double>{.eps = 50}, width), width);  // every row is clamped
    expect_gradients(Standalone(Identity<double>{}, width), width);
  }
}
template <class M>
std::vector<float> normed(const M& m, std::vector<float> x, float weight) {
  const Standalone net(m, static_cast<Index>(x.size()));
  auto weights = net.initialize(Rng(1));
  weights.for_each_parameter([&](const ParameterInfo&, auto map) { map.setConstant(weight); });
  std::vector<float> y(x.size());
  auto workspace = net.workspace({1, 1});
  const auto view = [](std::vector<float>& v) {
    return TensorView<float>{{1, 1}, {v.data(), 1, static_cast<Index>(v.size())}};
  };
  net.forward(weights, view(x), view(y), workspace);
  return y;
}
void expect_close(const std::vector<float>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6 * std::max(1.0, std::fabs(b[i]))) << i;
}
// Case K03: the stored weight is an offset from 1, once.
TEST(NormOptions, UnitOffset) {
  expect_close(normed(RMSNorm<float>{.eps = 0, .unit_offset = true}, {3, 4}, 0.5f), {1.272792, 1.697056});
  expect_close(normed(RMSNorm<float>{.eps = 0}, {3, 4}, 0.5f), {0.424264, 0.565685});
  const Standalone gemma(RMSNorm<float>{.unit_offset = true}, 4);
  EXPECT_EQ(gemma.initialize(Rng(1))["gamma"].squaredNorm(), 0);
}
// Cases K03 and K04 in 16 bits: all in float, rounded once, at the end. So the weight multiplies before the cast, as in
// LLaMA, and 1 + w is not rounded by itself.
TEST(NormOptions, RoundedOnceInBFloat16) {
  const auto normed16 = [](std::array<float, 4> values, float weight, bool unit_offset) {
    bfloat16 x[4], y[4], gamma[4];
    for (int i = 0; i < 4; ++i) {
      x[i] = bfloat16(values[static_cast<std::size_t>(i)]);
      gamma[i] = bfloat16(weight);
    }
    float rstd = 0;
    kernels::norm_forward<kernels::Center::none, bfloat16>({x, 1, 4}, gamma, nullptr, 1e-6, {y, 1, 4},
                                                           {nullptr, nullptr, &rstd}, unit_offset);
    return std::vector<float>{static_cast<float>(y[0]), static_cast<float>(y[1]), static_cast<float>(y[2]),
                              static_cast<float>(y[3])};
  };
  EXPECT_EQ(normed16({0.125f, 0.125f, 1, 2}, 1.0625f, false),
            (std::vector<float>{0.11865234375f, 0.11865234375f, 0.94921875f, 1.8984375f}));
  // With 1 + 15.8125 rounded to 16.75 it would be 13.6875 and 27.375.
  EXPECT_EQ(normed16({1, -1, 2, 0}, 15.8125f, true), (std::vector<float>{13.75f, -13.75f, 27.5f, 0}));
}
// Case F08.
TEST(NormOptions, WithoutParameters) {
  expect_close(normed(LayerNorm<float>{.with_gamma = false, .with_beta = false}, {1, 2, 4}, 7),
               {-1.069042, -0.267260, 1.336302});
  const Standalone bare(LayerNorm<float>{.with_gamma = false, .with_beta = false}, 3);
  EXPECT_EQ(bare.layout().count(), 0);
  EXPECT_EQ(Standalone(LayerNorm<float>{.with_beta = false}, 3).layout().count(), 3);
}
TEST(NormOptions, AnEpsThatIsNone) {
  const auto refused = [](auto norm) {
    try {
      Standalone(norm, 3);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refused(LayerNorm<float>{.eps = -1}), "eps is -1.000000, wanted 0 or more");
  EXPECT_NE(refused(RMSNorm<float>{.eps = std::numeric_limits<double>::infinity()}).find("eps"), std::string::npos);
  EXPECT_NE(refused(ScaleNorm<float>{.eps = std::nan("")}).find("eps"), std::string::npos);
  EXPECT_EQ(refused(LayerNorm<float>{.eps = 0}), "");
}
TEST(NormOptions, ScaleNormIsALength) {
  expect_close(normed(ScaleNorm<float>{}, {3, 4}, 2), {1.2, 1.6});
  expect_close(normed(ScaleNorm<float>{.eps = 10}, {3, 4}, 2), {0.6, 0.8});  // clamped, not added
  expect_close(normed(ScaleNorm<float>{}, {3e30f, 4e30f}, 1), {0.6, 0.8});
  expect_close(normed(ScaleNorm<float>{.eps = 0}, {3e-30f, 4e-30f}, 1), {0.6, 0.8});
  const float initial = Standalone(ScaleNorm<float>{}, 9).initialize(Rng(1))["g"](0, 0);
  EXPECT_EQ(initial, 3);
  const auto nan = normed(ScaleNorm<float>{}, {std::numeric_limits<float>::quiet_NaN(), 1}, 1);
  EXPECT_TRUE(std::isnan(nan[0]) && std::isnan(nan[1]));
}
TEST(NormOptions, AnyNormAtAnySite) {
  const Dimensions dims{.width = 12, .heads = 3, .hidden = 9};
  expect_gradients(Encoder<Block<PreLN, double, ScaleNorm>>(dims, 2), 12, {"key.bias"});
  expect_gradients(Encoder<Block<DeepNorm, double, RMSNorm>>(dims, 2, {}, {.unit_offset = true}), 12, {"key.bias"});
  expect_gradients(Encoder<Block<PostLN, double>>(dims, 2, {}, {.with_gamma = false}), 12, {"key.bias"});
  expect_gradients(Encoder<Block<PreLN, double, Identity>>(dims, 2),
                   norma_test::moved(Encoder<Block<PreLN, double, Identity>>(dims, 2), 0.05), 12, 12, {"key.bias"});
}

}  // namespace
