// SPDX-License-Identifier: MIT
// Bad calls: each is an Error that names the tensor, what was wanted and what was given, and nothing is written before
// it.
#include <memory>
#include <surface_helpers.hpp>
#include <unsupported/Eigen/CXX11/Tensor>

namespace {

using namespace surface;
using norma::Block;
using norma::Standalone;
using Post = Block<norma::PostLN>;
using Parts = std::vector<std::string>;

constexpr Shape kShape{2, 5};
constexpr Index kWidth = 12;
constexpr std::size_t kSize = 2 * 5 * 12;

class Errors : public testing::Test {
 protected:
  const Post net_{{.width = kWidth, .heads = 3, .hidden = 21}};
  const Post other_{{.width = kWidth, .heads = 3, .hidden = 22}};
  const norma::Parameters<float> weights_ = some_weights(net_);
  norma::Parameters<float> gradients_ = net_.gradients();
  norma::Workspace workspace_ = net_.workspace(kShape);
  std::vector<float> x_ = numbers(kSize, "x"), dy_ = numbers(kSize, "dy");
  // Room behind the outputs, for views that begin in one of them and end elsewhere.
  std::vector<float> y_ = numbers(2 * kSize, "y"), dx_ = numbers(2 * kSize, "dx");

  auto x() const { return view(x_, kShape, kWidth); }
  auto dy() const { return view(dy_, kShape, kWidth); }
  auto y() { return view(y_, kShape, kWidth); }
  auto dx() { return view(dx_, kShape, kWidth); }
  static auto at(float* p, Shape s = kShape, Index width = kWidth) {
    return norma::TensorView<float>{s, {p, s.rows(), width}};
  }

  void forward() { net_.forward(weights_, x(), y(), workspace_); }

  /// f() throws an Error whose message has these parts; no output, input or parameter changes by a bit.
  template <class F>
  void refuses(const Parts& parts, F&& f) {
    for (float& g : gradients_.flat()) g = 3;
    const auto x = x_, dy = dy_, y = y_, dx = dx_;
    const auto weights = weights_, gradients = gradients_;
    const std::string message = error_of(f);
    EXPECT_NE(message, "") << "accepted, wanted an error that says " << parts[0];
    for (const auto& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << "says: " << message << "\nwanted: " << part;
    EXPECT_TRUE(same_bits(x, x_) && same_bits(dy, dy_) && same_bits(y, y_) && same_bits(dx, dx_)) << message;
    EXPECT_TRUE(same_bits(weights, weights_) && same_bits(gradients, gradients_)) << message;
  }
  template <class X, class Y>
  void forward_refuses(const Parts& parts, const X& x, Y&& y) {
    refuses(parts, [&] { net_.forward(weights_, x, y, workspace_); });
  }
  template <class X, class DY, class DX>
  void backward_refuses(const Parts& parts, const X& x, const DY& dy, DX&& dx) {
    refuses(parts, [&] { net_.backward(weights_, x, dy, dx, gradients_, workspace_); });
  }
  /// That this test's usual call works, before or after a refusal.
  void backward_works() {
    EXPECT_EQ(error_of([&] { net_.backward(weights_, x(), dy(), dx(), gradients_, workspace_); }), "");
  }
};

TEST_F(Errors, TheUsualCallsAreAccepted) {
  EXPECT_EQ(error_of([&] { forward(); }), "");
  backward_works();
}

TEST_F(Errors, ForwardShapes) {
  forward_refuses({"x has shape [2, 5, 6], wanted [2, 5, 12]"}, at(x_.data(), kShape, 6), y());
  forward_refuses({"y has shape [2, 5, 6], wanted [2, 5, 12]"}, x(), at(y_.data(), kShape, 6));
  forward_refuses({"y has shape [5, 2, 12], wanted [2, 5, 12]"}, x(), at(y_.data(), {5, 2}));
  forward_refuses({"y has shape [2, 4, 12], wanted [2, 5, 12]"}, x(), at(y_.data(), {2, 4}));
  forward_refuses({"y has shape [3, 5, 12], wanted [2, 5, 12]"}, x(), at(y_.data(), {3, 5}));
  RowMajor nine(9, 12);
  forward_refuses({"y has shape [1, 9, 12], wanted [2, 5, 12]"}, x(), nine);
  Eigen::Tensor<float, 3, Eigen::RowMajor> swapped(2, 12, 5);
  forward_refuses({"x has shape [2, 12, 5], wanted [2, 12, 12]"}, swapped, y());
  RowMajor empty;
  forward_refuses({"y has shape [1, 0, 0], wanted [2, 5, 12]"}, x(), empty);
}

TEST_F(Errors, BackwardShapes) {
  forward();
  backward_refuses({"x has shape [2, 4, 12], wanted [2, 5, 12]"}, at(x_.data(), {2, 4}), dy(), dx());
  backward_refuses({"dy has shape [2, 5, 11], wanted [2, 5, 12]"}, x(), at(dy_.data(), kShape, 11), dx());
  backward_refuses({"dy has shape [5, 2, 12], wanted [2, 5, 12]"}, x(), at(dy_.data(), {5, 2}), dx());
  backward_refuses({"dx has shape [2, 5, 13], wanted [2, 5, 12]"}, x(), dy(), at(dx_.data(), kShape, 13));
  backward_refuses({"dx has shape [2, 6, 12], wanted [2, 5, 12]"}, x(), dy(), at(dx_.data(), {2, 6}));
  backward_works();  // refusals leave the tape as it was
}

TEST_F(Errors, Null) {
  forward_refuses({"x has no memory (null)"}, at(nullptr), y());
  forward_refuses({"y has no memory (null)"}, x(), at(nullptr));
  Eigen::Map<RowMajor> map(nullptr, 10, kWidth);
  forward_refuses({"y has no memory (null)"}, x(), map);
  forward();
  backward_refuses({"x has no memory (null)"}, at(nullptr), dy(), dx());
  backward_refuses({"dy has no memory (null)"}, x(), at(nullptr), dx());
  backward_refuses({"dx has no memory (null)"}, x(), dy(), at(nullptr));
}

TEST_F(Errors, Overlap) {
  forward_refuses({"y overlaps x"}, x(), at(x_.data()));
  forward_refuses({"y overlaps x"}, at(y_.data()), at(y_.data() + kSize - 1));  // by one element, from either end
  forward_refuses({"y overlaps x"}, at(y_.data() + kSize - 1), at(y_.data()));
  EXPECT_EQ(error_of([&] { net_.forward(weights_, at(y_.data()), at(y_.data() + kSize), workspace_); }), "");
  RowMajor m(15, kWidth);
  forward_refuses({"y overlaps x"}, m.topRows(10), m.bottomRows(10));
  forward();
  backward_refuses({"dx overlaps x"}, x(), dy(), at(x_.data()));
  backward_refuses({"dx overlaps dy in part"}, x(), at(dx_.data()), at(dx_.data() + 1));
  backward_refuses({"dx overlaps dy in part"}, x(), at(dx_.data() + kSize - 1), at(dx_.data()));
  // The same start with another stride is not the same rows.
  const norma::TensorView<float> strided{kShape, {dx_.data(), 10, kWidth, kWidth + 1}};
  backward_refuses({"dx overlaps dy in part"}, x(), at(dx_.data()), strided);
  backward_works();
}

// Dense products cannot work in place (E07), whatever the module.
TEST_F(Errors, InPlaceForwardIsRefused) {
  const Standalone linear(norma::Linear<float>(kWidth, norma::Kind::up), kWidth);
  const auto weights = some_weights(linear);
  auto workspace = linear.workspace(kShape);
  refuses({"y overlaps x"}, [&] { linear.forward(weights, x(), at(x_.data()), workspace); });
  const Standalone attention(norma::Attention<float>({.width = kWidth, .heads = 3}, {}), kWidth);
  const auto more = some_weights(attention);
  auto another = attention.workspace(kShape);
  refuses({"y overlaps x"}, [&] { attention.forward(more, x(), at(x_.data()), another); });
}

TEST_F(Errors, StridedRowsMustNotMeet) {
  const norma::TensorView<float> folded{kShape, {y_.data(), 10, kWidth, kWidth - 1}};
  forward_refuses({"y has rows that overlap", "stride 11", "12"}, x(), folded);
}

TEST_F(Errors, WorkspaceTooSmall) {
  auto small = net_.workspace({1, 5});
  refuses({"workspace holds " + std::to_string(small.bytes()) + " bytes, wanted ", "batch 2", "tokens 5"},
          [&] { net_.forward(weights_, x(), y(), small); });
  auto inference = net_.inference_workspace({2, 4});
  refuses({"workspace holds " + std::to_string(inference.bytes()) + " bytes"},
          [&] { net_.forward(weights_, x(), y(), inference); });
  norma::Workspace none(norma::Mode::training, 0);
  refuses({"workspace holds 0 bytes"}, [&] { net_.forward(weights_, x(), y(), none); });
}

TEST_F(Errors, BackwardNeedsATape) {
  backward_refuses({"backward without a forward"}, x(), dy(), dx());
  auto inference = net_.inference_workspace(kShape);
  net_.forward(weights_, x(), y(), inference);
  refuses({"backward needs workspace(shape)", "inference_workspace"},
          [&] { net_.backward(weights_, x(), dy(), dx(), gradients_, inference); });
}

TEST_F(Errors, BackwardAfterAForwardThatFailed) {
  // Refused for its tensors: there never was a forward.
  error_of([&] { net_.forward(weights_, x(), at(y_.data(), {2, 4}), workspace_); });
  backward_refuses({"backward without a forward"}, x(), dy(), dx());
  // Refused for its size: what was there stays.
  forward();
  std::vector<float> long_x(2 * kSize), long_y(2 * kSize);
  EXPECT_NE(error_of([&] {
              net_.forward(weights_, view(long_x, {4, 5}, kWidth), view(long_y, {4, 5}, kWidth), workspace_);
            }),
            "");
  backward_works();
  std::vector<norma::Index> beyond{5, 6};
  EXPECT_NE(error_of([&] { net_.forward(weights_, x(), y(), workspace_, {.lengths = beyond}); }), "");
  const bool keep[1] = {};
  EXPECT_NE(error_of([&] { net_.forward(weights_, x(), y(), workspace_, {.keep = {keep, 1, 1, 1, 1}}); }), "");
  backward_works();
}

TEST_F(Errors, BackwardOfAnotherNetworksTape) {
  auto workspace = other_.workspace(kShape);
  const auto weights = some_weights(other_);
  other_.forward(weights, x(), y(), workspace);
  refuses({"backward", "another network"}, [&] { net_.backward(weights_, x(), dy(), dx(), gradients_, workspace); });
}

TEST_F(Errors, BackwardNeedsForwardsX) {
  forward();
  const std::vector<float> copy = x_;
  backward_refuses({"x is not the tensor that forward was given"}, view(copy, kShape, kWidth), dy(), dx());
  backward_works();
}

TEST_F(Errors, WeightsOfAnotherNetwork) {
  const auto strange = some_weights(other_);
  auto strange_gradients = other_.gradients();
  const norma::Parameters<float> empty;
  norma::Parameters<float> empty_gradients;
  const std::string wanted = "wanted " + std::to_string(net_.layout().count());
  refuses({"weights belongs to another network", std::to_string(other_.layout().count()) + " parameters", wanted},
          [&] { net_.forward(strange, x(), y(), workspace_); });
  refuses({"weights is empty", "initialize()"}, [&] { net_.forward(empty, x(), y(), workspace_); });
  forward();
  const auto backward = [&](const auto& weights, auto& gradients) {
    net_.backward(weights, x(), dy(), dx(), gradients, workspace_);
  };
  refuses({"weights belongs to another network", wanted}, [&] { backward(strange, gradients_); });
  refuses({"weights is empty"}, [&] { backward(empty, gradients_); });
  refuses({"gradients belongs to another network", wanted}, [&] { backward(weights_, strange_gradients); });
  refuses({"gradients is empty"}, [&] { backward(weights_, empty_gradients); });
  // As many parameters under other names are another network's too.
  const Block<norma::PreLN> pre({.width = kWidth, .heads = 3, .hidden = 21});
  ASSERT_EQ(pre.layout().count(), net_.layout().count());
  refuses({"weights belongs to another network"},
          [&] { net_.forward(pre.initialize(norma::Rng(1)), x(), y(), workspace_); });
  backward_works();
}

// The same layout made twice is the same: a checkpoint fits the block built anew.
TEST_F(Errors, WeightsOfATwinAreAccepted) {
  const Post twin({.width = kWidth, .heads = 3, .hidden = 21});
  EXPECT_EQ(error_of([&] { twin.forward(weights_, x(), y(), workspace_); }), "");
}

TEST(ConstructionErrors, NameWhatIsWrong) {
  const auto post = [](norma::Dimensions dims, norma::Depth depth = {}) {
    return error_of([&] { Post(dims, depth); });
  };
  const auto says = [](const std::string& message, const Parts& parts) {
    for (const auto& part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << "says: " << message << "\nwanted: " << part;
  };
  EXPECT_EQ(post({.width = 12, .heads = 3}), "");
  EXPECT_EQ(post({.width = 12, .heads = 5}), "attention: 5 heads do not divide width 12; set head_dim");
  EXPECT_EQ(post({.width = 12, .heads = 0}), "attention: 0 heads, wanted at least 1");
  EXPECT_EQ(post({.width = 12, .heads = -3}), "attention: -3 heads, wanted at least 1");
  EXPECT_EQ(post({.width = 12, .heads = 0, .kv_heads = 2}), "attention: 0 heads, wanted at least 1");
  EXPECT_EQ(post({.width = 12, .heads = 3, .kv_heads = 2}), "attention: 2 key/value heads do not divide 3 heads");
  EXPECT_EQ(post({.width = 12, .heads = 3, .kv_heads = -1}), "attention: kv_heads is -1");
  EXPECT_EQ(post({.width = 12, .heads = 3, .head_dim = -4}), "attention: head_dim is -4");
  for (const auto& [rotary, head_dim] :
       {std::pair<Index, Index>{3, 4}, {norma::Rotary::kWholeHead, 5}, {6, 4}, {-2, 4}})
    EXPECT_EQ(post({.width = 12, .heads = 3, .head_dim = head_dim, .rotary = {.width = rotary}}),
              "attention: rotary width " + std::to_string(rotary == norma::Rotary::kWholeHead ? head_dim : rotary) +
                  ", wanted an even number up to head_dim " + std::to_string(head_dim));
  EXPECT_EQ(post({.width = 12, .heads = 3, .hidden = -1}),
            "feed-forward: hidden is -1, wanted at least 1, or 0 for 4 x width");
  says(post({.width = 0, .heads = 1}), {"width is 0"});
  says(post({.width = -12, .heads = 3}), {"width is -12"});
  says(post({.width = 12, .heads = 3}, {.layer = 0, .layers = 4}), {"layer 0 of 4"});
  says(post({.width = 12, .heads = 3}, {.layer = 5, .layers = 4}), {"layer 5 of 4"});
  says(post({.width = 12, .heads = 3}, {.layer = 1, .layers = 0}), {"layer 1 of 0"});
  EXPECT_EQ(post({.width = 12, .heads = 3}, {.layer = 4, .layers = 4}), "");
  for (int layers : {0, -1})
    EXPECT_EQ(error_of([&] { norma::Encoder<Post>({.width = 12, .heads = 3}, layers); }),
              "layers is " + std::to_string(layers) + ", wanted at least 1");
  using Pair = norma::EncoderDecoder<Post, norma::DecoderBlock<norma::PostLN>>;
  EXPECT_EQ(error_of([] { Pair({.width = 12, .heads = 3}, 0, 1); }), "encoder.layers is 0, wanted at least 1");
  EXPECT_EQ(error_of([] { Pair({.width = 12, .heads = 3}, 1, 0); }), "decoder.layers is 0, wanted at least 1");
  EXPECT_EQ(post({.width = 12, .dropout = {.branch = 2}}), "dropout.branch is 2.000000, wanted 0 to 1");
  EXPECT_EQ(post({.width = 12, .dropout = {.attention = 2}}), "dropout.attention is 2.000000, wanted 0 to 1");
  EXPECT_EQ(post({.width = 12, .dropout = {.hidden = -1}}), "dropout.hidden is -1.000000, wanted 0 to 1");
  EXPECT_EQ(post({.width = 12, .dropout = {.path = std::numeric_limits<double>::quiet_NaN()}}),
            "dropout.path is nan, wanted 0 to 1");
  says(error_of([] { Standalone<norma::LayerNorm<float>>({}, 0); }), {"width is 0, wanted at least 1"});
  says(post({.width = Index(1) << 40, .heads = 1}), {"too large"});
}

TEST(WorkspaceErrors, NegativeAndImpossibleShapes) {
  const Post net({.width = 12, .heads = 3});
  for (Shape s : {Shape{-1, 5}, Shape{2, -5}, Shape{-2, -5}}) {
    EXPECT_NE(error_of([&] { net.workspace(s); }).find("negative"), std::string::npos);
    EXPECT_NE(error_of([&] { net.inference_workspace(s); }).find("negative"), std::string::npos);
  }
  for (Shape s :
       {Shape{Index(1) << 40, Index(1) << 40}, Shape{Index(1) << 32, Index(1) << 31}, Shape{1, Index(1) << 60}})
    EXPECT_NE(error_of([&] { net.workspace(s); }).find("too large"), std::string::npos) << s.batch << " x " << s.tokens;
}

}  // namespace
