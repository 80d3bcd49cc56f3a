// SPDX-License-Identifier: MIT
// What forward and backward promise about the memory that they are lent.
#include <functional>
#include <surface_fixture.hpp>
#include <type_traits>

namespace {

using namespace surface;

template <class Net>
using SurfaceContract = Surfaces<Net>;
TYPED_TEST_SUITE(SurfaceContract, Nets);

TYPED_TEST(SurfaceContract, DxMayBeDy) {
  const Shape shape = this->kShape;
  auto d = this->dy_;
  auto gradients = this->net_.gradients();
  const auto x = view(this->x_, shape, kWidth);
  std::vector<float> y(d.size());
  this->net_.forward(this->weights_, x, view(y, shape, kWidth), this->workspace_);
  this->net_.backward(this->weights_, x, view(std::as_const(d), shape, kWidth), view(d, shape, kWidth), gradients,
                      this->workspace_);
  EXPECT_TRUE(same_bits(d, this->dx_));
  EXPECT_TRUE(same_bits(gradients, this->gradients_));
  // As blocks of one matrix: the same rows and the same stride.
  RowMajor m = RowMajor::Constant(kTokens + 2, kWidth + 3, -77);
  this->store(this->dy_, m.block(1, 1, kTokens, kWidth));
  gradients.set_zero();
  this->net_.forward(this->weights_, x, view(y, shape, kWidth), this->workspace_);
  this->net_.backward(this->weights_, x, m.block(1, 1, kTokens, kWidth), m.block(1, 1, kTokens, kWidth), gradients,
                      this->workspace_);
  EXPECT_TRUE(this->holds(m.block(1, 1, kTokens, kWidth), this->dx_));
  EXPECT_TRUE(same_bits(gradients, this->gradients_));
}

TYPED_TEST(SurfaceContract, YIsFreeAfterForward) {
  const Shape shape = this->kShape;
  std::vector<float> y(this->y_.size()), dx = y;
  auto gradients = this->net_.gradients();
  const auto x = view(this->x_, shape, kWidth);
  this->net_.forward(this->weights_, x, view(y, shape, kWidth), this->workspace_);
  y = this->dy_;
  this->net_.backward(this->weights_, x, view(std::as_const(y), shape, kWidth), view(dx, shape, kWidth), gradients,
                      this->workspace_);
  EXPECT_TRUE(same_bits(dx, this->dx_));
  EXPECT_TRUE(same_bits(gradients, this->gradients_));
}

TYPED_TEST(SurfaceContract, AMatrixIsABatchOfOne) {
  const Shape two{2, kTokens};
  const auto x = numbers(2 * kTokens * kWidth, "two");
  auto workspace = this->net_.workspace({1, 2 * kTokens});
  RowMajor m = Eigen::Map<const RowMajor>(x.data(), 2 * kTokens, kWidth), y(2 * kTokens, kWidth);
  this->net_.forward(this->weights_, m, y, workspace);
  std::vector<float> one(x.size()), each(x.size());
  this->net_.forward(this->weights_, view(x, {1, 2 * kTokens}, kWidth), view(one, {1, 2 * kTokens}, kWidth), workspace);
  EXPECT_TRUE(same_bits(y.data(), one.data(), one.size()));
  this->net_.forward(this->weights_, view(x, two, kWidth), view(each, two, kWidth), workspace);
  constexpr bool kMixesTokens = !std::is_same_v<TypeParam, Standalone<LayerNorm<float>>>;
  EXPECT_EQ(same_bits(one, each), !kMixesTokens);
  // The output of two sequences may lie in a matrix.
  this->net_.forward(this->weights_, view(x, two, kWidth), y, workspace);
  EXPECT_TRUE(same_bits(y.data(), each.data(), each.size()));
}

TYPED_TEST(SurfaceContract, GradientsAreAdded) {
  const Shape shape = this->kShape;
  auto gradients = this->net_.gradients();
  for (float& g : gradients.flat()) g = 1000;
  std::vector<float> y(this->y_.size()), dx = y;
  const auto x = view(this->x_, shape, kWidth);
  this->net_.forward(this->weights_, x, view(y, shape, kWidth), this->workspace_);
  this->net_.backward(this->weights_, x, view(this->dy_, shape, kWidth), view(dx, shape, kWidth), gradients,
                      this->workspace_);
  std::size_t in_parameters = 0;
  gradients.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    in_parameters += static_cast<std::size_t>(map.size());
    for (Index i = 0; i < map.size(); ++i)
      EXPECT_NEAR(map.data()[i] - 1000, this->gradients_.data()[info.at.offset + i], 2e-3) << info.name;
  });
  std::size_t untouched = 0;  // the padding keeps what the caller put there
  for (float g : gradients.flat()) untouched += g == 1000;
  EXPECT_GE(untouched, gradients.flat().size() - in_parameters);
}

TYPED_TEST(SurfaceContract, PaddingStaysZero) {
  for (const auto& p : {std::cref(this->weights_), std::cref(std::as_const(this->gradients_))}) {
    std::vector<bool> used(p.get().flat().size());
    p.get().for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
      for (Index i = 0; i < map.size(); ++i) used[static_cast<std::size_t>(info.at.offset + i)] = true;
    });
    for (std::size_t i = 0; i < used.size(); ++i) EXPECT_TRUE(used[i] || p.get().flat()[i] == 0);
  }
}

TYPED_TEST(SurfaceContract, InferenceIsForward) {
  auto inference = this->net_.inference_workspace(this->kShape);
  EXPECT_LT(inference.bytes(), this->workspace_.bytes());
  std::vector<float> y(this->y_.size());
  this->net_.forward(this->weights_, view(this->x_, this->kShape, kWidth), view(y, this->kShape, kWidth), inference);
  EXPECT_TRUE(same_bits(y, this->y_));
}

}  // namespace
