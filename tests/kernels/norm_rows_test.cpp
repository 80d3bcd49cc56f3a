// SPDX-License-Identifier: MIT
// What a row gives depends on that row alone: not on its neighbours, their number, alignment or stride.
#include <norma/kernels/norm.hpp>

#include <gtest/gtest.h>

#include "kernel_norm_oracle.hpp"

namespace {

using namespace norma_test;
using norma::Write;
using norma::kernels::ColumnSums;
using norma::kernels::norm_backward;
using norma::kernels::norm_forward;

template <class T>
struct Result {
  std::vector<T> y, dx, dx_added;
  T hi, lo, rstd;
};

/// The row `special` at place `at` of `rows`, between rows of other kinds.
template <class T, Center C>
Result<T> run(const std::vector<T>& special, const std::vector<T>& d_special, Index rows, Index at, Index offset,
              Index gap) {
  const auto width = static_cast<Index>(special.size());
  Random random(99);
  Guarded<T> x(rows, width, offset, gap), y(rows, width, (offset + 3) % 16, gap),
      dy(rows, width, (offset + 1) % 16, 2 * gap);
  Guarded<T> dx(rows, width, (offset + 2) % 16, gap), gamma(1, width, offset), beta(1, width, offset);
  Guarded<T> hi(1, rows), lo(1, rows), rstd(1, rows), partial(1, 2 * width, offset);
  Guarded<double> total(1, 2 * width);
  Random parameters(7);
  gamma.fill([&](Index, Index) { return 1 + parameters.normal(); });
  beta.fill([&](Index, Index) { return parameters.normal(); });
  for (Index r = 0; r < rows; ++r) {
    fill_row(kAllRows[static_cast<std::size_t>(r) % kAllRows.size()], x.row(r), width, random);
    fill_row(Rows::normal, dy.row(r), width, random);
  }
  std::copy(special.begin(), special.end(), x.row(at));
  std::copy(d_special.begin(), d_special.end(), dy.row(at));
  norm_forward<C, T>(x.in(), gamma.data(), beta.data(), 1e-5, y.view(), {hi.data(), lo.data(), rstd.data()});
  Result<T> result;
  for (const Write write : {Write::assign, Write::add}) {
    if (write == Write::add) dx.fill([](Index, Index i) { return 0.1 * static_cast<double>(i); });
    norm_backward<C, T>(x.in(), dy.in(), gamma.data(), 1e-5, {hi.data(), lo.data(), rstd.data()}, dx.view(), write,
                        nullptr, nullptr, ColumnSums<T>{partial.data(), total.data(), 2 * width});
    (write == Write::add ? result.dx_added : result.dx).assign(dx.row(at), dx.row(at) + width);
  }
  result.y.assign(y.row(at), y.row(at) + width);
  result.hi = hi(0, at), result.lo = lo(0, at), result.rstd = rstd(0, at);
  return result;
}

template <class T, Center C>
void check_rows(Index width, Rows kind) {
  Random random(static_cast<std::uint64_t>(width));
  std::vector<T> special(static_cast<std::size_t>(width)), d_special(special);
  fill_row(kind, special.data(), width, random);
  fill_row(Rows::normal, d_special.data(), width, random);
  const Result<T> alone = run<T, C>(special, d_special, 1, 0, 0, 0);
  const auto same = [&](const std::vector<T>& a, const std::vector<T>& b) {
    return same_bits(a.data(), b.data(), width);
  };
  struct Place {
    Index rows, at, offset, gap;
  };
  for (const Place p : {Place{1, 0, 1, 0}, Place{1, 0, 3, 0}, Place{7, 0, 0, 0}, Place{7, 6, 2, 5},
                        Place{300, 255, 0, 0}, Place{300, 255, 1, 1}, Place{17, 16, 15, 3}, Place{2, 1, 8, 16}}) {
    const Result<T> other = run<T, C>(special, d_special, p.rows, p.at, p.offset, p.gap);
    EXPECT_TRUE(same(alone.y, other.y) && same(alone.dx, other.dx) && same(alone.dx_added, other.dx_added) &&
                bits(alone.rstd) == bits(other.rstd) && bits(alone.hi) == bits(other.hi) &&
                bits(alone.lo) == bits(other.lo))
        << "width " << width << " kind " << static_cast<int>(kind) << ": row " << p.at << " of " << p.rows
        << ", offset " << p.offset << ", gap " << p.gap;
  }
}

template <class T>
struct NormRows : testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(NormRows, Scalars);

TYPED_TEST(NormRows, BitsDependOnTheRowAlone) {
  for (const Index width : {1, 3, 8, 17, 64, 257, 1000})
    for (const Rows kind : {Rows::normal, Rows::shifted_1e6, Rows::outlier, Rows::huge, Rows::subnormal}) {
      check_rows<TypeParam, Center::mean>(width, kind);
      check_rows<TypeParam, Center::none>(width, kind);
    }
}

// A row with NaN or an infinity is NaN, and its neighbours do not notice; in backward too.
template <class T, Center C>
void check_bad_row(Index width, T bad, Index where, bool in_gradient) {
  const Index rows = 5, bad_row = 2;
  Guarded<T> y[2] = {Guarded<T>(rows, width), Guarded<T>(rows, width)},
             dx[2] = {Guarded<T>(rows, width), Guarded<T>(rows, width)};
  for (const int dirty : {0, 1}) {
    Random random(3);
    Guarded<T> x(rows, width, 1), dy(rows, width, 2), hi(1, rows), lo(1, rows), rstd(1, rows), partial(1, 2 * width);
    Guarded<double> total(1, 2 * width);
    x.fill([&](Index, Index) { return random.normal(); });
    dy.fill([&](Index, Index) { return random.normal(); });
    if (dirty == 1) (in_gradient ? dy : x)(bad_row, where) = bad;
    norm_forward<C, T>(x.in(), nullptr, nullptr, 1e-5, y[dirty].view(), {hi.data(), lo.data(), rstd.data()});
    norm_backward<C, T>(x.in(), dy.in(), nullptr, 1e-5, {hi.data(), lo.data(), rstd.data()}, dx[dirty].view(),
                        Write::assign, nullptr, nullptr, ColumnSums<T>{partial.data(), total.data(), 2 * width});
  }
  for (Index r = 0; r < rows; ++r) {
    if (r == bad_row) {
      for (Index i = 0; i < width; ++i) {
        if (!in_gradient) {
          EXPECT_TRUE(std::isnan(y[1](r, i))) << width << " " << i;
        }
        EXPECT_FALSE(std::isfinite(dx[1](r, i))) << width << " " << i;
      }
    } else {
      EXPECT_TRUE(same_bits(y[0].row(r), y[1].row(r), width)) << width << " row " << r;
      EXPECT_TRUE(same_bits(dx[0].row(r), dx[1].row(r), width)) << width << " row " << r;
    }
  }
}

TYPED_TEST(NormRows, BadRowStaysAlone) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  for (const Index width : {2, 4, 7, 16, 33, 65, 300})
    for (const T bad : {nan, infinity, -infinity})
      for (const Index where : {Index(0), width / 2, width - 1})
        for (const bool in_gradient : {false, true}) {
          check_bad_row<T, Center::mean>(width, bad, where, in_gradient);
          check_bad_row<T, Center::none>(width, bad, where, in_gradient);
        }
}

}  // namespace
