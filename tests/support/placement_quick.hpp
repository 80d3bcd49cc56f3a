// SPDX-License-Identifier: MIT
// What every placement of the library is put to in the quick tests, on one small stack in double: its equations, its
// parameters, its initial weights, gradients, and memory. PlacementRuns and PlacementGradients, in the full tests, put
// it to more.
#pragma once

#include "placement_catalogue.hpp"
#include "placement_gradients.hpp"
#include "placement_memory.hpp"

namespace placement {

template <class C>
class PlacementQuick : public testing::Test {
 public:
  using B = norma::Block<typename C::Policy, double>;
  using E = norma::Encoder<B>;
};
TYPED_TEST_SUITE_P(PlacementQuick);

/// Norms and scales with their initial values, as `name[columns] = value`; matrices and their biases are left out.
inline Names listed(const norma::Layout& layout, const std::string& level = "") {
  Names lines;
  for (const auto& p : layout.entries()) {
    if (p.kind != Kind::norm && p.kind != Kind::scale) continue;
    if (p.name.rfind(level, 0) != 0 || (level.empty() && p.name.rfind("layers.", 0) == 0)) continue;
    std::string value = "drawn";
    if (p.initial) {
      value = std::to_string(p.initial(0, 0)).substr(0, 10);
      value.erase(value.find_last_not_of('0') + 1);
      if (value.back() == '.') value.pop_back();
    }
    lines.push_back(p.name.substr(level.size()) + "[" + std::to_string(p.at.columns) + "] = " + value);
  }
  return lines;
}

TYPED_TEST_P(PlacementQuick, IsItsEquations) { plain::compare_stack(TypeParam::policy(), TypeParam::stack); }

TYPED_TEST_P(PlacementQuick, Parameters) {
  const typename TestFixture::E net({12, 3, 10}, 3, TypeParam::policy());
  EXPECT_EQ(listed(net.layout(), "layers.1."), TypeParam::names());
  EXPECT_EQ(listed(net.layout()), TypeParam::ends());
  int drawn = 0;
  for (const auto& p : net.layout().entries()) drawn += !p.initial;
  EXPECT_EQ(drawn, 3 * 6) << "matrices";
}

/// Xavier normal times the gain, or what the case says, in the last of 12 blocks.
template <class C>
double deviation(const norma::ParameterInfo& p) {
  if constexpr (requires { C::deviation(p); })
    return C::deviation(p);
  else
    return C::gain(p.kind) * std::sqrt(2.0 / double(p.at.rows + p.at.columns));
}
TYPED_TEST_P(PlacementQuick, InitialDeviations) {
  const typename TestFixture::B net({64, 4, 256}, {12, 12}, TypeParam::policy());
  net.initialize(Rng(3)).for_each_parameter([](const norma::ParameterInfo& p, auto map) {
    if (p.initial) return;
    EXPECT_NEAR(p.gain, TypeParam::gain(p.kind), 1e-9) << p.name;
    const double wanted = deviation<TypeParam>(p);
    EXPECT_NEAR(std::sqrt(map.squaredNorm() / double(map.size())), wanted, 0.05 * wanted) << p.name;
  });
}

TYPED_TEST_P(PlacementQuick, Gradients) {
  const typename TestFixture::E net({12, 3, 10}, 3, TypeParam::policy());
  check_network_gradients(net, {{12, 3, 10}, {2, 5}, 0}, TypeParam::zero_by_theory(), 24);
}

TYPED_TEST_P(PlacementQuick, Memory) {
  using Body = typename TestFixture::B::BodyType;
  check_memory<typename TestFixture::E, Body>(typename TestFixture::E({21, 3, 17}, 3, TypeParam::policy()), 3, {2, 5},
                                              21);
  const Index d = 24, h = 3, f = 40;  // 16 tokens fill whole cache lines: no gaps
  const typename TestFixture::B net({d, h, f}, {2, 3}, TypeParam::policy());
  const auto weights = net.initialize(Rng(1));
  const auto tape = [&](Index tokens) {
    auto workspace = net.workspace({1, tokens});
    forward(net, weights, {1, tokens}, noise<double>(tokens * d, "x"), workspace);
    return workspace.usage().tape_bytes;
  };
  EXPECT_EQ(tape(48) - tape(16), 32 * 8 * (TypeParam::kept(d, h, f) + attention_floats(d, h) + 2 * f));
}
REGISTER_TYPED_TEST_SUITE_P(PlacementQuick, IsItsEquations, Parameters, InitialDeviations, Gradients, Memory);

}  // namespace placement
