// SPDX-License-Identifier: MIT
// Tensors of every kind: the same bits as plain pointers, nothing touched that is not an output.
#include <array>
#include <surface_fixture.hpp>
#include <unsupported/Eigen/CXX11/Tensor>

namespace {

using namespace surface;

template <class Net>
using SurfaceTensors = Surfaces<Net>;
TYPED_TEST_SUITE(SurfaceTensors, Nets);

TYPED_TEST(SurfaceTensors, TensorsOfRankThreeAndTwo) {
  using T3 = Eigen::Tensor<float, 3, Eigen::RowMajor>;
  using T2 = Eigen::Tensor<float, 2, Eigen::RowMajor>;
  this->check(T3(1, kTokens, kWidth), T3(1, kTokens, kWidth), T3(1, kTokens, kWidth), T3(1, kTokens, kWidth));
  this->check(T2(kTokens, kWidth), T2(kTokens, kWidth), T2(kTokens, kWidth), T2(kTokens, kWidth));
  this->check(T3(1, kTokens, kWidth), T2(kTokens, kWidth), RowMajor(kTokens, kWidth), T3(1, kTokens, kWidth));  // mixed
  using Int = Eigen::Tensor<float, 3, Eigen::RowMajor, int>;  // another index type
  this->check(Int(1, kTokens, kWidth), Int(1, kTokens, kWidth), Int(1, kTokens, kWidth), Int(1, kTokens, kWidth));
  using Fixed = Eigen::TensorFixedSize<float, Eigen::Sizes<1, kTokens, kWidth>, Eigen::RowMajor>;
  this->check(Fixed(), Fixed(), Fixed(), Fixed());
}

TYPED_TEST(SurfaceTensors, TensorMaps) {
  using Map = Eigen::TensorMap<Eigen::Tensor<float, 3, Eigen::RowMajor>>;
  // One element in: not aligned to anything.
  std::array<std::vector<float>, 4> m;
  for (auto& v : m) v.resize(kTokens * kWidth + 1);
  const auto at = [&](std::size_t i) { return Map(m[i].data() + 1, 1, kTokens, kWidth); };
  this->check(at(0), at(1), at(2), at(3));
  // Of constant memory, as an input.
  using ConstMap = Eigen::TensorMap<const Eigen::Tensor<float, 3, Eigen::RowMajor>>;
  const ConstMap x(this->x_.data(), 1, kTokens, kWidth), dy(this->dy_.data(), 1, kTokens, kWidth);
  auto gradients = this->net_.gradients();
  this->net_.forward(this->weights_, x, at(1), this->workspace_);
  this->net_.backward(this->weights_, x, dy, at(3), gradients, this->workspace_);
  EXPECT_TRUE(this->holds(at(1), this->y_));
  EXPECT_TRUE(this->holds(at(3), this->dx_));
}

}  // namespace
