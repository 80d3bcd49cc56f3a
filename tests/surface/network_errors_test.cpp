// SPDX-License-Identifier: MIT
// Bad calls of the networks with inputs of their own, EncoderDecoder and LanguageModel: the message names what is
// wrong, what was wanted and given, and nothing is written.
#include <functional>

#include <surface_helpers.hpp>

namespace {

using namespace surface;
using norma::Block;
using norma::Call;
using norma::TensorView;

constexpr Index kWidth = 8;
constexpr norma::Dimensions kDims{.width = kWidth, .heads = 2, .hidden = 8};
constexpr Shape kSource{2, 4}, kTarget{2, 3};

class EncoderDecoderErrors : public testing::Test {
 protected:
  const norma::EncoderDecoder<Block<norma::PreLN>, norma::DecoderBlock<norma::PreLN>> net_{kDims, 1, 1};
  const norma::Parameters<float> weights_ = some_weights(net_);
  norma::Parameters<float> gradients_ = net_.gradients();
  norma::Workspace workspace_ = net_.workspace({2, 3, 4});
  std::vector<float> source_ = numbers(64, "source"), target_ = numbers(48, "target"), dy_ = numbers(48, "dy"),
                     y_ = std::vector<float>(48, 99), d_source_ = std::vector<float>(64, 99), d_target_ = y_;

  static TensorView<float> at(std::vector<float>& v, Shape s, Index width = kWidth) { return view(v, s, width); }
  TensorView<float> source() { return at(source_, kSource); }
  TensorView<float> target() { return at(target_, kTarget); }
  TensorView<float> y() { return at(y_, kTarget); }

  std::string forward(TensorView<float> source, TensorView<float> target, TensorView<float> y, const Call& call = {},
                      const Call& source_call = {}) {
    const auto before = y_;
    const auto message = error_of([&] { net_.forward(weights_, source, target, y, workspace_, call, source_call); });
    EXPECT_TRUE(message.empty() || same_bits(y_, before)) << "written before the error";
    return message;
  }
  struct Given {
    TensorView<float> source, target, dy, d_source, d_target;
  };
  /// backward's usual tensors, and what `change` does to them.
  template <class F>
  std::string backward(F&& change) {
    Given g{source(), target(), at(dy_, kTarget), at(d_source_, kSource), at(d_target_, kTarget)};
    change(g);
    return error_of(
        [&] { net_.backward(weights_, g.source, g.target, g.dy, g.d_source, g.d_target, gradients_, workspace_); });
  }
};

TEST_F(EncoderDecoderErrors, Forward) {
  const std::vector<Index> beyond{5, 1};
  const bool keep[9] = {};
  EXPECT_EQ(forward(at(source_, {1, 4}), target(), y()), "source has shape [1, 4, 8], wanted [2, 4, 8]");
  EXPECT_EQ(forward(source(), at(target_, kTarget, 4), y()), "target has shape [2, 3, 4], wanted [2, 3, 8]");
  EXPECT_EQ(forward(source(), target(), at(y_, {2, 2})), "y has shape [2, 2, 8], wanted [2, 3, 8]");
  EXPECT_EQ(forward({kSource, {nullptr, 8, 8}}, target(), y()), "source has no memory (null)");
  EXPECT_EQ(forward(source(), target(), target()), "y overlaps source or target");
  EXPECT_EQ(forward(source(), target(), at(source_, kTarget)), "y overlaps source or target");
  EXPECT_EQ(forward(source(), target(), y(), {.memory = source()}),
            "memory is the encoder's output here; leave it out of the call");
  EXPECT_EQ(forward(source(), target(), y(), {}, {.lengths = beyond}),
            "the source's lengths are the call's memory_lengths");
  EXPECT_EQ(forward(source(), target(), y(), {.memory_lengths = beyond}), "memory_lengths[0] is 5, wanted 0 to 4");
  EXPECT_EQ(forward(source(), target(), y(), {}, {.keep = {keep, 1, 1, 3, 3}}),
            "keep has shape [1, 1, 3, 3], wanted [2, 2, 4, 4], or 1 for the first or second");
  auto small = net_.workspace({2, 3, 3});
  EXPECT_NE(error_of([&] {
              net_.forward(weights_, source(), target(), y(), small);
            }).find("for batch 2 and tokens 3 and memory_tokens 4"),
            std::string::npos);
  EXPECT_EQ(forward(source(), target(), y()), "");
}

TEST_F(EncoderDecoderErrors, Backward) {
  EXPECT_EQ(backward([](Given&) {}), "backward without a forward before it: nothing is in this workspace");
  ASSERT_EQ(forward(source(), target(), y()), "");
  auto copy = source_, target_copy = target_;
  const std::pair<const char*, std::function<void(Given&)>> table[] = {
      {"dy has shape [2, 2, 8], wanted [2, 3, 8]",
       [&](Given& g) {
         g.dy = at(dy_, {2, 2});
       }},
      {"d_source has shape [2, 3, 8], wanted [2, 4, 8]", [&](Given& g) { g.d_source = at(d_source_, kTarget); }},
      {"d_target has shape [2, 3, 4], wanted [2, 3, 8]", [&](Given& g) { g.d_target = at(d_target_, kTarget, 4); }},
      {"source is not the tensor that forward was given", [&](Given& g) { g.source = at(copy, kSource); }},
      {"target is not the tensor that forward was given", [&](Given& g) { g.target = at(target_copy, kTarget); }},
      {"d_source overlaps source or target", [&](Given& g) { g.d_source = source(); }},
      {"d_target overlaps source or target", [&](Given& g) { g.d_target = target(); }},
      {"d_source overlaps d_target or dy", [&](Given& g) { g.d_target = at(d_source_, kTarget); }},
      {"d_target overlaps dy in part", [&](Given& g) {
         g.dy = {kTarget, {d_target_.data(), 6, 8, 4}};
       }}};
  for (const auto& [message, change] : table) {
    EXPECT_EQ(backward(change), message);
    EXPECT_TRUE(same_bits(d_source_, std::vector<float>(64, 99)) && same_bits(d_target_, std::vector<float>(48, 99)));
  }
  EXPECT_EQ(backward([](Given&) {}), "");
}

TEST(EncoderDecoderConstruction, NamesWhatIsWrong) {
  const auto make = [](int encoder, int decoder) {
    return error_of([&] {
      norma::EncoderDecoder<Block<norma::PreLN>, norma::DecoderBlock<norma::PreLN>>(kDims, encoder, decoder);
    });
  };
  EXPECT_EQ(make(0, 1), "encoder.layers is 0, wanted at least 1");
  EXPECT_EQ(make(1, 0), "decoder.layers is 0, wanted at least 1");
}

TEST(LanguageModelErrors, NameWhatIsWrong) {
  using Ids = std::vector<std::int32_t>;
  const norma::LanguageModel<Block<norma::PreLN>> net(kDims, 1, {.size = 5});
  const auto weights = some_weights(net);
  auto workspace = net.workspace({2, 3});
  const Ids good{0, 1, 2, 3, 4, 0}, high{0, 1, 5, 3, 4, 0}, low{0, -1, 2, 3, 4, 0}, none{0, -2, 2, 3, 4, 0};
  const auto forward = [&](norma::Tokens tokens, norma::Tokens targets) {
    return error_of([&] { net.forward(weights, tokens, targets, workspace); });
  };
  EXPECT_EQ(forward({nullptr, {2, 3}}, {good.data(), {2, 3}}), "tokens has no memory (null)");
  EXPECT_EQ(forward({good.data(), {2, 3}}, {nullptr, {2, 3}}), "targets has no memory (null)");
  EXPECT_EQ(forward({high.data(), {2, 3}}, {good.data(), {2, 3}}), "tokens[2] is 5, wanted 0 to 4");
  EXPECT_EQ(forward({low.data(), {2, 3}}, {good.data(), {2, 3}}), "tokens[1] is -1, wanted 0 to 4");
  EXPECT_EQ(forward({good.data(), {2, 3}}, {high.data(), {2, 3}}),
            "targets[2] is 5, wanted 0 to 4, or -1 to count nothing");
  EXPECT_EQ(forward({good.data(), {2, 3}}, {none.data(), {2, 3}}),
            "targets[1] is -2, wanted 0 to 4, or -1 to count nothing");
  EXPECT_EQ(forward({good.data(), {2, 3}}, {good.data(), {2, 2}}), "targets has shape [2, 2], wanted [2, 3]");
  auto gradients = net.gradients();
  const auto backward = [&] { return error_of([&] { net.backward(weights, gradients, workspace); }); };
  const std::string nothing = "backward without a forward before it: nothing is in this workspace";
  EXPECT_EQ(backward(), nothing);
  EXPECT_EQ(forward({good.data(), {2, 3}}, {low.data(), {2, 3}}), "");
  EXPECT_EQ(backward(), "");
  EXPECT_EQ(backward(), "backward: the last forward in this workspace is spent; a backward used it up");
  EXPECT_EQ(error_of([&] { norma::LanguageModel<Block<norma::PreLN>>(kDims, 1, {.size = 0}); }),
            "vocabulary is 0, wanted at least 1");
  EXPECT_EQ(error_of([] { norma::LanguageModel<Block<norma::PreLN>>({.heads = 4}, 2); }),
            "width is 0, wanted at least 1");
}

}  // namespace
