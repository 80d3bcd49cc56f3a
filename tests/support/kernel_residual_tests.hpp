// SPDX-License-Identifier: MIT
// The fused residual equals the sum stored first and then normalised, to the last bit.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>

#include "kernel_residual.hpp"

namespace norma_test {

using norma::Executor;
using norma::Write;

/// The gradient of a factor or a bias: rows of t times `other` (null: one) in long double, over all channels if `one`.
template <class S, class P>
double sum_error(const Guarded<S>& t, const Guarded<S>* other, const Guarded<P>& before, const Guarded<P>& after,
                 bool one) {
  double worst = 0;
  std::vector<long double> sum(static_cast<std::size_t>(t.width())), size(sum);
  for (Index i = 0; i < t.width(); ++i)
    for (Index r = 0; r < t.rows(); ++r) {
      const long double term = exact(t(r, i)) * (other != nullptr ? exact((*other)(r, i)) : 1.0L);
      sum[static_cast<std::size_t>(one ? 0 : i)] += term;
      size[static_cast<std::size_t>(one ? 0 : i)] += std::fabs(term);
    }
  for (Index i = 0; i < (one ? 1 : t.width()); ++i) {
    const auto k = static_cast<std::size_t>(i);
    const long double error = std::fabs(exact(after(0, i)) - (exact(before(0, i)) + sum[k]));
    worst = std::max(worst, static_cast<double>((error - storing<P>(exact(after(0, i)))) /
                                                (kUnit<S> * (size[k] + std::fabs(exact(before(0, i)))))));
  }
  return worst;
}

template <class Storage, Center C>
void check_residual(const ResidualCase& c, const Executor& executor = {}) {
  using Problem = Residual<Storage, C>;
  const Problem before(c);
  Problem fused(c, executor), apart(c);
  fused.fused();
  apart.unfused();
  EXPECT_TRUE(fused.intact()) << c;
  EXPECT_TRUE(same_or_nan(fused.s, c.store ? apart.s : before.s)) << "s: " << c;
  EXPECT_TRUE(same_or_nan(fused.y, apart.y)) << "y: " << c;
  EXPECT_TRUE(same_or_nan(fused.rstd, c.save ? apart.rstd : before.rstd)) << "rstd: " << c;
  EXPECT_TRUE(same_or_nan(fused.hi, c.save ? apart.hi : before.hi)) << "hi: " << c;
  EXPECT_TRUE(same_or_nan(fused.lo, c.save ? apart.lo : before.lo)) << "lo: " << c;
  EXPECT_TRUE(same_or_nan(fused.dx, apart.dx)) << "dx: " << c;
  EXPECT_TRUE(same_or_nan(fused.dw, apart.dw)) << "dw: " << c;
  EXPECT_TRUE(same_or_nan(fused.dgamma, apart.dgamma)) << "dgamma: " << c;
  EXPECT_TRUE(same_or_nan(fused.dbeta, apart.dbeta)) << "dbeta: " << c;
  if (!c.channels || c.all_kinds) return;
  // Up to 16 terms are added in T; measured 1.9 for float, 1.4 for double.
  constexpr double kUnits = 4;
  if (c.bias) {
    EXPECT_LE(sum_error(apart.t, static_cast<decltype(&apart.t)>(nullptr), before.dbias, fused.dbias, false), kUnits)
        << c;
  }
  if (c.a != Factor::absent) {
    EXPECT_LE(sum_error(apart.t, &before.x, before.da, fused.da, c.a == Factor::number), kUnits) << "da: " << c;
  }
  if (c.g != Factor::absent) {
    EXPECT_LE(sum_error(apart.t, &before.w, before.dg, fused.dg, c.g == Factor::number), kUnits) << "dg: " << c;
  }
  const auto kept = [&](bool wanted, const auto& p, const auto& q, bool one) {
    return same_bits(p.data() + (wanted ? 1 : 0), q.data() + (wanted ? 1 : 0),
                     wanted ? (one ? c.width - 1 : 0) : c.width);
  };
  EXPECT_TRUE(kept(c.bias, fused.dbias, before.dbias, false)) << c;
  EXPECT_TRUE(kept(c.a != Factor::absent, fused.da, before.da, c.a == Factor::number)) << c;
  EXPECT_TRUE(kept(c.g != Factor::absent, fused.dg, before.dg, c.g == Factor::number)) << c;
}

template <class Rows, Center Of>
struct Normed {
  using Storage = Rows;
  static constexpr Center kCenter = Of;
};
template <class Normed>
struct ResidualNorm : testing::Test {
  using Problem = Residual<typename Normed::Storage, Normed::kCenter>;
  static void check(const ResidualCase& c, const Executor& executor = {}) {
    check_residual<typename Normed::Storage, Normed::kCenter>(c, executor);
  }
  /// Every option once in a while.
  static ResidualCase turned(ResidualCase c, Index turn) {
    c.channels = turn % 2 == 1;
    c.bias = c.channels && turn % 3 == 1;
    c.a = c.channels && turn % 5 < 2 ? Factor::channel : turn % 7 == 0 ? Factor::absent : Factor::number;
    c.g = c.channels && turn % 7 < 3 ? Factor::channel : turn % 5 == 0 ? Factor::absent : Factor::number;
    c.gamma = turn % 11 != 1;
    c.beta = turn % 13 != 1;
    c.unit_offset = turn % 17 == 1;
    c.ds = turn % 3 != 0;
    c.dw = turn % 19 != 0;
    c.store = turn % 5 != 3;
    c.from_stored = c.store && turn % 4 < 2;
    c.save = turn % 11 < 6;
    c.write = turn % 13 < 6 ? Write::add : Write::assign;
    return c;
  }
};
TYPED_TEST_SUITE_P(ResidualNorm);

TYPED_TEST_P(ResidualNorm, EverySum) {
  for (const Factor a : {Factor::absent, Factor::number, Factor::channel})
    for (const Factor g : {Factor::absent, Factor::number, Factor::channel})
      for (const int sum : {0, 1, 2})  // ScaledSum; ChannelSum without and with bias
        for (const int stores : {0, 1, 2})
          for (const bool ds : {false, true})
            for (const Write write : {Write::assign, Write::add}) {
              if (sum == 0 && (a == Factor::channel || g == Factor::channel)) continue;
              ResidualCase c{9, 37, sum > 0, a, g, sum == 2};
              c.store = stores > 0;
              c.from_stored = stores > 1;
              c.ds = ds;
              c.write = write;
              this->check(c);
            }
}

TYPED_TEST_P(ResidualNorm, EveryWidthAlignmentAndStride) {
  Index turn = 0;
  for (Index width = 1; width <= 67; width += width < 20 ? 1 : 5)
    for (const Index offset : {0, 1, 2, 3, 5, 8, 15, 16})
      for (const Index gap : {0, 1, 5, 16}) {
        ResidualCase c{3, width};
        c.offset = offset, c.gap = gap;
        this->check(this->turned(c, ++turn));
      }
}

TYPED_TEST_P(ResidualNorm, RowsOfEveryKind) {
  Index turn = 3;
  for (const Index width : {1, 2, 3, 7, 16, 17, 64, 100, 257, 1000})
    for (const double eps : {1e-5, 0.0})
      for (int i = 0; i < 6; ++i) {
        ResidualCase c{35, width};
        c.all_kinds = true;
        c.eps = eps;
        this->check(this->turned(c, ++turn));
      }
}

TYPED_TEST_P(ResidualNorm, OneBufferForTwo) {
  for (const Alias alias : {Alias::s_is_x, Alias::y_is_w, Alias::dx_is_dy, Alias::dx_is_ds})
    for (const bool channels : {false, true})
      for (const bool all_kinds : {false, true})
        for (const Index width : {1, 7, 33, 100}) {
          ResidualCase c{19, width, channels, channels ? Factor::channel : Factor::number};
          c.all_kinds = all_kinds;
          c.alias = alias;
          c.store = c.from_stored = alias != Alias::y_is_w;
          c.gap = width % 3;
          this->check(c);
        }
}

/// Workers of this thread, the last range first.
inline Executor backwards(Index workers) {
  return {workers, [](void*, Index count, void (*task)(void*, Index), void* data) {
            for (Index i = count; i-- > 0;) task(data, i);
          }};
}
TYPED_TEST_P(ResidualNorm, ManyRowsAndWorkers) {
  Index turn = 0;
  for (const Index workers : {1, 2, 3, 7})
    for (const Index rows : {5, 256, 257, 700})
      for (int i = 0; i < 4; ++i) this->check(this->turned({rows, 21}, ++turn), backwards(workers));
}

// A bad element is NaN in its row of y and dx, and no other row notices.
TYPED_TEST_P(ResidualNorm, BadRowStaysAlone) {
  using Call = typename TestFixture::Problem;
  using S = typename Call::S;
  const ResidualCase c{9, 21};
  Call clean(c);
  clean.fused();
  for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL})
    for (const auto matrix : {&Call::x, &Call::w, &Call::dy, &Call::ds})
      for (const Index at : {0, 7, 20}) {
        Call dirty(c);
        (dirty.*matrix)(4, at) = static_cast<S>(bad);
        dirty.fused();
        const bool forward = matrix == &Call::x || matrix == &Call::w, whole = matrix != &Call::ds;
        for (Index r = 0; r < c.rows; ++r)
          for (Index i = 0; i < c.width; ++i) {
            const bool hit = r == 4 && (whole || i == at);
            if (hit) {
              EXPECT_FALSE(std::isfinite(value(dirty.dx(r, i)))) << i;
              EXPECT_FALSE(std::isfinite(value(dirty.dw(r, i)))) << i;
              EXPECT_TRUE(!forward || std::isnan(value(dirty.y(r, i)))) << i;
            } else {
              EXPECT_TRUE(bits(dirty.dx(r, i)) == bits(clean.dx(r, i)) &&
                          bits(dirty.dw(r, i)) == bits(clean.dw(r, i)) && bits(dirty.y(r, i)) == bits(clean.y(r, i)))
                  << r << " " << i;
            }
          }
      }
}

REGISTER_TYPED_TEST_SUITE_P(ResidualNorm, EverySum, EveryWidthAlignmentAndStride, RowsOfEveryKind, OneBufferForTwo,
                            ManyRowsAndWorkers, BadRowStaysAlone);

}  // namespace norma_test
