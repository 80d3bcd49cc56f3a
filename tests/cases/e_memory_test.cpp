// SPDX-License-Identifier: MIT
// Cases E: strides, alignment, aliasing. Tails: e_tails_test.cpp.
#include <norma/norma.hpp>

#include "kernel_case_norm.hpp"
#include "kernel_norm_oracle.hpp"

namespace {

using namespace norma_test;
using norma::TensorView;
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// A transposed Eigen::Matrix is column-major and does not compile (tests/compile_fail); a map with an inner stride is
// an Error, and a copy is right.
TEST(CasesE, E01_TransposedView) {
  RowMajor a(3, 4), y(4, 3);
  a << 0, 1, 5, 2, 7, 3, 1, 8, 4, 9, 6, 0;
  const norma::Standalone norm(norma::LayerNorm<float>{}, 3);
  const auto weights = norm.initialize(norma::Rng(1));
  auto workspace = norm.workspace({1, 4});
  using Strided = Eigen::Map<const RowMajor, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;
  const Strided transposed(a.data(), 4, 3, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(1, 4));
  y.setConstant(99);
  try {
    norm.forward(weights, transposed, y, workspace);
    ADD_FAILURE() << "an inner stride of 4 was accepted";
  } catch (const norma::Error& e) {
    EXPECT_NE(std::string(e.what()).find("inner stride 1"), std::string::npos) << e.what();
  }
  EXPECT_EQ(y(0, 0), 99.0f) << "thrown before anything is written";
  const RowMajor copy = a.transpose();
  norm.forward(weights, copy, y, workspace);
  const double right[4][3] = {{-1.278723, 1.162476, 0.116248},
                              {-0.980580, -0.392232, 1.372812},
                              {0.462910, -1.388729, 0.925819},
                              {-0.392232, 1.372812, -0.980580}};
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(y(r, c), right[r][c], 1e-6);
  RMSNormCall<> rms{3, {0, 7, 4}};
  expect_near(rms.forward().y, {0, 1.503841, 0.859338}, 1e-6);
  // An outer stride is taken as it is.
  RowMajor wide = RowMajor::Constant(4, 7, std::numeric_limits<float>::quiet_NaN()), out = RowMajor::Constant(4, 5, 7);
  wide.middleCols(2, 3) = copy;
  auto block = out.middleCols(1, 3);
  norm.forward(weights, wide.middleCols(2, 3), block, workspace);
  EXPECT_EQ(out.middleCols(1, 3), y);
  EXPECT_TRUE((out.col(0).array() == 7).all() && (out.col(4).array() == 7).all());
}

TEST(CasesE, E04_RowsThatAreNotAligned) {
  alignas(64) float rows[27], y[27];
  for (int i = 0; i < 27; ++i) rows[i] = static_cast<float>(i * i % 17);
  LayerNormCall<> call{9, std::vector<float>(rows, rows + 27)};
  call.forward();
  float hi[3], lo[3], rstd[3];
  norma::kernels::norm_forward<Center::mean, float>({rows, 3, 9}, nullptr, nullptr, 1e-5, {y, 3, 9}, {hi, lo, rstd});
  EXPECT_TRUE(same_bits(y, call.y.data(), 27));
  for (int r = 0; r < 3; ++r) {
    const NormOracle oracle(Center::mean, rows + 9 * r, 9, 1e-5);
    for (int i = 0; i < 9; ++i)
      EXPECT_NEAR(y[9 * r + i], static_cast<double>(oracle.n[static_cast<std::size_t>(i)]), 1e-6);
  }
  // A caller's plain array, through the public surface.
  float in[24], out[24];
  std::copy_n(rows, 9, in + 3);
  const norma::Standalone norm(norma::LayerNorm<float>{}, 9);
  auto workspace = norm.workspace({1, 1});
  Eigen::Map<RowMajor> from(in + 3, 1, 9), to(out + 5, 1, 9);
  norm.forward(norm.initialize(norma::Rng(1)), from, to, workspace);
  EXPECT_TRUE(same_bits(out + 5, y, 9));
}

TEST(CasesE, E05_ForwardLeavesItsInputAlone) {
  RMSNormCall<> call{2, {3, 4}};
  expect_near(call.forward().y, {0.848528, 1.131371}, 1e-6);
  EXPECT_EQ(call.x, (std::vector<float>{3, 4}));
  RMSNormCall<> in_place = call;
  norma::kernels::norm_forward<Center::none, float>({in_place.x.data(), 1, 2}, nullptr, nullptr, 1e-6,
                                                    {in_place.x.data(), 1, 2},
                                                    {nullptr, nullptr, in_place.rstd.data()});
  expect_bits(in_place.x, call.y);

  const norma::Block<norma::PreLN> block({.width = 2, .heads = 1, .hidden = 3});
  const auto weights = block.initialize(norma::Rng(5));
  auto workspace = block.workspace({1, 1});
  std::vector<float> x{3, 4}, y(2);
  block.forward(weights, TensorView<float>{{1, 1}, {x.data(), 1, 2}}, TensorView<float>{{1, 1}, {y.data(), 1, 2}},
                workspace);
  EXPECT_EQ(x, (std::vector<float>{3, 4}));
  EXPECT_NE(y, x);
}

TEST(CasesE, E06_InputGradientOnTopOfTheOutputGradient) {
  RMSNormCall<> a{4, {1, 0, 0, 0}, 1e-4};
  a.forward().backward({1, 0, 0, 0});
  expect_near(a.dx, {0.00079952, 0, 0, 0}, 1e-6);
  LayerNormCall<> b{3, {1, 2, 4}, 1e-5, {1, 2, 3}};
  b.forward().backward({1, 0, -1});
  expect_near(b.dx, {-0.114531, 0.171813, -0.057282}, 1e-6);
  expect_near(b.dgamma, {-1.069042, 0, -1.336302}, 1e-6);
  expect_near(b.dbeta, {1, 0, -1}, 0);
}

/// dx on top of dy through the public surface, where a sublayer cannot work in place by itself; dx on x is an Error.
template <class Network>
void check_in_place(const Network& network, Index width) {
  const norma::Shape shape{2, 3};
  const auto weights = network.initialize(norma::Rng(3));
  auto apart = network.gradients(), on_top = network.gradients();
  auto workspace = network.workspace(shape);
  Guarded<float> x(6, width), y(6, width), dy(6, width), dx(6, width);
  Random random(1);
  for (auto* m : {&x, &dy}) m->fill([&](Index, Index) { return random.normal(); });
  const auto view = [&](Guarded<float>& m) { return TensorView<float>{shape, m.view()}; };
  EXPECT_THROW(network.forward(weights, view(x), view(x), workspace), norma::Error);
  network.forward(weights, view(x), view(y), workspace);
  network.backward(weights, view(x), view(dy), view(dx), apart, workspace);
  EXPECT_THROW(network.backward(weights, view(x), view(dy), view(x), on_top, workspace), norma::Error);
  network.backward(weights, view(x), view(dy), view(dy), on_top, workspace);
  for (Index r = 0; r < 6; ++r) EXPECT_TRUE(same_bits(dx.row(r), dy.row(r), width));
  EXPECT_TRUE(same_bits(apart.data(), on_top.data(), apart.size()));
}

TEST(CasesE, E07_InPlaceIsRejectedOrRight) {
  check_in_place(norma::Standalone(norma::Linear<float>(6, norma::Kind::up), 6), 6);
  check_in_place(norma::Standalone(norma::Attention<float>({.width = 6, .heads = 2}, {}), 6), 6);
  check_in_place(norma::Standalone(norma::GELU<float>({.width = 6, .hidden = 9}, {}), 6), 6);
  check_in_place(norma::Standalone(norma::LayerNorm<float>{}, 6), 6);
  check_in_place(norma::Block<norma::PostLN>({.width = 6, .heads = 2}), 6);
}

}  // namespace
