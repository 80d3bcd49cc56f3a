// SPDX-License-Identifier: MIT
// What calibrate refuses: a pass without rows to measure, and one whose measure is no number to go on with.
#include <norma/block/encoder_decoder.hpp>
#include <norma/block/model.hpp>
#include <norma/block/sequence_to_sequence.hpp>
#include <norma/residual/policy/admin.hpp>

#include <limits>

#include <surface_helpers.hpp>

namespace {

using namespace surface;
using norma::Admin;
using norma::Block;

constexpr Index kWidth = 4;
constexpr norma::Dimensions kDims{.width = kWidth, .heads = 2, .hidden = 4};
const std::vector<Index> kNone{0, 0}, kSome{0, 1};
const std::string kNoNumber = "calibrate: what a site measured is not a finite number above 0";

struct Calibrate : testing::Test {
  const norma::Encoder<Block<Admin>> net_{kDims, 2};
  norma::Parameters<float> weights_ = some_weights(net_);
  norma::Workspace workspace_ = net_.workspace({2, 3});
  std::vector<float> x_ = numbers(24, "x"), y_ = x_;

  std::string error(Shape shape, const norma::Call& call = {}) {
    return error_of(
        [&] { net_.calibrate(weights_, view(x_, shape, kWidth), view(y_, shape, kWidth), workspace_, call); });
  }
};

TEST_F(Calibrate, NeedsARow) {
  const auto before = weights_;
  EXPECT_EQ(error({0, 3}), "calibrate: no row of x counts, so there is nothing to measure");
  EXPECT_EQ(error({2, 0}), "calibrate: no row of x counts, so there is nothing to measure");
  EXPECT_EQ(error({2, 3}, {.lengths = kNone}), "calibrate: no row of x counts, so there is nothing to measure");
  EXPECT_TRUE(same_bits(weights_, before));
  EXPECT_EQ(error({2, 3}, {.lengths = kSome}), "");
}
TEST_F(Calibrate, NeedsNumbersThatVary) {
  const auto before = weights_;
  x_[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error({2, 3}), kNoNumber);
  EXPECT_TRUE(same_bits(weights_, before));
  x_[5] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(error({2, 3}), kNoNumber);
  EXPECT_TRUE(same_bits(weights_, before));
  for (Index i = 0; i < weights_.size(); ++i) weights_.data()[i] = 0;
  x_.assign(24, 1);
  EXPECT_EQ(error({2, 3}), kNoNumber);
}
const std::string kNoTape = "backward: the last pass in this workspace was calibrate, which leaves no tape";
TEST_F(Calibrate, LeavesNoTape) {
  auto gradients = net_.gradients();
  std::vector<float> dx(24);
  const norma::TensorView<float> x = view(x_, {2, 3}, kWidth), y = view(y_, {2, 3}, kWidth),
                                 d_in = view(dx, {2, 3}, kWidth);
  const auto backward = [&] { return error_of([&] { net_.backward(weights_, x, y, d_in, gradients, workspace_); }); };
  net_.forward(weights_, x, y, workspace_);
  EXPECT_EQ(error({2, 3}), "");
  EXPECT_EQ(backward(), kNoTape);
  net_.forward(weights_, x, y, workspace_);
  EXPECT_EQ(backward(), "");
}
TEST(CalibrateNetworks, LeaveNoTape) {
  const norma::LanguageModel<Block<Admin>> model(kDims, 1, {.size = 5});
  auto weights = model.initialize(norma::Rng(1)), gradients = model.gradients();
  auto workspace = model.workspace({2, 3});
  const std::vector<std::int32_t> ids{0, 1, 2, 3, 4, 0};
  model.calibrate(weights, {ids.data(), {2, 3}}, workspace);
  EXPECT_EQ(error_of([&] { model.backward(weights, gradients, workspace); }), kNoTape);

  const norma::EncoderDecoder<Block<Admin>, norma::DecoderBlock<Admin>> both(kDims, 1, 1);
  auto two = both.initialize(norma::Rng(1)), d_two = both.gradients();
  auto space = both.workspace({2, 3, 3});
  const auto x = numbers(24, "x");
  std::vector<float> y(24), d_source(24), d_target(24);
  const auto from = view(x, {2, 3}, kWidth);
  const auto at_y = view(y, {2, 3}, kWidth);
  both.calibrate(two, from, from, at_y, space);
  EXPECT_EQ(error_of([&] {
              both.backward(two, from, from, at_y, view(d_source, {2, 3}, kWidth), view(d_target, {2, 3}, kWidth),
                            d_two, space);
            }),
            kNoTape);
}
TEST(CalibrateNetworks, NeedARow) {
  const norma::LanguageModel<Block<Admin>> model(kDims, 1, {.size = 5});
  auto weights = model.initialize(norma::Rng(1));
  auto workspace = model.workspace({2, 3});
  const std::vector<std::int32_t> ids(6, 1);
  const auto x = numbers(24, "x");
  const norma::Call none{.lengths = kNone};
  EXPECT_EQ(error_of([&] {
              model.calibrate(weights, {ids.data(), {2, 3}}, workspace, none);
            }),
            "calibrate: no row of tokens counts, so there is nothing to measure");
  EXPECT_EQ(error_of([&] {
              model.calibrate_embedded(weights, view(x, {2, 3}, kWidth), workspace, none);
            }),
            "calibrate: no row of x counts, so there is nothing to measure");

  const norma::EncoderDecoder<Block<Admin>, norma::DecoderBlock<Admin>> both(kDims, 1, 1);
  auto two = both.initialize(norma::Rng(1));
  auto space = both.workspace({2, 3, 3});
  std::vector<float> y = x;
  const auto calibrate = [&](const norma::Call& call) {
    const auto from = view(x, {2, 3}, kWidth);
    return error_of([&] { both.calibrate(two, from, from, view(y, {2, 3}, kWidth), space, call); });
  };
  EXPECT_EQ(calibrate(none), "calibrate: no row of target counts, so there is nothing to measure");
  EXPECT_EQ(calibrate({.memory_lengths = kNone}), "calibrate: no row of source counts, so there is nothing to measure");
  EXPECT_EQ(calibrate({}), "");
}

/// Through the ends of both sides: what is measured is what the stacks measure on the embedded streams.
TEST(CalibrateNetworks, SequenceToSequenceMeasuresWhatItsStacksDo) {
  const norma::SequenceToSequence<Block<Admin>, norma::DecoderBlock<Admin>> net(kDims, 1, 1, {.size = 5});
  const norma::EncoderDecoder<Block<Admin>, norma::DecoderBlock<Admin>> stacks(kDims, 1, 1);
  auto weights = some_weights(net), inner = stacks.gradients();
  inner.for_each_parameter([&](const norma::ParameterInfo& info, auto map) { map = weights[info.name]; });
  const std::vector<std::int32_t> source{0, 1, 2, 3, 4, 0}, target{4, 4, 1, 3, 0, 2};
  const auto embedded = [&](const std::vector<std::int32_t>& ids) {
    std::vector<float> x;
    for (const std::int32_t id : ids)
      for (Index i = 0; i < kWidth; ++i) x.push_back(weights["embedding.weight"](id, i));
    return x;
  };
  const auto from = embedded(source), to = embedded(target);
  std::vector<float> y(to.size());
  auto a = net.workspace({2, 3, 3}), b = stacks.workspace({2, 3, 3});
  const auto before = inner;
  net.calibrate(weights, {source.data(), {2, 3}}, {target.data(), {2, 3}}, a, {.memory_lengths = kSome});
  stacks.calibrate(inner, view(from, {2, 3}, kWidth), view(to, {2, 3}, kWidth), view(y, {2, 3}, kWidth), b,
                   {.memory_lengths = kSome});
  EXPECT_FALSE(same_bits(inner, before));
  inner.for_each_parameter(
      [&](const norma::ParameterInfo& info, auto map) { EXPECT_TRUE(map == weights[info.name]) << info.name; });
  auto gradients = net.gradients();
  EXPECT_EQ(error_of([&] { net.backward(weights, gradients, a); }), kNoTape);
  EXPECT_EQ(error_of([&] {
              net.calibrate(weights, {source.data(), {2, 3}}, {target.data(), {2, 3}}, a, {.memory_lengths = kNone});
            }),
            "calibrate: no row of source counts, so there is nothing to measure");
}

}  // namespace
