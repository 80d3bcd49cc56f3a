// SPDX-License-Identifier: MIT
#include "kernel_network.hpp"

namespace {

using namespace norma_test;
using norma::LayerNorm;
using norma::RMSNorm;
using norma::Standalone;

template <class M>
struct Norm : testing::Test {};
template <template <class> class N>
struct Of {
  template <class T>
  using Type = N<T>;
};
using Norms = testing::Types<Of<LayerNorm>, Of<RMSNorm>>;
TYPED_TEST_SUITE(Norm, Norms);

TYPED_TEST(Norm, Gradients) {
  for (const Index width : {12, 21})
    for (const double eps : {1e-5, 0.3})
      expect_gradients(Standalone(typename TypeParam::template Type<double>{.eps = eps}, width), width);
}

TYPED_TEST(Norm, FloatAgreesWithDouble) {
  for (const Index width : {12, 21, 257})
    expect_float_agrees(Standalone(typename TypeParam::template Type<float>{}, width),
                        Standalone(typename TypeParam::template Type<double>{}, width), width, width, 4);
}

TYPED_TEST(Norm, NoBatchMates) {
  expect_no_batch_mates(Standalone(typename TypeParam::template Type<float>{}, 21), 21, 21);
  expect_no_batch_mates(Standalone(typename TypeParam::template Type<double>{}, 12), 12, 12);
}

TYPED_TEST(Norm, InferenceHasTheSameBits) {
  const Standalone norm(typename TypeParam::template Type<float>{}, 21);
  const auto weights = moved(norm);
  Trial<float> run(norm, {2, 5}, 21, 21);
  run.pass(norm, weights);
  Guarded<float> y(10, 21);
  auto workspace = norm.inference_workspace({2, 5});
  norm.forward(weights, Trial<float>::view({2, 5}, run.x), Trial<float>::view({2, 5}, y), workspace);
  for (Index r = 0; r < 10; ++r) EXPECT_TRUE(same_bits(y.row(r), run.y.row(r), 21));
}

TEST(LayerNorm, ParametersAndTheirInitialValues) {
  const Standalone norm(LayerNorm<float>{}, 21);
  const auto weights = norm.initialize(norma::Rng(1));
  ASSERT_EQ(norm.layout().entries().size(), 2u);
  EXPECT_EQ(norm.layout().count(), 42);
  for (Index i = 0; i < 21; ++i) {
    EXPECT_EQ(weights["gamma"](0, i), 1.0f);
    EXPECT_EQ(weights["beta"](0, i), 0.0f);
  }
  EXPECT_EQ(LayerNorm<float>{}.eps, 1e-5);
}

TEST(RMSNorm, ParametersAndTheirInitialValues) {
  const Standalone norm(RMSNorm<float>{}, 21);
  const auto weights = norm.initialize(norma::Rng(1));
  ASSERT_EQ(norm.layout().entries().size(), 1u);
  for (Index i = 0; i < 21; ++i) EXPECT_EQ(weights["gamma"](0, i), 1.0f);
}

// eps of the module reaches forward and, for rows that are redone, backward.
TEST(LayerNorm, EpsIsTheModules) {
  for (const double eps : {1e-12, 1e-5, 2.0}) {
    const Standalone norm(LayerNorm<double>{.eps = eps}, 2);
    const auto weights = norm.initialize(norma::Rng(1));
    Trial<double> run(norm, {1, 1}, 2, 2);
    run.x(0, 0) = -1e-3, run.x(0, 1) = 1e-3;
    run.pass(norm, weights);
    EXPECT_NEAR(run.y(0, 1), 1e-3 / std::sqrt(1e-6 + eps), 1e-12);
  }
}

}  // namespace
