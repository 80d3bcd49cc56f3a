// SPDX-License-Identifier: MIT
#include <norma/kernels/elementwise.hpp>

#include <gtest/gtest.h>

#include "kernel_memory.hpp"

namespace {

using namespace norma_test;
using norma::MatrixView;
using norma::Write;
namespace kernels = norma::kernels;

template <class T>
struct Elementwise : testing::Test {
  /// Calls test(a, b, y) at every width, misalignment and stride; afterwards nothing outside y's rows has changed.
  template <class F>
  static void sweep(F&& test) {
    Random random(12);
    for (Index width = 1; width <= 35; ++width)
      for (const Index gap : {0, 3}) {
        Guarded<T> a(3, width, width % 4, gap), b(3, width, width % 3, 2 * gap), y(3, width, width % 5, gap);
        for (auto* m : {&a, &b, &y}) m->fill([&](Index, Index) { return random.normal(); });
        test(a, b, y);
        EXPECT_TRUE(a.intact() && b.intact() && y.intact()) << width;
      }
  }
  template <class F>
  static void expect(const Guarded<T>& y, F&& right) {
    for (Index r = 0; r < y.rows(); ++r)
      for (Index i = 0; i < y.width(); ++i)
        ASSERT_EQ(bits(y(r, i)), bits(right(r, i))) << y.width() << ": " << r << ", " << i;
  }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Elementwise, Scalars);

TYPED_TEST(Elementwise, AddScaleAndScaleAdd) {
  using T = TypeParam;
  using M = Guarded<T>;
  const T s = T(-1.7);
  this->sweep([&](M& a, M& b, M& y) {
    kernels::add<T>(a.in(), b.in(), y.view());
    this->expect(y, [&](Index r, Index i) { return a(r, i) + b(r, i); });
    kernels::scale<T>(a.in(), s, y.view());
    this->expect(y, [&](Index r, Index i) { return s * a(r, i); });
    kernels::scale_add<T>(a.in(), s, b.in(), y.view());
    this->expect(y, [&](Index r, Index i) { return norma::simd::fma(s, a(r, i), b(r, i)); });
  });
}

TYPED_TEST(Elementwise, ScaleWriteAssignsOrAdds) {
  using T = TypeParam;
  using M = Guarded<T>;
  this->sweep([&](M& a, M&, M& y) {
    const M before = y;
    kernels::scale_write<T>(a.in(), T(3), y.view(), Write::add);
    this->expect(y, [&](Index r, Index i) { return norma::simd::fma(T(3), a(r, i), before(r, i)); });
    kernels::scale_write<T>(a.in(), T(3), y.view(), Write::assign);
    this->expect(y, [&](Index r, Index i) { return T(3) * a(r, i); });
  });
}

TYPED_TEST(Elementwise, OutputsMayBeInputs) {
  using T = TypeParam;
  using M = Guarded<T>;
  this->sweep([&](M& a, M& b, M& y) {
    M x = a;
    kernels::add<T>(x.in(), b.in(), x.view());
    kernels::add<T>(a.in(), b.in(), y.view());
    this->expect(x, [&](Index r, Index i) { return y(r, i); });
    x = b;
    kernels::scale_add<T>(a.in(), T(2), x.in(), x.view());
    kernels::scale_add<T>(a.in(), T(2), b.in(), y.view());
    this->expect(x, [&](Index r, Index i) { return y(r, i); });
  });
}

TYPED_TEST(Elementwise, CopyAndFill) {
  using T = TypeParam;
  using M = Guarded<T>;
  this->sweep([&](M& a, M& b, M& y) {
    kernels::copy<T>(a.in(), y.view());
    this->expect(y, [&](Index r, Index i) { return a(r, i); });
    kernels::fill<T>(y.view(), T(4));
    this->expect(y, [&](Index, Index) { return T(4); });
    const M before = b;
    kernels::copy<T>(b.in(), b.view());
    this->expect(b, [&](Index r, Index i) { return before(r, i); });
  });
  // The same first element, another stride: no copy onto itself.
  std::vector<T> memory{1, 2, 3, 4, 5, 6, 7, 8};
  kernels::copy<T>(MatrixView<const T>{memory.data(), 2, 2, 4}, MatrixView<T>{memory.data(), 2, 2, 3});
  EXPECT_EQ(memory[3], T(5));
  EXPECT_EQ(memory[4], T(6));
}

TYPED_TEST(Elementwise, Dot) {
  using T = TypeParam;
  using M = Guarded<T>;
  this->sweep([&](M& a, M& b, M&) {
    long double sum = 0, size = 0;
    for (Index r = 0; r < 3; ++r)
      for (Index i = 0; i < a.width(); ++i) {
        const long double term = static_cast<long double>(a(r, i)) * static_cast<long double>(b(r, i));
        sum += term;
        size += std::fabs(term);
      }
    EXPECT_NEAR(kernels::dot<T>(a.in(), b.in()), static_cast<double>(sum), 3 * 0x1p-52 * static_cast<double>(size));
  });
}

// Sums over many rows: at most 16 are added in T before the total, in double, takes over. So the error grows with the
// rows only where T is double.
TYPED_TEST(Elementwise, ColumnSums) {
  using T = TypeParam;
  Random random(2);
  for (const Index rows : {0, 1, 2, 15, 16, 17, 33, 257, 5000})
    for (const Index width : {1, 7, 16, 33}) {
      const Index blocks = std::max<Index>(1, (rows + 255) / 256);  // fixed blocks of 256 rows
      Guarded<T> x(rows, width, 1, 2), gradient(1, width, 3), partial(1, width, 1);
      Guarded<double> total(1, blocks * width);
      x.fill([&](Index, Index) { return 1 + random.normal(); });
      gradient.fill([&](Index, Index) { return random.normal(); });
      const Guarded<T> before = gradient;
      const kernels::ColumnSums<T> sums{partial.data(), total.data(), width};
      kernels::column_sums<T>({}, x.in(), sums);
      sums.add_to(gradient.data(), 0, width);
      EXPECT_TRUE(x.intact() && gradient.intact() && partial.intact() && total.intact());
      for (Index i = 0; i < width; ++i) {
        long double sum = before(0, i), size = std::fabs(sum);
        for (Index r = 0; r < rows; ++r)
          sum += static_cast<long double>(x(r, i)), size += std::fabs(static_cast<long double>(x(r, i)));
        const double error = std::fabs(static_cast<double>(static_cast<long double>(gradient(0, i)) - sum));
        const double units = sizeof(T) == 4 || rows < 1000 ? 3 : 8;  // measured: 1.4 and 4.7
        EXPECT_LE(error, units * kUnit<T> * static_cast<double>(size)) << rows << " rows";
      }
    }
}

// Two gradients behind each other in one ColumnSums, as a norm has them.
TYPED_TEST(Elementwise, ColumnSumsOfTwoParts) {
  using T = TypeParam;
  Guarded<T> partial(1, 6), first(1, 2), second(1, 4);
  Guarded<double> total(1, 6);
  first.fill([](Index, Index) { return 100; });
  second.fill([](Index, Index) { return 200; });
  const kernels::ColumnSums<T> sums{partial.data(), total.data(), 6};
  // Odd rows straight into the total, as a norm's redone rows.
  sums.over_rows({}, 40, [](Index begin, Index end, T* to, double* wide) {
    for (Index r = begin; r < end; ++r)
      for (Index i = 0; i < 6; ++i)
        if (r % 2 == 0)
          to[i] += static_cast<T>(i + 1);
        else
          wide[i] += static_cast<double>(i + 1);
  });
  sums.add_to(first.data(), 0, 2);
  sums.add_to(second.data(), 2, 4);
  for (Index i = 0; i < 2; ++i) EXPECT_EQ(first(0, i), static_cast<T>(100 + 40 * (i + 1)));
  for (Index i = 0; i < 4; ++i) EXPECT_EQ(second(0, i), static_cast<T>(200 + 40 * (i + 3)));
  EXPECT_TRUE(first.intact() && second.intact() && partial.intact() && total.intact());
}

}  // namespace
