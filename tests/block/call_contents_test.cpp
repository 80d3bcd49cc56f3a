// SPDX-License-Identifier: MIT
// What a call brings: an emptied vector is no vector, a mask without memory is no mask, and what nobody reads is an
// error.
#include <surface_helpers.hpp>

namespace {

using namespace surface;
using norma::Block;
using norma::Call;
using norma::DecoderBlock;

constexpr Shape kShape{2, 3};

template <class Net>
class Caller {
 public:
  explicit Caller(const Net& net) : net_(net), weights_(some_weights(net)), workspace_(net.workspace({2, 3, 4})) {}
  std::string error(const Call& call) {
    return error_of([&] { net_.forward(weights_, view(x_, kShape, 8), view(y, kShape, 8), workspace_, call); });
  }
  std::vector<float> y = std::vector<float>(48);

 private:
  const Net& net_;
  norma::Parameters<float> weights_;
  norma::Workspace workspace_;
  std::vector<float> x_ = numbers(48, "x");
};

TEST(CallContents, AnEmptiedVectorIsNotGiven) {
  const Block<norma::PreLN> net({.width = 8, .heads = 2, .rotary = {.width = 4}});
  const DecoderBlock<norma::PreLN> reader({.width = 8, .heads = 2});
  std::vector<Index> emptied(100, 0);
  emptied.clear();
  ASSERT_NE(emptied.data(), nullptr);
  Caller plain(net), with(net);
  Caller reads(reader), reads_with(reader);
  EXPECT_EQ(plain.error({}), "");
  EXPECT_EQ(with.error({.lengths = emptied, .positions = emptied}), "");
  EXPECT_TRUE(same_bits(plain.y, with.y));
  auto m = numbers(64, "m");
  EXPECT_EQ(reads.error({.memory = view(m, {2, 4}, 8)}), "");
  EXPECT_EQ(reads_with.error({.memory = view(m, {2, 4}, 8), .memory_lengths = emptied}), "");
  EXPECT_TRUE(same_bits(reads.y, reads_with.y));
}

TEST(CallContents, AMaskWithoutMemoryIsAnError) {
  const Block<norma::PreLN> net({.width = 8, .heads = 2});
  const DecoderBlock<norma::PreLN> reader({.width = 8, .heads = 2});
  Caller plain(net);
  EXPECT_EQ(plain.error({.keep = {nullptr, 1, 1, 3, 3}}), "keep has no memory (null)");
  EXPECT_EQ(plain.error({.bias = norma::AttentionMap<float>{nullptr, 2, 1, 3, 3}}), "bias has no memory (null)");
  EXPECT_EQ(plain.error({.bias = norma::AttentionMap<double>{nullptr, 1, 1, 3, 3}}),
            "bias is of another scalar type than the network");
  Caller reads(reader);
  auto m = numbers(64, "m");
  EXPECT_EQ(reads.error({.memory = view(m, {2, 4}, 8), .memory_keep = {nullptr, 1, 1, 3, 4}}),
            "memory_keep has no memory (null)");
  EXPECT_EQ(reads.error({.memory = view(m, {2, 0}, 8), .memory_keep = {nullptr, 1, 1, 3, 0}}), "");
}

TEST(CallContents, WhatNobodyReadsIsAnError) {
  const Block<norma::PreLN> net({.width = 8, .heads = 2});
  Caller plain(net);
  auto m = numbers(64, "m");
  const std::vector<Index> lengths{2, 2}, positions{4, 5, 6};
  const bool keep[12] = {};
  const float bias[12] = {};
  EXPECT_EQ(plain.error({.memory = view(m, {2, 4}, 8)}), "memory is given, but this network has no cross-attention");
  EXPECT_EQ(plain.error({.memory_lengths = lengths}),
            "memory_lengths is given, but this network has no cross-attention");
  EXPECT_EQ(plain.error({.memory_keep = {keep, 1, 1, 3, 4}}),
            "memory_keep is given, but this network has no cross-attention");
  EXPECT_EQ(plain.error({.memory_bias = norma::AttentionMap<float>{bias, 1, 1, 3, 4}}),
            "memory_bias is given, but this network has no cross-attention");
  EXPECT_EQ(plain.error({.positions = positions}),
            "positions is given, but this network has no rotary positions (Dimensions::rotary)");
}

TEST(CallContents, ABiasIsGivenAsAMaskIs) {
  const Block<norma::PreLN> net({.width = 8, .heads = 2});
  const auto bias = numbers(18, "bias");
  Caller by_map(net), by_sizes(net);
  EXPECT_EQ(by_map.error({.bias = norma::AttentionMap<float>{bias.data(), 1, 2, 3, 3}}), "");
  EXPECT_EQ(by_sizes.error({.bias = {bias.data(), 1, 2, 3, 3}}), "");
  EXPECT_TRUE(same_bits(by_map.y, by_sizes.y));
}

TEST(CallContents, AWorkspaceToBeAssigned) {
  const Block<norma::PreLN> net({.width = 8, .heads = 2});
  const auto weights = some_weights(net);
  const auto x = numbers(48, "x");
  std::vector<float> y(48);
  norma::Workspace workspace;
  const auto forward = [&] { net.forward(weights, view(x, kShape, 8), view(y, kShape, 8), workspace); };
  EXPECT_EQ(error_of(forward).substr(0, 30), "workspace holds 0 bytes, wante");
  workspace = net.workspace(kShape);
  EXPECT_EQ(error_of(forward), "");
}

TEST(CallContents, ConstantsOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto made = [](const norma::Dimensions& dims) { return error_of([&] { Block<norma::PreLN>{dims}; }); };
  for (double base : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()})
    EXPECT_EQ(made({.width = 8, .heads = 2, .rotary = {.width = 4, .base = base}}),
              "attention: rotary base is " + std::to_string(base) + ", wanted a positive number");
  EXPECT_EQ(made({.width = 8, .heads = 2, .score_scale = nan}), "attention: score_scale is nan");
  const Block<norma::PreLN> net({.width = 8, .heads = 2});
  EXPECT_EQ(error_of([&] { net.workspace(kShape, {.workers = 4}); }), "workspace: an executor of 4 workers has no run");
}

// The encoder drops, too, and what it may be told on its own is its masks.
TEST(CallContents, TheEncoderTrainsWithTheDecoder) {
  const Shape shape{2, 3}, source_shape{2, 4};
  const norma::EncoderDecoder<Block<norma::PreLN>, DecoderBlock<norma::PreLN>> net(
      {.width = 8, .heads = 2, .dropout = {.hidden = 1}}, 1, 1);
  const auto weights = some_weights(net);
  auto workspace = net.workspace({2, 3, 4});
  const auto source = numbers(64, "source"), target = numbers(48, "target");
  const auto down = [&](const Call& call, const Call& source_call = {}) {
    std::vector<float> y(48), d_source(64), d_target(48);
    auto gradients = net.gradients();
    net.forward(weights, view(source, source_shape, 8), view(target, shape, 8), view(y, shape, 8), workspace, call,
                source_call);
    net.backward(weights, view(source, source_shape, 8), view(target, shape, 8), view(target, shape, 8),
                 view(d_source, source_shape, 8), view(d_target, shape, 8), gradients, workspace);
    return gradients["encoder.layers.0.feed_forward.down.weight"].norm();
  };
  EXPECT_GT(down({}), 0);
  EXPECT_EQ(down({.training = true, .seed = 1}), 0);  // of a hidden layer that is dropped whole
  for (const Call& wrong : {Call{.training = true}, Call{.seed = 1}, Call{.step = 1}})
    EXPECT_EQ(error_of([&] { down({}, wrong); }),
              "training, seed and step are the call's, for both stacks; leave them out of the source's");
  const std::vector<Index> lengths{1, 1};
  EXPECT_EQ(error_of([&] { down({}, {.memory_lengths = lengths}); }),
            "memory_lengths is given, but the encoder has no cross-attention");
}

// The memory is read until the end of backward, and dx is written before.
TEST(CallContents, BackwardsOutputsLieApartFromTheMemory) {
  const DecoderBlock<norma::PreLN> net({.width = 8, .heads = 2});
  const auto weights = some_weights(net);
  auto gradients = net.gradients();
  auto workspace = net.workspace({2, 3, 4});
  const auto x = numbers(48, "x"), dy = numbers(48, "dy");
  std::vector<float> y(48), dx(48), m = numbers(64, "m");
  net.forward(weights, view(x, kShape, 8), view(y, kShape, 8), workspace, {.memory = view(m, {2, 4}, 8)});
  const auto backward = [&](std::vector<float>& d_in, auto&... d_memory) {
    return error_of([&] {
      net.backward(weights, view(x, kShape, 8), view(dy, kShape, 8), view(d_in, kShape, 8), gradients, workspace,
                   view(d_memory, {2, 4}, 8)...);
    });
  };
  std::vector<float> both(64), apart(64);
  EXPECT_EQ(backward(m), "dx overlaps the memory");
  EXPECT_EQ(backward(m, apart), "dx overlaps the memory");
  EXPECT_EQ(backward(both, both), "d_memory overlaps dx");
  EXPECT_TRUE(same_bits(both, std::vector<float>(64)) && same_bits(m, numbers(64, "m")));
  EXPECT_EQ(backward(dx, apart), "");
}

}  // namespace
