// SPDX-License-Identifier: MIT
#include <norma/kernels/norm.hpp>

#include <gtest/gtest.h>

#include "kernel_norm_oracle.hpp"

namespace {

using namespace norma_test;
using norma::Write;
using norma::kernels::ColumnSums;
using norma::kernels::norm_backward;
using norma::kernels::norm_forward;

// The error of dx is compared with the sizes of the terms that are subtracted (NormOracle::backward), that of dgamma
// and dbeta with the sum of |terms|. Roundings: four in n, two in h, those of rstd and of the two means, three at the
// end; and up to 16 additions in T before a sum goes on in double. Only part of them adds up.
//   measured (257 rows, widths to 8192), in units: float dx 2.4, sums 2.1 at every level
template <class S>
constexpr double kBound = (sizeof(S) == 8 ? 16 : 4) * kUnit<S>;

struct Case {
  Index rows, width;
  Rows kind;
  double eps = 1e-5;
  bool gamma = true, beta = true;  // beta: whether dbeta is wanted
  Index offset = 0, gap = 0;
  Write write = Write::assign;
  bool in_place = false;  // dx on top of dy
};

struct Worst {
  double dx = 0, sums = 0;
  void add(double d, double s) {
    if (!(d <= dx)) dx = d;
    if (!(s <= sums)) sums = s;
  }
  void add(const Worst& w) { add(w.dx, w.sums); }
};

template <class Storage, Center C>
Worst check(const Case& c) {
  using S = typename Storage::S;
  using P = typename Storage::P;
  using T = typename Storage::T;
  const auto message = [&] {
    return testing::Message() << c.rows << " x " << c.width << " kind " << static_cast<int>(c.kind) << " eps " << c.eps
                              << " gamma " << c.gamma << " dbeta " << c.beta << " offset " << c.offset << " gap "
                              << c.gap << " add " << (c.write == Write::add) << " in place " << c.in_place;
  };
  Random random(static_cast<std::uint64_t>(c.width * 37 + static_cast<Index>(c.kind)));
  Guarded<S> x(c.rows, c.width, c.offset, c.gap), y(c.rows, c.width),
      dy(c.rows, c.width, (c.offset + 1) % 16, c.gap / 2), dx(c.rows, c.width, (c.offset + 5) % 16, c.gap);
  Guarded<P> gamma(1, c.width, (c.offset + 2) % 16), dgamma(1, c.width, (c.offset + 3) % 16),
      dbeta(1, c.width, (c.offset + 4) % 16);
  Guarded<T> hi(1, c.rows), lo(1, c.rows), rstd(1, c.rows), partial(1, 2 * c.width);
  Guarded<double> total(1, std::max<Index>(1, (c.rows + 255) / 256) * 2 * c.width);  // a row per block of 256
  for (Index r = 0; r < c.rows; ++r) fill_row(c.kind, x.row(r), c.width, random);
  gamma.fill([&](Index, Index) { return 1 + random.normal(); });
  dy.fill([&](Index, Index) { return random.normal(); });
  dgamma.fill([&](Index, Index) { return random.normal(); });
  dbeta.fill([&](Index, Index) { return random.normal(); });
  if (c.write == Write::add) dx.fill([&](Index, Index) { return random.normal(); });
  const Guarded<S> dy_before = dy, dx_before = dx;
  const Guarded<P> dgamma_before = dgamma, dbeta_before = dbeta;
  const P* const g = c.gamma ? gamma.data() : nullptr;
  norm_forward<C, S, P>(x.in(), g, nullptr, c.eps, y.view(), {hi.data(), lo.data(), rstd.data()});
  Guarded<S>& out = c.in_place ? dy : dx;
  norm_backward<C, S, P>(x.in(), dy.in(), g, c.eps, {hi.data(), lo.data(), rstd.data()}, out.view(), c.write,
                         c.gamma ? dgamma.data() : nullptr, c.beta ? dbeta.data() : nullptr,
                         ColumnSums<T>{partial.data(), total.data(), 2 * c.width});
  EXPECT_TRUE(x.intact() && dy.intact() && dx.intact() && gamma.intact() && dgamma.intact() && dbeta.intact() &&
              partial.intact() && total.intact())
      << message();

  Worst worst;
  std::vector<long double> right, size, sum_g(static_cast<std::size_t>(c.width)), size_g(sum_g), sum_b(sum_g),
      size_b(sum_g), step_g(sum_g), step_b(sum_g);
  for (Index r = 0; r < c.rows; ++r) {
    const NormOracle oracle(C, x.row(r), c.width, c.eps);
    oracle.backward(C, dy_before.row(r), g, right, size);
    for (Index i = 0; i < c.width; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const auto d = exact(dy_before(r, i));
      sum_g[k] += d * oracle.n[k];
      size_g[k] += std::fabs(d) * (std::fabs(oracle.n[k]) + oracle.rms);
      // The mean has whole steps only, which shows where the whole row is below the smallest normal number.
      if (oracle.rstd < 0x1p50L) step_g[k] += std::fabs(d) * oracle.rstd * std::numeric_limits<T>::denorm_min();
      sum_b[k] += d;
      size_b[k] += std::fabs(d);
      const long double before = c.write == Write::add ? exact(dx_before(r, i)) : 0;
      // A gradient beyond the largest number has no right value in S; near it, half the range is kept for the sum's
      // terms.
      if (size[k] > largest<S>() / 4) continue;
      const long double bound = kBound<S> * (size[k] + std::fabs(before)) + std::numeric_limits<T>::denorm_min();
      const long double error = std::fabs(exact(out(r, i)) - (before + right[k])) - storing<S>(exact(out(r, i)));
      worst.add(static_cast<double>(error / bound), 0);
    }
  }
  const auto ratio = [&](P after, P before, long double sum, long double terms, long double steps) {
    const long double error = std::fabs(exact(after) - (exact(before) + sum)) - storing<P>(exact(after));
    return static_cast<double>(
        error / (kBound<S> * (terms + std::fabs(exact(before))) + steps + std::numeric_limits<T>::denorm_min()));
  };
  for (Index i = 0; i < c.width; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (c.gamma) worst.add(0, ratio(dgamma(0, i), dgamma_before(0, i), sum_g[k], size_g[k], step_g[k]));
    if (c.beta) worst.add(0, ratio(dbeta(0, i), dbeta_before(0, i), sum_b[k], size_b[k], step_b[k]));
  }
  EXPECT_LE(worst.dx, 1) << message();
  EXPECT_LE(worst.sums, 1) << message();
  if (!c.gamma) {
    EXPECT_TRUE(same_bits(dgamma.data(), dgamma_before.data(), c.width)) << message();
  }
  if (!c.beta) {
    EXPECT_TRUE(same_bits(dbeta.data(), dbeta_before.data(), c.width)) << message();
  }
  return worst;
}

template <class Storage>
struct NormBackward : testing::Test {
  Worst worst;
  void check_both(const Case& c) {
    worst.add(check<Storage, Center::mean>(c));
    worst.add(check<Storage, Center::none>(c));
  }
  void sweep(Index width, std::initializer_list<Index> rows) {
    constexpr double kEps[] = {1e-5, 1e-12, 0};
    Index turn = width;
    for (const Rows kind : kAllRows)
      for (const Index r : rows) {
        ++turn;
        const bool in_place = turn % 4 == 0;
        check_both({r, width, kind, kEps[turn % 3], turn % 7 != 1, turn % 5 != 1, turn % 17,
                    turn % 3 == 0 ? 0 : turn % 7, !in_place && turn % 2 == 1 ? Write::add : Write::assign, in_place});
      }
  }
  void TearDown() override {
    this->RecordProperty("dx", std::to_string(worst.dx));
    this->RecordProperty("sums", std::to_string(worst.sums));
  }
};
TYPED_TEST_SUITE(NormBackward, MostStorage);

TYPED_TEST(NormBackward, EveryNarrowWidth) {
  for (Index width = 1; width <= 67; ++width) this->sweep(width, {1, 2, 3, 17});
}

TYPED_TEST(NormBackward, WideRows) {
  for (const Index width : {255, 256, 257, 768, 1000, 1024, 2048, 2051, 8192}) this->sweep(width, {1, 3, 2});
}

TYPED_TEST(NormBackward, ManyRows) {
  for (const Index width : {1, 5, 16, 33, 257})
    for (const Rows kind : {Rows::normal, Rows::shifted_1e6, Rows::huge}) this->check_both({257, width, kind});
}

TYPED_TEST(NormBackward, EveryAlignmentAndStride) {
  for (const Index width : {1, 3, 8, 15, 33, 67})
    for (Index offset = 0; offset <= 16; ++offset)
      for (const Index gap : {0, 1, 5, 16})
        for (const Write write : {Write::assign, Write::add})
          this->check_both({3, width, Rows::normal, 1e-5, true, true, offset, gap, write});
}

// A law, whatever the formula: dx of LayerNorm is orthogonal to the ones vector and, without eps, to the normalised
// row.
TYPED_TEST(NormBackward, InputGradientIsOrthogonal) {
  using S = typename TypeParam::S;
  using P = typename TypeParam::P;
  using T = typename TypeParam::T;
  const Index width = 61;
  Random random(5);
  Guarded<S> x(1, width), dy(1, width), dx(1, width);
  Guarded<P> gamma(1, width);
  Guarded<T> hi(1, 1), lo(1, 1), rstd(1, 1);
  const auto noise = [&](Index, Index) { return 3 + random.normal(); };
  x.fill(noise), dy.fill(noise), gamma.fill(noise);
  Guarded<S> y(1, width);
  norm_forward<Center::mean, S, P>(x.in(), nullptr, nullptr, 0, y.view(), {hi.data(), lo.data(), rstd.data()});
  norm_backward<Center::mean, S, P>(x.in(), dy.in(), gamma.data(), 0, {hi.data(), lo.data(), rstd.data()}, dx.view(),
                                    Write::assign, nullptr, nullptr, {});
  const NormOracle oracle(Center::mean, x.data(), width, 0);
  double ones = 0, along = 0, size = 0, steps = 0;
  for (Index i = 0; i < width; ++i) {
    const double n = static_cast<double>(oracle.n[static_cast<std::size_t>(i)]);
    ones += value(dx(0, i));
    along += value(dx(0, i)) * n;
    size += std::fabs(value(dx(0, i)));
    steps += static_cast<double>(storing<S>(exact(dx(0, i)))) * std::max(1.0, std::fabs(n));
  }
  EXPECT_LE(std::fabs(ones), 4 * kUnit<S> * size + steps);
  EXPECT_LE(std::fabs(along), 4 * kUnit<S> * size + steps);
  EXPECT_GT(size, 1);
}

TYPED_TEST(NormBackward, NoRows) {
  using S = typename TypeParam::S;
  using P = typename TypeParam::P;
  using T = typename TypeParam::T;
  Guarded<P> dgamma(1, 10), dbeta(1, 10);
  Guarded<T> partial(1, 20);
  Guarded<double> total(1, 20);
  dgamma.fill([](Index, Index) { return 7.0; });
  dbeta.fill([](Index, Index) { return -7.0; });
  norm_backward<Center::mean, S, P>({nullptr, 0, 10}, {nullptr, 0, 10}, nullptr, 1e-5, {}, {nullptr, 0, 10},
                                    Write::assign, dgamma.data(), dbeta.data(),
                                    ColumnSums<T>{partial.data(), total.data(), 20});
  for (Index i = 0; i < 10; ++i) {
    EXPECT_EQ(value(dgamma(0, i)), 7);
    EXPECT_EQ(value(dbeta(0, i)), -7);
  }
}

}  // namespace
