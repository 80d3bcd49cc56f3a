// SPDX-License-Identifier: MIT
// A language model's ends: logits without targets, and padding that is neither read nor counted.
#include <surface_helpers.hpp>

namespace {

using namespace surface;
using Ids = std::vector<std::int32_t>;

constexpr Shape kShape{2, 3};

class LanguageModel : public testing::Test {
 protected:
  const norma::LanguageModel<norma::Block<norma::PreLN>> net_{{.width = 8, .heads = 2}, 1, {.size = 5}};
  const norma::Parameters<float> weights_ = some_weights(net_);
  norma::Parameters<float> gradients_ = net_.gradients();
  norma::Workspace workspace_ = net_.workspace(kShape);
  const Ids ids_{0, 1, 2, 3, 4, 0}, targets_{1, 2, 3, 4, 0, 1};

  RowMajor logits() const { return Eigen::Map<const RowMajor>(at_.data, at_.rows, at_.columns); }
  norma::MatrixView<const float> at_;
};

TEST_F(LanguageModel, LogitsWithoutTargets) {
  net_.forward(weights_, {ids_.data(), kShape}, {targets_.data(), kShape}, workspace_);
  at_ = net_.outputs(workspace_);
  const RowMajor wanted = logits();
  auto inference = net_.inference_workspace(kShape);
  at_ = net_.forward(weights_, {ids_.data(), kShape}, inference);
  EXPECT_EQ(logits(), wanted);
  net_.forward(weights_, {ids_.data(), kShape}, workspace_);
  EXPECT_EQ(error_of([&] { net_.backward(weights_, gradients_, workspace_); }),
            "backward: the last forward had no targets; give backward the gradient of what that gave");
}

TEST_F(LanguageModel, PaddingIsNeitherReadNorCounted) {
  const std::vector<Index> lengths{2, 1};
  Ids ignored = targets_, dirty_ids = ids_, dirty_targets = targets_;
  for (const std::size_t r : {2, 4, 5}) {
    ignored[r] = norma::kIgnoredTarget;
    dirty_ids[r] = dirty_targets[r] = 1 << 30;
  }
  const auto pass = [&](const Ids& ids, const Ids& targets) {
    gradients_.set_zero();
    const double loss =
        net_.forward(weights_, {ids.data(), kShape}, {targets.data(), kShape}, workspace_, {.lengths = lengths});
    net_.backward(weights_, gradients_, workspace_);
    return loss;
  };
  const double wanted = pass(ids_, ignored);
  const auto gradients = gradients_;
  EXPECT_EQ(pass(dirty_ids, dirty_targets), wanted);
  EXPECT_TRUE(same_bits(gradients, gradients_));
  dirty_targets[3] = 7;
  EXPECT_EQ(error_of([&] { pass(dirty_ids, dirty_targets); }),
            "targets[3] is 7, wanted 0 to 4, or -1 to count nothing");
  const std::vector<Index> beyond{2, 4};
  EXPECT_EQ(error_of([&] {
              net_.forward(weights_, {ids_.data(), kShape}, {targets_.data(), kShape}, workspace_, {.lengths = beyond});
            }),
            "lengths[1] is 4, wanted 0 to 3");
}

TEST_F(LanguageModel, ATapeIsSpentOnce) {
  net_.forward(weights_, {ids_.data(), kShape}, {targets_.data(), kShape}, workspace_);
  net_.backward(weights_, gradients_, workspace_);
  const std::string spent = ": the last forward in this workspace is spent; a backward used it up";
  EXPECT_EQ(error_of([&] { net_.backward(weights_, gradients_, workspace_); }), "backward" + spent);
  EXPECT_EQ(error_of([&] { net_.outputs(workspace_); }), "outputs" + spent);
  net_.forward(weights_, {ids_.data(), kShape}, {targets_.data(), kShape}, workspace_);
  EXPECT_EQ(error_of([&] { net_.backward(weights_, gradients_, workspace_); }), "");
}

}  // namespace
