// SPDX-License-Identifier: MIT
#include <norma/kernels/norm.hpp>

#include <gtest/gtest.h>

#include "kernel_norm_oracle.hpp"

namespace {

using namespace norma_test;
using norma::kernels::norm_forward;

constexpr Index kWide[] = {255, 256, 257, 768, 1000, 1024, 2048, 2051, 8192};
constexpr double kEps[] = {1e-5, 1e-12, 0};

template <class S>
constexpr double kBound = sizeof(S) == 8 ? 64 * kUnit<S> : 8 * kUnit<S>;  // design.md, section 6

struct Case {
  Index rows, width;
  Rows kind;
  double eps = 1e-5;
  bool gamma = true, beta = true;
  Index offset = 0, gap = 0;
  bool in_place = false;
};

/// Largest error of y over its bound, which must stay below one. What a 16-bit type's rounding may cost is not counted.
template <class Storage, Center C>
double check(const Case& c) {
  using S = typename Storage::S;
  using P = typename Storage::P;
  using T = typename Storage::T;
  const auto message = [&] {
    return testing::Message() << c.rows << " x " << c.width << " kind " << static_cast<int>(c.kind) << " eps " << c.eps
                              << " gamma " << c.gamma << " beta " << c.beta << " offset " << c.offset << " gap "
                              << c.gap << " in place " << c.in_place;
  };
  Random random(static_cast<std::uint64_t>(c.width * 31 + static_cast<Index>(c.kind)));
  Guarded<S> x(c.rows, c.width, c.offset, c.gap), y(c.rows, c.width, (c.offset + 1) % 16, c.gap / 2);
  Guarded<P> gamma(1, c.width, (c.offset + 2) % 16), beta(1, c.width, (c.offset + 3) % 16);
  Guarded<T> hi(1, c.rows), lo(1, c.rows), rstd(1, c.rows);
  for (Index r = 0; r < c.rows; ++r) fill_row(c.kind, x.row(r), c.width, random);
  gamma.fill([&](Index, Index) { return 1 + random.normal(); });
  beta.fill([&](Index, Index) { return random.normal(); });
  Guarded<S> input = x;
  Guarded<S>& out = c.in_place ? input : y;
  norm_forward<C, S, P>(c.in_place ? input.in() : x.in(), c.gamma ? gamma.data() : nullptr,
                        c.beta ? beta.data() : nullptr, c.eps, out.view(), {hi.data(), lo.data(), rstd.data()});
  EXPECT_TRUE(x.intact() && out.intact() && hi.intact() && lo.intact() && rstd.intact()) << message();
  if (C == Center::none) {
    EXPECT_EQ(bits(hi(0, 0)), guard_bits<T>()) << "RMSNorm keeps no mean; " << message();
  }
  double worst = 0;
  for (Index r = 0; r < c.rows; ++r) {
    const NormOracle oracle(C, x.row(r), c.width, c.eps);
    for (Index i = 0; i < c.width; ++i) {
      const long double g = c.gamma ? exact(gamma(0, i)) : 1, b = c.beta ? exact(beta(0, i)) : 0;
      const long double right = oracle.n[static_cast<std::size_t>(i)] * g + b;
      // Below the smallest normal number only whole steps exist: for y, and for the mean unless the row was redone in
      // double.
      const long double step = std::numeric_limits<T>::denorm_min();
      const long double of_mean = oracle.rstd < 0x1p50L ? step / 2 * oracle.rstd * std::fabs(g) : 0;
      const long double bound = kBound<S> * (std::fabs(g) * oracle.largest + std::fabs(b)) + of_mean + step;
      const long double error = std::fabs(exact(out(r, i)) - right) - storing<S>(exact(out(r, i)));
      const double ratio = static_cast<double>(error / bound);
      if (!(ratio <= worst)) worst = ratio;
    }
    if (std::isnan(worst)) break;
  }
  EXPECT_LE(worst, 1) << message();
  return worst;
}

template <class Storage>
struct NormForward : testing::Test {
  static double check_both(const Case& c) {
    return std::max(check<Storage, Center::mean>(c), check<Storage, Center::none>(c));
  }
};
TYPED_TEST_SUITE(NormForward, AllStorage);

// Measured: see docs/numerics.md. Only rows below the smallest normal number come near the bound, by the steps that it
// allows them.
template <class Storage>
double sweep(Index width, std::initializer_list<Index> rows) {
  double worst = 0;
  Index turn = width;
  for (const Rows kind : kAllRows)
    for (const Index r : rows) {
      ++turn;
      const Case c{r,
                   width,
                   kind,
                   kEps[turn % 3],
                   turn % 4 != 1,
                   turn % 5 != 1,
                   turn % 17,
                   turn % 3 == 0 ? 0 : turn % 7,
                   turn % 6 == 0};
      worst = std::max(worst, NormForward<Storage>::check_both(c));
    }
  return worst;
}

TYPED_TEST(NormForward, EveryNarrowWidth) {
  double worst = 0;
  for (Index width = 1; width <= 67; ++width) worst = std::max(worst, sweep<TypeParam>(width, {1, 2, 3, 17}));
  this->RecordProperty("worst", std::to_string(worst));
}

TYPED_TEST(NormForward, WideRows) {
  double worst = 0;
  for (const Index width : kWide) worst = std::max(worst, sweep<TypeParam>(width, {1, 3, 2}));
  this->RecordProperty("worst", std::to_string(worst));
}

// The variance's shift lies far from the mean, and the values of a long stretch all round the same way.
TYPED_TEST(NormForward, FirstQuarterFarFromTheRest) {
  for (const Index width : {256, 1024, 4096}) this->check_both({400, width, Rows::low_quarter, 0, false, false});
}

TYPED_TEST(NormForward, ManyRows) {
  for (const Index width : {1, 5, 16, 33, 257})
    for (const Rows kind : {Rows::normal, Rows::shifted_1e6, Rows::huge}) this->check_both({257, width, kind});
}

TYPED_TEST(NormForward, EveryAlignmentStrideAndOptionalParameter) {
  for (const Index width : {1, 3, 8, 15, 33, 67})
    for (Index offset = 0; offset <= 16; ++offset)
      for (const Index gap : {0, 1, 5, 16})
        for (int present = 0; present < 4; ++present)
          this->check_both({3, width, Rows::shifted_1e3, 1e-5, (present & 1) != 0, (present & 2) != 0, offset, gap,
                            offset % 2 == 1});
}

// A constant row is beta to the last bit, even where the sum of its values is not exact and eps is zero.
TYPED_TEST(NormForward, ConstantRowIsBeta) {
  using S = typename TypeParam::S;
  using P = typename TypeParam::P;
  using T = typename TypeParam::T;
  for (const Index width : {1, 2, 7, 64, 255, 256, 1000, 1024, 8192})
    for (const double level : {0.1, 1000.1, 4097.3, -1e30, 3e38, 1e-39, 0.0})
      for (const double eps : {1e-5, 1e-12, 0.0}) {
        if (std::fabs(level) > largest<S>()) continue;
        Guarded<S> x(2, width, 1, 1), y(2, width), right(1, width);
        Guarded<P> beta(1, width, 3), gamma(1, width);
        Guarded<T> hi(1, 2), lo(1, 2), rstd(1, 2);
        x.fill([&](Index, Index) { return level; });
        gamma.fill([&](Index, Index i) { return 1.0 + static_cast<double>(i); });
        beta.fill([&](Index, Index i) { return 0.3 * static_cast<double>(i) - 5; });
        right.fill([&](Index, Index i) { return value(beta(0, i)); });
        norm_forward<Center::mean, S, P>(x.in(), gamma.data(), beta.data(), eps, y.view(),
                                         {hi.data(), lo.data(), rstd.data()});
        EXPECT_TRUE(same_bits(y.row(0), right.data(), width) && same_bits(y.row(1), right.data(), width))
            << width << " of " << level << " eps " << eps << ": " << value(y(0, 0)) << ", wanted " << value(beta(0, 0));
        EXPECT_EQ(value(hi(0, 0)), value(x(0, 0)));
        EXPECT_EQ(lo(0, 0), T(0));
      }
}

TYPED_TEST(NormForward, NoRowsAndNoColumns) {
  using S = typename TypeParam::S;
  using P = typename TypeParam::P;
  Guarded<S> y(1, 8);
  norm_forward<Center::mean, S, P>({nullptr, 0, 8}, nullptr, nullptr, 1e-5, {nullptr, 0, 8}, {});
  norm_forward<Center::none, S, P>({y.data(), 0, 8}, nullptr, nullptr, 1e-5, y.view().middle_rows(0, 0), {});
  EXPECT_EQ(bits(y(0, 0)), guard_bits<S>());
}

}  // namespace
