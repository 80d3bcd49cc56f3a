// SPDX-License-Identifier: MIT
// With everything that a call and a block's options can ask for, no pass allocates on any thread, be it the first at a
// shape. Placements, without options: tests/support/placement_runs.hpp.
#define NORMA_DEFINE_ALLOCATION_COUNTER
#include <norma/testing/allocation_counter.hpp>

#include <cstdlib>
#include <memory>

#include <surface_helpers.hpp>

#include "../../examples/pool.hpp"
#include "own_product.hpp"

namespace {

using namespace surface;
using norma::Block;
using norma::Call;
using norma::DecoderBlock;

constexpr Index kWidth = 12, kHeads = 4;
// All fit what the first plans.
constexpr Shape kLargest{2, 70, 33}, kShapes[] = {{2, 70, 33}, {1, 3, 5}, {2, 17, 1}, {1, 70, 33}};
const norma::Dimensions kDims{.width = kWidth,
                              .heads = kHeads,
                              .hidden = 21,
                              .kv_heads = 2,
                              .head_dim = 6,
                              .rotary = {.width = 4},
                              .window = {.size = 20, .global_every = 2},
                              .score_cap = 3,
                              .alibi = true,
                              .relative_bias = {.buckets = 8},
                              .dropout = {.branch = 0.1, .attention = 0.2, .hidden = 0.1, .path = 0.3}};

/// Calls with every mask, rotary positions and dropout, and tensors for them, at any of the shapes.
class Allocations : public testing::Test {
 protected:
  std::vector<Index> lengths_{2, 3}, memory_lengths_{1, 0}, positions_ = std::vector<Index>(2 * 70, 4);
  std::unique_ptr<bool[]> keep_ = std::make_unique<bool[]>(2 * 70 * 70);
  std::vector<float> bias_ = std::vector<float>(kHeads * 70 * 70, 0.5f);
  std::vector<float> x_ = numbers(2 * 70 * kWidth, "x"), m_ = numbers(2 * 33 * kWidth, "m"), y_ = x_, dy_ = x_,
                     dx_ = x_, dm_ = m_;

  void SetUp() override {
    NORMA_NEEDS_OWN_PRODUCT(float);
    if (!norma::testing::kCountsAllocations) GTEST_SKIP() << "a sanitizer or another C library owns malloc";
    std::fill_n(keep_.get(), 2 * 70 * 70, true);
  }
  static norma::TensorView<float> at(std::vector<float>& v, Shape s) {
    return {{s.batch, s.tokens}, {v.data(), s.rows(), kWidth}};
  }
  static Shape memory(Shape s) { return {s.batch, s.memory_tokens}; }
  template <class T>
  static std::span<const T> first(const std::vector<T>& v, Index count) {
    return {v.data(), static_cast<std::size_t>(count)};
  }
  Call self(Shape s) {
    return {.causal = true,
            .prefix = first(lengths_, s.batch),
            .lengths = first(lengths_, s.batch),
            .keep = {keep_.get(), s.batch, 1, s.tokens, s.tokens},
            .bias = norma::AttentionMap<float>{bias_.data(), 1, kHeads, s.tokens, s.tokens},
            .positions = first(positions_, s.rows()),
            .training = true,
            .seed = 3};
  }
  Call cross(Shape s, bool with_memory) {
    Call call = self(s);
    if (with_memory) call.memory = at(m_, memory(s));
    call.memory_lengths = first(memory_lengths_, s.batch);
    call.memory_keep = {keep_.get(), s.batch, 1, s.tokens, s.memory_tokens};
    call.memory_bias = norma::AttentionMap<float>{bias_.data(), 1, kHeads, s.tokens, s.memory_tokens};
    return call;
  }

  /// forward(shape, workspace) and backward(shape, workspace) at every shape in turn, twice.
  template <class Net, class Forward, class Backward>
  static void expect_none(const Net& net, const Forward& forward, const Backward& backward) {
    Pool pool(3);
    for (const auto& executor : {norma::Executor{}, pool.executor()}) {
      auto workspace = net.workspace(kLargest, executor), inference = net.inference_workspace(kLargest, executor);
      const norma::testing::AllocationCounter counter;
      for (int round = 0; round < 2; ++round)
        for (const Shape s : kShapes) {
          forward(s, workspace);
          backward(s, workspace);
          forward(s, inference);
          EXPECT_EQ(counter.count(), 0) << executor.workers << " workers, " << s.batch << " x " << s.tokens;
        }
      void* volatile p = std::malloc(64);
      std::free(p);
      EXPECT_GT(counter.count(), 0) << "the counter does not count";
    }
  }
};

TEST_F(Allocations, Encoder) {
  const norma::Encoder<Block<norma::PreLN, float, norma::RMSNorm, norma::Attention, norma::SwiGLU>> net(kDims, 2);
  const auto weights = some_weights(net);
  auto gradients = net.gradients();
  expect_none(
      net, [&](Shape s, auto& w) { net.forward(weights, at(x_, s), at(y_, s), w, self(s)); },
      [&](Shape s, auto& w) { net.backward(weights, at(x_, s), at(dy_, s), at(dx_, s), gradients, w); });
}

TEST_F(Allocations, DecoderBlock) {
  const DecoderBlock<norma::DeepNorm> net(kDims);
  const auto weights = some_weights(net);
  auto gradients = net.gradients();
  expect_none(
      net, [&](Shape s, auto& w) { net.forward(weights, at(x_, s), at(y_, s), w, cross(s, true)); },
      [&](Shape s, auto& w) {
        net.backward(weights, at(x_, s), at(dy_, s), at(dx_, s), gradients, w, at(dm_, memory(s)));
      });
}

TEST_F(Allocations, EncoderDecoder) {
  const norma::EncoderDecoder<Block<norma::PostLN>, DecoderBlock<norma::PostLN>> net(kDims, 2, 2);
  const auto weights = some_weights(net);
  auto gradients = net.gradients();
  expect_none(
      net,
      [&](Shape s, auto& w) {
        Call source = self(memory(s));
        source.lengths = source.prefix = {};
        source.training = false;  // the call's counts for both sides
        source.seed = 0;
        net.forward(weights, at(m_, memory(s)), at(x_, s), at(y_, s), w, cross(s, false), source);
      },
      [&](Shape s, auto& w) {
        net.backward(weights, at(m_, memory(s)), at(x_, s), at(dy_, s), at(dm_, memory(s)), at(dx_, s), gradients, w);
      });
}

TEST_F(Allocations, LanguageModel) {
  const norma::LanguageModel<Block<norma::PreLN>> net(kDims, 2, {.size = 11});
  const auto weights = some_weights(net);
  auto gradients = net.gradients();
  const std::vector<std::int32_t> ids(140, 7);
  expect_none(
      net,
      [&](Shape s, auto& w) {
        net.forward(weights, {ids.data(), s}, {ids.data(), s}, w, self(s));
      },
      [&](Shape, auto& w) { net.backward(weights, gradients, w); });
}

}  // namespace
