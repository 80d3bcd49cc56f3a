// SPDX-License-Identifier: MIT
// The conformance suite passes what is right and names what is wrong.
#include <norma/norma.hpp>
#include <norma/testing/conformance.hpp>

#include <gtest/gtest.h>

namespace {

using namespace norma;

std::string joined(const std::vector<std::string>& sentences) {
  std::string all;
  for (const auto& s : sentences) all += s + "\n";
  return all;
}
const norma::testing::ConformanceOptions kSmall{
    .dims = {.width = 9, .heads = 3, .hidden = 7}, .shape = {2, 3}, .layers = 2};

TEST(Conformance, PassesTheLibrarysOwn) {
  EXPECT_EQ(joined(norma::testing::check_policy(PreLN{}, kSmall)), "");
  EXPECT_EQ(joined(norma::testing::check_policy(DeepNorm{}, kSmall)), "");
}
TEST(Conformance, WithRotaryPositions) {
  const norma::testing::ConformanceOptions rotary{
      .dims = {.width = 9, .heads = 3, .hidden = 7, .rotary = {.width = 2}}, .shape = {2, 3}, .layers = 2};
  EXPECT_EQ(joined(norma::testing::check_policy(PreLN{}, rotary)), "");
}
TEST(Conformance, WithOptionsOfAttention) {
  const norma::testing::ConformanceOptions options{.dims = {.width = 9,
                                                            .heads = 3,
                                                            .hidden = 7,
                                                            .rotary = {.width = 2, .local_base = 30},
                                                            .window = {.size = 2, .global_every = 2},
                                                            .score_cap = 1,
                                                            .alibi = true,
                                                            .relative_bias = {.buckets = 4, .max_distance = 3},
                                                            .scores_over_layer = true},
                                                   .shape = {2, 3},
                                                   .layers = 2};
  EXPECT_EQ(joined(norma::testing::check_policy(PreLN{}, options)), "");
}
/// A join that forgets half of the skip's gradient.
struct HalfTheSkip : Add {
  template <class T>
  void backward(const T*, const Stream<1, const T>&, MatrixView<const T>, const Stream<1, T>& ds, MatrixView<T> dw,
                T*) const {
    kernels::copy<T>(ds[0], dw);
    kernels::scale<T>(ds[0], T(0.5), ds[0]);
  }
};
struct Wrong {
  auto slots(auto at) const { return place().pre(at.norm).join(HalfTheSkip{}).close(at.norm); }
};
struct WrongAtCross {
  auto slots(auto at) const {
    return place().pre(at.norm).join(at.only(cross_attention, HalfTheSkip{})).close(at.norm);
  }
};
/// A module that plans memory which it never writes.
struct Wasteful : Scale {
  struct Tape {
    MatrixView<float> spare;
  };
  Tape plan(Plan& p, const Pass& pass) const { return {p.keep<float>(pass.shape.rows(), 64)}; }
  template <class T>
  void forward(const T* w, MatrixView<const T> x, MatrixView<T> y, const Tape&) const {
    Scale::forward(w, x, y, {});
  }
  template <class T>
  void backward(const T* w, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write, T* g,
                const Tape&) const {
    Scale::backward(w, x, dy, dx, write, g, {});
  }
};
struct Waste {
  auto slots(auto at) const { return place().pre(at.norm).post(Wasteful{}).close(at.norm); }
};

/// A module that forgets to count what only some calls need.
struct Forgetful : Wasteful {
  Tape plan(Plan& p, const Pass& pass) const { return pass.call.lengths.empty() ? Tape{} : Wasteful::plan(p, pass); }
};
struct Forgets {
  auto slots(auto at) const { return place().pre(at.norm).post(Forgetful{}).close(at.norm); }
};

TEST(Conformance, NamesWhatIsWrong) {
  const std::string wrong = joined(norma::testing::check_policy(Wrong{}, kSmall));
  EXPECT_NE(wrong.find("attention.query.weight: gradient differs from central differences"), std::string::npos)
      << wrong;
  EXPECT_NE(wrong.find(" by "), std::string::npos);
  EXPECT_NE(wrong.find("e-0"), std::string::npos) << "figures as 1.2e-01";
  const std::string cross = joined(norma::testing::check_policy(WrongAtCross{}, kSmall));
  EXPECT_EQ(cross.find("decoder block: "), 0u) << cross;
  const std::string waste = joined(norma::testing::check_policy(Waste{}, kSmall));
  EXPECT_NE(waste.find("memory is planned that is never written"), std::string::npos) << waste;
  EXPECT_EQ(waste.find("gradient differs"), std::string::npos) << waste;
  const std::string refused = joined(norma::testing::check_policy(Forgets{}, kSmall));
  EXPECT_NE(refused.find("block: workspace holds "), std::string::npos) << refused;
}

}  // namespace
