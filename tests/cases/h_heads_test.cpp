// SPDX-License-Identifier: MIT
// Cases H: grouped heads and rotary positions; K02: orders of a fused projection.
#include <norma/norma.hpp>

#include "kernel_attention.hpp"
#include "kernel_case_norm.hpp"

namespace {

using namespace norma_test;
using norma::Dimensions;
using norma::Index;
using norma::Rotary;
using norma::TensorView;

TEST(CasesH, H01_QueryHeadsShareTheirKeyHeadsInGroups) {
  const std::vector<float> q(4), k(2), v{10, 20};
  std::vector<float> o(4), lse(4);
  norma::kernels::attention_forward<float>(norma_test::with_packing<float>({1, 1, 1, 4, 2, 1, 1}), {q.data(), 1, 4},
                                           {k.data(), 1, 2}, {v.data(), 1, 2}, {o.data(), 1, 4}, {lse.data(), 1, 4});
  expect_near(o, {10, 10, 20, 20}, 1e-6);
}

template <class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const norma::Error& e) {
    return e.what();
  }
  return "";
}
TEST(CasesH, H03_HeadsThatDoNotDivide) {
  const auto make = [](Dimensions dims) { return norma::Attention<float>(dims); };
  EXPECT_EQ(message([&] { make({.width = 20, .heads = 5, .kv_heads = 2}); }),
            "attention: 2 key/value heads do not divide 5 heads");
  EXPECT_EQ(message([&] { make({.width = 20, .heads = 3}); }),
            "attention: 3 heads do not divide width 20; set head_dim");
  // A fused projection of 4 query and 2 key/value heads is 8 heads high.
  const norma::Standalone attention(
      norma::Attention<float>(
          {.width = 32, .heads = 4, .kv_heads = 2, .head_dim = 8, .projections = norma::Projections::fused}),
      32);
  EXPECT_EQ(attention.layout().find("query_key_value.weight").at.rows, 64);
}

/// x turned at `positions`, one head a row.
std::vector<float> turned(std::vector<float> x, Index rotary, std::vector<Index> positions, bool interleaved,
                          float direction = 1) {
  const auto rows = static_cast<Index>(positions.size()), width = static_cast<Index>(x.size()) / rows;
  std::vector<float> c(static_cast<std::size_t>(rows * rotary / 2)), s(c);
  norma::kernels::rotary_angles<float>(positions.data(), {.base = 10000}, {c.data(), rows, rotary / 2},
                                       {s.data(), rows, rotary / 2});
  norma::kernels::rotate<float>({x.data(), rows, width}, width, {c.data(), rows, rotary / 2},
                                {s.data(), rows, rotary / 2}, interleaved, direction);
  return x;
}
TEST(CasesH, H04_RotaryPairs) {
  expect_near(turned({1, 2, 3, 4}, 4, {1}, false), {-1.984111, 1.959901, 2.462378, 4.019800}, 1e-6);
  expect_near(turned({1, 2, 3, 4}, 4, {1}, true), {-1.142640, 1.922076, 2.959851, 4.029800}, 1e-6);
  for (const bool interleaved : {false, true})
    EXPECT_EQ(turned({0, 1, 2, 3, 4, 5, 6, 7}, 8, {0}, interleaved), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
}
TEST(CasesH, H05_PartOfAHead) {
  expect_near(turned({1, 2, 3, 4, 5, 6, 7, 8}, 4, {3}, false), {-1.413353, 1.879118, -2.828857, 4.058191, 5, 6, 7, 8},
              1e-6);
}
TEST(CasesH, H06_OddOrTooWide) {
  const auto make = [](Index width, Index head) {
    return norma::Attention<float>(Dimensions{.width = 130, .heads = 2, .head_dim = head, .rotary = {.width = width}});
  };
  EXPECT_EQ(message([&] { make(Rotary::kWholeHead, 65); }),
            "attention: rotary width 65, wanted an even number up to head_dim 65");
  EXPECT_EQ(message([&] { make(8, 6); }), "attention: rotary width 8, wanted an even number up to head_dim 6");
  EXPECT_EQ(message([&] { make(64, 65); }), "");
}
TEST(CasesH, H07_PositionsAndBackward) {
  const auto product = [](Index p, Index r, bool interleaved) {
    const auto q = turned({1, 2, 3, 4}, 4, {p}, interleaved), k = turned({2, -1, 0, 1}, 4, {r}, interleaved);
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum += static_cast<double>(q[i]) * static_cast<double>(k[i]);
    return sum;
  };
  for (const auto& [p, r] : {std::pair<Index, Index>{5, 3}, {2, 0}}) {
    EXPECT_NEAR(product(p, r, false), -4.168486, 1e-5);
    EXPECT_NEAR(product(p, r, true), -0.487291, 1e-5);
  }
  expect_near(turned({1, 0, 0, 0}, 4, {1}, false, -1), {0.540302, 0, -0.841471, 0}, 1e-6);
}
TEST(CasesH, PositionsGivenAreThoseOfTheCall) {
  const norma::Block<norma::PreLN> net({.width = 8, .heads = 2, .rotary = {.width = 4}});
  const auto weights = net.initialize(norma::Rng(1));
  std::vector<float> x(24), y(24), z(24);
  for (std::size_t i = 0; i < 24; ++i) x[i] = static_cast<float>(norma::Rng(2).normal(i));
  const auto view = [](std::vector<float>& v) { return TensorView<float>{{1, 3}, {v.data(), 3, 8}}; };
  auto workspace = net.workspace({1, 3});
  const std::vector<Index> same{0, 1, 2}, later{7, 8, 9}, apart{0, 5, 2};
  net.forward(weights, view(x), view(y), workspace);
  net.forward(weights, view(x), view(z), workspace, {.positions = same});
  EXPECT_EQ(z, y);
  net.forward(weights, view(x), view(z), workspace, {.positions = later});  // only differences count
  for (std::size_t i = 0; i < 24; ++i) EXPECT_NEAR(z[i], y[i], 1e-5);
  net.forward(weights, view(x), view(z), workspace, {.positions = apart});
  EXPECT_NE(z, y);
}
TEST(CasesK, K02_OrdersOfAFusedProjection) {
  const auto rows = [](norma::Projections projections, const char* part) {
    const norma::Standalone attention(norma::Attention<float>({.width = 2, .heads = 2, .projections = projections}), 2);
    std::vector<Index> r;
    for (const auto& p : attention.layout().find("query_key_value.weight").parts)
      if (p.name == part)
        for (Index o = 0; o < p.rows.outputs; ++o) r.push_back(p.rows.row(o));
    return r;
  };
  using R = std::vector<Index>;
  EXPECT_EQ(rows(norma::Projections::fused_per_head, "query.weight"), (R{0, 3}));
  EXPECT_EQ(rows(norma::Projections::fused_per_head, "key.weight"), (R{1, 4}));
  EXPECT_EQ(rows(norma::Projections::fused_per_head, "value.weight"), (R{2, 5}));
  EXPECT_EQ(rows(norma::Projections::fused, "query.weight"), (R{0, 1}));
  EXPECT_EQ(rows(norma::Projections::fused, "key.weight"), (R{2, 3}));
  EXPECT_EQ(rows(norma::Projections::fused, "value.weight"), (R{4, 5}));
}

}  // namespace
