// SPDX-License-Identifier: MIT
// A module alone: its widths are its own, and an input of another is an error that names both.
#include <surface_helpers.hpp>

namespace {

using namespace surface;
using norma::Standalone;

TEST(Standalone, WidthsAreTheModules) {
  const Standalone linear(norma::Linear<float>(40, norma::Kind::up), 24);
  const auto weights = some_weights(linear);
  auto workspace = linear.workspace({1, 2});
  const auto x = numbers(48, "x");
  std::vector<float> same(48), y(80);
  EXPECT_EQ(error_of([&] {
              linear.forward(weights, view(x, {1, 2}, 24), view(same, {1, 2}, 24), workspace);
            }),
            "y has shape [1, 2, 24], wanted [1, 2, 40]");
  EXPECT_EQ(error_of([&] { linear.forward(weights, view(x, {1, 2}, 24), view(y, {1, 2}, 40), workspace); }), "");

  const norma::Dimensions dims{.width = 24, .heads = 3};
  EXPECT_EQ(error_of([&] { Standalone(norma::Attention<float>(dims), 12); }),
            "attention: its width is 24, its input's 12");
  EXPECT_EQ(error_of([&] { Standalone(norma::GELU<float>(dims), 12); }),
            "feed-forward: its width is 24, its input's 12");
  EXPECT_EQ(error_of([&] { Standalone(norma::GELU<float>(dims), 24); }), "");
  EXPECT_EQ(error_of([] { Standalone(norma::Identity<float>{}, 0); }), "width is 0, wanted at least 1");
}

// The columns of one matrix: the rows lie between each other without touching.
TEST(Standalone, BlocksOfColumnsOfOneMatrix) {
  const Standalone linear(norma::Linear<float>(4, norma::Kind::up), 3);
  const auto weights = some_weights(linear);
  auto workspace = linear.workspace({1, 5});
  const auto all = numbers(35, "x");
  RowMajor m = Eigen::Map<const RowMajor>(all.data(), 5, 7), x = m.leftCols(3), y(5, 4);
  linear.forward(weights, x, y, workspace);
  linear.forward(weights, m.leftCols(3), m.rightCols(4), workspace);
  EXPECT_EQ(RowMajor(m.rightCols(4)), y);
  EXPECT_EQ(RowMajor(m.leftCols(3)), x);
}

}  // namespace
