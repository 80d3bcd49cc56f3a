// SPDX-License-Identifier: MIT
// Padding stays out and masked keys are not seen, forward and backward.
#include "kernel_network.hpp"

namespace {

using namespace norma;
using norma_test::bits;
using norma_test::moved;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Outcome {
  std::vector<float> x, y, dy, dx, gradients;
};
template <class Network>
Outcome run(const Network& net, Shape shape, std::vector<float> x, std::vector<float> dy, const Call& call) {
  Outcome r{std::move(x), {}, std::move(dy), {}, {}};
  r.y.assign(r.x.size(), 99);
  r.dx.assign(r.x.size(), 99);
  const auto weights = moved(net);
  auto gradients = net.gradients();
  auto workspace = net.workspace(shape);
  const auto view = [&](std::vector<float>& v) { return TensorView<float>{shape, {v.data(), shape.rows(), 12}}; };
  net.forward(weights, view(r.x), view(r.y), workspace, call);
  net.backward(weights, view(r.x), view(r.dy), view(r.dx), gradients, workspace);
  r.gradients.assign(gradients.flat().begin(), gradients.flat().end());
  return r;
}
std::vector<float> noise(Index rows, std::uint64_t seed) {
  std::vector<float> v(static_cast<std::size_t>(rows * 12));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(Rng(seed).normal(i));
  return v;
}

template <class P>
class Padding : public ::testing::Test {};
using Policies = ::testing::Types<PreLN, PostLN, DeepNorm>;
TYPED_TEST_SUITE(Padding, Policies);

TYPED_TEST(Padding, NanInPaddingReachesNothing) {
  const Encoder<Block<TypeParam>> net({.width = 12, .heads = 3, .hidden = 10}, 2);
  const std::vector<Index> lengths{5, 0, 7};
  const Shape shape{3, 7};
  auto x = noise(21, 1), dy = noise(21, 2);
  const Outcome clean = run(net, shape, x, dy, {.lengths = lengths});
  for (const std::size_t row : {5, 6, 7, 8, 9, 10, 11, 12, 13})
    for (std::size_t c = 0; c < 12; ++c) x[row * 12 + c] = kNan, dy[row * 12 + c] = kNan;
  const Outcome dirty = run(net, shape, x, dy, {.lengths = lengths});
  EXPECT_EQ(dirty.y, clean.y);
  EXPECT_EQ(dirty.dx, clean.dx);
  EXPECT_EQ(dirty.gradients, clean.gradients);
  for (const std::size_t row : {5, 6, 7, 13})
    for (std::size_t c = 0; c < 12; ++c) {
      EXPECT_EQ(bits(dirty.y[row * 12 + c]), 0u);
      EXPECT_EQ(dirty.dx[row * 12 + c], 0.0f);
    }
}
TYPED_TEST(Padding, ASequenceIsAsLongAsItsLength) {
  NORMA_NEEDS_OWN_PRODUCT(float);
  const Encoder<Block<TypeParam>> net({.width = 12, .heads = 3, .hidden = 10}, 2);
  const std::vector<Index> lengths{5, 7};
  const auto x = noise(14, 1), dy = noise(14, 2);
  const Outcome padded = run(net, {2, 7}, x, dy, {.lengths = lengths});
  const auto first = [](const std::vector<float>& v) { return std::vector<float>(v.begin(), v.begin() + 5 * 12); };
  const Outcome alone = run(net, {1, 5}, first(x), first(dy), {});
  EXPECT_EQ(first(padded.y), alone.y);
  EXPECT_EQ(first(padded.dx), alone.dx);
}

// Query 2 may see nothing: attention adds zero to it, and nothing comes back through it.
TEST(Masks, AQueryThatSeesNothing) {
  const Standalone net(Attention<float>({.width = 12, .heads = 3, .attention_bias = false}), 12);
  bool keep[3 * 3];
  for (int i = 0; i < 9; ++i) keep[i] = i / 3 != 2;
  const auto x = noise(3, 1);
  auto dy = noise(3, 2);
  const Outcome seen = run(net, {1, 3}, x, dy, {.keep = {keep, 1, 1, 3, 3}});
  for (std::size_t c = 24; c < 36; ++c) EXPECT_EQ(seen.y[c], 0.0f);
  for (std::size_t c = 24; c < 36; ++c) dy[c] = 1e6f;
  const Outcome loud = run(net, {1, 3}, x, dy, {.keep = {keep, 1, 1, 3, 3}});
  EXPECT_EQ(loud.dx, seen.dx);
  EXPECT_EQ(loud.gradients, seen.gradients);
  for (const float g : seen.gradients) EXPECT_TRUE(std::isfinite(g));
}
// Memory's padding is not read, be it NaN.
TEST(Masks, NanInTheMemorysPadding) {
  const DecoderBlock<PostLN> net({.width = 12, .heads = 3, .hidden = 10});
  const std::vector<Index> lengths{2, 0};
  auto memory = noise(6, 5);
  const Call call{.memory = TensorView<float>{{2, 3}, {memory.data(), 6, 12}}, .memory_lengths = lengths};
  const Shape shape{2, 4, 3};
  const Outcome clean = run(net, shape, noise(8, 1), noise(8, 2), call);
  for (std::size_t i = 24; i < 72; ++i) memory[i] = kNan;
  const Outcome dirty = run(net, shape, noise(8, 1), noise(8, 2), call);
  EXPECT_EQ(dirty.y, clean.y);
  EXPECT_EQ(dirty.gradients, clean.gradients);
}
// Case I08: training without dropout, evaluation and inference are one computation, also where no sequence has a last
// token; the output is as long as the input.
TEST(Masks, EveryModeIsTheSameComputation) {
  const Encoder<Block<PreLN>> net({.width = 12, .heads = 3, .hidden = 10}, 2);
  const auto weights = moved(net);
  const Shape shape{2, 7};
  const std::vector<Index> lengths{6, 4};
  bool keep[2 * 7 * 7];
  for (int i = 0; i < 98; ++i) keep[i] = i % 7 < (i < 49 ? 6 : 4);
  auto x = noise(14, 1);
  const auto forward = [&](Workspace workspace, const Call& call) {
    std::vector<float> y(x.size(), kNan);
    const auto view = [&](std::vector<float>& v) { return TensorView<float>{shape, {v.data(), 14, 12}}; };
    net.forward(weights, view(x), view(y), workspace, call);
    return y;
  };
  const Call by_length{.lengths = lengths}, by_mask{.keep = {keep, 2, 1, 7, 7}};
  const auto padded = forward(net.workspace(shape), by_length), masked = forward(net.workspace(shape), by_mask);
  for (Call call : {by_length, by_mask}) {
    const auto& right = call.lengths.empty() ? masked : padded;
    EXPECT_EQ(forward(net.inference_workspace(shape), call), right);
    call.training = true;
    EXPECT_EQ(forward(net.workspace(shape), call), right);
  }
  for (std::size_t i = 0; i < padded.size(); ++i) {
    const bool is_token = static_cast<Index>(i / 12 % 7) < lengths[i / 84];
    EXPECT_EQ(padded[i], is_token ? masked[i] : 0.0f) << i;  // to the mask a padded query is a query
    EXPECT_TRUE(std::isfinite(masked[i])) << i;
  }
}
TEST(Masks, AlignmentsDifferWhereQueriesAndKeysDo) {
  kernels::AttentionProblem<float> p{1, 2, 4, 1, 1, 1, 1, true};
  EXPECT_EQ(p.visible(0, 0).last, 3);
  EXPECT_EQ(p.visible(0, 1).last, 4);
  p.align = Align::top_left;
  EXPECT_EQ(p.visible(0, 0).last, 1);
  EXPECT_EQ(p.visible(0, 1).last, 2);
}

}  // namespace
