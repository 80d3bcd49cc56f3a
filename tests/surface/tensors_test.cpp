// SPDX-License-Identifier: MIT
// Every kind of Eigen object at the surface: the same bits, no copies, nothing touched that is not an output.
#include <array>
#include <cmath>
#include <functional>
#include <surface_helpers.hpp>
#include <unsupported/Eigen/CXX11/Tensor>
#include <utility>

namespace {

using namespace surface;
using norma::Block;
using norma::Encoder;
using norma::LayerNorm;
using norma::Standalone;

constexpr Index kTokens = 5, kWidth = 12;
constexpr norma::Dimensions kDims{.width = kWidth, .heads = 3, .hidden = 21};

template <class Net>
struct Make {
  static Net net() { return Net(kDims, {.layer = 1, .layers = 2}); }
};
template <class B>
struct Make<Encoder<B>> {
  static Encoder<B> net() { return Encoder<B>(kDims, 2); }
};
template <class M>
struct Make<Standalone<M>> {
  static Standalone<M> net() { return Standalone<M>(M{}, kWidth); }
};

/// One network, its numbers, and the result by plain pointers.
template <class Net>
class Surfaces : public testing::Test {
 protected:
  static constexpr Shape kShape{1, kTokens};
  const Net net_ = Make<Net>::net();
  const norma::Parameters<float> weights_ = some_weights(net_);
  norma::Workspace workspace_ = net_.workspace(kShape);
  const std::vector<float> x_ = numbers(kTokens * kWidth, "x"), dy_ = numbers(kTokens * kWidth, "dy");
  std::vector<float> y_ = numbers(kTokens * kWidth, "noise"), dx_ = y_;
  norma::Parameters<float> gradients_ = net_.gradients();

  void SetUp() override {
    const auto x = view(x_, kShape, kWidth), dy = view(dy_, kShape, kWidth);
    net_.forward(weights_, x, view(y_, kShape, kWidth), workspace_);
    net_.backward(weights_, x, dy, view(dx_, kShape, kWidth), gradients_, workspace_);
    for (float v : y_) ASSERT_TRUE(std::isfinite(v));
    for (float v : dx_) ASSERT_TRUE(std::isfinite(v));
  }

  template <class E>
  static void store(const std::vector<float>& from, E&& to) {
    const auto v = norma::tensor_view<float>(to);
    for (Index r = 0; r < kTokens; ++r)
      std::copy_n(&from[static_cast<std::size_t>(r * kWidth)], kWidth, v.matrix.row(r));
  }
  template <class E>
  static bool holds(const E& e, const std::vector<float>& wanted) {
    const auto v = norma::tensor_view<const float>(e);
    for (Index r = 0; r < kTokens; ++r)
      if (!same_bits(v.matrix.row(r), &wanted[static_cast<std::size_t>(r * kWidth)], kWidth)) return false;
    return true;
  }

  /// Forward and backward on these objects, outputs full of noise before.
  template <class X, class Y, class DY, class DX>
  void check(X&& x, Y&& y, DY&& dy, DX&& dx) {
    store(x_, x);
    store(dy_, dy);
    store(numbers(kTokens * kWidth, "noise"), y);
    store(numbers(kTokens * kWidth, "noise"), dx);
    auto gradients = net_.gradients();
    net_.forward(weights_, std::as_const(x), std::forward<Y>(y), workspace_);
    EXPECT_TRUE(holds(y, y_));
    EXPECT_TRUE(holds(x, x_)) << "forward changed x";
    net_.backward(weights_, std::as_const(x), std::as_const(dy), std::forward<DX>(dx), gradients, workspace_);
    EXPECT_TRUE(holds(dx, dx_));
    EXPECT_TRUE(holds(x, x_)) << "backward changed x";
    EXPECT_TRUE(holds(dy, dy_)) << "backward changed dy";
    EXPECT_TRUE(holds(y, y_)) << "backward changed y";
    EXPECT_TRUE(same_bits(gradients, gradients_));
  }
};
using Nets = testing::Types<Block<norma::PreLN>, Block<norma::PostLN>, Encoder<Block<norma::PreLN>>,
                            Standalone<LayerNorm<float>>>;
TYPED_TEST_SUITE(Surfaces, Nets);

TYPED_TEST(Surfaces, TensorsOfRankThreeAndTwo) {
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

TYPED_TEST(Surfaces, TensorMaps) {
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

TYPED_TEST(Surfaces, MatricesMapsAndRefs) {
  RowMajor a(kTokens, kWidth), b = a, c = a, d = a;
  this->check(a, b, c, d);
  using Fixed = Eigen::Matrix<float, kTokens, kWidth, Eigen::RowMajor>;
  this->check(Fixed(), Fixed(), Fixed(), Fixed());
  using Array = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  this->check(Array(kTokens, kWidth), Array(kTokens, kWidth), Array(kTokens, kWidth), Array(kTokens, kWidth));
  std::array<std::vector<float>, 4> m;
  for (auto& v : m) v.resize(kTokens * kWidth + 1);
  const auto at = [&](std::size_t i) { return Eigen::Map<RowMajor>(m[i].data() + 1, kTokens, kWidth); };
  this->check(at(0), at(1), at(2), at(3));
  this->check(Eigen::Ref<RowMajor>(a), Eigen::Ref<RowMajor>(b), Eigen::Ref<RowMajor>(c), Eigen::Ref<RowMajor>(d));
  // A column-major matrix of features x tokens, turned over.
  Eigen::MatrixXf e(kWidth, kTokens), f = e, g = e, h = e;
  this->check(e.transpose(), f.transpose(), g.transpose(), h.transpose());
}

TYPED_TEST(Surfaces, BlocksLeaveTheRestUntouched) {
  RowMajor a = RowMajor::Constant(kTokens + 4, kWidth + 7, -77), b = a, c = a, d = a;
  const auto outside_is_untouched = [](const RowMajor& m) {
    int inside = 0;
    for (Index r = 0; r < m.rows(); ++r)
      for (Index i = 0; i < m.cols(); ++i) inside += m(r, i) != -77.0f;
    return inside <= kTokens * kWidth;
  };
  const auto block = [](RowMajor& m) { return m.block(3, 2, kTokens, kWidth); };
  this->check(block(a), block(b), block(c), block(d));
  for (auto* m : {&a, &b, &c, &d}) EXPECT_TRUE(outside_is_untouched(*m));
  RowMajor e = RowMajor::Constant(kTokens + 4, kWidth, -77), f = e, g = e, h = e;
  this->check(e.middleRows(2, kTokens), f.middleRows(2, kTokens), g.middleRows(2, kTokens), h.middleRows(2, kTokens));
  for (auto* m : {&e, &f, &g, &h}) EXPECT_TRUE(outside_is_untouched(*m));
}

TYPED_TEST(Surfaces, StridedMapsUseTheCallersMemory) {
  using Strided = Eigen::Map<RowMajor, 0, Eigen::OuterStride<>>;
  constexpr Index kStride = 17;
  std::array<std::vector<float>, 4> m;
  for (auto& v : m) v.assign(kTokens * kStride + 1, -77);
  const auto at = [&](std::size_t i) {
    return Strided(m[i].data() + 1, kTokens, kWidth, Eigen::OuterStride<>(kStride));
  };
  this->check(at(0), at(1), at(2), at(3));
  for (const auto& v : m) {
    EXPECT_EQ(v[0], -77);
    for (Index r = 0; r < kTokens; ++r)
      for (Index i = kWidth; i < kStride; ++i) EXPECT_EQ(v[static_cast<std::size_t>(1 + r * kStride + i)], -77);
  }
  EXPECT_EQ(m[1][1 + 2 * kStride + 3], this->y_[2 * kWidth + 3]);
}

// Columns of one matrix lie between each other's rows, and do not overlap.
TYPED_TEST(Surfaces, ColumnsOfOneMatrix) {
  RowMajor m(kTokens, 4 * kWidth);
  this->check(m.leftCols(kWidth), m.middleCols(kWidth, kWidth), m.middleCols(2 * kWidth, kWidth), m.rightCols(kWidth));
}

TYPED_TEST(Surfaces, DxMayBeDy) {
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

// The output is the caller's: backward does not read it, so dy may take its place.
TYPED_TEST(Surfaces, YIsFreeAfterForward) {
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

// Rows of a matrix are one sequence; a rank 3 tensor says where sequences end.
TYPED_TEST(Surfaces, AMatrixIsABatchOfOne) {
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

// The parameters' gradients are added to what is there.
TYPED_TEST(Surfaces, GradientsAreAdded) {
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

TYPED_TEST(Surfaces, PaddingStaysZero) {
  for (const auto& p : {std::cref(this->weights_), std::cref(std::as_const(this->gradients_))}) {
    std::vector<bool> used(p.get().flat().size());
    p.get().for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
      for (Index i = 0; i < map.size(); ++i) used[static_cast<std::size_t>(info.at.offset + i)] = true;
    });
    for (std::size_t i = 0; i < used.size(); ++i) EXPECT_TRUE(used[i] || p.get().flat()[i] == 0);
  }
}

TYPED_TEST(Surfaces, InferenceIsForward) {
  auto inference = this->net_.inference_workspace(this->kShape);
  EXPECT_LT(inference.bytes(), this->workspace_.bytes());
  std::vector<float> y(this->y_.size());
  this->net_.forward(this->weights_, view(this->x_, this->kShape, kWidth), view(y, this->kShape, kWidth), inference);
  EXPECT_TRUE(same_bits(y, this->y_));
}

}  // namespace
