// SPDX-License-Identifier: MIT
// DyT and Derf: what stands in for a norm, one value at a time.
#include "kernel_network.hpp"

namespace {

using namespace norma_test;
using norma::Derf;
using norma::DyT;
using norma::Standalone;

TEST(Pointwise, Gradients) {
  for (const Index width : {12, 21}) {
    expect_gradients(Standalone(DyT<double>{}, width), width);
    expect_gradients(Standalone(DyT<double>{.initial_alpha = 2, .with_beta = false}, width), width);
    expect_gradients(Standalone(Derf<double>{}, width), width);
    expect_gradients(Standalone(Derf<double>{.initial_alpha = 1.5}, width), width);
  }
}
// The gradient of alpha is a sum over all elements of both signs, here 300 times smaller than its terms together.
TEST(Pointwise, FloatAgreesWithDouble) {
  for (const Index width : {12, 257}) {
    expect_float_agrees(Standalone(DyT<float>{}, width), Standalone(DyT<double>{}, width), width, width, 16);
    expect_float_agrees(Standalone(Derf<float>{}, width), Standalone(Derf<double>{}, width), width, width, 16);
  }
}
TEST(Pointwise, NoBatchMates) {
  expect_no_batch_mates(Standalone(DyT<float>{}, 21), 21, 21);
  expect_no_batch_mates(Standalone(Derf<float>{}, 21), 21, 21);
}

/// One row through the module, its parameters set in the order of the layout.
template <class M>
std::vector<double> applied(const M& module, std::vector<double> x, const std::vector<double>& parameters) {
  const Standalone net(module, static_cast<Index>(x.size()));
  auto weights = net.initialize(norma::Rng(1));
  std::size_t next = 0;
  weights.for_each_parameter([&](const norma::ParameterInfo&, auto map) { map.setConstant(parameters[next++]); });
  std::vector<double> y(x.size());
  auto workspace = net.workspace({1, 1});
  const auto view = [](std::vector<double>& v) {
    return norma::TensorView<double>{{1, 1}, {v.data(), 1, static_cast<Index>(v.size())}};
  };
  net.forward(weights, view(x), view(y), workspace);
  return y;
}
void expect_near(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-9) << i;
}
// tanh(1) = 0.7615941560, tanh(0.5) = 0.4621171573; erf(1) = 0.8427007929, erf(0.5) = 0.5204998778.
TEST(Pointwise, KnownValues) {
  expect_near(applied(DyT<double>{}, {0, 2, -1}, {0.5, 3, 0.25}),
              {0.25, 3 * 0.7615941560 + 0.25, -3 * 0.4621171573 + 0.25});
  expect_near(applied(DyT<double>{.with_beta = false}, {0, 2, -1}, {0.5, 3}), {0, 3 * 0.7615941560, -3 * 0.4621171573});
  expect_near(applied(Derf<double>{}, {1, -1, -3}, {0.5, 0.5, 3, 0.25}),
              {3 * 0.8427007929 + 0.25, 0.25, -3 * 0.8427007929 + 0.25});
  expect_near(applied(Derf<double>{}, {0, 0, 0}, {0.5, 0.5, 3, 0.25}), std::vector<double>(3, 3 * 0.5204998778 + 0.25));
}
TEST(Pointwise, ParametersAndTheirInitialValues) {
  const auto listed = [](const auto& net) {
    std::string list;
    const auto weights = net.initialize(norma::Rng(1));
    weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
      EXPECT_FALSE(info.decays()) << info.name;
      list += info.name + " " + std::to_string(map.size()) + " " + std::to_string(map(0, map.size() - 1)) + "; ";
    });
    return list;
  };
  EXPECT_EQ(listed(Standalone(DyT<double>{}, 5)), "alpha 1 0.500000; gamma 5 1.000000; beta 5 0.000000; ");
  EXPECT_EQ(listed(Standalone(DyT<double>{.initial_alpha = 0.2, .with_beta = false}, 5)),
            "alpha 1 0.200000; gamma 5 1.000000; ");
  EXPECT_EQ(listed(Standalone(Derf<double>{}, 5)),
            "alpha 1 0.500000; shift 1 0.000000; gamma 5 1.000000; beta 5 0.000000; ");
}
/// Where the function saturates its slope keeps its digits in float, and far out it is zero, not NaN.
TEST(Pointwise, SlopesFarOut) {
  for (const float z : {0.0f, 0.3f, -2.0f, 5.0f, -8.0f}) {
    const double tanh = 1 / std::cosh(double(z)), erf = 2 / std::sqrt(M_PI) * std::exp(-double(z) * double(z));
    EXPECT_NEAR(norma::kernels::Tanh::derivative(z) / (tanh * tanh), 1, 2e-6) << z;
    EXPECT_NEAR(norma::kernels::Erf::derivative(z) / erf, 1, 2e-5) << z;
  }
  for (const float z : {1e4f, -1e30f}) {
    EXPECT_EQ(norma::kernels::Tanh::derivative(z), 0);
    EXPECT_EQ(norma::kernels::Erf::derivative(z), 0);
  }
}
// Henry's l2 norms: g of a value of its own, or none.
TEST(Pointwise, ScaleNormWithAnotherG) {
  for (const Index width : {12, 21}) {
    expect_gradients(Standalone(norma::ScaleNorm<double>{.initial_g = 3}, width), width);
    expect_gradients(Standalone(norma::ScaleNorm<double>{.with_g = false}, width), width);
  }
  expect_near(applied(norma::ScaleNorm<double>{.with_g = false}, {3, 4}, {}), {0.6, 0.8});
  const auto weights = Standalone(norma::ScaleNorm<double>{.initial_g = 7}, 9).initialize(norma::Rng(1));
  EXPECT_EQ(weights["g"](0, 0), 7);
}

}  // namespace
