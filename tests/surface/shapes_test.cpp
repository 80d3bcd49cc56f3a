// SPDX-License-Identifier: MIT
// One workspace for many shapes, the empty one too; moved workspaces, copied networks; rows far apart in memory.
#include <algorithm>
#include <cmath>
#include <memory>
#include <surface_helpers.hpp>
#include <unsupported/Eigen/CXX11/Tensor>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace {

using namespace surface;
using norma::Block;
using norma::Encoder;
using norma::LayerNorm;
using norma::Standalone;

constexpr Index kWidth = 12;
constexpr norma::Dimensions kDims{.width = kWidth, .heads = 3, .hidden = 21};

struct Result {
  std::vector<float> y, dx;
  norma::Parameters<float> gradients;
};
template <class Net>
Result run(const Net& net, const norma::Parameters<float>& weights, Shape s, norma::Workspace& workspace,
           norma::Call call = {}) {
  const auto x = numbers(s.rows() * kWidth, "x"), dy = numbers(s.rows() * kWidth, "dy");
  Result r{std::vector<float>(x.size(), -7), std::vector<float>(x.size(), -7), net.gradients()};
  net.forward(weights, view(x, s, kWidth), view(r.y, s, kWidth), workspace, call);
  net.backward(weights, view(x, s, kWidth), view(dy, s, kWidth), view(r.dx, s, kWidth), r.gradients, workspace);
  return r;
}
void expect_same(const Result& a, const Result& b) {
  EXPECT_TRUE(same_bits(a.y, b.y));
  EXPECT_TRUE(same_bits(a.dx, b.dx));
  EXPECT_TRUE(same_bits(a.gradients, b.gradients));
}

template <class Net>
void smaller_shapes(const Net& net) {
  const auto weights = some_weights(net);
  auto large = net.workspace({3, 9});
  for (Shape s :
       {Shape{3, 9}, Shape{1, 1}, Shape{3, 2}, Shape{1, 9}, Shape{2, 7}, Shape{0, 9}, Shape{27, 1}, Shape{3, 9}}) {
    // What an earlier pass left behind must not be read.
    std::fill_n(reinterpret_cast<unsigned char*>(large.data()), large.bytes(), static_cast<unsigned char>(0xFF));
    auto own = net.workspace(s);
    ASSERT_LE(own.bytes(), large.bytes()) << s.batch << " x " << s.tokens;
    expect_same(run(net, weights, s, large), run(net, weights, s, own));
  }
}
TEST(Shapes, ALargerWorkspaceServesSmallerShapes) {
  smaller_shapes(Block<norma::PreLN>(kDims));
  smaller_shapes(Block<norma::PostLN>(kDims));
  smaller_shapes(Encoder<Block<norma::PreLN>>(kDims, 3));
}

// C01: no sequence, or sequences without tokens.
template <class Net>
void empty_shapes(const Net& net) {
  const auto weights = some_weights(net);
  auto workspace = net.workspace({2, 4});
  for (Shape s : {Shape{0, 7}, Shape{1, 0}, Shape{5, 0}, Shape{0, 0}}) {
    auto own = net.workspace(s);
    for (auto* w : {&workspace, &own}) {
      const Result r = run(net, weights, s, *w, {.causal = true});
      EXPECT_TRUE(r.y.empty() && r.dx.empty());
      for (float g : r.gradients.flat()) EXPECT_EQ(g, 0);
    }
    Eigen::Tensor<float, 3, Eigen::RowMajor> x(s.batch, s.tokens, kWidth), y = x, dy = x, dx = x;
    auto gradients = net.gradients();
    net.forward(weights, x, y, workspace);
    net.backward(weights, x, dy, dx, gradients, workspace);
    for (float g : gradients.flat()) EXPECT_EQ(g, 0);
    auto inference = net.inference_workspace(s);
    net.forward(weights, x, y, inference);
  }
}
TEST(Shapes, Empty) {
  empty_shapes(Block<norma::PreLN>(kDims));
  empty_shapes(Block<norma::PostLN>(kDims));
  empty_shapes(Block<norma::DeepNorm>(kDims));
  empty_shapes(Block<norma::PreLN, float, norma::RMSNorm, norma::Attention, norma::SwiGLU>(kDims));
  empty_shapes(Encoder<Block<norma::PreLN>>(kDims, 2));
  empty_shapes(Standalone(LayerNorm<float>{}, kWidth));
  empty_shapes(Standalone(norma::Linear<float>(kWidth, norma::Kind::up), kWidth));
  empty_shapes(Standalone(norma::Attention<float>(kDims, {}), kWidth));
}

TEST(Shapes, WidthOne) {
  const Block<norma::PostLN> net({.width = 1, .heads = 1, .hidden = 3});
  auto weights = some_weights(net);
  auto workspace = net.workspace({1, 4});
  const auto x = numbers(4, "x"), dy = numbers(4, "dy");
  std::vector<float> y(4), dx(4);
  auto gradients = net.gradients();
  net.forward(weights, view(x, {1, 4}, 1), view(y, {1, 4}, 1), workspace);
  net.backward(weights, view(x, {1, 4}, 1), view(dy, {1, 4}, 1), view(dx, {1, 4}, 1), gradients, workspace);
  const float beta = weights["feed_forward.out.beta"](0, 0);
  for (float v : y) EXPECT_EQ(v, beta);  // a row of one is its own mean
  for (float v : dx) EXPECT_EQ(v, 0);
}

// Backward takes shape and call from forward, and may be asked again.
TEST(Shapes, BackwardUsesForwardsCall) {
  const Block<norma::PreLN> net(kDims);
  const auto weights = some_weights(net);
  auto workspace = net.workspace({2, 5});
  const Result causal = run(net, weights, {2, 5}, workspace, {.causal = true}),
               full = run(net, weights, {2, 5}, workspace);
  EXPECT_FALSE(same_bits(causal.dx, full.dx));
  const auto x = numbers(2 * 5 * kWidth, "x"), dy = numbers(2 * 5 * kWidth, "dy");
  std::vector<float> y(x.size()), dx(x.size());
  auto gradients = net.gradients();
  const Shape s{2, 5};
  net.forward(weights, view(x, s, kWidth), view(y, s, kWidth), workspace, {.causal = true});
  for (int i = 0; i < 2; ++i) {
    gradients.set_zero();
    net.backward(weights, view(x, s, kWidth), view(dy, s, kWidth), view(dx, s, kWidth), gradients, workspace);
    expect_same({y, dx, gradients}, causal);
  }
}

// A workspace may move and a network may be copied between forward and backward.
TEST(Shapes, MovedWorkspaceAndCopiedNetwork) {
  const Shape s{2, 5};
  auto net = std::make_unique<Block<norma::PreLN>>(kDims);
  const auto weights = some_weights(*net);
  auto workspace = net->workspace(s);
  const Result wanted = run(*net, weights, s, workspace);
  const auto x = numbers(s.rows() * kWidth, "x"), dy = numbers(s.rows() * kWidth, "dy");
  Result r{std::vector<float>(x.size()), std::vector<float>(x.size()), net->gradients()};
  net->forward(weights, view(x, s, kWidth), view(r.y, s, kWidth), workspace);
  norma::Workspace moved = std::move(workspace);
  const Block<norma::PreLN> copy = *net;
  net.reset();
  copy.backward(weights, view(x, s, kWidth), view(dy, s, kWidth), view(r.dx, s, kWidth), r.gradients, moved);
  expect_same(r, wanted);
}

// E06: backward with dx on top of dy, by numbers.
TEST(Shapes, InPlaceBackwardOfNorms) {
  {
    const Standalone net(norma::RMSNorm<float>{.eps = 1e-4}, 4);
    const auto weights = net.initialize(norma::Rng(1));
    auto gradients = net.gradients();
    auto workspace = net.workspace({1, 1});
    const std::vector<float> x = {1, 0, 0, 0};
    std::vector<float> y(4), d = {1, 0, 0, 0};
    net.forward(weights, view(x, {1, 1}, 4), view(y, {1, 1}, 4), workspace);
    net.backward(weights, view(x, {1, 1}, 4), view(std::as_const(d), {1, 1}, 4), view(d, {1, 1}, 4), gradients,
                 workspace);
    EXPECT_NEAR(d[0], 0.00079952, 2e-7);
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(d[i], 0);
  }
  const Standalone net(LayerNorm<float>{}, 3);
  auto weights = net.initialize(norma::Rng(1));
  weights["gamma"] << 1, 2, 3;
  auto gradients = net.gradients();
  auto workspace = net.workspace({1, 1});
  const std::vector<float> x = {1, 2, 4};
  std::vector<float> y(3), d = {1, 0, -1};
  net.forward(weights, view(x, {1, 1}, 3), view(y, {1, 1}, 3), workspace);
  net.backward(weights, view(x, {1, 1}, 3), view(std::as_const(d), {1, 1}, 3), view(d, {1, 1}, 3), gradients,
               workspace);
  const double dx[] = {-0.114531, 0.171813, -0.057282}, dgamma[] = {-1.069042, 0, -1.336302}, dbeta[] = {1, 0, -1};
  for (Index i = 0; i < 3; ++i) {
    EXPECT_NEAR(d[static_cast<std::size_t>(i)], dx[i], 2e-6);
    EXPECT_NEAR(gradients["gamma"](0, i), dgamma[i], 2e-6);
    EXPECT_EQ(gradients["beta"](0, i), dbeta[i]);
  }
}

// E05: the input of a block is its residual, and stays.
TEST(Shapes, ForwardDoesNotChangeItsInput) {
  const Standalone norm(norma::RMSNorm<float>{.eps = 1e-6}, 2);
  const auto weights = norm.initialize(norma::Rng(1));
  auto workspace = norm.workspace({1, 1});
  Eigen::RowVector2f x(3, 4), y;
  norm.forward(weights, x, y, workspace);
  EXPECT_EQ(x, Eigen::RowVector2f(3, 4));
  EXPECT_NEAR(y[0], 0.848528, 1e-6);
  EXPECT_NEAR(y[1], 1.131371, 1e-6);
}

// E04: a user's plain array at an odd place.
TEST(Shapes, APlainArrayAtAnOddOffset) {
  const Standalone norm(LayerNorm<float>{}, 9);
  const auto weights = norm.initialize(norma::Rng(1));
  auto workspace = norm.workspace({1, 2});
  float in[24], out[24];
  for (int i = 0; i < 24; ++i) in[i] = static_cast<float>((7 * i) % 13 - 6);
  norm.forward(weights, Eigen::Map<const RowMajor>(in + 1, 2, 9), Eigen::Map<RowMajor>(out + 3, 2, 9), workspace);
  for (int r = 0; r < 2; ++r) {
    double mean = 0, square = 0;
    for (int i = 0; i < 9; ++i) mean += in[1 + 9 * r + i] / 9.0;
    for (int i = 0; i < 9; ++i) square += (in[1 + 9 * r + i] - mean) * (in[1 + 9 * r + i] - mean) / 9;
    for (int i = 0; i < 9; ++i)
      EXPECT_NEAR(out[3 + 9 * r + i], (in[1 + 9 * r + i] - mean) / std::sqrt(square + 1e-5), 1e-5);
  }
}

// C05 (b): no limit on the number of rows.
TEST(Shapes, SixtyFiveThousandRows) {
  const Standalone norm(LayerNorm<float>{}, 8);
  const auto weights = some_weights(norm);
  for (Index rows : {65536, 65537}) {
    auto workspace = norm.workspace({1, rows}), one = norm.workspace({1, 1});
    const auto x = numbers(rows * 8, "x");
    std::vector<float> y(x.size()), alone(8);
    norm.forward(weights, view(x, {1, rows}, 8), view(y, {1, rows}, 8), workspace);
    for (Index r : {Index(0), Index(65534), rows - 1}) {
      const float* row = x.data() + r * 8;
      norm.forward(weights, norma::TensorView<const float>{{1, 1}, {row, 1, 8}}, view(alone, {1, 1}, 8), one);
      EXPECT_TRUE(same_bits(alone.data(), y.data() + r * 8, 8)) << r;
    }
  }
}

#if defined(__linux__)
// C05 (a): two rows further apart than 32 bits can say, in address space that is reserved and never filled.
TEST(Shapes, RowsFurtherApartThan32Bits) {
  constexpr Index kStride = (Index(1) << 31) + 16, kBytes = (kStride + 8) * 4;
  const auto reserve = [] {
    return mmap(nullptr, static_cast<std::size_t>(kBytes), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  };
  void *const in = reserve(), *const out = reserve();
  if (in == MAP_FAILED || out == MAP_FAILED) GTEST_SKIP() << "no address space";
  using Strided = Eigen::Map<RowMajor, 0, Eigen::OuterStride<>>;
  Strided x(static_cast<float*>(in), 2, 8, Eigen::OuterStride<>(kStride)),
      y(static_cast<float*>(out), 2, 8, Eigen::OuterStride<>(kStride));
  const auto values = numbers(16, "x");
  x = Eigen::Map<const RowMajor>(values.data(), 2, 8);
  const Standalone norm(LayerNorm<float>{}, 8);
  const auto weights = some_weights(norm);
  auto workspace = norm.workspace({1, 2});
  auto gradients = norm.gradients(), wanted_gradients = norm.gradients();
  RowMajor near_x = x, near_y(2, 8), near_dx(2, 8), dy = RowMajor::Constant(2, 8, 1);
  dy(1, 3) = 5;
  norm.forward(weights, x, y, workspace);
  RowMajor far_y = y;
  norm.backward(weights, x, dy, y, gradients, workspace);
  norm.forward(weights, near_x, near_y, workspace);
  norm.backward(weights, near_x, dy, near_dx, wanted_gradients, workspace);
  EXPECT_EQ(far_y, near_y);
  EXPECT_EQ(y, near_dx);
  EXPECT_TRUE(same_bits(gradients, wanted_gradients));
  munmap(in, static_cast<std::size_t>(kBytes));
  munmap(out, static_cast<std::size_t>(kBytes));
}
#endif

}  // namespace
