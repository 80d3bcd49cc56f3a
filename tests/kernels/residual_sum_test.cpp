// SPDX-License-Identifier: MIT
#include <norma/kernels/residual_sum.hpp>

#include <gtest/gtest.h>

#include "kernel_memory.hpp"

namespace {

using namespace norma_test;
using norma::Index;
namespace kernels = norma::kernels;

template <class T>
struct ResidualSum : testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(ResidualSum, Scalars);

/// Every width around a pack, rows that are apart, more rows than one run of partial sums.
TYPED_TEST(ResidualSum, ForwardAndBackwardAreTheEquations) {
  using T = TypeParam;
  const double close = sizeof(T) == 4 ? 2e-5 : 1e-13;
  Random random(7);
  for (const Index width : {1, 3, 4, 7, 8, 9, 16, 17, 33})
    for (const Index gap : {0, 3}) {
      const Index rows = 19;
      Guarded<T> x(rows, width, 1, gap), w(rows, width, 2, gap), s(rows, width, 3, gap), ds(rows, width, 0, gap),
          dw(rows, width, 1, gap);
      for (auto* m : {&x, &w, &ds}) m->fill([&](Index, Index) { return random.normal(); });
      std::vector<T> a(static_cast<std::size_t>(width)), bias(a.size()), da(a.size(), T(2));
      for (auto* v : {&a, &bias})
        for (T& f : *v) f = static_cast<T>(random.normal());
      const double g = -0.75;  // exact
      T dg = 3;
      const kernels::ChannelSum<T, T> sum{x.in(), w.in(), {.channel = a.data()}, {.scalar = g}, bias.data()};
      kernels::residual_sum_forward(sum, s.view());
      std::vector<double> wanted_da(a.size(), 2);
      double wanted_dg = 3;
      std::vector<T> old(static_cast<std::size_t>(rows * width));
      for (Index r = 0; r < rows; ++r)
        for (Index i = 0; i < width; ++i) {
          const auto c = static_cast<std::size_t>(i);
          const double d = ds(r, i);
          old[static_cast<std::size_t>(r * width + i)] = ds(r, i);
          ASSERT_NEAR(s(r, i), double(a[c]) * x(r, i) + g * w(r, i) + bias[c], close) << width;
          wanted_da[c] += d * x(r, i);
          wanted_dg += d * w(r, i);
        }
      std::vector<T> partial(static_cast<std::size_t>(2 * width));
      std::vector<double> total(partial.size());
      kernels::residual_sum_backward<T, T>(sum, ds.view(), dw.view(), da.data(), &dg,
                                           {partial.data(), total.data(), 2 * width});
      for (Index r = 0; r < rows; ++r)
        for (Index i = 0; i < width; ++i) {
          const T d = old[static_cast<std::size_t>(r * width + i)];
          ASSERT_EQ(ds(r, i), a[static_cast<std::size_t>(i)] * d) << width;
          ASSERT_EQ(dw(r, i), static_cast<T>(g) * d) << width;
        }
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(da[i], wanted_da[i], 10 * close) << width;
      EXPECT_NEAR(dg, wanted_dg, 100 * close) << width;
      EXPECT_TRUE(x.intact() && w.intact() && s.intact() && ds.intact() && dw.intact()) << width;
      // In place, and without a bias: of the skip, and of the branch.
      const kernels::ScaledSum<T> plain{x.in(), w.in(), 0.5, 2};
      kernels::residual_sum_forward(plain, s.view());
      Guarded<T> y = x;
      kernels::residual_sum_forward(kernels::ScaledSum<T>{y.in(), w.in(), 0.5, 2}, y.view());
      kernels::residual_sum_forward(kernels::ScaledSum<T>{x.in(), w.in(), 0.5, 2}, w.view());
      for (Index r = 0; r < rows; ++r)
        for (Index i = 0; i < width; ++i) {
          ASSERT_EQ(bits(y(r, i)), bits(s(r, i)));
          ASSERT_EQ(bits(w(r, i)), bits(s(r, i)));
        }
    }
}

}  // namespace
